"""The call of one of our own Functions that is made most: plain tensors, in the normal modes, with one result.

A Function can do much that solutions and integrals do not: mark, write and return arguments, have several outputs. To
be ready for that takes longer than to solve a small problem, so such a call gets a node that does less. The formula is
the same; whatever is unusual goes the way of all Functions, and tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd.function import Function
from pullback.core.state import change_grad, current, next_stamp, observers, open_levels, switch
from pullback.tape.entries import validated
from pullback.tape.history import edge_of
from pullback.tape.hook_calls import call_user, lend, taken_back
from pullback.tape.node import Node
from pullback.tape.saved import SavedVariable
from pullback.tensors.tensor import Tensor, wrap


class FormulaNode(Node):
    """The node of such a call, and the `ctx` of its formula, which finds there what `setup_context` would set."""

    __slots__ = ("__dict__", "_saved", "_wanted")

    _function: type[Function]
    _saved: list[SavedVariable]
    _wanted: tuple[bool, ...]
    is_fast = True

    def name(self) -> str:
        return f"{self._function.__name__}Backward"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved."""
        return tuple([saved.unpack(self, True) for saved in self._saved])

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """By argument, the object in front included, whether its gradient is wanted."""
        return (False, *self._wanted)

    def pull(self, gradient: Any, keep: bool) -> tuple[Any, ...]:
        self._wanted = wanted = tuple([behind is not None for behind in self.next])
        before = change_grad(False)
        try:
            entries = self._function.backward(self, wrap(gradient))[1:]
        finally:
            change_grad(before)
        found = tuple([entry._data if isinstance(entry, Tensor) else entry for entry in entries])
        if not keep:
            self.release()
        return validated(self, found, False, wanted)

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        if grads[0] is None:
            return (None,) * len(self.next)
        self._wanted = wanted
        is_recorded = as_tensors and current().grad
        entries = call_user(is_recorded, self._function.backward, self, lend(grads[0]))[1:]
        return tuple([taken_back(entry, as_tensors) if needed else None
                      for entry, needed in zip(entries, wanted, strict=True)])  # fmt: skip

    def release(self) -> None:
        for saved in self._saved:
            saved.release()


def applied(
    function: type[Function], first: Any, tensors: tuple[Tensor, ...],
    compute: Callable[[], tuple[Any, dict[str, Any], bool]],
) -> Tensor:  # fmt: skip
    """`function.apply(first, *tensors)`. `compute()` gives the result as an array of its own, what `ctx` has besides
    what is saved, and whether the result is saved as well, in front of the tensors."""
    is_usual = current() is switch.normal and not open_levels and not observers
    if not is_usual or any(type(tensor) is not Tensor or type(tensor._data) is not np.ndarray for tensor in tensors):
        return function.apply(first, *tensors)
    edges = [edge_of(tensor) for tensor in tensors]
    if any(number for _, number in edges):
        return function.apply(first, *tensors)
    before = change_grad(False)
    try:
        array, fields, saves_result = compute()
    finally:
        change_grad(before)
    result = wrap(array)
    if result._spec.is_differentiable and any(behind is not None for behind, _ in edges):
        node = _node_class(function)()
        node.next = tuple([behind for behind, _ in edges])
        node.seq, node.spec, node.rare = next_stamp(), result._spec, None
        node.__dict__.update(fields)
        result._node = node
        saved = [SavedVariable(tensor) for tensor in tensors]
        node._saved = [SavedVariable(result, is_output=True), *saved] if saves_result else saved
    return result


def _node_class(function: type[Function]) -> type[FormulaNode]:
    found = _classes.get(function)
    if found is None:
        found = _classes[function] = type(f"{function.__name__}Backward", (FormulaNode,), {"_function": function})
    return found


_classes: dict[type[Function], type[FormulaNode]] = {}
