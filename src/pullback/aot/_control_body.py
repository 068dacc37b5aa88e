"""Tracing the bodies of loops and branches: a trace inside of a trace, whose graph takes from outside what it needs.

The body runs once, on stand-ins, under the ordinary tape. A tensor from outside that it uses, traced or not, becomes
one more input of its graph, and one more operand of the node that the body belongs to. `TracedBody.joint` runs the
engine over the tape and appends the gradients, as `_capture` does for a whole function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.aot._control_flow import NO_GRAD, NO_LIMITS, Limits
from pullback.aot._control_leaves import of_payload
from pullback.aot._stand_ins import InputBoundary
from pullback.aot._trace import Trace
from pullback.aot._wrappers import is_wrapped
from pullback.autograd._engine import run_pass
from pullback.autograd._function_node import FunctionNode
from pullback.autograd._node import Node
from pullback.autograd._sparse import SparseGrad
from pullback.autograd._variable import edge_of, requires_grad
from pullback.core.records import Record
from pullback.core.state import changed, current, next_stamp
from pullback.declare.families import predicate
from pullback.declare.op import Op, registry
from pullback.eager.record import _proceed as make_new
from pullback.errors import TraceError
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput, GradAOTOutput, PlainAOTOutput, TangentAOTInput
from pullback.graph.graph import Graph
from pullback.graph.ir import FORWARD, Value
from pullback.graph.ir import Node as GraphNode
from pullback.graph.types import ArrayType, array_type, type_of
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced import Storage, TracedArray, fresh, user_location
from pullback.tensors.tensor import Tensor, as_constant, shared_counter, wrap

OUTSIDE = "outside"
CONTROL = "control"  # the family of the operators of control flow

detached = predicate("_detached", np.positive, ("x",), "it marks in graphs where a function detached a tensor")
detached.refuses("truth values have no sign", "bool")


class Given(Record, frozen=True):
    """One input of a body: its shape and dtype, whether the tape follows it, and whether the body may write to it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    wants_grad: bool = False
    is_own: bool = True


