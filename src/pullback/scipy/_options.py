"""The options of derivatives that are in force: of one call, of a block, or the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pullback.core.records import replace
from pullback.func._implicit.linear import Diff

_current: ContextVar[Diff | None] = ContextVar("pullback.scipy.differentiation", default=None)
_DEFAULTS = Diff()


def in_force(diff: Diff | None) -> Diff:
    """The options of a call that was given these."""
    if diff is None:
        return _current.get() or _DEFAULTS
    if not isinstance(diff, Diff):
        raise TypeError(f"diff= takes pb.scipy.Diff(...), got {type(diff).__name__}")
    return diff.checked()


@contextmanager
def differentiation(**options: Any) -> Iterator[None]:
    """Solvers that are called in this block, in this thread, are differentiated with these options of `Diff`.

    >>> with pb.scipy.differentiation(on_failure="nan"):
    ...     y = pb.scipy.optimize.brentq(lambda y: y * y - 2, 0, 2)
    """
    token = _current.set(replace(_current.get() or _DEFAULTS, **options).checked())
    try:
        yield
    finally:
        _current.reset(token)
