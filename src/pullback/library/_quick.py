"""A short way for the call that is made most: plain tensors in normal modes, one array as result, one formula.

It does what `_run` does with the loops and lists written out, and whatever is unusual about the call goes there; tests
compare the two. bench/custom_ops.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._function_node import Call as NodeCall
from pullback.autograd._function_node import Forward
from pullback.autograd._function_outputs import process_outputs
from pullback.autograd._input_metadata import validate
from pullback.autograd._node import Node, released_error
from pullback.autograd._saved import SavedVariable
from pullback.core.spec import spec_for, spec_of
from pullback.core.state import NORMAL, current, next_stamp, switch
from pullback.core.state import _modes as modes
from pullback.library._call import Call
from pullback.library._gradients import flat_gradients, is_gradient
from pullback.library._kernel import checked
from pullback.library._node import OperatorNode
from pullback.library._reverse import Formula, Missing
from pullback.tensors.tensor import Leaf, Tensor

ndarray = np.ndarray
_DTYPES = frozenset("?bBhHiIlLqQefdgFDG")
NO_GRAD = NORMAL.replace(grad=False)
# A ctx refuses to have its node's own fields assigned, so they are stored below that.
set_next, set_seq, set_rare, set_spec = (vars(Node)[name].__set__ for name in ("next", "seq", "rare", "spec"))
_RELEASED = [(None, None, 0, None)] * 64


def quick_function(definition: Any, formulas: Any, layout: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """The operator as a function of its tensors, which returns None for calls that must go the long way; None if
    every call must."""
    if (
        not definition.binder.num_tensors > 0
        or not definition.returns_one_array
        or not all(as_array and not writes for as_array, writes in definition.adapters)
        or formulas.pair is not None
        or formulas.residuals is not None
        or (not formulas.has_any and definition.autograd_fallback != "backward")
    ):
        return None
    kernel = definition.kernels.get("cpu", definition.default_kernel)
    if kernel is None:
        return None
    function = kernel[0]
    setup = None if formulas.setup is None else formulas.setup[0]
    record = Call(definition, layout, {})  # calls of one layout and one result differ in nothing
    reads_values, node_class = formulas.reads_values, _with_pull(formulas, record)

    runs = definition.recorded
    seen: Any = None  # the specs of the last run that was recorded: the first and last argument, and the result
    seen_last: Any = None
    seen_out: Any = None
    count = definition.binder.num_tensors
    goes_far = reads_values or type(formulas.reverse) not in (Formula, Missing)

    def call(args: tuple[Any, ...]) -> Any:
        nonlocal seen, seen_last, seen_out
        if current() is not switch.normal or len(args) != count:
            return None
        views = []
        needed = False
        for x in args:
            if type(x) is not Tensor or x._extra is not None or type(x._data) is not ndarray:
                return None
            data = x._data.view()
            data.setflags(write=False)
            views.append(data)
            if x._node is not None:
                needed = True
        modes.set(NO_GRAD)
        try:
            out = function(*views)
            if type(out) is not ndarray or out.base is not None or out.dtype.char not in _DTYPES:
                (out,) = checked(record, out, [x._data for x in args], views, {})
            else:
                for x in args:
                    if x._data is out or x._data.base is out:
                        checked(record, out, [x._data for x in args], views, {})
            result = Tensor()
            result._data = out
            spec = args[0]._spec
            if out.dtype is not spec.dtype or out.shape != spec.shape:
                spec = spec_for(out.shape, out.dtype)
            result._spec = spec
            result._node = result._counter = result._extra = result._meta = None
            if runs is not None and (
                spec is not seen_out or args[0]._spec is not seen or args[-1]._spec is not seen_last or count > 2
            ):
                runs.note(record, views, (out,))
                seen, seen_last, seen_out = args[0]._spec, args[-1]._spec, spec
            if not needed:
                return result
            edges: list[Any] = []
            for x in args:
                behind = x._node
                if type(behind) is Leaf:
                    reference = behind.accumulator
                    if reference is None or (behind := reference()) is None:
                        behind = accumulator_of(x)
                edges.append(behind if x._spec.is_differentiable else None)
            node = node_class()
            set_next(node, tuple(edges))
            set_seq(node, next_stamp())
            set_rare(node, None)
            set_spec(node, spec)
            attributes = node.__dict__
            attributes["_pending"] = args
            if setup is not None:
                setup(node, args, result)
        finally:
            modes.set(NORMAL)
        named = attributes.pop("_named", ())
        if goes_far or "_made" in attributes or not spec.is_differentiable or not _keeps(node, named, args):
            if "_made" not in attributes:
                attributes["_named"] = named
            _finish(node, args, result, reads_values)
        else:
            result._node = node
            del attributes["_pending"]
        return result

    return call


class QuickNode(OperatorNode):
    """The node of a plain call. What a node of a Function keeps in a record is made only when somebody asks for it."""

    __slots__ = ()

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
        attributes = self.__dict__
        made: NodeCall | None = attributes.get("_made")
        if made is None:
            needs = tuple([node is not None for node in self.next])
            made = attributes["_made"] = NodeCall(
                Forward(attributes.get("_pending", ()), True, True), (True,) * len(needs), needs
            )
            made.forward.to_save = attributes.get("_named", ())  # type: ignore[union-attr]
            if "_pending" not in attributes:
                made.value_specs = made.output_specs = (self.spec,)
                made.saved = tuple([_handle(each, self.spec) for each in attributes["_kept"]])
                made.forward = None
        return made

    @property
    def specs(self) -> tuple[Any, ...]:
        made = self.__dict__.get("_made")
        return (self.spec,) if made is None else made.output_specs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep these tensors for `backward`, where `ctx.saved_tensors` returns them. The last call counts."""
        attributes = self.__dict__
        if "_made" in attributes or "_pending" not in attributes:
            OperatorNode.save_for_backward(self, *tensors)
            return
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"ctx.save_for_backward takes Tensors or None, got {type(tensor).__name__}")
        attributes["_named"] = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        kept = self.__dict__.get("_kept")
        if kept is None or "_made" in self.__dict__:
            return self._saved_by_author()
        values = []
        for tensor, data, version, behind in kept:
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
        attributes = self.__dict__
        if "_made" in attributes:
            OperatorNode.release(self)
        else:
            attributes["_kept"] = _RELEASED[: len(attributes["_kept"])]


