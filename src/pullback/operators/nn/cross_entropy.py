"""Losses over classes: `cross_entropy` and `nll_loss`.

One operator turns logits and class numbers into losses per row; its second output is the logarithm of the sum of
exponentials, from which backward gets the probabilities in one pass. Class weights, label smoothing, ignored rows and
the reduction are ordinary arithmetic on these two outputs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import axis_letters
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.build import as_operand
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.scatter import add_elements, gather_elements, take
from pullback.operators.elementwise.arithmetic import exp, log, logaddexp
from pullback.operators.elementwise.comparison import isinf, where
from pullback.operators.pieces import empty_rows, in_pieces, scratch_like
from pullback.operators.reductions.exponentials import log_softmax, logsumexp, shifted_by_peak
from pullback.operators.reductions.reduction import any, mean, quotient_or_nan, sum
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.tensors.tensor import Tensor, as_constant

REDUCTIONS = ("none", "mean", "sum")


def reduced(name: str, losses: Any, reduction: str) -> Any:
    """The losses one by one, their mean or their sum."""
    if reduction == "none" or (reduction in REDUCTIONS and not losses.ndim and losses.dtype.kind == "f"):
        return losses
    if reduction == "mean":
        return mean(losses)
    if reduction == "sum":
        return sum(losses)
    raise ValueError(f"nn.{name}: reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}")


def _places(target: Any, axis: int) -> tuple[Any, ...]:
    """Arrays that address the element of class `target` in every row."""
    shape, ndim = target.shape, target.ndim
    counting = [np.arange(n).reshape((n,) + (1,) * (ndim - k - 1)) for k, n in enumerate(shape)]
    return (*counting[:axis], target, *counting[axis:])


def _expanded(x: Any, axis: int) -> Any:
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


def _letters(x: Any, axis: int) -> str:
    own = axis_letters(x.ndim, (axis,))
    rest = own.replace("*", "")
    return f"{own},{rest}->{rest},{rest}"


@primitive(
    name="_softmax_nll", outputs=("out", "total"), torch="cross_entropy", recompute="free", batch="shifted",
    letters=_letters,
)  # fmt: skip
def softmax_nll(x, target, *, axis):
    """`total - x[target]` over `axis`, and `total`, the logarithm of the sum of the exponentials of `x`."""
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    if type(x) is np.ndarray and axis == x.ndim - 1 and x.flags.c_contiguous and x.size:
        return _softmax_nll_of_rows(x, target)
    peak = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0).astype(x.dtype)
    powers = x - peak
    np.exp(powers, out=powers)
    with np.errstate(divide="ignore"):
        total = np.log(np.add.reduce(powers, axis=axis)) + peak.squeeze(axis)
    return total - x[_places(target, axis)], total


_FEW = 1 << 12


@softmax_nll.kernel_on_arrays
def softmax_nll_of_few(x, target, *, axis):
    if axis != 1 or x.ndim != 2 or x.dtype.char not in "fd" or not x.flags.c_contiguous or not 0 < x.size < _FEW:
        return softmax_nll.kernel(x, target, axis=axis)
    peak = np.maximum.reduce(x, 1)
    if not np.logical_and.reduce(np.isfinite(peak), None):
        return softmax_nll.kernel(x, target, axis=axis)
    powers = x - peak[:, None]
    np.exp(powers, powers)
    total = np.add.reduce(powers, 1)
    np.log(total, total)
    total += peak
    return total - x[_numbers(len(x)), target], total


@functools.lru_cache(64)
def _numbers(count: int) -> Any:
    return np.arange(count)


@softmax_nll.expand(of="mixed", in_rows=True)
def softmax_nll_parts(x, target, *, axis):
    shifted, peak = shifted_by_peak(x, (axis,))
    total = log(sum(exp(shifted), axis=(axis,), keepdims=True)) + peak
    chosen = gather_elements(x, _expanded(target, axis), axis=axis, distinct=True)
    return sum(total - chosen, axis=(axis,)), sum(total, axis=(axis,))


def _softmax_nll_of_rows(x: Any, target: Any) -> tuple[Any, Any]:
    """The same for classes in the last axis, in pieces that stay in the cache."""
    rows, classes = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    total = np.empty(len(rows), x.dtype)

    def work(start: int, stop: int) -> None:
        part = rows[start:stop]
        peak = np.maximum.reduce(part, axis=1, keepdims=True)
        if not np.isfinite(peak).all():
            peak = np.where(np.isfinite(peak), peak, 0)
        powers = np.subtract(part, peak, out=scratch_like(part, 0))
        np.exp(powers, out=powers)
        sums = np.add.reduce(powers, axis=1)
        with np.errstate(divide="ignore"):
            np.log(sums, out=sums)
        np.add(sums, peak[:, 0], out=total[start:stop])

    in_pieces(work, *rows.shape)
    losses = total - rows[np.arange(len(rows)), classes]
    return losses.reshape(target.shape), total.reshape(target.shape)


def _softmax_nll_pulled(g_out: Any, both: Any, x: Any, target: Any, total: Any) -> Any:
    """The gradient of plain logits with the classes in their last axis."""
    rows, classes = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    both, total = both.reshape((-1, 1)), total.reshape((-1, 1))
    whole, out = empty_rows(x, rows)

    def work(start: int, stop: int) -> None:
        part = np.subtract(rows[start:stop], total[start:stop], out=out[start:stop])
        np.exp(part, out=part)
        part *= both[start:stop]

    in_pieces(work, *rows.shape)
    if g_out is not None:
        out[np.arange(len(rows)), classes] -= g_out.reshape(-1)
    return whole


def _pulled_at_once(g_out: Any, both: Any, x: Any, target: Any, total: Any) -> Any:
    """That gradient for arrays, or for all examples of a batch of them; None if they are anything else."""
    levels = levels_of(x)
    if levels_of(target) != levels or levels_of(total) != levels or levels_of(both) not in ((), levels):
        return None
    plain = [_memory(each) for each in (g_out, both, x, target, total)]
    if not all(each is None or type(each) is np.ndarray for each in plain):
        return None
    g_out, both, rows, target, total = plain
    if both.dtype != rows.dtype or not rows.flags.c_contiguous or not rows.size:
        return None
    if both.shape != total.shape:  # the same gradient for all examples
        both = np.broadcast_to(both, total.shape)
        g_out = None if g_out is None else np.broadcast_to(g_out, total.shape)
    out = _softmax_nll_pulled(g_out, both, rows, target, total)
    return BatchedArray(out, levels) if type(x) is BatchedArray else out


def _memory(payload: Any) -> Any:
    """What a payload consists of: of a batch, the values of all examples."""
    return payload.data if type(payload) is BatchedArray else payload


@softmax_nll.spec
def softmax_nll_spec(x, target, *, axis):
    spec = spec_for(target.shape, x.dtype if x.dtype.kind == "f" else np.dtype(np.float64))
    return spec, spec


def _picked(x: Any, target: Any, axis: int) -> Any:
    chosen = gather_elements(x, _expanded(target, axis), axis=axis, distinct=True)
    return chosen.reshape(target.shape)


@softmax_nll.vjp
def softmax_nll_vjp(g_out, g_total, x, target, total, axis):
    both = g_total if g_out is None else g_out if g_total is None else g_out + g_total
    found = _pulled_at_once(g_out, both, x, target, total) if axis == x.ndim - 1 else None
    if found is not None:
        return found, None
    spread = exp(x - _expanded(total, axis)) * _expanded(both, axis)
    if g_out is not None:
        places = _expanded(target, axis)
        spread = spread - add_elements(_expanded(g_out, axis), places, axis=axis, shape=x.shape, distinct=True)
    return spread, None


@softmax_nll.vjp_on_arrays
def softmax_nll_pulled_of_few(g_out, g_total, x, target, total, axis):
    if g_out is None or g_total is not None or axis != 1 or x.ndim != 2 or not x.size < _FEW or x.dtype != g_out.dtype:
        return softmax_nll_vjp(g_out, g_total, x, target, total, axis)
    out = x - total[:, None]
    np.exp(out, out)
    out *= g_out[:, None]
    out[_numbers(len(x)), target] -= g_out
    return out, None


@softmax_nll.jvp
def softmax_nll_jvp(t_x, x, target, total, axis):
    t_total = sum(exp(x - _expanded(total, axis)) * t_x, axis=axis)
    return t_total - _picked(t_x, target, axis), t_total


softmax_nll.refuses("logits are real numbers", "complex128")


@softmax_nll.samples
def softmax_nll_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4, 5)), make.integers(0, 5, (4,))), {"axis": 1}, "rows")
    yield Sample((make((2, 3, 2, 2)), make.integers(0, 3, (2, 2, 2))), {"axis": 1}, "pixels")
    yield Sample((make((5,)), np.array(2)), {"axis": 0}, "one example")
    yield Sample((make((4, 1)), np.zeros(4, int)), {"axis": 1}, "one class")
    yield Sample((make((0, 5)), np.zeros(0, int)), {"axis": 1}, "empty")
    yield Sample((make((4, 5), np.float32), make.integers(0, 5, (4,))), {"axis": 1}, "float32")
    yield Sample((make((3, 4)) + np.array([[1e4], [-1e4], [0.0]]), np.array([0, 1, 2])), {"axis": 1}, "extreme")
    for label, array in layouts(make((3, 4))):
        yield Sample((array, np.array([3, 0, 1])), {"axis": 1}, label)


def _classes(name: str, x: Any, target: Any, ignore_index: int) -> tuple[Any, Any, int]:
    """Class numbers that can be looked up, which of them count (None: all), and the axis of the classes."""
    axis = 0 if x.ndim == 1 else 1
    if x.ndim == 0 or target.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ValueError(f"nn.{name}: targets of shape {target.shape} do not fit scores of shape {x.shape}")
    numbers = _memory(target._data if isinstance(target, Tensor) else target)
    if isinstance(numbers, np.ndarray):
        if numbers.size and ignore_index < 0:
            lowest, highest = np.minimum.reduce(numbers, None), np.maximum.reduce(numbers, None)
            if lowest >= 0 and highest < x.shape[axis]:
                return target, None, axis  # nearly always so
        kept = numbers != ignore_index
        if ((numbers < 0) | (numbers >= x.shape[axis]))[kept].any():
            raise IndexError(f"nn.{name}: a target lies outside the {x.shape[axis]} classes")
        if kept.all():
            return target, None, axis
    kept = target != ignore_index
    return where(kept, target, 0), kept, axis


def class_weights(name: str, weight: Any, count: int) -> Any:
    """One number per class, of which there are `count`."""
    weight = as_operand(weight)
    if weight.shape != (count,):
        raise ValueError(f"nn.{name}: weight holds one number per class, {count} in all, not {list(weight.shape)}")
    return weight


def _averaged(name: str, losses: Any, weights: Any, kept: Any, reduction: str) -> Any:
    """Losses per row reduced; the mean is over the weights of the rows that count."""
    if kept is not None:
        losses = where(kept, losses, 0)
    if reduction != "mean" or (weights is None and kept is None):
        return reduced(name, losses, reduction)
    if kept is None:
        return sum(losses) / sum(weights)
    divisor = sum(kept, dtype=losses.dtype) if weights is None else sum(where(kept, weights, 0))
    return quotient_or_nan(sum(losses), divisor, ~any(kept))


@composite(name="nn.cross_entropy", arrays=2)
def cross_entropy(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The negative logarithm of the probability that the logits `x` give to `target`.

    Classes are axis 1, or axis 0 of a single example. `target` holds class numbers, or probabilities in the shape of
    `x`. `weight` has one number per class; rows with `ignore_index` do not count; `label_smoothing` is the share of
    the target that is spread over all classes. The mean is weighted by the classes' weights; that of no rows is NaN
    with gradient 0.
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"nn.cross_entropy: label_smoothing lies between 0 and 1, got {label_smoothing}")
    weight = None if weight is None else class_weights("cross_entropy", weight, x.shape[min(x.ndim - 1, 1)])
    if target.dtype.kind == "f":
        return _soft_cross_entropy(x, target, weight, reduction, label_smoothing)
    target, kept, axis = _classes("cross_entropy", x, target, ignore_index)
    losses, total = softmax_nll(x, target, axis=axis)
    weights = None if weight is None else take(weight, target)
    if weights is not None:
        losses = losses * weights
    if label_smoothing:
        spread = _expanded(total, axis) - x
        if weight is not None:
            spread = spread * weight.reshape((-1,) + (1,) * (x.ndim - axis - 1))
        losses = (1 - label_smoothing) * losses + label_smoothing * mean(spread, axis=axis)
    return _averaged("cross_entropy", losses, weights, kept, reduction)


def _soft_cross_entropy(x: Any, target: Any, weight: Any, reduction: str, smoothing: float) -> Any:
    if target.shape != x.shape:
        raise ValueError(f"nn.cross_entropy: probabilities of shape {target.shape} for logits of shape {x.shape}")
    axis = 0 if x.ndim == 1 else 1
    if smoothing:
        target = (1 - smoothing) * target + smoothing / x.shape[axis]
    terms = target * log_softmax(x, axis=axis)
    if weight is not None:
        terms = terms * weight.reshape((-1,) + (1,) * (x.ndim - axis - 1))
    losses = -sum(terms, axis=axis)
    return reduced("cross_entropy", losses, reduction)


@composite(name="nn.nll_loss", arrays=2)
def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:  # fmt: skip
    """`-x[target]` for logarithms of probabilities `x`, whose classes are axis 1, or axis 0 of a single example.

    `weight` has one number per class, rows with `ignore_index` do not count, and the mean is a weighted one.
    """
    target, kept, axis = _classes("nll_loss", x, target, ignore_index)
    losses = -_picked(x, target, axis)
    weights = None if weight is None else take(class_weights("nll_loss", weight, x.shape[axis]), target)
    if weights is not None:
        losses = losses * weights
    return _averaged("nll_loss", losses, weights, kept, reduction)


# Connectionist temporal classification: the probability of a sequence, summed over all its alignments in time.

def _plain(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else np.asarray(x)


def _check_lengths(name: str, lengths: Any, largest: int) -> None:
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(f"nn.ctc_loss: {name} must be integral, not {lengths.dtype}")
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= largest:
        raise ValueError(f"nn.ctc_loss: {name} must lie between 0 and {largest}, got {lengths.tolist()}")


def _padded_targets(targets: Any, lengths: Any) -> Any:
    """The targets of every example in a row; what is beyond an example's length is never read."""
    if targets.ndim == 2:
        return targets
    rows = np.zeros((lengths.size, int(lengths.max(initial=0))), np.int64)
    start = 0
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = targets[start : start + length]
        start += length
    return rows


