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

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for, usual_dtype
from pullback.declare.op import Op, registry
from pullback.errors import AutogradError, InternalError

# `ArrayType`: what a value of a graph is known to be: shape, dtype and how it lies in memory.

_interned: dict[Any, ArrayType] = {}
_MOST_INTERNED = 8192


class ArrayType:
    """Shape, dtype and strides in bytes. `strides` is None for row-major order, which most values have."""

    __slots__ = ("_hash", "dtype", "shape", "strides")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self._hash = hash((shape, dtype, strides))  # types are parts of the keys of most tables

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together."""
        return self.size * self.dtype.itemsize

    @property
    def spec(self) -> Spec:
        """Shape and dtype alone, as shape rules take them."""
        return spec_for(self.shape, self.dtype)

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """The strides, also where they are those of row-major order."""
        return row_major(self.shape, self.dtype.itemsize) if self.strides is None else self.strides

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ArrayType)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.strides == other.strides
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return ArrayType, (self.shape, self.dtype, self.strides)  # a hash is that of one process

    def __repr__(self) -> str:
        return f"ArrayType({self.shape}, {self.dtype}, {self.strides})"


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a row-major array."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def array_type(
    shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None
) -> ArrayType:
    """The interned type; strides that mean row-major order become None. Axes of length 1 have no stride to speak of."""
    key = (shape, dtype, strides)
    found = _interned.get(key)
    if found is None:
        if len(_interned) >= _MOST_INTERNED:
            _interned.clear()
        kept = strides
        if strides is not None:
            plain = row_major(shape, dtype.itemsize)
            kept = tuple(
                own if length == 1 else given for own, given, length in zip(plain, strides, shape, strict=True)
            )
            if kept == plain or 0 in shape:
                kept = None
        found = _interned[key] = ArrayType(shape, usual_dtype(dtype), kept)
    return found


def type_of(array: Any) -> ArrayType:
    """The type of an array."""
    return array_type(array.shape, array.dtype, None if array.flags.c_contiguous else array.strides)


def empty_like_type(type: ArrayType) -> Any:
    """An array of this type whose memory nobody ever touches."""
    if not type.size:
        return np.empty(type.shape, type.dtype)
    strides = type.byte_strides
    lowest = sum((length - 1) * stride for length, stride in zip(type.shape, strides, strict=True) if stride < 0)
    highest = sum((length - 1) * stride for length, stride in zip(type.shape, strides, strict=True) if stride > 0)
    memory = np.empty(highest - lowest + type.dtype.itemsize, np.uint8)
    return np.ndarray(type.shape, type.dtype, memory, -lowest, strides)


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
        self.effect: str | None = None  # "random", "ordered", "collective": keeps its place; the last may happen again
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


# Which values of a graph lie in the same memory: a view in that of its operand, everything else in its own.

def root_of(value: Value) -> Value:
    """The value whose memory this one lies in: itself, or what it is a view of."""
    node = value.node
    while node is not None and node.is_view:
        value = node.operands[0]
        node = value.node
    return value


def returned_roots(program: Program) -> set[Value]:
    """The memory that the caller gets to see: that of all outputs."""
    return {root_of(value) for value in program.outputs if value is not None}


def is_store(node: Node) -> bool:
    """Is the node a store? Nodes that are sorted by this keep their order, with stores at the end."""
    return node.target is None and node.op == "store"


def stored_inputs(program: Program) -> set[Value]:
    """The inputs that stores write."""
    return {node.operands[0] for node in program.nodes if node.op == "store"}


# Operators by name: the declared ones, and what other packages know how to find.
#
# A graph's text names its operators. Those of a family that is not loaded yet and custom operators are found by
# functions that their packages append to `finders`, since a graph knows nothing of either.

finders: list[Callable[[str], Op | None]] = []
"""Asked in order for the operator of a name that is not in the registry."""


def find_operator(name: str) -> Op:
    """The operator of this name."""
    found = registry.get(name)
    if found is not None:
        return found
    for finder in finders:
        found = finder(name)
        if found is not None:
            return found
    raise AutogradError(
        "GRAPH_OPERATOR",
        f"there is no operator {name!r} here",
        why="a graph's text names its operators, and does not bring them along",
        fix="import the module that defines it, then read the text again",
    )
