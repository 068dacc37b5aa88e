"""Products of matrices by calling, by address, the BLAS that NumPy has loaded (`blas_library`)."""

from __future__ import annotations

import math
from typing import NamedTuple

from pullback.compiler.access import Accesses
from pullback.compiler.llvm.blas_library import addresses, symbol
from pullback.compiler.llvm.text import in_register, kind_of, width_of
from pullback.graph.ir import Node, Value

_ROWS, _AS_IS, _TRANSPOSED = 101, 111, 112


class Matrix(NamedTuple):
    """How a matrix lies in memory: its leading dimension, and whether rows or columns are contiguous."""

    is_transposed: bool
    leading: int


class Batch(NamedTuple):
    """An axis of equal products: how many there are, and how many bytes the matrices are apart."""

    length: int
    left: int
    right: int
    out: int


class Product(NamedTuple):
    """A product that BLAS computes, or a batch of them."""

    function: str
    kind: str
    rows: int
    columns: int
    terms: int
    left: Matrix
    right: Matrix
    batch: tuple[Batch, ...] = ()

    @property
    def size(self) -> int:
        """Multiplications."""
        return math.prod((self.rows, self.columns, self.terms, *(axis.length for axis in self.batch)))


def product_of(node: Node, accesses: Accesses) -> Product | None:
    """A `matmul` as a call of BLAS, if its operands lie in memory as BLAS takes them."""
    if len(node.operands) != 2 or not all(type(x) is Value for x in node.operands) or not addresses():
        return None
    x, y = node.operands
    kind = kind_of(node.result.type.dtype)
    dtypes = {x.type.dtype, y.type.dtype, node.result.type.dtype}
    if kind not in ("f8", "f4") or len(dtypes) != 1 or node.result.type.strides is not None:
        return None
    if not 1 <= x.type.ndim <= 2 or not 1 <= y.type.ndim <= 2:
        return None
    left, right = _matrix(x, accesses, True, kind), _matrix(y, accesses, False, kind)
    if left is None or right is None:
        return None
    rows = x.type.shape[0] if x.type.ndim == 2 else 1
    columns = y.type.shape[1] if y.type.ndim == 2 else 1
    function = "dot" if rows == columns == 1 else "gemv" if 1 in (rows, columns) else "gemm"
    return Product(function, kind, rows, columns, x.type.shape[-1], left, right)


def _matrix(value: Value, accesses: Accesses, is_left: bool, kind: str) -> Matrix | None:
    """How an operand lies in memory; a vector is a row on the left and a column on the right."""
    width, strides, shape = width_of(kind), accesses[value].strides, value.type.shape
    if len(shape) == 1:
        step = strides[0]
        if is_left:
            shape, strides = (1, *shape), (step * shape[0], step)
        else:
            shape, strides = (*shape, 1), (step, width)
    return matrix_of((shape[0], strides[0]), (shape[1], strides[1]), width)


def matrix_of(down: tuple[int, int], along: tuple[int, int], width: int) -> Matrix | None:
    """How a matrix lies in memory, given length and step of its rows and of its columns."""
    (rows, down_step), (columns, step) = down, along
    if any(s % width or s <= 0 for n, s in (down, along) if n > 1):
        return None
    leading = down_step // width if rows > 1 else columns
    if (columns == 1 or step == width) and leading >= columns:
        return Matrix(False, leading)
    leading = step // width if columns > 1 else rows
    if (rows == 1 or down_step == width) and leading >= rows:
        return Matrix(True, leading)
    return None


# Calls.


def write_call(product: Product, left: str, right: str, out: str) -> tuple[list[str], dict[str, str]]:
    """The instructions that compute a product from three pointers, and the declarations they need."""
    number = in_register(product.kind)
    name = symbol(product.function, product.kind)
    if product.function == "dot":
        steps = [_step(product.left, product.terms, True), _step(product.right, product.terms, False)]
        call = f"call {number} @{name}(i64 {product.terms}, ptr {left}, i64 {steps[0]}, ptr {right}, i64 {steps[1]})"
        value = f"%dot_{out.strip('%')}"
        return [f"{value} = {call}", f"store {number} {value}, ptr {out}"], {
            name: f"declare {number} @{name}(i64, ptr, i64, ptr, i64)"
        }
    if product.function == "gemv":
        return _gemv(product, left, right, out, number, name)
    call, declared = write_gemm(product, left, right, out, str(product.rows), str(product.columns))
    return [call], declared


def write_gemm(
    product: Product, left: str, right: str, out: str, rows: str, columns: str, terms: str = "", before: str = "0.0",
    leading: int = 0,
) -> tuple[str, dict[str, str]]:  # fmt: skip
    """A product of two matrices, of which `rows` and `columns` are computed; `before` times what is there is added.
    The rows of the result are `leading` elements apart, or as far as they are long."""
    number, name = in_register(product.kind), symbol("gemm", product.kind)
    transposes = [_TRANSPOSED if m.is_transposed else _AS_IS for m in (product.left, product.right)]
    call = (
        f"call void @{name}(i32 {_ROWS}, i32 {transposes[0]}, i32 {transposes[1]}, i64 {rows}, "
        f"i64 {columns}, i64 {terms or product.terms}, {number} 1.0, ptr {left}, i64 {product.left.leading}, "
        f"ptr {right}, i64 {product.right.leading}, {number} {before}, ptr {out}, i64 {leading or product.columns})"
    )
    types = f"i32, i32, i32, i64, i64, i64, {number}, ptr, i64, ptr, i64, {number}, ptr, i64"
    return call, {name: f"declare void @{name}({types})"}


def _gemv(
    product: Product, left: str, right: str, out: str, number: str, name: str
) -> tuple[list[str], dict[str, str]]:
    if product.columns == 1:
        matrix, pointer, vector, step = product.left, left, right, _step(product.right, product.terms, False)
        rows, columns, flips = product.rows, product.terms, matrix.is_transposed
    else:  # a row times a matrix is the transposed matrix times a column
        matrix, pointer, vector, step = product.right, right, left, _step(product.left, product.terms, True)
        rows, columns, flips = product.terms, product.columns, not matrix.is_transposed
    if matrix.is_transposed:  # as it lies in memory, its rows are columns
        rows, columns = columns, rows
    call = (
        f"call void @{name}(i32 {_ROWS}, i32 {_TRANSPOSED if flips else _AS_IS}, i64 {rows}, i64 {columns}, "
        f"{number} 1.0, ptr {pointer}, i64 {matrix.leading}, ptr {vector}, i64 {step}, {number} 0.0, ptr {out}, i64 1)"
    )
    types = f"i32, i32, i64, i64, {number}, ptr, i64, ptr, i64, {number}, ptr, i64"
    return [call], {name: f"declare void @{name}({types})"}


def _step(matrix: Matrix, terms: int, is_row: bool) -> int:
    """How far apart the elements of a row on the left, or of a column on the right, are."""
    if is_row:
        return matrix.leading if matrix.is_transposed and terms > 1 else 1
    return 1 if matrix.is_transposed or terms == 1 else matrix.leading
