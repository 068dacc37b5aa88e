"""A tree of parameters as a picture: shapes, dtypes, bytes."""

from __future__ import annotations

from typing import Any

from pullback.core import pytree
from pullback.core.spec import describe
from pullback.graph.text.layout import Box, short
from pullback.graph.text.style import in_bytes
from pullback.pictures.picture import Picture, columns


def tree_picture(tree: Any, theme: str) -> Picture:
    """The leaves of a tree, each with its path, and what they come to."""
    leaves = pytree.flatten(tree)[0]
    rows: list[dict[str, Any]] = []
    for path, leaf in zip(pytree.paths(tree), leaves, strict=True):
        is_array = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
        rows.append({
            "path": [str(key) for key in path],
            "type": describe(leaf.shape, leaf.dtype) if is_array else type(leaf).__name__,
            "bytes": int(leaf.size * leaf.dtype.itemsize) if is_array else 0,
            "count": int(leaf.size) if is_array else 0,
            "requires_grad": bool(getattr(leaf, "requires_grad", False)),
        })  # fmt: skip
    total, count = sum(row["bytes"] for row in rows), sum(row["count"] for row in rows)
    title = f"tree of {len(rows)} leaves: {count} numbers, {in_bytes(total)}"
    table = [
        (".".join(row["path"]) or "(itself)", row["type"], row["bytes"], "grad" if row["requires_grad"] else "")
        for row in rows
    ]
    data = {"bytes": total, "count": count, "leaves": rows}
    lines = columns([(name, kind, in_bytes(size), grad) for name, kind, size, grad in table], {2})
    tables = [("Leaves", ("path", "type", "bytes", ""), table)]
    return Picture("tree", title, data, lambda width: lines, boxes=_boxes(rows), tables=tables, theme=theme)


def _boxes(rows: list[dict[str, Any]]) -> list[Box]:
    boxes: dict[tuple[str, ...], Box] = {(): Box("tree", "", "input")}
    for row in rows:
        path = tuple(row["path"])
        for length in range(1, len(path)):
            _hang(boxes, path[:length], Box(short(path[length - 1]), "", "more"))
        kind = "leaf" if row["requires_grad"] else "input"
        if path:
            _hang(boxes, path, Box(short(path[-1]), row["type"], kind))
        else:
            boxes[()].remark = row["type"]
    return list(boxes.values())


def _hang(boxes: dict[tuple[str, ...], Box], path: tuple[str, ...], box: Box) -> None:
    if path not in boxes:
        boxes[path] = box
        box.read(boxes[path[:-1]])
