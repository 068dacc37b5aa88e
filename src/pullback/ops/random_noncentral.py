"""Noncentral chi-square numbers, with the implicit derivative by both parameters.

Such a number is a gamma number whose shape is `df / 2 + k` for a Poisson number k of mean `nonc / 2`. Its distribution
function is the mean of theirs, and so the number x = 2z moves as gamma numbers do, averaged over the k that may have
led to it: with the probability p(k) that it was k, given z,

    dx/dnonc = sum of p(k) * z / (df / 2 + k)        dx/ddf = sum of p(k) * z * gamma_path(df / 2 + k, log(z))

This holds for all degrees of freedom. The usual sum of a chi-square number of `df - 1` degrees and a shifted squared
normal one needs df > 1, and its derivative is infinite at nonc = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.ops.comparison import where
from pullback.ops.elementwise import log
from pullback.ops.generator import drawing
from pullback.ops.movement import expand_dims
from pullback.ops.random_draws import check, numbers, sample, sampler
from pullback.ops.random_gamma_path import gamma_distribution, gamma_path, polygamma
from pullback.ops.reduction import softmax, sum
from pullback.payloads.batching import across_examples
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]
_NEXT_TO_NOTHING = np.asarray(1e-150)


def _window(df: Array, nonc: Array, out: Array) -> Array:
    """The k that matter, along a new last axis: those within eight deviations of the most probable one.

    Where the deviation is large and the k from 0 on are not among them, steps of half of it sum a bell curve exactly.
    """
    a, rate, z = df / 2, nonc / 2, out / 2
    mode = np.maximum(np.hypot(a - 1, 2 * np.sqrt(rate * z)) - (a - 1), 0) / 2
    deviation = np.sqrt(mode * (a + mode) / (a + 2 * mode))
    reach = 8 * deviation + 12
    first = np.floor(np.maximum(mode - reach, 0))
    step = np.where(first > 0, np.maximum(np.floor(deviation / 2), 1), 1)
    count = int(np.max(np.ceil((mode + reach - first) / step), initial=1))
    return np.asarray(first[..., None] + step[..., None] * np.arange(count))


def _last(x: Any) -> Any:
    """`x` with an axis of length 1 at the end; numbers as they are."""
    return expand_dims(x, axis=-1) if hasattr(x, "shape") else x


def _mean_over_k(df: Any, nonc: Any, out: Any, value: Any) -> Any:
    """The mean of `value(a, z)` over the k that may have led to a number; 0 where the number is too small."""
    is_zero = out == 0
    k = across_examples(_window, *(x._data if isinstance(x, Tensor) else x for x in (df, nonc, out)))
    z = _last(where(is_zero, 1, out)) / 2
    # At nonc = 0 the derivative of the logarithm would be infinite; this is less than any result shows.
    a, rate = _last(df) / 2 + k, _last(nonc) / 2 + _NEXT_TO_NOTHING
    chances = softmax(k * log(rate * z) - polygamma(k + 1, order=-1) - polygamma(a, order=-1), axis=-1)
    return where(is_zero, 0, sum(chances * value(a, z), axis=-1))


def _draw_noncentral(df: Any, nonc: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("noncentral_chisquare", generator, shape, dtype, df, nonc)


def _by_df(df: Any, nonc: Any, out: Any) -> Any:
    return _mean_over_k(df, nonc, out, lambda a, z: z * gamma_path(a, log(z), order=1))


def _by_nonc(df: Any, nonc: Any, out: Any) -> Any:
    return _mean_over_k(df, nonc, out, lambda a, z: z / a)


def _distribution(w: Array, df: Array, nonc: Array) -> tuple[Array, Array]:
    k = np.arange(30)
    below = np.cumsum(np.log(np.maximum(k, 1)))  # logarithms of the factorials
    chances = np.exp(k * np.log(nonc[..., None] / 2) - nonc[..., None] / 2 - below)
    shapes = df[..., None] / 2 + k
    reached, slopes = gamma_distribution(np.broadcast_to(w[..., None] - np.log(2), shapes.shape), shapes)
    return np.sum(chances * reached, axis=-1), np.sum(chances * slopes, axis=-1)


noncentral_op: Op = sampler(
    "noncentral_chisquare", _draw_noncentral, ("df", "nonc"), (_by_df, _by_nonc), kind="noncentral_chisquare",
    distribution=_distribution, domain=(0.7, 3.0), start=lambda df, nonc: df + nonc,
    doc="Noncentral chi-square numbers.",
)  # fmt: skip


@drawing
def noncentral_chisquare(
    df: Any, nonc: Any, size: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """Sums of squares of `df` normal numbers whose squared means sum to `nonc`, differentiable in both parameters."""
    check("noncentral_chisquare", "be positive", df=df)
    check("noncentral_chisquare", "not be negative", nonc=nonc)
    return sample(noncentral_op, (df, nonc), size, dtype, generator)
