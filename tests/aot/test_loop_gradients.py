"""Gradients that are taken of the loops of a long function, and not of its tape, are those of the tape."""

import numpy as np
import pytest

import pullback as pb
from pullback.aot import _later
from pullback.aot._trace import rolled
from tests.graph.random_steps import Loop, inputs

STEPS = 60


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture
def asked(monkeypatch):
    """What the loops were asked for: True for each gradient that they gave, False where the tape had to be asked."""
    answers = []
    for name in ("joint_of_loops", "gradients_of_loops"):
        original = getattr(_later, name)

        def counted(*args, original=original):
            found = original(*args)
            answers.append(found is not None)
            return found

        monkeypatch.setattr(_later, name, counted, raising=False)
    return answers


def by_backward(function, arrays, **options):
    """The value, and the gradients or None, through the tape around a compiled call."""
    operands = [pb.tensor(each, requires_grad=True) for each in arrays]
    value = pb.compile(function, fallback="raise", backend="numpy", **options)(*operands)
    return [value.detach(), *pb.autograd.grad(value, operands, allow_unused=True)]


def by_transform(function, arrays, **options):
    """The same by a transform that is compiled as a whole; it gives zeros where there is no gradient."""
    whole = pb.func.grad_and_value(function, tuple(range(len(arrays))))
    gradients, value = pb.compile(whole, fallback="raise", backend="numpy", **options)(*map(pb.asarray, arrays))
    return [value, *gradients]


def compare(function, arrays, ways=(by_backward, by_transform)):
    for way in ways:
        for mine, theirs in zip(way(function, arrays), way(function, arrays, reroll=False), strict=True):
            assert (mine is None) is (theirs is None)
            if mine is not None:
                assert mine.shape == theirs.shape
                assert mine.dtype == theirs.dtype
                np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


def carried(x, w):
    for _ in range(STEPS):
        x = pb.sin(x * w) + 0.5 * x
    return x.sum()


def scanned(x, rows):
    for k in range(STEPS):
        x = pb.tanh(x * rows[k] + rows[k].sum())
    return (x * x).sum()


def filled(x, w):
    out = pb.zeros(STEPS + 1, 3)
    out[0] = x
    for k in range(STEPS):
        out[k + 1] = out[k] * w + 0.1 * pb.cos(out[k])
    return (out * out).sum()


def stencil(x, w):
    x = x.copy()
    for _ in range(STEPS):
        x[1:-1] = x[1:-1] + w[1:-1] * (x[2:] - 2 * x[1:-1] + x[:-2])
    return (x * x).sum()


def overwritten(x, w):
    x = x.copy()
    for _ in range(STEPS):
        x[1:-1] -= 0.1 * x[1:-1] * (x[2:] - x[:-2]) * w[1:-1]
    return (x * x).sum()


def unused(x, w):
    for _ in range(STEPS):
        x = pb.sin(x) * 0.9 + x * 0.1
    return x.sum()


def cut_off(x, w):  # what x was does not matter
    x = x.copy()
    x[:] = w
    for _ in range(STEPS):
        x = pb.sin(x) * 0.9 + x * 0.1
    return x.sum()


def whole_numbers(x, w):
    n = pb.floor(x)
    for _ in range(STEPS):
        n = pb.sign(n) + n
        x = pb.sin(x) * w
    return x.sum() + n.sum() * 0


def complex_numbers(x, w):
    z = x * (1 + 0.5j)
    for _ in range(STEPS):
        z = pb.exp(1j * z * 0.1) * w
    return pb.abs(z).sum()


@pytest.mark.parametrize(
    "function", [carried, scanned, filled, stencil, overwritten, unused, cut_off, whole_numbers, complex_numbers]
)
def test_the_gradient_of_a_loop_is_that_of_its_steps(function, asked):
    second = array(STEPS, 3, seed=1) if function is scanned else array(3, seed=1)
    if function in (stencil, overwritten):
        second = array(8, seed=1) * 0.1
    compare(function, [array(len(second) if second.ndim == 1 else 3), second])
    assert asked.count(True) == 2


@pytest.mark.parametrize("seed", range(12))
def test_random_loops(seed):
    loop = Loop(seed, STEPS)

    def function(*arrays):
        found = loop(*arrays)
        return found[0] if isinstance(found, tuple) else found

    compare(function, inputs(np.random.default_rng(seed), STEPS))


