"""Executors that other packages bring: dask's, mpi4py's, loky's, and cloudpickle for lambdas."""

import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import numpy as np

import pullback as pb
from tests.distributed import far_work as far

RANKS = 1
ON_THREADS = ()  # they need dask, mpi4py and cloudpickle
X = np.linspace(0.5, 2.0, 7)


def check(executor):
    """Derivatives, maps and failures are as without an executor."""
    x = pb.tensor(X)
    func = pb.func
    for transform, function in ((func.jacrev, far.dense), (func.jacfwd, far.dense), (func.hessian, far.energy)):
        expected = transform(function, chunk_size=3)(x)
        found = transform(function, chunk_size=3, executor=executor)(x)
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), transform.__name__
    assert pb.distributed.map(far.square, range(40), executor=executor) == [k * k for k in range(40)]
    try:
        pb.distributed.map(far.fails_at_3_and_7, range(10), executor=executor)
    except pb.distributed.PieceError as error:
        assert error.index == 3 and isinstance(error.__cause__, ValueError)
    else:
        raise AssertionError("nothing was raised")


def check_lambdas(executor):
    """Functions without a name travel by cloudpickle, with what they captured."""
    weight = pb.tensor([2.0, 3.0])
    gradient = pb.func.grad(lambda x: (weight * x * x).sum())
    (found,) = pb.distributed.map(gradient, [pb.tensor([1.0, 1.0])], executor=executor)
    np.testing.assert_array_equal(np.asarray(found), [4.0, 6.0])


def case_106_executors_of_mpi4py():
    launcher = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    # Started from a rank, which the new ranks must not take themselves for.
    mine = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_LOCALNRANKS", "HYDRA_", "MPIEXEC_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    options = ["-bind-to", "none"]
    if "Open MPI" in subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout:
        options = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        options += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    program = [sys.executable, "-m", "mpi4py.futures", "-m", "tests.distributed.cases_executors"]
    run = subprocess.run(
        [launcher, *options, "-n", "4", *program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0 and "all equal" in run.stdout, run.stdout + run.stderr


def case_107_executors_of_dask():
    from distributed import Client, LocalCluster

    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True)
    with workers as cluster, Client(cluster) as client:
        check(client.get_executor())
        check(client)
        check_lambdas(client)
        large = far.Model(np.ones(20_000))  # more than what goes along with each piece
        assert pb.distributed.map(large, range(4), executor=client) == [0, 20_000, 40_000, 60_000]
        assert pb.distributed.map(large, range(4), executor=client.get_executor()) == [0, 20_000, 40_000, 60_000]


def case_109_lambdas_travel_by_cloudpickle():
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        check_lambdas(executor)


def _executors_of_loky():
    import tempfile
    from functools import partial

    from loky import get_reusable_executor

    check(get_reusable_executor(max_workers=2))
    with tempfile.TemporaryDirectory() as folder:
        work = partial(far.dies_once, marker=os.path.join(folder, "died"))
        factory = partial(get_reusable_executor, max_workers=1)
        assert pb.distributed.map(work, range(5), executor=factory) == [k * k for k in range(5)]


if util.find_spec("loky") is not None:  # which `make distributed` does not install
    case_112_executors_of_loky = _executors_of_loky

if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        check(executor)
    print("all equal")
