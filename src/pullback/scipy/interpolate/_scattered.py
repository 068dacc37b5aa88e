"""Interpolation of scattered data: radial functions, triangulations, the nearest point, and polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.scipy._composed import watches
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import joined, scipy_module
from pullback.scipy.interpolate._piecewise import floats, plain
from pullback.tensors.tensor import Tensor

__all__ = [
    "BarycentricInterpolator", "KroghInterpolator", "LinearNDInterpolator", "NearestNDInterpolator", "RBFInterpolator",
    "barycentric_interpolate", "griddata", "krogh_interpolate",
]  # fmt: skip


def _root(square: Any) -> Any:
    """The square root, whose derivative at 0 is taken to be 0."""
    is_zero = plain(square) == 0
    return pb.where(is_zero, 0.0, pb.sqrt(pb.where(is_zero, 1.0, square)))


def _thin_plate(square: Any) -> Any:
    is_zero = plain(square) == 0
    return pb.where(is_zero, 0.0, 0.5 * square * pb.log(pb.where(is_zero, 1.0, square)))


# As functions of the square of the distance.
_KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda square: -_root(square),
    "thin_plate_spline": _thin_plate,
    "cubic": lambda square: square * _root(square),
    "quintic": lambda square: -(square**2) * _root(square),
    "multiquadric": lambda square: -pb.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1 / pb.sqrt(square + 1),
    "inverse_quadratic": lambda square: 1 / (square + 1),
    "gaussian": lambda square: pb.exp(-square),
}


class RBFInterpolator(metaclass=PerExample):
    """`scipy.interpolate.RBFInterpolator` with derivatives by all its numbers: data, points, `epsilon`, `smoothing`."""

    def __init__(
        self, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline",
        epsilon: Any = None, degree: Any = None,
    ) -> None:  # fmt: skip
        self.y, self.d = floats(y), floats(d)
        self._plain = scipy_module("interpolate").RBFInterpolator(
            plain(self.y), plain(self.d), neighbors, plain(smoothing), kernel,
            None if epsilon is None else float(plain(epsilon)), degree,
        )  # fmt: skip  (it knows what is wrong with arguments, and the powers)
        self.kernel = self._plain.kernel
        self.epsilon = joined(self._plain.epsilon if epsilon is None else epsilon) * 1.0
        self.smoothing = pb.broadcast_to(joined(smoothing) * 1.0, (self.y.shape[0],))
        self.neighbors = self._plain.neighbors
        self._solution = None if self.neighbors is not None else self._solved(np.arange(self.y.shape[0]))

    def __call__(self, x: Any) -> Tensor:
        at = floats(x)
        self._plain(plain(at[:1]))  # SciPy says what is wrong
        if self.neighbors is None:
            assert self._solution is not None
            out = self._evaluated(at, np.arange(self.y.shape[0]), *self._solution)
        else:
            _, near = scipy_module("spatial").KDTree(plain(self.y)).query(plain(at), self.neighbors)
            near = np.sort(near.reshape(at.shape[0], -1), axis=1)
            sets, which = np.unique(near, axis=0, return_inverse=True)
            which = which.reshape(-1)
            parts = []
            for k, chosen in enumerate(sets):
                parts.append(self._evaluated(at[np.flatnonzero(which == k)], chosen, *self._solved(chosen)))
            out = pb.concat(parts)[np.argsort(np.argsort(which, kind="stable"), kind="stable")]
        return out.reshape((at.shape[0], *self.d.shape[1:]))

    def _solved(self, chosen: Any) -> tuple[Tensor, Any, Any]:
        """The coefficients for some of the data, and how the polynomials are shifted and scaled."""
        y, d = self.y[chosen], self.d.reshape(self.d.shape[0], -1)[chosen]
        low, high = plain(y).min(axis=0), plain(y).max(axis=0)
        shift, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
        count, powers = len(chosen), self._plain.powers
        matrix = self._kernel(y, y) + pb.diag(self.smoothing[chosen])
        size = len(powers)
        if size:
            values = self._powers(y, shift, scale)
            top = pb.concat([matrix, values], axis=1)
            matrix = pb.concat([top, pb.concat([values.T, pb.zeros((size, size))], axis=1)])
            d = pb.concat([d, pb.zeros((size, d.shape[1]))])
        assert matrix.shape[0] == count + size
        return pb.linalg.solve(matrix, d), shift, scale

    def _evaluated(self, at: Tensor, chosen: Any, coefficients: Tensor, shift: Any, scale: Any) -> Tensor:
        values = self._kernel(at, self.y[chosen])
        if len(self._plain.powers):
            values = pb.concat([values, self._powers(at, shift, scale)], axis=1)
        return values @ coefficients

    def _kernel(self, one: Tensor, other: Tensor) -> Tensor:
        apart = (one[:, None, :] - other[None, :, :]) * self.epsilon
        return _KERNELS[self.kernel]((apart * apart).sum(axis=-1))

    def _powers(self, x: Tensor, shift: Any, scale: Any) -> Tensor:
        x = (x - shift) / scale
        columns = []
        for powers in self._plain.powers:
            column: Any = x[:, 0] * 0 + 1.0
            for k, power in enumerate(powers):
                column = column * x[:, k] ** int(power) if power else column
            columns.append(column)
        return pb.stack(columns, axis=1)


def _points(given: Any) -> Tensor:
    """Points as rows of coordinates; a tuple has one array for each coordinate."""
    if isinstance(given, tuple):
        parts = pb.broadcast_arrays(*(floats(part) for part in given))
        return pb.stack(list(parts), axis=-1)
    out = floats(given)
    return out[:, None] if out.ndim == 1 else out


class LinearNDInterpolator(metaclass=PerExample):
    """`scipy.interpolate.LinearNDInterpolator` with derivatives by values, points and data points.

    The triangulation is a constant, so the derivative by points has jumps at its edges.
    """

    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> None:
        interpolate = scipy_module("interpolate")
        self._tri: Any = None if not hasattr(points, "simplices") else points
        self.points = _points(points.points if self._tri is not None else points)
        self.values = floats(values)
        self.fill_value = fill_value
        plainly = plain(self.points)
        self._offset = plainly.mean(axis=0) if rescale else np.zeros(plainly.shape[1])
        width = np.ptp(plainly, axis=0) if rescale else np.ones(plainly.shape[1])
        self._scale = np.where(width > 0, width, 1.0)
        if self._tri is None:
            self._tri = scipy_module("spatial").Delaunay((plainly - self._offset) / self._scale)
        interpolate.LinearNDInterpolator(plainly, plain(self.values).real, rescale=rescale)  # checks them

    def __call__(self, *xi: Any) -> Tensor:
        at = _points(xi[0] if len(xi) == 1 else tuple(xi))
        shape = tuple(at.shape[:-1])
        at = at.reshape(-1, at.shape[-1])
        simplex = self._tri.find_simplex((plain(at) - self._offset) / self._scale)
        is_outside = simplex < 0
        corners = self._tri.simplices[np.where(is_outside, 0, simplex)]
        x = self.points[corners]
        edges = pb.swapaxes(x[:, :-1] - x[:, -1:], 1, 2)
        shares = pb.linalg.solve(edges, (at - x[:, -1])[:, :, None])[:, :, 0]
        shares = pb.concat([shares, 1.0 - shares.sum(axis=1, keepdims=True)], axis=1)
        rest = (1,) * (self.values.ndim - 1)
        out = (shares.reshape((*shares.shape, *rest)) * self.values[corners]).sum(axis=1)
        if is_outside.any():
            out = pb.where(is_outside.reshape((-1, *rest)), self.fill_value, out)
        return out.reshape(shape + tuple(self.values.shape[1:]))


class NearestNDInterpolator(metaclass=PerExample):
    """`scipy.interpolate.NearestNDInterpolator` with derivatives by the values."""

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        self.values = floats(y)
        count = np.arange(self.values.shape[0])
        self._plain = scipy_module("interpolate").NearestNDInterpolator(plain(_points(x)), count, rescale, tree_options)

    def __call__(self, *args: Any, **query_options: Any) -> Tensor:
        at = _points(args[0] if len(args) == 1 else tuple(args))
        near = self._plain(plain(at), **query_options)
        if np.isnan(near).any():
            found = self.values[np.where(np.isnan(near), 0, near).astype(np.intp)]
            return pb.where(np.isnan(near).reshape(near.shape + (1,) * (found.ndim - near.ndim)), np.nan, found)
        return self.values[near.astype(np.intp)]


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Tensor:
    """`scipy.interpolate.griddata` with derivatives, for the linear and the nearest rule."""
    data = _points(points)
    if data.shape[-1] == 1 and method in ("linear", "nearest", "cubic"):
        at = xi[0] if isinstance(xi, tuple) else xi
        order = np.argsort(plain(data[:, 0]))
        fill = "extrapolate" if method == "nearest" else fill_value
        return pb.scipy.interpolate.interp1d(
            data[:, 0][order], floats(values)[order], method, axis=0, bounds_error=False, fill_value=fill
        )(at)
    if method == "nearest":
        return NearestNDInterpolator(data, values, rescale)(_points(xi))
    if method == "linear":
        return LinearNDInterpolator(data, values, fill_value, rescale)(_points(xi))
    if watches((points, values, xi)):
        raise AutogradError(
            "SCIPY_NO_RULE",
            f"griddata has no derivative for method {method!r}",
            why="the gradients that its triangles meet at are found by an iteration without a rule",
            fix='use method="linear", or RBFInterpolator, which is smooth',
        )
    at = plain(_points(xi))
    return pb.asarray(
        scipy_module("interpolate").griddata(plain(data), plain(values), at, method, fill_value, rescale)
    )


class BarycentricInterpolator(metaclass=PerExample):
    """`scipy.interpolate.BarycentricInterpolator` with derivatives by nodes, values and points."""

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, rng: Any = None,
                 random_state: Any = None) -> None:  # fmt: skip
        self.xi = floats(xi)
        self._axis = axis
        self._wi = None if wi is None else floats(wi)
        self.set_yi(yi, axis)

    def set_yi(self, yi: Any, axis: Any = None) -> None:
        """Let these be the values at the nodes."""
        self._axis = self._axis if axis is None else axis
        self.yi = None if yi is None else pb.moveaxis(floats(yi), self._axis, 0)

    def _weights(self) -> Tensor:
        if self._wi is not None:
            return self._wi
        apart = self.xi[:, None] - self.xi[None, :]
        width = np.ptp(plain(self.xi)) / 4 or 1.0
        return 1 / pb.prod(pb.where(np.eye(apart.shape[0], dtype=bool), 1.0, apart / width), axis=1)

    def __call__(self, x: Any) -> Tensor:
        """The polynomial, as products of distances, so that a node is a point like any other."""
        if self.yi is None:
            raise ValueError("no y values: call set_yi")
        at = floats(x)
        shape = tuple(at.shape)
        at = at.reshape(-1)
        width = np.ptp(plain(self.xi)) / 4 or 1.0
        apart = (at[:, None] - self.xi[None, :]) / width
        count = apart.shape[1]
        others = pb.stack(
            [pb.prod(apart[:, [k for k in range(count) if k != j]], axis=1) for j in range(count)], axis=1
        )
        values = self.yi.reshape(count, -1)
        out = ((others * self._weights()) @ values).reshape(shape + tuple(self.yi.shape[1:]))
        return pb.moveaxis(out, list(range(len(shape))), [self._axis + k for k in range(len(shape))])


class KroghInterpolator(BarycentricInterpolator):
    """`scipy.interpolate.KroghInterpolator` with derivatives, for nodes that are all different."""

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        if len(np.unique(plain(xi))) != len(plain(xi)):
            raise AutogradError(
                "SCIPY_NO_RULE",
                "KroghInterpolator with derivatives at a node, a node given twice, has no derivative",
                why="its divided differences are not written with operators",
                fix="use CubicHermiteSpline for values and slopes",
            )
        super().__init__(xi, yi, axis)


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Tensor:
    """`scipy.interpolate.barycentric_interpolate` with derivatives, for the value; `rng` only orders the work."""
    if not isinstance(der, int) or der != 0:
        raise NotImplementedError("barycentric_interpolate: derivatives by x are those of pb.func")
    return BarycentricInterpolator(xi, yi, axis)(x)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: int = 0, axis: int = 0) -> Tensor:
    """`scipy.interpolate.krogh_interpolate` with derivatives, for the value."""
    if der != 0:
        raise NotImplementedError("krogh_interpolate: derivatives by x are those of pb.func")
    return KroghInterpolator(xi, yi, axis)(x)
