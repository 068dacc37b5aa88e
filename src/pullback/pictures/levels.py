"""Levels: which transforms are running here, from the outer to the inner one, and what of them a tensor carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.spec import describe
from pullback.core.state import Watch, change, current, open_levels, watching
from pullback.graph.text.layout import Box
from pullback.payloads.batched.crossing import levels_of
from pullback.pictures.picture import Picture, columns
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.transform.tokens import deps_of
from pullback.tensors.tensor import Tensor


class Level:
    """A transform that is running: what it is, and how to see that a tensor has to do with it."""

    def __init__(self, stamp: int, name: str, told: str, carries: Callable[[Tensor], str]) -> None:
        self.stamp = stamp
        self.name = name
        self.told = told
        self.carries = carries


def open_here() -> list[Level]:
    """The levels that are open here, the outer ones first."""
    modes = current()
    found = {}
    for transform in modes.transforms:
        token, level = transform.token, transform.level
        if level is None and transform.name != "vmap":  # which has a level of its own, below
            found[transform.stamp] = Level(transform.stamp, transform.name, "backward", _of_token(token))
    for level in open_levels:
        name = next((t.name for t in modes.transforms if t.level is level), "forward level")
        found[level.stamp] = Level(level.stamp, name, "forward", _of_forward(level))
    for level in modes.vmaps:
        found[level.stamp] = Level(level.stamp, "vmap", f"batch of {level.size}", _of_vmap(level))
    return [found[stamp] for stamp in sorted(found)]


def _of_token(token: Any) -> Callable[[Tensor], str]:
    def carries(tensor: Tensor) -> str:
        deps = deps_of(tensor) if requires_grad(tensor) else frozenset()
        return "differentiated" if token is not None and deps is not None and token in deps else ""

    return carries


def _of_forward(level: Any) -> Callable[[Tensor], str]:
    return lambda tensor: "has a tangent" if level in live_levels((tensor,)) else ""


def _of_vmap(level: Any) -> Callable[[Tensor], str]:
    def carries(tensor: Tensor) -> str:
        levels = list(levels_of(tensor._data))
        return f"batch axis {levels.index(level)} of {len(levels)}" if level in levels else ""

    return carries


def levels_picture(
    tensors: dict[str, Tensor], theme: str = "auto", found: list[Level] | None = None, told: str = ""
) -> Picture:
    """The levels that are open here, and for each tensor which of them it carries."""
    found = open_here() if found is None else found
    rows: list[dict[str, Any]] = [
        {"name": level.name, "told": level.told, "carries": {name: level.carries(x) for name, x in tensors.items()}}
        for level in found
    ]
    head = ["", "level", "", *(f"{name}: {describe(x.shape, x.dtype)}" for name, x in tensors.items())]
    body = [[str(k), row["name"], row["told"], *row["carries"].values()] for k, row in enumerate(rows, start=1)]
    title = "1 level open" if len(rows) == 1 else f"{len(rows)} levels open, from outer to inner"
    title += told
    boxes: list[Box] = []
    for row in rows:
        found_on = [f"{name} {text}" for name, text in row["carries"].items() if text]
        kind = {"forward": "bw", "backward": "fw"}.get(row["told"], "custom")
        box = Box(f"{row['name']}: {row['told']}", ", ".join(found_on), kind)
        if boxes:
            box.read(boxes[-1])
        boxes.append(box)
    lines = columns([head, *body]) if body else []
    return Picture("levels", title, {"levels": rows}, lambda width: lines, boxes=boxes, theme=theme)


class _Deepest(Watch):
    """Keeps the picture of where most levels were open."""

    def __init__(self, theme: str) -> None:
        self.theme = theme
        self.most = -1
        self.picture: Picture | None = None

    def begin(self, kind: str, name: str, operands: tuple[Any, ...] = ()) -> Any:
        found = open_here() if kind == "forward" else []
        if len(found) > self.most and kind == "forward":
            self.most = len(found)
            tensors = {f"operand {k}": x for k, x in enumerate(operands) if isinstance(x, Tensor)}
            self.picture = levels_picture(tensors, self.theme, found, f", seen at {name}")


def deepest_levels(function: Callable[..., Any], args: tuple[Any, ...], theme: str) -> Picture:
    """Run a function, and show the levels where most of them are open."""
    watch = _Deepest(theme)
    token = watching.set(watch)
    previous = change(watch=watch)
    try:
        function(*args)
    finally:
        change(**previous)
        watching.reset(token)
    return watch.picture or levels_picture({}, theme, [])

