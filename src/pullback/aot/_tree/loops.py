"""Loops of Python's that are found in a live trace, and made loops of the graph.

At every event that decides a jump the state of the program is noted: where it stands, the local variables, and how far
the counters of `for` loops are. If the program comes back to the same place in the same state, apart from the values of
tensors in its variables, then it will do the same again, because what it does depends on its state alone. What was
recorded between two visits is then the body of a loop whose carried values are those variables, and the function is
traced once more: at the first visit the loop is put into the graph, the variables get its results, and the program is
told that it is time to leave. Whatever cannot be looked into (an iterator, an object written in C) is a state of its
own, and so is a number, a list or an attribute that has changed: such steps stay a chain of events.

What the function is told within the body has to be the same in every step, which is carried along as one truth value.
Where a gradient is wanted, the loop has room for some times as many steps as were seen, and a call that needs more
leaves the path.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from pullback.aot import _later
from pullback.aot._numbers.stand_in import is_stand_in, payload_of, remade, value_of
from pullback.aot._tree.instructions import Counters, Lost, code_of
from pullback.aot._tree.state import Unseen, Visit, asking_frame, assign, frozen
from pullback.core.state import current
from pullback.graph.graph import Graph
from pullback.graph.ir import Node, Value
from pullback.payloads.traced import TracedArray
from pullback.tape.history import requires_grad
from pullback.tape.node import Node as HistoryNode
from pullback.tensors.tensor import Tensor, wrap

_VISITS = 4  # of a place, at least
_ROOM = 64  # steps of a loop with a gradient, at least; four times as many as were seen
_WHOLE = 1 << 52  # of whole numbers of the graph, at first


# Finding a loop.

class Loop(NamedTuple):
    """A loop to be made at an event of the next trace."""

    event: int
    code: CodeType
    offset: int
    stay: bool  # what the program is told while it stays in the loop
    names: list[str]  # the variables that are carried, without second names of one object
    written: set[str]  # those of them that keep their tensor, which is written
    others: dict[str, str]  # second names
    body: Graph  # of the carried values and those from outside: carried values, the condition, what is told within
    outside: list[tuple[str, Any, Any]]  # inputs of the graph, results of its nodes, or numbers among the arguments
    told: list[bool]  # what the function is told within
    ends: list[Any]  # the carried values of the trace in which the loop was found
    steps: int
    is_counted: bool


def changing_numbers(visits: list[Visit | None]) -> dict[Any, set[str]]:
    """The variables with plain numbers that are others from one visit of a place to the next while all else is the
    same, by code and instruction. Were they numbers of the graph there might be a loop."""
    found: dict[Any, set[str]] = {}
    for numbers in _runs(visits, lambda each: each.rough):
        run: list[Any] = [visits[k] for k in numbers]
        pairs = list(itertools.pairwise(run))
        names = {name for one, other in pairs for name, number in one.plain.items() if other.plain[name] != number}
        if names:
            found.setdefault((run[0].frame.f_code, run[0].place[1]), set()).update(names)
    return found


def taken_into_graph(frame: Any, names: set[str], trace: Any, taker: Any) -> list[Value]:
    """Let variables of a frame hold numbers of the graph in place of plain ones. The values of these."""
    new = {}
    for name in names:
        x = frame.f_locals.get(name)
        kind, is_live = type(value_of(x)), is_stand_in(x) and x._host.is_live
        if is_live or kind not in (int, float) or (kind is int and abs(value_of(x)) > _WHOLE):
            continue
        dtype = np.dtype(np.float64 if kind is float else np.int64)
        array = payload_of(x, dtype) if is_stand_in(x) else trace.home(np.array(x, dtype))
        if array is not None:
            new[name] = taker.number(array, value_of(x), name)
    assign(frame, new)
    return [number._name.value for number in new.values()]


def _runs(visits: list[Visit | None], state: Callable[[Visit], Any], first: int = 0) -> list[list[int]]:
    """The numbers of visits of one place in the same state, one after the other, from number `first` on. A loop inside
    of another has a run for every time that it is gone through."""
    places: dict[Any, list[list[int]]] = {}
    for number, each in enumerate(visits):
        if each is None or number < first:
            continue
        runs = places.setdefault(each.place, [])
        if runs and state(visits[runs[-1][-1]]) == state(each):  # type: ignore[arg-type]
            runs[-1].append(number)
        else:
            runs.append([number])
    return sorted(run for runs in places.values() for run in runs if len(run) >= _VISITS)


def found_loop(trace: Any, visits: list[Visit | None], first: int, live: Any) -> Loop | None:
    """The first loop from event number `first` on."""
    for numbers in _runs(visits, lambda each: each.state, first):
        loop = _loop_at(trace, visits, numbers, live)
        if loop is not None:
            return loop
    return None


def _loop_at(trace: Any, visits: list[Any], numbers: list[int], live: Any) -> Loop | None:
    if trace.has_own_formulas or len(numbers) < _VISITS:
        return None
    last = visits[numbers[-1]]
    events, conditions = live.events, live.conditions
    stay = events[numbers[0]].outcome
    is_counted = last.position is not None
    if any(events[k].outcome is not stay for k in numbers[:-1]):
        return None
    if events[numbers[-1]].outcome is stay and not is_counted:
        return None
    within = [range(a + 1, b) for a, b in itertools.pairwise(numbers)]
    told = [[events[k].outcome for k in each] for each in within]
    labels = [[events[k].label for k in each] for each in within]
    if any(each != labels[0] for each in labels):
        return None
    start = visits[numbers[0]]
    positions = [visits[k].position for k in numbers]
    if is_counted and positions != list(range(start.position, start.position + len(numbers))):
        return None
    nodes = trace.graph.nodes[start.num_nodes : last.num_nodes]
    if any(node.effect is not None for node in nodes):
        return None
    results = {value for node in nodes for value in node.results}
    if any(after in results for _, after in trace.hidden):
        return None  # a write under no_grad, or through detach(): a loop of the graph would differentiate it
    where = {node: k for k, node in enumerate(trace.graph.nodes)}
    written = _written_roles(trace, start, last)
    if written is None:
        return None
    names = [name for name, (x, _) in start.roles.items() if name in written or x is not last.roles[name][0]]
    unique: list[str] = []
    others: dict[str, str] = {}
    for name in names:
        same = next((other for other in unique if start.roles[other][0] is start.roles[name][0]), None)
        unique.append(name) if same is None else others.update({name: same})
    if any(trace.stands_for(start.roles[name][0]) for name in unique):
        # An argument itself, before the first turn: from 3.14 on a `while` asks at one place, and not at two.
        return _loop_at(trace, visits, numbers[1:], live)
    if trace.retaining or has_hooks([last.roles[name][0] for name in unique]):
        return None  # which a graph does not have
    bodies = []
    for step in range(2):
        one, other = visits[numbers[step]], visits[numbers[step + 1]]
        wanted = [other.roles[name][1] for name in unique]
        wanted += [conditions[k] for k in (numbers[step + 1], *within[step])]
        given = [one.roles[name][1] for name in unique]
        made = body_of(trace, given, wanted, where, start.num_nodes if step else one.num_nodes, one.num_nodes)
        if made is None:
            return None
        bodies.append(made)
    if bodies[0][0].to_text() != bodies[1][0].to_text() or bodies[0][1] != bodies[1][1]:
        return None
    ends = [live.value_of(last.roles[name][1]) for name in unique]
    body, outside = bodies[1]
    outside = [_as_number(trace, each) or each for each in outside]
    return Loop(
        numbers[0], start.frame.f_code, start.place[1], stay, unique, written, others, body, outside, told[0],
        ends, len(numbers) - 1, is_counted,
    )  # fmt: skip


def _written_roles(trace: Any, start: Visit, last: Visit) -> set[str] | None:
    """The variables whose memory a loop writes and that was there before; None if it writes to other such memory."""
    before = {
        id(x._data.storage): name for name, (x, _) in start.roles.items()
        if type(x) is Tensor and x is last.roles[name][0] and x._data.storage.slot is None
    }  # fmt: skip
    found = set()
    for storage, _ in trace.written[start.num_written : last.num_written]:
        if storage.number < start.num_storages:
            if id(storage) not in before or storage.pick is not None:
                return None
            found.add(before[id(storage)])
    return found


def _as_number(trace: Any, at: tuple[str, int, int]) -> tuple[str, Any, Any] | None:
    """An input of the graph that is computed of numbers, such that another trace can compute it; None for others."""
    kind, position, _ = at
    for (name, dtype), tensor in () if trace.host is None or kind != "input" else trace.host.tensors.items():
        recipe = trace.host.recipe(name)
        if tensor._data.value is trace.graph.inputs[position] and recipe is not None:
            return "number", recipe, dtype
    return None


def has_hooks(values: list[Any]) -> bool:
    """Is somebody told of a gradient in the histories of these?"""
    waiting = [x._node for x in values if isinstance(x, Tensor) and isinstance(x._node, HistoryNode)]
    met: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        if node.rare is not None:
            return True
        waiting += [each for each in node.next or () if isinstance(each, HistoryNode)]
    return False


def body_of(
    trace: Any, given: list[Value], wanted: list[Value], where: dict[Node, int], before: int, begin: int
) -> tuple[Graph, list[tuple[str, int, int]]] | None:
    """What is computed of `given` in a step that began at node `begin`, as a graph; None if it is made of something
    that neither is given nor was there before the loop, at node `before`."""
    graph, inputs = Graph("body"), {value: k for k, value in enumerate(trace.graph.inputs)}
    known: dict[Value, Value] = {}
    for value in given:
        known[value] = graph.add_input(value.type, None)
    outside: list[tuple[str, int, int]] = []
    needed: list[Node] = []
    waiting, met = list(wanted), set(given)
    from_outside: list[Value] = []
    while waiting:
        value = waiting.pop()
        if value in met:
            continue
        met.add(value)
        node = value.node
        if node is not None and (where[node] >= begin or node.op == "constant"):
            if node not in needed:
                needed.append(node)
                waiting += node.inputs
        elif node is not None and where[node] >= before:
            return None
        else:
            from_outside.append(value)
    from_outside.sort(key=lambda value: -1 - inputs[value] if value.node is None else where[value.node])
    for value in from_outside:
        known[value] = graph.add_input(value.type, None)
        at = ("input", inputs[value], 0) if value.node is None else (
            "node", where[value.node], value.node.results.index(value)
        )
        outside.append(at)
    for node in sorted(needed, key=where.__getitem__):
        stopped = trace.stopped.get(node, ())
        operands = []
        for position, x in enumerate(node.operands):
            x = known[x] if type(x) is Value else x
            if position in stopped and type(x) is Value:
                x = graph.add("detach", [x], {}, [x.type]).result
            operands.append(x)
        target = node.op if node.target is None else node.target
        made = graph.add(target, operands, node.attrs, [value.type for value in node.results])
        known.update(zip(node.results, made.results, strict=True))
    graph.input_descs = [_later.DummyAOTInput(k) for k in range(len(graph.inputs))]
    for k, value in enumerate(wanted):
        graph.add_output(known[value], _later.DummyAOTOutput(k))
    return graph, outside


# Making it.

def begins_here(loop: Loop) -> bool:
    """Does the program stand where a loop begins? Events within arms that are joined later have numbers, too."""
    frame = asking_frame()
    return frame is not None and frame.f_code is loop.code and frame.f_lasti == loop.offset


def make(loop: Loop, trace: Any, live: Any, counters: Counters, condition: TracedArray) -> bool:
    """Put a loop into the graph of this trace, where the program stands at its first visit. What it is told then."""
    frame: Any = asking_frame()
    variables = frame.f_locals
    around = counters.at(frame)
    counter = around[-1] if loop.is_counted and around else None
    carried = [_tensor(trace, variables.get(name)) for name in loop.names]
    outside = _outside(loop, trace, [*variables.values()])
    count = len(carried)
    one = wrap(_made_constant(trace, np.array(True)))
    zero = wrap(_made_constant(trace, np.array(0)))
    left = None if counter is None else len(counter.numbers) - counter.position
    expected = np.array(loop.told, bool)

    def is_going(carry: Any) -> Any:
        *_, decision, as_told, steps = carry
        going = as_told & (decision if loop.stay else ~decision)
        return going if left is None else going & (steps < left)

    def step(carry: Any) -> Any:
        *roles, _, as_told, steps = carry
        results = loop.body.run_on(*roles, *outside)
        for answer, wanted in zip(results[count + 1 :], expected, strict=True):
            as_told = as_told & (answer if wanted else ~answer)
        return (*results[:count], results[count], as_told, steps + 1)

    needs = current().grad and any(requires_grad(x) for x in (*carried, *outside))
    # Behind one step nothing depends on what leads to no result: that gets no gradient, and no zeros.
    led = _differentiable(loop.body, count)
    given = [x if value in led else x.detach() for x, value in zip((*carried, *outside), loop.body.inputs, strict=True)]
    outside = given[count:]
    start = (*given[:count], trace.tensor_of(condition), one, zero)
    room = max(_ROOM, 4 * loop.steps)
    bound = room if left is None else min(room, max(left, 1))
    *results, decision, as_told, steps = _later.while_loop(is_going, step, start, max_steps=bound if needs else None)
    for result, end in zip(results, loop.ends, strict=True):
        if not np.array_equal(live.value_of(result._data.value), end, equal_nan=True):
            raise Lost  # it is not what the program has computed
    if loop.told and not live.decided(as_told._data, "a loop that goes on as before", rolls=False):
        raise Lost
    if needs and not live.decided((steps > 0)._data, "a loop that is not left at once", rolls=False):
        raise Lost
    outcome = live.decided(decision._data, "a condition of a loop", rolls=False)
    if outcome is loop.stay:
        ended = None if left is None else (steps >= left)
        if ended is None or not live.decided(ended._data, "the end of a range", rolls=False):
            raise Lost
    made = dict(zip(loop.names, results, strict=True))
    for name in loop.written:
        variables[name].copy_(made.pop(name))
    new = {name: _like(variables[name], result, live) for name, result in made.items()}
    new.update({name: new[same] for name, same in loop.others.items() if same in new})
    if counter is not None:
        counted = str(code_of(frame.f_code).fors[counter.begin][1])
        first = counter.numbers[counter.position - 1]
        last = steps * counter.numbers.step + first
        new[counted] = live.taker.number(last._data, int(live.value_of(last._data.value)), "a counter")
        counter.position += int(live.value_of(steps._data.value))
        counter.is_left = outcome is not loop.stay
    # path: loop that values end
    assign(frame, new)
    return outcome


def _differentiable(body: Graph, count: int) -> set[Value]:
    """The values of a body that its first results can have a gradient by."""
    led = {value for value in body.outputs[:count] if value is not None}
    for node in reversed(body.nodes):
        if node.op != "detach" and any(value in led for value in node.results):
            led.update(value for value in node.inputs if value.type.dtype.kind in "fc")
    return led


def _made_constant(trace: Any, array: np.ndarray[Any, Any]) -> TracedArray:
    made: TracedArray = trace.home(array)
    return made


def _tensor(trace: Any, value: Any) -> Tensor:
    if type(value) is Tensor:
        return value
    if not is_stand_in(value) or not value._host.is_live:
        raise Lost
    found: Tensor = trace.tensor_of(value._name)
    return found


def _like(before: Any, result: Tensor, live: Any) -> Any:
    """The result of a loop in the place of what a variable had."""
    if type(before) is Tensor:
        return result
    own = result._data.pinned().detached
    return live.taker.number(own, live.value_of(own.value).item(), "a number of a loop")


def _outside(loop: Loop, trace: Any, variables: list[Any]) -> list[Tensor]:
    """The tensors that the body takes from outside, with their histories."""
    nodes, inputs = trace.graph.nodes, trace.graph.inputs
    known: dict[Value, Tensor] = {}
    kept: list[Any] = list(variables)
    for x in variables:
        try:
            frozen(x, kept, set())
        except Unseen:
            continue
    host = [] if trace.host is None else list(trace.host.tensors.values())
    taken = [trace.tensor_of(x._name) for x in kept if is_stand_in(x) and x._host.is_live]
    for x in (*taken, *host, *kept, *(primal.tensor for primal in trace.primals)):
        if type(x) is Tensor and type(x._data) is TracedArray:
            value = x._data.value
            if value not in known or requires_grad(x):
                known[value] = x
    found = []
    for kind, position, index in loop.outside:
        if kind == "number":
            found.append(_number(trace, position, index))
            continue
        value = inputs[position] if kind == "input" else nodes[position].results[index]
        if value not in known:
            raise Lost
        found.append(known[value])
    return found


def _number(trace: Any, recipe: Any, dtype: np.dtype[Any]) -> Tensor:
    """A number of this trace as a tensor."""
    number = remade(trace.host, recipe)
    payload = payload_of(number, dtype) if is_stand_in(number) else None
    if payload is None:
        raise Lost
    return wrap(payload)
