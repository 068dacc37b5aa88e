"""Capturing functions whose arguments, results or gradients are wrappers: tensors on payloads made of arrays.

There are two captures of such a call. The outer one is about the tensors that the caller sees; the flat one is about
the arrays that are the inputs and outputs of the graph, and is what is compiled:

    def f(x, y): return x * y         x is a TwoPart(a, b)

    outer   args[0], args[1]                        output[0]                   tangent(output[0])
    flat    args[0].a, args[0].b, args[1]           output[0].a, output[0].b    tangent(output[0]).a, ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pullback.aot._capture import Capture, GraphInput, Maker, Options, run_traced
from pullback.aot._input_analysis import layout_in
from pullback.aot._leaves import check_leaves
from pullback.aot._metadata import OWN, InputAliasInfo, Layout, MutationType, ViewAndMutationMeta
from pullback.aot._stops import Stops
from pullback.aot._trace import WrittenAlias
from pullback.aot._trials import BeginAgain, Trials
from pullback.aot._wrappers import arrays_of, is_array, is_wrapped, leaves_of, rebuilt
from pullback.aot._wrappers_analysis import WrappedOutputs, check_apart, wrapped_input_info
from pullback.aot._wrappers_meta import PlainTensorMeta, SubclassMeta, described
from pullback.aot._wrappers_trace import WrappedPrimal, WrapperTrace, attribute
from pullback.core.pytree import unflatten
from pullback.core.records import Record, replace
from pullback.errors import TraceError
from pullback.graph.aliasing import root_of
from pullback.graph.descriptors import InputMutationAOTOutput, PlainAOTOutput
from pullback.graph.ir import Value
from pullback.payloads.traced import TracedArray

Finals = list[tuple[Value | None, Any]]


class Wrapping(Record):
    """How the flat capture belongs to the outer one."""

    subclass: SubclassMeta
    inputs: list[Any]  # for each outer input, how its payload is made of the flat inputs
    outputs: list[Any]  # the same for what the forward part returns
    tangents: list[Any]
    lent: dict[int, tuple[int, Layout]]  # by flat output that lies in the memory of a flat input: which, and where
    places: list[str]  # for each tangent: the line that made what it is the gradient of
    results: int  # where the results begin among the outputs

    def payload_of(self, position: int, values: Sequence[Any]) -> Any:
        """The payload of a result on these arrays; None for plain results."""
        meta = self.outputs[self.results + position]
        return None if isinstance(meta, PlainTensorMeta) else meta.create(values)


def capture_wrapped(
    function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options, *, backward: bool = True
) -> Capture:
    """`_capture.capture`, for calls with wrappers."""
    check_leaves(unflatten(in_tree, leaves), leaves, "args")
    merged: tuple[tuple[int, ...], ...] = ()
    trials = Trials()
    while True:
        trace = WrapperTrace(options.captures, merged)
        try:
            return run_traced(trace, function, leaves, in_tree, options, WrapperMaker, trials if backward else None)
        except WrittenAlias as written:
            merged, trials = (*merged, written.group), Trials()
        except BeginAgain:
            pass
        finally:
            trace.close()


class WrapperMaker(Maker):
    """Turns a trace with wrappers into an outer and a flat capture."""

    trace: WrapperTrace

    def __init__(self, trace: WrapperTrace, outs: list[Any], options: Options) -> None:
        check_apart(trace, outs)
        self.holes = [None if is_wrapped(out) else out for out in outs]
        super().__init__(trace, self.holes, options)
        self.outs = outs
        self.stand_ins |= {id(primal.tensor) for primal in trace.wrapped_primals}
        for primal in trace.wrapped_primals:
            self.infos[id(primal)] = wrapped_input_info(primal, options.keep_input_mutations)
        for slot, primal in trace.wrapped.items():
            if slot < trace.num_slots:
                self.meta.input_info[slot] = self._slot_info(primal, slot)
        for position, info in WrappedOutputs(trace, outs, self.outputs).infos.items():
            self.meta.output_info[position] = info
        # Arrays that are no values of the graph yet become constants of it.
        self.payloads = {
            position: rebuilt(out._data, lambda _, array: array if type(array) is TracedArray else trace.home(array))
            for position, out in enumerate(outs) if is_wrapped(out)
        }  # fmt: skip
        self.out_metas: list[Any] = []
        self.kept: list[Any] = []  # the storages of the flat outputs
        self.lent: dict[int, tuple[int, Layout]] = {}

    def _slot_info(self, primal: WrappedPrimal, slot: int) -> InputAliasInfo:
        first = primal.slots[0]
        return replace(self.infos[id(primal)], duplicate_of=None if first == slot else first)

    # The forward half.

    def _roots(self) -> Any:
        mutated = [
            (primal.tensor, InputMutationAOTOutput(primal.desc))
            for primal in self.trace.order if self.infos[id(primal)].tracked
        ]  # fmt: skip
        others = [each for each in super()._roots() if not isinstance(each[1], InputMutationAOTOutput)]
        return [*mutated, *others]

    def _finals(self) -> Finals:
        outs, self.outs = self.outs, self.holes
        found, kept = super()._finals(), list(super()._kept())
        self.outs = outs
        borrowed, self.borrowed = self.borrowed, []
        finals: Finals = []
        numbers = {desc: number for number, (_, desc) in enumerate(found)}
        for desc, payload in self._returned(list(numbers)):
            number = numbers.get(desc, -1)
            if payload is None:
                self.out_metas.append(PlainTensorMeta(len(finals)))
                self.borrowed += [len(finals)] if number in borrowed else []
                self.kept.append(kept[number])
                finals.append(found[number])
            else:
                self.out_metas.append(described(payload, len(finals)))
                self._add_parts(finals, desc, payload)
        return finals

    def _returned(self, plain_descs: list[Any]) -> Iterator[tuple[Any, Any]]:
        """What the forward part returns, in order: its descriptor, and the payload if that is a wrapper."""
        for primal in self.trace.order:
            if self.infos[id(primal)].is_returned:
                is_payload = isinstance(primal, WrappedPrimal)
                yield InputMutationAOTOutput(primal.desc), primal.payload if is_payload else None
        for desc in plain_descs:
            if not isinstance(desc, InputMutationAOTOutput):
                yield desc, self.payloads.get(desc.index) if isinstance(desc, PlainAOTOutput) else None

    def _add_parts(self, finals: Finals, desc: Any, payload: Any) -> None:
        info = self.meta.output_info[desc.index] if isinstance(desc, PlainAOTOutput) else None
        for path, part in leaves_of(payload):
            if is_array(part):
                self.kept.append(part.storage)
                finals.append((self._part(len(finals), part, info), attribute(desc, path)))

    def _part(self, index: int, part: TracedArray, info: Any) -> Value:
        """The value of a part of an input that was written, or of a result."""
        if info is None:
            return self._once(self._part_final(part))
        if info.output_type not in OWN or info.duplicate_of is not None:
            return part.value
        if part.storage.slot is not None:
            number = self._storages().index(part.storage)
            self.lent[index] = number, layout_in(part, self._flat_payloads()[number])
            return part.value
        value = self._own(part)
        self._note_borrowed(index, part, value)
        return self._once(value)

    def _part_final(self, part: TracedArray) -> Value:
        """The last value of a part of an input. It must not be read from memory that a store has changed before."""
        value, start = part.storage.base, part.storage.start
        is_another = value is not start and root_of(value) in self.trace.graph.inputs
        return self._copied(value) if is_another and root_of(value) is not start else value

    def _stores(self) -> list[tuple[Value, Value]]:
        stores = [
            (part.storage.start, self._part_final(part))
            for primal in self.trace.wrapped_primals for part in primal.parts
            if self.infos[id(primal)].mutation_type is MutationType.MUTATED_IN_GRAPH
        ]  # fmt: skip
        return [*super()._stores(), *((target, value) for target, value in stores if value is not target)]

    def _kept(self) -> Iterator[Any]:
        return iter(self.kept)

    # Both captures.

    def finish(self, out_tree: Any, trials: Trials | None) -> Capture:
        captured = super().finish(out_tree, trials)
        trace, meta, graph = self.trace, self.meta, captured.graph
        if meta.backward_writes:
            raise TraceError(
                "a backward pass writes to an input, and there are payloads among inputs and results",
                fix="return a new tensor from forward, or pass plain tensors",
            )
        count = len(self._storages())
        meta.subclass_inp_meta = self._input_metas()
        meta.subclass_fw_graph_out_meta, meta.subclass_tangent_meta = self.out_metas, trace.tangent_metas
        flat = replace(
            meta.make_runtime_safe(), output_info=self._flat_output_info(),
            input_info=[given.info for given in self._flat_inputs()],
            traced_tangents=list(graph.inputs[count:]), traced_tangents_descs=list(graph.input_descs[count:]),
            traced_tangent_metas=[], deferred_errors={}, gradient_sources=[],
            effect_sources={seq: tuple(map(self._flat_bits, each)) for seq, each in meta.effect_sources.items()},
        )  # fmt: skip
        captured.flat = replace(
            captured, meta=flat, inputs=self._flat_inputs(), stops=Stops(),
            inputs_read_later=self._read_later(self._storages()),
        )  # fmt: skip
        captured.num_forward_outputs = len(self.out_metas)
        captured.wrapping = self._wrapping(flat)
        return captured

    def _flat_bits(self, bits: int) -> int:
        """Tangents as bits, in terms of the arrays that they are made of."""
        metas = [meta for k, meta in enumerate(self.trace.tangent_metas) if bits >> k & 1]
        return sum(1 << position for meta in metas for position in meta.positions())

    def _wrapping(self, flat: ViewAndMutationMeta) -> Wrapping:
        def safe(metas: list[Any]) -> list[Any]:
            return [None if each is None else each.make_runtime_safe() for each in metas]

        return Wrapping(
            SubclassMeta(flat, safe(self.trace.gradient_metas)), safe(self.meta.subclass_inp_meta),
            safe(self.out_metas), safe(self.trace.tangent_metas), self.lent, self._places(),
            len(self.out_metas) - len(self.meta.output_info) - self.meta.num_intermediate_bases,
        )  # fmt: skip

    def _places(self) -> list[str]:
        """For each tangent, the line that made what it is the gradient of."""
        graph = self.trace.graph
        made = {desc.plain: value for desc, value in zip(graph.output_descs, graph.outputs, strict=True)}
        places = []
        for desc in self.meta.traced_tangents_descs:
            value = made.get(desc.of)
            node = None if value is None else value.node
            place = None if node is None else node.place
            places.append("" if place is None else f"{place[0]}, line {place[1]}, in {place[2]}")
        return places

    def _graph_inputs(self) -> list[GraphInput]:
        return [
            self._wrapped_input(primal, primal.desc) if isinstance(primal, WrappedPrimal) else self._graph_input(primal)
            for primal in self.trace.order
        ]

    def _wrapped_input(self, primal: WrappedPrimal, desc: Any, kind: Any = None) -> GraphInput:
        return GraphInput(
            desc=desc, slot=primal.slots[0] if primal.slots else None,
            capture=None if primal.slots else primal.original, members=(),
            info=self.infos[id(primal)], wants_grad=kind is None and primal.edge[0] is not None, type=kind,
        )  # fmt: skip

    def _flat_inputs(self) -> list[GraphInput]:
        inputs = []
        for primal in self.trace.order:
            if isinstance(primal, WrappedPrimal):
                for path, part in leaves_of(primal.payload):
                    if is_array(part):
                        kind = part.storage.start.type
                        inputs.append(self._wrapped_input(primal, attribute(primal.desc, path), kind))
            else:
                inputs.append(self._graph_input(primal))
        return inputs

    def _flat_payloads(self) -> list[TracedArray]:
        """The arrays of all inputs, as they were at the start."""
        return [
            part for primal in self.trace.order
            for part in (primal.parts if isinstance(primal, WrappedPrimal) else [primal.payload])
        ]  # fmt: skip

    def _storages(self) -> list[Any]:
        return [part.storage for part in self._flat_payloads()]

    def _input_metas(self) -> list[Any]:
        metas: list[Any] = []
        for primal in self.trace.order:
            metas.append(described(primal.payload, sum(each.arg_count for each in metas)))
        return metas

    def _flat_output_info(self) -> list[Any]:
        infos = []
        for position, info in enumerate(self.meta.output_info):
            payload = self.payloads.get(position)
            infos += [info] * (1 if payload is None else len(arrays_of(payload)))
        return infos
