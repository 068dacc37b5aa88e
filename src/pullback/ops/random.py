"""Random numbers: a seedable generator, and functions that draw from it or from the default one.

A seed gives the stream that NumPy's generator gives for it. Draws are constants; a distribution with parameters is a
function of a draw that has none (`loc + scale * noise`), so samples are differentiable in Tensor parameters. Integers
and truth values have no derivative and never require grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index, normalize_shape
from pullback.declare.composite import composite
from pullback.eager.inplace import write
from pullback.ops.arguments import one_sequence
from pullback.ops.casting import _assign as assign
from pullback.ops.creation import finished, get_default_dtype
from pullback.ops.generator import (
    Generator,
    default_generator,
    default_rng,
    drawing,
    fork_rng,
    get_state,
    manual_seed,
    numpy_generator,
    seed,
    set_state,
)
from pullback.ops.index_operators import ARRAY, index_arrays
from pullback.ops.reshaping import reshape
from pullback.tensors.tensor import Tensor, as_constant

# Noise: draws without parameters.


def _noise(kind: str, shape: tuple[int, ...], dtype: Any, generator: Any) -> np.ndarray[Any, Any]:
    """An array of standard random numbers; NumPy has streams of their own for float32."""
    dtype = get_default_dtype() if dtype is None else np.dtype(dtype)
    draw = getattr(numpy_generator(generator), kind)
    if dtype == np.float32 and kind in ("random", "standard_normal", "standard_exponential"):
        return np.asarray(draw(shape, dtype=np.float32))
    return np.asarray(draw(size=shape)).astype(dtype, copy=False)


def _sized(size: Any) -> tuple[int, ...]:
    return () if size is None else normalize_shape(size)


@drawing
def random(size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1."""
    return finished(_noise("random", _sized(size), dtype, generator), None, requires_grad)


