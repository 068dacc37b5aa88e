"""Losses of predictions and targets, made of other operators. Those over classes are in `cross_entropy.py`.

Every loss takes `reduction`: "none", "mean" or "sum". Differentiable in predictions and targets alike. Where a
prediction equals its target the derivative of a distance is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.declare.composite import composite
from pullback.declare.families import binary
from pullback.eager.build import as_operand
from pullback.operators.arguments import every_value
from pullback.operators.arrays.scatter import gather_along
from pullback.operators.elementwise.arithmetic import exp, log, log_sigmoid, sigmoid, softplus, sqrt
from pullback.operators.elementwise.comparison import maximum, relu, where
from pullback.operators.elementwise.complex_numbers import abs, conjugated, squared_size
from pullback.operators.nn.cross_entropy import class_weights, reduced
from pullback.operators.products import pairwise_distance
from pullback.operators.reductions.reduction import mean, sum
from pullback.tensors.tensor import as_constant

# Distances


@composite(name="nn.mse_loss", arrays=2)
def mse_loss(x: Any, target: Any, reduction: str = "mean", *, weight: Any = None) -> Any:
    """The squared difference, of complex numbers that of its absolute value."""
    return reduced("mse_loss", _weighted(squared_size(_difference("mse_loss", x, target)), weight), reduction)


@composite(name="nn.l1_loss", arrays=2)
def l1_loss(x: Any, target: Any, reduction: str = "mean", *, weight: Any = None) -> Any:
    """The absolute difference; its derivative at equality is 0."""
    return reduced("l1_loss", _weighted(abs(_difference("l1_loss", x, target)), weight), reduction)


def _difference(name: str, x: Any, target: Any) -> Any:
    """`x - target`, with a warning where every element meets every target, as a column meets a row: that is hardly ever
    meant."""
    out = x - target
    own, other = getattr(x, "shape", ()), getattr(target, "shape", ())
    if out.shape not in (own, other):
        warn(f"nn.{name}: values of shape {list(own)} meet every target, which have another shape, {list(other)}")
    return out


def _check_target(name: str, x: Any, target: Any) -> None:
    shapes = getattr(x, "shape", ()), getattr(target, "shape", ())
    if shapes[0] != shapes[1] and () not in shapes:
        raise ValueError(f"nn.{name}: target size {list(shapes[1])} must be the same as input size {list(shapes[0])}")


def _weighted(losses: Any, weight: Any) -> Any:
    return losses if weight is None else losses * as_operand(weight)


@composite(name="nn.smooth_l1_loss", arrays=2)
def smooth_l1_loss(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """`0.5 * d * d / beta` for a difference d below `beta`, `abs(d) - beta / 2` beyond. The derivative at 0 is 0."""
    if beta < 0:
        raise ValueError(f"nn.smooth_l1_loss: beta cannot be negative, got {beta}")
    if beta == 0:
        return l1_loss(x, target, reduction)
    return reduced("smooth_l1_loss", _huber(_difference("smooth_l1_loss", x, target), beta) / beta, reduction)


@composite(name="nn.huber_loss", arrays=2)
def huber_loss(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """`0.5 * d * d` for a difference d up to `delta`, `delta * (abs(d) - delta / 2)` beyond.

    The derivative at 0 is 0.
    """
    if delta <= 0:
        raise ValueError(f"nn.huber_loss: delta must be positive, got {delta}")
    return reduced("huber_loss", _huber(_difference("huber_loss", x, target), delta), reduction)


def _huber(difference: Any, delta: float) -> Any:
    size = abs(difference)
    return where(size <= delta, 0.5 * squared_size(difference), delta * (size - 0.5 * delta))


# Probabilities


def _log_clamped(x: Any) -> Any:
    """`log(x)`, not below -100; the derivative where it is cut off is 0."""
    if isinstance(x, (int, float)):
        return math.log(x) if x > math.exp(-100) else -100
    cut = x <= math.exp(-100)
    return where(cut, -100, log(where(cut, 1, x)))


def _bce(x: Any, y: Any) -> Any:
    with np.errstate(divide="ignore"):
        return -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100))


bce = binary(
    "_bce", _bce,
    (lambda x, y: (x - y) / maximum(x * (1 - x), 1e-12), lambda x: _log_clamped(1 - x) - _log_clamped(x)),
    inplace=False, domain=(0.1, 0.9), torch="binary_cross_entropy", expand=_bce,
    doc="`-(y * log(x) + (1 - y) * log(1 - x))`, the logarithms not below -100.",
)  # fmt: skip
bce.refuses("probabilities are real numbers", "complex128")


@composite(name="nn.binary_cross_entropy", arrays=2)
def binary_cross_entropy(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """`-(t * log(x) + (1 - t) * log(1 - x))` for probabilities `x`; the logarithms are not below -100.

    Where `x` is 0 or 1 and so is the target, the derivative by `x` is 0.
    """
    _check_target("binary_cross_entropy", x, target)
    return reduced("binary_cross_entropy", _weighted(bce(x, target), weight), reduction)


def _bce_of_logits(x: Any, y: Any) -> Any:
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


bce_of_logits = binary(
    "_bce_with_logits", _bce_of_logits,
    (lambda x, y: sigmoid(x) - y, lambda x: -x), inplace=False, torch="binary_cross_entropy_with_logits",
    expand=_bce_of_logits,
    doc="`softplus(x) - x * y`, computed without overflow.",
)  # fmt: skip
bce_of_logits.refuses("logits are real numbers", "complex128")


@composite(name="nn.binary_cross_entropy_with_logits", arrays=2)
def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """`binary_cross_entropy` of `sigmoid(x)`, without overflow; `pos_weight` multiplies the term of the target."""
    _check_target("binary_cross_entropy_with_logits", x, target)
    if pos_weight is None:
        losses = bce_of_logits(x, target)
    else:
        factor = 1 + (as_operand(pos_weight) - 1) * target
        losses = (1 - target) * x + factor * softplus(-x)
    return reduced("binary_cross_entropy_with_logits", _weighted(losses, weight), reduction)


def _xlogx(x: Any) -> Any:
    """`x * log(x)`, 0 at 0 with derivative 0."""
    positive = x > 0
    return where(positive, x * log(where(positive, x, 1)), 0)


@composite(name="nn.kl_div", arrays=2)
def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """`t * (log(t) - x)` for logarithms of probabilities `x` and probabilities t, or their logarithms.

    Terms with probability 0 are 0 and have derivative 0. "batchmean" divides the sum by the length of axis 0, which
    is the divergence itself; "mean" divides by the number of elements.
    """
    if log_target:
        losses = exp(target) * (target - x)
    else:
        losses = _xlogx(target) - where(target > 0, target * x, 0)
    if reduction == "batchmean":
        return sum(losses) / losses.shape[0] if losses.ndim else sum(losses)
    return reduced("kl_div", losses, reduction)


@composite(name="nn.poisson_nll_loss", arrays=2)
def poisson_nll_loss(
    x: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Any:  # fmt: skip
    """`exp(x) - t * x` for counts t with logarithmic rate `x`, or `x - t * log(x + eps)` without `log_input`.

    `full` adds Stirling's approximation of `log(t!)` where t is above 1.
    """
    losses = exp(x) - target * x if log_input else x - target * log(x + eps)
    if full:
        large = target > 1
        safe = where(large, target, 1)
        stirling = safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe)
        losses = losses + where(large, stirling, 0)
    return reduced("poisson_nll_loss", losses, reduction)


@composite(name="nn.gaussian_nll_loss", arrays=3)
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:  # fmt: skip
    """`0.5 * (log(var) + (x - t) ** 2 / var)`; variances below `eps` count as `eps`, which `var` is not told."""
    if np.ndim(var) and var.shape != x.shape and var.shape == x.shape[:-1]:
        var = var.reshape((*var.shape, 1))
    values = every_value(var)
    if type(values) is np.ndarray and bool((values < 0).any()):
        raise ValueError("nn.gaussian_nll_loss: var has negative entries")
    if isinstance(var, (int, float)):
        var = as_constant(np.asarray(max(var, eps), x.dtype))
    else:
        # The shift makes the value eps and leaves the derivative by var as if nothing had been cut off.
        var = var + where(var < eps, eps - var.detach(), 0)
    difference = x - target
    losses = 0.5 * (log(var) + squared_size(difference) / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", losses, reduction)


# Margins


@composite(name="nn.hinge_embedding_loss", arrays=2)
def hinge_embedding_loss(x: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """`x` where the target is 1, `relu(margin - x)` where it is -1, and their sum where it is neither."""
    losses = where(target != -1, x, 0) + where(target != 1, relu(margin - x), 0)
    return reduced("hinge_embedding_loss", losses, reduction)


@composite(name="nn.soft_margin_loss", arrays=2)
def soft_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """`log(1 + exp(-target * x))`."""
    return reduced("soft_margin_loss", softplus(-target * x), reduction)


@composite(name="nn.margin_ranking_loss", arrays=3)
def margin_ranking_loss(x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """`relu(margin - target * (x1 - x2))`: 0 if the order is the target's by at least `margin`."""
    return reduced("margin_ranking_loss", relu(margin - target * (x1 - x2)), reduction)


