"""Tiles: commands that go through the same rows, run one after the other for some rows at a time.

    x @ w -> scores -> softmax -> loss        10000 rows, of which 64 fit into the cache

What one command writes for some rows the next ones read while it is in the cache, and values that nobody else reads
never get to memory: they have room for one tile. Threads share tiles, so they meet once and not after each command.

Commands are known by where they read and write. One takes part if the outermost of its loops runs along the rows, so
that a range of it is a range of rows, and if it reads of every row that another one of them writes that row alone.
Sums over rows take part as far as they are done in blocks: each tile has whole blocks. Products whose terms are the
rows are added up, each thread's chunk of tiles by itself. Chunks depend on the lengths, not on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pullback.compiler.loops.kernel import (
    NOWHERE,
    STATUS,
    Gather,
    Kernel,
    Read,
    Reduce,
    Reference,
    Scratch,
    Write,
    arranged,
)
from pullback.compiler.loops.text import width_of
from pullback.compiler.plan.columns import Columns, Refused, Shape, in_loops, is_short, is_thin
from pullback.compiler.plan.commands import Call
from pullback.compiler.plan.launches import Launch
from pullback.core.records import Record, field

# Parts of tiles: what `Run` chooses, as `emit/tiles.py` writes it.

LANES = 16
"""A tile whose values lie column by column has a multiple of so many rows."""


class Part(NamedTuple):
    """A command of a tile. A launch does units `row * up // down` to `end * up / down`, rounded up if vectors are.

    A product is one of some rows, or is added up: then `sums` is where, for each chunk. Or it is the product of the
    transposed matrices in the other order, so that rows are columns (`is_flipped`).
    """

    command: Launch | Call
    up: int = 1
    down: int = 1
    is_rest: bool = False  # it is for the last tile alone
    sums: Scratch | None = None
    is_flipped: bool = False


class Tiled(NamedTuple):
    """Commands for tiles of rows, in chunks; `private` are buffers with room for one tile: their bytes per row.

    From one row of these to the next it is so many bytes as well, or those of an element (`steps`).
    """

    parts: tuple[Part, ...]
    rows: int
    tile: int
    chunks: int
    private: dict[Any, int]
    buffers: tuple[Any, ...]  # those that are not private
    steps: dict[Any, int]

    @property
    def tiles(self) -> int:
        """How many there are."""
        return -(-self.rows // self.tile)


def in_columns(part: Part, columns: Columns) -> Part:
    """The part on private values that lie column by column, with vectors across rows."""
    if isinstance(part.command, Call):
        call, is_flipped = columns.call(part.command)
        return part._replace(command=call, is_flipped=is_flipped)
    launch = columns.launch(part.command)
    if launch is part.command:
        return part
    up = part.up * launch.kernel.lengths[0] // part.command.kernel.lengths[0]
    return part._replace(command=launch._replace(kernel=columns.vectorised(launch, LANES)), up=up)


def sum_of_chunks(call: Call, sums: Scratch, chunks: int) -> Launch:
    """The kernel that adds up what the chunks have added up."""
    product = call.product
    width, size = width_of(product.kind), product.rows * product.columns
    references = (Reference(1, product.kind, 0, (width, size * width)), Reference(0, product.kind, 0, (width, 0)))
    kernel = Kernel(
        (size, chunks), (False, True), references, (Read(0, False), Reduce("add", product.kind, 0, 0)),
        (Write(1, 1, 0, True),), (), 1, -1, 1, 2, frozenset({0}),
    )  # fmt: skip
    return Launch(arranged(kernel), (call.out, sums), (0, 0), ("sum of tiles",))


# `Run`: which of some commands go through so many rows one after the other, and what they need. See `tiles.py`.

CACHE = 1 << 17
"""Bytes that a tile should not exceed, with what it is given."""
_MOST_PRIVATE = 3 << 18
"""Bytes beyond which there is no tile: it lies on the stack of the thread that computes it."""
_LARGEST_OPERAND = 1 << 19
_LARGEST_SUM = 1 << 17
_MOST_CHUNKS = 8
_SHORT_SHARE = 3
"""If so many times the work on short rows is more than all, vectors lie across rows."""
MULTIPLE = 8
"""A tile has a multiple of so many rows."""


def sides(command: Any) -> tuple[set[Any], set[Any]]:
    """The buffers that a command reads and those that it writes; unknown ones do both."""
    if isinstance(command, Launch):
        written = {command.buffers[k] for k in command.kernel.written} - {STATUS}
        return set(command.buffers) - {STATUS}, written
    if isinstance(command, Call):
        return {command.left.root, command.right.root}, {command.out}
    return set(command.buffers), set(command.buffers)


def nbytes(buffer: Any) -> int:
    """The size of a buffer."""
    size: int = buffer.nbytes if isinstance(buffer, Scratch) else buffer.type.nbytes
    return size


class Run(Record, eq=False):
    """The commands that go through so many rows, those that can run before them, and those that have to wait."""

    rows: int
    longest_block: int
    final: Callable[[Any], Any]
    before: list[Any] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    row_bytes: dict[Any, int] = field(default_factory=dict)  # of buffers that are written row by row
    complete: set[Any] = field(default_factory=set)  # what is there only after the last tile
    touched_before: set[Any] = field(default_factory=set)
    touched: set[Any] = field(default_factory=set)  # by the parts
    touched_after: set[Any] = field(default_factory=set)
    given: dict[Any, list[int]] = field(default_factory=dict)  # bytes of a row, for each part that reads it
    private: dict[Any, int] = field(default_factory=dict)
    widths: dict[Any, int] = field(default_factory=dict)  # bytes of an element of what is written row by row
    saved: int = 0

    def place(self, command: Any) -> None:
        """Let a command take part, or put it before or after."""
        reads, writes = (set(map(self.final, side)) for side in sides(command))
        waits = bool((reads | writes) & self.complete or writes & self.touched_after)
        part = self._rest(command) or (None if waits else self._part(command))
        if part is not None:
            self._join(part, reads, writes)
        elif waits or (reads | writes) & set(self.row_bytes) or writes & self.touched:
            self.after.append(command)
            self.complete |= writes
            self.touched_after |= reads | writes
        else:
            self.before.append(command)
            self.touched_before |= reads | writes

    def _join(self, part: Part, reads: set[Any], writes: set[Any]) -> None:
        self.parts.append(part)
        self.touched |= reads | writes
        self.complete |= writes - set(self.row_bytes)

    # Which commands take part.

    def _part(self, command: Any) -> Part | None:
        if isinstance(command, Launch):
            return self._of_launch(command)
        if isinstance(command, Call) and command.product.function == "gemm" and not command.product.batch:
            return self._of_rows(command) or self._of_terms(command)
        return None

    def _of_launch(self, launch: Launch) -> Part | None:
        kernel = launch.kernel
        if kernel.outermost is None or not all(write.is_plain for write in kernel.writes):
            return None
        length = kernel.lengths[0]
        if length % self.rows == 0:
            up, down = length // self.rows, 1
        else:
            down = self._rows_in_block(launch)
            up = 1
            if not down:
                return None
        found: dict[Any, int] = {}
        given: dict[Any, int] = {}
        for number, ref in enumerate(kernel.references):
            if ref.parameter == NOWHERE:
                continue
            buffer = self.final(launch.buffers[ref.parameter])
            is_written = ref.parameter in kernel.written
            if not self._fits(launch, number, buffer, ref.strides[0] * up / down, down, is_written, found):
                return None
            given[buffer] = max(given.get(buffer, 0), abs(ref.strides[0] * up // down))
        self.row_bytes.update(found)
        self._give(given)
        return Part(launch, up, down)

    def _rows_in_block(self, launch: Launch) -> int:
        """How many rows one step of the outermost loop is, if it goes through blocks of them; 0 if it does not."""
        for ref in launch.kernel.references:
            buffer = self.final(launch.buffers[ref.parameter]) if ref.parameter != NOWHERE else None
            if buffer in self.row_bytes:
                rows, rest = divmod(ref.strides[0], self.row_bytes[buffer])
                if 1 < rows <= self.longest_block and not rest and self.rows // rows == launch.kernel.lengths[0]:
                    return rows
        return 0

    def _fits(
        self, launch: Launch, number: int, buffer: Any, step: float, rows: int, is_written: bool, found: dict[Any, int]
    ) -> bool:
        """Is a reference to what others write one of the same rows, and to these alone?"""
        kernel = launch.kernel
        ref = kernel.references[number]
        is_anywhere = any(type(s) is Gather and s.reference == number for s in kernel.steps)
        if not is_written:
            row = self.row_bytes.get(buffer)
            return row is None or (not is_anywhere and self._is_within(launch, ref, step, rows, row))
        if buffer is STATUS:
            return True
        if buffer in self.touched or not step:
            return False
        if rows > 1 and not any(kernel.is_reduced[axis] and s for axis, s in enumerate(ref.strides)):
            return True  # the sum of a block, which lies elsewhere for each
        found[buffer] = nbytes(buffer) // self.rows
        self.widths[buffer] = width_of(ref.kind)
        return step * self.rows == nbytes(buffer) and self._is_within(launch, ref, step, rows, found[buffer])

    def _is_within(self, launch: Launch, ref: Reference, step: float, rows: int, row_bytes: int) -> bool:
        lengths, inner = launch.kernel.lengths, ref.strides[1:]
        if step != row_bytes or min(ref.strides) < 0:
            return False
        start = launch.offsets[ref.parameter] + ref.offset
        per_row = lengths[0] // self.rows if rows == 1 else 1
        extent = (per_row - 1) * ref.strides[0] + sum((n - 1) * s for n, s in zip(lengths[1:], inner, strict=True))
        return start >= 0 and start + extent + width_of(ref.kind) <= rows * row_bytes

    def _rest(self, command: Any) -> Part | None:
        """The shorter block at the end of one that takes part."""
        if not isinstance(command, Launch) or not self.parts or command.kernel.lengths[:1] != (1,):
            return None
        last = self.parts[-1]
        if not isinstance(last.command, Launch) or last.down == 1 or last.command.nodes != command.nodes:
            return None
        if last.command.buffers != command.buffers or not self.rows % last.down:
            return None
        first = (self.rows - self.rows % last.down) // last.down * last.down
        for ref in command.kernel.references:
            if ref.parameter == NOWHERE:
                continue
            row = self.row_bytes.get(self.final(command.buffers[ref.parameter]))
            if row is not None and command.offsets[ref.parameter] + ref.offset < first * row:
                return None
        return Part(command, is_rest=True)

    def _of_rows(self, call: Call) -> Part | None:
        """A product of some rows at a time."""
        product, width = call.product, width_of(call.product.kind)
        left, right, out = (self.final(x) for x in (call.left.root, call.right.root, call.out))
        if product.rows != self.rows or product.left.is_transposed or right in self.row_bytes or out in self.touched:
            return None
        if product.terms * product.columns * width > _LARGEST_OPERAND or not self._has_rows(left, call.left, product):
            return None
        self.row_bytes[out] = product.columns * width
        self.widths[out] = width
        self._give({left: product.left.leading * width})
        return Part(call)

    def _has_rows(self, buffer: Any, where: Any, product: Any) -> bool:
        row = self.row_bytes.get(buffer)
        width = width_of(product.kind)
        if row is None:
            return True
        return bool(row == product.left.leading * width and where.offset + product.terms * width <= row)

    def _of_terms(self, call: Call) -> Part | None:
        """A product that is added up, tile by tile."""
        product, width = call.product, width_of(call.product.kind)
        size = product.rows * product.columns * width
        if product.terms != self.rows or not product.left.is_transposed or product.right.is_transposed:
            return None
        if size > _LARGEST_SUM or self.final(call.out) in self.touched:
            return None
        sides = ((call.left, product.left, product.rows), (call.right, product.right, product.columns))
        for where, matrix, length in sides:
            row = self.row_bytes.get(self.final(where.root))
            if row is not None and (row != matrix.leading * width or where.offset + length * width > row):
                return None
        self._give({self.final(where.root): matrix.leading * width for where, matrix, _ in sides})
        return Part(call, sums=Scratch(_MOST_CHUNKS * size))

    def _give(self, rows: dict[Any, int]) -> None:
        for buffer, size in rows.items():
            if size and buffer not in self.row_bytes:
                self.given.setdefault(buffer, []).append(size)

    # What they need.

    def finish(self, kept: set[Any]) -> None:
        """Find what is private: written by the parts row by row, and read by nobody else."""
        elsewhere = kept | self.touched_before | self.touched_after
        self.private = {b: n for b, n in self.row_bytes.items() if b not in elsewhere}
        again = sum(sum(sizes[1:]) for sizes in self.given.values())
        self.saved = (sum(self.private.values()) + again) * self.rows if len(self.parts) > 1 else 0

    def tile(self) -> int:
        """The rows of a tile: a multiple of all blocks, and of the lanes of vectors along rows; 0 if there is none."""
        multiple = LANES if self._are_short else MULTIPLE
        for part in self.parts:
            if isinstance(part.command, Launch) and not part.is_rest:
                kernel = part.command.kernel
                multiple = math.lcm(multiple, part.down)
                if kernel.vector_axis == 0:
                    if part.down > 1:
                        return 0
                    multiple = math.lcm(multiple, kernel.lanes // math.gcd(kernel.lanes, part.up))
        private = sum(self.private.values())
        row = private + sum(max(sizes) for sizes in self.given.values())
        rows = max(CACHE // row // multiple, 1) * multiple
        return rows if rows * private <= _MOST_PRIVATE and 2 * rows <= self.rows else 0

    def command(self) -> Tiled:
        """The tiles."""
        used: dict[Any, None] = {}
        for part in self.parts:
            used.update(dict.fromkeys(part.command.buffers))
            if part.sums is not None:
                used.pop(part.command.out if isinstance(part.command, Call) else None, None)
                used[part.sums] = None
        shared = tuple([b for b in used if self.final(b) not in self.private])
        tile = self.tile()
        parts, lying = self._in_columns(tile) or (self.parts, {b: (row, row) for b, row in self.private.items()})
        tiles = -(-self.rows // tile)
        chunks = min(tiles, _MOST_CHUNKS) if any(part.sums for part in self.parts) else tiles
        chunks = -(-tiles // -(-tiles // chunks))  # without empty ones
        private = {buffer: row for buffer, (row, _) in lying.items()}
        steps = {buffer: step for buffer, (_, step) in lying.items()}
        return Tiled(tuple(parts), self.rows, tile, chunks, private, shared, steps)

    @property
    def _are_short(self) -> bool:
        """Is much of the work done by vectors along rows that are too short for them?"""
        short = whole = 0
        for part in self.parts:
            if isinstance(part.command, Launch):
                kernel = part.command.kernel
                work = kernel.size * len(kernel.steps)
                whole += work
                short += work * is_short(kernel)
        return _SHORT_SHARE * short > whole

    def _in_columns(self, tile: int) -> tuple[list[Part], dict[Any, tuple[int, int]]] | None:
        """The parts on private values that lie column by column, if that is better and can be done."""
        if not self._are_short:
            return None
        every, private = self._without_thin()
        shapes = {buffer: Shape(row, width) for buffer, (row, width) in private.items()}
        columns = Columns(shapes, tile, self.final)
        try:
            parts = [in_columns(part, columns) for part in every]
        except Refused:
            return None
        return parts, private

    def _without_thin(self) -> tuple[list[Part], dict[Any, tuple[int, int]]]:
        """The parts with thin products in loops, and for each private buffer the bytes of a row and of an element."""
        parts: list[Part] = []
        private = {buffer: (row, self.widths[buffer]) for buffer, row in self.private.items()}
        for part in self.parts:
            call = part.command
            if isinstance(call, Call) and self.final(call.out) in private and is_thin(call, self.rows):
                launches, copied = in_loops(call, self.final(call.left.root) not in private)
                parts += map(Part, launches)
                if copied is not None:
                    private[copied] = (copied.nbytes // self.rows, width_of(call.product.kind))
            else:
                parts.append(part)
        return parts, private

    def sums_of_chunks(self) -> list[Launch]:
        """Kernels that add up what the chunks have added up."""
        chunks = self.command().chunks
        return [
            sum_of_chunks(part.command, part.sums, chunks)
            for part in self.parts if isinstance(part.command, Call) and part.sums is not None
        ]  # fmt: skip


FEWEST_ROWS = 128
SAVED = 1 << 18
"""Bytes of values that need not get to memory, from which on tiles are worth it."""
_MOST_COMMANDS = 300
_LONGEST_BLOCKS = (1 << 30, 32, 1)
"""Rows of the blocks of sums that take part. A tile consists of whole ones, and may be too large with long ones."""


def tiled(commands: Sequence[Any], kept: Iterable[Any], final: Callable[[Any], Any]) -> list[Any]:
    """The commands with tiles where they pay. Others use the buffers in `kept` too; `final` finds shared memory."""
    if len(commands) > _MOST_COMMANDS:
        return list(commands)
    runs = [run for rows in _lengths(commands) if (run := _best_run(commands, rows, kept, final)) is not None]
    best = max(runs, key=lambda run: run.saved, default=None)
    if best is None:
        return list(commands)
    # path: tiles
    rest = tiled(best.after, {*kept, *best.touched, *best.touched_before}, final)
    return [*best.before, best.command(), *best.sums_of_chunks(), *rest]


def _best_run(
    commands: Sequence[Any], rows: int, kept: Iterable[Any], final: Callable[[Any], Any]
) -> Run | None:
    """The run through so many rows with the longest blocks that fit into a tile; None if it does not pay."""
    for longest_block in _LONGEST_BLOCKS:
        run = Run(rows, longest_block, final)
        for command in commands:
            run.place(command)
        run.finish(set(map(final, kept)))
        if run.saved < SAVED:
            return None
        if run.tile():
            return run
    return None


def _lengths(commands: Sequence[Any]) -> list[int]:
    """How many rows there may be."""
    found: dict[int, float] = {}
    for command in commands:
        if isinstance(command, Launch) and len(command.kernel.lengths) > 1:
            found[command.kernel.lengths[0]] = found.get(command.kernel.lengths[0], 0) + command.kernel.size
        elif isinstance(command, Call):
            found[command.product.rows] = found.get(command.product.rows, 0) + command.product.size
    likely = sorted((rows for rows in found if rows >= FEWEST_ROWS), key=lambda rows: -found[rows])
    return likely[:3]
