"""Calls on small arrays that are made often, and their formulas: native code against NumPy's kernels and rules.

All samples of all operators are made native in tests/compiler/test_llvm_samples.py; here are calls as users make them,
and what must be left to NumPy.
"""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pullback as pb
from pullback.core.spec import spec_for
from pullback.eager import large, small, traced_calls

ROWS = (5, 7)
SYMMETRIC = np.cov(np.random.default_rng(0).standard_normal((4, 30))) + 4 * np.eye(4)
LABELS = np.array([0, 3, 6, 1, 1])
n, l = pb.nn, pb.linalg
PROGRAMS = {
    "softmax": (lambda x: pb.softmax(x, axis=-1), ROWS),
    "softmax of columns": (lambda x: pb.softmax(x, axis=0), ROWS),
    "log_softmax": (lambda x: pb.log_softmax(x, axis=-1), ROWS),
    "logsumexp": (lambda x: pb.logsumexp(x, axis=-1), ROWS),
    "cross_entropy": (lambda x: n.cross_entropy(x, LABELS), ROWS),
    "layer_norm": (lambda x, w, b: n.layer_norm(x, (7,), w, b), ROWS, (7,), (7,)),
    "rms_norm": (lambda x, w: n.rms_norm(x, (7,), w), ROWS, (7,)),
    "std": (lambda x: pb.std(x, axis=1, correction=1), ROWS),
    "var": (lambda x: pb.var(x, axis=0), ROWS),
    "cumsum": (lambda x: pb.cumsum(x, axis=1), ROWS),
    "cumprod": (lambda x: pb.cumprod(x, axis=0), ROWS),
    "prod": (lambda x: pb.prod(x, axis=1), ROWS),
    "amax": (lambda x: pb.amax(x, axis=1), ROWS),
    "values of max": (lambda x: pb.max_with_indices(x, axis=0)[0], ROWS),
    "norm": (lambda x: l.norm(x), (9,)),
    "einsum": (lambda x, y: pb.einsum("ij,kj->ik", x, y), ROWS, ROWS),
    "sort": (lambda x: pb.sort(x), (9,)),
    "tril": (lambda x: pb.tril(x), ROWS),
    "cholesky": (lambda a: l.cholesky(a), SYMMETRIC),
    "inv": (lambda a: l.inv(a), SYMMETRIC),
    "solve": (lambda a, b: l.solve(a, b), SYMMETRIC, (4,)),
    "eigenvalues": (lambda a: l.eigh(a)[0], SYMMETRIC),
    "eigenpairs": (lambda a: l.eigh(a)[0].sum() + (l.eigh(a)[1] ** 2 * a).sum(), SYMMETRIC),
    "attention": (lambda q, k, v: pb.softmax(q @ k.T, -1) @ v, ROWS, ROWS, ROWS),
}


@pytest.fixture(autouse=True)
def native_soon(monkeypatch):
    """Native code from the third call on, whatever it costs or gains."""
    monkeypatch.setattr(large, "IMPORT_SECONDS", 0.0)
    monkeypatch.setattr(small, "CALLS", 2)
    monkeypatch.setattr(small, "_WORTH", float("inf"))
    monkeypatch.setattr(traced_calls, "_GOOD", 0)
    before = large.set_native_eager(True)
    forget()
    yield
    large.set_native_eager(before)
    forget()


def forget():
    """What was counted with other numbers in force."""
    for shape in (ROWS, (7,), (9,), (4, 4), (4,), (), (5,), (5, 5)):
        for dtype in (np.float32, np.float64, np.int64, np.bool_):
            spec_for(shape, np.dtype(dtype)).known.clear()
    small._all.clear()
    for tally in small.tallies:
        tally.left = 1


def arrays_of(name, dtype=np.float64):
    rng = np.random.default_rng(5)
    return [(each if type(each) is np.ndarray else rng.uniform(0.5, 1.5, each)).astype(dtype)
            for each in PROGRAMS[name][1:]]  # fmt: skip


def run(f, arrays, keep=False):
    leaves = [pb.tensor(x, requires_grad=True) for x in arrays]
    out = f(*leaves)
    seed = pb.tensor(np.random.default_rng(9).standard_normal(out.shape).astype(out.dtype))
    out.backward(seed, retain_graph=keep)
    if keep:
        out.backward(seed)
    return [out.detach().numpy(), *[x.grad.numpy() for x in leaves]]


def both(f, arrays, keep=False):
    """With NumPy alone, and with native code, which all later runs have."""
    large.set_native_eager(False)
    expected = run(f, arrays, keep)
    large.set_native_eager(True)
    for _ in range(6):
        run(f, arrays)
    return run(f, arrays, keep), expected


def close(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape, mine.flags.c_contiguous) == (
            theirs.dtype, theirs.shape, theirs.flags.c_contiguous
        )  # fmt: skip
        tolerance = 1e-4 if mine.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


def used():
    """How many kinds of calls are native."""
    return sum(kind.function is not None for kind in small._all)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_numpy(name, dtype):
    close(*both(PROGRAMS[name][0], arrays_of(name, dtype)))
    assert used(), name


