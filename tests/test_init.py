"""`pb.init`: what parameters begin with has the right shape, mean, variance and range, and follows its generator."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

SHAPE = (60, 40, 5, 5)  # fan_in 1000, fan_out 1500
STD = {
    "normal": 1.0,
    "uniform": math.sqrt(1 / 12),
    "truncated_normal": 0.87962566103423978,
    "xavier_uniform": math.sqrt(2 / 2500),
    "xavier_normal": math.sqrt(2 / 2500),
    "kaiming_uniform": math.sqrt(2 / 1000),
    "kaiming_normal": math.sqrt(2 / 1000),
    "lecun_normal": math.sqrt(1 / 1000),
}


@pytest.mark.parametrize("name", STD)
def test_the_deviation_is_the_one_that_is_promised(name):
    rng = pb.random.default_rng(3)
    drawn = getattr(pb.init, name)(SHAPE, rng=rng)
    assert drawn.shape == SHAPE and drawn.dtype == np.float64 and not drawn.requires_grad
    assert abs(drawn.numpy().std() / STD[name] - 1) < 0.02  # 60000 numbers: six deviations of this estimate
    assert abs(drawn.numpy().mean() - (0.5 if name == "uniform" else 0.0)) < 0.03 * STD[name]


@pytest.mark.parametrize("name, fan", [("kaiming_uniform", 1000), ("xavier_uniform", 2500)])
def test_uniform_weights_fill_their_range(name, fan):
    bound = math.sqrt(6 / fan)
    largest = abs(getattr(pb.init, name)(SHAPE, rng=pb.random.default_rng(0)).numpy()).max()
    assert 0.99 * bound < largest <= bound


@pytest.mark.parametrize("name", ["kaiming_uniform", "kaiming_normal", "lecun_normal"])
def test_fan_out_is_for_weights_that_are_multiplied_from_the_right(name):
    make = getattr(pb.init, name)
    one = make((300, 100), mode="fan_in", rng=pb.random.default_rng(1))
    other = make((300, 100), mode="fan_out", rng=pb.random.default_rng(1))
    assert_close(one, other * math.sqrt(3))
    with pytest.raises(ValueError, match="mode must be"):
        make((3, 2), mode="fan_avg")


def test_truncated_normals_stay_within_their_bounds():
    drawn = pb.init.truncated_normal(20000, 1.0, 2.0, 0.5, 4.0, rng=pb.random.default_rng(5)).numpy()
    assert drawn.min() >= 0.5 and drawn.max() <= 4.0
    lecun = pb.init.lecun_normal((100, 25), rng=pb.random.default_rng(5)).numpy()
    assert abs(lecun).max() <= 2 * 0.2 / 0.8796


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (6, 2, 2)])
def test_orthogonal_weights_are(shape):
    w = pb.init.orthogonal(shape, 2.0, rng=pb.random.default_rng(2)).numpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    assert_close(product, 4 * np.eye(min(w.shape)))


def test_constants_and_identities():
    assert_close(pb.init.zeros((2, 2)), np.zeros((2, 2)))
    assert_close(pb.init.ones(3), np.ones(3))
    assert_close(pb.init.constant((2,), 7.0), [7.0, 7.0])
    assert_close(pb.init.identity((2, 3)), np.eye(2, 3))
    with pytest.raises(ValueError, match="makes matrices"):
        pb.init.identity(3)


@pytest.mark.parametrize("name", pb.init.__all__)
def test_all_take_a_dtype_and_a_generator(name):
    make = getattr(pb.init, name)
    first, second = (make((3, 4), rng=pb.random.default_rng(8), dtype="float32") for _ in range(2))
    assert first.dtype == np.float32
    assert_close(first, second)


def test_the_default_generator_is_that_of_random():
    pb.random.manual_seed(4)
    first = pb.init.normal(5)
    pb.random.manual_seed(4)
    assert_close(pb.random.normal(size=5), first)


@pytest.mark.parametrize("name", ["xavier_uniform", "kaiming_normal", "lecun_normal", "orthogonal"])
def test_weights_need_two_axes(name):
    with pytest.raises(ValueError, match="two axes or more"):
        getattr(pb.init, name)((3,))
