"""Reductions of the elements that a mask chooses: what the others are replaced by does not change the result.

A replaced element is a constant, so it has derivative 0 by itself. Where nothing is chosen, value and derivative are
those of an empty reduction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axes
from pullback.declare.composite import composite
from pullback.declare.families import reduced_shape
from pullback.operators.arguments import along_axis, tensor_from
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.elementwise.arithmetic import logaddexp, sqrt
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import equal, maximum, where
from pullback.operators.elementwise.complex_numbers import squared_size
from pullback.operators.linalg.norms import lengths
from pullback.operators.reductions.exponentials import log_softmax, logsumexp, softmax
from pullback.operators.reductions.extremes import amax, amin, argmax, argmin
from pullback.operators.reductions.quantiles import nanmedian
from pullback.operators.reductions.reduction import prod, quotient_or_nan, sum
from pullback.operators.reductions.scan import cumprod, cumsum


def _chosen(name: str, x: Any, mask: Any) -> Any:
    mask = tensor_from(mask)
    if mask.dtype.kind != "b":
        raise TypeError(f"masked.{name}: the mask must hold truth values, got {mask.dtype}")
    return broadcast_to(mask, x.shape)


def _filled(name: str, x: Any, mask: Any, filler: Any) -> Any:
    return x if mask is None else where(_chosen(name, x, mask), x, filler)


def _highest(dtype: np.dtype[Any]) -> Any:
    return math.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def _declare(name: str, doc: str, over: Callable[..., Any], filler: Any) -> None:
    """A function over `axis` of all elements, with what the others count as; a function of the dtype, or a number."""

    def function(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        x = x if dtype is None else astype(x, dtype)
        return over(_filled(name, x, mask, filler(x.dtype) if callable(filler) else filler), axis, keepdims)

    _publish(name, doc, function)


def _publish(name: str, doc: str, function: Callable[..., Any]) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} `mask` chooses elements."
    composite(function, name=f"masked.{name}")


_declare("sum", "The sum over `axis`.", lambda x, axis, keepdims: sum(x, axis, keepdims), 0)
_declare("prod", "The product over `axis`.", lambda x, axis, keepdims: prod(x, axis, keepdims), 1)
_declare("amax", "The largest element over `axis`.", lambda x, axis, keepdims: amax(x, axis, keepdims), _lowest)
_declare("amin", "The smallest element over `axis`.", lambda x, axis, keepdims: amin(x, axis, keepdims), _highest)
_declare("argmax", "The place of the largest element over `axis`.", lambda x, a, k: argmax(x, a, k), _lowest)
_declare("argmin", "The place of the smallest element over `axis`.", lambda x, a, k: argmin(x, a, k), _highest)
_declare("logsumexp", "`log(sum(exp(x)))` over `axis`.", lambda x, a, k: logsumexp(x, a, k), -math.inf)
_declare("median", "The mean of the middle elements over `axis`.", lambda x, a, k: nanmedian(x, a, k), math.nan)


def _declare_along(name: str, doc: str, along: Callable[..., Any], filler: Any) -> None:
    """A function that keeps the shape."""

    def function(x: Any, axis: int, *, dtype: Any = None, mask: Any = None) -> Any:
        x = x if dtype is None else astype(x, dtype)
        return along(_filled(name, x, mask, filler), axis)

    _publish(name, doc, along_axis(function))


_declare_along("cumsum", "The running sum along `axis`.", lambda x, axis: cumsum(x, axis), 0)
_declare_along("cumprod", "The running product along `axis`.", lambda x, axis: cumprod(x, axis), 1)
_declare_along("softmax", "`softmax` over `axis`.", lambda x, axis: softmax(x, axis), -math.inf)
_declare_along("log_softmax", "`log_softmax` over `axis`.", lambda x, axis: log_softmax(x, axis), -math.inf)
_declare_along("softmin", "`softmax` of `-x` over `axis`.", lambda x, axis: softmax(-x, axis), math.inf)


def _moments(name: str, x: Any, axis: Any, mask: Any) -> tuple[Any, Any, Any]:
    """The elements with 0 for others, which of them count, and how many that are, over axes that are kept."""
    axes = normalize_axes(axis, x.ndim)
    if x.dtype.kind not in "fc":
        x = astype(x, np.float64)
    if mask is None:
        chosen = tensor_from(np.ones(x.shape, bool))
    else:
        chosen = _chosen(name, x, mask)
    return where(chosen, x, 0), chosen, sum(chosen, axes, True)


@composite(name="masked.mean")
def masked_mean(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean over `axis`; nan where there is nothing. `mask` chooses elements."""
    x = x if dtype is None else astype(x, dtype)
    kept, _, count = _moments("mean", x, axis, mask)
    axes = normalize_axes(axis, x.ndim)
    out = quotient_or_nan(sum(kept, axes, True), count, equal(count, 0))
    return out.reshape(reduced_shape(x.shape, axes, keepdims))


