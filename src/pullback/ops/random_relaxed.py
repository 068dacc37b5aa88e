"""Continuous stand-ins for discrete draws: samples near the corners, differentiable in the logits.

With `hard` the value is the corner itself, and the derivative still that of the soft sample (straight through). That is
not the derivative of the value, which is 0 wherever it exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.ops.elementwise import sigmoid
from pullback.ops.extremes import argmax
from pullback.ops.generator import drawing
from pullback.ops.movement import expand_dims
from pullback.ops.random_draws import as_parameter, cast, check, draw, dtype_for, shape_for
from pullback.ops.reduction import softmax
from pullback.tensors.tensor import Tensor


@primitive(name="_straight_through")
def straight_through(soft, hard):
    """`hard` in the dtype of `soft`; the derivative is that of `soft`."""
    return hard.astype(soft.dtype)


@straight_through.vjp
def straight_through_vjp(g):
    return g, None


@straight_through.jvp
def straight_through_jvp(t_soft):
    return t_soft


straight_through.spec(lambda soft, hard: soft)
straight_through.batch(lambda soft, hard: straight_through(soft, hard))


straight_through.refuses("relaxed samples are real numbers", "complex128")


@straight_through.samples
def straight_through_samples(make: Maker) -> Iterator[Sample]:
    # Differences of the value are 0 and say nothing, so there is nothing to observe.
    yield Sample((make((2, 3)), make.booleans((2, 3))), {}, "truth", observe=lambda out: ())
    yield Sample((make((3,), np.float32), make.integers(0, 2, (3,))), {}, "float32", observe=lambda out: ())
    yield Sample((make((0, 2)), make.booleans((0, 2))), {}, "empty", observe=lambda out: ())


@drawing
def gumbel_softmax(
    logits: Any, tau: Any = 1.0, hard: bool = False, axis: int = -1, *, dim: int | None = None, size: Any = None,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Samples of the relaxed categorical distribution of `logits` at temperature `tau`, differentiable in both.

    They are positive and sum to 1 over `axis`; with `hard` they are zeros and a one, and the gradient is that of the
    soft sample. `size` is the shape of the whole result.
    """
    check("gumbel_softmax", "be positive", tau=tau)
    logits = as_parameter(logits)
    if np.ndim(logits) == 0:
        raise ValueError("gumbel_softmax: logits needs an axis of outcomes: pass the logit of each in a list")
    dtype = dtype_for((logits,))
    shape = shape_for("gumbel_softmax", size, (logits,))
    along = normalize_axis_index(axis if dim is None else dim, len(shape))
    noise = draw("gumbel", shape, dtype=dtype, generator=generator)
    soft = softmax((cast(logits, dtype) + noise) / cast(tau, dtype), axis=along)
    if not hard:
        return soft
    place = expand_dims(argmax(soft.detach(), axis=along), axis=along)
    outcomes = np.arange(shape[along]).reshape((-1,) + (1,) * (len(shape) - along - 1))
    return straight_through(soft, place == outcomes)


@drawing
def relaxed_bernoulli(
    logits: Any, tau: Any = 1.0, hard: bool = False, *, size: Any = None, generator: Any = None
) -> Tensor:
    """Samples between 0 and 1 that tend to 1 with probability `sigmoid(logits)` as the temperature `tau` falls.

    They are differentiable in both. With `hard` they are 0 and 1, and the gradient is that of the soft sample.
    """
    check("relaxed_bernoulli", "be positive", tau=tau)
    logits = as_parameter(logits)
    dtype = dtype_for((logits,))
    noise = draw("logistic", shape_for("relaxed_bernoulli", size, (logits,)), dtype=dtype, generator=generator)
    soft = sigmoid((cast(logits, dtype) + noise) / cast(tau, dtype))
    return straight_through(soft, soft.detach() > 0.5) if hard else soft
