# Written by `make stubs` (tools/stubs), not by hand.

__all__ = [
    "DetachedScalarWarning",
    "DetachedWarning",
    "Kind",
    "as_jax_function",
    "as_torch_function",
    "compute",
    "jax_key",
    "no_sync",
    "on_host",
    "register_kind",
]

from pullback.errors import DetachedScalarWarning as DetachedScalarWarning
from pullback.errors import DetachedWarning as DetachedWarning
from pullback.payloads.foreign.kinds import Kind as Kind
from pullback.interop._foreign import as_jax_function as as_jax_function
from pullback.interop._foreign import as_torch_function as as_torch_function
from pullback.interop._foreign import compute as compute
from pullback.interop._foreign import jax_key as jax_key
from pullback.payloads.foreign.modes import no_sync as no_sync
from pullback.payloads.foreign.modes import on_host as on_host
from pullback.payloads.foreign.kinds import register_kind as register_kind
