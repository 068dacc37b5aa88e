"""Learning rates that change: functions of the number of steps that were made.

Each function here returns a schedule, which takes that number, as an int or as a tensor in compiled code, and returns
the rate of the next step as a tensor without axes. Any function of yours that does the same is a schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pullback as pb

Schedule = Callable[[Any], Any]


def _share(t: Any, steps: Any) -> Any:
    """How much of `steps` has passed, from 0 to 1."""
    return pb.clip(pb.asarray(t, dtype=float) / steps, 0.0, 1.0)


def _check_steps(who: str, steps: Any) -> None:
    if not steps > 0:
        raise ValueError(f"pb.optim.{who}: steps must be positive, got {steps}")


def constant(value: Any) -> Schedule:
    """The same rate at every step.

    >>> pb.optim.constant(0.1)(7)
    tensor(0.1)
    """
    return lambda t: pb.asarray(value, dtype=float)


def linear(start: Any, end: Any, steps: int) -> Schedule:
    """From `start` to `end` on a straight line, and then `end`.

    >>> [float(pb.optim.linear(1.0, 0.0, 4)(t)) for t in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """
    _check_steps("linear", steps)
    return lambda t: start + (end - start) * _share(t, steps)


def cosine(start: Any, steps: float, end: Any = 0.0) -> Schedule:
    """From `start` to `end` along half a wave, slow at both ends, and then `end`.

    >>> [round(float(pb.optim.cosine(1.0, 4)(t)), 3) for t in (0, 1, 2, 4, 9)]
    [1.0, 0.854, 0.5, 0.0, 0.0]
    """
    _check_steps("cosine", steps)
    return lambda t: end + (start - end) * 0.5 * (1 + pb.cos(math.pi * _share(t, steps)))


def exponential(start: Any, rate: Any, steps: int = 1) -> Schedule:
    """`start`, multiplied with `rate` every `steps` steps, and in between accordingly.

    >>> [float(pb.optim.exponential(1.0, 0.5)(t)) for t in range(3)]
    [1.0, 0.5, 0.25]
    """
    _check_steps("exponential", steps)
    return lambda t: start * rate ** (pb.asarray(t, dtype=float) / steps)


def piecewise(boundaries: Sequence[int], values: Sequence[Any]) -> Schedule:
    """`values[0]` before step `boundaries[0]`, `values[1]` from there until `boundaries[1]`, and so on.

    >>> [float(pb.optim.piecewise([2, 4], [1.0, 0.1, 0.01])(t)) for t in (0, 2, 3, 4)]
    [1.0, 0.1, 0.1, 0.01]
    """
    if len(values) != len(boundaries) + 1 or list(boundaries) != sorted(boundaries):
        raise ValueError(
            f"pb.optim.piecewise takes ascending boundaries and one more value, got {boundaries} and {values}"
        )

    def schedule(t: Any) -> Any:
        rate = pb.asarray(values[0], dtype=float)
        for boundary, value in zip(boundaries, values[1:], strict=True):
            rate = pb.where(pb.asarray(t) >= boundary, value, rate)
        return rate

    return schedule


def warmup(steps: int, then: Any, start: Any = 0.0) -> Schedule:
    """From `start` on a straight line to where `then` begins, in `steps` steps; then `then`, a schedule or a number.

    >>> rate = pb.optim.warmup(2, then=pb.optim.linear(1.0, 0.0, 10))
    >>> [float(rate(t)) for t in (0, 1, 2, 7)]
    [0.0, 0.5, 1.0, 0.5]
    """
    _check_steps("warmup", steps)
    after = then if callable(then) else constant(then)

    def schedule(t: Any) -> Any:
        t = pb.asarray(t, dtype=float)
        rising = start + (after(0) - start) * _share(t, steps)
        return pb.where(t < steps, rising, after(pb.maximum(t - steps, 0.0)))

    return schedule


def onecycle(
    peak: Any, steps: int, *, rise: float = 0.3, divide: float = 25.0, divide_end: float = 1e4
) -> Schedule:
    """Up to `peak` in the share `rise` of the steps, and down again, both along half a wave.

    It starts at `peak / divide` and ends at `peak / divide / divide_end`. This is torch's `OneCycleLR`.

    >>> [round(float(pb.optim.onecycle(1.0, 10, rise=0.5)(t)), 4) for t in (0, 2, 4, 9)]
    [0.04, 0.52, 1.0, 0.0]
    """
    top = rise * steps - 1  # the last step is number `steps - 1`
    if not (0 < rise < 1 and 0 < top < steps - 1):
        raise ValueError(f"pb.optim.onecycle: there is no step to rise in, or none to fall in, of {steps} steps")
    start, end = peak / divide, peak / divide / divide_end
    up, down = cosine(start, top, peak), cosine(peak, steps - 1 - top, end)

    def schedule(t: Any) -> Any:
        t = pb.asarray(t, dtype=float)
        return pb.where(t <= top, up(t), down(pb.maximum(t - top, 0.0)))

    return schedule
