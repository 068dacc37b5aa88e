"""Logarithms of differences, without the digits that a difference of near numbers loses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.declare.families import unary
from pullback.ops.elementwise import expm1


def _log1mexp(x: Any) -> Any:
    """One way is exact where `exp(-x)` is near 1, the other where it is near 0."""
    x = np.asarray(x)
    out = np.asarray(np.expm1(-x))
    is_near = x.real < math.log(2)
    np.log(-out, out=out, where=is_near)
    return np.log1p(-np.exp(-x, where=~is_near, out=np.zeros_like(out)), out=out, where=~is_near)


log1mexp = unary(
    "log1mexp", _log1mexp, lambda x: 1 / expm1(x), domain=(0.1, 4.0),
    doc="`log(1 - exp(-x))` for `x >= 0`, exact where `x` is small or large. The derivative at 0 is infinite.",
)  # fmt: skip
log1mexp.refuses("only real numbers are small or large", "complex128")
