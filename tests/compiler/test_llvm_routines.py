"""Decompositions, solvers and transforms: native code calls the loops of NumPy, BLAS and LAPACK for planned memory."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback import compiler
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import gufuncs
from pullback.compiler.numpy_source import compile_numpy
from pullback.declare.loops import MESSAGES
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.graph.ir import Program
from tests.compiler.graphs import Builder, one_node, same_bits
from tests.compiler.native import near, run

pytestmark = pytest.mark.skipif(not gufuncs.is_possible(), reason="loops of NumPy are not called on this machine")

LOOPS = [op for op in registry.values() if op.loop_rule is not None]
OTHERS = [registry[name] for name in ("_linalg_solve_triangular", "_linalg_lu", "_linalg_qr", "_linalg_permutation")]


def random(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def positive(*shape, dtype=np.float64):
    x = random(*shape)
    return (x @ x.swapaxes(-1, -2) + 2 * np.eye(shape[-1])).astype(dtype)


COMPLEX = ["complex", "complex64"]
LEFT_TO_NUMPY = {
    "_linalg_cholesky": ["empty", "none", "complex64"], "_linalg_inv": ["empty", "no-batches", "complex64"],
    "_linalg_solve": ["empty", "no-columns", "no-batches", "real-and-complex", "complex64"],
    "_linalg_det": ["empty", "no-batches", "complex64"], "_linalg_slogdet": ["empty", "no-batches", "complex64"],
    "_linalg_eigh": ["empty", "none", "complex64"], "_linalg_eigvalsh": ["empty", "none", "complex64"],
    "_linalg_svd": ["empty", "no-rows", "no-columns", "none", "full-tall", "full-wide", "complex64"],
    "_linalg_svdvals": ["empty", "no-rows", "no-columns", "none", "complex64"],
    "_fft_c2c": ["backward-0x3-over-4"], "_fft_r2c": ["backward-0x3-over-4"], "_fft_c2r": ["backward-0x3-over-4"],
    "_linalg_solve_triangular": ["empty", "no-batches", *COMPLEX], "_linalg_lu": ["empty", "none", *COMPLEX],
    "_linalg_qr": ["empty", "no-rows", "no-columns", "none", "complex-square", "complex-tall", "complex-wide",
                   "complete", "complex64"], "_linalg_permutation": ["empty"],
}  # fmt: skip
"""Samples without elements, of dtypes that NumPy converts first, and bases that are completed."""


def test_these_operators_are_calls():
    assert {op.name for op in (*LOOPS, *OTHERS)} == set(LEFT_TO_NUMPY)


@pytest.mark.parametrize("op", [*LOOPS, *OTHERS], ids=lambda op: op.name)
def test_samples(op):
    """Both precisions, batches, and memory of all kinds; what NumPy's loops compute is equal to the bit."""
    left = []
    for sample in samples_of(op):
        program, arrays, expected = one_node(op, sample.inputs(), sample.params)
        compiled = compile_llvm(program, effort=0)
        with np.errstate(all="ignore"):
            outputs = compiled.flat(*arrays)
        # Transforms in single precision are computed in double precision by some versions of NumPy.
        is_exact = op in LOOPS and not (op.name.startswith("_fft") and arrays[0].dtype.char in "fF")
        agree = same_bits if is_exact else near
        assert all(agree(x, y) for x, y in zip(outputs, expected, strict=True)), sample.label
        left += [sample.label] if compiled.left_to_numpy else []
    assert left == LEFT_TO_NUMPY[op.name]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 1, 3), (2, 0)])
def test_batches(batch, dtype):
    b = Builder(positive(*batch, 3, 3, dtype=dtype), random(*batch, 3, 2, dtype=dtype))
    a, x = b.inputs
    results = [
        b("_linalg_cholesky", a), b("_linalg_inv", a, singular="raise"), b("_linalg_solve", a, x, singular="raise"),
        *b("_linalg_eigh", a, triangle="U", checked=False), *b("_linalg_svd", x, full=False, checked=False),
        *b("_linalg_qr", x, complete=False), *b("_linalg_lu", a), *b("_linalg_slogdet", a), b("_linalg_det", a),
        b("_linalg_solve_triangular", a, x, upper=True, unit=False, singular="raise"), b("_linalg_svdvals", x),
        b("_linalg_eigvalsh", a, triangle="L"),
    ]  # fmt: skip
    program = b.output(*results)
    made = compile_llvm(program, effort=0)
    assert bool(made.left_to_numpy) == (0 in batch)
    for out, wanted in zip(made.flat(*map(b.arrays.get, b.inputs)), b.expected(), strict=True):
        assert near(out, wanted, 4.0)


