"""The native backend by hand: what is fused, how it is called, threads, the cache of object code, and failures."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler import native, pipeline
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import jit, structs
from pullback.core import threads
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.errors import AutogradError
from tests.compiler.graphs import Builder
from tests.compiler.native import near

RANDOM = np.random.default_rng(3)


def run(b, **options):
    """The graph compiled, after a check of its results."""
    arrays = [b.arrays[value] for value in b.program.inputs]
    made = compile_llvm(b.program, **options)
    for out, wanted in zip(made.flat(*arrays), b.expected(), strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-11, atol=1e-11)
    return made


def loops(made):
    return [(kernel["operators"], kernel["loops"]) for kernel in made.kernels()]


# What becomes one loop.


def test_a_chain_is_one_loop_with_one_native_call():
    b = Builder(RANDOM.normal(size=(5, 7)))
    b.output(b("multiply", b("tanh", b("add", b.inputs[0], 1.0)), 3.0))
    made = run(b)
    assert loops(made) == [(("add", "tanh", "multiply"), (35,))]
    assert type(made.flat).__name__ == "builtin_function_or_method"


def test_values_and_their_sum_share_a_loop():
    b = Builder(RANDOM.normal(size=(4, 6)))
    powers = b("exp", b.inputs[0])
    b.output(powers, b("sum", powers, axis=(0, 1), keepdims=False, dtype=None))
    assert len(run(b).kernels()) == 1


def test_softmax_of_rows_is_one_kernel():
    b = Builder(RANDOM.normal(size=(6, 9)))
    b.output(b("softmax", b.inputs[0], axis=(1,)))
    assert [operators for operators, _ in loops(run(b))] == [
        ("amax", "isfinite", "where", "subtract", "exp", "sum", "divide")
    ]


def test_long_sums_are_made_in_blocks_of_fixed_length():
    b = Builder(RANDOM.normal(size=10_000))
    b.output(b("sum", b.inputs[0], axis=(0,), keepdims=False, dtype=None))
    assert [lengths for _, lengths in loops(run(b))] == [(9, 1024), (1, 784), (10,)]


def test_views_are_not_copied():
    b = Builder(RANDOM.normal(size=(8, 6)))
    turned = b("permute_dims", b.inputs[0], axes=(1, 0))
    part = b("_basic_index", turned, index=(slice(None, None, -2), slice(1, 5)))
    b.output(b("negative", part))
    assert [operators for operators, _ in loops(run(b))] == [("negative",)]


def test_products_are_calls_of_blas_without_copies():
    b = Builder(RANDOM.normal(size=(20, 30)), RANDOM.normal(size=(20, 25)))
    x, y = b.inputs
    b.output(b("matmul", b("permute_dims", x, axes=(1, 0)), y))
    assert loops(run(b)) == [(("gemm",), (30, 25, 20))]


def test_small_products_are_loops_that_share_them():
    b = Builder(RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 5)), RANDOM.normal(size=5))
    x, w, bias = b.inputs
    b.output(b("add", b("matmul", x, w), bias))
    assert [operators for operators, _ in loops(run(b))] == [("matmul", "add")]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("left, right", [
    ((3, 4), (4, 5)), ((13, 14), (14, 15)), ((3, 4), (4,)), ((4,), (4, 5)), ((4,), (4,)), ((1, 4), (4, 1)),
])  # fmt: skip
@pytest.mark.parametrize("layout", ["rows", "columns", "part"])
def test_products_of_every_layout(dtype, left, right, layout):
    def lay(shape):
        x = RANDOM.normal(size=tuple(2 * n for n in shape)).astype(dtype)
        if layout == "columns":
            return np.asfortranarray(x[tuple(slice(n) for n in shape)])
        return x[tuple(slice(n) for n in shape)].copy() if layout == "rows" else x[tuple(slice(n) for n in shape)]

    b = Builder(lay(left), lay(right))
    b.output(b("matmul", *b.inputs))
    made = compile_llvm(b.program, effort=0)
    (out,) = made.flat(*[b.arrays[x] for x in b.inputs])
    np.testing.assert_allclose(out, b.expected()[0], rtol=1e-5 if dtype == np.float32 else 1e-13)


def test_what_native_code_can_not_do_is_a_call_of_numpy_in_between():
    b = Builder(RANDOM.normal(size=(4, 5)))
    whole = b("floor_divide", b("exp", b.inputs[0]), 2)
    b.output(b("tanh", whole))
    made = run(b)
    assert len(made.segments) == 2
    assert "floor_divide" in made.source and made.source.count("native") >= 2
    assert made.left_to_numpy == ["floor_divide"]


def test_equal_kernels_are_written_once():
    b = Builder(RANDOM.normal(size=(16, 16)))
    x = b.inputs[0]
    for _ in range(5):
        x = b("tanh", b("matmul", x, x))
    b.output(x)
    assert run(b).llvm_ir().count("define internal void") == 1


def test_bodies_of_loops_are_native():
    def f(x):
        return pb.lax.scan(lambda c, _: (pb.tanh(c) * 0.9, c.sum()), x, None, length=5)[1]

    x = pb.tensor(RANDOM.normal(size=4))
    np.testing.assert_allclose(pb.compile(f, backend="llvm")(x).numpy(), f(x).numpy(), rtol=1e-12)


def row(k):
    return ViewStep(registry["_basic_index"], {"index": (k, ...)})


def test_updates_write_over_what_nobody_reads_afterwards():
    b = Builder(RANDOM.normal(size=(4, 5)), RANDOM.normal(size=5))
    whole = b("negative", b.inputs[0])
    for k in range(3):
        above = b("_basic_index", whole, index=(k, ...))
        whole = b.update(whole, b("tanh", above), row(k + 1))
    b.output(whole)
    lengths = [lengths for _, lengths in loops(run(b))]
    assert lengths.count((20,)) == 1 and len(lengths) == 7


def test_updates_copy_what_is_read_later():
    b = Builder(RANDOM.normal(size=(4, 5)), RANDOM.normal(size=5))
    base = b("negative", b.inputs[0])
    changed = b.update(base, b.inputs[1], row(2))
    b.output(changed, b("matmul", b("permute_dims", base, axes=(1, 0)), changed), base)
    run(b)


# Meaning.


def test_not_a_number_wins_where_it_does_in_numpy():
    x = np.array([1.0, np.nan, -np.inf, np.inf, 0.0, -0.0, 3.0])
    b = Builder(x, x[::-1].copy())
    with np.errstate(all="ignore"):
        b.output(*[b(name, *b.inputs) for name in ("maximum", "minimum", "fmax", "fmin", "logaddexp")],
                 *[b(name, b.inputs[0], axis=(0,), keepdims=False) for name in ("amax", "amin", "sum")])  # fmt: skip
    made = compile_llvm(b.program)
    with np.errstate(all="ignore"):
        for out, wanted in zip(made.flat(x, x[::-1].copy()), b.expected(), strict=True):
            np.testing.assert_array_equal(out, wanted)


def test_zeros_keep_the_signs_that_numpy_gives_them():
    x = np.array([-0.0, 0.0] * 9)
    b = Builder(x)
    (value,) = b.inputs
    b.output(b("relu", value), b("negative", value), b("sum", value, axis=(), keepdims=False), b("abs", value))
    for out, wanted in zip(compile_llvm(b.program).flat(x), b.expected(), strict=True):
        np.testing.assert_array_equal(np.signbit(out), np.signbit(wanted))


def test_a_sum_is_nearly_as_exact_as_one_in_pairs():
    x = RANDOM.normal(size=3_000_000).astype(np.float32) + np.float32(100)
    b = Builder(x)
    b.output(b("sum", b.inputs[0], axis=(0,), keepdims=False, dtype=None))
    (out,) = compile_llvm(b.program).flat(x)
    assert abs(float(out) / x.astype(np.float64).sum() - 1) < 1e-6


# The call.


def small(**options):
    b = Builder(np.ones((3, 4)), np.ones(4))
    b.output(b("add", *b.inputs))
    return compile_llvm(b.program, **options)


@pytest.mark.parametrize("portable", [False, True])
def test_arrays_that_lie_otherwise_are_copied(portable):
    f = small(portable=portable).flat
    x, y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=8)[::2]
    np.testing.assert_array_equal(f(np.asfortranarray(x), y)[0], x + y)
    memory = np.zeros(8 * 12 + 1, np.uint8)
    shifted = memory[1:].view(np.float64).reshape(3, 4)
    shifted[...] = x
    np.testing.assert_array_equal(f(shifted, y)[0], x + y)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("wrong", [
    (), (np.ones((3, 4)),), (np.ones((4, 3)), np.ones(4)), (np.ones((3, 4), np.float32), np.ones(4)),
    (np.ones((3, 4)), np.ones((1, 4))),
])  # fmt: skip
def test_what_does_not_fit_is_refused(portable, wrong):
    with pytest.raises(AutogradError) as caught:
        small(portable=portable).flat(*wrong)
    assert caught.value.code == "GRAPH_INPUTS"


def test_results_are_new_and_nothing_leaks():
    f = small().flat
    x, y = np.ones((3, 4)), np.ones(4)
    gc.collect()  # arrays of earlier tests in cycles refer to the dtype, too
    before = [sys.getrefcount(each) for each in (x, y, x.dtype, np.ndarray)]
    results = [f(x, y) for _ in range(50)]
    assert len({out.ctypes.data for (out,) in results}) == 50
    del results
    gc.collect()
    after = [sys.getrefcount(each) for each in (x, y, x.dtype, np.ndarray)]
    assert all(abs(a - b) < 10 for a, b in zip(before, after, strict=True))


def test_results_in_another_order_than_rows():
    x = np.asfortranarray(RANDOM.normal(size=(4, 5)))
    b = Builder(x)
    b.output(b("negative", b.inputs[0]))
    (out,) = compile_llvm(b.program).flat(x)
    assert out.flags.f_contiguous and np.array_equal(out, -x)


def test_the_structs_are_as_expected_here():
    assert structs.are_as_expected()


def test_without_knowledge_of_structs_ctypes_calls(monkeypatch):
    monkeypatch.setattr(structs, "are_as_expected", lambda: False)
    f = small().flat
    assert type(f).__name__ == "function"
    np.testing.assert_array_equal(f(np.ones((3, 4)), np.ones(4))[0], np.full((3, 4), 2.0))


def test_large_arenas_are_used_again_and_given_back():
    b = Builder(RANDOM.normal(size=(300, 300)))
    x = b.inputs[0]
    b.output(b("matmul", b("matmul", x, x), x))
    f = run(b).flat
    first = [f(b.arrays[x])[0] for _ in range(3)]
    assert all(np.array_equal(first[0], other) for other in first)


# Threads.


@pytest.fixture
def two_threads():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def large():
    b = Builder(RANDOM.uniform(0.5, 2.0, size=200_003))
    y = b("log", b("add", b("exp", b.inputs[0]), 1.0))
    b.output(y, b("sum", y, axis=(0,), keepdims=False, dtype=None))
    return b


def test_results_do_not_depend_on_the_number_of_threads(two_threads):
    b = large()
    made = run(b)
    assert "pullback_parallel" in made.llvm_ir()
    results = []
    for count in (1, 2, 3, 2, 1):
        threads.set_num_threads(count)
        results += [made.flat(b.arrays[b.inputs[0]]) for _ in range(5)]
    assert all(np.array_equal(x, y) for other in results for x, y in zip(results[0], other, strict=True))


def test_calls_from_several_threads(two_threads):
    threads.set_num_threads(2)
    b = large()
    made = run(b)
    x = b.arrays[b.inputs[0]]
    inputs = [x + k for k in range(4)]
    wanted = [made.flat(each) for each in inputs]
    wrong = []

    def work(k):
        for _ in range(10):
            if not all(np.array_equal(a, c) for a, c in zip(made.flat(inputs[k]), wanted[k], strict=True)):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(two_threads):
    threads.set_num_threads(2)
    b = large()
    made = run(b)
    x = b.arrays[b.inputs[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        fine = all(near(out, wanted) for out, wanted in zip(made.flat(x), b.expected(), strict=True))
        threads.set_num_threads(2)
        again = all(near(out, wanted) for out, wanted in zip(made.flat(x), b.expected(), strict=True))
        os._exit(0 if fine and again else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Failures.


def test_a_failure_is_told_once_and_numpy_runs(monkeypatch):
    def fail(*args):
        raise RuntimeError("no code today")

    monkeypatch.setattr(pipeline, "NATIVE", (fail,))
    monkeypatch.setattr(native, "_told", set())
    f = pb.compile(lambda x: pb.exp(x) + 1, backend="llvm")
    with pytest.warns(native.NativeCompilerWarning, match="no code today"):
        out = f(pb.ones(3))
    np.testing.assert_allclose(out.numpy(), np.e + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.compile(lambda x: pb.exp(x) + 2, backend="llvm")(pb.ones(3))
    strict = pb.compile(lambda x: pb.exp(x) + 1, backend="llvm", fallback="raise")
    with pytest.raises(RuntimeError, match="no code today"):
        strict(pb.ones(3))


def test_gradients_through_compile():
    def loss(w, x, y):
        return ((pb.tanh(x @ w) - y) ** 2).mean()

    x, y = pb.tensor(RANDOM.normal(size=(20, 3))), pb.tensor(RANDOM.normal(size=20))
    w = pb.tensor(RANDOM.normal(size=3), requires_grad=True)
    loss(w, x, y).backward()
    wanted, w.grad = w.grad.numpy(), None
    pb.compile(loss, backend="llvm")(w, x, y).backward()
    np.testing.assert_allclose(w.grad.numpy(), wanted, rtol=1e-11)


# Looking inside.


def test_what_can_be_looked_at(capsys, monkeypatch):
    monkeypatch.setenv("PULLBACK_LOG", "compile")
    b = Builder(RANDOM.normal(size=(11,)))
    b.output(b("exp", b("multiply", b.inputs[0], 1.23456)))
    made = run(b)
    assert "pullback compile: graph forward, 2 nodes" in capsys.readouterr().err
    assert "define i64 @NAME_run" in made.llvm_ir()
    assert "_run" in made.assembly()
    (kernel,) = made.kernels()
    assert kernel["bytes"] == 2 * 8 * 11 and kernel["flops"] == 2 * 11 and kernel["nanoseconds"] > 0
    assert "# exp" in made.source or "multiply, exp" in made.source


def test_vector_functions_are_called_by_name():
    if not jit.has_libmvec():
        pytest.skip("there is no libmvec here")
    b = Builder(RANDOM.normal(size=(64,)))
    b.output(b("exp", b.inputs[0]))
    assert re.search(r"call <[48] x double> @_ZGV(dN4|eN8)v_exp\(", compile_llvm(b.program).llvm_ir())
    assert "_ZGV" not in compile_llvm(b.program, portable=True).llvm_ir()
