"""How operators on complex numbers are written with their parts.

Arithmetic is NumPy's: a real operand is a complex one whose imaginary part is 0, so that infinities become NaN in the
same cases, and quotients are Smith's. What functions give at infinity is what C says of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.compiler.passes.complex_values import Halves, Splitter, is_complex, part_of, part_type
from pullback.compiler.passes.pairs import can_be_paired, pair
from pullback.graph.ir import Node, Value
from pullback.graph.operators import find_operator
from pullback.graph.types import ArrayType, array_type

Rule = Callable[[Splitter, Node], "Halves | Value | None"]
_BOOL = np.dtype(np.bool_)
_SMALL_PRODUCT = 2048  # multiplications: such a product is a loop, which takes matrices with gaps


class _Numbers:
    """Elementwise operators on halves. What two numbers give is a number."""

    def __init__(self, s: Splitter, type_: ArrayType) -> None:
        self._s = s
        self._type = type_
        self.dtype = part_of(type_.dtype)

    def of(self, *operands: Any) -> tuple[Halves, ...]:
        """The parts of operands."""
        return tuple([self._s.halves(x, self.dtype) for x in operands])

    def __call__(self, name: str, *operands: Any, dtype: Any = None) -> Any:
        arrays = [x for x in operands if type(x) is Value]
        if not arrays:
            with np.errstate(all="ignore"):
                return getattr(np, name)(*operands).item()
        shape = np.broadcast_shapes(*(x.type.shape for x in arrays))
        made = array_type(shape, dtype or self.dtype)
        if shape == self._type.shape and self._type.strides is not None and dtype is None:
            made = part_type(self._type)
        return self._s.add(name, operands, made)

    def ask(self, name: str, *operands: Any) -> Any:
        """A comparison."""
        return self(name, *operands, dtype=_BOOL)

    def pick(self, is_first: Any, x: Any, y: Any) -> Any:
        """One of two, which may be known already."""
        return self("where", is_first, x, y) if type(is_first) is Value else (x if is_first else y)


def _numbers(s: Splitter, node: Node) -> _Numbers:
    return _Numbers(s, node.result.type)


# Elementwise.


def _each(name: str) -> Rule:
    """The same operator on both parts."""

    def rule(s: Splitter, node: Node) -> Halves:
        f = _numbers(s, node)
        real, imag = zip(*f.of(*node.operands), strict=True)
        return Halves(f(name, *real), f(name, *imag))

    return rule


def _product(f: _Numbers, x: Halves, y: Halves) -> Halves:
    real = f("subtract", f("multiply", x.real, y.real), f("multiply", x.imag, y.imag))
    return Halves(real, f("add", f("multiply", x.real, y.imag), f("multiply", x.imag, y.real)))


def _multiply(s: Splitter, node: Node) -> Halves:
    f = _numbers(s, node)
    return _product(f, *f.of(*node.operands))


def _square(s: Splitter, node: Node) -> Halves:
    f = _numbers(s, node)
    (x,) = f.of(node.operands[0])
    return _product(f, x, x)


def _quotient(f: _Numbers, x: Halves, y: Halves) -> Halves:
    """The larger part of the divisor divides the other one first, and nothing overflows that need not."""
    is_turned = False
    if type(y.imag) is Value or y.imag != 0:
        is_turned = f.ask("logical_not", f.ask("greater_equal", *(f("abs", part) for part in y)))
    larger, smaller = f.pick(is_turned, y.imag, y.real), f.pick(is_turned, y.real, y.imag)
    first, second = f.pick(is_turned, x.imag, x.real), f.pick(is_turned, x.real, x.imag)
    ratio = f("divide", smaller, larger)
    scale = f("divide", 1.0, f("add", larger, f("multiply", smaller, ratio)))
    real = f("multiply", f("add", first, f("multiply", second, ratio)), scale)
    turned = f("multiply", first, ratio)
    across = f.pick(is_turned, f("subtract", turned, second), f("subtract", second, turned))
    imag = f("multiply", across, scale)
    is_zero = f.ask("logical_and", f.ask("equal", larger, 0.0), f.ask("equal", smaller, 0.0))
    size = f("abs", larger)
    return Halves(*(f.pick(is_zero, f("divide", a, size), b) for a, b in ((x.real, real), (x.imag, imag))))


def _divide(s: Splitter, node: Node) -> Halves:
    f = _numbers(s, node)
    return _quotient(f, *f.of(*node.operands))


def _conj(s: Splitter, node: Node) -> Halves:
    f = _numbers(s, node)
    (x,) = f.of(*node.operands)
    return Halves(f("positive", x.real), f("negative", x.imag))


_LARGEST_EXPONENT = {"d": 709.0, "f": 88.0}


def _exp(s: Splitter, node: Node) -> Halves:
    """`exp(x) * (cos(y) + i sin(y))`, in two factors where the first one alone would be too large."""
    f, (x, y) = _numbers(s, node), s.arrays(node.operands[0])
    most = _LARGEST_EXPONENT[f.dtype.char]
    size, rest = f("exp", f("minimum", x, most)), f("exp", f("maximum", f("subtract", x, most), 0.0))
    is_lost = f.ask("logical_and", f.ask("isinf", x), f.ask("logical_not", f.ask("isfinite", y)))
    cosine = f("where", is_lost, 1.0, f("cos", y))
    sine = f("where", f.ask("logical_and", is_lost, f.ask("less", x, 0.0)), 0.0, f("sin", y))
    real, imag = (f("multiply", f("multiply", size, each), rest) for each in (cosine, sine))
    is_real = f.ask("equal", y, 0.0)
    return Halves(f("where", is_real, f("multiply", size, rest), real), f("where", is_real, y, imag))


def _where(s: Splitter, node: Node) -> Halves | None:
    condition, *others = node.operands
    if type(condition) is not Value or condition.type.dtype != _BOOL:
        return None
    f = _numbers(s, node)
    x, y = f.of(*others)
    return Halves(*(f("where", s.near(condition), a, b) for a, b in zip(x, y, strict=True)))


_POWERS = {0.5: "sqrt", -1: "reciprocal"}


def _power(s: Splitter, node: Node) -> Halves | Value | None:
    """Powers that NumPy takes for other functions."""
    x, exponent = node.operands
    if type(exponent) is Value or not is_complex(x):
        return None
    if exponent in _POWERS and x.type.dtype == node.result.type.dtype:
        return s.add(_POWERS[exponent], (s.exact(x),), node.result.type)
    if exponent == 2:
        return _square(s, node)
    return s.halves(x, part_of(node.result.type.dtype)) if exponent == 1 else None


# Real results.


def _on_parts(name: str, turned: bool = False) -> Rule:
    """An operator of the two parts."""

    def rule(s: Splitter, node: Node) -> Value:
        parts = s.arrays(node.operands[0])
        return s.add(name, parts[::-1] if turned else parts, node.result.type)

    return rule


def _questions(name: str, both: str) -> Rule:
    """A question asked of both parts."""

    def rule(s: Splitter, node: Node) -> Value:
        dtype = np.dtype("d")
        given = [s.halves(x, dtype if type(x) is not Value else part_of(x.type.dtype)) for x in node.operands]
        f = _Numbers(s, array_type(node.result.type.shape, dtype))
        answers = [f.ask(name, *parts) for parts in zip(*given, strict=True)]
        return s.add(both, tuple(answers), node.result.type)

    return rule


def _count(s: Splitter, node: Node) -> Value:
    """Elements of which a part is not 0."""
    truth = array_type(node.operands[0].type.shape, _BOOL)
    answers = [s.add("not_equal", (part, 0), truth) for part in s.arrays(node.operands[0])]
    return s.add("count_nonzero", (s.add("logical_or", tuple(answers), truth),), node.result.type, **node.attrs)


def _imaginary(name: str) -> Rule:
    """A comparison of the imaginary parts with 0."""
    return lambda s, node: s.add(name, (s.arrays(node.operands[0])[1], 0), node.result.type)


def _norm(s: Splitter, node: Node) -> Value:
    """That of the absolute values."""
    x, y = s.arrays(node.operands[0])
    size = s.add("hypot", (x, y), array_type(x.type.shape, x.type.dtype))
    return s.add("_linalg_vector_norm", (size,), node.result.type, **node.attrs)


# Elements moved and added up.


def _moved(s: Splitter, node: Node) -> Halves | None:
    """The same operator on the real parts, and on the imaginary ones; indices are the same for both."""
    dtype, made = part_of(node.result.type.dtype), part_type(node.result.type)
    operands: list[Sequence[Any]] = []
    for x in node.operands:
        if type(x) is not Value:
            operands.append(s.halves(x, dtype))
        elif is_complex(x) and x.type.dtype == node.result.type.dtype:
            operands.append(s.arrays(x))
        elif x.type.dtype.kind in "biu" and node.op != "update":
            operands.append((s.near(x),) * 2)
        else:
            return None
    return Halves(*(_again(s, node, parts, made) for parts in zip(*operands, strict=True)))


def _again(s: Splitter, node: Node, operands: tuple[Any, ...], made: ArrayType) -> Value:
    if node.target is not None:
        return s.add(node.op, operands, made, **node.attrs)
    return s.made.add(node.op, operands, node.attrs, (made,), node.tag).result


def _mean(s: Splitter, node: Node) -> Halves:
    (x,), axis = node.operands, node.attrs["axis"]
    count, made = math.prod(x.type.shape[k] for k in axis), part_type(node.result.type)
    attrs = {"axis": axis, "keepdims": node.attrs.get("keepdims", False), "dtype": None}
    total = Halves(*(s.add("sum", (half,), made, **attrs) for half in s.arrays(x)))
    return _quotient(_numbers(s, node), total, Halves(float(count), 0.0))


def _cast(s: Splitter, node: Node) -> Halves | None:
    return None if node.result.type.dtype.kind != "c" else s.halves(node.operands[0], part_of(node.result.type.dtype))


def _whole(s: Splitter, node: Node) -> Halves | None:
    """Complex numbers made of two arrays."""
    dtype = part_of(node.result.type.dtype)
    return Halves(*(s.halves(x, dtype).real for x in node.operands))


# Products.


def _contracted(s: Splitter, node: Node) -> Halves | None:
    """Four products of real matrices. Large ones are computed by BLAS, which takes no gaps between elements."""
    whole, part = node.result.type.dtype, part_of(node.result.type.dtype)
    if not all(type(x) is Value and x.type.dtype in (whole, part) for x in node.operands):
        return None
    if len(node.operands) != 2 and any(x.type.dtype == part for x in node.operands):
        return None
    if len(node.operands) == 1:
        return _moved(s, node)
    if len(node.operands) > 2:
        return _paired(s, node)
    made = part_type(node.result.type)
    terms = max(x.type.size for x in node.inputs) * min(x.type.shape[-1] for x in node.inputs)
    (a, b), (c, d) = ([x if terms <= _SMALL_PRODUCT else _packed(s, x) for x in s.arrays(y)] for y in node.inputs)
    ac, bd, ad, bc = (s.add(node.op, xy, made, **node.attrs) for xy in ((a, c), (b, d), (a, d), (b, c)))
    return Halves(s.add("subtract", (ac, bd), made), s.add("add", (ad, bc), made))


def _packed(s: Splitter, x: Value) -> Value:
    steps = [abs(step) for step, n in zip(x.type.byte_strides, x.type.shape, strict=True) if n > 1 and step]
    if x.type.size == 1 or (steps and min(steps) == x.type.dtype.itemsize):
        return x
    return s.add("copy", (x,), array_type(x.type.shape, x.type.dtype), order="C")


def _paired(s: Splitter, node: Node) -> Halves | None:
    if node.op != "einsum" or not can_be_paired(node):
        return None

    def add(name: str, operands: tuple[Any, ...], type_: ArrayType, **attrs: Any) -> Value:
        step = Node(find_operator(name), name, operands, attrs, node.tag)
        step.results = (Value(type_, step),)
        halves = RULES[name](s, step)
        assert isinstance(halves, Halves)
        s.split(step.result, halves)
        return step.result

    last = pair(add, node)
    return s.halves(last, part_of(last.type.dtype))


_MOVERS = (
    "sum", "copy", "_place_slice", "update", "_concat", "_stack", "_index", "_index_add", "_index_put", "_gather",
    "_gather_add", "_take_rows", "tril", "triu", "cumsum", "_from_diagonal", "_roll", "_pad", "_assign",
    "masked_fill",
)  # fmt: skip

RULES: dict[str, Rule] = {
    **{name: _each(name) for name in ("add", "subtract", "negative", "positive")},
    **dict.fromkeys(_MOVERS, _moved),
    **dict.fromkeys(("matmul", "einsum", "_einsum_one", "_einsum_two"), _contracted),
    "multiply": _multiply,
    "square": _square,
    "divide": _divide,
    "conj": _conj,
    "exp": _exp,
    "where": _where,
    "pow": _power,
    "mean": _mean,
    "_astype": _cast,
    "complex": _whole,
    "abs": _on_parts("hypot"),
    "angle": _on_parts("atan2", turned=True),
    "equal": _questions("equal", "logical_and"),
    "not_equal": _questions("not_equal", "logical_or"),
    "isfinite": _questions("isfinite", "logical_and"),
    "isinf": _questions("isinf", "logical_or"),
    "isnan": _questions("isnan", "logical_or"),
    "isreal": _imaginary("equal"),
    "iscomplex": _imaginary("not_equal"),
    "count_nonzero": _count,
    "_linalg_vector_norm": _norm,
}
"""By operator: what its result consists of, or the result itself if that is real; None leaves it to others."""
