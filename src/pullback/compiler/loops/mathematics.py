"""Mathematical functions on vectors: glibc's libmvec where there is one, expansions of our own, or libm lane by lane.

The functions of libmvec are called by name, four doubles or eight floats at a time, or twice as many where the
processor does these as fast; wider vectors are cut into such parts. The portable way has expansions for the functions
that most programs spend their time in. Each is within a few units in the last place, keeps NaN, infinities and signs of
zero, and calls nothing; what has no expansion is a call of libm for every lane. A single lane is always libm's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from pullback.compiler.loops.text import Text, in_register

# The functions that libmvec has from glibc 2.35 on, with how many operands each takes.
FUNCTIONS = {
    **dict.fromkeys(
        ("exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
         "cbrt", "erf", "erfc", "exp2", "expm1", "log2", "log10", "log1p"), 1,
    ),
    **dict.fromkeys(("pow", "atan2", "hypot"), 2),
}  # fmt: skip
_SETS = {
    ("f8", 2): "_ZGVbN2", ("f8", 4): "_ZGVdN4", ("f8", 8): "_ZGVeN8",
    ("f4", 4): "_ZGVbN4", ("f4", 8): "_ZGVdN8", ("f4", 16): "_ZGVeN16",
}  # fmt: skip
_NOT_WIDE = frozenset({"erf", "erfc"})  # which look up tables, and take longer so


@functools.cache
def has_wide_registers() -> bool:
    """Has the processor registers of 64 bytes, and is of a kind that does not slow down when they are used?"""
    return bool(getattr(np._core._multiarray_umath, "__cpu_features__", {}).get("AVX512_ICL", False))  # type: ignore[attr-defined]


def scalar_name(function: str, kind: str) -> str:
    """The name in libm."""
    return function + ("f" if kind == "f4" else "")


def vector_name(function: str, kind: str, lanes: int) -> str:
    """The name in libmvec."""
    return f"{_SETS[kind, lanes]}{'v' * FUNCTIONS[function]}_{scalar_name(function, kind)}"


def call_function(text: Text, function: str, kind: str, args: list[str], has_libmvec: bool) -> str:
    """A function of the table above, on vectors of the current width."""
    if text.lanes == 1:
        element = in_register(kind)
        return text.call(scalar_name(function, kind), element, [(element, x) for x in args])
    if has_libmvec:
        if function == "tanh" and kind == "f8":
            return _tanh_by_expm1(text, args[0])
        return _in_parts(text, function, kind, args)
    if function in _EXPANSIONS:
        return _expanded(text, function, kind, args)
    return _lane_by_lane(text, function, kind, args)


def _in_parts(text: Text, function: str, kind: str, args: list[str]) -> str:
    widest = (4 if kind == "f8" else 8) * (2 if has_wide_registers() and function not in _NOT_WIDE else 1)
    lanes, element = text.lanes, in_register(kind)
    width = min(lanes, widest)
    if (kind, width) not in _SETS:
        return _lane_by_lane(text, function, kind, args)
    name, type_ = vector_name(function, kind, width), f"<{width} x {element}>"
    results = []
    for start in range(0, lanes, width):
        parts = [x if width == lanes else _part(text, x, element, lanes, start, width) for x in args]
        results.append(text.call(name, type_, [(type_, x) for x in parts]))
    while len(results) > 1:
        results = [_joined(text, a, b, element, width) for a, b in zip(results[::2], results[1::2], strict=True)]
        width *= 2
    return results[0]


def _part(text: Text, x: str, element: str, lanes: int, start: int, width: int) -> str:
    numbers = ", ".join(f"i32 {k}" for k in range(start, start + width))
    type_ = f"<{lanes} x {element}>"
    return text.value(f"shufflevector {type_} {x}, {type_} poison, <{width} x i32> <{numbers}>")


def _joined(text: Text, a: str, b: str, element: str, width: int) -> str:
    numbers = ", ".join(f"i32 {k}" for k in range(2 * width))
    type_ = f"<{width} x {element}>"
    return text.value(f"shufflevector {type_} {a}, {type_} {b}, <{2 * width} x i32> <{numbers}>")


def _lane_by_lane(text: Text, function: str, kind: str, args: list[str]) -> str:
    element, type_ = in_register(kind), text.type(kind)
    result = "poison"
    for lane in range(text.lanes):
        parts = [text.value(f"extractelement {type_} {x}, i32 {lane}") for x in args]
        out = text.call(scalar_name(function, kind), element, [(element, x) for x in parts])
        result = text.value(f"insertelement {type_} {result}, {element} {out}, i32 {lane}")
    return result


# Expansions, for double precision. Single precision is computed in double, which leaves nothing to be lost.


def _expanded(text: Text, function: str, kind: str, args: list[str]) -> str:
    expand = _EXPANSIONS[function]
    if kind == "f8":
        return expand(text, *args)
    wide = [text.value(f"fpext {text.type('f4')} {x} to {text.type('f8')}") for x in args]
    return text.value(f"fptrunc {text.type('f8')} {expand(text, *wide)} to {text.type('f4')}")


def _number(text: Text, value: float) -> str:
    return text.constant(value, "f8")


def _fused(text: Text, x: str, y: str, z: str) -> str:
    """`x * y + z`, rounded once where the processor can."""
    return text.intrinsic("fmuladd", "f8", x, y, z)


def _polynomial(text: Text, x: str, coefficients: list[float]) -> str:
    """The polynomial with these coefficients, the constant first, after Horner."""
    total = _number(text, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = _fused(text, total, x, _number(text, coefficient))
    return total


_LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")  # its product with an exponent is exact
_LN2_LOW = 1.6465949582897082e-12  # what is left of log(2)


def _bits_of_power(text: Text, n: str) -> str:
    """`2 ** n` for integers in the range of normal numbers."""
    integers = text.type("i8")
    biased = text.value(f"add {integers} {n}, {text.constant(1023, 'i8')}")
    shifted = text.value(f"shl {integers} {biased}, {text.constant(52, 'i8')}")
    return text.value(f"bitcast {integers} {shifted} to {text.type('f8')}")


def _reduced(text: Text, x: str) -> tuple[str, str]:
    """`n` and `r` with `x = n * log(2) + r` and |r| at most half of log(2); x is at most 746 in size."""
    n = text.intrinsic("nearbyint", "f8", text.two("fmul", "f8", x, _number(text, 1 / math.log(2.0))))
    r = _fused(text, n, _number(text, -_LN2_HIGH), x)
    return n, _fused(text, n, _number(text, -_LN2_LOW), r)


def _scaled(text: Text, x: str, n: str) -> str:
    """`x * 2 ** n`, in two steps, so that results below the normal numbers are rounded once."""
    integers = text.type("i8")
    whole = text.value(f"fptosi {text.type('f8')} {n} to {integers}")
    half = text.value(f"ashr {integers} {whole}, {text.constant(1, 'i8')}")
    rest = text.value(f"sub {integers} {whole}, {half}")
    return text.two("fmul", "f8", text.two("fmul", "f8", x, _bits_of_power(text, half)), _bits_of_power(text, rest))


def _clamped(text: Text, x: str, low: float, high: float) -> str:
    """`x` between two bounds; a NaN becomes the lower one."""
    above = text.compare("fcmp ogt", "f8", x, _number(text, low))
    x = text.select(above, "f8", x, _number(text, low))
    below = text.compare("fcmp olt", "f8", x, _number(text, high))
    return text.select(below, "f8", x, _number(text, high))


def _unless_nan(text: Text, x: str, result: str) -> str:
    return text.select(text.compare("fcmp uno", "f8", x, x), "f8", x, result)


def _exp(text: Text, x: str) -> str:
    n, r = _reduced(text, _clamped(text, x, -746.0, 710.0))
    near_one = _polynomial(text, r, [1 / math.factorial(k) for k in range(14)])
    return _unless_nan(text, x, _scaled(text, near_one, n))


_EXPM1_TERMS = [1 / math.factorial(k + 1) for k in range(20)]


def _small_expm1(text: Text, x: str) -> str:
    """`exp(x) - 1` for |x| up to 1.1."""
    return text.two("fmul", "f8", x, _polynomial(text, x, _EXPM1_TERMS))


def _is_small(text: Text, x: str, bound: float) -> str:
    return text.compare("fcmp olt", "f8", text.intrinsic("fabs", "f8", x), _number(text, bound))


def _expm1(text: Text, x: str) -> str:
    far = text.two("fsub", "f8", _exp(text, x), _number(text, 1.0))
    return text.select(_is_small(text, x, 0.7), "f8", _small_expm1(text, x), far)


def _tanh(text: Text, x: str) -> str:
    """`expm1(2x) / (expm1(2x) + 2)` near 0, `1 - 2 / (exp(2|x|) + 1)` with the sign of x elsewhere."""
    twice = text.two("fadd", "f8", x, x)
    grown = _small_expm1(text, twice)
    near = text.two("fdiv", "f8", grown, text.two("fadd", "f8", grown, _number(text, 2.0)))
    size = text.intrinsic("fabs", "f8", twice)
    power = text.two("fadd", "f8", _exp(text, size), _number(text, 1.0))
    far = text.two("fsub", "f8", _number(text, 1.0), text.two("fdiv", "f8", _number(text, 2.0), power))
    far = text.intrinsic("copysign", "f8", far, x)
    return _unless_nan(text, x, text.select(_is_small(text, x, 0.55), "f8", near, far))


def _tanh_by_expm1(text: Text, x: str) -> str:
    """`t / (t + 2)` with t = expm1(2|x|) and the sign of x: two thirds of the time that libmvec takes for tanh."""
    size = text.intrinsic("fabs", "f8", x)
    twice = text.two("fadd", "f8", size, size)
    grown = _in_parts(text, "expm1", "f8", [_clamped(text, twice, 0.0, 40.0)])
    result = text.two("fdiv", "f8", grown, text.two("fadd", "f8", grown, _number(text, 2.0)))
    return _unless_nan(text, x, text.intrinsic("copysign", "f8", result, x))


def _log(text: Text, x: str) -> str:
    """`e * log(2) + log(m)` with m between the roots of 1/2 and 2, whose logarithm is a series in (m - 1) / (m + 1)."""
    integers, floats = text.type("i8"), text.type("f8")
    tiny = text.compare("fcmp olt", "f8", x, _number(text, 2.0**-1022))
    lifted = text.select(tiny, "f8", text.two("fmul", "f8", x, _number(text, 2.0**54)), x)
    bits = text.value(f"bitcast {floats} {lifted} to {integers}")
    root_bits = 0x3FE6A09E667F3BCD  # of the square root of one half
    distance = text.value(f"sub {integers} {bits}, {text.constant(root_bits, 'i8')}")
    exponent = text.value(f"ashr {integers} {distance}, {text.constant(52, 'i8')}")
    shift = text.value(f"shl {integers} {exponent}, {text.constant(52, 'i8')}")
    mantissa = text.value(f"bitcast {integers} {text.value(f'sub {integers} {bits}, {shift}')} to {floats}")
    e = text.value(f"sitofp {integers} {exponent} to {floats}")
    e = text.two("fadd", "f8", e, text.select(tiny, "f8", _number(text, -54.0), _number(text, 0.0)))
    f = text.two("fsub", "f8", mantissa, _number(text, 1.0))
    s = text.two("fdiv", "f8", f, text.two("fadd", "f8", f, _number(text, 2.0)))
    z = text.two("fmul", "f8", s, s)
    series = text.two("fmul", "f8", z, _polynomial(text, z, [2 / (2 * k + 3) for k in range(11)]))
    # 2s = f - f*s, so that the leading term is exact.
    correction = text.two("fmul", "f8", s, text.two("fsub", "f8", series, f))
    low = _fused(text, e, _number(text, _LN2_LOW), correction)
    result = text.two("fadd", "f8", text.two("fmul", "f8", e, _number(text, _LN2_HIGH)), text.two("fadd", "f8", low, f))
    return _at_the_ends_of_log(text, x, result)


def _at_the_ends_of_log(text: Text, x: str, result: str) -> str:
    zero = _number(text, 0.0)
    infinite = text.compare("fcmp oeq", "f8", x, _number(text, math.inf))
    result = text.select(infinite, "f8", x, result)
    result = text.select(text.compare("fcmp oeq", "f8", x, zero), "f8", _number(text, -math.inf), result)
    result = text.select(text.compare("fcmp olt", "f8", x, zero), "f8", _number(text, math.nan), result)
    return _unless_nan(text, x, result)


def _log1p(text: Text, x: str) -> str:
    """`log(u) + (x - (u - 1)) / u` with u = 1 + x rounded."""
    u = text.two("fadd", "f8", x, _number(text, 1.0))
    lost = text.two("fsub", "f8", x, text.two("fsub", "f8", u, _number(text, 1.0)))
    result = text.two("fadd", "f8", _log(text, u), text.two("fdiv", "f8", lost, u))
    result = text.select(text.compare("fcmp oeq", "f8", u, _number(text, 1.0)), "f8", x, result)
    at_an_end = text.compare("fcmp oeq", "f8", text.intrinsic("fabs", "f8", u), _number(text, math.inf))
    result = text.select(at_an_end, "f8", _log(text, u), result)
    at_zero = text.compare("fcmp oeq", "f8", u, _number(text, 0.0))
    return text.select(at_zero, "f8", _number(text, -math.inf), result)


# The first 33 bits of pi / 2, the next 33, and the rest: products with integers below 2 ** 20 are exact.
_HALF_PI = (float.fromhex("0x1.921fb54400000p+0"), float.fromhex("0x1.0b4611a600000p-34"), 2.0222662487959506e-21)
_FAR = 1e5
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(9)]


def _circular(function: str, quarter: int) -> Callable[..., str]:
    """The sine, or the cosine, which is a quarter of a turn ahead. Far from 0 it is libm that knows the angle."""

    def expand(text: Text, x: str) -> str:
        slot, far, near = text.slot(text.type("f8")), text.name("far"), text.name("near")
        text.line(f"store {text.type('f8')} {_turned(text, x, quarter)}, ptr {slot}")
        size = text.intrinsic("fabs", "f8", x)
        is_far = text.compare("fcmp uge", "f8", size, _number(text, _FAR))
        bits = text.value(f"bitcast {text.type('b1')} {is_far} to i{text.lanes}")
        text.line(f"br i1 {text.value(f'icmp ne i{text.lanes} {bits}, 0')}, label %{far}, label %{near}")
        text.label(far)
        text.line(f"store {text.type('f8')} {_lane_by_lane(text, function, 'f8', [x])}, ptr {slot}")
        text.line(f"br label %{near}")
        text.label(near)
        return text.value(f"load {text.type('f8')}, ptr {slot}")

    return expand


def _turned(text: Text, x: str, quarter: int) -> str:
    """The sine of `x` plus so many quarters of a turn."""
    integers = text.type("i8")
    n = text.intrinsic("nearbyint", "f8", text.two("fmul", "f8", x, _number(text, 2 / math.pi)))
    r = x
    for part in _HALF_PI:
        r = _fused(text, n, _number(text, -part), r)
    turns = text.value(f"fptosi {text.type('f8')} {_clamped(text, n, -1e6, 1e6)} to {integers}")
    turns = text.value(f"add {integers} {turns}, {text.constant(quarter, 'i8')}")
    z = text.two("fmul", "f8", r, r)
    above = text.two("fmul", "f8", z, _polynomial(text, z, _SINE[1:]))
    sine = _fused(text, above, r, r)
    is_odd = text.value(f"trunc {integers} {turns} to {text.type('b1')}")
    value = text.select(is_odd, "f8", _polynomial(text, z, _COSINE), sine)
    half = text.value(f"lshr {integers} {turns}, {text.constant(1, 'i8')}")
    is_behind = text.value(f"trunc {integers} {half} to {text.type('b1')}")
    return text.select(is_behind, "f8", text.value(f"fneg {text.type('f8')} {value}"), value)


_EXPANSIONS: dict[str, Callable[..., str]] = {
    "exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log1p": _log1p,
    "sin": _circular("sin", 0), "cos": _circular("cos", 1),
}  # fmt: skip
