"""Calling native code: quick code first and good code later, guards in the C entry, and what can be looked at."""

from __future__ import annotations

import gc
import pickle
import platform
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback import _compile
from pullback.aot import AOTError
from pullback.compiler import native
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import entry as machine_code
from pullback.compiler.machine import jit, objects, structs
from tests.compiler.graphs import Builder
from tests.compiler.random_native import Generator

RANDOM = np.random.default_rng(11)
CAN_LINK = sys.platform == "linux" and platform.machine() == "x86_64"


@pytest.fixture(autouse=True)
def everything_is_small(monkeypatch):
    """Good code is made here; `test_elsewhere.py` is about the process that makes it otherwise."""
    monkeypatch.setattr(machine_code, "_LARGE", 1 << 30)


def chain(factor):
    b = Builder(RANDOM.normal(size=40))
    b.output(b("tanh", b("multiply", b("exp", b.inputs[0]), factor)))
    return b


# Quick code and good code.


def test_what_is_called_often_gets_good_code():
    b = chain(0.123)
    made = compile_llvm(b.program)
    (segment,) = made.segments
    x = b.arrays[b.inputs[0]]
    assert segment.code.is_quick
    quick = segment.code._memory[0]
    results = [made.flat(x)[0] for _ in range(machine_code._MOST_CALLS + 5)]
    assert not segment.code.is_quick and segment.code._memory[0] != quick
    assert all(np.array_equal(results[0], other) for other in results)


def test_calls_by_ctypes_are_counted_too(monkeypatch):
    monkeypatch.setattr(machine_code, "_MOST_CALLS", 3)
    b = chain(0.456)
    made = compile_llvm(b.program, portable=True)
    for _ in range(4):
        (out,) = made.flat(b.arrays[b.inputs[0]])
    assert not made.segments[0].code.is_quick
    np.testing.assert_allclose(out, b.expected()[0], rtol=1e-14)


def test_what_takes_long_starts_with_good_code():
    b = Builder(RANDOM.normal(size=3_000_000))
    b.output(b("exp", b.inputs[0]))
    assert not compile_llvm(b.program).segments[0].code.is_quick


def test_what_was_made_before_is_not_made_quickly():
    b = chain(0.789)
    compile_llvm(b.program, effort=machine_code.GOOD)
    assert not compile_llvm(b.program).segments[0].code.is_quick


def test_if_good_code_can_not_be_made_the_other_stays(monkeypatch):
    b = chain(0.321)
    made = compile_llvm(b.program)
    before = made.flat(b.arrays[b.inputs[0]])[0]

    def failing(*args):
        raise RuntimeError("out of patience")

    monkeypatch.setattr(jit, "load", failing)
    made.segments[0].code.improve()
    np.testing.assert_array_equal(made.flat(b.arrays[b.inputs[0]])[0], before)


@pytest.mark.parametrize("seed", range(25))
def test_both_kinds_of_code_give_the_same_bits(seed):
    b = Generator(np.random.default_rng(seed), 8).b
    arrays = [b.arrays[value] for value in b.program.inputs]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [compile_llvm(b.program, effort=effort).flat(*arrays) for effort in (0, 2)]
    for quick, good in zip(*results, strict=True):
        np.testing.assert_array_equal(quick, good)


# Guards in the entry.


def test_the_short_way_of_a_call_has_no_guards_of_python_for_arrays():
    f = pb.compile(lambda x, y: x * y + 1, fallback="raise", backend="llvm")
    x, y = np.arange(3.0), np.arange(3.0) + 1
    f(x, y)
    (call,) = f._calls
    assert ".shape" not in call.source and "flags" not in call.source and "return forward(" in call.source
    np.testing.assert_array_equal(f(x, y).numpy(), x * y + 1)
    assert f.cache_info()[:2] == (1, 1)


