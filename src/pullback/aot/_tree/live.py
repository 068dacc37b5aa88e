"""`Live`: a trace that has the real arguments answers a function that asks for values.

Where the function asks for one (`if t > 0`, `t.item()`), what was recorded so far is computed with the arguments of the
call, each node at most once, and the function goes on with the answer. What it was told is an *event*: the truth of a
value of the graph. A capture with events is one *path* through the function, and is for those calls in which every
event has the outcome that it had here. The outcomes of a call are computed by its graph, as the first output, and
compared before anything of the caller's is changed (`paths.py`). So nothing that the function was told is a constant.

    if x.sum() > 0:                     %1: f64[] = sum(%0)
        return x * 2                    %2: b1[] = greater(%1, 0)           an event, which was True
    return -x                           %3: b1[1] = _stack(%2)              the outcomes
                                        %4: f64[3] = multiply(%0, 2)

Arguments are only read, since a trace has no writes. Draws are drawn in the order of the program; when the trace ends
the generators are put back to where they were, because the compiled call that follows draws again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.aot._trace.higher import is_repeatable
from pullback.aot._tree.effects import Effects
from pullback.aot._tree.instructions import Counters
from pullback.aot._tree.joins import CONDITION, Arms, Pending, Pinned, Unjoined, joined, put, with_results
from pullback.aot._tree.lengths import LENGTH, Lengths
from pullback.aot._tree.loops import Loop, begins_here, found_loop, make, taken_into_graph
from pullback.aot._tree.sights import Sight, ending, sight
from pullback.aot._tree.state import Visit, asking, visit
from pullback.core.frames import user_place
from pullback.core.records import Record
from pullback.core.state import NORMAL, current, put_in_force
from pullback.declare.op import Op, registry
from pullback.errors import ConcretizationError
from pullback.graph.interpret import run_node
from pullback.graph.ir import BACKWARD, FORWARD, Node, Value, type_of
from pullback.operators.random.draws import numpy_generator
from pullback.payloads.evaluate import evaluate
from pullback.payloads.traced import TracedArray, traced_constant

Place = tuple[str, int, str]
_MOST_ELEMENTS = 64  # of an array of which a path is for the very values
MOST_EVENTS = 4096  # of one path


class Event(Record, frozen=True):
    """Something that a function was told: whether a value of the graph is true."""

    outcome: bool
    label: Any  # the outcome, or the values that the path is for
    place: Place | None  # file, line and function
    what: str  # was asked for


class Abandoned(BaseException):
    """The function has raised behind an event, or evaluating a node has. Eager code raises then as well, perhaps at
    another line, where somebody may catch it, and has done before what comes before: the function itself runs. Not an
    Exception, so that the traced function does not catch it."""


class Live:
    """The values of one trace, as far as they were asked for."""

    def __init__(self, trace: Any, arrays: Callable[[], Iterator[tuple[Value, Any]]], is_open_at: Any) -> None:
        self._trace = trace
        self._arrays = arrays  # the inputs of the graph so far, with what the caller gave
        self._is_open_at = is_open_at  # has a place had too many different values?
        self._known: dict[Value, Any] = {}
        self._drawn = 0  # nodes up to which everything was drawn
        self._states: dict[int, tuple[Any, Any]] = {}  # of generators, before anything was drawn
        self.events: list[Event] = []
        self.conditions: list[Value] = []  # of the events
        self.visits: list[Visit | None] = []  # where the program stood then, if that decided a jump
        self.counters = Counters()
        # Where the program stood at every decision, how many events there were before, and whether it is one.
        self.sights: list[tuple[Sight | None, int, bool]] = []
        self.arms: Arms | None = None  # those that are known
        # Storages that are one behind an arm, and two once it is joined; since when, and which decision that was.
        self.aliases: list[tuple[Any, Any, int, Any]] = []
        self.joined: list[Event] = []  # decisions that are part of the graph
        self._pending: list[Pending] = []
        self._changing: set[Value] = set()  # numbers that were taken into the graph
        self.loops: dict[int, Loop] = {}  # to be made, by event
        self.effects = Effects(trace)
        self.lengths = Lengths(trace, self)
        self.taker: Any = None  # makes numbers of what is taken out of tensors

    def answered(self, array: TracedArray, into: str) -> np.ndarray[Any, Any] | None:
        """The values of an array that are about to become `into`; None if they cannot be had."""
        if self._trace.tag is BACKWARD or into == "a pickle" or len(self.events) >= MOST_EVENTS:
            return None
        found = self.value_of(array.value)
        if found is None:
            return None
        if into == "a truth value":
            if found.size == 1:
                return np.full(found.shape, self.decided(truth_of(array), into))
        elif not self.fixed(array, found, into):
            return None
        answer: np.ndarray[Any, Any] = found.copy()
        answer.flags.writeable = False  # what is written to it would be written to nobody's memory
        return answer

    def taken(self, array: TracedArray, is_numpys: bool = False) -> Any:
        """The only element of an array as a number of the graph, Python's or NumPy's; None if it cannot be one."""
        is_number = array.dtype.kind in "bif" or (array.dtype.kind == "u" and array.itemsize < 8)
        if self._trace.tag is BACKWARD or len(self.events) >= MOST_EVENTS or not is_number:
            return None
        found = self.value_of(array.value)
        if found is None:
            return None
        own = array.pinned().detached
        if own.ndim:
            own = _made("_reshape", own, shape=())
        wide = np.dtype(bool if own.dtype == bool else np.float64 if own.dtype.kind == "f" else np.int64)
        if own.dtype != wide:
            own = _made("_astype", own, dtype=wide)
        return self.taker.number(own, found.reshape(())[()] if is_numpys else found.item(), "a number of a tensor")

    def with_lengths(self, op: Op, operands: Any, params: dict[str, Any]) -> tuple[Op, dict[str, Any]] | None:
        """An operator that finds as many elements as values say, as one that finds as many as in this call: how many
        there are is an event. None if that cannot be known."""
        if op.counted is None or self._trace.tag is BACKWARD:
            return None
        counted = _counted(operands[0])
        found = self.value_of(counted.value)
        if found is None or not self.fixed(counted, found, LENGTH):
            return None
        self.lengths.note(operands[0], int(found))
        return registry[op.counted], {**params, "count": int(found)}

    def counted_number(self, mask: TracedArray, count: int) -> Any:
        """How many elements a mask selects, as a number of the graph; in this call there are so many."""
        return self.taker.number(_counted(mask), count, "a length")

    def decided(self, condition: TracedArray, what: str, rolls: bool = True) -> bool:
        """Is a truth value of the graph true? The path is for calls in which it is what it is now. If a loop begins
        here, what is it behind the loop?"""
        if self._trace.tag is BACKWARD:  # outcomes are known before the backward half runs
            raise condition.refused(what)
        if rolls and self.arms is not None and self.arms.changing:
            self._take_changing(self.arms.changing)
        found = sight(self._trace, self, condition.value) if rolls and self.arms is not None else None
        if found is not None:
            found, condition = self._joined(found, condition)
        pair = None if found is None or self.arms is None else self.arms.pair(found)
        if found is not None:
            self.sights.append((found, len(self.events), pair is None))
        if found is not None and pair is not None:
            self._pending.append(Pending(found, pair, self._trace.tensor_of(condition), len(self.events)))
            outcome = bool(self.value_of(condition.value))
            self.joined.append(Event(outcome, outcome, user_place(), what))
            return outcome
        loop = self.loops.get(len(self.events)) if rolls else None
        if loop is not None and begins_here(loop):
            del self.loops[len(self.events)]
            return make(loop, self._trace, self, self.counters, condition)
        outcome = bool(self.value_of(condition.value))
        if found is not None and self._pending:
            raise Unjoined(self._pending[-1].sight.key)
        seen = visit(self._trace, self.counters) if rolls and self.taker is not None else None
        self._note(condition, outcome, outcome, user_place(), what, seen)
        return outcome

    def _take_changing(self, changing: dict[Any, set[str]]) -> None:
        """Let numbers that change in the loop that the program is in be numbers of the graph."""
        asks = asking(self._trace, self.counters)
        names = None if asks is None else changing.get((asks[0].f_code, asks[0].f_lasti))
        if asks is not None and names:
            self._changing.update(taken_into_graph(asks[0], names, self._trace, self.taker))

    def _joined(self, found: Sight, condition: TracedArray) -> tuple[Sight | None, TracedArray]:
        """Join the arms that end where the program stands; then it stands there with other variables."""
        while self._pending and self._pending[-1].ends_at(found):
            new = joined(self._trace, self, self._pending.pop(), found)
            put(found.frame, new)
            condition = new[CONDITION]._data
            again = sight(self._trace, self, condition.value)
            if again is None:
                return None, condition
            found = again
        return found, condition

    def ended(self, result: Any, caller: Any = None, code: Any = None) -> Any:
        """A function has returned this. If arms end here, they are joined: the result then."""
        if self.arms is None or not self._trace.is_open or current().trace is not self._trace:
            return result
        found, leaves, structure = ending(self._trace, self, result, caller, code)
        while found is not None and self._pending and self._pending[-1].ends_at(found):
            pending = self._pending.pop()
            result = with_results(leaves, structure, joined(self._trace, self, pending, found))
            found, leaves, structure = ending(self._trace, self, result, caller, code)
        if self._pending and (caller is None or self._pending[-1].sight.caller is caller):
            raise Unjoined(self._pending[-1].sight.key)
        if caller is None or (self.sights and self.sights[-1][0] is not None):
            self.sights.append((found, len(self.events), False))
        return result

    def _note(self, condition: TracedArray, outcome: bool, label: Any, place: Place | None, what: str,
              seen: Visit | None = None) -> None:  # fmt: skip
        self.visits.append(seen)
        self.events.append(Event(outcome, label, place, what))
        self.conditions.append(condition.value)

    def fixed(self, array: TracedArray, values: np.ndarray[Any, Any], what: str) -> bool:
        """Let the path be for calls in which an array has these values. Is that possible?"""
        if self._changing and _depends(array.value, self._changing):
            raise Pinned
        place = user_place()
        most = _MOST_ELEMENTS if values.dtype.kind in "biu" else 1  # numbers with a fraction do not come twice
        if values.size > most or values.dtype.kind not in "biuf" or self._is_open_at(place):
            return False
        if self._trace.tag is BACKWARD:  # outcomes are known before the backward half runs
            return False
        self._note(same_bits(array, values), True, values.tobytes(), place, what)
        return True

    # Evaluating.

    def value_of(self, wanted: Value) -> Any:
        """What a value of the graph is in this call; None if something would have to happen for it."""
        if wanted not in self._known:
            nodes = self._trace.graph.nodes
            for node in nodes[self._drawn :]:
                if node.effect is not None and not is_repeatable(node):
                    return None
            modes = current()
            put_in_force(NORMAL)  # where nothing is traced
            try:
                with np.errstate(all="ignore"):
                    for node in nodes[self._drawn :]:
                        if node.effect == "random":  # in the order of the program, whoever is asked first
                            self._compute(node.results[0])
                    self._drawn = len(nodes)
                    self._compute(wanted)
            finally:
                put_in_force(modes)
        return self._known[wanted]

    def _compute(self, wanted: Value) -> None:
        known = self._known
        for value, array in self._arrays():
            known.setdefault(value, array)
        waiting = [wanted]
        while waiting:
            value = waiting[-1]
            if value in known:
                waiting.pop()
                continue
            node = value.node
            assert node is not None  # inputs are known
            missing = [x for x in node.inputs if x not in known]
            if missing:
                waiting += missing
                continue
            self._run(node)
            waiting.pop()

    def _run(self, node: Node) -> None:
        if node.effect == "random":
            self._keep_state(numpy_generator(node.attrs["generator"]))
        try:
            made = run_node(node, [self._known[x] if type(x) is Value else x for x in node.operands])
        except Exception as error:
            raise Abandoned from error
        self._known.update(zip(node.results, made, strict=True))

    def _keep_state(self, generator: Any) -> None:
        self._states.setdefault(id(generator), (generator, generator.bit_generator.state))

    def rewind(self) -> None:
        """Put generators back: the compiled call that follows draws again."""
        for generator, state in self._states.values():
            generator.bit_generator.state = state

    def close(self) -> None:
        """Put generators back, and let go of the values."""
        self.rewind()
        self._states.clear()
        self._known.clear()
        self.visits.clear()
        self.sights.clear()
        self._pending.clear()
        self.counters.close()

    # The end of the trace.

    def found_loop(self, first: int) -> Loop | None:
        """A loop among the events, from number `first` on."""
        return found_loop(self._trace, self.visits, first, self)

    def outcomes(self) -> Value | None:
        """One value of the graph for the outcomes of all events; None if there were none."""
        if not self.events:
            return None
        for node in self._trace.graph.nodes:
            if node.effect is not None and not is_repeatable(node):
                raise ConcretizationError(
                    f"a value is wanted in a function that calls {node.op}, which has an effect",
                    location=_written(self.events[0].place),
                    why="the effect could not be taken back in a call in which the value is another one",
                    fix="call the operator outside of the compiled function, or use pb.where or pb.cond",
                )
        kind = type_of(np.empty(len(self.events), bool))
        return self._trace.graph.add(registry["_stack"], self.conditions, {"axis": 0}, [kind], FORWARD).result


def _depends(value: Value, sources: set[Value]) -> bool:
    """Is a value computed of one of these?"""
    waiting, met = [value], set()
    while waiting:
        value = waiting.pop()
        if value in sources:
            return True
        if value not in met and value.node is not None:
            waiting += value.node.inputs
        met.add(value)
    return False


def _counted(mask: TracedArray) -> TracedArray:
    return _made("count_nonzero", mask, axis=tuple(range(mask.ndim)), keepdims=False)


def truth_of(array: TracedArray) -> TracedArray:
    """The truth of an array with one element."""
    if array.dtype != bool:
        array = _made("not_equal", array, 0)
    return _made("_reshape", array, shape=()) if array.ndim else array


def same_bits(array: TracedArray, values: np.ndarray[Any, Any]) -> TracedArray:
    """Does an array have these values? NaN is NaN, and 0.0 is not -0.0."""
    is_same = _made("equal", array, _constant(array, values))
    if values.dtype.kind == "f":
        nan = np.isnan(values)
        if nan.any():
            is_nan = _made("logical_and", _made("isnan", array), _constant(array, nan))
            is_same = _made("logical_or", is_same, is_nan)
        if (values == 0).any():
            signs = _made("equal", _made("signbit", array), _constant(array, np.signbit(values)))
            is_same = _both(is_same, _made("logical_or", signs, _constant(array, nan)))
    return _made("all", is_same, axis=tuple(range(array.ndim)), keepdims=False) if array.ndim else is_same


def _both(one: TracedArray, other: TracedArray) -> TracedArray:
    return _made("logical_and", one, other)


def _constant(array: TracedArray, values: Any) -> TracedArray:
    return traced_constant(array.recorder, np.array(values))


def _made(name: str, *operands: Any, **params: Any) -> TracedArray:
    made: TracedArray = evaluate(registry[name], operands, params)
    return made


def _written(place: Place | None) -> str:
    return "" if place is None else f"{place[0]}, line {place[1]}, in {place[2]}"