def test_operands_that_are_no_arrays_are_for_numpy():
    close(*both(lambda x: n.layer_norm(x, (7,)), arrays_of("softmax")))
    close(*both(lambda x: pb.clip(x, 0.7, 1.2), arrays_of("softmax")))


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "solve", "eigenpairs"])
def test_a_graph_that_is_kept_gives_the_same_again(name):
    close(*both(PROGRAMS[name][0], arrays_of(name), keep=True))


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "std", "cumsum", "amax", "layer_norm"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -0.0])
def test_what_is_not_finite_is_what_numpy_makes_of_it(name, value):
    f, arrays = PROGRAMS[name][0], arrays_of(name)
    both(f, arrays)
    arrays[0][2, 3] = value
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(*both(f, arrays))


def test_numpy_complains_as_always():
    both(lambda x: pb.var(x, axis=1), arrays_of("var"))
    with pytest.warns(RuntimeWarning, match="overflow"):
        pb.var(pb.tensor(np.full(ROWS, [1e200, -1e200, 0, 0, 0, 0, 0])), axis=1)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        pb.var(pb.tensor(np.full(ROWS, [1e200, -1e200, 0, 0, 0, 0, 0])), axis=1)


def test_a_singular_matrix_is_an_error():
    both(PROGRAMS["inv"][0], arrays_of("inv"))
    with pytest.raises(np.linalg.LinAlgError):
        l.inv(pb.zeros(4, 4, dtype=pb.float64))


def test_arrays_that_lie_otherwise_are_computed_by_numpy():
    f, (x,) = PROGRAMS["softmax"][0], arrays_of("softmax")
    both(f, [x])
    leaf = pb.tensor(np.ascontiguousarray(x.T), requires_grad=True)
    out = f(leaf.T)
    out.backward(pb.ones(*ROWS, dtype=pb.float64) * pb.tensor(x))
    expected = run(f, [x])[0]
    np.testing.assert_allclose(out.detach(), expected, rtol=1e-12)
    rows = expected * (x - (x * expected).sum(-1, keepdims=True))
    np.testing.assert_allclose(leaf.grad, rows.T, rtol=1e-10)


def test_saved_values_that_were_overwritten_are_those_of_the_call():
    def f(x):
        y = x * 1.0
        z = pb.logsumexp(y, axis=-1)
        p = pb.softmax(y, axis=-1)
        q = p * 1.0
        y *= 3.0
        p += 1.0
        return z.sum() + (q * q).sum() + (p * y).sum()

    close(*both(f, arrays_of("softmax")))


def test_gradients_of_gradients_go_the_general_way():
    f, arrays = PROGRAMS["softmax"][0], arrays_of("softmax")
    both(f, arrays)
    x = pb.tensor(arrays[0], requires_grad=True)
    (first,) = pb.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
    (second,) = pb.autograd.grad((first**2).sum(), x)
    other = pb.func.grad(lambda t: (pb.func.grad(lambda u: (f(u) ** 2).sum())(t) ** 2).sum())(x.detach())
    np.testing.assert_allclose(second, other, rtol=1e-10, atol=1e-14)


def test_an_operand_whose_gradient_nobody_wants():
    f, arrays = PROGRAMS["solve"][0], arrays_of("solve")
    both(f, arrays)
    for wanted in (0, 1):
        leaves = [pb.tensor(x, requires_grad=k == wanted) for k, x in enumerate(arrays)]
        found = [pb.autograd.grad(f(*leaves).sum(), leaves[wanted])[0].numpy() for _ in range(5)]
        np.testing.assert_allclose(found[-1], found[0], rtol=1e-12)


def test_parameters_tell_kinds_apart():
    x = arrays_of("var")[0]
    for _ in range(5):
        for correction in (0, 1, 1.0, True, 2.5):
            found = pb.var(pb.tensor(x, requires_grad=True), axis=1, correction=correction)
            np.testing.assert_allclose(found.detach(), x.var(axis=1, ddof=correction), rtol=1e-12)


def test_zeros_of_both_signs_are_no_kind():
    x = pb.tensor(arrays_of("tril")[0], requires_grad=True)
    for value in (0.0, -0.0) * 5:
        edge = pb.pad(x, 1, constant_values=value).detach().numpy()[0]
        assert (np.signbit(edge) == np.signbit(value)).all()


def test_the_switch():
    f, arrays = PROGRAMS["softmax"][0], arrays_of("softmax")
    both(f, arrays)
    assert used()
    large.set_native_eager(False)
    assert not used()
    large.set_native_eager(True)
    assert used()


def test_where_the_unusual_is_usual_numpy_takes_over():
    x = arrays_of("var")[0]
    both(lambda x: pb.var(x, axis=1), [x])
    kinds = used()
    for _ in range(3):
        pb.var(pb.tensor(np.full(ROWS, np.nan)), axis=1)
    assert used() == kinds - 1


def test_an_operator_without_a_native_form_is_not_asked_again():
    for _ in range(6):
        pb.argsort(pb.tensor(arrays_of("sort")[0]))
    assert float("inf") in [tally.left for tally in small.tallies]


def test_without_a_compiler_nothing_is_made(monkeypatch):
    monkeypatch.setattr(large.state, "failed", True)
    f, arrays = PROGRAMS["softmax"][0], arrays_of("softmax")
    close(*both(f, arrays))
    assert not used()


def test_what_is_found_once_is_pickled_as_a_dictionary():
    x = pb.tensor(arrays_of("softmax")[0], requires_grad=True)
    params = pb.softmax(x, axis=-1).grad_fn.params
    assert type(params) is small.Settings
    again = pickle.loads(pickle.dumps(params))
    assert type(again) is dict and again == params
