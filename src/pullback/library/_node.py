"""`OperatorNode`: the node of a custom operator's call, and the `ctx` of its formulas.

It is the node of a custom Function with another idea of its arguments: formulas of operators see the arguments as the
schema has them, lists as lists, while the node has one edge per tensor. What it was recorded with (`_reverse`,
`_forward`, `_setup`) stays with it: registering another formula changes later calls only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd._bodies import fresh_leaf, running
from pullback.autograd._captures import Transform
from pullback.autograd._function_node import FunctionNode, _in_backward, in_jvp, store
from pullback.autograd._function_rules import Statics
from pullback.autograd._hook_calls import call_user, lend
from pullback.autograd._node import ErrorNode
from pullback.autograd._variable import requires_grad
from pullback.core.state import current, next_stamp
from pullback.errors import AutogradError
from pullback.library._call import Call
from pullback.tensors.tensor import Tensor, alias, wrap

ndarray = np.ndarray


class OperatorNode(FunctionNode):
    """The node of one call of a custom operator, and the `ctx` of its formulas. Any attribute may be set on it."""

    __slots__ = ()

    _operator: Call  # kept in the node's dictionary, like what authors set
    _formulas: Any  # the `Formulas` it was recorded with
    _num_saved: int  # how many of the saved tensors the author saved; operands and outputs follow
    _intermediates: tuple[bool, ...]
    _levels: Sequence[Any]

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
        constants = self.__dict__.setdefault("_constants", [])
        constants.extend(tensors)

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
        values = self._all_saved()[: self._num_saved]
        if not any(self._intermediates) or (not current().grad and not any(level.is_open for level in self._levels)):
            return values
        return tuple(
            self._guarded(value) if guarded else value
            for value, guarded in zip(values, self._intermediates, strict=True)
        )

    @property
    def _operand_specs(self) -> tuple[Any, ...]:
        specs: tuple[Any, ...] = self.__dict__["_specs"]
        return specs

    def _flat_needs(self) -> tuple[bool, ...]:
        """By operand, whether its gradient is wanted by what is running."""
        running_now = _in_backward.get()
        return running_now[1] if running_now is not None and running_now[0] is self else self._call.needs

    def _values(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The operands and outputs, for formulas that are functions of them."""
        values = self._all_saved()[self._num_saved :]
        count = len(self._call.is_tensor)
        return values[:count], values[count:]

    def _all_saved(self) -> tuple[Any, ...]:
        if self._call.forward is not None:
            running_now = in_jvp.get()
            return running_now[1] if running_now is not None and running_now[0] is self else ()
        return tuple(saved.unpack(self, True) for saved in self._call.saved)

    def _guarded(self, value: Tensor) -> Tensor:
        """A saved intermediate: a second derivative would lack the term that goes through it, so it must not pass."""
        error = AutogradError(
            "SAVED_INTERMEDIATE",
            f"a second derivative of {self.op.qualname} goes through a saved intermediate, a tensor "
            f"{value.dtype}{list(value.shape)} that is neither argument nor output",
            where=f"{self.name()}, formula registered at {self._formulas.reverse.location}",
            why="it was computed without recording, so its part of the derivative would silently be missing",
            fix="return it as another output, compute it again in the formula, or say that it is constant with "
            "ctx.mark_saved_constant(t)",
        )
        inside = self._call.forward is not None
        if sum(level.is_open for level in self._levels) > inside:
            raise error
        node = ErrorNode()
        node.next, node.next_nr = self.next, self.next_nr or (0,) * len(self.next)
        node.spec, node.rare, node.seq, node.error = value._spec, None, next_stamp(), error
        if not any(self.next):
            return value
        guarded = alias(value)
        guarded._node, guarded._nr = node, 0
        return guarded

    # Backward ---------------------------------------------------------------------------------------------------------

    def _run_backward(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        gradients = tuple(self._filled(gradient, number, as_tensors) for number, gradient in enumerate(grads))
        is_watched = as_tensors and current().grad
        lent = [lend(gradient) if is_watched or type(gradient) is not ndarray else _lent_array(gradient)
                for gradient in gradients]  # fmt: skip
        token = _in_backward.set((self, wanted))
        try:
            if is_watched:
                results = self._watched(lent, wanted)
            else:
                results = call_user(False, self._formulas.reverse.backward, self, self._operator, lent)
        finally:
            _in_backward.reset(token)
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
                results = self._formulas.reverse.backward(self, self._operator, given)
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
            f"the formula of {self.op.qualname}, registered at {self._formulas.reverse.location}, computes with NumPy, "
            "so its result has no history and a second derivative would silently be missing; wrap that NumPy code "
            "in a second custom op with a formula of its own"
        )


def _lent_array(gradient: Any) -> Tensor:
    """A gradient that can be read but not written. It is a plain Tensor, so that formulas take the short ways."""
    array = gradient.view()
    array.flags.writeable = False
    return wrap(array)


def node_class(definition: Any, formulas: Any) -> type[OperatorNode]:
    """The class of the nodes that calls record while these formulas are in force."""
    name = formulas.reverse.node_name or (
        f"GeneratedBackwardFor_{definition.namespace}_{definition.name}_{definition.overload or 'default'}Backward"
    )

    def jvp(ctx: OperatorNode, *tangents: Any) -> Any:
        return tuple(formulas.forward.jvp(ctx, ctx._operator, list(tangents)))

    function = type(definition.qualname, (Statics,), {"jvp": staticmethod(jvp)})
    return type(name, (OperatorNode,), {"__slots__": (), "_function": function, "__doc__": OperatorNode.__doc__})


__all__ = ["OperatorNode", "node_class", "store"]
