"""Activation functions: elementwise rows with parameters, and what is composed of them.

At a kink the derivative is the one of §6.4 of the operator specification: `x > 0` is asked, so the derivative at the
kink is that of the flat or sloped side; clipping functions have derivative 0 on their bounds.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.core.spec import is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.facts import Facts
from pullback.declare.families import elementwise, primitive
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.graph.ir import find_operator
from pullback.operators.arguments import is_recorded
from pullback.operators.arrays.index_operators import basic_view
from pullback.operators.elementwise.arithmetic import exp, sigmoid, sqrt, tanh
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import abs, conjugated, sign
from pullback.operators.nn.erf import fill_gelu_gradient, gelu_and_cdf
from pullback.operators.pieces import are_contiguous, elementwise_in_pieces, fill_in_pieces
from pullback.operators.random.discrete import gumbel_softmax
from pullback.operators.random.family import random
from pullback.operators.reductions.exponentials import softmax

_SELU_SCALE = 1.0507009873554804934
_SELU_ALPHA = 1.6732632423543772848
_GELU_SLOPE = math.sqrt(2 / math.pi)
_GELU_CUBE = 0.044715
_SMALL = 1 << 10  # elements, for which keeping something takes longer than computing it again


def _constants(condition: Any, x: Any, inside: float, outside: float) -> Any:
    """One number where `condition` holds and another elsewhere, in the dtype of `x`."""
    return where(condition, np.asarray(inside, x.dtype), np.asarray(outside, x.dtype))


def _activation(
    torch: str, kernel: Callable[..., Any], partial: Callable[..., Any] | None, doc: str, *, name: str = "",
    complex_domain: bool = False, is_formula: bool = True, **defaults: Any,
) -> Op:  # fmt: skip
    """A row: an elementwise function of `x` with parameters that have `defaults`, and torch's name for it."""

    def in_cache(x: Any, **params: Any) -> Any:
        return elementwise_in_pieces(lambda part: kernel(part, **params), x)

    name = name or f"nn.{torch}"
    facts: Facts = {"expand": kernel} if is_formula else {}
    op = elementwise(
        name, in_cache, ("x",), None if partial is None else (partial,), params=tuple(defaults), doc=doc, torch=torch,
        complex_domain=complex_domain, **facts,
    )  # fmt: skip
    if not complex_domain:
        op.refuses("activations are functions of real numbers", "complex128")
    plain_samples = op.sample_rule
    assert plain_samples is not None

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        for sample in plain_samples(make):
            yield Sample(sample.operands, dict(defaults), sample.label)

    if defaults:

        @op.door
        def door(x: Any, *values: Any, **named: Any) -> Any:
            if len(values) > len(defaults) or named.keys() - defaults.keys():
                raise TypeError(f"{name} takes x and {', '.join(defaults)}")
            given = dict(zip(defaults, values, strict=False))
            if given.keys() & named.keys():
                raise TypeError(f"{name}: an argument was given twice")
            return (x,), {**defaults, **given, **named}

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(key, kind, default=value) for key, value in defaults.items()]
        door.__signature__ = inspect.Signature([inspect.Parameter("x", kind), *parameters])  # type: ignore[attr-defined]

    return op


# Piecewise linear

