"""A function that ran on fresh leaves, and the graph it left: what the reverse transforms are made of.

The arguments that are differentiated are replaced by fresh leaves, which stay connected to whatever history the
caller's tensors have. When the body has returned its token dies, and only then the backward pass runs: so the pass is
recorded exactly where an outer transform, or the user, still asks for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.state import changed, current, open_levels
from pullback.tape.backward import distinct_results
from pullback.tape.engine import run_pass
from pullback.tape.forward.levels import live_levels, tangent_of
from pullback.tape.history import edge_of, refresh_view, requires_grad
from pullback.tape.input_metadata import conform, of_kind
from pullback.tape.node import Node, kind_at, root_kind
from pullback.tape.transform.body import (
    Handles,
    Transform,
    argument_handle,
    as_differentiable,
    differentiating,
    fresh_leaf,
)
from pullback.tape.transform.tokens import Deps, deps_of, is_live, union
from pullback.tensors.tensor import Tensor, gradient_like
from pullback.tensors.views import CreationMeta, view_of

_LEAF = flatten(None)[1]
"""The structure of what is no container: most arguments are tensors, and taking them apart costs more than this."""


class Recording:
    """A function that ran once with some of its arguments replaced by fresh leaves, and the graph it left."""

    def __init__(self, who: str, positions: tuple[int, ...] | None = None) -> None:
        self.who = who
        self.positions = positions  # None: all
        self.handles = Handles()
        self.leaves: list[Tensor] = []
        self.starts: list[Any] = []  # the nodes of the leaves, which the body may detach
        self.structures: list[Any] = []  # one per differentiated argument
        self.keeps_history = current().grad
        self.edges: list[tuple[Node | None, int]] = []
        self.deps: Deps = frozenset()
        self.outputs: list[Tensor] = []

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns, as it returned it."""
        with differentiating(self.who, is_forward=False) as transform:
            self.transform = transform
            given = [self._argument(position, value, transform) for position, value in enumerate(args)]
            try:
                returned = function(*given, **kwargs)
            except (TypeError, AttributeError) as error:
                self._mention_lists(error, args)
                raise
            if type(returned) is Tensor and returned._extra is transform.within:
                return returned
            for out in [returned] if type(returned) is Tensor else flatten(returned)[0]:
                info = view_of(out) if isinstance(out, Tensor) else None
                if info is not None and info.creation_meta is CreationMeta.DEFAULT:
                    refresh_view(out)  # when the token has died, a written base has no history to view
            return returned

    def _mention_lists(self, error: Exception, args: tuple[Any, ...]) -> None:
        """A list of numbers stays a list for the function, which may have thought of an array."""
        for position, value in enumerate(args):
            if isinstance(value, (list, tuple)) and (self.positions is None or position in self.positions):
                kind = type(value).__name__
                error.add_note(f"  why   {self.who}: argument {position} is a {kind}, and is a {kind} of tensors here")
                error.add_note("  fix   give one array, np.array([...]), if the function computes with it as a whole")

    def _argument(self, position: int, value: Any, transform: Transform) -> Any:
        if self.positions is not None and position not in self.positions:
            if type(value) is Tensor:
                return self.handles.add(argument_handle(value, transform), value)
            return map_leaves(lambda leaf: self.handles.add(argument_handle(leaf, transform), leaf), value)
        leaves, structure = ([value], _LEAF) if type(value) is Tensor else flatten(value)
        originals = [as_differentiable(leaf, self.who, position) for leaf in leaves]
        fresh = [self.handles.add(fresh_leaf(leaf, transform), leaf) for leaf in originals]
        self.leaves += fresh
        self.starts += [leaf._node for leaf in fresh]
        self.structures.append(structure)
        return fresh[0] if structure is _LEAF else unflatten(structure, fresh)

    def keep_outputs(self, outputs: list[Tensor]) -> None:
        """Remember where the outputs' gradients enter the graph. The transform's token is dead already, so the
        history is read from the nodes and not from `requires_grad`."""
        self.outputs = outputs
        if len(outputs) == 1 and outputs[0]._extra is self.transform.within:
            # path: plain body
            self.edges, self.deps = [(outputs[0]._node, 0)], deps_of(outputs[0])
            return
        parts = []
        for out in outputs:
            edge = _edge(out)
            self.edges.append(edge)
            if edge[0] is not None:
                parts.append(deps_of(out))
        self.deps = union(parts) if parts else frozenset()

    def finish(self, tree: Any) -> Any:
        """Outputs, or what was returned beside them, as the caller gets them."""
        if type(tree) is Tensor:
            return self.handles.finished(tree, self.keeps_history)
        return map_leaves(lambda leaf: self.handles.finished(leaf, self.keeps_history), tree)

    def pull(self, cotangents: list[Any], keep_graph: bool, create_graph: bool) -> list[Any]:
        """Gradients of the fresh leaves for these gradients of the outputs, grouped as the arguments were."""
        if current().inference:  # as in the body: derivatives are ordinary tensors
            with changed(inference=False):
                return self._pulled(cotangents, keep_graph, create_graph)
        return self._pulled(cotangents, keep_graph, create_graph)

    def _pulled(self, cotangents: list[Any], keep_graph: bool, create_graph: bool) -> list[Any]:
        create = create_graph and (
            self.transform.has_rules
            or is_live(self.deps)
            or _are_differentiated(cotangents)
            or (bool(open_levels) and _are_differentiated(self.outputs))
        )
        roots: list[tuple[Any, int]] = []
        seeds: list[Any] = []
        for edge, cotangent, out in zip(self.edges, cotangents, self.outputs, strict=True):
            if edge[0] is None or cotangent is None:
                continue
            value = conform(cotangent, out.shape, out.dtype)
            like = kind_at(*edge)
            if like is not None:
                value = of_kind(value, like, like, len(roots), "")
            roots.append(edge)
            seeds.append(value if create or open_levels else value._data)
        captured: list[Any] = [None] * len(self.leaves)
        trace = current().trace
        found = None
        if trace is not None and len(roots) == 1 == len(self.outputs) and not create and not open_levels:
            found = trace.gradients_of_loops(self.outputs[0], roots[0], seeds[0], self.leaves)
        if found is not None:
            captured = found
        elif roots and captured:
            targets = [(start, 0) for start in self.starts]
            captured = run_pass(roots, seeds, keep_graph or create, create, None, targets)
        gradients = self._finished(captured, create, seeds, roots)
        if len(self.structures) == 1 and self.structures[0] is _LEAF:
            return gradients
        results = []
        first = 0
        for structure in self.structures:
            count = 1 if structure is _LEAF else structure.num_leaves
            part = gradients[first : first + count]
            results.append(part[0] if structure is _LEAF else unflatten(structure, part))
            first += count
        return results

    def _finished(
        self, captured: list[Any], create: bool, seeds: list[Any], roots: list[tuple[Any, int]]
    ) -> list[Any]:
        present = [gradient for gradient in captured if gradient is not None]
        distinct = distinct_results(present, create, seeds)
        if len(present) == len(captured):
            return distinct
        root, rest = root_kind(roots), iter(distinct)
        return [
            gradient_like(leaf, 0, root) if gradient is None else next(rest)
            for leaf, gradient in zip(self.leaves, captured, strict=True)
        ]


