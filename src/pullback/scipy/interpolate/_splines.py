"""B-splines: the basis by its recursion, and the splines that interpolate."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import scipy_module
from pullback.scipy.interpolate._piecewise import floats, plain
from pullback.tensors.tensor import Tensor

__all__ = ["BSpline", "make_interp_spline"]


def basis(t: Tensor, k: int, at: Tensor, piece: Any) -> list[Tensor]:
    """The `k + 1` splines that are not zero at each point, which lies between knots `piece` and `piece + 1`."""
    made = [at * 0 + 1.0]
    for degree in range(1, k + 1):
        longer = [at * 0 for _ in range(degree + 1)]
        for j in range(degree):
            left, right = t[piece + j + 1 - degree], t[piece + j + 1]
            width = right - left
            empty = plain(width) == 0
            share = pb.where(empty, 0.0, made[j] / pb.where(empty, 1.0, width))
            longer[j] = longer[j] + (right - at) * share
            longer[j + 1] = longer[j + 1] + (at - left) * share
        made = longer
    return made


class BSpline(metaclass=PerExample):
    """`scipy.interpolate.BSpline` with derivatives by coefficients, knots and points."""

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t = floats(t)
        self.c = floats(c)
        self.k = int(k)
        self.extrapolate = extrapolate
        self.axis = axis
        scipy_module("interpolate").BSpline(plain(self.t), plain(self.c), self.k, extrapolate, axis)  # checks them

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Tensor:
        if nu:
            return self.derivative(nu)(x, extrapolate=extrapolate)
        at = floats(x)
        shape = tuple(at.shape)
        at = at.reshape(-1)
        knots, values = plain(self.t), plain(at)
        n = len(knots) - self.k - 1
        low, high = knots[self.k], knots[n]
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str):
            at = at - (self.t[n] - self.t[self.k]) * np.floor((values - low) / (high - low))
            values = plain(at)
            extrapolate = False
        piece = np.clip(np.searchsorted(knots, values, side="right") - 1, self.k, n - 1)
        c = pb.moveaxis(self.c, self.axis, 0) if self.axis else self.c
        column = (-1,) + (1,) * (c.ndim - 1)
        out: Any = 0.0
        for j, part in enumerate(basis(self.t, self.k, at, piece)):
            out = out + part.reshape(column) * c[piece - self.k + j]
        if not extrapolate:
            outside = (values < low) | (values > high)
            if outside.any():
                out = pb.where(outside.reshape(column), np.nan, out)
        out = out.reshape(shape + tuple(c.shape[1:]))
        if self.axis:
            order = [*range(len(shape), len(shape) + self.axis), *range(len(shape)),
                     *range(len(shape) + self.axis, out.ndim)]  # fmt: skip
            out = pb.permute_dims(out, tuple(order))
        return out

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative, of order `nu`."""
        t, c, k = self.t, pb.moveaxis(self.c, self.axis, 0), self.k
        for _ in range(nu):
            if k == 0:
                return BSpline(t, c * 0, 0, self.extrapolate, self.axis)
            n = t.shape[0] - k - 1
            widths = t[k + 1 : k + n] - t[1:n]
            empty = plain(widths) == 0
            column = (-1,) + (1,) * (c.ndim - 1)
            scale = pb.where(empty, 0.0, k / pb.where(empty, 1.0, widths)).reshape(column)
            c = (c[1:n] - c[: n - 1]) * scale
            t, k = t[1:-1], k - 1
        return BSpline(t, pb.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """`scipy.interpolate.make_interp_spline` with derivatives: the coefficients solve a linear system."""
    x, y = floats(x), floats(y)
    axis = axis % y.ndim
    if bc_type is not None and bc_type != "not-a-knot":
        if k == 3 and t is None:
            return _from_cubic(x, y, bc_type, axis)
        raise NotImplementedError("make_interp_spline: derivatives at the ends are there for cubic splines only")
    real = scipy_module("interpolate").make_interp_spline(plain(x), plain(y), k, None if t is None else plain(t),
                                                          axis=axis)  # fmt: skip
    knots = _knots(x, k, real.t) if t is None else floats(t)
    values = pb.moveaxis(y, axis, 0)
    n = x.shape[0]
    piece = np.clip(np.searchsorted(plain(knots), plain(x), side="right") - 1, k, n - 1)
    parts = basis(knots, k, x, piece)
    rows = np.repeat(np.arange(n), k + 1)
    columns = (piece[:, None] - k + np.arange(k + 1)).reshape(-1)
    matrix = pb.zeros((n, n))
    matrix[rows, columns] = pb.stack(parts, axis=1).reshape(-1)
    c = pb.linalg.solve(matrix, values.reshape(n, -1)).reshape(values.shape)
    return BSpline(knots, pb.moveaxis(c, 0, axis), k, axis=axis)


def _knots(x: Tensor, k: int, chosen: Any) -> Tensor:
    """The knots that SciPy chose, as functions of the points that they are or lie between."""
    points = plain(x)
    parts = []
    for knot in chosen:
        at = np.flatnonzero(points == knot)
        if at.size:
            parts.append(x[int(at[0])])
        else:
            after = int(np.searchsorted(points, knot))
            parts.append((x[after - 1] + x[after]) / 2)
    return pb.stack(parts)


def _from_cubic(x: Tensor, y: Tensor, bc_type: Any, axis: int) -> Any:
    names = bc_type if isinstance(bc_type, str) else tuple(_pair(each) for each in bc_type)
    return pb.scipy.interpolate.CubicSpline(x, y, axis, names)


def _pair(each: Any) -> Any:
    if each is None:
        return "not-a-knot"
    if isinstance(each, str):
        return each
    ((order, value),) = each
    return (order, value)