@pytest.mark.parametrize("char", "dfil?")
def test_a_pickled_array_is_called_as_any_other(char):
    usual = (np.arange(43) % 3).astype(char)
    x = pickle.loads(pickle.dumps(usual))
    assert x.dtype is not usual.dtype
    f = pb.compile(lambda x: x * 2 + 1, fallback="raise", backend="llvm")
    f(x)
    (call,) = f._calls
    assert ".shape" not in call.source
    for each in (x, usual, x, usual):
        np.testing.assert_array_equal(f(each).numpy(), 2 * usual + 1)
    assert f.cache_info()[:2] == (4, 1)


UNLIKE = {
    "shape": lambda x: np.concatenate([x, x]),
    "dtype": lambda x: x.astype(np.float32),
    "strides": lambda x: np.repeat(x, 2)[::2],
    "byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "a subclass": lambda x: x.view(type("Sub", (np.ndarray,), {})),
    "a tensor": pb.tensor,
}


@pytest.mark.parametrize("name", UNLIKE)
def test_arrays_of_another_kind_are_told_apart(name):
    f = pb.compile(lambda x: pb.asarray(x) * 2, backend="llvm")
    x = np.arange(4.0)
    f(x), f(x)
    other = UNLIKE[name](x)
    np.testing.assert_allclose(f(other).numpy(), np.asarray(x if name == "a tensor" else other) * 2)
    assert f.cache_info().misses == 2 or name == "a subclass"


def test_read_only_arrays_are_told_apart():
    f = pb.compile(lambda x: pb.asarray(x) * 2, fallback="raise", backend="llvm")
    x = np.arange(4.0)
    f(x), f(x)
    x.flags.writeable = False
    f(x)
    assert f.cache_info().misses == 2


def test_one_array_for_two_arguments_is_told_apart():
    f = pb.compile(lambda x, y: x * y, fallback="raise", backend="llvm")
    x, y = np.arange(4.0), np.ones(4)
    f(x, y), f(x, y)
    np.testing.assert_array_equal(f(x, x).numpy(), x * x)
    assert f.cache_info().misses == 2


def test_saved_inputs_do_not_come_back_from_native_code():
    f = pb.compile(lambda x, y: (x * y + x).sum(), fallback="raise", backend="llvm")
    for _ in range(3):
        x, y = (pb.tensor(RANDOM.normal(size=5), requires_grad=True) for _ in range(2))
        f(x, y).backward()
        np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy() + 1)
        np.testing.assert_array_equal(y.grad.numpy(), x.detach().numpy())
    (call,) = f._calls
    assert "node.saved = (d_a0, d_a1, )" in call.source or "node.saved = (d_a1, d_a0, )" in call.source


def test_without_the_entry_python_guards(monkeypatch):
    monkeypatch.setattr(structs, "are_as_expected", lambda: False)
    f = pb.compile(lambda x: pb.asarray(x) * 3, fallback="raise", backend="llvm")
    x = np.arange(4.0)
    f(x), f(x)
    assert ".shape" in f._calls[0].source
    np.testing.assert_array_equal(f(x).numpy(), x * 3)


# Which backend.


def test_native_code_is_the_default(monkeypatch):
    monkeypatch.delenv("PULLBACK_BACKEND", raising=False)
    f = pb.compile(lambda x: x + 1)
    f(pb.ones(2))
    assert "define" in f.llvm_ir()


def test_the_environment_chooses_the_default(monkeypatch):
    monkeypatch.setenv("PULLBACK_BACKEND", "numpy")
    f = pb.compile(lambda x: x + 1)
    f(pb.ones(2))
    with pytest.raises(AOTError, match="no LLVM IR"):
        f.llvm_ir()
    monkeypatch.setenv("PULLBACK_BACKEND", "fortran")
    with pytest.raises(ValueError, match="fortran"):
        pb.compile(lambda x: x + 1)


def test_without_llvmlite_the_default_is_numpy(monkeypatch):
    monkeypatch.delenv("PULLBACK_BACKEND", raising=False)
    monkeypatch.setattr(_compile, "_has_llvmlite", lambda: False)
    f = pb.compile(lambda x: x + 1)
    np.testing.assert_array_equal(f(pb.ones(2)).numpy(), [2.0, 2.0])
    with pytest.raises(AOTError, match="not compiled to native code"):
        f.kernels()


