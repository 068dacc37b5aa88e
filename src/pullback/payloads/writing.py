"""Writing into payloads, and making room for what is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.errors import AutogradError
from pullback.payloads.alignment import Levels, aligned, like_in_memory, sizes, union
from pullback.payloads.batched_array import BatchedArray, levels_of, parts_of


class NeedsWidening(Exception):
    """A value differs between examples for which the memory to be written has one place only. `levels` says which."""

    def __init__(self, levels: Levels) -> None:
        super().__init__(levels)
        self.levels = levels


def assign(target: Any, value: Any) -> None:
    """Write `value`, a payload or a number that broadcasts to the target's shape, into the memory of `target`.

    Raises NeedsWidening, with nothing written, if the value has levels that the target lacks.
    """
    store = getattr(type(target), "assign_payload", None) or getattr(type(value), "assign_payload", None)
    if store is not None:
        store(target, value)
        return
    assign_batches(target, value)


def assign_batches(target: Any, value: Any) -> None:
    """The same for targets that are arrays or batches."""
    own = levels_of(target)
    missing = tuple([level for level in levels_of(value) if level not in own])
    if missing:
        raise NeedsWidening(missing)
    if own and (
        target.root.is_spread
        or any(not stride and size > 1 for stride, size in zip(target.data.strides, sizes(own), strict=False))
    ):
        _give_memory(target)
    written = parts_of(target)[0]
    if not isinstance(value, (int, float, complex)):
        data, levels = parts_of(value)
        value = aligned(data, levels, own, target.ndim) if own else data
        if value.ndim and np.may_share_memory(written, value):
            value = value.copy()  # NumPy gets two overlapping vectors of different strides wrong: a[1] = a[:, 2]
    np.copyto(written, value, casting="unsafe")


def widen_in_place(payload: BatchedArray, levels: Levels) -> None:
    """Give the memory behind `payload` room for every example of `levels`. All views of that memory follow."""
    root = payload.root
    missing = tuple([level for level in levels if level not in payload.levels])
    _move(root, union([root.levels, missing]))


def _give_memory(target: BatchedArray) -> None:
    root = target.root
    if not root.is_spread:
        raise AutogradError(
            "OVERLAP_WRITE",
            f"an expanded tensor {describe(target.shape, target.dtype)} is being written in place, and its examples "
            "refer to a single memory location",
            why="the result would depend on the order of the writes",
            fix="write to a clone() of it",
        )
    _move(root, root.levels)


def _move(root: BatchedArray, levels: Levels) -> None:
    data, own = root.data, root.levels
    room = like_in_memory(root.shape, root.strides, sizes(levels), data.dtype)
    np.copyto(room, aligned(data, own, levels, root.ndim))
    root.replace_memory(room, levels)
    root.is_spread = False
