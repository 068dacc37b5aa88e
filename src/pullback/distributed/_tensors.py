"""Distributed tensors: ordinary tensors on a payload that is this rank's part of an array on a mesh.

    x = distribute(array, mesh, [Shard(0)])      # every rank has the array, and keeps its block
    loss = (pb.tanh(x @ w) ** 2).sum()           # the program is that for one process
    loss.backward()                              # x.grad is placed as x is
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pullback.core.spec import spec_for, spec_of
from pullback.core.state import current
from pullback.declare.families import primitive
from pullback.distributed import _block_rules  # noqa: F401  (what operators do to placements)
from pullback.distributed._collectives import scatter
from pullback.distributed._darray import DArray, dual
from pullback.distributed._errors import PlacementError
from pullback.distributed._placements import Partial, Replicate, local_index, local_lengths, normalized, shards
from pullback.operators.assembly import wrap
from pullback.payloads.kinds import no_memory
from pullback.tape.history import requires_grad
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, as_constant


def distribute(x: Any, mesh: Any, placements: Any, *, root: int | None = None) -> Tensor:
    """A distributed tensor of an array that every rank has: each keeps its part, in memory of its own.

    With `root`, the rank of this number has the array and sends the parts; what others give says shape and dtype.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.distribute(np.arange(3.0), grid, [pb.distributed.Shard(0)]).shape
    (3,)
    """
    if isinstance(x, Tensor) and requires_grad(x):
        raise PlacementError(
            "distribute: the tensor requires grad, and a new leaf would lose its history\n"
            "  fix  distribute it first, and call requires_grad_() on the result; or use from_local"
        )
    if root is not None:
        return _sent(x, mesh, placements, root)
    array = np.asarray(x.detach() if isinstance(x, Tensor) else x)
    found = normalized(placements, mesh, array.ndim)
    local = DArray(array, mesh, (Replicate(),) * len(found), array.shape).to(found).local
    return wrap(DArray(np.array(local), mesh, found, array.shape))


def _sent(x: Any, mesh: Any, placements: Any, root: int) -> Tensor:
    lengths, group = tuple(x.shape), mesh.group()
    found = normalized(placements, mesh, len(lengths))
    summed = [axis for axis, each in enumerate(found) if isinstance(each, Partial)]
    places = list(itertools.product(*map(range, mesh.shape)))
    parts = [local_index(lengths, found, mesh, place) for place in places]
    sizes = [math.prod(each.stop - each.start for each in part) for part in parts]
    sizes = [0 if any(place[axis] for axis in summed) else n for place, n in zip(places, sizes, strict=True)]
    flat: Any = spec_for((sum(sizes),), np.dtype(x.dtype))
    if group.rank == root:
        array = np.asarray(x.detach() if isinstance(x, Tensor) else x)
        flat = np.concatenate([array[part].reshape(-1)[:n] for part, n in zip(parts, sizes, strict=True)])
    with no_grad():
        local = scatter(flat, root, sizes=sizes, comm=group).numpy()
    shape = local_lengths(lengths, found, mesh)
    if not sizes[group.rank]:
        local = np.zeros(shape, x.dtype)
    return wrap(DArray(local.reshape(shape), mesh, found, lengths))


def from_local(local: Any, mesh: Any, placements: Any, shape: Any = None, *, even: bool = False) -> Tensor:
    """A distributed tensor of this rank's part of it: differentiable.

    `shape` is that of the whole array. Without it the ranks tell each other how long their blocks are; `even=True` says
    that all are as long as this one. What is replicated counts once.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.from_local(pb.ones(3), grid, [pb.distributed.Shard(0)]).shape
    (3,)
    """
    local = as_constant(local)
    found = normalized(placements, mesh, local.ndim)
    lengths = _whole_lengths(local, mesh, found, even) if shape is None else tuple(int(n) for n in shape)
    expected = local_lengths(lengths, found, mesh)
    if tuple(local.shape) != expected:
        raise PlacementError(
            f"from_local: this rank has a block of shape {list(local.shape)}, and its block of {list(lengths)} placed "
            f"as {found} has shape {list(expected)}"
        )
    return _placed(local, like=DArray(no_memory(expected, local.dtype), mesh, found, lengths))


def _whole_lengths(local: Tensor, mesh: Any, placements: Any, even: bool) -> tuple[int, ...]:
    lengths = list(local.shape)
    cut = {dim: shards(placements, dim) for dim in range(local.ndim) if shards(placements, dim)}
    if even or not cut:
        for dim, axes in cut.items():
            lengths[dim] *= math.prod(mesh.shape[axis] for axis in axes)
        return tuple(lengths)
    if current().trace is not None:
        raise PlacementError("from_local: without shape= ranks ask each other, which a trace never does; give shape=")
    every = mesh.group().gather_objects(tuple(local.shape))
    places = list(itertools.product(*map(range, mesh.shape)))
    for dim, axes in cut.items():
        fixed = [axis for axis in range(len(mesh.shape)) if axis not in axes]
        lengths[dim] = sum(
            block[dim] for block, place in zip(every, places, strict=True)
            if all(place[axis] == mesh.coords[axis] for axis in fixed)
        )  # fmt: skip
    for place, block in zip(places, every, strict=True):  # on all ranks, so that all of them raise
        expected = [part.stop - part.start for part in local_index(tuple(lengths), placements, mesh, place)]
        if list(block) != expected:
            raise PlacementError(
                f"from_local: the rank at {place} of the mesh has a block of shape {list(block)}, and of {lengths} "
                f"placed as {placements} it would be {expected}"
            )
    return tuple(lengths)


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
def _to_local(x: Any, *, gradient: Any) -> Any:
    """This rank's part. `gradient` says how the parts of its gradient are placed."""
    return x.local


