"""Reverse mode for control flow: the gradient of a branch is a branch, and the gradient of a scan is a scan.

A scan that is differentiated returns, beside what it is asked for, what its gradient has to know of every step. The
reverse scan takes these along with the gradients of the ys, goes the other way, carries the gradient of the carry, and
adds up those of the constants. What is an input of the step is not kept twice: slices of xs are read from xs, and a
constant is a constant there too. Values that depend on constants alone are computed again, and so are views.

A branch keeps nothing but its arguments: its gradient runs the forward part of the branch again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.aot._control.body import Given, Joint, graph_of, tidied, trace_body
from pullback.aot._control.flow import (
    Cond,
    Flow,
    Scan,
    carried_on,
    check_derivable,
    check_repeatable,
    input_types,
    is_differentiable,
    output_types,
    reached,
)
from pullback.aot._control.sums import Recipe, computed, without_sums
from pullback.aot._entry import specialised
from pullback.aot._partition import partition
from pullback.core.records import Record, field
from pullback.errors import AutogradError
from pullback.graph.graph import Graph
from pullback.graph.ir import Node, Value
from pullback.graph.pipeline import JOINT, run

XS, CONSTANT, STACK = "xs", "constant", "stack"


def joint_of_graph(name: str, graph: Graph, inputs: Sequence[bool], outputs: Sequence[bool]) -> Joint:
    """Forward and backward of a graph that has no tape: it is run on stand-ins that have one."""
    givens = [Given(kind.shape, kind.dtype, active) for kind, active in zip(input_types(graph), inputs, strict=True)]
    return trace_body(name, graph.run_on, givens, grad=True).joint(inputs, outputs)


def zeros_of(kind: Any) -> np.ndarray[Any, Any]:
    """A gradient that did not arrive."""
    return np.zeros(kind.shape, kind.dtype)


def while_error() -> AutogradError:
    """A `while_loop` has no gradient."""
    return AutogradError(
        "WHILE_REVERSE",
        "a gradient goes back through a compiled while_loop",
        where="while_loop",
        why="the values of every step would have to be kept, and nobody knows how many steps there will be",
        fix="give the most steps there can be as max_steps=, use pb.scan for a fixed number, or differentiate forward",
    )


# Branches -------------------------------------------------------------------------------------------------------------


def reverse_cond(flow: Cond, gs: Sequence[Any], needs: Sequence[bool]) -> tuple[Cond, list[int]]:
    """The branch of the gradients, which takes the arguments and the gradients that arrived; and the arguments that
    it returns gradients of. `needs` is of the arguments, without the predicate."""
    defined = tuple([g is not None for g in gs])
    wanted = [k for k, needed in enumerate(needs) if needed]
    key = (defined, tuple(wanted))
    if key not in flow.cache:
        check_repeatable(flow)
        joints = flow.joints or _joints_of_graphs(flow, needs)
        kinds = [kind for kind, there in zip(flow.types, defined, strict=True) if there]
        types = [*input_types(flow.true), *kinds]
        true, false = (_branch_gradient(joint, defined, wanted, types) for joint in joints)
        flow.cache[key] = Cond(true, false, limits=flow.limits)
    return flow.cache[key], wanted


def _joints_of_graphs(flow: Cond, needs: Sequence[bool]) -> tuple[Joint, Joint]:
    check_derivable(flow, is_reverse=True)
    true, false = (joint_of_graph("branch", branch, needs, reached(branch, needs)) for branch in flow.bodies)
    return true, false


def _branch_gradient(joint: Joint, defined: Sequence[bool], wanted: list[int], types: list[Any]) -> Graph:
    count = joint.num_inputs
    graph = joint.graph.copy()
    graph.outputs, graph.output_descs = graph.outputs[joint.num_outputs :], graph.output_descs[joint.num_outputs :]
    graph = specialised(graph.dce(), count, tuple([defined[k] for k in joint.roots]))
    places = {k: place for place, k in enumerate([k for k, there in enumerate(defined) if there])}

    def gradients(*values: Any) -> list[Any]:
        arrived = [values[count + places[k]] for k in joint.roots if defined[k]]
        found = graph.run_on(*values[:count], *arrived)
        return [zeros_of(types[k]) if found[k] is None else found[k] for k in wanted]

    return graph_of("branch", gradients, types)


# Scans ----------------------------------------------------------------------------------------------------------------


class ScanPull(Record, eq=False):
    """A scan's body in two halves: one that also returns what the other needs, and the other."""

    forward: Graph  # returns carry, ys, and what is kept of a step
    backward: Graph  # [*saved, *tangents] -> [a gradient or None for each input of the body]
    roots: list[int]  # the outputs of the body that have a tangent
    sources: list[tuple[str, int]]  # where the reverse scan finds each saved value
    active: list[bool]  # the inputs of the body that gradients go to
    kept: list[Any]  # types of what is kept of a step
    whole: Scan | None = None  # the scan that returns what is kept
    reverses: dict[tuple[bool, ...], Reverse] = field(default_factory=dict)


