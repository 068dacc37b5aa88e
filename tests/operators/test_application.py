"""Functions applied along axes, over axes, and to every element."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck

X = np.arange(24.0).reshape(2, 3, 4) / 10


def leaf(x):
    return pb.tensor(x, requires_grad=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis_as_numpy_does(axis):
    for ours, theirs in (
        (lambda v: pb.sum(v * v), lambda v: np.sum(v * v)),
        (lambda v: pb.cumsum(v), np.cumsum),
        (lambda v: pb.outer(v, v), lambda v: np.outer(v, v)),
        (lambda v: v[:1], lambda v: v[:1]),
    ):
        np.testing.assert_allclose(pb.apply_along_axis(ours, axis, X), np.apply_along_axis(theirs, axis, X))
    assert gradcheck(lambda x: pb.apply_along_axis(lambda v, p: (v**p).sum(), axis, x, 3), (leaf(X[0]),))


def test_along_an_axis_of_nothing_raises():
    with pytest.raises(ValueError, match="no lines"):
        pb.apply_along_axis(pb.sum, 0, np.zeros((3, 0)))


def test_over_axes_puts_removed_axes_back():
    np.testing.assert_allclose(pb.apply_over_axes(pb.sum, X, (0, -1)), np.apply_over_axes(np.sum, X, (0, -1)))
    np.testing.assert_allclose(pb.apply_over_axes(pb.cumsum, X, 1), np.cumsum(X, 1))
    x = leaf(X)
    pb.apply_over_axes(pb.sum, x, [0, 2]).sum().backward()
    assert (x.grad == 1).all()
    with pytest.raises(ValueError, match="1 axes of 3"):
        pb.apply_over_axes(lambda a, axis: a.ravel(), X, 0)


def test_vectorize_calls_the_function_for_every_element():
    f = pb.vectorize(lambda x, y: x if x > y else x * y)
    x, y = leaf([1.0, 5.0]), leaf([[2.0], [3.0]])
    out = f(x, y)
    assert out.tolist() == [[2.0, 5.0], [3.0, 5.0]]
    out.sum().backward()
    assert x.grad.tolist() == [5.0, 2.0] and y.grad.tolist() == [[1.0], [1.0]]


def test_vectorize_with_several_results_types_and_exclusions():
    low, high = pb.vectorize(lambda x: (x - 1, x + 1))(X)
    np.testing.assert_allclose(low, X - 1)
    np.testing.assert_allclose(high, X + 1)
    assert pb.vectorize(lambda x: 2 * x, otypes=["float32"])([1, 2]).dtype == np.float32
    horner = pb.vectorize(lambda x, p: sum(c * x**k for k, c in enumerate(p)), excluded={1})
    assert horner([1.0, 2.0], [1.0, 2.0, 3.0]).tolist() == [6.0, 17.0]
    named = pb.vectorize(lambda x, p=0: x + p, excluded={"p"})
    assert named([1.0, 2.0], p=1).tolist() == [2.0, 3.0]


def test_vectorize_over_matrices_and_vectors():
    f = pb.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)")
    m, v = leaf(X), leaf([1.0, -1.0, 2.0, 0.5])
    np.testing.assert_allclose(f(m, v).detach(), X @ v.detach().numpy())
    assert gradcheck(f, (m, v))
    with pytest.raises(ValueError, match="lengths 4 and 3"):
        f(X, np.ones(3))
    with pytest.raises(ValueError, match="not a signature"):
        pb.vectorize(lambda x: x, signature="m->m")
    with pytest.raises(TypeError, match="takes 2 arrays"):
        f(X)


def test_vectorize_as_a_decorator():
    @pb.vectorize
    def double(x):
        """Twice."""
        return 2 * x

    @pb.vectorize(otypes=["int64"])
    def whole(x):
        return x

    assert double([1.0, 2.0]).tolist() == [2.0, 4.0] and double.__doc__ == "Twice."
    assert whole([1.5]).tolist() == [1]


def test_vectorize_of_nothing_needs_the_dtypes():
    assert pb.vectorize(lambda x: x, otypes=["float64"])(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="dtypes"):
        pb.vectorize(lambda x: x)(np.zeros(0))
    with pytest.raises(ValueError, match="must return numbers"):
        pb.vectorize(lambda x: [x, x])([1.0])
