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

from pullback.aot._metadata import (
    OWN,
    InputAliasInfo,
    Layout,
    MutationType,
    OutputAliasInfo,
    OutputType,
    ViewAndMutationMeta,
)
from pullback.aot._trace.analysis import Outputs, flag_set, layout_in, root_tensor, same_place
from pullback.aot._trace.capture import run_traced
from pullback.aot._trace.dry_runs import BeginAgain, Trials
from pullback.aot._trace.higher import Stops
from pullback.aot._trace.leaves import check_leaves
from pullback.aot._trace.maker import Maker
from pullback.aot._trace.records import Capture, GraphInput, Options
from pullback.aot._trace.trace import WrittenAlias
from pullback.aot._wrapper import is_wrapped
from pullback.aot._wrapper.records import PlainTensorMeta, SubclassMeta, described
from pullback.aot._wrapper.trace import WrappedPrimal, WrapperTrace, attribute
from pullback.core.pytree import unflatten
from pullback.core.records import Record, replace
from pullback.errors import AliasError, FunctionalizationError
from pullback.graph.descriptors import InputMutationAOTOutput, PlainAOTOutput
from pullback.graph.ir import Value, root_of
from pullback.payloads.traced import TracedArray, user_location
from pullback.payloads.wrappers import arrays_of, is_array, leaves_of, parts_of, rebuilt
from pullback.tape.history import edge_of, grad_fn, requires_grad
from pullback.tensors.tensor import Tensor, is_inference, shared_counter, version_of
from pullback.tensors.views import CreationMeta, view_of

# What a function has done to inputs that are wrappers, and what its results are that are wrappers.
#
# The questions are those of `_trace/analysis.py`. Where they are asked of memory, they are asked of
# all parts; where they are asked of histories, of the tensor. What would need a wrapper to be a view of another one
# that nobody returns is refused.

def wrapped_input_info(primal: WrappedPrimal, keep: bool) -> InputAliasInfo:
    """What the function has done to an input that is a wrapper."""
    tensor, storages = primal.tensor, primal.storages
    writes = sum(storage.generation for storage in storages)
    bumps = version_of(tensor)
    if requires_grad(tensor) and getattr(type(primal.payload), "is_nested", False):
        raise FunctionalizationError(
            f"{primal.desc.expr()} is a ragged tensor that requires grad, and no argument of a compiled function",
            location=user_location(),
            why="its gradient would have offsets of its own, which do not belong to it",
            fix="give it to the function as an argument of pb.compile, which takes values and offsets apart",
        )
    if not _is_unmoved(primal):
        raise FunctionalizationError(
            f"the shape, the memory or the meta of {primal.desc.expr()} was changed, which is a "
            f"{type(primal.payload).__name__}",
            location=user_location(),
            why="only the contents of a payload's parts can be written in a captured function",
            fix="return the changed tensor",
        )
    flag = flag_set(primal)
    if flag:
        primal.edge = edge_of(tensor)
    quiet = sum(storage.no_grad + storage.hidden for storage in storages)
    return InputAliasInfo(
        is_leaf=primal.original.is_leaf,
        requires_grad=requires_grad(tensor),
        mutates_data=writes > 0,
        mutations_hidden_from_autograd=not bumps or writes <= sum(storage.hidden for storage in storages),
        mutations_under_no_grad_or_inference_mode=writes > 0 and (not bumps or writes <= quiet),
        keep_input_mutations=keep,
        tracked=requires_grad(tensor) and writes > 0 and edge_of(tensor) != primal.edge,
        sets_requires_grad=flag,
        version_bumps=bumps,
        retains_grad=tensor._meta is not None and tensor._meta.retains_grad,
    )


def _is_unmoved(primal: WrappedPrimal) -> bool:
    """Does the tensor still have its payload, on the same arrays and with the same meta?"""
    final = primal.tensor._data
    if final is not primal.payload:
        return False
    now = arrays_of(final)
    same_arrays = len(now) == len(primal.parts) and all(
        type(mine) is TracedArray and mine.storage is before.storage and same_place(mine, before)
        for mine, before in zip(now, primal.parts, strict=True)
    )
    # A length that is no number stands for offsets, which are those of the trace here; they are among the arrays.
    is_ragged = getattr(type(final), "is_nested", False)
    same_shape = is_ragged or tuple(final.shape) == tuple(primal.original.shape)
    return same_arrays and same_shape and parts_of(final)[1] == parts_of(primal.original._data)[1]


