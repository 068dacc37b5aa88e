"""Triangular systems by BLAS, `lu` by LAPACK, and `qr` by two loops of NumPy: routines that work on a copy in place.

BLAS takes matrices in either order, LAPACK takes them by columns, so the copy for `lu` is transposed. The factors that
an operator has as results are then read off the copy, in loops like any others.
"""

from __future__ import annotations

from collections.abc import Callable

from pullback.compiler.items import blas
from pullback.compiler.items.common import copy_of
from pullback.compiler.items.loops import (
    Around,
    Routine,
    Text,
    array_of,
    batch_of,
    constant_text,
    counted,
    function_text,
    in_double,
    loop_routine,
    routine_item,
    where,
)
from pullback.compiler.loops.access import Accesses, squeezed
from pullback.compiler.loops.fusion import Element, Expression, Item, Position
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import in_register, kind_of, width_of
from pullback.compiler.machine.blas_library import addresses, symbol
from pullback.core.records import replace
from pullback.declare.loops import SINGULAR_TRIANGLE, Loop
from pullback.graph.ir import Node, Value, array_type, row_major

_ROWS, _LEFT, _AS_IS, _TRANSPOSED = 101, 141, 111, 112
_UPPER, _LOWER, _NO_UNIT, _UNIT = 121, 122, 131, 132


# Triangular systems.


class TriangularSolve(Routine, frozen=True):
    """`trsm`: operands are the right sides, which become the solution, and the triangular matrix."""

    kind: str
    is_upper: bool
    is_unit: bool
    matrix: blas.Matrix

    def write(self, name: str) -> Text:
        """Look for zeros on the diagonal, if they are an error, and solve."""
        around = Around(self.batch, ["%p0", "%p1"])
        a, x = around.pointers
        lines = [*around.before, *(self._search(a, around.block) if self.raises else ())]
        number, function = in_register(self.kind), symbol("trsm", self.kind)
        # A matrix that lies transposed in memory is the transpose of one with the other triangle.
        is_upper = self.is_upper != self.matrix.is_transposed
        modes = (_ROWS, _LEFT, _UPPER if is_upper else _LOWER, _TRANSPOSED if self.matrix.is_transposed else _AS_IS,
                 _UNIT if self.is_unit else _NO_UNIT)  # fmt: skip
        side, columns = self.lengths
        lines.append(
            f"call void @{function}({', '.join(f'i32 {mode}' for mode in modes)}, i64 {side}, i64 {columns}, "
            f"{number} 1.0, ptr {a}, i64 {self.matrix.leading}, ptr {x}, i64 {columns})"
        )
        types = f"i32, i32, i32, i32, i32, i64, i64, {number}, ptr, i64, ptr, i64"
        declared = {function: f"declare void @{function}({types})"}
        return function_text(name, ["%p0", "%p1"], [*lines, *around.after]), declared

    def _search(self, a: str, block: str) -> list[str]:
        """Go along the diagonal."""
        side, number = self.lengths[0], in_register(self.kind)
        step = (self.matrix.leading + 1) * width_of(self.kind)
        return counted("row", side, block, [
            f"%offset = mul nsw i64 %row, {step}", f"%where = getelementptr i8, ptr {a}, i64 %offset",
            f"%element = load {number}, ptr %where", f"%is.zero = fcmp oeq {number} %element, 0.0",
            "br i1 %is.zero, label %zero, label %row.end", "zero:", self.report,
        ])  # fmt: skip


def _solve_triangular(node: Node, accesses: Accesses) -> Item | None:
    (a, b), made, attrs = node.operands, node.result.type, node.attrs
    kind = kind_of(made.dtype)
    if kind not in ("f8", "f4") or {a.type.dtype, b.type.dtype} != {made.dtype} or made.strides is not None:
        return None
    copy, before = copy_of(b, made, accesses), []
    axes = list(zip(a.type.shape, accesses[a].strides, strict=True))
    read, matrix = where(a, accesses), blas.matrix_of(axes[-2], axes[-1], width_of(kind))
    if matrix is None:
        dense = copy_of(a, array_type(a.type.shape, made.dtype), accesses)
        before.append(dense)
        axes = list(zip(a.type.shape, dense.result.type.byte_strides, strict=True))
        read, matrix = Element(dense.result, "", 0, ()), blas.Matrix(False, a.type.shape[-1])
    batch = batch_of([axes[:-2], list(zip(made.shape, made.byte_strides, strict=True))[:-2]])
    raises = "" if attrs["unit"] else SINGULAR_TRIANGLE.get(attrs["singular"], "")
    routine = TriangularSolve(
        "trsm", made.shape[-2:], batch, 1, raises, True, kind, attrs["upper"], attrs["unit"], matrix
    )
    reads = (Element(copy.result, "", 0, ()), read)
    return routine_item(node, node.results, reads, routine, (*before, copy))


