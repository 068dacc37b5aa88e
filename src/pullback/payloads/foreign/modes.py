"""What may be done with foreign arrays in a block of code: take values out of them, compute on the host instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

no_sync_mode: ContextVar[bool] = ContextVar("pullback_no_sync", default=False)
on_host_mode: ContextVar[bool] = ContextVar("pullback_on_host", default=False)

in_kernel: ContextVar[bool] = ContextVar("pullback_in_lazy_kernel", default=False)
"""Is an operator being evaluated on arrays that are computed later?"""


@contextmanager
def no_sync() -> Iterator[None]:
    """In this block it is an error, FOREIGN_SYNC, to take a value out of an array of another library's device.

    What `item()`, `bool()`, `tolist()` and printing wait for becomes visible that way.

    >>> import array_api_strict as xp
    >>> x = pb.foreign(xp.ones(2))
    >>> with pb.interop.no_sync():
    ...     y = (x * 2).sum()  # y.item() would be an error here
    >>> y.item()
    4.0
    """
    token = no_sync_mode.set(True)
    try:
        yield
    finally:
        no_sync_mode.reset(token)


@contextmanager
def on_host() -> Iterator[None]:
    """In this block operators that a library cannot compute run with NumPy, on copies of the values, there and back.

    Each of them warns once (`PerformanceWarning`). Without it they are an error, FOREIGN_OP.

    >>> import array_api_strict as xp
    >>> with pb.interop.on_host():
    ...     pb.special.erf(pb.foreign(xp.zeros(2)))
    tensor([0., 0.], device='strict:cpu')
    """
    token = on_host_mode.set(True)
    try:
        yield
    finally:
        on_host_mode.reset(token)
