"""`Tree`: the paths that calls of one kind take through a function, and which of them a call takes.

A path is an entry with events (`live.py`). Its graph computes what the events are in a call. If one of them is not what
it was, the call leaves the path: an *exit*. Nothing has happened by then, because a path writes nothing before it is
known to be the right one, and generators are put back. What is known of the call so far chooses another path, and if
there is none, the function is traced with the values of this call.

Traces are spent like money: a function gets some to begin with, and earns more by calls that stay on their path. Calls
are timed, also some that run the function itself; where compiled ones take longer, the function runs as it is for a
while, and for twice as long if that does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback.aot._call.runtime import Exit, run
from pullback.aot._tree.clock import reading, seconds_since
from pullback.aot._tree.joins import Arms
from pullback.aot._tree.live import Place
from pullback.aot._tree.reasons import GivenUp, Reason
from pullback.aot._tree.selections import Selections

_TRACES = 24.0  # to begin with, and at most
_TRIAL = 12  # traces after which calls have to have found the paths of others
_EARNED = 1 / 64  # of a trace, by a call that stays on its path
_MOST_PATHS = 32
_CALLS = 32  # after so many it is asked whether compiled calls pay
_AGAIN = 4  # the same for a function that was slower before
_MOST_TRIES = 4  # paths that one call tries
_SAMPLES = 3  # calls of the function itself that are wanted for that
_KEPT = 8
_QUICK = 1.5e-6  # seconds that a call on a fast path is taken to need
_REST = 64
_SHORT = 3  # paths that have fast paths
_MOST_VALUES = 8  # different ones at one place, of which there are paths


class Tree:
    """What is known of the paths of one kind of calls."""

    def __init__(self) -> None:
        self._credit = _TRACES
        self._traces = 0
        self._seconds = 0.0  # that these took, with compiling
        self._gain: float | None = None  # seconds that a compiled call saves, as far as that is known
        self._short: list[Any] = []
        self._eager: list[float] = []  # seconds of calls of the function itself
        self._window: list[float] = []  # and of compiled ones, since it was last asked which is better
        self._rest = 0  # calls for which the function runs as it is
        self._rests = 0  # how often that was so
        self._wins = 0  # how often compiled calls were better
        self._quick = 0  # calls on fast paths when compiled ones were first timed
        self.arms = Arms()
        self.selections = Selections()
        self.exits = 0  # calls that left all paths
        self.calls = 0  # those that stayed on one
        self.slow = 0  # those without a fast path

    def is_short(self, entry: Any) -> bool:
        """Is this one of the paths that may be tried by a fast path? Each that is not the right one costs its time."""
        if entry not in self._short and len(self._short) < _SHORT:
            self._short.append(entry)
        return entry in self._short

    def may_trace(self, hits: int) -> bool:
        """Is there another trace to spend, after so many calls that found a path? Behind the first ones not if nearly
        every call took a way of its own, nor if that would cost more than a tenth of what compiled calls have saved."""
        if self._credit < 1 or self._traces < _TRIAL:
            return self._credit >= 1
        again = self.calls - self._traces  # calls on paths that were known
        cost = (self._traces - _TRIAL + 1) * self._seconds / self._traces
        return 2 * again >= self._traces and (self._gain is None or cost <= hits * self._gain / 10)

    def spend(self, traces: int = 1, seconds: float = 0.0) -> None:
        """A trace was made, or one that counts for several, and took so long."""
        self._credit -= traces
        self._traces += 1
        self._seconds += seconds

    # Which is faster?

    @property
    def is_slower(self) -> bool:
        """Does the function run as it is, because compiled calls take longer?"""
        return self._rest > 0

    def times(self) -> tuple[float | None, float | None]:
        """Seconds of calls of the function itself and of compiled ones, as far as they are known."""
        return _middle(self._eager), _mean(self._window)

    def runs_eagerly(self) -> bool:
        """Should this call run the function itself: because that is faster, or to see how long it takes?"""
        if self.rests():
            return True
        return len(self._window) == self._calls_wanted and len(self._eager) < _SAMPLES

    def rests(self) -> bool:
        """Does the function run as it is in this call, because that was faster?"""
        if not self._rest:
            return False
        self._rest -= 1
        return True

    @property
    def _calls_wanted(self) -> int:
        return _AGAIN if self._rests else _CALLS

    def timed_eagerly(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the function itself, and how long it took is noted."""
        start = reading()
        try:
            return function(*args, **kwargs)
        finally:
            self._eager = [*self._eager[1 - _KEPT :], seconds_since(start)]

    def timed(self, seconds: float, hits: int = 0) -> bool:
        """A compiled call, with all that it tried, took so long, and there were so many hits by then, those on fast
        paths included, which nobody times. Is the function itself better from now on?"""
        if not self._window:
            self._quick = hits - self.slow
        if len(self._window) < self._calls_wanted:
            self._window.append(seconds)
        if len(self._window) < self._calls_wanted or len(self._eager) < _SAMPLES:
            return False
        eager, _ = self.times()
        quick = max(0, hits - self.slow - self._quick)
        compiled = (sum(self._window) + quick * _QUICK) / (len(self._window) + quick)
        self._window = []
        self._gain = eager - compiled  # type: ignore[operator]
        if compiled <= eager:  # type: ignore[operator]
            self._rests = 0
            self._wins += 1
            if self._wins & (self._wins - 1) == 0:
                self._eager = []  # now and then it is measured again: first calls take longer
            return False
        self._rest = _REST << min(self._rests, 10)
        self._rests += 1
        self._eager = []  # to be measured again afterwards
        return True

    def stayed(self) -> None:
        """A call has found its path."""
        self.calls += 1
        self._credit = min(self._credit + _EARNED, _TRACES)


