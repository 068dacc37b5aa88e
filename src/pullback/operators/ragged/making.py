"""Ragged tensors from lists, values and offsets, padded arrays; and back. What `pb.nested` has, and members."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.operators.arrays.creation import asarray
from pullback.operators.arrays.index_operators import ARRAY, basic_view, index_add_to_zeros
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.segments import pad_rows, unpad_rows
from pullback.operators.elementwise.comparison import where
from pullback.operators.ragged import indexing, mapped, rows, shapes
from pullback.operators.ragged.parts import (
    memory,
    mismatch,
    on_rows_of,
    packed,
    ragged,
    ragged_of,
    ragged_values,
    refuse,
)
from pullback.operators.ragged.rows import in_memory
from pullback.payloads.devices import is_foreign, taken_over
from pullback.payloads.operators import bind_operators
from pullback.payloads.ragged.array import RaggedArray, refuse_holes
from pullback.payloads.ragged.offsets import Offsets, RaggedSize, refuse_offsets
from pullback.payloads.ragged.row import RowArray
from pullback.tensors.tensor import Tensor, wrap

__all__ = ["RaggedSize", "indexing", "mapped", "rows", "shapes"]


def _read(payload: Any, index: Any) -> Any:
    if isinstance(index, (int, np.integer)):
        return indexing.row_of(payload, operator.index(index))
    parts = index if isinstance(index, tuple) else (index,)
    return indexing.basic_ragged(payload, index=parts if Ellipsis in parts else (*parts, ...))


def _store(payload: Any, index: Any, value: Any) -> None:
    if index is not Ellipsis or ragged_of(value) is None:
        raise refuse("x[index] = v on a payload", "writes go through tensors", "write to the tensor", payload.shape)
    payload.values[...] = packed(value)


def _read_row(payload: Any, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    return basic_view(payload, index=parts if Ellipsis in parts else (*parts, ...))


def restored(*parts: Any) -> RaggedArray:
    """A ragged array that was pickled."""
    return RaggedArray(*parts)


bind_operators(RaggedArray, _read, _store)
bind_operators(RowArray, _read_row, _store)
RaggedArray.restore = staticmethod(restored)


def _plain(x: Any, what: str) -> Any:
    """Integers as an array of the host's; what a trace or a batch has in their place as it is."""
    payload = x._data if isinstance(x, Tensor) else taken_over(x) if is_foreign(x) else x
    if hasattr(type(payload), "downloaded"):
        return payload.plain_values(what)  # rows are cut on the host, wherever their elements lie
    if isinstance(payload, np.ndarray) or hasattr(type(payload), "evaluate_op"):
        return payload
    array = np.asarray(payload)
    return array.astype(np.int64) if array.size == 0 else array


def _lengths(lengths: Any) -> Any:
    lengths = _plain(lengths, "lengths")
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths.size and lengths.min() < 0):
        raise refuse_offsets(f"lengths are {lengths.dtype}{list(lengths.shape)}", "they are integers, none negative")
    return lengths


# From rows.


def _joined(given: Iterable[Any], copy: bool, dtype: Any) -> tuple[Any, Any]:
    """Rows one below the other, and their lengths."""
    arrays = [row if isinstance(row, Tensor) else asarray(np.asarray(row, dtype)) for row in given]
    if not arrays:
        return asarray(np.zeros((0,), dtype or np.float64)), np.zeros(0, np.int64)
    if any(row.ndim == 0 for row in arrays):
        raise ValueError("nested: a row has no axes; rows are arrays of shape (n, ...)")
    rest = next((row.shape[1:] for row in arrays if row.size), arrays[0].shape[1:])
    for number, row in enumerate(arrays):
        if row.shape[1:] != rest:
            if row.size or row.ndim != 1:
                raise ValueError(f"nested: row {number} has shape {row.shape}, and others end in {rest}")
            arrays[number] = row.reshape((0, *rest))
    values = concat(arrays, axis=0)
    return (values if dtype is None else values.astype(dtype)), np.array([row.shape[0] for row in arrays], np.int64)


