"""Distributed tensors: ordinary tensors on a payload that is this rank's part of an array on a mesh.

    x = distribute(array, mesh, [Shard(0)])      # every rank has the array, and keeps its block
    loss = (pb.tanh(x @ w) ** 2).sum()           # the program is that for one process
    loss.backward()                              # x.grad is placed as x is
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import spec_of
from pullback.declare.families import primitive
from pullback.distributed._darray import DArray, dual
from pullback.distributed._errors import PlacementError
from pullback.distributed._placements import Partial, Replicate, local_index, local_lengths, normalized
from pullback.operators.assembly import wrap
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, as_constant


def distribute(x: Any, mesh: Any, placements: Any) -> Tensor:
    """A distributed tensor of an array that every rank has: each keeps its part, in memory of its own."""
    if isinstance(x, Tensor) and requires_grad(x):
        raise PlacementError(
            "distribute: the tensor requires grad, and a new leaf would lose its history\n"
            "  fix  distribute it first, and call requires_grad_() on the result; or use from_local"
        )
    array = np.asarray(x.detach() if isinstance(x, Tensor) else x)
    found = normalized(placements, mesh, array.ndim)
    local = DArray(array, mesh, (Replicate(),) * len(found), array.shape).to(found).local
    return wrap(DArray(np.array(local), mesh, found, array.shape))


def from_local(local: Any, mesh: Any, placements: Any, shape: Any = None) -> Tensor:
    """A distributed tensor of this rank's part of it: differentiable.

    `shape` is that of the whole array; it may be left out if nothing is sharded.
    """
    local = as_constant(local)
    found = normalized(placements, mesh, local.ndim)
    if shape is None:
        if any(not isinstance(each, (Replicate, Partial)) for each in found):
            raise PlacementError("from_local: the shape of a sharded array is not known from one block; give shape=")
        shape = local.shape
    lengths = tuple(int(n) for n in shape)
    expected = local_lengths(lengths, found, mesh)
    if tuple(local.shape) != expected:
        raise PlacementError(
            f"from_local: this rank has a block of shape {list(local.shape)}, and its block of {list(lengths)} placed "
            f"as {found} has shape {list(expected)}"
        )
    return wrap(DArray(local, mesh, found, lengths))


def _payload(x: Any, who: str) -> Any:
    payload = x._data if isinstance(x, Tensor) else None
    if not isinstance(payload, DArray):
        raise TypeError(f"{who}: expected a distributed tensor, got {type(x).__name__}")
    return payload


def placements(x: Tensor) -> tuple[Any, ...]:
    """How a distributed tensor is placed: one placement for each axis of its mesh."""
    return tuple(_payload(x, "placements").placements)


@primitive(name="_redistribute")
def _redistributed(x: Any, *, placements: Any) -> Any:
    """The same array, placed in another way."""
    return x.to(placements)


@_redistributed.transpose
def _redistributed_transpose(g: Any) -> Any:
    return g  # the gradient is moved to where its value was


@primitive(name="_to_local")
def _to_local(x: Any) -> Any:
    """This rank's part."""
    return x.local


@_to_local.vjp
def _to_local_vjp(g: Any, x: Any) -> Any:
    payload = x._data if isinstance(x, Tensor) else x
    return _of_local(g, like=payload.hollow())


@_to_local.jvp
def _to_local_jvp(t_x: Any) -> Any:
    return _to_local(t_x)


@primitive(name="_of_local")
def _of_local(x: Any, *, like: Any) -> Any:
    """A gradient of this rank's part as one of the array: every rank may have used what all have in its own way."""
    placed = tuple([Partial() if isinstance(each, Replicate) else each for each in like.placements])
    return DArray(x, like.mesh, placed, like.lengths)


@_of_local.vjp
def _of_local_vjp(g: Any, like: Any) -> Any:
    return _to_local(_redistributed(g, placements=dual(like.placements)))


@_of_local.jvp
def _of_local_jvp(t_x: Any, like: Any) -> Any:
    return _of_local(t_x, like=like)


@_of_local.spec
def _of_local_spec(x: Any, *, like: Any) -> Any:
    return spec_of(like)


for _op in (_redistributed, _to_local, _of_local):
    _op.takes_payloads = True


def redistribute(x: Tensor, placements: Any) -> Tensor:
    """The same array, placed in another way: differentiable. The gradient moves back."""
    payload = _payload(x, "redistribute")
    return _redistributed(x, placements=normalized(placements, payload.mesh, x.ndim))


def to_local(x: Tensor) -> Tensor:
    """This rank's part, as a plain tensor: differentiable."""
    payload = _payload(x, "to_local")
    if Partial() in payload.placements and requires_grad(x):
        raise PlacementError("to_local of a sum over ranks that is differentiated: redistribute it first")
    return _to_local(x)


def full_tensor(x: Tensor) -> Tensor:
    """The whole array as a plain tensor, on every rank: a collective."""
    payload = _payload(x, "full_tensor")
    return to_local(redistribute(x, (Replicate(),) * len(payload.placements)))


def local_part(x: Tensor) -> tuple[slice, ...]:
    """Where this rank's part lies in the whole array."""
    payload = _payload(x, "local_part")
    return local_index(payload.lengths, payload.placements, payload.mesh)
