"""Complex numbers in native code, which computes with their parts: everything is native, and as NumPy has it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.func import grad_and_value
from pullback.graph.interpret import evaluate
from pullback.graph.ir import array_type, type_of
from tests.compiler.graphs import Builder

RANDOM = np.random.default_rng(6)
PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e100, -1e-100)
SPECIAL = np.array([complex(x, y) for x, y in itertools.product(PARTS, PARTS)])


def complexes(*shape, dtype=np.complex128):
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)


def near(out, wanted, rtol=1e-13):
    """Parts that are as large as they should be, compared with the absolute values; the same infinities and NaNs."""
    if wanted.dtype.kind != "c":
        np.testing.assert_allclose(out, wanted, rtol=rtol)
        return
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(wanted), np.abs(wanted), 0)
    for left, right in ((out.real, wanted.real), (out.imag, wanted.imag)):
        finite = np.isfinite(right)
        np.testing.assert_array_equal(left[~finite], right[~finite])
        assert np.all(np.abs(left[finite] - right[finite]) <= rtol * np.where(size, size, np.abs(right))[finite])


def run(b, rtol=1e-13):
    made = compile_llvm(b.program)
    assert made.left_to_numpy == []
    with np.errstate(all="ignore"):
        results = made.flat(*[b.arrays[x] for x in b.program.inputs])
    for out, wanted in zip(results, b.expected(), strict=True):
        assert type_of(out) == type_of(wanted)
        near(out, wanted, rtol)
    return made


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_arithmetic(name, dtype):
    b = Builder(complexes(5, 4, dtype=dtype), complexes(4, dtype=dtype), complexes(4, 5, dtype=dtype).T[::-1])
    x, y, z = b.inputs
    b.output(b(name, b(name, x, y), z), b(name, x, 2), b(name, 1j, x), b(name, 1.5, z))
    run(b, 1e-13 if dtype == np.complex128 else 1e-5)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_at_infinity_and_at_zero(name):
    """A real operand is a complex one with an imaginary part of 0, which times infinity is NaN."""
    b = Builder(SPECIAL[:, None], SPECIAL, np.array(PARTS))
    x, y, real = b.inputs
    with np.errstate(all="ignore"):
        b.output(b(name, x, y), b(name, x, real), b(name, real, x), b(name, x, 2.0), b(name, x, 0.0), b(name, x, 1j))
    run(b)


@pytest.mark.parametrize("name", ["exp", "conj", "abs", "angle", "negative", "square", "isfinite", "isnan", "isinf"])
def test_functions(name):
    b = Builder(complexes(3, 4), SPECIAL, np.array([710 + 1j, 800 + 1.5j, 1500 + 1j, -800 + 2j, 3 + 1e4j]))
    with np.errstate(all="ignore"):
        b.output(*[b(name, x) for x in b.inputs])
    run(b)


def test_comparisons_and_choices():
    b = Builder(SPECIAL, SPECIAL[::-1].copy(), RANDOM.normal(size=SPECIAL.shape))
    x, y, real = b.inputs
    b.output(b("equal", x, y), b("not_equal", x, x), b("equal", x, 1), b("equal", real, x))
    is_any = b("greater", real, 0)
    b.output(b("isreal", x), b("iscomplex", x), b("count_nonzero", x, axis=(0,), keepdims=True))
    b.output(b("masked_fill", x, is_any, 1j), b("masked_fill", y, is_any, 2.0))
    b.output(b("where", is_any, x, y), b("where", is_any, x, 0), b("where", is_any, real, x))
    run(b)


def test_parts_and_casts():
    b = Builder(complexes(6, 5), RANDOM.normal(size=(6, 5)), RANDOM.integers(-5, 5, 5))
    z, x, n = b.inputs
    product = b("multiply", z, z)
    b.output(b("add", b("_real", product), b("_imag", product)), b("_imag", product), product)
    b.output(b("complex", x, b("_real", z)), b("_astype", x, dtype=np.dtype(np.complex128)), b("multiply", n, z))
    b.output(b("_astype", product, dtype=np.dtype(np.complex64)))
    run(b, 1e-6)


def test_elements_that_are_moved_and_added_up():
    b = Builder(complexes(4, 5), complexes(4, 2))
    z, other = b.inputs
    w = b("multiply", z, 1j)
    places = b.constant(np.array([3, 0, 3]))
    turned = b("copy", b("permute_dims", w, axes=(1, 0)), order="C")
    b.output(b("_concat", w, other, axis=1), b("_stack", w, z, axis=1), turned)
    rows = b("_index", w, places, template=("array", slice(None)), distinct=False)
    b.output(rows, b("_index_add", rows, places, template=("array", slice(None)), shape=(4, 5), distinct=False))
    index = (slice(1, 3), ...)
    part = b("_basic_index", w, index=index)
    b.output(b("_place_slice", part, index=index, shape=(4, 5)), b("_roll", w, shift=(2,), axis=(1,)))
    b.output(b.update(w, 1, ViewStep(registry["_basic_index"], {"index": index})), b("tril", w, k=0))
    b.output(b("sum", w, axis=(0,), keepdims=False), b("mean", w, axis=(0, 1), keepdims=True))
    b.output(b("cumsum", w, axis=1, dtype=None, reverse=True))
    b.output(*[b("_linalg_vector_norm", w, axis=(1,), keepdims=False, ord=order) for order in (2.0, 1.0, np.inf)])
    run(b)


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_products_of_matrices(n, dtype):
    real = RANDOM.normal(size=(n, n)).astype(dtype(0).real.dtype)
    b = Builder(complexes(n, n + 1, dtype=dtype), complexes(3, n + 1, n, dtype=dtype), complexes(n, dtype=dtype), real)
    a, batch, vector, matrix = b.inputs
    b.output(b("matmul", matrix, a), b("matmul", matrix, vector), b("matmul", batch, matrix))
    turned = b("permute_dims", a, axes=(1, 0))
    b.output(b("matmul", a, turned), b("matmul", a, batch), b("matmul", vector, a), b("matmul", vector, vector))
    b.output(b("_einsum_two", a, batch, subscripts="ij,kjl->kil", optimize=True))
    b.output(b("einsum", a, turned, vector, subscripts="ij,jk,k->i", optimize=True))
    run(b, 1e-11 if dtype == np.complex128 else 1e-3)


def gates(angles, state):
    """A state of four qubits after a few rotations, and what is measured of it."""
    for k in range(8):
        c, s = pb.cos(angles[k]) + 0j, pb.sin(angles[k])
        gate = pb.stack([pb.stack([c, -1j * s]), pb.stack([-1j * s, c])])
        state = (gate @ state.reshape(2 ** (k % 4), 2, -1)).reshape(-1) * pb.exp(1j * angles[k])
    return (pb.abs(state[:8]) ** 2).sum() + (state.conj() * state)[3].real


def spiral(start, turn):
    """A scan that carries complex numbers, reads some and gives some."""

    def step(z, factor):
        z = z * factor / (1 + 0.1 * pb.abs(z) ** 2) + turn * 1j
        return z, z.conj() * factor

    end, path = pb.lax.scan(step, start + 0j, pb.exp(1j * pb.linspace(0.0, 1.0, 7)))
    return pb.abs(end).sum() + (path * path).real.sum()


def halved(x, _):
    """A loop and a branch on complex numbers."""
    z = pb.lax.while_loop(lambda z: pb.abs(z).sum() > 1, lambda z: z * (0.5 + 0.1j), x + 1j)
    return pb.abs(pb.lax.cond(z.real.sum() > 0, lambda z: z * 2j, lambda z: z.conj(), z)).sum()


@pytest.mark.parametrize("function, shapes", [(gates, [(8,), (16,)]), (spiral, [(5,), ()])])
def test_gradients_of_programs(function, shapes):
    args = [pb.tensor(RANDOM.normal(size=shape)) for shape in shapes]
    if function is gates:
        args[1] = pb.tensor(complexes(16))
    eager = grad_and_value(function, (0, 1))
    compiled = pb.compile(eager, backend="llvm", fallback="raise")
    (wanted, value), (found, out) = eager(*args), compiled(*args)
    for left, right in zip((*found, out), (*wanted, value), strict=True):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-11, atol=1e-13)
    assert compiled.explain(*args).data["left_to_numpy"] == []


def test_loops_and_branches():
    x = pb.tensor(RANDOM.normal(size=6))
    compiled = pb.compile(halved, backend="llvm", fallback="raise")
    np.testing.assert_allclose(compiled(x, 0).numpy(), halved(x, 0).numpy(), rtol=1e-13)
    assert compiled.explain(x, 0).data["left_to_numpy"] == []


@pytest.mark.parametrize("n", [1, 2, 17, 513, 5000])
@pytest.mark.parametrize("write", [
    lambda z: z.imag.mul_(2), lambda z: z.real.add_(z.imag), lambda z: z[1:].imag.mul_(3),
    lambda z: z.imag[::2].fill_(4), lambda z: pb.view_as_real(z).mul_(2), lambda z: pb.view_as_real(z)[..., 1].zero_(),
    lambda z: z[::-1].copy_(z.real.clone()), lambda z: z.real.copy_(z.imag.clone()),
])  # fmt: skip
def test_a_write_to_the_parts_of_complex_numbers(write, n):
    def function(z):
        z = z * 1
        write(z)
        return z

    array = complexes(n)
    for backend in ("llvm", "numpy"):
        compiled = pb.compile(function, backend=backend, fallback="raise")
        for _ in range(2):
            near(compiled(pb.tensor(array)).numpy(), function(pb.tensor(array)).numpy())


def test_what_only_numpy_can_do_gets_whole_numbers():
    b = Builder(complexes(4, 3))
    w = b("multiply", *b.inputs, 1j)
    b.output(b("prod", w, axis=(0,), keepdims=False), b("view_as_real", w), w)
    made = compile_llvm(b.program)
    assert made.left_to_numpy == ["prod"]
    for out, wanted in zip(made.flat(b.arrays[b.inputs[0]]), b.expected(), strict=True):
        assert type_of(out) == type_of(wanted)
        near(out, wanted)


def test_a_loop_that_python_runs_carries_parts_that_lie_in_rows():
    """Both the parts of the input and those of what NumPy computes lie between each other."""
    z = np.arange(1, 7).reshape(2, 3) * (0.3 + 0.2j)
    inner, b = Builder(z), Builder(z)
    (carry,) = inner.inputs
    inner.output(inner("cumprod", carry, axis=0), inner("broadcast_to", carry, shape=(2, 2, 3)))
    attrs = {"body": inner.program, "carried": 1, "scanned": 0, "length": 3, "reverse": False}
    scan = b.program.add("scan", b.inputs, attrs, [type_of(z), array_type((3, 2, 2, 3), z.dtype)])
    b.output(*scan.results)
    made = compile_llvm(b.program)
    assert "scan" in made.left_to_numpy
    for out, wanted in zip(made.flat(z), evaluate(b.program, [z]), strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-12)