@_to_local.vjp
def _to_local_vjp(g: Any, x: Any, gradient: Any) -> Any:
    payload = x._data if isinstance(x, Tensor) else x
    return _placed(g, like=payload.hollow().with_parts(placements=gradient))


@_to_local.jvp
def _to_local_jvp(t_x: Any, gradient: Any) -> Any:
    return _to_local(t_x, gradient=gradient)


@primitive(name="_placed")
def _placed(x: Any, *, like: Any) -> Any:
    """The array whose part on this rank is `x`."""
    return DArray(x, like.mesh, like.placements, like.lengths)


@_placed.vjp
def _placed_vjp(g: Any, like: Any) -> Any:
    placed = dual(like.placements)
    return _to_local(_redistributed(g, placements=placed), gradient=like.placements)


@_placed.jvp
def _placed_jvp(t_x: Any, like: Any) -> Any:
    return _placed(t_x, like=like)


@_placed.spec
def _placed_spec(x: Any, *, like: Any) -> Any:
    return spec_of(like)


for _op in (_redistributed, _to_local, _placed):
    _op.takes_payloads = True


def redistribute(x: Tensor, placements: object) -> Tensor:
    """The same array, placed in another way: differentiable. The gradient moves back."""
    payload = _payload(x, "redistribute")
    return _redistributed(x, placements=normalized(placements, payload.mesh, x.ndim))


def to_local(x: Tensor, *, grad_placements: Any = None) -> Tensor:
    """This rank's part, as a plain tensor: differentiable.

    Every rank may use what all have in its own way, so that the gradients of its parts are summands. If all use it
    alike, `grad_placements=[Replicate()]` says so.
    """
    payload = _payload(x, "to_local")
    if Partial() in payload.placements and requires_grad(x):
        raise PlacementError("to_local of a sum over ranks that is differentiated: redistribute it first")
    if grad_placements is None:
        gradient = tuple([Partial() if isinstance(each, Replicate) else each for each in payload.placements])
    else:
        gradient = normalized(grad_placements, payload.mesh, x.ndim)
    return _to_local(x, gradient=gradient)


def full_tensor(x: Tensor) -> Tensor:
    """The whole array as a plain tensor, on every rank: a collective."""
    payload = _payload(x, "full_tensor")
    return to_local(redistribute(x, (Replicate(),) * len(payload.placements)))


def local_part(x: Tensor) -> tuple[slice, ...]:
    """Where this rank's part lies in the whole array."""
    payload = _payload(x, "local_part")
    return local_index(payload.lengths, payload.placements, payload.mesh)


def mesh_of(x: Tensor) -> Any:
    """The mesh that a distributed tensor lies on."""
    return _payload(x, "mesh").mesh


def local_shape(x: Tensor) -> tuple[int, ...]:
    """The shape of this rank's part."""
    return tuple(_payload(x, "local_shape").local.shape)


DArray.tensor_members = {
    "full_tensor": full_tensor, "local_shape": local_shape, "mesh": mesh_of, "placements": placements,
    "redistribute": redistribute, "to_local": to_local,
}  # fmt: skip