def _shifted(x: Any, by: int) -> Any:
    """`x` moved by some places along the last axis, with the logarithm of zero moving in."""
    filler = as_constant(np.full((*x.shape[:-1], by), -math.inf, x.dtype))
    return concat([filler, x[..., : x.shape[-1] - by]], axis=-1)


def _alignments(scores: Any, labels: Any, blank: int, input_lengths: Any) -> Any:
    """For every example and label the logarithm of the probability of all alignments that end there, at its last time.

    `scores` is (time, examples, classes), and `labels` has a blank between any two labels and at both ends.
    """
    steps, count = scores.shape[:2]
    width = labels.shape[1]
    examples = np.arange(count)[:, None]
    # A label may follow the one before last directly, unless it is a blank or the same label.
    may_skip = np.zeros(labels.shape, bool)
    may_skip[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    current = where(np.arange(width) < 2, _emitted(scores, 0, examples, labels), -math.inf)
    for time in range(1, steps):
        nearby = [current]
        if width > 1:
            nearby.append(_shifted(current, 1))
        if width > 2:
            nearby.append(where(may_skip, _shifted(current, 2), -math.inf))
        reached = nearby[0]
        if len(nearby) > 1:
            stacked = concat([each.reshape((1, *each.shape)) for each in nearby], axis=0)
            reached = logsumexp(stacked, axis=0)
        following = reached + _emitted(scores, time, examples, labels)
        is_running = (time < input_lengths)[:, None]
        current = following if is_running.all() else where(is_running, following, current)
    if not input_lengths.all():  # in no time there is one alignment, that of no label
        start = np.where(np.arange(width) == 0, 0, -math.inf).astype(current.dtype)
        current = where((input_lengths > 0)[:, None], current, start)
    return current


def _emitted(scores: Any, time: int, examples: Any, labels: Any) -> Any:
    return index_arrays(scores[time], examples, labels, template=(ARRAY, ARRAY), distinct=False)


@composite(name="nn.ctc_loss")
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The negative logarithm of the probability of target sequences, summed over alignments with blanks.

    `log_probs` is (time, examples, classes), or (time, classes) of one example; `targets` has the examples in rows, or
    one after the other in a vector. The mean divides each loss by its target's length first. A target that does not
    fit into its time has infinite loss, or with `zero_infinity` loss and gradient 0.
    """
    is_single = log_probs.ndim == 2
    scores = log_probs.reshape((log_probs.shape[0], 1, log_probs.shape[1])) if is_single else log_probs
    spans, sizes = (_plain(as_operand(v)).reshape(-1) for v in (input_lengths, target_lengths))
    targets = _plain(as_operand(targets))
    _check_lengths("input_lengths", spans, scores.shape[0])
    _check_lengths("target_lengths", sizes, targets.shape[-1])
    rows = _padded_targets(targets, sizes)
    if spans.size != scores.shape[1] or sizes.size != scores.shape[1] or rows.shape[0] != scores.shape[1]:
        raise ValueError(f"nn.ctc_loss: lengths and targets are needed for each of {scores.shape[1]} examples")
    labels = np.full((rows.shape[0], 2 * rows.shape[1] + 1), blank, np.int64)
    labels[:, 1::2] = rows
    ends = _alignments(scores, labels, blank, spans)
    examples = np.arange(sizes.size)
    last = index_arrays(ends, examples, 2 * sizes, template=(ARRAY, ARRAY), distinct=True)
    before = index_arrays(ends, examples, np.maximum(2 * sizes - 1, 0), template=(ARRAY, ARRAY), distinct=True)
    losses = -logaddexp(last, where(sizes > 0, before, -math.inf))
    if zero_infinity:
        losses = where(isinf(losses), 0, losses)
    if is_single:
        losses = losses.reshape(())
    if reduction == "mean":
        return mean(losses / np.maximum(sizes, 1).astype(losses.dtype).reshape(losses.shape))
    return reduced("ctc_loss", losses, reduction)
