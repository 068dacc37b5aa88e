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


def design(t: Tensor, k: int, at: Tensor) -> Tensor:
    """The values of all basis functions at these points, as rows."""
    count = t.shape[0] - k - 1
    piece = np.clip(np.searchsorted(plain(t), plain(at), side="right") - 1, k, count - 1)
    matrix = pb.zeros((at.shape[0], count))
    rows = np.repeat(np.arange(at.shape[0]), k + 1)
    columns = (piece[:, None] - k + np.arange(k + 1)).reshape(-1)
    matrix[rows, columns] = pb.stack(basis(t, k, at, piece), axis=1).reshape(-1)
    return matrix


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

    def antiderivative(self, nu: int = 1) -> BSpline:
        """An integral that is zero at the first knot, `nu` times."""
        made = self
        for _ in range(nu):
            made = integrated(made)
        return made

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Tensor:
        """The integral from `a` to `b`."""
        if isinstance(self.extrapolate if extrapolate is None else extrapolate, str):
            raise NotImplementedError("BSpline.integrate: periodic splines have no integrals here")
        whole = integrated(self)
        low, high = plain(self.t)[self.k], plain(self.t)[-self.k - 1]
        ends = [floats(end) for end in (a, b)]
        if not (self.extrapolate if extrapolate is None else extrapolate):  # it is zero outside
            ends = [pb.clip(end, low, high) for end in ends]
        return whole(ends[1], extrapolate=True) - whole(ends[0], extrapolate=True)

    def roots(self) -> Tensor:
        """The zeros of a cubic spline."""
        at: Any = pb.asarray(scipy_module("interpolate").sproot((plain(self.t), plain(self.c), self.k)))
        for _ in range(2):  # a Newton step has the derivative of the root, two have its second and third derivative
            at = at - self(at) / self(at, 1)
        return at

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> BSpline:
        """The spline of the basis that has these knots."""
        t = floats(t)
        k = t.shape[0] - 2
        t = pb.concat([*[t[:1] - 1] * k, t, *[t[-1:] + 1] * k])
        return cls(t, np.eye(t.shape[0] - k - 1)[k], k, extrapolate)

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """The values of all splines of the basis at these points, a sparse matrix."""
        real = scipy_module("interpolate").BSpline.design_matrix(plain(x), plain(t), k, extrapolate)
        if isinstance(extrapolate, str):
            raise NotImplementedError("BSpline.design_matrix: periodic splines have no derivatives here")
        rows = np.repeat(np.arange(real.shape[0]), np.diff(real.indptr))
        values = design(floats(t), k, floats(x))[rows, real.indices]
        return pb.scipy.sparse.csr_array((values, real.indices, real.indptr), shape=real.shape)

    def insert_knot(self, x: Any, m: int = 1) -> BSpline:
        """The same spline with a knot more, `m` times."""
        made = self
        for _ in range(m):
            made = made._with_knot(floats(x))
        return made

    def _with_knot(self, x: Tensor) -> BSpline:
        """Boehm's formula."""
        knots, k = plain(self.t), self.k
        real = scipy_module("interpolate").BSpline(knots, plain(self.c), k, self.extrapolate, self.axis)
        real.insert_knot(float(plain(x)))  # says what is wrong
        place = min(int(np.searchsorted(knots, float(plain(x)), side="right")) - 1, len(knots) - k - 2)
        c = pb.moveaxis(self.c, self.axis, 0)
        near = np.arange(place - k + 1, place + 1)
        width = self.t[near + k] - self.t[near]
        share = ((x - self.t[near]) / width).reshape((-1,) + (1,) * (c.ndim - 1))
        c = pb.concat([c[: place - k + 1], share * c[near] + (1 - share) * c[near - 1], c[place:]])
        t = pb.concat([self.t[: place + 1], x.reshape(1), self.t[place + 1 :]])
        return BSpline(t, pb.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)


