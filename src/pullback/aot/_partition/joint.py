"""`JointAnalysis`: what every partitioner asks about a joint graph, found once.

The nodes fall into three groups. The *closure* holds those that backward alone can compute: what depends on a tangent,
and stores and effects of the backward pass. *Forward nodes* are needed for what the forward half returns, writes and
does. The rest may go to either half: `cos(x)` in the derivative of `sin(x)` needs no tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.records import Record
from pullback.errors import PartitionError
from pullback.graph.descriptors import InputMutationAOTOutput, SubclassGetAttrAOTInput, SubclassGetAttrAOTOutput
from pullback.graph.ir import BACKWARD, FORWARD, Node, Program, Value, root_of
from pullback.graph.rewrite import keeps_its_place

# What checkpoints and policies say about recomputing: one tag per node, after the rules that override them.
#
# `node.recompute` is what `pb.checkpoint` wrote while tracing. A `policy` given to `partition` is asked for every
# forward node, and what it says counts more. Then, in this order:
#
# - a tagged node that a tagged node of a later checkpoint reads is saved, so that each region starts from its own
# inputs;
# - a value written to an input in forward, which backward writes again, is saved;
# - a node with an effect happens once, so its results are saved;
# - constants are in both halves, and need no tag.

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
    return op is not None and op.family == "custom" and not op.is_view and op.recompute != "free"


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


class JointAnalysis(Record, frozen=True):
    """A joint graph and what is known of its nodes and values."""

    program: Program
    num_forward_outputs: int
    primals: tuple[Value, ...]
    tangents: tuple[Value, ...]
    users: dict[Value, list[Node]]  # who reads a value; a store does not read its target
    position: dict[Value, int]  # the order of values: inputs first, then as they are computed
    closure: frozenset[Node]
    forward_nodes: frozenset[Node]
    backward_nodes: frozenset[Node]  # every node that a result of backward depends on, whoever computes it
    backward_values: frozenset[Value]  # the same for values, inputs among them
    overwritten: frozenset[Value]  # inputs that hold something else after forward
    tags: dict[Node, str]

    @property
    def forward_outputs(self) -> list[Value | None]:
        """What the forward half returns, without saved values."""
        return self.program.outputs[: self.num_forward_outputs]

    @property
    def backward_outputs(self) -> list[Value | None]:
        """The gradients, None where there is none."""
        return self.program.outputs[self.num_forward_outputs :]

    def in_order(self, values: Iterable[Value]) -> list[Value]:
        """The values in the order of the graph, each once."""
        return sorted(dict.fromkeys(values), key=self.position.__getitem__)

    def is_overwritten(self, value: Value) -> bool:
        """Does the value lie in memory of an input that forward writes to, itself or as a view?"""
        return root_of(value) in self.overwritten


def reads(node: Node) -> tuple[Value, ...]:
    """The values that a node reads. The target of a store is written, not read."""
    return node.inputs if node.op != "store" else tuple([x for x in node.operands[1:] if type(x) is Value])


def analyse(
    program: Program, num_forward_outputs: int, overwritten: Iterable[int] = (), policy: Policy | None = None
) -> JointAnalysis:
    """Look at a joint graph. `overwritten` are positions of inputs that the caller's epilogue will write to."""
    tangents = [v for v, desc in zip(program.inputs, program.input_descs, strict=True) if desc.is_tangent]
    primals = [v for v, desc in zip(program.inputs, program.input_descs, strict=True) if not desc.is_tangent]
    users = _users(program)
    forward_roots = program.outputs[:num_forward_outputs]
    backward_roots = program.outputs[num_forward_outputs:]
    forward_nodes, _ = _ancestors(forward_roots, [n for n in program.nodes if keeps_its_place(n) and n.tag == FORWARD])
    backward_nodes, backward_values = _ancestors(
        backward_roots, [n for n in program.nodes if keeps_its_place(n) and n.tag == BACKWARD]
    )
    return JointAnalysis(
        program=program,
        num_forward_outputs=num_forward_outputs,
        primals=tuple(primals),
        tangents=tuple(tangents),
        users=users,
        position=_positions(program),
        closure=_closure(program, tangents),
        forward_nodes=forward_nodes,
        backward_nodes=backward_nodes,
        backward_values=backward_values,
        overwritten=_overwritten(program) | {program.inputs[index] for index in overwritten},
        tags=resolve_tags(program, users, policy),
    )


def _users(program: Program) -> dict[Value, list[Node]]:
    users: dict[Value, list[Node]] = {}
    for node in program.nodes:
        for value in dict.fromkeys(reads(node)):
            users.setdefault(value, []).append(node)
    return users


def _positions(program: Program) -> dict[Value, int]:
    position = {value: index for index, value in enumerate(program.inputs)}
    for node in program.nodes:
        for value in node.results:
            position[value] = len(position)
    return position


def _closure(program: Program, tangents: list[Value]) -> frozenset[Node]:
    """What depends on a tangent or is pinned to backward. Without tangents (a loss seeded with 1), the tag decides.

    A node of backward that reads an input which backward writes stays there too: in a second backward pass it has to
    see what the first one wrote.
    """
    given = set(tangents)
    written = {node.operands[0] for node in program.nodes if node.op == "store" and node.tag == BACKWARD}
    found: set[Node] = set()
    for node in program.nodes:
        is_backward = node.tag == BACKWARD and (
            not tangents or keeps_its_place(node) or any(root_of(value) in written for value in reads(node))
        )
        if is_backward or not given.isdisjoint(reads(node)):
            found.add(node)
            given.update(node.results)
    return frozenset(found)


def _ancestors(outputs: list[Value | None], nodes: list[Node]) -> tuple[frozenset[Node], frozenset[Value]]:
    """Nodes and values that these outputs and nodes depend on, themselves included."""
    values: set[Value] = set()
    found: set[Node] = set(nodes)
    waiting = [value for value in outputs if value is not None]
    waiting += [value for node in nodes for value in reads(node)]
    while waiting:
        value = waiting.pop()
        if value not in values:
            values.add(value)
            if value.node is not None and value.node not in found:
                found.add(value.node)
                waiting += reads(value.node)
    return frozenset(found), frozenset(values)


def _overwritten(program: Program) -> frozenset[Value]:
    """Inputs that forward stores to, and inputs whose new contents it returns for the caller to write."""
    found = {node.operands[0] for node in program.nodes if node.op == "store" and node.tag == FORWARD}
    by_desc = dict(zip(program.input_descs, program.inputs, strict=True))
    for value, desc in zip(program.outputs, program.output_descs, strict=True):
        target = by_desc.get(_written_input(desc))
        if target is not None and target is not value:
            found.add(target)
    return frozenset(found)


def _written_input(desc: Any) -> Any:
    """The descriptor of the input whose new contents an output is; None if it is something else."""
    if isinstance(desc, SubclassGetAttrAOTOutput):
        whole = _written_input(desc.of)
        return None if whole is None else SubclassGetAttrAOTInput(whole, desc.name)
    return desc.of if isinstance(desc, InputMutationAOTOutput) else None
