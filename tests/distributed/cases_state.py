"""State that ranks write together, and read on other numbers of ranks."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np

import pullback as pb

RANKS = 4
WHOLE = np.arange(77.0).reshape(11, 7)


@contextlib.contextmanager
def common_folder(comm):
    """A folder that all ranks see, and that is gone in the end."""
    mine = tempfile.mkdtemp() if comm.rank == 0 else None
    folder = comm.gather_objects(mine)[0]
    try:
        yield Path(folder)
        comm.gather_objects(None)
    finally:
        if comm.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)


def part(whole, rank, count, axis=0):
    pieces = np.array_split(whole, count, axis)
    offsets = [0] * whole.ndim
    offsets[axis] = sum(piece.shape[axis] for piece in pieces[:rank])
    return pb.distributed.Block(pieces[rank], offsets, whole.shape)


def case_131_sharded_state_loads_on_other_numbers_of_ranks():
    comm = pb.distributed.world()
    tree = {"w": part(WHOLE, comm.rank, comm.size), "b": pb.tensor([1.0, 2.0], requires_grad=True), "step": 3}
    with common_folder(comm) as folder:
        pb.save(folder / "state.ckpt", tree, comm=comm)
        whole = pb.load(folder / "state.ckpt", comm=comm)
        np.testing.assert_array_equal(np.asarray(whole["w"]), WHOLE)
        assert whole["b"].requires_grad and whole["step"] == 3
        groups = comm.split(comm.rank // 2)  # two ranks each: another number, and other blocks
        like = tree | {"w": part(np.zeros_like(WHOLE), groups.rank, groups.size, 1)}
        found = pb.load(folder / "state.ckpt", like=like, comm=groups)
        np.testing.assert_array_equal(found["w"].array, np.array_split(WHOLE, groups.size, 1)[groups.rank])
        pb.save(folder / "run", tree, comm=comm, keep=1)
        pb.save(folder / "run", tree | {"step": 4}, comm=comm, keep=1)
        assert pb.load(folder / "run", comm=comm)["step"] == 4


def case_131_what_differs_between_ranks_is_an_error_on_all():
    comm = pb.distributed.world()
    with common_folder(comm) as folder:
        try:
            pb.save(folder / "state.ckpt", {"x": pb.tensor([float(comm.rank)])}, comm=comm)
        except ValueError as error:
            assert "other values" in str(error)
        else:
            raise AssertionError("nothing was raised")


def case_133_a_damaged_file_is_an_error_on_all_ranks():
    comm = pb.distributed.world()
    with common_folder(comm) as folder:
        pb.save(folder / "state.ckpt", {"w": part(WHOLE, comm.rank, comm.size)}, comm=comm)
        file = folder / "state.ckpt" / "arrays-0002.npys"
        if comm.rank == 0:
            file.write_bytes(file.read_bytes()[:-5])
        comm.gather_objects(None)
        like = {"w": part(np.zeros_like(WHOLE), comm.rank, comm.size)}  # one rank alone reads the damaged file
        try:
            pb.load(folder / "state.ckpt", like=like, comm=comm)
        except pb.distributed.CheckpointError as error:
            assert file.name in str(error)
        else:
            raise AssertionError("nothing was raised")


def trained(comm, path, first, last, **options):
    """Steps of a fit from what was saved, or from the beginning; all of its state is saved at the end."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    state = {"w": pb.tensor(rng.normal(size=3)), "speed": pb.zeros(3), "step": 0}
    if path.exists():
        state = pb.load(path, like=state, comm=comm)
    step = pb.distributed.data_parallel(lambda w, x, y: ((pb.tanh(x @ w) - y) ** 2).mean(), comm=comm, **options)
    assert state["step"] == first
    while state["step"] < last:
        batches = list(pb.distributed.sampler(40, 8, seed=7, epoch=state["step"] // 5, comm=comm))
        rows = batches[state["step"] % 5]
        _, gradient = step(state["w"], pb.tensor(x[rows]), pb.tensor(y[rows]))
        speed = 0.9 * state["speed"] - 0.1 * gradient
        state = {"w": state["w"] + speed, "speed": speed, "step": state["step"] + 1}
    pb.save(path, state, comm=comm)
    return state["w"].numpy()


def case_134_a_fit_goes_on_on_another_number_of_ranks():
    comm = pb.distributed.world()
    half = comm.split(comm.rank // 2)
    for options in ({"virtual_shards": 4}, {}):
        with common_folder(comm) as folder:
            whole = trained(comm, folder / "whole", 0, 20, **options)
            trained(comm, folder / "cut", 0, 13, **options)
            if comm.rank == 0:
                shutil.copytree(folder / "cut", folder / "cut-1")  # two ranks each go on with a copy of their own
                shutil.copytree(folder / "cut", folder / "cut-0")
            comm.barrier()
            found = trained(half, folder / f"cut-{comm.rank // 2}", 13, 20, **options)
            if options:
                np.testing.assert_array_equal(found, whole)
            else:  # sums of two numbers in place of four: rounding, which steps carry on
                np.testing.assert_allclose(found, whole, rtol=1e-13, atol=1e-14)
