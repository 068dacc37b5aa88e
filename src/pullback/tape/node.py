"""Nodes of the backward graph.

A node knows the formula that turns gradients of its outputs into gradients of its inputs, what it saved for that,
and where those gradients go next. `next` holds the node behind each input (None where no gradient is wanted);
`next_nr` says which output of that node the input was, and is None when it was output 0 everywhere.

A node never holds its forward outputs, so a result nobody keeps is freed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.spec import Spec
from pullback.core.state import next_stamp, running_pass
from pullback.errors import AutogradError
from pullback.payloads.kinds import has_kind, hollow, root_among
from pullback.tape.hooks import HookList, RemovableHandle
from pullback.tape.input_metadata import InputMetadata
from pullback.tape.transform.tokens import union

ACCUMULATOR_SEQUENCE = 2**64 - 1


class NodeRare:
    """Fields that few nodes have: hooks, user metadata, saved values replaced by hand."""

    __slots__ = ("kinds", "metadata", "post_hooks", "pre_hooks", "retained", "saved", "tensor_hooks", "topological_nr")

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.pre_hooks: HookList | None = None
        self.post_hooks: HookList | None = None
        self.tensor_hooks: dict[int, HookList] = {}  # by output number
        self.retained: dict[int, Any] = {}  # weak references to tensors whose gradient is kept, by output number
        self.saved: dict[str, Any] = {}  # saved values that were given hooks after recording
        self.topological_nr: int | None = None
        self.kinds: dict[int, Any] = {}  # by output number: of payloads that have a kind, one without memory

    @property
    def has_hooks(self) -> bool:
        """True if any hook is to be run when this node is visited."""
        return bool(self.pre_hooks or self.post_hooks or self.tensor_hooks or self.retained)


BY_INDEX, BY_PLACES, IN_ORDER, BY_AXES, TO_INDEX, TO_PLACES = range(1, 7)
"""Kinds of nodes that have to do with parts: reads by a basic index, or by arrays; all elements in the same order, or
with axes in another one; writes by a basic index, or by arrays."""


BEHIND: Any = object()
"""What a node says of the transforms that its result depends on if they are those of its operands."""


class Node:
    """One recorded operation. Made by recording, inspected by users, executed by the engine."""

    __slots__ = ("__weakref__", "next", "rare", "seq", "spec")

    next: tuple[Node | None, ...]
    next_nr: tuple[int, ...] | None = None  # a slot in the kinds of nodes that need it
    seq: int
    spec: Spec | None
    rare: NodeRare | None
    deps: Any = BEHIND  # the tokens behind the result (tape/transform/tokens.py), a slot where they are known

    # Formulas written by users return what they like; those of declared operators may be broadcast or complex.
    is_strict = False
    # Fast nodes are executed by `pull`, see the engine; of arrays of the class `pulls`, if that is not NumPy's.
    is_fast = False
    pulls: Any = None
    # Nodes that add to parts of gradients, or change them: see `tape/entries.py`. The latter are `CopySlices`; of the
    # former, some are views, which can be taken of a gradient too.
    has_parts = False
    shows_part = False
    # What native code may do with a gradient of such a node by itself (compiler/machine/c/parts.c).
    part_kind = 0
    writes_part = False
    writes_places = False
    # The formula is that of an operator, and no code of a user's.
    is_declared = False
    # The formula takes its gradients out of the list that it is given, and nobody else holds them meanwhile.
    is_boxed = False
    # The gradients of a node like this one go to leaves, one to each: see `_short_pass`.
    goes_to_leaves = False
    num_outputs: int = 1
    # The batch dimensions that the node was recorded with, see `_scope`; a slot in the kinds that may have some.
    _scope: Any = None

    def name(self) -> str:
        """The name torch gives this kind of node, such as `MulBackward0`."""
        return type(self).__name__

    def forward_op_name(self) -> str:
        """The name of the forward operation."""
        name = self.name()
        return name.removesuffix("0").removesuffix("Backward")

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        """Shape and dtype of each forward output; None for one that takes no gradient."""
        return (self.spec,)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The node behind each input with the output number of that input."""
        return tuple(self.edges())

    def edges(self) -> Iterable[tuple[Node | None, int]]:
        """`(node, output_nr)` for every input."""
        numbers = self.next_nr or (0,) * len(self.next)
        return zip(self.next, numbers, strict=True)

    @property
    def requires_grad(self) -> bool:
        """Always True: a node exists because something requires grad."""
        return True

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user; anomaly mode keeps `traceback_` and `parent_` here."""
        return rare_of(self).metadata

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple([InputMetadata.from_spec(spec, self.output_kind(k)) for k, spec in enumerate(self.specs)])

    def grad_dtype_of(self, output_nr: int) -> Any:
        """The dtype that a gradient for this output is cast to; None accepts any."""
        spec = self.specs[output_nr]
        return None if spec is None else spec.dtype

    def output_kind(self, number: int) -> Any:
        """A payload like this output, without memory, if that has a kind."""
        return None if self.rare is None else self.rare.kinds.get(number)

    def _sequence_nr(self) -> int:
        return self.seq

    def _set_sequence_nr(self, number: int) -> None:
        self.seq = number

    @property
    def topological_nr(self) -> int:
        """0 for accumulators, otherwise one more than the largest among the next nodes."""
        pending: list[Node] = [self]
        while pending:
            node = pending[-1]
            rare = rare_of(node)
            unknown = [n for n in node.next if n is not None and rare_of(n).topological_nr is None]
            if rare.topological_nr is None and unknown:
                pending.extend(unknown)
                continue
            if rare.topological_nr is None:
                known = [rare_of(n).topological_nr or 0 for n in node.next if n is not None]
                rare.topological_nr = 1 + max(known, default=-1) if node.next else 0
            pending.pop()
        return rare_of(self).topological_nr or 0

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the formula runs; it may return a tuple that replaces them."""
        rare = rare_of(self)
        if rare.pre_hooks is None:
            rare.pre_hooks = HookList()
        return rare.pre_hooks.add(hook)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the formula ran; it may return a tuple of new grad_inputs."""
        rare = rare_of(self)
        if rare.post_hooks is None:
            rare.post_hooks = HookList()
        return rare.post_hooks.add(hook)

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Gradients of the inputs, one per edge, None where `wanted` is False or nothing flows.

        `grads` has one entry per forward output. With `as_tensors` gradients are Tensors and the formula itself is
        recorded; otherwise they are payloads and no Tensor is made.
        """
        raise NotImplementedError  # abstract: every kind of node has its formula

    def pull(self, gradient: Any, keep: bool) -> tuple[Any, ...]:
        """The formula of a fast node on a plain array: `evaluate`, and `release` unless `keep`, in one."""
        raise NotImplementedError  # abstract: only fast nodes have it

    def release(self) -> None:
        """Drop the saved values; the formula cannot run again."""

    def __call__(self, *grads: Any) -> Any:
        """Run the formula on gradients of the outputs: no hooks, no validation, nothing is released."""
        if len(grads) != self.num_outputs:
            raise TypeError(f"{self.name()} expected {self.num_outputs} arguments, got {len(grads)} instead")
        out = self.evaluate(grads, True, tuple(n is not None for n in self.next))
        return out[0] if len(out) == 1 else out

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def note_kind(node: Node, number: int, payload: Any) -> None:
    """Let the node know of what kind an output is, so that gradients which it makes itself are, too."""
    if has_kind(payload):
        rare_of(node).kinds[number] = hollow(payload)


