"""`jet`: Taylor mode, all derivatives of a function along a path at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._bodies import as_differentiable
from pullback.autograd._recording import check_outputs
from pullback.core.pytree import flatten, unflatten
from pullback.func._lifted import lifted_argument, lifting, own_payload
from pullback.payloads.jet_array import JetArray, JetLift
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor


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
