"""Cases 3 to 5, 80, 117 to 129: programs that end by a fault, each in a launch of its own, and what is seen of it."""

import os
import signal
import sys
import time

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed._mpi import tag_of

RANKS = 4


def block():
    return np.arange(3.0) + dist.rank()


def seen(*words, code=1, count=None):
    """The check of a launch: these words are in the output, no rank says that all went well, and it ends so."""

    def check(found, output):
        missing = [word for word in words if word not in output]
        if missing:
            return f"not in the output: {missing}"
        if "went well" in output:
            return "a rank reports success"
        if count is not None and output.count(count[0]) < count[1]:
            return f"{count[0]!r} is {output.count(count[0])} times in the output, expected {count[1]}"
        is_right = found == code if code is not None else found != "took too long"
        return "" if is_right else f"exit code {found}, not {code}"

    return check


def fine(found, output):
    return "" if found == 0 and output.count("went well") == RANKS else "not every rank reports success"


def case_003_mpi4py_is_missing():
    sys.modules["mpi4py"] = None
    import importlib.util

    importlib.util.find_spec = lambda name: None
    dist.init()
    print("went well")


def case_004_launcher_and_library_differ():
    os.environ["OMPI_COMM_WORLD_SIZE"] = "7"
    dist.init(on_error="raise")
    print("went well")


