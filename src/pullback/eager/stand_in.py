"""Formulas written down: a rule, or a kernel, is run once on stand-ins for arrays, and what it does becomes a graph.

That works for what is elementwise and looks at nothing but dtypes. A rule that asks for a shape or a value, or calls an
operator of another kind, cannot be written down and is called whenever it is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.op import Op, registry
from pullback.graph.ir import Program, Value, array_type
from pullback.payloads.operators import bind_operators

_SHAPE = (2,)  # any will do: everything is elementwise


class _Unwritable(TypeError):
    """The rule does something that cannot be written down."""


class Sketch:
    """Stands for an array. `value` is its place in the graph."""

    def __init__(self, program: Program, value: Value) -> None:
        self.program = program
        self.value = value

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the array."""
        return self.value.type.dtype

    @staticmethod
    def evaluate_op(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Sketch:
        """Append the call of an operator to the graph."""
        if op.family != "elementwise" or params or op.spec_rule is None:
            raise _Unwritable(op.name)
        if not all(type(x) in (Sketch, int, float, bool) for x in operands):
            raise _Unwritable(f"{op.name} of something that is neither array nor number")
        program = next(x.program for x in operands if type(x) is Sketch)
        spec = op.spec_rule(*[spec_for(_SHAPE, x.dtype) if type(x) is Sketch else x for x in operands])
        given = [x.value if type(x) is Sketch else x for x in operands]
        return Sketch(program, program.add(op, given, {}, [array_type(_SHAPE, spec.dtype)]).result)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Sketch:
        op = _ops_of_ufuncs().get(ufunc)
        if op is None or method != "__call__" or options:
            raise _Unwritable(f"{ufunc.__name__}.{method}")
        return self.evaluate_op(op, operands, {})

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise _Unwritable("the rule asks for an array")

    def __bool__(self) -> bool:
        raise _Unwritable("the rule asks for a value")


@functools.cache
def _ops_of_ufuncs() -> dict[Any, Op]:
    """The elementwise operators whose kernel is a ufunc, by that."""
    return {op.kernel: op for op in registry.values() if op.family == "elementwise" and isinstance(op.kernel, np.ufunc)}


def _refuse(*args: Any) -> Any:
    raise _Unwritable("the rule asks for elements")


bind_operators(Sketch, _refuse, _refuse)


def sketched(function: Callable[..., Any], dtypes: Sequence[Any]) -> Program | None:
    """What a function does to arrays of these dtypes, as a graph of one output; None if it cannot be written down."""
    program = Program(getattr(function, "__name__", "formula"))
    operands = [Sketch(program, program.add_input(array_type(_SHAPE, np.dtype(dtype)), None)) for dtype in dtypes]
    try:
        result = function(*operands)
    except (TypeError, AttributeError, ValueError):  # it wants to know more than a stand-in has
        return None
    if type(result) is not Sketch or not program.nodes:
        return None
    program.add_output(result.value, None)
    return program
