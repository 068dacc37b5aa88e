"""Cases 8 and 59, which are about MPI itself; on threads there is nothing to see."""

import os

import numpy as np

import pullback as pb
from pullback import distributed as dist
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
