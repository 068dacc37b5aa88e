"""Everything of `pullback.nn`: importing this module declares the family."""

from collections.abc import Callable
from typing import Any

from pullback.declare.op import registry
from pullback.eager.build import inplace_twin
from pullback.operators.elementwise.casting import in_place
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


def inplace_functions() -> dict[str, Callable[..., Any]]:
    """The twins of the activations that write into their argument, by name: `elu_` and so on."""
    twins: dict[str, Callable[..., Any]] = {f"{each.__name__}_": in_place(each, each.__name__) for each in _WRITTEN}
    twins["swish_"] = in_place(nn_activations.silu, "swish")
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
