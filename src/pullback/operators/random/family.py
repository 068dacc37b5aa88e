"""Random numbers: noise, and the names of all functions that draw.

A seed gives the stream that NumPy's generator gives for it. Draws are constants; a distribution with parameters is a
function of a draw that has none (`loc + scale * noise`), or moves with its parameters as a quantile does (gamma numbers
and others), so samples are differentiable in Tensor parameters. Integers and truth values have no derivative and never
require grad.

Everything is drawn by the operators of `draws.py`.
"""

from __future__ import annotations

from typing import Any

from pullback.core.axes import normalize_shape
from pullback.declare.composite import composite
from pullback.operators.arguments import one_sequence
from pullback.operators.elementwise.casting import place_like, placed
from pullback.operators.random.continuous import (
    cauchy,
    exponential,
    gumbel,
    half_normal,
    kumaraswamy,
    laplace,
    logistic,
    lognormal,
    noncentral_chisquare,
    normal,
    pareto,
    power,
    rayleigh,
    triangular,
    uniform,
    weibull,
)
from pullback.operators.random.discrete import (
    bernoulli,
    binomial,
    bytes,
    categorical,
    choice,
    geometric,
    gumbel_softmax,
    hypergeometric,
    integers,
    logseries,
    multinomial,
    negative_binomial,
    permutation,
    poisson,
    randint,
    randint_like,
    randperm,
    relaxed_bernoulli,
    shuffle,
    zipf,
)
from pullback.operators.random.draws import (
    Generator,
    check_floating,
    default_generator,
    default_rng,
    draw,
    drawing,
    fork_rng,
    get_state,
    manual_seed,
    seed,
    set_state,
    sized,
)
from pullback.operators.random.gamma import beta, chisquare, dirichlet, f, gamma, loggamma, standard_gamma, standard_t
from pullback.operators.random.normal_tail import truncated_normal, wald
from pullback.operators.random.vonmises import vonmises
from pullback.tensors.tensor import Tensor


def _noise(
    function: str, kind: str, shape: tuple[int, ...], dtype: Any, generator: Any, requires_grad: bool,
    device: Any = None,
) -> Tensor:  # fmt: skip
    check_floating(function, dtype, and_complex=kind != "standard_exponential")
    drawn = placed(draw(kind, shape, dtype=dtype, generator=generator), device)
    return drawn.requires_grad_() if requires_grad else drawn


@drawing
def random(size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1; of a complex dtype, in both parts."""
    return _noise("random", "random", sized(size), dtype, generator, requires_grad)


@drawing
def standard_normal(
    size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers with mean 0 and variance 1; of a complex dtype, half of the variance in each part."""
    return _noise("standard_normal", "standard_normal", sized(size), dtype, generator, requires_grad)


@drawing
def standard_exponential(
    size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False
) -> Tensor:
    """Exponential numbers with mean 1."""
    return _noise("standard_exponential", "standard_exponential", sized(size), dtype, generator, requires_grad)


@composite(arrays=0)
def rand(
    *size: Any, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1, in a tensor of this shape."""
    shape = normalize_shape(one_sequence("rand", size))
    return _noise("rand", "random", shape, dtype, generator, requires_grad, device)


@composite(arrays=0)
def randn(
    *size: Any, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers with mean 0 and variance 1, in a tensor of this shape."""
    shape = normalize_shape(one_sequence("randn", size))
    return _noise("randn", "standard_normal", shape, dtype, generator, requires_grad, device)


@composite(method=False)
def rand_like(
    x: Any, *, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1, in the shape and dtype of `x`."""
    dtype, device = x.dtype if dtype is None else dtype, place_like(x, device)
    return _noise("rand_like", "random", x.shape, dtype, generator, requires_grad, device)


@composite(method=False)
def randn_like(
    x: Any, *, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers with mean 0 and variance 1, in the shape and dtype of `x`."""
    dtype, device = x.dtype if dtype is None else dtype, place_like(x, device)
    return _noise("randn_like", "standard_normal", x.shape, dtype, generator, requires_grad, device)


__all__ = [
    "Generator", "bernoulli", "beta", "binomial", "bytes", "categorical", "cauchy", "chisquare", "choice",
    "default_generator", "default_rng", "dirichlet", "exponential", "f", "fork_rng", "gamma", "geometric", "get_state",
    "gumbel", "gumbel_softmax", "half_normal", "hypergeometric", "integers", "kumaraswamy", "laplace", "loggamma",
    "logistic", "lognormal", "logseries", "manual_seed", "multinomial", "negative_binomial", "noncentral_chisquare",
    "normal", "pareto", "permutation", "poisson", "power", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "random", "randperm", "rayleigh", "relaxed_bernoulli", "seed", "set_state", "shuffle",
    "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular", "truncated_normal",
    "uniform", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip
