"""Comparing elements, and choosing between them by the outcome.

Predicates have no derivative and their results never require grad. The operators that choose (`where`, `maximum`,
`clip`, ...) send the gradient to the element that was chosen; where two are equally good it is shared evenly. They
do so with `where` and never by multiplying with a mask, so an infinite gradient elsewhere does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Unpack

import numpy as np

from pullback.core.axes import merge_spellings
from pullback.core.spec import LARGE
from pullback.declare.composite import composite
from pullback.declare.facts import Facts
from pullback.declare.families import binary, elementwise, predicate, unary
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, integer_samples
from pullback.eager.build import as_operand
from pullback.eager.large import native_when_large
from pullback.operators.elementwise import in_parts

_TRUTH = "its results are truth values"
_NUMBERS = (int, float)
_WHOLE = "it works on integers and truth values"


def _compare(name: str, kernel: np.ufunc, doc: str, short: str, **facts: Unpack[Facts]) -> Op:
    return predicate(name, kernel, ("x", "y"), _TRUTH, doc=doc, aliases=(short,), complex_domain=True, **facts)


equal = _compare(
    "equal", np.equal, "`x == y`, element by element.", "eq", commutes=True, complex=in_parts.both(np.equal)
)
not_equal = _compare(
    "not_equal", np.not_equal, "`x != y`, element by element.", "ne", commutes=True,
    complex=in_parts.either(np.not_equal),
)  # fmt: skip
less = _compare("less", np.less, "`x < y`, element by element.", "lt")
less_equal = _compare("less_equal", np.less_equal, "`x <= y`, element by element.", "le")
greater = _compare("greater", np.greater, "`x > y`, element by element.", "gt")
greater_equal = _compare("greater_equal", np.greater_equal, "`x >= y`, element by element.", "ge")


def _test(name: str, kernel: Callable[..., Any], doc: str, of_complex: bool = True, **facts: Unpack[Facts]) -> Op:
    return predicate(name, kernel, ("x",), _TRUTH, doc=doc, complex_domain=of_complex, **facts)


isnan = _test("isnan", np.isnan, "True where an element is not a number.", complex=in_parts.either(np.isnan))
isinf = _test(
    "isinf", np.isinf, "True where an element is infinite, with either sign.", complex=in_parts.either(np.isinf)
)
isfinite = _test(
    "isfinite", np.isfinite, "True where an element is neither infinite nor NaN.", complex=in_parts.both(np.isfinite)
)
isposinf = _test("isposinf", np.isposinf, "True where an element is positive infinity.", False)
isneginf = _test("isneginf", np.isneginf, "True where an element is negative infinity.", False)


def _is_a_number(x: Any) -> bool:
    return bool(x.size) and x.dtype.kind == "f" and x.dtype.itemsize != 2


isposinf.expand(of="everything", when=_is_a_number)(lambda x: x == math.inf)
isneginf.expand(of="everything", when=_is_a_number)(lambda x: x == -math.inf)
isreal = _test("isreal", np.isreal, "True where an element has no imaginary part.", complex=lambda x: x.imag == 0)
iscomplex = _test(
    "iscomplex", np.iscomplex, "True where an element has an imaginary part other than zero.",
    complex=lambda x: x.imag != 0,
)
signbit = _test("signbit", np.signbit, "True where the sign bit is set: for negative numbers and for -0.0.", False)


def _logical(name: str, kernel: np.ufunc, operands: tuple[str, ...], doc: str) -> Op:
    return elementwise(name, kernel, operands, None, doc=doc, complex_domain=True).not_differentiable(_TRUTH)


logical_and = _logical("logical_and", np.logical_and, ("x", "y"), "True where both elements are nonzero.")
logical_or = _logical("logical_or", np.logical_or, ("x", "y"), "True where at least one element is nonzero.")
logical_xor = _logical("logical_xor", np.logical_xor, ("x", "y"), "True where exactly one element is nonzero.")
logical_not = _logical("logical_not", np.logical_not, ("x",), "True where an element is zero.")


def _bitwise(name: str, kernel: np.ufunc, operands: tuple[str, ...], doc: str, *aliases: str) -> Op:
    op = elementwise(name, kernel, operands, None, doc=doc, aliases=aliases).not_differentiable(_WHOLE)
    op.sample_rule = integer_samples(len(operands), 0, 9, booleans=kernel not in (np.left_shift, np.right_shift))
    return op


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, ("x", "y"), "`x & y` on every pair of bits.")
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, ("x", "y"), "`x | y` on every pair of bits.")
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, ("x", "y"), "`x ^ y` on every pair of bits.")
bitwise_invert = _bitwise(
    "bitwise_invert", np.bitwise_invert, ("x",), "Every bit of `x` turned over.", "bitwise_not", "invert"
)
bitwise_left_shift = _bitwise(
    "bitwise_left_shift", np.left_shift, ("x", "y"), "The bits of `x` moved `y` places up.", "left_shift"
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift", np.right_shift, ("x", "y"), "The bits of `x` moved `y` places down.", "right_shift"
)


def _isclose(x: Any, y: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """True where `abs(x - y) <= atol + rtol * abs(y)`; infinities of one sign are close to each other."""
    return np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


isclose = predicate(
    "isclose", _isclose, ("x", "y"), _TRUTH, params=("rtol", "atol", "equal_nan"), doc=_isclose.__doc__ or "",
    complex_domain=True, group="comparison",
)  # fmt: skip


@isclose.door
def isclose_door(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    # Whether numbers are close has no derivative, so a tolerance may be any tensor.
    rtol, atol = (bound.detach().numpy() if hasattr(bound, "detach") else bound for bound in (rtol, atol))
    return (x, y), {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}


@composite(arrays=2)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """True if `isclose` holds for every pair of elements."""
    return bool(isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


@composite(arrays=2)
def array_equal(x: Any, y: Any) -> bool:
    """True if both have one shape and the same elements."""
    return x.shape == y.shape and bool(equal(x, y).all())


# Choosing

where = elementwise(
    "where", np.where, ("condition", "x", "y"), None, inplace=False, scalar="select", dynamic=1,
    complex=in_parts.choice, group="linear",
    doc="""The elements of `x` where `condition` holds and those of `y` elsewhere.

    What is not chosen gets the gradient 0, and passes it on: if its own derivative is infinite, the result is NaN. Use
    `apply_where` where a branch has no derivative at elements that belong to the other.
    """,
)  # fmt: skip


native_when_large(where, truths=(True, False, False))
# Without NumPy's way to other classes of arrays, which takes as long as choosing between a few elements.
choose: Any = getattr(np.where, "_implementation", np.where)
where.inner_kernel = choose


@where.vjp_of("condition")
def where_vjp_condition(g):
    return None  # a condition given as numbers has no derivative


@where.vjp_of("x")
def where_vjp_x(g, condition):
    return where(condition, g, 0)


@where.vjp_of_on_arrays("x")
def where_pulled_x(g, condition):
    return (choose if g.size < LARGE else where)(condition, g, 0)


@where.vjp_of("y")
def where_vjp_y(g, condition):
    return where(condition, 0, g)


@where.vjp_of_on_arrays("y")
def where_pulled_y(g, condition):
    return (choose if g.size < LARGE else where)(condition, 0, g)


@where.jvp
def where_jvp(condition, t_x, t_y):
    return where(condition, 0 if t_x is None else t_x, 0 if t_y is None else t_y)


@where.samples
def where_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.booleans((3, 4)), make((3, 4)), make((3, 4))), label="matrix")
    yield Sample((make.booleans((4, 1)), make((3,)), make(())), label="broadcast")
    yield Sample((make.booleans(), make(()), make((2, 3))), label="scalar-condition")
    yield Sample((make.booleans((3,)), make((3,), np.float32), make((3,), np.float32)), label="float32")
    yield Sample((make.booleans((3,)), make((3,)), make((3,), np.complex128)), label="complex")
    yield Sample((make.booleans((3,)), make((3,)), 0), label="number")
    yield Sample((make.booleans((0, 2)), make((0, 2)), make((2,))), label="empty")


def where_method(self: Any, condition: Any, other: Any) -> Any:
    """This tensor's elements where `condition` holds and those of `other` elsewhere."""
    return where(as_operand(condition), self, as_operand(other))


