"""More elementwise functions: angles, `sinc`, `x log y`, parts of floating point numbers, and integers.

The everyday ones are rows of `elementwise`. Here are those that need a rule at a removable singularity, are made of
several operators, or work on integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Unpack

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.facts import Facts
from pullback.declare.families import binary, elementwise, predicate, unary
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, integer_samples
from pullback.operators.arguments import computed, constant, plain, tensor_from
from pullback.operators.arrays.creation import full, zeros
from pullback.operators.arrays.index_operators import ARRAY, index_put_arrays
from pullback.operators.arrays.indexing import getitem
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import broadcast_arrays
from pullback.operators.elementwise.arithmetic import (
    copysign,
    expm1,
    floor_divide,
    log,
    log1p,
    logaddexp,
    remainder,
    round,
    trunc,
)
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import array_equal, clip, equal, isinf, less_equal, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.reductions.scan import cumsum, diff

_DEGREE = math.pi / 180
_LN2 = math.log(2.0)

# Angles

deg2rad = unary(
    "deg2rad", np.deg2rad, _DEGREE, aliases=("radians",), expand=lambda x: x * (math.pi / 180),
    doc="An angle in degrees as one in radians.",
)  # fmt: skip
rad2deg = unary(
    "rad2deg", np.rad2deg, 1 / _DEGREE, aliases=("degrees",), expand=lambda x: x * (180 / math.pi),
    doc="An angle in radians as one in degrees.",
)  # fmt: skip


@composite
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    """`p` with multiples of `period` added, so that neighbours along `axis` differ by at most half a period.

    Jumps smaller than `discont` stay. What is added has derivative 0.
    """
    axis = normalize_axis_index(axis, p.ndim)
    jump = diff(p.detach(), axis=axis)
    half = period / 2
    short = (jump + half) % period - half
    short = where(equal(short, -half) & (jump > 0), half, short)
    limit = half if discont is None else max(discont, half)
    steps = where(abs(jump) < limit, 0, short - jump)
    first = (*p.shape[:axis], min(p.shape[axis], 1), *p.shape[axis + 1 :])
    start = constant(np.zeros(first, steps.dtype))
    return p + concat([start, cumsum(steps, axis)], axis)


# A removable singularity


def _sinc(x: Any, *, order: int) -> Any:
    """The derivative of this order of `sin(pi x) / (pi x)`."""
    if order == 0:
        return np.sinc(x)
    x = np.asarray(x, np.result_type(x, np.float16))
    return _sinc_parts(x, order=order).astype(x.dtype, copy=False)


def _sinc_parts(x: Any, *, order: int) -> Any:
    """By its series near 0, elsewhere from the lower orders."""
    is_near = np.abs(x) < 1
    inner, outer = np.where(is_near, x, 0), np.where(is_near, 1, x)
    first = (order + 1) // 2
    square, series = inner * inner, inner * 0
    for k in reversed(range(first, first + 17)):
        factor = (-1) ** k * math.pi ** (2 * k) / (math.factorial(2 * k - order) * (2 * k + 1))
        series = series * square + factor
    if 2 * first > order:
        series = series * inner + 0.0  # no zero with a sign
    turn = outer * math.pi
    away = np.sin(turn) / turn
    for n in range(1, order + 1):
        # The n-th derivative of x * sinc(x) = sin(pi x) / pi.
        away = (math.pi ** (n - 1) * np.sin(turn + n * math.pi / 2) - n * away) / outer
    return np.where(is_near, series, away)


sinc_derivative = elementwise(
    "_sinc", _sinc, ("x",), None, params=("order",), torch="sinc", doc="A derivative of `sinc`.", inplace=False,
    expand=_sinc_parts,
)  # fmt: skip


@sinc_derivative.vjp_of("x")
def sinc_vjp(g, x, order):
    return g * conjugated(sinc_derivative(x, order=order + 1))


@sinc_derivative.jvp
def sinc_jvp(t_x, x, order):
    return t_x * sinc_derivative(x, order=order + 1)


@sinc_derivative.samples
def sinc_samples(make: Maker) -> Iterator[Sample]:
    for order in (0, 1, 2):
        yield Sample((make((3, 4)),), {"order": order}, f"order-{order}")
    yield Sample((np.array([0.0, -0.0, 1e-9, 0.5, 1.0, 7.5]),), {"order": 0}, "edges")
    yield Sample((make((3,), np.complex128),), {"order": 0}, "complex")
    yield Sample((make((), np.float32),), {"order": 1}, "float32")
    yield Sample((make((0, 2)),), {"order": 0}, "empty")


@composite
def sinc(x: Any) -> Any:
    """`sin(pi x) / (pi x)`, which is 1 at 0, with all derivatives."""
    return sinc_derivative(x, order=0)


# Products with logarithms


def _flat(x: Any, y: Any) -> Any:
    """Where `x log y` is 0 whatever y is: x is 0, and y is 0 or negative, for which the logarithm is no number."""
    is_edge = equal(y, 0) if is_complex_dtype(np.result_type(getattr(y, "dtype", y))) else less_equal(y, 0)
    return equal(x, 0) & is_edge


def _times_log(logarithm: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Any, y: Any) -> Any:
        dtype = np.result_type(x, y)
        dtype = np.dtype(np.float64) if dtype.kind in "biu" else dtype
        x, y = np.asarray(x, dtype), np.asarray(y, dtype)
        is_zero = (x == 0) & ~np.isnan(y)
        return np.where(is_zero, 0, x * logarithm(np.where(is_zero, 1, y)))

    return kernel


def _times_log_of_numbers(logarithm: Callable[..., Any]) -> Callable[..., Any]:
    def parts(x: Any, y: Any) -> Any:
        is_zero = np.logical_and(x == 0, y == y)
        return np.where(is_zero, 0, x * logarithm(np.where(is_zero, 1, y)))

    return parts


def _log_factor(logarithm: Callable[..., Any], x: Any, y: Any, inside: Any) -> Any:
    """The logarithm that multiplies x, and 0 where the product is flat. `inside` is what the logarithm is of."""
    is_flat = _flat(x, inside)
    if getattr(y, "dtype", x.dtype) != x.dtype:
        y = astype(y, np.result_type(y.dtype, x.dtype), copy=False)  # a logarithm in half precision would have no more
    out = where(is_flat, 0, logarithm(where(is_flat, 1, y)))
    # The logarithm of a Python number must not decide the dtype.
    return astype(out, x.dtype, copy=False) if y.__class__ in (int, float) else out


def _quotient(x: Any, y: Any) -> Any:
    """`x / y`, and 0 where both are 0. Where only x is 0 the quotient is, and its derivative by x is not."""
    is_zero = equal(x, 0) & equal(y, 0)
    return where(is_zero, 0, x / where(is_zero, 1, y))


xlogy = binary(
    "xlogy", _times_log(np.log),
    (lambda x, y: _log_factor(log, x, y, y), lambda x, y: _quotient(x, y)),
    domain=((-2.0, 2.0), (0.3, 2.0)), complex_domain=True, expand=_times_log_of_numbers(np.log),
    doc="`x * log(y)`, and 0 where `x` is 0 unless `y` is NaN. Where both are 0, so are the derivatives.",
)  # fmt: skip
xlog1py = binary(
    "xlog1py", _times_log(np.log1p),
    (lambda x, y: _log_factor(log1p, x, y, 1 + y), lambda x, y: _quotient(x, 1 + y)),
    domain=((-2.0, 2.0), (-0.6, 2.0)), complex_domain=True, expand=_times_log_of_numbers(np.log1p),
    doc="`x * log1p(y)`, and 0 where `x` is 0 unless `y` is NaN.",
)  # fmt: skip


@composite(arrays=2)
def logaddexp2(x: Any, y: Any) -> Any:
    """`log2(2**x + 2**y)`, computed without overflow."""
    if getattr(x, "dtype", None) != getattr(y, "dtype", None) and hasattr(x, "dtype") and hasattr(y, "dtype"):
        common = np.result_type(x.dtype, y.dtype)  # before it is multiplied in the lower precision
        x, y = astype(x, common, copy=False), astype(y, common, copy=False)
    return logaddexp(x * _LN2, y * _LN2) / _LN2


# Parts of numbers

nextafter = binary(
    "nextafter", np.nextafter, (1, 0), doc="The floating point number next to `x` on the way to `y`. Its derivative "
    "by `x` is 1.",
)  # fmt: skip
ldexp = binary("ldexp", np.ldexp, doc="`x * 2**y` for integers `y`, without rounding.")
ldexp.refuses("an exponent belongs to a real number", "complex128")


@ldexp.transpose_of("x")
def ldexp_transpose(g, y):
    return ldexp(g, y)


@ldexp.samples
def ldexp_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)), make.integers(-3, 4, (3, 4))), label="matrix")
    yield Sample((make((3, 1)), make.integers(-3, 4, (4,))), label="broadcast")
    yield Sample((make((3,), np.float32), 2), label="number")
    yield Sample((make(()), make.integers(0, 3)), label="scalar")
    yield Sample((make((0, 2)), make.integers(0, 3, (2,))), label="empty")


_exponent = predicate("_exponent", lambda x: np.frexp(x)[1], ("x",), "its results are integers", torch="frexp")
spacing = predicate("spacing", np.spacing, ("x",), "it is constant between powers of 2", doc=(
    "The distance from `x` to the next number of larger absolute value."
))  # fmt: skip


@composite
def frexp(x: Any) -> tuple[Any, Any]:
    """The mantissa, of absolute value from 1/2 up to 1, and the exponent with `x == mantissa * 2**exponent`.

    The derivative of the mantissa is `2**-exponent`.
    """
    exponent = _exponent(x)
    return ldexp(x, -exponent), exponent


@composite
def modf(x: Any) -> tuple[Any, Any]:
    """The part behind the point and the part before it, both with the sign of `x`. They have derivatives 1 and 0."""
    x = x if x.dtype.kind == "f" else astype(x, np.result_type(x.dtype, np.float16))
    whole = trunc(x)
    infinite = isinf(x)
    return where(infinite, copysign(0.0, x), x - where(infinite, 0, whole)), whole


@composite
def frac(x: Any) -> Any:
    """The part of `x` behind the point, with the sign of `x`. Its derivative is 1."""
    return x - trunc(x)


@composite
def real_if_close(x: Any, tol: float = 100) -> Any:
    """The real part of `x` if all imaginary parts are within `tol` machine epsilons of 0, or within `tol` itself if
    that is below 1; otherwise `x`."""
    if not is_complex_dtype(x.dtype):
        return x
    limit = tol * float(np.finfo(x.dtype).eps) if tol > 1 else tol
    return x.real if bool((np.abs(plain("real_if_close", x).imag) < limit).all()) else x


@composite(arrays=2, name="divmod")
def quotient_and_remainder(x: Any, y: Any) -> tuple[Any, Any]:
    """`floor_divide(x, y)` and `remainder(x, y)`."""
    return floor_divide(x, y), remainder(x, y)


# Integers

_WHOLE = "it works on integers"


def _on_integers(name: str, kernel: np.ufunc, operands: tuple[str, ...], doc: str, **facts: Unpack[Facts]) -> Op:
    op = predicate(name, kernel, operands, _WHOLE, doc=doc, **facts)
    op.sample_rule = integer_samples(len(operands), -9, 10)
    return op


gcd = _on_integers("gcd", np.gcd, ("x", "y"), "The greatest common divisor of two integers.")
lcm = _on_integers("lcm", np.lcm, ("x", "y"), "The least common multiple of two integers.", commutes=True)
bitwise_count = _on_integers(
    "bitwise_count", np.bitwise_count, ("x",), "How many bits are set in the absolute value of an integer."
)


@composite
def packbits(x: Any, axis: int | None = None, bitorder: Any = "big") -> Any:
    """Truth values, eight to a byte, along `axis` or all in a row."""
    return computed("packbits", lambda values: np.packbits(values, axis, bitorder), x)


@composite
def unpackbits(x: Any, axis: int | None = None, count: int | None = None, bitorder: Any = "big") -> Any:
    """The bits of bytes as zeros and ones, along `axis` or all in a row."""
    return computed("unpackbits", lambda values: np.unpackbits(values, axis, count, bitorder), x)


@composite(arrays=2)
def array_equiv(x: Any, y: Any) -> bool:
    """True if both have the same elements after broadcasting one to the other."""
    x, y = tensor_from(x), tensor_from(y)
    try:
        x, y = broadcast_arrays(x, y)
    except ValueError:
        return False
    return array_equal(x, y)


# Functions that change the derivative, or the branch that is computed


@composite(aliases=("stop_gradient",))
def detach(x: Any) -> Any:
    """`x` as a constant: a view of the same memory through which no gradient flows."""
    return x.detach()


@composite
def resolve_conj(x: Any) -> Any:
    """`x` itself: conjugates are always computed here, never kept as a flag."""
    return x


@composite
def resolve_neg(x: Any) -> Any:
    """`x` itself: negatives are always computed here, never kept as a flag."""
    return x


@composite
def ste_round(x: Any) -> Any:
    """`round(x)` with derivative 1, for training with rounded numbers."""
    return x + (round(x) - x).detach()


@composite
def fake_quantize(x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """`x` rounded to the grid `scale * (k - zero_point)` with integers `k` from `quant_min` to `quant_max`.

    The derivative by `x` is 1 on the range of the grid and 0 beyond it.
    """
    step = clip(ste_round(x / scale) + zero_point, quant_min, quant_max)
    return (step - zero_point) * scale


@composite(arrays=0)
def apply_where(
    condition: Any, args: Any, f1: Callable[..., Any], f2: Callable[..., Any] | None = None, /, *,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """`f1(*args)` where `condition` holds and `f2(*args)`, or `fill_value`, elsewhere: each computed only there.

    Unlike in `where(condition, f1(x), f2(x))`, an infinite derivative of the function that is not wanted at an element
    does not reach its gradient.
    """
    if (f2 is None) == (fill_value is None):
        raise TypeError("apply_where: give either a second function or fill_value")
    args = args if isinstance(args, (list, tuple)) else (args,)
    mask, *arrays = broadcast_arrays(tensor_from(condition), *map(tensor_from, args))
    mask = plain("apply_where", mask).astype(bool)
    first = f1(*(getitem(x, mask) for x in arrays))
    if f2 is None:
        base = full(mask.shape, fill_value)
        kind = fill_value.__class__
        dtype = np.result_type(first.dtype, kind() if kind in (int, float, complex) else base.dtype)
        base = astype(base, dtype)
    else:
        second = f2(*(getitem(x, ~mask) for x in arrays))
        dtype = np.result_type(first.dtype, second.dtype)
        base = _put(zeros(mask.shape, dtype=dtype), ~mask, second)
    return _put(base, mask, first)


def _put(base: Any, mask: Any, values: Any) -> Any:
    values = astype(values, base.dtype, copy=False)
    if mask.ndim == 0:  # there is one element, and it is taken or left
        return values.reshape(()) if mask else base
    where_true = mask.nonzero()
    return index_put_arrays(
        base, values, *where_true, template=(ARRAY,) * len(where_true), accumulate=False, distinct=True
    )


def rounded(self: Any, decimals: int | None = None) -> Any:
    """`round(x, decimals)`: a tensor, also of one without axes."""
    return round(self, 0 if decimals is None else decimals)


members = {"__round__": rounded}
"""A member of `Tensor` that is no function."""


# Logarithms of differences, without the digits that a difference of near numbers loses.

def _log1mexp(x: Any) -> Any:
    """One way is exact where `exp(-x)` is near 1, the other where it is near 0."""
    x = np.asarray(x)
    out = np.asarray(np.expm1(-x))
    is_near = x.real < math.log(2)
    np.log(-out, out=out, where=is_near)
    return np.log1p(-np.exp(-x, where=~is_near, out=np.zeros_like(out)), out=out, where=~is_near)


def _log1mexp_both_ways(x: Any) -> Any:
    return np.where(x < math.log(2), np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


log1mexp = unary(
    "log1mexp", _log1mexp, lambda x: 1 / expm1(x), domain=(0.1, 4.0), expand=_log1mexp_both_ways,
    doc="`log(1 - exp(-x))` for `x >= 0`, exact where `x` is small or large. The derivative at 0 is infinite.",
)  # fmt: skip
log1mexp.refuses("only real numbers are small or large", "complex128")
