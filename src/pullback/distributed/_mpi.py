"""Ranks that are processes, by mpi4py: the wire, the board that a machine's processes map, and how errors end a job.

mpi4py is imported by `start` and nowhere else, since importing it starts MPI. Every collective meets on the board
first, so that the calls of MPI below are only made when all ranks make the same one.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module, util
from typing import Any

import numpy as np

from pullback.core.threads import set_num_threads
from pullback.distributed._board import FINISHED, RAISED, ROWS, Board, Waiting, board_bytes
from pullback.distributed._communicator import Communicator
from pullback.distributed._errors import CollectiveMismatch, DistributedError
from pullback.distributed._moves import Array, Shape, blocks_along, ordered_sum, split_sizes
from pullback.distributed._rooms import Rooms
from pullback.distributed._wires import reduced

CHUNK_ELEMENTS = 2**30
SMALL = 64 * 1024  # bytes over all ranks, up to which blocks that are added in order are sent to everybody
_REDUCED_BY_MPI = "bBhHiIlLqQfdgFDG"
MOST_PENDING = ROWS // 2
_FIRST_POINT_TAG = 8 * MOST_PENDING  # smaller ones belong to collectives
_open: list[Process] = []
"""Every communicator of this process, the world first."""


FIRST_SUMS, LAST_SUMS = 6, 7
"""The channels of both stages of a sum in the order of ranks."""


def tag_of(channel: int, seq: int) -> int:
    """The tag of a message of a collective: each has its own, since ranks may post them in different orders."""
    return channel * MOST_PENDING + seq % MOST_PENDING


class Settings:
    """What `init` was told, and the module of mpi4py."""

    def __init__(self, mpi: Any, waiting: Waiting, check: str) -> None:
        self.mpi = mpi
        self.waiting = waiting
        self.check = check
        self.main_thread = threading.get_ident()
        self.any_thread = mpi.Query_thread() >= mpi.THREAD_MULTIPLE
        self.types: dict[int, Any] = {}

    def element(self, itemsize: int) -> Any:
        """A type of MPI for elements of so many bytes, which are moved and not looked at."""
        found = self.types.get(itemsize)
        if found is None:
            found = self.types[itemsize] = self.mpi.BYTE.Create_contiguous(itemsize).Commit()
        return found


def start(
    comm: Any, expected: int | None, launcher: str, timeout: float, compile_timeout: float, on_error: str, check: str
) -> Communicator:
    """The world of a process that a launcher of MPI started, or one around a communicator of mpi4py."""
    if comm is None and util.find_spec("mpi4py") is None:
        raise DistributedError(
            f"this process was started by {launcher or 'a launcher'}, and mpi4py is not installed\n"
            '  fix  pip install "pullback[mpi]"  (or "pullback[mpi-local]", which brings an MPI along)'
        )
    cores = os.cpu_count() or 1
    if int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1")) > cores:
        os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    mpi = import_module("mpi4py.MPI")
    given = mpi.COMM_WORLD if comm is None else comm
    if not isinstance(given, mpi.Comm):
        raise TypeError(f"init: comm is a communicator of mpi4py or of Pullback, got {type(comm).__name__}")
    if isinstance(given, mpi.Intercomm):
        raise DistributedError("init: an inter-communicator has two groups of ranks; give an intra-communicator")
    if comm is None and expected is not None and given.size != expected:
        library = mpi.Get_library_version().partition("\n")[0].strip("\x00 ")
        raise DistributedError(
            f"{launcher} started {expected} ranks, and the MPI library says there are {given.size}\n"
            f"  library  {library}\n"
            "  why      launcher and library belong to different installations of MPI\n"
            f"  fix      use the mpiexec of that library, here {os.path.dirname(sys.executable)}/mpiexec if it is there"
        )
    settings = Settings(mpi, Waiting(timeout, compile_timeout), check)
    made = Process(given.Dup(), "world", settings)
    local = made.node.size
    if local > 1 and not any(name in os.environ for name in ("PULLBACK_NUM_THREADS", "OMP_NUM_THREADS")):
        set_num_threads(max(1, cores // local))
    if on_error == "abort" and made.size > 1:
        _abort_on_errors(made)
    atexit.register(_say_finished)
    return made


def _say_finished() -> None:
    if _open:
        _open[0].say_everywhere(FINISHED, "")


def _abort_on_errors(world: Process) -> None:
    """An exception that nobody catches ends all ranks, after those that wait for this one have said so, too."""
    previous = sys.excepthook

    def report(kind: Any, error: Any, trace: Any) -> None:
        text = f"{kind.__name__}: {error}"
        world.say_everywhere(RAISED, text)
        board = world._board
        assert board is not None
        earlier = [r for r in range(world.rank) if board.ranks[r]["state"] == RAISED
                   and board.place_of(r).startswith(f"raised {text[:200]}")]  # fmt: skip
        if earlier:
            print(f"rank {world.rank}: the same as rank {earlier[0]}", file=sys.stderr)
        elif previous is sys.__excepthook__:
            lines = "".join(traceback.format_exception(kind, error, trace))
            print(f"rank {world.rank}:\n{lines}", file=sys.stderr, end="")
        else:
            previous(kind, error, trace)
        sys.stderr.flush()
        board.ranks[world.rank]["has_told"] = 1
        ends = time.monotonic() + 2.0
        told, states = board.ranks["has_told"], board.ranks["state"]
        while time.monotonic() < ends and not ((told != 0) | (states == FINISHED)).all():
            time.sleep(0.01)
        world.mpi.Abort(1)

    sys.excepthook = report


class Process(Communicator):
    """A communicator of processes."""

    def __init__(self, comm: Any, name: str, settings: Settings) -> None:
        comm.Set_errhandler(settings.mpi.ERRORS_RETURN)
        self._mpi = comm
        self.settings = settings
        local = comm.Split_type(settings.mpi.COMM_TYPE_SHARED)
        board = _board(comm, local, settings, name)
        super().__init__(comm.rank, comm.size, name, MPIWire(comm, settings, board), board)
        self._local = local
        self._node: Process | None = None
        self.check = settings.check
        _open.append(self)

    @property
    def mpi(self) -> Any:
        """The communicator of mpi4py, a duplicate that nobody else uses."""
        return self._mpi

    @property
    def node(self) -> Communicator:
        """The ranks on this machine."""
        if self._local.size == self.size:
            return self
        if self._node is None:
            self._node = Process(self._local.Dup(), f"{self.name}/node", self.settings)
        return self._node

    def _subgroup(self, color: Any, members: list[int], name: str) -> Any:
        mpi = self.settings.mpi
        key = members.index(self.rank) if members else 0
        made = self._mpi.Split(min(members) if members else mpi.UNDEFINED, key)
        return Process(made, name, self.settings) if members else None

    def _objects(self, value: Any) -> list[Any]:
        found: list[Any] = self._mpi.allgather(value)
        return found

    def _check_thread(self) -> None:
        if not self.settings.any_thread and threading.get_ident() != self.settings.main_thread:
            raise DistributedError(
                "the thread level of this MPI lets only the thread communicate that called init()\n"
                "  fix  communicate there, or use an MPI with MPI_THREAD_MULTIPLE"
            )

    def _translated(self, error: Any, text: str) -> BaseException:
        mpi = self.settings.mpi
        if not isinstance(error, mpi.Exception):
            return error
        is_misfit = error.Get_error_class() in (
            mpi.ERR_TRUNCATE, mpi.ERR_COUNT, mpi.ERR_TYPE, mpi.ERR_IN_STATUS,
        )  # fmt: skip
        kind = CollectiveMismatch if is_misfit else DistributedError
        made = kind(
            f"MPI reports {error.Get_error_string()} in collective {self.seq} {text} of {self.name}",
            collective=text.partition(" ")[0], seq=self.seq, rank=self.rank,
        )  # fmt: skip
        made.__cause__ = error
        return made

    def say_everywhere(self, state: int, text: str) -> None:
        """Tell the other ranks, in all communicators that are not broken."""
        for comm in _open:
            if comm._board is not None and comm._broken is None and comm._pid == os.getpid():
                comm._board.say(state, text)

    def close(self) -> None:
        """Leave, and give back the duplicate."""
        self.say_everywhere(FINISHED, "")
        if self._broken is None and self._pid == os.getpid() and not self.settings.mpi.Is_finalized():
            for comm in _open:
                with contextlib.suppress(self.settings.mpi.Exception):
                    comm._mpi.Free()
        _open.clear()


# The board.


def _board(comm: Any, local: Any, settings: Settings, name: str) -> Board | None:
    if comm.size == 1:
        return None
    options = (comm.rank, comm.size, settings.waiting, name)
    far = local.size != comm.size or os.environ.get("PULLBACK_DISTRIBUTED_BOARD") == "messages"
    if comm.allreduce(far, settings.mpi.LOR):
        return FarBoard(comm, *options)
    return Board(_shared(comm, board_bytes(comm.size)), *options, own_processes=True)


def _shared(comm: Any, length: int) -> mmap.mmap:
    """Memory that all processes of a communicator on this machine see. Its file is gone once all have opened it."""
    path = ""
    if comm.rank == 0:
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        handle, path = import_module("tempfile").mkstemp(prefix="pullback-", dir=place)
        os.truncate(handle, length)
        os.close(handle)
    path = comm.bcast(path)
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), length)
    comm.Barrier()
    if comm.rank == 0:
        os.unlink(path)
    return memory


class FarBoard(Board):
    """A board for processes of several machines: every row is one small message, which all ranks send to all."""

    def __init__(self, comm: Any, rank: int, size: int, waiting: Waiting, name: str) -> None:
        super().__init__(bytearray(board_bytes(size)), rank, size, waiting, name, own_processes=False)
        self._comm = comm.Dup()
        self._requests: dict[int, Any] = {}

    def enter(self, seq: int, signature: Any, text: str, route: tuple[int, int, int]) -> None:
        """Write this rank's entry, and send it."""
        super().enter(seq, signature, text, route)
        row = self.rows[seq % ROWS]
        mine = row[self.rank : self.rank + 1].copy()
        row[self.rank]["seq"] = 0  # until everybody's has come
        arriving = np.zeros_like(row)
        request = self._comm.Iallgather(mine.view(np.uint8), arriving.view(np.uint8))
        self._requests[seq] = (request, mine, arriving)

    def _take(self, seq: int) -> bool:
        held = self._requests.get(seq)
        if held is not None:
            if not held[0].Test():
                return False
            self.rows[seq % ROWS] = held[2]
            del self._requests[seq]
        return True

    def meet(self, seq: int, text: str) -> None:
        """Wait for the entries of all, and compare them."""
        self.wait(lambda: self._take(seq), seq, text)
        super().meet(seq, text)

    def has_met(self, seq: int, text: str) -> bool:
        """Are the entries of all there?"""
        return self._take(seq) and super().has_met(seq, text)


