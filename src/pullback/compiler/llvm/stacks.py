"""What a scan keeps of every step for another scan lies together, step by step.

A loop that is differentiated keeps dozens of small values of every step. Each as an array of its own would be as many
places in memory to which the loop writes, and from which its reverse reads, more than processors foresee. So what only
other scans read, slice by slice, lies in one block: all values of the first step, then all of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pullback.compiler.access import Access, Accesses
from pullback.graph.ir import Node, Program, Value
from pullback.graph.types import array_type

_BYTE = np.dtype(np.uint8)
_ALIGNMENT = 8
_LARGEST = 1 << 14
"""Bytes of a step from which on a value is better off alone."""


def stacked_together(program: Program, accesses: Accesses, items: Mapping[Node, Any]) -> dict[Value, Access]:
    """Where the values lie that are put into blocks."""
    scans = [node for node in program.nodes if node.op == "scan" and items.get(node) is not None]
    if len(scans) < 2:
        return {}
    # What anybody reads otherwise than slice by slice is on its own.
    alone = set(program.outputs)
    for node in program.nodes:
        is_native = items.get(node) is not None
        alone.update(x for place, x in enumerate(node.operands) if not (is_native and _is_sliced(node, place)))
    found: dict[Value, Access] = {}
    for node in scans:
        kept = [x for x in node.results[node.attrs["carried"] :] if x not in alone and _is_small(x)]
        if len(kept) > 1:
            found.update(_block(node, kept))
    return found


def _is_small(value: Value) -> bool:
    return value.type.nbytes < _LARGEST * value.type.shape[0]


def _is_sliced(node: Node, place: int) -> bool:
    """Does a node take this operand slice by slice?"""
    if node.op != "scan" or node.target is not None:
        return False
    carried: int = node.attrs["carried"]
    return carried <= place < carried + node.attrs["scanned"]


def _block(node: Node, kept: list[Value]) -> dict[Value, Access]:
    offsets, end = [], 0
    for value in kept:
        offsets.append(end)
        end = -(-(end + value.type.nbytes // value.type.shape[0]) // _ALIGNMENT) * _ALIGNMENT
    block = Value(array_type((node.attrs["length"], end), _BYTE), node)
    return {
        value: Access(block, offset, (end, *value.type.byte_strides[1:]))
        for value, offset in zip(kept, offsets, strict=True)
    }
