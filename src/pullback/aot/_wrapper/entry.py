"""`WrappedEntry`: a compiled call with wrappers. Outside it speaks of tensors, inside there is an entry for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.aot._call.node import CompiledBackward, without_refused
from pullback.aot._call.runtime import Epilogue, check_writes, input_of
from pullback.aot._compilers import Compilers
from pullback.aot._entry import Entry, Fit, refused_inputs, sources_of_gradients
from pullback.aot._metadata import OWN, InputAliasInfo
from pullback.aot._trace.captured import CapturedTensor
from pullback.aot._trace.higher import States, check_can_run_again, gradients_of_function, states_of
from pullback.aot._trace.leaves import memory_of, strided_view
from pullback.aot._trace.records import Capture, GraphInput, Options
from pullback.aot._wrapper import is_wrapped
from pullback.aot._wrapper.records import PlainTensorMeta
from pullback.core.records import replace
from pullback.core.spec import spec_for, spec_of
from pullback.errors import AOTError, AutogradError
from pullback.payloads.batched.indexing import assign
from pullback.payloads.wrappers import arrays_of, is_array, is_wrapper, leaves_of
from pullback.tape.node import note_kind
from pullback.tensors.tensor import Tensor, wrap
from pullback.tensors.versions import overlap


class Misfit(Exception):
    """A gradient that its value takes is another than the backward graph was traced for."""


class FlatEntry(Entry):
    """The entry of the graph, whose inputs and outputs are arrays."""

    def __init__(self, captured: Capture, compilers: Compilers, options: Options, gradients: list[Any]) -> None:
        super().__init__(captured, compilers, options)
        if self.is_training:
            self._led_from = self._sources(gradients)

    def _sources(self, gradients: list[Any]) -> list[int]:
        """For each gradient, the tangents that it is computed from. A payload is there as a whole, or not at all, and
        what its parts are that are no numbers, such as offsets, does not count."""
        found = sources_of_gradients(self.capture)
        counts = sum(1 << k for k, kind in enumerate(self.tangent_types) if kind.dtype.kind in "fc")
        sources = list(found)
        for meta in gradients:
            positions = [] if meta is None else list(meta.positions())
            together = 0
            for position in positions:
                together |= found[position] & counts
            for position in positions:
                sources[position] = together
        return sources


class WrappedEntry:
    """A compiled call. It has what `_call/runtime.py` asks of an `Entry`, for the tensors that the caller sees."""

    attempts = ()  # there are no fast paths
    quick = None  # its nodes are never fast

    def __init__(
        self, captured: Capture, compilers: Compilers, options: Options, function: Callable[..., Any] | None = None
    ) -> None:
        assert captured.flat is not None
        self.capture, self.options, self.compilers, self.function = captured, options, compilers, function
        self.wrapping = captured.wrapping
        self.meta: Any = captured.meta
        self.inputs = captured.inputs
        self.flat = flat = FlatEntry(captured.flat, compilers, options, self.wrapping.subclass.grad_input_metas)
        self.is_training, self.deferred_error = flat.is_training, flat.deferred_error
        self.overwrites_inputs, self.draw_sources = flat.overwrites_inputs, flat.draw_sources
        self.graph, self.forward_graph, self.partition = flat.graph, flat.forward_graph, flat.partition
        self.saved, self.forward, self.compiled = flat.saved, flat.forward, flat.compiled
        for name in (
            "bw_donated_idxs", "num_tensors_saved_with_no_vc_check", "saved_sizes", "num_saved",
            "num_opaque_objects_saved_for_bw",
        ):  # fmt: skip
            setattr(self.meta, name, getattr(flat.meta, name))
        self.reaches = self._reaches()
        self.tangent_specs = tuple([_spec(each) for each in captured.meta.traced_tangents])
        self.meta = captured.meta = captured.meta.make_runtime_safe()
        self.fit = WrappedFit(captured, function)
        self.makers = self._makers()
        self.input_owners = _owners(self.wrapping.inputs)
        self.output_owners = _owners(self.wrapping.outputs)

    def _reaches(self) -> list[bool]:
        metas = self.wrapping.subclass.grad_input_metas
        found = [meta is not None and any(self.flat.reaches[k] for k in meta.positions()) for meta in metas]
        found = found or [False] * len(self.inputs)
        if self.meta.deferred_errors:
            return [is_led or at_all for is_led, at_all in zip(refused_inputs(self.meta), found, strict=True)]
        return found

    def _makers(self) -> list[Any]:
        """For each thing that the forward part returns, how it is made; None if the runtime makes it from others."""
        makers = list(self.wrapping.outputs)
        first = len(makers) - len(self.meta.output_info) - self.meta.num_intermediate_bases
        for position, info in enumerate(self.meta.output_info):
            if info.output_type not in OWN or info.duplicate_of is not None:
                makers[first + position] = None
        return makers

    def returned(self, results: Any, arrays: list[Any]) -> list[Any]:
        """The arrays that the graph returns for these inputs as the runtime wants them: payloads, and what is saved."""
        count = self.flat.capture.num_forward_outputs
        values = list(results[:count])
        for index, (number, layout) in self.wrapping.lent.items():
            values[index] = strided_view(arrays[number], layout)
        return [*(None if maker is None else maker.create(values) for maker in self.makers), *results[count:]]

    # Gradients.

    def tangent_parts(self, number: int, gradient: Any, structure: dict[int, Any]) -> list[Any]:
        """The arrays of the gradient that arrives at an output, as the backward graph takes them.

        Parts of a payload that are no numbers are there also if the gradient is not: `structure` has them.
        """
        meta = self.wrapping.tangents[number]
        if gradient is None:
            return [structure.get(position) for position in meta.positions()]
        gradient = self._fitting(number, meta, gradient)
        return arrays_of(gradient)

    def _fitting(self, number: int, meta: Any, gradient: Any) -> Any:
        found = _misfit(meta, gradient)
        if found is None:
            return gradient
        coerce = getattr(type(gradient), "__coerce_same_metadata_as_tangent__", None)
        if coerce is not None:
            is_plain = isinstance(meta, PlainTensorMeta)
            made = coerce(gradient, None if is_plain else meta.meta, np.ndarray if is_plain else None)
            if made is not None and _misfit(meta, made) is None:
                return made
        what = self.meta.traced_tangents_descs[number].of.expr()
        expected = getattr(meta, "original_subclass_type", type(gradient))
        if hasattr(expected, "take_gradient"):
            if self.options.higher_order == "retrace":
                raise Misfit
            raise AutogradError(
                "GRAD_WRAPPER",
                f"the gradient of {what} is {found}, and {_words(meta)} was expected",
                where=self.wrapping.places[number],
                why="the backward graph was traced for gradients as they are if the pass begins at this result",
                fix='compile with higher_order="retrace", or let check_gradient of the class convert it',
            )
        raise AOTError(
            f"the gradient of {what} is {found}, and {_words(meta)} was expected",
            location=self.wrapping.places[number],
            why="the backward graph was traced for gradients that look like the result",
            fix="give backward() a gradient of that kind, or give the class of the gradient a method "
            "__coerce_same_metadata_as_tangent__(self, meta, type=None) that returns one",
        )

    def inputs_read(self) -> set[int]:
        """The inputs, by position, whose values the function or its gradients depend on."""
        return {self.input_owners[position] for position in self.flat.inputs_read()}

    def gradients(self, found: Any) -> tuple[Any, ...]:
        """The gradients of the inputs, made of the arrays that the backward graph returns."""
        made = []
        for meta in self.wrapping.subclass.grad_input_metas:
            is_there = meta is not None and all(found[position] is not None for position in meta.positions())
            made.append(meta.create(found) if is_there else None)
        return tuple(made)

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of a call with this key is not as it was when this was captured; None if it fits."""
        return self.fit.misfit(leaves)


