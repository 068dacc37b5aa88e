"""What tests of differentiable code need: used by Pullback's own tests and meant for yours."""

from pullback.testing._close import assert_close

__all__ = ["assert_close"]
