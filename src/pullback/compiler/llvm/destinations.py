"""`write_in_place`: what an array is put together from is written where it belongs by the loops that compute it.

    concat([u[:, None], zeros, v[:, None]], axis=1)      for i:  out[i, 0] = ..., out[i, 1] = 0.0, out[i, 2] = ...

An assembly copies every part into its place. A part that a group computes in loops of the same lengths need not get to
memory before: the group writes it into the array. What is known besides, a number or an input, is written by the same
loops, so that rows are written at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pullback.compiler.access import own_strides, squeezed
from pullback.compiler.fusion import Element, Group
from pullback.compiler.llvm.items import Assembly, Part
from pullback.graph.ir import Value

_LONG_ROW = 32
"""Elements from which on rows that lie apart from each other are as good as one long row."""


def write_in_place(groups: Sequence[Group], overwritten: Mapping[Any, Any]) -> None:
    """Take from assemblies the parts that other groups can write. What writes over older values is left alone."""
    positions = {value: place for place, group in enumerate(groups) for item in group.items for value in item.results}
    older = set(overwritten.values())
    for place, group in enumerate(groups):
        item = group.items[0]
        if isinstance(item.what, Assembly) and item.what.are_apart and item.result not in older:
            hosts = _Hosts(groups[:place], positions, item.result)
            left = [part for part in item.what.parts if not hosts.take(part)]
            left = [part for part in left if not hosts.take_along(part)]
            what = Assembly(tuple(left), are_apart=True)
            group.items[0] = replace(item, what=what, reads=tuple([part.source for part in left]))


class _Hosts:
    """The groups that run before an assembly, and those of them that write parts of its result."""

    def __init__(self, groups: Sequence[Group], positions: Mapping[Any, int], result: Value) -> None:
        self.groups = groups
        self.positions = positions
        self.result = result
        self.found: set[int] = set()

    def take(self, part: Part) -> bool:
        """Let the group that computes a part write it."""
        place = self._made(part)
        if place < 0 or not _computes(self.groups[place], part):
            return False
        self.groups[place].placed.append((self.result, part))
        self.found.add(place)
        return True

    def take_along(self, part: Part) -> bool:
        """Let a group that writes another part write one that is there before it."""
        for place in sorted(self.found, reverse=True):
            if self._made(part) < place and self.groups[place].shape == part.lengths and _is_good(part):
                self.groups[place].placed.append((self.result, part))
                return True
        return False

    def _made(self, part: Part) -> int:
        """The position of the group that makes what a part is, -1 if there is none."""
        return self.positions.get(part.source.root, -1) if isinstance(part.source, Element) else -1


def _computes(group: Group, part: Part) -> bool:
    """Does a group compute a part element by element, in loops that go well with its place?"""
    source = part.source
    own = source.root.type
    if group.shape != part.lengths or group.reduced is not None or squeezed(own.shape) != group.shape:
        return False
    return not source.offset and source.strides == own_strides(own) and _is_good(part)


def _is_good(part: Part) -> bool:
    """Is a place filled in one loop, or row by row with long rows?"""
    lengths, strides = part.lengths, part.strides
    is_even = all(strides[k] == strides[k + 1] * lengths[k + 1] for k in range(len(lengths) - 1))
    return is_even or lengths[-1] >= _LONG_ROW
