"""Sinks in native code: the node behind each of several leaves, found through a weak reference, or made (`c/leaves.c`).

What leaves and nodes are is the caller's business, who gives the classes and has the slots that are named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.compiler.machine import structs
from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import builtin_function, offset_of
from pullback.errors import InternalError

FIELDS = (
    "node", "leaf", "clock", "slow", "nothing", "none", "mark_of_tensor", "spec_of_tensor", "reference_of_mark",
    "variable_of_node", "spec_of_node", "next_of_node", "rare_of_node", "seq_of_node",
)  # fmt: skip
"""`struct leaves`."""


def sinks_function(
    tensor: type, leaf: type, node: type, clock: Callable[[], int], slow: Callable[..., Any]
) -> Callable[..., tuple[Any, ...]]:
    """A builtin function of tensors that are leaves, which returns their nodes. It is an error if CPython is not as
    expected. `clock` gives new nodes their numbers, and `slow` is called if a tensor turns out to be no leaf."""
    if not structs.are_as_expected():
        raise InternalError("arrays are not as native code expects them")
    objects = {"node": node, "leaf": leaf, "clock": clock, "slow": slow, "nothing": (), "none": None}
    offsets = {
        "mark_of_tensor": offset_of(tensor, "_node"), "spec_of_tensor": offset_of(tensor, "_spec"),
        "reference_of_mark": offset_of(leaf, "accumulator"),
        **{f"{name}_of_node": offset_of(node, name) for name in ("variable", "spec", "next", "rare", "seq")},
    }  # fmt: skip
    fields = {**{name: id(each) for name, each in objects.items()}, **offsets}
    (address,) = load_c("leaves", ("leaves",))
    return builtin_function(address, [fields[name] for name in FIELDS], (tensor, *objects.values()), "accumulators")
