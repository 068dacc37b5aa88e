"""`OperatorNode`: the node of a custom operator's call, and the `ctx` of its formulas.

It is a node like that of a custom Function with another idea of its arguments: formulas of operators see them as the
schema has them, lists as lists, while the node has one edge per tensor. Its class is made for the operator and the
rules in force, which stay with the node: registering another formula changes later calls only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from pullback.core.state import Modes, change, change_grad, current, in_force, next_stamp, open_levels, reinstate
from pullback.declare.op import OPERANDS, OUTPUTS, Op, run_rule
from pullback.errors import AutogradError
from pullback.library._call import Call
from pullback.payloads.batched import levels_of
from pullback.tape.anomaly import remember_place
from pullback.tape.function.apply import begin_in_trace, finish_call
from pullback.tape.function.node import Call as NodeCall
from pullback.tape.function.node import ContextNode, Forward, _in_backward, store
from pullback.tape.function.rules import Statics
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.hook_calls import lend
from pullback.tape.node import ErrorNode
from pullback.tape.transform.body import Transform, fresh_leaf, running
from pullback.tape.transform.tokens import Scope, deps_behind
from pullback.tensors.tensor import Tensor, alias, wrap

ndarray = np.ndarray


class OperatorNode(ContextNode):
    """The node of one call of a custom operator, and the `ctx` of its formulas. Any attribute may be set on it."""

    __slots__ = ()

    _fills_tangents = False  # rules that are sums over the arguments leave out what is None
    _rules: ClassVar[Op]  # the operator with the rules that were in force at the call
    _location: ClassVar[str]  # where its reverse rule was registered
    looks_ahead: ClassVar[bool] = False  # does something depend on whether a call will be differentiated?
    # In the node's dictionary, like what authors set:
    _operator: Call
    _specs: tuple[Any, ...]  # of the operands
    _counts: tuple[int, int]  # how many tensors the author saved, for backward and for jvp; what rules read follows
    _intermediates: tuple[bool, ...]
    _levels: Sequence[Any]

    # Recording --------------------------------------------------------------------------------------------------------

    @classmethod
    def record(
        cls,
        operands: tuple[Any, ...],
        params: dict[str, Any],
        outputs: list[Any],
        needs: tuple[bool, ...],
        levels: list[Any],
        modes: Modes,
    ) -> None:
        """Give the outputs of a call their history and their tangents, once the author's setup has filled the ctx."""
        forward = Forward(operands, True in needs, modes.grad)
        node = cls._begun(params["call"], forward, needs, modes)
        before = begin_in_trace(modes.trace)
        settings = in_force()
        change_grad(False)
        if open_levels:
            change(forward_mask=next_stamp())
        try:
            if cls._rules.setup_rule is not None:
                cls._rules.setup_rule(node, operands, outputs, params)
        finally:
            reinstate(settings)
            if modes.trace is not None:
                modes.trace.stops = before
        node._collect(forward, outputs, levels)
        finish_call(node, forward, tuple(outputs), modes)

    @classmethod
    def _begun(cls, call: Call, forward: Forward, needs: tuple[bool, ...], modes: Modes) -> OperatorNode:
        operands = forward.inputs
        record = NodeCall(forward, (True,) * len(operands), needs)
        if forward.is_recorded:
            record.deps = deps_behind(operands, needs)
            levels = tuple([levels_of(x._data) for x in operands])
            if modes.vmaps or any(levels):
                record.scope = Scope(modes.vmaps, levels)
        edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
        node = cls._begin(record, edges)
        store(node, "_operator", call)
        store(node, "_specs", tuple([x._spec for x in operands]))
        if modes.anomaly and forward.is_recorded:
            remember_place(node)
        return node

    def _collect(self, forward: Forward, outputs: list[Any], levels: list[Any]) -> None:
        """What is to be saved: what the author's setup names, then what rules read."""
        named, rule = forward.to_save, self._rules.joint
        tensors = tuple([x if isinstance(x, Tensor) else None for x in outputs])
        constants = self.__dict__.get("_constants", ())
        known = {id(x) for x in (*forward.inputs, *outputs, *constants)}
        store(self, "_intermediates", tuple(
            [x is not None and id(x) not in known and x._spec.is_differentiable for x in named]
        ))  # fmt: skip
        for_forward = forward.to_save_forward or named
        store(self, "_counts", (len(named), len(for_forward)))
        store(self, "_levels", levels)
        if rule is not None and rule.reads_all_operands:
            forward.to_save += forward.inputs
        if rule is not None and rule.reads_all_outputs:
            forward.to_save += tensors
        if levels:
            forward.to_save_forward = (*for_forward, *forward.inputs, *tensors)

    # What setup_context says ------------------------------------------------------------------------------------------

    @property
    def op(self) -> Any:
        """The operator that was called."""
        return self._operator.definition

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Refused: results of an operator are never its arguments."""
        raise RuntimeError(f"{self.op.qualname}: mark_dirty is for Functions; operators declare writes in the schema")

    def mark_saved_constant(self, *tensors: Tensor) -> None:
        """Say that these saved tensors, though neither argument nor output, do not depend on the arguments."""
        self.__dict__.setdefault("_constants", []).extend(tensors)

    # What formulas ask ------------------------------------------------------------------------------------------------

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """By positional argument of the schema, whether its gradient is wanted; a list for a list."""
        return tuple(self._operator.per_argument(self._flat_needs(), False))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        return self._saved_by_author()

    def _saved_by_author(self) -> tuple[Any, ...]:
        values = self._unpacked()[: self._counts[self._call.forward is not None]]
        if not any(self._intermediates) or (not current().grad and not any(level.is_open for level in self._levels)):
            return values
        return tuple(
            self._guarded(value) if guarded else value
            for value, guarded in zip(values, self._intermediates, strict=True)
        )

    def _flat_needs(self) -> tuple[bool, ...]:
        """By operand, whether its gradient is wanted by what is running."""
        running_now = _in_backward.get()
        if running_now is not None and running_now[0] is self:
            return running_now[1]
        return tuple([node is not None for node in self.next])

    def _guarded(self, value: Tensor) -> Tensor:
        """A saved intermediate: a second derivative would lack the term that goes through it, so it must not pass."""
        error = AutogradError(
            "SAVED_INTERMEDIATE",
            f"a second derivative of {self.op.qualname} goes through a saved intermediate, a tensor "
            f"{value.dtype}{list(value.shape)} that is neither argument nor output",
            where=f"{self.name()}, formula registered at {self._location}",
            why="it was computed without recording, so its part of the derivative would silently be missing",
            fix="return it as another output, compute it again in the formula, or say that it is constant with "
            "ctx.mark_saved_constant(t)",
        )
        inside = self._call.forward is not None
        if sum(level.is_open for level in self._levels) > inside:
            raise error
        if not any(self.next):
            return value
        guarded = alias(value)
        guarded._node, guarded._nr = ErrorNode.behind(value._spec, self.edges(), error), 0
        return guarded

    # Rules ------------------------------------------------------------------------------------------------------------

    def _pulled(self, gradients: Sequence[Any], needs: tuple[bool, ...]) -> list[Any]:
        """What the reverse rule makes of gradients of the outputs: one per operand."""
        found: list[Any] = self._run(self._rules.joint, gradients, needs, None)
        return found

    def _pushed(self, tangents: Sequence[Any]) -> list[Any]:
        """What the forward rule makes of tangents of the operands: one per output."""
        found: list[Any] = self._run(self._rules.jvp_rule, self._call.value_specs, None, tangents)
        return found

    def _run(self, rule: Any, gradients: Any, needs: Any, tangents: Any) -> Any:
        count = len(self.next)
        values: tuple[Any, ...] = ()
        outputs_from = count
        if any(kind in (OPERANDS, OUTPUTS) for kind, _ in rule.plan):
            in_progress = self._call.forward is not None
            values = self._unpacked()[self._counts[in_progress] :]
            outputs_from = count if in_progress or self._rules.joint.reads_all_operands else 0  # type: ignore[union-attr]
        return run_rule(
            rule, gradients, values.__getitem__, lambda k: self._specs[k], lambda k: values[outputs_from + k],
            {"call": self._operator}, needs, tangents, count, self,
        )  # fmt: skip

    def _run_backward(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        gradients = tuple(self._filled(gradient, number, as_tensors) for number, gradient in enumerate(grads))
        is_watched = as_tensors and current().grad
        lent = [lend(gradient) if is_watched or type(gradient) is not ndarray else _lent_array(gradient)
                for gradient in gradients]  # fmt: skip
        results = self._formula(wanted, is_watched, self._watched if is_watched else self._pulled, lent, wanted)
        return tuple(
            self._gradient(entry, gradients, lent, as_tensors) if needed else None
            for entry, needed in zip(results, wanted, strict=True)
        )

    def _watched(self, lent: list[Any], wanted: tuple[bool, ...]) -> list[Any]:
        """Run the formula where it is recorded, and notice if it leaves Pullback: a gradient is linear in what comes
        in, so it has a history if that has one. What comes in as a constant gets one that ends with the formula."""
        transform = Transform(self.op.qualname)
        with running(transform, grad=True):
            given = [
                fresh_leaf(g, transform)
                if isinstance(g, Tensor) and g._spec.is_differentiable and not requires_grad(g) else g
                for g in lent
            ]  # fmt: skip
            try:
                results = self._pulled(given, wanted)
            except AutogradError as error:
                if error.code == "NUMPY_ON_GRAD":
                    raise self._left_pullback() from error
                raise
        for entry, needed in zip(results, wanted, strict=True):
            if needed and isinstance(entry, Tensor) and entry._spec.is_differentiable and entry._node is None:
                is_zero = not (entry._data != 0).any()
                if not is_zero and (entry._extra is None or entry._extra.view is None):
                    raise self._left_pullback()
        replaced = {id(fresh): original for fresh, original in zip(given, lent, strict=True)}
        return [replaced.get(id(entry), entry) for entry in results]

    def _left_pullback(self) -> NotImplementedError:
        return NotImplementedError(
            f"the formula of {self.op.qualname}, registered at {self._location}, computes with NumPy, "
            "so its result has no history and a second derivative would silently be missing; wrap that NumPy code "
            "in a second custom op with a formula of its own"
        )


def _lent_array(gradient: Any) -> Tensor:
    """A gradient that can be read but not written. It is a plain Tensor, so that formulas take the fast paths."""
    array = gradient.view()
    array.flags.writeable = False
    return wrap(array)


def _jvp(ctx: OperatorNode, *tangents: Any) -> tuple[Any, ...]:
    return tuple(ctx._pushed(tangents))


def context_class(definition: Any, op: Op, reverse: Any) -> type[OperatorNode]:
    """The class of the nodes that calls record while `op` has the rules of the operator."""
    name = reverse.node_name or (
        f"GeneratedBackwardFor_{definition.namespace}_{definition.name}_{definition.overload or 'default'}Backward"
    )
    members = {
        "__slots__": (), "__doc__": OperatorNode.__doc__, "_rules": op, "_location": reverse.location,
        "_function": type(definition.qualname, (Statics,), {"jvp": staticmethod(_jvp)}),
    }  # fmt: skip
    return type(name, (OperatorNode,), members)

