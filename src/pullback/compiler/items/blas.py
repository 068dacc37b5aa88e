"""Products of matrices by calling, by address, the BLAS that NumPy has loaded (`blas_library`)."""

from __future__ import annotations

import math
from typing import NamedTuple

from pullback.compiler.loops.access import Accesses
from pullback.compiler.loops.text import in_register, kind_of, width_of
from pullback.compiler.machine.blas_library import addresses, symbol
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


# Products of matrices shared among the threads of the pool: blocks of rows or columns, each a call of BLAS by itself.
#
# Into which blocks a product is cut depends on its lengths alone, and so results do not depend on the number of
# threads.

_WORK = {"f8": 1_000_000, "f4": 2_000_000}  # multiplications from twice as many of which on there are two blocks
_MORE_WORK = 8  # times as many in a block, if there are more blocks: each costs BLAS some copies
_MOST_BLOCKS = 8
_MULTIPLE = 16  # of rows or columns, to suit the kernels of BLAS
ALONE_FROM = 1 << 15
"""Multiplications from which on BLAS may think of using threads."""


class Cut(NamedTuple):
    """How a product is cut: along its rows or its columns, into so many blocks of this length; or by batches."""

    is_by_rows: bool
    length: int
    blocks: int


def cut_of(product: Product) -> Cut:
    """The blocks of a product, one if it is small."""
    length = max(product.rows, product.columns)
    if product.batch:
        return Cut(True, product.rows, math.prod(axis.length for axis in product.batch))
    work = product.size // _WORK[product.kind]
    if product.function != "gemm" or work < 2:
        return Cut(True, length, 1)
    wanted = min(max(2, work // _MORE_WORK), _MOST_BLOCKS)
    of_block = -(-length // (wanted * _MULTIPLE)) * _MULTIPLE
    return Cut(product.rows >= product.columns, of_block, -(-length // of_block))


def may_use_threads(product: Product) -> bool:
    """Could BLAS itself want threads for this?"""
    return product.rows * product.columns * product.terms >= ALONE_FROM


def write_blocks(product: Product, name: str) -> tuple[str, dict[str, str]]:
    """A function that computes blocks `begin` to `end` of a product, from a table of three pointers."""
    cut, width = cut_of(product), width_of(product.kind)
    whole = product.rows if cut.is_by_rows else product.columns
    out_step = cut.length * width * (product.columns if cut.is_by_rows else 1)
    matrix = product.left if cut.is_by_rows else product.right
    along_rows = matrix.is_transposed == cut.is_by_rows  # then a block begins within a row as it lies in memory
    step = cut.length * width * (1 if along_rows else matrix.leading)
    steps = (step, 0, out_step) if cut.is_by_rows else (0, step, out_step)
    lines = [f"%o{k} = mul nsw i64 %block, {each}" for k, each in enumerate(steps)]
    lines = _of_batch(product) if product.batch else lines
    for number in range(3):
        lines.append(f"%g{number} = getelementptr ptr, ptr %table, i64 {number}")
        lines.append(f"%b{number} = load ptr, ptr %g{number}")
        lines.append(f"%p{number} = getelementptr i8, ptr %b{number}, i64 %o{number}")
    sizes = ("%size", str(product.columns)) if cut.is_by_rows else (str(product.rows), "%size")
    if product.batch:
        sizes = (str(product.rows), str(product.columns))
    call, declared = write_gemm(product, "%p0", "%p1", "%p2", *sizes)
    body = "\n".join(f"  {line}" for line in lines)
    text = f"""define internal void @{name}(ptr %table, i64 %begin, i64 %end) nounwind {{
entry:
  %is.any = icmp slt i64 %begin, %end
  br i1 %is.any, label %body, label %done
body:
  %block = phi i64 [ %begin, %entry ], [ %following, %body ]
  %start = mul nsw i64 %block, {cut.length}
  %rest = sub nsw i64 {whole}, %start
  %is.last = icmp slt i64 %rest, {cut.length}
  %size = select i1 %is.last, i64 %rest, i64 {cut.length}
{body}
  {call}
  %following = add nsw i64 %block, 1
  %goes.on = icmp slt i64 %following, %end
  br i1 %goes.on, label %body, label %done
done:
  ret void
}}"""
    return text, declared


def _of_batch(product: Product) -> list[str]:
    """How many bytes further the matrices of a batch lie; the last axis of batches is counted first."""
    lines, rest = [], "%block"
    totals = ["0", "0", "0"]
    for axis in reversed(range(len(product.batch))):
        each = product.batch[axis]
        lines.append(f"%index{axis} = urem i64 {rest}, {each.length}")
        lines.append(f"%rest{axis} = udiv i64 {rest}, {each.length}")
        rest = f"%rest{axis}"
        for k, step in enumerate((each.left, each.right, each.out)):
            lines.append(f"%m{k}_{axis} = mul nsw i64 %index{axis}, {step}")
            name = f"%o{k}" if axis == 0 else f"%s{k}_{axis}"
            lines.append(f"{name} = add nsw i64 {totals[k]}, %m{k}_{axis}")
            totals[k] = name
    return lines
