"""`Board`: what every rank of a communicator is doing, in memory that all of them see.

Before a rank takes part in a collective it writes down which one, and then waits until all have written; so a mistake
is found before anything is sent, and nobody is waited for in vain. A row of the board is one place in the sequence,
with the signatures of all ranks beside each other. Reading costs no message.

The memory is an array of this process for ranks that are threads, and a file that the processes of a machine map.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from pullback.distributed._errors import (
    CollectiveMismatch,
    CollectiveTimeout,
    DistributedError,
    RankLost,
    Refusal,
    RemoteRankError,
)

ROWS = 64
RUNNING, COMPILING, RAISED, FINISHED, BROKEN = range(5)
REFUSED = np.uint64(0)  # the signature of a call whose arguments were refused by the rank that made it
_TEXT = 320
_PATIENCE = 0.010  # seconds, after which the others are looked at
_GRACE = 0.2  # seconds
_SPINS = 50

_RANK = np.dtype([
    ("pid", "i8"), ("state", "i8"), ("since", "f8"), ("seq", "i8"), ("has_told", "i8"), ("text", f"S{2 * _TEXT}"),
])  # fmt: skip
_ENTRY = np.dtype([("seq", "i8"), ("signature", "u8"), ("route", "i8", (3,)), ("text", f"S{_TEXT}")])


def board_bytes(size: int) -> int:
    """How much memory the board of so many ranks takes."""
    return size * (_RANK.itemsize + ROWS * _ENTRY.itemsize)


class Waiting:
    """How long ranks wait for each other."""

    __slots__ = ("compile_timeout", "timeout")

    def __init__(self, timeout: float, compile_timeout: float) -> None:
        self.timeout = timeout
        self.compile_timeout = compile_timeout


class Board:
    """The records of all ranks of a communicator; this rank writes its own."""

    def __init__(self, memory: Any, rank: int, size: int, waiting: Waiting, name: str, own_processes: bool) -> None:
        whole = np.frombuffer(memory, np.uint8)
        cut = size * _RANK.itemsize
        self.ranks = whole[:cut].view(_RANK)
        self.rows = whole[cut : cut + ROWS * size * _ENTRY.itemsize].view(_ENTRY).reshape(ROWS, size)
        self._seqs, self._signatures = self.rows["seq"], self.rows["signature"]
        # What this rank writes, one view each: a store into it is cheaper than one into a record.
        self._my_seqs, self._my_signatures = self._seqs[:, rank], self._signatures[:, rank]
        self._my_texts, self._my_routes = self.rows["text"][:, rank], self.rows["route"][:, rank]
        self._since, self._last = self.ranks["since"], self.ranks["seq"]
        self.rank, self.size, self.name = rank, size, name
        self.waiting = waiting
        self.own_processes = own_processes
        mine = self.ranks[rank]
        mine["pid"], mine["since"] = os.getpid(), time.monotonic()

    # Writing ----------------------------------------------------------------------------------------------------------

    def say(self, state: int, text: str = "") -> None:
        """What this rank does now, besides collectives."""
        mine = self.ranks[self.rank]
        mine["text"] = _bytes(text, 2 * _TEXT)
        mine["since"] = time.monotonic()
        mine["state"] = state

    def enter(self, seq: int, signature: Any, text: str, route: tuple[int, int, int]) -> None:
        """This rank is at this place of the sequence, with this call."""
        slot = seq % ROWS
        self._my_texts[slot] = text.encode("utf-8", "replace")
        self._my_routes[slot] = route
        self._my_signatures[slot] = signature
        self._since[self.rank] = time.monotonic()
        self._my_seqs[slot] = seq  # last: who sees this sees the rest
        self._last[self.rank] = seq

    # Waiting ----------------------------------------------------------------------------------------------------------

    def meet(self, seq: int, text: str) -> None:
        """Wait until every rank is at this place with the same call; raise if one is there with another."""
        if not self.has_met(seq, text):
            self.wait(lambda: self.has_met(seq, text), seq, text)

    def has_met(self, seq: int, text: str) -> bool:
        """Is every rank there? Does not wait."""
        slot = seq % ROWS
        seqs, signatures = self._seqs[slot].tolist(), self._signatures[slot].tolist()
        mine = signatures[self.rank]
        is_complete = True
        for there, said in zip(seqs, signatures, strict=True):
            if there < seq:
                is_complete = False
            elif said != mine:
                self._raise_mismatch(seq, text)
        return is_complete

    def wait(self, is_done: Callable[[], bool], seq: int, text: str, peer: int | None = None) -> None:
        """Come back when `is_done()`. While waiting, signals are handled, and the others are looked at."""
        for _ in range(_SPINS):
            if is_done():
                return
            time.sleep(0)
        began = time.monotonic()
        pause = 50e-6
        while not is_done():
            waited = time.monotonic() - began
            if waited > _PATIENCE:
                self._look_at_others(is_done, seq, text, waited, peer)
                pause = min(pause * 2, 1e-3)
            time.sleep(pause)

    def _look_at_others(
        self, is_done: Callable[[], bool], seq: int, text: str, waited: float, peer: int | None
    ) -> None:
        """Raise if somebody who is waited for will not come."""
        others = [r for r in range(self.size) if r != self.rank] if peer is None else [peer]
        slot = seq % ROWS
        awaited = [r for r in others if peer is not None or self.rows[slot, r]["seq"] < seq]
        # As long as somebody is missing, those who were there may have left again.
        for r in others if awaited else ():
            state, said = int(self.ranks[r]["state"]), _str(self.ranks[r]["text"])
            if state in (RAISED, FINISHED, BROKEN) or not self._is_alive(r):
                if is_done():  # it was there before it left
                    return
                if state == BROKEN and said.startswith("CollectiveMismatch"):
                    self._raise(CollectiveMismatch, f"rank {r} found {said}", seq, text, r)
                what = {
                    RAISED: f"rank {r} raised {said}",
                    FINISHED: f"rank {r} has finished",
                    BROKEN: f"rank {r} stopped communicating: {said}",
                }.get(state)
                if what is not None:
                    self._raise(RemoteRankError, what, seq, text, r)
                self._raise(RankLost, f"rank {r} (process {self.ranks[r]['pid']}) is gone", seq, text, r)
        is_compiling = any(self.ranks[r]["state"] == COMPILING for r in awaited)
        limit = self.waiting.compile_timeout if is_compiling else self.waiting.timeout
        if waited > limit:
            names = ", ".join(f"rank {r}" for r in awaited) or "the message"
            what = f"{names} did not come within {limit:g} s"
            self._raise(CollectiveTimeout, what, seq, text, awaited[0] if awaited else None)

    def _is_alive(self, rank: int) -> bool:
        if not self.own_processes:
            return True
        pid = int(self.ranks[rank]["pid"])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
            return b") Z" not in stat.read()  # a process that ended and was not collected yet
        return True

    # Telling ----------------------------------------------------------------------------------------------------------

    def place_of(self, rank: int) -> str:
        """Where a rank is, as far as it has said."""
        record = self.ranks[rank]
        seq, state = int(record["seq"]), int(record["state"])
        ago = time.monotonic() - float(record["since"])
        last = _str(self.rows[seq % ROWS, rank]["text"]) if seq else ""
        doing = {
            COMPILING: f"compiling {_str(record['text'])}",
            RAISED: f"raised {_str(record['text'])}",
            FINISHED: "has finished",
            BROKEN: f"stopped communicating: {_str(record['text'])}",
        }.get(state)
        at = f"collective {seq} {last}" if seq else "before its first collective"
        return f"{doing}, last {at}, {ago:.1f} s ago" if doing else f"at {at}, since {ago:.1f} s"

    def routes(self, seq: int) -> Any:
        """Where every rank sends to, what it receives from, and how much it sends, at this place."""
        return self.rows[seq % ROWS]["route"]

    def _raise_mismatch(self, seq: int, text: str) -> NoReturn:
        slot = seq % ROWS
        ends = time.monotonic() + _GRACE
        while time.monotonic() < ends and not (self._seqs[slot] >= seq).all():
            time.sleep(1e-3)  # those who come soon are named as well
        entries = {
            r: _str(self.rows[slot, r]["text"]) for r in range(self.size) if self._seqs[slot, r] >= seq
        }  # fmt: skip
        refused = [r for r in entries if self._signatures[slot, r] == REFUSED]
        if refused:
            raise Refusal(entries[refused[0]])
        groups: dict[str, list[int]] = {}
        for r, said in entries.items():
            groups.setdefault(said, []).append(r)
        lines = [f"    {_ranks(members)}: {said}" for said, members in groups.items()]
        signatures = [said.partition(" at ")[0] for said in entries.values()]
        reason = "requires_grad differs: " if _differ_in_recording(signatures) else ""
        raise CollectiveMismatch(
            f"{reason}ranks are at different calls at collective {seq} of {self.name}\n" + "\n".join(lines)
            + f"\n  here  rank {self.rank}: {text}"
            + "\n  why   every rank must make the same sequence of collectives, with arguments that fit"
            + _fix(reason),
            collective=text.partition(" ")[0], seq=seq, rank=self.rank,
            peers={r: said for r, said in entries.items() if r != self.rank},
        )  # fmt: skip

    def _raise(self, kind: type[DistributedError], what: str, seq: int, text: str, rank: int | None) -> NoReturn:
        peers = {r: self.place_of(r) for r in range(self.size) if r != self.rank}
        lines = "".join(f"\n    rank {r}: {place}" for r, place in peers.items())
        raise kind(
            f"{what}, while rank {self.rank} was in collective {seq} {text} of {self.name}{lines}",
            collective=text.partition(" ")[0], seq=seq, rank=rank, peers=peers,
        )  # fmt: skip


def _differ_in_recording(signatures: list[str]) -> bool:
    plain = {said.replace(", recorded", "") for said in signatures}
    return len(plain) == 1 and len(set(signatures)) > 1


def _fix(reason: str) -> str:
    if reason:
        return "\n  fix   give `requires_grad=True` to the collective where no input requires grad"
    return ""


def _ranks(members: list[int]) -> str:
    return f"rank {members[0]}" if len(members) == 1 else "ranks " + ", ".join(map(str, members))


def _bytes(text: str, length: int) -> bytes:
    return text.encode("utf-8", "replace")[:length]


def _str(data: Any) -> str:
    return bytes(data).decode("utf-8", "replace")
