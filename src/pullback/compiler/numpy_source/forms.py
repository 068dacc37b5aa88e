"""What a node becomes (`Lowered`), and the two ways that need no entry of their own: a ufunc, and a call of the kernel.

Forms of particular operators are entered in `FORMS`; see `arithmetic.py` and `views.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.loops.planning import FOREIGN, OWN, Traits, is_dense
from pullback.compiler.numpy_source.module import Module
from pullback.graph.ir import ArrayType, Node, Value

Operands = tuple[Any, ...]

HAS_ELLIPSIS_OUT = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 3)
"""From 2.3 on `out=...` makes a ufunc return an array also where the result has no axes."""


NEW, VIEW = Traits(kind=OWN), Traits(is_view=True)


class Writing(NamedTuple):
    """What an expression is written with: a name or number per operand, and perhaps the memory for the result."""

    module: Module
    args: list[str]
    target: str | None = None
    is_portable: bool = False  # for NumPy of any version, not only for the one that is running


class Lowered(NamedTuple):
    """One node as an expression."""

    write: Callable[[Writing], str]
    traits: Traits = Traits(kind=FOREIGN)
    is_exact: bool = False  # the result lies in memory as its type says if the operands do
    unpacks: bool = False  # the expression is a tuple with one part per result
    trusts_layout: bool = False  # is wrong, or not the same to the bit, for operands that are laid out otherwise
    then: Callable[[Writing, str], str] | None = None  # a statement about the result, whose name it gets


# Kernels.


def of_kernel(node: Node, operands: Operands) -> Lowered:
    """A call of the kernel, with the attributes by keyword."""
    op = node.target
    assert op is not None
    unpacks = len(node.results) != 1 or op.num_outputs is None
    wraps = not unpacks and not node.result.type.shape

    def write(writing: Writing) -> str:
        module = writing.module
        kernel = module.bind(op.kernel, op.name.lstrip("_"), f"kernel {op.name}")
        keywords = [f"{name}={attribute(writing, node, name)}" for name in node.attrs]
        call = f"{kernel}({', '.join([*writing.args, *keywords])})"
        return f"np.asarray({call})" if wraps else call

    if op.fresh:
        return Lowered(write, NEW, rows_in_rows_out(node, operands))
    is_writable = op.name not in ("_windows", "broadcast_to")
    return Lowered(write, Traits(is_view=op.is_view, is_writable=is_writable), op.is_view, unpacks)


def attribute(writing: Writing, node: Node, name: str) -> str:
    """An attribute as an expression. Generators of random numbers have names in a file of their own."""
    value = node.attrs[name]
    if writing.is_portable and name == "generator" and node.target is not None and node.target.family == "random":
        return writing.module.bind(value, "generator", "generator")
    return writing.module.text(value, name)


# Ufuncs.

# Operators of Python, which NumPy answers faster than a call of the function, if there is no target.
_SYMBOLS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.matmul: "@", np.bitwise_and: "&",
    np.bitwise_or: "|", np.bitwise_xor: "^",
}  # fmt: skip
# With these a number may be given as an array without axes, of the dtype that the number takes in the result.
_TAKES_SCALARS = frozenset({
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.remainder, np.fmod,
    np.copysign, np.hypot, np.arctan2, np.logaddexp, np.less, np.less_equal, np.greater, np.greater_equal, np.equal,
    np.not_equal, np.power, np.heaviside,
})  # fmt: skip
_RANKS = {int: "iufc", float: "fc", complex: "c"}


def with_scalars(module: Module, args: list[str], operands: Operands) -> list[str]:
    """The arguments, with numbers given as arrays without axes where that means the same."""
    dtypes = {x.type.dtype for x in operands if type(x) is Value}
    if len(dtypes) != 1:
        return args
    (dtype,) = dtypes
    return [module.scalar(x, dtype) if _becomes(x, dtype) else arg for arg, x in zip(args, operands, strict=True)]


def _becomes(x: Any, dtype: np.dtype[Any]) -> bool:
    """Does NumPy read this number as one of `dtype`, next to an array of `dtype`?"""
    if dtype.kind not in _RANKS.get(type(x), ""):
        return False
    try:
        with np.errstate(all="raise"):
            np.array(x, dtype)
    except (OverflowError, FloatingPointError):
        return False
    return True


def ufunc_name(module: Module, ufunc: np.ufunc, op: str) -> str:
    """`np.multiply`, or a name for a ufunc that is not NumPy's own."""
    if getattr(np, ufunc.__name__, None) is ufunc:
        return f"np.{ufunc.__name__}"
    return module.bind(ufunc, ufunc.__name__, f"kernel {op}")