@composite(name="masked.var")
def masked_var(
    x: Any, axis: Any = None, unbiased: bool | None = None, *, keepdims: bool = False, dtype: Any = None,
    mask: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """The variance over `axis`, by the number of elements less `correction`. `mask` chooses elements."""
    x = x if dtype is None else astype(x, dtype)
    axes = normalize_axes(axis, x.ndim)
    kept, chosen, count = _moments("var", x, axis, mask)
    center = quotient_or_nan(sum(kept, axes, True), count, equal(count, 0))
    total = sum(where(chosen, squared_size(where(chosen, kept - center, 0)), 0), axes, True)
    freedom = count - (int(unbiased) if unbiased is not None else correction or 0)
    out = quotient_or_nan(total, freedom, freedom <= 0)
    return out.reshape(reduced_shape(x.shape, axes, keepdims))


@composite(name="masked.std")
def masked_std(
    x: Any, axis: Any = None, unbiased: bool | None = None, *, keepdims: bool = False, dtype: Any = None,
    mask: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """The standard deviation over `axis`; its derivative is 0 where all elements are equal. `mask` chooses elements."""
    spread = masked_var(x, axis, unbiased, keepdims=keepdims, dtype=dtype, mask=mask, correction=correction)
    is_zero = equal(spread, 0)
    return where(is_zero, 0, sqrt(where(is_zero, 1, spread)))


@composite(name="masked.norm")
def masked_norm(
    x: Any, ord: float = 2.0, axis: Any = None, *, keepdims: bool = False, dtype: Any = None, mask: Any = None
) -> Any:  # fmt: skip
    """The norm of order `ord` over `axis`. `mask` chooses elements."""
    x = x if dtype is None else astype(x, dtype)
    filled = _filled("norm", x, mask, math.inf if ord == -math.inf else 0)
    return lengths(filled, axis=normalize_axes(axis, x.ndim), keepdims=keepdims, ord=float(ord))


@composite(name="masked.normalize")
def masked_normalize(
    x: Any, ord: float, axis: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Any:  # fmt: skip
    """`x`, with 0 for what is not chosen, divided by its norm over `axis` or by `eps`. `mask` chooses elements."""
    x = x if dtype is None else astype(x, dtype)
    norm = masked_norm(x, ord, axis, keepdims=True, mask=mask)
    return _filled("normalize", x, mask, 0) / maximum(norm, eps)


@composite(name="masked.logaddexp", arrays=2)
def masked_logaddexp(x: Any, y: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """`log(exp(x) + exp(y))` of the elements that `input_mask` and `other_mask` choose."""
    x, y = (each if dtype is None else astype(each, dtype) for each in (x, y))
    first, second = _filled("logaddexp", x, input_mask, -math.inf), _filled("logaddexp", y, other_mask, -math.inf)
    return logaddexp(first, second)
