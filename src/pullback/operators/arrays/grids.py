"""Constants to compute with: positions in arrays, coordinate grids, windows, and tensors from memory and functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import inverse_permutation, normalize_shape
from pullback.declare.composite import composite
from pullback.operators.arguments import constant, every_value, plain, tensor_from
from pullback.operators.arrays.creation import asarray, finished, get_default_dtype, linspace, meshgrid
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import permute_dims
from pullback.operators.arrays.padding import pad_constant
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.scatter import take
from pullback.operators.elementwise.casting import astype, copy
from pullback.tensors.tensor import Tensor, from_outside

# Positions.


@composite(arrays=0)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Positions along each axis, or masks, shaped so that together they index their grid: `x[ix_(rows, columns)]`."""
    parts = [plain("ix_", tensor_from(arg)) for arg in args]
    for part in parts:
        if part.size and part.dtype.kind not in "biu":
            raise TypeError(f"ix_: positions are integers or truth values, got {part.dtype}")
    return tuple(constant(part) for part in np.ix_(*parts))


def _of_matrix(name: str, find: Callable[..., Any], doc: str) -> None:
    def function(x: Any, k: int = 0) -> tuple[Any, ...]:
        if x.ndim != 2:
            raise ValueError(f"{name}: expected a matrix, got {x.ndim} axes")
        return tuple(constant(part) for part in find(x.shape[0], k, x.shape[1]))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    composite(function, method=False)


_of_matrix("tril_indices_from", np.tril_indices, "The positions on and below the `k`-th diagonal of the matrix `x`.")
_of_matrix("triu_indices_from", np.triu_indices, "The positions on and above the `k`-th diagonal of the matrix `x`.")


@composite(method=False)
def diag_indices_from(x: Any) -> tuple[Any, ...]:
    """The positions on the main diagonal of an array whose axes are equally long."""
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ValueError(f"diag_indices_from: expected two axes or more of one length, got {x.shape}")
    return tuple(constant(part) for part in np.diag_indices(x.shape[0], x.ndim))


@composite(arrays=0)
def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Any, ...]:
    """The positions that `mask_func(matrix, k)` leaves other than 0 in a matrix of `n` rows and columns."""
    masked = mask_func(finished(np.ones((n, n), np.int64)), k)
    return tuple(constant(part) for part in plain("mask_indices", masked).nonzero())


@composite(method=False)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """Positions in a flat array as positions along the axes of an array of this shape."""
    found = np.unravel_index(plain("unravel_index", indices), normalize_shape(shape), order)
    return tuple(constant(part) for part in found)


@composite(arrays=0)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Positions along the axes of an array as positions in the flat array."""
    parts = tuple(plain("ravel_multi_index", tensor_from(part)) for part in multi_index)
    return constant(np.ravel_multi_index(parts, normalize_shape(dims), mode, order))


class _Grid:
    """Coordinates of a grid by subscripts: `mgrid[0:3, 0:1:5j]` as in NumPy."""

    def __init__(self, source: Any, doc: str) -> None:
        self._source = source
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        found = self._source[key]
        return tuple(constant(part) for part in found) if isinstance(found, tuple) else constant(found)


subscripted: dict[str, Any] = {
    "mgrid": _Grid(np.mgrid, "Coordinates of every point of a grid, one array per axis: `mgrid[0:3, 0:1:5j]`."),
    "ogrid": _Grid(np.ogrid, "Coordinates along the axes of a grid, to be broadcast: `ogrid[0:3, 0:1:5j]`."),
}
"""Public objects that are subscripted rather than called."""

# Windows.


def _window(name: str, values: Callable[..., Any], doc: str) -> None:
    def function(M: int) -> Tensor:
        return finished(values(M).astype(get_default_dtype(), copy=False))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    composite(function, arrays=0)


_window("bartlett", np.bartlett, "A triangle of `M` points that is 0 at both ends.")
_window("blackman", np.blackman, "The Blackman window of `M` points: three cosines, nearly 0 at both ends.")
_window("hamming", np.hamming, "The Hamming window of `M` points: a raised cosine that is 0.08 at both ends.")
_window("hanning", np.hanning, "The Hann window of `M` points: a raised cosine that is 0 at both ends.")


@composite(arrays=0)
def kaiser(M: int, beta: float) -> Tensor:
    """The Kaiser window of `M` points, the narrower the larger `beta` is."""
    return finished(np.kaiser(M, beta).astype(get_default_dtype(), copy=False))


# From memory and from functions.


@composite(arrays=0, name="range")
def closed_range(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """The numbers from `start` up to and including `end`, `step` apart, as real numbers unless `dtype` says otherwise.

    `arange` excludes the end, as Python's `range` does.
    """
    start, end = (0, start) if end is None else (start, end)
    count = max(math.floor((end - start) / step + 1e-9) + 1, 0)
    values = start + step * np.arange(count)
    return finished(values.astype(get_default_dtype() if dtype is None else dtype), None, requires_grad)


@composite(arrays=0)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of this shape with whatever was in memory, whose axes lie in memory in the order `physical_layout`."""
    shape, layout = normalize_shape(size), normalize_shape(physical_layout)
    if sorted(layout) != list(range(len(shape))):
        raise ValueError(f"empty_permuted: {layout} is not an order of {len(shape)} axes")
    memory = np.empty([shape[k] for k in layout], get_default_dtype() if dtype is None else dtype)
    return finished(memory.transpose(inverse_permutation(layout)), device, requires_grad)


