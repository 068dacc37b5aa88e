"""Cases 8, 59 and 99, which are about processes; on threads there is nothing to see."""

import os
import tracemalloc

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed import Replicate, Shard
from pullback.errors import AOTError
from tests.distributed.oracle import raises

RANKS = 4
ON_THREADS = ()


def case_008_a_forked_child():
    child = os.fork()
    if child == 0:
        for f in (dist.rank, lambda: dist.all_reduce(np.ones(2))):
            try:
                f()
            except dist.DistributedError as error:
                if "forked" not in str(error):
                    os._exit(2)
            else:
                os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    dist.barrier()


def case_059_raw_calls_of_mpi4py_are_refused_while_tracing():
    from mpi4py import MPI

    def f(x):
        out = np.empty(3)
        MPI.COMM_WORLD.Allreduce(np.asarray(x * 2), out)
        return x + out

    raises(AOTError, lambda: pb.compile(f, fallback="raise")(pb.ones(3)))
    dist.barrier()


def case_099_no_rank_has_the_whole():
    """An array of which every rank has a quarter, and little else besides in forward and backward."""
    mesh, rows = dist.mesh(4, "x"), 1 << 14
    x = dist.normal((rows, 16), mesh, [Shard(0)], seed=0).requires_grad_()
    w = dist.normal((16, 4), mesh, [Replicate()], seed=1).requires_grad_()

    def smoothed(x, w):
        return (pb.tanh((x[1:] - x[:-1]) @ w).sum(axis=1).redistribute([Shard(0)]) ** 2).sum()

    for f in (smoothed, pb.compile(smoothed, fallback="raise")):
        f(x, w).backward()
        dist.barrier()  # what is made once is there
        tracemalloc.start()
        f(x, w).backward()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        every = dist.world().gather_objects(peak)
        assert max(every) < 2 * rows * 16 * 8, every


def case_034_results_have_memory_of_their_own():
    """Memory of results is used again, but not while anybody holds a result, or a view of one."""
    x = np.arange(20_000.0) + dist.rank()
    total = 4 * np.arange(20_000.0) + 6
    held, views = [], []
    for k in range(12):
        out = dist.all_reduce(pb.tensor(x + k))
        (held if k % 2 else views).append((k, out if k % 2 else out[5:][::2]))
        del out
    for k, out in held:
        np.testing.assert_array_equal(out.numpy(), total + 4 * k)
    for k, out in views:
        np.testing.assert_array_equal(out.numpy(), (total + 4 * k)[5:][::2])
    first = dist.all_reduce(pb.tensor(x)).numpy().__array_interface__["data"][0]
    assert dist.all_reduce(pb.tensor(x)).numpy().__array_interface__["data"][0] == first
    leaf = pb.tensor(x, requires_grad=True)
    y = dist.all_reduce(leaf * leaf)
    z = y * 1
    y.mul_(2)
    dist.all_reduce(pb.tensor(x))
    np.testing.assert_array_equal(z.detach().numpy() * 2, y.detach().numpy())
    (z.sum() / 4).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), 2 * x)
