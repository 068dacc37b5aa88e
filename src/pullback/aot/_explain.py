"""`explain`: what a compiled call does to memory, as a table, as JSON and as a page.

inputs   0 x  f64[64,32]  grad leaf   not mutated
outputs  0    f64[1024]   view of output 1 via (reshape)
saved    args[0] 16384 B, sin 16384 B   total 32768 B, new 16384 B
recompute none   flops fw 67585  bw 135168  recompute 0
"""

from __future__ import annotations

import collections
import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from pullback.aot._entry import Entry
from pullback.aot._metadata import OWN, MutationType, OutputType
from pullback.aot._trace.captured import name_of
from pullback.aot._trace.leaves import flatten_arguments
from pullback.core import pytree
from pullback.graph.cost import flops
from pullback.graph.ir import array_type, type_of
from pullback.graph.passes.overlap import START, WAIT, schedule
from pullback.graph.rewrite import collectives_in
from pullback.graph.text import style
from pullback.graph.text.layout import drawn
from pullback.graph.text.literals import type_text
from pullback.graph.text.picture import boxes_of
from pullback.tensors.tensor import Tensor

# An explanation as a table for people who read text, and as tables for notebooks and browsers.

def table(data: dict[str, Any], verbose: bool = False) -> list[str]:
    """The lines of the table; with `verbose` everything that is saved or computed again is named."""
    split, flops, graph = data["partition"], data["flops"], data["graph"]
    inputs = [
        ("-" if x["slot"] is None else str(x["slot"]), x["name"], x["type"], "grad" if x["requires_grad"] else "-",
         "leaf" if x["is_leaf"] else "", _happens(x)) for x in data["inputs"]
    ]  # fmt: skip
    saved = _saved(split["saved"], verbose)
    again = ", ".join(_times(*each) for each in collections.Counter(split["recomputed"]).items()) or "none"
    return _wrapped([
        *_aligned("inputs", inputs),
        *_aligned("outputs", [(str(x["position"]), x["type"], _described(x)) for x in data["outputs"]]),
        *_aligned("tangents", [(x["name"], x["type"]) for x in data["tangents"]]),
        f"saved    {saved}   total {split['saved_bytes']} B, new {split['activation_bytes']} B",
        f"recompute {again}   flops fw {flops['forward']}  bw {flops['backward']}  "
        f"recompute {flops['recompute']}   peak {split['peak_bytes']} B",
        f"nodes    fw {graph['fw_nodes']}  bw {graph['bw_nodes']}   partition {split['method']}",
        *_talk(data["collectives"]),
        *_of_numbers(data["numbers"]),
        *_kept(data["kept_over_writes"]),
        *_numpy(data.get("left_to_numpy")),
        *_of_paths(data.get("paths"), data.get("reasons", [])),
        *(_made(data["compiled"]) if verbose else ()),
        f"notes    {'; '.join(data['notes']) or 'none'}",
    ])


def _numpy(left: list[dict[str, Any]] | None) -> list[str]:
    """What native code leaves to NumPy; no line if there is no native code."""
    if left is None:
        return []
    return _aligned("numpy", [(x["graph"], str(x["count"]), x["operator"].lstrip("_"), x["reason"]) for x in left])


def _talk(collectives: list[dict[str, Any]]) -> list[str]:
    """The messages between ranks; no line if there are none."""
    rows = [
        (x["half"], x["operator"], f"{x['bytes']} B", x["call"],
         "" if x["started"] is None else f"started at node {x['started']}, awaited at {x['awaited']}")
        for x in collectives
    ]  # fmt: skip
    return _aligned("ranks", rows) if rows else []


