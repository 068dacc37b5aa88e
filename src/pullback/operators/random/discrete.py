"""Integers, truth values, and choices among given values.

A number that jumps has no derivative by the parameters of its distribution, so these never require grad. What is
chosen has one: `permutation` and `choice` are gathers of their array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.eager.inplace import write
from pullback.operators.arrays.creation import get_default_dtype
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.movement import expand_dims, moveaxis
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.sorting import topk
from pullback.operators.elementwise.arithmetic import log, sigmoid
from pullback.operators.elementwise.casting import _assign as assign
from pullback.operators.elementwise.casting import check_device, placed
from pullback.operators.random.continuous import cauchy, exponential, lognormal, uniform
from pullback.operators.random.draws import (
    as_parameter,
    beside,
    cast,
    check,
    draw,
    drawing,
    dtype_for,
    shape_for,
    sized,
    values_of,
    values_together,
)
from pullback.operators.reductions.exponentials import softmax
from pullback.operators.reductions.extremes import argmax
from pullback.payloads.batched.randomness import check_fill
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
    device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from `low` up to and excluding `high`. `randint(high, size)` begins at 0."""
    if isinstance(high, (tuple, list)) and size is None:
        low, high, size = 0, low, high
    drawn = placed(integers(low, high, size, dtype=dtype, generator=generator), device)
    return drawn.requires_grad_() if requires_grad else drawn


@composite(method=False)
def randint_like(
    x: Any, low: Any, high: Any = None, *, dtype: Any = None, generator: Any = None, device: str | None = None
) -> Tensor:
    """Integers from `low` up to and excluding `high`, in the shape and dtype of `x`."""
    check_device("device=", device)
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
    return (beside(noise, p) < p).astype(dtype)


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
    return argmax(logits + beside(noise, logits), axis=-1)


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
def randperm(n: int, *, dtype: Any = np.int64, generator: Any = None, device: str | None = None) -> Tensor:
    """The numbers below `n` in random order."""
    return placed(draw("permutation", (int(n),), dtype=dtype, generator=generator), device)


@drawing
def shuffle(x: Tensor, axis: int = 0, *, generator: Any = None) -> None:
    """Put the elements of `x` along an axis in random order, in place."""
    write(assign, x, (permutation(x, axis, generator=generator),), {})


