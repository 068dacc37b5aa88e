"""Attention: one operator for `softmax(scale * query @ key.T + mask) @ value`.

Backward recomputes the probabilities from the logarithms of the row sums, which are the operator's second output, so
the large matrix of probabilities is not kept. A row that is masked entirely gives zeros, and gradient zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import axis_letters
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import broadcast_to, swapaxes
from pullback.operators.arrays.rearranging import repeat
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.arithmetic import exp, log
from pullback.operators.elementwise.comparison import where
from pullback.operators.nn.layers import dropout, linear
from pullback.operators.pieces import PIECE, in_pieces
from pullback.operators.reductions.exponentials import shifted_by_peak
from pullback.operators.reductions.reduction import mean, sum


def _hidden(rows: int, columns: int) -> Any:
    """What a causal mask hides: columns after the row's own."""
    return np.arange(columns) > np.arange(rows)[:, None]


def _operations(query: Any, key: Any, value: Any) -> int:
    scores = query.size // max(query.shape[-1], 1) * key.shape[-2]
    return int(2 * scores * (query.shape[-1] + value.shape[-1]) + 5 * scores)


def _letters(query: Any, key: Any, value: Any, mask: Any, causal: bool) -> str:
    """Stacks are apart, and so are rows of the query, unless their number says what they see."""
    row = "*" if causal else "L"
    operands = [(query, f"{row}*"), (key, "**"), (value, "**"), (mask, f"{row}*")]
    stack = axis_letters(max(x.ndim for x, _ in operands if x is not None) - 2)
    terms = ["" if x is None else f"{stack}{last}"[-x.ndim :] for x, last in operands]
    scores = max(terms[0][:-2], terms[1][:-2], terms[3][:-2], key=len)
    return f"{','.join(terms)}->{stack}{row}*,{scores}{row}"


@primitive(
    name="_attention", outputs=("out", "total"), torch="scaled_dot_product_attention", flops=_operations,
    letters=_letters,
)  # fmt: skip
def attention(query, key, value, mask, *, scale, causal):
    """`softmax(scale * query @ key.T + mask) @ value`, and the logarithms of the sums that softmax divides by."""
    scores = np.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(_hidden(*scores.shape[-2:]), -np.inf, scores)
    sums, total = (np.empty((*scores.shape[:-1], 1), scores.dtype) for _ in range(2))
    _over_rows(_exponentiate, scores, sums, total)
    out = np.matmul(scores, value)
    out /= sums
    return out, total[..., 0]


def _exponentiate(scores: Any, sums: Any, total: Any) -> None:
    """Put the exponentials of rows, relative to their largest, in the place of these; and their sums and logarithms."""
    peak = np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0).astype(scores.dtype)
    scores -= peak
    np.exp(scores, out=scores)
    np.add.reduce(scores, axis=-1, keepdims=True, out=sums)
    # A row that sees nothing has the sum 0. Counted as 1 it gives zeros, here and in the probabilities.
    sums[sums == 0] = 1
    np.add(np.log(sums), peak, out=total)


def _over_rows(work: Callable[..., None], *arrays: Any) -> None:
    """Let `work` write to arrays that have all axes but the last in common, in pieces if they lie so in memory."""
    first = arrays[0]
    if first.size < PIECE or not all(x.flags.c_contiguous for x in arrays):
        work(*arrays)
        return
    rows = [x.reshape(-1, x.shape[-1]) for x in arrays]
    in_pieces(lambda start, stop: work(*[x[start:stop] for x in rows]), *rows[0].shape)


_LARGEST_MASK = 1 << 20  # elements


def _is_small(query: Any, key: Any) -> bool:
    return query.shape[-2] * key.shape[-2] <= _LARGEST_MASK


@attention.expand(when=_is_small, in_rows=True)
def attention_parts(query, key, value, mask, *, scale, causal):
    scores = matmul(query * scale, swapaxes(key, -1, -2))
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = where(_hidden(*scores.shape[-2:]), -math.inf, scores)
    last = (scores.ndim - 1,)
    shifted, peak = shifted_by_peak(scores, last)
    powers = exp(shifted)
    sums = sum(powers, axis=last, keepdims=True)
    sums = where(sums == 0, 1, sums)
    total = log(sums) + peak
    return matmul(powers, value) / sums, sum(total, axis=last)