def kind_at(node: Node | None, number: int) -> Any:
    """A payload like output `number` of the node, without memory, if that has a kind."""
    return None if node is None else node.output_kind(number)


def root_kind(roots: Iterable[tuple[Node | None, int]]) -> Any:
    """A payload like those that a pass over `roots` begins with, if they are all alike."""
    return root_among([kind_at(node, number) for node, number in roots])


def rare_of(node: Node) -> NodeRare:
    """The node's `NodeRare`, made now if it had none."""
    if node.rare is None:
        node.rare = NodeRare()
    return node.rare


def released_error(name: str) -> AutogradError:
    """The error for needing saved values that an earlier pass has released."""
    return AutogradError(
        "SECOND_BACKWARD",
        f"backward reached `{name}` a second time, after its saved values were released",
        where=name,
        why="values saved in the forward pass are freed as soon as a backward pass has used them",
        fix="give retain_graph=True to the first backward, or run the forward pass again; a total that is kept over "
        "steps holds their graphs: add loss.item(), or loss.detach()",
    )


class ErrorNode(Node):
    """Stands for a derivative that must not be taken: running it raises."""

    __slots__ = ("error", "next_nr")

    error: AutogradError

    @classmethod
    def behind(cls, spec: Any, edges: Iterable[tuple[Node | None, int]], error: AutogradError) -> ErrorNode:
        """The history of a value of this shape and dtype that came from `edges` in an unknown way."""
        node = cls()
        pairs = tuple(edges)
        node.next, node.next_nr = tuple([edge[0] for edge in pairs]), tuple([edge[1] for edge in pairs])
        node.spec, node.rare, node.seq, node.error = spec, None, next_stamp(), error
        return node

    def name(self) -> str:
        return "ErrorBackward0"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        raise self.error


def deps_at(node: Node | None) -> Any:
    """The tokens behind the result of a node. Of one that says `BEHIND`, they are those of all its histories."""
    task = running_pass.get()
    known = {} if task is None else task.scratch.setdefault(BEHIND, {})
    found: Any = None
    pending = [] if node is None else [node]
    while pending:
        top = pending[-1]
        found = known.get(top, top.deps)
        if found is BEHIND:
            parts: list[Any] = []
            for each in top.next:
                if each is not None:
                    part = known.get(each, each.deps)
                    if part is BEHIND:
                        pending.append(each)
                    elif part is not _NOWHERE and part not in parts:
                        parts.append(part)
            if pending[-1] is not top:
                continue
            found = known[top] = union(parts) if len(parts) > 1 else parts[0] if parts else _NOWHERE
        pending.pop()
    return None if found is _NOWHERE else found


_NOWHERE: Any = object()  # what is behind a node whose histories have all been cut off


# `FreshLeaf`: the node behind an argument that a reverse transform differentiates with respect to.

class FreshLeaf(Node):
    """Where the gradients of a transform are collected. For everybody outside it is the identity: what arrives goes
    on to the history that the caller's argument has, if any."""

    __slots__ = ("deps", "next_nr")

    deps: Any  # the tokens behind it

    @classmethod
    def behind(cls, spec: Any, edge: tuple[Node | None, int], deps: Any) -> FreshLeaf:
        """A new leaf of this shape and dtype, in front of `edge`."""
        node = cls()
        node.deps = deps
        node.next = () if edge[0] is None else (edge[0],)
        node.next_nr = None if edge[1] == 0 else (edge[1],)
        node.spec = spec
        node.rare = None
        node.seq = next_stamp()
        return node

    def name(self) -> str:
        return "FreshLeaf"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        return grads if self.next else ()
