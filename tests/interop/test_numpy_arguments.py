"""Arguments of NumPy's functions mean on tensors what they mean on arrays: order of axes, positions, targets."""

import numpy as np
import pytest

import pullback as pb

ARRAY = np.random.default_rng(3).normal(size=(3, 4, 5))


def same(function, *arrays):
    """Does a function give the same of tensors as of arrays, shape and dtype included?"""
    found, wanted = function(*map(pb.tensor, arrays)), function(*arrays)
    for got, want in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        np.testing.assert_allclose(got, want)
        assert got.dtype == want.dtype and got.shape == np.shape(want)


@pytest.mark.parametrize("axes", [(1, 0), (2, 0), (-1, 1), (2, 0, 1)])
def test_weights_of_an_average_are_in_the_order_of_the_axes(axes):
    weights = np.random.default_rng(4).uniform(size=[ARRAY.shape[k] for k in axes])
    same(lambda x, w: np.average(x, axis=axes, weights=w), ARRAY, weights)
    same(lambda x, w: np.average(x, axis=axes, weights=w, returned=True), ARRAY, weights)


def test_weights_of_an_average_do_not_depend_on_its_elements():
    infinite = ARRAY.copy()
    infinite[0, 0, 0] = np.inf
    infinite[1, 1, 1] = np.nan
    same(lambda x: np.average(x, axis=0, weights=[1.0, 2.0, 3.0], returned=True), infinite)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16])
@pytest.mark.parametrize("count", [3, 4])
def test_the_middle_elements_are_not_added_up_in_a_dtype_that_is_too_small(dtype, count):
    large = np.array([100, 120, 115, 110][:count], dtype)
    if dtype == np.float16:
        large *= np.float16(500)
    same(np.median, large)
    same(np.nanmedian, large)


@pytest.mark.parametrize("dtype", [None, np.int16, np.int32, np.float32])
@pytest.mark.parametrize(
    "function",
    [
        np.add.reduce,
        np.multiply.reduce,
        np.maximum.reduce,
        np.add.accumulate,
        np.multiply.accumulate,
        np.maximum.accumulate,
        lambda x, dtype: np.add.reduceat(x, [0, 2], dtype=dtype),
    ],
)
def test_methods_of_ufuncs_give_the_dtype_that_is_asked_for(function, dtype):
    same(lambda x: function(x, dtype=dtype), np.array([1, 2, 3], np.int32))


@pytest.mark.parametrize("function", [np.frexp, np.modf])
@pytest.mark.parametrize("place", [0, 1])
def test_a_ufunc_of_two_results_with_one_target_gives_both(function, place):
    numbers = np.array([5.7, -2.3])
    wanted = function(numbers)
    out = [None, None]
    out[place] = pb.tensor(np.zeros(2, wanted[place].dtype))
    for out_arguments in ({"out": tuple(out)}, None):
        called = (pb.tensor(numbers), *out) if out_arguments is None else (pb.tensor(numbers),)
        found = function(*called, **(out_arguments or {}))
        assert found[place] is out[place]
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want)


def test_a_target_of_one_of_two_results_is_recorded():
    x = pb.tensor([5.7, -2.3], requires_grad=True)
    out = pb.zeros(2)
    fraction, whole = np.modf(x * 2, out, None)
    assert fraction is out
    (fraction * whole.detach()).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * np.modf(2 * x.detach().numpy())[1])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.insert(x, np.array([1.0, 2.0]), [10, 20]),
        lambda x: np.delete(x, np.array([1.0])),
        lambda x: np.delete(x, [1.5]),
        lambda x: np.trim_zeros(x, trim="front"),
        lambda x: np.searchsorted(x, 2, sorter=[1.1]),
        lambda x: np.searchsorted(x, 2, sorter=[0, 1]),
        lambda x: np.searchsorted(x, 2, sorter=[-1] * 4),
        lambda x: np.searchsorted(x, 2, sorter=[4] * 4),
        lambda x: np.var(x, ddof=1, correction=0),
        lambda x: np.nanstd(x, ddof=1, correction=1),
        lambda x: np.clip(x, 1, 2, max=3),
        lambda x: np.i0(x + 1j),
    ],
)
def test_what_numpy_refuses_is_refused(function):
    numbers = np.array([0.0, 1.0, 2.0, 3.0])
    for values in (numbers, pb.tensor(numbers)):
        with pytest.raises((TypeError, ValueError, IndexError)):
            function(values)


@pytest.mark.parametrize("place", [1, [1], [1, 2, 0]])
def test_values_are_inserted_at_one_position_or_at_several(place):
    same(lambda x: np.insert(x, place, [1.0, 2.0, 3.0], axis=1), ARRAY[:, :, 0])


def test_nothing_is_removed_at_no_position():
    same(lambda x: np.delete(x, []), ARRAY)
    same(lambda x: np.insert(x, [], 1.0), ARRAY)
