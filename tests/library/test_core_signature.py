"""vmap from a core signature: the axes of the map are further axes in front of the kernel's own."""

import itertools
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.errors import PerformanceWarning
from pullback.func import grad, jacfwd, jacrev, jvp, vmap
from pullback.library import custom_op, opcheck, primitive
from pullback.testing import assert_close

_count = itertools.count()


def name():
    return f"core::op{next(_count)}"


def solver():
    runs = []

    def f(a: np.ndarray, b: np.ndarray, transposed: bool = False) -> np.ndarray:
        runs.append((a.shape, b.shape))
        a = np.swapaxes(a, -1, -2) if transposed else a
        return np.linalg.solve(a, b[..., None])[..., 0]

    made = custom_op(name(), f, mutates_args=())
    made.register_vmap("(n,n),(n) -> (n)")

    def setup(ctx, inputs, output):
        a, _, ctx.transposed = inputs
        ctx.save_for_backward(a, output)

    def backward(ctx, g):
        a, x = ctx.saved_tensors
        back = made(a, g, not ctx.transposed)
        left, right = (x, back) if ctx.transposed else (back, x)
        return -left[..., :, None] * right[..., None, :], back, None

    made.register_autograd(backward, setup_context=setup)
    made.runs = runs
    return made


rng = np.random.default_rng(0)
A = pb.tensor(rng.standard_normal((4, 3, 3)) + 3 * np.eye(3))
B = pb.tensor(rng.standard_normal((4, 3)))


@pytest.fixture(autouse=True)
def no_loops():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerformanceWarning)
        yield


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (2, 1)])
def test_one_run_serves_all_examples(in_dims):
    solve = solver()
    a = A[0] if in_dims[0] is None else pb.moveaxis(A, 0, in_dims[0])
    b = B[0] if in_dims[1] is None else pb.moveaxis(B, 0, in_dims[1])
    found = vmap(solve, in_dims=in_dims)(a, b)
    assert len(solve.runs) == 1
    for k in range(4):
        expected = np.linalg.solve(A[0 if in_dims[0] is None else k].numpy(), B[0 if in_dims[1] is None else k].numpy())
        assert_close(found[k], pb.tensor(expected))


def test_axes_that_the_kernel_broadcasts_itself_stay_behind_those_of_the_map():
    solve = solver()
    many = pb.tensor(rng.standard_normal((4, 5, 3)))
    found = vmap(solve)(A, many)
    assert found.shape == (4, 5, 3)
    assert_close(found[2], solve(A[2], many[2]))


def test_nested_maps_are_one_run():
    solve = solver()
    found = vmap(lambda a: vmap(lambda b: solve(a, b))(B))(A)
    assert solve.runs == [((4, 1, 3, 3), (1, 4, 3))]
    assert_close(found[1, 2], solve(A[1], B[2]))


def test_derivatives_of_maps_are_those_of_loops():
    solve = solver()
    found = vmap(grad(lambda a, b: solve(a, b).sum(), argnums=(0, 1)))(A, B)
    one = [grad(lambda a, b: solve(a, b).sum(), argnums=(0, 1))(A[k], B[k]) for k in range(4)]
    assert_close(found[0], pb.stack([each[0] for each in one]))
    assert_close(found[1], pb.stack([each[1] for each in one]))
    total = grad(lambda a: vmap(solve)(a, B).sum())(A)
    assert_close(total, found[0])
    assert_close(jacrev(solve)(A[0], B[0]), jacfwd(solve)(A[0], B[0]))
    assert jvp(vmap(solve), (A, B), (A, B))[1].abs().max() < 1e-12


def test_opcheck_compares_the_signature_with_a_loop():
    solve = solver()
    args = (A[0].detach().requires_grad_(), B[0].detach().requires_grad_())
    assert opcheck(solve, args, test_utils="test_vmap") == {"test_vmap": "SUCCESS"}


def test_a_batch_of_length_0():
    assert vmap(solver())(A[:0], B[:0]).shape == (0, 3)


