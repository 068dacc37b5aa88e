"""Methods that change how a tensor looks at its memory."""

import copy

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.testing import assert_close


def interior(values):
    x = pb.tensor(values, requires_grad=True)
    return x, x * 1


def test_each_changes_the_shape_and_counts_one_write():
    x = pb.arange(6.0).reshape(1, 2, 3).copy()
    for change, shape in (
        (lambda: x.swapaxes_(0, 2), (3, 2, 1)),
        (lambda: x.squeeze_(), (3, 2)),
        (lambda: x.t_(), (2, 3)),
        (lambda: x.unsqueeze_(1), (2, 1, 3)),
        (lambda: x.transpose_(2, 0, 1), (3, 2, 1)),
    ):
        version = x._version
        assert change() is x
        assert x.shape == shape and x._version == version + 1
    assert x[:, :, 0].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, -2), (0, -1)])
def test_transpose_in_place_exchanges_the_two_axes_that_it_is_given(axes):
    x = pb.arange(6.0).reshape(2, 3).copy()
    assert x.transpose_(*axes).shape == (3, 2)
    y = pb.zeros((2, 3, 4))
    assert y.transpose_(*axes).shape == y.new_zeros((2, 3, 4)).swapaxes(*axes).shape


def test_values_saved_before_stay_good():
    x, y = interior([[1.0, 2.0, 3.0]])
    square = y * y
    y.t_()
    assert_close(pb.autograd.grad(square.sum(), x)[0], [[2.0, 4.0, 6.0]])


def test_views_taken_before_still_find_their_elements():
    x, b = interior([[1.0, 2.0], [3.0, 4.0]])
    row = b[0]
    b.t_()
    b.mul_(pb.tensor([[1.0, 10.0], [100.0, 1000.0]]))
    assert row.tolist() == [1.0, 200.0]
    assert_close(pb.autograd.grad(row.sum(), x, retain_graph=True)[0], [[1.0, 100.0], [0.0, 0.0]])
    assert_close(pb.autograd.grad(b.sum(), x)[0], [[1.0, 100.0], [10.0, 1000.0]])


def test_a_write_to_an_earlier_view_reaches_the_changed_tensor():
    x, b = interior([[1.0, 2.0], [3.0, 4.0]])
    row = b[0]
    b.t_()
    row.mul_(5)
    assert b.tolist() == [[5.0, 3.0], [10.0, 4.0]]
    weight = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(pb.autograd.grad((b * weight).sum(), x)[0], [[5.0, 15.0], [2.0, 4.0]])


def test_views_of_constants_also_follow():
    b = pb.zeros((2, 3))
    row = b[0]
    b.t_()
    s = pb.tensor(2.0, requires_grad=True)
    b[0] = s
    assert row.tolist() == [2.0, 0.0, 0.0]
    assert pb.autograd.grad(row.sum(), s)[0].item() == 1.0


def test_views_of_a_leaf_find_their_way_to_its_gradient():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    row = x[0]
    with pb.no_grad():
        x.t_()
    (row * pb.tensor([5.0, 6.0])).sum().backward()
    assert_close(x.grad, [[5.0, 0.0], [6.0, 0.0]])


def test_a_leaf_with_views_is_not_changed_under_them_if_there_is_no_way_back():
    x = pb.tensor([[1.0, 2.0]], requires_grad=True)
    row = x[0]
    with pb.no_grad(), pytest.raises(ValueError, match="views"):
        x.as_strided_((1,), (1,))
    assert x.shape == (1, 2) and row.shape == (2,)


