"""Cases 1, 8 and 9, and what else concerns one process."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback import distributed as dist


def in_a_process(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_001_every_collective_on_one_process_without_mpi4py():
    code = """
import sys
sys.modules["mpi4py"] = None
import numpy as np, pullback as pb
dist = pb.distributed
comm = dist.init()
assert (dist.rank(), dist.size(), dist.local_rank()) == (0, 1, 0) and dist.init() is comm
x = pb.tensor(np.arange(4.0))
grid = dist.mesh(1, "x")
same = [dist.all_reduce, dist.vary, dist.reduce, dist.broadcast, dist.all_gather, dist.reduce_scatter, dist.gather,
        dist.scatter, dist.all_to_all, lambda x: dist.sendrecv(x, 0, 0), lambda x: dist.shift(x, grid, "x"),
        lambda x: dist.all_reduce(x, "mean"), lambda x: dist.all_reduce(x, "max"), lambda x: dist.all_reduce(x, "prod"),
        lambda x: dist.halo_exchange(x, 1, mesh=grid)[1:-1]]
for f in same:
    y = f(x)
    assert (y.numpy() == x.numpy()).all() and not np.shares_memory(y.numpy(), x.numpy())
    assert (pb.func.grad(lambda z: (f(z) ** 2).sum())(x).numpy() == 2 * x.numpy()).all()
assert dist.halo_exchange(x, 1, mesh=grid).tolist() == [3, 0, 1, 2, 3, 0]
assert dist.all_gather(x, stack=True).shape == (1, 4)
assert dist.sendrecv(x, None, None).tolist() == [0, 0, 0, 0]
dist.barrier()
assert dist.agree(True)
print("fine")
"""
    assert in_a_process(code) == "fine\n"


def test_008_a_forked_child_is_no_rank():
    code = """
import os, pullback as pb
comm = pb.distributed.init()
child = os.fork()
if child == 0:
    try:
        pb.distributed.all_reduce(pb.ones(2))
    except pb.distributed.DistributedError as error:
        os._exit(0 if "forked" in str(error) else 2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    in_a_process(code)


def test_009_importing_the_package_loads_nothing_of_this():
    code = """
import sys, pullback
print([m for m in sys.modules if "mpi4py" in m or m.startswith("pullback.distributed")])
"""
    assert in_a_process(code) == "[]\n"


def test_a_launcher_without_mpi4py_is_an_error():
    code = """
import importlib.util, pullback as pb
importlib.util.find_spec = lambda name: None
try:
    pb.distributed.init()
except pb.distributed.DistributedError as error:
    assert "pullback[mpi]" in str(error) and "Open MPI" in str(error)
    print("fine")
"""
    assert in_a_process(code, OMPI_COMM_WORLD_SIZE="4") == "fine\n"


def test_init_with_other_arguments_is_an_error():
    code = """
import pullback as pb
pb.distributed.init()
try:
    pb.distributed.init(timeout=1.0)
except pb.distributed.DistributedError:
    print("fine")
"""
    assert in_a_process(code) == "fine\n"


def test_simulate_raises_the_first_error_that_is_no_echo():
    def f():
        if dist.rank() == 2:
            raise ValueError("bad data")
        dist.all_reduce(pb.ones(2))

    with pytest.raises(ValueError, match="bad data") as found:
        dist.simulate(f, 3)
    assert "rank 2" in found.value.__notes__[0]


@pytest.mark.parametrize("function", [
    lambda x: pb.nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False), lambda x: pb.nn.adaptive_avg_pool2d(x, 3),
    lambda x: pb.quantile(x, [0.3, 0.6], axis=2), lambda x: pb.percentile(x, 40, axis=3),
])  # fmt: skip
def test_weights_that_a_function_makes_are_on_every_rank(function):
    values = np.random.default_rng(0).normal(size=(4, 2, 6, 6))
    gradient = pb.func.grad(lambda x: (function(x) ** 2).sum())
    wanted = gradient(pb.tensor(values))
    for dim in (0, 1):

        def f(dim=dim):
            x = dist.distribute(pb.tensor(values), dist.mesh((2,), ("r",)), [dist.Shard(dim)])
            return dist.full_tensor(gradient(x)).numpy()

        for found in dist.simulate(f, 2):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("function", [
    lambda x: x.sum() ** 2, lambda x: (x * x.mean()).sum(), lambda x: pb.sin(x).sum() * (x * x).sum(),
    lambda x: (pb.sin(x[:, 1:]) ** 2).sum(),
])  # fmt: skip
def test_gradients_that_are_brought_to_the_placement_of_their_value_keep_their_tangents(function):
    values, directions = np.random.default_rng(0).normal(size=(2, 4, 6))
    along = lambda x, t: pb.func.jvp(pb.func.grad(function), (x,), (t,))[1]
    wanted = along(pb.tensor(values), pb.tensor(directions))
    for dim in (0, 1):

        def f(dim=dim):
            mesh = dist.mesh((2,), ("r",))
            placed = [dist.distribute(pb.tensor(each), mesh, [dist.Shard(dim)]) for each in (values, directions)]
            return dist.full_tensor(along(*placed)).numpy()

        for found in dist.simulate(f, 2):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-12)


