"""Conformance cases 77 to 100 of forward mode: custom Functions, and forward and reverse mode together."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.testing import assert_close

fwd = pb.autograd.forward_ad
grad = pb.autograd.grad


def x3():
    return pb.tensor([1.0, 2.0, 3.0])


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def tan(value):
    return fwd.unpack_dual(value).tangent


@pytest.fixture
def level():
    with fwd.dual_level() as index:
        yield index


@pytest.fixture
def d(level):
    return fwd.make_dual(x3(), t3())


def function(forward, jvp=None, **members):
    """`apply` of a Function with these static methods."""
    statics = {"forward": staticmethod(forward)} | ({"jvp": staticmethod(jvp)} if jvp is not None else {})
    return type("Custom", (Function,), {**statics, **members}).apply


# Custom Functions


def test_77_without_a_jvp_a_dual_input_is_refused(d):
    with pytest.raises(NotImplementedError, match="jvp"):
        function(lambda ctx, x: x * 2)(d)
    assert_close(function(lambda ctx, x: x * 2)(x3()), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("materializes", [True, False])
def test_78_a_plain_argument_has_tangent_zeros_or_none(d, materializes):
    seen = []

    def forward(ctx, x, y):
        ctx.set_materialize_grads(materializes)
        return x * 1

    function(forward, lambda ctx, t, t_y: seen.append(t_y) or t * 1)(d, x3())
    if materializes:
        assert_close(seen[0], pb.zeros(3))
    else:
        assert seen == [None]


def test_79_numbers_and_integers_have_tangent_none(d):
    seen = []

    def jvp(ctx, t, t_number, t_integers):
        seen.extend([t_number, t_integers])
        return t * 1

    function(lambda ctx, x, number, integers: x * 1, jvp)(d, 2.0, pb.arange(3))
    assert seen == [None, None]


def test_80_one_tangent_per_output(d):
    with pytest.raises(RuntimeError, match="invalid number"):
        function(lambda ctx, x: (x * 1, x * 2), lambda ctx, t: t)(d)


def test_81_a_non_differentiable_output_has_no_tangent(d):
    def forward(ctx, x):
        y = x * 1
        ctx.mark_non_differentiable(y)
        return y

    with pytest.raises(RuntimeError, match="not a differentiable"):
        function(forward, lambda ctx, t: t * 1)(d)


def test_82_none_is_a_zero_tangent(d):
    assert tan(function(lambda ctx, x: x * 1, lambda ctx, t: None)(d)) is None


def test_83_the_tangent_has_the_outputs_shape_and_gets_its_dtype(d):
    with pytest.raises(RuntimeError, match="different size"):
        function(lambda ctx, x: x * 1, lambda ctx, t: t[:2])(d)
    assert tan(function(lambda ctx, x: x * 1, lambda ctx, t: t.astype(pb.float32))(d)).dtype == pb.float64


def test_84_the_tangent_of_a_view_is_a_view(d):
    with pytest.raises(RuntimeError, match="not returning a view"):
        function(lambda ctx, x: x[:2], lambda ctx, t: t[:2].clone())(d)
    assert_close(tan(function(lambda ctx, x: x[:2], lambda ctx, t: t[:2])(d)), [1.0, 10.0])


def test_85_an_argument_returned_as_it_is_counts_as_a_view(d):
    with pytest.raises(RuntimeError, match="not returning a view"):
        function(lambda ctx, x: x, lambda ctx, t: t)(d)
    assert_close(tan(function(lambda ctx, x: x, lambda ctx, t: t.view_as(t))(d)), t3())


def dirty(ctx, x):
    ctx.mark_dirty(x)
    with pb.no_grad():
        x.mul_(2)
    return x


def test_86_a_written_argument_has_its_tangent_written(level):
    d = fwd.make_dual(x3(), t3())
    tangent = tan(d)

    def jvp(ctx, t):
        t.mul_(2)
        return t

    result = function(dirty, jvp)(d)
    assert result is d and tan(d) is tangent
    assert_close(tangent, t3() * 2)


def test_87_a_new_tangent_for_a_written_argument_is_refused(d):
    with pytest.raises(RuntimeError, match="inplace"):
        function(dirty, lambda ctx, t: t * 2)(d)


def test_87b_an_unmodified_tangent_of_a_written_argument_is_refused(d):
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        function(dirty, lambda ctx, t: t)(d)
    x = pb.ones(2)
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        pb.func.jvp(lambda x: function(dirty, lambda ctx, t: t)(x.clone()), (x,), (x,))


def test_88_a_written_plain_view_passes_its_tangent_to_the_base(d):
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        with pb.no_grad():
            x.copy_(y)
        return x

    base = pb.zeros(5)
    function(forward, lambda ctx, t_x, t_y: t_y * 1)(base[1:4], d)
    assert_close(tan(base), [0.0, 1.0, 10.0, 100.0, 0.0])


def test_89_forward_sees_neither_tangents_nor_grad_mode(d):
    seen = []

    def forward(ctx, x):
        seen.append((tan(x), pb.is_grad_enabled()))
        return x * 1

    def jvp(ctx, t):
        seen.append(pb.is_grad_enabled())
        return t * 1

    function(forward, jvp)(d)
    assert seen == [(None, False), True]


class MySin(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return pb.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * pb.cos(x)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * pb.cos(x)


def slope(f):
    return lambda x: pb.func.jvp(f, (x,), (pb.ones_like(x),))[1]


def pulled(f):
    return lambda x: pb.func.vjp(f, x)[1](pb.ones_like(x))[0]


def test_90_forward_mode_nests_in_a_function():
    assert_close(slope(slope(MySin.apply))(pb.tensor(2.0)), -np.sin(2.0))


@pytest.mark.parametrize("chain", list(itertools.product([pb.func.grad, slope, pulled], repeat=3)))
def test_91_every_chain_of_three_derivatives(chain):
    f = MySin.apply
    for derivative in chain:
        f = derivative(f)
    assert_close(f(pb.tensor(2.0)), -np.cos(2.0))


def test_92_what_is_saved_for_forward_and_for_backward_is_apart(d):
    seen = []

    def forward(ctx, x, y):
        ctx.save_for_forward(y)
        ctx.save_for_backward(x)
        return x * y

    def jvp(ctx, t, t_y):
        seen.append(ctx.saved_tensors[0].tolist())
        return t * ctx.saved_tensors[0]

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[0].tolist())
        return g, g

    y = pb.tensor([4.0, 5.0, 6.0])
    result = function(forward, jvp, backward=staticmethod(backward))(d.requires_grad_(), y)
    result.sum().backward()
    assert seen == [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]


def test_93_the_style_with_ctx_is_transformed():
    assert_close(pb.func.grad(lambda v: MySin.apply(v).sum())(x3()), np.cos([1.0, 2.0, 3.0]))


# Forward and reverse mode together


def test_94_gradients_of_duals_are_dual(d):
    d.requires_grad_()
    (g,) = grad((d * d).sum(), d)
    assert_close(g, [2.0, 4.0, 6.0])
    assert_close(tan(g), 2 * t3())


def test_95_tangents_are_differentiable(level):
    p, t = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    y = (fwd.make_dual(p, t) ** 3).sum()
    by_primal, by_tangent = grad(tan(y), (p, t))
    assert_close(by_primal, 6 * p * t)
    assert_close(by_tangent, 3 * p**2)


def test_96_a_pass_after_the_level_is_plain():
    x = x3().requires_grad_()
    with fwd.dual_level():
        y = (fwd.make_dual(x, t3()) ** 3).sum()
    (g,) = grad(y, x)
    assert_close(g, 3 * x**2)
    assert "tangent" not in repr(g)


def test_97_a_dual_gradient_through_a_plain_graph(level):
    p = pb.tensor([1.0, 2.0], requires_grad=True)
    y = (p**3).sum()
    (g,) = grad(y, p, fwd.make_dual(pb.tensor(1.0), pb.tensor(5.0)))
    assert_close(g, [3.0, 12.0])
    assert_close(tan(g), [15.0, 60.0])


def test_98_accumulated_gradients_carry_tangents(level):
    p = x3().requires_grad_()
    d = fwd.make_dual(p, t3())
    (d**3).sum().backward()
    assert_close(tan(p.grad), 6 * p * t3())
    (d**2).sum().backward()
    assert_close(p.grad, 3 * p**2 + 2 * p)
    assert_close(tan(p.grad), 6 * p * t3() + 2 * t3())


def test_99_tangents_survive_saved_tensor_hooks_through_numpy(level):
    x = fwd.make_dual(x3().requires_grad_(), t3())
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), pb.tensor):
        y = pb.exp(x)
    (g,) = grad(y.sum(), x)
    assert_close(tan(g), np.exp([1.0, 2.0, 3.0]) * t3().numpy())


@pytest.mark.parametrize("strategy", ["fwd_rev", "rev_fwd", "rev_rev"])
def test_100_products_with_the_hessian(strategy):
    gradient, product = pb.func.hvp(lambda x: (x**3).sum(), (x3(),), (t3(),), strategy=strategy)
    assert_close(gradient, [3.0, 12.0, 27.0])
    assert_close(product, [6.0, 120.0, 1800.0])
