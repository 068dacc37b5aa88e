"""Compiled functions as pictures: the graph of a capture, and what `explain` says of a call."""

from __future__ import annotations

from typing import Any

from pullback.aot import Explanation
from pullback.graph.text.picture import boxes_of
from pullback.pictures.picture import Picture


def graph_picture(graph: Any, theme: str, name: str = "") -> Picture:
    """The graph of a compiled function."""
    boxes = boxes_of(graph)
    title = f"graph {name or graph.name}: {len(graph.nodes)} nodes"
    nodes = [
        {"title": box.title, "type": box.remark, "kind": box.kind, "reads": [boxes.index(each) for each in box.above]}
        for box in boxes
    ]
    lines = str(graph).splitlines()
    return Picture("graph", title, {"nodes": nodes}, lambda width: lines, boxes=boxes, theme=theme)


def explanation_picture(explanation: Explanation, theme: str) -> Picture:
    """What a compiled call does, with its graph."""
    lines = str(explanation).splitlines()
    return Picture(
        "explanation", "what a compiled call does", explanation.data, lambda width: lines,
        boxes=boxes_of(explanation.entry.graph), tables=explanation.tables(), theme=theme,
    )  # fmt: skip
