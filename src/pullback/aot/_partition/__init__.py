"""`partition`: a joint graph becomes a forward and a backward graph, and a list of what goes from one to the other.

    forward     primals            -> [*forward outputs, *saved]
    backward    [*saved, *tangents] -> [a gradient or None for each input of forward]

Forward then backward computes what the joint graph computes, whatever is saved. Which values are saved is decided by
`default` (everything that backward reads; nothing is computed twice), or by `min_cut` (as few bytes as possible
without repeating anything expensive), which a memory budget drives further. An input that the call overwrites is
never read again after the write: see `extract.py`. What one call decides depends on the graph alone, so the
same text gives the same two texts, unless `cost="time"` measures.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from pullback.aot._partition.account import donated, statistics
from pullback.aot._partition.budget import SOLVERS, Cost, resolve_cost, within_budget
from pullback.aot._partition.default import save_what_is_read
from pullback.aot._partition.extract import Carried, Halves, extract
from pullback.aot._partition.joint import JointAnalysis, Policy, analyse
from pullback.core.records import Record, field
from pullback.errors import PartitionError
from pullback.graph.descriptors import Descriptor
from pullback.graph.graph import Graph
from pullback.graph.ir import Node, Value, root_of

METHODS = ("auto", "default", "min_cut")


class SavedValue(Record, frozen=True):
    """One array that forward hands to backward."""

    name: str  # 'args[0]' for an input, 'sin' for a result of sin, 'copy(args[0])' for a copy made before a write
    value: Value  # the output of `forward` that it is
    descriptor: Descriptor
    nbytes: int
    is_input: bool
    is_output: bool
    is_copy: bool  # made because an input is overwritten
    is_target: bool  # memory that backward stores into, and does not read
    is_checked: bool  # the caller can write to the memory: the version has to be compared
    is_donated: bool  # nobody but backward holds it, so backward may reuse the memory
    input_index: int | None  # the input of forward in whose memory it lies
    output_index: int | None  # the first output of forward that shares its memory


class Partition(Record, frozen=True):
    """The two halves of a joint graph. `recomputed` are nodes of `backward` that `forward` computes too."""

    forward: Graph
    backward: Graph
    saved: list[SavedValue]
    recomputed: list[Node]
    method: str
    num_forward_outputs: int
    halves: Halves = field(repr=False)

    @functools.cached_property
    def stats(self) -> dict[str, int]:
        """Bytes and operations, see `account.py`. They are counted when somebody asks."""
        return statistics(self.halves, self.num_forward_outputs)


def partition(
    graph: Graph,
    num_forward_outputs: int,
    *,
    method: str = "auto",
    memory_budget: float = 1.0,
    static_inputs: Iterable[int] = (),
    policy: Policy | None = None,
    cost: str | Cost = "flops",
    overwritten: Iterable[int] = (),
    solver: str = "dp",
    recompute_is_free: bool = False,
) -> Partition:
    """Split a joint graph.

    `method="auto"` is `min_cut` if the backend fuses (`recompute_is_free`) or memory is short, else `default`.
    `static_inputs` are positions of inputs that are kept alive anyway, such as parameters; `overwritten` are
    positions of inputs that are written after the call, in addition to those which the graph says so of.
    `policy(node)` may say what has to be saved or recomputed; `cost` is what a budget weighs: "flops", "time", or a
    function of a node.
    """
    _check_options(method, memory_budget, solver)
    if method == "auto":
        method = "min_cut" if recompute_is_free or memory_budget < 1 else "default"
    pruned = graph.dce() if method == "default" else graph.dce().cse()
    joint = analyse(pruned, num_forward_outputs, overwritten, policy)
    if method == "default" or not joint.backward_nodes:
        saved = save_what_is_read(joint)
    else:
        static = frozenset([pruned.inputs[index] for index in static_inputs])
        saved = within_budget(joint, memory_budget, static, resolve_cost(cost), solver)
    return _record(joint, extract(joint, saved), method)


def _check_options(method: str, memory_budget: float, solver: str) -> None:
    if method not in METHODS:
        raise PartitionError(f"method={method!r} is not known", fix=f"use one of {', '.join(METHODS)}")
    if solver not in SOLVERS:
        raise PartitionError(f"solver={solver!r} is not known", fix=f"use one of {', '.join(SOLVERS)}")
    if not 0 <= memory_budget <= 1:
        raise PartitionError(
            f"memory_budget={memory_budget!r} is not between 0 and 1",
            why="it is a share: 1 keeps what makes backward fastest, 0 keeps nothing but inputs",
        )
    if method == "default" and memory_budget < 1:
        raise PartitionError(
            "the default partitioner saves what backward reads, and knows no budget",
            fix='use method="min_cut" or "auto" with a memory budget',
        )


def _record(joint: JointAnalysis, halves: Halves, method: str) -> Partition:
    count = joint.num_forward_outputs
    private = donated(halves)
    names = _names(joint, halves.carried)
    inputs = {primal: index for index, primal in enumerate(joint.primals)}
    outputs: dict[Value, int] = {}
    for index, output in enumerate(joint.forward_outputs):
        if output is not None:
            outputs.setdefault(root_of(output), index)
    saved = []
    for index, carried in enumerate(halves.carried):
        value, desc = halves.forward.outputs[count + index], halves.forward.output_descs[count + index]
        assert value is not None
        root = value if carried.is_copy else root_of(carried.joint_value)
        saved.append(
            SavedValue(
                name=names[index],
                value=value,
                descriptor=desc,
                nbytes=value.nbytes,
                is_input=value.node is None,
                is_output=value in halves.forward.outputs[:count],
                is_copy=carried.is_copy,
                is_target=carried.is_target,
                is_checked=carried.is_checked,
                is_donated=halves.backward.inputs[index] in private,
                input_index=inputs.get(root),
                output_index=outputs.get(root),
            )
        )
    return Partition(halves.forward, halves.backward, saved, list(halves.repeated), method, count, halves)


def _names(joint: JointAnalysis, carried: Iterable[Carried]) -> list[str]:
    """A name for each saved value: where it comes from, numbered if that does not tell it from the others."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for each in carried:
        name = _name(joint, each.joint_value)
        name = f"copy({name})" if each.is_copy else name
        seen[name] = seen.get(name, -1) + 1
        found.append(f"{name}_{seen[name]}" if seen[name] else name)
    return found


def _name(joint: JointAnalysis, value: Value) -> str:
    node = value.node
    if node is None:
        desc: Descriptor = joint.program.input_descs[joint.position[value]]
        return desc.expr()
    return node.op if len(node.results) == 1 else f"{node.op}[{value.index}]"