leaky_relu = _activation(
    "leaky_relu", lambda x, *, negative_slope: np.where(x > 0, x, x * negative_slope),
    lambda x, negative_slope: _constants(x > 0, x, 1, negative_slope),
    "`x` where it is positive, `negative_slope * x` elsewhere; the derivative at 0 is the slope.", negative_slope=0.01,
)  # fmt: skip
hardtanh = _activation(
    "hardtanh", lambda x, *, min_val, max_val: np.clip(x, min_val, max_val),
    lambda x, min_val, max_val: _constants((x <= min_val) | (x >= max_val), x, 0, 1),
    "`x` moved into the interval from `min_val` to `max_val`; the derivative on the bounds is 0.",
    min_val=-1.0, max_val=1.0,
)  # fmt: skip
relu6 = _activation(
    "relu6", lambda x: np.clip(x, 0, 6), lambda x: _constants((x <= 0) | (x >= 6), x, 0, 1),
    "`x` moved into the interval from 0 to 6; the derivative on the bounds is 0.",
)  # fmt: skip
hardsigmoid = _activation(
    "hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, lambda x: _constants((x > -3) & (x < 3), x, 1 / 6, 0),
    "`(x + 3) / 6` moved into the interval from 0 to 1; the derivative at -3 and 3 is 0.",
)  # fmt: skip
hardswish = _activation(
    "hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6,
    lambda x: where(x <= -3, 0, where(x >= 3, 1, (2 * x + 3) / 6)),
    "`x * hardsigmoid(x)`; the derivative is 0 at -3 and 1 at 3.",
)  # fmt: skip
softshrink = _activation(
    "softshrink", lambda x, *, lambd: x - np.clip(x, -lambd, lambd),
    lambda x, lambd: _constants(abs(x) <= lambd, x, 0, 1),
    "`x` moved towards 0 by `lambd`, and 0 for what is nearer than that; the derivative on the bounds is 0.", lambd=0.5,
)  # fmt: skip
hardshrink = _activation(
    "hardshrink", lambda x, *, lambd: np.where(np.abs(x) <= lambd, 0, x),
    lambda x, lambd: _constants(abs(x) <= lambd, x, 0, 1),
    "`x`, and 0 where its absolute value is at most `lambd`; the derivative is 0 there as well.", lambd=0.5,
)  # fmt: skip
threshold = _activation(
    "threshold", lambda x, *, threshold, value: np.where(x <= threshold, value, x),
    lambda x, threshold: _constants(x <= threshold, x, 0, 1),
    "`x` where it is above `threshold`, `value` elsewhere; the derivative at the threshold is 0.",
    threshold=0.1, value=20.0,
)  # fmt: skip


@threshold.door
def threshold_door(x: Any, threshold: float, value: float) -> Any:
    return (x,), {"threshold": threshold, "value": value}


# Exponential


def _expm1_below(x: Any, scale: float = 1.0) -> Any:
    """`expm1(x / scale)` where x is negative, 0 elsewhere, so that nothing overflows."""
    return np.expm1(np.minimum(x, 0) / scale)


elu = _activation(
    "elu", lambda x, *, alpha: np.where(x > 0, x, alpha * _expm1_below(x)),
    lambda x, out, alpha: where(x > 0, 1, out + alpha),
    "`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere; the derivative at 0 is `alpha`.", alpha=1.0,
)  # fmt: skip
celu = _activation(
    "celu", lambda x, *, alpha: np.where(x > 0, x, alpha * _expm1_below(x, alpha)),
    lambda x, out, alpha: where(x > 0, 1, out / alpha + 1),
    "`x` where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere.", alpha=1.0,
)  # fmt: skip
selu = _activation(
    "selu", lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * _expm1_below(x)),
    lambda x, out: where(x > 0, _SELU_SCALE, out + _SELU_SCALE * _SELU_ALPHA),
    "`elu` scaled so that layers keep mean 0 and variance 1.",
)  # fmt: skip


def _softplus(x: Any, *, beta: float, threshold: float) -> Any:
    return np.where(beta * x > threshold, x, np.logaddexp(beta * x, 0) / beta)


softplus = _activation(
    "softplus", _softplus, lambda x, beta, threshold: where(beta * x > threshold, 1, sigmoid(beta * x)),
    "`log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` is above `threshold`.", beta=1.0, threshold=20.0,
)  # fmt: skip


def _silu_slope(x: Any) -> Any:
    gate = sigmoid(x)
    return gate * (1 + x * (1 - gate))


_small_silu = _activation(
    "silu", lambda x: _silu_and_gate(x)[0], lambda x: _silu_slope(x), "`x * sigmoid(x)`.", name="_small_silu",
    complex_domain=True,
)  # fmt: skip


@primitive(
    name="_silu", outputs=("out", "gate"), torch="silu", flow="elementwise", expand=lambda x: _silu_and_gate(x)
)
def _silu(x):
    """`x * sigmoid(x)`, and the sigmoid: computing it again would be most of the work of the derivative."""
    if x.dtype.char not in "fd" or not are_contiguous(x):
        return _silu_and_gate(x)
    outs = np.empty_like(x), np.empty_like(x)
    fill_in_pieces(_fill_silu, outs, x)
    return outs


def _silu_and_gate(x: Any) -> tuple[Any, Any]:
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-x))
    return x * gate, gate


