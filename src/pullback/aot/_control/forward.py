"""Forward mode for control flow: the same loop or branch, of values and tangents side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.aot._control.body import graph_of
from pullback.aot._control.flow import (
    Cond,
    Flow,
    Scan,
    WhileLoop,
    carried_on,
    check_derivable,
    input_types,
    output_types,
    reached,
)
from pullback.aot._control.reverse import zeros_of
from pullback.graph.graph import Graph
from pullback.tape.forward.levels import ForwardLevel, store_tangent, tangent_of

Pushed = tuple[Flow, Callable[[Sequence[Any], Sequence[Any]], list[Any]], list[int]]


def pushed(flow: Flow, has_tangent: Sequence[bool]) -> Pushed:
    """The flow of pairs; a function that makes its operands of primals and tangents, None where there is no tangent;
    and, for each output of the flow, the output of the new one that is its tangent, -1 if it has none."""
    key = ("push", tuple(has_tangent))
    if key not in flow.cache:
        check_derivable(flow, is_reverse=False)
        flow.cache[key] = _RULES[type(flow)](flow, list(has_tangent))
    found: Pushed = flow.cache[key]
    return found


def with_tangents(graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> Callable[..., list[Any]]:
    """A function of the inputs of a graph and the tangents of some of them: the outputs, and tangents of some."""
    kinds = output_types(graph)

    def pairs(*values: Any) -> list[Any]:
        primals, tangents = values[: len(graph.inputs)], values[len(graph.inputs) :]
        level = ForwardLevel()
        try:
            for k, tangent in zip(inputs, tangents, strict=True):
                store_tangent(primals[k], level, tangent)
            found = graph.run_on(*primals)
            slopes = [tangent_of(found[k], level) for k in outputs]
        finally:
            level.close()
        return [*found, *(zeros_of(kinds[k]) if s is None else s for k, s in zip(outputs, slopes, strict=True))]

    return pairs


def _places(flags: Sequence[bool]) -> list[int]:
    return [k for k, flag in enumerate(flags) if flag]


def _tangent_places(outputs: Sequence[int], count: int) -> list[int]:
    """Where the tangents of the outputs lie, if they follow all primals."""
    found = [-1] * count
    for place, k in enumerate(outputs):
        found[k] = count + place
    return found


def _filled(kind: Any, tangent: Any) -> Any:
    return zeros_of(kind) if tangent is None else tangent


def _cond(flow: Cond, has_tangent: list[bool]) -> Pushed:
    active = has_tangent[1:]
    inputs = _places(active)
    flags = [a or b for a, b in zip(reached(flow.true, active), reached(flow.false, active), strict=True)]
    outputs = _places(flags)
    types = input_types(flow.true)
    whole = [*types, *(types[k] for k in inputs)]
    true, false = (graph_of("branch", with_tangents(branch, inputs, outputs), whole) for branch in flow.bodies)

    def operands(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return [*primals, *(tangents[k + 1] for k in inputs)]

    return Cond(true, false, limits=flow.limits), operands, _tangent_places(outputs, len(flags))


def _while_loop(flow: WhileLoop, has_tangent: list[bool]) -> Pushed:
    active = carried_on(flow.body, flow.carried, has_tangent)
    inputs = _places(active)
    carry = [k for k in inputs if k < flow.carried]
    constants = [k for k in inputs if k >= flow.carried]
    types = input_types(flow.body)
    count = flow.carried
    own = [*types[:count], *(types[k] for k in carry), *types[count:], *(types[k] for k in constants)]
    pairs = with_tangents(flow.body, inputs, carry)

    def apart(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Primals and tangents, of which the carried ones come first in both."""
        middle, end = count + len(carry), len(types) + len(carry)
        return [*values[:count], *values[middle:end]], [*values[count:middle], *values[end:]]

    def body(*values: Any) -> list[Any]:
        primals, tangents = apart(values)
        return pairs(*primals, *tangents)

    def condition(*values: Any) -> list[Any]:
        return flow.condition.run_on(*apart(values)[0])

    def operands(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        slopes = [_filled(types[k], tangents[k]) for k in carry]
        return [*primals[:count], *slopes, *primals[count:], *(tangents[k] for k in constants)]

    graphs = graph_of("condition", condition, own), graph_of("body", body, own)
    made = WhileLoop(*graphs, count + len(carry), limits=flow.limits)
    return made, operands, _tangent_places(carry, count)


def _scan(flow: Scan, has_tangent: list[bool]) -> Pushed:
    active = carried_on(flow.body, flow.carried, has_tangent)
    types = input_types(flow.body)
    outputs = _places(reached(flow.body, active))
    groups = [[k for k in group if active[k]] for group in flow.parts(range(len(types)))]
    count = len(output_types(flow.body))
    carried_outputs = groups[0]  # a carried value has a tangent before a step exactly if it has one after
    other_outputs = [k for k in outputs if k >= flow.carried]
    pairs = with_tangents(flow.body, [k for group in groups for k in group], [*carried_outputs, *other_outputs])
    ends = flow.parts(range(len(types)))
    order = [(group, slopes) for group, slopes in zip(ends, groups, strict=True)]

    def body(*values: Any) -> list[Any]:
        remaining = iter(values)
        primals: list[Any] = []
        tangents: list[Any] = []
        for group, slopes in order:
            primals += [next(remaining) for _ in group]
            tangents += [next(remaining) for _ in slopes]
        found = pairs(*primals, *tangents)
        middle = count + len(carried_outputs)
        return [*found[: flow.carried], *found[count:middle], *found[flow.carried : count], *found[middle:]]

    def operands(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        for group, slopes in order:
            made += [primals[k] for k in group]
            made += [_filled(types[k], tangents[k]) for k in slopes]
        return made

    kinds = [types[k] for group, slopes in order for k in (*group, *slopes)]
    carried = flow.carried + len(groups[0])
    made = Scan(
        graph_of("body", body, kinds), carried, flow.scanned + len(groups[1]), flow.length, flow.reverse,
        limits=flow.limits,
    )  # fmt: skip
    places = [-1] * count
    for place, k in enumerate(carried_outputs):
        places[k] = flow.carried + place
    for place, k in enumerate(other_outputs):
        places[k] = count + len(carried_outputs) + place
    return made, operands, places


def primal_places(flow: Flow, made: Flow) -> list[int]:
    """Where the flow of pairs returns the outputs of the flow."""
    count = len(flow.types)
    if not isinstance(flow, Scan):
        return list(range(count))
    extra = made.carried - flow.carried  # type: ignore[union-attr]
    return [k if k < flow.carried else k + extra for k in range(count)]


_RULES: dict[type, Callable[[Any, list[bool]], Pushed]] = {Cond: _cond, WhileLoop: _while_loop, Scan: _scan}
