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

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.compiler.llvm.build import Launch
from pullback.compiler.llvm.commands import Call
from pullback.compiler.llvm.tile_runs import Run

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
