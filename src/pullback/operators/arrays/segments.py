"""Operators on the rows of `values` that `offsets` cut: row `i` is `values[offsets[i]:offsets[i + 1]]`.

Ragged tensors are computed with these (`operators/ragged`). Offsets are an operand, so that one graph serves rows of
all lengths. Results have one element for every row (sums), or for every element (softmax); further axes stay as they
are. `reduceat` alone would give an empty row the first element of the next, so it sees rows that have elements only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.errors import AutogradError
from pullback.operators.arrays.index_operators import ARRAY, index_add_to_zeros, index_arrays
from pullback.operators.arrays.joining import stack_payloads
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.elementwise.arithmetic import exp, log
from pullback.operators.elementwise.comparison import isfinite, isnan, where
from pullback.payloads.batched.array import is_repeated
from pullback.tensors.tensor import Tensor


def check_rows(name: str, offsets: Any) -> None:
    """Raise if a row is empty, of which there is no largest element."""
    lengths = np.diff(offsets)
    if lengths.size and not lengths.all():
        row = int(np.argmin(lengths))
        raise ValueError(f"{name}: row {row} is empty, and has no such element; leave empty rows out")


def fold(ufunc: np.ufunc, x: Any, offsets: Any, start: Any, dtype: Any = None) -> Any:
    """Rows folded by a ufunc; an empty one gives `start`."""
    begins = offsets[:-1]
    is_full = offsets[1:] > begins
    if is_full.all() and len(begins):
        return ufunc.reduceat(x, begins, axis=0, dtype=dtype)
    kind = ufunc.reduce(x[:0], axis=0, dtype=dtype, initial=start).dtype
    out = np.full((len(begins), *x.shape[1:]), start, kind)
    if is_full.any():
        out[is_full] = ufunc.reduceat(x, begins[is_full], axis=0, dtype=dtype)
    return out


def bounds_of(offsets: Any) -> list[tuple[int, int]]:
    """Where rows begin and end, for kernels."""
    return list(pairwise(offsets.tolist()))


def cut_rows(offsets: Any) -> list[tuple[int, int]]:
    """Where rows begin and end, for rules: as numbers."""
    numbers = offsets._data if isinstance(offsets, Tensor) else offsets
    if type(numbers) is not np.ndarray:
        raise AutogradError(
            "RAGGED_OP",
            "the lengths of rows are wanted where they are not known, or differ by example",
            why="some derivatives are computed row by row; the graph of a compiled function has no numbers, and "
            "offsets that vmap maps are others for each example",
            fix="differentiate outside of the compiled function, or loop over the examples",
        )
    return bounds_of(numbers)


def share_offsets(op: Op) -> None:
    """The batching rule of an operator whose last operands are offsets: examples lie along one more of its axes."""
    first = len(op.operands) - len(op.ascending)

    @op.batch
    def rule(*operands: Any, **params: Any) -> Any:
        arrays, cuts = operands[:first], operands[first:]
        if not all(is_repeated(cut) or cut.shape[0] == 1 for cut in cuts):
            return for_each_example(op, operands, params)
        out = op(*[x if x is None else moveaxis(x, 0, 1) for x in arrays], *[cut[0] for cut in cuts], **params)
        back: Callable[[Any], Any] = lambda x: moveaxis(x, 1, 0)
        return tuple(map(back, out)) if isinstance(out, tuple) else back(out)


def for_each_example(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The operator on examples with rows of their own lengths, one after the other; they have as many elements."""
    count = operands[-1].shape[0]
    outs = [op(*[x if x is None else x[k] for x in operands], **params) for k in range(count)]
    return tuple(map(stack_payloads, zip(*outs, strict=True))) if isinstance(outs[0], tuple) else stack_payloads(outs)


OFFSETS = np.array([0, 2, 5, 5, 9])
_FULL = np.array([0, 2, 5, 9])


def _of_elements(op: Op, cuts: Any = OFFSETS, dtypes: tuple[Any, ...] = (np.float32,), **params: Any) -> None:
    """Samples of an operator of one array and offsets."""

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample((make.distinct((9, 2), float), cuts), params, "rows")
        yield Sample((make.distinct((9,), float), cuts), params, "numbers")
        for dtype in dtypes:
            yield Sample((make((9, 2), dtype), cuts), params, np.dtype(dtype).name)
        yield Sample((make.distinct((0, 2), float), np.zeros(1, np.int64)), params, "no-rows")


