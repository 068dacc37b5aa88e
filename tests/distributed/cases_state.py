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
