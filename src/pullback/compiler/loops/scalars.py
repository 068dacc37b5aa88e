"""Elementwise operators as instructions: for a node, what its operands are converted to and what is then computed.

The `scalar` of an operator, which its declaration states or which is the ufunc it calls, names the instruction. The
dtypes of an operation are those that NumPy's ufunc would choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.loops.mathematics import FUNCTIONS, call_function
from pullback.compiler.loops.text import FLOATS, Text, can_cast, cast, kind_of
from pullback.graph.ir import Node, Value


class Rule(NamedTuple):
    """How an elementwise node is computed."""

    name: str  # of the instruction, a key of INSTRUCTIONS or a mathematical function
    takes: tuple[str, ...]  # the kinds that operands are converted to
    gives: str  # the kind of the result


Instruction = Callable[..., str]
INSTRUCTIONS: dict[str, Instruction] = {}


def emit(text: Text, name: str, kind: str, args: list[str], has_libmvec: bool) -> str:
    """The instructions of an operation on values of one kind (that of the last operand)."""
    if name in FUNCTIONS:
        return call_function(text, name, kind, args, has_libmvec)
    if name in _COMPOSED:
        return _COMPOSED[name](text, kind, has_libmvec, *args)
    return INSTRUCTIONS[name](text, kind, *args)


# Instructions.


def _enter(*names: str) -> Callable[[Instruction], Instruction]:
    def enter(function: Instruction) -> Instruction:
        INSTRUCTIONS.update(dict.fromkeys(names, function))
        return function

    return enter


def _arithmetic(of_floats: str, of_integers: str, of_truths: str = "") -> Instruction:
    def write(text: Text, kind: str, x: str, y: str) -> str:
        return text.two(of_floats if kind in FLOATS else of_truths if kind == "b1" else of_integers, kind, x, y)

    return write


INSTRUCTIONS.update(
    add=_arithmetic("fadd", "add", "or"), sub=_arithmetic("fsub", "sub"), mul=_arithmetic("fmul", "mul", "and"),
    div=_arithmetic("fdiv", ""), bitwise_and=_arithmetic("", "and", "and"), bitwise_or=_arithmetic("", "or", "or"),
    bitwise_xor=_arithmetic("", "xor", "xor"), logical_and=_arithmetic("", "", "and"),
    logical_or=_arithmetic("", "", "or"), logical_xor=_arithmetic("", "", "xor"),
)  # fmt: skip

# By signedness: floats, signed, unsigned.
_CONDITIONS = {
    "eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"), "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge"),
}  # fmt: skip


def condition(name: str, kind: str) -> str:
    """The instruction of a comparison."""
    floats, signed, unsigned = _CONDITIONS[name]
    return f"fcmp {floats}" if kind in FLOATS else f"icmp {signed if kind[0] == 'i' else unsigned}"


def _comparison(name: str) -> Instruction:
    return lambda text, kind, x, y: text.compare(condition(name, kind), kind, x, y)


INSTRUCTIONS.update({name: _comparison(name) for name in _CONDITIONS})


def _is_nan(text: Text, kind: str, x: str) -> str:
    return text.compare("fcmp uno", kind, x, x)


def _extremum(beats: str, nan_wins: bool) -> Instruction:
    """The first operand where it is better than the other one or, if NaN wins, a NaN; of two zeros the second."""

    def write(text: Text, kind: str, x: str, y: str) -> str:
        chosen = text.compare(condition(beats, kind), kind, x, y)
        if kind in FLOATS:
            chosen = text.two("or", "b1", chosen, _is_nan(text, kind, x if nan_wins else y))
        return text.select(chosen, kind, x, y)

    return write


INSTRUCTIONS.update(
    maximum=_extremum("gt", True), minimum=_extremum("lt", True), fmax=_extremum("gt", False),
    fmin=_extremum("lt", False),
)  # fmt: skip


@_enter("relu")
def _relu(text: Text, kind: str, x: str) -> str:
    return INSTRUCTIONS["maximum"](text, kind, x, text.constant(0, kind))


@_enter("neg")
def _negative(text: Text, kind: str, x: str) -> str:
    if kind in FLOATS:
        return text.value(f"fneg {text.type(kind)} {x}")
    return text.two("sub", kind, text.constant(0, kind), x)


@_enter("abs")
def _absolute(text: Text, kind: str, x: str) -> str:
    if kind in FLOATS:
        return text.intrinsic("fabs", kind, x)
    return text.intrinsic("abs", kind, x, tail=", i1 false") if kind[0] == "i" else x


@_enter("sign")
def _sign(text: Text, kind: str, x: str) -> str:
    zero, one = text.constant(0, kind), text.constant(1, kind)
    positive = text.compare(condition("gt", kind), kind, x, zero)
    if kind[0] in "ub":
        return text.select(positive, kind, one, zero)
    negative = text.compare(condition("lt", kind), kind, x, zero)
    rest = text.select(_is_nan(text, kind, x), kind, x, zero) if kind in FLOATS else zero
    return text.select(positive, kind, one, text.select(negative, kind, text.constant(-1, kind), rest))


@_enter("select")
def _select(text: Text, kind: str, chosen: str, x: str, y: str) -> str:
    return text.select(chosen, kind, x, y)


@_enter("where_equal")
def _where_equal(text: Text, kind: str, x: str, y: str, chosen: str) -> str:
    return text.select(text.compare("icmp eq", "i8", x, y), kind, chosen, text.constant(0, kind))


@_enter("identity")
def _identity(text: Text, kind: str, x: str) -> str:
    return x


@_enter("square")
def _square(text: Text, kind: str, x: str) -> str:
    return INSTRUCTIONS["mul"](text, kind, x, x)


@_enter("cube")
def _cube(text: Text, kind: str, x: str) -> str:
    return INSTRUCTIONS["mul"](text, kind, INSTRUCTIONS["mul"](text, kind, x, x), x)


@_enter("reciprocal")
def _reciprocal(text: Text, kind: str, x: str) -> str:
    return text.two("fdiv", kind, text.constant(1, kind), x)


@_enter("rsqrt")
def _rsqrt(text: Text, kind: str, x: str) -> str:
    return _reciprocal(text, kind, text.intrinsic("sqrt", kind, x))


def _rounding(intrinsic: str) -> Instruction:
    return lambda text, kind, x: text.intrinsic(intrinsic, kind, x) if kind in FLOATS else x


INSTRUCTIONS.update(
    sqrt=lambda text, kind, x: text.intrinsic("sqrt", kind, x),
    copysign=lambda text, kind, x, y: text.intrinsic("copysign", kind, x, y),
    floor=_rounding("floor"), ceil=_rounding("ceil"), trunc=_rounding("trunc"), rint=_rounding("nearbyint"),
)  # fmt: skip


@_enter("isnan")
def _isnan(text: Text, kind: str, x: str) -> str:
    return _is_nan(text, kind, x)


def _of_size(condition_: str) -> Instruction:
    def write(text: Text, kind: str, x: str) -> str:
        size = text.intrinsic("fabs", kind, x)
        return text.compare(condition_, kind, size, text.constant(math.inf, kind))

    return write


INSTRUCTIONS.update(isinf=_of_size("fcmp oeq"), isfinite=_of_size("fcmp one"))


@_enter("logical_not", "bitwise_invert")
def _not(text: Text, kind: str, x: str) -> str:
    return text.two("xor", kind, x, text.constant(1 if kind == "b1" else -1, kind))


# Formulas with mathematical functions in them.


def _sigmoid(text: Text, kind: str, has_libmvec: bool, x: str) -> str:
    power = call_function(text, "exp", kind, [_negative(text, kind, x)], has_libmvec)
    return _reciprocal(text, kind, text.two("fadd", kind, text.constant(1, kind), power))


def _logaddexp(text: Text, kind: str, has_libmvec: bool, x: str, y: str) -> str:
    larger = INSTRUCTIONS["maximum"](text, kind, x, y)
    gap = text.intrinsic("fabs", kind, text.two("fsub", kind, x, y))
    power = call_function(text, "exp", kind, [_negative(text, kind, gap)], has_libmvec)
    total = text.two("fadd", kind, larger, call_function(text, "log1p", kind, [power], has_libmvec))
    same = text.two("fadd", kind, x, text.constant(math.log(2.0), kind))
    return text.select(text.compare("fcmp oeq", kind, x, y), kind, same, total)


def _softplus(text: Text, kind: str, has_libmvec: bool, x: str) -> str:
    return _logaddexp(text, kind, has_libmvec, x, text.constant(0, kind))


def _log_sigmoid(text: Text, kind: str, has_libmvec: bool, x: str) -> str:
    opposite = _negative(text, kind, x)
    return _negative(text, kind, _logaddexp(text, kind, has_libmvec, text.constant(0, kind), opposite))


_COMPOSED: dict[str, Instruction] = {
    "sigmoid": _sigmoid, "logaddexp": _logaddexp, "softplus": _softplus, "log_sigmoid": _log_sigmoid,
}  # fmt: skip

EXPENSIVE = frozenset({*FUNCTIONS, *_COMPOSED})
"""What is rather kept in memory than computed a second time."""

# Which instruction a node is.

_FLOATS_ONLY = frozenset({
    *FUNCTIONS, "div", "sqrt", "reciprocal", "rsqrt", "isnan", "isinf", "isfinite", "copysign", "sigmoid", "softplus",
    "log_sigmoid", "logaddexp",
})  # fmt: skip
_KNOWN = frozenset({*FUNCTIONS, *INSTRUCTIONS, *_COMPOSED})
_POWERS = {2: "square", 3: "cube", 0.5: "sqrt", -1: "reciprocal", 1: "identity"}
# Kernels that are no ufuncs themselves, with the one that decides their dtypes.
_DECIDES = {
    "relu": np.maximum, "sigmoid": np.exp, "softplus": np.logaddexp, "log_sigmoid": np.logaddexp, "rsqrt": np.sqrt,
    "exp2": np.exp2, "expm1": np.expm1, "pow": np.power, "erf": np.exp, "erfc": np.exp, "logaddexp": np.logaddexp,
}  # fmt: skip


def rule_of(node: Node) -> Rule | None:
    """How an elementwise node is computed; None if it has to be left to NumPy."""
    op = node.target
    if op is None or op.scalar is None or len(node.results) != 1:
        return None
    gives = kind_of(node.result.type.dtype)
    if gives is None or not all(kind_of(x.type.dtype) for x in node.inputs):
        return None
    name = op.scalar
    if name == "identity":
        return _checked(Rule("identity", (gives,), gives), node)
    if name == "select":
        return _checked(Rule("select", ("b1", gives, gives), gives), node)
    return _of_ufunc(name, node, gives) if name in _KNOWN and not node.attrs else None


def _of_ufunc(name: str, node: Node, gives: str) -> Rule | None:
    op = node.target
    assert op is not None
    ufunc = op.kernel if isinstance(op.kernel, np.ufunc) else _DECIDES.get(name)
    if ufunc is None or any(x is None for x in node.operands):
        return None
    operands = node.operands if len(node.operands) == ufunc.nin else (*node.operands, 0)
    kinds = _loop_kinds(ufunc, operands)
    if kinds is None or kinds[-1] != gives:
        return None
    takes = kinds[: len(node.operands)]
    if name == "pow":
        name = _power(node)
        takes = takes if name == "pow" else takes[:1]
    if name.startswith("logical"):
        takes = ("b1",) * len(takes)
    if takes[-1] not in FLOATS and (name in _FLOATS_ONLY or (takes[-1] == "b1" and name in ("sub", "neg"))):
        return None
    return _checked(Rule(name, takes, gives), node)


def _power(node: Node) -> str:
    exponent = node.operands[1]
    return "pow" if type(exponent) is Value else _POWERS.get(exponent, "pow")


def _loop_kinds(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[str, ...] | None:
    """The kinds that a ufunc converts its operands to, and that of its result."""
    given = [x.type.dtype if type(x) is Value else type(x) for x in operands]
    try:
        found = ufunc.resolve_dtypes((*(np.dtype(bool) if x is bool else x for x in given), None))
    except (TypeError, ValueError):
        return None
    kinds = tuple([kind_of(dtype) or "" for dtype in found])
    return kinds if all(kinds) else None


def _checked(rule: Rule, node: Node) -> Rule | None:
    """The rule if every operand can be converted as it says."""
    for x, kind in zip(node.operands, rule.takes, strict=False):
        if type(x) is Value:
            own = kind_of(x.type.dtype)
            if own is None or not can_cast(own, kind):
                return None
        elif not _fits(x, kind):
            return None
    return rule


def _fits(number: Any, kind: str) -> bool:
    """Can a number be written as a constant of this kind without a remark of NumPy's?"""
    if type(number) not in (bool, int, float):
        return False
    if kind in FLOATS:
        try:
            with np.errstate(over="ignore"):
                return math.isinf(number) or math.isnan(number) or math.isfinite(float(np.dtype(kind).type(number)))
        except OverflowError:
            return False
    if kind == "b1":
        return type(number) is bool
    limits = np.iinfo(np.dtype(kind))
    return type(number) in (bool, int) and limits.min <= number <= limits.max


__all__ = ["EXPENSIVE", "Rule", "cast", "emit", "rule_of"]