class WrappedFit:
    """What a capture with wrappers asks of a call: what any capture does, and the same of the parts of payloads."""

    def __init__(self, captured: Capture, function: Callable[..., Any] | None) -> None:
        self.infos = captured.meta.input_info
        self.overwrites = any(given.info.mutates_data for given in captured.inputs)
        held = [(given.capture, given) for given in captured.inputs if given.capture is not None]
        self.captured = [
            CapturedTensor(tensor, given.desc.expr(), captured.texts.get(id(tensor))) for tensor, given in held
        ]  # fmt: skip
        self.written = {id(tensor) for tensor, given in held if given.info.mutates_data}
        self.met = [
            (desc.index, desc.expr(), tensor) for desc, tensor in captured.met.items() if is_wrapped(tensor)
        ]
        met = {desc: tensor for desc, tensor in captured.met.items() if not is_wrapped(tensor)}
        plain = [given for given in captured.inputs if not is_of_payload(given)]
        self._plain = Fit(replace(captured, inputs=plain, met=met))
        self.places = self._plain.places

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of this call is not as it was when the function was captured; None if it fits."""
        found = self._plain.misfit([None if is_wrapped(leaf) else leaf for leaf in leaves])
        if found is not None:
            return found
        for captured in self.captured:
            if is_wrapped(captured.tensor) and (found := captured.misfit()) is not None:
                return found
        for slot, name, tensor in self.met:
            if leaves[slot] is not tensor:
                return f"{name}: another object, and the function also uses the one that it was captured with"
        return self._overlap(leaves) if self.overwrites else None

    def _overlap(self, leaves: list[Any]) -> str | None:
        placed = list(self._placed(leaves))
        for position, (name, mine, is_part, is_written) in enumerate(placed):
            for other, theirs, is_other_part, is_other_written in placed[:position]:
                matters = (is_part or is_other_part) and (is_written or is_other_written)
                if matters and np.may_share_memory(mine, theirs) and overlap(mine, theirs):
                    return f"{other} and {name} overlap, and one of them is written"
        return None

    def _placed(self, leaves: list[Any]) -> Iterator[tuple[str, Any, bool, bool]]:
        """The arrays behind the arguments: name, memory, whether it is a part of a payload, whether it is written."""
        given = [(f"args[{slot}]", leaf, self.infos[slot].mutates_data) for slot, leaf in enumerate(leaves)]
        given += [(each.name, each.tensor, id(each.tensor) in self.written) for each in self.captured]
        seen = set()
        for name, leaf, is_written in given:
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
            if is_wrapped(leaf):
                for path, part in leaves_of(leaf._data):
                    if is_array(part):
                        yield f"{name}.{'.'.join(path)}", part, True, is_written
            elif isinstance(array := memory_of(leaf), np.ndarray):
                yield name, array, False, is_written


def is_of_payload(given: GraphInput) -> bool:
    """Is this input a wrapper? They have no type that a graph knows."""
    return given.type is None


def _spec(tangent: Any) -> Any:
    return spec_for(tangent.type.shape, tangent.type.dtype) if hasattr(tangent, "type") else spec_of(tangent)


def _owners(metas: list[Any]) -> dict[int, int]:
    """For each array of the flat list, the number of what it belongs to."""
    return {position: number for number, meta in enumerate(metas) for position in meta.positions()}


def _misfit(meta: Any, gradient: Any) -> str | None:
    if isinstance(meta, PlainTensorMeta):
        return f"a {type(gradient).__name__}" if is_wrapper(gradient) else None
    return meta.misfit(gradient)


def _words(meta: Any) -> str:
    return "a plain array" if isinstance(meta, PlainTensorMeta) else str(meta)


# Running a compiled call with wrappers: payloads are taken apart before the graph and put together behind it.
#
# What lies between, `_call/runtime.py`, does to tensors what the function would have done, whatever their payloads.

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
            note_kind(self.node, self.tangent, tensor._data)
        super()._attach(tensor)

    def _write(self, leaf: Any, info: InputAliasInfo, values: Iterator[Any]) -> None:
        if is_wrapped(leaf) and not info.tracked:
            assign(leaf._data, next(values))
        else:
            super()._write(leaf, info, values)

    def _save(self, node: Any, arrays: Sequence[Any], outputs: list[Any]) -> None:
        super()._save(node.inner, arrays, outputs)
        node.structure = dict(self._structure())

    def _owner(self, number: int) -> Any:
        entry: Any = self.entry
        return self.given[entry.input_owners[number]]

    def _structure(self) -> Iterator[tuple[int, Any]]:
        """By flat tangent: the parts of results that are no numbers, which gradients have in common with them."""
        entry: Any = self.entry
        for meta, tensor in zip(entry.wrapping.tangents, self.attached, strict=True):
            parts = arrays_of(tensor._data) if is_wrapped(tensor) else []
            positions = list(meta.positions())
            for position, part in zip(positions, parts, strict=True) if len(parts) == len(positions) else ():
                if part.dtype.kind not in "fc" and part.shape == entry.flat.tangent_types[position].shape:
                    yield position, part

    def _watched(self, record: Any, outputs: list[Any]) -> tuple[Any, Any]:
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
        if entry.meta.deferred_errors:
            grads = without_refused(entry.meta, grads, wanted)
        if all(gradient is None for gradient in grads):
            return (None,) * len(self.next)
        if as_tensors:
            return self._recorded(grads, ())
        try:
            flat = [
                part for number, gradient in enumerate(grads)
                for part in entry.tangent_parts(number, gradient, self.structure)
            ]  # fmt: skip
        except Misfit:
            # The graph is one for other gradients. Those that have come are right, so the function is run again.
            found = self._recorded(tuple([None if g is None else wrap(g) for g in grads]), ())
            return tuple([None if g is None else g._data for g in found])
        return entry.gradients(self.inner.evaluate(tuple(flat), False, ()))

    def _recorded(self, grads: tuple[Any, ...], defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients with a history of their own: the function itself, run again."""
        primals = self.kept(self.inner)
        check_can_run_again(self.entry, "payloads of your own")
        primals = self._unchanged(primals, self.entry.inputs_read())
        return gradients_of_function(self.entry, primals, self.next, grads, self.draws)

    def release(self) -> None:
        self.inner.release()
        self.structure = {}
        self.primals = None if self.primals is None else ()
        self.payloads = self.epochs = ()