# Decompositions.


class Elimination(Routine, frozen=True):
    """`getrf`: the operand, matrices that lie column by column, becomes both factors in one; and the exchanges."""

    kind: str

    def write(self, name: str) -> Text:
        """LAPACK counts rows from 1."""
        rows, columns = self.lengths
        around = Around(self.batch, ["%p0", "%p1"])
        packed, pivots = around.pointers
        function, rank = symbol("getrf", self.kind), min(rows, columns)
        lengths = [f"getelementptr (i8, ptr @{name}.lengths, i64 {8 * k})" for k in range(2)]
        lines = [
            "%info = alloca i64", *around.before,
            f"call void @{function}(ptr {lengths[0]}, ptr {lengths[1]}, ptr {packed}, ptr {lengths[0]}, ptr {pivots}, "
            "ptr %info)",
            *counted("k", rank, around.block, [
                f"%where = getelementptr i64, ptr {pivots}, i64 %k", "%from.1 = load i64, ptr %where",
                "%from.0 = sub i64 %from.1, 1", "store i64 %from.0, ptr %where",
            ]),
            *around.after,
        ]  # fmt: skip
        constants = [constant_text(f"{name}.lengths", "i64", [rows, columns])]
        declared = {function: f"declare void @{function}({', '.join(['ptr'] * 6)})"}
        return function_text(name, ["%p0", "%p1"], lines, constants), declared


def _lu(node: Node, accesses: Accesses) -> Item | None:
    (a,), (pivots, lower, upper) = node.operands, node.results
    kind, (*batch, rows, columns) = kind_of(a.type.dtype), a.type.shape
    if kind not in ("f8", "f4") or symbol("getrf", kind) not in addresses() or pivots.type.strides:
        return None
    turned = row_major((*batch, columns, rows), a.type.dtype.itemsize)
    packed = Value(array_type(a.type.shape, a.type.dtype, (*turned[:-2], turned[-1], turned[-2])), node)
    copy = copy_of(a, packed.type, accesses)
    axes = [list(zip(x.type.shape, x.type.byte_strides, strict=True)) for x in (packed, pivots)]
    routine = Elimination("getrf", (rows, columns), batch_of([axes[0][:-2], axes[1][:-1]]), 2, "", True, kind)
    made = routine_item(node, [packed, pivots], [Element(copy.result, "", 0, ())], routine)
    below = _triangle(node, lower, packed, kind, 1, -1, is_unit=True)
    above = _triangle(node, upper, packed, kind, -1, 0)
    return replace(above, before=(copy, made, below))


class Permutation(Routine, frozen=True):
    """Exchanges of rows made a matrix of zeros and ones, into which zeros were written before."""

    kind: str
    step: int  # bytes from one exchange to the next

    def write(self, name: str) -> Text:
        """Exchange numbers of rows; then every column has a one in the row whose number is there."""
        rank, rows = self.lengths
        around = Around(self.batch, ["%p0", "%p1"])
        pivots, out = around.pointers
        number = in_register(self.kind)
        lines = [
            f"%order = alloca [{rows} x i64]", *around.before,
            *counted("row", rows, around.block, [
                "%at = getelementptr i64, ptr %order, i64 %row", "store i64 %row, ptr %at",
            ]),
            *counted("k", rank, "row.done", [
                f"%offset = mul nsw i64 %k, {self.step}", f"%where = getelementptr i8, ptr {pivots}, i64 %offset",
                "%given = load i64, ptr %where", "%is.negative = icmp slt i64 %given, 0",
                f"%from.end = add i64 %given, {rows}", "%other = select i1 %is.negative, i64 %from.end, i64 %given",
                f"%is.row = icmp ult i64 %other, {rows}", "br i1 %is.row, label %swap, label %wrong",
                "wrong:", f"store atomic i64 {rows << 8 | 1}, ptr %status monotonic, align 8", "br label %k.end",
                "swap:", "%at.k = getelementptr i64, ptr %order, i64 %k", "%first = load i64, ptr %at.k",
                "%at.other = getelementptr i64, ptr %order, i64 %other", "%second = load i64, ptr %at.other",
                "store i64 %second, ptr %at.k", "store i64 %first, ptr %at.other",
            ]),
            *counted("column", rows, "k.done", [
                "%at.column = getelementptr i64, ptr %order, i64 %column", "%its.row = load i64, ptr %at.column",
                f"%begin = mul nsw i64 %its.row, {rows}", "%place = add nsw i64 %begin, %column",
                f"%one = getelementptr {number}, ptr {out}, i64 %place", f"store {number} 1.0, ptr %one",
            ]),
            *around.after,
        ]  # fmt: skip
        return function_text(name, ["%p0", "%p1"], lines), {}


