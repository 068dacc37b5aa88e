"""`Region`: repetitions of the same nodes that can be one loop, and where each operand of a repetition comes from.

In a loop every entry of a node is affine in the number of the repetition: an operand is a value of the same or of an
earlier repetition (its number grows as fast as the numbers of all results do), the same value each time, or one of a
sequence that somebody else made, forwards or backwards. So a stretch of equal labels is written as a matrix of entries,
a row for each repetition, and its differences are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core.records import Record, field
from pullback.graph.ir import Node
from pullback.graph.reroll.table import ROW, SYMBOL, VALUE, Ints, Stretch, Table

LONGEST_LAG = 8
"""How many repetitions back an operand may come from."""


class Own(NamedTuple):
    """Result `result` of node `slot` of the same repetition, or of the one `lag` before."""

    slot: int
    result: int
    lag: int


class Fixed(NamedTuple):
    """The same value in every repetition."""

    value: int


class Sequence(NamedTuple):
    """A value for each repetition that was there before all of them."""

    values: Ints


Source = Own | Fixed | Sequence


class Region(Record, eq=False):
    """`count` repetitions of `period` nodes, the first of which begins at node `start`."""

    table: Table
    start: int
    period: int
    count: int
    matrix: Ints  # the entries of all repetitions
    sources: dict[tuple[int, int], Source] = field(default_factory=dict)  # by slot and place of the operand
    rows: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)  # first and slope of what varies
    numbers: dict[tuple[int, int], Ints] = field(default_factory=dict)  # symbols that vary
    starting: dict[Own, int] = field(default_factory=dict)  # what lags see of the time before the first repetition

    @property
    def stop(self) -> int:
        """The node behind the last repetition."""
        return self.start + self.count * self.period

    @property
    def first_value(self) -> int:
        """The number of the first result."""
        return int(self.table.first_result[self.start])

    @property
    def values_each(self) -> int:
        """The number of results of one repetition."""
        return int(self.table.first_result[self.start + self.period]) - self.first_value

    def node(self, slot: int) -> Node:
        """The node that all repetitions have in common."""
        return self.table.nodes[self.stop - self.period + slot]

    def place_of(self, value: int) -> tuple[Own, int]:
        """Which result a value of this region is, and of which repetition."""
        table = self.table
        position = int(table.maker[value])
        turn, slot = divmod(position - self.start, self.period)
        return Own(slot, value - int(table.first_result[position]), 0), turn

    def part(self, first: int, stop: int) -> Region:
        """Some of the repetitions."""
        start = self.start + first * self.period
        return Region(self.table, start, self.period, stop - first, self.matrix[first:stop])

    def value_at(self, own: Own, turn: int) -> int:
        """The number of a result in a repetition."""
        return int(self.table.first_result[self.start + turn * self.period + own.slot]) + own.result


class Run(NamedTuple):
    """Repetitions whose entries are affine: rows [first, stop) of the matrix, which begins at node `start`."""

    start: int
    period: int
    first: int
    stop: int


def find_runs(table: Table, stretch: Stretch, repeats: int) -> list[Run]:
    """The affine repetitions in a stretch, cut where the fewest values go from one repetition to the next."""
    runs = _affine_runs(table, stretch.start, stretch, repeats)
    if not runs:
        return []
    longest = max(runs, key=lambda run: run.stop - run.first)
    shift = _best_cut(table, longest, stretch.length % stretch.period)
    return _affine_runs(table, stretch.start + shift, stretch, repeats) or runs if shift else runs


def _affine_runs(table: Table, start: int, stretch: Stretch, repeats: int) -> list[Run]:
    count = (stretch.stop - start) // stretch.period
    if count < repeats:
        return []
    matrix = matrix_of(table, start, stretch.period, count)
    differences = np.diff(matrix[:, affine_columns(table, start, stretch.period)], axis=0)
    same = np.concatenate(([False], (differences[1:] == differences[:-1]).all(axis=1), [False]))
    edges = np.flatnonzero(np.diff(same.astype(np.int8)))
    found = [
        Run(start, stretch.period, first, stop + 2)
        for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]
    # Neighbours share a repetition at which one pattern ends and the other begins; the earlier one keeps it.
    kept: list[Run] = []
    for run in found:
        if kept and run.first < kept[-1].stop:
            run = run._replace(first=kept[-1].stop)
        kept.append(run)
    return [run for run in kept if run.stop - run.first >= repeats]


def matrix_of(table: Table, start: int, period: int, count: int) -> Ints:
    """The entries of so many repetitions, a row for each."""
    begin, end = table.starts[start], table.starts[start + count * period]
    return table.entries[begin:end].reshape(count, -1)


def affine_columns(table: Table, start: int, period: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The columns of a matrix that are values or rows."""
    kinds = [entry.kind for slot in range(period) for entry in table.kinds_of(start + slot)]
    return np.array(kinds, np.int64) != SYMBOL


