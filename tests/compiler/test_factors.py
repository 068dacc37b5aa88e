"""One elimination for all that is asked of a matrix gives what each of the questions gives alone."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.items.factors import share_factors

SIDE = 12


def matrix(seed=0):
    return np.random.default_rng(seed).standard_normal((SIDE, SIDE))


def steps(a, b):
    for _ in range(4):
        b = pb.linalg.solve(a, b) + 0.1 * pb.sin(b)
    return (b * b).sum()


def likelihood(a, b):
    spread = a @ a.T + pb.asarray(np.eye(SIDE))
    return 0.5 * b @ pb.linalg.solve(spread, b) + 0.5 * pb.linalg.slogdet(spread)[1]


def both_ways(a, b):
    return pb.linalg.solve(a, b) @ pb.linalg.solve(a.T, b * 2) * pb.linalg.slogdet(a.T)[0]


def inverse_beside(a, b):
    sides = pb.stack([b, b * 2], 1)
    return (pb.linalg.inv(a) @ sides).sum() + pb.linalg.slogdet(a)[1] + (pb.linalg.inv(a.T) @ b)[0]


def of_a_transpose(a, b):
    turned = a.T
    return pb.linalg.solve(turned, b).sum() + (pb.linalg.inv(turned) * a).sum() + pb.linalg.slogdet(turned)[1]


def batches(a, b):
    sides = pb.stack([b, b * b, pb.sin(b)])
    first = pb.func.vmap(pb.linalg.solve, in_axes=(None, 0))(a, sides)
    second = pb.func.vmap(lambda side: pb.linalg.solve(a.T, side))(first)
    return (second * sides).sum()


def second_derivatives(a, b):
    scaled = lambda s: 0.5 * b @ pb.linalg.solve(a * s[0] + 3 * s[1] * np.eye(SIDE), b * s[2])
    return pb.func.hessian(scaled)(pb.asarray(np.ones(3)))[0].sum()


PROGRAMS = [batches, second_derivatives, steps, likelihood, both_ways, inverse_beside, of_a_transpose]


def gradients(function, arrays):
    leaves = [pb.tensor(each, requires_grad=True) for each in arrays]
    value = function(*leaves)
    return [value.detach().numpy(), *[g.numpy() for g in pb.autograd.grad(value, leaves)]]


def as_a_whole(function, arrays):
    both = pb.compile(pb.func.grad_and_value(function, (0, 1)), fallback="raise", backend="llvm")
    found, value = both(*map(pb.asarray, arrays))
    return [value.numpy(), *[g.numpy() for g in found]]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("order", "CF")
def test_values_and_gradients_are_those_of_each_question_alone(program, order):
    arrays = [np.asarray(matrix(), order=order), np.linspace(0.5, 1.5, SIDE)]
    expected = gradients(program, arrays)
    for found in (
        as_a_whole(program, arrays), gradients(pb.compile(program, fallback="raise", backend="llvm"), arrays),
    ):  # fmt: skip
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("seed", range(6))
def test_signs_of_determinants_count_the_exchanges(seed):
    def function(a):
        return pb.linalg.slogdet(a)[0] * 1, pb.linalg.slogdet(a)[1] + pb.linalg.inv(a)[0, 0]

    a = matrix(seed)
    sign, rest = pb.compile(function, fallback="raise", backend="llvm")(pb.asarray(a))
    expected, logarithm = np.linalg.slogdet(a)
    assert sign.numpy() == expected
    np.testing.assert_allclose(rest.numpy(), logarithm + np.linalg.inv(a)[0, 0])


def singular():
    a = matrix()
    a[:, 3] = 0
    return a


def test_a_singular_matrix_raises_what_numpy_says():
    compiled = pb.compile(lambda a, b: pb.linalg.solve(a, b) + pb.linalg.solve(a, b * 2), backend="llvm")
    b = pb.asarray(np.ones(SIDE))
    compiled(pb.asarray(matrix()), b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        compiled(pb.asarray(singular()), b)


def test_gradients_at_a_singular_matrix_are_nan_as_in_eager_code():
    def function(a, b):
        return pb.linalg.slogdet(a)[1] * b[0]

    arrays = [singular(), np.ones(SIDE)]
    both = lambda a, b: pb.func.grad(function)(a, b) + pb.linalg.slogdet(a)[0]
    found = pb.compile(both, fallback="raise", backend="llvm")(*map(pb.asarray, arrays)).numpy()
    assert np.isnan(found).all()
    assert np.isnan(both(*map(pb.asarray, arrays)).numpy()).all()


def ops(function, *arrays):
    leaves = [pb.tensor(each, requires_grad=True) for each in arrays]
    return [node.op for node in share_factors(pb.aot.joint_graph(function, *leaves).graph).nodes]


def test_a_matrix_is_factored_once():
    found = ops(steps, matrix(), np.ones(SIDE))
    assert found.count("_linalg_lu") == 1
    assert "_linalg_solve" not in found


def test_a_batch_of_right_sides_has_one_elimination():
    found = ops(lambda a, b: pb.func.vmap(lambda s: pb.linalg.solve(a, b * s).sum())(b).sum(), matrix(), np.ones(SIDE))
    assert found.count("_linalg_lu") == 1
    assert "_linalg_solve" not in found


def test_second_derivatives_have_one_elimination():
    def function(a, b):
        scaled = lambda s: (b * pb.linalg.solve(a + s[0] * s[1] * np.eye(SIDE), b * s[2])).sum()
        return pb.func.hessian(scaled)(pb.asarray(np.ones(3))).sum()

    found = ops(lambda a, b: function(a, b).detach() * b.sum(), matrix(), np.ones(SIDE))
    assert found.count("_linalg_lu") == 1
    assert "_linalg_solve" not in found


def test_one_question_small_matrices_and_several_matrices_are_left_alone():
    one = lambda a, b: pb.linalg.solve(a, b).sum().detach() * b.sum()
    assert "_linalg_lu" not in ops(one, matrix(), np.ones(SIDE))
    assert "_linalg_lu" not in ops(steps, matrix()[:3, :3], np.ones(3))
    several = lambda a, b: pb.linalg.inv(a).sum() * pb.linalg.slogdet(a)[1].sum() * b.sum()
    assert "_linalg_lu" not in ops(several, np.stack([matrix(), matrix(1)]), np.ones(2))
