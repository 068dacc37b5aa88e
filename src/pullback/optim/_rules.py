"""The formulas of optimisers, each once: `rule(p, g, slots, t, *, lr, ...) -> (p, slots)`.

`p` is a parameter, `g` its gradient, `slots` what the optimiser keeps for it, and `t` counts steps from 1. A rule is a
pure function, so one text serves a step in place, a step under `grad` or `vmap`, and compiled code, where `t` and `lr`
are tensors. Formulas and defaults are torch's.
"""

from __future__ import annotations

from typing import Any

from pullback.operators import functions
from pullback.tensors.tensor import Tensor

Slots = tuple[Any, ...]


def like(p: Any, number: Any) -> Any:
    """A number in the precision of `p`: a tensor without axes would widen what it is multiplied with."""
    return number.astype(p.dtype, copy=False) if isinstance(number, Tensor) else number


def decayed(p: Any, g: Any, weight_decay: Any) -> Any:
    """The gradient with that of `weight_decay / 2 * p**2`."""
    return g if _is_zero(weight_decay) else g + like(p, weight_decay) * p


def _is_zero(number: Any) -> bool:
    return not isinstance(number, Tensor) and number == 0


def sgd(p: Any, g: Any, slots: Slots, t: Any, *, lr: Any, momentum: Any, weight_decay: Any, nesterov: bool) -> Any:
    """Down the gradient, with momentum."""
    g = decayed(p, g, weight_decay)
    if slots:
        momentum = like(p, momentum)
        velocity = momentum * slots[0] + g
        slots = (velocity,)
        g = g + momentum * velocity if nesterov else velocity
    return p - like(p, lr) * g, slots


def adam(p: Any, g: Any, slots: Slots, t: Any, *, lr: Any, betas: Any, eps: Any, weight_decay: Any) -> Any:
    """By averages of the gradient and of its square."""
    return _adam_step(p, decayed(p, g, weight_decay), slots, t, lr, betas, eps)


def adamw(p: Any, g: Any, slots: Slots, t: Any, *, lr: Any, betas: Any, eps: Any, weight_decay: Any) -> Any:
    """As `adam`, and the weights shrink beside it."""
    if not _is_zero(weight_decay):
        p = p * like(p, 1 - lr * weight_decay)
    return _adam_step(p, g, slots, t, lr, betas, eps)


def _adam_step(p: Any, g: Any, slots: Slots, t: Any, lr: Any, betas: Any, eps: Any) -> Any:
    mean, square = slots
    mean = mean + like(p, 1 - betas[0]) * (g - mean)
    square = like(p, betas[1]) * square + like(p, 1 - betas[1]) * (g * g)
    step = like(p, lr / (1 - betas[0] ** t))
    unbias = like(p, (1 - betas[1] ** t) ** 0.5)
    return p - step * (mean / (functions["sqrt"](square) / unbias + like(p, eps))), (mean, square)


def rmsprop(
    p: Any, g: Any, slots: Slots, t: Any, *, lr: Any, alpha: Any, eps: Any, weight_decay: Any, momentum: Any,
    centered: bool,
) -> Any:  # fmt: skip
    """By the root of an average of the square of the gradient."""
    g = decayed(p, g, weight_decay)
    new = like(p, 1 - alpha)
    square = like(p, alpha) * slots[0] + new * (g * g)
    kept = [square]
    spread = square
    if centered:
        mean = slots[1] + new * (g - slots[1])
        kept.append(mean)
        spread = square - mean * mean
    g = g / (functions["sqrt"](spread) + like(p, eps))
    if len(slots) > len(kept):
        g = like(p, momentum) * slots[-1] + g
        kept.append(g)
    return p - like(p, lr) * g, tuple(kept)


def adagrad(p: Any, g: Any, slots: Slots, t: Any, *, lr: Any, lr_decay: Any, eps: Any, weight_decay: Any) -> Any:
    """By the root of the sum of all squares of the gradient."""
    g = decayed(p, g, weight_decay)
    total = slots[0] + g * g
    step = like(p, lr / (1 + (t - 1) * lr_decay))
    return p - step * (g / (functions["sqrt"](total) + like(p, eps))), (total,)
