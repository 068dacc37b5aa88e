"""Native kernels and formulas of operators, for large arrays. `eager/large.py` asks for them when they pay.

Kernels that are ufuncs become twins (compiler/llvm/ufuncs.py): other ufuncs, which do what NumPy's do in NumPy's own
way unless there are many elements side by side. So a twin may take the place of the kernel where sizes are not known,
in rules and on the general path. The formula of a node becomes one native loop if its rules can be written down
(eager/sketch.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback import compiler
from pullback.core.spec import LARGE
from pullback.declare.op import GRADIENT, Op, Rule
from pullback.eager.formulas import make_pull, spelled_rule
from pullback.eager.sketch import sketched

LEAST_CHEAP = 1 << 16
"""Elements from which on arithmetic is native; functions are from `LARGE` on."""
_KINDS = ("f4", "f8")
# Not these: NumPy has short ways of its own for most exponents.
_LEFT_TO_NUMPY = frozenset({"pow"})


class Kernels(NamedTuple):
    """What computes an operator: for arrays of any size, and for large ones, which may lie in memory used before."""

    any_size: Callable[..., Any]
    large: Callable[..., Any]


def native_formulas(function: Callable[..., Any], count: int) -> list[Any] | None:
    """What a function of so many arrays computes, for each dtype that native code is made for; None if it has no
    native form."""
    programs = [sketched(function, [kind] * count) for kind in _KINDS]
    found = [None if each is None else compiler.formula_of(each) for each in programs]
    return None if None in found else found


def native_kernels(op: Op, is_alone: bool = False) -> Kernels | None:
    """Kernels like that of the operator with native loops; None if it has no native form.

    A thread that is alone computes arithmetic no faster than NumPy does, so there only memory is used again.
    """
    formulas = None if op.name in _LEFT_TO_NUMPY else native_formulas(op.call, len(op.operands))
    if formulas is None:
        return None
    if isinstance(op.kernel, np.ufunc):
        if is_alone and not formulas[0].is_heavy:
            return Kernels(op.kernel, compiler.reusing(op.kernel))
        twin = compiler.twin(op.kernel, formulas, LARGE if formulas[0].is_heavy else LEAST_CHEAP)
        return Kernels(twin, compiler.reusing(twin))
    chosen = _by_size(op.kernel, compiler.reusing(compiler.formula_ufunc(op.name, formulas)))
    return Kernels(chosen, chosen)


def _by_size(kernel: Callable[..., Any], native: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is a function: native for large arrays of one dtype."""

    def compute(*operands: Any) -> Any:
        first = operands[0]
        if type(first) is np.ndarray and first.size >= LARGE and first.dtype.char in "fd":
            dtype = first.dtype
            if all(type(x) is np.ndarray and x.dtype is dtype for x in operands):
                return native(*operands)
        return kernel(*operands)

    return compute


def native_pull(op: Op, rules: tuple[Rule, ...]) -> Callable[..., Any] | None:
    """The formula of an operator with native loops for the gradients whose rules can be written down."""
    if op.name in _LEFT_TO_NUMPY:
        return None
    fused: dict[str, Callable[..., Any]] = {}
    for position, rule in enumerate(rules):
        if rule.constant in (0, 1):
            continue
        formulas = native_formulas(spelled_rule(rule), 1 + sum(kind != GRADIENT for kind, _ in rule.plan))
        if formulas is not None:
            native = compiler.formula_ufunc(f"gradient {position} of {op.name}", formulas)
            fused["xy"[position]] = compiler.reusing(native)
    return make_pull(op, rules, fits=True, is_real=True, fused=fused) if fused else None
