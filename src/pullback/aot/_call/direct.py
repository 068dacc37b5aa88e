"""A compiled function as a function of arrays, for those who call it again and again with arrays of one kind.

What a capture asks of a call is asked: shapes and types, and whether something that it looked at has changed. Nothing
else is done: no tensors are made, no history, no search for the capture that fits. Captures that write to something,
draw random numbers or return what is not an array of their own have no such form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._entry import Entry
from pullback.aot._metadata import OWN
from pullback.tensors.tensor import Tensor


def direct(entry: Entry, args: tuple[Tensor, ...]) -> Callable[..., tuple[Any, ...] | None] | None:
    """A function of arrays like these tensors, which gives the results of `entry` as arrays, or None for a call that
    does not fit; None if there is no such function."""
    infos, meta, numbers = entry.meta.output_info, entry.meta, entry.capture.numbers
    is_simple = not (
        entry.is_training or entry.overwrites_inputs or entry.draw_sources or numbers.inputs or numbers.outputs
        or meta.num_intermediate_bases or meta.grad_enabled_mutation is not None or entry.capture.flat is not None
    )  # fmt: skip
    if not is_simple or any(info.raw_type is not Tensor or info.output_type not in OWN for info in infos):
        return None
    if any(info.duplicate_of is not None for info in infos) or any(given.members for given in entry.inputs):
        return None
    # The tensors, and not their memory: a write may have to leave that to somebody else, and `x.data = y` replaces it.
    held = [given.capture for given in entry.inputs]
    known = [(tensor, tensor._data.shape, tensor._data.dtype) for tensor in held if tensor is not None]
    slots = [given.slot for given in entry.inputs]
    if sorted(slot for slot in slots if slot is not None) != [k for k in range(len(args)) if k in slots]:
        return None
    forward, moved = entry.forward, entry.fit.moved
    kinds = [(arg._data.shape, arg._data.dtype) for arg in args]

    def run(*arrays: Any) -> tuple[Any, ...] | None:
        for array, (shape, dtype) in zip(arrays, kinds, strict=True):
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return None
        if moved is not None and moved():
            return None
        for tensor, shape, dtype in known:
            if tensor._data.shape != shape or tensor._data.dtype != dtype:
                return None
        given = [tensor._data if slot is None else arrays[slot] for slot, tensor in zip(slots, held, strict=True)]  # type: ignore[union-attr]
        return tuple(forward(*given))

    return run
