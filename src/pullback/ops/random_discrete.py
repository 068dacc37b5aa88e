"""Integers, truth values, and choices among given values.

A number that jumps has no derivative by the parameters of its distribution, so these never require grad. What is
chosen has one: `permutation` and `choice` are gathers of their array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.eager.inplace import write
from pullback.ops.casting import _assign as assign
from pullback.ops.creation import get_default_dtype
from pullback.ops.extremes import argmax
from pullback.ops.generator import drawing
from pullback.ops.index_operators import ARRAY, index_arrays
from pullback.ops.movement import moveaxis
from pullback.ops.random_draws import as_parameter, check, draw, shape_for, sized, values_of, values_together
from pullback.ops.reshaping import reshape
from pullback.tensors.tensor import Tensor, as_constant

# Numbers in a range --------------------------------------------------------------------------------------------------


@drawing
def integers(
    low: Any, high: Any = None, size: Any = None, *, dtype: Any = np.int64, endpoint: bool = False,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Integers from `low` up to and excluding `high`; of one bound, from 0 up to it."""
    if high is None:
        low, high = 0, low
    first, last = values_together(low, high)
    if np.any(first > last if endpoint else first >= last):
        raise ValueError(
            f"integers: low must be {'at most' if endpoint else 'below'} high, or the range is empty: exchange the "
            "bounds, or pass endpoint=True to include high"
        )
    bounds = (as_parameter(low), as_parameter(high))
    shape = shape_for("integers", size, bounds)
    return draw("integers", shape, *bounds, dtype=dtype, generator=generator, endpoint=endpoint)