@drawing
def standard_normal(
    size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers with mean 0 and variance 1."""
    return finished(_noise("standard_normal", _sized(size), dtype, generator), None, requires_grad)


@drawing
def standard_exponential(
    size: Any = None, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False
) -> Tensor:
    """Exponential numbers with mean 1."""
    return finished(_noise("standard_exponential", _sized(size), dtype, generator), None, requires_grad)


@composite(arrays=0)
def rand(
    *size: Any, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1, in a tensor of this shape."""
    shape = normalize_shape(one_sequence("rand", size))
    return finished(_noise("random", shape, dtype, generator), device, requires_grad)


@composite(arrays=0)
def randn(
    *size: Any, dtype: Any = None, generator: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers with mean 0 and variance 1, in a tensor of this shape."""
    shape = normalize_shape(one_sequence("randn", size))
    return finished(_noise("standard_normal", shape, dtype, generator), device, requires_grad)


@composite(method=False)
def rand_like(x: Any, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from 0 up to and excluding 1, in the shape and dtype of `x`."""
    return random(x.shape, dtype=x.dtype if dtype is None else dtype, generator=generator, requires_grad=requires_grad)


@composite(method=False)
def randn_like(x: Any, *, dtype: Any = None, generator: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal numbers with mean 0 and variance 1, in the shape and dtype of `x`."""
    dtype = x.dtype if dtype is None else dtype
    return standard_normal(x.shape, dtype=dtype, generator=generator, requires_grad=requires_grad)


# Distributions with parameters, as functions of noise.


def _fitting_noise(kind: str, size: Any, parameters: tuple[Any, ...], dtype: Any, generator: Any) -> Tensor:
    """Noise in the shape and dtype that the parameters ask for."""
    if dtype is None:
        given = [p.dtype for p in parameters if hasattr(p, "dtype") and p.dtype.kind == "f"]
        dtype = np.result_type(*given) if given else None
    shape = np.broadcast_shapes(*map(np.shape, map(_values, parameters))) if size is None else normalize_shape(size)
    return finished(_noise(kind, shape, dtype, generator))


def _values(parameter: Any) -> Any:
    """A parameter as plain numbers: what a draw reads that has no derivative."""
    return parameter._data if isinstance(parameter, Tensor) else parameter


def _operand(parameter: Any) -> Any:
    """A parameter as an operand: numbers stay numbers."""
    return parameter if isinstance(parameter, (Tensor, int, float)) else as_constant(parameter)


def _check_not_negative(name: str, what: str, parameter: Any) -> None:
    if np.any(np.asarray(_values(parameter)) < 0):
        raise ValueError(f"{name}: {what} can not be negative")


@drawing
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers uniform between `low` and `high`, differentiable in both."""
    noise = _fitting_noise("random", size, (low, high), dtype, generator)
    low, high = _operand(low), _operand(high)
    return low + (high - low) * noise


def _location_and_scale(name: str, kind: str, doc: str) -> Callable[..., Tensor]:
    def draw(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
        _check_not_negative(name, "scale", scale)
        noise = _fitting_noise(kind, size, (loc, scale), dtype, generator)
        return _operand(loc) + _operand(scale) * noise

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"{doc} numbers `loc + scale * noise`, differentiable in `loc` and `scale`."
    return drawing(draw)


normal = _location_and_scale("normal", "standard_normal", "Normal")
laplace = _location_and_scale("laplace", "laplace", "Laplace")
logistic = _location_and_scale("logistic", "logistic", "Logistic")
gumbel = _location_and_scale("gumbel", "gumbel", "Gumbel")
cauchy = _location_and_scale("cauchy", "standard_cauchy", "Cauchy")


@drawing
def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """The exponentials of normal numbers, differentiable in their `mean` and `sigma`."""
    return normal(mean, sigma, size, dtype=dtype, generator=generator).exp()


def _exponential_noise(name: str, parameter: Any, size: Any, dtype: Any, generator: Any) -> tuple[Tensor, Any]:
    """Exponential noise for a distribution with one parameter, and that parameter as an operand."""
    _check_not_negative(name, "the parameter", parameter)
    return _fitting_noise("standard_exponential", size, (parameter,), dtype, generator), _operand(parameter)


@drawing
def exponential(scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Exponential numbers of mean `scale`, differentiable in it."""
    noise, scale = _exponential_noise("exponential", scale, size, dtype, generator)
    return noise * scale


@drawing
def rayleigh(scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Rayleigh numbers, the lengths of normal vectors in the plane, differentiable in `scale`."""
    noise, scale = _exponential_noise("rayleigh", scale, size, dtype, generator)
    return (2 * noise) ** 0.5 * scale


@drawing
def weibull(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Weibull numbers of shape `a`, differentiable in it."""
    noise, a = _exponential_noise("weibull", a, size, dtype, generator)
    return noise ** (1 / a)


@drawing
def pareto(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Pareto numbers of the second kind, of shape `a` and differentiable in it."""
    noise, a = _exponential_noise("pareto", a, size, dtype, generator)
    return (noise / a).expm1()


@drawing
def power(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers between 0 and 1 with density `a * x ** (a - 1)`, differentiable in `a`."""
    noise, a = _exponential_noise("power", a, size, dtype, generator)
    return (-(-noise).expm1()) ** (1 / a)


# Integers and truth values.


@drawing
def integers(
    low: Any, high: Any = None, size: Any = None, *, dtype: Any = np.int64, endpoint: bool = False,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Integers from `low` up to and excluding `high`; of one bound, from 0 up to it."""
    drawn = numpy_generator(generator).integers(_values(low), _values(high), size, dtype=np.int64, endpoint=endpoint)
    return finished(np.asarray(drawn).astype(dtype, copy=False))


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


def _counts(name: str, parameters: tuple[Any, ...], size: Any, generator: Any) -> Tensor:
    return finished(np.asarray(getattr(numpy_generator(generator), name)(*map(_values, parameters), size=size)))


@drawing
def binomial(n: Any, p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of successes in `n` trials of probability `p`."""
    return _counts("binomial", (n, p), size, generator)


@drawing
def poisson(lam: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """Poisson numbers of rate `lam`."""
    return _counts("poisson", (lam,), size, generator)


@drawing
def geometric(p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of trials of probability `p` up to the first success."""
    return _counts("geometric", (p,), size, generator)


@drawing
def negative_binomial(n: Any, p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of failures before `n` successes of probability `p`."""
    return _counts("negative_binomial", (n, p), size, generator)


@drawing
def hypergeometric(ngood: Any, nbad: Any, nsample: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """The number of good ones in a sample of `nsample` out of `ngood` good and `nbad` bad ones."""
    return _counts("hypergeometric", (ngood, nbad, nsample), size, generator)


@drawing
def multinomial(n: Any, pvals: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """How often each outcome of probabilities `pvals` comes up in `n` trials."""
    return _counts("multinomial", (n, pvals), size, generator)


@composite(arrays=1)
def bernoulli(p: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """1 with probability `p` and 0 otherwise, in the dtype of `p`; it has no derivative and no history."""
    chance = np.asarray(_values(p))
    if np.any((chance < 0) | (chance > 1)):
        raise ValueError("bernoulli: a probability lies between 0 and 1")
    drawn = numpy_generator(generator).random(chance.shape if size is None else normalize_shape(size)) < chance
    return finished(drawn.astype(chance.dtype if chance.dtype.kind == "f" else get_default_dtype()))


drawing(bernoulli)


# Choosing among given values: the choice has no derivative, what is chosen has.


@drawing
def permutation(x: Any, axis: int = 0, *, generator: Any = None) -> Tensor:
    """The numbers below `x` in random order, or the elements of an array along an axis."""
    if isinstance(x, (int, np.integer)):
        return finished(numpy_generator(generator).permutation(int(x)))
    x = as_constant(x)
    axis = normalize_axis_index(axis, x.ndim)
    order = numpy_generator(generator).permutation(x.shape[axis])
    return index_arrays(x, order, template=(slice(None),) * axis + (ARRAY,), distinct=True)


@composite(arrays=0)
def randperm(n: int, *, dtype: Any = np.int64, generator: Any = None) -> Tensor:
    """The numbers below `n` in random order."""
    return finished(numpy_generator(generator).permutation(int(n)).astype(dtype, copy=False))


@drawing
def shuffle(x: Tensor, axis: int = 0, *, generator: Any = None) -> None:
    """Put the elements of `x` along an axis in random order, in place."""
    write(assign, x, (permutation(x, axis, generator=generator),), {})


@drawing
def choice(
    a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, *, generator: Any = None
) -> Tensor:
    """Elements of `a`, or numbers below it, chosen with probabilities `p`, with or without replacement."""
    count = int(a) if isinstance(a, (int, np.integer)) else as_constant(a).shape[axis]
    shape = _sized(size)
    drawn = numpy_generator(generator).choice(count, shape, replace, None if p is None else np.asarray(_values(p)))
    order = np.asarray(drawn, np.int64).reshape(shape)
    if isinstance(a, (int, np.integer)):
        return finished(order)
    a = as_constant(a)
    axis = normalize_axis_index(axis, a.ndim)
    chosen = index_arrays(a, order.reshape(-1), template=(slice(None),) * axis + (ARRAY,), distinct=not replace)
    return reshape(chosen, a.shape[:axis] + shape + a.shape[axis + 1 :])


# Filling a tensor in place. The old values are gone, and with them the history.


def _overwrite(target: Tensor, values: Tensor) -> Tensor:
    return write(assign, target, (values,), {})


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with normal numbers."""
    return _overwrite(self, normal(_values(mean), _values(std), self.shape, generator=generator))


def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with uniform numbers."""
    return _overwrite(self, uniform(_values(low), _values(high), self.shape, generator=generator))


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with the exponentials of normal numbers."""
    return _overwrite(self, lognormal(_values(mean), _values(std), self.shape, generator=generator))


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with Cauchy numbers."""
    return _overwrite(self, cauchy(_values(median), _values(sigma), self.shape, generator=generator))


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with numbers of trials of probability `p` up to the first success."""
    return _overwrite(self, geometric(p, self.shape, generator=generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with exponential numbers of rate `lambd`."""
    return _overwrite(self, exponential(1.0 / lambd, self.shape, generator=generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with 1 with probability `p` and 0 otherwise."""
    return _overwrite(self, bernoulli(p, self.shape, generator=generator))


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Any = None) -> Tensor:
    """Overwrite this tensor with integers from `low` up to and excluding `high`."""
    if high is None:
        low, high = (0, low) if low else (0, 2**53 if self.dtype.kind == "f" else np.iinfo(self.dtype).max)
    return _overwrite(self, integers(low, high, self.shape, generator=generator))


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

__all__ = [
    "Generator", "bernoulli", "binomial", "cauchy", "choice", "default_generator", "default_rng", "exponential",
    "fork_rng", "geometric", "get_state", "gumbel", "hypergeometric", "integers", "laplace", "logistic", "lognormal",
    "manual_seed", "multinomial", "negative_binomial", "normal", "pareto", "permutation", "poisson", "power", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "rayleigh", "seed",
    "set_state", "shuffle", "standard_exponential", "standard_normal", "uniform", "weibull",
]  # fmt: skip
