"""`Maker`: a trace whose function has returned becomes metadata and one graph, joint if gradients are wanted.

inputs     [merged bases] [array leaves by slot] [captures] [tangents]
outputs    [values of inputs that the runtime writes] [outputs] [intermediate bases] [a gradient per input]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pullback.aot import _later
from pullback.aot._metadata import (
    OWN,
    InputAliasInfo,
    MutationType,
    OutputType,
    ViewAndMutationMeta,
)
from pullback.aot._trace.analysis import Outputs, input_info
from pullback.aot._trace.dry_runs import Trials
from pullback.aot._trace.higher import Stops, stops_of
from pullback.aot._trace.joint import Roots, add_backward, separate_from_backward
from pullback.aot._trace.leaves import (
    alias_error,
)
from pullback.aot._trace.records import Capture, GraphInput, Options
from pullback.aot._trace.trace import Primal, Trace
from pullback.aot._wrapper import check_plain
from pullback.core.records import replace
from pullback.declare.op import registry
from pullback.errors import AliasError, TraceError
from pullback.graph import reroll
from pullback.graph.descriptors import (
    CapturedAOTInput,
    DummyAOTOutput,
    GradAOTOutput,
    InputMutationAOTOutput,
    IntermediateBaseAOTOutput,
    NumberAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    SyntheticBaseAOTInput,
    ViewBaseAOTInput,
)
from pullback.graph.graph import Graph
from pullback.graph.ir import FORWARD, Value, root_of
from pullback.payloads.traced import TracedArray
from pullback.tape.history import grad_fn, requires_grad
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.views import view_of


class Maker:
    """Turns a trace whose function has returned into a capture."""

    def __init__(self, trace: Trace, outs: list[Any], options: Options) -> None:
        check_plain(outs)
        self.trace, self.outs, self.options = trace, outs, options
        self.infos = {id(p): input_info(trace, p, options.keep_input_mutations) for p in trace.primals}
        self._check_groups()
        self._check_flags()
        groups = {slot: number for number, group in enumerate(trace.merged) for slot in group}
        self.members = {slot: self._member_info(p, slot, groups.get(slot)) for slot, p in trace.members.items()}
        self.blank = blank = InputAliasInfo(
            is_leaf=False, requires_grad=False, keep_input_mutations=options.keep_input_mutations
        )
        self.outputs = Outputs(trace, outs)
        self.stand_ins = {id(primal.tensor) for primal in (*trace.members.values(), *trace.primals)}
        self.outcomes: Value | None = None  # what the function was told of values
        self.borrowed: list[int] = []  # outputs that are copies of values computed for somebody else
        self.returned: set[int] = set()  # values that are outputs, by id
        self.handed_out: dict[int, int] = {}  # memory that the caller will see: by root value, the storage it is for
        self.meta = ViewAndMutationMeta(
            input_info=[self.members.get(slot, blank) for slot in range(trace.num_slots)],
            output_info=self.outputs.infos,
            num_intermediate_bases=len(self.outputs.bases),
            keep_input_mutations=options.keep_input_mutations,
            traced_tangents=[], traced_tangents_descs=[], traced_tangent_metas=[],
            base_introduced_by=self.outputs.introduced_by,
            leaf_bases=[number for number, base in enumerate(self.outputs.bases) if grad_fn(base) is None],
            static_input_indices=options.static_inputs,
            alias_groups=list(trace.merged),
            captures=[primal.original for primal in trace.captured],
        )  # fmt: skip

    def _member_info(self, primal: Primal, slot: int, group: int | None) -> InputAliasInfo:
        info = self.infos.get(id(primal))
        if info is None:  # a member of a merged group: what is tracked is the history of the base
            base = next(p for p in self.trace.primals if p.storage is primal.storage)
            found = input_info(self.trace, primal, self.options.keep_input_mutations)
            if found.sets_requires_grad is not None or found.retains_grad:
                raise alias_error({slot: None}, "requires_grad_() or retain_grad() was called on it")
            info = replace(found, tracked=self.infos[id(base)].tracked, sets_requires_grad=None)
            if info.mutates_storage_metadata and info.swapped_to is None:
                raise alias_error({slot: None}, "it was given other memory, while it shares its own with others")
            if found.sets_requires_grad is not None:
                raise alias_error({slot: None}, "its requires_grad was changed, while it shares memory with others")
        first = primal.slots[0]
        return replace(info, alias_group=group, duplicate_of=None if first == slot else first)

    def _check_groups(self) -> None:
        synthetic = [p.storage for p in self.trace.primals if isinstance(p.desc, SyntheticBaseAOTInput)]
        for primal in self.trace.members.values() if synthetic else ():
            if any(primal.storage is each for each in synthetic) and requires_grad(primal.tensor):
                raise alias_error(
                    {slot: None for slot, p in self.trace.members.items() if p.storage is primal.storage},
                    "what is written requires grad, and autograd does not know that they are related",
                )

    def _check_flags(self) -> None:
        """Views of an argument change with its flag; as arguments of their own they would not."""
        bases = {slot: view_of(p.original) for slot, p in self.trace.members.items() if isinstance(p.original, Tensor)}
        for primal in self.trace.primals:
            if self.infos[id(primal)].sets_requires_grad is None or not primal.slots:
                continue
            views = [slot for slot, info in bases.items() if info is not None and info.base is primal.original]
            if views or bases.get(primal.slots[0]) is not None:
                raise AliasError(
                    f"the function changes whether {primal.desc.expr()} requires grad, which is a view or has views",
                    why="the flag of a view depends on that of its base, and they are separate arguments of a graph",
                    fix="change the flag outside of the function, or pass a .copy()",
                )

    # The graph.

    def finish(self, out_tree: Any, trials: Trials | None) -> Capture:
        """Add outputs, tangents and gradients to the graph."""
        trace, graph, meta = self.trace, self.trace.graph, self.meta
        roots = self._roots()
        finals = self._finals()
        for target, stored in self._stores():
            graph.add("store", [target, stored], {}, [])
        for value, desc in finals:
            graph.add_output(value, desc)
        is_training = bool(roots) and trials is not None
        self._let_go_of_retained()
        if roots and trials is not None:
            leaves = self._fresh_leaves()
            may_roll = trace.rolls and reroll.is_long(graph) and not leaves and trials == Trials()
            found = _later.joint_of_loops(trace, meta, roots) if may_roll else None
            if found is None:
                add_backward(trace, meta, roots, leaves, self.options.strict, trials)
            else:
                graph, self.meta = found
                trace.is_replaced = True
                meta = self.meta
            separate_from_backward(graph, self.borrowed)
        inputs = [*self._graph_inputs(), *self._number_inputs(graph, is_training)]
        if trace.has_repetitions:
            graph = graph.dce()
        return Capture(
            graph=graph, meta=meta, inputs=inputs,
            out_tree=out_tree, num_forward_outputs=len(finals), is_training=is_training, groups=trace.merged,
            members=self.members,
            # Of NumPy's arrays, to which writes are not noticed, eager code saves copies.
            inputs_read_later=self._read_later([
                not getattr(p.original, "of_numpys", not isinstance(p.original, Tensor)) and p.storage
                for p in trace.primals
            ]),
            inputs_read_live=frozenset(self._read_live()),
            stops=stops_of(trace) if is_training else Stops(), has_own_formulas=trace.has_own_formulas,
            outputs_read_later=self._read_later(self._kept()),
            met={desc: x for desc, x in trace.met.items() if not isinstance(desc, CapturedAOTInput)},
        )  # fmt: skip

    def _finals(self) -> list[tuple[Value | None, Any]]:
        """What the forward part returns."""
        finals: list[tuple[Value | None, Any]] = []
        if self.outcomes is not None:
            finals.append((self.outcomes, DummyAOTOutput(0)))
        for primal in self.trace.primals:
            info = self.infos[id(primal)]
            if info.is_returned:
                value = self._once(self._final(primal) if info.mutates_data else self._own(primal.tensor._data))
                finals.append((value, InputMutationAOTOutput(primal.desc)))
        for position, (out, described) in enumerate(zip(self.outs, self.meta.output_info, strict=True)):
            made: Value | None = None
            if isinstance(out, Tensor):
                made = self._own(out._data) if described.output_type in OWN else out._data.value
                self._note_borrowed(len(finals), out._data, made)
                if described.output_type in OWN and described.duplicate_of is None:
                    made = self._once(made)
            finals.append((made, PlainAOTOutput(position)))
        for base, position in zip(self.outputs.bases, self.outputs.introduced_by, strict=True):
            value = self._own(base._data)
            self._note_borrowed(len(finals), base._data, value)
            finals.append((self._once(value), IntermediateBaseAOTOutput(PlainAOTOutput(position))))
        return finals

    def _kept(self) -> Iterator[Any]:
        """The storages of what the forward part returns, in the same order."""
        if self.outcomes is not None:
            yield None
        for primal in self.trace.primals:
            if self.infos[id(primal)].is_returned:
                yield primal.tensor._data.storage
        for out in (*self.outs, *self.outputs.bases):
            yield out._data.storage if isinstance(out, Tensor) else None

    def _read_later(self, storages: Iterable[Any]) -> dict[int, int]:
        known = self.trace.read_later
        return {number: known[id(each)][1] for number, each in enumerate(storages) if id(each) in known}

    def _read_live(self) -> Iterator[int]:
        """The inputs, by number, that a formula of the user's reads in the backward pass without having saved them."""
        trace = self.trace
        for number, primal in enumerate(trace.primals if trace.has_own_formulas else ()):
            key = id(primal.storage)
            is_written = any(storage is primal.storage and not formula for storage, formula in trace.written)
            if key in trace.read_later and key not in trace.unpacked and not is_written:
                yield number

    def _once(self, value: Value) -> Value:
        """A value as an output. A second output that is the same memory is a view of it: two equal outputs of a graph
        are two arrays."""
        if id(value) in self.returned:
            index = registry["_basic_index"]
            value = self.trace.graph.add(index, [value], {"index": (Ellipsis,)}, [value.type], FORWARD).result
        self.returned.add(id(value))
        return value

    def _note_borrowed(self, index: int, payload: TracedArray, value: Value) -> None:
        """Note an output that is a copy of a value computed for somebody else, where nothing was copied so far."""
        home = self.trace.homes.get(root_of(value))
        if home is not None and home is not payload.storage:
            self.borrowed.append(index)

    def _stores(self) -> list[tuple[Value, Value]]:
        """Inputs that the graph writes, with what: where the runtime does not, or to memory that was swapped away."""
        stores: list[tuple[Value, Value]] = []
        for primal in self.trace.primals:
            info = self.infos[id(primal)]
            is_left_behind = info.mutates_storage_metadata and primal.storage.generation > 0
            if info.mutation_type is MutationType.MUTATED_IN_GRAPH or is_left_behind:
                stores.append((primal.value, self._final(primal)))
        return [(target, value) for target, value in stores if value is not target]

    def _final(self, primal: Primal) -> Value:
        """The last value of an input. It must not be read from memory that another store has changed before."""
        is_moved = self.infos[id(primal)].mutates_metadata and not self.infos[id(primal)].mutates_storage_metadata
        value = primal.tensor._data.value if is_moved else primal.storage.base
        root = root_of(value)
        return self._copied(value) if root.node is None and root is not primal.value else value

    def _copied(self, value: Value) -> Value:
        order = "C" if value.type.strides is None else "K"
        return self.trace.graph.add(registry["copy"], [value], {"order": order}, [value.type], FORWARD).result

    def _own(self, payload: TracedArray) -> Value:
        """The value of an output in memory of its own: not that of an input, a constant or an unrelated output."""
        value, storage = payload.value, payload.storage
        if storage.slot is not None:
            return value
        root = root_of(value)
        owner = self.handed_out.setdefault(id(root), id(storage))
        if root.node is not None and root.node.op != "constant" and owner == id(storage):
            return value
        # The storage gets memory of its own, and a view is taken of that.
        storage.base = self._copied(storage.base)
        storage.generation += 1
        self.handed_out[id(storage.base)] = id(storage)
        return payload.value

    def _number_inputs(self, graph: Graph, is_training: bool) -> list[GraphInput]:
        """The inputs that are computed of numbers. They have no gradient; what the backward pass needs of them is known
        only now. A graph with rolled loops is another one than that of the trace, and has them in their places."""
        host, meta = self.trace.host, self.meta
        if host is None or not host.inputs:
            return []
        if graph is self.trace.graph:
            known = {id(value) for value in (*host.inputs, *(primal.value for primal in self.trace.primals))}
            given = zip(graph.inputs, graph.input_descs, strict=True)
            self.trace.put_inputs([(value, desc) for value, desc in given if id(value) not in known])
        for position in range(len(host.inputs) if is_training else 0):
            graph.add_output(None, GradAOTOutput(NumberAOTInput(position)))
        if meta.gradient_sources:
            meta.gradient_sources = [*meta.gradient_sources, *[0] * len(host.inputs)]
        return [
            GraphInput(NumberAOTInput(position), None, None, (), self.blank, False, value.type, number=position)
            for position, value in enumerate(host.inputs)
        ]

    def _graph_inputs(self) -> list[GraphInput]:
        return [self._graph_input(primal) for primal in self.trace.primals]

    def _graph_input(self, primal: Primal) -> GraphInput:
        is_base = isinstance(primal.desc, (SyntheticBaseAOTInput, ViewBaseAOTInput))
        given = self.trace.members.items() if is_base else ()
        members = [slot for slot, member in given if member.storage is primal.storage]
        return GraphInput(
            desc=primal.desc,
            slot=primal.slots[0] if isinstance(primal.desc, PlainAOTInput) else None,
            capture=primal.original if isinstance(primal.desc, CapturedAOTInput) else None,
            members=tuple(members),
            info=self.infos[id(primal)],
            wants_grad=primal.edge[0] is not None,
            type=primal.value.type,
            steps={slot: self.trace.members[slot].payload.steps for slot in members},
        )

    # Backward.

    def _roots(self) -> Roots:
        """The tensors that gradients may arrive at, with their descriptors, in the order of the tangents."""
        roots: Roots = []
        for primal in self.trace.primals:
            if self.infos[id(primal)].tracked:
                roots.append((primal.tensor, InputMutationAOTOutput(primal.desc)))
        for position, (out, info) in enumerate(zip(self.outs, self.meta.output_info, strict=True)):
            if info.output_type in OWN and info.requires_grad_for_backward and info.duplicate_of is None:
                roots.append((out, PlainAOTOutput(position)))
        for base, position in zip(self.outputs.bases, self.outputs.introduced_by, strict=True):
            if grad_fn(base) is not None:
                roots.append((base, IntermediateBaseAOTOutput(PlainAOTOutput(position))))
        return roots

    def _fresh_leaves(self) -> list[Tensor]:
        """Leaves that were made in the function and are returned."""
        return [
            out for out, info in zip(self.outs, self.meta.output_info, strict=True)
            if isinstance(out, Tensor) and info.output_type is not OutputType.is_input and type(out._node) is Leaf
        ]  # fmt: skip

    def _let_go_of_retained(self) -> None:
        """Gradients that results retain are kept when the compiled function runs, and not in the trace."""
        for tensor in self.trace.retaining:
            node = grad_fn(tensor)
            if node is not None and node.rare is not None:
                node.rare.retained.pop(tensor._nr, None)
            if not any(tensor is out for out in self.outs) and id(tensor) not in self.stand_ins:
                raise TraceError(
                    f"retain_grad() on an intermediate {tensor._spec!r} that is not returned",
                    why="nobody can ask for its gradient after a compiled call",
                    fix="return the tensor, or remove the call",
                )