class BodyTrace(Trace):
    """The trace of a body."""

    def __init__(self, name: str, grad: bool) -> None:
        super().__init__()
        self.role = name  # "body of scan": the graph is called by the first word
        self.graph.name = name.partition(" ")[0]
        self.grad = grad
        self.outside: dict[int, tuple[Tensor, Tensor]] = {}  # by id: a tensor from outside, and its stand-in
        self.edges: list[tuple[Node | None, int]] = []  # of the stand-ins, one per input of the graph
        self.limits: Limits = NO_LIMITS
        self._active: set[Value] = set()  # what depends on inputs in a way that has derivatives
        self._quiet: set[Value] = set()  # of those, what was computed while grad mode was off

    def stand_in(self, given: Given) -> Tensor:
        """A tensor for one more input of the graph."""
        shadow = np.empty(given.shape, given.dtype)
        value = self.graph.add_input(type_of(shadow), DummyAOTInput(len(self.graph.inputs)))
        tensor = wrap(TracedArray(Storage(self, value, shadow, None if given.is_own else OUTSIDE), shadow, value))
        if given.wants_grad and tensor._spec.is_differentiable:
            node = InputBoundary()
            node.next, node.spec, node.rare, node.seq = (), tensor._spec, None, next_stamp()
            tensor._node = node
            self._active.add(value)
        shared_counter(tensor)
        self.edges.append(edge_of(tensor))
        return tensor

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Callable[..., Any]) -> Any:
        # What is written, or viewed, stays itself; `run_flow` has looked at the operands of control flow.
        stays = len(operands) if op.family == CONTROL else int(op.is_view or proceed is not make_new)
        given = [
            x if not isinstance(x, Tensor) else self.lifted(x) if k < stays else self.taken(x)
            for k, x in enumerate(operands)
        ]
        return proceed(op, tuple(given), params)

    def taken(self, tensor: Tensor) -> Tensor:
        """A tensor as the operand of something that is recorded here.

        One that was detached from what it is computed of is so in the graph, too: derivatives are taken of the graph
        when there is no tape of the body any more.
        """
        tensor = self.lifted(tensor)
        payload: Any = tensor._data
        if not current().grad:
            return tensor
        inner: Any = payload.data if type(payload) is BatchedArray else payload
        value = inner.value
        if value not in self._active or requires_grad(tensor):
            return tensor
        if value in self._quiet:
            self.limits |= {NO_GRAD}
            return tensor
        return wrap(detached.call(payload))

    def add(self, target: Op | str, operands: list[Any], attrs: dict[str, Any], types: list[ArrayType]) -> GraphNode:
        node = super().add(target, operands, attrs, types)
        goes_on = isinstance(target, str) or target.is_differentiable or target.is_view
        if goes_on and not self._active.isdisjoint(node.inputs):
            results = [value for value in node.results if value.type.dtype.kind in "fc"]
            self._active.update(results)
            if not current().grad:
                self._quiet.update(results)
        return node

    def _is_foreign(self, tensor: Tensor) -> bool:
        payload = tensor._data
        if type(payload) is BatchedArray:
            payload = payload.data
        return payload.storage.trace is not self if type(payload) is TracedArray else True

    def lifted(self, tensor: Tensor) -> Tensor:
        if not self._is_foreign(tensor):
            return tensor
        known = self.outside.get(id(tensor))
        if known is None:
            if is_wrapped(tensor):
                raise of_payload(tensor, f"what the {self.role} uses")
            given = Given(tensor.shape, tensor.dtype, self.grad, is_own=False)
            known = self.outside[id(tensor)] = (tensor, self.stand_in(given))
        return known[1]

    def before_write(self, storage: Storage) -> None:
        if storage.slot == OUTSIDE:
            raise TraceError(
                f"the {self.role} writes in place to a tensor that it does not own",
                location=user_location(),
                why="a graph has no writes: the tensor outside would stay as it is, unlike in code that is not traced",
                fix="carry the tensor through the loop and return it, or write to a .clone() of it",
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        """The block is traced here, and nothing of what is going on around it goes on inside of it."""
        with super().running(), changed(transforms=(), vmaps=(), forward_mask=0, inference=False):
            yield


class TracedBody(Record):
    """A body that ran once: its graph, the tensors that it took from outside, and its outputs with their history."""

    trace: BodyTrace
    outputs: list[Tensor]

    @property
    def graph(self) -> Graph:
        """The graph; its last inputs are those from outside."""
        return self.trace.graph

    @property
    def outside(self) -> list[Tensor]:
        """What the body uses beside what it is given."""
        return [tensor for tensor, _ in self.trace.outside.values()]

    def joint(self, inputs: Sequence[bool], outputs: Sequence[bool]) -> Joint:
        """Forward and backward in one graph, for the gradients of these inputs from those of these outputs."""
        trace, graph = self.trace, self.graph
        with trace.running(), changed(grad=False):
            trace.begin_backward()
            roots = [k for k, out in enumerate(self.outputs) if outputs[k] and edge_of(out)[0] is not None]
            seeds = []
            for k in roots:
                kind = graph.outputs[k].type  # type: ignore[union-attr]
                tangent = graph.add_input(kind, TangentAOTInput(PlainAOTOutput(k)))
                seeds.append(fresh(trace, tangent, np.empty(kind.shape, kind.dtype)))
            wanted = [k for k, edge in enumerate(trace.edges) if inputs[k] and edge[0] is not None]
            arrived: list[Any] = []
            if roots and wanted:
                edges: Any = [edge_of(self.outputs[k]) for k in roots]
                targets: Any = [trace.edges[k] for k in wanted]
                arrived = run_pass(edges, seeds, True, False, None, targets)
            found = dict(zip(wanted, arrived, strict=False))
            for k in range(len(trace.edges)):
                desc = GradAOTOutput(DummyAOTInput(k))
                graph.add_output(_gradient(trace, found.get(k), graph.inputs[k].type), desc)
        trace.close()
        return Joint(graph, len(self.outputs), roots)


class Joint(Record, frozen=True):
    """`[*inputs, *tangents] -> [*outputs, a gradient or None per input]`."""

    graph: Graph
    num_outputs: int
    roots: list[int]  # the outputs that have a tangent, in order

    @property
    def num_inputs(self) -> int:
        """Inputs that are no tangents."""
        return len(self.graph.inputs) - len(self.roots)


def _gradient(trace: BodyTrace, gradient: Any, kind: ArrayType) -> Value | None:
    if gradient is None:
        return None
    if isinstance(gradient, SparseGrad):
        gradient = gradient.to_dense()
    payload = gradient._data if isinstance(gradient, Tensor) else gradient
    if type(payload) is not TracedArray:
        return trace.constant(np.asarray(payload))
    if payload.dtype != kind.dtype:
        payload = registry["_astype"].call(payload, dtype=kind.dtype)
    return payload.value


def _in_order(trace: BodyTrace, payload: TracedArray) -> Value:
    """The value of an array, in row-major order: what goes around a loop lies in memory in one way."""
    value = payload.value
    if value.type.strides is None:
        return value
    kind = array_type(payload.shape, payload.dtype)
    return trace.add(registry["copy"], [value], {"order": "C"}, [kind]).result


def trace_body(name: str, function: Callable[..., Sequence[Any]], givens: Sequence[Given], grad: bool) -> TracedBody:
    """Run `function` once on stand-ins. It returns a flat list of what becomes the outputs of the graph."""
    trace = BodyTrace(name, grad)
    try:
        with trace.running(), changed(grad=grad):
            stand_ins = [trace.stand_in(given) for given in givens]
            outputs = [trace.lifted(as_constant(out)) for out in function(*stand_ins)]
            for k, out in enumerate(outputs):
                trace.graph.add_output(_in_order(trace, out._data), DummyAOTOutput(k))
    except BaseException:
        trace.close()
        raise
    return TracedBody(trace, outputs)


def graph_of(name: str, function: Callable[..., Sequence[Any]], types: Sequence[ArrayType]) -> Graph:
    """The graph of a function of tensors of these types, of which nobody wants the derivative."""
    traced = trace_body(name, function, [Given(each.shape, each.dtype) for each in types], grad=False)
    traced.trace.close()
    if traced.outside:
        raise TraceError(f"the {name} of a derivative uses a tensor from outside")
    return tidied(traced.graph)


def tidied(graph: Graph) -> Graph:
    """A body as it is put into a node: simplified, and all of one half."""
    made = graph.simplify().cse().dce().copy()
    for node in made.nodes:
        node.tag = FORWARD
    made.output_descs = [DummyAOTOutput(k) for k in range(len(made.outputs))]
    made.input_descs = [DummyAOTInput(k) for k in range(len(made.inputs))]
    return made


def limits_of(traced: TracedBody) -> Limits:
    """What the graph of a body does not know: custom Functions on its tape, and what was noted while it ran."""
    waiting = [edge_of(out)[0] for out in traced.outputs]
    seen: set[Node] = set()
    found: set[str] = set(traced.trace.limits)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, FunctionNode) and not hasattr(type(node), "op"):  # a custom operator is a node of the graph
            found.add(node.name())
        seen.add(node)
        waiting += node.next
    return frozenset(found)
