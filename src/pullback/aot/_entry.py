"""`Entry`: one capture, partitioned and compiled, ready to be called.

The forward is compiled at once. Backward graphs are compiled when they are needed, one for each set of outputs that
gradients arrive at: what depends on an absent gradient is no part of the graph then, and inputs that only such
gradients lead to get none, as in eager code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.aot import _later
from pullback.aot._compilers import Compilers, flat
from pullback.aot._metadata import OWN, MutationType
from pullback.aot._surroundings.places import moved_function
from pullback.aot._trace.captured import CapturedTensor
from pullback.aot._trace.dry_runs import Sources, happens
from pullback.aot._trace.higher import is_repeatable, nodes_in, sources_of, with_stops
from pullback.aot._trace.leaves import array_of, touching
from pullback.aot._trace.records import Capture, GraphInput, Options
from pullback.core.frames import warn
from pullback.core.records import replace
from pullback.core.reports import compiling, paused, reported
from pullback.core.spec import spec_for
from pullback.errors import HigherOrderError
from pullback.graph import reroll
from pullback.graph.descriptors import DummyAOTOutput, PlainAOTInput, SyntheticBaseAOTInput
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, Value, type_of
from pullback.graph.passes.overlap import overlap
from pullback.graph.pipeline import JOINT, ROLL, check, run
from pullback.graph.rewrite import shared
from pullback.tape.hooks import has_hooks
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of

if TYPE_CHECKING:
    from pullback.aot._partition import Partition


# Does a call fit a capture? Its key does, or nobody would ask; what depends on the capture itself is asked here.

class Fit:
    """What a capture asks of a call: captured tensors are what they were, and no other arguments overlap."""

    def __init__(self, captured: Capture) -> None:
        held = [(given.capture, given.desc.expr()) for given in captured.inputs if given.capture is not None]
        self.captured = [CapturedTensor(tensor, name, captured.texts.get(id(tensor))) for tensor, name in held]
        self.places = captured.places
        self.unhooked = captured.unhooked
        self.moved = moved_function(self.places)
        # What the function finds by itself, and is no argument: then it may not be one in another call.
        self.seen = [x for x in captured.seen if not any(x is tensor for tensor in captured.met.values())]
        # Arguments that the function also finds without being given them: they have to be these very tensors.
        self.met = [(_slot_of(desc), desc.expr(), tensor) for desc, tensor in captured.met.items()]
        self.numbers = captured.numbers
        self.groups = captured.groups
        self.bases = [given for given in captured.inputs if given.members]
        self.written_slots = [g.slot for g in captured.inputs if g.slot is not None and g.info.mutates_data]
        self.written_captures = [g.capture for g in captured.inputs if g.capture is not None and g.info.mutates_data]
        self.is_plain = not (self.captured or self.met or self.groups or self.written_slots or self.places)
        self.is_plain = self.is_plain and not captured.unhooked and not captured.numbers.steps

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of this call is not as it was when the function was captured; None if it fits."""
        if self.is_plain:
            return None
        if self.numbers.steps and (found := self.numbers.misfit(leaves)) is not None:
            return found
        if self.moved is not None and self.moved():
            return next((place.words() for place in self.places if place.has_moved()), "something that it reads")
        for leaf in leaves if self.seen else ():
            if isinstance(leaf, (Tensor, np.ndarray)) and any(leaf is x for x in self.seen):
                return "an argument is an object that the function also finds by itself"
        for slot in self.unhooked:
            if isinstance(leaves[slot], Tensor) and has_hooks(leaves[slot]):
                return f"args[{slot}] has hooks, and the function computes its gradient"
        found = self.moved_capture()
        if found is not None:
            return found
        for slot, name, tensor in self.met:
            if leaves[slot] is not tensor and _base_of(leaves[slot]) is not tensor:
                return f"{name}: another object, and the function also uses the one that it was captured with"
        return self._overlap(leaves)

    def moved_capture(self) -> str | None:
        """What of the captured tensors is not as it was; None if they are."""
        return next((found for each in self.captured if (found := each.misfit()) is not None), None)

    def _overlap(self, leaves: list[Any]) -> str | None:
        known: list[tuple[str, Any]] = [(f"args[{slot}]", leaf) for slot, leaf in enumerate(leaves)]
        known += [(captured.name, captured.tensor) for captured in self.captured]
        known = [(name, leaf) for name, leaf in known if isinstance(array_of(leaf), np.ndarray)]
        written = {id(leaves[slot]) for slot in self.written_slots} | set(map(id, self.written_captures))
        members = {id(leaves[slot]): number for number, group in enumerate(self.groups) for slot in group}
        asked = {at for at, (_, leaf) in enumerate(known) if id(leaf) in written or id(leaf) in members}
        for at, other in touching([array_of(leaf) for _, leaf in known], asked):
            mine, theirs = id(known[at][1]), id(known[other][1])
            if mine != theirs and (mine not in members or members[mine] != members.get(theirs)):
                return f"{known[at][0]} and {known[other][0]} overlap, and one of them is written"
        for base in self.bases:
            if not base.has_base_of(leaves):
                return f"the arguments {', '.join(map(str, base.members))} do not overlap as they did"
        return None


