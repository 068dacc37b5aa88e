"""What checkpoints and policies say about recomputing: one tag per node, after the rules that override them.

`node.recompute` is what `pb.checkpoint` wrote while tracing. A `policy` given to `partition` is asked for every forward
node, and what it says counts more. Then, in this order:

- a tagged node that a tagged node of a later checkpoint reads is saved, so that each region starts from its own inputs;
- a value written to an input in forward, which backward writes again, is saved;
- a node with an effect happens once, so its results are saved;
- constants are in both halves, and need no tag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.errors import PartitionError
from pullback.graph.ir import FORWARD, Node, Program, Value
from pullback.graph.rewrite import keeps_its_place

MUST_SAVE, PREFER_SAVE = "MUST_SAVE", "PREFER_SAVE"
MUST_RECOMPUTE, PREFER_RECOMPUTE = "MUST_RECOMPUTE", "PREFER_RECOMPUTE"

Policy = Callable[[Node], Any]
"""Says of a node: one of the four tags (or an object of that `name`), True to save, False to recompute, or None."""

_MEANINGS: dict[Any, str | None] = {True: MUST_SAVE, False: MUST_RECOMPUTE, None: None}
_MEANINGS |= {tag: tag for tag in (MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE)}


def is_recompute(tag: str | None) -> bool:
    """Both kinds of recomputation bind the partitioner."""
    return tag in (MUST_RECOMPUTE, PREFER_RECOMPUTE)


def resolve_tags(program: Program, users: dict[Value, list[Node]], policy: Policy | None) -> dict[Node, str]:
    """The tags that count, for the forward nodes that have one."""
    said = {node: _tag_of(node, policy) for node in program.nodes if node.tag == FORWARD and node.op != "constant"}
    tags = {node: tag for node, tag in said.items() if tag is not None}
    for node in [node for node, tag in tags.items() if is_recompute(tag) and _feeds_later_region(node, said, users)]:
        tags[node] = MUST_SAVE
    for node in _stored_in_both_halves(program):
        tags[node] = MUST_SAVE
    for node in said:
        if node.op != "store" and (keeps_its_place(node) or (node not in tags and _runs_once(node))):
            tags[node] = MUST_SAVE
    return tags


def _runs_once(node: Node) -> bool:
    """A custom operator runs again only if it says so itself, or is in a checkpoint."""
    op = node.target
    return op is not None and op.family == "custom" and not op.is_view and not op.may_recompute


def _tag_of(node: Node, policy: Policy | None) -> str | None:
    said = policy(node) if policy is not None else None
    if said is None:
        said = node.recompute
    name = getattr(said, "name", said)
    name = name.upper() if isinstance(name, str) else name
    if name not in _MEANINGS:
        raise PartitionError(
            f"the policy says {said!r} of {node.op}",
            fix="a policy returns MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, True, False or None",
        )
    return _MEANINGS[name]


def _feeds_later_region(node: Node, said: dict[Node, str | None], users: dict[Value, list[Node]]) -> bool:
    if node.region is None:
        return False
    return any(
        is_recompute(said.get(user)) and user.region is not None and user.region > node.region
        for value in node.results
        for user in users.get(value, ())
    )


def _stored_in_both_halves(program: Program) -> list[Node]:
    stores = [node for node in program.nodes if node.op == "store"]
    written_in_backward = {node.operands[0] for node in stores if node.tag != FORWARD}
    sources = [node.operands[1] for node in stores if node.tag == FORWARD and node.operands[0] in written_in_backward]
    return [source.node for source in sources if type(source) is Value and source.node is not None]
