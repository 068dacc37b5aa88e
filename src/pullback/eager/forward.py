"""Forward mode for declared operators: from the tangents of the operands to those of the outputs.

One level at a time, the oldest first. The rule for a level runs on operands and outputs that show older levels only,
with ordinary operations: so these are recorded for reverse mode, batched, and pushed through the older levels in turn.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

import numpy as np

from pullback.core.state import Modes, current, observers, open_levels
from pullback.declare.derive import push
from pullback.declare.op import Op
from pullback.eager.dual_source import DualSource
from pullback.eager.scoped_nodes import brought
from pullback.eager.source import compiled
from pullback.payloads.devices import device_of
from pullback.payloads.wrappers import is_wrapper
from pullback.tape.forward.duals import follows_its_base
from pullback.tape.forward.levels import Dual, DualAlias, ForwardGrad, ForwardLevel, handle, lend_tangent, tangent_of
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, shared_counter, zero_tangent
from pullback.tensors.versions import VersionCounter, new_counter

ndarray = np.ndarray
Attach = Callable[[Tensor, ForwardLevel, Any, Sequence[Any]], bool]


def push_tangents(
    op: Op,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    params: dict[str, Any],
    levels: list[ForwardLevel],
    modes: Modes,
    attach: Attach,
) -> None:
    """Give the outputs of a call the tangents that follow from those of its operands at these levels."""
    has_none = op.not_differentiable_because is not None and op.jvp_rule is None
    if has_none:
        return
    if op.is_view and all(map(follows_its_base, outputs)):
        for out in outputs:
            for level in levels:
                tangent_of(out, level)  # kept by the view: what it is a view of may be detached
        return
    if not any(out.dtype.kind in "fc" for out in outputs):
        return  # positions, as `where` of a condition alone gives them
    for index, level in enumerate(levels):
        older = levels[:index]
        tangents = tuple(tangent_of(x, level) if isinstance(x, Tensor) else None for x in operands)
        if index == 0 and _push_plainly(op, operands, outputs, params, level, tangents, modes, attach):
            continue
        primals = tuple([handle(x, older) for x in operands])
        results = tuple([handle(out, older) for out in outputs])
        pushed = run_rule(op, primals, tangents, results if len(outputs) != 1 else results[0], params)
        _attach_all(attach, operands, outputs, level, pushed, tangents)


def _push_plainly(
    op: Op,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    params: dict[str, Any],
    level: ForwardLevel,
    tangents: tuple[Any, ...],
    modes: Modes,
    attach: Attach,
) -> bool:
    """The same on arrays, where nothing but this level is watching. False if something is."""
    for tangent in tangents:
        if tangent is not None and (type(tangent._data) is not ndarray or tangent._extra is not None):
            return False
        if modes.grad and tangent is not None and tangent._node is not None:
            return False
    if modes.grad and any(isinstance(x, Tensor) and requires_grad(x) for x in operands):
        return False
    payloads = tuple([x._data if isinstance(x, Tensor) else x for x in operands])
    results = tuple([out._data for out in outputs])
    if any(type(x) is not ndarray and hasattr(x, "evaluate_op") for x in (*payloads, *results)):
        return False
    arrays = tuple([None if tangent is None else tangent._data for tangent in tangents])
    pushed = run_rule(op, payloads, arrays, results if len(outputs) != 1 else results[0], params)
    _attach_all(attach, operands, outputs, level, pushed, tangents)
    return True


def _attach_all(
    attach: Attach,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    level: ForwardLevel,
    pushed: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> None:
    for out, tangent in zip(outputs, pushed, strict=True):
        if type(out._data) is not ndarray:
            if (place := device_of(out._data)).kind is not None:
                tangent = brought(tangent, place)
            elif is_wrapper(out._data) and _is_zero(tangent):
                tangent = zero_tangent(out)  # rules make it with NumPy
        if attach(out, level, tangent, tangents):
            for x in operands:
                lend_tangent(x, level)


def _is_zero(tangent: Any) -> bool:
    payload = tangent._data if isinstance(tangent, Tensor) else tangent
    return type(payload) is ndarray and not payload.any()


def run_rule(op: Op, primals: Any, tangents: Any, results: Any, params: dict[str, Any]) -> tuple[Any, ...]:
    """The tangents of the outputs, one each."""
    if op.jvp_rule is None and op.partials is None and op.linear_in is None:
        raise NotImplementedError(
            f"forward AD: `{op.name}` does not support it: it has no jvp rule, and its result would silently lose "
            "the tangent; register a jvp, or detach() the operand if that is what you mean"
        )
    pushed = push(op, primals, tangents, results, params)
    return tuple(pushed) if isinstance(pushed, (tuple, list)) else (pushed,)


# A short way for elementwise operators on dual tensors (bench/transforms.py).
#
# It is taken where nothing but one forward level is watching: no recording, no other level, no batch dimensions, real
# arrays of one shape. Everything else goes to the general function, which alone defines the meaning; tests run the
# samples through both. Like the other fast paths it is written out as flat source when it is first used.
#
# The result carries its tangent in a `Dual`, as a bare array (tape/forward/levels.py): most results are read by the
# next operation only, and no Tensor is made for a tangent that nobody asks for.

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
    return new_counter().made_shared() if tangent is None else shared_counter(tangent)


_SHARED: dict[str, Any] = {
    "__builtins__": builtins,  # warnings look for it, as of Python 3.14
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
        source = DualSource(op)
        code = compiled(source.function(in_normal_modes), f"fast path of {op.name} on duals")
        scope.update(source.names)
        function.__code__ = code

    scope["compile_now"] = compile_now
    scope["call"] = function
    return function


# Nothing but a tensor makes it compile itself: meanwhile rules are run on names (eager/dual_source.py).
_STUB = """
def call({operands}{modes}):
    if not open_levels or Tensor not in map(type, ({operands},)):
        return general({operands})
    compile_now()
    return call({operands}{modes})
"""
_STUBS: dict[tuple[int, bool], CodeType] = {
    (count, not modes): compiled(_STUB.format(operands=operands, modes=modes), "fast path of an operator on duals")
    for count, operands in ((1, "x"), (2, "x, y"))
    for modes in ("", ", modes")
}
