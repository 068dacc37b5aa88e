"""Control flow under `vmap`, inside a trace: one level becomes an axis of the arrays that the bodies work on.

Only what differs between examples gets the axis: a constant of a loop that all examples share stays as it is, and a
carried value gets it if it, or what the body makes of it, differs. A branch that examples take differently becomes
both branches and a choice; a loop that they leave at different steps goes on for all of them, and those that are done
keep what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pullback.aot._control.body import graph_of
from pullback.aot._control.flow import Cond, Flow, Scan, WhileLoop, input_types
from pullback.core.state import VmapLevel, current
from pullback.declare.op import registry
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, array_type
from pullback.payloads.batched import BatchedArray
from pullback.tape.transform.body import Transform, running
from pullback.tensors.tensor import wrap

Results = Callable[[Sequence[Any]], tuple[Any, ...]]


def newest_level(payloads: Sequence[Any]) -> VmapLevel | None:
    """The level that was entered last among those of the payloads."""
    levels = [x.levels[-1] for x in payloads if type(x) is BatchedArray and x.levels]
    return max(levels, key=lambda level: level.stamp, default=None)


def has_level(x: Any, level: VmapLevel) -> bool:
    """Does a payload differ between the examples of `level`?"""
    return type(x) is BatchedArray and level in x.levels


def batched(flow: Flow, payloads: Sequence[Any], level: VmapLevel) -> tuple[Flow, list[Any], Results]:
    """The flow for all examples of `level`, its operands, and what turns its results into those of one example."""
    flags = [has_level(x, level) for x in payloads]
    lowered = [_lowered(x, level) for x in payloads]
    return _RULES[type(flow)](flow, lowered, flags, level)


def chosen(flow: Cond, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """Both branches, where examples take different ones."""
    predicate, *arguments = map(wrap, payloads)
    where = registry["where"].call
    modes = current()
    with running(Transform("vmap"), grad=False), _with_history(modes.trace if modes.grad else None):
        yes, no = flow.true.run_on(*arguments), flow.false.run_on(*arguments)
        return tuple([where(predicate, a, b)._data for a, b in zip(yes, no, strict=True)])


@contextmanager
def _with_history(trace: Any) -> Iterator[None]:
    """What is computed here gets a history afterwards, so in the graph of a trace it is not without one."""
    before = trace is not None and trace.stops
    if before:
        trace.stops = False
    try:
        yield
    finally:
        if before:
            trace.stops = True


def _lowered(x: Any, level: VmapLevel) -> Any:
    """A payload with the axis of `level`, if it has it, as its first axis."""
    if type(x) is not BatchedArray:
        return x
    levels = x.levels[:-1] if level in x.levels else x.levels
    return BatchedArray(x.data, levels) if levels else x.data


def _raised(x: Any, level: VmapLevel) -> BatchedArray:
    older = x.levels if type(x) is BatchedArray else ()
    return BatchedArray(x.data if type(x) is BatchedArray else x, (*older, level))


def _spread(x: Any, size: int) -> Any:
    """A payload that is the same for all examples, with an axis for them."""
    return registry["broadcast_to"].call(x, shape=(size, *x.shape))


def _swapped(x: Any) -> Any:
    """The first two axes exchanged: examples and steps."""
    return registry["permute_dims"].call(x, axes=(1, 0, *range(2, x.ndim)))


# Bodies.


class _Batched:
    """The graph of a body for a batch: which outputs differ is found by running it on stand-ins."""

    def __init__(self, name: str, graph: Graph, size: int) -> None:
        self.name, self.graph, self.size = name, graph, size

    def run(self, values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[bool], VmapLevel]:
        """The outputs on tensors of which the flagged ones have an axis for the examples, as payloads."""
        level = VmapLevel(self.size)
        with running(Transform("vmap"), vmaps=(level,)):  # what is made here may be written by examples
            given = [
                wrap(BatchedArray(x._data, (level,))) if flag else x for x, flag in zip(values, flags, strict=True)
            ]
            payloads = [out._data for out in self.graph.run_on(*given)]
        differ = [has_level(payload, level) for payload in payloads]
        return [x.data if type(x) is BatchedArray else x for x in payloads], differ, level

    def differing(self, flags: Sequence[bool]) -> list[bool]:
        """Which outputs differ if these inputs do?"""
        found: list[list[bool]] = []

        def function(*values: Any) -> list[Any]:
            outputs, differ, _ = self.run(values, flags)
            found.append(differ)
            return [wrap(out) for out in outputs]

        graph_of(self.name, function, self.types(flags))
        return found[0]

    def types(self, flags: Sequence[bool]) -> list[ArrayType]:
        """The types of the inputs, with the axis where there is one."""
        return [_with_axis(kind, self.size, flag) for kind, flag in zip(input_types(self.graph), flags, strict=True)]

    def forced(self, flags: Sequence[bool], wanted: Sequence[bool]) -> Graph:
        """The graph whose outputs have the axis exactly where they are wanted to."""

        def function(*values: Any) -> list[Any]:
            outputs, differ, _ = self.run(values, flags)
            return [
                wrap(_spread(out, self.size) if want and not has else out)
                for out, has, want in zip(outputs, differ, wanted, strict=True)
            ]

        return graph_of(self.name, function, self.types(flags))


def _with_axis(kind: ArrayType, size: int, flag: bool) -> ArrayType:
    return array_type((size, *kind.shape), kind.dtype) if flag else kind


def _grown(body: _Batched, carried: int, flags: list[bool]) -> tuple[list[bool], list[bool]]:
    """The flags of a loop's inputs once it has gone round a few times, and of its outputs then."""
    while True:
        outputs = body.differing(flags)
        grown = [a or b for a, b in zip(flags[:carried], outputs[:carried], strict=True)] + flags[carried:]
        if grown == flags:
            return flags, outputs
        flags = grown


