"""Linear interpolation between knots."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.ops.casting import astype
from pullback.ops.comparison import clip, equal, where
from pullback.ops.joining import concat
from pullback.ops.order_operators import insertion_points
from pullback.ops.plain import tensor_from
from pullback.ops.scatter import take
from pullback.ops.sorting import argsort


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
        # Measured from the last knot at the last knot, so that the value there is exact.
        inside = where(equal(x, x1), y1 + slope * (x - x1), y0 + slope * (x - x0))
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