# The wire.


class Exchange:
    """Messages that were started. Their memory is kept as long as they may be under way."""

    def __init__(self, wire: MPIWire, sends: Sequence[Any], wanted: Sequence[Any], seq: int) -> None:
        mpi, comm = wire.settings.mpi, wire.comm
        mine = {channel: block for dest, block, channel in sends if dest == wire.rank}
        self._found: list[Array] = []
        self._requests: list[Any] = []
        self._expected: list[tuple[int, Any, int]] = []
        self._sent: list[Array] = []
        for source, shape, dtype, channel in wanted:
            room = np.empty(shape, dtype)
            self._found.append(room)
            if source == wire.rank:
                if mine[channel].shape != room.shape:
                    raise CollectiveMismatch(f"a block of shape {list(mine[channel].shape)} came, not {list(shape)}")
                room[...] = mine[channel]
                continue
            for piece in wire.chunks(room):
                self._expected.append((len(self._requests), piece, source))
                self._requests.append(comm.Irecv(piece, source, tag_of(channel, seq)))
        for dest, block, channel in sends:
            if dest != wire.rank:
                whole = np.ascontiguousarray(block)
                self._sent.append(whole)
                tag = tag_of(channel, seq)
                self._requests += [comm.Isend(piece, dest, tag) for piece in wire.chunks(whole)]
        self._statuses = [mpi.Status() for _ in self._requests]
        self._test = mpi.Request.Testall

    def is_done(self) -> bool:
        """Has everything come, and is everything sent?"""
        return bool(self._test(self._requests, self._statuses))

    def result(self) -> list[Array]:
        """What came, in the order in which it was wanted."""
        for position, piece, source in self._expected:
            count = self._statuses[position].Get_count(piece[2])
            if count != piece[1]:
                raise CollectiveMismatch(f"{count} elements came from rank {source}, where {piece[1]} were expected")
        return self._found