def strided(a):
    """The same matrices in other places: turned, every second element of something, backwards, repeated."""
    wide = np.zeros((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]))
    wide[..., ::2, ::3] = a
    yield "turned", np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    yield "gaps", wide[..., ::2, ::3]
    yield "backwards", np.ascontiguousarray(a[..., ::-1, ::-1])[..., ::-1, ::-1]
    yield "batches last", np.ascontiguousarray(np.moveaxis(a, 0, -1)).transpose(2, 0, 1)
    yield "repeated", np.broadcast_to(a[:1], a.shape)


@pytest.mark.parametrize("label, a", list(strided(positive(4, 3, 3))), ids=lambda x: x if type(x) is str else "")
def test_operands_are_read_where_they_lie(label, a):
    x = random(4, 2, 3).swapaxes(-1, -2)
    b = Builder(a, x)
    first, second = b.inputs
    b.output(
        b("_linalg_inv", first, singular="raise"), b("_linalg_solve", first, second, singular="raise"),
        b("_linalg_solve_triangular", first, second, upper=False, unit=False, singular="raise"),
        b("_linalg_solve_triangular", first, second, upper=True, unit=True, singular="raise"),
        b("_linalg_lu", first)[1], b("_linalg_qr", first, complete=False)[1],
        b("_fft_r2c", first, axes=(1,), lengths=(5,), norm="ortho"),
        b("_fft_r2c", first, axes=(2, 0), lengths=(4, 3), norm="forward"),
    )  # fmt: skip
    run(b, lambda out, wanted: near(out, wanted, 4.0))


def test_views_inside_are_read_where_they_lie():
    b = Builder(positive(2, 4, 4), random(4, 6))
    a, x = b.inputs
    part = b("_basic_index", a, index=(1, slice(0, 3), slice(1, 4)))
    turned = b("permute_dims", b("_basic_index", x, index=(slice(1, 4), slice(None, None, -2))), axes=(1, 0))
    spread = b("broadcast_to", b("_basic_index", x, index=(slice(0, 3), slice(0, 1))), shape=(2, 3, 1))
    b.output(
        b("_linalg_inv", part, singular="raise"), b("_linalg_svdvals", turned),
        b("_linalg_solve", part, spread, singular="raise"),
        b("_fft_r2c", turned, axes=(0,), lengths=(6,), norm="ortho"),
    )  # fmt: skip
    run(b, lambda out, wanted: near(out, wanted, 4.0))


# Memory.


def chain(n):
    b = Builder(positive(n, n))
    (a,) = b.inputs
    factor = b("_linalg_cholesky", a)
    w, v = b("_linalg_eigh", b("_linalg_inv", factor, singular="raise"), triangle="L", checked=False)
    q, r, _ = b("_linalg_qr", b("multiply", v, w), complete=False)
    solved = b("_linalg_solve_triangular", factor, b("matmul", q, r), upper=False, unit=False, singular="raise")
    back = b("_fft_c2r", b("_fft_r2c", solved, axes=(0, 1), lengths=(n, n), norm="backward"), axes=(0, 1),
             lengths=(n, n), norm="backward")  # fmt: skip
    b.output(b("sum", back, axis=(0, 1), keepdims=False))
    return b


def test_what_is_between_lies_in_the_arena():
    """A call makes one array, the result: everything else is written to memory that was planned."""
    b = chain(40)
    made = run(b, lambda out, wanted: near(out, wanted, 1e3))
    assert len(made.segments) == 1 and made.only_function is not None
    (array,) = map(b.arrays.get, b.inputs)
    matrix = array.nbytes
    assert made.segments[0].interface.arena_bytes >= 2 * matrix

    def peak(call):
        call(array)
        tracemalloc.start()
        try:
            call(array)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(made.flat) < matrix / 4
    assert peak(compile_numpy(b.program).flat) > matrix


def test_kernels_name_the_calls():
    kernels = compile_llvm(chain(5).program).kernels(measure=True)
    assert all(kernel["bytes"] > 0 and kernel["nanoseconds"] > 0 and kernel["measured"] >= 0 for kernel in kernels)
    found = [operator for kernel in kernels for operator in kernel["operators"]]
    wanted = ["linalg.cholesky_lo", "linalg.inv", "linalg.eigh_lo", "linalg.qr_r_raw", "linalg.qr_reduced", "trsm",
              "fft.rfft_n_odd", "fft.fft", "fft.ifft", "fft.irfft"]  # fmt: skip
    assert [operator for operator in found if operator in wanted] == wanted


