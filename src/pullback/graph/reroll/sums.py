"""`Chain`: an array that goes through all repetitions of a loop, of which each writes or increases another part.

    total = add(total, _place_slice(v, index=(k, ...)))         out = update(out, v, view=out[k])

Nobody looks at the array in between, so the parts are collected, and the array is made once behind the loop. Each
part is written by one repetition only. An addition puts zeros everywhere else, which changes nothing but the sign of
zeros: -0.0 + 0.0 is 0.0. So 0.0 is added once, except to what the last repetition wrote behind its last addition, and
the array is the same to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pullback.graph.reroll.regions import Own, Region
from pullback.graph.reroll.table import axis_of, index_of, width_of

_WIDEST_WINDOW = 16  # elements that a repetition may write at once; they are put together one by one


class Link(NamedTuple):
    """One write: the slot whose result is the array afterwards, and the operand that is the array before."""

    slot: int
    base: tuple[int, int]  # slot and place of that operand
    payload: tuple[int, int]  # slot and place of what is written
    writer: int  # the slot with the index: itself, or a `_place_slice`
    is_sum: bool


class Chain(NamedTuple):
    """The writes in the order of one repetition."""

    written: tuple[Link, ...]

    @property
    def slots(self) -> set[int]:
        """All slots that disappear from the loop."""
        return {slot for link in self.written for slot in (link.slot, link.writer)}

    @property
    def links(self) -> set[tuple[int, int]]:
        """The operands that are the array."""
        return {link.base for link in self.written}

    @property
    def behind_sums(self) -> list[Link]:
        """The writes behind the last sum, if there is any: in the last repetition no zero is added to them."""
        sums = [k for k, link in enumerate(self.written) if link.is_sum]
        return list(self.written[sums[-1] + 1 :]) if sums else []

    @property
    def last(self) -> Own:
        """The array after a repetition."""
        return Own(self.written[-1].slot, 0, 0)


def find_chains(region: Region) -> list[Chain] | None:
    """All chains of a region; None if a write is no part of one."""
    links = _links(region)
    if links is None:
        return None
    chains: list[Chain] = []
    left = dict(links)
    while left:
        first = next((slot for slot, link in left.items() if _lag(region, link) == 1), None)
        if first is None:
            return None
        chain = _chain_from(region, left, first)
        if chain is None or not _is_private(region, chain):
            return None
        chains.append(chain)
    return chains


def _links(region: Region) -> dict[int, Link] | None:
    """The writes by the slot of the array afterwards."""
    readers: dict[int, tuple[int, int]] = {}
    for (slot, place), source in region.sources.items():
        if isinstance(source, Own) and not source.lag and source.slot in region.rows:
            readers[source.slot] = slot, place
    found: dict[int, Link] = {}
    for slot, rows in region.rows.items():
        node = region.node(slot)
        if node.is_view:
            continue
        if len(rows) != 1:
            return None
        if node.op == "update":
            found[slot] = Link(slot, (slot, 0), (slot, 1), slot, False)
        elif slot in readers and region.node(readers[slot][0]).op == "add":
            adder, place = readers[slot]
            found[adder] = Link(adder, (adder, 1 - place), (slot, 0), slot, True)
        else:
            return None
    return found


def _lag(region: Region, link: Link) -> int:
    source = region.sources.get(link.base)
    return source.lag if isinstance(source, Own) else -1


def _chain_from(region: Region, left: dict[int, Link], first: int) -> Chain | None:
    """The writes from this one to the one that it reads of the repetition before; they are taken out of `left`."""
    source = region.sources[left[first].base]
    assert isinstance(source, Own)
    written: list[Link] = []
    slot = source.slot
    while slot in left:
        link = left.pop(slot)
        written.append(link)
        before = region.sources.get(link.base)
        if slot == first:
            chain = Chain(tuple(reversed(written)))
            return chain if _is_alike(region, chain) else None
        if not isinstance(before, Own) or before.lag:
            return None
        slot = before.slot
    return None


def _is_alike(region: Region, chain: Chain) -> bool:
    """Do all writes move along the same axis equally fast, over one array in row-major order?"""
    slopes = {motion_of(region, link)[1] for link in chain.written}
    types = {region.node(link.slot).result.type for link in chain.written}
    types.add(region.table.values[region.starting[chain.last._replace(lag=1)]].type)
    (kind, *others) = types
    axes = {axis_of(index_in(region, link), place_in(region, link), kind.ndim) for link in chain.written}
    widths = [width_of(index_in(region, link)[place_in(region, link)]) or 1 for link in chain.written]
    is_narrow = max(widths) <= _WIDEST_WINDOW
    return len(slopes) == 1 and not others and kind.strides is None and len(axes) == 1 and is_narrow


def index_in(region: Region, link: Link) -> tuple[object, ...]:
    """The index with which a link writes in the last repetition."""
    index = index_of(region.node(link.writer))
    assert index is not None
    return index


def place_in(region: Region, link: Link) -> int:
    """The part of the index that moves."""
    (place,) = region.rows[link.writer]
    return place


def motion_of(region: Region, link: Link) -> tuple[int, int]:
    """Where a link writes in the first repetition, and how far it moves in each."""
    (motion,) = region.rows[link.writer].values()
    return motion


def _is_private(region: Region, chain: Chain) -> bool:
    """Does nobody read the array but the next write? What the last repetition leaves is for everybody."""
    uses = region.table.uses
    turns = np.arange(region.count)
    for slot in chain.slots:
        values = region.table.first_result[region.start + turns * region.period + slot]
        counted = values[:-1] if slot == chain.last.slot else values
        if (uses[counted] != 1).any():
            return False
    return True


class Strip(NamedTuple):
    """A part of what a link writes: one element of each window, or all if it writes elements."""

    link: Link
    offset: int | None
    first: int
    slope: int


def in_order(region: Region, chain: Chain) -> list[Strip]:
    """The writes as one element sees them: first those that come to it in an earlier repetition."""
    ranked = []
    for position, link in enumerate(chain.written):
        first, slope = motion_of(region, link)
        width = width_of(index_in(region, link)[place_in(region, link)])
        for offset in [None] if width is None else range(width):
            begin = first + (offset or 0)
            ranked.append((-begin / slope, position, Strip(link, offset, begin, slope)))
    return [strip for _, _, strip in sorted(ranked, key=lambda entry: entry[:2])]