members = {"where": where_method}


def _share(g: Any, chosen: Any, other_chosen: Any) -> Any:
    """`g` where an operand was chosen, half of it where the other one was as well, 0 elsewhere."""
    return where(chosen, where(other_chosen, g * 0.5, g), 0)


def _extremum(name: str, kernel: np.ufunc, beats: Op, nan_wins: bool, doc: str) -> Op:
    op = binary(name, kernel, doc=doc, complex_domain=True)

    def chosen(x: Any, y: Any) -> Any:
        """Is `x` the result? Both may be."""
        return beats(x, y) | isnan(x if nan_wins else y)

    @op.vjp_of("x")
    def vjp_x(g, x, y):
        return _share(g, chosen(x, y), chosen(y, x))

    @op.vjp_of("y")
    def vjp_y(g, x, y):
        return _share(g, chosen(y, x), chosen(x, y))

    @op.jvp
    def jvp(x, y, t_x, t_y):
        of_x, of_y = chosen(x, y), chosen(y, x)
        if t_y is None:
            return _share(t_x, of_x, of_y)
        if t_x is None:
            return _share(t_y, of_y, of_x)
        return _share(t_x, of_x, of_y) + _share(t_y, of_y, of_x)

    return op


maximum = _extremum(
    "maximum", np.maximum, greater_equal, True,
    "The larger of two elements; NaN if one is NaN. Equal elements get half of the gradient each, a NaN all of it.",
)  # fmt: skip
minimum = _extremum(
    "minimum", np.minimum, less_equal, True,
    "The smaller of two elements; NaN if one is NaN. Equal elements get half of the gradient each, a NaN all of it.",
)  # fmt: skip
fmax = _extremum(
    "fmax", np.fmax, greater_equal, False,
    "The larger of two elements; a NaN loses to a number, and gets no gradient. Equal elements get half of it each.",
)  # fmt: skip
fmin = _extremum(
    "fmin", np.fmin, less_equal, False,
    "The smaller of two elements; a NaN loses to a number, and gets no gradient. Equal elements get half of it each.",
)  # fmt: skip