def _best_cut(table: Table, run: Run, preferred: int) -> int:
    """Where in a repetition the fewest values are alive: so many nodes after its beginning. One place is preferred: a
    stretch ends where the loop does, and may begin within a repetition, since the first one is often different."""
    period = run.period
    begin = run.start + (run.stop - 1) * period
    earliest = run.start + run.first * period
    reach: dict[int, int] = {}
    for position in range(begin, begin + period):
        offset = int(table.starts[position])
        for k, entry in enumerate(table.kinds_of(position)):
            if entry.kind == VALUE:
                value = int(table.entries[offset + k])
                if int(table.maker[value]) >= max(earliest, position - LONGEST_LAG * period):
                    reach[value] = max(reach.get(value, 0), position)
    # Uses of one value by several nodes are found at different repetitions, so they are laid over each other.
    spans: dict[tuple[int, int], int] = {}
    for value, last in reach.items():
        maker = int(table.maker[value])
        key = (maker - begin) % period, value - int(table.first_result[maker])
        spans[key] = max(spans.get(key, 0), last - maker)
    alive = np.zeros(period, np.int64)
    for (slot, _), span in spans.items():
        alive += span // period
        for position in range(slot + 1, slot + 1 + span % period):
            alive[position % period] += 1
    fewest = int(alive.min())
    return next(cut for cut in (preferred, 0, int(np.argmin(alive))) if alive[cut] == fewest)


def make_region(table: Table, run: Run, is_free: Any) -> Region | None:
    """The run with the sources of its operands; None if it is no loop. `is_free` says whether nobody has a node yet."""
    matrix = matrix_of(table, run.start, run.period, run.stop)
    slopes = matrix[-1] - matrix[-2]
    first = _extended(table, run, matrix, slopes, is_free)
    start = run.start + first * run.period
    region = Region(table, start, run.period, run.stop - first, matrix[first:])
    return region if find_sources(region) else None


def _extended(table: Table, run: Run, matrix: Ints, slopes: Ints, is_free: Any) -> int:
    """The first repetition: before those that are affine there may be some that only begin with other values."""
    lags = _lags(table, run, matrix, slopes)
    steady = affine_columns(table, run.start, run.period) & (lags == 0)
    first = run.first
    while first > 0 and is_free(run.start + (first - 1) * run.period, run.start + first * run.period):
        step = matrix[first] - matrix[first - 1]
        if not (step == slopes)[steady].all() or not _fits_before(table, run, matrix, slopes, lags, first - 1):
            break
        first -= 1
    return first


def _lags(table: Table, run: Run, matrix: Ints, slopes: Ints) -> Ints:
    """For each column how many repetitions back its value was made; 0 for what is no value of an earlier one."""
    last = run.stop - 1
    begin = run.start + last * run.period
    each = int(table.first_result[begin + run.period] - table.first_result[begin])
    lags = np.zeros(matrix.shape[1], np.int64)
    column = 0
    for slot in range(run.period):
        for entry in table.kinds_of(begin + slot):
            if entry.kind == VALUE and slopes[column] == each:
                maker = int(table.maker[matrix[last, column]])
                if maker >= run.start + run.first * run.period:
                    lags[column] = last - (maker - run.start) // run.period
            column += 1
    return lags


def _fits_before(table: Table, run: Run, matrix: Ints, slopes: Ints, lags: Ints, first: int) -> bool:
    """Can the loop begin with this repetition? What lags see is then made earlier, the same for all that look at it."""
    begin = int(table.first_result[run.start + first * run.period])
    seen: dict[tuple[int, int], int] = {}
    for column in np.flatnonzero(lags).tolist():
        lag = int(lags[column])
        regular = int(matrix[run.first, column])
        for turn in range(first, run.first):
            value = int(matrix[turn, column])
            expected = regular - (run.first - turn) * int(slopes[column])
            if turn - lag >= first:
                if value != expected:
                    return False
                continue
            made = expected + (lag - (turn - first)) * int(slopes[column])  # what the first repetition makes there
            if value >= begin or table.values[value].type != table.values[made].type:
                return False
            if seen.setdefault((made, lag - (turn - first)), value) != value:
                return False
    return True


def find_sources(region: Region) -> bool:
    """Fill in where operands come from, and what varies; False if the region is no loop."""
    table, matrix = region.table, region.matrix
    slopes = matrix[-1] - matrix[-2]
    begin, each, last = region.first_value, region.values_each, region.count - 1
    column = 0
    for slot in range(region.period):
        for entry in table.kinds_of(region.start + slot):
            values, slope = matrix[:, column], int(slopes[column])
            column += 1
            if entry.kind == ROW:
                if slope:
                    region.rows.setdefault(slot, {})[entry.place] = int(values[0]), slope
            elif entry.kind == SYMBOL:
                if (values != values[0]).any():
                    region.numbers[slot, entry.place] = values
            elif slope == each and values[-1] >= begin:
                own, turn = region.place_of(int(values[-1]))
                lag = last - turn
                if lag > LONGEST_LAG or not _note_start(region, own, lag, values):
                    return False
                region.sources[slot, entry.place] = own._replace(lag=lag)
            elif (values >= begin).any():
                return False
            elif slope == 0:
                region.sources[slot, entry.place] = Fixed(int(values[0]))
            else:
                region.sources[slot, entry.place] = Sequence(values)
    return True


def _note_start(region: Region, own: Own, lag: int, values: Ints) -> bool:
    for turn in range(lag):
        before = own._replace(lag=lag - turn)
        if region.starting.setdefault(before, int(values[turn])) != int(values[turn]):
            return False
    return True


# `feed_of`: a sequence of values, one for each repetition of a loop, as slices of one array.
#
# | the values are                                        | the array                                  |
# |-------------------------------------------------------|--------------------------------------------|
# | `x[3]`, `x[4]`, `x[5]`, ... or backwards, of one `x`  | `x`                                        |
# | results of one node of another loop, in turn          | what that loop collects of it              |
# | constants                                             | all of them, stacked                       |
# | equal views of such values                            | the same; the views are taken in the loop  |
#
# Where only some of the values are like that, the loop has to do with the repetitions that read these.

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
