"""What communication costs, on paper: formulas, a simulator of steps, and measurements of this machine.

    pb.distributed.cost.time("all_reduce", 8_400_000, ranks=128, net="fabric")      # seconds
    pb.distributed.cost.simulate(workload, ranks=10_000, net="ethernet").efficiency

A message of n bytes takes `alpha + n beta` seconds, and adding n bytes to others takes `n gamma`. Nothing here
communicates but `calibrate`. Numbers of `NETS` other than those that were measured are assumptions, and say so;
`docs/scaling.md` compares with measured steps.
"""

from __future__ import annotations

import json
import math
import os
import time as clock
from collections.abc import Callable
from heapq import heapify, heapreplace
from typing import Any, NamedTuple

import numpy as np

from pullback.distributed._moves import AllReduce

__all__ = [
    "ALL_REDUCE",
    "NETS",
    "Map",
    "Net",
    "Outcome",
    "Stencil",
    "Training",
    "calibrate",
    "crossover",
    "simulate",
    "time",
]

SMALL = 65536  # bytes of all ranks up to which an ordered reduction gathers everything


class Net(NamedTuple):
    """A network: seconds for a message, for a byte of it, and for a byte that is added to another one.

    If `node` is more than one, so many ranks share a machine, in which messages take `alpha_in` and `beta_in`.
    """

    name: str
    alpha: float
    beta: float
    gamma: float = 1 / 6e9
    node: int = 1
    alpha_in: float = 0.0
    beta_in: float = 0.0
    is_assumed: bool = True


NETS = {
    net.name: net
    for net in (
        Net("machine", 4.3e-6, 1 / 3.7e9, is_assumed=False),  # two ranks of MPICH on one machine
        Net("fabric", 2e-6, 1 / 11e9),
        Net("ethernet", 25e-6, 1 / 1.1e9),
    )
}


def _levels(ranks: int) -> int:
    return math.ceil(math.log2(ranks))


def _ring(n: float, ranks: int, net: Net) -> float:
    part = (ranks - 1) / ranks * n
    return 2 * (ranks - 1) * net.alpha + 2 * part * net.beta + part * net.gamma


def _recursive_doubling(n: float, ranks: int, net: Net) -> float:
    return _levels(ranks) * (net.alpha + n * net.beta + n * net.gamma)


def _halving_doubling(n: float, ranks: int, net: Net) -> float:
    part = (ranks - 1) / ranks * n
    return 2 * _levels(ranks) * net.alpha + 2 * part * net.beta + part * net.gamma


def _binomial(n: float, ranks: int, net: Net) -> float:
    levels = _levels(ranks)
    return 2 * levels * (net.alpha + n * net.beta) + levels * n * net.gamma


def _ordered(n: float, ranks: int, net: Net) -> float:
    """Sums in the order of ranks: everything is gathered if it is little, and otherwise blocks are exchanged."""
    if n * ranks <= SMALL:
        return _levels(ranks) * net.alpha + (ranks - 1) * n * (net.beta + net.gamma)
    return _ring(n, ranks, net)


def _two_levels(n: float, ranks: int, net: Net) -> float:
    """A reduce-scatter on every machine, an all-reduce of each part between machines, and an all-gather."""
    inside = min(net.node, ranks)
    if inside == 1:
        return math.inf
    near = net._replace(alpha=net.alpha_in, beta=net.beta_in)
    machines = math.ceil(ranks / inside)
    between = 0.0 if machines == 1 else _best(n / inside, machines, net._replace(node=1))
    part = (inside - 1) / inside * n
    return 2 * (inside - 1) * near.alpha + 2 * part * near.beta + part * near.gamma + between


ALL_REDUCE: dict[str, Callable[[float, int, Net], float]] = {
    "ring": _ring, "recursive_doubling": _recursive_doubling, "halving_doubling": _halving_doubling,
    "binomial": _binomial, "ordered": _ordered, "two_levels": _two_levels,
}  # fmt: skip
"""Seconds that an all-reduce takes, by algorithm."""


