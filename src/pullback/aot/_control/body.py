"""Tracing the bodies of loops and branches: a trace inside of a trace, whose graph takes from outside what it needs.

The body runs once, on stand-ins, under the ordinary tape. A tensor from outside that it uses, traced or not, becomes
one more input of its graph, and one more operand of the node that the body belongs to. `TracedBody.joint` runs the
engine over the tape and appends the gradients, as `_capture` does for a whole function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.aot._control.flow import ALIAS_WRITE, NO_LIMITS, QUIET_WRITE, Limits
from pullback.aot._numbers.stand_in import without_stand_ins
from pullback.aot._trace.captured import InputBoundary
from pullback.aot._trace.trace import Trace, note_history
from pullback.aot._wrapper import is_wrapped
from pullback.core import pytree
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.records import Record
from pullback.core.spec import describe
from pullback.core.state import changed, current, next_stamp
from pullback.declare.families import predicate
from pullback.declare.op import Op, registry
from pullback.eager.record import _proceed as make_new
from pullback.errors import AutogradError, TraceError
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput, GradAOTOutput, PlainAOTOutput, TangentAOTInput
from pullback.graph.graph import Graph
from pullback.graph.ir import FORWARD, ArrayType, Value, array_type, type_of
from pullback.graph.ir import Node as GraphNode
from pullback.graph.pipeline import JOINT, run
from pullback.operators.assembly import assemble, parts
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced import Recorder, Storage, TracedArray, fresh, user_location
from pullback.payloads.wrapped import Payload
from pullback.payloads.wrappers import arrays_of, is_wrapper, rebuilt
from pullback.tape.engine import run_pass
from pullback.tape.forward.levels import handle
from pullback.tape.function.node import FunctionNode
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor, as_constant, shared_counter, wrap

# The leaves of what loops carry and branches return: made tensors, and compared, with errors that name the leaf.

_NUMBERS = (int, float, complex, np.ndarray, np.generic)


class Tree:
    """A tree of tensors taken apart. None is a leaf that stays None; everything else is made a tensor."""

    __slots__ = ("leaves", "metas", "structure", "what")

    def __init__(self, what: str, tree: Any) -> None:
        self.what = what
        self.metas: list[Any] = []
        if current().trace is not None:
            tree = map_leaves(self._packed, tree)
        found, self.structure = flatten(tree)
        self.leaves: list[Tensor | None] = []
        for position, leaf in enumerate(found):
            if leaf is None or isinstance(leaf, Tensor):
                if current().trace is not None and is_wrapped(leaf):
                    raise of_payload(leaf, f"{what}{paths(tree, len(found))[position]}")
                self.leaves.append(leaf)
            elif isinstance(leaf, _NUMBERS):
                self.leaves.append(as_constant(leaf))
            else:
                raise _no_tensor(leaf, f"{what}{paths(tree, len(found))[position]}")

    def _packed(self, leaf: Any) -> Any:
        """A leaf whose payload is made of parts as a container of them, which is put together where it is filled."""
        if not (isinstance(leaf, Tensor) and isinstance(leaf._data, Payload)):
            return leaf
        kind, meta = type(leaf._data), leaf._data.meta
        self.metas.append((kind, meta))
        return Packed(kind, meta, [self._packed(part) for part in parts(leaf)])

    @property
    def tensors(self) -> list[Tensor]:
        """The leaves that are not None."""
        return [leaf for leaf in self.leaves if leaf is not None]

    def filled(self, tensors: Iterable[Any]) -> Any:
        """The tree with these tensors in place of its own."""
        remaining = iter(tensors)
        return unflatten(self.structure, [None if leaf is None else next(remaining) for leaf in self.leaves])

    def named(self) -> list[tuple[str, Tensor | None]]:
        """The leaves, with what they are called in messages."""
        tree = unflatten(self.structure, self.leaves)
        names = [f"{self.what}{path}" for path in paths(tree, len(self.leaves))]
        return list(zip(names, self.leaves, strict=True))


class Packed:
    """The parts of a tensor on a payload, as a container: its structure knows class and meta."""

    def __init__(self, kind: Any, meta: Any, children: Any) -> None:
        self.kind, self.meta, self.children = kind, meta, list(children)


pytree.register(
    Packed,
    lambda packed: (packed.children, (packed.kind, packed.meta)),
    lambda about, children: assemble(*children, kind=about[0], meta=about[1]),
)


def paths(tree: Any, count: int) -> list[str]:
    """How to get from a tree to each of its leaves: `['h'][0]`."""
    found = pytree.paths(tree)
    return ["".join(f"[{key!r}]" for key in path) for path in found] if len(found) == count else [""] * count


def _no_tensor(leaf: Any, name: str) -> TypeError:
    return TypeError(
        f"{name} is of type {type(leaf).__name__}: loops and branches take and return tensors, arrays and numbers; "
        "let the function close over anything else"
    )


def of_payload(tensor: Any, name: str) -> TraceError:
    """The error for a tensor on a payload made of arrays, inside of control flow."""
    kind = type(tensor._data).__name__
    return TraceError(
        f"{name} is a tensor on a {kind}: compiled loops and branches take and return plain tensors only",
        location=user_location(),
        why="the graph of a body has arrays, and what they are the parts of is known to the function around it only",
        fix=f"give it to the loop or branch as an argument or carry, if {kind} is derived from pb.Payload; or pass its "
        "parts as tensors and put them together behind, use pb.where for a choice, or call the loop outside of the "
        "compiled function",
    )


def check_same(who: str, first: Tree, second: Tree, first_role: str, second_role: str) -> None:
    """Raise unless two trees have the same structure, and leaves of the same shapes and dtypes."""
    if first.metas != second.metas and [kind for kind, _ in first.metas] == [kind for kind, _ in second.metas]:
        pairs = zip(first.metas, second.metas, strict=True)
        (kind, mine), (_, theirs) = next(pair for pair in pairs if pair[0] != pair[1])
        raise AutogradError(
            "WRAPPER_META",
            f"{who}: a {kind.__name__} has {mine} in {first_role} and {theirs} in {second_role}",
            why="one graph computes every turn, or either branch, so the meta of a payload cannot change",
            fix="convert it inside, or compute it in a Python loop",
        )
    if first.structure != second.structure:
        raise TypeError(
            f"{who}: {second_role} has another structure than {first_role}\n"
            f"  {first_role}: {first.structure}\n  {second_role}: {second.structure}"
        )
    for position, (mine, theirs) in enumerate(zip(first.leaves, second.leaves, strict=True)):
        if (None if mine is None else mine._spec) != (None if theirs is None else theirs._spec):
            name, _ = first.named()[position]
            raise TypeError(
                f"{who}: {name} is {_kind(mine)} in {first_role} and {_kind(theirs)} in {second_role}; "
                f"{_advice(mine, theirs)}"
            )


def _kind(leaf: Tensor | None) -> str:
    return "None" if leaf is None else describe(leaf.shape, leaf.dtype)


def _advice(mine: Tensor | None, theirs: Tensor | None) -> str:
    if mine is None or theirs is None:
        return "a leaf is None everywhere or nowhere"
    if mine.shape == theirs.shape:
        return f"make them alike, with .astype({str(mine.dtype)!r}) for example"
    return "shapes must stay the same: pb.broadcast_to or an index may be missing"


def pair_of(who: str, returned: Any) -> tuple[Any, Any]:
    """What the body of a scan returned."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        shown = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
        raise TypeError(f"{who}: the body must return a pair (carry, y), and returned {shown}; y may be None")
    return returned


