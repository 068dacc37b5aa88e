"""Derivatives of compiled backward passes: the gradients are captured again, as a function of inputs and tangents."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.aot import HigherOrderError

WAYS = pytest.mark.parametrize("partitioner", ["default", "min_cut"])


def compiled(function, **options):
    return pb.compile(function, backend="numpy", fallback="raise", **options)


def network(x, w, v):
    h = pb.tanh(x @ w)
    return ((h @ v) ** 2).sum() + pb.sin(x).mean()


def arguments():
    rng = np.random.default_rng(0)
    return [pb.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4, 3), (3, 5), (5, 2))]


def hessian_vector(function, args):
    """Gradients, and the gradients of a product with them."""
    first = pb.autograd.grad(function(*args), args, create_graph=True)
    total = sum((g * g).sum() for g in first)
    second = pb.autograd.grad(total, args, create_graph=True)
    third = pb.autograd.grad(sum((g * g).sum() for g in second), args)
    return first, second, third


@WAYS
def test_every_order_is_compiled(partitioner):
    call = compiled(network, partitioner=partitioner)
    for _ in range(3):
        expected = hessian_vector(network, arguments())
        got = hessian_vector(call, arguments())
        for mine, theirs in zip(got, expected, strict=True):
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-10, atol=1e-12)
        # The histories of first and second derivatives are compiled nodes, and not hundreds of eager ones.
        for gradients in got[:2]:
            assert {g.grad_fn.name() for g in gradients} == {"CompiledBackward"}
    assert call.cache_info()[:3] == (2, 1, 1)


def test_the_gradients_are_captured_once_for_each_set_of_tangents():
    traced = []

    def f(x):
        traced.append(1)
        return (x**3).sum(), (x**2).sum()

    call = compiled(f, side_effects="trace")
    captured = []
    for which in ((0,), (1,), (0, 1), (0,), (0, 1)):
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        outs = call(x)
        (g,) = pb.autograd.grad([outs[k] for k in which], x, create_graph=True)
        (second,) = pb.autograd.grad(g.sum(), x)
        expected = (6 * x if 0 in which else 0) + (2 * pb.ones(2) if 1 in which else 0)
        assert second.tolist() == expected.tolist()
        captured.append(len(call.entries()[0]._recorded))
    assert len(traced) == 1
    assert captured == [1, 2, 3, 3, 3]


def test_a_gradient_of_the_gradient_that_arrives():
    """The gradients depend on tangents as well."""
    call = compiled(lambda x: x * x)
    x, t = (pb.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [3.0, 5.0]))
    (g,) = pb.autograd.grad(call(x), x, t, create_graph=True)
    found = pb.autograd.grad(g.sum(), (x, t))
    assert [each.tolist() for each in found] == [[6.0, 10.0], [2.0, 4.0]]


def test_random_numbers_are_those_of_the_call():
    def f(x):
        return (x**3 * pb.random.normal(size=3)).sum()

    found = []
    for function in (f, compiled(f)):
        pb.random.manual_seed(7)
        x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        out = function(x)
        (first,) = pb.autograd.grad(out, x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = pb.autograd.grad(second.sum(), x)
        found.append([first.tolist(), second.tolist(), third.tolist(), pb.random.normal(size=2).tolist()])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


class Halved(pb.autograd.Function):
    """The identity, with half the derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * 0.5


@pb.autograd.overwrite_policy("raise")
def test_formulas_of_custom_functions_draw_again_and_miss_what_was_written():
    def f(x):
        return (Halved.apply(x) * pb.random.normal(size=3)).sum()

    found = []
    for function in (f, compiled(f)):
        pb.random.manual_seed(7)
        x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (first,) = pb.autograd.grad(function(x), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x)
        found.append([first.tolist(), second.tolist(), pb.random.normal(size=2).tolist()])
    assert found[0] == found[1]
    w = pb.ones(3, requires_grad=True)
    for function in (f, compiled(f)):
        y = w * 2
        out = function(y)
        y.add_(1)
        with pytest.raises(pb.autograd.AutogradError, match="modified"):
            pb.autograd.grad(out, w, create_graph=True)


def test_a_write_does_not_happen_again():
    """Also one that changes nothing is counted."""
    x, y = pb.tensor([1.0, 2.0, 3.0], requires_grad=True), pb.ones((2, 2))
    for change in (lambda y: y.squeeze_(), lambda y: y.mul_(2), lambda y: y.requires_grad_()):
        out = compiled(lambda x, y, change=change: (change(y), Halved.apply(x).sum())[1])(x, y)
        version = y._version
        with pytest.raises(HigherOrderError, match="custom Functions"):
            pb.autograd.grad(out, x, create_graph=True)
        assert y._version == version


def test_an_effect_does_not_happen_again():
    seen = []

    @pb.library.custom_op("tests_higher::seen", mutates_args=(), schema="(Tensor x) -> Tensor")
    def note(x):
        seen.append(1)
        return x * 1

    note.register_fake(lambda x: pb.empty_like(x))
    note.register_autograd(lambda ctx, g: g)
    note.register_effect("ordered")
    for function in (lambda x: (note(x) ** 3).sum(), lambda x: (Halved.apply(note(x)) ** 3).sum()):
        seen.clear()
        x = pb.ones(3, requires_grad=True)
        out = compiled(function)(x)
        with pytest.raises(HigherOrderError, match="effects"):
            pb.autograd.grad(out, x, create_graph=True)
        assert seen == [1]


class TwiceOne(pb.autograd.Function):
    """A product whose formula is not that of products."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * 2, g * x


CONNECTED = {
    "a view of another": lambda w: (w, w.flip(0)),
    "computed from another": lambda w: (w, w * w),
    "both computed": lambda w: (w * 3, (w * 3).sin()),
    "the same": lambda w: (w * 2,) * 2,
}


@pytest.mark.parametrize("connected", CONNECTED.values(), ids=CONNECTED.keys())
@pytest.mark.parametrize("given", ["arguments", "captured", "one of each"])
def test_inputs_that_hang_together_get_the_gradients_of_custom_functions_once(connected, given):
    def derivatives(made):
        w = pb.tensor([0.3, -0.7, 1.9], requires_grad=True)
        x, y = connected(w)
        if given == "arguments":
            result = made(lambda a, b: TwiceOne.apply(a, b) * b)(x, y)
        elif given == "captured":
            result = made(lambda a: TwiceOne.apply(x, y) * y * a)(pb.ones(1))
        else:
            result = made(lambda b: TwiceOne.apply(x, b) * b)(y)
        (first,) = pb.autograd.grad(result.sum(), w, create_graph=True)
        (second,) = pb.autograd.grad((first * first).sum(), w)
        return np.stack([first.detach().numpy(), second.numpy()])

    np.testing.assert_allclose(derivatives(compiled), derivatives(lambda f: f), rtol=1e-12)


class Cubed(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


def test_threads_that_share_inputs_do_not_meet_the_histories_of_functions_that_run_again():
    compiled = pb.compile(lambda a, b: Cubed.apply(a) * b, backend="numpy", fallback="raise")
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    a = leaf * 2
    b = a * a
    found = []

    def second():
        for _ in range(10):
            (first,) = pb.autograd.grad(compiled(a, b).sum(), leaf, create_graph=True)
            found.append(pb.autograd.grad(first.sum(), leaf, retain_graph=True)[0].tolist())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=second) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [[640.0, 5120.0]] * 30
