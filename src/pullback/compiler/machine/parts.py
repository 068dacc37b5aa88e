"""Reads and writes of parts in backward passes, in native code (`c/parts.c`).

What nodes, entries and parts are is the caller's business, who gives the classes, the constants and the function that
sees to what is unusual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pullback.compiler.machine import structs
from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import builtin_function, offset_of
from pullback.errors import InternalError

_NAMES = (
    "part_kind", "shows_part", "axes", "variable", "meta", "grad_dtype", "visit", "keep_graph", "num_outputs",
    "release", "rest_data", "rest_epochs", "template", "accumulate", "shape", "dtype", "next",
)  # fmt: skip
_OBJECTS = (
    "sink", "integer", "slice", "slow", "assigned", "none", "true_", "false_", "ellipsis", "counted", "sole", "one",
    "own", "disturbed", "unset", *_NAMES,
)  # fmt: skip
_SLOTS = {"node": ("next", "rare", "spec"), "part": ("key", "specs", "params"), "write": ("fn", "key", "order")}
FIELDS = (*_OBJECTS, *(f"{slot}_of_{kind}" for kind, slots in _SLOTS.items() for slot in slots), "position")
"""`struct parts`."""


def visit_function(part: type, read: type, write: type, objects: Mapping[str, Any]) -> Callable[..., Any]:
    """A builtin function that visits nodes in place of `slow`. `read` is the class of nodes that read from an operand,
    `part` that of those which do so by a basic index, and `write` that of those which write so. It is an error if
    CPython is not as expected."""
    if not structs.are_as_expected():
        raise InternalError("arrays are not as native code expects them")
    held = {
        "integer": int, "slice": slice, "none": None, "true_": True, "false_": False, "ellipsis": ...,
        "counted": (None,), **{name: name for name in _NAMES}, "meta": "_meta", **objects,
    }  # fmt: skip
    places = {
        **{f"{name}_of_node": offset_of(read, name) for name in ("next", "rare", "spec")},
        "key_of_part": offset_of(part, "key"),
        "specs_of_part": offset_of(read, "operand_specs"),
        "params_of_part": offset_of(read, "params"),
        **{f"{name}_of_write": offset_of(write, name) for name in ("fn", "key", "order")},
        "position": np.dtype(np.intp).num,
    }
    fields = {**{name: id(held[name]) for name in _OBJECTS}, **places}
    (address,) = load_c("parts", ("visit",))
    return builtin_function(address, [fields[name] for name in FIELDS], (part, read, write, *held.values()), "visit")