def pull_of_graph(flow: Scan, needs: Sequence[bool]) -> ScanPull:
    """The halves of a scan of which there is only the graph."""
    key = ("pull", tuple(needs))
    if key not in flow.cache:
        check_derivable(flow, is_reverse=True)
        active = carried_on(flow.body, flow.carried, needs)
        joint = joint_of_graph("body", flow.body, active, reached(flow.body, active))
        flow.cache[key] = halves(flow, joint, active)
    found: ScanPull = flow.cache[key]
    return found


def halves(flow: Scan, joint: Joint, active: list[bool]) -> ScanPull:
    """Split the joint graph of a step."""
    graph = run(JOINT, joint.graph)
    cheap = _computed_again(graph, flow)
    split = partition(
        graph, joint.num_outputs, method="default", policy=lambda node: "MUST_RECOMPUTE" if node in cheap else None
    )
    forward = split.forward.copy()
    forward.name = "body"
    places = {value: k for k, value in enumerate(forward.inputs)}
    end = flow.carried + flow.scanned
    sources: list[tuple[str, int]] = []
    outputs = forward.outputs[: joint.num_outputs]
    kept: list[Any] = []
    for value in forward.outputs[joint.num_outputs :]:
        place = places.get(value, -1)  # type: ignore[arg-type]
        if flow.carried <= place < end:
            sources.append((XS, place - flow.carried))
        elif place >= end:
            sources.append((CONSTANT, place - end))
        else:
            sources.append((STACK, len(kept)))
            outputs.append(value)
            kept.append(value.type)  # type: ignore[union-attr]
    forward.outputs = outputs
    forward.output_descs = [None] * len(outputs)
    return ScanPull(tidied(forward), split.backward, joint.roots, sources, active, kept)


def _computed_again(graph: Graph, flow: Scan) -> set[Node]:
    """Views, and what depends on constants of the loop alone: to keep these for every step would be a waste."""
    invariant: set[Value] = set(graph.inputs[flow.carried + flow.scanned :])
    tangents = {v for v, desc in zip(graph.inputs, graph.input_descs, strict=True) if desc.is_tangent}
    invariant -= tangents
    found: set[Node] = set()
    for node in graph.nodes:
        is_invariant = node.effect is None and all(value in invariant for value in node.inputs)
        if is_invariant:
            invariant.update(node.results)
        if is_invariant or node.is_view:
            found.add(node)
    return found


def with_kept(flow: Scan, pull: ScanPull) -> Scan:
    """The scan that returns what is kept, too."""
    if pull.whole is None:
        pull.whole = Scan(pull.forward, flow.carried, flow.scanned, flow.length, flow.reverse, limits=flow.limits)
    return pull.whole


class Reverse(Record, eq=False):
    """The scan of the gradients. The gradients of some constants are made of its results by `recipes`."""

    scan: Scan
    carried: list[int]  # the constants whose gradients it carries
    recipes: dict[int, Recipe]
    num_ys: int  # of the gradients of xs; the others are there for the recipes