def _are_differentiated(tensors: list[Any]) -> bool:
    """Does anybody ask for derivatives of one of these?"""
    for tensor in tensors:  # noqa: SIM110  (a generator costs more than the few tensors there are)
        if tensor is not None and _is_differentiated(tensor):
            return True
    return False


def _is_differentiated(tensor: Any) -> bool:
    """Does anybody ask for derivatives of this, or of its tangents? These have a history of their own: that of `v` in
    `jvp(grad(f), (x,), (v,))`, where the graph of `f` leads to no tensor that requires grad."""
    if tensor._extra is None:
        return tensor._node is not None
    if requires_grad(tensor):
        return True
    tangents = (tangent_of(tensor, level) for level in live_levels((tensor,)))
    return any(tangent is not None and _is_differentiated(tangent) for tangent in tangents)


def _edge(tensor: Tensor) -> tuple[Any, int]:
    """The gradient edge of an output, whether or not anybody asks for it still."""
    if view_of(tensor) is not None:
        edge_of(tensor)  # an error, if the view cannot follow what was written to its base
    node = tensor._node
    return (node, tensor._nr) if isinstance(node, Node) else edge_of(tensor)


def check_outputs(who: str, output: Any, allow_integers: bool) -> tuple[list[Tensor], Any]:
    """The tensors that a function returned, and their structure."""
    leaves, structure = flatten(output)
    if output is None or not leaves:
        raise RuntimeError(
            f"{who}: Expected f to be a function that has non-empty output, got {output!r}"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{who}: expected f(*primals) to return only tensors, got {type(leaf).__name__}; return "
                "other values as aux"
            )
        if not allow_integers and not leaf._spec.is_differentiable:
            raise RuntimeError(
                f"{who}: an output of dtype {leaf.dtype} has no derivative; return it as aux, with has_aux=True"
            )
    return leaves, structure
