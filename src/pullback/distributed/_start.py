"""`init`, `world` and `finalize`: which ranks there are."""

from __future__ import annotations

import os
import threading
from typing import Any

from pullback.core.reports import compile_observers
from pullback.distributed._board import COMPILING, RUNNING
from pullback.distributed._communicator import Alone, Communicator
from pullback.distributed._errors import DistributedError
from pullback.distributed._mpi import start
from pullback.distributed._threads import here

_LAUNCHERS = {
    "OMPI_COMM_WORLD_SIZE": "Open MPI's mpiexec",
    "PMI_SIZE": "MPICH's mpiexec",
    "MPI_LOCALNRANKS": "MPICH's mpiexec",
    "PMIX_RANK": "a launcher with PMIx",
}
_lock = threading.Lock()


class _Process:
    """The world of this process, and what it was made with."""

    world: Communicator | None = None
    given: tuple[Any, ...] = ()


_process = _Process()


class _Depth(threading.local):
    """How many compilations this thread is inside of."""

    count = 0


_depth = _Depth()


def _say_compiling(what: str | None) -> None:
    """Let the other ranks know, who then wait longer for this one."""
    _depth.count += -1 if what is None else 1
    if _depth.count == (0 if what is None else 1):
        comm = here.get() or _process.world
        if comm is not None:
            comm.say_everywhere(RUNNING if what is None else COMPILING, what or "")


compile_observers.append(_say_compiling)


def launched_ranks() -> tuple[int | None, str]:
    """How many ranks a launcher says there are, and which launcher; None if it does not say, 1 if there is none."""
    for name, launcher in _LAUNCHERS.items():
        if name in os.environ:
            value = os.environ[name]
            return (int(value) if name.endswith(("SIZE", "NRANKS")) and value.isdigit() else None), launcher
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "1")
    if "SLURM_PROCID" in os.environ and tasks.isdigit() and int(tasks) > 1:
        return int(tasks), "srun"
    return 1, ""


def init(
    comm: Any = None,
    *,
    backend: str = "auto",
    timeout: float = 300.0,
    compile_timeout: float = 1800.0,
    on_error: str = "abort",
    check: str = "sequence",
) -> Communicator:
    """The communicator of all ranks: those that a launcher such as `mpiexec` started, or this process alone.

    `comm` may be a communicator of mpi4py, which is duplicated. `backend` is "auto", "mpi" or "single". Ranks wait
    `timeout` seconds for each other, and `compile_timeout` while one of them compiles. `on_error="abort"` ends all
    ranks when one of them ends by an exception; `"raise"` does nothing of the kind. `check="values"` compares values
    that must be equal on all ranks, `"off"` compares nothing.

    >>> comm = pb.distributed.init()
    >>> comm.rank, comm.size
    (0, 1)
    """
    simulated = here.get()
    if simulated is not None:
        return simulated
    if backend not in ("auto", "mpi", "single"):
        raise ValueError(f'backend is "auto", "mpi" or "single", got {backend!r}; threads: simulate(f, ranks)')
    if on_error not in ("abort", "raise"):
        raise ValueError(f'on_error is "abort" or "raise", got {on_error!r}')
    if check not in ("sequence", "values", "off"):
        raise ValueError(f'check is "sequence", "values" or "off", got {check!r}')
    given = (comm, backend, timeout, compile_timeout, on_error, check)
    with _lock:
        if _process.world is not None:
            if given != _process.given:
                raise DistributedError(
                    f"init was called before with other arguments: {_process.given}, now {given}\n"
                    "  fix  call it once, at the start of the program"
                )
            return _process.world
        made = _made(comm, backend, timeout, compile_timeout, on_error, check)
        _process.world, _process.given = made, given
        return made


def _made(comm: Any, backend: str, timeout: float, compile_timeout: float, on_error: str, check: str) -> Communicator:
    if isinstance(comm, Communicator):
        return comm
    expected, launcher = launched_ranks()
    if backend == "single" or (backend == "auto" and comm is None and expected == 1):
        return Alone()
    return start(comm, expected, launcher, timeout, compile_timeout, on_error, check)


def world() -> Communicator:
    """The communicator of all ranks; `init()` is called if it was not."""
    found = here.get() or _process.world
    return init() if found is None else found


def is_initialized() -> bool:
    """Is there a world already?"""
    return here.get() is not None or _process.world is not None


def rank() -> int:
    """The number of this rank in the world."""
    comm = world()
    comm.check_process("rank")
    return comm.rank


def size() -> int:
    """How many ranks there are."""
    return world().size


def local_rank() -> int:
    """The number of this rank among those of its machine."""
    return world().node.rank


def finalize() -> None:
    """Tell the others that this rank has finished, and give back what MPI lent. At exit the first is done anyway."""
    with _lock:
        made, _process.world = _process.world, None
    close = getattr(made, "close", None)
    if close is not None:
        close()
