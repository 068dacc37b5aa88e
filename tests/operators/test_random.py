"""Random numbers: streams, states, distributions and their gradients."""

import numpy as np
import pytest

import pullback as pb
from pullback.operators.random import family
from pullback.testing import assert_close


@pytest.fixture(autouse=True)
def own_stream():
    with family.fork_rng():
        family.manual_seed(3)
        yield


def test_a_seed_gives_numpys_stream():
    generator, numpys = family.Generator(11), np.random.default_rng(11)
    assert_close(generator.random(3), numpys.random(3))
    assert_close(generator.standard_normal((2, 2)), numpys.standard_normal((2, 2)))
    assert generator.integers(0, 10, 5).tolist() == numpys.integers(0, 10, 5).tolist()
    assert_close(generator.normal(1.0, 2.0, 4), numpys.normal(1.0, 2.0, 4))
    assert_close(generator.uniform(-1.0, 3.0, 4), numpys.uniform(-1.0, 3.0, 4))
    assert_close(generator.exponential(2.0, 3), numpys.exponential(2.0, 3))
    assert_close(generator.laplace(1.0, 2.0, 3), numpys.laplace(1.0, 2.0, 3))
    assert_close(generator.weibull(1.5, 3), numpys.weibull(1.5, 3))
    assert_close(generator.pareto(1.5, 3), numpys.pareto(1.5, 3))
    assert_close(generator.power(1.5, 3), numpys.power(1.5, 3))
    assert_close(generator.rayleigh(1.5, 3), numpys.rayleigh(1.5, 3))
    assert generator.permutation(5).tolist() == numpys.permutation(5).tolist()
    assert generator.poisson(4.0, 3).tolist() == numpys.poisson(4.0, 3).tolist()
    assert generator.standard_normal(2, dtype=pb.float32).tolist() == numpys.standard_normal(2, np.float32).tolist()


def test_a_state_can_be_taken_and_put_back():
    state = family.get_state()
    first = family.random(3)
    family.set_state(state)
    assert family.random(3).tolist() == first.tolist()
    generator = family.Generator(1)
    kept = generator.get_state()
    numbers = generator.random(2).tolist()
    generator.random(5)
    generator.set_state(kept)
    assert generator.random(2).tolist() == numbers


def test_seeding_the_default_generator_and_forking_it():
    assert family.manual_seed(5) is family.default_generator
    expected = family.rand(2).tolist()
    family.manual_seed(5)
    with family.fork_rng():
        family.rand(10)
    assert family.rand(2).tolist() == expected
    number = family.seed()
    drawn = family.rand(1).item()
    assert family.manual_seed(number).random(1).item() == drawn
    assert family.seed(5) == 5 and family.rand(2).tolist() == expected


def test_unknown_draws_are_attribute_errors():
    with pytest.raises(AttributeError):
        family.Generator(0).no_such_distribution


def test_shapes_dtypes_and_flags():
    assert pb.rand(2, 3).shape == pb.rand((2, 3)).shape == pb.randn(2, 3).shape == (2, 3)
    assert family.standard_normal().shape == () and pb.randint(5, (2,)).shape == (2,)
    x = pb.randn(2, dtype=pb.float32, requires_grad=True)
    assert x.dtype == pb.float32 and x.requires_grad and x.is_leaf
    assert pb.rand_like(x).dtype == pb.randn_like(x).dtype == pb.float32 and not pb.rand_like(x).requires_grad
    assert pb.randint_like(x, 3).dtype == pb.float32
    assert sorted(pb.randperm(4).tolist()) == [0, 1, 2, 3]
    with pb.inference_mode():
        assert pb.rand(1).is_inference()


def test_samples_are_differentiable_in_location_and_scale():
    loc, scale = pb.tensor([0.0, 5.0], requires_grad=True), pb.tensor(2.0, requires_grad=True)
    for draw in (family.normal, family.laplace, family.logistic, family.gumbel, family.cauchy):
        sample = draw(loc, scale, generator=family.Generator(1))
        assert sample.shape == (2,)
        g_loc, g_scale = pb.autograd.grad(sample.sum(), (loc, scale))
        noise = (sample.detach().numpy() - [0.0, 5.0]) / 2.0
        assert_close(g_loc, [1.0, 1.0])
        assert_close(g_scale, noise.sum())


