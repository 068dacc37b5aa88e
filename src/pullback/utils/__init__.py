"""Tools around differentiation: so far activation checkpointing, in `pullback.utils.checkpoint`."""

from pullback.utils import checkpoint as checkpoint

__all__ = ["checkpoint"]
