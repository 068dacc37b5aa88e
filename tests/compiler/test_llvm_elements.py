"""Elementwise operators that are loops of ufuncs: complex numbers, special functions, remainders."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from tests.compiler.graphs import Builder, same_bits

RANDOM = np.random.default_rng(5)


def run(b):
    """Everything is native, and of the same bits: the loops are NumPy's own."""
    made = compile_llvm(b.program)
    assert made.left_to_numpy == []
    for out, wanted in zip(made.flat(*[b.arrays[x] for x in b.program.inputs]), b.expected(), strict=True):
        assert same_bits(out, wanted)
    return made


def complexes(*shape, dtype=np.complex128):
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("name", ["log", "sin", "sqrt", "tanh", "_phase", "reciprocal"])
def test_functions_of_complex_numbers(name):
    special = np.array([complex(x, y) for x in (0.0, -0.0, np.inf, -np.inf, np.nan, 1) for y in (0.0, np.inf, np.nan)])
    b = Builder(complexes(3, 4), special)
    with np.errstate(all="ignore"):
        b.output(*[b(name, x) for x in b.inputs])
        run(b)


@pytest.mark.parametrize("exponent", [3, -2, 0, 0.5, 1.5, -1, 2j])
def test_powers_of_complex_numbers(exponent):
    b = Builder(complexes(3, 4))
    b.output(b("pow", *b.inputs, exponent), b("pow", *b.inputs, *b.inputs))
    run(b)


@pytest.mark.parametrize("name", ["gammaln", "j0", "i0", "ndtri", "expit"])
def test_special_functions(name):
    pytest.importorskip("scipy", reason="its functions are the ones that are called")
    function = getattr(pb.special, name)
    f = pb.compile(pb.func.grad_and_value(lambda x: (function(x) * pb.sin(x)).sum()), backend="llvm", fallback="raise")
    x = pb.tensor(RANDOM.uniform(0.1, 0.9, 50))
    wanted = pb.func.grad_and_value(lambda x: (function(x) * pb.sin(x)).sum())(x)
    for out, want in zip(f(x), wanted, strict=True):
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-12)
    assert f.explain(x).data["left_to_numpy"] == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_remainders_of_all_dtypes(dtype):
    b = Builder(RANDOM.integers(-9, 9, (4, 5)).astype(dtype), RANDOM.integers(1, 5, 5).astype(dtype))
    b.output(b("remainder", *b.inputs), b("fmod", *b.inputs), b("remainder", b.inputs[0], 3))
    run(b)


def test_questions_and_bounds():
    numbers = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, 2.0]])
    b = Builder(numbers, RANDOM.integers(-9, 9, (4, 5)), np.array([True, False]), numbers.astype(np.float32))
    x, n, truths, small = b.inputs
    b.output(*[b(name, y) for name in ("isposinf", "isneginf", "angle") for y in (x, small)])
    b.output(*[b("count_nonzero", y, axis=(0,), keepdims=False) for y in (x, n, truths)])
    b.output(b("clip", n, -2, 3), b("clip", n, None, b("_basic_index", n, index=(0, ...))))
    run(b)


def test_a_loop_around_them_is_native():
    def step(state, _):
        return pb.sin(state * 1j) * state / pb.abs(state), None

    f = pb.compile(lambda z: pb.lax.scan(step, z, length=5)[0], backend="llvm", fallback="raise")
    z = pb.tensor(complexes(4))
    np.testing.assert_allclose(f(z).numpy(), pb.lax.scan(step, z, length=5)[0].numpy(), rtol=1e-13)
    assert f.explain(z).data["left_to_numpy"] == []


PROGRAM = """
import sys, numpy as np, pullback as pb
pb.aot.set_cache_dir(sys.argv[1])
f = pb.compile(lambda z: pb.abs(pb.sin(z) * z) % 1, backend="llvm", fallback="raise")
print(f(pb.tensor(np.array([1 + 2j, 0.5j]))).numpy().tobytes().hex())
"""


def test_another_process_finds_the_loops_by_their_names(tmp_path):
    call = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    first, second = (subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second and first