def _best(n: float, ranks: int, net: Net) -> float:
    return min(formula(n, ranks, net) for name, formula in ALL_REDUCE.items() if name != "ordered")


def _scattered(n: float, ranks: int, net: Net) -> float:
    return _levels(ranks) * net.alpha + (ranks - 1) / ranks * n * net.beta


_OTHERS: dict[str, Callable[[float, int, Net], float]] = {
    "all_gather": lambda n, ranks, net: _levels(ranks) * net.alpha + (ranks - 1) * n * net.beta,
    "reduce_scatter": lambda n, ranks, net: _scattered(n, ranks, net) + (ranks - 1) / ranks * n * net.gamma,
    "broadcast": lambda n, ranks, net: _levels(ranks) * (net.alpha + n * net.beta),
    "reduce": lambda n, ranks, net: _levels(ranks) * (net.alpha + n * net.beta + n * net.gamma),
    "gather": lambda n, ranks, net: _levels(ranks) * net.alpha + (ranks - 1) * n * net.beta,
    "scatter": _scattered,
    "all_to_all": lambda n, ranks, net: (ranks - 1) * net.alpha + (ranks - 1) / ranks * n * net.beta,
    "sendrecv": lambda n, ranks, net: net.alpha + n * net.beta,
    "halo_exchange": lambda n, ranks, net: 2 * net.alpha + n * net.beta,
    "barrier": lambda n, ranks, net: _levels(ranks) * net.alpha,
}


def time(op: str, n_bytes: float, ranks: int, net: Net | str = "fabric", algorithm: str = "best") -> float:
    """Seconds that a collective takes, where every rank gives `n_bytes` (those of the root for scatter and broadcast).

    An all-reduce takes the best algorithm, or the one that is named (`ALL_REDUCE`).

    >>> round(pb.distributed.cost.time("all_reduce", 1_000_000, ranks=16) * 1e6)
    343
    """
    if ranks < 1 or n_bytes < 0:
        raise ValueError(f"time: expected at least one rank and no negative number of bytes, got {ranks}, {n_bytes}")
    known = net if isinstance(net, Net) else _net(net)
    if op == "all_reduce":
        if algorithm != "best" and algorithm not in ALL_REDUCE:
            raise ValueError(f"time: algorithm must be 'best' or one of {', '.join(ALL_REDUCE)}, got {algorithm!r}")
        formula = _best if algorithm == "best" else ALL_REDUCE[algorithm]
    elif op in _OTHERS and algorithm == "best":
        formula = _OTHERS[op]
    else:
        raise ValueError(f"time: op must be all_reduce or one of {', '.join(_OTHERS)}, got {op!r}, {algorithm!r}")
    return 0.0 if ranks == 1 else formula(float(n_bytes), ranks, known)


def _net(name: str) -> Net:
    if name in NETS:
        return NETS[name]
    if not name.endswith(".json"):
        raise ValueError(f"net must be a Net, a file of calibrate, or one of {', '.join(NETS)}, got {name!r}")
    with open(name, encoding="utf-8") as file:
        return Net(**json.load(file)["net"])


def crossover(small: str, large: str, ranks: int, net: Net | str = "fabric") -> float:
    """The number of bytes from which on the all-reduce `large` is not slower than `small`; infinite if there is none.

    >>> round(pb.distributed.cost.crossover("recursive_doubling", "ring", 16))
    73906
    """
    known = net if isinstance(net, Net) else _net(net)
    low, high = 1.0, 2.0**60
    if ranks == 1 or ALL_REDUCE[large](high, ranks, known) > ALL_REDUCE[small](high, ranks, known):
        return math.inf
    for _ in range(200):
        middle = math.sqrt(low * high)
        if ALL_REDUCE[large](middle, ranks, known) <= ALL_REDUCE[small](middle, ranks, known):
            high = middle
        else:
            low = middle
    return high


# Steps.


