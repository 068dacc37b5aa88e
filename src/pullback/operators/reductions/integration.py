"""Differences and integrals of sampled functions, differentiable in the samples and in where they were taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index, normalize_axis_tuple
from pullback.declare.composite import composite
from pullback.operators.arguments import tensor_from
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.arrays.order_operators import insertion_points
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.arrays.scatter import take
from pullback.operators.arrays.sorting import argsort
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import clip, equal, isnan, where
from pullback.operators.reductions.reduction import sum
from pullback.operators.reductions.scan import cumsum, diff


def _part(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def _along(x: Any, axis: int, ndim: int) -> Any:
    """A vector as an array of `ndim` axes that extends along one of them."""
    return reshape(x, (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


@composite
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in row-major order, between `to_begin` and `to_end`."""
    steps = diff(ravel(x))
    parts = (to_begin, steps, to_end)
    return concat([ravel(astype(tensor_from(part), x.dtype, copy=False)) for part in parts if part is not None], 0)


# Derivatives of samples.


@composite
def gradient(
    f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1, dim: Any = None, spacing: Any = None
) -> Any:  # fmt: skip
    """The derivative of a sampled function along every axis, by central differences inside and one-sided at the ends.

    `varargs` is a distance for all axes, or one per axis: a number, a tensor without axes, or coordinates; torch gives
    them as `spacing`, several in a list. For one axis the result is an array, for several a tuple. Differentiable in
    the samples, distances and coordinates.
    """
    if spacing is not None:
        varargs = merge_spellings("gradient: spacing", varargs, spacing, ())
        varargs = tuple(spacing) if isinstance(spacing, (list, tuple)) else (spacing,)
    chosen = axis if dim is None else dim
    if chosen is None:
        axes = tuple(range(f.ndim))
    else:
        axes = normalize_axis_tuple(chosen, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    steps = _spacing(f, varargs, axes)
    if f.dtype.kind in "biu":
        f = astype(f, np.float64)
    parts = tuple(_derivative(f, k, step, edge_order) for k, step in zip(axes, steps, strict=True))
    return parts[0] if len(parts) == 1 else parts


def _spacing(f: Any, spacing: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """For every axis a number, or the distances between neighbours."""
    if not spacing:
        return [1.0] * len(axes)
    if len(spacing) == 1 and getattr(spacing[0], "ndim", 0) == 0 and not isinstance(spacing[0], (list, tuple)):
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"gradient: there are {len(axes)} axes and spacings for {len(spacing)}")
    steps: list[Any] = []
    for step, axis in zip(spacing, axes, strict=True):
        if isinstance(step, (list, tuple)) or getattr(step, "ndim", 0) > 0:
            coordinates = tensor_from(step)
            if coordinates.shape != (f.shape[axis],):
                raise ValueError(f"gradient: {f.shape[axis]} samples along axis {axis} at {coordinates.shape} places")
            if coordinates.dtype.kind in "biu":
                coordinates = astype(coordinates, np.float64)
            step = _along(diff(coordinates), axis, f.ndim)
        steps.append(step)
    return steps


def _derivative(f: Any, axis: int, step: Any, edge_order: int) -> Any:
    length = f.shape[axis]
    if length < edge_order + 1:
        raise ValueError(f"gradient: axis {axis} needs {edge_order + 1} samples or more, and has {length}")
    is_even = getattr(step, "ndim", 0) == 0
    left = step if is_even else _part(step, axis, None, -1)
    right = step if is_even else _part(step, axis, 1, None)
    if is_even:
        inside = (_part(f, axis, 2, None) - _part(f, axis, None, -2)) / (2 * step)
    else:
        inside = _three_points(
            [_part(f, axis, None, -2), _part(f, axis, 1, -1), _part(f, axis, 2, None)],
            [-right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))],
        )
    first_step = step if is_even else _part(step, axis, 0, 1)
    last_step = step if is_even else _part(step, axis, -1, None)
    if edge_order == 1:
        first = (_part(f, axis, 1, 2) - _part(f, axis, 0, 1)) / first_step
        last = (_part(f, axis, -1, None) - _part(f, axis, -2, -1)) / last_step
    else:
        a, b = (step, step) if is_even else (first_step, _part(step, axis, 1, 2))
        weights = [-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))]
        first = _three_points([_part(f, axis, k, k + 1) for k in (0, 1, 2)], weights)
        a, b = (step, step) if is_even else (last_step, _part(step, axis, -2, -1))
        weights = [(2 * a + b) / (a * (a + b)), -(a + b) / (a * b), a / (b * (a + b))]
        last = _three_points([_part(f, axis, length - k, length - k + 1) for k in (1, 2, 3)], weights)
    return concat([first, inside, last], axis)


def _three_points(values: list[Any], weights: list[Any]) -> Any:
    return values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2]


# Integrals.


