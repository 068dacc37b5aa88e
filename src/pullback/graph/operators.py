"""Operators by name: the declared ones, and what other packages know how to find.

A graph's text names its operators. Those of a family that is not loaded yet and custom operators are found by
functions that their packages append to `finders`, since a graph knows nothing of either.
"""

from __future__ import annotations

from collections.abc import Callable

from pullback.declare.op import Op, registry
from pullback.errors import AutogradError

finders: list[Callable[[str], Op | None]] = []
"""Asked in order for the operator of a name that is not in the registry."""


def find_operator(name: str) -> Op:
    """The operator of this name."""
    found = registry.get(name)
    if found is not None:
        return found
    for finder in finders:
        found = finder(name)
        if found is not None:
            return found
    raise AutogradError(
        "GRAPH_OPERATOR",
        f"there is no operator {name!r} here",
        why="a graph's text names its operators, and does not bring them along",
        fix="import the module that defines it, then read the text again",
    )