@pytest.mark.parametrize("name", ["uniform", "lognormal", "exponential", "rayleigh", "weibull", "pareto", "power"])
def test_gradients_are_those_of_common_random_numbers(name):
    draw = getattr(family, name)
    parameters = [1.5, 2.5] if name in ("uniform", "lognormal") else [1.5]

    def sample(values):
        return draw(*values, size=4, generator=family.Generator(2))

    tensors = [pb.tensor(p, requires_grad=True) for p in parameters]
    gradients = pb.autograd.grad(sample(tensors).sum(), tensors)
    step = 1e-6
    for k, gradient in enumerate(gradients):
        up, down = (
            sample([p + sign * step * (j == k) for j, p in enumerate(parameters)]).sum().item() for sign in (1, -1)
        )
        assert_close(gradient, (up - down) / (2 * step), rtol=1e-6, atol=1e-6)


def test_discrete_draws_have_no_gradient():
    p = pb.tensor([0.2, 0.8], requires_grad=True)
    for drawn in (pb.bernoulli(p), family.binomial(3, p), family.poisson(p), family.geometric(p)):
        assert not drawn.requires_grad and drawn.shape == (2,)
    assert set(pb.bernoulli(0.5, 50).tolist()) == {0.0, 1.0}
    assert pb.bernoulli(pb.tensor([0.0, 1.0], dtype=pb.float32)).dtype == pb.float32
    with pytest.raises(ValueError, match="between 0 and 1"):
        pb.bernoulli(1.5)
    with pytest.raises(ValueError, match="negative"):
        family.normal(0.0, -1.0)


def test_permutations_and_choices_are_gathers():
    x = pb.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    shuffled = family.permutation(x, 1)
    assert sorted(shuffled.tolist()[0]) == [1.0, 2.0, 3.0]
    assert pb.autograd.grad((shuffled * shuffled).sum(), x)[0].tolist() == [[2.0, 4.0, 6.0]]
    chosen = family.choice(x, (2, 2), axis=1)
    assert chosen.shape == (1, 2, 2)
    counts = [(chosen.detach().numpy() == value).sum() for value in (1, 2, 3)]
    assert pb.autograd.grad(chosen.sum(), x)[0].tolist() == [counts]
    assert family.choice(3, p=[0.0, 1.0, 0.0]).item() == 1
    assert sorted(family.choice(4, 4, replace=False).tolist()) == [0, 1, 2, 3]


def test_shuffle_works_in_place():
    x = pb.arange(6.0)
    assert family.shuffle(x) is None
    assert sorted(x.tolist()) == [0, 1, 2, 3, 4, 5] and x._version == 1


@pytest.mark.parametrize(
    "fill, low, high",
    [
        (lambda t: t.uniform_(2.0, 3.0), 2.0, 3.0), (lambda t: t.normal_(100.0, 1.0), 90.0, 110.0),
        (lambda t: t.exponential_(2.0), 0.0, 50.0), (lambda t: t.bernoulli_(0.5), 0.0, 1.0),
        (lambda t: t.random_(3, 6), 3.0, 5.0), (lambda t: t.geometric_(0.5), 1.0, 100.0),
        (lambda t: t.log_normal_(0.0, 0.1), 0.1, 10.0), (lambda t: t.cauchy_(), -np.inf, np.inf),
    ],
)  # fmt: skip
def test_filling_in_place_cuts_the_history(fill, low, high):
    x = pb.ones(20, requires_grad=True)
    y = x * 1
    assert fill(y) is y and y._version == 1
    assert all(low <= value <= high for value in y.tolist()) and len(set(y.tolist())) > 1
    assert pb.autograd.grad(y.sum(), x, materialize_grads=True)[0].tolist() == [0.0] * 20


def test_moments():
    n = 100_000
    assert abs(family.normal(3.0, 2.0, n).mean().item() - 3.0) < 0.03
    assert abs(family.uniform(0.0, 2.0, n).var().item() - 4 / 12) < 0.01
    assert abs(family.exponential(0.5, n).mean().item() - 0.5) < 0.01
    assert abs(family.gumbel(0.0, 1.0, n).mean().item() - np.euler_gamma) < 0.02
