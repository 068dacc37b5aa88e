"""The one place that says of which lengths, dtypes, layouts and values the random testers draw.

`array` and `tensor` make what was drawn from its description, so that a program in text can say what it is given.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

import pullback as pb

Shape = tuple[int, ...]

LENGTHS = (0, 1, 2, 3, 5, 8, 16, 17, 63, 100, 300, 511, 512, 513, 1000, 4096, 5000, 70_000)
SHORT = LENGTHS[1:8]
LONG = LENGTHS[8:]
MOST_ELEMENTS = 140_000

REAL = ("float64", "float32", "float16")
DTYPES = (*REAL, "complex128", "complex64", "int64", "int32", "int8", "uint8", "uint64", "bool")
DTYPE_WEIGHTS = (12, 4, 1, 2.5, 1, 2, 1, 0.4, 0.4, 0.2, 1)

LAYOUTS = {
    "C": 10, "fortran": 2, "strided": 2, "negative": 2, "transposed": 1, "offset": 1, "unaligned": 1, "swapped": 1,
    "read_only": 0.7, "mapped": 0.5, "broadcast": 0.5,
}  # fmt: skip
VALUES = {"normal": 10, "positive": 3, "whole": 2, "unit": 3, "edge": 1}
EDGES = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-310, 1e300, -1.0, 1.0, 2.0**53)


class World:
    """Draws from the world. `rng` decides everything."""

    def __init__(self, rng: random.Random, *, most_elements: int = MOST_ELEMENTS, lengths: Sequence[int] = LENGTHS):
        self.rng = rng
        self.most_elements = most_elements
        self.lengths = lengths

    def length(self, at_most: float = math.inf) -> int:
        """A length. Small ones come more often: they are quick, and most mistakes show there."""
        fitting = [n for n in self.lengths if n <= at_most]
        return self.rng.choices(fitting, [0.3 if n == 0 else 2 if 1 < n < 20 else 1 for n in fitting])[0]

    def shape(self, most_axes: int = 4) -> Shape:
        """A shape: small in all axes, one long axis, short rows in great numbers, long rows in small."""
        kind = self.rng.choices(("any", "rows", "columns", "small"), (4, 3, 2, 4))[0]
        small = [n for n in self.lengths if n <= 17]
        if kind == "small" or most_axes < 2:
            count = self.rng.choices(range(most_axes + 1), (1, 5, 5, 2, 1)[: most_axes + 1])[0]
            if kind != "small" and count == 1:
                return (self.length(self.most_elements),)
            return tuple(self.rng.choice(small) if self.rng.random() < 0.9 else 1 for _ in range(count))
        if kind == "any":
            shape: list[int] = []
            left = self.most_elements
            for _ in range(self.rng.choices(range(most_axes + 1), (1, 8, 4, 1, 0.5)[: most_axes + 1])[0]):
                shape.append(self.length(left))
                left //= max(shape[-1], 1)
            self.rng.shuffle(shape)
            return tuple(shape)
        short = self.rng.choice([n for n in small if n] or [1])
        long = self.length(self.most_elements // short)
        extra = (self.rng.choice((1, 2, 3)),) if most_axes > 2 and self.rng.random() < 0.2 else ()
        if extra and extra[0] * short * long > self.most_elements:
            extra = ()
        return (*extra, long, short) if kind == "rows" else (*extra, short, long)

    def dtype(self, among: Sequence[str] = DTYPES) -> str:
        weights = dict(zip(DTYPES, DTYPE_WEIGHTS, strict=True))
        return self.rng.choices(among, [weights[name] for name in among])[0]

    def layout(self) -> str:
        return self.rng.choices(list(LAYOUTS), list(LAYOUTS.values()))[0]

    def values(self, edges: bool = True) -> str:
        kinds = [kind for kind in VALUES if edges or kind != "edge"]
        return self.rng.choices(kinds, [VALUES[kind] for kind in kinds])[0]

    def seed(self) -> int:
        return self.rng.randrange(1000)


def numbers(shape: Shape, dtype: str, values: str, seed: int) -> np.ndarray:
    """Values in the usual layout, the same for the same description."""
    draws = np.random.default_rng((seed, len(shape), *shape))
    kind = np.dtype(dtype).kind
    if values == "whole" or kind in "iu":
        made = draws.integers(0 if kind == "u" else -3, 5, shape).astype(float)
    elif values == "positive":
        made = draws.uniform(0.5, 2.0, shape)
    elif values == "unit":
        made = draws.uniform(-0.9, 0.9, shape)
    else:
        made = draws.normal(size=shape)
    made = np.asarray(made)
    if values == "edge" and made.size and kind in "fc":
        places = draws.integers(made.size, size=max(1, min(6, made.size // 2)))
        made.flat[places] = draws.choice(EDGES, len(places))
    if kind == "b":
        return np.asarray(made > 0)
    if kind == "c":
        made = made + 1j * (draws.uniform(-0.9, 0.9, shape) if values != "whole" else draws.integers(-2, 3, shape))
    with np.errstate(all="ignore"):
        return np.asarray(made).astype(dtype)


def array(shape: Shape, dtype: str = "float64", layout: str = "C", values: str = "normal", seed: int = 0) -> np.ndarray:
    """The array that this describes, in memory of its own."""
    return laid_out(numbers(shape, dtype, values, seed), layout)


def laid_out(plain: np.ndarray, layout: str) -> np.ndarray:
    """These values in another layout."""
    shape, dtype = plain.shape, plain.dtype
    if layout == "fortran":
        return np.array(plain, order="F")
    if layout == "swapped":
        return plain.astype(dtype.newbyteorder())
    if layout == "read_only":
        plain.flags.writeable = False
        return plain
    if layout == "mapped" and plain.size:
        with tempfile.TemporaryFile() as file:
            made: np.ndarray = np.memmap(file, dtype, "w+", shape=shape)
        made[...] = plain
        return made
    if layout == "broadcast" and plain.ndim and shape[0] > 1:
        return np.broadcast_to(plain[:1], shape)
    if layout == "unaligned":
        room = np.zeros(plain.nbytes + 1, np.uint8)[1:]
        made = room.view(dtype).reshape(shape) if plain.size else plain
    elif layout == "strided":
        made = np.zeros(tuple(2 * n for n in shape), dtype)[(*(slice(None, None, 2) for _ in shape), ...)]
    elif layout == "negative":
        made = np.zeros(shape, dtype)[(*(slice(None, None, -1) for _ in shape), ...)]
    elif layout == "transposed":
        axes = tuple(reversed(range(1, plain.ndim)))
        made = np.zeros((*shape[:1], *(shape[k] for k in axes)), dtype).transpose((0, *axes) if plain.ndim else ())
    elif layout == "offset":
        made = np.zeros(tuple(n + 1 for n in shape), dtype)[(*(slice(1, None) for _ in shape), ...)]
    else:
        return plain
    made[...] = plain
    return made


def tensor(
    shape: Shape, dtype: str = "float64", layout: str = "C", values: str = "normal", seed: int = 0, *,
    requires_grad: bool = False,
) -> pb.Tensor:  # fmt: skip
    """A tensor on the memory of such an array."""
    made: Any = pb.asarray(array(shape, dtype, layout, values, seed))
    return made.requires_grad_() if requires_grad else made