def _fill_silu(outs: tuple[Any, Any], x: Any) -> None:
    out, gate = outs
    np.negative(x, gate)
    with np.errstate(over="ignore"):
        np.exp(gate, gate)
    gate += 1
    np.divide(1, gate, gate)
    np.multiply(x, gate, out)


@_silu.spec
def _silu_spec(x):
    spec = spec_for(x.shape, np.exp(np.ones(1, x.dtype)).dtype)
    return spec, spec


def _fill_silu_gradient(outs: tuple[Any], g: Any, x: Any, gate: Any) -> None:
    """`g * gate * (1 + x * (1 - gate))`."""
    (out,) = outs
    np.subtract(1, gate, out)
    out *= x
    out += 1
    out *= gate
    out *= g


@_silu.vjp
def _silu_vjp(g_out, g_gate, x, gate):
    if g_gate is None and are_contiguous(g_out, x, gate) and x.dtype.char in "fd" and g_out.dtype == x.dtype:
        total = np.empty_like(x)
        fill_in_pieces(_fill_silu_gradient, (total,), g_out, x, gate)
        return total
    total = None if g_out is None else g_out * (gate * (1 + x * (1 - gate)))
    return total if g_gate is None else _plus(total, g_gate * (gate * (1 - gate)))


@_silu.jvp
def _silu_jvp(t_x, x, gate):
    return t_x * (gate * (1 + x * (1 - gate))), t_x * (gate * (1 - gate))


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x + y


@composite(name="nn.silu", aliases=("nn.swish",))
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    is_small = x.size < _SMALL or is_complex_dtype(x.dtype)
    return _small_silu(x) if is_small or not is_recorded(x) else _silu(x)[0]


def _mish_slope(x: Any) -> Any:
    t = tanh(softplus(x))
    return t + x * sigmoid(x) * (1 - t * t)


mish = _activation(
    "mish", lambda x: x * np.tanh(np.logaddexp(x, 0)), lambda x: _mish_slope(x), "`x * tanh(softplus(x))`."
)
softsign = _activation(
    "softsign", lambda x: x / (1 + np.abs(x)), None, "`x / (1 + abs(x))`.", complex_domain=True,
)  # fmt: skip


# Its derivative is symmetric, also as a real linear map of complex numbers, so one rule serves both directions.


@softsign.vjp_of("x")
def softsign_vjp(g, x):
    size = 1 + abs(x)
    if not is_complex_dtype(x.dtype):
        return g / (size * size)
    return (g - sign(x) * ((g * conjugated(x)).real / size)) / size


@softsign.jvp
def softsign_jvp(t_x, x):
    return softsign_vjp(t_x, x)


# Native code does not compute it, since the difference would show how its `tanh` rounds.
tanhshrink = _activation(
    "tanhshrink", lambda x: x - np.tanh(x), lambda x: _square(tanh(x)), "`x - tanh(x)`.", complex_domain=True,
    is_formula=False,
)  # fmt: skip


def _square(x: Any) -> Any:
    return x * x


# GELU

def _gelu_parts(x: Any) -> tuple[Any, Any]:
    erfc = find_operator("special.erfc")  # of a family that few programs load
    below = 0.5 * erfc(x * -math.sqrt(0.5))
    return x * below, below


@primitive(name="_gelu", outputs=("out", "cdf"), torch="gelu", flow="elementwise", expand=_gelu_parts)
def _gelu(x):
    """`x` times the normal distribution function of `x`, and this function, which the derivative needs as well."""
    return gelu_and_cdf(x)


@_gelu.spelling("array_api")
def _gelu_spelling(np_there, x):
    cdf = np_there.special("ndtr", x)
    return x * cdf, cdf


@_gelu.spec
def _gelu_spec(x):
    spec = spec_for(x.shape, x.dtype if x.dtype.char in "efd" else np.dtype(np.float64))
    return spec, spec


def _normal_density(x: Any) -> Any:
    return exp(-0.5 * (x * x)) * (0.5 * _GELU_SLOPE)


@_gelu.vjp
def _gelu_vjp(g_out, g_cdf, x, cdf):
    if g_cdf is None and are_contiguous(g_out, x, cdf) and x.dtype.char in "fd" and g_out.dtype == x.dtype:
        total = np.empty_like(x)
        fill_in_pieces(fill_gelu_gradient, (total,), g_out, x, cdf)
        return total
    total = None if g_out is None else g_out * (cdf + x * _normal_density(x))
    return total if g_cdf is None else _plus(total, g_cdf * _normal_density(x))


