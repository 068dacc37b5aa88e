"""Calls in a trace that are like one before: the same operator on arrays of the same types.

Most operations of a long function are of this kind, and what the general path finds out about each of them is known:
the type of the result, what is saved, and that nothing unusual watches. So a loop of thousands of steps is traced in a
quarter of the time. `eager/record.py` and `payloads/traced/evaluate.py` alone define what such a call means and record
everything else; `tests/aot/test_again.py` compares what both leave behind.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pullback.core.frames import is_own, place_of
from pullback.core.spec import spec_for
from pullback.core.state import Modes, next_stamp, observers, open_levels, switch
from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.eager.nodes import OpNode
from pullback.graph.ir import FORWARD, Node, Value, type_of
from pullback.payloads.traced import Storage, TracedArray, known_types
from pullback.tape.accumulate import accumulator_of
from pullback.tape.saved import SavedVariable
from pullback.tensors.tensor import Extra, Leaf, Tensor, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo

_NUMBERS = frozenset({float, int})
_PLACES = frozenset({int, type(Ellipsis), type(None)})
_DEFAULT = CreationMeta.DEFAULT
_Behind = tuple[Any, int]


def elementwise_again(trace: Any, op: Op, operands: tuple[Any, ...], modes: Modes) -> Tensor | None:
    """The result of an elementwise operator without parameters; None if the general path has to be gone."""
    if modes is not trace.plain_modes and not _are_plain(trace, modes):
        return None
    if open_levels or observers or trace.unsettled or trace.tag is not FORWARD or trace.noted:
        return None
    values: list[Any] = []
    behind: list[Any] = []
    numbers: list[int] = []
    key: list[Any] = [op.name]
    for x in operands:
        if type(x) is Tensor:
            found = _behind(trace, x)
            if found is None:
                return None
            value = x._data._value
            values.append(value)
            key.append(value.type)
            behind.append(found[0])
            numbers.append(found[1])
        elif type(x) in _NUMBERS:
            values.append(x)
            key.append(type(x))
            behind.append(None)
            numbers.append(0)
        else:
            return None
    kind = known_types.get(tuple(key))
    if kind is None:
        return None
    # path: traced again
    shadow = np.empty(kind.shape, kind.dtype)
    value = _added(trace, op, values, {}, kind)
    storage = Storage(trace, value, shadow)
    trace.homes[value] = storage
    result = _tensor(TracedArray(storage, shadow, value))
    if op.is_differentiable and result._spec.is_differentiable and behind.count(None) != len(behind):
        _record(op, operands, {}, result, behind, numbers)
    return result


def part_again(trace: Any, op: Op, x: Tensor, index: tuple[Any, ...], modes: Modes) -> Tensor | None:
    """`x[index]`, a view; None if the general path has to be gone."""
    if modes is not trace.plain_modes and not _are_plain(trace, modes):
        return None
    if open_levels or observers or trace.unsettled or trace.tag is not FORWARD or trace.noted:
        return None
    has_slices = False
    for place in index:
        if type(place) is slice:
            if not {type(place.start), type(place.stop), type(place.step)} <= _PLACES:
                return None
            has_slices = True
        elif type(place) not in _PLACES:
            return None
    found = _behind(trace, x)
    if found is None:
        return None
    counter: Any = shared_counter(x)  # before anything else refers to the memory
    array: TracedArray = x._data
    try:
        shadow = array.shadow[index]
    except IndexError:
        return None
    # path: traced again
    params = {"index": index}
    step = ViewStep(op, params)
    # A row that was read before is the same value: steps of a loop read the same rows of weights.
    is_new = has_slices or not trace.reuses_parts or trace.recompute is not None or trace.region is not None
    at = None if is_new else (array._value, index)
    value = trace.parts.get(at)
    if value is None:
        value = _added(trace, op, [array._value], params, type_of(shadow))
        if at is not None:
            trace.parts[at] = value
    view = TracedArray(array.storage, shadow, value, (*array.steps, step))
    view.is_swapped_in = array.is_swapped_in
    result = _tensor(view)
    result._counter = counter
    parent: Any = x._extra.view  # type: ignore[union-attr]
    info = ViewInfo(x, (step,), _DEFAULT, counter.value) if parent is None else ViewInfo(
        parent.base, (*parent.steps, step), parent.creation_meta, counter.value
    )  # fmt: skip
    result._extra.view = info  # type: ignore[union-attr]
    if found[0] is not None:
        _record(op, (x,), params, result, [found[0]], [found[1]])
    return result


def _are_plain(trace: Any, modes: Modes) -> bool:
    """Does nothing but this trace watch what is computed under these modes, which are then known as such?"""
    is_plain = (
        switch.normal is not None and modes.trace is trace and trace.is_open and modes.grad
        and not modes.inference and not modes.anomaly and not modes.saved_hooks
        and not modes.vmaps and not modes.transforms and modes.watch is None and len(modes.interceptors) == 1
        and modes.interceptors[0] == trace.intercept
    )  # fmt: skip
    if is_plain:
        trace.plain_modes = modes
    return is_plain


def _behind(trace: Any, x: Tensor) -> _Behind | None:
    """The node behind an operand, None for a constant, and which output it is; None if there is more to ask."""
    array: Any = x._data
    if type(array) is not TracedArray:
        return None
    storage = array.storage
    if (
        storage.trace is not trace
        or array._generation != storage.generation
        or storage.pick is not None
        or array.is_detached
        or array._stopped == storage.begun
    ):
        return None
    extra: Any = x._extra
    if type(extra) is not Extra or extra.deps is not None or extra.forward is not None or extra.inference:
        return None
    node = x._node
    info = extra.view
    if info is not None and (
        info.creation_meta is not _DEFAULT
        or info.records is not None
        or info.attr_version != (0 if x._counter is None else x._counter.value)
        or (node is None and info.base._node is not None)
    ):
        return None
    if type(node) is Leaf:
        node = accumulator_of(x)
    return (node, extra.output_nr) if x._spec.is_differentiable else (None, 0)


def _added(trace: Any, op: Op, operands: list[Any], attrs: dict[str, Any], kind: Any) -> Value:
    """The result of a new node of the graph."""
    node = Node(op, op.name, tuple(operands), attrs)
    value = Value(kind, node)
    node.results = (value,)
    node.recompute, node.region = trace.recompute, trace.region
    trace.graph.nodes.append(node)
    if trace.place is not None:
        node.place = trace.place
        return value
    frame: Any = sys._getframe(2)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None:
        at = id(frame.f_code), frame.f_lasti
        known = trace.places.get(at)
        if known is None:
            known = trace.places[at] = frame.f_code, place_of(frame)  # the code is held, so that its id stays its own
        node.place = known[1]
    return value


def _tensor(array: TracedArray) -> Tensor:
    tensor = Tensor()
    tensor._data = array
    tensor._spec = spec_for(array.shadow.shape, array.shadow.dtype)
    tensor._node = tensor._counter = tensor._meta = None
    tensor._extra = Extra()
    return tensor


def _record(
    op: Op, operands: tuple[Any, ...], params: dict[str, Any], result: Tensor, behind: list[Any], numbers: list[int]
) -> None:
    """Make the node of a call that is differentiable, the history of its result."""
    needs = tuple([node is not None for node in behind])
    node: Any = OpNode()
    node.op = op
    node.params = params
    node.rare = None
    node.next = tuple(behind)
    node.next_nr = tuple(numbers) if any(numbers) else None
    node.operand_specs = tuple([x._spec if type(x) is Tensor else None for x in operands])
    node.saved_operands = node.saved_outputs = node.statics = ()
    reads, reads_of_outputs = op.reads(needs)
    if reads:
        saved = [SavedVariable(x) if k in reads and type(x) is Tensor else None for k, x in enumerate(operands)]
        node.saved_operands = tuple(saved)
        if len(reads) != len(operands) - saved.count(None):
            node.statics = tuple([None if type(x) is Tensor else x for x in operands])
    node.seq = next_stamp()
    result._node = node
    node.spec = result._spec
    node.output_specs = (result._spec,)
    node.num_outputs = 1
    if reads_of_outputs:
        node.saved_outputs = (SavedVariable(result, is_output=True),)
