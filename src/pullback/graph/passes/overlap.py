"""Messages between ranks begin as soon as what they send is there, and are waited for where they are needed."""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.graph.ir import Node, Program
from pullback.graph.rewrite import Replacements, keep_remarks, keeps_its_place, outline

Kind = TypeVar("Kind", bound=Program)
START, WAIT, WHOLE = "start", "wait", "whole"


def overlap(program: Kind) -> Kind:
    """The graph in which a collective whose definition has `halves` is cut into two nodes, with other work between.

    Starts keep the order of the program, and come as soon as what they need is computed. A wait goes to where the
    result is read first. Nothing moves past a store or another effect. What has no work in between stays one node.
    """
    steps = schedule(program)
    if all(what is WHOLE for what, _ in steps):
        return program
    made, replaced = outline(program), Replacements()
    tokens: dict[Node, Any] = {}
    for what, original in steps:
        if what is WHOLE:
            made.nodes.append(replaced.node(original))
            continue
        half = _halves(original)[what is WAIT]
        operands = [replaced.found.get(x, x) for x in original.operands] if what is START else [tokens[original]]
        node = made.add(half.op, operands, {"call": half.call}, half.types, original.tag)
        keep_remarks(node, original)
        if what is START:
            tokens[original] = node.result
        else:
            replaced.found[original.result] = node.result
    return replaced.finish(made, program)


def schedule(program: Program) -> list[tuple[str, Node]]:
    """The nodes in a new order, collectives as two of them where that is worth it."""
    if not any(_halves(node) for node in program.nodes):
        return [(WHOLE, node) for node in program.nodes]
    made = _Schedule()
    region: list[Node] = []
    for node in program.nodes:
        if keeps_its_place(node) and not _halves(node):
            made.add_region(region)
            made.wait_for_all()  # other ranks may not be ready for it before
            made.add(node)
            region = []
        else:
            region.append(node)
    made.add_region(region)
    made.wait_for_all()
    return made.joined()


class _Schedule:
    def __init__(self) -> None:
        self.steps: list[tuple[str, Node]] = []
        self.begun: list[Node] = []

    def add_region(self, nodes: list[Node]) -> None:
        """First what messages need, and the messages; then everything else."""
        here, done = set(nodes), set()

        def add(node: Node) -> None:
            done.add(node)
            self.add(node)

        for collective in [node for node in nodes if _halves(node)]:
            needed, stack = {collective}, [collective]
            while stack:
                for value in stack.pop().inputs:
                    maker = value.node
                    if maker in here and maker not in done and maker not in needed:
                        needed.add(maker)
                        stack.append(maker)
            for node in nodes:
                if node in needed:
                    add(node)
        for node in nodes:
            if node not in done:
                add(node)

    def add(self, node: Node) -> None:
        for value in node.inputs:
            if value.node in self.begun:
                self.wait(value.node)
        if _halves(node):
            self.begun.append(node)
            self.steps.append((START, node))
        else:
            self.steps.append((WHOLE, node))

    def wait(self, node: Node) -> None:
        self.begun.remove(node)
        self.steps.append((WAIT, node))

    def wait_for_all(self) -> None:
        for node in list(self.begun):
            self.wait(node)

    def joined(self) -> list[tuple[str, Node]]:
        """Without halves that have nothing between them."""
        steps: list[tuple[str, Node]] = []
        for what, node in self.steps:
            if what is WAIT and steps[-1] == (START, node):
                steps[-1] = (WHOLE, node)
            else:
                steps.append((what, node))
        return steps


def _halves(node: Node) -> Any:
    if node.effect != "collective" or "call" not in node.attrs or len(node.results) != 1:
        return None
    make = getattr(node.attrs["call"].definition, "halves", None)
    return None if make is None else make(node)
