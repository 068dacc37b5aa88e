"""Object code on disk: a second process does not run LLVM, and nothing that is damaged or another's is executed."""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.aot import _disk
from pullback.compiler import llvm
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import engine, jit, symbols
from pullback.compiler.machine import objects as object_cache
from pullback.core import disk as kept_files
from tests.compiler.graphs import Builder

RANDOM = np.random.default_rng(5)
CAN_LINK = sys.platform == "linux" and platform.machine() == "x86_64"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of object code in a new folder, and a process that knows no modules."""
    monkeypatch.setattr(object_cache, "_folder", tmp_path / "objects")
    return tmp_path / "objects"


@pytest.fixture
def runs(monkeypatch):
    """Counts how often LLVM runs, in a process that has forgotten its modules."""
    done = []
    compiled = engine.compiled
    monkeypatch.setattr(engine, "compiled", lambda *args: done.append(1) or compiled(*args))
    return done


def program(factor):
    b = Builder(RANDOM.normal(size=30))
    b.output(b("tanh", b("multiply", b.inputs[0], factor)))
    return b


def forget(monkeypatch):
    """Let the process look for modules on disk again. Names of functions are in the code, so it runs under them."""
    monkeypatch.setattr(jit, "_known", {})


# Files.


def test_object_code_is_read_again(folder):
    object_cache.write("pbtest", b"some code")
    assert object_cache.read("pbtest") == b"some code" and object_cache.has("pbtest")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "pbtest.o").stat().st_mode) == 0o600
    kept_files.remove(folder, ".o")
    assert object_cache.read("pbtest") is None and not object_cache.has("pbtest")


DAMAGES = {
    "cut short": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "nothing": lambda data: b"",
    "one bit": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "more": lambda data: data + b"\x90",
    "another digest": lambda data: data[:25] + bytes([data[25] ^ 255]) + data[26:],
    "another kind of file": lambda data: b"\x7fELF" + data,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_thrown_away(folder, name):
    object_cache.write("pbtest", b"some code that is long enough")
    path = folder / "pbtest.o"
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    assert object_cache.read("pbtest") is None and not path.exists()


def test_code_of_another_module_is_not_taken(folder):
    object_cache.write("pbone", b"code of one")
    (folder / "pbone.o").rename(folder / "pbtwo.o")
    assert object_cache.read("pbtwo") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_folder_that_others_write_to_is_not_used(tmp_path, monkeypatch):
    folder = tmp_path / "objects"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setattr(object_cache, "_folder", folder)
    object_cache.write("pbtest", b"code")
    assert not list(folder.iterdir()) and object_cache.read("pbtest") is None and not object_cache.has("pbtest")


def test_the_size_is_bounded_and_what_was_not_used_for_longest_goes(folder, monkeypatch):
    monkeypatch.setattr(object_cache, "MOST_BYTES", 4000)
    names = [f"pb{k}" for k in range(8)]
    for number, name in enumerate(names):
        object_cache.write(name, b"x" * 800)
        os.utime(folder / f"{name}.o", (1_000_000 + number, 1_000_000 + number))
        if number == 2:
            assert object_cache.read(names[0]) is not None  # now it is the youngest
    assert sum(file.stat().st_size for file in folder.glob("*.o")) <= 4000
    assert object_cache.has(names[0]) and object_cache.has(names[7]) and not object_cache.has(names[1])


def test_writers_at_the_same_time_leave_a_whole_file(folder):
    code = os.urandom(50_000)
    workers = [threading.Thread(target=object_cache.write, args=("pbtest", code)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert object_cache.read("pbtest") == code and sorted(os.listdir(folder)) == [".key", "pbtest.o"]


def test_a_folder_that_can_not_be_written_is_no_error(folder, monkeypatch, runs):
    def failing(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", failing)
    b = program(0.171)
    np.testing.assert_allclose(compile_llvm(b.program).flat(b.arrays[b.inputs[0]])[0], b.expected()[0], rtol=1e-14)
    assert runs and os.listdir(folder) == [".key"]


# Modules.


def test_what_is_on_disk_is_not_compiled_and_what_is_damaged_is(folder, monkeypatch, runs):
    b = program(0.271)
    x = b.arrays[b.inputs[0]]
    first = compile_llvm(b.program, effort=2).flat(x)[0]
    assert len(runs) == 1
    forget(monkeypatch)
    np.testing.assert_array_equal(compile_llvm(b.program, effort=2).flat(x)[0], first)
    assert len(runs) == 1
    for file in folder.glob("*.o"):
        file.write_bytes(file.read_bytes()[:-20] + b"\xcc" * 20)
    forget(monkeypatch)
    np.testing.assert_array_equal(compile_llvm(b.program, effort=2).flat(x)[0], first)
    assert len(runs) == 2


def test_good_code_on_disk_is_taken_at_once(folder, monkeypatch):
    b = program(0.371)
    compile_llvm(b.program, effort=2)
    forget(monkeypatch)
    assert not compile_llvm(b.program).segments[0].code.is_quick


def test_the_name_depends_on_text_effort_processor_and_versions(monkeypatch):
    names = {jit._name("text", 0), jit._name("text", 2), jit._name("other text", 2)}
    target = jit.target_key()
    assert jit.llvmlite.__version__ in target and (jit._processor() or engine.processor()) in target
    monkeypatch.setattr(jit, "target_key", lambda: target + " other")
    names.add(jit._name("text", 2))
    assert len(names) == 4


def test_without_a_description_of_the_processor_llvm_is_asked(monkeypatch):
    monkeypatch.setattr(jit, "_processor", lambda: "")
    assert engine.processor() in jit.target_key.__wrapped__()


def test_options_are_part_of_the_name(folder):
    b = program(0.471)
    for options in ({}, {"fastmath": True}, {"portable": True}):
        compile_llvm(b.program, effort=0, **options)
    assert len(list(folder.glob("*.o"))) == 3


def test_clear_cache_removes_object_code(tmp_path, monkeypatch):
    monkeypatch.setattr(_disk.Cache, "folder", None)
    pb.aot.set_cache_dir(tmp_path / "cache")
    try:
        pb.compile(lambda x: (pb.exp(x) * 0.571).sum(), backend="llvm")(pb.ones(3))
        objects = tmp_path / "cache" / "objects"
        assert [file.suffix for file in objects.iterdir()].count(".o") >= 1
        pb.aot.clear_cache()
        assert not list(objects.iterdir())
    finally:
        object_cache.set_folder(None)


PROGRAM = """
import sys, numpy as np, pullback as pb
f = pb.compile(lambda x: (pb.tanh(x) * 2).sum(), backend="llvm")
x = pb.tensor(np.linspace(0, 1, 17), requires_grad=True)
f(x).backward()
print(float(f(x).detach()), float(x.grad.sum()), "llvmlite.binding" in sys.modules)
"""


@pytest.mark.skipif(not CAN_LINK, reason="objects are linked by LLVM here")
def test_a_second_process_does_not_load_llvm(tmp_path):
    variables = {**os.environ, "PULLBACK_CACHE_DIR": str(tmp_path / "cache")}
    outputs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=variables)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    (*values, first), (*again, second) = outputs
    assert values == again and (first, second) == ("True", "False")


# Records of whole functions.


RECORDED = {
    "a product": (lambda w, x: pb.tanh(x @ w).sum(), (12, 16), (20, 12)),
    "constants": (lambda x: (x * np.arange(5.0)).sum() + x[0] @ np.ones(5, np.float32), (3, 5)),
    "views": (lambda x: (x.T * 3).reshape(-1)[1:].std(), (3, 4)),
    "threads": (lambda x: pb.exp(pb.sin(x)).sum(), (300, 300)),
    "numpy in between": (lambda x: pb.exp(pb.linalg.inv(x @ x.T + pb.eye(4))).sum(), (4, 4)),
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache directory, and nothing that others change in the keys."""
    monkeypatch.setattr(_disk.Cache, "folder", tmp_path / "cache")
    monkeypatch.setattr(_disk, "environment", lambda: ("this process",))
    yield tmp_path / "cache"
    object_cache.set_folder(None)


