"""Attention within rows of different lengths: elements of a row see those of the row of the same number.

No matrix is larger than that of one row. Backward computes the probabilities again from the logarithms of their sums,
as dense attention does. Derivatives of backward are written with operators, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.movement import moveaxis, swapaxes
from pullback.operators.arrays.segments import OFFSETS, bounds_of, cut_rows, share_offsets
from pullback.operators.contraction import matmul
from pullback.operators.nn.attention import attention_jvp, probabilities
from pullback.operators.reductions.reduction import sum


def _of_row(x: Any, bounds: tuple[int, int], axis: int = -2) -> Any:
    """The part of one row with the axis of its elements before the last, or last: as attention wants it."""
    return None if x is None else moveaxis(x[bounds[0] : bounds[1]], 0, axis)


def _joined(parts: list[Any], like: Any, axis: int = -2) -> Any:
    """The parts of all rows as they were, one behind the other."""
    return join(*[moveaxis(part, axis, 0) for part in parts], axis=0) if parts else like * 0


@primitive(
    name="_row_attention", outputs=("out", "total"), torch="scaled_dot_product_attention",
    ascending=("query_offsets", "key_offsets"),
)
def row_attention(query, key, value, query_offsets, key_offsets, *, scale, causal):
    """Attention of every row to the row of the same number: `(total, *m, d)`; and the logarithms of the sums."""
    out = np.empty((*query.shape[:-1], value.shape[-1]), np.result_type(query, key, value))
    totals = np.empty(query.shape[:-1], np.result_type(query, key))
    query = query * query.dtype.type(scale)
    for own, other in zip(bounds_of(query_offsets), bounds_of(key_offsets), strict=True):
        if own[0] == own[1]:
            continue
        scores = np.matmul(_of_plain_row(query, own), _of_plain_row(key, other).swapaxes(-1, -2))
        if causal:
            _hide(scores)
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


def _hide(scores: Any) -> None:
    """Let elements see those before them, and themselves."""
    scores[..., np.arange(scores.shape[-1]) > np.arange(scores.shape[-2])[:, None]] = -np.inf


def _of_plain_row(x: Any, bounds: tuple[int, int]) -> Any:
    row = x[bounds[0] : bounds[1]]
    return row if row.ndim == 2 else np.moveaxis(row, 0, -2)


@primitive(
    name="_row_attention_pulled", outputs=("to_query", "to_key", "to_value"),
    ascending=("query_offsets", "key_offsets"),
)
def row_attention_pulled(
    g_out, g_total, query, key, value, result, total, query_offsets, key_offsets, *, scale, causal
):
    """The gradients of query, key and value."""
    kind = g_total if g_out is None else g_out
    pulled = [np.zeros(x.shape, np.result_type(kind, x)) for x in (query, key, value)]
    for own, other in zip(bounds_of(query_offsets), bounds_of(key_offsets), strict=True):
        if own[0] == own[1]:
            continue
        row_query, row_key = _of_plain_row(query, own), _of_plain_row(key, other)
        weights = np.matmul(row_query * row_query.dtype.type(scale), row_key.swapaxes(-1, -2))
        if causal:
            _hide(weights)
        weights -= np.moveaxis(total[own[0] : own[1]], 0, -1)[..., None]
        np.exp(weights, out=weights)
        inside = np.zeros(weights.shape, pulled[0].dtype)
        if g_out is not None:
            row_g = _of_plain_row(g_out, own)
            pulled[2][other[0] : other[1]] = np.moveaxis(np.matmul(weights.swapaxes(-1, -2), row_g), -2, 0)
            along = np.add.reduce(row_g * _of_plain_row(result, own), axis=-1, keepdims=True)
            inside += np.matmul(row_g, _of_plain_row(value, other).swapaxes(-1, -2)) - along
        if g_total is not None:
            inside += np.moveaxis(g_total[own[0] : own[1]], 0, -1)[..., None]
        inside *= weights * weights.dtype.type(scale)
        pulled[0][own[0] : own[1]] = np.moveaxis(np.matmul(inside, row_key), -2, 0)
        pulled[1][other[0] : other[1]] = np.moveaxis(np.matmul(inside.swapaxes(-1, -2), row_query), -2, 0)
    return tuple(pulled)


@row_attention.vjp
def row_attention_vjp(g_out, g_total, query, key, value, query_offsets, key_offsets, out, total, scale, causal):
    operands = (g_out, g_total, query, key, value, out, total, query_offsets, key_offsets)
    return *row_attention_pulled(*operands, scale=scale, causal=causal), None, None


@row_attention.jvp
def row_attention_jvp(
    t_query, t_key, t_value, query, key, value, query_offsets, key_offsets, out, total, scale, causal
):
    outs, totals = [], []
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        found = attention_jvp(
            _of_row(t_query, own), _of_row(t_key, other), _of_row(t_value, other), None,
            _of_row(query, own), _of_row(key, other), _of_row(value, other), None,
            _of_row(out, own), _of_row(total, own, -1), scale, causal,
        )  # fmt: skip
        outs.append(found[0])
        totals.append(found[1])
    return _joined(outs, out), _joined(totals, total, -1)


# Derivatives of backward, whose operands are the gradients, the arrays, and the results of attention.

_AXES = (-2, -1, -2, -2, -2, -2, -1)
"""Where attention has the elements of a row in each of these operands."""


def _rows_of(operands: tuple[Any, ...], query_offsets: Any, key_offsets: Any) -> Iterator[list[Any]]:
    """The operands of backward for one row after the other."""
    for own, other in zip(cut_rows(query_offsets), cut_rows(key_offsets), strict=True):
        bounds = (own, own, own, other, other, own, own)
        yield [_of_row(x, place, axis) for x, place, axis in zip(operands, bounds, _AXES, strict=True)]


def _or_zeros(values: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([x * 0 if value is None else value for value, x in zip(values, like, strict=True)])


def _swapped(x: Any) -> Any:
    return swapaxes(x, -1, -2)


def _column(x: Any) -> Any:
    return x.reshape((*x.shape, 1))


@row_attention_pulled.vjp
def row_attention_pulled_vjp(
    g_to_query, g_to_key, g_to_value, g_out, g_total, query, key, value, result, total, query_offsets, key_offsets,
    scale, causal,
):  # fmt: skip
    likes = (result, total, query, key, value, result, total)
    operands = (*_or_zeros((g_out, g_total), likes[:2]), *likes[2:])
    seeds = _or_zeros((g_to_query, g_to_key, g_to_value), likes[2:5])
    rows = _rows_of(operands, query_offsets, key_offsets)
    seed_rows = _rows_of((result, total, *seeds, result, total), query_offsets, key_offsets)
    found = [_pull_row(seed[2:5], row, scale, causal) for seed, row in zip(seed_rows, rows, strict=True)]
    pulled = [_joined([row[k] for row in found], likes[k], axis) for k, axis in enumerate(_AXES)]
    return None if g_out is None else pulled[0], None if g_total is None else pulled[1], *pulled[2:], None, None


def _pull_row(seeds: list[Any], operands: list[Any], scale: float, causal: bool) -> tuple[Any, ...]:
    c_query, c_key, c_value = seeds
    g_out, g_total, query, key, value, out, total = operands
    weights = probabilities(query, key, None, total, scale, causal)
    inside = matmul(g_out, _swapped(value)) - _column(sum(g_out * out, axis=-1) - g_total)
    to_scores = weights * inside
    moved = weights * (matmul(c_query, _swapped(key)) + matmul(query, _swapped(c_key))) * scale
    scores = weights * matmul(g_out, _swapped(c_value)) + moved * inside  # the gradient of the scores by these
    along = sum(moved, axis=-1)
    return (
        matmul(weights, c_value) + matmul(moved, value) - _column(along) * out,
        along,
        (matmul(to_scores, c_key) + matmul(scores, key)) * scale,
        (matmul(_swapped(to_scores), c_query) + matmul(_swapped(scores), query)) * scale,
        matmul(_swapped(moved), g_out),
        -_column(along) * g_out,
        -sum(scores, axis=-1),
    )


@row_attention_pulled.jvp
def row_attention_pulled_jvp(
    t_g_out, t_g_total, t_query, t_key, t_value, t_result, t_total, g_out, g_total, query, key, value, result, total,
    query_offsets, key_offsets, scale, causal,
):  # fmt: skip
    likes = (result, total, query, key, value, result, total)
    operands = (*_or_zeros((g_out, g_total), likes[:2]), *likes[2:])
    tangents = _or_zeros((t_g_out, t_g_total, t_query, t_key, t_value, t_result, t_total), likes)
    rows = _rows_of(operands, query_offsets, key_offsets)
    moving = _rows_of(tangents, query_offsets, key_offsets)
    found = [_push_row(along, row, scale, causal) for along, row in zip(moving, rows, strict=True)]
    return tuple([_joined([row[k] for row in found], like) for k, like in enumerate(likes[2:5])])


def _push_row(tangents: list[Any], operands: list[Any], scale: float, causal: bool) -> tuple[Any, ...]:
    t_g_out, t_g_total, t_query, t_key, t_value, t_out, t_total = tangents
    g_out, g_total, query, key, value, out, total = operands
    weights = probabilities(query, key, None, total, scale, causal)
    t_scores = (matmul(t_query, _swapped(key)) + matmul(query, _swapped(t_key))) * scale - _column(t_total)
    t_weights = weights * t_scores
    inside = matmul(g_out, _swapped(value)) - _column(sum(g_out * out, axis=-1) - g_total)
    t_inside = matmul(t_g_out, _swapped(value)) + matmul(g_out, _swapped(t_value))
    t_inside = t_inside - _column(sum(t_g_out * out + g_out * t_out, axis=-1) - t_g_total)
    to_scores, t_to_scores = weights * inside, t_weights * inside + weights * t_inside
    return (
        (matmul(t_to_scores, key) + matmul(to_scores, t_key)) * scale,
        (matmul(_swapped(t_to_scores), query) + matmul(_swapped(to_scores), t_query)) * scale,
        matmul(_swapped(t_weights), g_out) + matmul(_swapped(weights), t_g_out),
    )


@row_attention.spec
def row_attention_spec(query, key, value, query_offsets, key_offsets, *, scale, causal):
    dtype = np.result_type(query.dtype, key.dtype)
    out = spec_for((*query.shape[:-1], value.shape[-1]), np.result_type(dtype, value.dtype))
    return out, spec_for(query.shape[:-1], dtype)


@row_attention_pulled.spec
def row_attention_pulled_spec(
    g_out, g_total, query, key, value, result, total, query_offsets, key_offsets, *, scale, causal
):
    g = g_total if g_out is None else g_out
    return tuple(spec_for(x.shape, np.result_type(g.dtype, x.dtype)) for x in (query, key, value))


_KEYS = np.array([0, 1, 4, 6, 8])
_NOTHING = np.zeros(3, np.int64)


@row_attention.samples
def row_attention_samples(make: Maker) -> Iterator[Sample]:
    for label, causal in (("plain", False), ("causal", True)):
        arrays = make((9, 3)), make((8, 3)), make((8, 2))
        yield Sample((*arrays, OFFSETS, _KEYS), {"scale": 0.5, "causal": causal}, label)
    heads = make((9, 2, 3)), make((9, 2, 3)), make((9, 2, 3))
    yield Sample((*heads, OFFSETS, OFFSETS), {"scale": 0.5, "causal": False}, "heads")
    nothing = make((0, 3)), make((0, 3)), make((0, 2))
    yield Sample((*nothing, _NOTHING, _NOTHING), {"scale": 0.5, "causal": False}, "empty")


@row_attention_pulled.samples
def row_attention_pulled_samples(make: Maker) -> Iterator[Sample]:
    def arrays(queries: int, keys: int, *m: int) -> tuple[Any, ...]:
        gradients = make((queries, *m, 2)), make((queries, *m))
        given = make((queries, *m, 3)), make((keys, *m, 3)), make((keys, *m, 2))
        return *gradients, *given, make((queries, *m, 2)), make((queries, *m))

    for label, causal in (("plain", False), ("causal", True)):
        yield Sample((*arrays(9, 8), OFFSETS, _KEYS), {"scale": 0.5, "causal": causal}, label)
    yield Sample((*arrays(9, 9, 2), OFFSETS, OFFSETS), {"scale": 0.5, "causal": False}, "heads")
    g_out, g_total, *rest = arrays(9, 8)
    yield Sample((g_out, None, *rest, OFFSETS, _KEYS), {"scale": 0.5, "causal": False}, "of-the-result")
    yield Sample((None, g_total, *rest, OFFSETS, _KEYS), {"scale": 0.5, "causal": False}, "of-the-sums")
    yield Sample((*arrays(0, 0), _NOTHING, _NOTHING), {"scale": 0.5, "causal": False}, "empty")


for _op in (row_attention, row_attention_pulled):
    share_offsets(_op)
    _op.refuses("attention weights are probabilities", "complex128")
    _op.refuses("derivatives are computed row by row, and rows of examples differ in length", "varying derivative")
row_attention_pulled.refuses("derivatives are computed row by row, and a graph has no numbers", "traced derivative")
