"""`pb.profile`: when each operation began and ended, and on which line of yours it was asked for.

Operations go the ways that they go without it. An event is kept as the few things that are at hand when it ends; what
is inside of what, whose time is whose, and every text are found when somebody looks.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from pullback.autograd.profiler import record_function
from pullback.graph.ir import array_type
from pullback.graph.text.literals import type_text
from pullback.graph.text.style import in_bytes
from pullback.pictures.charts import timeline
from pullback.pictures.picture import Picture, columns, for_stream
from pullback.pictures.watching import Block, shown, user_place
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor

_KINDS = {
    "forward": "fw", "backward": "bw", "compiled": "leaf", "compile": "custom", "hook": "write", "user": "input",
    "gc": "released",
}  # fmt: skip
_SORTS = ("self", "total", "count")


class Event(NamedTuple):
    """Something that ran. Times are microseconds, `start` from the beginning of the profile."""

    kind: str
    name: str
    start: float
    duration: float
    own: float  # without what ran inside of it
    thread: int
    depth: int
    line: str
    range: str  # the innermost range of the user's around it
    shapes: str
    seq: int  # that forward and backward of one operation share; -1 if nothing was recorded
    bytes: int


class profile(Block):
    """Record what runs in a block: operators, backward nodes, hooks, compilation, garbage collection, your own ranges.

    >>> x = pb.ones(1000, requires_grad=True)
    >>> with pb.profile() as p:
    ...     with pb.profile.range("loss"):
    ...         loss = (pb.sin(x) * x).sum()
    ...     loss.backward()
    >>> [event.name for event in p.events if event.kind == "forward"]
    ['sin', 'multiply', 'sum']

    `print(p.table())` has the sums, `p.save("trace.json")` writes what Perfetto and Chrome read, and `p.show()` draws
    the line of time. `lines` and `shapes` say whether the line and the shapes of operands are recorded; `memory`
    records the bytes of results. The block is seen in its thread, and in threads that run in a copy of its context.
    """

    range = record_function

    def __init__(self, *, shapes: bool = True, lines: bool = True, memory: bool = False) -> None:
        super().__init__()
        self.shapes = shapes
        self.lines = lines
        self.memory = memory
        self._raw: list[Any] = []
        self._events: list[Event] | None = None
        self._began = self._ended = perf_counter_ns()
        self._collecting: Any = None

    def started(self) -> None:
        """The block begins."""
        gc.callbacks.append(self._collected)
        self._raw.clear()
        self._events = None
        self._began = perf_counter_ns()

    def stopped(self) -> None:
        """The block ends."""
        self._ended = perf_counter_ns()
        gc.callbacks.remove(self._collected)

    # What is told while the program runs.

    def begin(self, kind: str, name: str, operands: tuple[Any, ...] = ()) -> Any:
        """Somebody tells that something begins."""
        specs = [x._spec for x in operands if type(x) is Tensor] if self.shapes and operands else None
        return kind, name, specs, perf_counter_ns()

    def end(self, mark: Any, subject: Any) -> None:
        """And that it has ended."""
        now = perf_counter_ns()
        nbytes = 0
        seq = -1
        if subject is not None:
            if isinstance(subject, Node):
                seq = subject.seq
            else:
                first = subject[0] if type(subject) is tuple and subject else subject
                if type(first) is Tensor:
                    node = first._node
                    if isinstance(node, Node):
                        seq = node.seq
                    if self.memory:
                        nbytes = getattr(first._data, "nbytes", 0)
        line = user_place(2) if self.lines else None
        self._raw.append((mark, now, get_ident(), line, seq, nbytes))

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = ("gc", f"generation {info['generation']}", None, perf_counter_ns())
        elif self._collecting is not None:
            self._raw.append((self._collecting, perf_counter_ns(), get_ident(), None, -1, 0))
            self._collecting = None

    # Looking at it.

    @property
    def span(self) -> float:
        """How long the block took, in microseconds."""
        return (self._ended - self._began) / 1e3

    @property
    def events(self) -> list[Event]:
        """What ran, in the order in which it began."""
        if self._events is None:
            self._events = _arranged(self._raw, self._began)
        return self._events

    def totals(self, by: str = "op", sort: str = "self") -> list[dict[str, Any]]:
        """Sums by operator ("op"), by line of your program ("line") or by range ("range"), the largest first.

        `self` is the time without what ran inside, `total` with it, both in microseconds. The last row is the time in
        which no event ran: that of your own Python, in the thread that was profiled.
        """
        keys: dict[str, Callable[[Event], tuple[str, str]]] = {
            "op": lambda event: (event.name, event.kind),
            "line": lambda event: (event.line, ""),
            "range": lambda event: (event.range or "(no range)", ""),
        }
        if by not in keys:
            raise ValueError(f"by is one of {', '.join(map(repr, keys))}, got {by!r}")
        if sort not in _SORTS:
            raise ValueError(f"sort is one of {', '.join(map(repr, _SORTS))}, got {sort!r}")
        found: dict[tuple[str, str], dict[str, Any]] = {}
        inside = 0.0
        for event in self.events:
            name, kind = keys[by](event)
            row = found.setdefault((name, kind), {"name": name, "kind": kind, "count": 0, "self": 0.0, "total": 0.0})
            row["count"] += 1
            row["self"] += event.own
            row["total"] += event.duration
            inside += event.own
        rows = sorted(found.values(), key=lambda row: -row[sort])
        rest = max(self.span - inside, 0.0)
        return [*rows, {"name": "(outside of all events)", "kind": "", "count": 1, "self": rest, "total": rest}]

    def table(self, by: str = "op", sort: str = "self", rows: int = 20) -> str:
        """The sums as a table of at most so many rows."""
        return for_stream("\n".join(self._table(by, sort, rows)))

    def _table(self, by: str, sort: str, most: int) -> list[str]:
        found = self.totals(by, sort)
        head = [("self ms", "%", "total ms", "count", by, "")]
        body = [
            (f"{row['self'] / 1e3:.3f}", f"{100 * row['self'] / (self.span or 1):.1f}", f"{row['total'] / 1e3:.3f}",
             row["count"], row["name"], row["kind"])
            for row in (*found[:-1][:most], found[-1])
        ]  # fmt: skip
        left = len(found) - 1 - most
        return columns(head + body, {0, 1, 2, 3}) + ([f"… {left} more rows"] if left > 0 else [])

    def to_chrome(self) -> dict[str, Any]:
        """The events as Chrome's trace viewer and Perfetto read them."""
        pid = os.getpid()
        events: list[dict[str, Any]] = []
        forward: dict[int, Event] = {}
        for event in self.events:
            details = {"line": event.line, "shapes": event.shapes, "seq": event.seq, "bytes": event.bytes}
            events.append({
                "name": event.name, "cat": event.kind, "ph": "X", "ts": event.start, "dur": event.duration,
                "pid": pid, "tid": event.thread, "args": {k: v for k, v in details.items() if v not in ("", -1, 0)},
            })  # fmt: skip
            if event.seq >= 0 and event.kind in ("forward", "compiled"):
                forward[event.seq] = event
            elif event.kind == "backward" and event.seq in forward:
                for phase, end in (("s", forward[event.seq]), ("f", event)):
                    arrow = {"name": "backward", "cat": "flow", "ph": phase, "id": event.seq, "pid": pid}
                    arrow |= {"ts": end.start, "tid": end.thread} | ({"bp": "e"} if phase == "f" else {})
                    events.append(arrow)
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the events for Perfetto or Chrome (`.json`), or the picture (`.html`, `.svg`, `.txt`)."""
        if not os.fspath(path).endswith(".json"):
            self.show().save(path)
            return
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_chrome(), file)

    def show(self, theme: str = "auto") -> Picture:
        """The line of time, a row for each thread, and the tables."""
        events = self.events
        bars: dict[int, list[tuple[float, float, int, str, str]]] = {}
        for event in events:
            text = f"{event.name}, {event.kind}" + (f", {event.line}" if event.line not in ("", "?") else "")
            bars.setdefault(event.thread, []).append(
                (event.start, event.duration, event.depth, _KINDS.get(event.kind, "fw"), text)
            )
        rows = [(f"thread {number}", found) for number, found in enumerate(bars.values(), start=1)]
        tables = [
            (f"By {by}", (by, "kind", "count", "self ms", "total ms"),
             [(r["name"], r["kind"], r["count"], round(r["self"] / 1e3, 4), round(r["total"] / 1e3, 4))
              for r in self.totals(by)])
            for by in ("op", "line", "range")
        ]  # fmt: skip
        nbytes = sum(event.bytes for event in events)
        title = f"profile: {len(events)} events in {self.span / 1e3:.2f} ms"
        title += f", results of {in_bytes(nbytes)}" if nbytes else ""
        data = {"span": self.span, "events": [event._asdict() for event in events], "totals": self.totals()}
        lines = ["", *self._table("op", "self", 12), "", *self._table("line", "self", 12)]
        drawing = timeline(rows, self.span)
        return Picture("profile", title, data, lambda width: lines, drawing=drawing, tables=tables, theme=theme)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.show()._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"<profile of {len(self._raw)} events>"


def _arranged(raw: list[Any], began: int) -> list[Event]:
    """The events with what is inside of what: events of a thread contain each other or are apart."""
    # Of two that begin at once the outer one ends later, and comes first.
    order = sorted(raw, key=lambda item: (item[2], item[0][3], -item[1]))
    found: list[list[Any]] = []
    around: list[tuple[list[Any], int, str]] = []  # the events that are open, with their end and the range inside
    thread = None
    for mark, end, ident, line, seq, nbytes in order:
        kind, name, specs, start = mark
        if ident != thread:
            around, thread = [], ident
        while around and around[-1][1] <= start:
            around.pop()
        duration = (end - start) / 1e3
        if around:
            around[-1][0][4] -= duration
        within = around[-1][2] if around else ""
        shapes = " ".join(type_text(array_type(spec.shape, spec.dtype)) for spec in specs or ())
        place = "" if line is None else shown(line)
        entry = [
            kind, name, (start - began) / 1e3, duration, duration, ident, len(around), place, within, shapes, seq,
            nbytes,
        ]  # fmt: skip
        around.append((entry, end, name if kind == "user" else within))
        found.append(entry)
    return sorted((Event(*entry) for entry in found), key=lambda event: (event.start, -event.duration))