# What only the tape knows ---------------------------------------------------------------------------------------------


class Straight(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return pb.round(x)

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def custom(x, w):
    for _ in range(STEPS):
        x = Straight.apply(x * w) * 0.1 + x
    return x.sum()


def detached(x, w):
    for _ in range(STEPS):
        x = x.detach() * w + pb.sin(x)
    return x.sum()


def without_grad(x, w):
    for _ in range(STEPS):
        with pb.no_grad():
            scale = 1 / (1 + pb.abs(x))
        x = pb.sin(x) * w * scale
    return x.sum()


def hooked(x, w):
    for _ in range(STEPS):
        x = pb.sin(x * w) + 0.5 * x
        x.register_hook(lambda g: 2 * g)
    return x.sum()


def checkpointed(x, w):
    for _ in range(STEPS):
        x = pb.utils.checkpoint.checkpoint(lambda x: pb.sin(x * w) + 0.5 * x, x, use_reentrant=False)
    return x.sum()


@pytest.mark.parametrize("function", [custom, detached, without_grad, hooked, checkpointed])
def test_what_only_the_tape_knows_is_asked_of_the_tape(function, asked):
    compare(function, [array(3), array(3, seed=1)], ways=(by_backward,))
    assert True not in asked


def test_a_lost_value_is_an_error_as_without_loops():
    def f(x, w):
        x = x.copy()
        for _ in range(STEPS):
            x *= pb.sin(x) * w
        return x.sum()

    with pb.autograd.overwrite_policy("raise"), pytest.raises(RuntimeError, match="VERSION"):
        by_backward(f, [array(3), array(3, seed=1)])


def test_a_leaf_of_a_transform_is_not_the_tensor_that_it_was_made_of(asked):
    def gradient(x):
        def f(y):
            for _ in range(STEPS):
                y = pb.sin(y * x) + 0.5 * x
            return y.sum()

        return pb.func.grad(f)(x)

    def twice(x):
        return pb.func.grad(lambda y, z: carried(y, z))(x, x)

    x = pb.asarray(array(3))
    for function in (gradient, twice):
        found = pb.compile(function, fallback="raise")(x)
        np.testing.assert_allclose(found.numpy(), function(x).numpy(), rtol=1e-9)
    assert asked.count(True) == 2


def test_a_leaf_whose_memory_is_written_is_asked_of_the_tape(asked):
    def gradient(x):
        x = x.copy()

        def f(y):
            x.mul_(2)  # y lies in the same memory
            for _ in range(STEPS):
                y = pb.sin(y) * 0.9 + 0.5 * y + 0.1
            return y.sum()

        return pb.func.grad(f)(x)

    x = pb.asarray(array(3))
    np.testing.assert_allclose(pb.compile(gradient, fallback="raise")(x).numpy(), gradient(x).numpy(), rtol=1e-9)
    assert asked == [False]


def test_second_derivatives(asked):
    def second(function):
        return pb.func.grad(lambda x: (pb.func.grad(function)(x, pb.asarray(array(3, seed=1))) ** 2).sum())

    x = pb.asarray(array(3))
    found = pb.compile(second(carried), fallback="raise")(x)
    np.testing.assert_allclose(found.numpy(), second(carried)(x).numpy(), rtol=1e-8)

    def twice(function):
        leaf = pb.tensor(array(3), requires_grad=True)
        (first,) = pb.autograd.grad(function(leaf, pb.asarray(array(3, seed=1))), leaf, create_graph=True)
        return pb.autograd.grad((first * first).sum(), leaf)[0].numpy()

    np.testing.assert_allclose(twice(pb.compile(carried, fallback="raise")), twice(carried), rtol=1e-8)


def test_what_goes_wrong_with_loops_is_asked_of_the_tape(asked, monkeypatch):
    def broken(*args):
        raise ValueError("no loop today")

    monkeypatch.setattr(rolled, "_run", broken)
    compare(carried, [array(3), array(3, seed=1)])
    assert asked and True not in asked


def test_gradients_of_examples(asked):
    def gradients(x, w):
        return pb.func.vmap(pb.func.grad(carried), in_axes=(0, None))(x, w)

    x, w = pb.asarray(array(4, 3)), pb.asarray(array(3, seed=1))
    found = pb.compile(gradients, fallback="raise")(x, w)
    np.testing.assert_allclose(found.numpy(), gradients(x, w).numpy(), rtol=1e-9)
    assert True not in asked
