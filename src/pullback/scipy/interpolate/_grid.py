"""Interpolation on regular grids, linear and nearest."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.func._implicit.lift import is_watched
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import joined, scipy_module
from pullback.scipy.interpolate._piecewise import floats, plain
from pullback.scipy.interpolate._splines import BSpline, make_interp_spline
from pullback.tensors.tensor import Tensor

__all__ = ["RegularGridInterpolator", "interpn"]


class RegularGridInterpolator(metaclass=PerExample):
    """`scipy.interpolate.RegularGridInterpolator` with derivatives by values, points and grid."""

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan, *,
        solver: Any = None, solver_args: Any = None,
    ) -> None:  # fmt: skip
        self.grid = tuple(floats(axis) for axis in points)
        self.values = floats(values)
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        filled = np.nan if isinstance(fill_value, Tensor) else fill_value
        self._plain = scipy_module("interpolate").RegularGridInterpolator(
            tuple(plain(axis) for axis in self.grid), plain(self.values), method, bounds_error, filled
        )

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Tensor:
        method = self.method if method is None else method
        at = pb.stack([joined(each) for each in xi], axis=-1) if isinstance(xi, tuple) else floats(xi)
        if method not in ("linear", "nearest") or nu is not None:
            return self._splined(at, method, nu)
        shape = tuple(at.shape[:-1])
        at = at.reshape(-1, len(self.grid))
        if self.bounds_error or at.shape[-1] != len(self.grid):
            self._plain(plain(at), method)  # SciPy says what is wrong
        pieces, shares, outside = [], [], np.zeros(at.shape[0], dtype=bool)
        for k, axis in enumerate(self.grid):
            knots, values = plain(axis), plain(at[:, k])
            piece = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, max(len(knots) - 2, 0))
            pieces.append(piece)
            after = np.minimum(piece + 1, len(knots) - 1)
            shares.append((at[:, k] - axis[piece]) / (axis[after] - axis[piece]))
            outside |= (values < knots[0]) | (values > knots[-1])
        rest = (1,) * (self.values.ndim - len(self.grid))
        if method == "nearest":
            near = tuple(np.where(plain(share) <= 0.5, piece, piece + 1) for piece, share in zip(pieces, shares))
            out: Any = self.values[near]
        else:
            out = 0.0
            for corner in itertools.product((0, 1), repeat=len(self.grid)):
                weight: Any = 1.0
                for share, side in zip(shares, corner):
                    weight = weight * (share if side else 1.0 - share)
                where = tuple(piece + side for piece, side in zip(pieces, corner))
                out = out + weight.reshape((-1, *rest)) * self.values[where]
        if not self.bounds_error and self.fill_value is not None and outside.any():
            out = pb.where(outside.reshape((-1, *rest)), self.fill_value, out)
        return out.reshape(shape + tuple(self.values.shape[len(self.grid) :]))

    def _splined(self, at: Tensor, method: str, nu: Any) -> Tensor:
        if not any(is_watched(x) for x in (at, self.values, *self.grid)):
            return pb.asarray(self._plain(plain(at), method, nu=nu))
        degree = _DEGREES.get(method)
        if degree is None or nu is not None or method != self.method:
            raise AutogradError(
                "SCIPY_NO_RULE",
                f"RegularGridInterpolator has no derivative for method {method!r}" + (" with nu" if nu else ""),
                why="linear, nearest and the splines slinear, cubic and quintic are written with operators",
                fix="make the interpolant with one of these; derivatives by points are those of pb.func",
            )
        self._plain(plain(at), method)  # SciPy says what is wrong
        shape = tuple(at.shape[:-1])
        at = at.reshape(-1, len(self.grid))
        out = self.values
        for axis in self.grid:  # the coefficients along one axis after the other, which goes behind the others
            spline = make_interp_spline(axis, out, degree)
            out = pb.moveaxis(spline.c, 0, len(self.grid) - 1)
        out = pb.broadcast_to(out, (at.shape[0], *out.shape))
        for k, axis in enumerate(self.grid):
            knots = make_interp_spline(axis, plain(axis), degree).t
            weights = BSpline(knots, np.eye(axis.shape[0]), degree)(at[:, k])
            out = (weights.reshape((*weights.shape, *(1,) * (out.ndim - 2))) * out).sum(axis=1)
        if not self.bounds_error and self.fill_value is not None:
            outside = np.zeros(at.shape[0], dtype=bool)
            for k, axis in enumerate(self.grid):
                place, ends = plain(at[:, k]), plain(axis)
                outside |= (place < ends[0]) | (place > ends[-1])
            out = pb.where(outside.reshape((-1, *(1,) * (out.ndim - 1))), self.fill_value, out)
        return out.reshape(shape + tuple(self.values.shape[len(self.grid) :]))


_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Tensor:
    """`scipy.interpolate.interpn` with derivatives by values, points and grid."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
