"""Native kernels and formulas of operators, for large arrays. `eager/large.py` asks for them when they pay.

Kernels that are ufuncs become twins (compiler/machine/ufuncs.py): other ufuncs, which do what NumPy's do in NumPy's own
way unless there are many elements side by side. So a twin may take the place of the kernel where sizes are not known,
in rules and on the general path. The formula of a node becomes one native loop if its rules can be written down
(eager/stand_in.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback import compiler
from pullback.core.spec import LARGE
from pullback.declare.op import GRADIENT, Op, Rule
from pullback.eager import segments
from pullback.eager.large import Kernels
from pullback.eager.pull import make_pull, spelled_rule
from pullback.eager.stand_in import sketched

_KINDS = ("f4", "f8")
# Not these: NumPy has short ways of its own for most exponents.
_LEFT_TO_NUMPY = frozenset({"pow"})


def native_formulas(function: Callable[..., Any], kinds: Sequence[str]) -> list[Any] | None:
    """What a function of arrays computes, for each dtype that native code is made for; None if it has no native form.

    `kinds` has "b1" for each array of truth values, and anything else for the others.
    """
    programs = [sketched(function, ["b1" if each == "b1" else kind for each in kinds]) for kind in _KINDS]
    found = [None if each is None else compiler.formula_of(compiler.expand(each)) for each in programs]
    return None if None in found else found


def native_kernels(op: Op, is_alone: bool = False) -> Kernels | None:
    """Kernels like that of the operator with native loops; None if it has no native form.

    A thread that is alone computes arithmetic no faster than NumPy does, so there only memory is used again.
    """
    formulas = None if op.name in _LEFT_TO_NUMPY else native_formulas(op.call, op.operands)
    if formulas is None:
        return None
    if isinstance(op.kernel, np.ufunc):
        if is_alone and not formulas[0].is_heavy:
            # path: large kernel with used memory
            return Kernels(op.kernel, _with_rows(op, compiler.reusing(op.kernel)))
        # path: large kernel
        twin = compiler.twin(op.kernel, formulas, LARGE)
        return Kernels(twin, _with_rows(op, compiler.reusing(twin)))
    native = compiler.reusing(compiler.formula_ufunc(op.name, formulas))
    chosen = _by_size(op.kernel, native if len(formulas[0].steps) == 1 else _complaining(op.kernel, native))
    return Kernels(chosen, chosen)


def _with_rows(op: Op, native: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel for large arrays of an operator of two operands. Where one of them is broadcast along rows or columns
    a ufunc has short loops, so the whole is a segment then."""
    if len(op.operands) != 2:
        return native
    segment = segments.watched(op)

    def compute(x: Any, y: Any) -> Any:
        if type(x) is type(y) is np.ndarray and x.shape != y.shape and x.size > 1 < y.size:
            return segment(x, y)
        return native(x, y)

    return compute


def _complaining(kernel: Callable[..., Any], native: Callable[..., Any]) -> Callable[..., Any]:
    """What a formula of several steps computes, which raises no floating point exceptions. Where something is not
    finite, NumPy computes it again, and complains as it does."""

    def compute(*operands: Any) -> Any:
        out = native(*operands)
        return out if np.logical_and.reduce(np.isfinite(out), None) else kernel(*operands)

    return compute


def _by_size(kernel: Callable[..., Any], native: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is a function: native for large arrays of one dtype."""

    def compute(*operands: Any) -> Any:
        first = operands[0]
        if type(first) is np.ndarray and first.size >= LARGE and first.dtype.char in "fd":
            dtype = first.dtype
            if all(type(x) is np.ndarray and x.dtype is dtype for x in operands):
                # path: large formula
                return native(*operands)
        return kernel(*operands)

    return compute


def native_choice(op: Op, truths: tuple[bool, ...]) -> Callable[..., Any] | None:
    """A kernel like that of an operator of several operands, native for large arrays of one shape, and numbers.

    `truths` says which operands are truth values.
    """
    formulas = native_formulas(op.call, ["b1" if truth else "x" for truth in truths])
    if formulas is None:
        return None
    kernel, native = op.kernel, compiler.reusing(compiler.formula_ufunc(op.name, formulas))

    def compute(*operands: Any) -> Any:
        first = operands[0]
        if type(first) is np.ndarray and first.size >= LARGE:
            given = _of_one_kind(operands, first.shape, truths)
            if given is not None:
                # path: large choice
                return native(*given)
        return kernel(*operands)

    return compute


def _of_one_kind(operands: Sequence[Any], shape: tuple[int, ...], truths: tuple[bool, ...]) -> list[Any] | None:
    """The operands as arrays, numbers too, if they have this shape and one dtype that native code is made for."""
    dtypes = {x.dtype.char for x, truth in zip(operands, truths, strict=True) if type(x) is np.ndarray and not truth}
    if len(dtypes) != 1 or not dtypes <= {"f", "d"}:
        return None
    (dtype,) = dtypes
    given = []
    for x, truth in zip(operands, truths, strict=True):
        if type(x) is np.ndarray:
            if x.shape != shape or (truth and x.dtype.char != "?"):
                return None
        elif truth or (type(x) is not float and type(x) is not int):
            return None
        else:
            x = np.array(x, dtype)
        given.append(x)
    return given


def native_pull(op: Op, rules: tuple[Rule, ...]) -> Callable[..., Any] | None:
    """The formula of an operator with native loops for the gradients whose rules can be written down."""
    if op.name in _LEFT_TO_NUMPY:
        return None
    fused: dict[str, Callable[..., Any]] = {}
    for position, rule in enumerate(rules):
        if rule.constant in (0, 1):
            continue
        read = [str(key) for kind, key in rule.plan if kind != GRADIENT]
        formulas = native_formulas(spelled_rule(rule), ["g", *read])
        if formulas is not None:
            native = compiler.formula_ufunc(f"gradient {position} of {op.name}", formulas)
            fused["xy"[position]] = compiler.reusing(native)
    if not fused:
        return None
    # path: large gradient
    return make_pull(op, rules, fits=True, is_real=True, fused=fused | {"times": _times()})


@functools.cache
def _times() -> Callable[..., Any]:
    """Products of gradients with numbers."""
    formulas = native_formulas(lambda g, y: g * y, ["g", "y"])
    return compiler.reusing(compiler.twin(np.multiply, formulas, LARGE)) if formulas else np.multiply