def _clip(x: Any, min: Any, max: Any) -> Any:
    if type(x) is np.ndarray and x.dtype.char in "fd" and type(min) in _NUMBERS and type(max) in _NUMBERS:
        return x.clip(min, max)
    out = x if min is None else np.maximum(x, min)
    out = out if max is None else np.minimum(out, max)
    if np.asarray(out).dtype.kind == "c":
        raise TypeError("clip: complex numbers have no order")
    return np.array(out) if out is x else out


clip = elementwise(
    "clip", _clip, ("x", "min", "max"), None, aliases=("clamp",), torch="clamp",
    doc="""`x` limited to the interval from `min` to `max`, each of which may be left out or be an array.

    On a bound the gradient goes to `x`, beyond it to the bound. NaN gets none; where `min` is above `max`, it is `max`
    that gets it.
    """,
)  # fmt: skip


native_when_large(clip, truths=(False, False, False))
_REAL = np.dtype(float)


def _has_bounds(x: Any, min: Any, max: Any, out: Any) -> bool:
    """Are there numbers of one kind throughout, integers included?"""
    bounds = [bound for bound in (min, max) if bound is not None]
    arrays = [each for each in (x, *bounds) if hasattr(each, "dtype")]
    if not bounds or any(each.dtype != out.dtype or not each.size for each in arrays):
        return False
    if out.dtype.kind not in "iu":
        return out.dtype.char in "fd" and out.dtype.isnative and not any(type(bound) is complex for bound in bounds)
    limits = np.iinfo(out.dtype)
    numbers = [bound for bound in bounds if not hasattr(bound, "dtype")]
    return all(type(number) is int and limits.min <= number <= limits.max for number in numbers)


@clip.expand(of="everything", takes_numbers=True, when=_has_bounds)
def clip_parts(x, min, max):
    x = x if min is None else maximum(x, min)
    return x if max is None else minimum(x, max)