@attention.spec
def attention_spec(query, key, value, mask, *, scale, causal):
    batch = [x.shape[:-2] for x in (query, key) + ((mask,) if mask is not None else ())]
    dtype = np.result_type(*(x.dtype for x in (query, key, mask) if x is not None))
    rows = (*np.broadcast_shapes(*batch), query.shape[-2])
    out = (*np.broadcast_shapes(*batch, value.shape[:-2]), query.shape[-2], value.shape[-1])
    return spec_for(out, np.result_type(dtype, value.dtype)), spec_for(rows, dtype)


def probabilities(query: Any, key: Any, mask: Any, total: Any, scale: float, causal: bool) -> Any:
    """The weights of the values, from the logarithms of the sums of their powers."""
    scores = matmul(query * scale, swapaxes(key, -1, -2))
    if mask is not None:
        scores = scores + mask
    total = total.reshape((*total.shape, 1))
    if not causal and type(scores) is np.ndarray and _are_alike(scores[..., :1], total):
        _over_rows(_weigh, scores, total)
        return scores
    scores = scores - total
    return exp(where(_hidden(*scores.shape[-2:]), -math.inf, scores) if causal else scores)


def _weigh(scores: Any, total: Any) -> None:
    scores -= total
    np.exp(scores, out=scores)


def _pulled_scores(g_out: Any, g_total: Any, weights: Any, value: Any, out: Any) -> Any:
    """The gradient of what softmax was taken of."""
    inside: Any = 0
    if g_out is not None:
        inside = matmul(g_out, swapaxes(value, -1, -2))
        along = sum(g_out * out, axis=-1, keepdims=True)
        if g_total is None and _are_alike(inside, weights) and _are_alike(along, weights[..., :1]):
            _over_rows(_weigh_differences, inside, weights, along)
            return inside
        inside = inside - along
    if g_total is not None:
        inside = inside + g_total.reshape((*g_total.shape, 1))
    return weights * inside


def _weigh_differences(inside: Any, weights: Any, along: Any) -> None:
    inside -= along
    inside *= weights


def _are_alike(x: Any, y: Any) -> bool:
    return type(x) is type(y) is np.ndarray and x.shape == y.shape and x.dtype == y.dtype


@attention.vjp
def attention_vjp(g_out, g_total, query, key, value, mask, out, total, scale, causal, needs):
    weights = probabilities(query, key, mask, total, scale, causal)
    to_value = None if g_out is None or not needs[2] else matmul(swapaxes(weights, -1, -2), g_out)
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, to_value, None
    to_scores = _pulled_scores(g_out, g_total, weights, value, out)
    to_query = matmul(to_scores, key) * scale if needs[0] else None
    to_key = matmul(swapaxes(to_scores, -1, -2), query) * scale if needs[1] else None
    return to_query, to_key, to_value, to_scores if needs[3] else None


@attention.jvp
def attention_jvp(t_query, t_key, t_value, t_mask, query, key, value, mask, out, total, scale, causal):
    weights = probabilities(query, key, mask, total, scale, causal)
    t_scores: Any = 0
    if t_query is not None:
        t_scores = t_scores + matmul(t_query, swapaxes(key, -1, -2)) * scale
    if t_key is not None:
        t_scores = t_scores + matmul(query, swapaxes(t_key, -1, -2)) * scale
    if t_mask is not None:
        t_scores = t_scores + t_mask
    moved = weights * t_scores
    t_total = sum(moved, axis=-1)
    t_out = matmul(moved, value) - t_total.reshape((*t_total.shape, 1)) * out
    return t_out if t_value is None else t_out + matmul(weights, t_value), t_total


@attention.batch
def attention_batch(query, key, value, mask, *, scale, causal):
    operands = [query, key, value, mask]
    rank = max(x.ndim for x in operands if x is not None)
    aligned = [
        x if x is None else x.reshape((x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:])) for x in operands
    ]
    return attention(*aligned, scale=scale, causal=causal)


