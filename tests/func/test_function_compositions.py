"""A custom Function in chains of transforms, for both styles of `forward` and every way to batch it."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vjp, vmap
from pullback.testing import assert_close

POINTS = np.array([0.3, 1.1, 2.0])


class Derivatives(pb.autograd.Function):
    """`sin(x) * w`, of which subclasses have the forward and the batching."""

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * pb.cos(x) * w, g * pb.sin(x)

    @staticmethod
    def jvp(ctx, t_x, t_w):
        x, w = ctx.saved_tensors
        return t_x * pb.cos(x) * w + t_w * pb.sin(x)


class Split(Derivatives):
    @staticmethod
    def forward(x, w):
        return pb.sin(x) * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


class Combined(Derivatives):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.save_for_forward(x, w)
        return pb.sin(x) * w


def in_front(x, axis):
    return x[None] if axis is None else pb.moveaxis(x, axis, 0)


def batched_as_it_is(style):
    return type("Generated", (style,), {"generate_vmap_rule": True}).apply


def batched_by_a_loop(style):
    return type("Looped", (style,), {"generate_vmap_rule": "loop"}).apply


def batched_by_itself(style):
    def rule(info, in_dims, x, w):
        x, w = pb.broadcast_arrays(in_front(x, in_dims[0]), in_front(w, in_dims[1]))
        return cls.apply(x, w), 0

    cls = type("Recursive", (style,), {"vmap": staticmethod(rule)})
    return cls.apply


def batched_by_operators(style):
    def rule(info, in_dims, x, w):
        return pb.sin(in_front(x, in_dims[0])) * in_front(w, in_dims[1]), 0

    return type("ByOperators", (style,), {"vmap": staticmethod(rule)}).apply


def backwards(f):
    return grad(lambda x: f(x).sum())


def forwards(f):
    return lambda x: jvp(f, (x,), (pb.ones_like(x),))[1]


def pulled(f):
    def derivative(x):
        out, vjp_fn = vjp(f, x)
        return vjp_fn(pb.ones_like(out))[0]

    return derivative


def chained(steps, f):
    for step in reversed(steps):
        f = step(f)
    return f


styles = pytest.mark.parametrize("style", [Split, Combined])
batchings = pytest.mark.parametrize(
    "batching", [batched_as_it_is, batched_by_a_loop, batched_by_itself, batched_by_operators]
)


@styles
@batchings
@pytest.mark.parametrize("order", [1, 2])
def test_chains_with_a_map_at_every_position(style, batching, order):
    function = batching(style)
    w = pb.tensor(1.7)
    expected = 1.7 * np.sin(POINTS + order * np.pi / 2)
    for steps in itertools.product((backwards, forwards, pulled), repeat=order):
        for position in range(order + 1):
            inner = vmap(chained(steps[position:], lambda x: function(x, w)))
            assert_close(chained(steps[:position], inner)(pb.tensor(POINTS)), expected)


@styles
@batchings
def test_chains_over_a_parameter_that_all_examples_share(style, batching):
    function = batching(style)
    points = pb.tensor(POINTS)

    def total(w):
        return vmap(lambda x: function(x, w) * function(x, w))(points).sum()

    def nested(w):
        return vmap(vmap(lambda x: function(x, w) * w))(points[None]).sum()

    for steps in itertools.product((backwards, forwards, pulled), repeat=2):
        assert_close(chained(steps, total)(pb.tensor(1.7)), 2 * (np.sin(POINTS) ** 2).sum())
        assert_close(chained(steps, nested)(pb.tensor(1.7)), 2 * np.sin(POINTS).sum())
