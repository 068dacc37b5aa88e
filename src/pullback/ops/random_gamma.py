"""Gamma numbers and what is made of them: chi-square, beta, Dirichlet, F and Student's t.

`standard_gamma` and `loggamma` draw, with the implicit derivative by the shape; everything else is a function of their
results. Quotients are taken of logarithms, which are never zero where a gamma number of a small shape is.

The numbers are those of NumPy for one seed, up to rounding in a quotient. NumPy has other algorithms for `beta` with
both parameters at most 1 and for `dirichlet` with all of them below 0.1, and alternates between normal and gamma
numbers in `standard_t`, so these have streams of their own here (in `standard_t`, if there is more than one number).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.ops.comparison import where
from pullback.ops.elementwise import exp, log, sigmoid
from pullback.ops.generator import drawing
from pullback.ops.joining import stack
from pullback.ops.movement import broadcast_to
from pullback.ops.random_draws import (
    as_parameter,
    cast,
    check,
    draw,
    dtype_for,
    numbers,
    sample,
    sampler,
    shape_for,
    sized,
)
from pullback.ops.random_gamma_path import gamma_distribution, gamma_path
from pullback.ops.reduction import softmax
from pullback.tensors.tensor import Tensor

# The two samplers ----------------------------------------------------------------------------------------------------


def _draw_gamma(a: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("standard_gamma", generator, shape, dtype, a)


def _gamma_slope(a: Any, out: Any) -> Any:
    """`dz/da = z * dw/da`; 0 where the number is too small to be told from 0."""
    is_zero = out == 0
    inside = where(is_zero, 1, out)
    return where(is_zero, 0, inside * gamma_path(where(is_zero, 1, a), log(inside), order=1))


_SMALLEST = float(np.finfo(np.float64).tiny)


def _draw_log_gamma(a: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    """Logarithms, also of numbers below the smallest float.

    Given that a number is below a tiny bound, `(number / bound) ** a` is uniform: minus its logarithm is drawn.
    """
    drawn = numbers("standard_gamma", generator, shape, np.float64, a)
    is_tiny = drawn < _SMALLEST
    out = np.log(np.where(is_tiny, _SMALLEST, drawn))
    count = int(np.count_nonzero(is_tiny))
    if count:
        below = numbers("standard_exponential", generator, (count,), np.float64)
        out[is_tiny] -= below / np.broadcast_to(a, shape)[is_tiny]
    return out.astype(dtype, copy=False)


standard_gamma_op: Op = sampler(
    "standard_gamma", _draw_gamma, ("a",), (_gamma_slope,), kind="standard_gamma", distribution=gamma_distribution,
    domain=(0.5, 4.0), start=lambda a: a, doc="Gamma numbers of shape `a`.",
)  # fmt: skip
loggamma_op: Op = sampler(
    "loggamma", _draw_log_gamma, ("a",), (lambda a, out: gamma_path(a, out, order=1),), kind="standard_gamma",
    distribution=gamma_distribution, domain=(0.5, 4.0), start=lambda a: a, doc="Logarithms of gamma numbers.",
)  # fmt: skip


@drawing
def standard_gamma(shape: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Gamma numbers of this shape parameter and scale 1, differentiable in `shape`.

    The derivative is the implicit one, `-(dF / dshape) / density`.
    """
    check("standard_gamma", "not be negative", shape=shape)
    return sample(standard_gamma_op, (shape,), size, dtype, generator)


@drawing
def gamma(shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Gamma numbers `scale * standard_gamma(shape)`, differentiable in both parameters."""
    check("gamma", "not be negative", shape=shape, scale=scale)
    shape, scale = as_parameter(shape), as_parameter(scale)
    dtype = dtype_for((shape, scale), dtype)
    drawn = sample(standard_gamma_op, (shape,), shape_for("gamma", size, (shape, scale)), dtype, generator)
    return drawn * cast(scale, dtype)


@drawing
def loggamma(shape: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """The logarithms of gamma numbers of this shape parameter, differentiable in it.

    They are right also where the gamma numbers themselves are too small for a float.
    """
    check("loggamma", "be positive", shape=shape)
    return sample(loggamma_op, (shape,), size, dtype, generator)


# Functions of gamma numbers ------------------------------------------------------------------------------------------


@drawing
def chisquare(df: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Chi-square numbers of `df` degrees of freedom, differentiable in them."""
    check("chisquare", "be positive", df=df)
    df = as_parameter(df)
    return 2 * sample(standard_gamma_op, (df / 2,), shape_for("chisquare", size, (df,)), dtype, generator)


def _log_gamma_pair(
    function: str, first: Any, second: Any, size: Any, dtype: Any, generator: Any
) -> tuple[Tensor, Tensor]:
    """The logarithms of two gamma numbers for each result, drawn in turns, as NumPy draws them."""
    first, second = as_parameter(first), as_parameter(second)
    dtype = dtype_for((first, second), dtype)
    shape = shape_for(function, size, (first, second))
    sides = [broadcast_to(as_parameter(np.asarray(p)) if isinstance(p, (int, float)) else p, shape)
             for p in (first, second)]  # fmt: skip
    drawn = sample(loggamma_op, (stack(sides, axis=-1),), None, dtype, generator)
    return drawn[..., 0], drawn[..., 1]


@drawing
def beta(a: Any, b: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Beta numbers `x / (x + y)` of gamma numbers of shapes `a` and `b`, differentiable in both."""
    check("beta", "be positive", a=a, b=b)
    x, y = _log_gamma_pair("beta", a, b, size, dtype, generator)
    return sigmoid(x - y)


@drawing
def f(dfnum: Any, dfden: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Quotients of chi-square numbers over their degrees of freedom, differentiable in both of these."""
    check("f", "be positive", dfnum=dfnum, dfden=dfden)
    dfnum, dfden = as_parameter(dfnum), as_parameter(dfden)
    dtype = dtype_for((dfnum, dfden), dtype)
    x, y = _log_gamma_pair("f", dfnum / 2, dfden / 2, size, dtype, generator)
    return exp(x - y) * (cast(dfden, dtype) / cast(dfnum, dtype))


@drawing
def standard_t(df: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Student's t numbers, a normal one over the root of a mean of squares, differentiable in `df`."""
    check("standard_t", "be positive", df=df)
    df = as_parameter(df)
    dtype = dtype_for((df,), dtype)
    shape = shape_for("standard_t", size, (df,))
    noise = draw("standard_normal", shape, dtype=dtype, generator=generator)
    half = cast(df, dtype) / 2
    log_half = log(half) if isinstance(half, Tensor) else math.log(half)
    return noise * exp((log_half - sample(loggamma_op, (half,), shape, dtype, generator)) / 2)


@drawing
def dirichlet(alpha: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Probabilities that sum to 1 over the last axis, differentiable in `alpha`, whose last axis counts the outcomes.

    `size` is the shape of the result without that axis.
    """
    check("dirichlet", "be positive", alpha=alpha)
    alpha = as_parameter(alpha)
    if np.ndim(alpha) == 0 or alpha.shape[-1] == 0:
        raise ValueError(
            "dirichlet: alpha needs one positive number for each outcome along its last axis, and has "
            f"{'no axis' if np.ndim(alpha) == 0 else 'none'}: pass at least a list of one number"
        )
    whole = shape_for("dirichlet", None if size is None else (*sized(size), alpha.shape[-1]), (alpha,))
    return softmax(sample(loggamma_op, (alpha,), whole, dtype, generator), axis=-1)
