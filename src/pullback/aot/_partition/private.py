"""Saved values that must be private: memory of the caller's in which eager code would have saved nothing.

A partitioner may save an input or an output in place of something that it can be recomputed from, or in place of a copy
that the function made. Where eager code would have saved no part of that memory, the caller is free to write to it
before gradients are computed, so a copy is saved.
"""

from __future__ import annotations

from pullback.aot._partition import Partition, SavedValue
from pullback.core.records import replace
from pullback.declare.op import registry
from pullback.graph.ir import FORWARD


def with_private_copies(split: Partition, inputs: dict[int, int], outputs: dict[int, int]) -> Partition:
    """The partition, with copies of saved values in place of memory that the caller may write to.

    `inputs` and `outputs` are the numbers of those inputs and forward outputs in whose memory eager code saves values,
    and the size of the largest.
    """
    saved = [
        _copied(split, position, record) if record.is_checked and not _is_watched(record, inputs, outputs) else record
        for position, record in enumerate(split.saved)
    ]
    if saved == split.saved:
        return split
    split.forward.nodes.sort(key=lambda node: node.op == "store")  # a copy is made before anything is overwritten
    return replace(split, saved=saved)


def _is_watched(record: SavedValue, inputs: dict[int, int], outputs: dict[int, int]) -> bool:
    """Does eager code save as much of this memory? Then the caller expects that writes to it are noticed."""
    size = record.value.type.size
    mine, theirs = inputs.get(record.input_index, -1), outputs.get(record.output_index, -1)  # type: ignore[arg-type]
    return record.is_target or size <= mine or size <= theirs


def _copied(split: Partition, position: int, record: SavedValue) -> SavedValue:
    """Save a copy at this position."""
    graph, value = split.forward, record.value
    order = "C" if value.type.strides is None else "K"
    copy = graph.add(registry["copy"], [value], {"order": order}, [value.type], FORWARD).result
    graph.outputs[split.num_forward_outputs + position] = copy
    return replace(
        record, name=f"copy({record.name})", value=copy, is_input=False, is_output=False, is_copy=True,
        is_checked=False, input_index=None, output_index=None,
    )  # fmt: skip
