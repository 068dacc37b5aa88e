"""`simulate`: ranks that are threads of this process, for tests and for looking at a program without a launcher.

They have the semantics of ranks that are processes, the sequence check and its errors included, and no speed.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from pullback.distributed._board import BROKEN, FINISHED, RAISED, Board, Waiting, board_bytes
from pullback.distributed._communicator import Communicator
from pullback.distributed._errors import DistributedError, RemoteRankError
from pullback.distributed._wires import SwapWire, _copied

here: contextvars.ContextVar[Communicator | None] = contextvars.ContextVar("pullback_simulated_world", default=None)
"""The world of the simulated rank that is running."""


class Group:
    """What the ranks of one simulated communicator share."""

    def __init__(self, size: int, waiting: Waiting, registry: dict[Any, Group]) -> None:
        self.size = size
        self.waiting = waiting
        self.memory = bytearray(board_bytes(size))
        self.posted: dict[int, list[Any]] = {}  # by place in the sequence, what every rank gave
        self.taken: dict[int, int] = {}
        self.boxes: dict[tuple[int, int, Any], list[Any]] = {}  # messages from one rank to another
        self.registry = registry  # subgroups, by who made them
        self.lock = threading.Lock()


class ThreadWire(SwapWire):
    """Blocks between threads."""

    def __init__(self, group: Group, rank: int) -> None:
        self.group, self.rank, self.size = group, rank, group.size
        self.board: Any = None

    def post(self, seq: int, part: Any) -> None:
        """Put this rank's part where all ranks find it."""
        with self.group.lock:
            row = self.group.posted.setdefault(seq, [_MISSING] * self.size)
            row[self.rank] = _copied(part)

    def is_ready(self, seq: int) -> bool:
        """Has every rank given its part?"""
        row = self.group.posted.get(seq)
        return row is not None and not any(part is _MISSING for part in row)

    def collect(self, seq: int) -> list[Any]:
        """The parts of all ranks; the last one to take them clears up."""
        self.board.wait(lambda: self.is_ready(seq), seq, "the blocks of the others")
        with self.group.lock:
            row = self.group.posted[seq]
            self.group.taken[seq] = self.group.taken.get(seq, 0) + 1
            if self.group.taken[seq] == self.size:
                del self.group.posted[seq], self.group.taken[seq]
        return list(row)

    def send(self, block: Any, dest: int, tag: Any) -> None:
        """A message to one rank; does not wait."""
        with self.group.lock:
            self.group.boxes.setdefault((self.rank, dest, tag), []).append(_copied(block))

    def receive(self, shape: Any, dtype: Any, source: int, tag: Any, text: str) -> Any:
        """The next message of one rank."""
        boxes, key = self.group.boxes, (source, self.rank, tag)
        self.board.wait(lambda: bool(boxes.get(key)), self.seq, text, peer=source)
        with self.group.lock:
            return boxes[key].pop(0)


_MISSING = object()


class Thread(Communicator):
    """A communicator of threads."""

    def __init__(self, group: Group, rank: int, name: str) -> None:
        wire = ThreadWire(group, rank)
        board = Board(group.memory, rank, group.size, group.waiting, name, own_processes=False)
        wire.board = board
        super().__init__(rank, group.size, name, wire, board)
        self.group = group
        self.children: list[Thread] = []
        self._owner = threading.get_ident()

    def _subgroup(self, color: Any, members: list[int], name: str) -> Any:
        if not members:
            return None
        key = (id(self.group), self.seq, color)
        with self.group.lock:
            group = self.group.registry.get(key)
            if group is None:
                group = self.group.registry[key] = Group(len(members), self.group.waiting, self.group.registry)
        made = Thread(group, members.index(self.rank), name)
        self.children.append(made)
        return made

    def _check_thread(self) -> None:
        world = here.get()
        if world is not None and getattr(world, "group", None) is not None and self not in _family(world):
            raise DistributedError(
                f"{self!r} belongs to another rank of this simulation\n"
                "  why  what was made on one rank knows its number, compiled functions included\n"
                "  fix  make it inside of the function that is simulated"
            )

    def say_everywhere(self, state: int, text: str) -> None:
        """Tell the other ranks of all communicators that came from this one."""
        for each in _family(self):
            if each._board is not None and each._broken is None:
                each._board.say(state, text)


def _family(comm: Any) -> list[Any]:
    found = [comm]
    for child in comm.children:
        found += _family(child)
    return found


def simulate(
    f: Callable[..., Any], ranks: int, *args: Any, timeout: float = 300.0, compile_timeout: float = 1800.0,
    check: str = "sequence",
) -> list[Any]:  # fmt: skip
    """Call `f(*args)` on so many ranks, which are threads of this process; the results, by rank.

    Inside, `pb.distributed.world()` is the communicator of the rank. If ranks raise, the first error that is not the
    echo of another is raised here. Timeouts and `check` are those of `init`.

    >>> def f():
    ...     x = pb.tensor(float(pb.distributed.rank()), requires_grad=True)
    ...     pb.distributed.all_reduce(x).backward()
    ...     return x.grad.item()
    >>> pb.distributed.simulate(f, 3)
    [3.0, 3.0, 3.0]
    """
    if int(ranks) < 1:
        raise ValueError(f"simulate: the number of ranks must be at least 1, got {ranks}")
    group = Group(int(ranks), Waiting(timeout, compile_timeout), {})
    results: list[Any] = [None] * group.size
    errors: list[BaseException | None] = [None] * group.size
    worlds: list[Thread] = [Thread(group, rank, "world") for rank in range(group.size)]
    for each in worlds:
        each.check = check

    def run(rank: int) -> None:
        world = worlds[rank]
        here.set(world)
        try:
            results[rank] = f(*args)
        except BaseException as error:
            errors[rank] = error
            world.say_everywhere(RAISED, f"{type(error).__name__}: {error}")
        else:
            world.say_everywhere(FINISHED, "")

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, rank), name=f"rank {rank}", daemon=True)
        for rank in range(group.size)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.05)
    except KeyboardInterrupt:
        for world in worlds:
            world.say_everywhere(BROKEN, "KeyboardInterrupt")
        time.sleep(0)
        raise
    _raise_first(errors)
    return results


def _raise_first(errors: Sequence[BaseException | None]) -> None:
    raised = [(rank, error) for rank, error in enumerate(errors) if error is not None]
    if not raised:
        return
    own = [each for each in raised if not isinstance(each[1], RemoteRankError)]
    rank, error = (own or raised)[0]
    error.add_note(f"raised on rank {rank} of {len(errors)} simulated ranks")
    raise error
