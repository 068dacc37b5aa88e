"""Tensors as arrays and numbers, and what is refused because a gradient would be lost."""

import math
import operator
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.interop import DetachedScalarWarning


def raises_numpy_on_grad():
    return pytest.raises(pb.autograd.AutogradError, match=r"NUMPY_ON_GRAD[\s\S]*detach\(\)")


def leaf(value):
    return pb.tensor(value, requires_grad=True)


# To arrays


def test_numpy_shares_memory():
    x = pb.tensor([1.0, 2.0])
    x.numpy()[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    assert np.shares_memory(np.asarray(x), x.numpy())


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.numpy(), np.asarray, np.array, lambda x: np.array([x, x]), lambda x: np.float64(x),
        lambda x: np.asarray(x * 2), lambda x: np.array(x[0]),
    ],
)  # fmt: skip
def test_a_tensor_that_requires_grad_does_not_become_an_array(convert):
    with raises_numpy_on_grad():
        convert(leaf([1.0, 2.0]))


def test_under_no_grad_and_after_detach_it_does():
    x = leaf([1.0, 2.0])
    with pb.no_grad():
        assert np.shares_memory(x.numpy(), np.asarray(x))
    assert np.shares_memory(x.detach().numpy(), x.numpy(force=True))


def test_array_honours_dtype_and_copy():
    x = pb.tensor([1.0, 2.0])
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(x, dtype=np.float64), x.numpy())
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.float32, copy=False)


def test_a_gradient_lent_to_a_hook_is_read_only_as_an_array_too():
    x, seen = leaf([1.0, 2.0]), []

    def hook(gradient):
        for values in (gradient.numpy(), np.asarray(gradient)):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 7.0
        seen.append(gradient.tolist())

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0]] and x.grad.numpy().flags.writeable


def test_integer_tensors_always_convert():
    index = pb.tensor([1, 0])
    assert np.array([10, 20])[index].tolist() == [20, 10]


# Into arrays


@pytest.mark.parametrize("index", [slice(None), [0, 1], np.array([True, False, True]), Ellipsis], ids=str)
def test_assigning_to_part_of_an_array_is_refused(index):
    target = np.zeros(3)
    with raises_numpy_on_grad():
        target[index] = leaf(1.0)
    assert target.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [float, complex])
def test_assigning_to_one_element_of_an_array_is_refused(dtype):
    target = np.zeros(3, dtype)
    x = leaf(1.0)
    with pytest.raises((ValueError, pb.autograd.AutogradError)) as caught:
        target[1] = x
    error = caught.value.__cause__ or caught.value  # for float64 NumPy raises an error of its own from ours
    assert isinstance(error, pb.autograd.AutogradError) and error.code == "NUMPY_ON_GRAD"
    assert not target.any()


def test_assigning_to_one_element_of_an_integer_array_is_refused():
    target = np.zeros(3, int)
    with raises_numpy_on_grad():
        target[1] = leaf(1.0)


def test_assigning_a_constant_to_an_array_works():
    target = np.zeros(3)
    target[0] = pb.tensor(1.0)
    target[1:] = pb.tensor([2.0, 3.0])
    with pb.no_grad():
        target[0] += leaf(4.0).item()
    assert target.tolist() == [5.0, 2.0, 3.0]


# To numbers


@pytest.mark.parametrize("value", [3.5, [3.5], [[3.5]]], ids=str)
def test_one_element_becomes_a_number(value):
    x = leaf(value)
    assert x.item() == 3.5 and int(x) == 3 and bool(x) is True
    with pytest.warns(DetachedScalarWarning):
        assert float(x) == 3.5
    with pytest.warns(DetachedScalarWarning):
        assert complex(x) == 3.5


@pytest.mark.parametrize("convert", [float, int, complex, lambda x: x.item()])
@pytest.mark.parametrize("value", [[1.0, 2.0], []], ids=str)
def test_other_tensors_are_no_number(convert, value):
    with pytest.raises(ValueError):
        convert(pb.tensor(value))


def test_a_complex_tensor_is_no_real_number():
    x = pb.tensor(1 + 2j)
    assert complex(x) == x.item() == 1 + 2j
    for convert in (float, int):
        with pytest.raises(TypeError, match="complex"):
            convert(x)


def test_taking_a_number_out_warns_where_it_could_be_a_mistake():
    x = leaf(1.0)
    with pytest.warns(DetachedScalarWarning, match="item") as caught:
        math.sin(x)
    assert caught[0].filename == __file__


def test_taking_a_number_out_on_purpose_does_not_warn():
    x = leaf(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.item(), x.tolist(), int(x), bool(x), f"{x:.2f}", float(x.detach())
        with pb.no_grad():
            float(x)


def test_item_takes_an_index():
    assert leaf([[1.0, 2.0]]).item(0, 1) == 2.0


def test_tolist_gives_python_numbers():
    assert leaf([[1.0], [2.0]]).tolist() == [[1.0], [2.0]]
    assert type(pb.tensor([1]).tolist()[0]) is int
    assert leaf(1.5).tolist() == 1.5


@pytest.mark.parametrize("value", [[1.0, 2.0], [], [[True]] * 2], ids=str)
def test_the_truth_of_several_elements_or_none_is_ambiguous(value):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(pb.tensor(value))


def test_an_integer_is_an_index():
    assert operator.index(pb.tensor(2)) == operator.index(pb.tensor([2])) == 2
    assert "abc"[pb.tensor(1)] == "b" and list(range(pb.tensor(2))) == [0, 1]


@pytest.mark.parametrize("value", [1.0, [1, 2], True], ids=str)
def test_anything_else_is_no_index(value):
    with pytest.raises(TypeError, match="index"):
        operator.index(pb.tensor(value))


def test_len_is_the_first_axis():
    assert len(pb.zeros((3, 2))) == 3
    with pytest.raises(TypeError, match="without axes"):
        len(pb.tensor(1.0))


def test_in_compares_elements():
    x = leaf([1.0, 2.0])
    assert 2.0 in x and 3.0 not in x
    assert pb.tensor(1.0) in x and "a" not in x


@pytest.mark.parametrize("take", [np.asarray, np.array, lambda x: np.asarray([x, x])], ids=["asarray", "array", "list"])
def test_one_differentiated_number_is_refused_by_compiled_code_as_by_eager_code(take):
    function = pb.func.grad(lambda x: (x**2 + pb.tensor(take(x * 2))).sum())
    for own in (function, pb.compile(function)):
        with pytest.raises(pb.errors.AutogradError, match="NUMPY_ON_GRAD"):
            own(pb.tensor(1.5))


@pytest.mark.parametrize("combine", [np.ma.add, lambda a, x: a * x, lambda a, x: np.ma.where(a > 1, a, x)])
def test_masked_arrays_do_not_take_the_numbers_of_a_tensor_that_requires_grad(combine):
    """`np.ma` reads `_data` of what has it, and a tensor does: the result was a constant, without a word."""
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(pb.AutogradError) as caught:
        combine(masked, x)
    assert caught.value.code == "NUMPY_ON_GRAD"
    np.testing.assert_array_equal(combine(masked, x.detach()), combine(masked, np.array([1.0, 2.0, 3.0])))
