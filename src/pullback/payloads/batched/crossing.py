"""The operators at the edge of a vmapped region, on any payload: entering it, leaving it, and summing a batch.

They are linear, and adjoint to one another: the gradient of entering is leaving. An array that lacks the level is the
same for all examples, so leaving broadcasts it.
"""

from __future__ import annotations

from typing import Any

from pullback.core.spec import spec_for
from pullback.core.state import VmapLevel
from pullback.declare.families import primitive, view
from pullback.payloads import batched
from pullback.payloads.batched import levels_of

__all__ = ["batch_sum", "enter_level", "leave_level", "levels_of", "widen"]


@view(name="_enter_level")
def enter_level(x: Any, *, axis: int, level: VmapLevel) -> Any:
    """`x` with `axis` as the batch dimension of `level`: for the code inside, one example at a time."""
    return batched.enter(x, axis, level)


@enter_level.transpose
def enter_level_transpose(g, axis, level):
    return leave_level(g, axis=axis, level=level)


@enter_level.spec
def enter_level_spec(x, *, axis, level):
    return spec_for((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)


@view(name="_leave_level")
def leave_level(x: Any, *, axis: int, level: VmapLevel) -> Any:
    """`x` with the batch dimension of `level` as an ordinary axis."""
    return batched.leave(x, axis, level)


@leave_level.transpose
def leave_level_transpose(g, axis, level):
    # If `x` lacks the level, the gradient still has it here; the node sums it, as for any operand without the level.
    return enter_level(g, axis=axis, level=level)


@leave_level.spec
def leave_level_spec(x, *, axis, level):
    return spec_for((*x.shape[:axis], level.length, *x.shape[axis:]), x.dtype)


@primitive(name="_batch_sum", flow="examples")
def batch_sum(x: Any, *, level: VmapLevel) -> Any:
    """The sum of `x` over the examples of `level`."""
    return batched.sum_level(x, level)


@batch_sum.transpose
def batch_sum_transpose(g):
    return g


@batch_sum.spec
def batch_sum_spec(x, *, level):
    return x


@primitive(name="_widen", flow="moves", complex="whole")
def widen(x: Any, *, levels: tuple[VmapLevel, ...]) -> Any:
    """`x`, repeated for every example of `levels`, in memory of its own."""
    return batched.widened(x, levels)


@widen.transpose
def widen_transpose(g):
    return g


@widen.spec
def widen_spec(x, *, levels):
    return x


for _op in (enter_level, leave_level, batch_sum, widen):
    _op.takes_payloads = True
