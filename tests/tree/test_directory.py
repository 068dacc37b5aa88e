"""State in folders: complete or not there, checked when it is read, written and read by any number of processes."""

import json
import os
import pickle
import time
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.tree import _directory

Block = pb.distributed.Block
CheckpointError = pb.distributed.CheckpointError

POINTS = ("begun", "written", "arrays", "manifest", "moved", "placed")


def everything():
    shared = pb.tensor([1.0, 2.0], requires_grad=True)
    rng = np.random.default_rng(3)
    rng.random(5)
    quiet = np.frombuffer(np.array([0x7FF8000000000123], np.uint64).tobytes(), np.float64)
    return {
        "tensors": [shared, shared, pb.zeros((0, 3)), pb.tensor(1 + 2j), pb.tensor(3.0)],
        "arrays": (np.arange(6, dtype=">i4").reshape(2, 3), np.array(quiet), np.float32(0.1), np.longdouble(1) / 3),
        "fields": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "plain": {"n": None, "yes": True, "i": 2**70, "f": float("nan"), "c": 1 - 1j, "s": "ü", "b": b"\x00\xff"},
        "generators": [rng, np.random.Generator(np.random.MT19937(1)), np.random.Generator(np.random.Philox(2))],
    }


@pytest.mark.parametrize("name", ["state.ckpt", "state.npz"])
def test_130_every_kind_of_leaf_comes_back_to_the_bit(name, tmp_path):
    tree = everything()
    pb.save(tmp_path / name, tree)
    found = pb.load(tmp_path / name)
    for one, other in zip(pb.tree.leaves(tree), pb.tree.leaves(found), strict=True):
        assert type(one) is type(other)
        if isinstance(one, pb.Tensor):
            assert one.requires_grad == other.requires_grad
            one, other = one.detach().numpy(), other.detach().numpy()
        if isinstance(one, np.random.Generator):
            np.testing.assert_array_equal(one.random(4), other.random(4))
        elif isinstance(one, (np.ndarray, np.generic)):
            assert one.dtype == other.dtype and one.shape == other.shape
            has_gaps = one.dtype == np.longdouble  # bytes without a meaning
            assert one == other if has_gaps else one.tobytes() == other.tobytes()
        else:
            assert one == other or (one != one and other != other)
    assert found["tensors"][0] is found["tensors"][1]  # shared ones stay shared


def test_130_what_cannot_be_saved_is_named_by_its_path(tmp_path):
    with pytest.raises(TypeError, match="layers/0/act"):
        pb.save(tmp_path / "state.ckpt", {"layers": [{"act": lambda x: x}]})
    assert not list(tmp_path.iterdir())


def test_a_tensor_with_a_history_is_saved_as_its_value(tmp_path):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.save(tmp_path / "s.ckpt", {"y": x * 2})
    found = pb.load(tmp_path / "s.ckpt")["y"]
    assert found.is_leaf and found.requires_grad
    np.testing.assert_array_equal(np.asarray(found.detach()), [2.0, 4.0])


def test_which_paths_are_folders(tmp_path):
    pb.save(f"{tmp_path}/one/", {"x": 1})
    assert (tmp_path / "one" / "manifest.json").exists() and pb.load(tmp_path / "one") == {"x": 1}
    pb.save(tmp_path / "two", {"x": 2})
    assert (tmp_path / "two.npz").exists() and pb.load(tmp_path / "two") == {"x": 2}
    with pytest.raises(ValueError, match="folders"):
        pb.save(tmp_path / "three.npz", {"x": 3}, keep=2)
    with pytest.raises(ValueError, match="ckpt"):
        pb.save(tmp_path / "four.txt", {"x": 4})
    with pytest.raises(CheckpointError, match="nothing was saved"):
        pb.load(tmp_path / "five.ckpt")


def test_numbered_states_are_pruned(tmp_path):
    for k in range(5):
        pb.save(tmp_path / "run", {"step": k}, keep=2)
    assert sorted(os.listdir(tmp_path / "run")) == ["00000004", "00000005"]
    assert pb.load(tmp_path / "run") == {"step": 4}
    assert pb.load(tmp_path / "run" / "00000004") == {"step": 3}


