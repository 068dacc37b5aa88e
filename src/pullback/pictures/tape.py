"""The tape behind tensors as a picture: leaves, operations, what they keep, writes, views, hooks.

It is built from the edges of nodes and from what they keep, and changes neither. Steps of a loop that repeat fold into
one; of more than `max_nodes` operations the nearest to the result are drawn, and the others are counted.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from pullback.core.frames import is_own
from pullback.core.records import Record, field
from pullback.core.spec import describe
from pullback.graph.text.layout import Box, short
from pullback.graph.text.style import in_bytes
from pullback.pictures.picture import Picture, tree
from pullback.pictures.saved import Kept, kept_by, owner_of
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.function.node import ContextNode
from pullback.tape.history import CopySlices, edge_of
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor

_LEAST_REPEATS = 5
_LONGEST_PERIOD = 24


class Entry(Record, eq=False):
    """One operation or leaf of the picture: a node, or equal nodes of the steps of a loop."""

    title: str
    shape: str
    kind: str
    number: int
    sources: list[tuple[Entry, str, bool]] = field(default_factory=list)  # with what is told of the line, is a view
    kept: list[dict[str, Any]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    repeats: int = 1
    hidden: int = 0  # how many nodes behind this one are not shown

    def label(self) -> str:
        """What it is, in one line."""
        times = f" × {self.repeats}" if self.repeats > 1 else ""
        return f"{self.title}{times}  {self.shape}".rstrip() + "".join(f"  {text}" for text in self.remarks())

    def remarks(self) -> list[str]:
        """What is to be said of it beyond its name."""
        kept = [f"{x['name']} {in_bytes(x['bytes'])}" + (" packed" if x["packed"] else "") for x in self.kept]
        found = [f"keeps {', '.join(kept)}"] if kept else []
        return found + self.marks + ([f"… {self.hidden} more behind it"] if self.hidden else [])


def tape_picture(
    roots: Sequence[Tensor | Node], names: dict[int, str], depth: int | None, max_nodes: int, theme: str
) -> Picture:
    """The picture of what was recorded for these results."""
    starts = [_start(root) for root in roots]
    nodes, hidden = _nearest([node for node in starts if node is not None], depth, max_nodes)
    entries, totals = _entries(nodes, names, hidden)
    reached = {behind for node in nodes for behind in node.next}
    for node in starts:
        if isinstance(node, AccumulateGrad) and len(starts) > 1 and node not in reached and not hidden:
            entries[node].marks.append("not reached from the others")
    shown = list(dict.fromkeys(entries[node] for node in nodes))
    named = [names.get(id(root), "") for root in roots]
    title = "tape" + (f" of {', '.join(filter(None, named))}" if any(named) else "")
    count, leaves = totals["operations"], totals["leaves"]
    title += f": {count} operation{'' if count == 1 else 's'}, {leaves} {'leaf' if leaves == 1 else 'leaves'}, "
    title += f"{in_bytes(totals['kept_bytes'])} kept for backward, {in_bytes(totals['new_bytes'])} of them new"
    roots_shown = list(dict.fromkeys(entries[node] for node in starts if node is not None))
    lines = [line for root in roots_shown for line in tree(root, _below, _label)] or ["nothing was recorded"]
    ordered = sorted(shown, key=lambda entry: entry.number)
    data = {**totals, "nodes": [_as_data(entry) for entry in ordered], "roots": [r.number for r in roots_shown]}
    largest = sorted(((x["bytes"], e, x) for e in ordered for x in e.kept), key=lambda row: -row[0])
    rows = [
        (e.title, x["name"], x["type"], e.repeats, x["bytes"], "yours" if x["leaf"] else "") for _, e, x in largest
    ]
    tables = [("Kept for backward", ("operation", "value", "type", "times", "bytes", ""), rows)] if rows else []
    return Picture("tape", title, data, lambda width: lines, boxes=_boxes(ordered), tables=tables, theme=theme)


def names_around() -> dict[int, str]:
    """What the caller's variables call its tensors, by the identity of the tensor."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return {}
    found: dict[int, str] = {}
    variables = frame.f_locals
    is_copy = frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.version_info < (3, 13)
    for space in (variables, frame.f_globals):
        for name, value in list(space.items()):
            tensors = () if name.startswith("__") or not name.isidentifier() else tuple(_named(name, value))
            for path, each in tensors:
                found.setdefault(id(each), path)
            if tensors and is_copy and space is variables:
                del space[name]  # before Python 3.13 the frame keeps the copy, and with it tensors that are deleted
    return found


