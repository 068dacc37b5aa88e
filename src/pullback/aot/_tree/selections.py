"""Paths that differ only in how many elements masks select, and that become one.

A path through a function that selects elements by a mask (`x[m]`, `y[m] = ...`, `nonzero(m)`) is for one number of
elements. Two such paths of one function show which numbers in their graphs come from that length: those that differ.
Then both are written as one, in which selections are whole arrays (`whole_arrays.py`). Where that cannot be, they stay.
"""

from __future__ import annotations

from typing import Any

from pullback.aot._tree.lengths import LENGTH
from pullback.aot._tree.whole_arrays import LABEL, Refused, Whole, same

_MOST_KEPT = 4  # paths that others are compared with


class Selections:
    """The last paths of one kind of calls in which masks were searched."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def joined(self, captured: Any) -> Any:
        """The capture of one path for any number of selected elements, if another one shows how; else the capture."""
        lengths = [event for event in captured.events if event.what == LENGTH]
        if not lengths or captured.looks_at_lengths or captured.has_own_formulas or captured.flat is not None:
            return captured
        for other in self._kept:
            if _is_alike(other, captured):
                try:
                    return Whole(other, captured).captured()
                except Refused:
                    continue
        self._kept = [captured, *self._kept[: _MOST_KEPT - 1]]
        return captured


def is_part_of(entry: Any, captured: Any) -> bool:
    """Is an entry for some of the calls that this capture is for?"""
    mine, theirs = captured.events, getattr(getattr(entry, "capture", None), "events", ())  # some calls run eagerly
    return any(event.label == LABEL for event in mine) and len(mine) == len(theirs) and all(
        a.label in (LABEL, b.label) and a.what == b.what for a, b in zip(mine, theirs, strict=True)
    )  # fmt: skip


def _is_alike(one: Any, other: Any) -> bool:
    """Do two captures differ in nothing that is known outside of their graphs, but for lengths?"""
    if len(one.events) != len(other.events) or len(one.graph.nodes) != len(other.graph.nodes):
        return False
    for a, b in zip(one.events, other.events, strict=True):
        if a.what != b.what or a.place != b.place or (a.what != LENGTH and (a.label != b.label)):
            return False
    captures = all(
        same(getattr(one, name), getattr(other, name))
        for name in ("out_tree", "num_forward_outputs", "is_training", "groups", "members", "inputs_read_later",
                     "inputs_read_live", "outputs_read_later", "literals", "taken", "unused_numbers")
    )  # fmt: skip
    metas = all(
        same(getattr(one.meta, name), getattr(other.meta, name))
        for name in ("input_info", "output_info", "traced_tangents_descs", "traced_tangent_metas", "gradient_sources",
                     "effect_sources", "backward_writes", "base_introduced_by", "leaf_bases")
    )  # fmt: skip
    return (
        captures and metas and len(one.effects) == len(other.effects) and len(one.joined) == len(other.joined)
        and one.numbers.signature() == other.numbers.signature() and not any(p.has_moved() for p in one.places)
        and not one.stops.hidden and not other.stops.hidden
    )  # fmt: skip
