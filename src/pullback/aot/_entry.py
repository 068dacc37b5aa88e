"""`Entry`: one capture, partitioned and compiled, ready to be called.

The forward is compiled at once. Backward graphs are compiled when they are needed, one for each set of outputs that
gradients arrive at: what depends on an absent gradient is no part of the graph then, and inputs that only such
gradients lead to get none, as in eager code.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.aot import _later
from pullback.aot._backward_effects import happens
from pullback.aot._capture import Capture, GraphInput, Options
from pullback.aot._compilers import Compilers, flat
from pullback.aot._draws import is_repeatable, nodes_in, sources_of
from pullback.aot._fits import Fit
from pullback.aot._masks import bits_of, sources_of_gradients, specialised, zeros
from pullback.aot._metadata import OWN, MutationType
from pullback.aot._stops import with_stops
from pullback.core.collector import paused
from pullback.core.records import replace
from pullback.core.reports import reported
from pullback.core.spec import spec_for
from pullback.errors import HigherOrderError
from pullback.graph import rerolling
from pullback.graph.descriptors import DummyAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD
from pullback.graph.rewrite import shared

if TYPE_CHECKING:
    from pullback.aot._partition import Partition

_MOST_MASKS = 8


class Entry:
    """A compiled call."""

    def __init__(
        self, captured: Capture, compilers: Compilers, options: Options, function: Callable[..., Any] | None = None
    ) -> None:
        self.capture = captured
        self.straight = captured.graph if captured.stops else Graph()  # the graph that the stops are about
        self.function = function
        self.fit = Fit(captured, function)
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
        # To find short ways for calls of this, see _fast_call.py: their sources and specs by id, or None for none.
        self.attempts: list[tuple[Any, ...] | None] = []
        # The compiled backward for the gradient of the first output alone, once there is one, if nothing can go wrong
        # with it: nodes of calls from then on are fast.
        self.quick: Callable[..., Any] | None = None
        self.lock = threading.RLock()
        self.compiled: list[tuple[str, Any]] = []  # what backends made of the graphs, with the names of the graphs
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
        if self.deferred_error is not None:
            self.reaches = [True] * len(self.inputs)  # whoever asks for a gradient gets the error
        keeps = self.is_training and options.higher_order == "retrace"
        self.draw_sources = sources_of(self.graph) if keeps else ()
        self.tangent_specs = tuple([spec_for(each.shape, each.dtype) for each in tangents])
        self.first_alone = tuple([number == 0 for number in range(len(tangents))])

    # Compiling.

    def _compile_forward(self) -> None:
        if self.options.reroll and rerolling.is_long(self.capture.graph):
            self._roll()
        captured = self.capture
        graph = pruned(captured)
        if self.options.joint_pass is not None and self.is_training:
            graph = self.options.joint_pass(graph.copy())
        with reported(f"simplification of {len(graph.nodes)} nodes"):
            graph = graph.simplify().cse().dce()
        self.graph = graph
        if not self.is_training or self.deferred_error is not None:
            graph = self._without_gradients(graph) if self.is_training else graph
            graph.name = "inference" if not self.is_training else "forward"
            self.forward_graph = graph
            compiler = self.compilers.inference if not self.is_training else self.compilers.forward
            self.compiled_forward = self._compiled(compiler, graph)
            self.forward = flat(self.compiled_forward)
            self.saved: list[Any] = []
            return
        with reported(f"partition of {len(graph.nodes)} nodes"):
            split = self.compilers.split(graph, captured.num_forward_outputs, self._static())
        split = _later.with_private_copies(split, captured.inputs_read_later, captured.outputs_read_later)
        self.partition = split
        split.forward.name = "forward"
        split.backward.name = "backward"
        self.forward_graph = split.forward
        self.saved = split.saved
        self.meta.bw_donated_idxs = [k for k, saved in enumerate(split.saved) if saved.is_donated]
        self.meta.num_tensors_saved_with_no_vc_check = sum(not saved.is_checked for saved in split.saved)
        self.meta.num_symints_saved_for_bw = 0  # sizes are part of the graph
        self.compiled_forward = self._compiled(self.compilers.forward, split.forward)
        self.forward = flat(self.compiled_forward)

    def _roll(self) -> None:
        """Have loops in place of what Python loops left in the graph, and let go of the straight graph."""
        captured = self.capture
        try:
            with reported(f"rolling of {len(captured.graph.nodes)} nodes"):
                graph = rerolling.reroll(captured.graph)
                if graph is not captured.graph:
                    graph.verify()
        except Exception as error:
            if self.options.strict:
                raise
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            warnings.warn(f"a long function is compiled without loops, because of {reason}", stacklevel=2)
            return
        if graph is not captured.graph:
            if len(captured.meta.traced_tangents) > 1:
                self._led_from = sources_of_gradients(captured)
            self.capture = replace(captured, graph=graph)

    def _compiled(self, compiler: Any, graph: Graph) -> Any:
        with paused():
            compiled = compiler(graph, [value.type for value in graph.inputs])
        self.compiled.append((graph.name, compiled))
        return compiled

    def _without_gradients(self, graph: Graph) -> Graph:
        """The forward part of a joint graph whose backward can not be."""
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
        compiled = self._compiled(self.compilers.backward, graph)
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