def integrated(spline: BSpline) -> BSpline:
    """The integral of a spline from its first knot on."""
    t, k = spline.t, spline.k
    count = t.shape[0] - k - 1
    c = pb.moveaxis(spline.c, spline.axis, 0)[:count]
    widths = (t[k + 1 :] - t[:count]).reshape((-1,) + (1,) * (c.ndim - 1))
    c = pb.concat([pb.zeros_like(c[:1]), pb.cumulative_sum(c * widths, axis=0) / (k + 1)])
    knots = pb.concat([t[:1], t, t[-1:]])
    return BSpline(knots, pb.moveaxis(c, 0, spline.axis), k + 1, spline.extrapolate, spline.axis)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """`scipy.interpolate.make_interp_spline` with derivatives: the coefficients solve a linear system."""
    x, y = floats(x), floats(y)
    axis = axis % y.ndim
    real = scipy_module("interpolate").make_interp_spline(
        plain(x), plain(y), k, None if t is None else plain(t), _with_arrays(bc_type), axis
    )
    values = pb.moveaxis(y, axis, 0)
    flat = values.reshape(values.shape[0], -1)
    if bc_type == "periodic":
        knots = _periodic_knots(x, k) if t is None else floats(t)
        c = _periodic(knots, k, x, flat)
    else:
        knots = _knots(x, k, real.t) if t is None else floats(t)
        ends = [_at_end(knots, k, x[end], given, flat) for end, given in zip((0, -1), _of_both(bc_type), strict=True)]
        rows, right = zip(ends[0], (design(knots, k, x), flat), ends[1], strict=True)
        c = pb.linalg.solve(pb.concat(rows), pb.concat(right))
    c = c.reshape((c.shape[0], *values.shape[1:]))
    return BSpline(knots, pb.moveaxis(c, 0, axis), k, "periodic" if bc_type == "periodic" else True, axis)


def _of_both(bc_type: Any) -> list[list[tuple[int, Any]]]:
    """Orders and values of the derivatives at the first and the last point."""
    named = {"clamped": [(1, 0.0)], "natural": [(2, 0.0)], "not-a-knot": [], None: []}
    both = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    return [named[each] if each is None or isinstance(each, str) else list(each) for each in both]


def _with_arrays(bc_type: Any) -> Any:
    if bc_type is None or isinstance(bc_type, str):
        return bc_type
    return tuple([each if each is None or isinstance(each, str) else [(order, plain(value)) for order, value in each]
                  for each in bc_type])  # fmt: skip


def _at_end(t: Tensor, k: int, at: Tensor, given: list[tuple[int, Any]], flat: Tensor) -> tuple[Tensor, Tensor]:
    """Equations for derivatives at an end: the basis there, and what they shall be."""
    count = t.shape[0] - k - 1
    everything = BSpline(t, np.eye(count), k)
    rows = [pb.zeros((0, count))] + [everything(at.reshape(1), order) for order, _ in given]
    right = [pb.zeros((0, flat.shape[1]))] + [
        pb.broadcast_to(floats(value).reshape(1, -1), (1, flat.shape[1])) for _, value in given
    ]
    return pb.concat(rows), pb.concat(right)


def _periodic_knots(x: Tensor, k: int) -> Tensor:
    """The points, or for even degrees what lies between them, and as many beyond the ends as the degree says."""
    if k % 2 == 0:
        x = pb.concat([x[:1], (x[:-2] + x[1:-1]) / 2, x[-1:]])
    steps = x[1:] - x[:-1]
    before, after = [x[:1]], [x[-1:]]
    for i in range(k):
        before.append(before[-1] - steps[-(i % steps.shape[0]) - 1])
        after.append(after[-1] + steps[i % steps.shape[0]])
    return pb.concat([*before[:0:-1], x, *after[1:]])


def _periodic(t: Tensor, k: int, x: Tensor, flat: Tensor) -> Tensor:
    """Coefficients of which the last `k` are the first again."""
    n = x.shape[0] - 1
    if n < k:
        raise NotImplementedError("make_interp_spline: a periodic spline through fewer points than its degree")
    rows = design(t, k, x[:-1])
    matrix = pb.concat([rows[:, :k] + rows[:, n:], rows[:, k:n]], axis=1)
    c = pb.linalg.solve(matrix, flat[:-1])
    return pb.concat([c, c[:k]])


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
