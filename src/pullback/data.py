"""Data in pieces: `pb.data.batches` goes through arrays a few rows at a time.

>>> x, y = np.arange(5.0), np.arange(5) * 10
>>> for a, b in pb.data.batches(x, y, size=2, shuffle=False):
...     print(a, b)
[0. 1.] [ 0 10]
[2. 3.] [20 30]
[4.] [40]
"""

from __future__ import annotations

from collections.abc import Iterator as _Iterator
from typing import Any as _Any

import numpy as _np

from pullback.core.doors import door as _door
from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.core.pytree import flatten as _flatten
from pullback.core.pytree import unflatten as _unflatten
from pullback.operators.random.draws import numpy_generator as _numpy_generator
from pullback.tensors.tensor import Tensor as _Tensor
from pullback.tree._paths import path_texts as _path_texts

__all__ = ["BatchIterator", "batches"]
_explain_unknown(globals())


class BatchIterator:
    """What `batches` returns: an iterator that goes on where it was left, and whose place can be kept.

    The order of an epoch depends on the seed and on the number of the epoch, and on nothing else. After `epochs` epochs
    iteration ends, and the next loop goes through the following ones, in another order.

    >>> data = pb.data.batches(np.arange(6), size=2, seed=0)
    >>> first = next(iter(data))
    >>> place = data.state()
    >>> rest = [batch.tolist() for batch in data]
    >>> data.restore(place)
    >>> rest == [batch.tolist() for batch in data]
    True
    """

    def __init__(
        self, trees: tuple[_Any, ...], size: int, shuffle: bool, seed: int | None, drop_last: bool, epochs: int,
        pad: bool,
    ) -> None:  # fmt: skip
        tree = trees[0] if len(trees) == 1 else trees
        leaves, self._structure = _flatten(tree)
        self._leaves = [_rows(leaf, path) for leaf, path in zip(leaves, _path_texts(tree), strict=True)]
        lengths = [len(leaf) for leaf in self._leaves]
        if len(set(lengths)) != 1:
            sizes = ", ".join(f"{path or 0}: {n}" for path, n in zip(_path_texts(tree), lengths, strict=True))
            raise ValueError(f"pb.data.batches takes arrays with equally many rows, got {sizes or 'no arrays'}")
        if size < 1 or epochs < 1:
            raise ValueError(f"pb.data.batches: size and epochs must be at least 1, got size={size}, epochs={epochs}")
        if pad and drop_last:
            raise ValueError("pb.data.batches: with drop_last=True there is nothing to pad; give one of the two")
        self._length, self._size, self._epochs, self._pad = lengths[0], size, epochs, pad
        self._shuffle = shuffle
        # From the default generator, so that pb.random.manual_seed decides this too.
        self._seed = int(_numpy_generator(None).integers(2**63)) if seed is None and shuffle else int(seed or 0)
        self._per_epoch = self._length // size if drop_last else -(-self._length // size)
        self._epoch = self._position = 0
        if not self._per_epoch:
            raise ValueError(f"pb.data.batches: {self._length} rows make no batch of {size}")

    def __len__(self) -> int:
        return self._per_epoch * self._epochs

    def __iter__(self) -> _Iterator[_Any]:
        end = (self._epoch // self._epochs + 1) * self._epochs
        while self._epoch < end:
            epoch, order = self._epoch, self._order()
            while self._position < self._per_epoch and self._epoch == epoch:
                batch = self._batch(self._position * self._size, order)
                self._position += 1
                yield batch
            if self._epoch != epoch:  # `restore` was called in between
                end = (self._epoch // self._epochs + 1) * self._epochs
            elif self._position >= self._per_epoch:
                self._epoch, self._position = epoch + 1, 0

    def _order(self) -> _Any:
        """The rows of the epoch in their order; None if that is the one they have."""
        return _np.random.default_rng((self._seed, self._epoch)).permutation(self._length) if self._shuffle else None

    def _batch(self, first: int, order: _Any) -> _Any:
        last = min(first + self._size, self._length)
        rows: _Any = slice(first, last) if order is None else order[first:last]
        missing = first + self._size - last
        if self._pad and missing:  # repeated rows are numbers that the function was made for
            taken = _np.arange(first, last) if order is None else rows
            rows = _np.concatenate([taken, _np.repeat(taken[-1:], missing)])
        batch = _unflatten(self._structure, [leaf[rows] for leaf in self._leaves])
        if not self._pad:
            return batch
        mask = _np.arange(self._size) < last - first
        return (*batch, mask) if type(batch) is tuple else (batch, mask)

    def state(self) -> dict[str, int]:
        """Where the iteration is: a tree of numbers, which can be saved."""
        return {"seed": self._seed, "epoch": self._epoch, "position": self._position, "length": self._length}

    def restore(self, state: dict[str, int]) -> None:
        """Go on from a place that `state` returned, of these batches or of others of the same data."""
        if state["length"] != self._length:
            raise ValueError(f"the state is of {state['length']} rows, and these data have {self._length}")
        self._seed, self._epoch, self._position = state["seed"], state["epoch"], state["position"]


@_door
def batches(
    *arrays_or_tree: _Any, size: int, shuffle: bool = True, seed: int | None = None, drop_last: bool = False,
    epochs: int = 1, pad: bool = False,
) -> BatchIterator:  # fmt: skip
    """Go through arrays `size` rows at a time, all of them by the same rows: tuples of batches for several arrays.

    Takes NumPy arrays, memory-mapped ones, tensors, what pandas has, and trees of them. Without `shuffle` a batch is a
    view. Compiled functions want batches of one shape: `drop_last=True` leaves out a last batch that is shorter, and
    `pad=True` repeats its last row and adds to every batch a mask that says which rows count. Without a `seed` it
    comes from the default generator of `pb.random`.

    >>> [batch.tolist() for batch in pb.data.batches(np.arange(5), size=2, shuffle=False, drop_last=True)]
    [[0, 1], [2, 3]]
    >>> for x, mask in pb.data.batches(np.arange(3), size=2, shuffle=False, pad=True):
    ...     print(x, mask)
    [0 1] [ True  True]
    [2 2] [ True False]
    """
    return BatchIterator(arrays_or_tree, size, shuffle, seed, drop_last, epochs, pad)


def _rows(leaf: _Any, path: str) -> _Any:
    """Something with rows that can be taken."""
    array = leaf if isinstance(leaf, _Tensor | _np.ndarray) else _np.asarray(leaf)
    if not array.ndim or array.dtype.hasobject:
        what = f"a {type(leaf).__name__}" + (f" of {array.dtype}" if array.ndim else ", which has no rows")
        raise TypeError(f"pb.data.batches takes arrays of numbers, and {path or 'the argument'} is {what}")
    return array
