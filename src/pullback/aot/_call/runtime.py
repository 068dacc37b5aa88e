"""Running a compiled call: arrays in, the graph, and then to the caller's tensors what the function would have done.

The order is fixed and observable: write inputs, by slot; make aliased outputs, which see the written inputs; restore
the identity of outputs that are one object; set the grad mode. Before the first of these nothing of the caller's has
changed, except what the graph itself stores, and it stores last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pullback.aot._call.node import CompiledBackward
from pullback.aot._call.results import Results
from pullback.aot._entry import Entry
from pullback.aot._metadata import InputAliasInfo, MutationType
from pullback.aot._trace.higher import States, put_back, states_of
from pullback.aot._trace.leaves import base_of_group, memory_of, strided_view
from pullback.aot._trace.records import GraphInput
from pullback.core.pytree import unflatten
from pullback.core.state import change_grad, changed, current
from pullback.eager.inplace import check_writable
from pullback.operators.arrays.inplace_views import look_through
from pullback.tape.history import bump_version, check_tracked_write, edge_of
from pullback.tape.saved import SavedVariable
from pullback.tape.tensor_members import detach_, requires_grad_, set_data
from pullback.tensors.overwrites import UNWRITTEN, epoch_of, make_way
from pullback.tensors.tensor import Tensor, shared_counter, version_of, wrap


def run(entry: Entry, leaves: list[Any]) -> Any:
    """The result of a call that fits `entry`."""
    numbers = entry.capture.numbers
    values = numbers.at(leaves) if numbers.inputs or numbers.outputs else ()
    given = [input_of(each, leaves) if each.number is None else values[each.number] for each in entry.inputs]
    if entry.overwrites_inputs and entry.labels is None:
        check_writes(entry, given)
    draws = states_of(entry.draw_sources) if entry.draw_sources else None
    if entry.labels is not None:
        results = _on_path(entry, given, draws)
        if type(results) is Exit:
            return results
    elif entry.stores_in_graph:
        results = entry.forward(*map(memory_of, given))
    else:
        try:
            results = entry.forward(*map(memory_of, given))
        except KERNEL_ERRORS:
            put_back(draws or [])
            return Exit(None)
    return Epilogue(entry, leaves, given, results, draws, values[len(numbers.inputs) :]).finish()


KERNEL_ERRORS = (np.linalg.LinAlgError, ValueError, IndexError, ArithmeticError)
"""What kernels raise because of the values that they are given. The function itself may catch it."""


class Exit:
    """A call has left its path, and nothing has happened. `position` is that of the first event that was another; None
    if something was raised."""

    def __init__(self, position: int | None) -> None:
        self.position = position


def _on_path(entry: Entry, given: list[Any], draws: States | None) -> Any:
    """What the graph of a path returns, if it is the path of this call."""
    position = None
    try:
        results = entry.forward(*map(memory_of, given))
        outcomes = results[0].tobytes()
        if outcomes == entry.outcomes:
            if entry.overwrites_inputs:
                check_writes(entry, given)
            return results
        position = next(k for k, (now, then) in enumerate(zip(outcomes, entry.outcomes, strict=True)) if now != then)
    except Exception:
        pass  # eager code raises as well, where somebody may catch it
    put_back(draws or [])
    return Exit(position)


def input_of(each: GraphInput, leaves: list[Any]) -> Any:
    """The caller's tensor or array that is an input of the graph."""
    if each.slot is not None:
        return leaves[each.slot]
    if each.capture is not None:
        return each.capture
    return base_of_group({slot: leaves[slot] for slot in each.members})[0]


def check_writes(entry: Entry, given: list[Any]) -> None:
    """What eager code would refuse to write is refused before anything runs."""
    modes = current()
    for each, leaf in zip(entry.inputs, given, strict=True):
        info = each.info
        if info.mutation_type is MutationType.NOT_MUTATED:
            continue
        array = memory_of(leaf)
        if info.mutates_data and not array.flags.writeable:
            raise ValueError(f"{each.desc.expr()}: assignment destination is read-only")
        if isinstance(leaf, Tensor):
            check_writable(leaf, modes)
            if info.tracked and info.sets_requires_grad is None:
                check_tracked_write(leaf)
            if info.mutates_data:
                make_way(leaf, name="store")