def first_gradient(name):
    """The bits of a function newly compiled, and what it was compiled to."""
    function, *shapes = RECORDED[name]
    random = np.random.default_rng(1)
    args = [pb.tensor(random.normal(size=shape), requires_grad=True) for shape in shapes]
    f = pb.compile(function, fallback="raise", backend="llvm")
    value = f(*args)
    value.backward()
    again = f(*args).detach()
    assert np.array_equal(value.detach().numpy(), again.numpy())
    return [value.detach().numpy().tobytes(), *(x.grad.numpy().tobytes() for x in args)], f


@pytest.mark.parametrize("name", RECORDED)
def test_a_function_that_is_read_computes_the_same_bits(cache, monkeypatch, name):
    wanted, made = first_gradient(name)
    planned = []
    plan_segment = llvm.plan_segment
    monkeypatch.setattr(llvm, "plan_segment", lambda segment: planned.append(1) or plan_segment(segment))
    found, read = first_gradient(name)
    assert found == wanted
    kinds = [type(each).__name__ for _, each in read.entries()[0].compiled]
    assert "StoredGraph" in kinds or name in ("numpy in between", "views")  # NumPy takes the views that are returned
    assert not planned or "NativeGraph" in kinds
    assert read.llvm_ir() == made.llvm_ir() and read.kernels() == made.kernels() and "_run" in read.assembly()


def test_a_record_that_calls_what_is_not_there_is_not_used(cache, monkeypatch):
    wanted, _ = first_gradient("a product")
    monkeypatch.setattr(symbols, "exists", lambda name: False)
    found, read = first_gradient("a product")
    assert found == wanted
    assert {type(each).__name__ for _, each in read.entries()[0].compiled} == {"NativeGraph"}


@pytest.mark.parametrize("content", [{}, [], "text", {"externals": {}}, {"externals": {}, "inputs": [["<f8"]]}])
def test_records_of_something_else_are_ignored(cache, content):
    wanted, _ = first_gradient("a product")
    for file in cache.glob("*.pullback"):
        _disk.store(file.name.split(".")[0], content)
    assert first_gradient("a product")[0] == wanted


def test_fast_paths_use_what_was_read(cache):
    f = lambda x, y: x * y + 0.6875
    x, y = np.arange(3.0), np.arange(3.0) + 2
    for _ in range(2):
        call = pb.compile(f, fallback="raise", backend="llvm")
        call(x, y)
        np.testing.assert_array_equal(call(x, y).numpy(), x * y + 0.6875)
        assert "return forward(" in call._calls[0].source
