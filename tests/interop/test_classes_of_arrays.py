"""Arrays whose class says more than their numbers do: what would be lost beside a tensor is refused."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


def written(x, m):
    y = x * 1
    y[:] = m
    return y


OPERATIONS = {
    "x + m": lambda x, m: x + m,
    "np.multiply": lambda x, m: np.multiply(x, m),
    "pb.where": lambda x, m: pb.where(m > 1, x, 0.0),
    "pb.concat": lambda x, m: pb.concat([x, m]),
    "x[:] = m": written,
    "pb.tensor": lambda x, m: x + pb.tensor(m),
    "pb.asarray": lambda x, m: x + pb.asarray(m),
    "pb.average": lambda x, m: pb.average(x, weights=m),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("transform", [lambda f: f, pb.func.grad, pb.compile, lambda f: pb.func.grad(pb.func.adapt(f))])
def test_masked_elements_are_refused(name, transform):
    with pytest.raises(TypeError, match="masked elements"):
        transform(lambda x: OPERATIONS[name](x, MASKED).sum())(pb.ones(3))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_masked_array_without_masked_elements_is_an_array(name):
    bare = np.ma.masked_array([1.0, 2.0, 3.0])
    assert_close(OPERATIONS[name](pb.ones(3), bare), OPERATIONS[name](pb.ones(3), bare.data))


@pytest.mark.parametrize("product", [lambda m, x: m * x, lambda m, x: x * m, lambda m, x: m @ x, lambda m, x: m + x])
def test_a_matrix_beside_a_tensor_is_refused(product):
    """`*` of np.matrix is a matrix product."""
    m = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match=r"np\.matrix of shape \[2, 2\]"):
        product(m, pb.ones((2, 2), requires_grad=True))
    assert_close(pb.tensor(m), np.asarray(m))