class RunningSum:
    """A sum that MPI forms by itself, in its own order."""

    def __init__(self, comm: Any, x: Array) -> None:
        self._out = np.empty_like(x)
        self._request = comm.Iallreduce(x, self._out)

    def is_done(self) -> bool:
        """Has it come?"""
        return bool(self._request.Test())

    def result(self) -> list[Array]:
        """The sum, as the only block."""
        return [self._out]


class MPIWire:
    """Blocks between processes. Elements are moved as bytes, but for sums, which MPI forms itself."""

    def __init__(self, comm: Any, settings: Settings, board: Board | None) -> None:
        self.comm, self.settings, self.board = comm, settings, board
        self.rank, self.size = comm.rank, comm.size
        self.seq = 0
        self.chunk_elements = CHUNK_ELEMENTS
        self.rooms = Rooms()
        self._sent: list[tuple[Any, Array]] = []

    def chunks(self, x: Array) -> Iterator[Any]:
        """Pieces of a contiguous array, as buffers of MPI."""
        flat = x.reshape(-1)
        kind = self.settings.element(x.itemsize)
        for at in range(0, max(flat.size, 1), self.chunk_elements):
            piece = flat[at : at + self.chunk_elements]
            yield [piece.view(np.uint8), piece.size, kind]

    def all_reduce(self, x: Array, op: Any, ordered: bool) -> Array:
        """One block from all."""
        is_foreign = not isinstance(op, str)
        if op == "sum" and (ordered or x.dtype.char not in _REDUCED_BY_MPI):
            return self._sum_in_order(x.reshape(-1)).reshape(x.shape)
        if not is_foreign and op != "sum":
            return reduced(self.all_gather(x, [x.shape] * self.size), op)
        out: Array = self.rooms.room(x.shape, x.dtype)
        source, target = x.reshape(-1), out.reshape(-1)
        for at in range(0, max(x.size, 1), self.chunk_elements):
            part = slice(at, at + self.chunk_elements)
            self.comm.Allreduce(source[part], target[part], op if is_foreign else self.settings.mpi.SUM)
        return out

    def _sum_in_order(self, x: Array) -> Array:
        """The sum in the order of ranks, by the messages of `Running`: other ranks may have made two halves of it."""
        everybody, channel = range(self.size), FIRST_SUMS
        if x.nbytes * self.size <= SMALL:
            wanted = [(q, x.shape, x.dtype, channel) for q in everybody]
            return ordered_sum(self.exchange([(q, x, channel) for q in everybody], wanted))
        # As many bytes as a ring: every rank adds up one block.
        sizes = split_sizes(x.size, self.size)
        sends = [(q, block, channel) for q, block in enumerate(blocks_along(x, sizes, 0))]
        mine = ordered_sum(self.exchange(sends, [(q, (sizes[self.rank],), x.dtype, channel) for q in everybody]))
        wanted = [(q, (n,), x.dtype, LAST_SUMS) for q, n in enumerate(sizes)]
        return np.concatenate(self.exchange([(q, mine, LAST_SUMS) for q in everybody], wanted))

    def reduce(self, x: Array, root: int) -> Array | None:
        """The sum, at the root."""
        if x.dtype.char not in _REDUCED_BY_MPI:
            found = self.gather(x, root, [x.shape] * self.size)
            return None if found is None else ordered_sum(found)
        out = np.empty(x.shape, x.dtype) if self.rank == root else None
        source = x.reshape(-1)
        for at in range(0, max(x.size, 1), self.chunk_elements):
            part = slice(at, at + self.chunk_elements)
            target = None if out is None else out.reshape(-1)[part]
            self.comm.Reduce(source[part], target, self.settings.mpi.SUM, root)
        return out

    def broadcast(self, x: Array, root: int) -> Array:
        """The block of the root."""
        out = np.array(x, order="C") if self.rank == root else np.empty(x.shape, x.dtype)
        for piece in self.chunks(out):
            self.comm.Bcast(piece, root)
        return out

    def all_gather(self, x: Array, shapes: Sequence[Shape]) -> list[Array]:
        """The blocks of all, which have these shapes."""
        counts = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
        if sum(counts) <= self.chunk_elements:
            room = self.rooms.room((sum(counts),), x.dtype)
            kind = self.settings.element(x.itemsize)
            mine = [x.reshape(-1).view(np.uint8), x.size, kind]
            self.comm.Allgatherv(mine, [room.view(np.uint8), counts, None, kind])
            return _cut(room, counts, shapes)
        return self.exchange(
            [(q, x, 2) for q in range(self.size)], [(q, shape, x.dtype, 2) for q, shape in enumerate(shapes)]
        )

    def gather(self, x: Array, root: int, shapes: Sequence[Shape]) -> list[Array] | None:
        """The blocks of all, at the root."""
        wanted = [(q, shape, x.dtype, 3) for q, shape in enumerate(shapes)] if self.rank == root else []
        found = self.exchange([(root, x, 3)], wanted)
        return found if self.rank == root else None

    def scatter(self, blocks: Sequence[Array] | None, root: int, shape: Shape, dtype: Any) -> Array:
        """The block of the root with this rank's number."""
        sends = [] if blocks is None else [(q, block, 4) for q, block in enumerate(blocks)]
        return self.exchange(sends, [(root, shape, dtype, 4)])[0]

    def all_to_all(self, blocks: Sequence[Array], shapes: Sequence[Shape]) -> list[Array]:
        """The blocks of all ranks with this rank's number."""
        return self.exchange(
            [(q, block, 5) for q, block in enumerate(blocks)],
            [(q, shape, blocks[0].dtype, 5) for q, shape in enumerate(shapes)],
        )

    def exchange(self, sends: Sequence[Any], wanted: Sequence[Any]) -> list[Array]:
        """`sends` are (rank, block, channel), `wanted` are (rank, shape, dtype, channel)."""
        begun = self.begin(sends, wanted, self.seq)
        self.wait(begun.is_done)
        return begun.result()

    def begin_sum(self, x: Array) -> RunningSum | None:
        """A sum that goes on by itself, if MPI can form it in one message."""
        can = x.dtype.char in _REDUCED_BY_MPI and x.size <= self.chunk_elements
        return RunningSum(self.comm, x) if can else None

    def begin(self, sends: Sequence[Any], wanted: Sequence[Any], seq: int) -> Exchange:
        """An exchange that goes on by itself, of the collective with this number."""
        return Exchange(self, sends, wanted, seq)

    def wait(self, is_done: Any) -> None:
        """Come back when it is done."""
        if self.board is None:
            while not is_done():
                time.sleep(0)
        else:
            self.board.wait(is_done, self.seq, "the blocks of the others")

    # Pairs.

    def _tag(self, tag: tuple[int, str]) -> int:
        code = 0
        for letter in tag[1]:
            code = 3 * code + "?bt".index(letter)
        if code >= 81:
            raise DistributedError("send and recv are differentiated at most four times")
        return _FIRST_POINT_TAG + 81 * tag[0] + code

    def send(self, block: Array, dest: int, tag: tuple[int, str]) -> None:
        """A message to one rank; does not wait. Shape and dtype go before it."""
        self._sent = [held for held in self._sent if not held[0].Test()]
        whole = np.array(block, order="C")
        header = _header(whole.shape, whole.dtype)
        number = self._tag(tag)
        self._sent.append((self.comm.Isend(header, dest, number), header))
        self._sent += [(self.comm.Isend(piece, dest, number), whole) for piece in self.chunks(whole)]

    def receive(self, shape: Shape, dtype: Any, source: int, tag: tuple[int, str], text: str) -> Array:
        """The next message of one rank."""
        number, header, room = self._tag(tag), _header((), np.dtype(np.int8)), np.empty(shape, dtype)
        request = self.comm.Irecv(header, source, number)
        assert self.board is not None or source == self.rank
        self._wait_for(lambda: request.Test(), text, source)
        if header.tolist() != _header(shape, np.dtype(dtype)).tolist():
            came = f"{chr(header[0])}{header[2 : 2 + header[1]].tolist()}"
            raise CollectiveMismatch(f"{text}: {came} came, and {np.dtype(dtype).char}{list(shape)} was expected")
        requests = [self.comm.Irecv(piece, source, number) for piece in self.chunks(room)]
        self._wait_for(lambda: self.settings.mpi.Request.Testall(requests), text, source)
        return room

    def _wait_for(self, is_done: Any, text: str, source: int) -> None:
        if self.board is None:
            self.wait(is_done)
        else:
            self.board.wait(is_done, self.seq, text, peer=source)


def _header(shape: Shape, dtype: Any) -> Array:
    header = np.zeros(40, np.int64)
    header[0], header[1], header[2 : 2 + len(shape)] = ord(dtype.char), len(shape), shape
    return header


def _cut(room: Array, counts: Sequence[int], shapes: Sequence[Shape]) -> list[Array]:
    found, at = [], 0
    for count, shape in zip(counts, shapes, strict=True):
        found.append(room[at : at + count].reshape(shape))
        at += count
    return found
