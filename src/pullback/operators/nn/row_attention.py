"""Attention within rows of different lengths: elements of a row see those of the row of the same number.

No matrix is larger than that of one row. Backward computes the probabilities again from the logarithms of their sums,
as dense attention does, by that one's rules. To differentiate once more, the same is done with recorded operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.errors import AutogradError
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.segments import OFFSETS, cut_rows, share_offsets
from pullback.operators.nn.attention import attention_jvp, attention_vjp
from pullback.tensors.tensor import Tensor


def _of_row(x: Any, bounds: tuple[int, int]) -> Any:
    """The part of one row with the axis of its elements before the last: as attention wants it."""
    return moveaxis(x[bounds[0] : bounds[1]], 0, -2)


def _joined(parts: list[Any], like: Any) -> Any:
    if not parts:
        return like * 0
    return concat([moveaxis(part, -2, 0) for part in parts], axis=0)


@primitive(name="_row_attention", outputs=("out", "total"), torch="scaled_dot_product_attention")
def row_attention(query, key, value, query_offsets, key_offsets, *, scale, causal):
    """Attention of every row to the row of the same number: `(total, *m, d)`; and the logarithms of the sums."""
    out = np.empty((*query.shape[:-1], value.shape[-1]), np.result_type(query, key, value))
    totals = np.empty(query.shape[:-1], np.result_type(query, key))
    query = query * query.dtype.type(scale)
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        if own[0] == own[1]:
            continue
        scores = np.matmul(_of_plain_row(query, own), _of_plain_row(key, other).swapaxes(-1, -2))
        if causal:
            scores[..., np.arange(scores.shape[-1]) > np.arange(scores.shape[-2])[:, None]] = -np.inf
        peak = np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
        if not np.isfinite(peak).all():
            peak = np.where(np.isfinite(peak), peak, 0).astype(scores.dtype)
        scores -= peak
        np.exp(scores, out=scores)
        sums = np.add.reduce(scores, axis=-1, keepdims=True)
        sums[sums == 0] = 1  # a row that sees nothing gives zeros
        found = np.matmul(scores, _of_plain_row(value, other))
        found /= sums
        out[own[0] : own[1]] = np.moveaxis(found, -2, 0)
        totals[own[0] : own[1]] = np.moveaxis((np.log(sums) + peak)[..., 0], -1, 0)
    return out, totals


def _of_plain_row(x: Any, bounds: tuple[int, int]) -> Any:
    row = x[bounds[0] : bounds[1]]
    return row if row.ndim == 2 else np.moveaxis(row, 0, -2)


@primitive(name="_row_attention_pulled", outputs=("to_query", "to_key", "to_value"))
def row_attention_pulled(g, g_total, query, key, value, result, total, query_offsets, key_offsets, *, scale, causal):
    """The gradients of query, key and value."""
    kind = g if g is not None else g_total
    pulled = [np.zeros(x.shape, np.result_type(kind, x)) for x in (query, key, value)]
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        if own[0] == own[1]:
            continue
        row = [_of_plain_row(x, bounds) for x, bounds in ((query, own), (key, other), (value, other))]
        found = attention_vjp(
            None if g is None else _of_plain_row(g, own),
            None if g_total is None else np.moveaxis(g_total[own[0] : own[1]], 0, -1),
            *row, None, _of_plain_row(result, own), np.moveaxis(total[own[0] : own[1]], 0, -1), scale, causal,
            (True, True, True, False),
        )  # fmt: skip
        for target, part, bounds in zip(pulled, found, (own, other, other), strict=False):
            if part is not None:
                target[bounds[0] : bounds[1]] = np.moveaxis(part, -2, 0)
    return tuple(pulled)


@row_attention.vjp
def row_attention_vjp(
    g_out, g_total, query, key, value, query_offsets, key_offsets, out, total, scale, causal, needs
):
    if not (isinstance(g_total if g_out is None else g_out, Tensor) and _has_numbers(query_offsets)):
        operands = (g_out, g_total, query, key, value, out, total, query_offsets, key_offsets)
        return *row_attention_pulled(*operands, scale=scale, causal=causal), None, None
    # With operators whose derivatives are known, row by row: somebody may differentiate this again.
    parts: list[list[Any]] = [[], [], []]
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        found = attention_vjp(
            None if g_out is None else _of_row(g_out, own),
            None if g_total is None else moveaxis(g_total[own[0] : own[1]], 0, -1),
            _of_row(query, own), _of_row(key, other), _of_row(value, other), None, _of_row(out, own),
            moveaxis(total[own[0] : own[1]], 0, -1), scale, causal, (True, True, True, False),
        )  # fmt: skip
        for collected, part, like in zip(parts, found, (query, key, value), strict=False):
            collected.append(_of_row(like * 0, other) if part is None else part)
    return *[_joined(part, like) for part, like in zip(parts, (query, key, value), strict=True)], None, None


def _has_numbers(offsets: Any) -> bool:
    return type(offsets._data if isinstance(offsets, Tensor) else offsets) is np.ndarray


@row_attention.jvp
def row_attention_jvp(
    t_query, t_key, t_value, query, key, value, query_offsets, key_offsets, out, total, scale, causal
):
    outs, totals = [], []
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        tangents = [
            None if t is None else _of_row(t, bounds)
            for t, bounds in ((t_query, own), (t_key, other), (t_value, other))
        ]
        found = attention_jvp(
            *tangents, None, _of_row(query, own), _of_row(key, other), _of_row(value, other), None, _of_row(out, own),
            moveaxis(total[own[0] : own[1]], 0, -1), scale, causal,
        )  # fmt: skip
        outs.append(found[0])
        totals.append(moveaxis(found[1], -1, 0))
    return _joined(outs, out), concat(totals, axis=0) if totals else total * 0


@row_attention_pulled.vjp
def row_attention_pulled_vjp(gs):
    raise AutogradError(
        "RAGGED_OP",
        "a higher derivative of attention over rows is wanted of a compiled function",
        why="it is computed row by row, and the graph of a compiled function has no numbers of rows",
        fix="differentiate outside of the compiled function",
    )


@row_attention_pulled.jvp
def row_attention_pulled_jvp(t_g, t_g_total, t_query, t_key, t_value, t_result, t_total):
    row_attention_pulled_vjp(None)


@row_attention.spec
def row_attention_spec(query, key, value, query_offsets, key_offsets, *, scale, causal):
    dtype = np.result_type(query.dtype, key.dtype)
    out = spec_for((*query.shape[:-1], value.shape[-1]), np.result_type(dtype, value.dtype))
    return out, spec_for(query.shape[:-1], dtype)


@row_attention_pulled.spec
def row_attention_pulled_spec(
    g, g_total, query, key, value, result, total, query_offsets, key_offsets, *, scale, causal
):
    g = g_total if g is None else g
    return tuple(spec_for(x.shape, np.result_type(g.dtype, x.dtype)) for x in (query, key, value))


@row_attention.samples
def row_attention_samples(make: Maker) -> Iterator[Sample]:
    keys = np.array([0, 1, 4, 6, 8])
    for label, causal in (("plain", False), ("causal", True)):
        arrays = make((9, 3)), make((8, 3)), make((8, 2))
        yield Sample((*arrays, OFFSETS, keys), {"scale": 0.5, "causal": causal}, label)
    heads = make((9, 2, 3)), make((9, 2, 3)), make((9, 2, 3))
    yield Sample((*heads, OFFSETS, OFFSETS), {"scale": 0.5, "causal": False}, "heads")


for _op in (row_attention, row_attention_pulled):
    share_offsets(_op, 2)
    _op.refuses("attention weights are probabilities", "complex128")