def length_of(who: str, xs: Tree, length: int | None) -> int:
    """The number of steps of a scan."""
    found = None if length is None else operator.index(length)  # int() would fix a length that varies
    if found is not None and found < 0:
        raise ValueError(f"{who}: length must not be negative, got {length}")
    for name, leaf in xs.named():
        if leaf is None:
            continue
        if not leaf.ndim:
            raise ValueError(f"{who}: {name} has no axis to go along: it is {_kind(leaf)}")
        if found is None:
            found = leaf.shape[0]
        elif leaf.shape[0] != found:
            raise ValueError(f"{who}: {name} has {leaf.shape[0]} slices, where {found} steps are to be made")
    if found is None:
        raise ValueError(f"{who}: with xs=None the number of steps has to be given as length=")
    return found


def check_predicate(who: str, predicate: Any) -> Any:
    """What decides: a bool, or a tensor without axes."""
    if isinstance(predicate, (bool, np.bool_, int, float)):
        return bool(predicate)
    if isinstance(predicate, np.ndarray):
        predicate = as_constant(predicate)
    if not isinstance(predicate, Tensor):
        raise TypeError(f"{who}: what decides must be a bool or a tensor without axes, got {type(predicate).__name__}")
    if predicate.shape != ():
        raise TypeError(
            f"{who}: what decides must have no axes, and has shape {list(predicate.shape)}; use .all() or .any(), or "
            "pb.where to choose element by element"
        )
    return predicate if predicate.dtype.kind == "b" else registry["not_equal"].function(predicate, 0)


OUTSIDE = "outside"
CONTROL = "control"  # the family of the operators of control flow

# What only the tape knows, as nodes of a body: derivatives are taken of the graph when there is no tape any more.
detached, unrecorded = (
    predicate(name, np.positive, ("x",), f"it marks in graphs {what}", complex_domain=True)
    for name, what in [
        ("_detached", "where a function detached a tensor"),
        ("_unrecorded", "what was computed in no_grad"),
    ]
)
unrecorded.jvp(lambda t_x: unrecorded.call(t_x))  # tangents go through no_grad, and are computed in it
for _mark in (detached, unrecorded):
    _mark.refuses("truth values have no sign", "bool")


