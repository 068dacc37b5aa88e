"""`stop_gradient` under the name that JAX programs import it by: `from pullback import lax`."""

from pullback.ops import functions as _functions

stop_gradient = _functions["stop_gradient"]

__all__ = ["stop_gradient"]
