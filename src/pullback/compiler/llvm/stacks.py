"""What a scan keeps of every step for another scan lies together, step by step.

A loop that is differentiated keeps dozens of small values of every step. Each as an array of its own would be as many
places in memory to which the loop writes, and from which its reverse reads, more than processors foresee. So what only
other scans read, slice by slice, lies in one block: all values of the first step, then all of the second. Views of it
are read there too, by scans and, if they are of one step, by everybody: where a loop was found in a long program, steps
at its ends stand beside it.
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
    alone = _read_otherwise(program, accesses, items)
    found: dict[Value, Access] = {}
    for node in scans:
        kept = [x for x in node.results[node.attrs["carried"] :] if x not in alone and _is_small(x)]
        if len(kept) > 1:
            found.update(_block(node, kept))
    return found


def _read_otherwise(program: Program, accesses: Accesses, items: Mapping[Node, Any]) -> set[Any]:
    """What anybody reads otherwise than slice by slice, which is on its own."""
    alone = set(program.outputs)
    for node in reversed(program.nodes):
        if accesses.is_view(node):
            if not alone.isdisjoint(node.results):
                alone.add(node.operands[0])
            continue
        is_native = items.get(node) is not None
        for place, x in enumerate(node.operands):
            if not is_native or not (_is_sliced(node, place) or _is_of_one_step(x, accesses)):
                alone.add(x)
    return alone


def _is_of_one_step(x: Any, accesses: Accesses) -> bool:
    """Is it a view of no more than one slice?"""
    root = accesses.root_of(x) if type(x) is Value else x
    return root is not x and x.type.nbytes * (root.type.shape or (1,))[0] <= root.type.nbytes


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
