"""Which values of a graph lie in the same memory: a view in that of its operand, everything else in its own."""

from __future__ import annotations

from pullback.graph.ir import Program, Value


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


def stored_inputs(program: Program) -> set[Value]:
    """The inputs that stores write."""
    return {node.operands[0] for node in program.nodes if node.op == "store"}
