"""Choosing, inserting, removing and overwriting elements."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

DATA = np.arange(12.0).reshape(3, 4)


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_select_takes_the_first_condition_that_holds():
    x = np.arange(6.0)
    conditions = [x < 2, x < 4]
    assert_close(pb.select(conditions, [x, x**2], 9.0), np.select(conditions, [x, x**2], 9.0))
    a, b, d = leaf(x), leaf(x), leaf(7.0)
    pb.select(conditions, [a, b], d).sum().backward()
    assert_close(a.grad, [1, 1, 0, 0, 0, 0])
    assert_close(b.grad, [0, 0, 1, 1, 0, 0])
    assert_close(d.grad, 2.0)
    with pytest.raises(TypeError, match="truth"):
        pb.select([x], [x])
    with pytest.raises(ValueError, match="conditions"):
        pb.select(conditions, [x])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose_equals_numpy(mode):
    numbers = np.array([0, 1, 1, 0]) if mode == "raise" else np.array([0, 3, -1, 5])
    choices = [np.arange(4.0), 10.0]
    assert_close(pb.choose(numbers, choices, mode=mode), np.choose(numbers, choices, mode=mode))


def test_choose_sends_the_gradient_to_the_choice():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    pb.tensor([1, 0]).choose([a, b]).sum().backward()
    assert_close(a.grad, [0.0, 1.0])
    assert_close(b.grad, [1.0, 0.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        pb.choose([2], [[1.0], [2.0]])


@pytest.mark.parametrize("conditions", [[True], [np.False_], [True, False], [np.array(True), np.array(False)], True])
def test_truth_values_are_the_conditions_of_piecewise_for_an_array_without_axes(conditions):
    functions = [lambda v: v * v, 7.0] if isinstance(conditions, list) else [lambda v: v * v]
    x = leaf(3.0)
    out = pb.piecewise(x, conditions, functions)
    assert_close(out, np.piecewise(3.0, conditions, functions))
    if out.requires_grad:
        out.backward()
        assert_close(x.grad, 6.0)


def test_piecewise_calls_each_function_on_its_elements():
    x = np.array([-1.0, 0.0, 4.0])
    cases = [x < 0, x > 0], [lambda v: -v, pb.sqrt, 7.0]
    theirs = [x < 0, x > 0], [lambda v: -v, np.sqrt, 7.0]
    assert_close(pb.piecewise(x, *cases), np.piecewise(x, *theirs))
    point = leaf(x)
    pb.piecewise(point, *cases).sum().backward()
    assert_close(point.grad, [-1.0, 0.0, 0.25])
    assert_close(pb.piecewise([1.0, 2.0], [[True, False]], [5.0]), [5.0, 0.0])
    with pytest.raises(ValueError, match="conditions"):
        pb.piecewise(x, [x < 0], [1.0, 2.0, 3.0])


def test_extract_and_compress_equal_numpy():
    mask = DATA % 3 == 0
    assert_close(pb.extract(mask, DATA), np.extract(mask, DATA))
    for axis in (None, 0, 1):
        condition = [True, False, True]
        assert_close(pb.compress(condition, DATA, axis), np.compress(condition, DATA, axis))
    assert_close(pb.tensor(DATA).compress([False, True], axis=0), DATA[1:2])
    x = leaf(DATA)
    pb.extract(mask, x).sum().backward()
    assert_close(x.grad, mask.astype(float))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("obj", [1, -1, slice(0, 2), [0, 2], [0, 0, -1]])
def test_delete_equals_numpy(axis, obj):
    assert_close(pb.delete(DATA, obj, axis), np.delete(DATA, obj, axis))


def test_delete_by_mask():
    assert_close(pb.delete(DATA, np.array([True, False, True]), 0), DATA[1:2])
    with pytest.raises(IndexError):
        pb.delete(DATA, 9, 0)


@pytest.mark.parametrize(
    "obj, values, axis",
    [
        (1, 5.0, None), (1, 5.0, 0), (1, 5.0, 1), (-1, 5.0, 1), (1, [1.0, 2.0, 3.0], 1), (1, [[1.0], [2.0], [3.0]], 1),
        ([1], [[1.0], [2.0], [3.0]], 1), ([2, 2], [6.0, 7.0], None), ([0, 3], [6.0, 7.0], 1),
        (slice(2, 4), [7.0, 8.0], None),
        ([1, 3, 1], [1.0, 2.0, 3.0], 1),
        (0, [9.0, 9.5, 9.7, 9.9], 0), (np.array([True, False, True]), 8.0, 0), (4, 1.0, 1),
    ],
)  # fmt: skip
def test_insert_equals_numpy(obj, values, axis):
    assert_close(pb.insert(DATA, obj, values, axis), np.insert(DATA, obj, values, axis))


def test_insert_and_resize_are_differentiable():
    assert gradcheck(lambda x, v: pb.insert(x, [1, 3], v, 1), (leaf(DATA), leaf([0.5, 0.7])))
    for shape in ((2, 3), (5, 4), 7, (0, 2)):
        assert_close(pb.resize(DATA, shape), np.resize(DATA, shape))
    assert gradcheck(lambda x: pb.resize(x, (3, 3)), (leaf([1.0, 2.0]),))
    with pytest.raises(IndexError, match="beyond"):
        pb.insert(DATA, 9, 0.0, 0)


def written(name, *args, **options):
    """What our function and NumPy's leave in a copy of the data."""
    ours, theirs = pb.tensor(DATA), DATA.copy()
    getattr(pb, name)(ours, *args, **options)
    getattr(np, name)(theirs, *args, **options)
    return ours, theirs


