"""Partial derivatives as source, for the fast paths that are generated.

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

from pullback.declare.op import Op


class _Unwritable(TypeError):
    """The rule does something that can not be written as one expression."""


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