@composite(name="nn.cosine_embedding_loss", arrays=3)
def cosine_embedding_loss(x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """One minus the cosine where the target is 1, `relu(cosine - margin)` where it is -1."""
    tiny = 1e-12
    first, second = (sum(squared_size(x), axis=-1) + tiny for x in (x1, x2))
    cosine = sum((x1 * conjugated(x2)).real, axis=-1) / sqrt(first * second)
    losses = where(target == 1, 1 - cosine, 0) + where(target == -1, relu(cosine - margin), 0)
    return reduced("cosine_embedding_loss", losses, reduction)


def _triplet(
    anchor: Any, positive: Any, negative: Any, distance: Callable[..., Any], margin: float, swap: bool
) -> Any:  # fmt: skip
    if margin <= 0:
        raise ValueError(f"nn.triplet_margin_loss: margin must be greater than 0, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        other = distance(positive, negative)
        far = where(other < far, other, far)
    return relu(near - far + margin)


@composite(name="nn.triplet_margin_loss", arrays=3)
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """`relu(|anchor - positive| - |anchor - negative| + margin)`; `swap` takes the nearer of anchor and positive."""
    losses = _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap)
    return reduced("triplet_margin_loss", losses, reduction)


@composite(name="nn.triplet_margin_with_distance_loss", arrays=3)
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """`triplet_margin_loss` with a distance of your own, a function of two arrays."""
    losses = _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap)
    return reduced("triplet_margin_with_distance_loss", losses, reduction)


