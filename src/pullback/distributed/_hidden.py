"""Data that operators on distributed tensors move by themselves: whether they may, and what they moved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from pullback.core.frames import user_place, warn
from pullback.distributed._errors import PlacementError
from pullback.distributed._placements import Replicate

_mode: ContextVar[str] = ContextVar("implicit", default="allow")
_records: ContextVar[list[Movement] | None] = ContextVar("trace_comm", default=None)


class Movement(NamedTuple):
    """Blocks that an operator moved: how they were placed and are now, this rank's bytes, and the user's line."""

    operator: str
    what: str
    n_bytes: int
    site: str


@contextmanager
def implicit(mode: str) -> Iterator[None]:
    """What happens inside where an operator has to move blocks between ranks by itself: "refuse", "warn" or "allow".

    Without it such moves are allowed. `redistribute` and what else is named by the program is never refused.
    """
    if mode not in ("refuse", "warn", "allow"):
        raise ValueError(f'implicit: the mode is "refuse", "warn" or "allow", got {mode!r}')
    before = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(before)


@contextmanager
def trace_comm() -> Iterator[list[Movement]]:
    """A list to which every move of blocks is added that operators on distributed tensors make by themselves.

    >>> with pb.distributed.trace_comm() as moves:
    ...     pass
    >>> moves
    []
    """
    before = _records.set([])
    try:
        found = _records.get()
        assert found is not None
        yield found
    finally:
        _records.reset(before)


def tell(operator: str, what: str, n_bytes: int) -> None:
    """An operator is about to move blocks: raise, warn, or note it."""
    mode, records = _mode.get(), _records.get()
    if mode == "allow" and records is None:
        return
    text = f"{operator} moves blocks between ranks: {what}"
    if mode == "refuse":
        raise PlacementError(f'{text}, and implicit("refuse") forbids it\n  fix  redistribute it before')
    if mode == "warn":
        warn(text)
    if records is not None:
        place = user_place()
        site = "" if place is None else f"{os.path.basename(place[0])}:{place[1]}"
        records.append(Movement(operator, what, n_bytes, site))


def moved_to(x: Any, placements: Any, operator: str) -> Any:
    """A distributed array as an operator needs it."""
    if x.placements == placements:
        return x
    changed = [have for have, want in zip(x.placements, placements, strict=True) if have != want]
    if any(not isinstance(have, Replicate) for have in changed):
        tell(operator, f"{x.placements} to {placements}", x.local.nbytes)
    return x.to(placements)