class Training(NamedTuple):
    """A step of data parallelism: seconds of forward, and of backward with the bytes of gradients that are then ready.

    Gradients are reduced in buckets. While they are, a fraction `overlap` of that time is not lost for computing.
    `jitter` is the standard deviation of a rank's step, as a fraction of it. `classes` are groups of ranks that take
    so many times as long, as `((0.1, 1.5), (0.9, 1.0))`: a tenth of them one and a half times.
    """

    forward: float
    backward: tuple[tuple[float, float], ...]
    bucket_bytes: float = 1e6
    overlap: float = 0.7
    jitter: float = 0.01
    algorithm: str = "best"
    classes: tuple[tuple[float, float], ...] = ((1.0, 1.0),)


class Stencil(NamedTuple):
    """A step on a two-dimensional grid, whose blocks of `block` cells exchange `width` rows with their neighbours."""

    block: tuple[int, int]
    width: int = 1
    itemsize: int = 8
    cell: float = 4e-9


class Map(NamedTuple):
    """Pieces on an executor: so many, of so many seconds each, and how long it takes to hand one over."""

    pieces: int
    piece: float
    submit: float = 50e-6


class Outcome(NamedTuple):
    """How long a step takes, and of that: computing, and waiting for others. `efficiency` is that of weak scaling, of
    `Map` the part of the workers' time that is used."""

    seconds: float
    compute: float
    waiting: float
    efficiency: float


def simulate(workload: Training | Stencil | Map, ranks: int, net: Net | str = "fabric") -> Outcome:
    """A step of a workload on so many ranks.

    Ranks that are equal are simulated once, so that ten thousand take no longer than two.

    >>> step = pb.distributed.cost.Training(0.001, ((0.001, 4e6), (0.001, 4e6)))
    >>> round(pb.distributed.cost.simulate(step, 128).efficiency, 2)
    0.58
    """
    known = net if isinstance(net, Net) else _net(net)
    if ranks < 1:
        raise ValueError(f"simulate: expected at least one rank, got {ranks}")
    if isinstance(workload, Training):
        return _trained(workload, ranks, known)
    return _stencil(workload, ranks, known) if isinstance(workload, Stencil) else _mapped(workload, ranks)


def _trained(work: Training, ranks: int, net: Net) -> Outcome:
    """Two streams: a bucket is reduced when all ranks have filled it and the network has nothing else to do."""
    slowest = max(factor for _, factor in work.classes)
    mean = sum(share * factor for share, factor in work.classes) / sum(share for share, _ in work.classes)
    alone = work.forward + sum(seconds for seconds, _ in work.backward)
    now, filled, free, busy = work.forward * slowest, 0.0, 0.0, 0.0
    spans: list[tuple[float, float]] = []  # when the network was busy

    def reduce(n: float) -> None:
        nonlocal free, busy
        took = time("all_reduce", n, ranks, net, work.algorithm)
        start = max(free, now)
        free = start + took
        busy += took
        spans.append((start, free))

    for (seconds, ready), (_, following) in zip(work.backward, (*work.backward[1:], (0.0, math.inf)), strict=True):
        now += seconds * slowest
        filled += ready
        if filled and filled + following > work.bucket_bytes:  # a gradient larger than a bucket is a bucket
            reduce(filled)
            filled = 0.0
    hidden = sum(max(0.0, min(end, now) - start) for start, end in spans)
    exposed = max(0.0, free - now)
    late = work.jitter * alone * math.sqrt(2 * math.log(ranks)) if ranks > 1 else 0.0
    total = now + (1 - work.overlap) * hidden + exposed + late
    return Outcome(total, alone * mean, total - alone * mean, alone / total)


def _stencil(work: Stencil, ranks: int, net: Net) -> Outcome:
    rows, columns = work.block
    compute = rows * columns * work.cell
    talk = 0.0
    if ranks > 1:
        talk = 4 * net.alpha + 2 * (rows + columns) * work.width * work.itemsize * net.beta
    return Outcome(compute + talk, compute, talk, compute / (compute + talk))