class Given(Record, frozen=True):
    """One input of a body: its shape and dtype, whether the tape follows it, and whether the body may write to it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    wants_grad: bool = False
    is_own: bool = True


class BodyTrace(Trace):
    """The trace of a body."""

    elementwise_again, part_again = Recorder.elementwise_again, Recorder.part_again  # it notes more of every operand

    def __init__(self, name: str) -> None:
        super().__init__()
        self.role = name  # "body of scan": the graph is called by the first word
        self.graph.name = name.partition(" ")[0]
        self.outside: dict[int, tuple[Tensor, Tensor]] = {}  # by id: a tensor from outside, and its stand-in
        self.edges: list[tuple[Node | None, int]] = []  # of the stand-ins, one per input of the graph
        self.limits: Limits = NO_LIMITS
        self._active: set[Value] = set()  # what gradients go back from to inputs, in the graph
        self._moving: set[Value] = set()  # what has a tangent if inputs have; all of the above are

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
        if tensor._spec.is_differentiable:
            self._moving.add(value)
        shared_counter(tensor)
        self.edges.append(edge_of(tensor))
        return tensor

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Callable[..., Any]) -> Any:
        # What is written, or viewed, stays itself; `run_flow` has looked at the operands of control flow.
        if proceed is not make_new:
            note_history(operands[0])
        params = without_stand_ins(params)
        stays = len(operands) if op.family == CONTROL else int(op.is_view or proceed is not make_new)
        given = [
            x if not isinstance(x, Tensor) else self.lifted(x) if k < stays else self.taken(x)
            for k, x in enumerate(operands)
        ]
        return proceed(op, tuple(given), params)

    def taken(self, tensor: Tensor) -> Tensor:
        """A tensor as the operand of something that is recorded here: one that was detached from what it is computed
        of, or was computed while grad mode was off, is so in the graph, too."""
        tensor = self.lifted(tensor)
        payload: Any = tensor._data
        if not is_wrapper(payload):
            mark = self._mark(payload, tensor)
            made = None if mark is None else mark.call(payload)
        elif all(self._mark(part, tensor) is None for part in arrays_of(payload)):
            made = None
        else:
            made = rebuilt(payload, lambda _, part: part if (m := self._mark(part, tensor)) is None else m.call(part))
        if made is None:
            return tensor
        marked = handle(tensor)  # a leaf that was made of a detached tensor stays that leaf
        marked._data = made
        return marked

    def _mark(self, payload: Any, tensor: Tensor) -> Op | None:
        """What the graph must say of an array, or of a part of a tensor."""
        inner: Any = payload.data if type(payload) is BatchedArray else payload
        if inner.value not in self._moving:
            return None
        modes = current()
        if inner.is_detached or modes.inference:
            return detached
        return unrecorded if modes.grad and inner.value in self._active and not requires_grad(tensor) else None

    def add(self, target: Op | str, operands: list[Any], attrs: dict[str, Any], types: list[ArrayType]) -> GraphNode:
        node = super().add(target, operands, attrs, types)
        goes_back = isinstance(target, str) or target.is_differentiable or target.is_view
        results = [value for value in node.results if value.type.dtype.kind in "fc"]
        if goes_back and not self._active.isdisjoint(node.inputs):
            self._active.update(results)
        if (goes_back or target is unrecorded) and not self._moving.isdisjoint(node.inputs):
            self._moving.update(results)
        return node

    def unrecorded(self, value: Value) -> Value:
        return self.add(unrecorded, [value], {}, [value.type]).result if value in self._active else value

    def hide_write(self, before: Value, after: Value, is_quiet: bool) -> None:
        if before in self._moving:
            self.limits |= {QUIET_WRITE if is_quiet else ALIAS_WRITE}

    def _is_foreign(self, tensor: Tensor) -> bool:
        payload = tensor._data
        if is_wrapper(payload):
            return any(type(part) is not TracedArray or part.storage.trace is not self for part in arrays_of(payload))
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
            given = Given(tensor.shape, tensor.dtype, wants_grad=True, is_own=False)
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
    trace = BodyTrace(name)
    try:
        with trace.running(), changed(grad=grad):
            stand_ins = [trace.stand_in(given) for given in givens]
            outputs = [trace.taken(as_constant(out)) for out in function(*stand_ins)]
            trace.check_refusals()
            for k, out in enumerate(outputs):
                edge_of(out)  # the history of a view whose base was written is built here
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
    made = run(JOINT, graph).copy()
    for node in made.nodes:
        node.tag = FORWARD
    made.output_descs = [DummyAOTOutput(k) for k in range(len(made.outputs))]
    made.input_descs = [DummyAOTInput(k) for k in range(len(made.inputs))]
    return made


def limits_of(traced: TracedBody) -> Limits:
    """What the graph of a body does not know: custom Functions on its tape, and writes that it hid from the tape."""
    waiting = [edge_of(out)[0] for out in traced.outputs]
    seen: set[Node] = set()
    found: set[str] = set(traced.trace.limits)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, FunctionNode):  # a custom operator is a node of the graph, and of another class
            found.add(node.name())
        seen.add(node)
        waiting += node.next
    return frozenset(found)
