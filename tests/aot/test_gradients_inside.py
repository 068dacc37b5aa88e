"""Gradients that a compiled function computes by itself: what it may do with them, and where they may not be left."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.pytree import flatten
from pullback.errors import TraceError


def leaf(with_grad: bool = False):
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    if with_grad:
        (x * x).sum().backward()
    return x


def own_leaf(x):
    """Backward to a leaf of the function's own, twice, and a write to its gradient."""
    q = x.detach().clone().requires_grad_()
    (q * q).sum().backward()
    first = q.grad
    (q * 3).sum().backward()
    first.add_(1)
    return q.grad, first


def broadcast_gradient(x):
    q = x.detach().clone().requires_grad_()
    q.sum().backward()
    q.grad.add_(1)
    return q.grad


def lent_gradient(x):
    g = pb.ones(3)
    (found,) = pb.autograd.grad(x + 1, [x], g)
    found.add_(1)
    return found, g


def of_examples(x):
    def one(row):
        first, second = pb.autograd.grad((row + x[:2]).sum(), [row, x])
        first.add_(1)
        return first, second

    return pb.vmap(lambda row: pb.func.grad(lambda y: (y * y).sum())(row))(x.reshape(3, 1)), one(x[1:].clone())


def recorded(x):
    """Two gradients with a history that are equal, of which one is written."""
    y = x * 2
    first, second = pb.autograd.grad((x + y).sum(), [x, y], create_graph=True)
    first.add_(1)
    return first, second


@pytest.mark.parametrize("function", [own_leaf, broadcast_gradient, lent_gradient, of_examples, recorded])
def test_a_gradient_may_be_written(function):
    compiled = pb.compile(function, fallback="raise", backend="numpy")
    for _ in range(2):
        expected, got = flatten(function(leaf()))[0], flatten(compiled(leaf()))[0]
        for theirs, mine in zip(expected, got, strict=True):
            np.testing.assert_array_equal(mine.detach().numpy(), theirs.detach().numpy())
            assert mine.detach().numpy().strides == theirs.detach().numpy().strides


def backward_inside(x):
    (x * x).sum().backward()
    return x * 1


def uses_grad(x):
    return x * 2 if x.grad is None else x - 0.1 * x.grad


def writes_grad(x):
    if x.grad is not None:
        x.grad.zero_()
    return x * 2


def forgets_grad(x):
    x.grad = None
    return x * 2


def retained_inside(x):
    t = x * 2
    t.retain_grad()
    pb.autograd.grad((t * t).sum(), [x], retain_graph=True)
    return t


@pytest.mark.parametrize(
    "function", [backward_inside, uses_grad, writes_grad, forgets_grad, retained_inside], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("with_grad", [False, True])
def test_the_gradients_of_the_caller_are_not_part_of_a_capture(function, with_grad):
    """They are refused, and the function runs as it is."""
    with pytest.raises(TraceError, match=r"\.grad of a tensor"):
        pb.compile(function, fallback="raise")(leaf(with_grad))
    compiled = pb.compile(function)
    for _ in range(2):
        x, y = leaf(with_grad), leaf(with_grad)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, got = function(x), compiled(y)
        assert got.tolist() == expected.tolist()
        assert (y.grad is None) == (x.grad is None)
        assert x.grad is None or y.grad.tolist() == x.grad.tolist()


def test_backward_inside_does_not_leave_the_function():
    x = leaf()
    y = x * 2
    with pytest.raises(TraceError, match="goes on into the history"):
        pb.compile(lambda y: (y * y).sum().backward(), fallback="raise")(y)
    with pytest.raises(TraceError, match=r"stores a gradient"):
        pb.compile(lambda: (x * x).sum().backward(), fallback="raise")()
    assert x.grad is None


def test_the_gradient_of_a_tensor_that_the_function_holds_is_not_read():
    x = leaf(with_grad=True)
    with pytest.raises(TraceError, match="reads or assigns"):
        pb.compile(lambda y: y + x.grad, fallback="raise")(pb.ones(3))
