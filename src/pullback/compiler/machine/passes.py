"""Backward passes in native code (`c/passes.c`): the two functions that the engine has in Python as well.

What nodes and entries are is the caller's business, who gives the classes, the constants and the functions that see to
what is unusual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import builtin_function, offset_of

OBJECTS = (
    "sink", "none", "true_", "sole", "one", "own", "list", "is_fast", "pull", "num_outputs", "add", "sums", "add_new",
    "at_output", "visit_leaves", "visit_one", "fitted", "formulas", "learn", "disturbed", "axis", "unwritten",
    "not_saved",
)  # fmt: skip
FIELDS = (*OBJECTS, "next_of_epoch", "next_of_node", "rare_of_node", "seq_of_node", "spec_of_node", "params_of_node",
          "specs_of_node", "shape_of_spec", "dtype_of_spec")  # fmt: skip
"""`struct passes`."""


def pass_functions(
    node: type, direct: type, spec: type, epoch: type, objects: Mapping[str, Any]
) -> tuple[Callable[..., Any], ...]:
    """`prepare` and `loop`, for nodes of subclasses of `node`, where CPython is as expected; `direct` is the class of
    those that are not elementwise."""
    names = {name: name for name in ("is_fast", "pull", "num_outputs", "add", "axis")}
    held = {"none": None, "true_": True, **names, **objects}
    fields = {**{name: id(held[name]) for name in OBJECTS},
              **{f"{name}_of_node": offset_of(node, name) for name in ("next", "rare", "seq", "spec")},
              "params_of_node": offset_of(direct, "params"), "specs_of_node": offset_of(direct, "operand_specs"),
              "shape_of_spec": offset_of(spec, "shape"), "dtype_of_spec": offset_of(spec, "dtype"),
              "next_of_epoch": offset_of(epoch, "next")}  # fmt: skip
    table = [fields[name] for name in FIELDS]
    addresses = load_c("passes", ("prepare", "loop"))
    return tuple(builtin_function(address, table, tuple(held.values()), "pass") for address in addresses)
