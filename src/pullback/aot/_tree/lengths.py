"""Lengths that values decide, in a live trace: how many elements a mask selects.

In a trace `x[m]` has as many elements as in this call, and that it has so many is an event. What the program asks about
that length (`len(x[m])`, `.shape`, `.size`) is answered with a number of the graph, so that nothing it does depends on
the length without being seen. Where that cannot be, because nobody can say what a length comes from, it is noted that
the program has looked. If it has not, `selections.py` can make one path of those for different lengths.
"""

from __future__ import annotations

import builtins
from typing import Any

from pullback.graph.ir import Node, Value
from pullback.payloads.traced import TracedArray

_SAME_LENGTH = ("elementwise", "casts")  # flows of operators whose results have the lengths of their operands
_UNKNOWN: Any = object()
LENGTH = "how many elements a mask selects"
"""What an event is about that says how many elements there are."""


class Lengths:
    """The arrays of one trace that have as many rows as a mask selects."""

    def __init__(self, trace: Any, live: Any) -> None:
        self._trace, self._live = trace, live
        self._masks: dict[Value, tuple[Any, int]] = {}  # by result of a search: the mask, and how many there were
        self._rows: dict[Value, Any] = {}  # the mask that says how many rows a value has
        self._scanned = 0  # nodes
        self.is_looked_at = False  # the program may depend on a length without being seen

    def note(self, mask: TracedArray, count: int) -> None:
        """A search of this mask is recorded next, and finds so many."""
        self._masks[mask.value] = mask.pinned().detached, count

    def len(self, x: Any) -> Any:
        """What `len` is in the user's code."""
        payload = getattr(x, "_data", None)
        if type(payload) is not TracedArray or not payload.ndim:
            return builtins.len(x)
        return self.shown(payload)[0]

    def shown(self, array: TracedArray) -> tuple[Any, ...]:
        """The shape of an array as the code that is traced sees it."""
        shape = array.shape
        if not self._masks or not shape or array.storage.trace is not self._trace:
            return shape
        self._scan()
        mask = self._rows.get(array.value)
        counts = {count for _, count in self._masks.values()}
        if mask is None and not counts.intersection(shape):
            return shape
        if mask is None or mask is _UNKNOWN or counts.intersection(shape[1:]):
            self.is_looked_at = True
            return shape
        searched, count = self._masks[mask]
        return (self._live.counted_number(searched, count), *shape[1:])

    def _scan(self) -> None:
        nodes = self._trace.graph.nodes
        for node in nodes[self._scanned :]:
            rows = self._rows_of(node)
            if rows is not None:
                self._rows.update({value: rows for value in node.results if value.type.ndim})
        self._scanned = len(nodes)

    def _rows_of(self, node: Node) -> Any:
        """The mask that says how many rows the results have; None if that is known otherwise."""
        if node.op == "_first_nonzero":
            return node.operands[0] if node.operands[0] in self._masks else _UNKNOWN
        given = [self._rows.get(x) for x in node.inputs]
        if not any(mask is not None for mask in given):
            return None
        places = given[1:]
        if node.op == "_index" and places and node.attrs["template"] == ("array",) * len(places):
            return places[0] if len({*places}) == 1 and places[0] is not None else _UNKNOWN
        if node.op == "_index_add" or (node.op == "_index_put" and given[0] is None):
            return None
        found = {mask for mask in given if mask is not None}
        if node.target is None or len(found) > 1:
            return _UNKNOWN
        (mask,) = found
        flow = node.target.flow
        if flow == "reduces" and 0 in node.attrs["axis"] and not node.attrs.get("keepdims"):
            return None
        operands = [x for x in node.inputs if x in self._rows]
        is_like_rows = all(x.type.ndim == node.results[0].type.ndim for x in operands)
        return mask if flow in _SAME_LENGTH and is_like_rows else _UNKNOWN
