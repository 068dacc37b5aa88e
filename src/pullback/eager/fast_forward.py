"""A short way for elementwise operators on dual tensors (bench/transforms.py).

It is taken where nothing but one forward level is watching: no recording, no other level, no batch dimensions, real
arrays of one shape. Everything else goes to the general function, which alone defines the meaning; tests run the
samples through both. Like the other fast paths it is written out as flat source when it is first used.

The result carries its tangent in a `Dual`, as a bare array (autograd/_tangent_holders.py): most results are read by the
next operation only, and no Tensor is made for a tangent that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

import numpy as np

from pullback.autograd._levels import lend_tangent
from pullback.autograd._tangent_holders import Dual, DualAlias, ForwardGrad, ForwardLevel
from pullback.core.state import current, observers, open_levels
from pullback.declare.op import Op
from pullback.eager.fast import compiled_call
from pullback.eager.forward_source import ForwardSource
from pullback.tensors.tensor import Tensor, shared_counter
from pullback.tensors.versions import VersionCounter, new_counter

ndarray = np.ndarray
_NOTHING = (None, None)


def only_tangent(x: Tensor) -> tuple[Any, Any]:
    """The level and the tangent, as an array, of a tensor that has no other and nothing else that matters; or Nones."""
    extra: Any = x._extra
    # Read once: another thread may close the level.
    tangent = extra.slope if type(extra) is DualAlias or type(extra) is Dual else extra.forward
    if type(tangent) is Tensor:
        if not extra.stands_alone():
            return _NOTHING
        level = extra.level
    elif type(tangent) is ForwardGrad:
        present = tuple(tangent.items())
        if len(present) != 1 or extra.view is not None or extra.deps is not None or type(x._data) is not ndarray:
            return _NOTHING
        level, tangent = present[0]
    else:
        return (None if tangent is None else extra.level), tangent
    if tangent._extra is None and tangent._node is None and x._spec.is_real and type(tangent._data) is ndarray:
        return level, tangent._data
    return _NOTHING


def lent(x: Tensor, level: ForwardLevel) -> VersionCounter | None:
    """Let the result of an operation have the tangent of `x`: whoever is written first gets a copy. The counter of its
    memory."""
    dual: Any = x._extra
    if (type(dual) is Dual or type(dual) is DualAlias) and type(dual.slope) is not ForwardGrad:
        return dual.lend() if type(dual.memory) is int else dual.memory
    lend_tangent(x, level)
    tangent = (dual.forward or {}).get(level)
    return new_counter() if tangent is None else shared_counter(tangent)


_SHARED: dict[str, Any] = {
    "Dual": Dual, "Tensor": Tensor, "asarray": np.asarray, "current": current, "lent": lent, "ndarray": ndarray,
    "observers": observers, "only_tangent": only_tangent, "open_levels": open_levels, "ref": ref, "zeros": np.zeros,
}  # fmt: skip


class Duals:
    """The general function of an elementwise op of one or two operands, with the short way before it.

    `in_normal_modes` takes the operands, `in_modes` also the modes in force, and `general` those that have an `out`.
    """

    def __init__(self, op: Op, general: Callable[..., Any]) -> None:
        self.general = self.in_normal_modes = general
        self.in_modes: Callable[..., Any] = lambda *given: general(*given[:-1])
        if op.partials is not None and op.jvp_rule is None:
            self.in_normal_modes = _compiled_later(op, general, True)
            self.in_modes = _compiled_later(op, general, False)

    def anywhere(self, *operands: Any) -> Any:
        """For callers who do not know the modes."""
        return self.in_modes(*operands, current())


def _compiled_later(op: Op, general: Callable[..., Any], in_normal_modes: bool) -> FunctionType:
    scope: dict[str, Any] = {**_SHARED, "kernel": op.kernel, "general": general}
    function = FunctionType(_STUBS[len(op.operands), in_normal_modes], scope, op.name)

    def compile_now() -> None:
        source = ForwardSource(op)
        code = compiled_call(source.function(in_normal_modes), op.name)
        scope.update(source.names)
        function.__code__ = code

    scope["compile_now"] = compile_now
    scope["call"] = function
    return function


# Nothing but a tensor makes it compile itself: meanwhile the rules of operators are run on names (eager/written.py).
_STUB = """
def call({operands}{modes}):
    if not open_levels or Tensor not in map(type, ({operands},)):
        return general({operands})
    compile_now()
    return call({operands}{modes})
"""
_STUBS: dict[tuple[int, bool], CodeType] = {
    (count, not modes): compiled_call(_STUB.format(operands=operands, modes=modes), "an operator on duals")
    for count, operands in ((1, "x"), (2, "x, y"))
    for modes in ("", ", modes")
}