def _widths(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The distances between neighbouring samples along `axis`."""
    if x is None:
        return dx
    x = tensor_from(x)
    if x.ndim == 1:
        return _along(diff(x), axis, y.ndim)
    return diff(x, axis=axis - y.ndim)


@composite(aliases=("trapz",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, *, dim: int | None = None) -> Any:
    """The integral along `axis` by the trapezoidal rule, at the coordinates `x` or at distances `dx`."""
    axis = normalize_axis_index(axis if dim is None else dim, y.ndim)
    return sum(_widths(y, x, dx, axis) * (_part(y, axis, 1, None) + _part(y, axis, None, -1)) / 2, axis)


@composite
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None, *, dim: int | None = None
) -> Any:
    """The integrals up to every sample but the first along `axis`; `initial=0` adds the one up to the first."""
    axis = normalize_axis_index(axis if dim is None else dim, y.ndim)
    pieces = _widths(y, x, dx, axis) * (_part(y, axis, 1, None) + _part(y, axis, None, -1)) / 2
    running = cumsum(pieces, axis)
    if initial is None:
        return running
    shape = (*running.shape[:axis], 1, *running.shape[axis + 1 :])
    return concat([broadcast_to(astype(tensor_from(initial), running.dtype), shape), running], axis)


@composite
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along `axis` by Simpson's rule: exact for cubics, also with unequal distances up to quadratics.

    With an even number of samples the last piece is integrated by the parabola through the last three.
    """
    axis = normalize_axis_index(axis, y.ndim)
    count = y.shape[axis]
    if count < 2:
        return sum(y * 0.0, axis)
    steps = _widths(y, x, dx, axis)
    if x is None:
        steps = broadcast_to(tensor_from(dx), (1,) * axis + (count - 1,) + (1,) * (y.ndim - axis - 1))
    if count == 2:
        return sum(steps * (_part(y, axis, 1, None) + _part(y, axis, None, -1)) / 2, axis)
    whole = count - 1 - (count - 1) % 2  # as many intervals as make pairs
    h0, h1 = _part(steps, axis, 0, whole, 2), _part(steps, axis, 1, whole, 2)
    y0, y1, y2 = _part(y, axis, 0, whole, 2), _part(y, axis, 1, whole, 2), _part(y, axis, 2, whole + 1, 2)
    both = h0 + h1
    pieces = both / 6 * (y0 * (2 - h1 / h0) + y1 * (both * both / (h0 * h1)) + y2 * (2 - h0 / h1))
    total = sum(pieces, axis)
    if whole == count - 1:
        return total
    h1, h0 = _part(steps, axis, -1, None), _part(steps, axis, -2, -1)
    last = (
        _part(y, axis, -1, None) * (2 * h1 * h1 + 3 * h0 * h1) / (6 * (h0 + h1))
        + _part(y, axis, -2, -1) * (h1 * h1 + 3 * h0 * h1) / (6 * h0)
        - _part(y, axis, -3, -2) * (h1 * h1 * h1) / (6 * h0 * (h0 + h1))
    )
    return total + sum(last, axis)


# Linear interpolation between knots.

@composite(arrays=3)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    """The values at `x` of the broken line through the knots `(xp, fp)`, whose abscissas rise.

    Below the first knot it is `left` and above the last `right`, by default the values there. With `period` the knots
    repeat. At a knot the derivative by `x` is the slope of the segment to its right (at the last one, to its left), and
    outside it is 0. The line is differentiable in the knots too.
    """
    x, xp, fp = (_real(part) for part in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(f"interp: knots must be two vectors of one length, got {xp.shape} and {fp.shape}")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    count = xp.shape[0]
    if count == 1:
        inside = fp + 0 * x
    else:
        segment = clip(insertion_points(xp.detach(), x.detach(), side="right") - 1, 0, count - 2)
        x0, y0, x1, y1 = (take(part, place) for place in (segment, segment + 1) for part in (xp, fp))
        width = x1 - x0
        is_point = equal(width, 0)
        slope = where(is_point, 0, (y1 - y0) / where(is_point, 1, width))
        inside = y0 + slope * (x - x0)
        # Measured from the last knot at the last knot, so that the value there is exact, and where a knot is infinite.
        inside = where(equal(x, x1) | isnan(inside), y1 + slope * (x - x1), inside)
        is_lost = isnan(inside) & equal(x, x)
        inside = where(is_lost & (equal(y0, y1) | equal(x, x0)), y0, where(is_lost & equal(x, x1), y1, inside))
    first, last = xp[0], xp[count - 1]
    low = fp[0] if left is None else left
    high = fp[count - 1] if right is None else right
    return where(x < first, low, where(x > last, high, inside))


def _real(x: Any) -> Any:
    x = tensor_from(x)
    return astype(x, np.float64) if x.dtype.kind in "biu" else x


def _periodic(x: Any, xp: Any, fp: Any, period: float) -> tuple[Any, Any, Any]:
    """Everything moved into one period, with the knots next to it on both sides."""
    if period == 0:
        raise ValueError("interp: the period must not be 0")
    period = abs(period)
    x, xp = x % period, xp % period
    order = argsort(xp.detach())
    xp, fp = take(xp, order), take(fp, order)
    xp = concat([xp[-1:] - period, xp, xp[:1] + period], 0)
    return x, xp, concat([fp[-1:], fp, fp[:1]], 0)
