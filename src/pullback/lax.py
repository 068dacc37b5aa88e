"""Names that JAX programs import: `from pullback import lax`."""

from pullback.aot._control import cond, fori_loop, scan, while_loop
from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators import functions as _functions

stop_gradient = _functions["stop_gradient"]

__all__ = ["cond", "fori_loop", "scan", "stop_gradient", "while_loop"]
_explain_unknown(globals())