def of_ufunc(ufunc: np.ufunc, node: Node, operands: Operands) -> Lowered:
    """A call of a ufunc, or the operator that stands for it."""
    result = node.result.type

    def write(writing: Writing) -> str:
        module, args = writing.module, writing.args
        if ufunc in _TAKES_SCALARS:
            args = with_scalars(module, args, operands)
        if writing.target is None and _SYMBOLS.get(ufunc) is not None and result.shape:
            return f"{args[0]} {_SYMBOLS[ufunc]} {args[1]}"
        return call_into(ufunc_name(module, ufunc, node.op), args, writing, not result.shape)

    takes = is_dense(result) and all(x is not None for x in operands)
    is_elementwise = ufunc.signature is None
    traits = Traits(kind=OWN, takes_target=takes, over_operands=takes and is_elementwise)
    return Lowered(write, traits, makes_rows(node, operands))


def call_into(function: str, args: list[str], writing: Writing, is_scalar: bool) -> str:
    """A call that writes to the target if there is one, and returns an array in any case."""
    if writing.target is not None:
        # By position it is faster, but NumPy warns that a third array is no operand of these two.
        target = f"out={writing.target}" if function in ("np.maximum", "np.minimum") else writing.target
        return f"{function}({', '.join([*args, target])})"
    if not is_scalar:
        return f"{function}({', '.join(args)})"
    if HAS_ELLIPSIS_OUT and not writing.is_portable:
        return f"{function}({', '.join([*args, 'out=...'])})"
    return f"np.asarray({function}({', '.join(args)}))"


def makes_rows(node: Node, operands: Operands) -> bool:
    """Does a ufunc surely make a result in row-major order, and is this what the type says?

    NumPy lays out a result in the order that the operands have; repeated elements have no say in it.
    """
    if node.result.type.strides is not None:
        return False
    return node.result.type.ndim < 2 or all(_are_rows(x.type) for x in operands if type(x) is Value)


def _are_rows(type: ArrayType) -> bool:
    """Do the strides decrease from axis to axis, apart from those of repeated elements?"""
    if type.strides is None:
        return True
    steps = [step for step, length in zip(type.strides, type.shape, strict=True) if step and length > 1]
    return all(step > 0 for step in steps) and all(a > b for a, b in itertools.pairwise(steps))


def rows_in_rows_out(node: Node, operands: Operands) -> bool:
    """Are all operands in row-major order, and the results said to be?"""
    return all(x.type.strides is None for x in (*operands, *node.results) if type(x) is Value)


# Operators that are a NumPy call under another name. Each entry is a function (node, operands) -> Lowered or None.

Form = Callable[[Node, Operands], Lowered | None]
FORMS: dict[str, Form] = {}


def form(*names: str) -> Callable[[Form], Form]:
    """Enter a form under these operators' names."""

    def enter(function: Form) -> Form:
        FORMS.update(dict.fromkeys(names, function))
        return function

    return enter


def simple(template: str, traits: Traits, node: Node, operands: Operands, **texts: Any) -> Lowered:
    """An expression with `{x}` for the first operand and attributes under their names."""

    def write(writing: Writing) -> str:
        parts = {name: writing.module.text(value, name) for name, value in texts.items()}
        return template.format(x=writing.args[0], **parts)

    return Lowered(write, traits, traits.is_view or rows_in_rows_out(node, operands))