@composite(name="multinomial")
def multinomial_positions(
    probs: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:  # fmt: skip
    """Positions in rows of weights, each drawn with a probability proportional to its weight.

    Without `replacement` no position is drawn twice. `random.multinomial`, which is NumPy's, counts outcomes instead.
    """
    probs = as_parameter(probs)
    weights = values_of(probs)
    if probs.ndim not in (1, 2) or probs.dtype.kind != "f":
        raise ValueError(f"multinomial: probs is a vector or a matrix of real numbers, got {probs.dtype}{probs.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights.sum(axis=-1) > 0).all():
        raise ValueError("multinomial: weights must be finite and not negative, and one of every row above 0")
    if num_samples < 1:
        raise ValueError(f"multinomial: cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > (weights > 0).sum(axis=-1).min(initial=probs.shape[-1]):
        raise ValueError(f"multinomial: without replacement, {num_samples} samples are more than a row has outcomes")
    with np.errstate(divide="ignore"):
        logits = log(probs.detach())
    if replacement:
        size = (*probs.shape[:-1], num_samples)
        return categorical(logits[..., None, :], size, generator=generator)
    return topk(logits + beside(draw("gumbel", probs.shape, generator=generator), logits), num_samples)[1]


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


# Continuous stand-ins for discrete draws: samples near the corners, differentiable in the logits.
#
# With `hard` the value is the corner itself, and the derivative still that of the soft sample (straight through). That
# is not the derivative of the value, which is 0 wherever it exists.

@primitive(name="_straight_through", flow="elementwise")
def straight_through(soft, hard):
    """`hard` in the dtype of `soft`; the derivative is that of `soft`."""
    return hard.astype(soft.dtype)


@straight_through.vjp
def straight_through_vjp(g):
    return g, None


@straight_through.jvp
def straight_through_jvp(t_soft):
    return t_soft


straight_through.spec(lambda soft, hard: soft)
straight_through.batch(lambda soft, hard: straight_through(soft, hard))


straight_through.refuses("relaxed samples are real numbers", "complex128")


@straight_through.samples
def straight_through_samples(make: Maker) -> Iterator[Sample]:
    # Differences of the value are 0 and say nothing, so there is nothing to observe.
    yield Sample((make((2, 3)), make.booleans((2, 3))), {}, "truth", observe=lambda out: ())
    yield Sample((make((3,), np.float32), make.integers(0, 2, (3,))), {}, "float32", observe=lambda out: ())
    yield Sample((make((0, 2)), make.booleans((0, 2))), {}, "empty", observe=lambda out: ())


@drawing
def gumbel_softmax(
    logits: Any, tau: Any = 1.0, hard: bool = False, axis: int = -1, *, dim: int | None = None, size: Any = None,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Samples of the relaxed categorical distribution of `logits` at temperature `tau`, differentiable in both.

    They are positive and sum to 1 over `axis`; with `hard` they are zeros and a one, and the gradient is that of the
    soft sample. `size` is the shape of the whole result.
    """
    check("gumbel_softmax", "be positive", tau=tau)
    logits = as_parameter(logits)
    if np.ndim(logits) == 0:
        raise ValueError("gumbel_softmax: logits needs an axis of outcomes: pass the logit of each in a list")
    dtype = dtype_for((logits,))
    shape = shape_for("gumbel_softmax", size, (logits,))
    along = normalize_axis_index(axis if dim is None else dim, len(shape))
    noise = beside(draw("gumbel", shape, dtype=dtype, generator=generator), logits)
    soft = softmax((cast(logits, dtype) + noise) / cast(tau, dtype), axis=along)
    if not hard:
        return soft
    place = expand_dims(argmax(soft.detach(), axis=along), axis=along)
    outcomes = np.arange(shape[along]).reshape((-1,) + (1,) * (len(shape) - along - 1))
    return straight_through(soft, place == outcomes)


@drawing
def relaxed_bernoulli(
    logits: Any, tau: Any = 1.0, hard: bool = False, *, size: Any = None, generator: Any = None
) -> Tensor:
    """Samples between 0 and 1 that tend to 1 with probability `sigmoid(logits)` as the temperature `tau` falls.

    They are differentiable in both. With `hard` they are 0 and 1, and the gradient is that of the soft sample.
    """
    check("relaxed_bernoulli", "be positive", tau=tau)
    logits = as_parameter(logits)
    dtype = dtype_for((logits,))
    noise = draw("logistic", shape_for("relaxed_bernoulli", size, (logits,)), dtype=dtype, generator=generator)
    soft = sigmoid((cast(logits, dtype) + beside(noise, logits)) / cast(tau, dtype))
    return straight_through(soft, soft.detach() > 0.5) if hard else soft


# Methods that fill a tensor with random numbers. The old values are gone, and with them the history.

def overwrite(target: Tensor, values: Tensor) -> Tensor:
    """Write drawn numbers into a tensor: every fill ends here."""
    check_fill(target._data)
    if values.dtype.kind in "fc" and target.dtype.kind not in "fc":
        raise TypeError(f"real numbers are drawn, and a tensor of {target.dtype} would keep their whole parts only")
    return write(assign, target, (beside(values, target),), {})


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
    return overwrite(self, bernoulli(p, self.shape, generator=generator) > 0)


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with integers from `low` up to and excluding `high`; of one bound, from 0 up to it.

    Without a bound they are all that the dtype represents exactly, from 0 on.
    """
    if high is None:
        whole = 2 ** (np.finfo(self.dtype).nmant + 1) if self.dtype.kind in "fc" else _last_integer(self.dtype)
        low, high = 0, low or whole
    limits: Any = None if self.dtype.kind == "b" else (np.finfo if self.dtype.kind in "fc" else np.iinfo)(self.dtype)
    if low < (0 if limits is None else int(limits.min)) or high - 1 > (1 if limits is None else int(limits.max)):
        raise ValueError(f"random_: integers from {low} to {high - 1} do not fit into {self.dtype}")
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
