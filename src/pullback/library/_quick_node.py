"""`QuickNode`: the node of a plain call of a custom operator, whose members are written out for its operator.

What the node of a Function keeps in a record is made only when somebody asks for it. Until then everything about the
call is in one list, `_state`: a ctx refuses to have its node's own fields assigned, and an element of a list is
cheaper than the way around that.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pullback.autograd._function_node import Call as NodeCall
from pullback.autograd._function_node import Forward, _in_backward
from pullback.autograd._input_metadata import validate
from pullback.autograd._node import released_error
from pullback.autograd._saved import SavedVariable
from pullback.core.state import NORMAL, current
from pullback.core.state import _modes as modes
from pullback.library._call import Call
from pullback.library._gradients import flat_gradients, is_gradient
from pullback.library._node import OperatorNode
from pullback.library._reverse import Formula
from pullback.library._written_out import PLACES, run_source, written_out
from pullback.tensors.tensor import Tensor

ndarray = np.ndarray
NO_GRAD = NORMAL.replace(grad=False)

PENDING, NAMED, ARGUMENTS, KEPT, MADE = range(len(PLACES))
"""Places in a node's `_state`.

- PENDING: the arguments while the call runs, then None.
- NAMED: what `save_for_backward` was given while the call runs, then None.
- ARGUMENTS: if the arguments were saved, all in order: a tuple of them, then the data and version of each; else None.
- KEPT: if other arguments were saved, a tuple (tensor, data, version, node behind) for each; else None.
- MADE: the record of a Function's call, made when somebody asks for it. The places before it are not read then.
"""

_RELEASED = (None, None, 0, None)


class QuickNode(OperatorNode):
    """The node of a plain call, and the `ctx` of its formulas. Any attribute may be set on it."""

    __slots__ = ("_state",)

    _state: list[Any]
    is_fast = True
    next_nr = None
    num_outputs = 1
    _scope = None
    # What the long way finds out for every call; the class made for an operator has `_operator` and `_formulas` too.
    _levels = ()
    _fills = True
    _intermediates = ()
    _num_saved = sys.maxsize

    @property
    def _call(self) -> NodeCall:  # type: ignore[override]
        state = self._state
        made: NodeCall | None = state[MADE]
        if made is None:
            needs = tuple([node is not None for node in self.next])
            pending = state[PENDING]
            made = NodeCall(Forward(pending or (), True, True), (True,) * len(needs), needs)
            if pending is not None:
                made.forward.to_save = state[NAMED]  # type: ignore[union-attr]
            else:
                made.value_specs = made.output_specs = (self.spec,)
                made.saved = tuple([_handle(each, self.spec) for each in self._kept()])
                made.forward = None
            state[MADE] = made
            state[ARGUMENTS] = None
        return made

    @property
    def specs(self) -> tuple[Any, ...]:
        made = self._state[MADE]
        return (self.spec,) if made is None else made.output_specs

    def _flat_needs(self) -> tuple[bool, ...]:
        running_now = _in_backward.get()
        if running_now is not None and running_now[0] is self:
            return running_now[1]
        return tuple([node is not None for node in self.next])

    def _kept(self) -> Any:
        """For every saved tensor: the tensor, its data and version, and the node behind it."""
        flat = self._state[ARGUMENTS]
        if flat is None:
            return self._state[KEPT]
        return [(x, flat[2 * k + 1], flat[2 * k + 2], self.next[k]) for k, x in enumerate(flat[0])]

    def _save_slowly(self, tensors: tuple[Any, ...]) -> None:
        """`save_for_backward` where it is not the usual."""
        if self._state[MADE] is not None or self._state[PENDING] is None:
            OperatorNode.save_for_backward(self, *tensors)
            return
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"ctx.save_for_backward takes Tensors or None, got {type(tensor).__name__}")
        self._state[NAMED] = tensors

    def _saved_slowly(self) -> tuple[Any, ...]:
        """`saved_tensors` where not all arguments were saved in order, or where one of them has changed."""
        state = self._state
        if state[MADE] is not None or state[PENDING] is not None:
            return self._saved_by_author()
        values = []
        for tensor, data, version, behind in self._kept():
            if tensor is None:
                raise released_error(self.name())
            counter = tensor._counter
            if tensor._data is not data or (counter is not None and counter.value != version) or (
                tensor._node is None and behind is not None
            ):  # fmt: skip
                return self._saved_by_author()
            values.append(tensor)
        return tuple(values)

    def release(self) -> None:
        state = self._state
        if state[MADE] is not None:
            OperatorNode.release(self)
        else:
            state[KEPT] = [_RELEASED] * len(self._kept())
            state[ARGUMENTS] = None

    def _checked_gradient(self, entry: Any, index: int, lent: Tensor, gradient: Any) -> Any:
        """What a formula returned for an argument, as the array that goes on; None where no gradient is wanted."""
        if entry is not None and not is_gradient(entry):
            raise RuntimeError(
                f"the backward of {self.op.qualname}, registered at {self._formulas.reverse.location}, returned a "
                f"{type(entry).__name__}, expected a Tensor or None"
            )
        behind = self.next[index]
        if entry is None or behind is None:
            return None
        spec: Any = behind.spec
        if entry is lent:
            entry = gradient  # passed on as it came
        elif type(entry) is Tensor:
            entry = entry._data
        if type(entry) is not ndarray or entry.dtype is not spec.dtype or entry.shape != spec.shape:
            entry = validate(entry, spec.shape, spec.dtype, behind.grad_dtype_of(0), index, self.name())
        return entry


def _handle(kept: Any, spec: Any) -> SavedVariable:
    """The SavedVariable that a kept argument stands for. Of one that was released nothing is left but that."""
    tensor, data, version, behind = kept
    if tensor is not None:
        return SavedVariable.restored(tensor._spec, data, tensor, version, None, behind, 0)
    released = SavedVariable.restored(spec, None, None, 0, None, None, 0)
    released.release()
    return released


# Members that are written out for the number of arguments. `x_k` is an argument, `g_k` its gradient.

_MEMBERS = """
def save_for_backward(self, *tensors):
    state = self._state
    if state[MADE] is not None or state[PENDING] is None:
        return self._save_slowly(tensors)
    for tensor in tensors:
        if type(tensor) is not Tensor:
            return self._save_slowly(tensors)
    state[NAMED] = tensors

