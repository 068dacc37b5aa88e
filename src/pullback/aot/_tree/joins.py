"""Arms that are joined behind an `if`: a decision in the middle of a path becomes a `cond` of the graph.

What a program does between two places where it decides is a function of its variables there: an *arm*. Every live
trace shows the arms that it took, and they are kept by the state of the program, without the values of tensors. When
both arms of a decision are known, and lead to the same place in the same state, then the next trace asks nothing there.
It takes the one that is right for its call, and where it ends the variables that either of them assigns get the results
of a `cond` of both. So k decisions in a row are k conds and one path, where they were up to 2^k paths.

    if r < 0: lev = 0.1                 %3: f64[] = cond(%2, {0.1}, {0.0})
    else: lev = 0.0                     %4: f64[] = add(%a, %3)
    h = (a + lev) * h

Variables that hold tensors, numbers of the graph, or plain numbers are carried; everything else has to be as it was. An
argument that only one arm depends on has a gradient in one and none in the other: such arms stay two paths. So do arms
that write to what was there before, draw, print, or read something that the other does not know of.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from pullback.aot import _later
from pullback.aot._numbers.stand_in import is_stand_in, payload_of, remade, value_of
from pullback.aot._tree.loops import body_of, changing_numbers, has_hooks
from pullback.aot._tree.sights import DTYPES, Sight
from pullback.aot._tree.state import CONSTANTS, assign
from pullback.core.pytree import unflatten
from pullback.graph.graph import Graph
from pullback.graph.ir import Value, root_of
from pullback.payloads.traced import TracedArray
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Leaf, Tensor, version_of, wrap

_NUMBERS = ("number", "plain", "given")  # of the graph, of Python, computed of arguments
CONDITION, _TOLD = "a condition", "as told"  # no names of variables


class Unjoined(BaseException):
    """Arms that were to be joined cannot be. Not an Exception, so that nobody catches it."""

    def __init__(self, key: Any) -> None:
        super().__init__()
        self.key = key


class Pinned(BaseException):
    """A number that was taken into the graph because it changes in a loop is wanted for its value: all of them stay
    what they are. Not an Exception, so that nobody catches it."""


# Arms.

class Arm(NamedTuple):
    """What a program does from one sight to the next."""

    names: list[str]  # the variables that the body takes
    body: Graph | None  # of these and foreign values: new values of variables, the next condition, what it is told
    foreign: list[Any]  # inputs of the graph that are no variables
    made: dict[str, Any]  # the shapes of variables that are assigned
    numbers: dict[str, Any]  # those that are computed of arguments alone, as inputs of the graph
    results: dict[str, int]  # outputs of the body, by variable
    told: list[tuple[int, bool]]  # outputs that have to be as they were
    same: dict[str, str]  # variables that hold the same tensor as another one before them
    end: Any
    after: dict[str, Any]  # shapes of all variables then
    places: list[Any]  # that only this arm has read
    surroundings: list[Any]  # that the whole trace has read


class Arms:
    """The arms of all decisions of one kind of calls."""

    def __init__(self) -> None:
        self._known: dict[Any, dict[bool, Arm] | None] = {}  # None: not to be joined
        # By code and instruction: variables whose plain numbers are numbers of the graph from there on; None: no more.
        self.changing: dict[Any, set[str]] | None = {}

    def note_changing(self, live: Any) -> bool:
        """Keep which plain numbers change in loops. Are there any that were not known?"""
        if self.changing is None:
            return False
        is_new = False
        for place, names in changing_numbers(live.visits).items():
            known = self.changing.setdefault(place, set())
            is_new = is_new or not names <= known
            known |= names
        return is_new

    def learn(self, trace: Any, live: Any) -> bool:
        """Keep the arms of a trace. Is there a decision among its events that can be joined now?"""
        if trace.has_own_formulas or trace.retaining:
            return False
        surroundings = trace.seer.places
        found = False
        for (one, n, is_event), (other, last, _) in itertools.pairwise(live.sights):
            if not is_event:
                continue  # was joined
            known = self._known.setdefault(one.key, {})
            if known is None or other is None:
                continue
            if live.events[n].outcome not in known:
                arm = _arm(trace, live, one, other, range(n + 1, last), surroundings)
                if arm is not None:
                    known[live.events[n].outcome] = arm
            found = found or self.pair(one) is not None
        return found

    def pair(self, one: Sight) -> tuple[Arm, Arm] | None:
        """The arms of a decision, if it can be joined."""
        known = self._known.get(one.key)
        if known is None or len(known) < 2:
            return None
        true, false = known[True], known[False]
        if true.end != false.end or not _can_join(one, true, false) or any(map(_has_moved, (true, false))):
            return None
        return true, false

    def refuse(self, key: Any) -> None:
        """These are not to be joined."""
        self._known[key] = None


def _has_moved(arm: Arm) -> bool:
    return any(place.has_moved() for place in arm.surroundings)


def _can_join(one: Sight, true: Arm, false: Arm) -> bool:
    """Is everything the same behind both arms, but for what can be carried?"""
    if true.after.keys() != false.after.keys():
        return False
    return all(_alike(mine, false.after[name]) for name, mine in true.after.items())


def _alike(mine: Any, theirs: Any) -> bool:
    if mine == theirs:
        return True
    return mine[0] in _NUMBERS and theirs[0] in _NUMBERS and mine[1] is theirs[1]


def _arm(trace: Any, live: Any, one: Sight, other: Sight, between: range, surroundings: list[Any]) -> Arm | None:
    if other.frame is not one.frame and not (other.frame is None and other.caller is one.caller):
        return None
    begin, end = one.marks[0], other.marks[0]
    if one.marks[2:] != other.marks[2:] or any(node.effect is not None for node in trace.graph.nodes[begin:end]):
        return None
    if any(storage.number < one.num_storages for storage, _ in trace.written[one.marks[1] : other.marks[1]]):
        return None  # a write to what was there before
    where = {node: k for k, node in enumerate(trace.graph.nodes)}
    changed: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name, shape in other.shapes.items():
        if name in one.held and _is_same(one, other, name):
            continue
        x = other.held[name]
        if shape[0] == "other" and (other.frame is not None or not isinstance(x, CONSTANTS)):
            return None
        if shape[0] == "tensor" and (
            trace.stands_for(x) or has_hooks([x]) or version_of(x) or type(x._node) is Leaf
        ):
            return None
        changed[name] = shape
        if shape[0] == "given":
            recipe = trace.host.recipe(x._name)
            if recipe is None:
                return None
            numbers[name] = ("number", recipe, DTYPES[shape[1]])
    results = {name: other.values[name] for name in changed if name in other.values}
    if other.condition is not None:
        results[CONDITION] = other.condition
    told = [live.conditions[k] for k in between]
    names = list(one.values)
    made = body_of(trace, [one.values[name] for name in names], [*results.values(), *told], where, begin, begin)
    if made is None:
        return None
    body, outside = made
    foreign = [_described(trace, each) for each in outside]
    if None in foreign:
        return None
    outcomes = [(len(results) + k, live.events[n].outcome) for k, n in enumerate(between)]
    return Arm(
        names, body, foreign, changed, numbers, {name: k for k, name in enumerate(results)}, outcomes,
        _repeated(other), other.place, other.shapes, surroundings[one.num_places : other.num_places], surroundings,
    )  # fmt: skip


def _repeated(other: Sight) -> dict[str, str]:
    first: dict[int, str] = {}
    found = {}
    for name, x in other.held.items():
        if isinstance(x, Tensor) and first.setdefault(id(x), name) != name:
            found[name] = first[id(x)]
    return found


def _is_same(one: Sight, other: Sight, name: str) -> bool:
    if one.shapes[name] != other.shapes[name]:
        return False
    if name in other.values:
        return one.held[name] is other.held[name] and one.values[name] is other.values[name]
    return name not in other.fixed or one.fixed[name] == other.fixed[name]


def _described(trace: Any, at: tuple[str, int, int]) -> Any:
    """An input of the graph such that another trace finds it; None if it cannot."""
    kind, position, _ = at
    if kind != "input":
        return None
    value = trace.graph.inputs[position]
    for primal in trace.primals:
        if primal.value is value:
            return ("slot", primal.slots[0]) if primal.slots else ("captured", primal.original)
    for (name, dtype), tensor in (() if trace.host is None else trace.host.tensors.items()):
        if tensor._data.value is value:
            recipe = trace.host.recipe(name)
            return None if recipe is None else ("number", recipe, dtype)
    return None


# Joining.

class Pending(NamedTuple):
    """A decision that is on its way to where its arms end."""

    sight: Sight
    arms: tuple[Arm, Arm]
    condition: Tensor
    num_events: int

    def ends_at(self, other: Sight | None) -> bool:
        """Is this where they end?"""
        if other is None or other.caller is not self.sight.caller:
            return False
        if other.frame is not None and other.frame is not self.sight.frame:
            return False
        arm = self.arms[0]
        return arm.end == other.place and arm.after.keys() == other.shapes.keys() and all(
            _alike(arm.after[name], shape) for name, shape in other.shapes.items()
        )  # fmt: skip


def joined(trace: Any, live: Any, pending: Pending, other: Sight) -> dict[str, Any]:
    """Put a `cond` into the graph, where both arms end: what variables hold from now on."""
    key = pending.sight.key
    names = sorted({*pending.arms[0].made, *pending.arms[1].made})
    carried = [name for name in names if not _is_fixed(name, pending.arms)]
    if any(pending.arms[0].after[name][0] == "other" for name in carried):
        raise Unjoined(key)
    twins = [{a: b for a, b in arm.same.items() if a in carried and b in carried} for arm in pending.arms]
    if twins[0] != twins[1]:
        raise Unjoined(key)
    carried = [name for name in carried if name not in twins[0]]
    operands, places = _operands(trace, pending)
    # One cond for what has gradients by the same inputs: of several results of one, all have gradients by the same.
    groups: dict[frozenset[Value], list[str]] = {frozenset(): []}
    for name in carried:
        ways = [_ways(trace, arm, name, operands, places) for arm in pending.arms]
        if ways[0] != ways[1]:
            raise Unjoined(key)
        groups.setdefault(ways[0], []).append(name)
    results: dict[str, Tensor] = {}
    for way, names in groups.items():
        wanted = [*names, CONDITION, _TOLD] if not way else names
        led = set().union(*(_led(arm, name) for arm in pending.arms for name in names)) if way else set()
        given = [x if mark in led else x.detach() for mark, x in zip(places, operands, strict=True)]
        true, false = [_function(trace, pending, arm, wanted, places) for arm in pending.arms]
        results.update(zip(wanted, _later.cond(pending.condition, true, false, *given), strict=True))
    for each in (live.events, live.conditions, live.visits):
        del each[pending.num_events :]
    new: dict[str, Any] = {CONDITION: results[CONDITION]}
    for name in carried:
        result, x = results[name], other.held[name]
        value = live.value_of(result._data.value)
        expected = live.value_of(other.values[name]) if name in other.values else value_of(x)
        if not np.array_equal(value, expected, equal_nan=True):
            raise Unjoined(key)
        if type(x) is not Tensor:
            own = result._data.pinned().detached
            new[name] = live.taker.number(own, value.item(), "a number of one of two arms")
            continue
        if requires_grad(result) is not requires_grad(x):
            raise Unjoined(key)
        before = [_passed_on(arm, name, operands, places) for arm in pending.arms]
        for same in (*before, *_also(other, name)):
            if same is not None:
                live.aliases.append((result._data.storage, same._data.storage, len(trace.written), key))
        new[name] = result
    # path: joined arms
    new.update({name: new[first] for name, first in twins[0].items()})
    for arm in pending.arms:
        trace.seer.note_all(arm.places)
    if any(arm.told for arm in pending.arms):
        live.decided(results[_TOLD]._data, "an arm that goes as before", rolls=False)
    return new


def _ways(
    trace: Any, arm: Arm, name: str, operands: list[Tensor], places: dict[Any, int]
) -> frozenset[Value]:
    """The inputs of the graph that a variable can have a gradient by, behind an arm."""
    if arm.after[name][0] != "tensor":
        return frozenset()
    return frozenset().union(*(_inputs(trace, operands[places[mark]]) for mark in _led(arm, name)))


def _also(other: Sight, name: str) -> list[Tensor]:
    """Other variables that hold the same tensor."""
    x = other.held[name]
    return [y for each, y in other.held.items() if each != name and y is x]


def _passed_on(arm: Arm, name: str, operands: list[Tensor], places: dict[Any, int]) -> Tensor | None:
    """The tensor that a variable holds behind an arm, or is a view of, if it was there before."""
    if name not in arm.results:
        return operands[places["variable", name]]
    body: Any = arm.body
    value = root_of(body.outputs[arm.results[name]])
    described = [*(("variable", each) for each in arm.names), *arm.foreign]
    found = [each for each, given in zip(described, body.inputs, strict=True) if given is value]
    return operands[places[_mark(found[0])]] if found else None


def _is_fixed(name: str, arms: tuple[Arm, Arm]) -> bool:
    """Is a variable the same constant behind both arms?"""
    mine, theirs = arms[0].after[name], arms[1].after[name]
    return bool(mine == theirs and mine[0] in ("plain", "given", "other"))


def _operands(trace: Any, pending: Pending) -> tuple[list[Tensor], dict[Any, int]]:
    """The tensors that the arms take, and which variable or foreign value each is."""
    one = pending.sight
    operands: list[Tensor] = []
    places: dict[Any, int] = {}
    wanted: list[Any] = [("variable", name) for name in one.values]
    carried = {*pending.arms[0].made, *pending.arms[1].made}
    wanted += [_given(trace, one, name) for name in sorted(carried) if one.shapes.get(name, ("",))[0] == "given"]
    wanted += [each for arm in pending.arms for each in (*arm.foreign, *arm.numbers.values())]
    for each in wanted:
        if _mark(each) not in places:
            places[_mark(each)] = len(operands)
            operands.append(_found(trace, one, each))
    return operands, places


def _mark(described: Any) -> Any:
    if described[0] == "captured":
        return "captured", id(described[1])
    return ("number", _written(described[1]), described[2]) if described[0] == "number" else described


def _written(recipe: Any) -> Any:
    """A recipe such that equal ones are equal: NaN is NaN."""
    kind, which, *rest = recipe
    if kind == "constant":
        return kind, which, rest[0]
    return (kind, which) if kind == "slot" else (kind, which, tuple(map(_written, rest[0])))


def _given(trace: Any, one: Sight, name: str) -> Any:
    """A number among the arguments, or computed of such, that a variable holds."""
    x = one.held[name]
    recipe = trace.host.recipe(x._name)
    if recipe is None:
        raise Unjoined(one.key)
    return "number", recipe, DTYPES[type(x._value)]


def _found(trace: Any, one: Sight, described: Any) -> Tensor:
    kind, which, *rest = described
    if kind == "variable":
        x = one.held[which]
        return x if type(x) is Tensor else trace.tensor_of(x._name)
    if kind == "slot":
        found: Tensor = trace.given(which)
        return found
    if kind == "captured":
        return trace.lifted(which)
    try:
        number = remade(trace.host, which)
        if is_stand_in(number):
            payload = payload_of(number, rest[0])
            if payload is not None:
                return wrap(payload)
    except Exception:
        pass  # it cannot be computed in this call
    raise Unjoined(one.key)


def _function(trace: Any, pending: Pending, arm: Arm, wanted: list[str], places: dict[Any, int]) -> Any:
    one = pending.sight

    def run(*operands: Tensor) -> tuple[Any, ...]:
        given = [operands[places["variable", name]] for name in arm.names]
        given += [operands[places[_mark(each)]] for each in arm.foreign]
        made = arm.body.run_on(*given) if arm.body is not None else []
        return tuple([of(name, made, operands) for name in wanted])

    def of(name: str, made: list[Any], operands: tuple[Tensor, ...]) -> Any:
        if name in arm.results:
            return made[arm.results[name]]
        if name not in (CONDITION, _TOLD):
            return unchanged(name, operands)
        told = constant(True)
        for position, outcome in arm.told if name == _TOLD else ():
            told = told & (made[position] if outcome else ~made[position])
        return told

    def unchanged(name: str, operands: tuple[Tensor, ...]) -> Any:
        kind = arm.after[name][0]
        if kind == "given":
            return operands[places[_mark(arm.numbers.get(name) or _given(trace, one, name))]]
        if kind == "plain":
            _, number, text = arm.after[name]
            return constant(number(text), DTYPES[number])
        return operands[places["variable", name]]

    def constant(value: Any, dtype: Any = bool) -> Tensor:
        return wrap(np.asarray(value, dtype))

    return run


def _led(arm: Arm, name: str) -> set[Any]:
    """The operands, by their marks, that a variable can have a gradient by, behind an arm."""
    if name not in arm.results:
        return {("variable", name)}
    body: Any = arm.body
    led = {body.outputs[arm.results[name]]}
    for node in reversed(body.nodes):
        if node.op != "detach" and any(value in led for value in node.results):
            led.update(value for value in node.inputs if value.type.dtype.kind in "fc")
    described = [*(("variable", each) for each in arm.names), *arm.foreign]
    return {_mark(each) for each, value in zip(described, body.inputs, strict=True) if value in led}


def _inputs(trace: Any, tensor: Tensor) -> frozenset[Value]:
    """The inputs of the graph that a tensor can have a gradient by."""
    if not requires_grad(tensor):
        return frozenset()
    waiting, met, found = [tensor._data.value], set(), set()
    while waiting:
        value = waiting.pop()
        if value in met or value.type.dtype.kind not in "fc":
            continue
        met.add(value)
        if value.node is None:
            found.add(value)
            continue
        stopped = trace.stopped.get(value.node, ())
        operands = [x for k, x in enumerate(value.node.operands) if type(x) is Value and k not in stopped]
        waiting += operands
    wanted = {primal.value for primal in trace.primals if requires_grad(primal.tensor)}
    return frozenset(found & wanted)


def put(frame: Any, new: dict[str, Any]) -> None:
    """Give variables of a frame what they hold behind joined arms."""
    assign(frame, {name: x for name, x in new.items() if name != CONDITION})


def with_results(leaves: list[Any], structure: Any, new: dict[str, Any]) -> Any:
    """The result of a function whose last arms were joined."""
    return unflatten(structure, [new.get(str(k), leaf) for k, leaf in enumerate(leaves)])


def check_apart(trace: Any, live: Any, outs: list[Any]) -> None:
    """Behind an arm two variables may be one tensor, or one may be an argument. Joined they are two: that may not be
    seen."""
    returned = {id(out._data.storage) for out in outs if isinstance(out, Tensor) and type(out._data) is TracedArray}
    seen = returned | {id(primal.storage) for primal in trace.primals}
    for one, other, since, key in live.aliases:
        written = {id(storage) for storage, _ in trace.written[since:]}
        if {id(one), id(other)} & written or (id(one) in returned and id(other) in seen):
            raise Unjoined(key)
