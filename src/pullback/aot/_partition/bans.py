"""Which forward nodes may not be computed a second time, and why.

Recomputing is only free where a backend fuses it into loops that it runs anyway. The rules below keep out what would
cost time: each is a heuristic, and a memory budget switches them off one after another.
"""

from __future__ import annotations

from pullback.aot._partition.joint import MUST_SAVE, PREFER_SAVE, JointAnalysis, is_recompute, reads
from pullback.core.records import Record
from pullback.graph.ir import Node

# What computing a node again costs, the declaration of its operator says (`recompute`, `declare/facts.py`). Few nodes
# are no operators, and control flow is whatever its bodies are.
_FREE_KINDS = frozenset({"constant", "update"})


def recompute_of(node: Node) -> str:
    """What computing the node twice is: "free", "bearable" where memory is short, or "never"."""
    op = node.target
    if op is None:
        return "free" if node.op in _FREE_KINDS else "never"
    return op.recompute


def is_recomputable(node: Node) -> bool:
    """Is computing the node twice about as cheap as reading its result from memory?"""
    return recompute_of(node) == "free"


def is_denied(node: Node) -> bool:
    """Is the node out of the question even where memory is short?"""
    return recompute_of(node) == "never"


def is_fusible(producer: Node | None, consumer: Node) -> bool:
    """Can a fusing backend compute both in one loop, so that the value between them never reaches memory?

    A value without a producer is an input, and lies in memory already.
    """
    if producer is None:
        return False
    if consumer.target is not None and consumer.target.flow == "joins":
        return True
    return _fuses(producer) and _fuses(consumer)


def _fuses(node: Node) -> bool:
    """What is free to compute again, and draws. An operator of the user is a barrier, also if it says it is free."""
    op = node.target
    if op is not None and not op.is_view and op.family in ("random", "custom"):
        return op.family == "random"
    return is_recomputable(node)


LONGEST_CHAIN = 100
"""Nodes that a fusing backend is trusted to put into one loop."""

REDUCTION_FACTOR = 4
"""A result so many times smaller than its operands is cheap to keep."""


class BanRules(Record, frozen=True):
    """The rules that can be switched off. Without `only_listed`, only random and heavy operators are kept out."""

    preferred: bool = True
    materialised: bool = True
    far_apart: bool = True
    long_chains: bool = True
    only_listed: bool = True


SWIFT = BanRules()
SPARING = BanRules(preferred=False, materialised=False, far_apart=False, long_chains=False)
MOST_SPARING = BanRules(preferred=False, materialised=False, far_apart=False, long_chains=False, only_listed=False)


def find_bans(joint: JointAnalysis, rules: BanRules, allowed: frozenset[Node] = frozenset()) -> dict[Node, str]:
    """The banned nodes, each with the reason. `allowed` are exempt, unless a tag demands that they are saved."""
    nodes = [node for node in joint.program.nodes if node in joint.forward_nodes and node.op != "store"]
    banned = {}
    for node in nodes:
        reason = _reason(joint, node, rules, node in allowed)
        if reason:
            banned[node] = reason
    free = {node for node in nodes if node not in allowed and _may_be_banned(joint, node)}
    if rules.far_apart:
        for node in _used_far_apart(joint, nodes):
            if node in free:
                banned.setdefault(node, "used far apart")
    if rules.long_chains:
        _break_long_chains(joint, nodes, free, banned)
    return banned


def _may_be_banned(joint: JointAnalysis, node: Node) -> bool:
    return not node.is_view and node.op != "constant" and not is_recompute(joint.tags.get(node))


def _reason(joint: JointAnalysis, node: Node, rules: BanRules, is_allowed: bool) -> str:
    tag = joint.tags.get(node)
    if tag == MUST_SAVE:
        return "must be saved"
    if is_allowed or not _may_be_banned(joint, node):
        return ""
    if rules.preferred and tag == PREFER_SAVE:
        return "preferably saved"
    if is_denied(node) or (rules.only_listed and not is_recomputable(node)):
        return "expensive"
    if rules.materialised and _is_materialised_in_backward(joint, node):
        return "materialised in backward"
    size_of_operands = sum([value.nbytes for value in reads(node)])
    if sum([value.nbytes for value in node.results]) * REDUCTION_FACTOR < size_of_operands:
        return "reduction"
    return ""


def _is_materialised_in_backward(joint: JointAnalysis, node: Node) -> bool:
    """Does a node of backward read it, perhaps through views, that cannot fuse with it? Then memory holds it."""
    waiting = [node]
    seen = {node}
    while waiting:
        current = waiting.pop()
        for user in [user for value in current.results for user in joint.users.get(value, ())]:
            if user not in joint.forward_nodes and user in joint.backward_nodes and not is_fusible(current, user):
                return True
            if user.is_view and user not in seen:
                seen.add(user)
                waiting.append(user)
    return False


def _used_far_apart(joint: JointAnalysis, nodes: list[Node]) -> list[Node]:
    """Users of a shared value that come after the first point where the loop around its first user has to end."""
    order = {node: index for index, node in enumerate(nodes)}
    users = {node: [u for v in node.results for u in joint.users.get(v, ()) if u in order] for node in nodes}
    loop_ends = dict.fromkeys(nodes, len(nodes))  # the first unfusible use that a chain of fusible ones leads to
    for node in reversed(nodes):
        for user in users[node]:
            end = loop_ends[user] if is_fusible(node, user) else order[user]
            loop_ends[node] = min(loop_ends[node], end)
    found = []
    for node in nodes:
        if len(users[node]) > 1:
            end = min([loop_ends[user] for user in users[node]])
            found += [user for user in users[node] if order[user] > end and is_fusible(node, user)]
    return found


def _break_long_chains(joint: JointAnalysis, nodes: list[Node], free: set[Node], banned: dict[Node, str]) -> None:
    """Ban the node that closes a fusible chain of more than LONGEST_CHAIN, and start to count again."""
    length: dict[Node, int] = {}
    for node in nodes:
        before = [length.get(v.node, 0) for v in reads(node) if v.node is not None and is_fusible(v.node, node)]
        length[node] = 0 if node in banned else 1 + max(before, default=0)
        if length[node] > LONGEST_CHAIN and node in free:
            banned[node] = "long chain"
            length[node] = 0