def _permutation(node: Node, accesses: Accesses) -> Item | None:
    (pivots,), made = node.operands, node.result.type
    kind, rows = kind_of(made.dtype), node.attrs["rows"]
    if kind not in ("f8", "f4") or kind_of(pivots.type.dtype) != "i8" or made.strides or pivots.type.shape[-1] > rows:
        return None
    zeros = Node(None, "zeros", (), {})
    zeros.results = (Value(made, zeros),)
    blank = Item(zeros, zeros.result, squeezed(made.shape), (0,), Rule("identity", (kind,), kind))
    exchanges = list(zip(pivots.type.shape, accesses[pivots].strides, strict=True))
    batch = batch_of([exchanges[:-1], list(zip(made.shape, made.byte_strides, strict=True))[:-2]])
    routine = Permutation("permutation", (exchanges[-1][0], rows), batch, 1, "", True, kind, exchanges[-1][1])
    reads = (Element(blank.result, "", 0, ()), where(pivots, accesses))
    return routine_item(node, node.results, reads, routine, (blank,))


def _qr(node: Node, accesses: Accesses) -> Item | None:
    (a,), (q, r, more) = node.operands, node.results
    if more.type.size or a.type.dtype.char not in "fd":
        return None
    if a.type.dtype.char == "f":
        return in_double(node, accesses, _qr)
    *batch, rows, columns = a.type.shape
    packed = Value(array_type(a.type.shape, a.type.dtype), node)
    scales = Value(array_type((*batch, min(rows, columns)), a.type.dtype), node)
    arrays = [array_of(x) for x in (packed, scales, q)]
    raw = loop_routine(Loop("linalg.qr_r_raw"), arrays[:1], arrays[1:2], over=True)
    reduced = loop_routine(Loop("linalg.qr_reduced"), arrays[:2], arrays[2:])
    if raw is None or reduced is None:
        return None
    copy = copy_of(a, packed.type, accesses)
    reflectors = routine_item(node, [packed, scales], [Element(copy.result, "", 0, ())], raw)
    reads = [Element(x, "", 0, ()) for x in (packed, scales)]
    before = (copy, reflectors, _triangle(node, r, packed, "f8", -1, 0))
    return routine_item(node, [q, more], reads, reduced, before)


def _triangle(node: Node, result: Value, packed: Value, kind: str, sign: int, k: int, is_unit: bool = False) -> Item:
    """The rows and columns of `packed` that `result` has, on one side of a diagonal; perhaps with ones on the main
    one."""
    shape = result.type.shape
    kept = [axis for axis, length in enumerate(shape) if length != 1]
    place = {len(shape) - 2: sign, len(shape) - 1: -sign}
    position = Position(sign * k, tuple([place.get(axis, 0) for axis in kept]))
    is_kept = Expression(Rule("ge", ("i8", "i8"), "b1"), "b1", (position, 0))
    choose = Rule("select", ("b1", kind, kind), kind)
    other: object = 0
    if is_unit:
        on_diagonal = Expression(Rule("eq", ("i8", "i8"), "b1"), "b1", (position._replace(offset=0), 0))
        other = Expression(choose, kind, (on_diagonal, 1, 0))
    element = Element(packed, kind, 0, tuple([packed.type.byte_strides[axis] for axis in kept]))
    return Item(node, result, squeezed(shape), (is_kept, element, other), choose)


def _checked(make: Callable[[Node, Accesses], Item | None]) -> Callable[[Node, Accesses], Item | None]:
    """For operands that are arrays with elements, and results without gaps."""

    def checked(node: Node, accesses: Accesses) -> Item | None:
        if not all(type(x) is Value and x.type.size for x in node.operands) or not addresses():
            return None
        return make(node, accesses) if all(is_dense(x.type) for x in node.results) else None

    return checked


MAKERS = {
    "_linalg_solve_triangular": _checked(_solve_triangular), "_linalg_lu": _checked(_lu), "_linalg_qr": _checked(_qr),
    "_linalg_permutation": _checked(_permutation),
}  # fmt: skip
