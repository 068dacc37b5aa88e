"""`PULLBACK_LOG=distributed`, or that logger: one line per collective; `profile()`: their sums by call site."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pullback.core.reports import DEBUG, logger_of

_logger = logger_of("distributed")
_profiles: list[Profile] = []


class Row(NamedTuple):
    """The collectives of one call site."""

    text: str
    site: str
    calls: int
    nbytes: int
    seconds: float


class Profile:
    """What was communicated inside of a block, by call site: `rows()`, largest time first."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[float]] = {}

    def add(self, text: str, site: str, nbytes: int, seconds: float) -> None:
        """One more collective."""
        sums = self._found.setdefault((text, site), [0, 0, 0.0])
        sums[0] += 1
        sums[1] += nbytes
        sums[2] += seconds

    def rows(self) -> list[Row]:
        """One row per call and site."""
        found = [Row(*key, int(n), int(b), s) for key, (n, b, s) in self._found.items()]
        return sorted(found, key=lambda row: -row.seconds)

    def __str__(self) -> str:
        lines = [f"{r.seconds * 1e3:9.3f} ms {r.calls:6d} calls {r.nbytes:10d} B  {r.text} at {r.site}"
                 for r in self.rows()]  # fmt: skip
        return "\n".join(lines)


@contextmanager
def profile() -> Iterator[Profile]:
    """Sums of what this process communicates inside of the block, by call site.

    >>> with pb.distributed.profile() as seen:
    ...     _ = pb.distributed.all_reduce(pb.ones(3))
    >>> seen.rows()[0].calls, seen.rows()[0].nbytes
    (1, 24)
    """
    made = Profile()
    _profiles.append(made)
    try:
        yield made
    finally:
        _profiles.remove(made)


_nothing = contextlib.nullcontext()


def is_noted() -> bool:
    """Does anybody want to know of collectives?"""
    return bool(_profiles) or _logger.isEnabledFor(DEBUG)


def note(comm: Any, text: str, site: str, nbytes: int) -> Any:
    """A block around one collective, if anybody wants to know of it."""
    if not is_noted():
        return _nothing
    return _noted(comm, text, site, nbytes)


@contextmanager
def _noted(comm: Any, text: str, site: str, nbytes: int) -> Iterator[None]:
    began = time.perf_counter()
    yield
    took = time.perf_counter() - began
    for each in _profiles:
        each.add(text, site, nbytes, took)
    if _logger.isEnabledFor(DEBUG):
        line = f"rank {comm.rank} of {comm.name}: {comm.seq} {text}, {nbytes} B in {1e6 * took:.1f} us at {site}"
        _logger.debug("%s", line)
