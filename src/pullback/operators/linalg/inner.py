"""NumPy's loops over matrices, without the questions that `numpy.linalg` asks first: small matrices take less time.

A loop reports a singular matrix by NaN. So where a result is not finite, the function of `numpy.linalg` is asked again,
which raises what there is to raise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np

try:
    from numpy.linalg import _umath_linalg as _loops
except ImportError:  # its place is not promised
    _loops = None  # type: ignore[assignment]


def _without_warnings() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


# A copy of it is entered in a tenth of the time of `np.errstate`.
_QUIET = _without_warnings()


def quick(name: str, public: Callable[..., Any]) -> Callable[..., Any]:
    """`public`, a function of `numpy.linalg`, which goes straight to the loop `name` for single real matrices."""
    loop = getattr(_loops, name, None)
    if loop is None:
        return public

    def compute(*matrices: Any) -> Any:
        for x in matrices:
            if x.ndim != 2 or x.dtype.char != "d":
                return public(*matrices)
        if matrices[0].shape[0] != matrices[0].shape[1] or matrices[0].shape[0] != matrices[-1].shape[0]:
            return public(*matrices)
        # path: inner loop of linalg
        out = _QUIET.copy().run(loop, *matrices)
        return out if np.logical_and.reduce(np.isfinite(out), None) else public(*matrices)

    return compute


det = quick("det", np.linalg.det)
solve = quick("solve", np.linalg.solve)
inv = quick("inv", np.linalg.inv)
cholesky = quick("cholesky_lo", np.linalg.cholesky)


def solve_triangular(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """What `solve.solved_as_general` gives, likewise; None where there is no loop, too."""
    loop = getattr(_loops, "solve", None)
    if loop is None or a.ndim != 2 or b.ndim != 2 or a.dtype.char != "d" or b.dtype.char != "d":
        return None
    rows = len(a)
    if rows != len(b):
        return None
    # path: inner loop of a triangle
    triangle = triangle_of(a, upper, unit)
    if unit:
        triangle.reshape(-1)[:: rows + 1] = 1.0
    if upper:
        out = _QUIET.copy().run(loop, triangle, b)
    else:
        out = _QUIET.copy().run(loop, triangle[::-1, ::-1], b[::-1])[::-1].copy()
    return out if np.logical_and.reduce(np.isfinite(out), None) else None


def triangle_of(a: Any, upper: bool, unit: bool) -> Any:
    """What a triangular system reads of a matrix, zeros elsewhere."""
    return np.where(_triangle(len(a), upper, unit), a, 0.0)


@functools.lru_cache(64)
def _triangle(rows: int, upper: bool, unit: bool) -> Any:
    lower = np.tri(rows, k=-int(unit), dtype=bool)
    return lower.T if upper else lower
