"""Everything of `pullback.nn`: importing this module declares the family."""

import functools
from collections.abc import Callable
from typing import Any

from pullback.declare.op import registry
from pullback.eager.build import inplace_twin
from pullback.operators.nn import activations as nn_activations
from pullback.operators.nn import (
    attention,
    convolution,
    cross_entropy,
    fractional_pooling,
    layers,
    losses,
    normalization,
    pooling,
    resampling,
)
from pullback.operators.nn import cross_entropy as nn_ctc

MODULES = (
    nn_activations, attention, convolution, cross_entropy, nn_ctc, fractional_pooling,
    layers, losses, normalization,
    pooling, resampling,
)  # fmt: skip


# Functions made of several operators whose results have the shape of their argument.
_WRITTEN = (
    nn_activations.gelu, nn_activations.prelu, nn_activations.rrelu, nn_activations.silu, nn_activations.squareplus,
    layers.dropout, layers.alpha_dropout, layers.feature_alpha_dropout,
)  # fmt: skip


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def twin(x: Any, *args: Any, **options: Any) -> Any:
        former = x.clone()  # the derivative may read it
        out = function(former, *args, **options)
        return x if out is former else x.copy_(out)

    return twin


def inplace_functions() -> dict[str, Callable[..., Any]]:
    """The twins of the activations that write into their argument, by name: `elu_` and so on."""
    twins: dict[str, Callable[..., Any]] = {f"{each.__name__}_": _written(each) for each in _WRITTEN}
    twins["swish_"] = _written(nn_activations.silu)
    for op in list(registry.values()):
        if op.has_inplace_twin and (op.name.startswith("nn.") or op.name == "relu"):
            for name in (op.name, *op.aliases):
                short = f"{name.removeprefix('nn.')}_"
                twins[short] = inplace_twin(op)
    for short, twin in twins.items():
        twin.__name__ = twin.__qualname__ = short
        twin.__doc__ = f"`{short[:-1]}` written into its argument, which is returned."
        twin.__module__ = "pullback"
    return twins
