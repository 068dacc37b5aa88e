"""The rows of `bench/plain_numpy.py`: what Pullback and NumPy are asked to compute.

`x` and `y` are vectors between 0.1 and 0.9, `a` and `b` matrices of as many elements, `g` and `h` short vectors to be
broadcast against rows, `k` positions in `x`, `mask` truth values, and `z` is written to. What a network needs and NumPy
has no function for is compared with the program that one would write.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

HUGE = 1 << 62


class Operands(NamedTuple):
    """What programs read."""

    x: Any
    y: Any
    a: Any
    b: Any
    g: Any
    h: Any
    k: Any
    mask: Any
    z: Any

    @classmethod
    def drawn(cls, size: int, dtype: str) -> "Operands":
        """Random arrays of so many elements."""
        rng = np.random.default_rng(3)
        columns = 10 ** (len(str(size)) // 2) if size != 20_000 else 100
        shape = (size // columns, columns)
        x, y = ((rng.random(size) * 0.8 + 0.1).astype(dtype) for _ in range(2))
        g, h = ((rng.random(columns) * 0.8 + 0.1).astype(dtype) for _ in range(2))
        return cls(
            x,
            y,
            y.reshape(shape),
            x.reshape(shape),
            g,
            h,
            rng.integers(0, size, size),
            rng.random(size) > 0.5,
            x.copy(),
        )


class Program(NamedTuple):
    """A row: the same in both, unless names differ. `most` is the largest size that it is run on."""

    name: str
    pullback: Callable[[Any, Operands], Any]
    numpy: Callable[[Any, Operands], Any]
    most: int = HUGE


def same(name: str, program: Callable[[Any, Operands], Any], most: int = HUGE) -> Program:
    """A row that is spelled the same."""
    return Program(name, program, program, most)


def unary(name: str) -> Program:
    """A function of one array."""
    return same(name, lambda m, o: getattr(m, name)(o.x))


def binary(name: str) -> Program:
    """A function of two arrays."""
    return same(name, lambda m, o: getattr(m, name)(o.x, o.y))


def number(name: str) -> Program:
    """A function of an array and a number."""
    return same(f"{name} 2.", lambda m, o: getattr(m, name)(o.x, 2.0))


def broadcast(name: str) -> Program:
    """A function of a matrix and a vector."""
    return same(f"{name} row", lambda m, o: getattr(m, name)(o.a, o.g))


def reductions(name: str) -> list[Program]:
    """Over everything, and along each axis of a matrix."""
    return [
        same(name, lambda m, o: getattr(m, name)(o.x)),
        same(f"{name} matrix", lambda m, o: getattr(m, name)(o.a)),
        same(f"{name} axis 0", lambda m, o: getattr(m, name)(o.a, axis=0)),
        same(f"{name} axis 1", lambda m, o: getattr(m, name)(o.a, axis=1)),
    ]


_UNARY = [
    "negative",
    "positive",
    "abs",
    "sqrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "tanh",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sinh",
    "cosh",
    "arctan",
    "arcsin",
    "arccos",
    "arcsinh",
    "arctanh",
    "floor",
    "ceil",
    "round",
    "sign",
    "exp2",
    "log2",
    "log10",
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
    "cbrt",
    "rint",
    "trunc",
    "logical_not",
    "deg2rad",
    "rad2deg",
    "nan_to_num",
    "sinc",
]
_BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "arctan2",
    "copysign",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "logaddexp",
    "power",
    "remainder",
    "fmod",
    "floor_divide",
    "nextafter",
    "logical_and",
    "isclose",
]
_NUMBER = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "less", "equal"]
_REDUCTIONS = ["sum", "mean", "prod", "max", "min", "argmax", "argmin", "std", "var", "all", "any", "count_nonzero"]


# What NumPy has no function for.


def softmax(m: Any, x: Any, axis: int) -> Any:
    """In NumPy."""
    powers = m.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def logsumexp(m: Any, x: Any, axis: int) -> Any:
    """In NumPy."""
    peak = x.max(axis=axis, keepdims=True)
    return (m.log(m.exp(x - peak).sum(axis=axis, keepdims=True)) + peak).squeeze(axis)


def log_softmax(m: Any, x: Any, axis: int) -> Any:
    """In NumPy."""
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - m.log(m.exp(shifted).sum(axis=axis, keepdims=True))


def layer_norm(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    """In NumPy."""
    deviation = x - x.mean(axis=-1, keepdims=True)
    variance = (deviation * deviation).mean(axis=-1, keepdims=True)
    return deviation / m.sqrt(variance + 1e-5) * weight + bias


def gelu(m: Any, x: Any) -> Any:
    """In NumPy."""
    return 0.5 * x * (1 + m.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def in_place(m: Any, o: Operands) -> Any:
    """Writes into an array, which goes back to what it was but for rounding."""
    z = o.z
    z += o.x
    z -= o.x
    return z


def fill(m: Any, o: Operands) -> Any:
    """Writes into a part of an array."""
    o.z[3:-3] = 0.5
    return o.z


_NETWORKS = [
    Program("softmax axis 1", lambda m, o: m.softmax(o.a, axis=1), lambda m, o: softmax(m, o.a, 1)),
    Program("softmax axis 0", lambda m, o: m.softmax(o.a, axis=0), lambda m, o: softmax(m, o.a, 0)),
    Program("log_softmax axis 1", lambda m, o: m.log_softmax(o.a, axis=1), lambda m, o: log_softmax(m, o.a, 1)),
    Program("log_softmax axis 0", lambda m, o: m.log_softmax(o.a, axis=0), lambda m, o: log_softmax(m, o.a, 0)),
    Program("logsumexp axis 1", lambda m, o: m.logsumexp(o.a, axis=1), lambda m, o: logsumexp(m, o.a, 1)),
    Program("logsumexp axis 0", lambda m, o: m.logsumexp(o.a, axis=0), lambda m, o: logsumexp(m, o.a, 0)),
    Program("logsumexp", lambda m, o: m.logsumexp(o.x), lambda m, o: logsumexp(m, o.x, 0)),
    Program(
        "layer_norm", lambda m, o: m.nn.layer_norm(o.a, o.a.shape[-1:], o.g, o.h),
        lambda m, o: layer_norm(m, o.a, o.g, o.h),
    ),
    Program("gelu tanh", lambda m, o: m.nn.gelu(o.x, approximate="tanh"), lambda m, o: gelu(m, o.x)),
    Program("relu", lambda m, o: m.relu(o.x), lambda m, o: m.maximum(o.x, 0)),
    Program("sigmoid", lambda m, o: m.sigmoid(o.x), lambda m, o: 1 / (1 + m.exp(-o.x))),
    Program("softplus", lambda m, o: m.softplus(o.x), lambda m, o: m.log1p(m.exp(o.x))),
    Program("silu", lambda m, o: m.nn.silu(o.x), lambda m, o: o.x / (1 + m.exp(-o.x))),
]  # fmt: skip

_MOVING = [
    same("arccosh", lambda m, o: m.arccosh(o.x + 1.0)),
    same("concatenate", lambda m, o: m.concatenate([o.x, o.y])),
    same("concatenate axis 1", lambda m, o: m.concatenate([o.a, o.b], axis=1)),
    same("stack", lambda m, o: m.stack([o.x, o.y])),
    same("where", lambda m, o: m.where(o.mask, o.x, o.y)),
    same("where number", lambda m, o: m.where(o.mask, o.x, 0.0)),
    same("clip", lambda m, o: m.clip(o.x, 0.2, 0.5)),
    same("clip below", lambda m, o: m.clip(o.x, 0.2, None)),
    same("cumsum", lambda m, o: m.cumsum(o.x)),
    same("cumsum axis 0", lambda m, o: m.cumsum(o.a, axis=0)),
    same("cumsum axis 1", lambda m, o: m.cumsum(o.a, axis=1)),
    same("cumprod", lambda m, o: m.cumprod(o.x)),
    same("copy", lambda m, o: m.copy(o.x)),
    same("copy transposed", lambda m, o: m.copy(o.a.T)),
    Program("astype", lambda m, o: o.x.astype(m.float16), lambda m, o: o.x.astype(m.float16)),
    same("roll", lambda m, o: m.roll(o.x, 3)),
    same("flip", lambda m, o: m.copy(m.flip(o.x))),
    same("repeat", lambda m, o: m.repeat(o.x, 2)),
    same("tile", lambda m, o: m.tile(o.x, 2)),
    same("diff", lambda m, o: m.diff(o.x)),
    same("slice", lambda m, o: o.x[3:-3]),
    same("index", lambda m, o: o.x[o.k]),
    same("take", lambda m, o: m.take(o.x, o.k)),
    same("mask", lambda m, o: o.x[o.mask]),
    same("rows", lambda m, o: o.a[::2] * 2.0),
    same("zeros_like", lambda m, o: m.zeros_like(o.x)),
    same("in place", in_place),
    same("fill", fill),
]

_SORTING = [
    same("sort", lambda m, o: m.sort(o.x), 1_000_000),
    same("sort axis 0", lambda m, o: m.sort(o.a, axis=0), 1_000_000),
    same("sort axis 1", lambda m, o: m.sort(o.a, axis=1), 1_000_000),
    Program(
        "sort descending", lambda m, o: m.sort(o.x, descending=True), lambda m, o: m.copy(m.sort(o.x)[::-1]), 1_000_000
    ),
    same("sort integers", lambda m, o: m.sort(o.k), 1_000_000),
    Program(
        "argsort", lambda m, o: m.argsort(o.x), lambda m, o: m.argsort(o.x, kind="stable"), 1_000_000
    ),
    Program(
        "argsort axis 1", lambda m, o: m.argsort(o.a), lambda m, o: m.argsort(o.a, kind="stable"), 1_000_000
    ),
    Program(
        "topk", lambda m, o: m.topk(o.x, 10), lambda m, o: m.sort(o.x[m.argpartition(o.x, -10)[-10:]]), 1_000_000
    ),
    same("median", lambda m, o: m.median(o.x), 1_000_000),
    same("median axis 1", lambda m, o: m.median(o.a, axis=1), 1_000_000),
    same("quantile", lambda m, o: m.quantile(o.x, 0.3), 1_000_000),
    same("percentile", lambda m, o: m.percentile(o.x, 30.0), 1_000_000),
    same("partition", lambda m, o: m.partition(o.x, 10), 1_000_000),
    same("unique", lambda m, o: m.unique(o.x), 1_000_000),
    same("unique integers", lambda m, o: m.unique(o.k), 1_000_000),
    same("searchsorted", lambda m, o: m.searchsorted(o.g, o.x), 1_000_000),
]  # fmt: skip

_PRODUCTS = [
    same("dot", lambda m, o: o.x @ o.y),
    same("matvec", lambda m, o: o.a @ o.g),
    same("matmul", lambda m, o: o.a.T @ o.b, 1_000_000),
    same("einsum", lambda m, o: m.einsum("ij,ij->i", o.a, o.b)),
    same("outer", lambda m, o: m.outer(o.g, o.h)),
    same("vecdot", lambda m, o: m.vecdot(o.a, o.b)),
    same("norm", lambda m, o: m.linalg.norm(o.x)),
    same("x ** 2", lambda m, o: o.x**2),
    same("x ** 3", lambda m, o: o.x**3),
    same("x ** 0.5", lambda m, o: o.x**0.5),
]

ROWS: list[Program] = [
    *map(unary, _UNARY),
    *map(binary, _BINARY),
    *map(number, _NUMBER),
    *map(broadcast, ("add", "multiply", "divide", "maximum")),
    *(row for name in _REDUCTIONS for row in reductions(name)),
    *_NETWORKS,
    *_MOVING,
    *_SORTING,
    *_PRODUCTS,
]
_NOT_DIFFERENTIABLE = [
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
    "logical_not",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "nextafter",
    "isclose",
    "logical_and",
    "floor",
    "ceil",
    "round",
    "sign",
    "rint",
    "trunc",
]
BACKWARD: list[Program] = [
    *(unary(name) for name in _UNARY if name not in _NOT_DIFFERENTIABLE),
    *(binary(name) for name in _BINARY if name not in _NOT_DIFFERENTIABLE),
    *map(number, ("add", "subtract", "multiply", "divide", "power", "maximum")),
    *map(broadcast, ("add", "multiply", "divide", "maximum")),
    *_NETWORKS,
    *(row for name in ("sum", "mean", "max", "std", "var", "prod") for row in reductions(name)),
    *(row for row in _MOVING if row.name in ("where", "clip", "cumsum", "concatenate", "index", "copy")),
    *(row for row in _PRODUCTS if row.name in ("dot", "x ** 2", "x ** 3")),
]
