"""Fractional pooling: windows at random places, close to evenly spread."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import tensor_from
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.nn.convolution import each_axis
from pullback.operators.nn.pooling import check_rank
from pullback.operators.random.family import random
from pullback.operators.reductions.extremes import max_with_indices
from pullback.payloads.batched.evaluate import across_examples


def _fractional_starts(samples: Any, length: int, size: int, count: int) -> Any:
    """Where the windows of every plane begin: steps of two neighbouring lengths in an order that the samples choose."""
    last = length - size
    if count == 1:
        return np.full((*samples.shape, 1), last)
    step = last / (count - 1)
    starts = np.floor((np.arange(count) + samples[..., None]) * step) - np.floor(samples[..., None] * step)
    starts[..., -1] = last
    return starts.astype(np.int64)


def _fractional_max_pool(
    name: str, rank: int, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, random_samples: Any,
    generator: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """The largest elements, and their places in an image."""
    check_rank(name, x, rank)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"nn.{name}: give output_size or output_ratio")
    window, lengths, planes = each_axis(name, "kernel_size", kernel_size, rank), x.shape[-rank:], x.shape[:-rank]
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
        output_size = tuple(int(n * ratio) for n, ratio in zip(lengths, ratios, strict=True))
    counts = each_axis(name, "output_size", output_size, rank)
    if any(q < 1 or q + k - 1 > n for q, k, n in zip(counts, window, lengths, strict=True)):
        raise ValueError(f"nn.{name}: {counts} windows of {window} do not fit into {lengths}")
    samples = random((*planes, rank), generator=generator) if random_samples is None else random_samples
    samples = tensor_from(samples).detach().reshape((*planes, rank))
    # Along every axis of the image, the places that every window reads: axes of windows, then of their elements.
    places: Any = 0
    for axis in range(rank):
        starts = functools.partial(_fractional_starts, length=lengths[axis], size=window[axis], count=counts[axis])
        sample = samples[..., 1 - axis if rank == 2 else axis]  # torch's order: width before height, but depth first
        reads = across_examples(starts, sample._data)[..., None] + np.arange(window[axis])
        spread = [1] * (2 * rank)
        spread[axis], spread[rank + axis] = counts[axis], window[axis]
        places = places + reads.reshape((*planes, *spread)) * math.prod(lengths[axis + 1 :])
    places = places.reshape((math.prod(planes), math.prod(counts), math.prod(window)))
    flat = x.reshape((math.prod(planes), math.prod(lengths)))
    number = np.arange(flat.shape[0])[:, None]
    windows = index_arrays(flat, number[:, None], places, template=(ARRAY, ARRAY), distinct=False)
    out, which = max_with_indices(windows, axis=-1)
    cells = np.arange(places.shape[1])
    index = index_arrays(places, number, cells, which, template=(ARRAY,) * 3, distinct=False)
    shape = (*planes, *counts)
    return out.reshape(shape), index.reshape(shape)


def _declare(rank: int, axes: str) -> None:
    def fractional_max_pool(
        x: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        random_samples: Any = None, *, generator: Any = None,
    ) -> Any:  # fmt: skip
        name = fractional_max_pool.__name__
        out, index = _fractional_max_pool(
            name, rank, x, kernel_size, output_size, output_ratio, random_samples, generator
        )
        return (out, index) if return_indices else out

    fractional_max_pool.__doc__ = f"""The largest element of `output_size` windows at random places in an image.

    `output_ratio` gives their number by that of the image's elements along each axis. `random_samples` (examples,
    channels, {rank}) between 0 and 1 decide about {axes}; they are drawn if not given.
    """
    fractional_max_pool.__name__ = fractional_max_pool.__qualname__ = f"fractional_max_pool{rank}d"
    composite(fractional_max_pool, name=f"nn.fractional_max_pool{rank}d")


_declare(2, "width and height")
_declare(3, "depth, height and width")
