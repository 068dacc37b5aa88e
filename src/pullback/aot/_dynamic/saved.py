"""What of the lengths that vary a backward graph is given: those of the values that are saved, and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.aot._dynamic import NotDynamic
from pullback.aot._dynamic.sizes import Numbers
from pullback.aot._dynamic.template import sizes_needed
from pullback.aot._metadata import SavedSizes


def saved_sizes(nearby: list[tuple[Numbers, Any]], split: Callable[[Any], Any]) -> SavedSizes:
    """Found by splitting the graphs for sizes between which each of them differs, so only if somebody asks."""
    parts = [split(captured) for _, captured in nearby]
    if len({len(each.saved) for each in parts}) > 1:
        return SavedSizes(None, None)
    axes: dict[int, frozenset[int]] = {}
    for position in range(len(parts[0].saved)):
        shapes = [each.backward.inputs[position].type.shape for each in parts]
        varying = frozenset(axis for axis, lengths in enumerate(zip(*shapes, strict=True)) if len(set(lengths)) > 1)
        if varying:
            axes[position] = varying
    try:
        count = len(sizes_needed([sizes for sizes, _ in nearby], [each.backward for each in parts]))
    except NotDynamic:
        return SavedSizes(None, None)
    return SavedSizes(axes, count)