@clip.door
def clip_door(x: Any, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Any:
    min, max = merge_spellings("clip: min/a_min", min, a_min), merge_spellings("clip: max/a_max", max, a_max)
    if (type(min) is int or type(max) is int) and getattr(x, "dtype", _REAL).kind in "iu":
        # As in NumPy, a number that no element can be beyond is no bound, whether or not the dtype has it.
        limits = np.iinfo(x.dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    return (x, min, max), {}


@clip.vjp_of("x")
def clip_vjp_x(g, x, min, max):
    if min is not None:
        g = where(greater_equal(x, min), g, 0)
    return g if max is None else where(less_equal(x, max), g, 0)


@clip.vjp_of_on_arrays("x")
def clip_pulled_x(g, x, min, max):
    if g.size >= LARGE or min is None or max is None:
        return clip_vjp_x(g, x, min, max)
    return choose(np.greater_equal(x, min) & np.less_equal(x, max), g, 0)


@clip.vjp_of("min")
def clip_vjp_min(g, x, min, max):
    g = where(less(x, min), g, 0)
    return g if max is None else where(less_equal(min, max), g, 0)


@clip.vjp_of("max")
def clip_vjp_max(g, x, min, max):
    above = greater(x, max)
    return where(above if min is None else above | greater(min, max), g, 0)


@clip.jvp
def clip_jvp(x, min, max, t_x, t_min, t_max):
    parts = (
        None if t_x is None else clip_vjp_x(t_x, x, min, max),
        None if t_min is None else clip_vjp_min(t_min, x, min, max),
        None if t_max is None else clip_vjp_max(t_max, x, min, max),
    )
    present = [part for part in parts if part is not None]
    total = present[0]
    for part in present[1:]:
        total = total + part
    return total


@clip.samples
def clip_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)), -0.5, 0.5), label="numbers")
    yield Sample((make((3, 4)), None, 0.5), label="above")
    yield Sample((make((3, 4)), -0.5, None), label="below")
    yield Sample((make((3, 4)), make((4,)), make((3, 1))), label="arrays")
    yield Sample((make((3, 4), np.float32), -0.5, 0.5), label="float32")
    yield Sample((make(()), make((3,)), None), label="broadcast")
    yield Sample((make((0, 2)), 0.0, 1.0), label="empty")


@composite
def clamp_min(x: Any, min: Any) -> Any:
    """`x`, but nowhere below `min`."""
    return clip(x, min, None)


@composite
def clamp_max(x: Any, max: Any) -> Any:
    """`x`, but nowhere above `max`."""
    return clip(x, None, max)


relu = unary(
    "relu", lambda x: np.maximum(x, 0), scalar="relu",
    doc="`x` where it is positive and 0 elsewhere. The derivative at 0 is 0, and at NaN it is 1.",
)  # fmt: skip
relu.refuses("only real numbers are positive or negative", "complex128")


@relu.inplace
def relu_inplace(x: Any) -> None:
    np.maximum(x, 0, out=x)


@relu.vjp_of("x")
def relu_vjp(g, out):
    # Asked this way round, a NaN keeps its gradient and is noticed.
    return where(less_equal(out, 0), 0, g)


@relu.vjp_of_on_arrays("x")
def relu_pulled(g, out):
    return (choose if g.size < LARGE else where)(np.less_equal(out, 0), 0, g)


@relu.jvp
def relu_jvp(t_x, out):
    return where(less_equal(out, 0), 0, t_x)


def _heaviside(x: Any, y: Any) -> Any:
    return np.where(x == 0, y, np.where(x < 0, 0, np.where(x > 0, 1, x)))


heaviside = binary(
    "heaviside", np.heaviside, expand=_heaviside,
    doc="0 where `x` is negative, 1 where it is positive, `y` where it is 0. The derivative by `x` is 0 everywhere.",
)  # fmt: skip


@heaviside.vjp_of("x")
def heaviside_vjp_x(g):
    return np.zeros(g.shape, g.dtype)


@heaviside.vjp_of("y")
def heaviside_vjp_y(g, x):
    return where(equal(x, 0), g, 0)


@heaviside.jvp
def heaviside_jvp(x, t_x, t_y):
    return np.zeros(t_x.shape, t_x.dtype) if t_y is None else where(equal(x, 0), t_y, 0)
