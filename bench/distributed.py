"""Messages between ranks, against what mpi4py takes for the same: `mpiexec -n 2 python -m bench.distributed`.

Every row is a ratio of medians over repetitions that alternate; a repetition takes as long as the slowest rank. Start
it with as many cores as ranks, and not at lowered priority: ranks that lose the processor measure the scheduler.
"""

import time

import numpy as np

import pullback as pb
from pullback import distributed as dist

GOALS = {"eager": 1.3, "recorded": 1.6, "compiled": 1.1, "large": 1.02, "check": 1.1, "one process": 1.2, "step": 1.05}


def seconds(f, calls):
    """How long one call takes, of so many."""
    began = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - began) / calls


def compared(comm, f, reference, calls, rounds=15):
    """Median times of both on the slowest rank, in seconds."""
    f(), reference()
    found = []
    for _ in range(rounds):
        both = []
        for each in (f, reference):
            comm.barrier()
            both.append(seconds(each, calls))
        found.append(np.max(comm.gather_objects(both), axis=0))
    return np.median(found, axis=0)


def row(comm, name, goal, f, reference, calls):
    """Measure and print one row."""
    mine, theirs = compared(comm, f, reference, calls)
    if comm.rank == 0:
        print(f"{name:44} {1e6 * mine:10.1f} us {1e6 * theirs:10.1f} us  ratio {mine / theirs:5.2f}  goal {goal}")


def step_functions(comm):
    """A data-parallel step of an MLP, and the same by hand: gradients, and one packed message."""
    rng = np.random.default_rng(0)
    params = [pb.tensor(0.05 * rng.normal(size=shape)) for shape in ((256, 512), (512, 256))]
    x = pb.tensor(rng.normal(size=(64, 256)))

    def loss(w, batch):
        return ((pb.tanh(batch @ w[0]) @ w[1] - batch) ** 2).mean()

    gradients = pb.compile(pb.func.value_and_grad(loss))
    sizes = np.cumsum([p.size for p in params])
    packed, summed = np.empty(sizes[-1]), np.empty(sizes[-1])

    def by_hand():
        _, found = gradients(params, x)
        np.concatenate([g.numpy().ravel() for g in found], out=packed)
        comm.mpi.Allreduce(packed, summed)
        return [part.reshape(p.shape) / comm.size for part, p in zip(np.split(summed, sizes[:-1]), params, strict=True)]

    ours = pb.compile(dist.data_parallel(loss, reduction="mpi"))
    return (lambda: ours(params, x)), by_hand


def main():
    """All rows, for the ranks that were started."""
    comm = dist.init()
    if comm.size == 1:
        x = pb.ones(8)
        row(comm, "one process, 8 elements", GOALS["one process"], lambda: dist.all_reduce(x), x.copy, 2000)
        return
    small, large = np.ones(8), np.ones(1_000_000)
    room = np.empty(8)
    x, leaf, big = pb.tensor(small), pb.tensor(small, requires_grad=True), pb.tensor(large)
    compiled = pb.compile(lambda z: dist.all_reduce(z))
    raw = lambda: comm.mpi.Allreduce(small, room)
    row(comm, "all_reduce, 8 elements, eager", GOALS["eager"], lambda: dist.all_reduce(x), raw, 300)
    row(comm, "all_reduce, 8 elements, recorded", GOALS["recorded"], lambda: dist.all_reduce(leaf), raw, 300)
    row(comm, "all_reduce, 8 elements, compiled", GOALS["compiled"], lambda: compiled(x), raw, 300)
    fresh = lambda: comm.mpi.Allreduce(large, np.empty_like(large))
    row(comm, "all_reduce, 1000000 elements", GOALS["large"], lambda: dist.all_reduce(big), fresh, 5)
    unchecked = comm.dup()
    unchecked.check = "off"
    row(
        comm, "sequence check on against off, 8 elements", GOALS["check"], lambda: dist.all_reduce(x),
        lambda: dist.all_reduce(x, comm=unchecked), 300,
    )  # fmt: skip
    row(comm, "data-parallel step, MLP 256 x 512", GOALS["step"], *step_functions(comm), 10)


if __name__ == "__main__":
    main()