def _slot_of(desc: Any) -> int:
    while not isinstance(desc, PlainAOTInput):
        assert not isinstance(desc, SyntheticBaseAOTInput)  # no tensor, so nobody finds it elsewhere
        desc = desc.of
    return desc.index


def _base_of(leaf: Any) -> Any:
    info = view_of(leaf) if isinstance(leaf, Tensor) else None
    return None if info is None else info.base


# Backward graphs for gradients that arrive at some of the outputs only.

def specialised(graph: Graph, lead: int, defined: tuple[bool, ...], effects: Sources | None = None) -> Graph:
    """A backward graph without the tangents that are not defined.

    Backward graphs are linear in the tangents: what depends on absent ones only is zero, and is left out. Where such a
    value meets another, it is zeros, and in a sum it is nothing at all. `effects` says which tangents lead to effects.
    """
    arrived = bits_of(defined)
    copy = graph.copy()
    tangents = copy.inputs[lead:]
    zero = {value for value, there in zip(tangents, defined, strict=True) if not there}
    alive = {value for value, there in zip(tangents, defined, strict=True) if there}
    replaced: dict[Value, Value] = {}
    nodes, copy.nodes = copy.nodes, []
    for node in nodes:
        given = [replaced.get(x, x) if type(x) is Value else x for x in node.operands]
        reads_zero = [type(x) is Value and x in zero for x in given]
        is_alive = any(type(x) is Value and x in alive for x in given)
        if effects and not happens(node, effects, arrived):
            zero.update(node.results)
            continue
        if any(reads_zero) and not is_alive and node.op != "store":
            zero.update(node.results)
            continue
        if any(reads_zero):
            left = [x for x, gone in zip(given, reads_zero, strict=True) if not gone]
            if node.op == "add" and type(left[0]) is Value and left[0].type == node.result.type:
                replaced[node.result] = left[0]
                continue
            given = [zeros(copy, x.type) if gone else x for x, gone in zip(given, reads_zero, strict=True)]
        node.operands = tuple(given)
        copy.nodes.append(node)
        if is_alive:
            alive.update(node.results)
    copy.outputs = [
        None if value is None or (value in zero and value not in replaced) else replaced.get(value, value)
        for value in copy.outputs
    ]
    kept = [k for k in range(len(copy.inputs)) if k < lead or defined[k - lead]]
    copy.inputs, copy.input_descs = [copy.inputs[k] for k in kept], [copy.input_descs[k] for k in kept]
    return copy.dce()


def sources_of_gradients(captured: Capture) -> list[int]:
    """For each input, the tangents that its gradient is computed from, as bits. Asked of the graph as it was traced."""
    graph, first = captured.graph, len(captured.inputs)
    led: dict[Value, int] = {value: 1 << k for k, value in enumerate(graph.inputs[first:])}
    for node in graph.nodes:
        sources = 0
        for x in node.inputs:
            sources |= led.get(x, 0)
        if sources:
            led.update(dict.fromkeys(node.results, sources))
    gradients = graph.outputs[captured.num_forward_outputs :]
    # A formula need not use the gradient that it is given. Then the tape says what leads to it.
    otherwise = captured.meta.gradient_sources or [0] * len(gradients)
    return [
        0 if value is None else led.get(value, 0) or known for value, known in zip(gradients, otherwise, strict=True)
    ]