def reverse_scan(
    flow: Scan, pull: ScanPull, gs: Sequence[Any], operands: Sequence[Any], kept: Sequence[Any]
) -> tuple[Reverse, list[Any]]:
    """The scan of the gradients, and its operands."""
    carry, xs, constants = flow.parts(range(len(operands)))
    defined = tuple([gs[k] is not None for k in pull.roots if k >= flow.carried])
    if defined not in pull.reverses:
        pull.reverses[defined] = _reverse(flow, pull, defined)
    made = pull.reverses[defined]
    types = output_types(flow.body)
    begun = [zeros_of(types[k]) if gs[k] is None else gs[k] for k in carry if pull.active[k]]
    sums = [zeros_of(operands[k]) for k in made.carried]
    arrived = [gs[k] for k in pull.roots if k >= flow.carried and gs[k] is not None]
    slices = [operands[xs[k]] for source, k in pull.sources if source == XS]
    fixed = [operands[constants[k]] for source, k in pull.sources if source == CONSTANT]
    return made, [*begun, *sums, *arrived, *kept, *slices, *fixed]


def gradients_of(
    flow: Scan, pull: ScanPull, made: Reverse, operands: Sequence[Any], results: Sequence[Any]
) -> list[Any]:
    """What the reverse scan returned, one entry for each operand of the scan. `operands` are those of the reverse."""
    carry, xs, _ = flow.parts(range(len(pull.active)))
    order = [k for k in (*carry, *made.carried, *xs) if k in made.carried or pull.active[k]]
    found = dict(zip(order, results, strict=False))
    ys = results[made.scan.carried + made.num_ys :]
    _, slices, _ = made.scan.parts(operands)
    for k, recipe in made.recipes.items():
        found[k] = computed(recipe, ys, slices)
    return [found.get(k) for k in range(len(pull.active))]


def _reverse(flow: Scan, pull: ScanPull, defined: tuple[bool, ...]) -> Reverse:
    carry, xs, constants = flow.parts(range(len(pull.active)))
    active_carry = [k for k in carry if pull.active[k]]
    active_constants = [k for k in constants if pull.active[k]]
    active_xs = [k for k in xs if pull.active[k]]
    roots = [k for k in pull.roots if k >= flow.carried]
    arriving = [k for k, there in zip(roots, defined, strict=True) if there]
    there = {k: k < flow.carried or k in arriving for k in pull.roots}
    backward = specialised(pull.backward, len(pull.sources), tuple([there[k] for k in pull.roots]))
    of_inputs, of_outputs = input_types(flow.body), output_types(flow.body)
    saved_xs = [k for source, k in pull.sources if source == XS]
    saved_constants = [k for source, k in pull.sources if source == CONSTANT]

    groups = [
        [of_outputs[k] for k in active_carry], [of_inputs[k] for k in active_constants],
        [of_outputs[k] for k in arriving], pull.kept, [of_inputs[xs[k]] for k in saved_xs],
        [of_inputs[constants[k]] for k in saved_constants],
    ]  # fmt: skip

    def step(*values: Any) -> list[Any]:
        remaining = iter(values)
        carried, sums, arrived, kept, slices, fixed = ([next(remaining) for _ in group] for group in groups)
        by_source = {STACK: iter(kept), XS: iter(slices), CONSTANT: iter(fixed)}
        tangents = {**dict(zip(active_carry, carried, strict=True)), **dict(zip(arriving, arrived, strict=True))}
        given = [tangents[k] for k in pull.roots if there[k]]
        found = backward.run_on(*[next(by_source[source]) for source, _ in pull.sources], *given)
        new = [zeros_of(of_inputs[k]) if found[k] is None else found[k] for k in active_carry]
        total = [
            so_far if found[k] is None else so_far + found[k] for so_far, k in zip(sums, active_constants, strict=True)
        ]
        return [*new, *total, *(zeros_of(of_inputs[k]) if found[k] is None else found[k] for k in active_xs)]

    body = graph_of("body", step, [kind for group in groups for kind in group])
    first, scanned = len(active_carry), sum(len(group) for group in groups[2:5])
    places = range(first, first + len(active_constants))
    found = without_sums(body, places, first + len(active_constants), scanned)
    recipes = {active_constants[place - first]: recipe for place, recipe in found.recipes.items()}
    remaining = [k for k in active_constants if k not in recipes]
    made = Scan(found.body, first + len(remaining), scanned, flow.length, not flow.reverse, limits=flow.limits)
    return Reverse(made, remaining, recipes, len(active_xs))


def has_gradient(flow: Flow, needs: Sequence[bool]) -> bool:
    """Does anything that the flow returns depend on operands that need a gradient?"""
    return any(needs) and any(is_differentiable(kind) for kind in flow.types)