def _of_paths(paths: dict[str, Any] | None, reasons: list[dict[str, Any]]) -> list[str]:
    """What a call is told of values, and why calls run in Python; no lines if there is nothing of the kind."""
    lines: list[str] = []
    if paths is not None and paths["events"]:
        known = f"{paths['paths']} known, {paths['loops']} loops, {paths['calls']} calls, {paths['exits']} exits"
        rows = [(f"line {x['line']}", x["what"], str(x["outcome"]), f"seen {', '.join(x['seen']) or 'nothing'}")
                for x in paths["events"][:_MOST_EVENTS]]  # fmt: skip
        lines += [f"paths    {known}", *_aligned("", rows)]
    if paths is not None and paths["joined"]:
        counts = collections.Counter((x["file"], x["line"]) for x in paths["joined"])
        texts = [f"line {line}{f' ({count} times)' if count > 1 else ''}" for (_, line), count in counts.items()]
        lines.append(f"joined   {', '.join(texts[:_MOST_EVENTS])}")
    if reasons:
        lines += _aligned("reasons", [(x["reason"], x["location"], x["text"].splitlines()[0]) for x in reasons])
    return lines


def _made(compiled: list[dict[str, Any]]) -> list[str]:
    """What making the code took, which differs from run to run; no line for what is not compiled yet."""
    return _aligned("compiled", [_times_and_code(each) for each in compiled]) if compiled else []


def _times_and_code(made: dict[str, Any]) -> tuple[str, str]:
    spent = ", ".join(f"{name} {ms} ms" for name, ms in made["milliseconds"].items())
    return f"{made['code']} code", spent


def _of_numbers(numbers: list[dict[str, Any]]) -> list[str]:
    """What becomes of numbers among the arguments; no line if there are none."""
    rows = [(x["name"], x["type"], x["kind"], "; ".join(x["pins"])) for x in numbers]
    return _aligned("numbers", rows) if rows else []


def _kept(over: list[dict[str, Any]]) -> list[str]:
    """What is kept over writes; no line if nothing is."""
    rows = [("over a write", x["operator"], f"{x['bytes']} B", f"{x['count']} times", x["place"]) for x in over]
    return _aligned("kept", rows) if rows else []


def _aligned(title: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return [f"{title:<9}none"]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        lines.append(f"{title if number == 0 else '':<9}{text}")
    return lines


def _happens(given: dict[str, Any]) -> str:
    same = given["duplicate_of"]
    return str(given["mutation"]) + ("" if same is None else f", the same object as {same}")


def _described(out: dict[str, Any]) -> str:
    """What an output is."""
    if out["duplicate_of"] is not None:
        return f"the same object as output {out['duplicate_of']}"
    kind = OutputType[out["kind"]]
    via = f" via ({', '.join(out['via'])})" if out["via"] else ""
    if kind is OutputType.is_input:
        return f"is input {out['base']}"
    if kind is OutputType.alias_of_input:
        return f"view of input {out['base']}{via}"
    if kind is OutputType.alias_of_intermediate_base_is_user_output:
        return f"view of output {out['base']}{via}"
    if kind not in OWN:
        return f"view of intermediate {out['base']}{via}"
    text = {OutputType.unsafe_view_alias: "new, a view inside", OutputType.custom_function_view: "view by a Function"}
    return text.get(kind, "new") + (", requires grad" if out["requires_grad"] else "")


Table = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]


def tables(data: dict[str, Any]) -> list[Table]:
    """The same as tables, for notebooks and pages: heading, names of columns, rows."""
    split, flops = data["partition"], data["flops"]
    inputs = [
        (x["slot"] if x["slot"] is not None else "-", x["name"], x["type"], "yes" if x["requires_grad"] else "no",
         "yes" if x["is_leaf"] else "no", _happens(x)) for x in data["inputs"]
    ]  # fmt: skip
    found: list[Table] = [
        ("Inputs", ("slot", "name", "type", "requires grad", "leaf", "what happens to it"), inputs),
        ("Outputs", ("position", "type", "what it is"),
         [(x["position"], x["type"], _described(x)) for x in data["outputs"]]),
        ("Saved for backward", ("value", "times", "bytes each", "bytes"),
         [(name, count, size, count * size) for name, count, size in _largest_first(split["saved"])]),
    ]  # fmt: skip
    over = [(x["place"], x["operator"], x["count"], x["bytes"]) for x in data["kept_over_writes"]]
    if over:
        found.append(("Kept over writes", ("written at", "by", "times", "bytes"), over))
    left = [(x["graph"], x["operator"].lstrip("_"), x["count"], x["reason"]) for x in data.get("left_to_numpy") or ()]
    if left:
        found.append(("Left to NumPy", ("graph", "operator", "times", "reason"), left))
    again = collections.Counter(split["recomputed"])
    costs: list[tuple[Any, ...]] = [
        ("bytes saved", split["saved_bytes"], ""),
        ("of these new", split["activation_bytes"], ""),
        ("bytes in use at most", split["peak_bytes"], ""),
        ("operations forward", flops["forward"], ""),
        ("operations backward", flops["backward"], ""),
        ("of these repeated", flops["recompute"], ", ".join(_times(*each) for each in again.most_common())),
    ]
    found.append(("Costs", ("what", "how much", ""), costs))
    if data["compiled"]:
        found.append(("Compiled", ("code", "time"), [_times_and_code(each) for each in data["compiled"]]))
    if data["notes"]:
        found.append(("Notes", ("note",), [(note,) for note in data["notes"]]))
    return found


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ×{count}"


