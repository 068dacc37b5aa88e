"""`feed_of`: a sequence of values, one for each repetition of a loop, as slices of one array.

| the values are                                        | the array                                  |
|-------------------------------------------------------|--------------------------------------------|
| `x[3]`, `x[4]`, `x[5]`, ... or backwards, of one `x`  | `x`                                        |
| results of one node of another loop, in turn          | what that loop collects of it              |
| constants                                             | all of them, stacked                       |
| equal views of such values                            | the same; the views are taken in the loop  |

Where only some of the values are like that, the loop has to do with the repetitions that read these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.graph.ir import Node
from pullback.graph.rerolling.regions import Fixed, Own, Region
from pullback.graph.rerolling.table import ROW, VALUE, Ints, Table


class RowsOf(NamedTuple):
    """Element `first + slope * turn` of value `base`, at part `place` of the index of `node`."""

    base: int
    node: Node
    place: int
    first: int
    slope: int


class CollectedBy(NamedTuple):
    """Result `own` of repetition `first + slope * turn` of another region."""

    region: Region
    own: Own
    first: int
    slope: int


class Stacked(NamedTuple):
    """Numbers or constants, by their symbols."""

    symbols: tuple[int, ...]
    node: Node


Origin = RowsOf | CollectedBy | Stacked | Fixed


class Feed(NamedTuple):
    """Where a sequence comes from, the views that are taken of each value, and for which repetitions that holds."""

    origin: Origin
    views: tuple[Node, ...]  # the last is taken first
    first: int
    stop: int


class Homes:
    """Which region a node belongs to."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.regions: list[Region] = []
        self.number: Ints = np.full(len(table.nodes), -1, np.int64)

    def add(self, region: Region) -> None:
        """One more region."""
        self.number[region.start : region.stop] = len(self.regions)
        self.regions.append(region)

    def of_value(self, value: int) -> Region | None:
        """The region that makes a value."""
        maker = int(self.table.maker[value])
        number = int(self.number[maker]) if maker >= 0 else -1
        return None if number < 0 else self.regions[number]


def feed_of(homes: Homes, values: Ints) -> Feed | None:
    """The feed for these values; None if there is none, not even for some of them."""
    table = homes.table
    first, stop = 0, len(values)
    views: list[Node] = []
    while True:
        if (values == values[0]).all():
            return Feed(Fixed(int(values[0])), tuple(views), first, stop)
        makers = table.maker[values]
        if (makers < 0).any():
            return None
        lower, upper = _around_middle(table.labels[makers] == table.labels[makers[len(makers) // 2]])
        first, stop = first + lower, first + upper
        values, makers = values[lower:upper], makers[lower:upper]
        node = table.nodes[makers[-1]]
        step = _look_through(table, node, values, makers)
        if step is None:
            return None
        origin, values_before = step
        if origin is not None:
            return Feed(origin, tuple(views), first, stop)
        if values_before is None:
            return _collected(homes, values, makers, tuple(views), first)
        views.append(node)
        values = values_before


def _look_through(table: Table, node: Node, values: Ints, makers: Ints) -> tuple[Origin | None, Ints | None] | None:
    """An origin, or the values that these are equal views of; neither if they are computed, None if nothing fits."""
    kinds = table.kinds_of(int(makers[-1]))
    if node.op == "constant" and node.target is None:
        if node.result.type.strides is not None:
            return None
        return Stacked(tuple(table.entries[table.starts[makers]].tolist()), node), None
    if not node.is_view or len(node.results) != 1:
        return None, None
    entries = table.entries[table.starts[makers][:, None] + np.arange(len(kinds))]
    bases = [entries[:, k] for k, entry in enumerate(kinds) if entry.kind == VALUE]
    rows = [(k, entry.place) for k, entry in enumerate(kinds) if entry.kind == ROW]
    moving = [(k, place) for k, place in rows if (entries[:, k] != entries[0, k]).any()]
    if len(bases) != 1:
        return None
    if not moving:
        return None, bases[0]
    k, place = moving[0]
    slopes = np.diff(entries[:, k])
    if len(moving) > 1 or (slopes != slopes[0]).any() or (bases[0] != bases[0][0]).any():
        return None
    return RowsOf(int(bases[0][0]), node, place, int(entries[0, k]), int(slopes[0])), None


def _collected(homes: Homes, values: Ints, makers: Ints, views: tuple[Node, ...], before: int) -> Feed | None:
    numbers = homes.number[makers]
    middle = int(numbers[len(numbers) // 2])
    if middle < 0:
        return None
    lower, upper = _around_middle(numbers == middle)
    region = homes.regions[middle]
    values = values[lower:upper]
    own, turn = region.place_of(int(values[0]))
    turns = [region.place_of(int(value)) for value in values]
    slope = turns[1][1] - turn if len(turns) > 1 else 1
    if not slope or any(found != (own, turn + slope * k) for k, found in enumerate(turns)):
        return None
    return Feed(CollectedBy(region, own, turn, slope), views, before + lower, before + upper)


def _around_middle(flags: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[int, int]:
    """The longest part around the middle in which all flags are set."""
    middle = len(flags) // 2
    unset = np.flatnonzero(~flags)
    lower = unset[unset < middle]
    upper = unset[unset >= middle]
    return int(lower[-1]) + 1 if len(lower) else 0, int(upper[0]) if len(upper) else len(flags)
