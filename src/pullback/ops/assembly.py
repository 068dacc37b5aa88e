"""Arrays put together of others: `block_diag`, `r_` and `c_`, products and choices of the elements of vectors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.ops.casting import astype
from pullback.ops.creation import linspace, meshgrid
from pullback.ops.joining import concat, stack
from pullback.ops.movement import permute_dims
from pullback.ops.padding import pad_constant
from pullback.ops.plain import constant, tensor_from
from pullback.ops.reshaping import reshape
from pullback.ops.scatter import take


@composite(arrays=0)
def block_diag(*arrays: Any) -> Any:
    """The matrix with these matrices along its diagonal and 0 elsewhere; a vector is a row, a number one by one."""
    blocks = []
    for x in map(tensor_from, arrays):
        if x.ndim > 2:
            raise ValueError(f"block_diag: expected matrices, got an array with {x.ndim} axes")
        blocks.append(reshape(x, (1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x)
    if not blocks:
        return constant(np.zeros((1, 0)))
    ends = np.cumsum([x.shape[1] for x in blocks]).tolist()
    rows = [
        pad_constant(x, 0, widths=((0, 0), (end - x.shape[1], ends[-1] - end)))
        for x, end in zip(blocks, ends, strict=True)
    ]
    return concat(rows, 0)


@composite(arrays=0)
def cartesian_prod(*vectors: Any) -> Any:
    """All ways to choose one element of each vector, one per row; of a single vector, itself."""
    parts = [tensor_from(x) for x in vectors]
    if not parts or any(x.ndim != 1 for x in parts):
        raise ValueError("cartesian_prod: expected one or more vectors")
    if len(parts) == 1:
        return parts[0]
    grids = meshgrid(*parts, indexing="ij")
    count = math.prod(x.shape[0] for x in parts)
    return stack([reshape(grid, (count,)) for grid in grids], 1)


@composite
def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of `r` elements of a vector in its own order, one per row; with replacement also repeated ones."""
    if x.ndim != 1:
        raise ValueError(f"combinations: expected a vector, got {x.ndim} axes")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(x.shape[0]), r))
    places = np.array(rows, np.int64).reshape(len(rows), r)
    return reshape(take(x, places.reshape(-1)), places.shape)


class Joined:
    """Pieces joined by subscripts, as NumPy's `r_` and `c_` do: `r_[0, x, 1:4, 0:1:5j]`.

    A piece is an array, a number, or a slice for a range (with an imaginary step: that many points up to the end).
    """

    def __init__(self, axis: int, ndmin: int, place: int, doc: str) -> None:
        self._axis = axis
        self._ndmin = ndmin
        self._place = place
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        pieces = key if isinstance(key, tuple) else (key,)
        axis, ndmin, place = self._axis, self._ndmin, self._place
        if pieces and isinstance(pieces[0], str):
            axis, ndmin, place = self._directive(pieces[0])
            pieces = pieces[1:]
        if any(isinstance(piece, str) for piece in pieces):
            raise ValueError("r_: only the first piece can be a string that says how to join the others")
        parts = [_range(piece) if isinstance(piece, slice) else tensor_from(piece) for piece in pieces]
        # Python's numbers do not widen the dtype of arrays, here as elsewhere.
        known = [
            piece if type(piece) in (int, float, complex) else part.dtype
            for piece, part in zip(pieces, parts, strict=True)
        ]
        dtype = np.result_type(*known)
        parts = [astype(part, dtype) if part.dtype != dtype else part for part in parts]
        return concat([_raised(part, ndmin, place) for part in parts], axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        """What "axis", "axis,ndmin" or "axis,ndmin,place" ask for."""
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ValueError(f"r_: {text!r} is not one to three integers; there is no matrix type, use reshape")
        axis, ndmin, place = (*numbers, *(self._axis, self._ndmin, self._place)[len(numbers) :])
        return axis, ndmin, place


def _range(piece: slice) -> Any:
    start, step = 0 if piece.start is None else piece.start, 1 if piece.step is None else piece.step
    if isinstance(step, complex):
        return linspace(start, piece.stop, int(abs(step)))
    return constant(np.arange(start, piece.stop, step))


def _raised(x: Any, ndmin: int, place: int) -> Any:
    """`x` with at least `ndmin` axes; its own begin at `place` of them, or come last if that is -1."""
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    own = x.ndim
    x = reshape(x, (1,) * missing + x.shape)
    if place == -1:
        return x
    first = place + missing + 1 if place < 0 else place
    # The axes of `x` go to `first`; those of length 1 fill the places before and after.
    order = [*range(first), *range(missing, ndmin), *range(first, missing)]
    return permute_dims(x, tuple(order)) if own else x


subscripted: dict[str, Any] = {
    "r_": Joined(0, 1, -1, "Arrays, numbers and ranges one after the other along the first axis: `r_[x, 0, 1:4]`."),
    "c_": Joined(-1, 2, 0, "Arrays side by side along the last axis, vectors as columns: `c_[x, y]`."),
}
"""Public objects that are subscripted rather than called."""
