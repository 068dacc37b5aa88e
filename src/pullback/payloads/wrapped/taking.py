"""The operator that makes a gradient one that its value takes, for passes that are differentiated themselves."""

from __future__ import annotations

from typing import Any

from pullback.core.spec import spec_of
from pullback.declare.families import primitive
from pullback.errors import AutogradError
from pullback.payloads.kinds import has_kind, hollow


@primitive(name="_taken")
def taken(x: Any, *, like: Any, root: Any) -> Any:
    """A gradient as a value on a payload like this takes it."""
    return like.take_gradient(x, root)


taken.takes_payloads = True


@taken.spec
def taken_spec(x: Any, *, like: Any, root: Any) -> Any:
    """That of the value."""
    return spec_of(like)


@taken.vjp
def taken_vjp(g: Any, x: Any) -> Any:
    """The gradient converted back."""
    payload = x._data if hasattr(x, "_data") else x
    if has_kind(payload):  # between payloads of one class it is a projection, which is its own adjoint
        return taken(g, like=hollow(payload), root=None)
    return plain_sum(g)


@taken.jvp
def taken_jvp(t_x: Any, like: Any, root: Any) -> Any:
    """The tangent converted."""
    return taken(t_x, like=like, root=root)


@primitive(name="_plain_sum")
def plain_sum(x: Any) -> Any:
    """What a plain array that stands in every part gets from all of them."""
    if not has_kind(x):
        return x
    parts = [part for part in x.part_values() if part.dtype.kind in "fc"]
    if len(parts) > 1 and x.default != "each":
        raise AutogradError(
            "GRAD_WRAPPER",
            f"a derivative goes through the conversion of a plain gradient to a {type(x).__name__}",
            why="how such a payload becomes a plain gradient again is not known",
            fix="return a gradient of the kind of its value",
        )
    total = plain_sum(parts[0])
    for part in parts[1:]:
        total = total + plain_sum(part)
    return total


plain_sum.takes_payloads = True


@plain_sum.transpose
def plain_sum_transpose(g: Any) -> Any:
    """The same in every part."""
    return g


@primitive(name="_same_for_parts")
def same_for_parts(x: Any) -> Any:
    """A plain array that is the same for all parts, so that its gradient is the sum of what they give."""
    return x


same_for_parts.takes_payloads = True


@same_for_parts.transpose
def same_for_parts_transpose(g: Any) -> Any:
    """The sum over the parts."""
    return plain_sum(g)
