"""Where the gradients of a call's leaves go: `accumulators`, by Python, and by native code once there were many calls.

Making an accumulator is the largest part of recording a call: half a microsecond for each leaf, a quarter of that in
native code. It is for fast paths that call native code already (`fast_results.py`), which find it as an attribute of
this module, so it can be replaced under them. The native function is made by a backend, which is given here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.reports import report
from pullback.core.state import next_stamp
from pullback.tape.accumulate import AccumulateGrad, accumulators_of
from pullback.tensors.tensor import Leaf, Tensor

_MANY = 200
_calls = 0
makers: list[Callable[..., Any]] = []  # of native functions, see `compiler/machine/leaves.py`


def _counted(*tensors: Tensor) -> tuple[AccumulateGrad, ...]:
    """`accumulators_of`, until it has been called often."""
    global _calls, accumulators
    _calls += 1
    if _calls == _MANY:
        accumulators = native_or_not()
    return accumulators_of(*tensors)


accumulators: Callable[..., tuple[Any, ...]] = _counted


def native_or_not() -> Callable[..., tuple[Any, ...]]:
    """`accumulators_of` as native code, or itself if that cannot be made."""
    try:
        (make,) = makers
        native: Callable[..., Any] = make(Tensor, Leaf, AccumulateGrad, next_stamp, accumulators_of)
        # path: native sinks
        return native
    except Exception as error:
        report(f"accumulators are made by Python: {type(error).__name__}: {error}")
        return accumulators_of
