"""The largest and smallest elements: who gets the gradient when several are equal."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.derive import push
from pullback.declare.op import registry

NAN = np.nan


def leaf(values):
    return pb.tensor(np.array(values), requires_grad=True)


def gradient_of(function, values):
    x = leaf(values)
    return pb.autograd.grad(function(x).sum(), x)[0].tolist()


@pytest.mark.parametrize("function", [pb.max, pb.amax, pb.Tensor.max, lambda x: pb.amax(x, axis=0)])
def test_without_an_index_equal_elements_share(function):
    assert gradient_of(function, [1.0, 1.0, 0.0]) == [0.5, 0.5, 0.0]


def test_along_one_axis_the_first_of_equal_elements_gets_everything():
    assert gradient_of(lambda x: pb.max(x, axis=0), [1.0, 1.0, 0.0]) == [1.0, 0.0, 0.0]
    assert gradient_of(lambda x: pb.min(x, dim=0), [1.0, 0.0, 0.0]) == [0.0, 1.0, 0.0]
    assert gradient_of(lambda x: x.max(axis=(1,)), [[1.0, 1.0]]) == [[1.0, 0.0]]
    assert gradient_of(lambda x: x.max(axis=(0, 1)), [[1.0, 1.0]]) == [[0.5, 0.5]]


@pytest.mark.parametrize("name", ["amax", "amin"])
@pytest.mark.parametrize("values", [[1.0, 1.0, 2.0, 2.0], [NAN, 1.0, NAN, 3.0]])
def test_both_modes_agree_at_ties_and_nan(name, values):
    op, x, t = registry[name], np.array(values), np.array([1.0, 10.0, 100.0, 1000.0])
    out = op.kernel(x, axis=(0,))
    pushed = push(op, (x,), (t,), out, {"axis": (0,), "keepdims": False})
    assert pushed == np.dot(gradient_of(getattr(pb, name), values), t)


def test_a_result_of_nan_points_at_the_elements_that_are_nan():
    assert gradient_of(pb.amax, [NAN, 1.0, NAN]) == [0.5, 0.0, 0.5]


def test_values_with_indices():
    x = leaf([[1.0, 5.0, 5.0], [7.0, 2.0, 0.0]])
    values, indices = pb.max_with_indices(x, axis=1)
    assert values.tolist() == [5.0, 7.0] and indices.tolist() == [1, 0]
    assert values.requires_grad and not indices.requires_grad and indices.dtype == np.int64
    assert pb.autograd.grad(values.sum(), x)[0].tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    values, indices = x.min_with_indices(dim=0, keepdim=True)
    assert values.tolist() == [[1.0, 2.0, 0.0]] and indices.tolist() == [[0, 1, 1]]


def test_positions():
    x = leaf([[1.0, 5.0], [7.0, 7.0]])
    assert x.argmax().item() == 2 and pb.argmin(x).item() == 0
    assert x.argmax(axis=0).tolist() == [1, 1]
    assert x.argmax(dim=1, keepdim=True).tolist() == [[1], [0]]
    assert x.argmax(keepdims=True).shape == (1, 1)
    assert not x.argmax().requires_grad


def test_nothing_has_no_largest_element():
    with pytest.raises(ValueError):
        pb.max(pb.tensor(np.ones(0)))
    with pytest.raises(ValueError):
        pb.max(pb.tensor(np.ones((0, 2))), axis=0)
    assert pb.max(pb.tensor(np.ones((0, 2))), axis=1).shape == (0,)


def test_the_largest_integer():
    assert pb.max(pb.tensor([1, 3, 2])).item() == 3 and pb.max(pb.tensor([1, 3]), axis=0).dtype == np.int64