def _grouped(saved: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Operator, count and bytes of each of those that are equal; `sin_1` is the second `sin`."""
    return [(name, count, size) for (name, size), count in
            collections.Counter((re.sub(r"_\d+$", "", x["name"]), x["bytes"]) for x in saved).items()]  # fmt: skip


def _largest_first(saved: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return sorted(_grouped(saved), key=lambda group: -group[1] * group[2])


_LARGEST = 5


def _saved(saved: list[dict[str, Any]], verbose: bool) -> str:
    """What is saved: equal values once, and of many the largest."""
    groups = _grouped(saved)
    left = [] if verbose or len(groups) <= _LARGEST else _largest_first(saved)[_LARGEST:]
    shown = _largest_first(saved)[:_LARGEST] if left else groups
    texts = [f"{name} {size} B" if count == 1 else f"{name} ×{count}, {size} B each" for name, count, size in shown]
    if left:
        rest = sum(count * size for _, count, size in left)
        texts.append(f"{sum(count for _, count, _ in left)} more of {rest} B")
    return ("; " if any("each" in text for text in texts) else ", ").join(texts) or "none"


def _wrapped(lines: list[str]) -> list[str]:
    """Lines of at most so many letters, the rest of which goes on below."""
    return [part for line in lines for part in textwrap.wrap(
        line, _WIDEST, subsequent_indent=" " * 9, drop_whitespace=True, replace_whitespace=False,
        break_long_words=False, break_on_hyphens=False) or [""]]  # fmt: skip


_WIDEST = 110


SCHEMA_VERSION = 1
_MOST_EVENTS = 12  # that a table shows


class Explanation:
    """What one compiled call does. `str()` is a table, `to_json()` is for programs, `to_html()` for browsers."""

    def __init__(
        self, entry: Entry, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        notes: list[str], paths: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.entry = entry
        names = _names(function, args, kwargs)
        types = [_type(leaf) for leaf in flatten_arguments(args, kwargs)[0]]
        self.data = {
            "schema_version": SCHEMA_VERSION,
            "inputs": [*_inputs(entry, names, types), *_captures(entry)],
            "outputs": _outputs(entry),
            **_graphs(entry),
            **_left_to_numpy(entry),
            "numbers": _numbers(entry, names, flatten_arguments(args, kwargs)[0]),
            "kept_over_writes": _kept_over_writes(entry),
            "guards": _guards(entry),
            "compiled": [],
            **(paths or {}),
            "notes": [*notes, *_groups(entry)],
        }  # fmt: skip

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text, of schema version 1."""
        return json.dumps(self.data, **options)

    def to_text(self, verbose: bool = False) -> str:
        """The same as a table of text. With `verbose` everything that is saved is named, and not the largest only."""
        return "\n".join(table(self.data, verbose))

    def tables(self) -> list[Table]:
        """The same as rows: heading, names of columns, rows."""
        return tables(self.data)

    def to_html(self) -> str:
        """The same for a notebook, with the graph drawn. Its style reaches nothing else on the page."""
        parts = [f"<h3>{style.escape(heading)}</h3>{style.table(head, rows)}" for heading, head, rows in self.tables()]
        graph = self.entry.graph
        drawing = style.embedded(drawn(boxes_of(graph)), f"graph {graph.name}")
        return style.output("".join([*parts, "<h3>Graph</h3>", drawing]))

    _repr_html_ = to_html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.to_html()}

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self)