def _named(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Tensor):
        yield name, value
    elif type(value) in (list, tuple) and len(value) <= 100:
        yield from ((f"{name}[{k}]", x) for k, x in enumerate(value) if isinstance(x, Tensor))
    elif type(value) is dict and len(value) <= 100:
        yield from ((f"{name}[{k!r}]", x) for k, x in value.items() if isinstance(x, Tensor))


def _start(root: Tensor | Node) -> Node | None:
    return edge_of(root)[0] if isinstance(root, Tensor) else root


def _nearest(roots: list[Node], depth: int | None, most: int) -> tuple[list[Node], dict[Node, int]]:
    """The nodes to draw, nearest first, and for those at the border how many nodes behind them are left out."""
    found = list(dict.fromkeys(roots))
    seen = set(found)
    distance = dict.fromkeys(found, 0)
    border: dict[Node, int] = {}
    for node in found:  # the list grows while it is read
        if depth is not None and distance[node] >= depth:
            border[node] = 0
            continue
        for behind in node.next:
            if behind is None or behind in seen:
                continue
            if len(found) >= most and type(behind) is not AccumulateGrad:
                border[node] = 0
                continue
            seen.add(behind)
            distance[behind] = distance[node] + 1
            found.append(behind)
    return found, {node: _count_behind(node, seen) for node in border}


def _count_behind(node: Node, shown: set[Node]) -> int:
    pending = [each for each in node.next if each is not None and each not in shown]
    seen = set(pending)
    for each in pending:  # the list grows while it is read
        for behind in each.next:
            if behind is not None and behind not in shown and behind not in seen:
                seen.add(behind)
                pending.append(behind)
    return len(seen)


def _entries(
    nodes: list[Node], names: dict[int, str], hidden: dict[Node, int]
) -> tuple[dict[Node, Entry], dict[str, int]]:
    """The entry of every node, older ones first, and what they come to."""
    older_first = sorted(nodes, key=lambda node: (type(node) is not AccumulateGrad, node.seq))
    yours = {id(owner_of(node.variable._data)) for node in nodes if _is_leaf_on_array(node)}
    entries: dict[Node, Entry] = {}
    counted: dict[int, int] = {}
    folds = _folds(nodes)
    firsts: dict[tuple[int, int], Entry] = {}
    number_of = itertools.count().__next__
    for node in older_first:
        kept = kept_by(node)
        for each in kept:
            if each.array is not None:
                owner = owner_of(each.array)
                counted[id(owner)] = int(owner.nbytes)
        fold = folds.get(node)
        first = None if fold is None else firsts.get(fold[:2])
        if first is None:
            first = _entry(node, names, kept, yours, number_of())
            if fold is not None:
                firsts[fold[:2]] = first
                first.repeats = fold[2]
        first.hidden += hidden.get(node, 0)
        entries[node] = first
        told = "" if node.next_nr is None else "output {}"
        for (behind, number), spec in zip(node.edges(), _operand_specs(node), strict=False):
            source = entries.get(behind) if behind is not None else None
            if source is None or source is first or source.number > first.number:
                continue
            if all(source is not each for each, _, _ in first.sources):
                text = " ".join(filter(None, (_shape(spec), told.format(number) if number else "")))
                first.sources.append((source, text, _is_view(node)))
    leaves = sum(type(node) is AccumulateGrad for node in nodes)
    totals = {
        "operations": len(nodes) - leaves,
        "leaves": leaves,
        "hidden": sum(hidden.values()),
        "kept_bytes": sum(counted.values()),
        "new_bytes": sum(size for owner, size in counted.items() if owner not in yours),
    }
    return entries, totals