def _mapped(work: Map, workers: int) -> Outcome:
    """Pieces are handed over one after the other, each to the worker that is free first."""
    free = [0.0] * min(workers, work.pieces)
    heapify(free)
    handed = 0.0
    for _ in range(work.pieces):
        handed += work.submit
        heapreplace(free, max(free[0], handed) + work.piece)
    total = max(free, default=0.0)
    compute = work.pieces * work.piece / workers
    return Outcome(total, compute, total - compute, compute / total if total else 1.0)


# This machine.


def calibrate(
    path: str | os.PathLike[str] | None = None, *, comm: Any = None, executor: Any = None, compiled: Any = None
) -> dict[str, Any]:
    """What messages, sums, submits and kernels take on this machine: measured, returned, and written to `path`, a file
    with the suffix `.json` that `simulate` and `time` take for a net.

    `net` is a `Net`, of ranks 0 and 1 of a communicator that has them: start it with `mpiexec -n 2`. Without, alpha and
    beta are those of `NETS["machine"]`, and it says that they are assumed. `submit` is the time to hand a piece to the
    `executor`, if one is given, and `layers` are seconds of the kernels of a compiled function that was called.
    """
    known = NETS["machine"]
    alpha, beta = known.alpha, known.beta
    is_measured = comm is not None and comm.size > 1
    if is_measured:
        alpha, beta = _pingpong(comm)
    net = Net("here", alpha, beta, _gamma(), is_assumed=not is_measured)
    found: dict[str, Any] = {"net": net}
    if executor is not None:
        found["submit"] = _submit_seconds(executor)
    if compiled is not None:
        found["layers"] = [
            (kernel["graph"], kernel["measured"] * 1e-9)
            for kernel in compiled.kernels(measure=True)
            if kernel.get("measured") is not None
        ]
    if path is not None and (comm is None or comm.rank == 0):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found | {"net": net._asdict()}, file, indent=1)
    return found


def _least(work: Callable[[], Any], repeats: int = 30) -> float:
    times = []
    for _ in range(repeats):
        began = clock.perf_counter()
        work()
        times.append(clock.perf_counter() - began)
    return min(times)


def _gamma() -> float:
    a, b = np.ones(1 << 20), np.ones(1 << 20)
    return _least(lambda: np.add(a, b, out=a), 30) / a.nbytes


def _pingpong(comm: Any) -> tuple[float, float]:
    """Seconds of a message and of a byte, by all-reduces of two ranks: one message of n bytes each way and a sum.

    A byte of a large message takes longer than one of a small message, whose memory is near: the mean of some sizes.
    """
    from_two = comm.sub((0, 1))
    found = None
    if comm.rank < 2:
        gamma, alpha = _gamma(), _all_reduce_seconds(from_two, 8)
        # Two ranks, recursive doubling for few bytes and halves for many: alpha, and 2 alpha + n beta + n gamma / 2.
        each = [(_all_reduce_seconds(from_two, n) - 2 * alpha) / n - gamma / 2 for n in (1 << 19, 1 << 20, 1 << 22)]
        found = (alpha, float(np.exp(np.mean(np.log(np.maximum(each, 1e-13))))))
    told = [each for each in comm.gather_objects(found) if each is not None]
    return max(alpha for alpha, _ in told), max(beta for _, beta in told)


def _all_reduce_seconds(comm: Any, n: int) -> float:
    """What one of several all-reduces takes that follow each other, on the rank that takes longer."""
    x = np.ones(max(n // 8, 1))
    move, count = AllReduce(comm), 8

    def several() -> None:
        for _ in range(count):
            comm.perform(move, x)

    times = []
    for _ in range(40):
        comm.barrier()
        times.append(_least(several, 1) / count)
    return max(comm.gather_objects(min(times)))


def _submit_seconds(executor: Any, count: int = 20) -> float:
    """The time to hand over a piece that does nothing, and to have its result."""
    list(map(_result, [executor.submit(_nothing) for _ in range(4)]))
    began = clock.perf_counter()
    list(map(_result, [executor.submit(_nothing) for _ in range(count)]))
    return (clock.perf_counter() - began) / count


def _result(future: Any) -> Any:
    return future.result()


def _nothing() -> None:
    """A piece without work."""
