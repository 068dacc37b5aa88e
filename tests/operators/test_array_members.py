"""Members that tensors share with arrays."""

import numpy as np
import pytest

import pullback as pb


def test_flat_reads_in_row_major_order():
    x = pb.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    assert len(x.T.flat) == 6 and [v.item() for v in x.T.flat] == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert x.T.flat[[1, -1]].tolist() == [3.0, 5.0]
    assert np.asarray(x.detach().flat).tolist() == list(range(6)) and x.flat.base is x
    x.T.flat[1:3].sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    assert x.flat.copy().shape == (6,)


@pytest.mark.parametrize(
    "key, values", [(2, 9.0), (slice(None), [1.0, 2.0]), (slice(1, 5), 7.0), ([0, 5, 0], [1.0, 2.0, 3.0]), (..., [4.0])]
)
def test_flat_writes_as_numpys_does(key, values):
    array = np.arange(6.0).reshape(3, 2).T.copy().T
    x = pb.tensor(array.copy())
    x.flat[key] = values
    array.flat[key] = values
    np.testing.assert_array_equal(x, array)


def test_writes_through_flat_are_recorded():
    leaf, v = pb.zeros((2, 2), requires_grad=True), pb.tensor([1.0, 2.0], requires_grad=True)
    x = (leaf * 1).T
    x.flat[pb.tensor([0, 1])] = v * 3
    (x * x).sum().backward()
    assert v.grad.tolist() == [18.0, 36.0]
    x = pb.zeros((2, 2))
    x.flat = [1.0, 2.0]
    assert x.tolist() == [[1.0, 2.0], [1.0, 2.0]] and x._version == 1
    number = pb.tensor(1.0)
    number.flat[0] = 5.0
    assert number.item() == 5.0


def test_fill_returns_nothing_as_in_numpy():
    x = pb.zeros(3)
    assert x.fill(2.0) is None
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_searchsorted_is_a_method():
    x = pb.tensor([1.0, 2.0, 4.0])
    assert x.searchsorted([2.0, 3.0]).tolist() == [1, 2]
    assert x.searchsorted(2.0, "right").item() == 2 and x.searchsorted(2.0, right=True).item() == 2


def test_a_product_is_written_in_place():
    leaf = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = same = leaf * 1
    m = np.array([[0.0, 1.0], [1.0, 0.0]])
    x @= m
    assert x is same and x.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    factor = pb.tensor(m, requires_grad=True)
    x @= factor
    (x * pb.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert leaf.grad.tolist() == [[1.0, 2.0], [3.0, 4.0]] and factor.grad.tolist() == [[14.0, 20.0], [10.0, 14.0]]
    with pytest.raises(ValueError, match="does not fit"):
        x @= np.ones(2)
    with pytest.raises(TypeError):
        x @= "y"
    with pytest.raises(pb.AutogradError):
        leaf @= m


def test_twins_of_put_leave_their_argument_alone():
    x, v = pb.zeros((2, 2)), pb.tensor([5.0], requires_grad=True)
    out = pb.put_copy(x, [3], v)
    assert out.tolist() == [[0.0, 0.0], [0.0, 5.0]] and x.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    out.sum().backward()
    assert v.grad.tolist() == [1.0]
    assert pb.put_copy(out, [3, 3, 0], [1.0, 2.0, 4.0], accumulate=True).tolist() == [[4.0, 0.0], [0.0, 8.0]]
    assert pb.put_along_axis_copy(x, [[1], [0]], 3.0, 1).tolist() == [[0.0, 3.0], [3.0, 0.0]]
    assert pb.put_along_axis_copy(x, [1], 3.0, None).tolist() == [[0.0, 3.0], [0.0, 0.0]]


def test_functions_made_of_several_operators_have_twins_that_write():
    leaf = pb.tensor([-1.0, 0.5, 7.0], requires_grad=True)
    x = leaf * 1
    assert x.clamp_min_(0.0) is x and x.clamp_max_(1.0) is x and x.float_power_(2) is x
    assert x.tolist() == [0.0, 0.25, 1.0]
    x.sum().backward()
    assert leaf.grad.tolist() == [0.0, 1.0, 0.0]
    assert pb.tensor([0.0, 6.0]).unwrap_().tolist() == [0.0, 6.0 - 2 * np.pi]
    for twin in (pb.nn.rrelu_, pb.nn.squareplus_, pb.nn.dropout_, pb.nn.alpha_dropout_):
        y = pb.tensor([-2.0, 3.0])
        assert twin(y) is y and y._version == 1
    assert pb.nn.prelu_(pb.tensor([-2.0, 3.0]), pb.tensor(0.5)).tolist() == [-1.0, 3.0]
    y = pb.tensor([1.0])
    assert pb.nn.dropout_(y, training=False) is y and y._version == 0


def test_contiguous_is_what_numpy_calls_so():
    x = pb.ones((2, 3, 4))
    for y in (x, x.mT, pb.permute_dims(x, (2, 1, 0)), x[:, ::2], x[:1, :1, ::3], x[:0, ::2], pb.tensor(1.0)):
        flags = y.numpy().flags
        assert y.is_contiguous() is flags.c_contiguous and y.is_contiguous("F") is flags.f_contiguous
        assert y.contiguous().is_contiguous()
    with pytest.raises(ValueError, match="order"):
        x.is_contiguous("K")


def test_logit_in_place_takes_eps():
    x = pb.tensor([0.1, 0.5, 0.95], requires_grad=True)
    y = x * 1
    assert y.logit_(0.2) is y
    assert y.tolist() == x.detach().logit(0.2).tolist()
    (slope,) = pb.autograd.grad(y.sum(), x)
    assert slope.tolist() == [0.0, 4.0, 0.0]