def _is_leaf_on_array(node: Node) -> TypeGuard[AccumulateGrad]:
    return isinstance(node, AccumulateGrad) and isinstance(node.variable._data, np.ndarray)


def _entry(node: Node, names: dict[int, str], kept: list[Kept], yours: set[int], number: int) -> Entry:
    if isinstance(node, AccumulateGrad):
        return _leaf(node, names, number)
    title, kind = _title(node)
    if any(each.is_released for each in kept) or (isinstance(node, CopySlices) and node.fn is None):
        kind = "released"
    entry = Entry(title, _shapes(node), kind, number)
    if kind == "released":
        entry.marks.append("released")
    seen: set[tuple[int, ...]] = set()
    for each in kept:
        if each.is_released:
            continue
        key = (-1, id(each.name)) if each.array is None else (id(owner_of(each.array)), each.array.size)
        if key in seen:
            continue  # `x * x` keeps one array
        seen.add(key)
        is_leaf = each.array is not None and id(owner_of(each.array)) in yours
        entry.kept.append({
            "name": each.name, "bytes": each.nbytes, "type": _shape(each.spec), "packed": each.is_packed,
            "leaf": is_leaf,
        })  # fmt: skip
    rare = node.rare
    if rare is not None:
        hooks = sum(map(len, rare.tensor_hooks.values())) + len(rare.pre_hooks or ()) + len(rare.post_hooks or ())
        if hooks:
            entry.marks.append(f"{hooks} hook{'' if hooks == 1 else 's'}")
        if rare.retained:
            entry.marks.append("retains grad")
    return entry


def _leaf(node: AccumulateGrad, names: dict[int, str], number: int) -> Entry:
    tensor = node.variable
    name = tensor.name or names.get(id(tensor), "")
    meta = tensor._meta
    entry = Entry(f"leaf {name}".rstrip(), _shape(tensor._spec), "leaf", number)
    entry.marks.append(".grad is set" if meta is not None and meta.grad is not None else "no .grad")
    hooks = 0 if meta is None else len(meta.hooks or ()) + len(meta.post_accumulate_hooks or ())
    if hooks:
        entry.marks.append(f"{hooks} hook{'' if hooks == 1 else 's'}")
    return entry


def _title(node: Node) -> tuple[str, str]:
    """What a node does, and which kind of box it is."""
    if isinstance(node, CopySlices):
        what = "write" if node.fn is None else f"write {_plain_name(node.fn)}"
        return f"{what} into {''.join(_region(step) for step in node.steps)}", "write"
    op = getattr(node, "op", None)
    if op is not None:
        region = _region(node) if getattr(op, "is_view", False) and node.params else ""  # type: ignore[attr-defined]
        return (region if region.startswith("[") else f"{op.name.lstrip('_')}{region}"), "fw"
    return _plain_name(node), "custom" if isinstance(node, ContextNode) else "fw"


def _plain_name(node: Node) -> str:
    op = getattr(node, "op", None)
    if op is not None:
        return str(op.name).lstrip("_")
    name = node.forward_op_name()
    return {"Copy": "assignment"}.get(name, name)


def _region(step: Any) -> str:
    """The part of an array that a view step shows, as one would write it."""
    params = step.params
    if "index" in params and isinstance(params["index"], tuple):
        parts = [part for part in params["index"] if part is not Ellipsis] or [Ellipsis]
        return f"[{', '.join(map(_index, parts))}]"
    given = ", ".join(f"{name}={value}" for name, value in params.items() if _is_short(value))
    name = "" if isinstance(step, Node) else f".{step.op.name.lstrip('_')}"
    return f"{name}({given})" if given or name else ""


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float | str | tuple) and len(str(value)) < 30