attention.refuses("attention weights are probabilities", "complex128")


@attention.samples
def attention_samples(make: Maker) -> Iterator[Sample]:
    def operands(batch: tuple[int, ...], rows: int, columns: int, dtype: Any = float) -> tuple[Any, ...]:
        return make((*batch, rows, 3), dtype), make((*batch, columns, 3), dtype), make((*batch, columns, 2), dtype)

    plain = {"scale": 0.5, "causal": False}
    hidden = np.where(np.array([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1]]), -np.inf, 0.0)
    yield Sample((*operands((), 3, 4), None), plain, "matrix")
    yield Sample((*operands((2, 2), 2, 3), None), plain, "batch")
    yield Sample((*operands((), 3, 4), None), {"scale": 1.0, "causal": True}, "causal")
    yield Sample((*operands((2,), 3, 4), make((3, 4))), plain, "mask")
    yield Sample((*operands((), 3, 4), hidden), plain, "hidden rows")
    yield Sample((*operands((), 3, 4, np.float32), None), plain, "float32")
    yield Sample((*operands((0,), 3, 4), None), plain, "empty")
    query, key, value = operands((), 3, 4)
    yield Sample((query[::-1], np.asfortranarray(key), value, None), plain, "layouts")


def _as_mask(mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add: truth values say what is seen."""
    mask = as_operand(mask)
    if mask.dtype.kind != "b":
        return mask
    return where(mask, np.zeros((), dtype), np.asarray(-np.inf, dtype))


@composite(name="nn.scaled_dot_product_attention", arrays=3)
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False, *, generator: Any = None,
) -> Any:  # fmt: skip
    """`softmax(scale * query @ key.T + attn_mask) @ value` over the last two axes; the others are batches.

    `attn_mask` is added, or if it holds truth values says what is seen; `is_causal` hides columns after the row's own.
    `scale` is one over the root of the last axis if not given. A row that sees nothing is 0, and so is its gradient.
    With `enable_gqa` several heads (axis -3) of the query share one of key and value.
    """
    if attn_mask is not None and is_causal:
        raise ValueError("nn.scaled_dot_product_attention: give attn_mask or is_causal, not both")
    if enable_gqa:
        key, value = (repeat(x, query.shape[-3] // x.shape[-3], axis=x.ndim - 3) for x in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    mask = None if attn_mask is None else _as_mask(attn_mask, query.dtype)
    if dropout_p == 0:
        return attention(query, key, value, mask, scale=scale, causal=bool(is_causal))[0]
    weights = _weights(query, key, value, mask, scale, bool(is_causal))
    return matmul(dropout(weights, dropout_p, generator=generator), value)


def _weights(query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool) -> Any:
    """The probabilities that the values are weighted with."""
    total = attention(query, key, value, mask, scale=scale, causal=causal)[1]
    return probabilities(query, key, mask, total, scale, causal)


# Several heads


def _projections(name: str, parts: Any, size: int, together: Any, apart: Any, bias: Any) -> list[Any]:
    """Query, key and value times their weights, which are the rows of one matrix or three."""
    biases = [None] * 3 if bias is None else [as_operand(bias)[k * size : (k + 1) * size] for k in range(3)]
    if apart is None:
        whole = as_operand(together)
        weights = [whole[k * size : (k + 1) * size] for k in range(3)]
    elif any(weight is None for weight in apart):
        raise ValueError(f"nn.{name}: separate weights are needed for query, key and value")
    else:
        weights = [as_operand(weight) for weight in apart]
    return [linear(x, w, b) for x, w, b in zip(parts, weights, biases, strict=True)]


def _added_mask(mask: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A mask of what is hidden, or of numbers to add, as numbers of this shape to add."""
    if mask is None:
        return None
    mask = as_operand(mask)
    mask = _as_mask(~mask, dtype) if mask.dtype.kind == "b" else mask
    return mask.reshape(shape)


@composite(name="nn.multi_head_attention_forward", arrays=3)
def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any,
    in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any,
    out_proj_bias: Any, training: bool = True, key_padding_mask: Any = None, need_weights: bool = True,
    attn_mask: Any = None, use_separate_proj_weight: bool = False, q_proj_weight: Any = None,
    k_proj_weight: Any = None, v_proj_weight: Any = None, *, average_attn_weights: bool = True,
    is_causal: bool = False, generator: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention in `num_heads` subspaces of projected (length, examples, features) arrays, projected back.

    Returns the result and, if `need_weights`, the weights (examples, rows, columns), averaged over heads unless
    `average_attn_weights=False`. `in_proj_weight` has the weights of query, key and value one below the other.
    `key_padding_mask` and a mask of truth values are True for what is hidden; numbers are added. `bias_k`, `bias_v`
    and `add_zero_attn` append a learned or a zero element to keys and values.
    """
    name = "multi_head_attention_forward"
    is_single = query.ndim == 2
    if is_single:
        query, key, value = (x.reshape((x.shape[0], 1, x.shape[1])) for x in (query, key, value))
    rows, count, size = query.shape
    if size != embed_dim_to_check or size % num_heads:
        raise ValueError(f"nn.{name}: {num_heads} heads of {embed_dim_to_check} features do not fit {query.shape}")
    apart = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    parts = _projections(name, (query, key, value), size, in_proj_weight, apart, in_proj_bias)
    columns = key.shape[0]
    mask = _added_mask(attn_mask, query.dtype, _mask_shape(attn_mask, count, num_heads, rows, columns))
    padding = _added_mask(key_padding_mask, query.dtype, (count, 1, 1, columns))
    if is_causal and mask is None:
        mask = as_operand(np.where(_hidden(rows, columns), -np.inf, 0).astype(query.dtype))
    total = padding if mask is None else mask if padding is None else mask + padding
    if bias_k is not None and bias_v is not None:
        parts, total = _appended(parts, total, [as_operand(bias_k), as_operand(bias_v)])
    if add_zero_attn:
        parts, total = _appended(parts, total, [as_operand(np.zeros((1, 1, size), query.dtype))] * 2)
    heads = [_split_heads(x, num_heads) for x in parts]
    scale = 1 / math.sqrt(size // num_heads)
    if need_weights or (training and dropout_p):
        weights = _weights(heads[0], heads[1], heads[2], total, scale, False)
        weights = dropout(weights, dropout_p, training, generator=generator)
        out = matmul(weights, heads[2])
    else:
        weights, out = None, attention(*heads, total, scale=scale, causal=False)[0]
    joined = out.transpose((2, 0, 1, 3)).reshape((rows, count, size))
    joined = linear(joined, as_operand(out_proj_weight), out_proj_bias)
    joined = joined.reshape((rows, size)) if is_single else joined
    if not need_weights:
        return joined, None
    weights = mean(weights, axis=1) if average_attn_weights else weights
    return joined, weights.reshape(weights.shape[1:]) if is_single else weights


def _appended(parts: list[Any], mask: Any, more: list[Any]) -> tuple[list[Any], Any]:
    """Keys and values with one more element, which no mask hides."""
    query, *others = parts
    longer = [
        concat([x, broadcast_to(one, (1, *x.shape[1:]))], axis=0) for x, one in zip(others, more, strict=True)
    ]
    if mask is not None:
        mask = concat([mask, as_operand(np.zeros((*mask.shape[:-1], 1), mask.dtype))], axis=-1)
    return [query, *longer], mask


def _mask_shape(mask: Any, count: int, heads: int, rows: int, columns: int) -> tuple[int, ...]:
    """A mask is for all examples and heads, or for each of them."""
    return (rows, columns) if mask is None or np.ndim(mask) == 2 else (count, heads, rows, columns)


def _split_heads(x: Any, heads: int) -> Any:
    """(length, examples, features) as (examples, heads, length, features of a head)."""
    length, count, size = x.shape
    return x.reshape((length, count, heads, size // heads)).transpose((1, 2, 0, 3))
