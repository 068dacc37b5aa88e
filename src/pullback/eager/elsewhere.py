"""Fast paths for calls on arrays of other libraries, written out from declarations as those for NumPy's arrays are.

A call means what `record.apply_generally` means. It is taken here if every tensor among its operands is one on such an
array and nothing else (`AWAY`), and no operand is an array of NumPy's. The node is a `DirectNode` that knows its
device; a pass on arrays of that library runs its formula as one function (eager/pull.py), which brings what rules make
with NumPy to the device. bench/foreign.py
"""

from __future__ import annotations

from types import FunctionType, NoneType
from typing import Any

from pullback.declare.op import Op
from pullback.eager import record
from pullback.eager.call_source import SLOTS, call_source
from pullback.eager.direct import SHARED, Run
from pullback.eager.pull import call_rules
from pullback.eager.scoped_nodes import node_class_elsewhere
from pullback.eager.source import compiled
from pullback.tensors.tensor import AWAY, Tensor

_NUMBERS = frozenset({NoneType, bool, complex, float, int})


def elsewhere(op: Op, foreign: Any) -> Run:
    """The op as a function of operands on arrays of the class `foreign`, and of its canonical parameters."""
    rules = call_rules(op)
    if (
        op.takes_payloads or op.is_view or op.num_outputs is None or not 0 < len(op.operands) <= len(SLOTS)
        or op.context is not None or op.setup_rule is not None or (op.is_differentiable and rules is None)
    ):  # fmt: skip
        return lambda operands, params: record.apply_generally(op, operands, params)
    scope = dict(SHARED, op=op, apply=record.apply_generally, evaluate=foreign.evaluate_op, AWAY=AWAY)
    scope["NUMBERS"] = scope["STATICS"] = _NUMBERS
    if rules is not None:
        scope["Made"] = node_class_elsewhere(op, rules, foreign)
    code = compiled(call_source(op, rules, is_there=True), f"fast path of {op.name} elsewhere", "run")
    return FunctionType(code, scope, op.name)


def make_elsewhere(op: Op, operands: tuple[Any, ...]) -> Run:
    """`elsewhere` for the first operands of that kind, kept with the op."""
    foreign = next(type(x._data) for x in operands if type(x) is Tensor and x._extra is AWAY)
    op.elsewhere = run = elsewhere(op, foreign)
    return run
