"""Methods that fill a tensor with random numbers. The old values are gone, and with them the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.eager.inplace import write
from pullback.ops.casting import _assign as assign
from pullback.ops.random_continuous import cauchy, exponential, lognormal, uniform
from pullback.ops.random_discrete import bernoulli, geometric, integers
from pullback.ops.random_draws import check, draw, values_of
from pullback.payloads.randomness import check_fill
from pullback.tensors.tensor import Tensor


def overwrite(target: Tensor, values: Tensor) -> Tensor:
    """Write drawn numbers into a tensor: every fill ends here."""
    check_fill(target._data)
    return write(assign, target, (values,), {})


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with normal numbers; in a complex tensor `std` is that of the complex number."""
    check("normal_", "not be negative", std=std)
    dtype = self.dtype if self.dtype.kind == "c" else None
    noise = draw("standard_normal", self.shape, dtype=dtype, generator=generator)
    return overwrite(self, noise * std + mean)


def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with uniform numbers."""
    return overwrite(self, uniform(values_of(low), values_of(high), self.shape, generator=generator))


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with the exponentials of normal numbers."""
    return overwrite(self, lognormal(values_of(mean), values_of(std), self.shape, generator=generator))


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with Cauchy numbers."""
    return overwrite(self, cauchy(values_of(median), values_of(sigma), self.shape, generator=generator))


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with numbers of trials of probability `p` up to the first success."""
    return overwrite(self, geometric(p, self.shape, generator=generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with exponential numbers of rate `lambd`."""
    check("exponential_", "be positive", lambd=lambd)
    return overwrite(self, exponential(1.0 / values_of(lambd), self.shape, generator=generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with 1 with probability `p` and 0 otherwise."""
    return overwrite(self, bernoulli(p, self.shape, generator=generator))


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with integers from `low` up to and excluding `high`; of one bound, from 0 up to it.

    Without a bound they are all that the dtype represents exactly, from 0 on.
    """
    if high is None:
        whole = 2 ** (np.finfo(self.dtype).nmant + 1) if self.dtype.kind in "fc" else _last_integer(self.dtype)
        low, high = 0, low or whole
    return overwrite(self, integers(low, high, self.shape, generator=generator))


def _last_integer(dtype: np.dtype[Any]) -> int:
    return 2 if dtype.kind == "b" else min(int(np.iinfo(dtype).max), int(np.iinfo(np.int64).max))


inplace_methods: dict[str, Callable[..., Any]] = {
    "bernoulli_": bernoulli_,
    "cauchy_": cauchy_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}
"""Methods of `Tensor` that fill it with random numbers."""