def _fitted(payloads: Sequence[Any], had: Sequence[bool], flags: Sequence[bool], size: int) -> list[Any]:
    return [
        _spread(x, size) if flag and not before else x for x, before, flag in zip(payloads, had, flags, strict=True)
    ]


# The three kinds.


def _cond(flow: Cond, payloads: list[Any], had: list[bool], level: VmapLevel) -> tuple[Flow, list[Any], Results]:
    bodies = [_Batched("branch", branch, level.size) for branch in flow.bodies]
    flags = had[1:]
    wanted = [a or b for a, b in zip(*(body.differing(flags) for body in bodies), strict=True)]
    true, false = (body.forced(flags, wanted) for body in bodies)
    return Cond(true, false, limits=flow.limits), payloads, _results(wanted, level, len(wanted))


def _results(flags: Sequence[bool], level: VmapLevel, carried: int) -> Results:
    def results(found: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            [
                _raised(_swapped(x) if k >= carried else x, level) if flag else x
                for k, (x, flag) in enumerate(zip(found, flags, strict=True))
            ]
        )

    return results


def _scan(flow: Scan, payloads: list[Any], had: list[bool], level: VmapLevel) -> tuple[Flow, list[Any], Results]:
    body = _Batched("body", flow.body, level.size)
    flags, outputs = _grown(body, flow.carried, had)
    wanted = [*flags[: flow.carried], *outputs[flow.carried :]]
    made = Scan(body.forced(flags, wanted), flow.carried, flow.scanned, flow.length, flow.reverse, limits=flow.limits)
    carry, xs, constants = flow.parts(_fitted(payloads, had, flags, level.size))
    _, differ, _ = flow.parts(flags)
    slices = [_swapped(x) if flag else x for x, flag in zip(xs, differ, strict=True)]
    return made, [*carry, *slices, *constants], _results(wanted, level, flow.carried)


def _while_loop(
    flow: WhileLoop, payloads: list[Any], had: list[bool], level: VmapLevel
) -> tuple[Flow, list[Any], Results]:
    body = _Batched("body", flow.body, level.size)
    condition = _Batched("condition", flow.condition, level.size)
    flags, _ = _grown(body, flow.carried, had)
    if condition.differing(flags)[0]:
        flags = [True] * flow.carried + flags[flow.carried :]
        made = WhileLoop(*_masked(condition, body, flow.carried, flags), flow.carried, limits=flow.limits)
    else:
        graphs = condition.forced(flags, [False]), body.forced(flags, flags[: flow.carried])
        made = WhileLoop(*graphs, flow.carried, limits=flow.limits)
    fitted = _fitted(payloads, had, flags, level.size)
    return made, fitted, _results(flags[: flow.carried], level, flow.carried)


def _masked(condition: _Batched, body: _Batched, carried: int, flags: list[bool]) -> tuple[Graph, Graph]:
    """The loop that goes on while any example does, and changes only those that do."""
    where, size = registry["where"].call, body.size

    def going_on(*values: Any) -> list[Any]:
        (going,), _, _ = condition.run(values, flags)
        return [wrap(going).any()]

    def step(*values: Any) -> list[Any]:
        (going,), _, _ = condition.run(values, flags)
        outputs, differ, _ = body.run(values, flags)
        made = []
        for old, out, has in zip(values[:carried], outputs, differ, strict=True):
            new = out if has else _spread(out, size)
            mask = registry["_reshape"].call(wrap(going), shape=(size, *(1,) * (old.ndim - 1)))
            made.append(where(mask, wrap(new), old))
        return made

    types = body.types(flags)
    return graph_of("condition", going_on, types), graph_of("body", step, types)


_RULES: dict[type, Callable[..., tuple[Flow, list[Any], Results]]] = {Cond: _cond, Scan: _scan, WhileLoop: _while_loop}


def without_levels(x: Any) -> Any:
    """The array behind a payload that has no levels."""
    return x.data if type(x) is BatchedArray and not x.levels else x
