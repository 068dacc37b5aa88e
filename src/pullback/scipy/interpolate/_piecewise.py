"""Piecewise polynomials, and the interpolants that are made of them.

Which piece a point lies in is a constant; everything else is computed with operators, so there are derivatives by the
coefficients, by the ends of the pieces and by the points. At an end of a piece it is that of the piece to the right,
as for the value; at the last end that of the last piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor, made_here

__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator", "interp1d"]


def floats(value: Any) -> Tensor:
    """A tensor of floating-point numbers."""
    out = joined(value)
    return out if out.dtype.kind in "fc" else out * 1.0


def plain(value: Any) -> np.ndarray[Any, Any]:
    """The values, without derivatives."""
    return np.asarray(numbers(value.detach() if isinstance(value, Tensor) else value))


class PPoly(metaclass=PerExample):
    """`scipy.interpolate.PPoly` with derivatives: `sum(c[k] * (at - x[i])**(degree - k))` on piece `i`."""

    axis = 0

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c = floats(c)
        self.x = floats(x)
        self.extrapolate = True if extrapolate is None else extrapolate
        self.axis = axis
        ends = plain(self.x)
        if self.c.ndim < 2:
            raise ValueError("c must be at least 2-dimensional.")
        if ends.ndim != 1 or len(ends) < 2 or self.c.shape[1] != len(ends) - 1:
            raise ValueError("x must be 1-dimensional, with one more end than c has pieces")
        if np.any(np.diff(ends) == 0):
            raise ValueError("`x` must be strictly increasing or decreasing.")

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Tensor:
        at = floats(x)
        shape = tuple(at.shape)
        at = at.reshape(-1)
        ends = plain(self.x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            period = self.x[-1] - self.x[0]
            turns = np.floor((plain(at) - ends[0]) / (ends[-1] - ends[0]))
            at = at - period * turns
            extrapolate = False
        values = plain(at)
        sign = 1 if ends[-1] > ends[0] else -1
        piece = np.clip(np.searchsorted(sign * ends, sign * values, side="right") - 1, 0, len(ends) - 2)
        inner = at - self.x[piece]
        c = _derived(self.c, nu)[:, piece]
        inner = inner.reshape((-1,) + (1,) * (c.ndim - 2))
        out = c[0]
        for k in range(1, c.shape[0]):
            out = out * inner + c[k]
        if not extrapolate:
            outside = (sign * values < sign * ends[0]) | (sign * values > sign * ends[-1]) | np.isnan(values)
            if outside.any():
                out = pb.where(outside.reshape(inner.shape), np.nan, out)
        out = out.reshape(shape + tuple(self.c.shape[2:]))
        if self.axis:
            order = list(range(len(shape), len(shape) + self.axis)) + list(range(len(shape)))
            order += list(range(len(shape) + self.axis, out.ndim))
            out = pb.permute_dims(out, tuple(order))
        return out

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative, of order `nu`."""
        return self.antiderivative(-nu) if nu < 0 else PPoly(_derived(self.c, nu), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """An integral, continuous and zero at the first end."""
        if nu <= 0:
            return self.derivative(-nu)
        made = self
        for _ in range(nu):
            degree = made.c.shape[0]
            powers = np.arange(degree, 0, -1.0).reshape((-1,) + (1,) * (made.c.ndim - 1))
            top = made.c / powers
            widths = (made.x[1:] - made.x[:-1]).reshape((-1,) + (1,) * (made.c.ndim - 2))
            whole = top[0]
            for k in range(1, degree):
                whole = whole * widths + top[k]
            steps = pb.cumulative_sum(whole * widths, axis=0)
            start = pb.concat([pb.zeros_like(steps[:1]), steps[:-1]])
            made = PPoly(pb.concat([top, start[None]]), made.x, made.extrapolate, made.axis)
        return made

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Tensor:
        """The integral from `a` to `b`."""
        whole = self.antiderivative()
        return whole(floats(b), extrapolate=extrapolate) - whole(floats(a), extrapolate=extrapolate)


    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Tensor:
        """Where the polynomial is `y`; which pieces these points lie in is a constant."""
        if self.c.ndim != 2:
            raise NotImplementedError("PPoly.solve: polynomials with several values have no derivatives of their roots")
        level = floats(y)
        own = scipy_module("interpolate").PPoly(plain(self.c), plain(self.x), self.extrapolate)
        found = own.solve(float(plain(level)), discontinuity, extrapolate)
        ends = plain(self.x)
        piece = np.clip(np.searchsorted(ends, found, side="right") - 1, 0, len(ends) - 2)
        is_jump = np.abs(own(found) - plain(level)) > 1e-6 * (1 + np.abs(plain(self.c)).max())
        at: Any = made_here(found)
        for _ in range(2):  # a Newton step has the derivative of the root, two have its second and third derivative
            inner = at - self.x[piece]
            value, slope = (_at_pieces(c[:, piece], inner) for c in (self.c, _derived(self.c, 1)))
            flat = (plain(slope) == 0) | is_jump | np.isnan(found)
            at = pb.where(flat, at, at - (value - level) / pb.where(flat, 1.0, slope))
        return pb.where(is_jump, self.x[piece], at) if is_jump.any() else at

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Tensor:
        """Where the polynomial is zero."""
        return self.solve(0.0, discontinuity, extrapolate)


def _at_pieces(c: Tensor, inner: Any) -> Any:
    out = c[0]
    for k in range(1, c.shape[0]):
        out = out * inner + c[k]
    return out


def _derived(c: Tensor, nu: int) -> Tensor:
    for _ in range(nu):
        degree = c.shape[0] - 1
        if degree == 0:
            return c * 0.0
        c = c[:-1] * np.arange(degree, 0, -1.0).reshape((-1,) + (1,) * (c.ndim - 1))
    return c


def _prepared(x: Any, y: Any, axis: int) -> tuple[Tensor, Tensor, int]:
    x, y = floats(x), floats(y)
    axis = axis % y.ndim
    knots = plain(x)
    if knots.ndim != 1 or len(knots) < 2:
        raise ValueError("`x` must be 1-dimensional and contain at least 2 elements.")
    if np.any(np.diff(knots) <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    if y.shape[axis] != len(knots):
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return x, pb.moveaxis(y, axis, 0), axis


class CubicHermiteSpline(PPoly):
    """`scipy.interpolate.CubicHermiteSpline` with derivatives: values and slopes at the knots."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = _prepared(x, y, axis)
        slopes = pb.moveaxis(floats(dydx), axis, 0)
        super().__init__(_hermite(x, y, slopes), x, extrapolate, axis)


def _hermite(x: Tensor, y: Tensor, slopes: Tensor) -> Tensor:
    widths = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
    secants = (y[1:] - y[:-1]) / widths
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / widths
    return pb.stack([bend / widths, (secants - slopes[:-1]) / widths - bend, slopes[:-1], y[:-1]])


class CubicSpline(CubicHermiteSpline):
    """`scipy.interpolate.CubicSpline` with derivatives. The slopes solve a banded system."""

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        if extrapolate is None:
            extrapolate = "periodic" if isinstance(bc_type, str) and bc_type == "periodic" else True
        x, y, axis = _prepared(x, y, axis)
        slopes = _slopes(x, y, bc_type)
        PPoly.__init__(self, _hermite(x, y, slopes), x, extrapolate, axis)


def _slopes(x: Tensor, y: Tensor, bc_type: Any) -> Tensor:
    """The slopes at the knots of the spline with two continuous derivatives."""
    n = x.shape[0]
    ends = _ends(bc_type, y)
    h = x[1:] - x[:-1]
    column = (-1,) + (1,) * (y.ndim - 1)
    secants = (y[1:] - y[:-1]) / h.reshape(column)
    if n == 2:
        left = secants[0] if ends[0][0] == "not-a-knot" else None
        if left is not None and ends[1][0] == "not-a-knot":
            return pb.stack([left, left])
        ends = [("first", secants[0]) if kind == "not-a-knot" else (kind, value) for kind, value in ends]
    if n == 3 and ends[0][0] == ends[1][0] == "not-a-knot":  # a parabola
        bend = (secants[1] - secants[0]) / (h[0] + h[1])
        return pb.stack([secants[0] - bend * h[0], secants[0] + bend * h[0], secants[1] + bend * h[1]])
    if ends[0][0] == "periodic":
        return _periodic_slopes(h, secants)
    # One row for each knot: two bands beside the diagonal. The first and the last row say what holds at the ends.
    first, last = (_end_row(ends[0], h, secants, y), _end_row(ends[1], pb.flip(h), pb.flip(secants, axis=0), y, -1.0))
    zero = made_here(np.zeros(1))
    above = pb.concat([zero, first[1], h[: n - 2]])
    middle = pb.concat([first[0], 2 * (h[:-1] + h[1:]), last[0]])
    below = pb.concat([h[1:], last[1], zero])
    inner = 3 * (h[1:].reshape(column) * secants[:-1] + h[:-1].reshape(column) * secants[1:])
    right = pb.concat([first[2][None], inner, last[2][None]])
    bands = pb.stack([above, middle, below])
    return pb.linalg.solve_banded((1, 1), bands, right.reshape(n, -1)).reshape(right.shape)


def _end_row(
    end: tuple[str, Any], h: Tensor, secants: Tensor, y: Tensor, sign: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """What holds at an end: its entries on and beside the diagonal, and the right side. `h` begins at that end."""
    kind, value = end
    if kind == "not-a-knot":
        d = h[0] + h[1]
        right = ((h[0] + 2 * d) * h[1] * secants[0] + h[0] ** 2 * secants[1]) / d
        return h[1:2], d.reshape(1), right
    if kind == "first":
        return made_here(np.ones(1)), made_here(np.zeros(1)), joined(value) + y[0] * 0
    right = 3 * secants[0] * h[0] - sign * 0.5 * joined(value) * h[0] ** 2
    return 2 * h[:1], h[:1], right + y[0] * 0


def _periodic_slopes(h: Tensor, secants: Tensor) -> Tensor:
    n = h.shape[0]
    before = [n - 1, *range(n - 1)]
    matrix = pb.zeros((n, n))
    for k in range(n):
        matrix[k, k] = matrix[k, k] + 2 * (h[before[k]] + h[k])
        matrix[k, (k - 1) % n] = matrix[k, (k - 1) % n] + h[k]
        matrix[k, (k + 1) % n] = matrix[k, (k + 1) % n] + h[before[k]]
    column = (-1,) + (1,) * (secants.ndim - 1)
    right = 3 * (h.reshape(column) * secants[before] + h[before].reshape(column) * secants)
    slopes = pb.linalg.solve(matrix, right.reshape(n, -1)).reshape(right.shape)
    return pb.concat([slopes, slopes[:1]])


def _ends(bc_type: Any, y: Tensor) -> list[tuple[str, Any]]:
    """What holds at both ends: ("first" or "second", value), "not-a-knot" or "periodic"."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            if not np.allclose(plain(y[0]), plain(y[-1]), rtol=1e-15, atol=1e-15):
                raise ValueError("The first and last `y` point must be identical if `bc_type='periodic'`.")
            return [("periodic", None)] * 2
        bc_type = (bc_type, bc_type)
    named = {"clamped": ("first", 0.0), "natural": ("second", 0.0), "not-a-knot": ("not-a-knot", None)}
    found: list[tuple[str, Any]] = []
    for each in bc_type:
        if isinstance(each, str):
            if each not in named:
                raise ValueError(f"bc_type={each} is not allowed.")
            found.append(named[each])
        else:
            order, value = each
            if order not in (1, 2):
                raise ValueError("The specified derivative order must be 1 or 2.")
            found.append(("first" if order == 1 else "second", value))
    return found


class PchipInterpolator(CubicHermiteSpline):
    """`scipy.interpolate.PchipInterpolator` with derivatives: slopes that keep the data monotonic."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = _prepared(x, y, axis)
        h = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
        secants = (y[1:] - y[:-1]) / h
        if x.shape[0] == 2:
            slopes = pb.concat([secants, secants])
        else:
            first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
            flat = plain(secants[1:]) * plain(secants[:-1]) <= 0
            left, right = (pb.where(flat, 1.0, part) for part in (secants[:-1], secants[1:]))
            inner = pb.where(flat, 0.0, (first + second) / (first / left + second / right))
            slopes = pb.concat([
                _edge(h[0], h[1], secants[0], secants[1])[None], inner,
                _edge(h[-1], h[-2], secants[-1], secants[-2])[None],
            ])  # fmt: skip
        PPoly.__init__(self, _hermite(x, y, slopes), x, extrapolate, axis)


def _edge(h0: Any, h1: Any, d0: Any, d1: Any) -> Any:
    slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    turns = np.sign(plain(slope)) != np.sign(plain(d0))
    steep = (np.sign(plain(d0)) != np.sign(plain(d1))) & (np.abs(plain(slope)) > 3 * np.abs(plain(d0)))
    return pb.where(turns, 0.0, pb.where(steep, 3.0 * d0, slope))


class Akima1DInterpolator(CubicHermiteSpline):
    """`scipy.interpolate.Akima1DInterpolator` with derivatives: slopes from neighbouring secants."""

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, axis = _prepared(x, y, axis)
        extrapolate = False if extrapolate is None else extrapolate
        h = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
        m = (y[1:] - y[:-1]) / h
        if x.shape[0] == 2:
            slopes = pb.concat([m, m])
        else:
            before = 2 * m[0] - m[1]
            after = 2 * m[-1] - m[-2]
            m = pb.concat([(2 * before - m[0])[None], before[None], m, after[None], (2 * after - m[-1])[None]])
            change = pb.abs(m[1:] - m[:-1])
            if method == "makima":
                change = change + 0.5 * pb.abs(m[1:] + m[:-1])
            f1, f2 = change[2:], change[:-2]
            total = f1 + f2
            even = plain(total) <= 1e-9 * plain(total).max(initial=0.0)
            safe = pb.where(even, 1.0, total)
            slopes = pb.where(even, 0.0 if method == "makima" else 0.5 * (m[3:] + m[:-3]),
                              (f1 * m[1:-2] + f2 * m[2:-1]) / safe)  # fmt: skip
        PPoly.__init__(self, _hermite(x, y, slopes), x, extrapolate, axis)


class interp1d(metaclass=PerExample):
    """`scipy.interpolate.interp1d` with derivatives by the data, the knots, the points and the fill value."""

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True, bounds_error: Any = None,
        fill_value: Any = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        real = scipy_module("interpolate").interp1d  # it knows what is wrong with arguments
        y_ = floats(y)
        has_tensors = isinstance(fill_value, Tensor) or (
            isinstance(fill_value, tuple) and any(isinstance(each, Tensor) for each in fill_value)
        )
        self._plain = real(plain(x), plain(y_), kind, axis, copy, bounds_error,
                           np.nan if has_tensors else fill_value, assume_sorted)  # fmt: skip
        order = np.arange(len(plain(x))) if assume_sorted else np.argsort(plain(x), kind="mergesort")
        self.x = floats(x)[order]
        self.y = y_
        self._axis = axis % y_.ndim
        self._values = pb.moveaxis(y_, self._axis, 0)[order]
        self._kind = kind
        self._fill = fill_value
        self._bounds_error = self._plain.bounds_error if not has_tensors else bool(bounds_error)
        self._extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        self._spline: Any = None
        if kind in ("quadratic", "cubic", "slinear") or isinstance(kind, int):
            degree = {"slinear": 1, "quadratic": 2, "cubic": 3}.get(kind, kind)
            self._spline = pb.scipy.interpolate.make_interp_spline(self.x, self._values, degree)

    def __call__(self, x: Any) -> Tensor:
        at = floats(x)
        shape = tuple(at.shape)
        at = at.reshape(-1)
        values, knots = plain(at), plain(self.x)
        below, above = values < knots[0], values > knots[-1]
        if self._bounds_error and not self._extrapolates and (below | above).any():
            self._plain(values)  # SciPy says what is wrong
        out = self._spline(at) if self._spline is not None else self._evaluated(at, values, knots)
        if not self._extrapolates and (below | above).any():
            low, high = self._fill if isinstance(self._fill, tuple) and len(self._fill) == 2 else (self._fill,) * 2
            column = (-1,) + (1,) * (out.ndim - 1)
            out = pb.where(below.reshape(column), low, pb.where(above.reshape(column), high, out))
        rest = tuple(self._values.shape[1:])
        out = out.reshape(shape + rest)
        order = [*range(len(shape), len(shape) + self._axis), *range(len(shape)),
                 *range(len(shape) + self._axis, len(shape) + len(rest))]  # fmt: skip
        return pb.permute_dims(out, tuple(order)) if self._axis else out

    def _evaluated(self, at: Tensor, values: Any, knots: Any) -> Tensor:
        column = (-1,) + (1,) * (self._values.ndim - 1)
        last = len(knots) - 1
        if self._kind == "linear":
            piece = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, last - 1)
            x0, x1 = self.x[piece], self.x[piece + 1]
            y0, y1 = self._values[piece], self._values[piece + 1]
            return y0 + (y1 - y0) * ((at - x0) / (x1 - x0)).reshape(column)
        if self._kind in ("nearest", "nearest-up"):
            middles = (knots[1:] + knots[:-1]) / 2
            piece = np.searchsorted(middles, values, side="left" if self._kind == "nearest" else "right")
        elif self._kind in ("previous", "zero"):
            piece = np.searchsorted(knots, values, side="right") - 1
        else:
            piece = np.searchsorted(knots, values, side="left")
        return self._values[np.clip(piece, 0, last)]