def test_without_the_loops_numpy_is_called(monkeypatch):
    monkeypatch.setattr(gufuncs, "core_of", lambda *args: None)
    b = Builder(positive(3, 3))
    b.output(b("_linalg_inv", b.inputs[0], singular="raise"))
    made = compile_llvm(b.program)
    assert made.left_to_numpy == ["_linalg_inv"]
    assert same_bits(made.flat(b.arrays[b.inputs[0]])[0], b.expected()[0])


# Errors.

FAILING = {
    "cholesky": (pb.linalg.cholesky, -np.eye(3), "Matrix is not positive definite"),
    "inv": (pb.linalg.inv, np.zeros((3, 3)), "Singular matrix"),
    "solve": (lambda a: pb.linalg.solve(a, a[0]), np.ones((3, 3)), "Singular matrix"),
    "eigh": (lambda a: pb.linalg.eigh(a)[0], np.full((3, 3), np.nan), "Eigenvalues did not converge"),
    "svd": (lambda a: pb.linalg.svd(a)[1], np.full((3, 3), np.nan), "SVD did not converge"),
    "solve_triangular": (lambda a: pb.linalg.solve_triangular(a, a[0], upper=True), np.diag([1.0, 0, 1]), "a zero on"),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("dtype, batch", [(np.float64, True), (np.float32, False)])
def test_errors_are_those_of_numpy(name, dtype, batch):
    function, wrong, message = FAILING[name]
    right, wrong = positive(3, 3, dtype=dtype), wrong.astype(dtype)
    if batch and name not in ("solve", "solve_triangular"):
        right, wrong = np.stack([right, right, right]), np.stack([right, wrong, right])
    compiled = pb.compile(lambda a: function(a * 1) + 0, backend="llvm")
    expected = compiled(right)
    for backend in (compiled, pb.compile(function, backend="numpy")):
        with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError, match=message):
            backend(wrong)
    assert same_bits(compiled(right).numpy(), expected.numpy())


def test_where_an_answer_is_wanted_one_bad_matrix_does_not_spoil_the_others():
    a = positive(3, 2, 2)
    a[1] = 0
    b = Builder(a, random(3, 2, 1))
    b.output(b("_linalg_inv", b.inputs[0], singular="nan"), b("_linalg_solve", *b.inputs, singular="nan"))
    run(b, same_bits)


def test_a_nan_elsewhere_is_no_error():
    """The flags of the processor are cleared before a loop is called."""
    b = Builder(np.zeros(4), positive(3, 3))
    with np.errstate(all="ignore"):
        b.output(b("divide", b.inputs[0], 0.0), b("_linalg_cholesky", b.inputs[1]))
        run(b, same_bits)


def test_an_error_inside_of_a_loop():
    def f(a):
        return pb.lax.scan(lambda carry, x: (carry + pb.linalg.cholesky(x).sum(), None), pb.zeros(()), a)[0]

    right = positive(5, 3, 3)
    wrong = right.copy()
    wrong[3] = -wrong[3]
    compiled = pb.compile(f, backend="llvm")
    assert near(compiled(right).numpy(), pb.compile(f, backend="numpy")(right).numpy())
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        compiled(wrong)


def test_threads_have_errors_of_their_own():
    right, wrong = positive(60, 60), -positive(60, 60)
    compiled = pb.compile(lambda a: pb.linalg.cholesky(a).sum(), backend="llvm")
    wanted = compiled(right).numpy()

    def works(_):
        return same_bits(compiled(right).numpy(), wanted)

    def fails(_):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(wrong)
        return True

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.map(function, range(50)) for function in (works, fails)]
        assert all(all(each) for each in answers)


# Other processes.


def test_a_record_calls_loops_by_name():
    made = compile_llvm(chain(4).program)
    record = compiler.write_native(made)
    assert record is not None
    graph = chain(4).program
    again = compiler.read_native(record, graph, False)
    a = positive(4, 4)
    assert again is not None and same_bits(again.flat(a)[0], made.flat(a)[0])
    record["externals"]["pullback_loop.linalg.unheard_of.0"] = "declare void @f()"
    assert compiler.read_native(record, graph, False) is None


def test_only_loops_that_exist_are_provided():
    assert gufuncs.provide("pullback_loop.linalg.inv.1")
    assert not gufuncs.provide("pullback_loop.linalg.inv.99")
    assert not gufuncs.provide("pullback_data.linalg.inv.1")  # it is given nothing
    assert not gufuncs.provide("another_name")
    assert len(set(MESSAGES)) == len(MESSAGES)


