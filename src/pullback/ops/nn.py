"""Everything of `pullback.nn`: importing this module declares the family."""

from collections.abc import Callable
from typing import Any

from pullback.declare.op import registry
from pullback.eager.build import inplace_twin
from pullback.ops import (
    nn_activations,
    nn_attention,
    nn_convolution,
    nn_cross_entropy,
    nn_ctc,
    nn_layers,
    nn_losses,
    nn_normalization,
    nn_pooling,
    nn_resampling,
)

MODULES = (
    nn_activations, nn_attention, nn_convolution, nn_cross_entropy, nn_ctc, nn_layers, nn_losses, nn_normalization,
    nn_pooling, nn_resampling,
)  # fmt: skip


def inplace_functions() -> dict[str, Callable[..., Any]]:
    """The twins of the activations that write into their argument, by name: `elu_` and so on."""
    twins: dict[str, Callable[..., Any]] = {}
    for op in list(registry.values()):
        if op.has_inplace_twin and (op.name.startswith("nn.") or op.name == "relu"):
            for name in (op.name, *op.aliases):
                short = f"{name.removeprefix('nn.')}_"
                twins[short] = twin = inplace_twin(op)
                twin.__name__ = twin.__qualname__ = short
                twin.__doc__ = f"`{short[:-1]}` written into its argument, which is returned."
                twin.__module__ = "pullback"
    return twins
