"""A fit that survives being killed
================================

Fit a small network on several ranks, save its state as it goes, and go on after a crash with another number of ranks.

The state is everything that the next step depends on: parameters, the optimiser's averages, and the number of the step,
from which the rows of the batch follow. `pb.save` writes it so that a crash leaves the old state or the new one, never
half of one. Batches are cut into four parts whatever the number of ranks, so that sums are formed in one order: one,
two or four ranks give the same parameters to the last bit.

    mpiexec -n 4 python examples/distributed_fit.py --state fit-state --kill-at 37     # ends by SIGKILL
    mpiexec -n 2 python examples/distributed_fit.py --state fit-state                  # goes on from step 30

Without arguments it stops a fit on all ranks, and has half of them finish it.
"""

import argparse
import os
import shutil
import signal
import tempfile

import numpy as np

import pullback as pb
from pullback import distributed as dist

ROWS, BATCH, STEPS, EVERY = 240, 40, 60, 10


def predicted(params, x):
    """A network with one hidden layer."""
    return pb.tanh(x @ params["hidden"] + params["shift"]) @ params["out"]


def loss(params, batch):
    """The mean squared error on a batch."""
    x, y = batch
    return ((predicted(params, x) - y) ** 2).mean()


def data():
    """Points on a curve, and what was measured there."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(ROWS, 1))
    return x, np.sin(2 * x[:, 0]) + 0.05 * rng.normal(size=ROWS)


def beginning(adam):
    """The state before the first step."""
    rng = np.random.default_rng(1)
    shapes = {"hidden": (1, 8), "shift": (8,), "out": (8,)}
    params = {name: pb.tensor(rng.normal(size=shape)) for name, shape in shapes.items()}
    return {"step": 0, "params": params, "adam": adam.init(params)}


def fit(comm, folder, stop=STEPS, kill=False):
    """Parameters after all steps, or after `stop` of them, from the last state in `folder` on."""
    x, y = data()
    adam = pb.optim.Adam(0.05)
    step = dist.data_parallel(loss, comm=comm, virtual_shards=4)
    state = beginning(adam)
    if os.path.isdir(folder):
        state = pb.load(folder, like=state, comm=comm)
    first = state["step"]
    while state["step"] < stop:
        at = state["step"]
        epoch, place = divmod(at, ROWS // BATCH)
        rows = list(dist.sampler(ROWS, BATCH, seed=2, epoch=epoch, comm=comm))[place]
        _, gradients = step(state["params"], (pb.tensor(x[rows]), pb.tensor(y[rows])))
        params, averages = adam.update(state["params"], gradients, state["adam"])
        state = {"step": at + 1, "params": params, "adam": averages}
        if state["step"] % EVERY == 0:
            pb.save(folder, state, comm=comm)
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return state["params"], first


def bits(params):
    """All numbers of a tree, to compare them exactly."""
    return b"".join(leaf.numpy().tobytes() for leaf in pb.tree.leaves(params))


def main(arguments=()):
    """Stop and go on; or with arguments, run once and maybe be killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", help="the folder of the state")
    parser.add_argument("--kill-at", type=int, help="the step after which all ranks are killed")
    options = parser.parse_args(arguments)
    comm = dist.init()
    if options.state is not None:
        found, first = fit(comm, options.state, options.kill_at or STEPS, kill=options.kill_at is not None)
        if comm.rank == 0:
            print(f"{comm.size} ranks went on from step {first}: {bits(found).hex()[:16]}")
        return
    folder = comm.gather_objects(tempfile.mkdtemp() if comm.rank == 0 else None)[0]
    try:
        alone, _ = fit(comm.split(comm.rank), os.path.join(folder, f"alone-{comm.rank}"))
        fit(comm, os.path.join(folder, "state"), stop=37)
        half = comm.split(comm.rank < max(comm.size // 2, 1))  # fewer ranks than before
        if comm.rank < max(comm.size // 2, 1):
            found, first = fit(half, os.path.join(folder, "state"))
            assert first == 30 and bits(found) == bits(alone), "another fit than that of one rank"
            if comm.rank == 0:
                x, y = data()
                print(f"stopped on {comm.size} ranks, finished on {half.size}: loss {loss(found, (x, y)).item():.4f}")
        comm.gather_objects(None)  # all are done with the folder
    finally:
        if comm.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
