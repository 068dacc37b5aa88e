"""The namespace `pb.linalg`: what the array API standard asks of it, and what it takes from elsewhere."""

import inspect

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

STANDARD = {
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
}  # fmt: skip


def test_every_function_of_the_standard_is_there():
    assert set(pb.linalg.__all__) >= STANDARD
    assert all(callable(getattr(pb.linalg, name)) for name in STANDARD)


@pytest.mark.parametrize("name", sorted(STANDARD - {"matrix_transpose"}))
def test_array_arguments_are_positional_only(name):
    first = next(iter(inspect.signature(getattr(pb.linalg, name)).parameters.values()))
    assert first.kind is inspect.Parameter.POSITIONAL_ONLY


def test_products_act_on_the_last_axes():
    random = np.random.default_rng(3)
    x, y = random.normal(size=(2, 3, 3)), random.normal(size=(2, 3, 3))
    assert_close(pb.linalg.matmul(x, y), x @ y)
    assert_close(pb.linalg.trace(x, offset=1), np.linalg.trace(x, offset=1))
    assert_close(pb.linalg.diagonal(x, offset=-1), np.linalg.diagonal(x, offset=-1))
    assert_close(pb.linalg.cross(x, y), np.linalg.cross(x, y))
    assert_close(pb.linalg.cross(x, y, axis=1), np.linalg.cross(x, y, axis=1))
    assert_close(pb.linalg.vecdot(x, y), np.linalg.vecdot(x, y))
    assert_close(pb.linalg.tensordot(x, y[0], axes=1), np.linalg.tensordot(x, y[0], axes=1))
    assert_close(pb.linalg.matrix_transpose(x), np.linalg.matrix_transpose(x))
    assert_close(pb.linalg.outer(x[0, 0], y[0, 0]), np.outer(x[0, 0], y[0, 0]))


def test_outer_takes_vectors_only():
    with pytest.raises(ValueError, match="vectors"):
        pb.linalg.outer(np.eye(2), np.ones(2))


def test_a_diagonal_is_a_view_and_its_trace_has_the_gradient_one():
    x = pb.tensor(np.ones((2, 2, 2)), requires_grad=True)
    assert pb.linalg.diagonal(x)._is_view()
    assert gradcheck(pb.linalg.trace, (x,))


@pytest.mark.parametrize("name", ["det", "inv", "eigvalsh", "svdvals", "cholesky"])
def test_integers_give_float64_and_single_precision_stays(name):
    function = getattr(pb.linalg, name)
    assert function(np.eye(2, dtype=int)).dtype == np.float64
    x = pb.tensor(np.eye(2, dtype=np.float32), requires_grad=True)
    out = function(x)
    assert out.dtype == np.float32
    out.sum().backward()
    assert x.grad.dtype == np.float32


def test_nodes_are_named_after_the_function():
    x = pb.tensor(np.eye(2), requires_grad=True)
    assert pb.linalg.det(x).grad_fn.name() == "LinalgDetBackward0"
    assert pb.linalg.svdvals(x).grad_fn.name() == "LinalgSvdvalsBackward0"
    assert pb.linalg.solve(x, x).grad_fn.name() == "LinalgSolveBackward0"


ONE_MATRIX = (
    "cholesky", "cholesky_ex", "cholesky_inverse", "cond", "det", "eigh", "eigvalsh", "inv", "inv_ex", "logdet", "lu",
    "lu_factor", "matrix_exp", "matrix_norm", "matrix_sqrth", "norm", "pinv", "polar", "qr", "slogdet", "svd",
    "svdvals", "trace", "vector_norm",
)  # fmt: skip


@pytest.mark.parametrize("name", ONE_MATRIX)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_single_precision_gives_single_precision_and_arrays_give_tensors(name, dtype):
    out = getattr(pb.linalg, name)(np.eye(3, dtype=dtype) * 2)
    for part in out if isinstance(out, tuple) else (out,):
        assert isinstance(part, pb.Tensor)
        assert part.dtype.kind == "i" or part.dtype in (np.float32, dtype)


def test_functions_of_several_arrays_give_tensors():
    a, b = np.eye(2, dtype=np.float32), np.ones(2, dtype=np.float32)
    results = [
        pb.linalg.solve(a, b), pb.linalg.solve_triangular(a, b, upper=True), pb.linalg.cholesky_solve(b, a),
        pb.linalg.cho_solve((a, True), b), pb.linalg.lu_solve((a, np.arange(2)), b), pb.linalg.multi_dot([a, b]),
        pb.linalg.lstsq(a, b).solution, pb.linalg.solve_ex(a, b).result,
    ]  # fmt: skip
    for result in results:
        assert isinstance(result, pb.Tensor) and result.dtype == np.float32
        assert_close(result, b)
