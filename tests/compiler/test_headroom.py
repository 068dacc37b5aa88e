"""Memory that runs out while native code is made: the process goes on, with right results or a `MemoryError`."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import numpy as np

import pullback as pb
from pullback.compiler.machine import headroom, jit, objects
from pullback.compiler.native import NativeCompilerWarning

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")

PROGRAM = """
import resource, sys, warnings
import numpy as np, pullback as pb

def f(x, w):
    for k in range({length}):
        x = pb.sin(x) * (k + 1.5) + pb.exp(-x * x) if k % 2 else pb.tanh(x + x[::-1] * 0.1 * k)
    return (x @ w).sum()

x, w = pb.tensor(np.linspace(0.1, 1, 50), requires_grad=True), pb.tensor(np.ones((50, 3)), requires_grad=True)
want = [y.detach().numpy() for y in pb.autograd.grad(f(x, w), (x, w))]
if {is_loaded}:
    pb.compile(lambda x: x * 2, backend="llvm", fallback="raise")(x)
pb.compile(lambda x: x * 2, backend="numpy", fallback="raise")(x)  # Python's own modules are there
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + ({extra} << 20),) * 2)
warnings.simplefilter("ignore")
right = refused = 0
compiled = pb.compile(f, backend="llvm", reroll=False)
for call in range({calls}):
    try:
        got = [y.numpy() for y in pb.autograd.grad(compiled(x, w), (x, w))]
    except MemoryError:
        refused += 1
        continue
    assert all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(got, want)), call
    right += 1
print(right, refused)
"""


@ON_LINUX
@pytest.mark.parametrize("is_loaded, extra, length, calls", [
    (False, 4, 6, 3), (False, 200, 6, 3), (True, 1, 6, 220), (True, 36, 6, 220), (True, 60, 25, 3),
])  # fmt: skip
def test_a_process_without_much_memory_goes_on(is_loaded, extra, length, calls):
    source = PROGRAM.format(is_loaded=is_loaded, extra=extra, length=length, calls=calls)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    right, refused = map(int, done.stdout.split())
    assert right + refused == calls


@pytest.fixture
def no_memory(monkeypatch):
    """A process that is given nothing for LLVM, and knows no modules."""
    monkeypatch.setattr(headroom, "_is_there", lambda need: False)
    monkeypatch.setattr(jit, "_known", {})


def test_a_graph_runs_with_numpy_if_there_is_no_memory_for_llvm(no_memory):
    f = pb.compile(lambda x: pb.sin(x) * 0.703125, backend="llvm")
    with pytest.warns(NativeCompilerWarning, match="MemoryError: LLVM may need"):
        found = f(np.arange(3.0))
    np.testing.assert_allclose(found.numpy(), np.sin(np.arange(3.0)) * 0.703125, rtol=1e-14)


def test_who_wants_native_code_or_nothing_gets_the_error(no_memory):
    f = pb.compile(lambda x: pb.sin(x) * 0.713125, backend="llvm", fallback="raise")
    with pytest.raises(MemoryError, match="LLVM may need"):
        f(np.arange(3.0))


def test_quick_code_stays_if_there_is_no_memory_for_good_code(monkeypatch):
    f = pb.compile(lambda x: pb.tanh(x) * 0.723125, backend="llvm", fallback="raise")
    x = np.linspace(0, 1, 20)
    want = f(x).numpy()
    monkeypatch.setattr(headroom, "_is_there", lambda need: False)
    for _ in range(250):
        np.testing.assert_array_equal(f(x).numpy(), want)


def test_memory_that_the_system_refuses_for_code_is_a_memory_error(monkeypatch):
    with pytest.raises(MemoryError, match="no memory for native code"):
        objects._memory(1 << 62)
    monkeypatch.setattr(objects._libc, "mprotect", lambda *args: -1)
    with pytest.raises(MemoryError, match="no executable memory"):
        objects._make_executable(0, 4096)


def test_more_text_needs_more_and_one_long_function_most():
    short, long = "define void @f() {\nret void\n}\n", "define void @f() {\n" + "x" * 3_687_300 + "\n}\n"
    assert headroom.needed(short) < headroom.needed(short * 1000) < headroom.needed(long)
    assert headroom.needed(long) > 541 << 20  # what was measured
    assert headroom.needed(short * (len(long) // len(short))) < 512 << 20


@ON_LINUX
@pytest.mark.parametrize("machine, group, is_there", [
    (1 << 40, None, True), (None, None, True), (1 << 20, None, False), (1 << 40, 1 << 20, False), (1 << 40, 1 << 33, 1),
])  # fmt: skip
def test_what_the_machine_and_the_control_group_have_left_counts(monkeypatch, machine, group, is_there):
    monkeypatch.setattr(headroom, "_left_on_machine", lambda: machine)
    monkeypatch.setattr(headroom, "_left_in_group", lambda: group)
    assert headroom._is_there(64 << 20) == is_there


@pytest.mark.parametrize("files, left", [
    ({"max": 1000, "current": 700, "stat": 50}, 350), ({"max": 1000, "current": 700}, 300), ({"max": 1000}, None),
    ({"current": 700}, None), ({}, None),
])  # fmt: skip
def test_pages_of_files_are_no_memory_that_is_in_use(monkeypatch, files, left):
    monkeypatch.setattr(headroom, "_number", lambda file, *label: files.get(file.rpartition(".")[2]))
    assert headroom._left_in_group() == left


def test_files_of_the_system_that_say_nothing_are_no_error(tmp_path):
    for name, text in {"a": "max\n", "b": "", "c": "12\n", "d": "x 1\nMemAvailable: 7 kB\n", "e": "\n"}.items():
        (tmp_path / name).write_text(text)
    number = lambda name, *rest: headroom._number(str(tmp_path / name), *rest)
    assert [number(name) for name in "abce"] == [None, None, 12, None] and number("missing") is None
    assert number("d", "MemAvailable:", 1024) == 7168
    assert headroom._left_in_group() is None or headroom._left_in_group() > 0
