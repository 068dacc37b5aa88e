"""`Program`: single assignment, a list of nodes over values. `graph/graph.py` gives it the methods users call.

    graph joint(%0: f64[3] = args[0], %1: f64[3] = tangent(output[0])) {
      %2: f64[3] = multiply(%0, 3)      # fw
      %3: f64[3] = multiply(%1, 3)      # bw
      return (output[0]=%2, grad(args[0])=%3)
    }

Every node is pure, with two exceptions that keep their place: a `store` into an input, and a node with an `effect`
(a draw of random numbers, an operator that was declared to have one). Beside declared operators there are

    constant    attrs {"value": array}: one result, the array, which nobody may write
    update      operands (base, new), attrs {"steps": (ViewStep, ...)}: `base` with the elements that the views lead to
                replaced by `new`; this is what a write through a view becomes
    store       operands (input, value): the input's memory gets the value; the last nodes of their half
    cond, scan, while_loop      attrs hold the graphs of their bodies

An operand is a `Value`, a Python number, or None. Attributes are static and given by keyword to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.declare.op import Op
from pullback.errors import InternalError
from pullback.graph.types import ArrayType

FORWARD, BACKWARD = "fw", "bw"


class Value:
    """One array of a graph: an input, or result `index` of `node`."""

    __slots__ = ("index", "node", "type")

    def __init__(self, type: ArrayType, node: Node | None = None, index: int = 0) -> None:
        self.type = type
        self.node = node
        self.index = index

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.type.nbytes

    def __repr__(self) -> str:
        return f"<value {self.type} of {'input' if self.node is None else self.node.op}>"


class Node:
    """One operation. `target` is the declaration of an operator, or None for the kinds that only graphs have."""

    __slots__ = ("attrs", "effect", "op", "operands", "place", "recompute", "region", "results", "seq", "tag", "target")

    def __init__(
        self, target: Op | None, op: str, operands: tuple[Any, ...], attrs: dict[str, Any], tag: str = FORWARD
    ) -> None:
        self.target = target
        self.op = op
        self.operands = operands
        self.attrs = attrs
        self.results: tuple[Value, ...] = ()
        self.tag = tag  # FORWARD or BACKWARD
        self.effect: str | None = None  # "random", "ordered": keeps its place, and happens exactly once
        self.place: Any = None  # (file, line, function) of the user's code that made it
        self.seq = 0  # sequence number of the tape's node that a backward node belongs to
        self.recompute: str | None = None  # MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE or PREFER_RECOMPUTE
        self.region: int | None = None  # the checkpoint it was made in

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The operands that are values."""
        return tuple([x for x in self.operands if type(x) is Value])

    @property
    def is_view(self) -> bool:
        """Is the result a view of the first operand? (A `reshape` that copies is traced as a copy.)"""
        return self.target is not None and self.target.is_view

    def __repr__(self) -> str:
        return f"<node {self.op}>"


class Program:
    """Inputs, nodes in order, outputs. Descriptors say what inputs and outputs mean to the caller."""

    __slots__ = ("input_descs", "inputs", "name", "nodes", "output_descs", "outputs")

    def __init__(self, name: str = "forward") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.input_descs: list[Any] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value | None] = []  # None: a gradient that is not there
        self.output_descs: list[Any] = []

    def add_input(self, type: ArrayType, desc: Any) -> Value:
        """A new input."""
        value = Value(type)
        self.inputs.append(value)
        self.input_descs.append(desc)
        return value

    def add_output(self, value: Value | None, desc: Any) -> None:
        """One more output."""
        self.outputs.append(value)
        self.output_descs.append(desc)

    def add(
        self, target: Op | str, operands: Sequence[Any], attrs: dict[str, Any], types: Iterable[ArrayType],
        tag: str = FORWARD,
    ) -> Node:  # fmt: skip
        """Append a node."""
        if isinstance(target, str):
            node = Node(None, target, tuple(operands), attrs, tag)
        else:
            node = Node(target, target.name, tuple(operands), attrs, tag)
        node.results = tuple([Value(type, node, index) for index, type in enumerate(types)])
        self.nodes.append(node)
        return node

    def check_belongs(self, value: Value) -> None:
        """Raise if a value is no input of this graph and made by none of its nodes."""
        if value not in self.inputs and value.node not in self.nodes:
            raise InternalError(f"{value} does not belong to graph {self.name}")
