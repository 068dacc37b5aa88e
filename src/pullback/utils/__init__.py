"""Tools around differentiation: activation checkpointing in `checkpoint`, nested containers in `pytree`."""

from pullback.utils import checkpoint as checkpoint
from pullback.utils import pytree as pytree

__all__ = ["checkpoint", "pytree"]
