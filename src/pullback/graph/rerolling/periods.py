"""Where a list of labels repeats itself: stretches [start, stop) in which every label stands again `period` further on.

Candidates for periods are the distances from one occurrence of a few labels in a row to the next. There are few of
them, and for each the list is compared with itself once, so the work is linear in the length of the list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]

_WINDOW = 6  # labels in a row that are looked for again
_MOST_PERIODS = 128


class Stretch(NamedTuple):
    """A part of the list that repeats itself."""

    start: int
    stop: int
    period: int

    @property
    def length(self) -> int:
        """The number of labels."""
        return self.stop - self.start


def find_stretches(labels: Ints, repeats: int, nodes: int) -> list[Stretch]:
    """All stretches of at least so many repetitions and labels, the longest first; of equal ones the shorter period."""
    found = []
    for period in _candidates(labels, repeats):
        same = np.concatenate(([False], labels[:-period] == labels[period:], [False]))
        edges = np.flatnonzero(np.diff(same.astype(np.int8)))
        starts, stops = edges[::2], edges[1::2] + period
        long = stops - starts >= max(nodes, repeats * period)
        found += [
            Stretch(start, stop, period)
            for start, stop in zip(starts[long].tolist(), stops[long].tolist(), strict=True)
        ]
    # A longer stretch is worth more only if it is longer by more than the ragged ends of a repetition.
    return sorted(found, key=lambda stretch: (2 * stretch.period - stretch.length, stretch.period))


def _candidates(labels: Ints, repeats: int) -> list[int]:
    """Distances that occur often enough, the most frequent first."""
    count = len(labels) - _WINDOW + 1
    if count < 2:
        return []
    hashed = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for shift in range(_WINDOW):
            hashed = hashed * np.uint64(0x9E3779B97F4A7C15) + labels[shift : shift + count].astype(np.uint64)
    order = np.argsort(hashed, kind="stable")
    again = hashed[order[1:]] == hashed[order[:-1]]
    distances, counts = np.unique((order[1:] - order[:-1])[again], return_counts=True)
    often = counts >= repeats - 1
    ranked = np.argsort(-counts[often], kind="stable")[:_MOST_PERIODS]
    return [int(period) for period in distances[often][ranked]]
