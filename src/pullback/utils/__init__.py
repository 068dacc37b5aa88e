"""Tools around differentiation: activation checkpointing in `checkpoint`, nested containers in `pytree`."""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.utils import checkpoint, pytree

__all__ = ["checkpoint", "pytree"]
_explain_unknown(globals())
