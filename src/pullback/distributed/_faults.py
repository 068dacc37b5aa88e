"""`agree` and `together`: errors of one rank that all ranks know of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pullback.distributed._errors import DistributedError, RemoteRankError
from pullback.distributed._mesh import Mesh, group_of


def agree(ok: Any, *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None) -> bool:
    """Is it so on every rank? A collective: all ranks get the same answer.

    >>> pb.distributed.agree(True)
    True
    """
    return all(group_of(comm, mesh, axis).gather_objects(bool(ok)))


@contextmanager
def together(*, comm: Any = None, mesh: Mesh | None = None, axis: Any = None) -> Iterator[None]:
    """Raise on all ranks what any rank raises inside of the block: its own error there, `RemoteRankError` elsewhere.

    The communicator stays usable if the block made no collective that other ranks did not make. All ranks enter it.

    >>> with pb.distributed.together():
    ...     pass
    """
    group = group_of(comm, mesh, axis)
    mine: Exception | None = None
    try:
        yield
    except DistributedError:
        raise  # between ranks already
    except Exception as error:
        mine = error
    said = group.gather_objects(None if mine is None else f"{type(mine).__name__}: {mine}")
    if mine is not None:
        raise mine
    for rank, text in enumerate(said):
        if text is not None:
            raise RemoteRankError(f"rank {rank} raised {text}", rank=rank, peers={rank: text})