# Gradients.


def log_likelihood(x, a):
    factor = pb.linalg.cholesky(a @ a.swapaxes(-1, -2) + 2 * pb.eye(a.shape[-1], dtype=a.dtype))
    z = pb.linalg.solve_triangular(factor, x[..., None], upper=False)
    return 0.5 * (z * z).sum() + pb.log(pb.linalg.diagonal(factor)).sum()


def by_determinant(x, a):
    k = a @ a.swapaxes(-1, -2) + 2 * pb.eye(a.shape[-1], dtype=a.dtype)
    return (x[..., None] * pb.linalg.solve(k, x[..., None])).sum() + pb.linalg.slogdet(k)[1].sum()


def spectra(x, a):
    symmetric = a + a.swapaxes(-1, -2)
    w, v = pb.linalg.eigh(symmetric)
    return (w * w).sum() + ((v * v) @ x[..., None]).sum() + (pb.linalg.svdvals(a) ** 3).sum()


def factors(x, a):
    q, r = pb.linalg.qr(a)
    u, s, vh = pb.linalg.svd(a, full_matrices=False)
    return (q * q @ x[..., None]).sum() + (r * r).sum() + (u * u * s[..., None, :]).sum() + (vh**2).sum()


def convolution(x, a):
    n = x.shape[-1] + 3
    y = pb.fft.irfft(pb.fft.rfft(x, n) * pb.fft.rfft(a[..., 0], n), n)
    return (y**3).sum() + (pb.fft.fft2(a * (1 + 1j)).real ** 2).sum()


FUNCTIONS = [log_likelihood, by_determinant, spectra, factors, convolution]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype, batch", [(np.float64, ()), (np.float32, (2,))])
def test_gradients(function, dtype, batch):
    x, a = random(*batch, 4, dtype=dtype), random(*batch, 4, 4, dtype=dtype, seed=3) + 2 * np.eye(4, dtype=dtype)
    gradient = pb.func.grad(function, argnums=(0, 1))
    made = [pb.compile(lambda *args: gradient(*args), backend=backend)(x, a) for backend in ("llvm", "numpy")]
    for out, wanted in zip(*made, strict=True):
        assert near(out.numpy(), wanted.numpy(), 16 * float(np.abs(wanted.numpy()).max()))


def test_a_likelihood_and_its_gradient_are_one_native_function():
    compiled = pb.compile(lambda *args: pb.func.grad(log_likelihood, argnums=(0, 1))(*args), backend="llvm")
    assert "numpy    none" in str(compiled.explain(random(4), random(4, 4)))


def test_lu_and_its_gradient():
    def f(a):
        _, lower, upper = pb.linalg.lu(a)
        return (lower**2).sum() + (upper**3).sum()

    for shape in [(4, 4), (2, 5, 3), (3, 5)]:
        a = random(*shape)
        made = [pb.compile(lambda a: pb.func.grad(f)(a), backend=backend)(a) for backend in ("llvm", "numpy")]
        assert near(made[0].numpy(), made[1].numpy(), 100.0)


def test_solutions_by_lu_are_native():
    def f(a, x):
        return (pb.linalg.lu_solve(pb.linalg.lu_factor(a), x) ** 2).sum()

    a, x = random(2, 4, 4), random(2, 4, 3)
    gradient = pb.func.grad(f, argnums=(0, 1))
    made = [pb.compile(lambda *args: gradient(*args), backend=backend) for backend in ("llvm", "numpy")]
    for out, wanted in zip(*[each(a, x) for each in made], strict=True):
        assert near(out.numpy(), wanted.numpy(), 100 * float(np.abs(wanted.numpy()).max()))
    assert "numpy    none" in str(made[0].explain(a, x))


def test_exchanges_count_from_both_ends_and_are_checked():
    b = Builder(np.array([[1, -1], [-2, 2]]))
    b.output(b("_linalg_permutation", b.inputs[0], rows=3, dtype=np.dtype(np.float32)))
    made = run(b, same_bits)
    with pytest.raises(IndexError):
        made.flat(np.array([[1, 2], [3, 0]]))


def test_a_long_straight_program_calls_loops_from_a_list():
    b = Builder(positive(3, 3))
    (x,) = b.inputs
    for k in range(40):
        x = b("add", b("_linalg_inv", x, singular="raise"), b("multiply", b.inputs[0], 0.1 * k))
    program: Program = b.output(x)
    made = compile_llvm(program)
    assert len(made.segments) == 1
    assert near(made.flat(b.arrays[b.inputs[0]])[0], b.expected()[0])
