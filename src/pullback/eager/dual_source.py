"""The source of calls on duals, and of the partial derivatives in it.

`lambda out: 1 - out * out` is run once on names in place of arrays and becomes `subtract(one, multiply(out, out))`:
without the call, without the operators' own fast paths in between, with functions of NumPy, which are faster than its
operators, and with the number ready-made, for which NumPy takes half the time.
That works for rules that do arithmetic and call operators. A rule that looks at its arguments, or needs a value twice,
is not written; it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.declare.op import OPERAND, Op, Rule
from pullback.eager.source import NUMBER, indented


class _Unwritable(TypeError):
    """The rule does something that cannot be written as one expression."""


class _Written:
    """Stands for an array. `text` is the source that computes it, `scope` has the kernels that the source calls."""

    __slots__ = ("is_used", "scope", "text")

    __array_ufunc__ = None  # NumPy refuses it

    def __init__(self, text: str, scope: dict[str, Any], is_used: bool | None) -> None:
        self.text = text
        self.scope = scope
        self.is_used = is_used  # None: a name, which may be used any number of times

    def use(self) -> str:
        """The source, once."""
        if self.is_used:
            raise _Unwritable("a value is needed twice")
        if self.is_used is not None:
            self.is_used = True
        return self.text

    @staticmethod
    def evaluate_op(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> _Written:
        """The call of an operator."""
        scope = next(x.scope for x in operands if isinstance(x, _Written))
        if params:
            raise _Unwritable("an operator has parameters")
        kernel = f"kernel_of_{op.name.replace('.', '_')}"
        scope[kernel] = op.kernel
        arguments = ", ".join(x.use() if isinstance(x, _Written) else _literal(x) for x in operands)
        return _Written(f"{kernel}({arguments})", scope, False)

    def __neg__(self) -> _Written:
        return _Written(f"negative({self.use()})", self.scope, False)

    def __bool__(self) -> bool:
        raise _Unwritable("the rule asks for a value")

    def _compared(self, other: Any) -> Any:
        raise _Unwritable("the rule compares values")

    __eq__ = __ne__ = _compared
    __hash__ = None  # type: ignore[assignment]


def _literal(number: Any) -> str:
    if type(number) not in (int, float):
        raise _Unwritable("an operand is neither array nor number")
    return repr(number)


def _operand(x: Any) -> str:
    """An operand of arithmetic. Numbers are those that the spec has ready; none of these is zero, so none is false."""
    if isinstance(x, _Written):
        return x.use()
    number = _literal(x)
    return f"(spec.numbers.get({number}) or spec.number({number}))" if x and abs(x) < float("inf") else number


ARITHMETIC = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
              "negative": np.negative}  # fmt: skip


def _arithmetic(function: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def straight(self: _Written, other: Any) -> _Written:
        return _Written(f"{function}({self.use()}, {_operand(other)})", self.scope, False)

    def reflected(self: _Written, other: Any) -> _Written:
        return _Written(f"{function}({_operand(other)}, {self.use()})", self.scope, False)

    return straight, reflected


for _name, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}.items():
    for _prefix, _method in zip(("__", "__r"), _arithmetic(_function), strict=True):
        setattr(_Written, f"{_prefix}{_name}__", _method)


def written(rule: Callable[..., Any], names: Sequence[str], scope: dict[str, Any]) -> str | None:
    """The expression that computes `rule` of the arrays with these names, where `spec` is that of all of them; None if
    the rule has to be called. `scope` is given the functions that the expression calls."""
    scope.update(ARITHMETIC)
    try:
        result = rule(*[_Written(name, scope, None) for name in names])
    except (TypeError, AttributeError):  # it wants to know more than what can be written
        return None
    return result.text if type(result) is _Written else None


# Calls.

# The tangent of operand {v} and its level, or None.
_FIND = """
dual = {v}._extra
if type(dual) is Dual:
    {level} = dual.level
    t_{v} = dual.slope
    if type(t_{v}) is not ndarray:
        {level}, t_{v} = only_tangent({v})
else:
    {level}, t_{v} = only_tangent({v})
"""
_DUAL_RESULT = """
# path: eager duals
out = kernel({operands})
slope = {formula}
result = Tensor()
result._data = out if type(out) is ndarray else asarray(out)
result._spec = spec
result._node = result._counter = result._meta = None
result._extra = dual = Dual()
dual.level = level
dual.slope = slope
dual.memory = dual.born = {born}
{lend}
references = level.references
references.append(ref(dual))
if len(references) > level.limit:
    level.tidy(dual)
return result
"""
# What has to be true of the modes. In normal modes it is.
_ENTER = """
if not open_levels or not modes.forwards or observers or modes.watch is not None:
    return general({operands})
"""
_ENTER_NORMAL = """
if not open_levels:
    return general({operands})