def test_primitives_and_results_of_other_sizes():
    @primitive(name=name())
    def spectrum(a):
        values, vectors = np.linalg.eigh(a)
        return values, vectors

    spectrum.register_vmap("(n,n)->(n),(n,n)")
    values, vectors = vmap(spectrum)(A + pb.swapaxes(A, -1, -2))
    assert values.shape == (4, 3) and vectors.shape == (4, 3, 3)

    @primitive(name=name())
    def pairs(x):
        return np.concatenate([x, x], -1)

    pairs.register_vmap("(n)->(m)")
    assert vmap(pairs)(B).shape == (4, 6)


def test_a_gufunc_of_numpy_brings_its_signature():
    dot = custom_op(name(), np.vecdot, schema="(Tensor x, Tensor y) -> Tensor", mutates_args=())
    assert "batch" in dot.locations
    assert_close(vmap(dot, in_dims=(0, None))(B, B[0]), B @ B[0])
    product = custom_op(name(), np.matmul, schema="(Tensor x, Tensor y) -> Tensor", mutates_args=())
    assert "batch" not in product.locations  # its axes are optional, so what is in front depends on the call


def test_a_kernel_that_does_not_broadcast_is_found_out():
    def f(x: np.ndarray) -> np.ndarray:
        return np.atleast_1d(x.sum())

    total = custom_op(name(), f, mutates_args=())
    total.register_vmap("(n)->(1)")
    with pytest.raises(RuntimeError, match=r"core signature \(n\)->\(1\)(.|\n)*test_core_signature"):
        vmap(total)(B)


def test_operands_must_fit():
    solve = solver()
    with pytest.raises(ValueError, match="has 4 where n is 3"):
        vmap(solve, in_dims=(0, None))(A, pb.ones(4))
    with pytest.raises(ValueError, match="fewer axes"):
        vmap(solve, in_dims=(0, None))(A, pb.tensor(1.0))
    cross = primitive(lambda x, y: np.cross(x, y), name=name())
    cross.register_vmap("(3),(3)->(3)")
    with pytest.raises(ValueError, match="has 2 where 3 is 3"):
        vmap(cross)(pb.ones((4, 2)), pb.ones((4, 2)))
    with pytest.raises(RuntimeError, match="called with 1 arrays"):
        vmap(lambda x: cross(x, 2.0))(pb.ones((4, 3)))


@pytest.mark.parametrize("text", ["(n->(n)", "n->n", "(n),(n)->", "->", "(n)->(n)->(n)", "(n?)->(n?)"])
def test_signatures_that_are_none(text):
    with pytest.raises(ValueError, match="not a core signature"):
        primitive(lambda x: x, name=name()).register_vmap(text)


def test_signatures_must_match_the_schema():
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray: ...

    def of_list(x: list[pb.Tensor]) -> pb.Tensor: ...

    def writes(x: np.ndarray) -> None: ...

    with pytest.raises(ValueError, match="has 1 arguments"):
        custom_op(name(), f, mutates_args=()).register_vmap("(n)->(n)")
    with pytest.raises(ValueError, match="single Tensors"):
        custom_op(name(), of_list, mutates_args=()).register_vmap("(n)->(n)")
    with pytest.raises(ValueError, match="neither writes"):
        custom_op(name(), writes, mutates_args=("x",)).register_vmap("(n)->(n)")


def test_an_optional_argument_may_be_missing():
    def f(x: np.ndarray, shift: pb.Tensor | None = None) -> np.ndarray:
        return x * 2 if shift is None else x + shift.numpy()

    made = custom_op(name(), f, mutates_args=())
    made.register_vmap("(n),(n)->(n)")
    assert_close(vmap(made)(B), 2 * B)
    assert_close(vmap(made)(B, B), 2 * B)


def test_a_callback_in_two_maps():
    def f(x, y):
        return pb.library.pure_callback(np.add, pb.ShapeDtype(()), x, y, vmap_method="expand_dims")

    found = vmap(lambda x: vmap(lambda y: f(x, y))(pb.arange(3.0)))(pb.arange(2.0))
    assert_close(found, pb.tensor([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
