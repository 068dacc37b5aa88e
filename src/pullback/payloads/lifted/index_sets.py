"""`IndexSets`: sets of input elements, each written down once and known by a number.

An array of such numbers says for every element of a value what it may depend on. Moving elements moves numbers, and
only where elements are combined new sets can appear: for each distinct combination, not for each element.

Number 0 is the empty set, and `1 + i` the set of input `i` alone. Equal sets have equal numbers; they are recognised
by a hash of 64 bits, the sum of a mixed number per member, so that all unions of a call are found at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FEW = 100
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]


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
        self._numbers = _Table()
        self._numbers.add(hashes, np.arange(count + 1))
        self._unions = _Table()  # from the hash of a combination of sets to their union

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
        found = self._unions.find(combinations)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            rank = np.full(count, -1, np.int64)
            rank[groups[starts[first[missing]]]] = np.arange(len(missing))
            chosen = rank[groups] >= 0
            members, owners = self.members(numbers[chosen])
            keys = _distinct(rank[groups[chosen]][owners] * max(self.count, 1) + members)
            found[missing] = self._known(keys, len(missing))
            self._unions.add(combinations[missing], found[missing])
        out[groups[starts]] = found[inverse]

    def _known(self, keys: Numbers, count: int) -> Numbers:
        """The numbers of sets given as sorted `set * count + member`; those that are new are added."""
        owners, members = np.divmod(keys, max(self.count, 1))
        sizes = np.bincount(owners, minlength=count)
        starts = np.cumsum(sizes) - sizes
        hashes, first, inverse = np.unique(
            np.add.reduceat(_mixed(members), starts), return_index=True, return_inverse=True
        )
        numbers = self._numbers.find(hashes)
        fresh = np.flatnonzero(numbers < 0)
        if len(fresh):
            fresh = fresh[np.argsort(first[fresh])]  # in the order in which their members lie
            numbers[fresh] = self._filled - 1 + np.arange(len(fresh))
            self._numbers.add(hashes[fresh], numbers[fresh])
            wanted = np.zeros(count, np.bool_)
            wanted[first[fresh]] = True
            self._append(members[wanted[owners]], sizes[first[fresh]])
        return numbers[inverse]

    def _append(self, members: Numbers, sizes: Numbers) -> None:
        self._members = _with_room(self._members, self._used, len(members))
        self._members[self._used : self._used + len(members)] = members
        self._starts = _with_room(self._starts, self._filled, len(sizes))
        self._starts[self._filled : self._filled + len(sizes)] = self._used + np.cumsum(sizes)
        self._used += len(members)
        self._filled += len(sizes)


class _Table:
    """From hashes to numbers, for many of them at once. What came in small portions is sorted in later."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self._values = np.zeros(0, np.int64)
        self._recent: dict[int, int] = {}

    def find(self, keys: Hashes) -> Numbers:
        """The numbers of these hashes, -1 for those that are not known."""
        if self._recent and len(keys) > _FEW:
            self._sort_in(np.array(list(self._recent), np.uint64), np.array(list(self._recent.values()), np.int64))
            self._recent = {}
        found = np.full(len(keys), -1, np.int64)
        if len(self._keys):
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = np.where(self._keys[places] == keys, self._values[places], found)
        if self._recent:
            for position in np.flatnonzero(found < 0).tolist():
                found[position] = self._recent.get(int(keys[position]), -1)
        return found

    def add(self, keys: Hashes, values: Numbers) -> None:
        """Remember numbers of hashes that are not known yet."""
        if len(keys) <= _FEW:
            self._recent.update(zip(keys.tolist(), values.tolist(), strict=True))
        else:
            self._sort_in(keys, values)

    def _sort_in(self, keys: Hashes, values: Numbers) -> None:
        keys, values = np.concatenate([self._keys, keys]), np.concatenate([self._values, values])
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]


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


def _mixed(numbers: Numbers) -> Hashes:
    """A number that looks random for every number, always the same one (the finalizer of splitmix64)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
