"""Fast paths for operators that are not elementwise: views, reductions, products, choices, joins, decompositions.

A call means what `record.apply` means; it is written out from the declaration (eager/call_source.py) and compiled when
it is first made. Whatever is unusual about a call goes to `record.apply`, and the samples are run through both in the
tests. What is recorded is a `DirectNode`, whose formula is compiled as well (eager/pull.py).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CodeType, FunctionType, NoneType
from typing import Any

import numpy as np

from pullback.core.spec import LARGE, Spec, spec_for, spec_of
from pullback.core.state import current, next_stamp, open_levels, switch
from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.eager.call_source import SLOTS, CallRules, call_source
from pullback.eager.failures import failed
from pullback.eager.native_tape import Call, direct_call
from pullback.eager.nodes import aliases, direct_node_class, large_direct_node_class
from pullback.eager.pull import NOT_SAVED, call_rules
from pullback.eager.record import apply
from pullback.eager.small import NEVER, Settings, Tally, are_calls_counted, call_due, kind_of
from pullback.eager.source import compiled
from pullback.tape.accumulate import accumulator_of
from pullback.tape.history import is_foreign, refresh_view
from pullback.tensors.overwrites import UNWRITTEN, epoch_of
from pullback.tensors.tensor import Leaf, Tensor, extra_of, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo, record_of_view

ndarray = np.ndarray
Run = Callable[[tuple[Any, ...], dict[str, Any]], Any]
_STATICS = frozenset({
    NoneType, bool, complex, float, int, ndarray, np.bool_, np.complex64, np.complex128, np.float32, np.float64,
    np.int64,
})  # fmt: skip


def spec_or_none(x: Any) -> Spec | None:
    """The spec of an operand; None if it is a number."""
    return x._spec if type(x) is Tensor else spec_of(x) if isinstance(x, (ndarray, np.generic)) else None


def epochs_of(operands: list[Any]) -> tuple[Any, ...]:
    """What is to be kept with each of several operands; nothing if none of them is a tensor."""
    if Tensor not in map(type, operands):
        return ()
    return tuple([epoch_of(x) if type(x) is Tensor else UNWRITTEN for x in operands])


SHARED: dict[str, Any] = {
    "__builtins__": builtins,  # warnings look for it, as of Python 3.14
    "DEFAULT": CreationMeta.DEFAULT, "Leaf": Leaf, "NEVER": NEVER, "NOT_SAVED": NOT_SAVED,
    "STATICS": _STATICS, "Tensor": Tensor, "UNWRITTEN": UNWRITTEN, "View": ViewInfo, "ViewStep": ViewStep,
    "accumulator_of": accumulator_of,
    "LARGE": LARGE, "aliases": aliases, "apply": apply,
    "asarray": np.asarray, "current": current, "epochs_of": epochs_of, "failed": failed,
    "ndarray": ndarray, "next_stamp": next_stamp, "open_levels": open_levels, "refresh": refresh_view,
    "extra_of": extra_of, "is_foreign": is_foreign, "record_of_view": record_of_view,
    "Settings": Settings, "call_due": call_due, "kind_of": kind_of,
    "shared_counter": shared_counter, "spec_for": spec_for, "spec_or_none": spec_or_none, "switch": switch,
}  # fmt: skip


def copying(op: Op, kernel: Callable[..., Any], otherwise: Run) -> Run:
    """A view, as a function that copies; what is unusual goes to `otherwise`, which does the same."""
    scope: dict[str, Any] = dict(SHARED, op=op, kernel=kernel)
    scope["apply"] = lambda op, operands, params: otherwise(operands, params)
    return _made_later(op, scope, lambda rules, _: call_source(op, rules, copies=True), False)


def direct(op: Op) -> Run | None:
    """The op as a function of its operands and its canonical parameters; None if every call is a general one."""
    if op.takes_payloads or op.num_outputs is None or len(op.operands) > len(SLOTS) or op.setup_rule is not None:
        return None
    if not op.operands or (op.is_view and len(op.operands) > 1):
        return None
    if op.is_differentiable and call_rules(op) is None:
        return None
    is_small = are_calls_counted(op)
    scope = dict(SHARED, op=op, tally=Tally())
    return _made_later(
        op, scope, lambda rules, is_native: call_source(op, rules, is_small=is_small, is_native=is_native), True
    )


def _made_later(
    op: Op, scope: dict[str, Any], source: Callable[[CallRules | None, bool], str], may_be_native: bool
) -> Run:
    function = FunctionType(_stub.__code__, scope, op.name)

    def compile_now() -> None:
        rules = call_rules(op)
        if rules is not None:
            scope["Made"] = made = direct_node_class(op, rules)
            scope["Large"] = made if op.native is None else large_direct_node_class(op, made)

        def code(is_native: bool) -> CodeType:
            return compiled(source(rules, is_native), f"fast path of {op.name}", "run")

        Call(function, scope, code, lambda: direct_call(op, rules, scope.get("Made")) if may_be_native else None)

    scope["compile_now"] = compile_now
    scope["run"] = function
    return function


# The first call in normal modes makes the fast path.


def _stub(operands, params):
    if current().usual is not switch.normal:
        return apply(op, operands, params)  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    try:
        return run(operands, params)  # type: ignore[name-defined]  # noqa: F821
    except Exception as error:
        failed(error, op, operands)  # type: ignore[name-defined]  # noqa: F821
        raise