def check_apart(trace: WrapperTrace, outs: list[Any]) -> None:
    """Raise if a plain result lies in the memory of a part: it would have to be a view of what has no views."""
    parts = {id(storage): primal for primal in trace.wrapped_primals for storage in primal.storages}
    for position, out in enumerate(outs):
        if isinstance(out, Tensor) and not is_wrapped(out):
            primal = parts.get(id(out._data.storage))
            if primal is not None:
                raise AliasError(
                    f"output {position} is a plain tensor in the memory of a part of {primal.desc.expr()}",
                    why="a plain tensor cannot be made again as a view of a payload",
                    fix="return a .copy() of it",
                )


class WrappedOutputs:
    """The classification of the results that are wrappers, beside that of the others."""

    def __init__(self, trace: WrapperTrace, outs: list[Any], plain: Outputs) -> None:
        self.trace, self.outs, self.plain = trace, outs, plain
        self.first: dict[int, int] = {}
        self.on: dict[int, list[int]] = {}  # id of a storage made here: the outputs whose values lie in it
        for position, out in enumerate(outs):
            if is_wrapped(out) and id(out) not in self.first:
                self.first[id(out)] = position
                for storage in _values_memory(out):
                    self.on.setdefault(id(storage), []).append(position)
        self.infos: dict[int, OutputAliasInfo] = {}
        for position, out in enumerate(outs):
            if is_wrapped(out):
                first = self.first[id(out)]
                self.infos[position] = (
                    self._info(position, out) if first == position
                    else replace(self.infos[first], duplicate_of=first)
                )  # fmt: skip

    def _info(self, position: int, leaf: Tensor) -> OutputAliasInfo:
        connected = grad_fn(leaf) is not None  # this brings the history of a view up to date
        kind, number = self._kind(position, leaf, connected)
        info = view_of(leaf)
        is_replayed = number is not None and kind is not OutputType.is_input
        counter = shared_counter(leaf)
        shares = any(len(self.on[id(storage)]) > 1 for storage in _values_memory(leaf))
        return OutputAliasInfo(
            output_type=kind,
            raw_type=Tensor,
            base_idx=number,
            dynamic_dims=frozenset(),
            requires_grad=requires_grad(leaf),
            requires_grad_for_backward=requires_grad(leaf) and connected,
            view_meta_sequence=info.steps if is_replayed and info is not None else None,
            connected=connected,
            alias_group=position if shares else None,
            is_view=info is not None,
            creation="DEFAULT" if info is None else info.creation_meta.name,
            base_requires_grad=info is not None and requires_grad(info.base),
            version=version_of(leaf),
            counter_of=next((k for k, p in self._inputs() if p.tensor._counter is counter), None),
            counter=self.plain.counters.setdefault(id(counter), len(self.plain.counters)),
            inference=is_inference(leaf),
            retains_grad=leaf._meta is not None and leaf._meta.retains_grad,
        )

    def _inputs(self) -> list[tuple[int, Any]]:
        return [*self.trace.wrapped.items(), *self.plain.inputs]

    def _kind(self, position: int, leaf: Tensor, connected: bool) -> tuple[OutputType, int | None]:
        root = root_tensor(leaf)
        for slot, primal in self.trace.wrapped.items():
            if primal.tensor is leaf:
                return OutputType.is_input, slot
            if primal.tensor is root and not _is_custom(leaf):
                return OutputType.alias_of_input, slot
        if root is leaf or not requires_grad(leaf) or not requires_grad(root):
            return OutputType.non_alias, None
        at = self.first.get(id(root))
        if at is not None and not _is_custom(leaf):
            return OutputType.alias_of_intermediate_base_is_user_output, at
        for storage in _values_memory(leaf):
            if len(self.on[id(storage)]) > 1:
                raise AliasError(
                    f"outputs {', '.join(map(str, self.on[id(storage)]))} are views of one intermediate, which is a "
                    f"{type(leaf._data).__name__}",
                    why="a write to one of them would have to be seen through the others, and their base is not "
                    "returned",
                    fix="return the base as well, or .copy() of all but one",
                )
        return OutputType.unsafe_view_alias, None


def _values_memory(out: Tensor) -> list[Any]:
    """The storages in which the values of a wrapper lie, as far as they were made in the function."""
    return [
        part.storage for part in arrays_of(out._data)
        if type(part) is TracedArray and part.dtype == out.dtype and part.storage.slot is None
    ]  # fmt: skip


def _is_custom(tensor: Tensor) -> bool:
    info = view_of(tensor)
    return info is not None and info.creation_meta in (CreationMeta.CUSTOM, CreationMeta.MULTI)


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
    """`_trace.capture.capture`, for calls with wrappers."""
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
            safe(self.out_metas), safe(self.trace.tangent_metas), self.lent, self.meta.tangent_source_stack_traces,
            len(self.out_metas) - len(self.meta.output_info) - self.meta.num_intermediate_bases,
        )  # fmt: skip

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
