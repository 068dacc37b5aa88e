"""Running a compiled call with wrappers: payloads are taken apart before the graph and put together behind it.

Everything between is `_runtime.py`, which does to tensors what the function would have done, whatever their payloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pullback.aot._draws import States, states_of
from pullback.aot._memory import memory_of
from pullback.aot._metadata import InputAliasInfo
from pullback.aot._node import CompiledBackward
from pullback.aot._run_again import check_can_run_again, gradients_of_function
from pullback.aot._runtime import Epilogue, check_writes, input_of
from pullback.aot._wrappers import arrays_of, is_wrapped
from pullback.aot._wrappers_entry import WrappedEntry
from pullback.core.records import replace
from pullback.payloads.writing import assign
from pullback.tensors.tensor import Tensor


def run_wrapped(entry: Any, leaves: list[Any]) -> Any:
    """The result of a call that fits `entry`."""
    given = [input_of(each, leaves) for each in entry.inputs]
    if entry.overwrites_inputs:
        check_writes(entry, given)
        _check_parts(entry, given)
    arrays = [array for leaf in given for array in arrays_of(memory_of(leaf))]
    draws = states_of(entry.draw_sources) if entry.draw_sources else None
    results = entry.returned(entry.forward(*arrays), arrays)
    return _WrappedEpilogue(entry, leaves, given, results, draws).finish()


def _check_parts(entry: WrappedEntry, given: list[Any]) -> None:
    """What NumPy would refuse to write is refused before anything runs."""
    for each, leaf in zip(entry.inputs, given, strict=True):
        if is_wrapped(leaf) and each.info.mutates_data:
            for array in arrays_of(leaf._data):
                if not array.flags.writeable and array.dtype == leaf.dtype:
                    raise ValueError(f"{each.desc.expr()}: assignment destination is read-only")


class _WrappedEpilogue(Epilogue):
    """What follows the graph, where some of the tensors are wrappers."""

    def _new_node(self) -> CompiledBackward:
        self.attached: list[Tensor] = []  # what gradients may arrive at, in the order of the tangents
        keeps = self.entry.options.higher_order == "retrace"
        return WrappedBackward.of_edges(self.entry, self._edges(), tuple(self.given) if keeps else None, self.draws)

    def _attach(self, tensor: Tensor) -> None:
        if self.node is not None:
            self.attached.append(tensor)
        super()._attach(tensor)

    def _write(self, leaf: Any, info: InputAliasInfo, values: Iterator[Any]) -> None:
        if is_wrapped(leaf) and not info.tracked:
            assign(leaf._data, next(values))
        else:
            super()._write(leaf, info, values)

    def _save(self, node: Any, arrays: Sequence[Any], outputs: list[Any]) -> None:
        super()._save(node.inner, arrays, outputs)
        node.structure = dict(self._structure())

    def _structure(self) -> Iterator[tuple[int, Any]]:
        """By flat tangent: the parts of results that are no numbers, which gradients have in common with them."""
        entry: Any = self.entry
        for meta, tensor in zip(entry.wrapping.tangents, self.attached, strict=True):
            parts = arrays_of(tensor._data) if is_wrapped(tensor) else []
            positions = list(meta.positions())
            for position, part in zip(positions, parts, strict=True) if len(parts) == len(positions) else ():
                if part.dtype.kind not in "fc" and part.shape == entry.flat.tangent_types[position].shape:
                    yield position, part

    def _watched(self, record: Any, outputs: list[Any]) -> tuple[Any, Any, int]:
        entry: Any = self.entry
        if record.input_index is not None:
            record = replace(record, input_index=entry.input_owners[record.input_index])
        else:
            record = replace(record, output_index=entry.output_owners[record.output_index])
        return super()._watched(record, outputs)


class WrappedBackward(CompiledBackward):
    """The history of the outputs of a compiled function with wrappers. `inner` computes the gradients of arrays."""

    __slots__ = ("inner", "structure")

    inner: CompiledBackward
    structure: dict[int, Any]

    @classmethod
    def of_edges(
        cls, entry: Any, edges: list[Any], primals: tuple[Any, ...] | None, draws: States | None
    ) -> WrappedBackward:
        """The node of one call."""
        node: WrappedBackward = cls.of_call(entry, edges, primals)
        node.inner = CompiledBackward.of_call(entry.flat, [], None)
        node.structure = {}
        node.draws = draws
        return node

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        entry = self.entry
        if entry.deferred_error is not None:
            raise entry.deferred_error.with_traceback(None)
        for number, error in entry.meta.deferred_errors.items():
            if grads[number] is not None:
                raise error.with_traceback(None)
        if all(gradient is None for gradient in grads):
            return (None,) * len(self.next)
        if as_tensors:
            return self._recorded(grads, ())
        flat = [
            part for number, gradient in enumerate(grads)
            for part in entry.tangent_parts(number, gradient, self.structure)
        ]  # fmt: skip
        return entry.gradients(self.inner.evaluate(tuple(flat), False, ()))

    def _recorded(self, grads: tuple[Any, ...], defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients with a history of their own: the function itself, run again."""
        primals = self.kept(self.inner)
        check_can_run_again(self.entry, "payloads of your own")
        for position in self.entry.inputs_read():
            self._check_unchanged(position)
        return gradients_of_function(self.entry, primals, self.next, grads, self.draws)

    def release(self) -> None:
        self.inner.release()
        self.structure = {}
        self.primals = None if self.primals is None else ()