def _index(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if not isinstance(part, slice):
        return str(part)
    ends = ["" if each is None else str(each) for each in (part.start, part.stop)]
    return ":".join(ends) + ("" if part.step in (None, 1) else f":{part.step}")


def _is_view(node: Node) -> bool:
    return bool(getattr(getattr(node, "op", None), "is_view", False))


def _operand_specs(node: Node) -> Sequence[Any]:
    specs = getattr(node, "operand_specs", ())
    return specs if len(specs) == len(node.next) else (None,) * len(node.next)


def _shapes(node: Node) -> str:
    return ", ".join(_shape(spec) for spec in node.specs if spec is not None)


def _shape(spec: Any) -> str:
    return "" if spec is None else describe(spec.shape, spec.dtype)


def _folds(nodes: list[Node]) -> dict[Node, tuple[int, int, int]]:
    """For nodes of steps that repeat: the number of the run, the place in a step, and how many steps there are."""
    shown = {node for node in nodes if type(node) is not AccumulateGrad}
    readers: dict[Node, int] = {}
    for node in shown:
        for behind in dict.fromkeys(node.next):
            if behind in shown:
                readers[behind] = readers.get(behind, 0) + 1
    order = sorted(shown, key=lambda node: node.seq)
    signs = [_sign(node, readers) for node in order]
    found: dict[Node, tuple[int, int, int]] = {}
    start = run = 0
    while start < len(order):
        period, repeats = _repetition(signs, start)
        if repeats >= _LEAST_REPEATS and _is_chain(order[start : start + period * repeats], period):
            for k in range(period * repeats):
                found[order[start + k]] = run, k % period, repeats
            run += 1
            start += period * repeats
        else:
            start += 1
    return found


def _sign(node: Node, readers: dict[Node, int]) -> tuple[Any, ...]:
    """What equal nodes of two steps have in common."""
    leaves = tuple(id(each) if type(each) is AccumulateGrad else each is None for each in node.next)
    return node.name(), node.spec, leaves, readers.get(node, 0)


def _repetition(signs: list[tuple[Any, ...]], start: int) -> tuple[int, int]:
    """The shortest step that repeats often enough from here on, and how often."""
    for period in range(1, min(_LONGEST_PERIOD, (len(signs) - start) // _LEAST_REPEATS) + 1):
        end = start + period
        while end < len(signs) and signs[end] == signs[end - period]:
            end += 1
        if (end - start) // period >= _LEAST_REPEATS:
            return period, (end - start) // period
    return 1, 1


def _is_chain(run: list[Node], period: int) -> bool:
    """Does each step read of the steps before it nothing but what the previous one made?"""
    places = {node: k for k, node in enumerate(run)}
    reads_previous = False
    for k, node in enumerate(run):
        for behind in node.next:
            place = places.get(behind) if behind is not None else None
            if place is not None:
                if k // period - place // period > 1:
                    return False
                reads_previous = reads_previous or k // period != place // period
    return reads_previous


def _below(entry: Entry) -> list[Entry]:
    """What an entry reads, the one from which the line goes on last."""
    found = [source for source, _, _ in entry.sources]
    return sorted(found, key=lambda source: (source.kind != "leaf", source.number))


def _label(entry: Entry, is_again: bool) -> str:
    return f"{entry.title} (again)" if is_again and entry.sources else entry.label()


def _boxes(entries: list[Entry]) -> list[Box]:
    boxes: dict[Entry, Box] = {}
    for entry in entries:
        kept = sum(x["bytes"] for x in entry.kept)
        marks = ([f"keeps {in_bytes(kept)}"] if kept else []) + [m for m in entry.marks if "hook" in m]
        title = entry.title + (f" × {entry.repeats}" if entry.repeats > 1 else "")
        box = Box(short(title), short("  ".join([entry.shape, *marks])), entry.kind, hint=entry.label())
        box.is_dashed = entry.kind == "write"
        for source, told, is_view in entry.sources:
            box.read(boxes[source], told, is_view)
        boxes[entry] = box
    more = [(entry, Box(f"… {entry.hidden} more", "not shown", "more", True)) for entry in entries if entry.hidden]
    for entry, box in more:
        boxes[entry].read(box)
    return [box for _, box in more] + list(boxes.values())


def _as_data(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.number, "name": entry.title, "type": entry.shape, "kind": entry.kind, "repeats": entry.repeats,
        "inputs": [{"id": source.number, "told": told, "view": view} for source, told, view in entry.sources],
        "kept": entry.kept, "marks": entry.marks, "hidden": entry.hidden,
    }  # fmt: skip