CHANGES = {
    "t_": lambda x: x.t_(),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(),
    "several": lambda x: x.t_().unsqueeze_(2).permute_(2, 0, 1),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


@changes
def test_a_tensor_with_views_is_no_view_afterwards(change):
    for x in (pb.ones((2, 3)), interior([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])[1]):
        row = x[0]
        change(x)
        assert not x._is_view() and row._base is x
        x.detach_()
        assert copy.deepcopy(x).shape == x.shape


@changes
def test_a_gradient_from_before_is_refused_by_a_leaf_of_another_shape(change):
    x = pb.ones((2, 3), requires_grad=True)
    y = (x * 2).sum()
    with pb.no_grad():
        change(x)
    if x.shape != (2, 3):
        with pytest.raises(pb.AutogradError) as caught:
            y.backward()
        assert caught.value.code == "GRAD_SHAPE" and x.grad is None


TANGENT = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
dual_kinds = pytest.mark.parametrize("computed", [False, True], ids=["dual", "computed"])


@dual_kinds
@changes
def test_tangents_are_looked_at_in_the_same_way(change, computed):
    with dual_level():
        x = make_dual(pb.ones((2, 3)), pb.tensor(TANGENT))
        x = x * 1 if computed else x
        row = x[0]
        change(x)
        assert_close(unpack_dual(x).tangent, change(pb.tensor(TANGENT)))
        assert_close(unpack_dual(row).tangent, TANGENT[0])
        row.mul_(2)
        assert_close(unpack_dual(x).tangent, change(pb.tensor([[2.0, 4.0, 6.0], TANGENT[1]])))


@dual_kinds
def test_a_view_of_a_dual_tensor_is_changed_with_its_tangent(computed):
    with dual_level():
        x = make_dual(pb.ones((2, 3)), pb.tensor(TANGENT))
        x = x * 1 if computed else x
        part = x[:, :2]
        unpack_dual(part)
        part.t_()
        assert_close(unpack_dual(part).tangent, [[1.0, 4.0], [2.0, 5.0]])
        part.mul_(2)
        assert_close(unpack_dual(x).tangent, [[2.0, 4.0, 3.0], [8.0, 10.0, 6.0]])


@dual_kinds
def test_a_dual_tensor_with_views_is_not_changed_under_them_if_there_is_no_way_back(computed):
    with dual_level():
        x = make_dual(pb.ones((2, 3)), pb.tensor(TANGENT))
        x = x * 1 if computed else x
        row = x[0]
        with pytest.raises(ValueError, match="views"):
            x.as_strided_((2,), (1,))
        assert_close(unpack_dual(row).tangent, TANGENT[0])


def test_a_leaf_changed_under_no_grad_gets_gradients_of_its_new_shape():
    x = pb.tensor([[1.0, 2.0]], requires_grad=True)
    with pb.no_grad():
        x.t_()
    (x * pb.tensor([[3.0], [4.0]])).sum().backward()
    assert x.grad.tolist() == [[3.0], [4.0]]


def test_an_interior_tensor_changed_under_no_grad_keeps_its_way_back():
    x, y = interior([[1.0, 2.0]])
    with pb.no_grad():
        y.t_()
    assert_close(pb.autograd.grad((y * pb.tensor([[3.0], [4.0]])).sum(), x)[0], [[3.0, 4.0]])


def test_retained_gradients_move_along():
    _, y = interior([[1.0, 2.0]])
    y.retain_grad()
    y.t_()
    y.sum().backward()
    assert y.grad.shape == (2, 1)


def test_one_of_several_results_keeps_its_own_gradient():
    class Pair(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g_double, g_triple):
            return g_double * 2 + g_triple * 3

    x = pb.tensor([[1.0, 2.0]], requires_grad=True)
    _, triple = Pair.apply(x)
    triple.t_()
    assert_close(pb.autograd.grad((triple * pb.tensor([[1.0], [10.0]])).sum(), x)[0], [[3.0, 30.0]])


def test_views_made_under_no_grad_are_refused_in_grad_mode():
    _, y = interior([[1.0, 2.0]])
    with pb.no_grad():
        v = y[:, :1]
    with pytest.raises(pb.AutogradError) as caught:
        v.t_()
    assert caught.value.code == "VIEW_NO_GRAD" and v.shape == (1, 1)


def test_inference_tensors_are_refused_outside():
    with pb.inference_mode():
        x = pb.ones((1, 2))
        x.t_()
    with pytest.raises(pb.AutogradError) as caught:
        x.t_()
    assert caught.value.code == "INFERENCE_INPLACE" and x.shape == (2, 1)


def test_resize_moves_constants_to_memory_of_their_own():
    x = pb.tensor([1.0, 2.0, 3.0])
    assert x.resize_(2, 2) is x
    assert x.tolist() == [[1.0, 2.0], [3.0, 0.0]] and x._version == 1
    row = x[0]
    for each, shape in ((row, 1), (x, 3)):
        with pytest.raises(ValueError, match="view"):
            each.resize_(shape)


@pytest.mark.parametrize("make", [lambda: pb.ones((2, 2)), lambda: pb.ones((2, 2)).T, lambda: pb.ones((3, 2, 2))[1]])
def test_resize_to_the_present_shape_is_no_write(make):
    x = make()
    version, data = x._version, x._data
    assert x.resize_(2, 2) is x and x.resize_((2, 2)) is x
    assert x._version == version and x._data is data


@pytest.mark.parametrize("source", [None, pb.tensor([3.0, 4.0, 5.0]), pb.ones(2), pb.ones(2, requires_grad=True)])
@pytest.mark.parametrize("mode", [pb.no_grad, pb.inference_mode])
def test_a_leaf_gets_other_memory_where_nothing_is_recorded(source, mode):
    x = pb.ones(2, requires_grad=True)
    old = (x * 2).sum()
    with mode():
        x.set_(source)
    assert x.requires_grad and x.is_leaf and x._version == 1
    assert x.shape == ((0,) if source is None else source.shape)
    (x * 3).sum().backward()
    assert_close(x.grad, np.full(x.shape, 3.0))
    if x.shape != (2,):
        with pytest.raises(pb.AutogradError, match="GRAD_SHAPE"):
            old.backward()


def test_a_result_with_a_history_does_not_get_other_memory():
    _, y = interior([1.0, 2.0])
    with pb.no_grad(), pytest.raises(pb.AutogradError, match="SET_GRAD"):
        y.set_(pb.ones(2))


def test_as_strided_looks_at_other_elements_and_keeps_the_history():
    x, y = interior([1.0, 2.0, 3.0, 4.0, 5.0])
    assert y.as_strided_((2, 2), (1, 2), 1) is y
    assert y.tolist() == [[2.0, 4.0], [3.0, 5.0]]
    assert_close(pb.autograd.grad((y * y).sum(), x)[0], [0.0, 4.0, 6.0, 8.0, 10.0])
    with pytest.raises(ValueError, match="outside"):
        pb.zeros(3).as_strided_((4,), (1,))


def test_set_shares_the_memory_of_another_tensor():
    x, other = pb.zeros(3), pb.arange(6.0)
    assert x.set_(other) is x
    assert x._version == 1 and x.tolist() == other.tolist()
    x[0] = 7.0
    assert other[0].item() == 7.0
    assert x.set_(other, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.set_().shape == (0,)


def test_set_is_refused_where_values_would_change_behind_a_history():
    required = pb.ones(2, requires_grad=True)
    for target, source in ((required, pb.ones(2)), (pb.ones(2), required)):
        with pytest.raises(pb.AutogradError) as caught:
            target.set_(source)
        assert caught.value.code == "SET_GRAD"
    base = pb.ones((2, 2))
    row = base[0]
    for each in (base, row):
        with pytest.raises(ValueError, match="view"):
            each.set_(pb.ones(2))
    with pytest.raises(TypeError, match="float32"):
        pb.ones(2).set_(pb.ones(2, dtype="float32"))
    with pytest.raises(TypeError, match="expected a Tensor"):
        pb.ones(2).set_([1.0])


def test_axes_move_in_place():
    x = pb.zeros((2, 3, 4))
    assert x.moveaxis_(0, -1).shape == (3, 4, 2) and x.movedim_((0, 1), (1, 0)).shape == (4, 3, 2)
    assert x.rollaxis_(2).shape == (2, 4, 3) and x.matrix_transpose_().shape == (2, 3, 4)
    assert x.permute_dims_((2, 0, 1)).shape == (4, 2, 3) and x.expand_dims_(0).shape == (1, 4, 2, 3)
    assert x._version == 6
    leaf, y = interior([[1.0, 2.0, 3.0]])
    y.moveaxis_(0, 1)
    assert_close(pb.autograd.grad((y * pb.tensor([[1.0], [2.0], [3.0]])).sum(), leaf)[0], [[1.0, 2.0, 3.0]])