def test_like_lists_all_differences_at_once(tmp_path):
    pb.save(tmp_path / "s.ckpt", {"a": pb.zeros(2), "b": pb.zeros((2, 2)), "d": 1})
    with pytest.raises(ValueError) as caught:
        pb.load(tmp_path / "s.ckpt", like={"a": pb.zeros(3), "b": pb.zeros((2, 2), dtype=np.float32), "c": 1})
    assert all(text in str(caught.value) for text in ("missing c", "unexpected d", "different a", "different b"))


def run_killed_at(point, folder, tree, **options):
    """Save in a process that ends at a point, as if it were killed; what it exits with."""
    child = os.fork()
    if not child:
        _directory.reached = lambda here: os._exit(9) if here == point else None
        pb.save(folder, tree, **options)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("point", POINTS)
def test_132_a_kill_leaves_the_old_or_the_new_state(point, tmp_path):
    path = tmp_path / "state.ckpt"
    old, new = {"w": pb.zeros(1000), "step": 1}, {"w": pb.ones(1000), "step": 2}
    pb.save(path, old)
    assert run_killed_at(point, path, new) == 9
    found = pb.load(path)
    assert found["step"] == (2 if point in ("moved", "placed") else 1)
    np.testing.assert_array_equal(np.asarray(found["w"]), np.full(1000, found["step"] - 1.0))
    pb.save(path, {"w": pb.ones(2), "step": 3})  # and the next one goes well, and tidies up
    assert pb.load(path)["step"] == 3 and os.listdir(tmp_path) == ["state.ckpt"]