def saved_tensors(self):
    flat = self._state[ARGUMENTS]
    if flat is None:
        return self._saved_slowly()
    named, {saved} = flat
    {arguments} = named
    next = self.next
{checks}
    return named

def pull(self, gradient, keep):
    array = gradient.view()
    array.setflags(False)
    g = Tensor()
    g._data = array
    g._spec = self.spec
    g._node = g._counter = g._extra = g._meta = None
    before = current()
    set_modes(NO_GRAD if before is NORMAL else before.replace(grad=False))
    try:
        returned = backward(self, g)
    finally:
        set_modes(before)
    if type(returned) is not tuple or len(returned) != {count}:
        returned = flat_gradients(operator, returned, location)
    {gradients} = returned
    {behind} = self.next
{fits}
    if not keep:
        state = self._state
        if state[ARGUMENTS] is None:
            self.release()
        else:
            state[ARGUMENTS] = None
            state[KEPT] = RELEASED
    return {gradients}
"""
_CHECK = """
    counter = x_{k}._counter
    if x_{k}._data is not data_{k} or (counter is not None and counter.value != version_{k}) or (
        x_{k}._node is None and next[{k}] is not None
    ):
        return self._saved_slowly()
"""
_FIT = """
    if (type(g_{k}) is Tensor and behind_{k} is not None and g_{k}._spec is behind_{k}.spec and g_{k} is not g
            and type(g_{k}._data) is ndarray):
        g_{k} = g_{k}._data
    else:
        g_{k} = self._checked_gradient(g_{k}, {k}, g, gradient)
"""


def _members(count: int) -> str:
    return written_out(_MEMBERS, count, saved="data_{k}, version_{k}, ", arguments="x_{k}, ", checks=_CHECK,
                       gradients="g_{k}, ", behind="behind_{k}, ", fits=_FIT)  # fmt: skip


def quick_node_class(formulas: Any, operator: Call, count: int) -> type[QuickNode]:
    """The class of nodes of an operator with so many arguments."""
    reverse = formulas.reverse
    if type(reverse) is Formula:
        backward = reverse.function
    else:
        def backward(node: Any, g: Any) -> Any:
            return tuple(reverse.backward(node, operator, [g]))

    scope = {
        "NORMAL": NORMAL, "NO_GRAD": NO_GRAD, "RELEASED": [_RELEASED] * count, "Tensor": Tensor, "backward": backward,
        "current": current, "flat_gradients": flat_gradients, "location": reverse.location, "ndarray": ndarray,
        "operator": operator, "set_modes": modes.set,
    }  # fmt: skip
    run_source(_members(count), f"node of {operator.definition.qualname}", scope)
    getter, saving = scope["saved_tensors"], scope["save_for_backward"]
    getter.__doc__, saving.__doc__ = OperatorNode.saved_tensors.__doc__, OperatorNode.save_for_backward.__doc__
    members = {
        "__slots__": (), "__doc__": QuickNode.__doc__, "_formulas": formulas, "_operator": operator,
        "_function": formulas.node_class._function, "pull": scope["pull"], "save_for_backward": saving,
        "saved_tensors": property(getter),
    }  # fmt: skip
    return type(formulas.node_class.__name__, (QuickNode,), members)
