"""The tape in native code, once so many nodes have been visited that it pays: backward passes, recorded calls of
elementwise operators, and the formulas of their nodes.

The engine's own loop (tape/engine.py) defines what a pass is. The native one (compiler/machine/passes.py) works on the
same entries in the same order, calls the same formulas, and leaves to Python whatever is unusual. Likewise a native
call (compiler/machine/tape.py) is tried first by the function of an operator (eager/source.py), which goes on if it
returns None. Both compute with NumPy's own loops, so results are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any
from weakref import WeakSet

from pullback import compiler, eager
from pullback.core import state
from pullback.core.reports import INFO, report
from pullback.core.spec import LARGE, Spec, spec_for
from pullback.core.threads import sums
from pullback.declare.op import GRADIENT, OPERAND, Op, Rule, registry
from pullback.eager import large
from pullback.eager.call_source import SLOTS, CallRules
from pullback.eager.nodes import DirectNode
from pullback.eager.parts import PartNode, PartWrite
from pullback.eager.pull import NOT_SAVED, spelled_rule
from pullback.eager.small import Kind, Settings, are_calls_counted
from pullback.tape import entries
from pullback.tape.accumulate import AccumulateGrad, accumulator_of
from pullback.tape.engine import at_output, native, visit_leaves, visit_one
from pullback.tape.history import ASSIGNED
from pullback.tape.input_metadata import fitted
from pullback.tape.node import Node
from pullback.tensors.overwrites import UNWRITTEN, disturbed
from pullback.tensors.tensor import UNSET, Leaf, Tensor
from pullback.tensors.versions import Epoch, VersionCounter
from pullback.tensors.views import ViewInfo, ViewWithin

NODES = 3000
"""Visits of nodes after which native code is loaded: it takes 13 ms, and saves some microseconds at each."""
_ABSENT, _SAME = -1, -2


class _Tape:
    """What `set_native_eager` tells, and what was made."""

    functions: Any = None
    calls: Any = None  # what native calls know
    is_on = False

    def due(self) -> None:
        """So many nodes have been visited that native code may pay."""
        native.left = NODES
        if large.state.enabled and self.functions is None:
            self.load()

    def load(self) -> None:
        """Make it, and put it in place."""
        with large.lock:
            if self.functions is None:
                self.functions, self.calls = large.attempted(_made) or ((None, None), None)
                report(f"passes are run by {'Python' if self.calls is None else 'native code'}", "autograd", INFO)
            self.reset()

    def reset(self) -> None:
        """Put in place what the switch wants."""
        native.prepare, native.loop = (self.functions if large.state.enabled else None) or (None, None)
        self.is_on = native.loop is not None
        for call in list(_calls):
            call.put()


def _made() -> Any:
    if not compiler.are_as_expected():
        return None
    formulas: dict[type, Any] = {}
    functions = compiler.pass_functions(
        Node, DirectNode, Spec, Epoch,
        {
            "sink": AccumulateGrad, "sole": entries.SOLE, "one": entries.ONE, "own": entries.OWN, "list": entries.LIST,
            "sums": sums, "add_new": entries.add_new, "at_output": at_output, "visit_leaves": visit_leaves,
            "visit_one": _visit_function(), "fitted": fitted, "formulas": formulas, "learn": partial(_learn, formulas),
            "disturbed": disturbed, "unwritten": UNWRITTEN, "not_saved": NOT_SAVED,
        },
    )  # fmt: skip
    objects = {
        "tensor": Tensor, "leaf": Leaf, "view": ViewInfo, "view_within": ViewWithin, "unwritten": UNWRITTEN,
        "not_saved": NOT_SAVED, "modes": state._modes, "switch_": state.switch, "open_levels": state.open_levels,
        "clock": state.next_stamp, "accumulator_of": accumulator_of, "spec_for": spec_for,
    }  # fmt: skip
    kinds = {
        "switch": type(state.switch), "modes": state.Modes, "leaf": Leaf, "counter": VersionCounter,
        "view": ViewWithin, "spec": Spec, "tensor": Tensor, "node": Node, "settings": Settings, "kind": Kind,
    }  # fmt: skip
    return functions, compiler.Calls(objects, kinds)


def _visit_function() -> Any:
    return compiler.visit_function(
        PartNode,
        DirectNode,
        PartWrite,
        {
            "sink": AccumulateGrad, "assigned": ASSIGNED, "slow": visit_one, "unset": UNSET,
            "sole": entries.SOLE, "one": entries.ONE, "own": entries.OWN, "disturbed": disturbed,
        },
    )  # fmt: skip


# Calls.


class Call:
    """A function of the fast paths: its code, and the code that tries a native call first. `make` makes that of the
    operator and, or None, one of arguments whose canonical parameters are known; it returns None if it has none."""

    def __init__(
        self, function: Any, scope: dict[str, Any], codes: Callable[[bool], CodeType], make: Callable[[], Any]
    ) -> None:
        self.function, self.scope, self.codes, self.make = function, scope, codes, make
        self.made: dict[bool, CodeType] = {}
        scope["call_of_tape"] = self  # for as long as there is the function: operators of users may come and go
        with large.lock:
            _calls.add(self)
            self.put()

    def put(self) -> None:
        """Put in place what the switch wants."""
        which = tape.is_on and self._is_native()
        self.scope["at_once"], self.scope["known_natively"] = (
            (self.scope["natively"], self.scope["of_known"]) if which else (None, None)
        )
        code = self.made.get(which)
        if code is None:
            code = self.made[which] = self.codes(which)
        self.function.__code__ = code

    def _is_native(self) -> bool:
        if "natively" not in self.scope:
            self.scope["natively"] = self.scope["of_known"] = None  # meanwhile: kernels may call operators
            self.scope["natively"], self.scope["of_known"] = large.attempted(self.make) or (None, None)
        return self.scope["natively"] is not None


def elementwise_call(op: Op, node: type, loose: type) -> Any:
    """The native call of an elementwise operator whose nodes are of these classes; None if it has none."""
    programs = [eager.stand_in.sketched(op.kernel, [dtype] * len(op.operands)) for dtype in ("f4", "f8")]
    if op.takes_numbers or None in programs:
        return None
    rules = op.fast_rules or ()
    readers = {
        v: sum(1 << k for k, rule in enumerate(rules) if position in rule.reads_operands)
        for position, v in enumerate("xy")
    }
    readers["out"] = sum(1 << k for k, rule in enumerate(rules) if rule.reads_outputs)
    made = tape.calls.call_function(programs, node, loose, readers)
    return None if made is None else (made, None)


def direct_call(op: Op, rules: CallRules | None, node: Any) -> Any:
    """The native calls of any other operator; None if it has none: of views, and with several results."""
    has_any_number = op.variadic_from == 0
    if op.is_view or op.num_outputs != 1 or op.variadic_from > 0 or (rules is None and op.is_differentiable):
        return None
    slots, readers = SLOTS[: len(op.operands)], {"out": 0}
    readers |= dict.fromkeys(slots, 0)
    if rules is not None:
        readers["out"] = sum(1 << k for k in rules.readers_of_output(0))
        readers |= {v: sum(1 << j for j in rules.readers_of_operand(k)) for k, v in enumerate(slots)}
        if rules.reads_rest or (has_any_number and readers["out"]):
            return None
    return tape.calls.direct_function(
        op, op.inner_kernel or op.kernel, node, None if has_any_number else slots, readers, bool(op.params),
        are_calls_counted(op), LARGE,
    )  # fmt: skip


_calls: WeakSet[Call] = WeakSet()


# Formulas.


def _learn(formulas: dict[type, Any], kind: Any) -> Any:
    """The formula of a class of nodes; None if it stays with Python."""
    op, found = getattr(kind, "op", None), None
    if not isinstance(op, Op) or op.name not in registry:
        return None  # those of users may come and go
    rules = op.fast_rules or ()
    if op.fast_nodes is not None and kind in op.fast_nodes and not op.array_rules:
        gradients, is_loose = [_gradient(op, rule) for rule in rules], kind is op.fast_nodes[1]
        # path: native formula
        found = large.attempted(lambda: compiler.formula_table(kind, gradients, is_loose))
    elif issubclass(kind, DirectNode) and op.share is not None:
        found = large.attempted(lambda: compiler.formula_table(kind, [_share(op)], False, True))
    formulas[kind] = found
    return found


def _share(op: Op) -> Any:
    """What every element of a reduction gets of the gradient, as `formula_table` wants it."""
    return [(eager.stand_in.sketched(op.share, [dtype] * 2), ["g", "x"]) for dtype in ("f4", "f8")]


def _gradient(op: Op, rule: Rule) -> Any:
    """The gradient of an operand, as `formula_table` wants it."""
    if rule.constant is not None and rule.constant in (0, 1):
        return _SAME if rule.constant == 1 else _ABSENT
    names = ["g", *("xy"[key] if kind == OPERAND else "out" for kind, key in rule.plan if kind != GRADIENT)]
    found = [eager.stand_in.sketched(spelled_rule(rule), [dtype] * len(names)) for dtype in ("f4", "f8")]
    return _ABSENT if None in found else [(program, names) for program in found]


tape = _Tape()
native.left, native.due = NODES, tape.due
large.listen(tape)