def _offsets_like(lengths: Any, like: Any) -> Offsets:
    if like is None:
        return Offsets.from_lengths(lengths)
    own = needed(like, "offsets_like")
    if not np.array_equal(own.offsets.lengths, lengths):
        raise refuse_offsets("the rows have other lengths than those of offsets_like", "they would share its offsets")
    return own.offsets


def needed(x: Any, name: str) -> RaggedArray:
    own = ragged_of(x)
    if own is None:
        raise TypeError(f"{name}: a ragged tensor is wanted, got {type(x).__name__}; pb.nested.nested(rows) makes one")
    return own


@composite(name="nested.nested", arrays=0)
def nested(rows: Sequence[Any], *, offsets_like: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A ragged tensor with copies of these rows, each of shape `(n, *rest)` with an `n` of its own: a new leaf.

    `offsets_like` is a ragged tensor whose rows have the same lengths, with which the result is to be combined.
    """
    plain = [row.detach() if isinstance(row, Tensor) else row for row in rows]
    values, lengths = _joined(plain, True, dtype)
    payload = RaggedArray(np.array(values._data), _offsets_like(lengths, offsets_like))
    out = wrap(payload)
    return out.requires_grad_() if requires_grad else out


@composite(name="nested.as_nested", arrays=0)
def as_nested(rows: Sequence[Any], *, offsets_like: Any = None) -> Tensor:
    """A ragged tensor of these rows, differentiable in the tensors among them."""
    values, lengths = _joined(rows, False, None)
    return ragged(values, offsets=_offsets_like(lengths, offsets_like))


@composite(name="nested.from_values", arrays=0)
def from_values(values: Any, offsets: Any = None, lengths: Any = None, ragged_axis: int = 1) -> Tensor:
    """Rows of `values` as a ragged tensor that shares its memory: row `i` is `values[offsets[i]:offsets[i + 1]]`.

    Give `offsets`, or the `lengths` of the rows. The same array of offsets makes tensors that can be combined.
    """
    if (offsets is None) == (lengths is None):
        raise TypeError("nested.from_values: give offsets or lengths, one of them")
    values = asarray(values)
    if values.ndim == 0 or not 1 <= ragged_axis <= values.ndim:
        raise ValueError(f"nested.from_values: ragged_axis {ragged_axis} does not fit values of {values.ndim} axes")
    total = values.shape[0]
    if offsets is None:
        record = Offsets.from_lengths(_lengths(lengths))
        if record.total != total:
            what = f"lengths add up to {record.total}, and there are {total} elements"
            raise refuse_offsets(what, "rows use all of them")
    else:
        record = offsets if isinstance(offsets, Offsets) else Offsets.of(_plain(offsets, "offsets"), total)
    return ragged(values, offsets=record, axis=ragged_axis)


# Padded arrays.


@composite(name="nested.from_padded", arrays=0)
def from_padded(x: Any, lengths: Any = None, mask: Any = None) -> Tensor:
    """The first `lengths[i]` elements of every row of a dense `(B, n, *rest)`; the others get gradient 0.

    A `mask` of shape `(B, n)` in place of lengths is True for these, which come first in every row.
    """
    x = asarray(x)
    if (lengths is None) == (mask is None):
        raise TypeError("nested.from_padded: give lengths or mask, one of them")
    if x.ndim < 2:
        raise ValueError(f"nested.from_padded: a padded array has rows and elements, got shape {x.shape}")
    if mask is not None:
        truth = np.asarray(mask._data if isinstance(mask, Tensor) else mask)
        if truth.shape != x.shape[:2] or truth.dtype != np.bool_:
            raise refuse_offsets(f"the mask is {truth.dtype}{list(truth.shape)}", f"it is bool{list(x.shape[:2])}")
        lengths = truth.sum(1)
        wrong = np.flatnonzero((truth != (np.arange(truth.shape[1]) < lengths[:, None])).any(1))
        if len(wrong):
            raise refuse_offsets(f"the mask of row {wrong[0]} has a hole", "the elements of a row come first")
    lengths = _lengths(lengths)
    if len(lengths) != x.shape[0] or (lengths.size and lengths.max() > x.shape[1]):
        raise refuse_offsets(f"lengths do not fit rows of {x.shape[1]} elements", "there are as many rows, none longer")
    record = Offsets.from_lengths(lengths)
    return ragged(unpad_rows(x, record.array, total=record.total), offsets=record)


def _padded_size(name: str, own: RaggedArray, size: int | None) -> int:
    if size is not None and not own.offsets.is_known:
        return size
    longest = own.offsets.max
    if size is not None and size < longest:
        raise ValueError(f"{name}: size {size} is too short: the longest row has {longest} elements")
    return longest if size is None else size


def to_padded(self: Tensor, fill: float = 0.0, size: int | None = None) -> Tensor:
    """The rows as a dense tensor with `fill` behind the shorter ones; `size` is at least the longest length."""
    own = needed(self, "to_padded")
    size = _padded_size("to_padded", own, size)
    out = pad_rows(packed(self), own.offsets.array, size=size)
    if fill != 0:
        truth = padding_mask(self, size).reshape((own.offsets.count, size, *(1,) * (out.ndim - 2)))
        out = where(truth, out, np.asarray(fill, out.dtype))
    return out.moveaxis(1, own.axis) if own.axis > 1 else out


def padding_mask(self: Tensor, size: int | None = None) -> Tensor:
    """Where rows have elements, once they are padded: truth values of shape `(B, size)`."""
    # Not `mask`: by that name SciPy knows masked arrays.
    own = needed(self, "padding_mask")
    size = _padded_size("padding_mask", own, size)
    return as_operand(np.arange(size)) < as_operand(own.offsets.lengths).reshape((own.offsets.count, 1))


# Parts of rows.


@composite(name="nested.narrow", arrays=0)
def narrow(x: Any, starts: Any, lengths: Any) -> Tensor:
    """`lengths[i]` elements from `starts[i]` on of every row of a ragged, or dense `(B, n, ...)`, tensor: a view."""
    if ragged_of(x) is None:
        x = asarray(x)
        count, length = x.shape[:2]
        x = from_values(x.reshape((count * length, *x.shape[2:])), lengths=np.full(count, length))
    own = needed(x, "nested.narrow")
    starts, lengths = _plain(starts, "starts"), _lengths(lengths)
    own_lengths = own.offsets.known("narrow").lengths
    if len(starts) != len(lengths) or len(lengths) != own.offsets.count:
        what = f"there are {len(starts)} starts and {len(lengths)} lengths"
        raise refuse_offsets(what, f"there is one for each of {own.offsets.count} rows")
    wrong = np.flatnonzero((starts < 0) | (starts + lengths > own_lengths))
    if len(wrong):
        row = wrong[0]
        end = starts[row] + lengths[row]
        raise IndexError(f"nested.narrow: {starts[row]} to {end} of row {row}, which has {own_lengths[row]} elements")
    begins = (own.offsets.array[:-1] if own.starts is None else own.starts) + starts
    begins.flags.writeable = False
    offsets = own.offsets.part(("lengths", lengths.astype(np.int64).tobytes()), lengths)
    return ragged(memory(x), offsets=offsets, axis=own.axis, starts=begins)


@composite(name="nested.take_along_row", arrays=0)
def take_along_row(x: Any, index: Any) -> Tensor:
    """The elements at positions in their rows: `index` is ragged, and row `i` of it counts in row `i` of `x`."""
    own, chosen = needed(x, "take_along_row"), needed(index, "take_along_row")
    if chosen.ndim < own.ndim:
        index = index[(..., *(None,) * (own.ndim - chosen.ndim))]
    return rows.gather_ragged(x, index, axis=own.axis, distinct=False)


@composite(name="nested.scatter_add", arrays=0)
def scatter_add(x: Any, index: Any, source: Any) -> Tensor:
    """`x` with the elements of `source` added at positions in their rows."""
    own, chosen, given = (needed(each, "scatter_add") for each in (x, index, source))
    if given.offsets is not chosen.offsets or chosen.ndim != 2 or own.offsets.count != chosen.offsets.count:
        raise mismatch("scatter_add", chosen.shape, given.shape, "every element of source has a position",
                       "give index (B, i) and source (B, i, ...) with the same offsets")  # fmt: skip
    places = in_memory(own, chosen, packed(index))
    values = packed(x)
    return on_rows_of(
        values + index_add_to_zeros(packed(source), places, template=(ARRAY,), shape=values.shape, distinct=False), own
    )


# Functions of segments: values and offsets, without a ragged tensor to be seen.


@composite(name="nested.segment_sum", arrays=0)
def segment_sum(values: Any, offsets: Any, num: int | None = None) -> Tensor:
    """The sum of every segment. With `num`, the second argument has the number of its segment for every element."""
    if num is None:
        return from_values(values, offsets).sum(1)
    ids = _plain(offsets, "ids")
    values = asarray(values)
    if ids.shape != values.shape[:1] or ids.dtype.kind not in "iu":
        raise refuse_offsets(f"ids are {ids.dtype}{list(ids.shape)}", "every element has the number of its segment")
    if ids.size and (ids.min() < 0 or ids.max() >= num):
        raise IndexError(f"nested.segment_sum: ids from {ids.min()} to {ids.max()} do not fit {num} segments")
    return index_add_to_zeros(
        values, ids, template=(ARRAY,), shape=(operator.index(num), *values.shape[1:]), distinct=False
    )


@composite(name="nested.segment_mean", arrays=0)
def segment_mean(values: Any, offsets: Any) -> Tensor:
    """The mean of every segment; NaN of an empty one."""
    return from_values(values, offsets).mean(1)


@composite(name="nested.segment_max", arrays=0)
def segment_max(values: Any, offsets: Any) -> Tensor:
    """The largest element of every segment; an empty one is an error."""
    return from_values(values, offsets).amax(1)


@composite(name="nested.segment_logsumexp", arrays=0)
def segment_logsumexp(values: Any, offsets: Any) -> Tensor:
    """`log(sum(exp(values)))` of every segment; -inf of an empty one."""
    return from_values(values, offsets).logsumexp(1)


@composite(name="nested.segment_softmax", arrays=0)
def segment_softmax(values: Any, offsets: Any) -> Tensor:
    """Softmax within every segment, in the shape of `values`."""
    return packed(from_values(values, offsets).softmax(1))


# Members of `Tensor`.


def values(self: Tensor) -> Tensor:
    """The rows of a ragged tensor, one below the other: a view of shape `(total, *rest)`."""
    own = needed(self, "values")
    if own.starts is not None:
        raise refuse_holes(f"values() of a ragged tensor {list(own.shape)} whose rows have gaps between them")
    return ragged_values(self)


def _with_attribute(x: Tensor, name: str) -> RaggedArray:
    """The payload of a ragged tensor; others have no such attribute."""
    own = ragged_of(x)
    if own is None:
        raise AttributeError(f"a dense tensor has no {name}: only ragged ones have, which pb.nested makes")
    found: RaggedArray = own
    return found


def offsets(self: Tensor) -> Tensor:
    """Where the rows of a ragged tensor begin in its values, and where the last ends."""
    return wrap(_with_attribute(self, "offsets").offsets.array)


def lengths(self: Tensor) -> Tensor:
    """The lengths of the rows of a ragged tensor."""
    return wrap(needed(self, "lengths").offsets.lengths)


def with_offsets_of(self: Tensor, other: Tensor) -> Tensor:
    """The same rows with the offsets of `other`, so that both can be combined. The lengths are compared, once."""
    own, given = needed(self, "with_offsets_of"), needed(other, "with_offsets_of")
    if own.offsets is given.offsets:
        return self
    if not np.array_equal(own.offsets.known("offsets").array, given.offsets.known("offsets").array):
        raise mismatch("with_offsets_of", own.shape, given.shape, "their rows have different lengths",
                       "tensors whose rows have the same lengths can be combined")  # fmt: skip
    return ragged(packed(self), offsets=given.offsets, axis=own.axis)


def row_labels(self: Tensor) -> Any:
    """What the rows are called, as `nested.from_groupby` found it; None if nothing is known."""
    return _with_attribute(self, "row_labels").row_labels


members: dict[str, Any] = {
    "lengths": lengths, "offsets": property(offsets), "padding_mask": padding_mask, "row_labels": property(row_labels),
    "to_padded": to_padded, "values": values, "with_offsets_of": with_offsets_of,
}  # fmt: skip
"""Members of `Tensor`."""
