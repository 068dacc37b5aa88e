"""Random numbers of a compiled call that a derivative of its backward pass needs again.

Such a derivative computes the forward part of the graph a second time, and has to draw what was drawn before. So a call
whose graph draws keeps where the streams of its generators were; they are put there and back again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pullback.graph.ir import Node, Program
from pullback.graph.printing import bodies_of
from pullback.ops.generator import numpy_generator

States = list[tuple[Any, Any]]


def sources_of(program: Program) -> tuple[Any, ...]:
    """The generators that a graph draws from; None stands for the default one."""
    found: dict[int, Any] = {}
    for node in nodes_in(program):
        if node.effect == "random" and "generator" in node.attrs:
            found[id(node.attrs["generator"])] = node.attrs["generator"]
    return tuple(found.values())


def nodes_in(program: Program) -> Iterator[Node]:
    """All nodes, also those of the bodies of control flow."""
    for node in program.nodes:
        yield node
        for body in bodies_of(node).values():
            yield from nodes_in(body)


def is_repeatable(node: Node) -> bool:
    """May a node run again, and nobody notices? Not if it has an effect, or draws from what can not be put back."""
    call = node.attrs.get("call")
    has_effect = call is not None and call.definition.effect is not None
    return not has_effect and (node.effect != "random" or "generator" in node.attrs)


def states_of(sources: Iterable[Any]) -> States:
    """Where the streams of generators are."""
    chosen = [numpy_generator(source) for source in sources]
    return [(source, source.bit_generator.state) for source in chosen]


@contextmanager
def drawing_again(states: States) -> Iterator[None]:
    """The block draws from these generators what was drawn when they were in these states; then they go on."""
    now = [(source, source.bit_generator.state) for source, _ in states]
    for source, state in states:
        source.bit_generator.state = state
    try:
        yield
    finally:
        for source, state in now:
            source.bit_generator.state = state