def _inputs(entry: Entry, names: list[str], types: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "slot": slot,
            "name": names[slot],
            "type": types[slot],
            "requires_grad": info.requires_grad,
            "is_leaf": info.is_leaf,
            "mutation": _mutation(info),
            "duplicate_of": info.duplicate_of,
            "alias_group": info.alias_group,
        }
        for slot, info in enumerate(entry.meta.input_info)
    ]


def _numbers(entry: Entry, names: list[str], leaves: list[Any]) -> list[dict[str, Any]]:
    """The numbers among the arguments: part of what is computed, pinned by something, or not used at all."""
    program, unused = entry.capture.numbers, entry.capture.unused_numbers
    found = []
    for slot in program.slots:
        own, name = [pin for pin in program.pins if slot in pin.slots], names[slot]
        pins = [f"{pin.text.replace(f'args[{slot}]', name)}: {pin.why}" for pin in own]
        kind = "unused" if slot in unused else "pinned" if pins else "dynamic"
        found.append({"slot": slot, "name": name, "type": type(leaves[slot]).__name__, "kind": kind, "pins": pins})
    return found


def _captures(entry: Entry) -> list[dict[str, Any]]:
    held = [given for given in entry.inputs if given.capture is not None]
    return [
        {
            "slot": None,
            "name": name_of(captured),
            "type": _type(captured.tensor),
            "requires_grad": given.info.requires_grad,
            "is_leaf": given.info.is_leaf,
            "mutation": _mutation(given.info),
            "duplicate_of": None,
            "alias_group": None,
        }
        for given, captured in zip(held, entry.fit.captured, strict=True)
    ]


def _outputs(entry: Entry) -> list[dict[str, Any]]:
    captured = entry.capture.flat or entry.capture  # of payloads: the arrays that they are made of
    meta = captured.meta
    first = captured.num_forward_outputs - len(meta.output_info) - meta.num_intermediate_bases
    values = captured.graph.outputs[first : first + len(meta.output_info)]
    return [
        {
            "position": position,
            "type": "literal" if value is None else type_text(value.type),
            "kind": info.output_type.name,
            "base": info.base_idx,
            "via": [step.op.name.lstrip("_") for step in info.view_meta_sequence or ()],
            "requires_grad": info.requires_grad,
            "duplicate_of": info.duplicate_of,
        }
        for position, (info, value) in enumerate(zip(meta.output_info, values, strict=True))
    ]


def _graphs(entry: Entry) -> dict[str, Any]:
    meta, split, forward = (entry.capture.flat or entry.capture).meta, entry.partition, entry.forward_graph
    stats = {} if split is None else split.stats
    return {
        "tangents": [
            {"name": desc.expr(), "type": type_text(value.type)}
            for desc, value in zip(meta.traced_tangents_descs, meta.traced_tangents, strict=True)
        ],
        "bases": meta.num_intermediate_bases,
        "graph": {
            "fw_nodes": len(forward.nodes),
            "bw_nodes": 0 if split is None else len(split.backward.nodes),
        },
        "collectives": [
            *_collectives("forward", forward), *([] if split is None else _collectives("backward", split.backward))
        ],
        "partition": {
            "method": "none" if split is None else split.method,
            "saved": [] if split is None else [{"name": s.name, "bytes": s.nbytes} for s in split.saved],
            "recomputed": [] if split is None else [node.op for node in split.recomputed],
            **{name: stats.get(name, 0) for name in ("saved_bytes", "activation_bytes", "peak_bytes")},
        },
        "flops": {
            "forward": sum(flops(node) for node in forward.nodes),
            "backward": stats.get("backward_flops", 0),
            "recompute": stats.get("recompute_flops", 0),
        },
    }


