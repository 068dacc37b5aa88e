"""Distributed tensors from nothing: filled with a number, or with random numbers that are the same on every mesh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.distributed._darray import DArray
from pullback.distributed._errors import DistributedError, PlacementError
from pullback.distributed._placements import Partial, local_index, local_lengths, normalized
from pullback.operators.assembly import wrap
from pullback.operators.random.draws import default_generator
from pullback.tensors.tensor import Tensor

DRAWN_TOGETHER = 65_536


def zeros(shape: Any, mesh: Any, placements: Any, dtype: Any = np.float64) -> Tensor:
    """A distributed tensor of zeros.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.zeros(3, grid, [pb.distributed.Shard(0)]).full_tensor()
    tensor([0., 0., 0.])
    """
    return full(shape, 0, mesh, placements, dtype)


def ones(shape: Any, mesh: Any, placements: Any, dtype: Any = np.float64) -> Tensor:
    """A distributed tensor of ones.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.ones(3, grid, [pb.distributed.Shard(0)]).full_tensor()
    tensor([1., 1., 1.])
    """
    return full(shape, 1, mesh, placements, dtype)


def full(shape: Any, value: Any, mesh: Any, placements: Any, dtype: Any = np.float64) -> Tensor:
    """A distributed tensor with one number in all places. No rank makes more than its part.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.full(3, 2.0, grid, [pb.distributed.Shard(0)]).full_tensor()
    tensor([2., 2., 2.])
    """
    lengths = _lengths(shape)
    found = normalized(placements, mesh, len(lengths))
    is_first = all(not mesh.coords[axis] for axis, each in enumerate(found) if isinstance(each, Partial))
    local = np.full(local_lengths(lengths, found, mesh), value if is_first else 0, dtype)
    return wrap(DArray(local, mesh, found, lengths))


def normal(shape: Any, mesh: Any, placements: Any, dtype: Any = np.float64, *, seed: int | None = None) -> Tensor:
    """A distributed tensor of normally distributed numbers, the same ones on every mesh and with all placements.

    They follow from `seed`. Without it the first rank of the mesh takes one from `pb.random` and tells it to the
    others.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.normal((2, 3), grid, [pb.distributed.Shard(1)], seed=0).shape
    (2, 3)
    """
    return _drawn(lambda generator, n: generator.standard_normal(n), shape, mesh, placements, dtype, seed)


def uniform(shape: Any, mesh: Any, placements: Any, dtype: Any = np.float64, *, seed: int | None = None) -> Tensor:
    """The same with numbers between 0 and 1.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.uniform((2, 3), grid, [pb.distributed.Shard(1)], seed=0).shape
    (2, 3)
    """
    return _drawn(lambda generator, n: generator.random(n), shape, mesh, placements, dtype, seed)


def _lengths(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)


def _drawn(draw: Any, shape: Any, mesh: Any, placements: Any, dtype: Any, seed: int | None) -> Tensor:
    lengths = _lengths(shape)
    found = normalized(placements, mesh, len(lengths))
    if any(isinstance(each, Partial) for each in found):
        raise PlacementError("random numbers that are spread as summands: draw them replicated or sharded")
    if seed is None:
        if current().trace is not None:
            raise DistributedError("random numbers in a compiled function: give seed=, as a trace asks no other rank")
        group = mesh.group()
        mine = int(default_generator.numpy.integers(2**63)) if group.rank == 0 else None
        seed = group.gather_objects(mine)[0]
    ranges = [np.arange(part.start, part.stop) for part in local_index(lengths, found, mesh)]
    places = np.zeros((), np.int64)
    for n, each in zip(lengths, ranges, strict=True):
        places = places[..., None] * n + each
    flat = places.reshape(-1)  # ascending, as the elements of a block are in the order of the whole array
    out = np.empty(flat.size, dtype)
    for number in range(-(-math.prod(lengths) // DRAWN_TOGETHER)):
        low, high = np.searchsorted(flat, (number * DRAWN_TOGETHER, (number + 1) * DRAWN_TOGETHER))
        if low < high:
            numbers = draw(np.random.default_rng([seed, number]), DRAWN_TOGETHER)
            out[low:high] = numbers[flat[low:high] - number * DRAWN_TOGETHER]
    return wrap(DArray(out.reshape(places.shape), mesh, found, lengths))
