"""The min-cut partitioner: which values to save so that as few bytes as possible are kept.

Every value is an edge `enter -> leave` of a network, as wide as saving the value costs. On the side of the source
lies what forward computes, on the side of the sink what backward computes; a value whose edge crosses from one side
to the other is saved. Edges that may not be cut say what is impossible:

    source -> enter     it may not be recomputed: inputs, and nodes that `bans.py` finds
    leave -> enter      one value is computed from the other: if backward computes it, backward needs what it reads
    leave -> sink       backward needs it: it is read by a node that needs a tangent, or it is a gradient itself
    node -> enter       a node with several results: they are saved one by one, and computed together

Of all smallest cuts the one nearest the sink is taken, which saves the latest values and repeats least.
"""

from __future__ import annotations

from pullback.aot._partition.bans import SWIFT, BanRules, find_bans, is_fusible
from pullback.aot._partition.joint import MUST_SAVE, JointAnalysis, is_recompute, reads
from pullback.errors import PartitionError
from pullback.graph.ir import Node, Value
from pullback.graph.network import UNLIMITED, FlowNetwork

FARTHEST = 100


def min_cut(
    joint: JointAnalysis,
    static_inputs: frozenset[Value] = frozenset(),
    rules: BanRules = SWIFT,
    allowed: frozenset[Node] = frozenset(),
) -> list[Value]:
    """The values to save, in the order of the graph. `allowed` may be recomputed although a rule forbids it."""
    return _Network(joint, weights(joint, static_inputs), find_bans(joint, rules, allowed)).cut()


class _Network:
    """The flow network of one joint graph."""

    def __init__(self, joint: JointAnalysis, weight: dict[Value, int], banned: dict[Node, str]) -> None:
        self.joint = joint
        self.weight = weight
        self.banned = banned
        self.flow = FlowNetwork()
        self.source = self.flow.add_vertex()
        self.sink = self.flow.add_vertex()
        self.enter: dict[Value, int] = {}
        self.leave: dict[Value, int] = {}
        self._build()

    def cut(self) -> list[Value]:
        """The values on the smallest cut."""
        self._check_demands()
        self.flow.push_all(self.source, self.sink)
        late = self.flow.sink_side(self.sink)
        crossing = [v for v in self.leave if late[self.leave[v]] and not late[self.enter[v]]]
        return self.joint.in_order(crossing)

    def _build(self) -> None:
        joint = self.joint
        for value in joint.primals:
            if value in joint.backward_values:
                self._add_value(value)
                self.flow.add_edge(self.source, self.enter[value], UNLIMITED)
        for node in joint.program.nodes:
            if node in joint.backward_nodes:
                self._add_node(node)
        for gradient in joint.backward_outputs:
            if gradient is not None and gradient in self.leave:
                self.flow.add_edge(self.leave[gradient], self.sink, UNLIMITED)

    def _add_value(self, value: Value) -> None:
        self.enter[value] = self.flow.add_vertex()
        self.leave[value] = self.flow.add_vertex()
        self.flow.add_edge(self.enter[value], self.leave[value], self.weight[value])

    def _add_node(self, node: Node) -> None:
        if self._is_late(node):
            vertex = self.sink
        else:
            results = [value for value in node.results if value in self.joint.backward_values]
            for value in results:
                self._add_value(value)
            if len(results) == 1:
                vertex = self.enter[results[0]]
            else:
                vertex = self.flow.add_vertex()
                for value in results:
                    self.flow.add_edge(vertex, self.enter[value], UNLIMITED)
        if node in self.banned:
            self.flow.add_edge(self.source, vertex, UNLIMITED)
        for value in dict.fromkeys(reads(node)):
            if value in self.leave:
                self.flow.add_edge(self.leave[value], vertex, UNLIMITED)

    def _check_demands(self) -> None:
        """Every path from source to sink passes through a value that can be saved, unless demands contradict."""
        nodes = [node for node in self.banned if node in self.joint.backward_nodes and self._is_late(node)]
        if nodes:
            lines = [f"{node.op} needs a tangent, and it is needed in forward ({self.banned[node]})" for node in nodes]
            raise PartitionError("there is no way to cut the graph: " + "; ".join(lines))

    def _is_late(self, node: Node) -> bool:
        """Is the node computed in backward, whatever it costs?"""
        return node in self.joint.closure or is_recompute(self.joint.tags.get(node))


def weights(joint: JointAnalysis, static_inputs: frozenset[Value]) -> dict[Value, int]:
    """What saving each value costs: its bytes, more the farther it is from backward.

    The distance makes late values cheaper than early ones of the same size. A value that fuses with all its users would
    be written to memory only to be saved, which doubles the price. Static inputs are there anyway, unless they are
    overwritten: then saving means a copy. A view keeps all of the memory that it lies in alive, so the value that the
    memory belongs to is saved in its place, unless the view is what has to be copied.
    """
    distance = _distances(joint)
    returned = {value for value in joint.forward_outputs if value is not None}
    found = {}
    for value in joint.position:
        cost = int(value.nbytes * 1.1 ** min(max(distance[value], 1), FARTHEST))
        if _has_better_root(joint, value):
            cost = UNLIMITED
        elif value in static_inputs and value not in joint.overwritten:
            cost = 0
        elif value.node is not None and value not in returned and _fuses_with_all(joint, value):
            cost *= 2
        found[value] = cost
    return found


def _has_better_root(joint: JointAnalysis, value: Value) -> bool:
    node = value.node
    if node is None or not node.is_view:
        return False
    return joint.tags.get(node) != MUST_SAVE and not joint.is_overwritten(value)


def _fuses_with_all(joint: JointAnalysis, value: Value) -> bool:
    return all(is_fusible(value.node, user) for user in joint.users.get(value, ()))


def _distances(joint: JointAnalysis) -> dict[Value, int]:
    """How many steps of forward lie between a value and its first use in backward; 0 where forward does not use it."""
    of_node: dict[Node, int] = {}
    found: dict[Value, int] = {}
    for node in reversed(joint.program.nodes):
        for value in node.results:
            found[value] = _distance(joint, value, of_node) if node in joint.forward_nodes else 0
        nearest = [found[value] for value in node.results]
        of_node[node] = min(nearest, default=FARTHEST if node in joint.forward_nodes else 0)
    for value in joint.program.inputs:
        found[value] = _distance(joint, value, of_node)
    return found


def _distance(joint: JointAnalysis, value: Value, of_node: dict[Node, int]) -> int:
    return 1 + min([of_node[user] for user in joint.users.get(value, ())], default=FARTHEST)
