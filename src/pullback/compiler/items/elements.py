"""Elementwise operators that have no instructions here but are ufuncs of NumPy or SciPy: their loops, as items.

Complex functions, Bessel functions and remainders are computed by the very loops that NumPy would call, into memory
that is planned and without the interpreter. They are not fused with what is around them, and one thread runs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.compiler.items.common import complex_copy, copy_of, with_parts
from pullback.compiler.items.loops import LoopRoutine, batch_of, routine_item, where
from pullback.compiler.loops.access import Accesses
from pullback.compiler.loops.fusion import Item
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.text import can_cast, kind_of
from pullback.compiler.machine import gufuncs
from pullback.graph.ir import Node, Value, array_type, type_of

_NANOSECONDS = 5.0  # for an element, roughly
_KINDS = "bhilqBHILQ?fdFD"


class ElementRoutine(LoopRoutine, frozen=True):
    """A loop over elements, which are matrices without axes."""

    @property
    def operations(self) -> int:
        """One for each element, as everywhere."""
        return self.count

    @property
    def work(self) -> float:
        """Estimated nanoseconds."""
        return 20 + _NANOSECONDS * self.count


def element_item(node: Node, accesses: Accesses) -> Item | None:
    """A node whose operator is a ufunc; None if no loop of it is for these operands."""
    ufunc = _ufunc_of(node)
    name = None if ufunc is None else gufuncs.name_of(ufunc)
    if ufunc is None or name is None or node.attrs or len(node.results) != ufunc.nout or node.effect is not None:
        return None
    if not all(x.type.size and is_dense(x.type) and x.type.dtype.char in _KINDS for x in node.results):
        return None
    dtypes = _dtypes(ufunc, node)
    if dtypes is None:
        return None
    operands: list[Value] = []
    before: list[Item] = []
    for x, dtype in zip(node.operands, dtypes, strict=False):
        found = _operand(x, dtype, accesses)
        if found is None:
            return None
        operands.append(found[0])
        before += found[1:]
    core = gufuncs.core_of(name, *("".join([x.type.dtype.char for x in each]) for each in (operands, node.results)))
    if core is None:
        return None
    axes = [_axes(x.type.shape, accesses[x].strides) for x in operands]
    axes += [_axes(x.type.shape, x.type.byte_strides) for x in node.results]
    axes = _in_order_of_results(axes)
    routine = ElementRoutine(name, (), batch_of(axes), len(node.results), "", False, core, (), (), "f8")
    # path: loop of a ufunc
    return routine_item(node, node.results, [where(x, accesses) for x in operands], routine, before)


def _ufunc_of(node: Node) -> np.ufunc | None:
    """What the kernel calls for each element. A loop for powers of integers may raise, which native code cannot."""
    if node.target is None:
        return None
    return np.power if node.op == "pow" and node.results[0].type.dtype.kind == "c" else node.target.ufunc


def _axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(shape, strides, strict=True))


def _in_order_of_results(arrays: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """All axes in the order in which those of the last result lie in memory, so that the innermost loop writes elements
    next to each other: it is the fastest, and NumPy's own of signbit and isfinite are wrong where there are gaps."""
    *_, last = arrays
    order = sorted(range(len(last)), key=lambda axis: -last[axis][1])
    aligned = [[(1, 0)] * (len(last) - len(axes)) + axes for axes in arrays]
    return [[axes[axis] for axis in order] for axes in aligned]


def _dtypes(ufunc: np.ufunc, node: Node) -> tuple[Any, ...] | None:
    """The dtypes that a ufunc converts its operands to, if its results are those of the node."""
    given = [x.type.dtype if type(x) is Value else type(x) for x in node.operands]
    if not all(isinstance(x, np.dtype) or x in (bool, int, float, complex) for x in given):
        return None
    try:
        found = ufunc.resolve_dtypes((*(np.dtype(bool) if x is bool else x for x in given), *(None,) * ufunc.nout))
    except (TypeError, ValueError):
        return None
    has_results = all(x.type.dtype == dtype for x, dtype in zip(node.results, found[ufunc.nin :], strict=True))
    return found[: ufunc.nin] if has_results else None


def _operand(x: Any, dtype: np.dtype[Any], accesses: Accesses) -> tuple[Any, ...] | None:
    """An operand in this dtype, and what makes it so; None if it cannot be."""
    if type(x) is not Value:
        return _constant(x, dtype, accesses)
    if not x.type.size or x.type.dtype.char not in _KINDS:
        return None
    if x.type.dtype == dtype:
        return (x,)
    own, wanted = kind_of(x.type.dtype), kind_of(dtype)
    type_ = array_type(x.type.shape, dtype)
    if own is not None and wanted is not None and can_cast(own, wanted):
        copy = copy_of(x, type_, accesses)
    elif dtype.kind == "c" and x.type.dtype == _part(dtype):
        copy = complex_copy(x, accesses)
    else:
        return None
    accesses.add(copy.result)
    return copy.result, copy


def _constant(number: Any, dtype: np.dtype[Any], accesses: Accesses) -> tuple[Any, ...] | None:
    try:
        with np.errstate(all="ignore"):
            array = np.array(number, dtype)
    except (OverflowError, TypeError, ValueError):
        return None
    array.flags.writeable = False
    node = Node(None, "constant", (), {"value": array})
    node.results = (Value(type_of(array), node),)
    accesses.add(node.result)
    return (node.result,)


# Complex numbers made of their parts.


def _part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers."""
    return np.dtype(dtype.char.lower())


def complex_item(node: Node, accesses: Accesses) -> Item | None:
    """Complex numbers of two real parts, or of real numbers alone."""
    made = node.result.type
    if not made.size or not is_dense(made) or kind_of(_part(made.dtype)) is None:
        return None
    parts = [*node.operands, 0.0][:2]
    is_fit = [(type(x) is Value and x.type.dtype == _part(made.dtype)) or type(x) in (int, float) for x in parts]
    return with_parts(node, parts, accesses) if all(is_fit) else None