@composite(name="nn.multi_margin_loss", arrays=2)
def multi_margin_loss(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:  # fmt: skip
    """The mean over classes of `relu(margin - x[target] + x) ** p`, the target's own class left out."""
    scores = x.reshape((1, -1)) if x.ndim < 2 else x
    classes = target.reshape((-1, 1))
    own = gather_along(scores, classes, 1)
    excess = relu(margin - own + scores)
    excess = excess if p.__class__ is int and p == 1 else excess**p
    if weight is not None:
        excess = excess * class_weights("multi_margin_loss", weight, scores.shape[1])[classes]
    others = where(classes == np.arange(scores.shape[1]), 0, excess)
    losses = mean(others, axis=1)
    return reduced("multi_margin_loss", losses.reshape(target.shape), reduction)


@composite(name="nn.multilabel_margin_loss", arrays=2)
def multilabel_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The mean over pairs of a target class and another of `relu(1 - x[target] + x[other])`.

    `target` lists the classes of every row, up to the first -1.
    """
    _check_target("multilabel_margin_loss", x, target)
    scores, listed = (v.reshape((1, -1)) if v.ndim < 2 else v for v in (x, target))
    valid = (listed < 0).astype(int).cumsum(1) == 0
    classes = where(valid, listed, 0)
    count = scores.shape[1]
    hits = (classes.reshape((*classes.shape, 1)) == np.arange(count)) & valid.reshape((*valid.shape, 1))
    is_target = sum(hits, axis=1) > 0
    own = gather_along(scores, classes, 1)
    excess = relu(1 - own.reshape((*own.shape, 1)) + scores.reshape((scores.shape[0], 1, count)))
    counts = valid.reshape((*valid.shape, 1)) & ~is_target.reshape((is_target.shape[0], 1, count))
    losses = sum(where(counts, excess, 0), axis=(1, 2)) / count
    return reduced("multilabel_margin_loss", losses.reshape(target.shape[:-1]), reduction)


@composite(name="nn.multilabel_soft_margin_loss", arrays=2)
def multilabel_soft_margin_loss(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """The mean over classes of the binary cross entropy of logits `x` and targets 0 or 1."""
    losses = -(target * log_sigmoid(x) + (1 - target) * log_sigmoid(-x))
    return reduced("multilabel_soft_margin_loss", mean(_weighted(losses, weight), axis=-1), reduction)
