"""`data_parallel`: value and gradient of a loss whose batch is spread over the ranks; samplers and generators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.distributed._averager import buckets_of
from pullback.distributed._collectives import all_gather, all_reduce
from pullback.distributed._communicator import Communicator
from pullback.distributed._mesh import Mesh, group_of
from pullback.distributed._moves import offsets, split_sizes
from pullback.distributed._sums import check_virtual_shards, tree_sum
from pullback.func import value_and_grad
from pullback.tensors.tensor import as_constant, wrap


def data_parallel(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    comm: Any = None,
    mesh: Mesh | None = None,
    axis: Any = None,
    reduction: str = "ordered",
    average: bool = True,
    weight: Callable[..., Any] | None = None,
    has_aux: bool = False,
    bucket_bytes: int = 25_000_000,
    first_bucket_bytes: int = 1_000_000,
    virtual_shards: int | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns value and gradients of a loss, averaged over the ranks, each with a batch of its own.

    `f(params, batch)` returns a loss, or `(loss, aux)` with `has_aux`; `aux` stays what it is here. The average is
    `sum(w * g) / sum(w)` over the ranks, where `w` is `weight(batch)`, the number of samples for example, or 1. With
    `reduction="ordered"` sums are formed in the order of ranks: the same bits in every run. `virtual_shards=V` cuts the
    batch into V parts however many ranks there are, which gives the same bits on 1, 2, 4, ... up to V ranks; `f` is the
    mean over a batch then, and all parts are equally long. Composes with `pb.compile`, which starts the message of each
    bucket of gradients (as `GradientAverager` has them) when the last of them is there, and computes on meanwhile.

    >>> step = pb.distributed.data_parallel(lambda w, batch: ((w * batch) ** 2).mean())
    >>> step(pb.tensor(3.0), pb.tensor([1.0, 2.0]))
    (tensor(22.5), tensor(15.))
    """
    group = group_of(comm, mesh, axis)
    if reduction not in ("ordered", "mpi"):
        raise ValueError(f'data_parallel: reduction is "ordered" or "mpi", got {reduction!r}')
    if virtual_shards is not None:
        check_virtual_shards("data_parallel", virtual_shards, group.size)
        if weight is not None or has_aux:
            raise ValueError("data_parallel: virtual_shards has equal parts, without weight= and has_aux=")
    derived = value_and_grad(f, argnums, has_aux)
    positions = (argnums,) if isinstance(argnums, int) else argnums

    @functools.wraps(f)
    def step(*args: Any) -> tuple[Any, Any]:
        if virtual_shards is not None:
            return _by_shards(derived, args, positions, virtual_shards, group, average)
        value, gradients = derived(*args)
        value, aux = value if has_aux else (value, None)
        own = 1.0 if weight is None else weight(*[x for k, x in enumerate(args) if k not in positions])
        tree = (value, gradients)
        if average and weight is not None:
            tree = map_leaves(lambda x: x * own, tree)
        summed = _summed(tree, group, reduction == "ordered", (bucket_bytes, first_bucket_bytes))
        if average:
            total = group.size if weight is None else all_reduce(wrap(np.asarray(float(own))), comm=group)
            summed = map_leaves(lambda x: x / total, summed)
        value, gradients = summed
        return ((value, aux) if has_aux else value), gradients

    return step


def _summed(tree: Any, comm: Communicator, ordered: bool, limits: tuple[int, int]) -> Any:
    """The sum of a tree over the ranks: a message for every bucket, the last leaves first, as backward has them."""
    leaves, structure = flatten(tree)
    tensors = [as_constant(leaf) for leaf in leaves]
    results: list[Any] = [None] * len(tensors)
    for members in buckets_of([(x.shape, x.dtype) for x in tensors], *limits):
        found = all_reduce([tensors[k] for k in members], comm=comm, deterministic=ordered)
        for k, x in zip(members, found, strict=True):
            results[k] = x
    return unflatten(structure, results)


def _by_shards(
    derived: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...], shards: int, comm: Communicator,
    average: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Every part by itself, and all of them added along one binary tree, whichever rank they are on."""
    here = shards // comm.size
    parts = []
    structure: Any = None
    for k in range(here):
        cut = list(args)
        for n, x in enumerate(args):
            if n not in positions:
                cut[n] = map_leaves(lambda leaf, k=k: _part(leaf, k, here), x)
        leaves, structure = flatten(derived(*cut))
        parts.append(leaves)
    added = [tree_sum([part[n] for part in parts]) for n in range(len(parts[0]))]
    every = [all_gather(as_constant(x), stack=True, comm=comm) for x in added]
    sums = [tree_sum([x[rank] for rank in range(comm.size)]) for x in every]
    value, gradients = unflatten(structure, [x / shards if average else x for x in sums])
    return value, gradients


def _part(x: Any, k: int, count: int) -> Any:
    rows = x.shape[0]
    if rows % count:
        raise ValueError(f"data_parallel: {rows} rows of this rank cannot be cut into {count} equal parts")
    return x[k * rows // count : (k + 1) * rows // count]


def sampler(
    n: int, batch: int, seed: int = 0, epoch: int = 0, *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None,
    shuffle: bool = True,
) -> Iterator[np.ndarray[Any, Any]]:  # fmt: skip
    """The rows that this rank takes of each batch of an epoch. `batch` is the size over all ranks.

    The order depends on `seed` and `epoch` and not on the number of ranks: together the ranks always see the same
    batches.

    >>> [rows.tolist() for rows in pb.distributed.sampler(5, 2, shuffle=False)]
    [[0, 1], [2, 3], [4]]
    """
    group = group_of(comm, mesh, axis)
    if n < 0 or batch < 1:
        raise ValueError(f"sampler: {n} rows in batches of {batch}")
    order = np.random.default_rng([seed, epoch]).permutation(n) if shuffle else np.arange(n)
    for begin in range(0, n, batch):
        rows = order[begin : begin + batch]
        at = offsets(split_sizes(len(rows), group.size))
        yield rows[at[group.rank] : at[group.rank + 1]]


def rank_generator(seed: int, *, comm: Any = None) -> np.random.Generator:
    """A generator of NumPy's whose stream is this rank's own; `pb.random` is the same on all ranks.

    >>> pb.distributed.rank_generator(0).integers(10, size=3).shape
    (3,)
    """
    group = group_of(comm, None, None)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(group.rank,)))

