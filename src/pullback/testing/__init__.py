"""What tests of differentiable code need: used by Pullback's own tests and meant for yours."""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.testing._close import assert_close

__all__ = ["assert_close"]
_explain_unknown(globals())
