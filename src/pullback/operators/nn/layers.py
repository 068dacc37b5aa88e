"""Layers: linear maps, embeddings, dropout and recurrent cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.build import as_operand
from pullback.operators.arguments import every_value, plain, tensor_from
from pullback.operators.arrays.index_operators import ARRAY, index_add_to_zeros
from pullback.operators.arrays.movement import swapaxes
from pullback.operators.arrays.scatter import take
from pullback.operators.contraction import einsum, matmul
from pullback.operators.elementwise.arithmetic import sigmoid, tanh
from pullback.operators.elementwise.casting import on_device, place_like
from pullback.operators.elementwise.comparison import relu, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.norms import lengths as norms
from pullback.operators.random.family import random
from pullback.operators.reductions.extremes import max as max_along
from pullback.operators.reductions.reduction import sum
from pullback.payloads.batched.array import is_repeated
from pullback.payloads.devices import CPU
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, as_constant

# Linear maps


@primitive(name="_linear", torch="addmm", flow="affine", fresh=True)
def affine(x, weight, bias):
    """`x @ weight.T + bias`, in one product of matrices."""
    flat = x.reshape(-1, x.shape[-1]) if x.ndim != 2 else x
    out = flat @ weight.T
    if bias is not None:
        out = np.add(out, bias, out=out) if np.result_type(bias, out) == out.dtype else out + bias
    return out.reshape((*x.shape[:-1], weight.shape[0]))


@affine.expand(in_rows=True)
def affine_parts(x, weight, bias):
    product = matmul(x, swapaxes(weight, 0, 1))
    return product if bias is None else product + bias


@affine.spec
def affine_spec(x, weight, bias):
    dtype = np.result_type(*(v.dtype for v in (x, weight, bias) if v is not None))
    return spec_for((*x.shape[:-1], weight.shape[0]), dtype)


@affine.vjp_of("x")
def affine_vjp_x(g, weight):
    return matmul(g, conjugated(weight))


@affine.vjp_of("weight")
def affine_vjp_weight(g, x):
    rows = math.prod(x.shape[:-1])
    flat = conjugated(x).reshape((rows, x.shape[-1]))
    return matmul(swapaxes(g.reshape((rows, g.shape[-1])), 0, 1), flat)


@affine.vjp_of("bias")
def affine_vjp_bias(g):
    return g


@affine.jvp
def affine_jvp(t_x, t_weight, t_bias, x, weight, out):
    total = None
    if t_x is not None:
        total = affine(t_x, weight, None)
    if t_weight is not None:
        term = affine(x, t_weight, None)
        total = term if total is None else total + term
    if t_bias is None:
        return total
    return (np.zeros(out.shape, out.dtype) if total is None else total) + t_bias


@affine.batch
def affine_batch(x, weight, bias):
    if is_repeated(weight) and (bias is None or is_repeated(bias)):
        return affine(x, weight[0], None if bias is None else bias[0])
    flat = x.reshape((x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]))
    out = matmul(flat, swapaxes(weight, 1, 2))
    if bias is not None:
        out = out + bias.reshape((bias.shape[0], 1, bias.shape[1]))
    return out.reshape((*x.shape[:-1], weight.shape[1]))


@affine.samples
def affine_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4, 3)), make((2, 3)), make((2,))), label="bias")
    yield Sample((make((4, 3)), make((2, 3)), None), label="plain")
    yield Sample((make((3,)), make((2, 3)), make((2,))), label="vector")
    yield Sample((make((2, 2, 3)), make((4, 3)), make((4,))), label="three axes")
    yield Sample((make((0, 3)), make((2, 3)), make((2,))), label="empty")
    yield Sample((make((4, 3), np.float32), make((2, 3), np.float32), make((2,), np.float32)), label="float32")
    yield Sample((make((4, 3), np.complex128), make((2, 3), np.complex128), make((2,), np.complex128)), label="complex")
    for label, array in layouts(make((4, 3))):
        yield Sample((array, make((2, 3)), make((2,))), label=label)


@composite(name="nn.linear", arrays=2)
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """`x @ weight.T + bias`: `weight` has one row per output, or is a vector for a single output without axis."""
    if weight.ndim == 1:
        out = matmul(x, weight)
        return out if bias is None else out + as_operand(bias)
    if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"nn.linear: an input of shape {x.shape} and a weight of shape {weight.shape} do not fit")
    return affine(x, weight, None if bias is None else as_operand(bias))


@composite(name="nn.bilinear", arrays=3)
def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """`x1 @ weight[k] @ x2 + bias[k]` for every output k."""
    out = einsum("...i,kij,...j->...k", x1, weight, x2)
    return out if bias is None else out + as_operand(bias)


# Embeddings


def _constant(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x


def _shorten(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows at `indices` that are longer than `max_norm`, in place and outside the graph."""
    with no_grad():
        rows = as_constant(np.unique(every_value(indices)))
        values = weight[rows]
        lengths = norms(values, axis=-1, keepdims=True, ord=float(norm_type))
        weight[rows] = where(lengths > max_norm, values * (max_norm / (lengths + 1e-7)), values)