def refused_inputs(meta: Any) -> list[bool]:
    """For each input: does a gradient lead to it that cannot be computed? Whoever asks for it gets the error."""
    refused = sum(1 << root for root in meta.deferred_errors)
    return [bool(sources & refused) for sources in meta.gradient_sources]


def bits_of(defined: tuple[bool, ...]) -> int:
    """A set of tangents as bits."""
    return sum(1 << k for k, there in enumerate(defined) if there)


def zeros(graph: Graph, kind: Any) -> Value:
    """A constant of this type in the backward half: nothing but zeros."""
    array = np.zeros(kind.shape, kind.dtype)
    array.flags.writeable = False
    return graph.add("constant", [], {"value": array}, [type_of(array)], BACKWARD).result


_MOST_MASKS = 8


class Entry:
    """A compiled call."""

    def __init__(
        self, captured: Capture, compilers: Compilers, options: Options, function: Callable[..., Any] | None = None
    ) -> None:
        self.capture = captured
        self.straight = captured.graph if captured.stops else Graph()  # the graph that the stops are about
        self.function = function
        self.fit = Fit(captured)
        self.compilers = compilers
        self.options = options
        self.meta = captured.meta
        self.inputs: list[GraphInput] = captured.inputs
        self.is_training = captured.is_training
        self.deferred_error = captured.meta.deferred_backward_error
        infos = [given.info for given in self.inputs]
        self.overwrites_inputs = any(
            info.mutation_type is not MutationType.NOT_MUTATED or info.version_bumps for info in infos
        )
        # Then a call that raises may have happened in part, and is not run again.
        self.stores_in_graph = any(info.mutation_type is MutationType.MUTATED_IN_GRAPH for info in infos)
        # To find fast paths for calls of this (`_call/fast_call.py`): their sources and specs by id, or None for none.
        self.attempts: list[tuple[Any, ...] | None] = []
        # The compiled backward for the gradient of the first output alone, once there is one, if nothing can go wrong
        # with it: nodes of calls from then on are fast.
        self.quick: Callable[..., Any] | None = None
        self.lock = threading.RLock()
        self.compiled: list[tuple[str, Any]] = []  # what backends made of the graphs, with the names of the graphs
        self.spent: dict[str, float] = {}  # milliseconds of capturing and compiling, by kind
        self.partition: Partition | None = None
        self._backwards: dict[tuple[bool, ...], Any] = {}
        self._differentiable: dict[tuple[bool, ...], Any] = {}
        self._recorded: dict[tuple[bool, ...], Any] = {}
        # Makes a compiled function of the gradients, for derivatives of them. Without it the graph is run node by node.
        self.compiled_again: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
        self._led_from: list[int] | None = None
        self._reads: dict[tuple[bool, ...], frozenset[int]] = {}
        self._compile_forward()
        tangents = [value.type for value in captured.meta.traced_tangents]
        self.tangent_types = tangents
        # The inputs that some gradient leads to.
        first = captured.num_forward_outputs
        self.reaches = [value is not None for value in self.graph.outputs[first:]] or [False] * len(self.inputs)
        if captured.meta.deferred_errors:
            led = refused_inputs(captured.meta)
            self.reaches = [is_led or at_all for is_led, at_all in zip(led, self.reaches, strict=True)]
        keeps = self.is_training and options.higher_order == "retrace"
        # What a call is told on this path, and the same as the graph says it: `_tree/paths.py`.
        events = captured.events
        self.labels = tuple([event.label for event in events]) if events else None
        self.outcomes = bytes([event.outcome for event in events])
        self.draw_sources = sources_of(self.graph) if keeps or events else ()
        self.tangent_specs = tuple([spec_for(each.shape, each.dtype) for each in tangents])
        self.first_alone = tuple([number == 0 for number in range(len(tangents))])

    # Compiling.

    def _compile_forward(self) -> None:
        if self.options.reroll and reroll.is_long(self.capture.graph):
            self._roll()
        captured = self.capture
        self.graph = graph = self._simplified(captured)
        if not self.is_training or self.deferred_error is not None:
            graph = self._without_gradients(graph) if self.is_training else graph
            graph.name = "inference" if not self.is_training else "forward"
            self.forward_graph = graph
            compiler = self.compilers.inference if not self.is_training else self.compilers.forward
            self.compiled_forward = self._compiled(compiler, graph)
            self.forward = flat(self.compiled_forward)
            self.saved: list[Any] = []
            return
        self.partition = split = self._split(captured, graph)
        split.forward.name = "forward"
        split.backward.name = "backward"
        self.forward_graph = split.forward
        self.saved = split.saved
        self.meta.bw_donated_idxs = [k for k, saved in enumerate(split.saved) if saved.is_donated]
        self.meta.num_tensors_saved_with_no_vc_check = sum(not saved.is_checked for saved in split.saved)
        self.meta.num_saved = len(split.saved)
        if captured.at_other_sizes is not None:
            nearby, split_at = captured.at_other_sizes, lambda each: self._split(each, self._simplified(each))
            self.meta.saved_sizes = lambda: _later.saved_sizes(nearby(), split_at)
        self.meta.num_opaque_objects_saved_for_bw = 0  # what is saved is arrays
        self.compiled_forward = self._compiled(self.compilers.forward, split.forward)
        self.forward = flat(self.compiled_forward)

    def _simplified(self, captured: Capture) -> Graph:
        graph = pruned(captured)
        if self.options.joint_pass is not None and self.is_training:
            graph = self.options.joint_pass(graph.copy())
        with reported(f"simplification of {len(graph.nodes)} nodes", "partition"):
            return run(JOINT, graph)

    def _split(self, captured: Capture, graph: Graph) -> Partition:
        with reported(f"partition of {len(graph.nodes)} nodes", "partition"):
            split = self.compilers.split(graph, captured.num_forward_outputs, self._static())
        check("partition", split.forward, split.backward)
        split = _later.with_private_copies(split, captured.inputs_read_later, captured.outputs_read_later)
        check("private copies", split.forward, split.backward)
        live = captured.inputs_read_live
        if not live:
            return split
        return replace(split, saved=[replace(x, is_checked=False) if x.input_index in live else x for x in split.saved])

    def _roll(self) -> None:
        """Have loops in place of what Python loops left in the graph, and let go of the straight graph."""
        captured = self.capture
        try:
            with reported(f"rolling of {len(captured.graph.nodes)} nodes", "partition"):
                graph = run(ROLL, captured.graph)
                if graph is not captured.graph:
                    graph.verify()
        except Exception as error:
            if self.options.strict:
                raise
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            warn(f"a long function is compiled without loops, because of {reason}")
            return
        if graph is not captured.graph:
            if len(captured.meta.traced_tangents) > 1:
                self._led_from = sources_of_gradients(captured)
            self.capture = replace(captured, graph=graph)

    def _compiled(self, compiler: Any, graph: Graph) -> Any:
        graph = overlap(graph)
        with paused():
            compiled = compiler(graph, [value.type for value in graph.inputs])
        self.compiled.append((graph.name, compiled))
        return compiled

    def _without_gradients(self, graph: Graph) -> Graph:
        """The forward part of a joint graph whose backward cannot be."""
        copy = graph.copy()
        count = self.capture.num_forward_outputs
        copy.outputs, copy.output_descs = copy.outputs[:count], copy.output_descs[:count]
        kept = len(self.inputs)
        copy = copy.dce()
        copy.inputs, copy.input_descs = copy.inputs[:kept], copy.input_descs[:kept]
        return copy

    def _static(self) -> tuple[int, ...]:
        """The inputs whose memory outlives the call: those that the caller says so of, and what the function holds."""
        static = set(self.options.static_inputs)
        return tuple(k for k, given in enumerate(self.inputs) if given.slot in static or given.capture is not None)

    def backward_for(self, defined: tuple[bool, ...]) -> Any:
        """The compiled backward for gradients that arrive at these outputs."""
        found = self._backwards.get(defined)
        if found is None:
            with self.lock:
                found = self._backwards.get(defined)
                if found is None:
                    found = self._backwards[defined] = self._compile_backward(defined)
        return found

    def _compile_backward(self, defined: tuple[bool, ...]) -> Any:
        assert self.partition is not None
        graph = self.partition.backward
        if False in defined:
            if len(self._backwards) > _MOST_MASKS and not self.meta.effect_sources:
                return None
            graph = self._specialised(graph, len(self.saved), defined)
        with compiling("a backward pass") as phases:
            compiled = self._compiled(self.compilers.backward, graph)
        for kind, spent in phases.spent.items():
            self.spent[kind] = self.spent.get(kind, 0.0) + spent
        if defined == self.first_alone and self._is_quick(graph, compiled):
            self.quick = compiled.flat
        return flat(compiled)

    def _is_quick(self, graph: Graph, compiled: Any) -> bool:
        """Does a backward graph give what its types say, by one of our backends, and run no code of the user's?"""
        meta = self.meta
        has_effects = any(node.effect is not None or "call" in node.attrs for node in nodes_in(graph))
        is_refused = meta.deferred_errors or meta.backward_writes or self.deferred_error is not None
        return hasattr(compiled, "flat") and not has_effects and not is_refused

    def _specialised(self, graph: Graph, lead: int, defined: tuple[bool, ...]) -> Graph:
        """`specialised`, with gradients exactly for those inputs that eager code has gradients for. Simplification may
        have found a gradient to be zero: it is there if a gradient that led to it is."""
        if self._led_from is None:
            self._led_from = sources_of_gradients(self.capture)
        graph = specialised(graph, lead, defined, self.meta.effect_sources)
        arrived = bits_of(defined)
        for position, sources in enumerate(self._led_from):
            value = graph.outputs[position]
            if value is not None and not sources & arrived:
                graph.outputs[position] = None
            elif value is None and sources & arrived:
                gradient = self.capture.graph.outputs[self.capture.num_forward_outputs + position]
                assert gradient is not None
                graph.outputs[position] = zeros(graph, gradient.type)
        return graph.dce()

    def reads(self, defined: tuple[bool, ...]) -> frozenset[int]:
        """The saved values, by position, that the backward for these gradients reads."""
        found = self._reads.get(defined)
        if found is None:
            assert self.partition is not None
            graph = self.partition.backward
            if False in defined:
                graph = self._specialised(graph, len(self.saved), defined)
            used = {id(x) for node in graph.nodes for x in node.inputs} | {id(x) for x in graph.outputs}
            positions = [k for k in range(len(self.saved)) if id(graph.inputs[k]) in used]
            found = self._reads[defined] = frozenset(positions)
        return found

    def run_backward(self, defined: tuple[bool, ...], saved: list[Any], tangents: list[Any]) -> tuple[Any, ...]:
        """The gradients of the graph's inputs, as arrays."""
        found = self.backward_for(defined)
        if found is not None:
            return tuple(found(*saved, *tangents))
        return self._with_zeros(defined, saved, tangents)

    def _with_zeros(self, defined: tuple[bool, ...], saved: list[Any], tangents: list[Any]) -> tuple[Any, ...]:
        """For the ninth set of outputs and later ones: zeros for what is absent, and None for what it leads to."""
        assert self.partition is not None
        given = iter(tangents)
        filled = [
            next(given) if there else np.zeros(kind.shape, kind.dtype)
            for there, kind in zip(defined, self.tangent_types, strict=True)
        ]
        results = self.backward_for((True,) * len(defined))(*saved, *filled)
        graph = self._specialised(self.partition.backward, len(self.saved), defined)
        return tuple([x if value is not None else None for x, value in zip(results, graph.outputs, strict=True)])

    def run_backward_on_payloads(self, defined: Any, saved: list[Any], tangents: list[Any]) -> tuple[Any, ...]:
        """The same node by node, for payloads that are no arrays: batched gradients, traced ones."""
        assert self.partition is not None
        graph = self.partition.backward
        if False in defined:
            graph = self._specialised(graph, len(self.saved), defined)
        return tuple(graph.run_on(*saved, *tangents))

    def differentiable_backward(self, defined: tuple[bool, ...]) -> tuple[Graph, frozenset[int]]:
        """The gradients as a differentiable function of inputs and tangents, a graph to be run on tensors; and the
        inputs that it reads. Behind the gradients are the values that the backward pass stores."""
        found = self._differentiable.get(defined)
        if found is None:
            with self.lock:
                found = self._differentiable[defined] = self._without_saved(defined)
        return found

    def recorded(self, defined: tuple[bool, ...], graph: Graph) -> Callable[..., tuple[Any, ...]]:
        """That graph as a function of tensors. It is captured like any other, so that its results have a compiled
        backward, and so on."""
        found = self._recorded.get(defined)
        if found is None:
            with self.lock:
                found = self._recorded.get(defined)
                if found is None:
                    found = _on_tensors(graph)
                    found = found if self.compiled_again is None else self.compiled_again(found)
                    self._recorded[defined] = found
        return found

    def inputs_read(self) -> list[int]:
        """The inputs, by position, whose values the function or its gradients depend on."""
        read = {x for node in self.graph.nodes for x in node.inputs}
        return [k for k, value in enumerate(self.graph.inputs[: len(self.inputs)]) if value in read]

    def _without_saved(self, defined: tuple[bool, ...]) -> tuple[Graph, frozenset[int]]:
        count = self.capture.num_forward_outputs
        stops = self.capture.stops
        graph = with_stops(self.straight, stops, count) if stops else self.graph.copy()
        stores = [node for node in graph.nodes if node.op == "store" and node.tag == BACKWARD]
        arrived, effects = bits_of(defined), self.meta.effect_sources
        stored = [node.operands[1] if happens(node, effects, arrived) else None for node in stores]
        graph.nodes = [node for node in graph.nodes if node.op != "store"]
        graph.outputs = [*graph.outputs[count:], *stored]
        graph.output_descs = [*graph.output_descs[count:], *map(DummyAOTOutput, range(len(stored)))]
        for node in graph.nodes:
            node.effect = None if node.effect == "ordered" else node.effect
        graph = self._specialised(graph.dce(), len(self.inputs), defined)
        _check_repeatable(graph)
        read = {x for node in graph.nodes for x in node.inputs}.union(x for x in graph.outputs if x is not None)
        return graph, frozenset(k for k, value in enumerate(graph.inputs[: len(self.inputs)]) if value in read)

    def writes(self, defined: tuple[bool, ...]) -> list[bool]:
        """Which of the writes of the backward pass happen if these gradients arrive."""
        sources, arrived = self.meta.effect_sources, bits_of(defined)
        return [any(bits & arrived for bits in sources.get(-1 - k, (-1,))) for k in self.meta.backward_writes]

    def fitting_tangent(self, position: int, gradient: Any) -> Any:
        """A gradient as the backward graph takes it."""
        kind = self.tangent_types[position]
        if type(gradient) is not np.ndarray or self.compilers.takes_any_layout:
            return gradient
        if kind.strides is None:
            return gradient if gradient.flags.c_contiguous else np.ascontiguousarray(gradient).reshape(kind.shape)
        if _same_steps(gradient, kind):
            return gradient
        laid = _room(kind)
        laid[...] = gradient
        return laid

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of a call with this key is not as it was when this was captured; None if it fits."""
        return self.fit.misfit(leaves)


def _on_tensors(graph: Graph) -> Callable[..., tuple[Any, ...]]:
    def gradients(*operands: Any) -> tuple[Any, ...]:
        return tuple(graph.run_on(*operands))

    return gradients


def _check_repeatable(graph: Graph) -> None:
    """Raise if what is computed again has effects, which must not happen again."""
    for node in nodes_in(graph):
        if not is_repeatable(node):
            raise HigherOrderError(
                f"a derivative of a compiled backward pass needs the results of {node.op}, which has effects",
                why="it is computed by running the graph again, and effects and draws would happen again",
                fix="call the operator outside of the compiled function",
            )


def _same_steps(array: Any, kind: Any) -> bool:
    """Does the array lie in memory as the type says? Axes with one element have no step to speak of."""
    return array.strides == kind.strides or all(
        mine == wanted or length == 1
        for mine, wanted, length in zip(array.strides, kind.strides, kind.shape, strict=True)
    )


def _room(kind: Any) -> Any:
    """A new array of this type, which has no gaps."""
    order = sorted(range(len(kind.shape)), key=lambda axis: -kind.strides[axis])
    room = np.empty([kind.shape[axis] for axis in order], kind.dtype)
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    return room.transpose(back)


def pruned(captured: Capture) -> Graph:
    """The captured graph without the outputs that the runtime makes from others."""
    graph = shared(captured.graph)
    first = captured.num_forward_outputs - len(captured.meta.output_info) - captured.meta.num_intermediate_bases
    for position, info in enumerate(captured.meta.output_info):
        if info.output_type not in OWN or info.duplicate_of is not None:
            graph.outputs[first + position] = None
    return graph