class Epilogue:
    """What follows the graph."""

    def __init__(
        self, entry: Entry, leaves: list[Any], given: list[Any], results: Sequence[Any], draws: States | None,
        numbers: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.numbers = numbers  # the results that are no arrays, and computed of numbers
        self.entry, self.leaves, self.given, self.results, self.draws = entry, leaves, given, results, draws
        self.node: CompiledBackward | None = None
        self.tangent = 0  # the next output of the node
        self.memory: dict[int, Any] = {}  # of inputs that others are given the memory of, by slot

    def finish(self) -> Any:
        """The results of the call."""
        entry = self.entry
        meta = entry.meta
        count = entry.capture.num_forward_outputs
        first = count - len(meta.output_info) - meta.num_intermediate_bases
        self._set_flags()
        if entry.is_training:
            self.node = self._new_node()
        outcomes = [None] if entry.capture.events else []
        written = self._write_inputs(iter(self.results[len(outcomes) : first]))
        if self.node is not None and entry.overwrites_inputs:
            self.node.note_inputs()
        results = Results(meta, self._attach, self._input)
        results.own(self.results[first:count])
        for position, number in zip(entry.capture.numbers.outputs, self.numbers, strict=True):
            results.made[position] = number
        if self.node is not None:
            self._save(self.node, self.results[count:], [*outcomes, *written, *results.made, *results.bases])
            self.node.drop_tensors()
        results.connected()
        self._detach_inputs()
        made = results.all()
        for position, is_scalar in entry.capture.taken.items():
            made[position] = made[position]._data[()] if is_scalar else made[position]._data.item()
        if meta.grad_enabled_mutation is not None:
            change_grad(meta.grad_enabled_mutation)
        result = unflatten(entry.capture.out_tree, made)
        if entry.capture.effects:
            result, values = result
            for do, value in zip(entry.capture.effects, values, strict=True):
                do(value)
        return result

    def _input(self, number: int) -> Any:
        """The caller's object in a slot; captures are numbered behind the arguments."""
        if number < len(self.leaves):
            return self.leaves[number]
        return self.entry.meta.captures[number - len(self.leaves)]

    # The node.

    def _new_node(self) -> CompiledBackward:
        entry, edges = self.entry, self._edges()
        keeps = entry.options.higher_order == "retrace"
        node: CompiledBackward = CompiledBackward.of_call(entry, edges, tuple(self.given) if keeps else None)
        if self.draws is not None:
            node.draws = self.draws
        return node

    def _edges(self) -> list[tuple[Any, int]]:
        """Where the gradients of the graph's inputs go."""
        return [
            edge_of(leaf) if each.wants_grad and reaches and isinstance(leaf, Tensor) else (None, 0)
            for each, leaf, reaches in zip(self.entry.inputs, self.given, self.entry.reaches, strict=True)
        ]

    def _attach(self, tensor: Tensor) -> None:
        """Make the next output of the node the history of a tensor."""
        if self.node is not None:
            tensor._node = self.node
            tensor._nr = self.tangent
            self.tangent += 1

    # Inputs.

    def _set_flags(self) -> None:
        """What changes the leaves that gradients are for happens before they become part of a history."""
        for each, leaf in zip(self.entry.inputs, self.given, strict=True):
            info = each.info
            if info.sets_requires_grad and info.is_leaf:
                requires_grad_(leaf)
            if info.metadata_steps and info.is_leaf and info.requires_grad:
                before = version_of(leaf)
                _look_again(leaf, info)
                leaf._counter.rewind(before)  # it is counted with the other writes

    def _write_inputs(self, values: Iterator[Any]) -> list[Any]:
        """Do to the inputs what the function does. For each value of the graph: the input whose memory it now is."""
        written: list[Any] = []
        infos = (*(each.info for each in self.entry.inputs), *self.entry.capture.members.values())
        slots = {info.swapped_to for info in infos if info.swapped_to is not None}
        self.memory = {slot: memory_of(self._input(slot)) for slot in slots}  # before anything is given away
        for each, leaf in zip(self.entry.inputs, self.given, strict=True):
            info = each.info
            before = version_of(leaf) if isinstance(leaf, Tensor) else 0
            if info.sets_requires_grad is False and info.is_leaf and info.tracked:
                requires_grad_(leaf, False)  # or it could not be written
            if info.mutates_storage_metadata:
                self._give_memory(leaf, info, values)
                written += [leaf] if info.is_returned else []
            elif info.mutation_type is MutationType.MUTATED_OUT_GRAPH:
                self._write(leaf, info, values)
                written += [None] if info.is_returned else []
            for slot in each.members:
                self._finish_member(self.leaves[slot], slot, leaf)
            if isinstance(leaf, Tensor):
                _finish_input(leaf, info, before)
        return written

    def _finish_member(self, leaf: Any, slot: int, base: Any) -> None:
        """A member of a merged group was written with its base; what else happened to it follows."""
        info = self.entry.capture.members[slot]
        if leaf is base or info.duplicate_of is not None or not isinstance(leaf, Tensor):
            return
        before = version_of(leaf)
        if info.mutates_storage_metadata:
            self._give_memory(leaf, info, iter(()))
        else:
            _look_again(leaf, info)
        if not isinstance(base, Tensor):  # as far as autograd knows they have nothing in common, and count apart
            _finish_input(leaf, info, before)

    def _detach_inputs(self) -> None:
        for each, leaf in zip(self.entry.inputs, self.given, strict=True):
            if each.info.sets_requires_grad is False and not each.info.tracked:
                detach_(leaf)  # gradients of what was computed before still go to a leaf

    def _write(self, leaf: Any, info: InputAliasInfo, values: Iterator[Any]) -> None:
        if info.mutates_metadata and not (info.is_leaf and info.requires_grad):
            _look_again(leaf, info)
        if not info.mutates_data:
            return
        value = next(values)
        if not info.tracked:
            np.copyto(memory_of(leaf), value)
            return
        new = wrap(value)
        self._attach(new)
        with changed(grad=True, inference=False, saved_hooks=()):
            leaf.copy_(new)

    def _give_memory(self, leaf: Tensor, info: InputAliasInfo, values: Iterator[Any]) -> None:
        if info.swapped_to is None:
            array = next(values)
        else:
            owner = self._input(info.swapped_to)
            if isinstance(owner, Tensor):
                shared_counter(owner)
            array = strided_view(self.memory[info.swapped_to], info.strided)  # type: ignore[arg-type]
        set_data(leaf, wrap(array))

    # Saved values.

    def _save(self, node: CompiledBackward, arrays: Sequence[Any], outputs: list[Any]) -> None:
        modes = current()
        node.written = tuple([(self._owner(k), count) for k, count in self.entry.meta.backward_writes.items()])
        for owner, _ in node.written:
            if isinstance(owner, Tensor):
                shared_counter(owner)  # the backward pass writes to this memory, so the tensor has to stay there
        if modes.saved_hooks:
            node.saved = tuple([SavedVariable(wrap(array)) for array in arrays])
            return
        node.saved = tuple(arrays)
        node.is_fast = self.entry.quick is not None and node.next_nr is None
        node.watched = tuple(
            [
                (position, *self._watched(record, outputs))
                for position, record in enumerate(self.entry.saved)
                if record.is_checked
            ]
        )

    def _owner(self, number: int) -> Any:
        """What an input of the graph belongs to."""
        return self.given[number]

    def _watched(self, record: Any, outputs: list[Any]) -> tuple[Any, Any]:
        """What tells if a saved value is still what it was: the payload of the tensor, and its epoch."""
        of_input = record.input_index is not None
        tensor = self.given[record.input_index] if of_input else outputs[record.output_index]
        return (tensor._data, epoch_of(tensor)) if isinstance(tensor, Tensor) else (None, UNWRITTEN)


def _finish_input(leaf: Tensor, info: InputAliasInfo, before: int) -> None:
    """Bring version and flags to what eager code would have made them."""
    missing = before + info.version_bumps - version_of(leaf)
    for _ in range(missing):
        bump_version(leaf)
    if missing < 0 and leaf._counter is not None:
        leaf._counter.rewind(before + info.version_bumps)
    if info.retains_grad:
        leaf.retain_grad()


def _look_again(leaf: Any, info: InputAliasInfo) -> None:
    """Give a tensor the shape and strides that the function left it with."""
    with changed(grad=False):
        for step in info.metadata_steps:
            look_through(leaf, step.op, step.params, step.op.name)
