"""The default partitioner: everything that backward reads of forward is saved, and nothing is computed twice.

The exception are checkpoints. A value tagged for recomputation is not saved; what it is computed from is, unless that
is tagged as well.
"""

from __future__ import annotations

from pullback.aot._partition.joint import JointAnalysis, is_recompute, reads
from pullback.errors import PartitionError
from pullback.graph.ir import BACKWARD, Node, Value


def save_what_is_read(joint: JointAnalysis) -> list[Value]:
    """The values to save, in the order of the graph."""
    _check_effects(joint)
    waiting = [value for value in joint.backward_outputs if value is not None]
    waiting += [v for node in joint.program.nodes if node in joint.backward_nodes and _runs_late(joint, node)
                for v in reads(node)]  # fmt: skip
    seen: set[Value] = set()
    saved: list[Value] = []
    tangents = set(joint.tangents)
    while waiting:
        value = waiting.pop()
        if value in seen or value in tangents:
            continue
        seen.add(value)
        node = value.node
        if node is None:
            saved.append(value)
        elif is_recompute(joint.tags.get(node)):
            waiting += reads(node)
        elif node.op != "constant" and not _runs_late(joint, node):
            saved.append(value)
    return joint.in_order(saved)


def _runs_late(joint: JointAnalysis, node: Node) -> bool:
    """Is the node computed in backward alone?"""
    return node not in joint.forward_nodes and (node in joint.closure or node.tag == BACKWARD)


def _check_effects(joint: JointAnalysis) -> None:
    ordered = [node for node in joint.program.nodes if node.effect == "ordered"]
    tagged = [node for node, tag in joint.tags.items() if is_recompute(tag)]
    if ordered and tagged:
        raise PartitionError(
            f"{ordered[0].op} has an effect, and {tagged[0].op} is in a checkpoint",
            why="what is in a checkpoint runs twice, an effect happens once, and `default` does not tell them apart",
            fix='use partitioner="min_cut", or leave out the checkpoint',
        )
