"""`jet`: Taylor mode, all derivatives of a function along a path at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core.doors import door
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import current
from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.payloads.lifted import Lift, LiftedArray
from pullback.payloads.lifted.jet import JetArray, JetLift
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.transform.body import Transform, as_differentiable, running
from pullback.tape.transform.recording import check_outputs
from pullback.tensors.tensor import Tensor, as_constant, made_here

# Running a function on lifted payloads: what `jet` and `jacobian_sparsity` have in common.
#
# Arrays that the function makes are lifted when an operator first sees them, before there can be a view of them. So a
# value that varies may be written into any array made inside, and into no other.

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


@door
def jet(function: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """The value of a function, and its derivatives along a path through `primals`, to any order.

    `series[i]` holds the first, second, ... derivative of the path of argument `i`, each with the argument's structure.
    Returns `(out, out_series)`: in place of every output, `out_series` has the list of the derivatives of its path.
    Derivatives are not divided by factorials. The cost grows with the square of the order for products, where nested
    `jvp` doubles it with every order.

    >>> pb.func.jet(pb.sin, (0.0,), ((1.0, 0.0, 0.0),))
    (tensor(0.), [tensor(1.), tensor(0.), tensor(-1.)])
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(series, (tuple, list)):
        raise TypeError("jet: primals and series must be tuples with one entry per argument")
    if len(primals) != len(series) or not primals:
        raise ValueError(f"jet: got {len(primals)} primals and {len(series)} series; one per argument is needed")
    orders = {len(derivatives) for derivatives in series}
    if len(orders) != 1 or 0 in orders:
        raise ValueError(f"jet: every series needs the same number of derivatives, at least one, got {sorted(orders)}")
    (order,) = orders
    lift = JetLift(order)
    payloads = [_paths(lift, primal, derivatives) for primal, derivatives in zip(primals, series, strict=True)]
    with lifting(lift):
        given = [unflatten(structure, map(lifted_argument, leaves)) for leaves, structure in payloads]
        outputs, structure = check_outputs("jet", function(*given), allow_integers=True)
        parts = [_parts(lift, out) for out in outputs]
    tensors = [[made_here(part) for part in each] for each in parts]
    values = unflatten(structure, [first for first, *_ in tensors])
    return values, unflatten(structure, [rest for _, *rest in tensors])


def _paths(lift: JetLift, primal: Any, derivatives: Any) -> tuple[list[JetArray], Any]:
    leaves, structure = flatten(primal)
    rows = []
    for k, derivative in enumerate(derivatives):
        row, given = flatten(derivative)
        if given != structure:
            raise ValueError(f"jet: derivative {k + 1} has the structure {given}, but the primal has {structure}")
        rows.append(row)
    return [_path(lift, leaf, entries) for leaf, *entries in zip(leaves, *rows, strict=True)], structure


def _path(lift: JetLift, leaf: Any, derivatives: list[Any]) -> JetArray:
    first = own_payload("jet", as_differentiable(leaf, "jet"))
    parts = [first]
    for k, derivative in enumerate(derivatives, 1):
        given = derivative if isinstance(derivative, Tensor) else np.asarray(derivative, first.dtype)
        value = own_payload("jet", given)
        if value.shape != first.shape:
            raise ValueError(
                f"jet: derivative {k} has shape {list(value.shape)}, but the primal has shape {list(first.shape)}"
            )
        scaled = value * (1 / math.factorial(k))
        parts.append(scaled.astype(first.dtype) if hasattr(scaled, "evaluate_op") else np.asarray(scaled, first.dtype))
    return JetArray(lift, parts)


def _parts(lift: JetLift, out: Tensor) -> list[Any]:
    """The value of an output and its derivatives."""
    payload = out._data
    if not (isinstance(payload, JetArray) and payload.lift is lift):
        payload = lift.constant(payload)
    scaled = [part * math.factorial(k) if k > 1 else part for k, part in enumerate(payload.parts)]
    return [part if hasattr(part, "evaluate_op") else np.asarray(part) for part in scaled]