def test_an_llvmlite_that_can_not_be_loaded_is_told_once_unless_it_was_asked_for(monkeypatch):
    class Broken:
        @property
        def compile_llvm(self):
            raise ImportError("libllvmlite.so is missing")

    monkeypatch.delenv("PULLBACK_BACKEND", raising=False)
    monkeypatch.setattr(native, "compiler", Broken())
    monkeypatch.setattr(native, "_told", set())
    f = pb.compile(lambda x: x + 1)
    with pytest.warns(native.NativeCompilerWarning, match=r"libllvmlite\.so is missing"):
        np.testing.assert_array_equal(f(pb.ones(2)).numpy(), [2.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.compile(lambda x: x + 2)(pb.ones(2))
    with pytest.raises(AOTError, match=r"pullback\[compile\]"):
        pb.compile(lambda x: x + 1, backend="llvm", fallback="raise")(pb.ones(2))


def test_fastmath_is_a_permission():
    x = np.linspace(0.1, 1.0, 1000)
    f = lambda x: (x * x + x).sum()
    plain, fast = (pb.compile(f, backend="llvm", fastmath=each) for each in (False, True))
    np.testing.assert_allclose(fast(pb.tensor(x)).item(), plain(pb.tensor(x)).item(), rtol=1e-12)
    assert " fast " in fast.llvm_ir() and " fast " not in plain.llvm_ir()


# Looking inside.


def test_a_compiled_function_shows_its_graph_its_kernels_and_its_code():
    f = pb.compile(lambda x, w: pb.tanh(x @ w).sum(), fallback="raise", backend="llvm")
    with pytest.raises(AOTError, match="no capture"):
        f.graph()
    x, w = pb.tensor(RANDOM.normal(size=(20, 10))), pb.tensor(RANDOM.normal(size=(10, 12)), requires_grad=True)
    f(x, w).backward()
    assert [node.op for node in f.graph().nodes][:2] == ["matmul", "tanh"]
    kernels = f.kernels()
    assert {kernel["graph"] for kernel in kernels} == {"forward", "backward"}
    assert ("tanh", "sum") in [kernel["operators"] for kernel in kernels]
    assert all(kernel["nanoseconds"] > 0 and "measured" not in kernel for kernel in kernels)
    product = next(kernel for kernel in kernels if kernel["operators"] == ("gemm",))
    assert product["flops"] == 2 * 20 * 10 * 12 and product["bytes"] == 8 * (20 * 10 + 10 * 12 + 20 * 12)
    assert f.llvm_ir().startswith("; forward") and "; backward" in f.llvm_ir()
    assert "_run" in f.assembly()


def test_kernels_are_measured_on_demand():
    f = pb.compile(lambda x: pb.exp(pb.sin(x)), fallback="raise", backend="llvm")
    f(pb.ones(20_000))
    (kernel,) = f.kernels(measure=True)
    assert kernel["operators"] == ("sin", "exp")
    assert 1_000 < kernel["measured"] < 100_000_000  # twenty thousand sines are neither free nor slow


def test_a_loop_moves_and_does_what_its_body_does_so_often():
    f = pb.compile(lambda x: pb.lax.scan(lambda c, _: (pb.sin(c), None), x, length=7)[0], backend="llvm")
    f(pb.ones(30))
    loop, body = f.kernels()
    assert loop["operators"] == ("scan",) and loop["flops"] == 7 * body["flops"] == 7 * 30
    assert loop["bytes"] == 7 * body["bytes"] == 7 * 2 * 8 * 30


def test_explain_names_what_is_left_to_numpy_and_why():
    f = pb.compile(lambda x: pb.exp(x) + pb.linalg.eigvals(x[:, None] * x).real, backend="llvm")
    text, data = str(f.explain(pb.ones(4))), f.explain(pb.ones(4)).data
    left = {each["operator"]: each["reason"] for each in data["left_to_numpy"]}
    assert "complex128" in left["_linalg_eigvals"] and "exp" not in left
    assert "numpy    " in text and "there is no native complex128" in text
    assert "numpy    none" in str(pb.compile(lambda x: x + 1, backend="llvm").explain(pb.ones(4)))
    assert "left_to_numpy" not in pb.aot.explain(lambda x: x + 1, pb.ones(4)).data


def test_explain_names_what_keeps_a_loop_from_being_native():
    f = pb.compile(lambda x: pb.lax.scan(lambda c, _: (pb.sort(pb.sin(c)), None), x, length=3)[0], backend="llvm")
    left = {each["operator"]: each["reason"] for each in f.explain(pb.ones(4)).data["left_to_numpy"]}
    assert "only NumPy can" in left.pop("scan") and "sin" not in left
    assert any("sort" in name for name in left)


def test_the_passes_are_told_with_their_times(monkeypatch, capsys):
    monkeypatch.setenv("PULLBACK_LOG", "compile")
    pb.compile(lambda x: (x * 0.625).sum(), fallback="raise", backend="llvm")(pb.ones(9))
    told = capsys.readouterr().err
    for what in ("capture of <lambda>", "simplification of", "pass cut_segments", "plan of", "effort 0", " ms"):
        assert what in told


# Code that nobody needs any more.


NO_RELEASE = pytest.mark.skipif(not CAN_LINK, reason="LLVM links here, and keeps everything")


@NO_RELEASE
def test_the_memory_of_code_is_given_back_with_the_last_function_of_it(monkeypatch):
    monkeypatch.setattr(jit, "MOST_RECENT", 0)
    given = []
    munmap = objects._libc.munmap
    monkeypatch.setattr(objects._libc, "munmap", lambda base, size: given.append(base.value) or munmap(base, size))
    compiled = [pb.compile(lambda x: pb.sin(x) * 0.640625, fallback="raise", backend="llvm") for _ in range(2)]
    x = np.arange(5.0)
    found = [f(x).numpy() for f in compiled]
    text = compiled[0].entries()[0].compiled[0][1].segments[0].text
    name, module, _ = jit.borrow(*text, ("run",), machine_code.QUICK)
    assert jit._known[name] is module  # one for both
    base = module.base
    del module, compiled[0]
    gc.collect()
    assert base not in given and name in jit._known
    np.testing.assert_array_equal(compiled[0](x).numpy(), found[0])
    compiled.clear()
    gc.collect()
    assert base in given and name not in jit._known
    np.testing.assert_allclose(found[0], np.sin(x) * 0.640625, rtol=1e-14)


def test_a_function_that_is_held_alone_holds_its_code(monkeypatch):
    monkeypatch.setattr(jit, "MOST_RECENT", 0)
    b = Builder(np.arange(6.0))
    b.output(b("tanh", b("multiply", b.inputs[0], 0.6484375)))
    call = compile_llvm(b.program).flat
    gc.collect()
    for _ in range(300):  # good code takes the place of quick code in between
        np.testing.assert_allclose(call(np.arange(6.0))[0], b.expected()[0], rtol=1e-14)


def known_code():
    return len(jit._known), sum(type(each) is structs._Table for each in gc.get_objects())


@NO_RELEASE
def test_new_shapes_do_not_pile_up_code(monkeypatch):
    monkeypatch.setattr(jit, "MOST_RECENT", 0)
    gc.collect()
    before = known_code()
    for length in range(2, 12):
        f = pb.compile(lambda x: pb.cos(x) * 0.65625, fallback="raise", backend="llvm")
        x = pb.tensor(np.linspace(0, 1, length), requires_grad=True)
        f(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), -np.sin(x.detach().numpy()) * 0.65625, rtol=1e-13)
        del f, x
    gc.collect()
    assert known_code() == before
