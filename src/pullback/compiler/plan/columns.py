"""Memory that only native code sees, with short rows, may lie column by column: vectors then have lanes of many rows.

    squares of 1000 rows, 25 components, 10 dimensions    sums over 10 terms: two vectors and a half each
    the same with the 1000 rows innermost                 sums of whole vectors, one for each of the 25 components

Element e of row r lies at element `e * tile + r`, where a tile is some of the rows, or all of them. Loops get other
strides for it, and products of matrices are told that an operand is transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from pullback.compiler.items.blas import Matrix
from pullback.compiler.loops.kernel import (
    NOWHERE,
    Compute,
    Gather,
    Kernel,
    Read,
    Reduce,
    Reference,
    Scratch,
    Write,
    arranged,
    is_running,
    vectorised,
)
from pullback.compiler.loops.text import width_of
from pullback.compiler.plan.commands import Call
from pullback.compiler.plan.launches import Launch

# Products with few terms, whose result lies column by column, as loops: vectors of rows, and no sums across lanes.
#
# BLAS copies both operands before it multiplies, which takes longer than ten multiplications for each element do. Here
# only the rows are copied, column by column, unless they lie so already.

_MOST_TERMS = 16


def is_thin(call: Call, rows: int) -> bool:
    """Is a product of so many rows, which lie one behind the other, better done in loops?"""
    product = call.product
    is_plain = product.function == "gemm" and not product.batch and not product.left.is_transposed
    return is_plain and product.rows == rows and product.terms <= _MOST_TERMS


def in_loops(call: Call, copies: bool) -> tuple[list[Launch], Scratch | None]:
    """The launches that multiply, if need be after they have copied the rows of the left operand, and to where."""
    product, width = call.product, width_of(call.product.kind)
    rows = Scratch(product.rows * product.terms * width) if copies else None
    step, made = product.left.leading * width, []
    source: tuple[Any, int] = (call.left.root, call.left.offset)
    if rows is not None:
        made.append(_copy(call, rows, step))
        step, source = product.terms * width, (rows, 0)
    down, along = width, product.right.leading * width
    if product.right.is_transposed:
        down, along = along, down
    references = (
        Reference(1, product.kind, 0, (step, 0, width)),
        Reference(2, product.kind, 0, (0, down, along)),
        Reference(0, product.kind, 0, (product.columns * width, width, 0)),
    )
    kinds = (product.kind, product.kind)
    steps = (
        Read(0, False), Read(1, False), Compute("mul", kinds, product.kind, (0, 1), False),
        Reduce("add", product.kind, 2, 0),
    )  # fmt: skip
    kernel = _kernel((product.rows, product.columns, product.terms), references, steps, Write(3, 2, 0, True), 3)
    buffers: tuple[Any, ...] = (call.out, source[0], call.right.root)
    return [*made, Launch(kernel, buffers, (0, source[1], call.right.offset), ("matmul",))], rows


def _copy(call: Call, rows: Scratch, step: int) -> Launch:
    product, width = call.product, width_of(call.product.kind)
    references = (
        Reference(1, product.kind, 0, (step, width)), Reference(0, product.kind, 0, (product.terms * width, width))
    )  # fmt: skip
    kernel = _kernel((product.rows, product.terms), references, (Read(0, True),), Write(0, 1, -1, True), 2)
    return Launch(kernel, (rows, call.left.root), (0, call.left.offset), ("copy",))


def _kernel(lengths: tuple[int, ...], references: Any, steps: Any, write: Write, parameters: int) -> Kernel:
    is_reduced = tuple([axis == 2 for axis in range(len(lengths))])
    stages = int(True in is_reduced)
    return Kernel(lengths, is_reduced, references, steps, (write,), (), stages, 0, 1, parameters, frozenset({0}))


SHORT_ROW = 32
"""Elements along which vectors lie, below which they had better lie across rows."""
_FEWEST_ROWS = 128
_MOST_COMMANDS = 300


def is_short(kernel: Kernel) -> bool:
    """Do vectors lie along an axis that is too short for them?"""
    return kernel.vector_axis < 0 or kernel.lengths[kernel.vector_axis] < SHORT_ROW


class Shape(NamedTuple):
    """How many bytes a row of a buffer has, and an element."""

    row: int
    width: int


class Refused(Exception):
    """A command that goes through a buffer neither along rows nor across them."""

    def __init__(self, buffer: Any) -> None:
        super().__init__(buffer)
        self.buffer = buffer


class Columns(NamedTuple):
    """The buffers that lie so, and the rows of a tile."""

    shapes: dict[Any, Shape]
    tile: int
    final: Callable[[Any], Any]

    def shape(self, buffer: Any) -> Shape | None:
        """The shape of a buffer that lies so."""
        return self.shapes.get(self.final(buffer))

    def place(self, buffer: Any, nbytes: int) -> int:
        """Where what would lie at this byte of a buffer lies; also where a step of so many bytes leads."""
        shape = self.shape(buffer)
        if shape is None:
            return nbytes
        rows, rest = divmod(nbytes, shape.row)
        return rows * shape.width + rest * self.tile

    # Launches.

    def launch(self, launch: Launch) -> Launch:
        """A launch on such buffers. No axis of its loops goes along rows and across them."""
        if not any(map(self.shape, launch.buffers)):
            return launch
        whole = [ref._replace(offset=ref.offset + launch.offsets[ref.parameter]) if ref.parameter != NOWHERE else ref
                 for ref in launch.kernel.references]  # fmt: skip
        kernel = self._split(launch.kernel._replace(references=tuple(whole)), launch.buffers)
        count = len(kernel.references)
        references = tuple([self._reference(number, kernel, launch.buffers) for number in range(count)])
        return launch._replace(
            kernel=kernel._replace(references=references, by_rows=False), offsets=(0,) * len(launch.buffers)
        )

    def _reference(self, number: int, kernel: Kernel, buffers: Sequence[Any]) -> Reference:
        ref = kernel.references[number]
        buffer = buffers[ref.parameter] if ref.parameter != NOWHERE else None
        shape = self.shape(buffer)
        if shape is None:
            return ref
        if not _is_by_rows(ref, kernel, shape) or _is_anywhere(kernel, number):
            raise Refused(self.final(buffer))
        strides = tuple([self.place(buffer, step) for step in ref.strides])
        return ref._replace(offset=self.place(buffer, ref.offset), strides=strides)

    def _split(self, kernel: Kernel, buffers: Sequence[Any]) -> Kernel:
        """With an axis that goes through all elements of rows made two."""
        for ref in kernel.references:
            buffer = buffers[ref.parameter] if ref.parameter != NOWHERE else None
            shape = self.shape(buffer)
            for axis, (length, step) in enumerate(zip(kernel.lengths, ref.strides, strict=True)):
                if shape is None or not 0 < step < shape.row or (length - 1) * step < shape.row:
                    continue
                per_row, rest = divmod(shape.row, step)
                is_bound = any(axis == at for each in kernel.references for at, *_ in each.bounds)
                # Of two axes a running sum would go along one after the other.
                if rest or length % per_row or is_bound or (kernel.is_reduced[axis] and is_running(kernel)):
                    raise Refused(self.final(buffer))
                return self._split(_with_axis_split(kernel, axis, per_row), buffers)
        return kernel

    def vectorised(self, launch: Launch, most: int = 1 << 16) -> Kernel:
        """The kernel of a launch on such buffers, with vectors of at most so many lanes from row to row."""
        kernel = launch.kernel
        for ref in kernel.references:
            if ref.parameter != NOWHERE and self.shape(launch.buffers[ref.parameter]) is not None:
                for axis, step in enumerate(ref.strides):
                    if step == width_of(ref.kind) and not (kernel.is_reduced[axis] and is_running(kernel)):
                        return vectorised(kernel, axis, most)
        return kernel

    # Products.

    def call(self, call: Call) -> tuple[Call, bool]:
        """A product on such matrices, and whether it is that of the transposed ones, because its result lies so."""
        product = call.product
        left, right = self._matrix(call.left.root, product.left), self._matrix(call.right.root, product.right)
        at = [x._replace(offset=self.place(x.root, x.offset)) for x in (call.left, call.right)]
        if self.shape(call.out) is None:
            return call._replace(product=product._replace(left=left, right=right), left=at[0], right=at[1]), False
        flipped = product._replace(
            rows=product.columns, columns=product.rows, left=_transposed(right), right=_transposed(left)
        )
        return call._replace(product=flipped, left=at[1], right=at[0]), True

    def _matrix(self, buffer: Any, matrix: Matrix) -> Matrix:
        return matrix if self.shape(buffer) is None else Matrix(not matrix.is_transposed, self.tile)


def _is_by_rows(ref: Reference, kernel: Kernel, shape: Shape) -> bool:
    """Does every axis of the loops go along rows, or across them?"""
    extent = ref.offset % shape.row + shape.width
    for length, step in zip(kernel.lengths, ref.strides, strict=True):
        if length == 1 or not step:
            continue
        if 0 < step < shape.row:
            extent += (length - 1) * step
        elif step < 0 or step % shape.row:
            return False
    return extent <= shape.row and (shape.width == width_of(ref.kind) or not any(ref.strides))


def _is_anywhere(kernel: Kernel, number: int) -> bool:
    """Does a kernel read or write at places that numbers say, or in an order that must be kept?"""
    reads = any(type(step) is Gather and step.reference == number for step in kernel.steps)
    return reads or not all(write.is_plain for write in kernel.writes)


def _with_axis_split(kernel: Kernel, axis: int, length: int) -> Kernel:
    """With two axes in the place of one, the inner of which has this length."""
    references = tuple([
        ref._replace(
            strides=(*ref.strides[:axis], ref.strides[axis] * length, *ref.strides[axis:]),
            bounds=tuple([(at + (at > axis), low, high) for at, low, high in ref.bounds]),
        )
        for ref in kernel.references
    ])  # fmt: skip
    lengths = (*kernel.lengths[:axis], kernel.lengths[axis] // length, length, *kernel.lengths[axis + 1 :])
    is_reduced = (*kernel.is_reduced[: axis + 1], *kernel.is_reduced[axis:])
    along = kernel.vector_axis + (kernel.vector_axis >= axis)
    return kernel._replace(lengths=lengths, is_reduced=is_reduced, references=references, vector_axis=along)


def _transposed(matrix: Matrix) -> Matrix:
    return Matrix(not matrix.is_transposed, matrix.leading)


# All rows.


def in_columns(commands: Sequence[Any], given: Collection[Any], final: Callable[[Any], Any]) -> list[Any]:
    """The commands with values of short rows column by column, where nobody else sees them: not what is `given`."""
    rows = _rows(commands)
    if not rows or len(commands) > _MOST_COMMANDS:
        return list(commands)
    shapes = _shapes(commands, rows, set(map(final, given)), final)
    commands, shapes = _without_thin(commands, shapes, rows, final)
    while shapes:
        try:
            moved = [_moved(command, Columns(shapes, rows, final)) for command in commands]
        except Refused as refused:
            del shapes[refused.buffer]
        else:
            # path: columns
            return moved
    return list(commands)


def _rows(commands: Sequence[Any]) -> int:
    """How many rows there are where most of the work on short ones is done."""
    found: dict[int, int] = {}
    for command in commands:
        if isinstance(command, Launch) and command.kernel.outermost is not None and is_short(command.kernel):
            length = command.kernel.lengths[0]
            found[length] = found.get(length, 0) + command.kernel.size * len(command.kernel.steps)
    return max((rows for rows in found if rows >= _FEWEST_ROWS), key=lambda rows: found[rows], default=0)


def _shapes(commands: Sequence[Any], rows: int, given: set[Any], final: Callable[[Any], Any]) -> dict[Any, Shape]:
    """The buffers of so many short rows that launches and products write."""
    found: dict[Any, Shape] = {}
    for command in commands:
        if isinstance(command, Launch):
            for ref in command.kernel.references:
                if ref.parameter in command.kernel.written:
                    _note(found, final(command.buffers[ref.parameter]), width_of(ref.kind), rows)
        elif isinstance(command, Call):
            _note(found, final(command.out), width_of(command.product.kind), rows)
    return {buffer: shape for buffer, shape in found.items() if buffer not in given}


def _without_thin(
    commands: Sequence[Any], shapes: dict[Any, Shape], rows: int, final: Callable[[Any], Any]
) -> tuple[list[Any], dict[Any, Shape]]:
    """The commands with thin products that write such buffers in loops, and the buffers, with those of rows copied."""
    made: list[Any] = []
    for command in commands:
        if isinstance(command, Call) and final(command.out) in shapes and is_thin(command, rows):
            # path: thin product
            launches, copied = in_loops(command, final(command.left.root) not in shapes)
            made += launches
            if copied is not None:
                width = width_of(command.product.kind)
                shapes = {**shapes, copied: Shape(command.product.terms * width, width)}
        else:
            made.append(command)
    return made, shapes


def _note(found: dict[Any, Shape], buffer: Any, width: int, rows: int) -> None:
    row, rest = divmod(getattr(buffer, "nbytes", 0), rows)
    if not rest and width < row < SHORT_ROW * width:
        found[buffer] = Shape(row, width)


def _moved(command: Any, columns: Columns) -> Any:
    if isinstance(command, Launch):
        moved = columns.launch(command)
        if moved is command:
            return command
        moved = moved._replace(kernel=arranged(moved.kernel))
        return moved._replace(kernel=columns.vectorised(moved))
    if isinstance(command, Call):
        return _moved_product(command, columns)
    for buffer in command.buffers:
        if columns.shape(buffer) is not None:
            raise Refused(columns.final(buffer))
    return command


def _moved_product(call: Call, columns: Columns) -> Call:
    """A product all of whose matrices that lie column by column have one row for each row."""
    product, width = call.product, width_of(call.product.kind)
    sides = (
        (call.left.root, call.left.offset, product.left, product.rows, product.terms),
        (call.right.root, call.right.offset, product.right, product.terms, product.columns),
        (call.out, 0, Matrix(False, product.columns), product.rows, product.columns),
    )
    for buffer, offset, matrix, rows, length in sides:
        shape = columns.shape(buffer)
        down, along = (length, rows) if matrix.is_transposed else (rows, length)
        if shape is None:
            continue
        fits = product.function == "gemm" and not product.batch and down == columns.tile
        if not fits or matrix.leading * width != shape.row or offset + along * width > shape.row:
            raise Refused(columns.final(buffer))
    return columns.call(call)[0]