def _handle(kept: Any, spec: Any) -> SavedVariable:
    """The SavedVariable that a kept argument stands for. Of one that was released nothing is left but that."""
    tensor, data, version, behind = kept
    if tensor is not None:
        return SavedVariable.restored(tensor._spec, data, tensor, version, None, behind, 0)
    released = SavedVariable.restored(spec, None, None, 0, None, None, 0)
    released.release()
    return released


def _keeps(node: QuickNode, named: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
    """Keep what the author saved as it is; False if something else than arguments was saved."""
    kept: list[Any] = []
    if len(named) == len(args):  # mostly all of them, in order
        for x, given, behind in zip(named, args, node.next):
            if x is not given:
                kept.clear()
                break
            counter = x._counter
            kept.append((x, x._data, 0 if counter is None else counter.value, behind))
        else:
            node.__dict__["_kept"] = kept
            return True
    for x in named:
        for index, given in enumerate(args):
            if x is given:
                counter = x._counter
                kept.append((x, x._data, 0 if counter is None else counter.value, node.next[index]))
                break
        else:
            return False
    node.__dict__["_kept"] = kept
    return True


def _finish(node: QuickNode, args: tuple[Any, ...], result: Tensor, reads_values: bool) -> None:
    """The end of a call with something unusual about it, by the long way."""
    made = node._call
    forward: Any = made.forward
    named = forward.to_save
    attributes = node.__dict__
    attributes.pop("_named", None)
    attributes["_specs"] = tuple([x._spec for x in args])
    attributes["_fills"] = made.materialize
    attributes["_num_saved"] = len(named)
    attributes["_intermediates"] = tuple([_is_intermediate(x, args, result, attributes) for x in named])
    process_outputs(node, forward, (result,))
    to_save = (*named, *args, result) if reads_values else named
    if result._node is node:
        made.saved = tuple([SavedVariable(x, is_output=x is result) for x in to_save])
    made.forward = None
    del attributes["_pending"]


def _with_pull(formulas: Any, operator: Call) -> Any:
    """The class of nodes with a formula of the shape that the engine calls directly. Every gradient is wanted then."""
    reverse = formulas.reverse
    backward = reverse.function if type(reverse) is Formula else None

    def pull(self: Any, gradient: Any, keep: bool) -> tuple[Any, ...]:
        array = gradient.view()
        array.setflags(write=False)
        g = Tensor()
        g._data = array
        spec = self.spec
        g._spec = spec if array.dtype is spec.dtype and array.shape == spec.shape else spec_of(array)
        g._node = g._counter = g._extra = g._meta = None
        edges = self.next
        before = current()
        modes.set(NO_GRAD if before is NORMAL else before.replace(grad=False))
        try:
            if backward is None:
                returned = reverse.backward(self, operator, [g])
            else:
                returned = backward(self, g)
                if type(returned) is not tuple or len(returned) != len(edges):
                    returned = flat_gradients(operator, returned, reverse.location)
        finally:
            modes.set(before)
        found: list[Any] = []
        for index, entry in enumerate(returned):
            behind = edges[index]
            if entry is None or behind is None:
                _check_entry(self, entry)
                found.append(None)
                continue
            spec = behind.spec
            if entry is g:
                entry = gradient
            elif type(entry) is Tensor:
                is_right = entry._spec is spec
                entry = entry._data
                if is_right and type(entry) is ndarray:
                    found.append(entry)
                    continue
            else:
                _check_entry(self, entry)
            if type(entry) is not ndarray or entry.dtype is not spec.dtype or entry.shape != spec.shape:
                entry = validate(entry, spec.shape, spec.dtype, behind.grad_dtype_of(0), index, self.name())
            found.append(entry)
        if not keep:
            self.release()
        return tuple(found)

    members = {"__slots__": (), "pull": pull, "_operator": operator, "_formulas": formulas,
               "_function": formulas.node_class._function, "__doc__": QuickNode.__doc__}  # fmt: skip
    return type(formulas.node_class.__name__, (QuickNode,), members)


def _check_entry(node: Any, entry: Any) -> None:
    if entry is not None and not is_gradient(entry):
        raise RuntimeError(
            f"the backward of {node.op.qualname}, registered at {node._formulas.reverse.location}, returned a "
            f"{type(entry).__name__}, expected a Tensor or None"
        )


def _is_intermediate(x: Any, args: tuple[Any, ...], result: Tensor, attributes: dict[str, Any]) -> bool:
    """Is this saved tensor neither argument nor result, so that a derivative through it would be lost?"""
    if x is None or x is result:
        return False
    for given in args:
        if x is given:
            return False
    constants = attributes.get("_constants", ())
    return bool(x._spec.is_differentiable) and not any(x is each for each in constants)
