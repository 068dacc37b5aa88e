"""Top-level functions that belong to a family which is loaded when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pullback.declare.composite import composite
from pullback.declare.op import Op, registry
from pullback.graph.ir import finders
from pullback.operators.names import FUNCTIONS, LATER


def load_family(family: str) -> Any:
    """The namespace of a family such as `linalg`. Importing it here would load the family with every program."""
    return import_module(f"pullback.{family}")


def from_family(family: str, name: str, *default: Any) -> Any:
    """A function of a family such as `linalg`."""
    return getattr(load_family(family), name, *default)


def find_operator(name: str) -> Op | None:
    """The operator of this name in a family that is not loaded yet: they are loaded until it is found."""
    families = [*(f"pullback.{family}" for family in LATER), *(f"pullback.operators.{family}" for family in FUNCTIONS)]
    for module in families:
        import_module(module)
        if name in registry:
            return registry[name]
    return None


finders.append(find_operator)


@composite
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dim: Any = None) -> Any:
    """`linalg.norm`: the norm of a vector or matrix; by default the root of the sum of squares of all elements."""
    return from_family("linalg", "norm")(x, ord, axis if dim is None else dim, keepdims)


@composite
def i0(x: Any) -> Any:
    """`special.i0`: the modified Bessel function of order 0."""
    return from_family("special", "i0")(x)
