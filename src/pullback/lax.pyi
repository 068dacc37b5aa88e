# Written by `make stubs` (tools/stubs), not by hand.

__all__ = [
    "cond",
    "fori_loop",
    "scan",
    "stop_gradient",
    "while_loop",
]

from pullback import cond as cond
from pullback import fori_loop as fori_loop
from pullback import scan as scan
from pullback import detach as stop_gradient
from pullback import while_loop as while_loop
