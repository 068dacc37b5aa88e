"""Running a function on lifted payloads: what `jet` and `jacobian_sparsity` have in common.

Arrays that the function makes are lifted when an operator first sees them, before there can be a view of them. So a
value that varies may be written into any array made inside, and into no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pullback.autograd._bodies import running
from pullback.autograd._captures import Transform
from pullback.autograd._levels import live_levels
from pullback.autograd._variable import requires_grad
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import current
from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.payloads.lifted import Lift, LiftedArray
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor, as_constant


@contextmanager
def lifting(lift: Lift) -> Iterator[None]:
    """The function runs inside this block, with grad mode off, on tensors whose payloads have this lift."""
    transform = Transform(lift.name)
    outer = current().interceptors

    def intercept(op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Callable[..., Any]) -> Any:
        if outer and getattr(outer[-1], "is_lifting", False):
            outer[-1](op, operands, params, _nothing)
        for x in operands:
            if isinstance(x, Tensor) and _lacks(x._data, lift) and x._spec.is_differentiable and transform.made(x):
                x._data = lift.constant(x._data)
        if outer and not getattr(outer[-1], "is_lifting", False):
            return outer[-1](op, operands, params, proceed)
        return proceed(op, operands, params)

    intercept.is_lifting = True  # type: ignore[attr-defined]
    with running(transform, grad=False, inference=False, interceptors=(*outer, intercept)):
        yield


def _nothing(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Stands for the operation where operands are only lifted."""


def _lacks(payload: Any, lift: Lift) -> bool:
    return not isinstance(payload, LiftedArray) or payload.lift.stamp < lift.stamp


def lifted_argument(payload: LiftedArray) -> Tensor:
    """An argument of the function, on memory of its own."""
    return made_here(payload)


def constant_arguments(lift: Lift, tree: Any) -> Any:
    """Arguments that do not vary, as copies: the function may write what varies into them."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [_constant(lift, leaf) for leaf in leaves])


def _constant(lift: Lift, leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or not leaf._spec.is_differentiable:
        return leaf
    return made_here(lift.constant(leaf._data.copy()))


def own_payload(who: str, value: Any) -> Any:
    """A copy of the payload of an argument, refused where somebody wants derivatives through the transform."""
    tensor = value if isinstance(value, Tensor) else as_constant(value)
    if (current().grad and requires_grad(tensor)) or live_levels((tensor,)):
        raise AutogradError(
            "LIFTED_DIFFERENTIATED",
            f"{who}: an argument is itself being differentiated",
            why=f"{who} computes with payloads, below the tape and the tangents, and the derivative would be lost",
            fix=f"detach() the argument, or use nested jvp in place of {who}",
        )
    return tensor._data.copy()
