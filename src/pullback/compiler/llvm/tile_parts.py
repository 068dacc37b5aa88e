"""Parts of tiles: what `Run` chooses, as `tile_text.py` writes it. See `tiles.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.compiler.llvm.build import Launch
from pullback.compiler.llvm.columns import Columns
from pullback.compiler.llvm.commands import Call
from pullback.compiler.llvm.kernel import (
    Kernel,
    Read,
    Reduce,
    Reference,
    Scratch,
    Write,
    arranged,
)
from pullback.compiler.llvm.text import width_of

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
