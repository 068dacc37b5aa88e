"""Elementwise operators: one row each, with the partial derivative by each operand.

A row states a holomorphic derivative, so it holds for complex numbers too. Partials must not promote: a float32
operand has a float32 partial, because fast paths hand the product on as it is. Numbers that a partial makes are
therefore Python numbers. Operators that compare or choose are in `comparison`, those that conjugate in
`complex_numbers`, casts and copies in `casting`.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype, on_number
from pullback.declare.composite import composite
from pullback.declare.families import binary, elementwise, unary
from pullback.declare.op import Op
from pullback.operators.elementwise import in_parts
from pullback.operators.elementwise.casting import astype, copy
from pullback.operators.elementwise.comparison import equal, isinf, isnan, where
from pullback.operators.elementwise.complex_numbers import _sign, complex, conjugated

_NUMBERS = (int, float, builtins.complex)
_LN2 = math.log(2.0)
_LN10 = math.log(10.0)


def _is_complex(x: Any) -> bool:
    return isinstance(x, builtins.complex) if isinstance(x, _NUMBERS) else is_complex_dtype(x.dtype)


# Arithmetic

add = binary("add", np.add, (1, 1), exact="negative_zero", complex_domain=True, doc="`x + y`.")
subtract = binary(
    "subtract", np.subtract, (1, -1), exact="zero", complex_domain=True, aliases=("sub",), torch="sub", doc="`x - y`."
)
multiply = binary(
    "multiply", np.multiply, (lambda y: y, lambda x: x), exact="one", complex_domain=True, aliases=("mul",),
    complex=in_parts.product, group="multilinear",
    torch="mul", doc="`x * y`.",
)  # fmt: skip


def _inverse(y: Any) -> Any:
    """`1 / y`, infinite for the number 0, for which Python would raise."""
    return np.divide(1.0, y).item() if isinstance(y, _NUMBERS) else 1 / y


divide = binary(
    "divide", np.divide, (lambda y: _inverse(y), lambda y, out: -out / y), exact="one", complex_domain=True,
    complex=in_parts.quotient,
    domain=((-2.0, 2.0), (0.5, 2.0)), aliases=("div", "true_divide"), torch="div", doc="`x / y`.",
)  # fmt: skip
negative = unary(
    "negative", np.negative, -1, exact="twice", complex_domain=True, aliases=("neg",), torch="neg", doc="`-x`."
)


@negative.inplace
def negative_inplace(x: Any) -> None:
    if x.flags.c_contiguous:
        np.negative(x, out=x)
    else:
        # NumPy 2.4 would write the wrong elements when the step in memory is 16 bytes for float32, 64 for float64.
        np.copyto(x, np.negative(x))


positive = unary("positive", np.positive, 1, complex_domain=True, doc="`+x`: a copy of `x`.")
fabs = unary("fabs", np.fabs, lambda x: _sign(x), doc="The absolute value of a real number.")
copysign = binary(
    "copysign", np.copysign, (lambda x, out: _sign(x) * _sign(out), 0),
    doc="`abs(x)` with the sign of `y`; -0.0 counts as negative. The derivative at `x == 0` is 0.",
)  # fmt: skip


def _remainder_slope(x: Any, y: Any) -> Any:
    """`-floor(x / y)`; by an infinite `y` of the other sign, of which the remainder has one, it is 1."""
    is_other = isinf(y) & (((x < 0) & (y > 0)) | ((x > 0) & (y < 0))) & ~isinf(x)
    return where(is_other, 1, -floor_divide(x, y))


remainder = binary(
    "remainder", np.remainder, (1, lambda x, y: _remainder_slope(x, y)), domain=((-2.0, 2.0), (0.5, 2.0)),
    aliases=("mod",),
    doc="""`x % y`: what is left of `x` after `floor_divide`, with the sign of `y`.

    The derivative by `x` is 1, at multiples of `y` too.
    """,
)  # fmt: skip
fmod = binary(
    "fmod", np.fmod, (1, lambda x, y: -trunc(x / y)), domain=((-2.0, 2.0), (0.5, 2.0)),
    doc="""What is left of `x` after division rounded towards zero, with the sign of `x`.

    The derivative by `x` is 1, at multiples of `y` too.
    """,
)  # fmt: skip


def _may_be_infinite(x: Any) -> bool:
    """Is an element infinite or NaN? The extremes are found faster than all elements are looked at."""
    if type(x) is not np.ndarray or not x.size:
        return not np.isfinite(x).all()
    return not (np.maximum.reduce(x, None) < math.inf and np.minimum.reduce(x, None) > -math.inf)


def _floor_divide(x: Any, y: Any) -> Any:
    out = np.floor_divide(x, y)
    is_plain = type(out) is np.ndarray or isinstance(out, np.generic)
    if out.dtype.kind == "f" and (not is_plain or _may_be_infinite(x) or _may_be_infinite(y)):
        # NumPy has nan for inf // 2 and -1 for 1 // -inf; the array API standard has inf and -0.0.
        infinite = np.isinf(x) | np.isinf(y)
        if not is_plain or infinite.any():
            out = np.where(infinite, np.floor(np.divide(x, y)), out)
    return out


floor_divide: Op = binary(
    "floor_divide", _floor_divide, (0, 0), domain=((-2.0, 2.0), (0.5, 2.0)),
    doc="`x // y`, the quotient rounded down. The derivative is 0.",
)  # fmt: skip

# Powers and roots


def _slope_in_base(x: Any, y: Any) -> Any:
    """`y * x ** (y - 1)`, and 0 where y is 0, since `x ** 0` is 1 for every x."""
    if isinstance(y, _NUMBERS):
        if y == 2:
            return 2 * x
        return y * x ** (y - 1) if y else 0
    if y.dtype != x.dtype and y.dtype.kind == "f":
        y = astype(y, np.result_type(x.dtype, y.dtype), copy=False)  # or `y - 1` would be rounded too coarsely
    # Where x is a number that has an inverse, the product is 0 by itself, and its derivative by y is that inverse.
    is_one = equal(y, 0) & ~(abs(x) > 0)
    return where(is_one, 0, y * x ** where(is_one, 1, y - 1))


def _slope_in_exponent(x: Any, y: Any, out: Any) -> Any:
    """`out * log(x)`, and 0 where x is 0 and y is not negative, since `0 ** y` does not change there."""
    if isinstance(x, _NUMBERS) and x != 0:
        if is_complex_dtype(out.dtype):
            return out * np.log(x, dtype=np.complex128).item()  # one of Python's numbers, which promote weakly
        return out * (on_number(math.log, x) if x > 0 else math.nan)  # type: ignore[operator]
    flat = (y.real >= 0) & (y.imag == 0) if is_complex_dtype(y.dtype) else y >= 0
    if isinstance(x, _NUMBERS):
        return where(flat, 0, where(flat, 1, out) * -math.inf)  # 0 * inf would be NaN in the next derivative
    if x.dtype != out.dtype:
        x = astype(x, out.dtype)  # a negative number has a complex logarithm, and it must not be rounded coarsely
    flat = flat & equal(x, 0)
    return where(flat, 0, out * log(where(flat, 1, x)))


pow = binary(
    "pow", operator.pow, (lambda x, y: _slope_in_base(x, y), lambda x, y, out: _slope_in_exponent(x, y, out)),
    scalar="pow", exact="one", complex_domain=True, domain=((0.3, 2.0), (-2.0, 2.0)), aliases=("power",),
    complex=in_parts.power,
    doc="""`x ** y`.

    The derivative by `x` is 0 where `y` is 0, for every `x`. The derivative by `y` is 0 where `x` is 0 and `y` is not
    negative, and NaN where `x` is negative and both are real.
    """,
)  # fmt: skip
pow.inplace(operator.ipow)
pow.takes_numbers = True  # a square is no power for NumPy
pow.saved_aliases = {"exponent": "y"}


@composite(arrays=2)
def float_power(x: Any, y: Any) -> Any:
    """`x ** y` in double precision, whatever the operands are."""
    dtype = np.dtype(np.complex128 if _is_complex(x) or _is_complex(y) else np.float64)
    return pow(*(value if isinstance(value, _NUMBERS) else astype(value, dtype, copy=False) for value in (x, y)))


reciprocal = unary(
    "reciprocal", np.reciprocal, lambda out: -out * out, complex_domain=True, domain=(0.5, 2.0), doc="`1 / x`."
)
square = unary("square", np.square, lambda x: 2 * x, complex_domain=True, complex=in_parts.square, doc="`x * x`.")
sqrt = unary(
    "sqrt", np.sqrt, complex_domain=True, domain=(0.1, 4.0),
    doc="The square root; the principal one of a complex number. The derivative at 0 is infinite.",
)  # fmt: skip


# The product with a partial 0.5 / out would make the infinity at a complex 0 a NaN.


@sqrt.vjp_of("x")
def sqrt_vjp(g, out):
    return g / (2 * conjugated(out))


@sqrt.jvp
def sqrt_jvp(t_x, out):
    return t_x / (2 * out)


rsqrt = unary(
    "rsqrt", lambda x: 1 / np.sqrt(x), lambda out: -0.5 * out * out * out, scalar="rsqrt", complex_domain=True,
    domain=(0.1, 4.0),
    doc="`1 / sqrt(x)`. The derivative at 0 is minus infinity.",
)  # fmt: skip
cbrt = unary(
    "cbrt", np.cbrt, lambda out: 1 / (3 * out * out), domain=(0.1, 4.0),
    doc="The real cube root. The derivative at 0 is infinite.",
)  # fmt: skip

# Exponentials and logarithms


def _exp2(x: Any) -> Any:
    if not _is_complex(x):
        return np.exp2(x)
    scaled = np.array(x)
    for part in (scaled.real, scaled.imag):  # as a product of complex numbers, infinity would spoil the other part
        part *= _LN2
    return np.exp(scaled)


def _expm1(x: Any) -> Any:
    if not _is_complex(x):
        return np.expm1(x)
    with np.errstate(all="ignore"):
        re, im = np.real(x), np.imag(x)
        out = np.asarray(np.exp(x) - 1)
        # The sum has no -0.0: the standard has expm1(-0.0 + 0j) = 0.
        close = np.expm1(re) * np.cos(im) - 2 * np.sin(im / 2) ** 2 + 0.0
        out.real = np.where(np.isfinite(x), close, out.real)
    return out


exp = unary("exp", np.exp, lambda out: out, complex_domain=True, complex=in_parts.exponential, doc="`e ** x`.")
exp2 = unary("exp2", _exp2, lambda out: out * _LN2, scalar="exp2", complex_domain=True, doc="`2 ** x`.")
expm1 = unary(
    "expm1", _expm1, lambda out: out + 1, scalar="expm1", complex_domain=True, doc="`exp(x) - 1`, accurate near 0."
)
log = unary(
    "log", np.log, lambda x: 1 / x, complex_domain=True, domain=(0.1, 4.0),
    doc="The natural logarithm. The derivative at 0 is infinite, with the sign of the zero.",
)  # fmt: skip
log2 = unary(
    "log2", np.log2, lambda x: 1 / (x * _LN2), complex_domain=True, domain=(0.1, 4.0),
    doc="The logarithm to base 2.",
)  # fmt: skip
log10 = unary(
    "log10", np.log10, lambda x: 1 / (x * _LN10), complex_domain=True, domain=(0.1, 4.0),
    doc="The logarithm to base 10.",
)  # fmt: skip
log1p = unary(
    "log1p", np.log1p, lambda x: 1 / (1 + x), complex_domain=True, domain=(-0.5, 2.0),
    doc="`log(1 + x)`, accurate near 0. The derivative at -1 is infinite.",
)  # fmt: skip


def _log_weight(x: Any, y: Any) -> Any:
    """`exp(x) / (exp(x) + exp(y))`: 0 for the logarithm of zero, one half for two infinities."""
    both_infinite = equal(x, y) & isinf(y)
    gap = where(both_infinite, 0, x - y)
    if not _is_complex(gap):
        return where(equal(x, -math.inf), 0, sigmoid(gap))
    small = exp(where(gap.real > 0, -gap, gap))  # at most 1, so that nothing overflows
    return where(equal(x, -math.inf), 0, where(gap.real > 0, 1, small) / (1 + small))


def add_exponents(x: Any, y: Any) -> Any:
    """`log(exp(x) + exp(y))` of arrays, also of complex numbers: the one with the larger real part is taken out."""
    if not (_is_complex(x) or _is_complex(y)):
        return np.logaddexp(x, y)
    x, y = np.broadcast_arrays(x, y)
    is_larger = np.asarray(x.real >= y.real)
    high, low = np.where(is_larger, x, y), np.where(is_larger, y, x)
    with np.errstate(all="ignore"):
        out = high + np.log1p(np.exp(low - high))
    return np.where(low.real == -np.inf, high, out)


logaddexp = binary(
    "logaddexp", add_exponents, (lambda x, y: _log_weight(x, y), lambda x, y: _log_weight(y, x)), scalar="logaddexp",
    commutes=True, complex_domain=True,
    doc="""`log(exp(x) + exp(y))`, computed without overflow.

    The derivative is 0 where both are -inf; where both are inf each gets half of the gradient.
    """,
)  # fmt: skip

# Trigonometric and hyperbolic functions

sin = unary("sin", np.sin, lambda x: cos(x), complex_domain=True, doc="The sine of `x` in radians.")
cos: Op = unary("cos", np.cos, lambda x: -sin(x), complex_domain=True, doc="The cosine of `x` in radians.")
tan = unary(
    "tan", np.tan, lambda out: 1 + out * out, complex_domain=True, domain=(-1.2, 1.2),
    doc="The tangent of `x` in radians.",
)  # fmt: skip


# On a branch cut the sign of a zero says which side is meant, and `x - 1` keeps it where `1 - x` and `x + 1` do not.


def _root_of_complement(x: Any) -> Any:
    """`sqrt(1 - x * x)`, the cosine of `asin(x)`."""
    return sqrt(-(x - 1)) * sqrt(x - -1) if _is_complex(x) else sqrt(1 - x) * sqrt(1 + x)


def _asinh_slope(x: Any) -> Any:
    return 1 / (cosh(asinh(x)) if _is_complex(x) else sqrt(x * x + 1))


asin = unary(
    "asin", np.arcsin, lambda x: 1 / _root_of_complement(x), complex_domain=True, domain=(-0.9, 0.9),
    aliases=("arcsin",),
    doc="The angle between -pi/2 and pi/2 whose sine is `x`. The derivative at -1 and 1 is infinite.",
)  # fmt: skip
acos = unary(
    "acos", np.arccos, lambda x: -1 / _root_of_complement(x), complex_domain=True,
    domain=(-0.9, 0.9),
    aliases=("arccos",),
    doc="The angle between 0 and pi whose cosine is `x`. The derivative at -1 and 1 is minus infinity.",
)  # fmt: skip
atan = unary(
    "atan", np.arctan, lambda x: 1 / (1 + x * x), complex_domain=True, domain=(-0.9, 0.9),
    aliases=("arctan",), doc="The angle between -pi/2 and pi/2 whose tangent is `x`.",
)  # fmt: skip
sinh = unary("sinh", np.sinh, lambda x: cosh(x), complex_domain=True, doc="The hyperbolic sine.")
cosh: Op = unary("cosh", np.cosh, lambda x: sinh(x), complex_domain=True, doc="The hyperbolic cosine.")
tanh = unary(
    "tanh", np.tanh, lambda out: 1 - out * out, complex_domain=True, domain=(-1.2, 1.2),
    doc="The hyperbolic tangent.",
)  # fmt: skip
asinh: Op = unary(
    "asinh", np.arcsinh, lambda x: _asinh_slope(x), complex_domain=True, domain=(-0.9, 0.9),
    aliases=("arcsinh",), doc="The inverse of `sinh`.",
)  # fmt: skip
acosh = unary(
    "acosh", np.arccosh, lambda x: 1 / (sqrt(x - 1) * sqrt(x - -1)), complex_domain=True,
    domain=(1.1, 3.0), aliases=("arccosh",), doc="The inverse of `cosh`. The derivative at 1 is infinite.",
)  # fmt: skip
atanh = unary(
    "atanh", np.arctanh, lambda x: 1 / (1 - x * x), complex_domain=True, domain=(-0.9, 0.9),
    aliases=("arctanh",), doc="The inverse of `tanh`. The derivative at -1 and 1 is infinite.",
)  # fmt: skip


def _or_one(x: Any) -> Any:
    """`x`, and 1 where it is 0: a length that a vector of zeros can be divided by."""
    return where(equal(x, 0), 1, x)


def _inverse_square(x: Any, y: Any, part: Any) -> Any:
    """`part / (x * x + y * y)` without overflow, 0 at the origin."""
    length = _or_one(hypot(x, y))
    return part / length / length


hypot = binary(
    "hypot", np.hypot, (lambda x, out: x / _or_one(out), lambda y, out: y / _or_one(out)),
    doc="`sqrt(x * x + y * y)` without overflow. The derivatives at the origin are 0.",
)  # fmt: skip
atan2 = binary(
    "atan2", np.arctan2, (lambda x, y: _inverse_square(x, y, y), lambda x, y: _inverse_square(x, y, -x)),
    aliases=("arctan2",),
    doc="The angle of the point with ordinate `x` and abscissa `y`. The derivatives at the origin are 0.",
)  # fmt: skip


@composite(arrays=2)
def polar(radius: Any, angle: Any) -> Any:
    """The complex numbers `radius * exp(1j * angle)` of real polar coordinates."""
    return complex(radius * cos(angle), radius * sin(angle))


# Logistic functions


def _sigmoid(x: Any) -> Any:
    # exp(-x) may overflow to infinity, and then 1 / (1 + inf) = 0 is right to the last digit.
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-(x / 1 if x.dtype.kind in "biu" else x)))


sigmoid = unary(
    "sigmoid", _sigmoid, lambda out: out * (1 - out), scalar="sigmoid", complex_domain=True, aliases=("expit",),
    doc="`1 / (1 + exp(-x))`, the logistic function.",
)  # fmt: skip
log_sigmoid = unary(
    "log_sigmoid", lambda x: -np.logaddexp(0, -x), lambda x: sigmoid(-x), scalar="log_sigmoid",
    aliases=("logsigmoid", "log_expit"),
    doc="`log(sigmoid(x))`, computed without underflow.",
)  # fmt: skip
softplus = unary(
    "softplus", lambda x: np.logaddexp(x, 0), lambda x: sigmoid(x), scalar="softplus",
    doc="`log(1 + exp(x))`, a smooth `relu`.",
)
def _log_odds(x: Any) -> Any:
    return np.log(x) - np.log1p(-x)


_logit = unary(
    "_logit", _log_odds, lambda x: 1 / (x * (1 - x)), domain=(0.1, 0.9), torch="logit", complex_domain=True,
    expand=_log_odds,
    aliases=("logit",), doc="`log(x / (1 - x))`.",
)  # fmt: skip


@composite
def logit(x: Any, eps: float | None = None) -> Any:
    """`log(x / (1 - x))`, the inverse of `sigmoid`; `eps` first moves `x` into the interval from eps to 1 - eps.

    Without `eps` the derivative at 0 and 1 is infinite.
    """
    return _logit(x if eps is None else x.clip(eps, 1 - eps))


# Rounding: the derivative is 0 wherever it exists

floor = unary("floor", np.floor, 0, domain=(0.1, 0.9), doc="`x` rounded down. The derivative is 0.")
ceil = unary("ceil", np.ceil, 0, domain=(0.1, 0.9), doc="`x` rounded up. The derivative is 0.")
trunc: Op = unary(
    "trunc", np.trunc, 0, domain=(0.1, 0.9), aliases=("fix",),
    doc="`x` rounded towards zero. The derivative is 0.",
)  # fmt: skip
rint = unary(
    "rint", np.rint, 0, domain=(0.6, 1.4), complex_domain=True,
    doc="`x` rounded to integers, ties to even. The derivative is 0.",
)  # fmt: skip
def _rounded(x: Any, *, decimals: int = 0) -> Any:
    scale = 10.0 ** abs(decimals)
    if not decimals:
        return np.rint(x)
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


round = elementwise(
    "round", lambda x, *, decimals=0: np.round(x, decimals), ("x",), (0,), domain=(0.6, 1.4), params=("decimals",),
    aliases=("around",), complex_domain=True, expand=_rounded,
    doc="`x` rounded to `decimals` places after the point, ties to even. The derivative is 0.",
)  # fmt: skip


@round.door
def round_door(x: Any, decimals: int = 0) -> Any:
    return (x,), {"decimals": operator.index(decimals)}


# Small compositions


@composite
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """`x` with NaN and the infinities replaced by numbers; infinities become the largest numbers by default."""
    if _is_complex(x):
        return complex(nan_to_num(x.real, nan, posinf, neginf), nan_to_num(x.imag, nan, posinf, neginf))
    if x.dtype.kind != "f":
        return copy(x)
    limits = np.finfo(x.dtype)
    x = where(isnan(x), nan, x)
    x = where(equal(x, math.inf), float(limits.max) if posinf is None else posinf, x)
    return where(equal(x, -math.inf), float(limits.min) if neginf is None else neginf, x)


@composite(arrays=3)
def lerp(x: Any, y: Any, weight: Any) -> Any:
    """`x + weight * (y - x)`: from `x` at weight 0 to `y` at weight 1."""
    return x + weight * (y - x)


@composite(arrays=3)
def addcmul(x: Any, y: Any, z: Any, *, value: float = 1) -> Any:
    """`x + value * y * z`."""
    return x + value * (y * z)


@composite(arrays=3)
def addcdiv(x: Any, y: Any, z: Any, *, value: float = 1) -> Any:
    """`x + value * y / z`."""
    return x + value * (y / z)