def _collectives(half: str, graph: Any) -> list[dict[str, Any]]:
    """The messages between ranks, in order, as the ranks compare them."""
    found = []
    at_top = [node for node in graph.nodes if node.effect == "collective"]
    steps = schedule(graph) if len(at_top) == len(collectives_in(graph)) else []
    places = {(what, node): place for place, (what, node) in enumerate(steps)}
    for number, (operator, given, types) in enumerate(collectives_in(graph)):
        said = [x.describe(tuple(types[0].shape), types[0].dtype) for x in given if hasattr(x, "describe")]
        nbytes = sum(math.prod(kind.shape) * kind.dtype.itemsize for kind in types)
        found.append({
            "half": half, "operator": operator, "bytes": nbytes, "call": " ".join(said),
            **{word: places.get((what, at_top[number])) if steps else None
               for word, what in (("started", START), ("awaited", WAIT))},
        })  # fmt: skip
    return found


def _kept_over_writes(entry: Entry) -> list[dict[str, Any]]:
    """What backward reads although the function writes over it: where the write is, and how much is kept."""
    totals: dict[tuple[str, str], list[int]] = {}
    for each in entry.capture.overwrites:
        total = totals.setdefault((f"{each.file}:{each.line}", each.operator), [0, 0])
        total[0] += 1
        total[1] += each.nbytes
    return [
        {"place": place, "operator": operator, "count": count, "bytes": nbytes}
        for (place, operator), (count, nbytes) in totals.items()
    ]


def _left_to_numpy(entry: Entry) -> dict[str, Any]:
    """The operators that a native backend has no native code for."""
    tell = entry.compilers.left_to_numpy
    if tell is None:
        return {}
    graphs = [entry.forward_graph, *([] if entry.partition is None else [entry.partition.backward])]
    told = collections.Counter((graph.name, *each) for graph in graphs for each in tell(graph))
    return {
        "left_to_numpy": [
            {"graph": name, "operator": operator, "reason": reason, "count": count}
            for (name, operator, reason), count in told.items()
        ]
    }


def _guards(entry: Entry) -> list[str]:
    """What a later call is compared with, in words."""
    guards = [
        f"{given.desc.expr()}: {type_text(value.type)}"
        for given, value in zip((entry.capture.flat or entry.capture).inputs, entry.graph.inputs, strict=False)
    ]
    guards += [f"{captured.name}: {captured.text}" for captured in entry.fit.captured if captured.text]
    guards += [f"{place.text} ({place.kind})" for place in entry.fit.places]
    if entry.overwrites_inputs:
        guards.append("which arguments overlap the written ones")
    return [*guards, "structure and literals", "grad mode", "inference mode", "default dtype"]


def _groups(entry: Entry) -> list[str]:
    return [
        f"arguments {', '.join(map(str, given.members))} overlap and one is written: they are {given.desc.expr()}"
        for given in entry.inputs if given.members
    ]  # fmt: skip


# Words.


def _names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for every leaf of the arguments: the parameter's, with the path inside of it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for part, *path in pytree.paths((args, kwargs)):
        first, *rest = path
        if part == 0:
            known = first < len(parameters) and parameters[first].kind is not inspect.Parameter.VAR_POSITIONAL
            first = parameters[first].name if known else f"args[{first}]"
        names.append(str(first) + "".join(f"[{key!r}]" for key in rest))
    return names


def _type(leaf: Any) -> str:
    array = leaf._data if isinstance(leaf, Tensor) else leaf
    if hasattr(array, "strides"):
        return type_text(type_of(array))
    return type_text(array_type(leaf.shape, leaf.dtype)) if hasattr(leaf, "is_array_spec") else f"literal {leaf!r}"


def _mutation(info: Any) -> str:
    if info.mutation_type is MutationType.NOT_MUTATED:
        return "not mutated"
    parts = []
    if info.mutates_data:
        count = info.version_bumps
        parts.append(f"data, {count} write{'' if count == 1 else 's'}")
    if info.mutates_storage_metadata:
        parts.append("other memory")
    elif info.mutates_metadata:
        parts.append("shape or strides")
    parts.append("in graph" if info.mutation_type is MutationType.MUTATED_IN_GRAPH else "after the graph")
    return ", ".join(parts)
