"""Axes permuted, inserted, dropped and broadcast; diagonals; reshaping; reversing, rolling and repeating."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(*shape):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), requires_grad=True)


def array(tensor):
    return tensor.detach().numpy()


SAME_AS_NUMPY = {
    "permute spread": (lambda m, x: m.permute_dims(x, (2, 0, 1))),
    "transpose": lambda m, x: m.transpose(x),
    "transpose axes": lambda m, x: m.transpose(x, (1, 2, 0)),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, -1),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, 2),
    "moveaxis several": lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)),
    "rollaxis": lambda m, x: m.rollaxis(x, 2),
    "rollaxis later": lambda m, x: m.rollaxis(x, 0, 3),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x),
    "expand_dims": lambda m, x: m.expand_dims(x, (0, -1)),
    "squeeze": lambda m, x: m.squeeze(m.expand_dims(x, 1)),
    "squeeze axis": lambda m, x: m.squeeze(m.expand_dims(x, (0, 2)), 2),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, 2, 3, 4)),
    "diagonal": lambda m, x: m.diagonal(x, -1, 1, 2),
    "flip": lambda m, x: m.flip(x),
    "flip axis": lambda m, x: m.flip(x, (0, 2)),
    "flipud": lambda m, x: m.flipud(x),
    "fliplr": lambda m, x: m.fliplr(x),
    "rot90": lambda m, x: m.rot90(x),
    "rot180": lambda m, x: m.rot90(x, 2, (1, 2)),
    "rot270": lambda m, x: m.rot90(x, -1, (2, 0)),
    "ravel": lambda m, x: m.ravel(x),
    "ravel columns": lambda m, x: m.ravel(x, order="F"),
    "reshape": lambda m, x: m.reshape(x, (4, -1)),
    "reshape columns": lambda m, x: m.reshape(x, (4, 6), order="F"),
    "roll": lambda m, x: m.roll(x, 5),
    "roll axes": lambda m, x: m.roll(x, (1, -1), (0, 2)),
    "roll one axis twice": lambda m, x: m.roll(x, (1, 2), (2, 2)),
    "tile": lambda m, x: m.tile(x, (2, 1, 3)),
    "tile with more axes": lambda m, x: m.tile(x, (2, 1, 1, 1)),
    "tile with fewer": lambda m, x: m.tile(x, 2),
    "repeat": lambda m, x: m.repeat(x, 2),
    "repeat axis": lambda m, x: m.repeat(x, 3, axis=1),
    "repeat by counts": lambda m, x: m.repeat(x, np.array([1, 0, 2]), axis=1),
    "atleast_3d": lambda m, x: m.atleast_3d(x[0]),
    "tril": lambda m, x: m.tril(x, -1),
    "triu": lambda m, x: m.triu(x, 1),
    "diag": lambda m, x: m.diag(x[0, 0], 1),
    "diag of a matrix": lambda m, x: m.diag(x[1], -1),
    "diagflat": lambda m, x: m.diagflat(x[0], 2),
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in SAME_AS_NUMPY.items()])
def test_values_are_numpys_and_gradients_go_where_the_elements_came_from(function):
    x = leaf(2, 3, 4)
    out = function(pb, x)
    expected = function(np, array(x))
    np.testing.assert_array_equal(array(out), expected)
    # Each output element copies the input element whose number it shows, or is 0.
    weight = np.arange(1.0, 1 + expected.size).reshape(expected.shape)
    (gradient,) = pb.autograd.grad((out * weight).sum(), x)
    sums = np.bincount(expected.astype(int).ravel(), weights=weight.ravel(), minlength=25)[1:]
    np.testing.assert_array_equal(array(gradient), sums.reshape(2, 3, 4))


def test_every_spelling_of_a_shape_means_the_same():
    x = leaf(2, 3)
    for out in (
        x.reshape(3, 2),
        x.reshape((3, 2)),
        pb.reshape(x, (3, -1)),
        pb.reshape(x, shape=(3, 2)),
        x.reshape([-1, 2]),
    ):
        assert out.shape == (3, 2)
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == pb.permute_dims(x, axes=(1, 0)).shape == (3, 2)
    assert x.permute(dims=(1, 0)).shape == x.transpose(1, 0).shape == x.transpose((1, 0)).shape == x.T.shape == (3, 2)
    assert x.expand(4, 2, 3).shape == x.expand((4, -1, -1)).shape == (4, 2, 3)
    assert x.tile(2, 1).shape == x.tile((2, 1)).shape == (4, 3)


def test_two_spellings_of_one_argument_are_refused():
    x = leaf(2, 1)
    with pytest.raises(TypeError, match="two spellings"):
        pb.squeeze(x, 1, dim=1)
    with pytest.raises(TypeError, match="two spellings"):
        x.reshape(2, shape=(2,))


def test_lists_and_arrays_count_as_constants():
    assert isinstance(pb.permute_dims([[1, 2], [3, 4]], (1, 0)), pb.Tensor)
    assert isinstance(pb.swapaxes(np.ones((2, 3)), 0, 1), pb.Tensor)
    assert pb.squeeze([[1.0]]).shape == ()


@pytest.mark.parametrize("move", [pb.swapaxes, pb.moveaxis])
def test_an_array_without_axes_has_an_axis_0_to_move_as_in_torch(move):
    x = pb.tensor(2.0, requires_grad=True)
    h = x * 1
    for axes in ((0, 0), (-1, 0), (0, -1)):
        view = move(h, *axes)
        view *= 2
    h.backward()
    assert h.shape == view.shape == () and x.grad.item() == 8
    with pytest.raises(np.exceptions.AxisError):
        move(h, 1, 0)


def test_wrong_axes_and_shapes_are_named():
    x = leaf(2, 3)
    with pytest.raises(np.exceptions.AxisError):
        x.swapaxes(0, 2)
    with pytest.raises(ValueError, match="length 2"):
        x.squeeze(0)
    with pytest.raises(ValueError, match="2 axes"):
        x.permute(0, 1, 2)
    with pytest.raises(ValueError, match="fit 6 elements"):
        x.reshape(4)
    with pytest.raises(ValueError, match="does not broadcast"):
        pb.broadcast_to(x, (2, 4))
    with pytest.raises(ValueError, match="expanded"):
        x.expand(-1, 2, 3)


def test_reshape_copies_only_where_it_must_and_refuses_where_it_may_not():
    x = leaf(2, 3)
    assert pb.reshape(x, 6)._is_view()
    assert not pb.reshape(x, 6, copy=True)._is_view()
    assert not x.T.reshape(6)._is_view()
    with pytest.raises(ValueError, match="no view of shape"):
        pb.reshape(x.T, 6, copy=False)
    with pytest.raises(ValueError, match="no view of shape"):
        x.T.view(6)
    assert x.T.view(3, 1, 2).shape == (3, 1, 2)
    assert x.view(-1)._base is x


def test_the_method_flatten_copies_and_the_function_does_not():
    x = leaf(2, 3, 4)
    assert not x.flatten()._is_view() and x.flatten().shape == (24,)
    merged = pb.flatten(x, 1)
    assert merged._base is x and merged.shape == (2, 12)
    assert pb.flatten(pb.tensor(1.0)).shape == (1,)
    for torchs, shape in ((x.flatten(1), (2, 12)), (x.flatten(0, 1), (6, 4)), (x.flatten(start_dim=1), (2, 12))):
        assert torchs._base is x and torchs.shape == shape
    assert x.flatten("F").tolist() == x.detach().numpy().flatten("F").tolist()
    assert x.unflatten(2, (2, -1)).shape == (2, 3, 2, 2)


def test_an_expansion_that_repeats_nothing_can_be_written():
    x = pb.zeros((2, 1))
    pb.broadcast_to(x, (1, 2, 1)).add_(1)
    assert x.tolist() == [[1.0], [1.0]]


def test_one_row_of_an_expansion_can_be_written_through():
    x = pb.zeros(3)
    x.expand(2, 3)[0].add_(1)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_diagonal_is_a_view_that_can_be_written():
    x = leaf(3, 3)
    y = x * 1
    pb.diagonal(y, 1).mul_(10)
    assert_close(y, array(x) * np.where(np.eye(3, k=1), 10, 1))
    (gradient,) = pb.autograd.grad(y.sum(), x)
    assert_close(gradient, np.where(np.eye(3, k=1), 10.0, 1.0))


def test_diag_copies_and_diag_embed_puts_vectors_on_diagonals():
    x = leaf(2, 3)
    assert not pb.diag(leaf(3, 3))._is_view()
    out = pb.diag_embed(x, offset=1, dim1=0, dim2=2)
    assert out.shape == (4, 2, 4)
    assert_close(pb.diagonal(out, 1, 0, 2), x)


def test_reversed_rows_can_be_written_through():
    x = pb.zeros((2, 2))
    pb.flip(x, 0)[0].add_(1)
    assert x.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_counts_of_tile_by_keyword_are_numpys_and_torchs():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for tiled in (pb.tile(x, reps=(2, 3)), np.tile(x, reps=(2, 3)), x.tile(dims=(2, 3)), pb.tile(x, 2, 3)):
        np.testing.assert_array_equal(tiled.detach().numpy(), np.tile([1.0, 2.0], (2, 3)))
        assert tiled.requires_grad


def test_tile_and_repeat_have_memory_of_their_own():
    x = pb.zeros(1)
    for copy in (pb.tile(x, 1), pb.tile(x, 3), pb.repeat(x, 3), pb.roll(x, 1)):
        assert not np.shares_memory(copy.numpy(), x.numpy())
        copy.add_(1)
    assert x.tolist() == [0.0]


def test_properties_of_matrices():
    z = pb.tensor([[1 + 1j, 2.0], [3.0, 4 - 2j]])
    assert_close(z.H, np.conj(z.numpy().T))
    assert_close(z.mH, np.conj(z.numpy().T))
    x = leaf(2, 3)
    assert x.mT._base is x and x.H._base is x
    with pytest.raises(ValueError, match="two axes"):
        _ = leaf(3).mT


def test_t_of_other_than_matrices_warns_and_reverses():
    with pytest.warns(UserWarning, match="reverses all"):
        assert leaf(2, 3, 4).T.shape == (4, 3, 2)


def test_broadcast_arrays_gives_views_and_reduces_gradients():
    x, y = leaf(3, 1), leaf(4)
    a, b = pb.broadcast_arrays(x, y)
    assert a.shape == b.shape == (3, 4) and a._base is x and b._base is y
    g_x, g_y = pb.autograd.grad((a * b).sum(), (x, y))
    assert_close(g_x, np.full((3, 1), 10.0))
    assert_close(g_y, np.full(4, 6.0))
    assert pb.broadcast_shapes((3, 1), (4,)) == (3, 4)


def test_atleast_gives_a_tuple_for_several():
    assert pb.atleast_1d(2.0).shape == (1,)
    a, b = pb.atleast_2d(pb.ones(3), 1.0)
    assert (a.shape, b.shape) == ((1, 3), (1, 1))


def test_repeat_checks_its_counts():
    with pytest.raises(ValueError, match="counts"):
        pb.repeat(leaf(3), [1, 2])
    assert pb.repeat_interleave(pb.tensor([1, 2]), pb.tensor([2, 1])).tolist() == [1, 1, 2]


def test_triangles_are_written_in_place():
    x = leaf(2, 2)
    y = x * 1
    y.tril_()
    assert y.tolist() == [[1.0, 0.0], [3.0, 4.0]]
    assert pb.autograd.grad(y.sum(), x)[0].tolist() == [[1.0, 0.0], [1.0, 1.0]]


def test_contiguous_copies_only_what_is_not():
    x = leaf(2, 3)
    columns = x.T
    assert x.contiguous() is x and pb.asfortranarray(columns) is columns
    across = columns.contiguous()
    assert across.strides == (16, 8) and not across._is_view()
    assert pb.autograd.grad(across.sum(), x)[0].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert pb.asfortranarray(x).strides == (8, 16)


@pytest.mark.parametrize("start", range(-4, 5))
@pytest.mark.parametrize("axis", range(-4, 4))
def test_rollaxis_counts_starts_from_the_end_as_numpy_does(axis, start):
    x = np.zeros((2, 3, 4, 5))
    assert pb.rollaxis(x, axis, start).shape == np.rollaxis(pb.tensor(x), axis, start).shape
    assert pb.rollaxis(x, axis, start).shape == np.rollaxis(x, axis, start).shape


def test_roll_takes_its_shift_as_an_array():
    x = np.arange(6.0).reshape(2, 3)
    for shift, axis in ((np.array(2), None), (np.array(1), 1), (np.array([1, 2]), (0, 1)), (pb.tensor(1), 0)):
        assert pb.roll(x, shift, axis).numpy().tolist() == np.roll(x, np.asarray(shift), axis).tolist()


def test_two_axes_are_no_order_of_all_axes():
    x = pb.ones((2, 3))
    with pytest.raises(TypeError, match="swapaxes"):
        pb.transpose(x, 0, 1)
    assert pb.transpose(x).shape == pb.transpose(x, (1, 0)).shape == pb.transpose(x, axes=(1, 0)).shape == (3, 2)
    assert x.transpose().shape == x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (3, 2)
    assert x.transpose(0, 1).shape == (2, 3)  # as NumPy's method
