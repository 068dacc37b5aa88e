"""Connectionist temporal classification: the probability of a sequence, summed over all its alignments in time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.ops.comparison import isinf, where
from pullback.ops.elementwise import logaddexp
from pullback.ops.index_operators import ARRAY, index_arrays
from pullback.ops.joining import concat
from pullback.ops.nn_cross_entropy import reduced
from pullback.ops.reduction import logsumexp, mean
from pullback.tensors.tensor import Tensor, as_constant


def _plain(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else np.asarray(x)


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
    rows = _padded_targets(_plain(as_operand(targets)), sizes)
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
