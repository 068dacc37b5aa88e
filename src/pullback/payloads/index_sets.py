"""`IndexSets`: sets of input elements, each written down once and known by a number.

An array of such numbers says for every element of a value what it may depend on. Moving elements moves numbers, and
only where elements are combined new sets can appear: for each distinct combination, not for each element.

Number 0 is the empty set, and `1 + i` the set of input `i` alone. Equal sets have equal numbers; they are recognised
by a hash of 64 bits, the sum of a mixed number per member, so that all unions of a call are found at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class IndexSets:
    """All sets of one run. Sets are only ever added."""

    def __init__(self, count: int) -> None:
        self.count = count
        members = np.arange(count, dtype=np.int64)
        self._members = members
        self._used = count
        self._starts = np.concatenate([[0], np.arange(count + 1, dtype=np.int64)])
        self._filled = count + 2
        hashes = np.concatenate([np.zeros(1, np.uint64), _mixed(members)])
        self._numbers = dict(zip(hashes.tolist(), range(count + 1), strict=True))

        self._unions: dict[int, int] = {}  # from the hash of a combination of sets to their union

    def sizes(self, numbers: Numbers) -> Numbers:
        """How many members these sets have."""
        return self._starts[numbers + 1] - self._starts[numbers]

    def members(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """The members of these sets one after the other, and for each the position in `numbers` it belongs to."""
        sizes = self.sizes(numbers)
        owners = np.repeat(np.arange(len(numbers)), sizes)
        first = np.repeat(self._starts[numbers], sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._members[first + within], owners

    def pairwise(self, left: Numbers, right: Numbers) -> Numbers:
        """The unions of sets with sets, element by element; the arrays broadcast."""
        left, right = np.broadcast_arrays(left, right)
        differ = (left != right) & (left != 0) & (right != 0)
        out = np.where(left == 0, right, left)
        if differ.any():
            pairs = np.stack([left[differ], right[differ]], axis=-1)
            out[differ] = self.along_last(pairs)
        return out

    def along_last(self, numbers: Numbers) -> Numbers:
        """The unions of the sets along the last axis."""
        shape = numbers.shape[:-1]
        rows = int(np.prod(shape, dtype=np.int64))
        owners = np.repeat(np.arange(rows), numbers.shape[-1])
        return self.grouped(numbers.reshape(-1), owners, rows).reshape(shape)

    def running(self, numbers: Numbers) -> Numbers:
        """The unions of each set along the last axis with all before it."""
        out = numbers.copy()
        step = 1
        while step < out.shape[-1]:
            out[..., step:] = self.pairwise(out[..., step:], out[..., :-step])
            step *= 2
        return out

    def grouped(self, numbers: Numbers, groups: Numbers, count: int) -> Numbers:
        """The union of the sets of each group, for groups 0, 1, ... up to `count`."""
        out = np.zeros(count, np.int64)
        present = numbers != 0
        if not present.any():
            return out
        base = self._filled
        keys = _distinct(groups[present].astype(np.int64) * base + numbers[present])
        groups, numbers = np.divmod(keys, base)
        alone = np.bincount(groups, minlength=count)
        out[groups] = numbers  # right for groups of one set; the others follow
        several = alone[groups] > 1
        if several.any():
            self._fill(out, numbers[several], groups[several], count)
        return out

    def _fill(self, out: Numbers, numbers: Numbers, groups: Numbers, count: int) -> None:
        # Groups of the same sets have the same union: each combination is worked out once, and remembered.
        starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        combinations, first, inverse = np.unique(
            np.add.reduceat(_mixed(numbers), starts), return_index=True, return_inverse=True
        )
        found = np.array([self._unions.get(key, -1) for key in combinations.tolist()], np.int64)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            rank = np.full(count, -1, np.int64)
            rank[groups[starts[first[missing]]]] = np.arange(len(missing))
            chosen = rank[groups] >= 0
            members, owners = self.members(numbers[chosen])
            keys = _distinct(rank[groups[chosen]][owners] * max(self.count, 1) + members)
            found[missing] = self._known(keys, len(missing))
            self._unions.update(zip(combinations[missing].tolist(), found[missing].tolist(), strict=True))
        out[groups[starts]] = found[inverse]

    def _known(self, keys: Numbers, count: int) -> Numbers:
        """The numbers of sets given as sorted `set * count + member`; those that are new are added."""
        owners, members = np.divmod(keys, max(self.count, 1))
        sizes = np.bincount(owners, minlength=count)
        starts = np.cumsum(sizes) - sizes
        hashes = np.add.reduceat(_mixed(members), starts).tolist()
        numbers = np.empty(count, np.int64)
        fresh: list[int] = []
        for position, value in enumerate(hashes):
            known = self._numbers.get(value)
            if known is None:
                known = self._numbers[value] = self._filled - 1 + len(fresh)
                fresh.append(position)
            numbers[position] = known
        if fresh:
            wanted = np.zeros(count, np.bool_)
            wanted[fresh] = True
            self._append(members[wanted[owners]], sizes[fresh])
        return numbers

    def _append(self, members: Numbers, sizes: Numbers) -> None:
        self._members = _with_room(self._members, self._used, len(members))
        self._members[self._used : self._used + len(members)] = members
        self._starts = _with_room(self._starts, self._filled, len(sizes))
        self._starts[self._filled : self._filled + len(sizes)] = self._used + np.cumsum(sizes)
        self._used += len(members)
        self._filled += len(sizes)


def _distinct(keys: Numbers) -> Numbers:
    """The different ones of these numbers, sorted. NumPy's own `unique` hashes first, which is slower here."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def _with_room(array: Numbers, used: int, more: int) -> Numbers:
    """An array in which `more` elements can follow the used ones; it doubles, so that growing is cheap on average."""
    if used + more <= len(array):
        return array
    grown = np.zeros(max(2 * len(array), used + more), array.dtype)
    grown[:used] = array[:used]
    return grown


def _mixed(numbers: Numbers) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A number that looks random for every number, always the same one (the finalizer of splitmix64)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
