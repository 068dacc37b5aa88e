"""Cutting a joint graph in two, once it is known which values are saved.

    forward     primals -> [*forward outputs, *saved]
    backward    [*saved, *tangents] -> gradients

Each half gets the nodes that its results need, and nothing else. A result that cannot be computed from the inputs of
its half is a `PartitionError`.

**Overwritten inputs.** A saved value in the memory of an input that forward overwrites is copied first: forward ends
with `copy` nodes, then stores. Backward sees the copy only, so whatever it recomputes starts from the value before
the write. The memory itself is handed on where backward stores into it; that is the one use of an overwritten input
by reference.

**Order.** Forward keeps the order of the joint graph. Backward is ordered by the nodes that need a tangent; whatever
else they need comes right before its first use, so that recomputed values live for a short time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pullback.aot._partition.joint import JointAnalysis, reads
from pullback.core.records import Record
from pullback.declare.op import registry
from pullback.errors import PartitionError
from pullback.graph.descriptors import Descriptor, SavedForBackwardsAOTOutput, SavedForBackwardsNoVcCheckAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, FORWARD, ArrayType, Node, Program, Value, root_of, type_of
from pullback.graph.rewrite import keep_remarks, keeps_its_place


class Carried(Record, frozen=True):
    """One value on its way from forward to backward."""

    joint_value: Value
    is_copy: bool = False  # of a value that is about to be overwritten
    is_target: bool = False  # memory that backward stores into; its contents are not read
    is_checked: bool = False  # the caller can get at the memory, so a version check is needed


class Halves(Record, frozen=True):
    """The two graphs, what goes from one to the other, and the nodes of the joint graph that are in both."""

    forward: Graph
    backward: Graph
    carried: tuple[Carried, ...]
    repeated: tuple[Node, ...]  # nodes of `backward`
    forward_values: dict[Value, Value]  # of the joint graph, to those of `forward`


def extract(joint: JointAnalysis, saved: Iterable[Value]) -> Halves:
    """Cut the graph. Values that backward turns out not to read are not saved."""
    wanted = _backward_needs(joint, set(saved))
    carried = _carried(joint, wanted.saved)
    forward, forward_values = _forward(joint, carried)
    backward, backward_values = _backward(joint, carried, wanted)
    repeated = [
        value.node for of_joint, value in backward_values.items()
        if of_joint in forward_values and value.node is not None and value.node.op != "constant"
    ]  # fmt: skip
    return Halves(forward, backward, carried, tuple(dict.fromkeys(repeated)), forward_values)


# What goes across.


class _Needs(Record, frozen=True):
    nodes: frozenset[Node]
    saved: list[Value]


def _backward_needs(joint: JointAnalysis, saved: set[Value]) -> _Needs:
    """The nodes that backward has to run if it is given `saved`, and those of the saved values that they read."""
    nodes = {n for n in joint.program.nodes if keeps_its_place(n) and n.tag == BACKWARD}
    waiting = [value for value in joint.backward_outputs if value is not None]
    waiting += [value for node in nodes for value in reads(node)]
    given, seen = set(joint.tangents), set[Value]()
    used: list[Value] = []
    while waiting:
        value = waiting.pop()
        if value in seen or value in given:
            continue
        seen.add(value)
        if value in saved:
            used.append(value)
            continue
        node = value.node
        if node is None or (node not in nodes and keeps_its_place(node)):
            raise _not_computable("backward", joint, value)
        if node not in nodes:
            nodes.add(node)
            waiting += reads(node)
    return _Needs(frozenset(nodes), joint.in_order(used))


def _carried(joint: JointAnalysis, saved: list[Value]) -> tuple[Carried, ...]:
    """In order: first what needs a version check, then what nobody else can write to, then targets of stores."""
    handed_out = {*joint.primals, *[root_of(value) for value in joint.forward_outputs if value is not None]}
    found = []
    for value in saved:
        is_copy = joint.is_overwritten(value)
        is_checked = not is_copy and root_of(value) in handed_out
        found.append(Carried(value, is_copy=is_copy, is_checked=is_checked))
    by_reference = {carried.joint_value for carried in found if not carried.is_copy}
    targets = [n.operands[0] for n in joint.program.nodes if n.op == "store" and n.tag == BACKWARD]
    found += [Carried(t, is_target=True) for t in joint.in_order(targets) if t not in by_reference]
    return tuple(sorted(found, key=lambda carried: (not carried.is_checked, carried.is_target)))


def _saved_desc(index: int, carried: Carried) -> Descriptor:
    kind = SavedForBackwardsAOTOutput if carried.is_checked else SavedForBackwardsNoVcCheckAOTOutput
    return kind(index)


# The halves.


def _forward(joint: JointAnalysis, carried: Sequence[Carried]) -> tuple[Graph, dict[Value, Value]]:
    graph = Graph("forward")
    values = {v: graph.add_input(v.type, desc) for v, desc in _inputs(joint, of_forward=True)}
    wanted = _forward_nodes(joint, [c.joint_value for c in carried])
    for node in joint.program.nodes:
        if node in wanted and node.op != "store":
            _repeat(node, graph, values, FORWARD)
    for value in joint.forward_outputs:
        if value is not None and value not in values:
            raise _not_computable("forward", joint, value)
    crossing = [_copy(values[c.joint_value], graph) if c.is_copy else values[c.joint_value] for c in carried]
    for node in joint.program.nodes:
        if node in wanted and node.op == "store":
            _repeat(node, graph, values, FORWARD)
    descs = joint.program.output_descs
    for value, desc in zip(joint.forward_outputs, descs[: joint.num_forward_outputs], strict=True):
        graph.add_output(None if value is None else values[value], desc)
    for index, (value, c) in enumerate(zip(crossing, carried, strict=True)):
        graph.add_output(value, _saved_desc(index, c))
    return graph, values


def _forward_nodes(joint: JointAnalysis, saved: list[Value]) -> set[Node]:
    found = set(joint.forward_nodes)
    waiting = [value.node for value in saved if value.node is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [value.node for value in reads(node) if value.node is not None]
    late = [node for node in joint.program.nodes if node in found and node in joint.closure]
    if late:
        raise _not_computable("forward", joint, late[0].results[0] if late[0].results else reads(late[0])[0])
    return found


def _backward(joint: JointAnalysis, carried: Sequence[Carried], wanted: _Needs) -> tuple[Graph, dict[Value, Value]]:
    graph = Graph("backward")
    values: dict[Value, Value] = {}
    targets: dict[Value, Value] = {}
    for index, c in enumerate(carried):
        of_joint = c.joint_value.type
        new = graph.add_input(_copied_type(of_joint) if c.is_copy else of_joint, _saved_desc(index, c))
        if not c.is_target:
            values[c.joint_value] = new
        if not c.is_copy:
            targets[c.joint_value] = new
    for value, desc in _inputs(joint, of_forward=False):
        values[value] = graph.add_input(value.type, desc)
    for node in _late_order(joint, wanted, set(values)):
        _repeat(node, graph, values, BACKWARD, targets)
    descs = joint.program.output_descs[joint.num_forward_outputs :]
    for output, desc in zip(joint.backward_outputs, descs, strict=True):
        graph.add_output(None if output is None else values[output], desc)
    return graph, values


def _late_order(joint: JointAnalysis, wanted: _Needs, given: set[Value]) -> list[Node]:
    """The nodes of backward: those of the closure as they come, each after what it needs; stores last."""
    order: dict[Node, None] = {}

    def pull(node: Node) -> None:
        waiting = [node]
        while waiting:
            missing = [
                v.node for v in reads(waiting[-1]) if v not in given and v.node is not None and v.node not in order
            ]
            if missing:
                waiting += reversed(missing)
            else:
                order.setdefault(waiting.pop())

    late = [node for node in joint.program.nodes if node in wanted.nodes and node in joint.closure]
    for node in late:
        if node.op != "store":
            pull(node)
    for value in joint.backward_outputs:
        if value is not None and value not in given and value.node is not None:
            pull(value.node)
    for node in late:
        if node.op == "store":
            pull(node)
    stores = [node for node in order if node.op == "store"]
    return [node for node in order if node.op != "store"] + stores


def _inputs(joint: JointAnalysis, *, of_forward: bool) -> list[tuple[Value, Descriptor]]:
    pairs = zip(joint.program.inputs, joint.program.input_descs, strict=True)
    return [(value, desc) for value, desc in pairs if desc.is_tangent != of_forward]


def _repeat(
    node: Node, graph: Graph, values: dict[Value, Value], half: str, targets: dict[Value, Value] | None = None
) -> None:
    """Append the node to a half. A node of forward keeps its tag in backward, where it shows what is recomputed."""
    operands = [values[x] if type(x) is Value and x in values else x for x in node.operands]
    if node.op == "store" and targets is not None:
        operands[0] = targets[node.operands[0]]
    tag = FORWARD if half == FORWARD else node.tag
    new = graph.add(node.target or node.op, operands, node.attrs, [value.type for value in node.results], tag)
    keep_remarks(new, node)
    values.update(zip(node.results, new.results, strict=True))


def _copy(value: Value, graph: Program) -> Value:
    return graph.add(registry["copy"], [value], {"order": "K"}, [_copied_type(value.type)]).result


def _copied_type(type: ArrayType) -> ArrayType:
    """How a copy lies in memory: axes in the same order, without gaps."""
    if type.strides is None:
        return type
    # Nothing is read through this array: it only has the shape and strides to be copied.
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, type.dtype), type.shape, type.strides)
    return type_of(np.empty_like(stand_in))


def _not_computable(half: str, joint: JointAnalysis, value: Value) -> PartitionError:
    if value.node is None:
        what = joint.program.input_descs[joint.position[value]].expr()
    else:
        what = f"the result of {value.node.op}, {value.type.dtype}{list(value.type.shape)}"
    return PartitionError(
        f"{half} needs {what}, which cannot be computed from its inputs",
        why="forward has the primals, backward has the saved values and the tangents",
    )
