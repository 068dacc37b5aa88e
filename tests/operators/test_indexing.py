"""Reading and writing items: basic indices, arrays of integers, truth arrays and mixtures."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(*shape):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), requires_grad=True)


def array(tensor):
    return tensor.detach().numpy()


MASK = np.array([[True, False, True], [False, False, True]])

INDICES = {
    "int": 1,
    "negative int": -1,
    "ints": (1, 2, 3),
    "slice": slice(None, None, -1),
    "slices": (slice(1), slice(None), slice(3, 0, -2)),
    "empty slice": slice(2, 2),
    "new axis": (None, slice(None), None, 0),
    "ellipsis": (..., 1),
    "nothing": (),
    "integers": [1, 0, 1],
    "matrix of integers": np.array([[0, 1], [1, 1]]),
    "no integers": [],
    "pairs": ([0, 1, 1], [2, 0, 0]),
    "mesh": (np.array([[0], [1]]), np.array([[1, 2, 2]])),
    "adjacent, inside": (slice(None), [0, 2], [1, 3]),
    "apart": ([0, 1], slice(None), [1, 3]),
    "int and array, apart": (0, slice(None), [0, 1]),
    "int and array, adjacent": (slice(None), 1, [0, 1]),
    "ellipsis of no axes between arrays": (slice(None), [0], ..., [1]),
    "new axis between arrays": ([0], None, [1]),
    "mask of the leading axes": MASK,
    "mask and slice": (MASK, slice(1, 3)),
    "mask of the last axis": (..., np.array([True, False, False, True])),
    "mask and integers": (np.array([True, True]), [0, 2]),
    "empty mask": np.zeros(0, bool),
    "mask that is empty along one axis": np.zeros((2, 0), bool),
    "true": True,
    "false": False,
    "true and integers": (True, [0, 1]),
}
EACH = pytest.mark.parametrize("index", [pytest.param(index, id=name) for name, index in INDICES.items()])


def as_tensor_index(index):
    """The same index with Tensors in place of arrays."""
    parts = index if isinstance(index, tuple) else (index,)
    parts = tuple(pb.tensor(part) if isinstance(part, np.ndarray) else part for part in parts)
    return parts if isinstance(index, tuple) else parts[0]


@EACH
@pytest.mark.parametrize("convert", [lambda index: index, as_tensor_index], ids=["arrays", "tensors"])
def test_reading_is_numpys_and_the_gradient_is_added_where_it_was_read(index, convert):
    x = leaf(2, 3, 4)
    out = x[convert(index)]
    expected = array(x)[index if not isinstance(index, list) else np.array(index, int)]
    np.testing.assert_array_equal(array(out), expected)
    weight = np.arange(1.0, 1 + expected.size).reshape(expected.shape)
    (gradient,) = pb.autograd.grad((out * weight).sum(), x)
    sums = np.zeros((2, 3, 4))
    np.add.at(sums, index if not isinstance(index, list) else np.array(index, int), weight)
    np.testing.assert_array_equal(array(gradient), sums)


@EACH
@pytest.mark.parametrize("is_scalar", [True, False], ids=["one-value", "values"])
def test_writing_is_numpys_and_gradients_go_to_what_is_in_the_result(index, is_scalar):
    x = leaf(2, 3, 4)
    expected = array(x).copy()
    index = np.array(index, int) if isinstance(index, list) else index
    shape = () if is_scalar else expected[index].shape
    value = pb.tensor(100 + np.arange(float(np.prod(shape, dtype=int))).reshape(shape), requires_grad=True)
    y = x * 1
    y[index] = value
    expected[index] = array(value)
    np.testing.assert_array_equal(array(y), expected)
    assert y._version == 1
    weight = np.arange(1.0, 25.0).reshape(2, 3, 4)
    g_x, g_value = pb.autograd.grad((y * weight).sum(), (x, value))
    np.testing.assert_array_equal(array(g_x), np.where(expected < 100, weight, 0))
    received = [weight[expected == number].sum() for number in array(value).ravel()]
    np.testing.assert_array_equal(array(g_value).ravel(), received)


def test_basic_indices_are_views_and_others_copy():
    x = leaf(2, 3)
    assert x[0]._base is x and x[:, None, ::2]._base is x and x[...]._base is x
    assert x[np.int64(1)]._base is x and x[pb.tensor(1)]._base is x
    for index in ([0], np.array([0]), x > 2, (0, [1])):
        assert not x[index]._is_view()


def test_slices_may_be_bounded_by_tensors():
    x = leaf(5)
    assert x[pb.tensor(1) : np.int64(4) : pb.tensor(2)].tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "index, error",
    [
        (5, IndexError),
        ((0, 0, 0), IndexError),
        ([5], IndexError),
        ([0.5], IndexError),
        ("a", IndexError),
        (np.array([True, False, True]), IndexError),
        (([0, 1], [0, 1, 0]), IndexError),
    ],
)
def test_a_wrong_index_is_an_error_in_both_directions(index, error):
    x = pb.tensor(np.ones((2, 2)))
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 0.0
    assert x.tolist() == [[1, 1], [1, 1]] and x._version == 0


def test_changing_an_index_array_after_the_read_does_not_move_the_gradient():
    x = leaf(3)
    rows = np.array([0, 0])
    out = x[rows]
    rows[:] = 2
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [2.0, 0.0, 0.0]


def test_the_gradient_of_a_read_uses_the_index_that_was_read_though_it_was_changed():
    x = leaf(3)
    rows = pb.tensor([0, 0])
    out = x[rows]
    rows.add_(1)
    out.sum().backward()
    assert rows.tolist() == [1, 1]
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_changing_an_index_tensor_after_the_read_is_noticed():
    x = leaf(3)
    rows = pb.tensor([0, 0])
    out = x[rows]
    with pb.autograd.overwrite_policy("raise"):
        rows.add_(1)
    with pytest.raises(pb.AutogradError) as caught:
        out.sum().backward()
    assert caught.value.code == "VERSION"


@pytest.mark.parametrize("index_order", ["C", "F"])
@pytest.mark.parametrize("value_order", ["C", "F"])
def test_of_repeated_positions_the_last_in_row_major_order_stays(index_order, value_order):
    rows = np.array([[0, 1, 0], [1, 0, 1]], order=index_order)
    columns = np.array([[1, 0, 1], [0, 1, 1]], order=index_order)
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], order=value_order)
    x, v = pb.zeros((2, 2)), pb.tensor(values, requires_grad=True)
    x[rows, columns] = v
    expected = np.zeros((2, 2))
    for place in np.ndindex(2, 3):
        expected[rows[place], columns[place]] = values[place]
    np.testing.assert_array_equal(array(x), expected)
    (gradient,) = pb.autograd.grad(x.sum(), v)
    assert gradient.tolist() == np.isin(values, expected).astype(float).tolist()


def test_the_last_value_stays_for_positions_in_a_mesh():
    x, v = pb.zeros(1), pb.tensor(np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    x.reshape(1, 1)[np.array([[0], [0]]), np.array([[0, 0]])] = v
    assert x.tolist() == [4.0]
    assert pb.autograd.grad(x.sum(), v)[0].tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_an_assigned_value_may_have_more_axes_of_length_one():
    x, v = pb.zeros((2, 3)), pb.tensor([[[1.0, 2.0, 3.0]]], requires_grad=True)
    x[0] = v
    x[[1]] = v
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert pb.autograd.grad(x.sum(), v)[0].tolist() == [[[2.0, 2.0, 2.0]]]


def test_values_are_cast_to_the_target():
    whole = pb.tensor([1, 2, 3])
    whole[0] = 7.9
    whole[[1]] = 8.9
    whole[whole == 3] = 9.9
    assert whole.tolist() == [7, 8, 9] and whole.dtype == pb.int64
    single = pb.zeros(2, dtype=pb.float32)
    value = pb.tensor(2.0, requires_grad=True)
    single[0] = value
    assert single.dtype == pb.float32
    assert pb.autograd.grad(single.sum(), value)[0].dtype == pb.float64


def test_augmented_assignment_to_items():
    x = leaf(3)
    y = x * 1
    y[[0, 0]] += 10
    y[1:] *= 3
    assert y.tolist() == [11.0, 6.0, 9.0]
    assert pb.autograd.grad(y.sum(), x)[0].tolist() == [1.0, 3.0, 3.0]


def test_reading_with_arrays_has_second_derivatives():
    x = leaf(3)
    (first,) = pb.autograd.grad((x[[0, 2, 2]] ** 3).sum(), x, create_graph=True)
    assert first.tolist() == [3.0, 0.0, 54.0]
    assert pb.autograd.grad(first.sum(), x)[0].tolist() == [6.0, 0.0, 36.0]


def test_writing_with_arrays_has_second_derivatives():
    x, v = leaf(3), pb.tensor([2.0, 5.0], requires_grad=True)
    y = x * x
    y[[0, 2]] = v * v
    (first,) = pb.autograd.grad((y * y).sum(), v, create_graph=True)
    assert_close(first, 4 * array(v) ** 3)
    assert_close(pb.autograd.grad(first.sum(), v)[0], 12 * array(v) ** 2)


def test_narrow_and_select():
    x = leaf(3, 4)
    assert x.narrow(1, 1, 2).tolist() == array(x)[:, 1:3].tolist()
    assert x.narrow(0, -1, 1).shape == (1, 4)
    assert x.select(1, -1).tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(IndexError):
        x.narrow(0, 2, 2)
    with pytest.raises(IndexError):
        x.select(0, 3)


def test_the_length_is_that_of_the_first_axis():
    assert len(leaf(3, 2)) == 3
    with pytest.raises(TypeError):
        len(pb.tensor(1.0))


def test_masked_fill_broadcasts_its_mask_and_shares_the_gradient():
    x, value = leaf(2, 3), pb.tensor(9.0, requires_grad=True)
    out = pb.masked_fill(x, [True, False, True], value)
    assert out.tolist() == [[9, 2, 9], [9, 5, 9]]
    g_x, g_value = pb.autograd.grad(out.sum(), (x, value))
    assert g_x.tolist() == [[0, 1, 0], [0, 1, 0]] and g_value.item() == 4.0
    y = x * 1
    assert y.masked_fill_(y > 4, 0.0) is y
    assert pb.autograd.grad(y.sum(), x)[0].tolist() == [[1, 1, 1], [1, 0, 0]]
    with pytest.raises(TypeError, match="truth"):
        pb.masked_fill(x, [1, 0, 1], 0.0)


@pytest.mark.parametrize("index", [0, [0], np.array([True, False])], ids=["basic", "integers", "mask"])
def test_an_infinite_gradient_at_a_written_place_is_cut_off(index):
    x = pb.tensor([1.0, 4.0], requires_grad=True)
    y = x * 1
    y[index] = 0.0
    (gradient,) = pb.autograd.grad(pb.sqrt(y).sum(), x)  # the derivative of the root at 0 is infinite
    assert gradient.tolist() == [0.0, 0.25]


@pytest.mark.parametrize("length", [5, 2000], ids=["adopted", "in place"])
@pytest.mark.parametrize("convert", [np.array, pb.tensor, list], ids=["ndarray", "tensor", "list"])
@pytest.mark.parametrize("index", [[0, 3, 1], [2, 2, 0, 2], [[1, -1], [4, 1]]], ids=["rows", "twice", "table"])
def test_rows_are_written_alike_in_small_and_in_large_arrays(index, convert, length):
    places, given = np.array(index), convert(index)
    start = pb.tensor(np.linspace(0.5, 2.0, length), requires_grad=True)
    value = pb.tensor(np.linspace(1.0, 3.0, places.size).reshape(places.shape), requires_grad=True)
    y = start * 1
    y[given] = value * value
    y[given] = y[given] * 3
    if isinstance(given, np.ndarray):
        given[...] = 0  # what was written stays written
    (y * y).sum().backward()

    plain, last = start.detach().numpy().copy(), {place % length: number for number, place in enumerate(places.flat)}
    flat = value.detach().numpy().reshape(-1)
    of_start, of_value = 2 * plain, np.zeros(flat.size)
    for place, number in last.items():
        of_start[place] = 0
        of_value[number] = 2 * 9 * flat[number] ** 2 * 2 * flat[number]
    assert y._version == 2
    np.testing.assert_allclose(start.grad, of_start)
    np.testing.assert_allclose(value.grad, of_value.reshape(places.shape))


@pytest.mark.parametrize("places", [[], [0, 2], [1, 1]])
@pytest.mark.parametrize("kind", [np.asarray, pb.tensor])
def test_writes_at_places_in_a_tensor_have_second_derivatives(kind, places):
    index = kind(np.array(places, dtype=int))

    def written(x):
        out = x * 1.0
        out[index] = x[index] ** 3
        return (out * out).sum()

    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (first,) = pb.autograd.grad(written(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x)
    is_written = np.isin(np.arange(3), places)
    values = x.detach().numpy()
    np.testing.assert_allclose(first.detach().numpy(), np.where(is_written, 6 * values**5, 2 * values))
    np.testing.assert_allclose(second.numpy(), np.where(is_written, 30 * values**4, 2.0))
