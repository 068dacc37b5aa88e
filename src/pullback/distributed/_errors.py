"""What goes wrong between ranks.

    RuntimeError
      DistributedError       anything about ranks; `.collective`, `.seq`, `.rank`, `.peers` say where
        CollectiveMismatch     ranks called different collectives, or the same one with arguments that do not fit
        RemoteRankError        another rank raised, or has finished, while this one waited for it
        RankLost               the process of another rank is gone
        CollectiveTimeout      another rank did not come (also a TimeoutError)
        CommunicatorBroken     an earlier error left ranks in different places; nothing can be said here any more
        PlacementError         an operator cannot run on tensors that are placed so (also a TypeError)
"""

from __future__ import annotations


class DistributedError(RuntimeError):
    """Something about ranks is wrong. `peers` says what each other rank was doing, by its number."""

    def __init__(
        self,
        message: str,
        *,
        collective: str | None = None,
        seq: int | None = None,
        rank: int | None = None,
        peers: dict[int, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.collective = collective
        self.seq = seq
        self.rank = rank
        self.peers = peers or {}


class CollectiveMismatch(DistributedError):
    """Ranks called different collectives at the same place of their sequences."""


class Refusal(ValueError):
    """A rank refused its arguments, and all ranks know: they raise alike, and go on together."""


class RemoteRankError(DistributedError):
    """Another rank raised, or has finished, while this one waited for it."""


class RankLost(DistributedError):
    """The process of another rank is gone."""


class CommunicatorBroken(DistributedError):
    """An earlier error left the ranks in different places."""


class CollectiveTimeout(DistributedError, TimeoutError):
    """Another rank did not come in time."""


class PlacementError(DistributedError, TypeError):
    """An operator cannot run on distributed tensors that are placed so."""
