"""What nodes keep for backward, looked at without touching it: nothing is unpacked, and no node becomes another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.eager.nodes import DirectNode, FastNode, OpNode
from pullback.tape.function.node import ContextNode
from pullback.tape.history import CopySlices
from pullback.tape.saved import SavedVariable
from pullback.tensors.tensor import Tensor


class Kept(NamedTuple):
    """One value that a node keeps. Its array is None if it was released, packed by a hook, or is none of NumPy's."""

    name: str
    spec: Any
    array: Any
    is_packed: bool
    is_released: bool

    @property
    def nbytes(self) -> int:
        """What its elements take."""
        return 0 if self.array is None else int(self.array.nbytes)


def kept_by(node: Any) -> list[Kept]:
    """The values that a node keeps for backward."""
    return list(_kept(node))


def _kept(node: Any) -> Iterator[Kept]:
    if isinstance(node, CopySlices):
        if node.fn is not None:
            yield from _kept(node.fn)
    elif isinstance(node, OpNode):
        for position, saved in enumerate(node.saved_operands):
            yield from _described(_operand_name(node.op, position), saved)
        for position, saved in enumerate(node.saved_outputs):
            yield from _described(_output_name(node.op, position), saved)
    elif isinstance(node, FastNode):
        yield from _of_fast(node)
    elif isinstance(node, ContextNode):
        for position, saved in enumerate(node._call.saved):
            yield from _described(f"saved[{position}]", saved)
    else:
        # What a compiled call keeps: arrays, or records of them where others could write.
        for position, saved in enumerate(getattr(node, "saved", None) or ()):
            if isinstance(saved, np.ndarray):
                yield Kept(f"saved[{position}]", saved, saved, False, False)
            else:
                yield from _described(f"saved[{position}]", saved)


def _of_fast(node: Any) -> Iterator[Kept]:
    several = isinstance(node, DirectNode)
    if several and "rest" in node.saved and node.rest_data is None:
        yield Kept("operands", None, None, False, True)
    else:
        for position in range(len(node.next)):
            yield from _described(_operand_name(node.op, position), node.saved_handle("operand", position))
    outputs = node.saved_outputs if several else (_output_of(node),)
    for position, saved in enumerate(outputs):
        yield from _described(_output_name(node.op, position), saved)


def _output_of(node: Any) -> Any:
    handle = node.saved_handle("output", 0)
    return handle if handle._released or isinstance(handle._data, np.ndarray) else None


def _described(name: str, saved: Any) -> Iterator[Kept]:
    if not isinstance(saved, SavedVariable) or (saved.spec is None and not saved._released):
        return
    array = saved._data if saved._data is not None else _array_of(saved._packed)
    yield Kept(name, saved.spec, _plain(array), saved._unpack_hook is not None, saved._released)


def _array_of(packed: Any) -> Any:
    return packed._data if isinstance(packed, Tensor) else packed


def _plain(payload: Any) -> Any:
    while payload is not None and not isinstance(payload, np.ndarray):
        payload = getattr(payload, "data", None)  # of a batch: the array of all examples
    return payload


def _operand_name(op: Any, position: int) -> str:
    names = op.operands
    if position < len(names) and not names[position].startswith("*"):
        return str(names[position])
    return f"{names[-1].lstrip('*')}[{position - len(names) + 1}]"


def _output_name(op: Any, position: int) -> str:
    return str(op.outputs[position]) if len(op.outputs) > 1 else "out"


def owner_of(array: Any) -> Any:
    """The array whose memory this is, of which the others are views."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def place_of(array: Any) -> tuple[int, int]:
    """Where the memory of an array begins and ends, by which two views of it are known to be the same."""
    low, high = byte_bounds(array)
    return int(low), int(high)