def test_a_rank_that_stalls_is_named():
    def f():
        if dist.rank() == 1:
            return None
        with pytest.raises(dist.RemoteRankError, match="rank 1 has finished") as found:
            dist.all_reduce(pb.ones(2))
        return found.value

    error = dist.simulate(f, 2)[0]
    assert error.rank == 1 and error.seq == 1 and "has finished" in error.peers[1]


def test_a_compiled_function_of_one_simulated_rank_is_refused_on_another():
    shared = {}

    def f():
        comm = dist.world()
        if dist.rank() == 0:
            shared["f"] = pb.compile(lambda x: dist.all_reduce(x, comm=comm))
            shared["f"](pb.ones(2))
        else:
            dist.all_reduce(pb.ones(2))
        dist.barrier()
        if dist.rank() == 1:
            with pytest.raises(dist.DistributedError, match="another rank of this simulation"):
                shared["f"](pb.ones(2))

    dist.simulate(f, 2)


def test_values_that_count_once_are_compared():
    def f(factor):
        x = pb.tensor(2.0, requires_grad=True)
        y = dist.all_reduce(x, replicated=True)
        (y * (dist.rank() + 1 if factor else 1)).backward()
        return x.grad.item()

    assert dist.simulate(f, 2, False, check="values") == [1.0, 1.0]
    with pytest.raises(dist.DistributedError, match=r"gradient of a replicated value on ranks \[1\]"):
        dist.simulate(f, 2, True, check="values")


def test_052_ranks_wait_longer_for_one_that_compiles():
    held = threading.Event()

    def slow(x):
        held.wait(0.6)  # while it is traced
        return dist.all_reduce(x)

    def f():
        traced = pb.compile(slow) if dist.rank() == 1 else dist.all_reduce
        return traced(pb.ones(2)).tolist()

    assert dist.simulate(f, 2, timeout=0.2) == [[2.0, 2.0], [2.0, 2.0]]


def test_errors_pickle():
    error = dist.CollectiveMismatch("text", collective="all_reduce", seq=3, rank=1, peers={0: "there"})
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.seq, again.peers) == ("text", 3, {0: "there"}) and type(again) is dist.CollectiveMismatch


def test_profile_and_log_count_collectives(capsys):
    with dist.profile() as seen:
        dist.simulate(lambda: dist.all_reduce(np.ones(4)), 2)
    (row,) = seen.rows()
    assert row.calls == 2 and row.nbytes == 64 and row.text.startswith("all_reduce") and "test_alone.py" in row.site


def test_timeout_names_the_rank_and_its_last_collective():
    release = threading.Event()

    def f():
        dist.all_reduce(pb.ones(2))
        if dist.rank() == 1:
            release.wait(20)
            return
        try:
            with pytest.raises(dist.CollectiveTimeout, match="rank 1 did not come within") as found:
                dist.all_reduce(pb.ones(2))
        finally:
            release.set()
        assert "collective 1 all_reduce" in found.value.peers[1] and isinstance(found.value, TimeoutError)

    dist.simulate(f, 2, timeout=0.2)


def test_103_a_fit_that_was_killed_goes_on(tmp_path):
    file = Path(__file__).parents[2] / "examples" / "distributed_fit.py"

    def run(name, *more):
        command = [sys.executable, str(file), "--state", str(tmp_path / name), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert run("state", "--kill-at", "37").returncode == -signal.SIGKILL
    found, whole = run("state").stdout, run("other").stdout
    assert "from step 30" in found and "from step 0" in whole
    assert found.split()[-1] == whole.split()[-1]
