"""Reading and writing along an axis by position."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

RANDOM = np.random.default_rng(5)


def leaf(*shape):
    return pb.tensor(RANDOM.uniform(-1, 1, shape), requires_grad=True)


def array(tensor):
    return tensor.detach().numpy()


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("indices", [[2, 0, 2], [[0, 1], [1, -1]], 1, []], ids=["vector", "matrix", "one", "none"])
def test_take_is_numpys(axis, indices):
    x = leaf(3, 4)
    indices = np.array(indices, int)
    out = pb.take(x, indices, axis=axis)
    np.testing.assert_array_equal(array(out), np.take(array(x), indices, axis=axis))
    (gradient,) = pb.autograd.grad(out.sum(), x)
    count = np.zeros(12) if axis is None else np.zeros(x.shape[axis])
    np.add.at(count, indices, 1)
    expected = (
        count.reshape(3, 4)
        if axis is None
        else np.broadcast_to(count.reshape((-1, 1) if axis == 0 else (1, -1)), (3, 4))
    )
    np.testing.assert_array_equal(array(gradient), expected)


def test_take_beyond_the_end():
    x = leaf(3)
    with pytest.raises(IndexError):
        x.take([3])
    assert x.take([3, -4], mode="wrap").tolist() == x[[0, 2]].tolist()
    assert x.take([3, -4], mode="clip").tolist() == x[[2, 0]].tolist()
    with pytest.raises(TypeError, match="integers"):
        x.take([0.5])


def test_index_select_has_torchs_order_of_arguments():
    x = leaf(2, 3)
    assert x.index_select(1, pb.tensor([2, 2])).tolist() == x[:, [2, 2]].tolist()


@pytest.mark.parametrize(
    "shape, index_shape, axis",
    [((3, 4), (3, 2), 1), ((3, 4), (1, 4), 0), ((3, 1), (3, 5), 1), ((2, 3, 4), (2, 1, 4), 1), ((1, 3), (4, 2), 1)],
)
def test_take_along_axis_broadcasts_as_numpys(shape, index_shape, axis):
    x = leaf(*shape)
    indices = RANDOM.integers(-shape[axis], shape[axis], index_shape)
    out = pb.take_along_axis(x, indices, axis=axis)
    expected = np.take_along_axis(array(x), indices, axis)
    np.testing.assert_array_equal(array(out), expected)
    weight = RANDOM.uniform(-1, 1, expected.shape)
    (gradient,) = pb.autograd.grad((out * weight).sum(), x)
    direction = RANDOM.uniform(-1, 1, shape)
    along = np.take_along_axis(direction, indices, axis)
    assert_close((array(gradient) * direction).sum(), (weight * along).sum(), rtol=1e-12, atol=1e-12)


def test_gather_truncates_the_other_axes():
    x = leaf(3, 4)
    index = np.array([[2, 0], [1, 1]])
    out = pb.gather(x, 0, index)
    expected = [[array(x)[index[i, j], j] for j in range(2)] for i in range(2)]
    assert out.tolist() == expected
    (gradient,) = pb.autograd.grad(out.sum(), x)
    count = np.zeros((3, 4))
    for i, j in np.ndindex(2, 2):
        count[index[i, j], j] += 1
    assert gradient.tolist() == count.tolist()
    with pytest.raises(ValueError, match="does not fit"):
        pb.gather(x, 0, np.zeros((2, 5), int))


def scattered(x, dim, index, src, accumulate):
    out = x.copy()
    for place in np.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        out[tuple(target)] = src[place] + (out[tuple(target)] if accumulate else 0)
    return out


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_scatter_stores_or_adds_and_differentiates_what_stays(name, dim):
    index = np.array([[0, 2, 0], [0, 1, 2]])
    x, src = leaf(3, 3), leaf(2, 4)
    accumulate = name == "scatter_add"
    out = getattr(pb, name)(x, dim, index, src)
    assert_close(out, scattered(array(x), dim, index, array(src), accumulate))
    in_place = x * 1
    assert getattr(in_place, f"{name}_")(dim, index, src) is in_place
    assert_close(in_place, out)
    weight = RANDOM.uniform(-1, 1, (3, 3))
    for result in (out, in_place):
        g_x, g_src = pb.autograd.grad((result * weight).sum(), (x, src))
        for leaf_gradient, which in ((g_x, 0), (g_src, 1)):
            direction = RANDOM.uniform(-1, 1, leaf_gradient.shape)
            zeros = [np.zeros((3, 3)), np.zeros((2, 4))]
            zeros[which] = direction
            change = scattered(zeros[0], dim, index, zeros[1], accumulate)
            assert_close((array(leaf_gradient) * direction).sum(), (weight * change).sum(), rtol=1e-12, atol=1e-12)


def test_scatter_of_one_value():
    x = leaf(2, 2)
    assert pb.scatter(x, 1, [[0], [1]], value=7.0)[0, 0].item() == 7.0
    assert pb.scatter(x, 1, [[0], [1]], 7.0)[1, 1].item() == 7.0


def test_index_add_copy_fill_along_an_axis():
    x, source = leaf(2, 3), leaf(2, 2)
    added = pb.index_add(x, 1, [2, 2], source, alpha=2.0)
    expected = array(x).copy()
    expected[:, 2] += 2 * array(source).sum(axis=1)
    assert_close(added, expected)
    assert_close(pb.autograd.grad(added.sum(), source)[0], np.full((2, 2), 2.0))
    copied = pb.index_copy(x, 1, [0, 0], source)
    assert_close(copied[:, 0], array(source)[:, 1])
    assert_close(pb.autograd.grad(copied.sum(), source)[0], [[0.0, 1.0], [0.0, 1.0]])
    filled = pb.index_fill(x, 0, [1], 5.0)
    assert filled[1].tolist() == [5.0, 5.0, 5.0]
    y = x * 1
    y.index_add_(0, pb.tensor([0]), pb.ones((1, 3)))
    assert_close(y[0], array(x)[0] + 1)
    with pytest.raises(ValueError, match="needed"):
        pb.index_add(x, 1, [0], source)


def test_index_put_with_and_without_accumulation():
    x, v = pb.zeros(3), pb.tensor([1.0, 2.0], requires_grad=True)
    stored = pb.index_put(x, (pb.tensor([0, 0]),), v)
    added = pb.index_put(x, (pb.tensor([0, 0]),), v, accumulate=True)
    assert stored.tolist() == [2, 0, 0] and added.tolist() == [3, 0, 0]
    assert pb.autograd.grad(stored.sum(), v)[0].tolist() == [0.0, 1.0]
    assert pb.autograd.grad(added.sum(), v)[0].tolist() == [1.0, 1.0]
    x.index_put_((np.array([True, False, True]),), v)
    assert x.tolist() == [1, 0, 2]


def test_masked_select_and_scatter():
    x = leaf(2, 3)
    picked = pb.masked_select(x, [True, False, True])
    assert picked.tolist() == array(x)[:, [0, 2]].ravel().tolist()
    source = leaf(5)
    out = pb.masked_scatter(x, x > -2, pb.concat([source, source]))
    assert out.tolist() == [array(source)[:3].tolist(), [*array(source)[3:].tolist(), array(source)[0]]]


def test_put_along_axis_writes_in_place():
    x = pb.tensor([[3.0, 1.0], [2.0, 4.0]])
    v = pb.tensor(0.5, requires_grad=True)
    pb.put_along_axis(x, x.argsort(axis=1)[:, :1], v, 1)
    assert x.tolist() == [[3.0, 0.5], [0.5, 4.0]]
    assert pb.autograd.grad(x.sum(), v)[0].item() == 2.0
    y = pb.zeros((2, 2))
    y.put([0, 3], [1.0, 2.0])
    assert y.tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_positions_of_nonzero_elements():
    x = pb.tensor([[0.0, 2.0], [3.0, 0.0]])
    rows, columns = pb.nonzero(x)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert pb.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert pb.flatnonzero(x).tolist() == [1, 2]
    with pytest.raises(ValueError):
        pb.nonzero(pb.tensor(1.0))


def test_one_hot():
    assert pb.one_hot(pb.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert pb.one_hot([1], 2).tolist() == [[0, 1]]
    with pytest.raises(ValueError):
        pb.one_hot([3], 2)


def test_copies_with_a_part_replaced():
    x, row = leaf(3, 3), leaf(3)
    for out, place in (
        (pb.slice_scatter(x, row[None], 0, 1, 2), (slice(1, 2),)),
        (pb.select_scatter(x, row, 1, -1), (slice(None), -1)),
        (pb.diagonal_scatter(x, row), (np.arange(3), np.arange(3))),
    ):
        expected = array(x).copy()
        expected[place] = array(row)
        assert_close(out, expected)
        g_x, g_row = pb.autograd.grad(out.sum(), (x, row))
        kept = np.ones((3, 3))
        kept[place] = 0
        assert g_x.tolist() == kept.tolist() and g_row.tolist() == [1, 1, 1]


def test_an_index_without_axes_is_one_position_of_a_vector():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = pb.gather(x, 0, pb.tensor(1))
    assert out.shape == () and out.item() == 2
    assert pb.autograd.grad(out, x)[0].tolist() == [0, 1, 0]
    assert pb.index_select(x, 0, pb.tensor(2)).tolist() == [3]
    assert pb.index_select(pb.ones(2, 3), 1, pb.tensor(2)).shape == (2, 1)
    assert pb.scatter(x, 0, pb.tensor(1), pb.tensor(5.0)).tolist() == [1, 5, 3]
    assert pb.scatter_add(x, -1, pb.tensor(1), 5.0).tolist() == [1, 7, 3]
    assert pb.func.vmap(lambda i: pb.gather(x, 0, i))(pb.tensor([2, 0])).tolist() == [3, 1]


def test_index_select_takes_a_vector_of_positions():
    with pytest.raises(ValueError, match="vector"):
        pb.index_select(pb.ones(3), 0, pb.tensor([[0]]))


@pytest.mark.parametrize("function", [
    lambda x: pb.one_hot(x, 3), lambda x: pb.take(pb.ones(3), x), lambda x: pb.index_select(pb.ones(3), 0, x),
], ids=["one_hot", "take", "index_select"])  # fmt: skip
def test_no_positions_are_positions_of_any_dtype_also_under_vmap_and_compiled(function):
    nothing = pb.zeros((2, 0))
    expected = function(nothing[0])
    mapped = pb.func.vmap(function)(nothing)
    compiled = pb.compile(function, backend="numpy", fallback="raise")(nothing[0])
    assert mapped.shape == (2, *expected.shape) and compiled.shape == expected.shape
    assert mapped.dtype == compiled.dtype == expected.dtype
