"""What in-place functions may write: nothing is cut off, nothing is broadcast without a word."""

import numpy as np
import pytest

import pullback as pb

HALVES = np.array([[0.5, 1.5], [2.5, 0.5]])
CALLS = {
    "addcdiv_": (HALVES, HALVES),
    "addcmul_": (HALVES, HALVES),
    "addmm_": (HALVES, HALVES),
    "clamp_max_": (HALVES,),
    "clamp_min_": (HALVES,),
    "div_": (HALVES,),
    "float_power_": (HALVES,),
    "lerp_": (HALVES, 0.5),
    "unwrap_": (),
    "cauchy_": (),
    "exponential_": (),
    "log_normal_": (),
    "normal_": (),
    "uniform_": (),
}


@pytest.mark.parametrize("name", CALLS)
def test_real_results_are_not_cut_off_to_whole_numbers(name):
    whole = pb.tensor([[3, 2], [1, 4]])
    with pytest.raises(TypeError):
        getattr(whole, name)(*map(pb.as_tensor, CALLS[name]))
    assert whole.tolist() == [[3, 2], [1, 4]]


def test_a_rounded_quotient_of_real_numbers_is_none_of_whole_ones():
    with pytest.raises(TypeError, match="cannot be cast"):
        pb.tensor([3, 2]).div_(pb.tensor([0.5, 0.5]), rounding_mode="floor")
    assert pb.tensor([3, 2]).div_(pb.tensor([2, 2]), rounding_mode="floor").tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float32"])
def test_whole_numbers_fill_tensors_of_every_dtype(dtype):
    x = pb.zeros((50,), dtype=dtype)
    assert set(x.bernoulli_(0.5).tolist()) == {0, 1}
    assert x.geometric_(0.5).min() >= 1
    assert set(x.random_(2).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("bool", 0, 3), ("uint8", -1, 3), ("int8", 0, 129), ("float16", 0, 99999)]
)
def test_whole_numbers_that_do_not_fit_are_not_drawn(dtype, low, high):
    with pytest.raises(ValueError, match="do not fit"):
        pb.zeros(3, dtype=dtype).random_(low, high)


def test_an_in_place_result_has_the_shape_of_its_target():
    with pytest.raises(ValueError, match="does not fit"):
        pb.ones(3).addcmul_(pb.ones((1, 3)), pb.ones(3))


def test_the_gradient_of_an_in_place_function_reads_the_former_elements():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.lerp_(y * y, 0.5).sum().backward()
    np.testing.assert_allclose(x.grad, 0.5 + x.detach())