def case_005_a_communicator_of_mpi4py():
    from mpi4py import MPI

    me = MPI.COMM_WORLD.rank
    half = MPI.COMM_WORLD.Split(me % 2, me)
    comm = dist.init(half)
    assert (comm.rank, comm.size) == (me // 2, 2)
    other = 1 - comm.rank
    own = half.isend({"mine": me}, other, tag=0)  # the same tag as messages of Pullback have
    y = dist.sendrecv(pb.tensor([float(me)]), other, other)
    assert y.tolist() == [(me + 2) % 4]
    assert half.recv(source=other, tag=0) == {"mine": (me + 2) % 4}
    own.wait()
    assert comm.mpi is not half and comm.mpi.size == 2
    print("went well")


def case_080_a_hook_raises_on_one_rank():
    dist.init(timeout=20)
    w = pb.ones(2, requires_grad=True)
    dist.GradientAverager([w])
    if dist.rank() == 1:

        def hook(g):
            raise ValueError("bad hook")

        w.register_hook(hook)
    w.sum().backward()
    print("went well")


def case_117_a_rank_raises():
    dist.init(timeout=20)
    if dist.rank() == 1:
        raise ValueError("bad data")
    dist.all_reduce(block())
    print("went well")


def case_118_lengths_differ():
    dist.init(timeout=20)
    dist.all_reduce(np.ones(9 if dist.rank() == 0 else 8))
    print("went well")


def case_119_operators_differ():
    dist.init(timeout=20)
    dist.broadcast(block()) if dist.rank() == 3 else dist.all_reduce(block())
    print("went well")


def case_119_roots_differ():
    dist.init(timeout=20)
    dist.broadcast(block(), root=int(dist.rank() == 3))
    print("went well")


def case_119_operations_differ():
    dist.init(timeout=20)
    dist.all_reduce(block(), "max" if dist.rank() == 3 else "min")
    print("went well")


def case_120_two_collectives_swapped():
    dist.init(timeout=20)
    first, second = (dist.all_gather, dist.all_to_all) if dist.rank() == 2 else (dist.all_to_all, dist.all_gather)
    first(np.ones(4))
    second(np.ones(4))
    print("went well")


def case_121_a_rank_stalls():
    dist.init(timeout=4)
    dist.all_reduce(block())
    if dist.rank() == 3:
        time.sleep(60)
    dist.all_reduce(block())
    print("went well")


def case_122_a_rank_is_killed():
    dist.init(timeout=20)
    dist.all_reduce(block())
    if dist.rank() == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(block())
    print("went well")


def case_123_a_rank_ends_early():
    dist.init(timeout=20)
    if dist.rank() == 1:
        return
    dist.all_reduce(block())
    print("went well")


def case_124_interrupted():
    dist.init(timeout=20)
    if dist.rank() == 0:
        import threading

        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    if dist.rank() == 3:
        time.sleep(60)  # until the job is ended, if the interrupt reaches the rank that waits
    try:
        dist.all_reduce(block())
    except KeyboardInterrupt:
        print("interrupted while waiting", flush=True)
        raise
    print("went well")


def case_125_an_exception_in_backward():
    dist.init(timeout=20)
    x = pb.tensor(block(), requires_grad=True)
    y = dist.all_reduce(x)
    if dist.rank() == 2:

        def hook(g):
            raise ValueError("bad hook")

        y.register_hook(hook)
    y.sum().backward()
    print("went well")


def case_126_after_an_error():
    comm = dist.init(timeout=20, on_error="raise")
    for kind in (dist.CollectiveMismatch, dist.CommunicatorBroken):
        before = comm.seq
        try:
            dist.all_reduce(np.ones(9 if dist.rank() == 0 else 8))
        except kind:
            assert comm.seq == before + (kind is dist.CollectiveMismatch)  # the second is not even announced
    x = pb.tensor(block(), requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and comm.rank == dist.rank()
    print("went well")


def case_127_errors_that_all_know_of():
    comm = dist.init(timeout=20)
    try:
        dist.all_reduce(np.array(["a"]))
    except TypeError:
        pass
    try:
        with dist.together():
            dist.all_reduce(block())
            if dist.rank() == 1:
                raise KeyError("lost")
    except KeyError:
        assert dist.rank() == 1
    except dist.RemoteRankError as error:
        assert dist.rank() != 1 and "rank 1" in str(error) and "lost" in str(error)
    assert dist.agree(True) and not dist.agree(dist.rank() != 2)
    assert comm.gather_objects(1) == [1] * 4
    print("went well")


def case_128_an_error_of_mpi():
    comm = dist.init(timeout=20)
    rank = dist.rank()
    if rank == 1:  # a message of the wrong length, past all checks
        comm.mpi.Isend([np.zeros(99), 99 * 8, comm.settings.mpi.BYTE], 0, tag_of(0, comm.seq + 1))
    if rank in (0, 1):
        dist.sendrecv(np.ones(2), 1 - rank, 1 - rank)
    else:
        dist.sendrecv(np.ones(2), None, None)
    print("went well" if rank else "rank 0 noticed nothing")


def case_129_a_mismatch_in_a_compiled_graph():
    dist.init(timeout=20)
    op = "max" if dist.rank() == 2 else "min"
    f = pb.compile(lambda x: dist.all_reduce(x * 2, op).sum())  # the line that is named
    f(pb.tensor(block()))
    print("went well")


EXPECTED = {
    "case_003_mpi4py_is_missing": seen("DistributedError", "pullback[mpi]"),
    "case_004_launcher_and_library_differ": seen("DistributedError", "started 7 ranks", "there are 4"),
    "case_005_a_communicator_of_mpi4py": fine,
    "case_080_a_hook_raises_on_one_rank": seen("ValueError: bad hook", "RemoteRankError", "bucket 0 of gradients"),
    "case_117_a_rank_raises": seen("RemoteRankError", "rank 1 raised ValueError: bad data", "collective 1 all_reduce"),
    "case_118_lengths_differ": seen("CollectiveMismatch", "float64[9]", "float64[8]", "collective 1"),
    "case_119_operators_differ": seen("CollectiveMismatch", "broadcast", "all_reduce"),
    "case_119_roots_differ": seen("CollectiveMismatch", "root 0", "root 1"),
    "case_119_operations_differ": seen("CollectiveMismatch", "max", "min"),
    "case_120_two_collectives_swapped": seen("CollectiveMismatch", "all_gather", "all_to_all"),
    "case_121_a_rank_stalls": seen("CollectiveTimeout", "rank 3 did not come within 4 s", "rank 3: at collective 1"),
    "case_122_a_rank_is_killed": seen(code=None),
    "case_123_a_rank_ends_early": seen("RemoteRankError", "rank 1 has finished"),
    "case_124_interrupted": seen("interrupted while waiting", "RemoteRankError", "KeyboardInterrupt"),
    "case_125_an_exception_in_backward": seen("ValueError: bad hook", "RemoteRankError", "backward"),
    "case_126_after_an_error": fine,
    "case_127_errors_that_all_know_of": fine,
    "case_128_an_error_of_mpi": lambda found, output: "" if "CollectiveMismatch" in output and found else "no error",
    "case_129_a_mismatch_in_a_compiled_graph": seen("CollectiveMismatch", "faults_runs.py:"),
}
