"""Halo exchange: blocks with the rows of their neighbours around them, and its transpose, which folds rows back."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pullback.core.records import field
from pullback.distributed._moves import Array, Move, Shape, replaced

ENDS = ("periodic", "open", "constant", "edge")


def _rows(x: Array, axis: int, low: int | None, high: int | None) -> Array:
    return x[(*(slice(None),) * axis, slice(low, high))]


class _Neighbours(Move, frozen=True):
    """What both directions share: who is next to whom, and how many rows go where.

    `low` and `high` are the rows that are added below and above, `ends` what stands beyond the first and the last rank.
    """

    axis: int = 0
    low: int = 1
    high: int = 1
    ends: tuple[str, str] = ("periodic", "periodic")
    fill: complex = 0

    def details(self) -> str:
        """Axis, widths and ends."""
        return f"axis {self.axis}, width ({self.low}, {self.high}), {'/'.join(self.ends)}"

    def agreed(self, shape: Shape) -> str:
        """All but the length along the axis."""
        return str(list(replaced(shape, self.lead + self.axis, "*"))).replace("'", "")  # type: ignore[arg-type]

    @property
    def below(self) -> int | None:
        """The lower neighbour."""
        rank, size = self.comm.rank, self.comm.size
        return rank - 1 if rank else size - 1 if self.ends[0] == "periodic" else None

    @property
    def above(self) -> int | None:
        """The upper neighbour."""
        rank, size = self.comm.rank, self.comm.size
        return rank + 1 if rank < size - 1 else 0 if self.ends[1] == "periodic" else None

    @property
    def added(self) -> tuple[int, int]:
        """How many rows this rank's block gets below and above."""
        low = 0 if self.below is None and self.ends[0] == "open" else self.low
        high = 0 if self.above is None and self.ends[1] == "open" else self.high
        return low, high


class HaloExchange(_Neighbours, frozen=True):
    """The block with rows of the neighbours around it."""

    name: ClassVar[str] = "halo_exchange"

    def refusal(self, shape: Shape) -> str | None:
        """Why a block of this shape cannot be exchanged."""
        length, axis = shape[self.lead + self.axis], self.axis
        for width, neighbour in ((self.low, self.above), (self.high, self.below)):
            if neighbour is not None and length < width:
                return (
                    f"halo_exchange: rank {self.comm.rank} of {self.comm.name} has {length} rows along axis {axis}, "
                    f"and its neighbour rank {neighbour} needs {width} of them: the width is larger than the block"
                )
        if not length and "edge" in (self.ends[0] if self.below is None else "", self.ends[1] if self.above is None
                                     else ""):  # fmt: skip
            return f"halo_exchange: rank {self.comm.rank} has no row along axis {axis} that an edge could repeat"
        return None

    def shape(self, shape: Shape) -> Shape:
        """Longer along the axis."""
        at = self.lead + self.axis
        return replaced(shape, at, shape[at] + sum(self.added))

    def messages(self, x: Array) -> tuple[list[Any], list[Any]]:
        """What is sent, and what is wanted."""
        at, below, above = self.lead + self.axis, self.below, self.above
        sends: list[Any] = []
        wanted: list[Any] = []
        if above is not None and self.low:
            sends.append((above, _rows(x, at, x.shape[at] - self.low, None), 0))
        if below is not None and self.high:
            sends.append((below, _rows(x, at, 0, self.high), 1))
        if below is not None and self.low:
            wanted.append((below, replaced(x.shape, at, self.low), x.dtype, 0))
        if above is not None and self.high:
            wanted.append((above, replaced(x.shape, at, self.high), x.dtype, 1))
        return sends, wanted

    def run(self, wire: Any, x: Array) -> Array:
        """Send the outer rows, and put those that came around the block."""
        return self.around(x, wire.exchange(*self.messages(x)))

    def around(self, x: Array, came: list[Array]) -> Array:
        """The block with the rows that came around it."""
        at, below, above, low = self.lead + self.axis, self.below, self.above, self.added[0]
        found = iter(came)
        out = np.empty(self.shape(x.shape), x.dtype)
        _rows(out, at, low, low + x.shape[at])[...] = x
        for rows, neighbour, end, edge in (
            (_rows(out, at, 0, low), below, self.ends[0], _rows(x, at, 0, 1)),
            (_rows(out, at, low + x.shape[at], None), above, self.ends[1], _rows(x, at, x.shape[at] - 1, None)),
        ):
            if rows.shape[at]:
                rows[...] = next(found) if neighbour is not None else edge if end == "edge" else self._filling()
        return out

    def _filling(self) -> complex:
        return self.fill.real if self.fill.imag == 0 else self.fill

    def tangent(self) -> Move:
        """Tangents of what is filled in are zero."""
        return HaloExchange(self.comm, self.lead, "t" + self.way, False, self.label, self.site, self.axis, self.low,
                            self.high, self.ends)  # fmt: skip

    def transposed(self, shape: Shape) -> Move:
        """Rows go back to where they came from, and are added there."""
        return self._turned(HaloFold, axis=self.axis, low=self.low, high=self.high, ends=self.ends)


class HaloWait(HaloExchange, frozen=True):
    """The second half of an exchange that was started: it waits for the rows, and puts them around the block."""

    begun: Any = field(default_factory=lambda: None, compare=False)

    name: ClassVar[str] = "halo_wait"
    is_local: ClassVar[bool] = True  # it was announced when it was started

    def run(self, wire: Any, x: Array) -> Array:
        """Wait for the rows."""
        return self.around(x, self.begun.wait())


class HaloFold(_Neighbours, frozen=True):
    """The transpose: rows that were the neighbours' are cut off, and added to the rows of theirs."""

    name: ClassVar[str] = "halo_fold"

    def shape(self, shape: Shape) -> Shape:
        """Shorter along the axis."""
        at = self.lead + self.axis
        return replaced(shape, at, shape[at] - sum(self.added))

    def run(self, wire: Any, x: Array) -> Array:
        """Send what belongs to neighbours, and add what comes from them."""
        at, below, above, (low, high) = self.lead + self.axis, self.below, self.above, self.added
        length = x.shape[at] - low - high
        lower, upper = _rows(x, at, 0, low), _rows(x, at, low + length, None)
        sends, wanted = [], []
        if below is not None and self.low:
            sends.append((below, lower, 0))
        if above is not None and self.high:
            sends.append((above, upper, 1))
        if above is not None and self.low:
            wanted.append((above, replaced(x.shape, at, self.low), x.dtype, 0))
        if below is not None and self.high:
            wanted.append((below, replaced(x.shape, at, self.high), x.dtype, 1))
        found = iter(wire.exchange(sends, wanted))
        out = np.array(_rows(x, at, low, low + length), order="C")
        if above is not None and self.low:
            _rows(out, at, length - self.low, None)[...] += next(found)
        if below is not None and self.high:
            _rows(out, at, 0, self.high)[...] += next(found)
        if below is None and self.ends[0] == "edge":
            _rows(out, at, 0, 1)[...] += lower.sum(at, keepdims=True)
        if above is None and self.ends[1] == "edge":
            _rows(out, at, length - 1, None)[...] += upper.sum(at, keepdims=True)
        return out

    def transposed(self, shape: Shape) -> Move:
        """The exchange of rows; nothing is filled in."""
        return self._turned(HaloExchange, axis=self.axis, low=self.low, high=self.high, ends=self.ends)
