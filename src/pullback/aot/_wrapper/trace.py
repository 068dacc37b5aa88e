"""`WrapperTrace`: a trace whose inputs may be tensors on payloads that are made of arrays.

Every array of such a payload is an input of the graph and has a storage of its own, so that writes to it disappear as
everywhere. The payload is put together again from traced arrays, and the tape runs on the tensor above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.aot._metadata import MemoryFormatMeta, ViewAndMutationMeta
from pullback.aot._trace.captured import mirror
from pullback.aot._trace.joint import tangent_layout
from pullback.aot._trace.leaves import memory_of, shadow_like
from pullback.aot._trace.trace import Primal, Trace, not_given
from pullback.aot._wrapper import is_wrapped
from pullback.aot._wrapper.records import described
from pullback.declare.op import Op
from pullback.errors import AliasError
from pullback.graph.descriptors import (
    AOTInput,
    SubclassGetAttrAOTInput,
    SubclassGetAttrAOTOutput,
    TangentAOTInput,
)
from pullback.graph.ir import ArrayType, type_of
from pullback.graph.ir import Node as GraphNode
from pullback.payloads.kinds import as_gradient
from pullback.payloads.traced import Recorder, Storage, TracedArray, fresh, user_location, user_place
from pullback.payloads.wrappers import arrays_of, is_array, is_wrapper, leaves_of, rebuilt
from pullback.tape.history import edge_of
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor, wrap
from pullback.tensors.versions import overlap


class WrappedPrimal:
    """A traced tensor on a wrapper that stands for an input."""

    __slots__ = ("desc", "edge", "former_edge", "original", "parts", "payload", "slots", "tensor")

    def __init__(self, tensor: Tensor, original: Tensor, desc: Any, slots: list[int]) -> None:
        self.tensor = tensor
        self.original: Any = original
        self.desc = desc
        self.slots = slots
        self.payload = tensor._data
        self.parts: list[TracedArray] = arrays_of(self.payload)
        self.edge: tuple[Node | None, int] = edge_of(tensor)
        self.former_edge: Any = None

    @property
    def storages(self) -> list[Storage]:
        """The memory of its arrays."""
        return [part.storage for part in self.parts]


def attribute(desc: Any, path: tuple[str, ...]) -> Any:
    """The descriptor of a part of what `desc` describes."""
    kind: Any = SubclassGetAttrAOTInput if isinstance(desc, AOTInput) else SubclassGetAttrAOTOutput
    for name in path:
        desc = kind(desc, name)
    return desc


class WrapperTrace(Trace):
    """A running trace with wrappers among its inputs, results or gradients."""

    elementwise_again, part_again = Recorder.elementwise_again, Recorder.part_again  # it notes more of every operand

    def __init__(self, captures: str = "lift", merged: tuple[tuple[int, ...], ...] = ()) -> None:
        super().__init__(captures, merged)
        self.order: list[Any] = []  # all inputs, in the order of the graph's: Primal and WrappedPrimal
        self.wrapped: dict[int, WrappedPrimal] = {}  # by slot; captures are numbered behind the arguments
        self.shared: list[Storage] = []  # parts that overlap other inputs, and those
        self.tangent_metas: list[Any] = []
        self.gradient_metas: list[Any] = []
        self._gradients = 0
        self._place: Any = None  # the line that called the running operator

    @property
    def wrapped_primals(self) -> list[WrappedPrimal]:
        """The inputs that are wrappers, in order."""
        return [primal for primal in self.order if isinstance(primal, WrappedPrimal)]

    # Inputs.

    def add_inputs(self, arrays: dict[int, Any], groups: list[tuple[int, ...]], num_slots: int) -> None:
        super().add_inputs(arrays, groups, num_slots)
        # What is known of plain inputs has no place for those that consist of several arrays.
        members: dict[int, Any] = dict(self.members)
        self.wrapped = {slot: primal for slot, primal in members.items() if isinstance(primal, WrappedPrimal)}
        for slot in self.wrapped:
            del self.members[slot]
        self._note_shared()

    def given(self, slot: int) -> Tensor:
        found = self.wrapped.get(slot)
        return super().given(slot) if found is None else found.tensor

    def _add_input(self, leaf: Any, desc: Any, owner: Any, slots: list[int]) -> Primal:
        primal: Any = (
            self._add_wrapper(leaf, desc, owner, slots) if is_wrapped(leaf)
            else super()._add_input(leaf, desc, owner, slots)
        )  # fmt: skip
        self.order.append(primal)
        return primal

    def _add_wrapper(self, leaf: Tensor, desc: Any, owner: Any, slots: list[int]) -> WrappedPrimal:
        def traced(path: tuple[str, ...], array: Any) -> TracedArray:
            shadow = shadow_like(array)
            value = self.graph.add_input(type_of(shadow), attribute(desc, path))
            return TracedArray(Storage(self, value, shadow, (owner, *path)), shadow, value)

        tensor = wrap(rebuilt(leaf._data, traced))
        mirror(tensor, leaf)
        primal = WrappedPrimal(tensor, leaf, desc, slots)
        self.known[id(leaf)] = primal  # type: ignore[assignment]
        return primal

    def numbered(self) -> Iterator[tuple[int, Primal]]:
        return ((slot, primal) for slot, primal in super().numbered() if not isinstance(primal, WrappedPrimal))

    def settle(self, outs: list[Any]) -> None:
        """All captures stay where they are: parts of payloads are counted through."""

    def check_liftable(self, tensor: Tensor) -> None:
        if is_wrapped(tensor) and self.captures_mode == "constant":
            kind = type(tensor._data).__name__
            raise not_given(tensor, f"its payload is a {kind}, which is no constant", "pass it as an argument")

    def _note_overlap(self, primal: Any) -> None:
        if isinstance(primal, WrappedPrimal):
            self.wrapped[self.num_slots + self.captured.index(primal)] = primal  # type: ignore[arg-type]
        else:
            super()._note_overlap(primal)
        self._note_shared()
        for storage in self.shared:
            if storage.generation:
                self.before_write(storage)

    def _note_shared(self) -> None:
        """Parts that share memory with other inputs, or with each other, may not be written."""
        placed = list(self._placed())
        for position, (mine, own, is_part) in enumerate(placed):
            for theirs, other, is_other_part in placed[:position]:
                if (is_part or is_other_part) and np.may_share_memory(mine, theirs) and overlap(mine, theirs):
                    self.shared += [own, other]

    def _placed(self) -> Iterator[tuple[Any, Storage, bool]]:
        for primal in self.order:
            if isinstance(primal, WrappedPrimal):
                for array, part in zip(arrays_of(primal.original._data), primal.parts, strict=True):
                    yield array, part.storage, True
            elif isinstance(array := memory_of(primal.original), np.ndarray):
                yield array, primal.storage, False

    # Places: nodes are made by the payload's own code, and belong to the line that called the operator.

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Callable[..., Any]) -> Any:
        before = self._place
        self._place = before or user_place()
        try:
            return super().intercept(op, operands, params, proceed)
        finally:
            self._place = before

    def add(self, target: Op | str, operands: list[Any], attrs: dict[str, Any], types: list[ArrayType]) -> GraphNode:
        node = super().add(target, operands, attrs, types)
        if self._place is not None and node.place is not None:
            node.place = self._place
        return node

    def before_write(self, storage: Storage) -> None:
        if any(storage is each for each in self.shared):
            raise AliasError(
                "the function writes to memory that a part of a payload shares with another part or argument",
                location=user_location(),
                why="a write to one of them would have to be seen through the other",
                fix="use a .copy() of one",
            )
        super().before_write(storage)

    # Gradients.

    @property
    def targets(self) -> list[Any]:
        return self.order

    @property
    def memories(self) -> list[tuple[Any, Storage, Any]]:
        return [
            each for primal in self.order for each in (
                [(primal, part.storage, part.storage.start) for part in primal.parts]
                if isinstance(primal, WrappedPrimal) else [(primal, primal.storage, primal.value)]
            )
        ]  # fmt: skip

    def tangent_of(self, meta: ViewAndMutationMeta, tensor: Tensor, desc: Any) -> Any:
        start = sum(each.arg_count for each in self.tangent_metas)
        if not is_wrapped(tensor):
            self.tangent_metas.append(described(tensor._data, start, tangent_format))
            return None
        made = rebuilt(self._guess(tensor._data), lambda path, array: self._tangent_part(desc, path, array))
        formats: list[MemoryFormatMeta] = []

        def noted(payload: Any) -> MemoryFormatMeta:
            formats.append(tangent_format(payload))
            return formats[-1]

        self.tangent_metas.append(described(made, start, noted))
        meta.traced_tangents.append(made)
        meta.traced_tangents_descs.append(TangentAOTInput(desc))
        meta.traced_tangent_metas.append(formats)
        return made

    def _guess(self, payload: Any) -> Any:
        """A payload that looks as the gradient will. Nothing of how it is made stays in the graph."""
        count, read = len(self.graph.nodes), dict(self.read_later)
        guess = as_gradient(payload, payload)
        guess = rebuilt(guess, lambda _, array: array if type(array) is TracedArray else self.home(array))
        del self.graph.nodes[count:]
        self.read_later = read
        self._constants.clear()
        return guess

    def _tangent_part(self, desc: Any, path: tuple[str, ...], array: TracedArray) -> TracedArray:
        kind, _ = tangent_layout(array)
        value = self.graph.add_input(kind, attribute(TangentAOTInput(desc), path))
        shadow = np.empty(kind.shape, kind.dtype) if kind.strides is None else np.empty_like(array.shadow)
        return fresh(self, value, shadow)

    def taken_apart(self, gradient: Any, desc: Any) -> list[tuple[Any, Any]]:
        if gradient is None:
            self.gradient_metas.append(None)
            self._gradients += 1  # it has its place among the outputs
            return [(None, desc)]
        self.gradient_metas.append(described(gradient, self._gradients))
        self._gradients += self.gradient_metas[-1].arg_count
        if not is_wrapper(gradient):
            return [(gradient, desc)]
        return [(part, attribute(desc, path)) for path, part in leaves_of(gradient) if is_array(part)]

    def close(self) -> None:
        super().close()
        for primal in self.wrapped_primals:
            primal.original = None


def tangent_format(payload: Any) -> MemoryFormatMeta:
    """The layout in which the gradient of an output is expected. That of a wrapper is its parts' business."""
    if is_wrapper(payload):
        return MemoryFormatMeta(tuple(payload.shape), None, "C")
    return tangent_layout(payload)[1]