def _like(x: Spec, offsets: Spec, **params: Any) -> Spec:
    return x


def _per_row(x: Spec, offsets: Spec, **params: Any) -> Spec:
    return spec_for((offsets.shape[0] - 1, *x.shape[1:]), x.dtype)


# Sums, and what they are the adjoint of.


@primitive(name="_row_sums", ascending=("offsets",), torch="segment_reduce", flow="collects", spec=None)
def row_sums(x, offsets):
    """The sum of every row."""
    return fold(np.add, x, offsets, 0)


@primitive(name="_spread_rows", ascending=("offsets",), torch="repeat_interleave", flow="gathers")
def spread_rows(x, offsets, *, total):
    """`x[i]` for every element of row `i`; `total` is their number."""
    return np.repeat(x, np.diff(offsets), axis=0)


@row_sums.transpose_of("x")
def row_sums_transpose(g, x, offsets):
    return spread_rows(g, offsets, total=x.shape[0])


@spread_rows.transpose_of("x")
def spread_rows_transpose(g, x, offsets):
    return row_sums(g, offsets)


@row_sums.spec
def row_sums_spec(x: Spec, offsets: Spec) -> Spec:
    dtype = np.add.reduce(np.ones(1, x.dtype)).dtype
    return spec_for((offsets.shape[0] - 1, *x.shape[1:]), dtype)


@spread_rows.spec
def spread_rows_spec(x: Spec, offsets: Spec, *, total: int) -> Spec:
    return spec_for((total, *x.shape[1:]), x.dtype)


@spread_rows.samples
def spread_rows_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4, 2)), OFFSETS), {"total": 9}, "rows")
    yield Sample((make((4,)), OFFSETS), {"total": 9}, "numbers")
    yield Sample((make((0, 2)), np.zeros(1, np.int64)), {"total": 0}, "no-rows")


_of_elements(row_sums)


