"""Tools around differentiation: activation checkpointing in `checkpoint`, nested containers in `pytree`."""

from pullback.utils import checkpoint, pytree

__all__ = ["checkpoint", "pytree"]
