"""The cache on disk: what is stored, what is trusted, and that nothing of it is needed."""

import json
import os
import shutil
import stat
import sys
import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile, compile_numpy
from pullback.aot import _disk, _later, _stored_partition
from pullback.compiler import numpy_source
from pullback.compiler.numpy_source import function
from pullback.core.disk import VARIABLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache in a new directory."""
    monkeypatch.setattr(_disk.Cache, "folder", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(_disk, "environment", lambda: ("this process",))  # others may be editing the package
    aot.set_cache_dir(tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def work(monkeypatch):
    """Counts what the cache is there to avoid."""
    done = {"written": 0, "split": 0}
    write, partition = function.FunctionWriter.write, _later.partition

    def counting_write(self, *args, **kwargs):
        done["written"] += 1
        return write(self, *args, **kwargs)

    def counting_partition(*args, **kwargs):
        done["split"] += 1
        return partition(*args, **kwargs)

    monkeypatch.setattr(function.FunctionWriter, "write", counting_write)
    monkeypatch.setattr(_later, "partition", counting_partition)
    return done


def gradient(f, *shapes, **options):
    """The results and gradients of a newly compiled function. Source that calls NumPy is kept by this cache; object
    code has one of its own (`tests/compiler/test_object_cache.py`)."""
    call = compile(f, fallback="raise", **{"backend": "numpy", **options})
    args = [pb.tensor(np.linspace(0.1, 1, int(np.prod(s))).reshape(s), requires_grad=True) for s in shapes]
    loss = call(*args)
    loss.sum().backward()
    return [loss._data.tobytes(), *(x.grad._data.tobytes() for x in args)]


PROGRAMS = {
    "elementwise": (lambda x, y: pb.sin(x) * y + 2.5, (3,), (3,)),
    "product": (lambda x, y: pb.tanh(x @ y).sum(), (3, 4), (4, 2)),
    "softmax": (lambda x: pb.softmax(x, axis=1) * np.arange(4.0), (3, 4)),
    "views": (lambda x: (x.T * 3).reshape(-1)[1:], (3, 4)),
    "indices": (lambda x: x[np.array([0, 2])] * 2, (3, 4)),
    "a sorted copy": (lambda x: pb.sort(x, axis=0), (5,)),
    "a written copy": (lambda x: (y := x * 1, y[0].mul_(3), y * y)[2], (3, 4)),
    "solve": (lambda a, b: pb.linalg.solve(a + pb.eye(3), b), (3, 3), (3, 2)),
    "float32": (lambda x: (x.astype(np.float32) * 3).sum(axis=0), (3, 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("partitioner", ["default", "min_cut"])
def test_what_is_read_computes_what_was_written(folder, work, name, partitioner):
    f, *shapes = PROGRAMS[name]
    first = gradient(f, *shapes, partitioner=partitioner)
    before = dict(work)
    assert before["split"] == 1 and before["written"] == 2
    assert gradient(f, *shapes, partitioner=partitioner) == first
    assert work == before
    aot.set_cache_dir(None)
    assert gradient(f, *shapes, partitioner=partitioner) == first
    assert work == {"split": 2, "written": 4}


def test_a_partition_that_is_read_says_what_the_other_said(folder):
    f = lambda x, b: (pb.exp(pb.cos(pb.sin(x))) * pb.sin(b), b.mul_(2))[0].sum()
    entries = []
    for _ in range(2):
        call = compile(f, fallback="raise", partitioner="min_cut")
        call(pb.ones(4, requires_grad=True), pb.ones(4))
        entries += call.entries()
    made, read = (entry.partition for entry in entries)
    assert type(read) is _stored_partition.StoredPartition and type(made) is not type(read)
    assert read.forward == made.forward and read.backward == made.backward
    assert read.stats == made.stats and read.method == made.method == "min_cut"
    assert [node.op for node in read.recomputed] == [node.op for node in made.recomputed]
    for mine, theirs in zip(read.saved, made.saved, strict=True):
        assert {k: v for k, v in vars(mine).items() if k != "value"} == {
            k: v for k, v in vars(theirs).items() if k != "value"
        }
        assert mine.value in read.forward.outputs


def test_settings_and_versions_are_part_of_the_key(folder, work, monkeypatch):
    f, *shapes = PROGRAMS["product"]
    gradient(f, *shapes)
    gradient(f, *shapes, memory_budget=0.5)
    assert work["split"] == 2
    monkeypatch.setattr(_disk, "environment", lambda: ("another version",))
    gradient(f, *shapes)
    assert work["split"] == 3


def test_the_environment_names_versions_and_the_processor():
    text = " ".join(_disk.environment())
    for part in (sys.version, np.__version__, sys.byteorder, "aot/_disk.py"):
        assert part in text
    keys = {_disk.key_of(*parts) for parts in (("kind", "ab", "c"), ("kind", "a", "bc"), ("kinda", "b"))}
    assert len(keys) == 3


def entries(folder):
    """The files of a cache, without its key."""
    return [file for file in folder.iterdir() if file.name != ".key"]


def test_entries_are_texts_in_a_private_directory(folder):
    gradient(*PROGRAMS["product"])
    assert len(entries(folder)) == 3
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for file in entries(folder):
        json.loads(file.read_text().split("\n", 2)[2])  # below the kind of the file and its seal


DAMAGES = {
    "half": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no object": lambda text: "[1, 2]",
    "other content": lambda text: text.replace("def ", "def un") + " ",
    "no seal": lambda text: text.split("\n", 2)[2],
    "another seal": lambda text: text.replace(text.split("\n")[1], "0" * 64),
    "binary": lambda text: "\x00\x01",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_entries_are_ignored_and_written_again(folder, work, name):
    f, *shapes = PROGRAMS["elementwise"]
    first = gradient(f, *shapes)
    for file in entries(folder):
        file.write_text(DAMAGES[name](file.read_text()))
    assert gradient(f, *shapes) == first and work["written"] > 2
    before = dict(work)
    assert gradient(f, *shapes) == first and work == before


FOREIGN = [{}, [], "text", {"source": "def f(: pass", "function": "f", "names": {}},
           {"source": "x = 1\n", "function": "f", "names": {}},
           {"source": "", "function": "f", "names": {"g": ["kernel", "no such operator"]}},
           {"source": "", "function": "f", "names": {"g": ["array", "<f8", [2], "C", "AAAA"]}},
           {"forward": "graph", "backward": "", "count": 1}]  # fmt: skip


@pytest.mark.parametrize("content", FOREIGN)
def test_entries_of_something_else_are_ignored(folder, work, content):
    f, *shapes = PROGRAMS["elementwise"]
    first = gradient(f, *shapes)
    for file in entries(folder):
        _disk.store(file.name.split(".")[0], content)
    assert gradient(f, *shapes) == first and work["written"] == 4 and work["split"] == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no such rights on this system")
def test_a_directory_that_others_can_write_to_is_not_used(folder, work):
    f, *shapes = PROGRAMS["elementwise"]
    gradient(f, *shapes)
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match=r"nothing is kept .*other users can write to"):
        gradient(f, *shapes)
    gradient(f, *shapes)  # which is told once
    assert work["written"] == 6
    folder.chmod(0o700)
    gradient(f, *shapes)
    assert work["written"] == 6


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no such rights on this system")
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_nothing_is_made_where_others_can_write(tmp_path, monkeypatch, backend, mode, below):
    if backend == "llvm":
        pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    open_for_all = tmp_path / "open"
    open_for_all.mkdir()
    open_for_all.chmod(mode)
    monkeypatch.setattr(_disk.Cache, "folder", None)
    monkeypatch.setattr(_disk, "_told", set())
    monkeypatch.setenv(VARIABLE, str(open_for_all / below))
    is_safe = bool(mode & stat.S_ISVTX and below)  # nobody else can exchange a directory there
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gradient(*PROGRAMS["elementwise"], backend=backend)
    assert is_safe == bool(list(open_for_all.iterdir()))
    assert is_safe != any("nothing is kept" in str(each.message) for each in told)


@pytest.mark.parametrize("kind", ["a file", "a pipe", "a link", "a link above", "no place", "too long"])
def test_a_cache_directory_that_is_none_is_survived(tmp_path, monkeypatch, kind):
    place = tmp_path / "cache"
    if kind == "a file":
        place.write_text("mine")
    elif kind == "a pipe":
        os.mkfifo(place)
    elif kind == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    elif kind == "a link above":  # is followed, and where it leads to is looked at
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere").chmod(0o777)
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        place = tmp_path / "link" / "cache"
    elif kind == "no place":
        (tmp_path / "file").write_text("")
        place = tmp_path / "file" / "cache"
    else:
        place = tmp_path / ("x" * 300)
    monkeypatch.setattr(_disk.Cache, "folder", "")
    with pytest.warns(UserWarning, match="nothing is kept in the cache directory"):
        aot.set_cache_dir(place)
    found = gradient(*PROGRAMS["elementwise"])
    aot.clear_cache()
    aot.set_cache_dir(None)
    assert gradient(*PROGRAMS["elementwise"]) == found
    assert not (tmp_path / "elsewhere").exists() or not list((tmp_path / "elsewhere").iterdir())


def test_a_directory_that_is_removed_between_calls_is_made_again(folder):
    first = gradient(*PROGRAMS["product"])
    shutil.rmtree(folder)
    assert gradient(*PROGRAMS["product"]) == first and len(entries(folder)) == 3


def test_the_cache_is_off_unless_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(_disk.Cache, "folder", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert _disk.cache_dir() is None
    _disk.store("0" * 64, {})
    assert _disk.load("0" * 64) is None
    aot.clear_cache()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    assert _disk.cache_dir() == str(tmp_path / "named")
    _disk.store("0" * 64, {"a": 1})
    assert _disk.load("0" * 64) == {"a": 1}
    aot.set_cache_dir(None)
    assert _disk.cache_dir() is None


def test_clearing_removes_our_files_only(folder):
    gradient(*PROGRAMS["elementwise"])
    (folder / "notes.txt").write_text("mine")
    objects = folder / _disk.OBJECTS
    objects.mkdir(mode=0o700)
    (objects / "module.o").write_bytes(b"code")
    aot.clear_cache()
    assert sorted(file.name for file in folder.iterdir()) == ["notes.txt", "objects"]
    assert not list(objects.iterdir())


def test_the_size_is_bounded_and_the_oldest_go_first(folder, monkeypatch):
    monkeypatch.setattr(_disk, "MOST_BYTES", 4000)
    keys = [f"{k:064d}" for k in range(8)]
    for number, key in enumerate(keys):
        _disk.store(key, "x" * 800)
        stamp = 1_000_000 + number
        os.utime(folder / f"{key}{_disk._SUFFIX}", (stamp, stamp))
        if number == 2:
            assert _disk.load(keys[0]) is not None  # it was used: now it is the youngest
    kept = [key for key in keys if (folder / f"{key}{_disk._SUFFIX}").exists()]
    assert sum(file.stat().st_size for file in entries(folder)) <= 4000
    assert keys[0] in kept and keys[7] in kept and keys[1] not in kept


def test_a_cache_that_can_not_be_written_is_no_error(folder, monkeypatch):
    def failing(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", failing)
    gradient(*PROGRAMS["elementwise"])
    assert [file.name for file in folder.iterdir()] == [".key"]  # nor does anything half written stay


def test_threads_that_write_the_same_compilers_do_not_disturb_each_other(folder):
    found = []
    threads = [threading.Thread(target=lambda: found.append(gradient(*PROGRAMS["product"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(each == found[0] for each in found)
    assert len(entries(folder)) == 3


def test_what_has_no_text_is_not_stored(folder, work):
    generator = np.random.default_rng(0)
    draws = lambda x: (x * pb.random.random(3, generator=generator)).sum()

    @pb.library.custom_op("tests::doubled_on_disk", mutates_args=())
    def doubled(x: np.ndarray) -> np.ndarray:
        return x * 2

    doubled.register_fake(lambda x: pb.empty_like(x))
    doubled.register_autograd(lambda ctx, g: g * 2)
    inside = lambda x: pb.cond(pb.tensor(True), lambda y: doubled(y) * 2, lambda y: y * 3, x).sum()
    for f in (draws, lambda x: doubled(x).sum(), inside):
        before = work["split"]
        gradient(f, (3,)), gradient(f, (3,))
        assert work["split"] == before + 2
    for file in folder.iterdir():  # backward graphs without any of it are there
        assert not any(word in file.read_text() for word in ("doubled_on_disk", "Generator", "draw"))


def test_draws_of_the_default_generator_are_stored(folder, work):
    f = lambda x: (x * pb.random.random(3)).sum()
    found = []
    for _ in range(2):
        pb.random.manual_seed(3)
        found.append(gradient(f, (3,)))
    assert found[0] == found[1] and work["split"] == 1


def test_constants_of_any_kind_are_read_as_they_were(folder):
    constants = [
        np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0).reshape(3, 4)), np.array(2.5),
        np.zeros((0, 4)), np.arange(4, dtype=">i4"), np.array([True, False, True, False]), np.arange(4) * 1j,
    ]  # fmt: skip
    for constant in constants:
        shape = (3, 4) if constant.size else (0, 4)
        graph = aot.trace(lambda x, c=constant: pb.abs(x * c), pb.ones(shape)).graph
        built, record = numpy_source.write_record(graph)
        again = numpy_source.read_record(json.loads(json.dumps(record)))
        x = np.full(shape, 3.0)
        np.testing.assert_array_equal(again.flat(x)[0], graph.eval(x)[0])
        assert again.source == built.source
        arrays = [x]
        np.testing.assert_array_equal(again(arrays)[0], built.flat(x)[0])
        assert arrays == []
    assert compile_numpy(graph, []).source == compile_numpy(graph, []).source