@primitive(name="_row_numbers", ascending=("offsets",))
def row_numbers(offsets, *, total):
    """For each of `total` elements the number of its row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


row_numbers.not_differentiable("returns positions")
row_numbers.refuses("offsets begin with 0, and have one axis", "empty", "fortran")


@row_numbers.spec
def row_numbers_spec(offsets: Spec, *, total: int) -> Spec:
    return spec_for((total,), np.dtype(np.int64))


@row_numbers.batch
def row_numbers_batch(offsets, *, total):
    return for_each_example(row_numbers, (offsets,), {"total": total})


@row_numbers.samples
def row_numbers_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((OFFSETS,), {"total": 9}, "rows")
    yield Sample((np.zeros(1, np.int64),), {"total": 0}, "no-rows")


# In native code both are loops that read or add where the number of the row says, and join those around them.


@spread_rows.expand(of="mixed", in_rows=True)
def spread_rows_parts(x, offsets, *, total):
    return index_arrays(x, row_numbers(offsets, total=total), template=(ARRAY,), distinct=False)


@row_sums.expand(of="mixed", in_rows=True)
def row_sums_parts(x, offsets):
    places, shape = row_numbers(offsets, total=x.shape[0]), (offsets.shape[0] - 1, *x.shape[1:])
    return index_add_to_zeros(x, places, template=(ARRAY,), shape=shape, distinct=False)


@primitive(name="_row_folds", ascending=("offsets",))
def row_folds(x, offsets, *, ufunc, start):
    """Rows folded by the ufunc of NumPy that has this name; an empty row gives `start`."""
    return fold(getattr(np, ufunc), x, offsets, start)


row_folds.not_differentiable("what it folds are truth values, or nobody differentiates it")


@row_folds.spec
def row_folds_spec(x: Spec, offsets: Spec, *, ufunc: str, start: Any) -> Spec:
    dtype = getattr(np, ufunc).reduce(np.ones(1, x.dtype)).dtype
    return spec_for((offsets.shape[0] - 1, *x.shape[1:]), dtype)


_of_elements(row_folds, dtypes=(np.float32, np.complex128), ufunc="logical_and", start=True)


# The largest and smallest elements.


@primitive(name="_row_extremes", ascending=("offsets",), torch="segment_reduce")
def row_extremes(x, offsets, *, largest):
    """The largest or smallest element of every row. Equal ones share the gradient, as do NaNs."""
    check_rows("amax" if largest else "amin", offsets)
    return fold(np.maximum if largest else np.minimum, x, offsets, 0) if len(offsets) > 1 else x[:0]


def _reached(x: Any, out: Any, offsets: Any) -> tuple[Any, Any]:
    """Which elements make the result, and how many of each row do."""
    reached = (x == spread_rows(out, offsets, total=x.shape[0])) | isnan(x)
    return reached, row_sums(reached.astype(x.dtype), offsets)


@row_extremes.vjp
def row_extremes_vjp(g, x, out, offsets):
    reached, number = _reached(x, out, offsets)
    return where(reached, spread_rows(g / number, offsets, total=x.shape[0]), 0), None


@row_extremes.jvp
def row_extremes_jvp(t_x, x, out, offsets):
    reached, number = _reached(x, out, offsets)
    return row_sums(where(reached, t_x, 0), offsets) / number


row_extremes.spec(_per_row)
_of_elements(row_extremes, _FULL, largest=True)


@primitive(name="_row_positions", ascending=("offsets",))
def row_positions(x, offsets, *, largest):
    """Where in its row the first largest or smallest element is."""
    check_rows("argmax" if largest else "argmin", offsets)
    out = np.empty((len(offsets) - 1, *x.shape[1:]), np.int64)
    find = np.argmax if largest else np.argmin
    for row in range(len(out)):
        out[row] = find(x[offsets[row] : offsets[row + 1]], axis=0)
    return out


row_positions.not_differentiable("returns positions")


@row_positions.spec
def row_positions_spec(x: Spec, offsets: Spec, *, largest: bool) -> Spec:
    return spec_for((offsets.shape[0] - 1, *x.shape[1:]), np.dtype(np.int64))


_of_elements(row_positions, _FULL, largest=True)


# Softmax and the logarithms of its sums.


def _powers(x: Any, offsets: Any) -> tuple[Any, Any, Any]:
    """The exponentials of the elements relative to the largest of their row, that, and the lengths."""
    lengths = np.diff(offsets)
    peak = fold(np.maximum, x, offsets, -np.inf)
    peak = np.where(np.isfinite(peak), peak, 0).astype(x.dtype)
    powers = np.repeat(peak, lengths, axis=0)
    np.subtract(x, powers, out=powers)
    return np.exp(powers, out=powers), peak, lengths


@primitive(name="_row_logsumexp", ascending=("offsets",))
def row_logsumexp(x, offsets):
    """`log(sum(exp(x)))` of every row, without overflow; that of an empty row is -inf."""
    powers, peak, _ = _powers(x, offsets)
    with np.errstate(divide="ignore"):
        return np.log(fold(np.add, powers, offsets, 0)) + peak


@row_logsumexp.vjp
def row_logsumexp_vjp(g, x, out, offsets):
    total = x.shape[0]
    return spread_rows(g, offsets, total=total) * exp(x - spread_rows(out, offsets, total=total)), None


@row_logsumexp.jvp
def row_logsumexp_jvp(t_x, x, out, offsets):
    return row_sums(t_x * exp(x - spread_rows(out, offsets, total=x.shape[0])), offsets)


row_logsumexp.spec(_per_row)
_of_elements(row_logsumexp, _FULL)  # -inf, which an empty row gives, has no central difference


_LONG = 256
"""Elements of a row on average from which on a call for each row costs less than passes over all of them."""


def _softmax_row_by_row(x: Any, offsets: Any) -> Any:
    """Softmax of rows that stay in the cache meanwhile; None if an element at the top of a row is not finite."""
    peaks = fold(np.maximum, x, offsets, 0)
    if not np.isfinite(peaks).all():
        return None
    out = np.empty_like(x)
    for (begin, end), peak in zip(bounds_of(offsets), peaks, strict=True):
        if begin < end:
            part = out[begin:end]
            np.subtract(x[begin:end], peak, out=part)
            np.exp(part, out=part)
            part *= np.reciprocal(np.add.reduce(part, axis=0))  # of a sum that is at least 1
    return out


@primitive(name="_row_softmax", ascending=("offsets",))
def row_softmax(x, offsets):
    """`exp(x)` divided by its sum in every row."""
    found = _softmax_row_by_row(x, offsets) if x.size > _LONG * len(offsets) else None
    if found is not None:
        return found  # 0.7 ms where all at once takes 1.2 (bench/ragged.py)
    powers, _, lengths = _powers(x, offsets)
    powers /= np.repeat(fold(np.add, powers, offsets, 0), lengths, axis=0)
    return powers


def _powers_and_peak(x: Any, offsets: Any) -> tuple[Any, Any]:
    """`_powers`, with operators."""
    peak = row_folds(x, offsets, ufunc="maximum", start=-np.inf)
    peak = where(isfinite(peak), peak, 0)
    return exp(x - spread_rows(peak, offsets, total=x.shape[0])), peak


@row_softmax.expand(of="mixed", in_rows=True)
def row_softmax_parts(x, offsets):
    powers, _ = _powers_and_peak(x, offsets)
    return powers / spread_rows(row_sums(powers, offsets), offsets, total=x.shape[0])


@row_logsumexp.expand(of="mixed", in_rows=True)
def row_logsumexp_parts(x, offsets):
    powers, peak = _powers_and_peak(x, offsets)
    return log(row_sums(powers, offsets)) + peak


def _centred(t: Any, out: Any, offsets: Any) -> Any:
    return out * (t - spread_rows(row_sums(t * out, offsets), offsets, total=out.shape[0]))


@row_softmax.vjp
def row_softmax_vjp(g, out, offsets):
    return _centred(g, out, offsets), None


@row_softmax.jvp
def row_softmax_jvp(t_x, out, offsets):
    return _centred(t_x, out, offsets)


row_softmax.spec(_like)
_of_elements(row_softmax)


# Running sums.


@primitive(name="_row_cumsum", ascending=("offsets",))
def row_cumsum(x, offsets, *, reverse):
    """The running sums of every row, from its end if `reverse`."""
    out = np.empty_like(x)
    for begin, end in bounds_of(offsets):
        source, target = x[begin:end], out[begin:end]
        if reverse:
            source, target = source[::-1], target[::-1]
        np.add.accumulate(source, axis=0, out=target)
    return out


@row_cumsum.transpose_of("x")
def row_cumsum_transpose(g, x, offsets, reverse):
    return row_cumsum(g, offsets, reverse=not reverse)


row_cumsum.spec(_like)
_of_elements(row_cumsum, reverse=False)


# Products: a matrix for every row.


@primitive(name="_row_products", ascending=("offsets",))
def row_products(x, w, offsets):
    """`x[e] @ w[i]` for every element `e` of row `i`: `(total, *m, d)` and `(rows, *m, d, k)` make `(total, *m, k)`."""
    out = np.empty((*np.broadcast_shapes(x.shape[:-1], (1, *w.shape[1:-2])), w.shape[-1]), np.result_type(x, w))
    for row, (begin, end) in enumerate(bounds_of(offsets)):
        if x.ndim == 2:
            np.matmul(x[begin:end], w[row], out=out[begin:end])
        else:
            out[begin:end] = np.moveaxis(np.matmul(np.moveaxis(x[begin:end], 0, -2), w[row]), -2, 0)
    return out


@primitive(name="_row_outer", ascending=("offsets",))
def row_outer(x, y, offsets):
    """The sum of `x[e][:, None] * y[e]` of every row: `(total, *m, d)` and `(total, *m, k)` make `(rows, *m, d, k)`."""
    shape = (len(offsets) - 1, *np.broadcast_shapes(x.shape[1:-1], y.shape[1:-1]), x.shape[-1], y.shape[-1])
    out = np.empty(shape, np.result_type(x, y))
    for row, (begin, end) in enumerate(bounds_of(offsets)):
        left, right = np.moveaxis(x[begin:end], 0, -1), np.moveaxis(y[begin:end], 0, -2)
        np.matmul(left, right, out=out[row])
    return out


@row_products.transpose_of("x")
def row_products_transpose_x(g, x, w, offsets):
    return row_products(g, w.swapaxes(-1, -2), offsets)


@row_products.transpose_of("w")
def row_products_transpose_w(g, x, w, offsets):
    return row_outer(x, g, offsets)


@row_outer.transpose_of("x")
def row_outer_transpose_x(g, x, y, offsets):
    return row_products(y, g.swapaxes(-1, -2), offsets)


@row_outer.transpose_of("y")
def row_outer_transpose_y(g, x, y, offsets):
    return row_products(x, g, offsets)


@row_products.spec
def row_products_spec(x: Spec, w: Spec, offsets: Spec) -> Spec:
    lead = np.broadcast_shapes(x.shape[1:-1], w.shape[1:-2])
    return spec_for((x.shape[0], *lead, w.shape[-1]), np.result_type(x.dtype, w.dtype))


@row_outer.spec
def row_outer_spec(x: Spec, y: Spec, offsets: Spec) -> Spec:
    lead = np.broadcast_shapes(x.shape[1:-1], y.shape[1:-1])
    shape = (offsets.shape[0] - 1, *lead, x.shape[-1], y.shape[-1])
    return spec_for(shape, np.result_type(x.dtype, y.dtype))


@row_products.samples
def row_products_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((9, 3)), make((4, 3, 2)), OFFSETS), {}, "rows")
    yield Sample((make((9, 2, 3)), make((4, 2, 3, 2)), OFFSETS), {}, "heads")
    yield Sample((make((0, 3)), make((2, 3, 2)), np.zeros(3, np.int64)), {}, "empty")


@row_outer.samples
def row_outer_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((9, 3)), make((9, 2)), OFFSETS), {}, "rows")
    yield Sample((make((9, 2, 3)), make((9, 2, 2)), OFFSETS), {}, "heads")
    yield Sample((make((0, 3)), make((0, 2)), np.zeros(3, np.int64)), {}, "empty")


for _op in (row_products, row_outer):
    _op.refuses("complex numbers would need conjugates in the rules", "complex128")


# Rows of equal length, with zeros behind the shorter ones.


@primitive(name="_pad_rows", ascending=("offsets",), torch="nested_to_padded", flow="gathers", fresh=True)
def pad_rows(x, offsets, *, size):
    """Every row followed by as many zeros as make `size` elements: `(rows, size, ...)`."""
    out = np.zeros((len(offsets) - 1, size, *x.shape[1:]), x.dtype)
    for row, (begin, end) in enumerate(bounds_of(offsets)):
        out[row, : end - begin] = x[begin:end]
    return out


@primitive(name="_unpad_rows", ascending=("offsets",), torch="nested_from_padded", flow="gathers", fresh=True)
def unpad_rows(x, offsets, *, total):
    """The first elements of every row, as many as it has."""
    out = np.empty((total, *x.shape[2:]), x.dtype)
    for row, (begin, end) in enumerate(bounds_of(offsets)):
        out[begin:end] = x[row, : end - begin]
    return out


@pad_rows.transpose_of("x")
def pad_rows_transpose(g, x, offsets):
    return unpad_rows(g, offsets, total=x.shape[0])


@unpad_rows.transpose_of("x")
def unpad_rows_transpose(g, x, offsets):
    return pad_rows(g, offsets, size=x.shape[1])


@pad_rows.spec
def pad_rows_spec(x: Spec, offsets: Spec, *, size: int) -> Spec:
    return spec_for((offsets.shape[0] - 1, size, *x.shape[1:]), x.dtype)


@unpad_rows.spec
def unpad_rows_spec(x: Spec, offsets: Spec, *, total: int) -> Spec:
    return spec_for((total, *x.shape[2:]), x.dtype)


@pad_rows.batch
def pad_rows_batch(x, offsets, *, size):
    return for_each_example(pad_rows, (x, offsets), {"size": size})


@unpad_rows.batch
def unpad_rows_batch(x, offsets, *, total):
    return for_each_example(unpad_rows, (x, offsets), {"total": total})


@pad_rows.samples
def pad_rows_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((9, 2)), OFFSETS), {"size": 5}, "rows")
    yield Sample((make((9,)), OFFSETS), {"size": 4}, "numbers")
    yield Sample((make((0, 2)), np.zeros(3, np.int64)), {"size": 2}, "empty")


@unpad_rows.samples
def unpad_rows_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4, 5, 2)), OFFSETS), {"total": 9}, "rows")
    yield Sample((make((4, 4)), OFFSETS), {"total": 9}, "numbers")
    yield Sample((make((2, 0, 2)), np.zeros(3, np.int64)), {"total": 0}, "empty")


for _op in (row_sums, spread_rows, row_folds, row_extremes, row_positions, row_logsumexp, row_softmax, row_cumsum):
    share_offsets(_op)
for _op in (row_products, row_outer):
    share_offsets(_op)
for _op in (row_extremes, row_positions, row_logsumexp, row_softmax):
    _op.refuses("it compares numbers, or makes probabilities of them", "complex128")
