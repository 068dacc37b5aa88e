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
from collections.abc import Callable
from typing import Any

from pullback.aot._captured import name_of
from pullback.aot._entry import Entry
from pullback.aot._explain_text import page, table
from pullback.aot._leaves import flatten_arguments
from pullback.aot._metadata import MutationType
from pullback.core import pytree
from pullback.graph.cost import flops
from pullback.graph.literals import type_text
from pullback.graph.types import array_type, type_of
from pullback.tensors.tensor import Tensor

SCHEMA_VERSION = 1


class Explanation:
    """What one compiled call does. `str()` is a table, `to_json()` is for programs, `to_html()` for browsers."""

    def __init__(
        self, entry: Entry, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        notes: list[str],
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
            "guards": _guards(entry),
            "notes": [*notes, *_groups(entry)],
        }  # fmt: skip

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text, of schema version 1."""
        return json.dumps(self.data, **options)

    def to_html(self) -> str:
        """The same as an HTML page, with the graph drawn."""
        return page(self.data, self.entry.graph.to_svg())

    _repr_html_ = to_html

    def __str__(self) -> str:
        return "\n".join(table(self.data))

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


def _captures(entry: Entry) -> list[dict[str, Any]]:
    held = [given for given in entry.inputs if given.capture is not None]
    return [
        {
            "slot": None,
            "name": name_of(captured.tensor, captured.name, captured.way),
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
    guards += [f"{captured.name}: {captured.way[-1].text}" for captured in entry.fit.captured if captured.way]
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