@pytest.mark.parametrize("point", POINTS[:4])
def test_132_a_kill_of_the_first_save_or_a_numbered_one(point, tmp_path):
    assert run_killed_at(point, tmp_path / "first.ckpt", {"step": 1}) == 9
    if point != "manifest":  # which makes it complete
        with pytest.raises(CheckpointError):
            pb.load(tmp_path / "first.ckpt")
    pb.save(tmp_path / "run", {"step": 1}, keep=2)
    assert run_killed_at(point, tmp_path / "run", {"step": 2}, keep=2) == 9
    assert pb.load(tmp_path / "run")["step"] == (2 if point == "manifest" else 1)
    pb.save(tmp_path / "run", {"step": 3}, keep=2)
    assert pb.load(tmp_path / "run")["step"] == 3 and len(os.listdir(tmp_path / "run")) == 2


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "manifest"])
def test_133_a_damaged_file_is_named(damage, tmp_path):
    path = tmp_path / "state.ckpt"
    pb.save(path, {"w": pb.ones(1000), "v": pb.zeros(3)})
    file = path / ("manifest.json" if damage == "manifest" else "arrays-0000.npys")
    data = bytearray(file.read_bytes())
    if damage == "remove":
        file.unlink()
    else:
        data[len(data) // 2] ^= 1
        file.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    with pytest.raises(CheckpointError, match=file.name):
        pb.load(path)


def test_133_only_what_is_read_is_checked(tmp_path):
    path = tmp_path / "state.ckpt"
    pb.save(path, {"v": pb.arange(3.0), "w": pb.ones(1000)})
    file = path / "arrays-0000.npys"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    found, report = pb.load(path, like={"v": pb.zeros(3)}, strict=False)
    np.testing.assert_array_equal(np.asarray(found["v"]), [0, 1, 2])
    assert report.unexpected == ["w"]


class Exploding:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def test_135_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "state.ckpt"
    pb.save(path, {"w": pb.ones(3)})
    assert b"pickle" not in (path / "manifest.json").read_bytes()
    # The array's own file, with valid checksums, is made one of objects: NumPy would unpickle it.
    objects = np.empty(1, object)
    objects[0] = Exploding()
    with open(path / "arrays-0000.npys", "wb") as file:
        np.save(file, objects, allow_pickle=True)
    data = (path / "arrays-0000.npys").read_bytes()
    sealed = json.loads((path / "manifest.json").read_text())
    state = json.loads(sealed["state"])
    part = state["arrays"]["w"]["parts"][0]
    part |= {"bytes": len(data), "checksum": _directory._digest(data), "extents": [1]}
    state["arrays"]["w"] |= {"shape": [1], "dtype": "|O"}
    text = json.dumps(state)
    (path / "manifest.json").write_text(json.dumps({"checksum": _directory._digest(text.encode()), "state": text}))
    with pytest.raises(CheckpointError, match="objects"):
        pb.load(path)
    assert not Path("exploded").exists()


# Several processes.


class Folder:
    """A communicator of processes that see a folder in common."""

    def __init__(self, folder, rank, size, patience=2.0):
        self.folder, self.rank, self.size, self.patience, self.calls = folder, rank, size, patience, 0

    def gather_objects(self, value):
        self.calls += 1
        mine = os.path.join(self.folder, f"{self.calls}-{self.rank}")
        Path(f"{mine}.part").write_bytes(pickle.dumps(value))
        os.rename(f"{mine}.part", mine)
        ends = time.monotonic() + self.patience
        names = [os.path.join(self.folder, f"{self.calls}-{rank}") for rank in range(self.size)]
        while not all(map(os.path.exists, names)):
            if time.monotonic() > ends:
                raise TimeoutError("another rank did not come")
            time.sleep(0.002)
        return [pickle.loads(Path(name).read_bytes()) for name in names]


def on_ranks(count, folder, work):
    """Run `work(comm)` in forked processes; their exit codes, 1 for an exception."""
    folder.mkdir()
    children = []
    for rank in range(count):
        child = os.fork()
        if not child:
            code = 1
            try:
                work(Folder(str(folder), rank, count))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def part(whole, rank, count, axis=0):
    """What one of several processes has of an array: the blocks of `np.array_split`."""
    pieces = np.array_split(whole, count, axis)
    offsets = [0] * whole.ndim
    offsets[axis] = sum(piece.shape[axis] for piece in pieces[:rank])
    return Block(pieces[rank], offsets, whole.shape, requires_grad=True)


WHOLE = np.arange(70.0).reshape(10, 7)


def spread(rank, count, step=1.0):
    grid = Block(np.split(np.split(WHOLE[:, :6], 2)[rank // 2], 2, 1)[rank % 2], (rank // 2 * 5, rank % 2 * 3), (10, 6))
    return {
        "rows": part(WHOLE * step, rank, count), "columns": part(WHOLE, rank, count, 1), "grid": grid,
        "same": pb.tensor([step]), "all": Block(np.full(3, step), (0,), (3,)), "step": int(step),
    }  # fmt: skip


def test_131_sharded_state_loads_on_any_number_of_processes(tmp_path):
    path = tmp_path / "s.ckpt"
    assert on_ranks(4, tmp_path / "talk", lambda comm: pb.save(path, spread(comm.rank, 4), comm=comm)) == [0] * 4
    assert sorted(os.listdir(path)) == [*[f"arrays-000{k}.npys" for k in range(4)], "manifest.json"]
    state = json.loads(json.loads((path / "manifest.json").read_text())["state"])
    assert len(state["arrays"]["same"]["parts"]) == len(state["arrays"]["all"]["parts"]) == 1  # written once
    whole = pb.load(path)
    np.testing.assert_array_equal(np.asarray(whole["rows"].detach()), WHOLE)
    np.testing.assert_array_equal(np.asarray(whole["grid"]), WHOLE[:, :6])
    assert whole["rows"].requires_grad and whole["step"] == 1
    for count in (1, 2, 3):
        for rank in range(count):
            like = {name: part(np.zeros_like(WHOLE), rank, count, axis) for name, axis in (("rows", 1), ("columns", 0))}
            found, _ = pb.load(path, like=like, strict=False)
            for name, axis in (("rows", 1), ("columns", 0)):
                np.testing.assert_array_equal(found[name].array, np.array_split(WHOLE, count, axis)[rank])


def test_131_blocks_must_make_a_whole_and_the_rest_be_equal(tmp_path):
    for k, tree in enumerate((
        lambda rank: {"x": Block(np.ones(2), (0 if rank == 0 else 1,), (4,))},
        lambda rank: {"x": Block(np.ones(2), (0,), (4,))},
        lambda rank: {"x": pb.tensor([float(rank)])},
        lambda rank: {"x": rank},
    )):  # fmt: skip
        save = lambda comm, tree=tree: pb.save(tmp_path / "s.ckpt", tree(comm.rank), comm=comm)
        raised = on_ranks(2, tmp_path / f"talk{k}", save)
        assert raised == [1, 1] and not (tmp_path / "s.ckpt").exists()
    with pytest.raises(ValueError, match="does not lie"):
        Block(np.ones(3), (2,), (4,))
    with pytest.raises(ValueError, match="spread over processes"):
        pb.save(tmp_path / "s.npz", {"x": Block(np.ones(2), (0,), (2,))})


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("rank", [0, 2])
def test_132_a_rank_that_is_killed_leaves_the_old_or_the_new_state(point, rank, tmp_path):
    path = tmp_path / "s.ckpt"
    on_ranks(4, tmp_path / "talk", lambda comm: pb.save(path, spread(comm.rank, 4), comm=comm))

    def second(comm):
        comm.patience = 0.3
        if comm.rank == rank:
            _directory.reached = lambda here: os._exit(9) if here == point else None
        pb.save(path, spread(comm.rank, 4, 2.0), comm=comm)

    codes = on_ranks(4, tmp_path / "talk2", second)
    was_killed = rank == 0 or POINTS.index(point) < 3
    assert codes[rank] == (9 if was_killed else 0) and (codes.count(1) == 3) == was_killed
    found = pb.load(path)
    is_new = not was_killed or point in ("moved", "placed") or (rank, point) == (2, "arrays")
    assert found["step"] == (2 if is_new else 1)
    np.testing.assert_array_equal(np.asarray(found["rows"].detach()), WHOLE * found["step"])
    np.testing.assert_array_equal(np.asarray(found["same"]), [found["step"]])


def test_133_a_damaged_file_is_an_error_on_all_ranks(tmp_path):
    path = tmp_path / "s.ckpt"
    on_ranks(2, tmp_path / "talk", lambda comm: pb.save(path, {"x": part(WHOLE, comm.rank, 2)}, comm=comm))
    file = path / "arrays-0001.npys"
    file.write_bytes(file.read_bytes()[:-3])

    def read(comm):
        with pytest.raises(CheckpointError, match=r"arrays-0001\.npys"):
            pb.load(path, like={"x": part(np.zeros_like(WHOLE), comm.rank, 2)}, comm=comm)

    assert on_ranks(2, tmp_path / "talk2", read) == [0, 0]


def test_a_disk_that_fails_on_one_rank_is_an_error_on_all(tmp_path):
    def work(comm):
        if comm.rank == 1:
            _directory.reached = fail
        with pytest.raises(OSError, match="full"):
            pb.save(tmp_path / "s.ckpt", {"x": part(WHOLE, comm.rank, 2)}, comm=comm)

    def fail(point):
        raise OSError("the disk is full")

    assert on_ranks(2, tmp_path / "talk", work) == [0, 0]
    assert os.listdir(tmp_path) == ["talk"]


def test_threads_as_ranks_write_together(tmp_path):
    def work():
        comm = pb.distributed.world()
        pb.save(tmp_path / "s.ckpt", {"x": part(WHOLE, comm.rank, comm.size)}, comm=comm)
        return pb.load(tmp_path / "s.ckpt", comm=comm)["x"].detach().numpy()

    for found in pb.distributed.simulate(work, 3):
        np.testing.assert_array_equal(found, WHOLE)
