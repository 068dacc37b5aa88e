"""`WrappedEntry`: a compiled call with wrappers. Outside it speaks of tensors, inside there is an entry for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.aot._capture import Capture, GraphInput, Options
from pullback.aot._captured import captured_tensors
from pullback.aot._compilers import Compilers
from pullback.aot._entry import Entry
from pullback.aot._fits import Fit
from pullback.aot._masks import sources_of_gradients
from pullback.aot._memory import memory_of, strided_view
from pullback.aot._metadata import OWN
from pullback.aot._wrappers import arrays_of, is_array, is_wrapped, is_wrapper, leaves_of
from pullback.aot._wrappers_meta import PlainTensorMeta
from pullback.core.records import replace
from pullback.core.spec import spec_for, spec_of
from pullback.errors import AOTError
from pullback.tensors.versions import overlap


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
    """A compiled call. It has what `_runtime.py` asks of an `Entry`, for the tensors that the caller sees."""

    attempts = ()  # there are no short ways
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
        for name in ("bw_donated_idxs", "num_tensors_saved_with_no_vc_check", "num_symints_saved_for_bw"):
            setattr(self.meta, name, getattr(flat.meta, name))
        self.reaches = self._reaches()
        self.tangent_specs = tuple([_spec(each) for each in captured.meta.traced_tangents])
        self.meta = captured.meta = captured.meta.make_runtime_safe()
        self.fit = WrappedFit(captured, function)
        self.makers = self._makers()
        self.input_owners = _owners(self.wrapping.inputs)
        self.output_owners = _owners(self.wrapping.outputs)

    def _reaches(self) -> list[bool]:
        if self.deferred_error is not None:
            return [True] * len(self.inputs)  # whoever asks for a gradient gets the error
        metas = self.wrapping.subclass.grad_input_metas
        found = [meta is not None and any(self.flat.reaches[k] for k in meta.positions()) for meta in metas]
        return found or [False] * len(self.inputs)

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
        self.captured = captured_tensors(function, [(tensor, given.desc.expr()) for tensor, given in held])
        self.written = {id(tensor) for tensor, given in held if given.info.mutates_data}
        self.met = [
            (desc.index, desc.expr(), tensor) for desc, tensor in captured.met.items() if is_wrapped(tensor)
        ]
        met = {desc: tensor for desc, tensor in captured.met.items() if not is_wrapped(tensor)}
        plain = [given for given in captured.inputs if not is_of_payload(given)]
        self._plain = Fit(replace(captured, inputs=plain, met=met), function)

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
