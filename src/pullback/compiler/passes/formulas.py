"""Activations, losses and other operators as formulas: what `expand` writes out of elementwise operators.

Each formula says with operators what the operator's kernel says with NumPy, in the same order of operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.types import ArrayType, array_type

Add = Callable[..., Value]  # (name of an operator, operands, type) -> its result
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848
_GELU_SLOPE, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


class Formula:
    """Adds operators whose results look like that of the node; a question has truth values as its answer."""

    def __init__(self, add: Add, node: Node) -> None:
        self._add = add
        self._type: ArrayType = node.results[0].type
        self._answer = array_type(self._type.shape, np.dtype(np.bool_), _scaled(self._type))

    def __call__(self, name: str, *operands: Any) -> Value:
        """The result of an operator."""
        return self._add(name, operands, self._type)

    def ask(self, name: str, *operands: Any) -> Value:
        """A comparison."""
        return self._add(name, operands, self._answer)

    def between(self, x: Any, low: float, high: float) -> Value:
        """What `np.clip` gives."""
        return self("minimum", self("maximum", x, low), high)

    def expm1_below(self, x: Any, scale: float = 1.0) -> Value:
        """`expm1(x / scale)` where x is negative, else 0."""
        below = self("minimum", x, 0)
        return self("expm1", below if scale == 1 else self("divide", below, scale))


def _scaled(type_: ArrayType) -> tuple[int, ...] | None:
    """The strides of truth values in the same order."""
    return None if type_.strides is None else tuple([step // type_.dtype.itemsize for step in type_.strides])


def _leaky_relu(f: Formula, x: Any, negative_slope: float) -> Value:
    return f("where", f.ask("greater", x, 0), x, f("multiply", x, negative_slope))


def _hardsigmoid(f: Formula, x: Any) -> Value:
    return f("divide", f.between(f("add", x, 3), 0, 6), 6)


def _hardswish(f: Formula, x: Any) -> Value:
    return f("divide", f("multiply", x, f.between(f("add", x, 3), 0, 6)), 6)


def _elu(f: Formula, x: Any, alpha: float) -> Value:
    return f("where", f.ask("greater", x, 0), x, f("multiply", alpha, f.expm1_below(x)))


def _celu(f: Formula, x: Any, alpha: float) -> Value:
    return f("where", f.ask("greater", x, 0), x, f("multiply", alpha, f.expm1_below(x, alpha)))


def _softplus(f: Formula, x: Any, beta: float, threshold: float) -> Value:
    scaled = f("multiply", beta, x)
    smooth = f("divide", f("logaddexp", scaled, 0), beta)
    return f("where", f.ask("greater", scaled, threshold), x, smooth)


def _silu(f: Formula, x: Any) -> tuple[Value, ...]:
    gate = f("sigmoid", x)
    return f("multiply", x, gate), gate


def _gelu(f: Formula, x: Any) -> tuple[Value, ...]:
    """`x` times the normal distribution function, and that function."""
    below = f("multiply", 0.5, f("special.erfc", f("multiply", x, -math.sqrt(0.5))))
    return f("multiply", x, below), below


def _gelu_by_tanh(f: Formula, x: Any) -> Value:
    cube = f("multiply", f("multiply", f("multiply", _GELU_CUBE, x), x), x)
    curve = f("tanh", f("multiply", _GELU_SLOPE, f("add", x, cube)))
    return f("multiply", f("multiply", 0.5, x), f("add", 1, curve))


def _bce_with_logits(f: Formula, x: Any, y: Any) -> Value:
    tail = f("log1p", f("exp", f("negative", f("abs", x))))
    return f("add", f("subtract", f("maximum", x, 0), f("multiply", x, y)), tail)


def _bce(f: Formula, x: Any, y: Any) -> Value:
    one, other = (f("maximum", log, -100) for log in (f("log", x), f("log1p", f("negative", x))))
    return f("negative", f("add", f("multiply", y, one), f("multiply", f("subtract", 1, y), other)))


def _log1mexp(f: Formula, x: Any) -> Value:
    opposite = f("negative", x)
    near = f("log", f("negative", f("expm1", opposite)))
    far = f("log1p", f("negative", f("exp", opposite)))
    return f("where", f.ask("less", x, math.log(2)), near, far)


def _times_log(name: str) -> Callable[..., Value]:
    """`x` times a logarithm of `y`, but 0 where `x` is 0, unless `y` is NaN."""

    def write(f: Formula, x: Any, y: Any) -> Value:
        skipped = f.ask("logical_and", f.ask("equal", x, 0), f.ask("equal", y, y))
        return f("where", skipped, 0, f("multiply", x, f(name, f("where", skipped, 1, y))))

    return write


def _heaviside(f: Formula, x: Any, y: Any) -> Value:
    beside = f("where", f.ask("less", x, 0), 0, f("where", f.ask("greater", x, 0), 1, x))
    return f("where", f.ask("equal", x, 0), y, beside)


def _round(f: Formula, x: Any, decimals: int = 0) -> Value:
    if not decimals:
        return f("rint", x)
    up, down = ("multiply", "divide")[:: 1 if decimals > 0 else -1]
    scale = 10.0 ** abs(decimals)
    return f(down, f("rint", f(up, x, scale)), scale)


FORMULAS: dict[str, Callable[..., Value | tuple[Value, ...]]] = {
    "nn.leaky_relu": _leaky_relu,
    "nn.hardtanh": lambda f, x, min_val, max_val: f.between(x, min_val, max_val),
    "nn.relu6": lambda f, x: f.between(x, 0, 6),
    "nn.hardsigmoid": _hardsigmoid,
    "nn.hardswish": _hardswish,
    "nn.softshrink": lambda f, x, lambd: f("subtract", x, f.between(x, -lambd, lambd)),
    "nn.hardshrink": lambda f, x, lambd: f("where", f.ask("less_equal", f("abs", x), lambd), 0, x),
    "nn.threshold": lambda f, x, threshold, value: f("where", f.ask("less_equal", x, threshold), value, x),
    "nn.elu": _elu,
    "nn.celu": _celu,
    "nn.selu": lambda f, x: f("multiply", _SELU_SCALE, _elu(f, x, _SELU_ALPHA)),
    "nn.softplus": _softplus,
    "_small_silu": lambda f, x: _silu(f, x)[0],
    "_silu": _silu,
    "nn.mish": lambda f, x: f("multiply", x, f("tanh", f("logaddexp", x, 0))),
    "nn.softsign": lambda f, x: f("divide", x, f("add", 1, f("abs", x))),
    "_gelu": _gelu,
    "_gelu_by_tanh": _gelu_by_tanh,
    "_bce_with_logits": _bce_with_logits,
    "_bce": _bce,
    "_logit": lambda f, x: f("subtract", f("log", x), f("log1p", f("negative", x))),
    "log1mexp": _log1mexp,
    "xlogy": _times_log("log"),
    "xlog1py": _times_log("log1p"),
    "heaviside": _heaviside,
    "round": _round,
    "masked_fill": lambda f, x, mask, value: f("where", mask, value, x),
    "angle": lambda f, x: f("atan2", 0.0, x),
    "deg2rad": lambda f, x: f("multiply", x, math.pi / 180),
    "rad2deg": lambda f, x: f("multiply", x, 180 / math.pi),
}
"""By operator: a function of the formula, the operands and the parameters."""