def test_writing_equals_numpy():
    mask = DATA % 2 == 0
    assert_close(*written("place", mask, [1.0, 2.0]))
    assert_close(*written("putmask", mask, [1.0, 2.0, 3.0]))
    assert_close(*written("putmask", mask, DATA * 10))
    assert_close(*written("copyto", -1.0))
    assert_close(*written("copyto", [1.0, 2.0, 3.0, 4.0], where=mask))
    assert_close(*written("fill_diagonal", 7.0))
    assert_close(*written("fill_diagonal", [7.0, 8.0]))
    ours, theirs = pb.zeros((7, 2)), np.zeros((7, 2))
    pb.fill_diagonal(ours, 1.0, wrap=True)
    np.fill_diagonal(theirs, 1.0, wrap=True)
    assert_close(ours, theirs)


def test_writing_routes_the_gradient_to_the_new_values():
    x, v = leaf(DATA), leaf([5.0, 6.0])
    out = x * 1
    pb.place(out, DATA > 8, v)
    out.sum().backward()
    assert_close(x.grad, (DATA <= 8).astype(float))
    assert_close(v.grad, [2.0, 1.0])
    y = leaf(2.0)
    base = pb.zeros((2, 2)) * 1
    assert base.fill_diagonal_(y * y) is base
    base.sum().backward()
    assert_close(y.grad, 8.0)


def test_out_of_place_twins_leave_the_tensor_alone():
    x = leaf(DATA)
    assert_close(pb.fill_diagonal_copy(x, 0.0), DATA * (1 - np.eye(3, 4)))
    assert_close(pb.putmask_copy(x, DATA > 5, 0.0), np.where(DATA > 5, 0.0, DATA))
    assert_close(x, DATA)


def test_writing_refuses_what_it_can_not_do():
    with pytest.raises(TypeError, match="writes into a Tensor"):
        pb.place([1.0], [True], [2.0])
    with pytest.raises(TypeError, match="same_kind"):
        pb.copyto(pb.tensor([1]), 2.5)
    with pytest.raises(ValueError, match="no values"):
        pb.place(pb.tensor([1.0]), [True], [])