@_gelu.jvp
def _gelu_jvp(t_x, x, cdf):
    density = _normal_density(x)
    return t_x * (cdf + x * density), t_x * density


for _op in (_silu, _gelu):
    _op.refuses("activations are functions of real numbers", "complex128")

    @_op.batch
    def _gated_batch(x, op=_op):
        return op(x)

    @_op.samples
    def _gated_samples(make: Maker) -> Iterator[Sample]:
        for shape in ((), (5,), (2, 3), (0, 2)):
            yield Sample((make(shape),), label=f"{len(shape)} axes" if shape != (0, 2) else "empty")
        yield Sample((make((4,), np.float32),), label="float32")
        for label, array in layouts(make((3, 4))):
            yield Sample((array,), label=label)


def _tanh_of_gelu(x: Any) -> Any:
    return tanh(_GELU_SLOPE * (x + _GELU_CUBE * x * x * x))


def _gelu_by_tanh_slope(x: Any) -> Any:
    t = _tanh_of_gelu(x)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x))


def _gelu_by_tanh_parts(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(_GELU_SLOPE * (x + _GELU_CUBE * x * x * x)))


_gelu_by_tanh = elementwise(
    "_gelu_by_tanh", lambda x: elementwise_in_pieces(_gelu_by_tanh_parts, x),
    ("x",), (lambda x: _gelu_by_tanh_slope(x),), torch="gelu", doc="The usual approximation of `gelu`.",
    expand=_gelu_by_tanh_parts,
)  # fmt: skip
_gelu_by_tanh.refuses("activations are functions of real numbers", "complex128")


@composite(name="nn.gelu")
def gelu(x: Any, approximate: str = "none") -> Any:
    """`x` times the normal distribution function of `x`; `approximate='tanh'` is the usual approximation of it."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"nn.gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return _gelu(x)[0] if approximate == "none" else _gelu_by_tanh(x)


# Composed


@composite(name="nn.squareplus")
def squareplus(x: Any, b: float = 4.0) -> Any:
    """`(x + sqrt(x * x + b)) / 2`, a smooth `relu` without exponentials."""
    return (x + sqrt(x * x + b)) / 2


@composite(name="nn.prelu", arrays=2)
def prelu(x: Any, weight: Any) -> Any:
    """`x` where it is positive, `weight * x` elsewhere, with one weight or one per channel (axis 1).

    The derivative at 0 is the weight.
    """
    if weight.ndim == 1 and weight.shape[0] > 1:
        if x.ndim < 2 or x.shape[1] != weight.shape[0]:
            raise ValueError(f"nn.prelu: {weight.shape[0]} weights for an array of shape {x.shape}")
        weight = weight.reshape((weight.shape[0],) + (1,) * (x.ndim - 2))
    elif weight.ndim == 1 and x.ndim == 0:
        weight = weight.reshape(())
    return where(x > 0, x, weight * x)


@composite(name="nn.rrelu")
def rrelu(
    x: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *, generator: Any = None
) -> Any:  # fmt: skip
    """`leaky_relu` with slopes drawn between `lower` and `upper`; without `training` the slope is their mean."""
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    slope = lower + (upper - lower) * random(x.shape, dtype=x.dtype, generator=generator)
    return where(x > 0, x, slope * x)


@composite(name="nn.glu")
def glu(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """The first half of `x` along `axis` times the sigmoid of the second."""
    axis = normalize_axis_index(axis if dim is None else dim, x.ndim)
    if x.shape[axis] % 2:
        raise ValueError(f"nn.glu: axis {axis} has odd length {x.shape[axis]} and no halves")
    half, before = x.shape[axis] // 2, (slice(None),) * axis
    first = basic_view(x, index=(*before, slice(0, half), ...))
    return first * sigmoid(basic_view(x, index=(*before, slice(half, None), ...)))


@composite(name="nn.softmin")
def softmin(x: Any, axis: int = -1, *, dim: int | None = None, dtype: Any = None) -> Any:
    """`softmax(-x)` over `axis`."""
    return softmax(-x, axis=axis if dim is None else dim, dtype=dtype)


composite(name="nn.gumbel_softmax")(gumbel_softmax)