@composite(arrays=0)
def randint(
    low: Any, high: Any = None, size: Any = None, *, dtype: Any = np.int64, generator: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from `low` up to and excluding `high`. `randint(high, size)` begins at 0."""
    if isinstance(high, (tuple, list)) and size is None:
        low, high, size = 0, low, high
    drawn = integers(low, high, size, dtype=dtype, generator=generator)
    return drawn.requires_grad_() if requires_grad else drawn


@composite(method=False)
def randint_like(x: Any, low: Any, high: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Integers from `low` up to and excluding `high`, in the shape and dtype of `x`."""
    return integers(low, high, x.shape, dtype=x.dtype if dtype is None else dtype, generator=generator)


@drawing
def bytes(length: int, *, generator: Any = None) -> Any:
    """Random bytes, as an object of Python."""
    if length < 0:
        raise ValueError(f"bytes: the length must not be negative, but it is {length}: pass how many bytes to draw")
    return draw("bytes", (int(length),), dtype=np.uint8, generator=generator).numpy().tobytes()


# Counts --------------------------------------------------------------------------------------------------------------


def _counts(kind: str, parameters: tuple[Any, ...], size: Any, generator: Any) -> Tensor:
    operands = tuple(as_parameter(p) for p in parameters)
    return draw(kind, shape_for(kind, size, operands), *operands, dtype=np.int64, generator=generator)


@drawing
def binomial(n: Any, p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of successes in `n` trials of probability `p`."""
    check("binomial", "not be negative", n=n)
    check("binomial", "lie between 0 and 1", p=p)
    return _counts("binomial", (n, p), size, generator)


@drawing
def poisson(lam: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """Poisson numbers of rate `lam`."""
    check("poisson", "not be negative", lam=lam)
    return _counts("poisson", (lam,), size, generator)


@drawing
def geometric(p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of trials of probability `p` up to the first success."""
    check("geometric", "lie between 0 and 1, without 0", p=p)
    return _counts("geometric", (p,), size, generator)


@drawing
def negative_binomial(n: Any, p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of failures before `n` successes of probability `p`."""
    check("negative_binomial", "be positive", n=n)
    check("negative_binomial", "lie between 0 and 1, without 0", p=p)
    return _counts("negative_binomial", (n, p), size, generator)


@drawing
def hypergeometric(ngood: Any, nbad: Any, nsample: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of good ones in a sample of `nsample` out of `ngood` good and `nbad` bad ones."""
    check("hypergeometric", "not be negative", ngood=ngood, nbad=nbad, nsample=nsample)
    good, bad, taken = values_together(ngood, nbad, nsample)
    if np.any(good + bad < taken):
        raise ValueError(
            "hypergeometric: nsample must not be above ngood + nbad, from which it is taken without replacement: make "
            "it smaller, or use binomial to draw with replacement"
        )
    return _counts("hypergeometric", (ngood, nbad, nsample), size, generator)


@drawing
def logseries(p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """Numbers k = 1, 2, .. with probabilities proportional to `p ** k / k`."""
    check("logseries", "lie between 0 and 1, without 1", p=p)
    return _counts("logseries", (p,), size, generator)


@drawing
def zipf(a: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """Numbers k = 1, 2, .. with probabilities proportional to `k ** -a`."""
    check("zipf", "be above 1", a=a)
    return _counts("zipf", (a,), size, generator)


@drawing
def multinomial(n: Any, pvals: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """How often each outcome of probabilities `pvals` comes up in `n` trials; the outcomes are the last axis.

    `size` is the shape of the result without that axis.
    """
    check("multinomial", "not be negative", n=n)
    check("multinomial", "lie between 0 and 1", pvals=pvals)
    chances, trials = as_parameter(pvals), as_parameter(n)
    if np.ndim(chances) == 0:
        raise ValueError("multinomial: pvals needs an axis of outcomes: pass the probability of each in a list")
    if isinstance(trials, Tensor):
        trials = trials[..., None]
    whole = None if size is None else (*sized(size), chances.shape[-1])
    shape = shape_for("multinomial", whole, (trials, chances))
    return draw("multinomial", shape, trials, chances, dtype=np.int64, generator=generator)


@composite(arrays=1)
def bernoulli(p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """1 with probability `p` and 0 otherwise, in the dtype of `p`; it has no derivative and no history."""
    check("bernoulli", "lie between 0 and 1", p=p)
    p = as_parameter(p)
    dtype = p.dtype if isinstance(p, Tensor) and p.dtype.kind == "f" else get_default_dtype()
    noise = draw("random", shape_for("bernoulli", size, (p,)), dtype=np.float64, generator=generator)
    return (noise < p).astype(dtype)


drawing(bernoulli)


# Choosing among given values -----------------------------------------------------------------------------------------


@drawing
def categorical(logits: Any, size: Any = None, axis: int = -1, *, generator: Any = None) -> Tensor:
    """Positions along `axis`, with probabilities proportional to `exp(logits)`.

    `size` is the shape of the result, which the other axes of `logits` broadcast to. An outcome is the largest of the
    logits after Gumbel noise was added to them.
    """
    logits = as_parameter(logits)
    if np.ndim(logits) == 0:
        raise ValueError("categorical: logits needs an axis of outcomes: pass the logit of each in a list")
    logits = moveaxis(logits.detach(), normalize_axis_index(axis, logits.ndim), -1)
    if not np.all(np.max(values_of(logits), axis=-1, initial=-np.inf) > -np.inf):
        raise ValueError(
            "categorical: in every row at least one outcome must be possible, and none may be nan: pass logits, the "
            "logarithms of what is proportional to the probabilities, of which one is above -inf"
        )
    whole = None if size is None else (*sized(size), logits.shape[-1])
    noise = draw("gumbel", shape_for("categorical", whole, (logits,)), generator=generator)
    return argmax(logits + noise, axis=-1)


@drawing
def permutation(x: Any, axis: int = 0, *, generator: Any = None) -> Tensor:
    """The numbers below `x` in random order, or the elements of an array along an axis."""
    if isinstance(x, (int, np.integer)):
        return draw("permutation", (int(x),), dtype=np.int64, generator=generator)
    x = as_constant(x)
    axis = normalize_axis_index(axis, x.ndim)
    order = draw("permutation", (x.shape[axis],), dtype=np.int64, generator=generator)
    return index_arrays(x, order, template=(slice(None),) * axis + (ARRAY,), distinct=True)


@composite(arrays=0)
def randperm(n: int, *, dtype: Any = np.int64, generator: Any = None) -> Tensor:
    """The numbers below `n` in random order."""
    return draw("permutation", (int(n),), dtype=dtype, generator=generator)


@drawing
def shuffle(x: Tensor, axis: int = 0, *, generator: Any = None) -> None:
    """Put the elements of `x` along an axis in random order, in place."""
    write(assign, x, (permutation(x, axis, generator=generator),), {})


@drawing
def choice(
    a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, *, generator: Any = None
) -> Tensor:
    """Elements of `a`, or numbers below it, chosen with probabilities `p`, with or without replacement."""
    is_count = isinstance(a, (int, np.integer))
    a = int(a) if is_count else as_constant(a)
    axis = 0 if is_count else normalize_axis_index(axis, a.ndim)
    count, shape = a if is_count else a.shape[axis], sized(size)
    order: Tensor
    if replace and p is None:
        order = integers(0, count, shape, generator=generator)
    else:
        chances = () if p is None else (p,)
        order = draw(
            "choice", shape, *chances, dtype=np.int64, generator=generator, count=count, replace=bool(replace)
        )
    if is_count:
        return order
    chosen = index_arrays(a, reshape(order, (-1,)), template=(slice(None),) * axis + (ARRAY,), distinct=not replace)
    return reshape(chosen, a.shape[:axis] + shape + a.shape[axis + 1 :])