@composite(arrays=0)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of this shape with whatever was in memory, and this many elements from one to the next by axis."""
    shape, steps = normalize_shape(size), normalize_shape(stride)
    if len(shape) != len(steps) or min(steps, default=0) < 0:
        raise ValueError(f"empty_strided: strides {steps} do not fit the shape {shape}")
    kind = np.dtype(get_default_dtype() if dtype is None else dtype)
    reach = sum((length - 1) * step for length, step in zip(shape, steps, strict=True)) + 1 if 0 not in shape else 0
    memory = np.empty(max(reach, 0), kind)
    view = np.lib.stride_tricks.as_strided(memory, shape, [step * kind.itemsize for step in steps])
    return finished(view, device, requires_grad)


@composite(method=False)
def require(x: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """`x` with this dtype and in memory as required: "C" or "F" for the order, "O" or "W" for memory of its own."""
    wanted = {str(each).upper()[0] for each in (requirements or ())}
    if wanted - set("CFAOWE") or {"C", "F"} <= wanted:
        raise ValueError(f"require: cannot have all of {requirements}")
    x = x if dtype is None else astype(x, dtype, copy=False)
    flags = x._data.flags
    for letter, is_so in (("C", flags.c_contiguous), ("F", flags.f_contiguous)):
        if letter in wanted and not is_so:
            return copy(x, order=letter)
    needs_own = ("O" in wanted and not flags.owndata) or ("W" in wanted and not flags.writeable)
    return copy(x, order="K") if needs_own or ("A" in wanted and not flags.aligned) else x


@composite(arrays=0)
def asarray_chkfinite(data: Any, dtype: Any = None) -> Tensor:
    """`asarray(data)`; an error if an element is infinite or NaN."""
    out = asarray(data, dtype)
    if out.dtype.kind in "fc" and not bool(np.isfinite(every_value(out)).all()):
        raise ValueError("asarray_chkfinite: the array must not contain infinities or NaN")
    return out


@composite(arrays=0)
def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = np.float64, **kwargs: Any) -> Any:
    """What a function gives for the coordinates of every place of an array of this shape, one argument per axis."""
    lengths = normalize_shape(shape)
    return function(*(finished(part) for part in np.indices(lengths, dtype)), **kwargs)


@composite(arrays=0)
def fromiter(iterable: Any, dtype: Any, count: int = -1) -> Tensor:
    """A vector of the numbers that an iterable gives."""
    return finished(np.fromiter(iterable, dtype, count))


@composite(arrays=0)
def frombuffer(buffer: Any, dtype: Any = np.float64, count: int = -1, offset: int = 0) -> Tensor:
    """A vector on the memory of a buffer, which is shared."""
    return from_outside(finished(np.frombuffer(buffer, dtype, count, offset)))


@composite(arrays=0)
def fromstring(string: str, dtype: Any = np.float64, count: int = -1, *, sep: str) -> Tensor:
    """A vector of the numbers in a text, which `sep` separates."""
    return finished(np.fromstring(string, dtype, count, sep=sep))


@composite(arrays=0)
def fromfile(file: Any, dtype: Any = np.float64, count: int = -1, sep: str = "", offset: int = 0) -> Tensor:
    """A vector of the numbers in a file: binary, or with `sep` as text."""
    return finished(np.fromfile(file, dtype, count, sep, offset))


# Arrays put together of others: `block_diag`, `r_` and `c_`, products and choices of the elements of vectors.

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

    def __getitem__(self, key: Any) -> Tensor:
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
            piece.__class__() if piece.__class__ in (int, float, complex) else part.dtype
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


subscripted |= {
    "r_": Joined(0, 1, -1, "Arrays, numbers and ranges one after the other along the first axis: `r_[x, 0, 1:4]`."),
    "c_": Joined(-1, 2, 0, "Arrays side by side along the last axis, vectors as columns: `c_[x, y]`."),
}
"""Public objects that are subscripted rather than called."""