@composite(name="nn.embedding", arrays=2)
def embedding(
    indices: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of `weight` at `indices`.

    The row `padding_idx` gets no gradient. `max_norm` first shortens the rows that are read, in place. With
    `scale_grad_by_freq` a row's gradient is divided by how often it was read, with `sparse` the gradient is a
    `SparseGrad` of the rows that were read.
    """
    if max_norm is not None:
        _shorten(weight, indices, max_norm, norm_type)
    rows = take(weight, indices, axis=0, sparse_grad=sparse)
    if scale_grad_by_freq:
        indices = tensor_from(indices)
        once = np.ones(indices.shape, rows.real.dtype)
        total = index_add_to_zeros(once, indices, template=(ARRAY,), shape=weight.shape[:1], distinct=False)
        counts = take(total, indices)
        # The difference is zero, so the value is exact, and its derivative is that of the row.
        rows = _constant(rows) + (rows - _constant(rows)) / counts[..., None]
    if padding_idx is not None:
        padding = _padding_row("embedding", padding_idx, weight)
        hidden = (indices == padding).reshape((*indices.shape, 1))
        rows = where(hidden, _constant(rows), rows)
    return rows


def _padding_row(name: str, padding_idx: int, weight: Any) -> int:
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise IndexError(f"nn.{name}: padding_idx {padding_idx} must be within the number of embeddings, {count}")
    return padding_idx % count


@composite(name="nn.embedding_bag", arrays=2)
def embedding_bag(
    indices: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The sum, mean or maximum of the rows of `weight` in each bag of indices; an empty bag gives zeros.

    Bags are the rows of `indices`, or begin at `offsets` of a vector. `per_sample_weights` multiply the rows before a
    sum. Indices equal to `padding_idx` are left out.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"nn.embedding_bag: mode must be 'sum', 'mean' or 'max', got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError("nn.embedding_bag: per_sample_weights are for mode 'sum'")
    bags, starts = _bags(indices, offsets, include_last_offset)
    rows = embedding(indices, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    rows = rows.reshape((bags.size, weight.shape[1]))
    counts = np.ones(bags.size, bool)
    if padding_idx is not None:
        counts = plain("nn.embedding_bag", indices).reshape(-1) != _padding_row("embedding_bag", padding_idx, weight)
    if mode == "max":
        return _largest_of_bags(rows, bags, starts, counts)
    if per_sample_weights is not None:
        rows = rows * as_operand(per_sample_weights).reshape((-1, 1))
    if not counts.all():
        rows = where(counts[:, None], rows, 0)
    shape = (len(starts), weight.shape[1])
    total = index_add_to_zeros(rows, bags, template=(ARRAY,), shape=shape, distinct=False)
    if mode == "sum":
        return total
    sizes = np.bincount(bags[counts], minlength=len(starts))
    return total / np.maximum(sizes, 1).astype(weight.dtype)[:, None]


def _bags(indices: Any, offsets: Any, include_last: bool) -> tuple[Any, Any]:
    """For every index the bag that it is in, and the beginnings of the bags."""
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError("nn.embedding_bag: rows of indices are bags already, offsets are for a vector")
        return np.repeat(np.arange(indices.shape[0]), indices.shape[1]), np.arange(indices.shape[0]) * indices.shape[1]
    if indices.ndim != 1 or offsets is None:
        raise ValueError("nn.embedding_bag: indices are a matrix, or a vector together with offsets")
    starts = plain("nn.embedding_bag", offsets)[: -1 if include_last else None]
    return np.searchsorted(starts, np.arange(indices.size), side="right") - 1, starts


def _largest_of_bags(rows: Any, bags: Any, starts: Any, counts: Any) -> Any:
    bags = bags[counts]
    sizes = np.bincount(bags, minlength=len(starts))
    widest = max(int(sizes.max(initial=0)), 1)
    table = np.zeros((len(starts), widest), np.int64)
    within = np.arange(bags.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table[bags, within] = np.flatnonzero(counts)
    filled = np.arange(widest) < sizes[:, None]
    if rows.shape[0] == 0:
        return np.zeros((len(starts), rows.shape[1]), rows.dtype) + sum(rows, axis=0)
    largest = max_along(where(filled[:, :, None], take(rows, table, axis=0), -math.inf), axis=1)
    return where((sizes == 0)[:, None], 0, largest)


# Dropout


def _dropped(name: str, x: Any, p: float, training: bool, shape: tuple[int, ...], generator: Any) -> Any:
    """Which elements stay, as an array of truth values; None if all do."""
    if not 0 <= p <= 1:
        raise ValueError(f"nn.{name}: p is a probability, got {p}")
    if not training or p == 0:
        return None
    return on_device(random(shape, generator=generator) >= p, place_like(x, None) or CPU)


def _scaled_where(keep: Any, x: Any, p: float) -> Any:
    return where(keep, x if p == 1 else x * (1 / (1 - p)), 0)


@composite(name="nn.dropout")
def dropout(x: Any, p: float = 0.5, training: bool = True, *, generator: Any = None) -> Any:
    """`x` with every element replaced by 0 with probability `p` and the others divided by `1 - p`.

    Without `training`, `x` itself. The draws are from `generator` or the default one. The gradient goes through the
    elements that were kept; with `p=1` values and gradients are 0.
    """
    keep = _dropped("dropout", x, p, training, x.shape, generator)
    return x if keep is None else _scaled_where(keep, x, p)


def _declare_channel_dropout(rank: int) -> None:
    name = f"dropout{rank}d"

    def channel_dropout(x: Any, p: float = 0.5, training: bool = True, *, generator: Any = None) -> Any:
        """`dropout` of whole channels: the axes after examples and channels share one draw."""
        if x.ndim not in (rank + 1, rank + 2):
            raise ValueError(f"nn.{name}: an input with {rank + 1} or {rank + 2} axes is needed, got shape {x.shape}")
        keep = _dropped(name, x, p, training, x.shape[: x.ndim - rank] + (1,) * rank, generator)
        return x if keep is None else _scaled_where(keep, x, p)

    channel_dropout.__name__ = channel_dropout.__qualname__ = name
    composite(name=f"nn.{name}")(channel_dropout)


for _rank in (1, 2, 3):
    _declare_channel_dropout(_rank)

_SELU_FLOOR = -1.7580993408473766


def _alpha_dropped(x: Any, keep: Any, p: float) -> Any:
    if p == 1:
        return where(keep, x, 0)
    scale = ((1 - p) * (1 + p * _SELU_FLOOR**2)) ** -0.5
    return scale * where(keep, x, _SELU_FLOOR) - scale * p * _SELU_FLOOR


@composite(name="nn.alpha_dropout")
def alpha_dropout(x: Any, p: float = 0.5, training: bool = True, *, generator: Any = None) -> Any:
    """`dropout` for `selu`: dropped elements get its lower limit, and mean and variance stay as they are."""
    keep = _dropped("alpha_dropout", x, p, training, x.shape, generator)
    return x if keep is None else _alpha_dropped(x, keep, p)


@composite(name="nn.feature_alpha_dropout")
def feature_alpha_dropout(x: Any, p: float = 0.5, training: bool = True, *, generator: Any = None) -> Any:
    """`alpha_dropout` of whole channels (axis 1)."""
    shape = x.shape[:2] + (1,) * (x.ndim - 2)
    keep = _dropped("feature_alpha_dropout", x, p, training, shape, generator)
    return x if keep is None else _alpha_dropped(x, keep, p)


# Recurrent cells


@composite(name="nn.rnn_cell", arrays=4)
def rnn_cell(
    x: Any, hidden: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, *, nonlinearity: str = "tanh"
) -> Any:  # fmt: skip
    """The next hidden state `tanh(linear(x, w_ih, b_ih) + linear(hidden, w_hh, b_hh))`, or with "relu"."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"nn.rnn_cell: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
    _check_state("rnn_cell", x, (hidden,), w_hh)
    total = linear(x, w_ih, b_ih) + linear(hidden, w_hh, b_hh)
    return tanh(total) if nonlinearity == "tanh" else relu(total)


def _check_state(name: str, x: Any, state: tuple[Any, ...], w_hh: Any) -> None:
    """A state has as many examples as the input: one for all of them is more likely a mistake than meant."""
    wanted = (*x.shape[:-1], w_hh.shape[-1])
    for part in state:
        if part.shape != wanted:
            raise ValueError(f"nn.{name}: a state of shape {list(part.shape)} is given, and {list(wanted)} is needed")


def _gates(total: Any, count: int) -> list[Any]:
    size = total.shape[-1] // count
    return [total[..., k * size : (k + 1) * size] for k in range(count)]


@composite(name="nn.gru_cell", arrays=4)
def gru_cell(x: Any, hidden: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The next hidden state of a gated recurrent unit; weights hold reset, update and new gate one below the other."""
    _check_state("gru_cell", x, (hidden,), w_hh)
    reset_x, update_x, new_x = _gates(linear(x, w_ih, b_ih), 3)
    reset_h, update_h, new_h = _gates(linear(hidden, w_hh, b_hh), 3)
    update = sigmoid(update_x + update_h)
    new = tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
    return new + update * (hidden - new)


@composite(name="nn.lstm_cell")
def lstm_cell(x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """The next hidden and cell state; weights hold input, forget, cell and output gate one below the other."""
    hidden, cell = (as_operand(part) for part in state)
    _check_state("lstm_cell", x, (hidden, cell), w_hh)
    total = linear(x, as_operand(w_ih), b_ih) + linear(hidden, as_operand(w_hh), b_hh)
    enter, forget, new, leave = _gates(total, 4)
    cell = sigmoid(forget) * cell + sigmoid(enter) * tanh(new)
    return sigmoid(leave) * tanh(cell), cell
