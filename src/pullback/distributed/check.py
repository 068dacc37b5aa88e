"""Say what ranks there are, on what machines and libraries, how fast they talk, and what is wrong.

    mpiexec -n 4 python -m pullback.distributed.check
"""

from __future__ import annotations

import os
import platform
import socket
import sys
from typing import Any

import numpy as np

from pullback.core.threads import get_num_threads
from pullback.distributed import _start
from pullback.distributed._errors import DistributedError
from pullback.distributed.cost import calibrate

__all__ = ["main", "report"]

_LEVELS = ("single", "funneled", "serialized", "multiple")


def main() -> int:
    """Print a report on rank 0; 1 if something is wrong."""
    try:
        comm = _start.world()
    except DistributedError as error:
        print(f"ranks cannot be started: {error}")
        return 1
    lines, problems = report(comm)
    if comm.rank == 0:
        print("\n".join(lines))
        print("\n".join(f"PROBLEM  {each}" for each in problems) or "nothing is wrong")
    return 1 if problems else 0


def report(comm: Any) -> tuple[list[str], list[str]]:
    """What there is, and what is wrong; the same on every rank."""
    mpi: Any = sys.modules.get("mpi4py.MPI")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    mine = {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi": "" if mpi is None else mpi.Get_library_version().splitlines()[0].partition(",")[0],
        "level": "" if mpi is None else _LEVELS[(mpi.THREAD_SINGLE, mpi.THREAD_FUNNELED, mpi.THREAD_SERIALIZED,
                                                 mpi.THREAD_MULTIPLE).index(mpi.Query_thread())],
        "cores": cores,
        "threads": get_num_threads(),
    }  # fmt: skip
    everybody = comm.gather_objects(mine)
    hosts: dict[str, list[int]] = {}
    for rank, each in enumerate(everybody):
        hosts.setdefault(each["host"], []).append(rank)
    lines = [f"ranks    {comm.size} on {len(hosts)} machine{'s' if len(hosts) > 1 else ''}"]
    for host, ranks in hosts.items():
        there = everybody[ranks[0]]
        lines.append(
            f"         {host}: {len(ranks)} rank{'s' if len(ranks) > 1 else ''} with {there['threads']} "
            f"thread{'s' if there['threads'] > 1 else ''} each, {there['cores']} cores"
        )
    lines.append(f"library  {mine['mpi'] or 'none: one process, without MPI'}")
    if mine["level"]:
        lines.append(f"threads  MPI allows {mine['level']}")
    lines.append(f"python   {mine['python']}, numpy {mine['numpy']}")
    problems = _problems(everybody, hosts)
    if comm.size > 1:
        net = calibrate(comm=comm)["net"]
        lines.append(f"latency  {net.alpha * 1e6:.1f} us for an all-reduce of 8 bytes on ranks 0 and 1")
        lines.append(f"speed    {1e-9 / net.beta:.2f} GB/s between them")
    return lines, problems


def _problems(everybody: list[dict[str, Any]], hosts: dict[str, list[int]]) -> list[str]:
    found = []
    for name in ("python", "numpy", "mpi"):
        versions = sorted({each[name] for each in everybody})
        if len(versions) > 1:
            found.append(f"ranks have different versions of {name}: {', '.join(versions)}")
    for host, ranks in hosts.items():
        cores = everybody[ranks[0]]["cores"]
        if len(ranks) > cores:
            found.append(f"{host} has {len(ranks)} ranks on {cores} cores: they take turns, and waiting costs time")
        elif len(ranks) * everybody[ranks[0]]["threads"] > cores > 1 and len(ranks) > 1:
            found.append(f"{host}: {len(ranks)} ranks have more threads than {cores} cores; set PULLBACK_NUM_THREADS")
    if any(each["level"] not in ("", "multiple") for each in everybody):
        found.append("MPI does not allow calls from several threads: collectives belong to the thread that began")
    return found


if __name__ == "__main__":
    sys.exit(main())
