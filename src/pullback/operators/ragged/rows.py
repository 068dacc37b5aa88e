"""Operators along rows that have a way of their own: sums and what is made of them, sorts, products, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.einsum import split
from pullback.declare.op import Op
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.order_operators import (
    insertion_points,
    leading_positions,
    middle,
    sorted_values,
    sorting_order,
)
from pullback.operators.arrays.rearranging import flip, roll_axes
from pullback.operators.arrays.scatter import gather_elements, take_rows
from pullback.operators.arrays.segments import (
    row_cumsum,
    row_extremes,
    row_logsumexp,
    row_outer,
    row_positions,
    row_products,
    row_softmax,
    row_sums,
    spread_rows,
)
from pullback.operators.contraction import contraction_of_many, contraction_of_one, contraction_of_two, matmul
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.casting import _astype as cast
from pullback.operators.elementwise.comparison import where
from pullback.operators.nn.attention import attention
from pullback.operators.nn.layers import affine
from pullback.operators.nn.normalization import divide_by_rms, standardize
from pullback.operators.nn.row_attention import row_attention
from pullback.operators.ragged.families import along_axis, each_row, first_ragged
from pullback.operators.ragged.parts import (
    beside,
    by_row,
    call,
    check_same_rows,
    on_rows_of,
    packed,
    ragged,
    ragged_of,
    refuse,
    value_axis,
)
from pullback.operators.reductions import exponentials, extremes, reduction, scan
from pullback.payloads.ragged.array import RaggedArray
from pullback.payloads.ragged.offsets import Offsets

# Reductions: values, the offsets of their rows, and the parameters besides `axis` and `keepdims`.


def _counts(values: Any, offsets: Offsets) -> Any:
    """The lengths of the rows, with axes for the other axes of the values."""
    return beside(offsets.lengths.reshape((offsets.count, *(1,) * (values.ndim - 1))), values)


@reduction.sum.rows
def sum_rows(values, offsets, *, dtype=None):
    return row_sums(values if dtype is None else cast(values, dtype=np.dtype(dtype)), offsets.array)


def _mean(values: Any, offsets: Offsets, less: float = 0) -> Any:
    """The sum of every row divided by the number of its elements; NaN where that is not positive."""
    counts = _counts(values, offsets) - less
    dtype = values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)
    number = where(counts <= 0, 1, counts).astype(np.zeros((), dtype).real.dtype)
    return where(counts <= 0, np.asarray(np.nan, dtype), row_sums(values, offsets.array) / number)


@reduction.mean.rows
def mean_rows(values, offsets, *, dtype=None):
    return _mean(values if dtype is None else cast(values, dtype=np.dtype(dtype)), offsets)


def _squares(values: Any, offsets: Offsets, correction: float) -> Any:
    away = values - spread_rows(_mean(values, offsets), offsets.array, total=offsets.total)
    return _mean((away * away.conj()).real if values.dtype.kind == "c" else away * away, offsets, correction)


@reduction.var.rows
def var_rows(values, offsets, *, correction=0):
    return _squares(values, offsets, correction)


@reduction.std.rows
def std_rows(values, offsets, *, correction=0):
    found = _squares(values, offsets, correction)
    # As that of dense arrays: the root of 0 has the derivative 0 here.
    return where(found == 0, 0.0, sqrt(where(found == 0, 1.0, found)))


@exponentials.logsumexp.rows
def logsumexp_rows(values, offsets):
    return row_logsumexp(values, offsets.array)


@reduction.count_nonzero.rows
def count_nonzero_rows(values, offsets):
    return row_sums(values != 0, offsets.array)


@extremes.amax.rows
def amax_rows(values, offsets):
    return row_extremes(values, offsets.array, largest=True)


@extremes.amin.rows
def amin_rows(values, offsets):
    return row_extremes(values, offsets.array, largest=False)


def _kept(out: Any, own: RaggedArray, keepdims: bool) -> Any:
    """A result for every row, with the ragged axis at length 1 if that is wanted."""
    if not keepdims:
        return out
    return out.reshape((own.offsets.count, *own.shape[1 : own.axis], 1, *own.shape[own.axis + 1 :]))


def _positions_rule(op: Op, largest: bool, has_values: bool) -> None:
    @op.ragged
    def rule(x, *, axis, keepdims):
        own = ragged_of(x)
        if axis is None or axis == 0:
            raise refuse(op, "a position is one in a row, or along another axis", "give the axis of rows", own.shape)
        values = packed(x)
        if axis != own.axis:
            out = call(op, (values,), {"axis": value_axis(axis, own), "keepdims": keepdims})
            place = own.axis - (axis < own.axis and not keepdims)
            if isinstance(out, tuple):
                return tuple([on_rows_of(part, own, place) for part in out])
            return on_rows_of(out, own, place)
        found = row_positions(values, own.offsets.array, largest=largest)
        if not has_values:
            return _kept(found, own, keepdims)
        begins = beside(own.offsets.array[:-1].reshape((own.offsets.count, *(1,) * (values.ndim - 1))), values)
        taken = gather_elements(values, found + begins, axis=0, distinct=True)
        return _kept(taken, own, keepdims), _kept(found, own, keepdims)


_positions_rule(extremes.argmax, True, False)
_positions_rule(extremes.argmin, False, False)
_positions_rule(extremes.max_with_indices, True, True)
_positions_rule(extremes.min_with_indices, False, True)

@middle.ragged
def middle_ragged(x, *, omit_nan):
    own = ragged_of(x)
    if own.axis < own.ndim - 1:
        return tuple([on_rows_of(part, own) for part in call(middle, (packed(x),), {"omit_nan": omit_nan})])
    missing = beside(np.full(own.shape[1:-1], np.nan, own.dtype), x)
    found = [
        call(middle, (row,), {"omit_nan": omit_nan}) if row.shape[-1] else (missing, missing)
        for row in each_row(middle, x, own)
    ]
    return tuple([stack([pair[k] for pair in found], axis=0) for k in range(2)])


# Along rows.


@exponentials.softmax.rows
def softmax_rows(values, offsets):
    return row_softmax(values, offsets.array)


@exponentials.log_softmax.rows
def log_softmax_rows(values, offsets):
    return values - spread_rows(row_logsumexp(values, offsets.array), offsets.array, total=offsets.total)


@scan.cumsum.rows
def cumsum_rows(values, offsets, *, dtype=None, reverse=False):
    return row_cumsum(values if dtype is None else cast(values, dtype=np.dtype(dtype)), offsets.array, reverse=reverse)


def _order(values: Any, offsets: Offsets, descending: bool) -> Any:
    """Where the elements of sorted rows are in `values`: a stable sort of everything, and a stable one by rows."""
    everything = sorting_order(values, axis=0, descending=descending)
    rows = offsets.rows.reshape((offsets.total, *(1,) * (values.ndim - 1)))
    rows = gather_elements(beside(np.broadcast_to(rows, values.shape), values), everything, axis=0, distinct=True)
    return gather_elements(everything, sorting_order(rows, axis=0, descending=False), axis=0, distinct=True)


@sorting_order.rows
def argsort_rows(values, offsets, *, descending):
    begins = spread_rows(offsets.array[:-1], offsets.array, total=offsets.total)
    begins = beside(begins.reshape((offsets.total, *(1,) * (values.ndim - 1))), values)
    return _order(values, offsets, descending) - begins


@sorted_values.rows
def sort_rows(values, offsets, *, descending):
    return gather_elements(values, _order(values, offsets, descending), axis=0, distinct=True)


@leading_positions.ragged
def leading_positions_ragged(x, *, k, axis, largest):
    own = ragged_of(x)
    if axis != own.axis:
        if axis == 0:
            raise refuse("topk", "rows of different lengths have no common elements", "give another axis", own.shape)
        return on_rows_of(leading_positions(packed(x), k=k, axis=value_axis(axis, own), largest=largest), own)
    order = packed(along_axis(sorting_order, x, {"axis": axis, "descending": largest}))
    lengths = np.minimum(own.offsets.known("topk").lengths, k)
    offsets = own.offsets.part(("lengths", lengths.tobytes()), lengths)
    within = np.arange(own.offsets.total) - own.offsets.array[:-1][own.offsets.rows]
    chosen = np.flatnonzero(within < k)
    return ragged(index_arrays(order, chosen, template=(ARRAY,), distinct=True), offsets=offsets, axis=own.axis)


def _moved_within_rows(values: Any, places: Any) -> Any:
    return index_arrays(values, places, template=(ARRAY,), distinct=True)


@flip.ragged
def flip_ragged(x, *, axis):
    own = ragged_of(x)
    if 0 in axis:
        raise refuse("flip", "rows would change their lengths", "take rows in another order: x[[2, 1, 0]]", own.shape)
    rest = tuple([value_axis(each, own) for each in axis if each != own.axis])
    values = flip(packed(x), axis=rest) if rest else packed(x)
    if own.axis in axis:
        cuts = own.offsets.known("flip").array
        places = np.repeat(cuts[:-1] + cuts[1:] - 1, own.offsets.lengths) - np.arange(own.offsets.total)
        values = _moved_within_rows(values, places)
    return on_rows_of(values, own)


@roll_axes.ragged
def roll_ragged(x, *, shift, axis):
    own = ragged_of(x)
    values = packed(x)
    for by, along in zip(shift, axis, strict=True):
        if along == 0:
            raise refuse("roll", "rows would change their lengths", "roll along rows: axis=1", own.shape)
        if along != own.axis:
            values = roll_axes(values, shift=(by,), axis=(value_axis(along, own),))
            continue
        offsets = own.offsets.known("roll")
        begins, lengths = offsets.array[:-1][offsets.rows], offsets.lengths[offsets.rows]
        values = _moved_within_rows(values, begins + (np.arange(offsets.total) - begins - by) % lengths)
    return on_rows_of(values, own)


@gather_elements.ragged
def gather_ragged(x, indices, *, axis, distinct):
    own, chosen = ragged_of(x), ragged_of(indices)
    if own is None or chosen is None or own.offsets.count != chosen.offsets.count or axis == 0:
        raise refuse(
            "gather", "positions in rows are ragged, with as many rows", "give a ragged index: nested.take_along_row",
            (own or chosen).shape,
        )  # fmt: skip
    if axis != own.axis:
        check_same_rows("gather", own, chosen)
        how = {"axis": value_axis(axis, own), "distinct": distinct}
        return on_rows_of(call(gather_elements, (packed(x), packed(indices)), how), own)
    places = in_memory(own, chosen, packed(indices))
    return on_rows_of(gather_elements(packed(x), places, axis=0, distinct=distinct), chosen)


def in_memory(own: RaggedArray, chosen: RaggedArray, positions: Any) -> Any:
    """Positions in rows as positions in the values; IndexError for one beyond its row."""
    lead = (chosen.offsets.total, *(1,) * (positions.ndim - 1))
    begins = spread_rows(own.offsets.array[:-1], chosen.offsets.array, total=chosen.offsets.total).reshape(lead)
    begins = beside(begins, positions)
    plain = getattr(positions, "_data", positions)
    plain = plain.downloaded() if hasattr(plain, "downloaded") else plain
    if type(plain) is np.ndarray and own.offsets.is_known:
        lengths = own.offsets.lengths[chosen.offsets.rows].reshape(lead)
        beyond = (plain >= lengths) | (plain < -lengths)
        if beyond.any():
            element = int(np.argwhere(beyond)[0, 0])
            row = int(chosen.offsets.rows[element])
            raise IndexError(
                f"position {plain[beyond].flat[0]} lies beyond row {row}, which has {own.offsets.lengths[row]} elements"
            )
        if (plain < 0).any():
            positions = positions + where(positions < 0, beside(lengths, positions), 0)
    return positions + begins


@insertion_points.ragged
def insertion_points_ragged(x, v, *, side):
    own, given = ragged_of(x), ragged_of(v)
    if own is None and x.ndim == 1:
        return on_rows_of(call(insertion_points, (x, packed(v)), {"side": side}), given)
    count = given.offsets.count if given is not None else v.shape[0] if v.ndim == 2 else None
    if own is None or own.ndim != 2 or count != own.offsets.count or (given is not None and given.ndim != 2):
        raise refuse("searchsorted", "every sorted row has a row of values", "give (B, j) and (B, i)", x.shape, v.shape)
    rows = zip(each_row(insertion_points, x, own), v, strict=True)
    found = [call(insertion_points, (row, values), {"side": side}) for row, values in rows]
    if given is None:
        return stack(found, axis=0)
    return on_rows_of(concat(found, axis=0) if found else packed(v).astype(np.int64), given)


# Rows of a dense array, at ragged positions.


@take_rows.ragged
def take_rows_ragged(x, indices):
    own = ragged_of(indices)
    if own is None:
        return index_arrays(x, indices, template=(ARRAY,), distinct=False)
    return on_rows_of(call(take_rows, (x, packed(indices)), {}), own)


# Products.


@matmul.ragged
def matmul_ragged(a, b):
    left, right = ragged_of(a), ragged_of(b)
    shapes = (a.shape, b.shape)
    if left is not None and right is not None:
        if left.axis == left.ndim - 1 and right.axis == right.ndim - 2 and left.ndim == right.ndim:
            check_same_rows("matmul", left, right)
            return row_outer(packed(a), packed(b), left.offsets.array)
        if left.axis == left.ndim - 2 and right.axis == right.ndim - 1:
            raise refuse(
                "matmul", "every row would have a matrix of its own size",
                "use nn.scaled_dot_product_attention, which never makes these matrices", *shapes,
            )  # fmt: skip
        if left.axis < left.ndim - 2 and right.axis == left.axis and left.ndim == right.ndim:
            check_same_rows("matmul", left, right)
            return on_rows_of(matmul(packed(a), packed(b)), left)
    elif left is not None and left.axis < left.ndim - 1:
        if b.ndim <= 2:
            return on_rows_of(matmul(packed(a), b), left)
        if left.axis == left.ndim - 2 and b.ndim == left.ndim and b.shape[0] in (1, left.offsets.count):
            if b.shape[0] == 1:
                b = spread_rows(b, np.array([0, left.offsets.count]), total=left.offsets.count)
            return on_rows_of(row_products(packed(a), b, left.offsets.array), left)
    elif right is not None and right.axis == right.ndim - 1 and 1 <= a.ndim <= 2:
        # (B, ..., D, j) with a matrix on the left: every column by itself.
        values = packed(b)
        out = matmul(values, a if a.ndim == 1 else a.swapaxes(0, 1))
        return on_rows_of(out, right, right.axis if a.ndim == 2 else right.axis - 1)
    raise refuse(
        "matmul", "no product of rows of different lengths has these shapes",
        "(B, j, D) @ (D, E), (B, j, D) @ (B, D, E) and (B, D, j) @ (B, j, E) have one", *shapes,
    )  # fmt: skip


@affine.ragged
def affine_ragged(x, weight, bias):
    own = ragged_of(x)
    if own is None or own.axis == own.ndim - 1:
        raise refuse("linear", "the ragged operand is the first, and the last axis is not ragged",
                     "give x of shape (B, j, features)", first_ragged((x, weight, bias)).shape)  # fmt: skip
    return on_rows_of(call(affine, (packed(x), weight, bias), {}), own)


def _normalizing(op: Op) -> None:
    @op.ragged
    def rule(x, *others, axis, eps):
        own = ragged_of(x)
        if own is None or own.axis in axis or 0 in axis:
            raise refuse(op, "it works over the axes behind the rows", "write it with x.mean(1, keepdims=True)",
                         first_ragged((x, *others)).shape)  # fmt: skip
        moved = tuple([value_axis(each, own) for each in axis])
        out = call(op, (packed(x), *others), {"axis": moved, "eps": eps})
        return tuple([on_rows_of(part, own) for part in out])


_normalizing(standardize)
_normalizing(divide_by_rms)


def einsum_ragged(op: Op, xs: Any, subscripts: str, optimize: Any) -> Any:
    """With the letter of the elements once in every ragged operand."""
    like = first_ragged(xs)
    terms, output = split(subscripts)
    owners = [ragged_of(x) for x in xs]
    first = next(k for k, own in enumerate(owners) if own is not None)
    rows, along = terms[first][0], terms[first][like.axis]
    for own, term in zip(owners, terms, strict=True):
        if own is not None:
            check_same_rows("einsum", like, own)
        if (own is not None and (term[0], term[own.axis]) != (rows, along)) or (own is None and along in term):
            raise refuse("einsum", "every ragged operand has the letters of rows and elements once, dense ones never "
                         "that of elements", "name rows and elements by the same letters", like.shape)  # fmt: skip
    if along in output and rows not in output:
        raise refuse("einsum", "elements without their rows would have no order", "keep the letter of rows", like.shape)
    values, inner = [], []
    for x, own, term in zip(xs, owners, terms, strict=True):
        if own is not None:
            values.append(packed(x))
            inner.append(along + term.replace(rows, "").replace(along, ""))
        elif rows in term:
            values.append(by_row(moveaxis(x, term.index(rows), 0), like))
            inner.append(along + term.replace(rows, ""))
        else:
            values.append(x)
            inner.append(term)
    others = output.replace(rows, "").replace(along, "")
    keeps = rows in output
    out = call(op, values, {"subscripts": f"{','.join(inner)}->{along if keeps else ''}{others}",
                                   "optimize": optimize})  # fmt: skip
    if not keeps:
        return out
    if along not in output:
        return moveaxis(row_sums(out, like.offsets.array), 0, output.index(rows))
    if output[0] != rows:
        raise refuse("einsum", "rows come first", "put the letter of rows first", like.shape)
    return on_rows_of(out, like, output.index(along))


def _contraction_rule(op: Op) -> None:
    op.ragged(lambda *xs, subscripts, optimize: einsum_ragged(op, xs, subscripts, optimize))


for _op in (contraction_of_one, contraction_of_two, contraction_of_many):
    _contraction_rule(_op)


# Attention: elements of a row see those of the row of the same number.


@attention.ragged
def attention_ragged(query, key, value, mask, *, scale, causal):
    owners = [ragged_of(x) for x in (query, key, value)]
    if mask is not None or any(own is None or own.axis != own.ndim - 2 for own in owners):
        raise refuse(
            "scaled_dot_product_attention", "query, key and value are ragged in the axis before the last; a mask "
            "would need a matrix for every row", "give (B, j, D) or (B, H, j, D), and is_causal in place of a mask",
            *[x.shape for x in (query, key, value)],
        )  # fmt: skip
    first, second, third = owners
    check_same_rows("scaled_dot_product_attention", second, third)
    if first.offsets.count != second.offsets.count:
        raise refuse("scaled_dot_product_attention", "query and key have different numbers of rows", "give as many",
                     first.shape, second.shape)  # fmt: skip
    how = {"scale": scale, "causal": causal}
    operands = (packed(query), packed(key), packed(value), first.offsets.array, second.offsets.array)
    out, total = call(row_attention, operands, how)
    return on_rows_of(out, first), on_rows_of(total, first, first.axis)
