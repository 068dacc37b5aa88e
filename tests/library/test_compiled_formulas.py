"""What the formula of a custom operator does is what compiled code does, whatever the formula does."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.library import custom_op
from pullback.testing import assert_close

_count = itertools.count()


def product(backward, setup=None):
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    made = custom_op(f"compiled_formulas::op{next(_count)}", f, mutates_args=())
    made.register_fake(lambda x, y: x.new_empty(x.shape))
    made.register_autograd(backward, setup_context=setup or (lambda ctx, inputs, out: ctx.save_for_backward(*inputs)))
    return made


def with_function(backward):
    """The same as a custom Function."""

    class Product(pb.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

    Product.backward = staticmethod(backward)
    return Product.apply


def plain(ctx, g):
    x, y = ctx.saved_tensors
    return g * y, g * x


def multiplied(ctx, g):
    x, y = ctx.saved_tensors
    r = g * y
    r.mul_(4)
    r.div_(2)
    return r, g * x


def added_to(ctx, g):
    x, y = ctx.saved_tensors
    r = g * y
    r += y * g
    return r, g * x


def in_part(ctx, g):
    x, y = ctx.saved_tensors
    r = g * y
    r[0] *= 3
    return r, g * x


def filled_in(ctx, g):
    x, y = ctx.saved_tensors
    r = pb.zeros_like(x)
    r[0] = g[0] * y[0]
    r[1:] = (g * y)[1:]
    return r, g * x


def through_a_view(ctx, g):
    x, y = ctx.saved_tensors
    r = g * y
    r[1:].mul_(y[1:])
    return r, g * x


def independent(ctx, g):
    return pb.full(2, 7.0), g * ctx.saved_tensors[0]


def nothing(ctx, g):
    return None, g * ctx.saved_tensors[0]


FORMULAS = [plain, multiplied, added_to, in_part, filled_in, through_a_view, independent, nothing]


def used(op):
    return [
        lambda x, y: op(x, y).sum(),
        lambda x, y: (op(x * 2, y) * op(y, x)).sum(),
        lambda x, y: op(x, x).sum() + (y * 0).sum(),
    ]


def leaves():
    return pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, -4.0], requires_grad=True)


def outcome(function):
    """Gradients of first order, and of second order or the error."""
    inputs = leaves()
    first = pb.autograd.grad(function(*inputs), inputs, allow_unused=True, materialize_grads=True)
    inputs = leaves()
    try:
        (g,) = pb.autograd.grad(function(*inputs), inputs[:1], create_graph=True)
        second = pb.autograd.grad((g * g).sum(), inputs, allow_unused=True, materialize_grads=True)
    except (AutogradError, NotImplementedError):
        second = None
    return first, second


@pytest.mark.parametrize("use", range(3))
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("make", [product, with_function])
def test_derivatives_of_both_orders_are_those_of_eager_code(make, formula, use):
    function = used(make(formula))[use]
    first, second = outcome(function)
    compiled_first, compiled_second = outcome(pb.compile(function))
    for one, two in zip(first, compiled_first, strict=True):
        assert_close(one, two)
    if second is not None:  # eager code refuses a formula that seems to leave Pullback, compiled code has seen it all
        for one, two in zip(second, compiled_second, strict=True):
            assert_close(one, two)


@pytest.mark.parametrize("make", [product, with_function])
def test_what_a_formula_leaves_in_ctx_is_there_in_the_next_pass(make):
    def counting(ctx, g):
        ctx.passes = getattr(ctx, "passes", 0) + 1
        x, y = ctx.saved_tensors
        return g * y * ctx.passes, g * x

    x, y = leaves()
    out = pb.compile(lambda x, y: make(counting)(x, y).sum())(x, y)
    for passes in (1, 2):
        (gradient,) = pb.autograd.grad(out, (x,), retain_graph=True)
        assert_close(gradient, passes * y.detach())


@pytest.mark.parametrize("make", [product, with_function])
def test_a_gradient_that_does_not_depend_on_what_arrives_comes_with_its_output_only(make):
    op = make(independent)
    x, y = leaves()
    first, second = pb.compile(lambda x, y: (op(x, y).sum(), (x * 3).sum()))(x, y)
    (gradient,) = pb.autograd.grad(second, (x,), retain_graph=True)
    assert_close(gradient, [3.0, 3.0])
    (gradient,) = pb.autograd.grad(first, (x,))
    assert_close(gradient, [7.0, 7.0])