def _middle(seconds: list[float]) -> float | None:
    """The median: the first calls of a function may take much longer."""
    return sorted(seconds)[len(seconds) // 2] if seconds else None


def _mean(seconds: list[float]) -> float | None:
    return sum(seconds) / len(seconds) if seconds else None


LOST: Any = object()


def taken(entry: Any, others: Iterable[Any], leaves: list[Any]) -> Any:
    """The entry of the path that a call takes and its result, beginning with `entry`; None if there is no such path,
    and LOST if it is none of the first that it could be."""
    tried: list[tuple[Any, int]] = []  # paths that are not the one, and the first event that was another
    while True:
        result = run(entry, leaves)
        if type(result) is not Exit:
            return entry, result
        if result.position is None:
            return LOST
        tried.append((entry, result.position))
        entry = next((each for each in others if _is_possible(each, tried) and each.misfit(leaves) is None), None)
        if entry is None:
            return None
        if len(tried) == _MOST_TRIES:
            return LOST


def _is_possible(entry: Any, tried: list[tuple[Any, int]]) -> bool:
    """Can a call take this path that has left these? Up to where it left them it is told the same."""
    mine = getattr(entry, "labels", None)
    if mine is None:
        return False
    for other, position in tried:
        theirs = other.labels
        if entry is other or len(mine) <= position or mine[:position] != theirs[:position]:
            return False
        if mine[position] == theirs[position]:
            return False
    return True


def open_places(entries: Iterable[Any]) -> set[Place | None]:
    """The places where functions looked at so many different values that no more paths are made for others."""
    seen: dict[Place | None, set[Any]] = {}
    for entry in entries:
        for event, label in zip(entry.capture.events, entry.labels or (), strict=False):
            if type(label) is not bool:
                seen.setdefault(event.place, set()).add(label)
    return {place for place, labels in seen.items() if len(labels) >= _MOST_VALUES}


def describe_paths(entry: Any, entries: list[Any], tree: Tree | None, reasons: Iterable[GivenUp]) -> dict[str, Any]:
    """For `explain`: what the path of a call is told, what others were told there, and why calls run in Python."""
    others = [each for each in entries if each.labels is not None]
    events = []
    for number, event in enumerate(entry.capture.events):
        before = entry.labels[:number]
        seen = [each.labels[number] for each in others if len(each.labels) > number and each.labels[:number] == before]
        texts = sorted({repr(each) if type(each) is bool else "another value" for each in seen})
        events.append({**_described(event), "seen": texts})
    eager, compiled = (None, None) if tree is None else tree.times()
    found = [{"reason": each.reason.value, "location": each.location, "text": each.text} for each in reasons]
    if tree is not None and tree.is_slower:
        found.append({"reason": Reason.SLOWER.value, "location": "", "text": "compiled calls took longer"})
    return {
        "paths": {
            "events": events, "joined": list(map(_described, entry.capture.joined)),
            "paths": len(others), "loops": _loops_in(entry.graph),
            "calls": 0 if tree is None else tree.calls, "exits": 0 if tree is None else tree.exits,
            "eager_seconds": eager, "compiled_seconds": compiled,
        },
        "reasons": found,
    }  # fmt: skip


def _described(event: Any) -> dict[str, Any]:
    file, line, function = event.place or ("", 0, "")
    return {"file": file, "line": line, "function": function, "what": event.what, "outcome": event.outcome}


def _loops_in(graph: Any) -> int:
    return sum(node.op in ("scan", "while_loop") for node in graph.nodes)


def too_many(entries: list[Any]) -> int:
    """How many paths have to go before there may be another one."""
    return max(0, sum(getattr(entry, "labels", None) is not None for entry in entries) + 1 - _MOST_PATHS)