"""
_UNARY_DUAL = """
def call(x{modes}):
{enter}
    if type(x) is Tensor and x._extra is not None and x._node is None:
{find_x}
        if t_x is not None:
            x_data, spec = x._data, x._spec
{result}
    return general(x)
"""
_BINARY_DUAL = """
def call(x, y{modes}):
{enter}
    if type(x) is Tensor and x._extra is not None:
{find_x}
        if t_x is None or x._node is not None:
            return general(x, y)
        x_data, spec = x._data, x._spec
        if type(y) is Tensor:
            if y._spec is not spec or y._node is not None:
                return general(x, y)
            y_data = y._data
            if y._extra is None:
{result_x}
{find_y}
            if t_y is None or other is not level:
                return general(x, y)
{result_both}
        if type(y) is float or type(y) is int:
{number_y}
{result_x_number}
    elif type(y) is Tensor and y._extra is not None:
{find_y_level}
        if t_y is None or y._node is not None:
            return general(x, y)
        y_data, spec = y._data, y._spec
        if type(x) is Tensor:
            if x._spec is spec and x._node is None:
                x_data = x._data
{result_y}
        elif type(x) is float or type(x) is int:
{number_x}
{result_y_number}
    return general(x, y)
"""


_MINUS = "negative("


class DualSource:
    """What one operator's calls on duals are made of. `names` is what their source refers to beside the rest."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.rules: dict[str, Rule] = dict(zip(op.operands, op.partials or (), strict=True))
        self.names: dict[str, Any] = {**ARITHMETIC, **{f"rule_{v}": rule.fn for v, rule in self.rules.items()}}

    def function(self, in_normal_modes: bool) -> str:
        """The function `call`, which asks `general` for everything unusual but duals.

        Its last argument is the modes, unless they are normal.
        """
        enter = (_ENTER_NORMAL if in_normal_modes else _ENTER).format(operands=", ".join(self.rules))
        self.born = "0" if in_normal_modes else "modes.born"  # inside function transforms, memory is dated
        parts = {"enter": (enter, 1), "find_x": (_FIND.format(v="x", level="level"), 2)}
        if len(self.rules) == 1:
            parts |= {"result": (self._result("x"), 3)}
        else:
            parts |= {
                "find_y": (_FIND.format(v="y", level="other"), 3),
                "find_y_level": (_FIND.format(v="y", level="level"), 2),
                "number_x": (NUMBER.format(v="x"), 3),
                "number_y": (NUMBER.format(v="y"), 3),
                "result_x": (self._result("x"), 4),
                "result_x_number": (self._result("x", number="y"), 3),
                "result_y": (self._result("y"), 4),
                "result_y_number": (self._result("y", number="x"), 3),
                "result_both": (self._result("xy"), 3),
            }
        fields = {name: indented(text, depth) for name, (text, depth) in parts.items()}
        modes = "" if in_normal_modes else ", modes"
        return (_UNARY_DUAL if len(self.rules) == 1 else _BINARY_DUAL).format(modes=modes, **fields)

    def _result(self, moving: str, number: str = "") -> str:
        """What makes the result, if the operands `moving` have tangents and the operand `number` is one."""
        terms = [self._term(v, self.rules[v], number) for v in moving]
        if len(terms) == 1:
            formula = terms[0]
        elif terms[1].startswith(_MINUS):
            formula = f"subtract({terms[0]}, {terms[1].removeprefix(_MINUS)}"
        else:
            formula = f"add({terms[0]}, {terms[1]})"
        lend = f"dual.memory = lent({moving}, level)" if formula == f"t_{moving}" else ""
        operands = ", ".join(f"{v}_data" for v in self.rules)
        return _DUAL_RESULT.format(operands=operands, formula=formula, lend=lend, born=self.born)

    def _term(self, v: str, rule: Rule, number: str) -> str:
        """The tangent of the result that follows from the one of operand `v`."""
        constant = rule.constant
        if constant is not None:
            short = {1: f"t_{v}", -1: f"{_MINUS}t_{v})", 0: f"zeros(t_{v}.shape, t_{v}.dtype)"}
            return short.get(constant, f"multiply(t_{v}, {constant!r})")
        read = [self.op.operands[key] if kind == OPERAND else "out" for kind, key in rule.plan]
        names = [name if name == "out" else f"{name}_data" for name in read]
        # Rules may have other formulas for Python's numbers than for arrays.
        if number not in read or _is_identity(rule):
            formula = written(rule.fn, names, self.names)
            if formula is not None:
                return f"multiply(t_{v}, {formula})"
        arguments = ", ".join(name if name in ("out", number) else f"{name}_data" for name in read)
        return f"t_{v} * rule_{v}({arguments})"  # which may be a number


def _is_identity(rule: Rule) -> bool:
    return len(rule.plan) == 1 and rule.fn.__code__.co_code == _identity.__code__.co_code


def _identity(x: Any) -> Any:
    return x
