"""Conformance cases 101 to 159: the reverse transforms, jvp, Jacobians and linearize."""

import collections

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close

fwd = pb.autograd.forward_ad


def x3(**options):
    return pb.tensor([1.0, 2.0, 3.0], **options)


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def scalar(value, **options):
    return pb.tensor(float(value), **options)


def slope(f):
    return lambda x: jvp(f, (x,), (pb.ones_like(x),))[1]


# Reverse transforms


def test_101_grad_nests():
    assert_close(grad(pb.sin)(scalar(1)), np.cos(1.0))
    assert_close(grad(grad(pb.sin))(scalar(1)), -np.sin(1.0))


@pytest.mark.parametrize(
    "case, function, message",
    [
        (102, lambda v: v, "scalar"),
        (102, lambda v: v[:1], "scalar"),
        (103, lambda v: (v.sum(),), "return a Tensor"),
        (103, lambda v: None, "return a Tensor"),
        (104, lambda v: (v * 1j).sum(), "real scalar"),
        (105, lambda v: v.argmax(), "real scalar"),
    ],
)
def test_102_to_105_the_function_returns_a_real_scalar(case, function, message):
    with pytest.raises(RuntimeError, match=message):
        grad(function)(x3())


def test_106_integers_can_not_be_differentiated():
    with pytest.raises(RuntimeError, match="floating point"):
        grad(lambda v: v.sum())(pb.arange(3))


def test_107_numbers_are_converted_and_other_leaves_refused():
    assert_close(grad(lambda v: v * 2)(3.0), 2.0)
    for leaf in ("a", None):
        with pytest.raises(ValueError, match="must be Tensor"):
            grad(lambda v: scalar(1))(leaf)


@pytest.mark.parametrize("argnums", [[0], 5, (), (0, 0), (0, -2), ("0",)])
def test_108_argnums_are_checked(argnums):
    with pytest.raises(RuntimeError):
        grad(lambda a, b: (a * b).sum(), argnums=argnums)(x3(), x3())


def test_109_argnums_give_the_order():
    x, y = scalar(2), scalar(3)
    by_y, by_x = grad(pb.multiply, argnums=(1, 0))(x, y)
    assert_close(by_y, x)
    assert_close(by_x, y)


def test_110_containers():
    result = grad(lambda d: d["a"].sum())({"a": x3(), "b": x3()})
    assert_close(result["a"], pb.ones(3))
    assert_close(result["b"], pb.zeros(3))


def test_111_a_namedtuple_stays_one():
    Point = collections.namedtuple("Point", "x y")
    result = grad(lambda p: p.x * p.y)(Point(scalar(2), scalar(3)))
    assert type(result) is Point and result.x.item() == 3 and result.y.item() == 2


def test_112_aux_may_be_anything():
    gradient, aux = grad(lambda v: (v.sum(), "hi"), has_aux=True)(x3())
    assert_close(gradient, pb.ones(3))
    assert aux == "hi"


@pytest.mark.parametrize("function", [lambda v: [v.sum(), 1], lambda v: (v.sum(), 1, 2)])
def test_113_aux_comes_in_a_pair(function):
    with pytest.raises(RuntimeError, match="should be a tuple"):
        grad(function, has_aux=True)(x3())


def test_114_grad_and_value_with_aux():
    gradient, (value, aux) = grad_and_value(lambda v: ((v * v).sum(), v * 2), has_aux=True)(x3())
    assert_close(gradient, 2 * x3())
    assert_close(value, 14.0)
    assert_close(aux, 2 * x3())
    assert not aux.requires_grad and not value.requires_grad


def test_115_an_independent_function_has_gradient_zero():
    y = scalar(3)
    assert_close(grad(lambda v: y)(x3()), pb.zeros(3))


def test_116_a_gradient_requires_grad_if_something_outside_does():
    w = x3(requires_grad=True)
    square = grad(lambda v: (v * v).sum())
    assert not square(x3()).requires_grad
    assert square(w).requires_grad
    assert grad(lambda v: (v * w).sum())(x3()).requires_grad


def test_117_a_capture_stays_connected():
    w = x3(requires_grad=True)
    g = grad(lambda x: (x * w).sum())(x3())
    assert_close(pb.autograd.grad(g.sum(), w)[0], pb.ones(3))


def under_no_grad(function, *args):
    with pb.no_grad():
        return function(*args)


def test_118_no_grad_inside_is_obeyed():
    def f(x):
        return x**2 - under_no_grad(lambda: x**2)

    assert_close(grad(f)(scalar(3)), 6.0)
    assert_close(grad(grad(f))(scalar(3)), 2.0)


def test_119_no_grad_outside_gives_plain_results():
    x = scalar(1, requires_grad=True)
    result = under_no_grad(grad(pb.sin), x)
    assert_close(result, np.cos(1.0))
    assert not result.requires_grad


def test_120_no_grad_around_an_inner_grad():
    def h(x):
        return x**3 - under_no_grad(grad(lambda z: z**4 / 4), x)

    assert_close(grad(h)(scalar(1.5)), 6.75)
    assert_close(grad(grad(h))(scalar(1.5)), 9.0)


def test_121_no_grad_around_vjp_concerns_the_output_only():
    x = scalar(3, requires_grad=True)
    with pb.no_grad():
        out, vjp_fn = vjp(lambda v: v * v, x)
    (result,) = vjp_fn(scalar(1))
    assert not out.requires_grad and result.requires_grad
    assert_close(pb.autograd.grad(result, x)[0], 2.0)


def test_122_no_grad_between_the_modes():
    assert_close(jvp(lambda z: under_no_grad(grad(lambda y: y**3), z), (scalar(2),), (scalar(1),))[1], 12.0)
    assert_close(grad(lambda z: under_no_grad(slope(lambda y: y**3), z))(scalar(2)), 0.0)


def test_123_detach_is_a_constant():
    assert_close(grad(lambda x: (x * x.detach()).sum())(x3()), x3())


def test_124_an_argument_is_a_leaf():
    with pytest.raises(RuntimeError, match="leaf"):
        grad(lambda v: v.mul_(2).sum())(x3())


def test_125_another_argument_may_be_written():
    y, b = x3(requires_grad=True), pb.zeros(3)
    result = grad(lambda v, b: b.copy_(v).pow(2).sum())(y, b)
    assert_close(result, 2 * y)
    assert_close(b, y)
    assert_close(pb.autograd.grad(b.sum(), y)[0], pb.ones(3))


def test_126_a_capture_may_only_get_what_does_not_depend_on_the_arguments():
    c = pb.zeros(3)

    def writes(x):
        c.copy_(x)
        return x.sum()

    with pytest.raises(RuntimeError, match="mutate a captured"):
        grad(writes)(x3())
    with pytest.raises(RuntimeError, match="mutate a captured"):
        jvp(writes, (x3(),), (t3(),))

    def counts(x):
        c.add_(1)
        return x.sum()

    grad(counts)(x3())
    assert_close(c, pb.ones(3))


def test_127_backward_inside_is_refused():
    def f(x):
        (x * 2).sum().backward()
        return x.sum()

    with pytest.raises(RuntimeError, match=r"backward\(\)"):
        grad(f)(x3())


def test_128_autograd_grad_inside():
    def f(v):
        return pb.autograd.grad((v**3).sum(), v, create_graph=True)[0].sum()

    assert_close(grad(f)(x3()), 6 * x3())


def test_129_requires_grad_on_a_capture_is_refused():
    c = x3()

    def f(x):
        c.requires_grad_()
        return x.sum()

    with pytest.raises(RuntimeError, match="requires_grad_"):
        grad(f)(x3())
    assert not c.requires_grad
    inner = []

    def g(x):
        y = pb.ones(3).requires_grad_()
        inner.append(y)
        return (x * y).sum()

    assert_close(grad(g)(x3()), pb.ones(3))
    assert not inner[0].requires_grad


def test_130_hooks_inside_run_and_those_of_the_caller_do_not():
    calls = []

    def f(v):
        y = pb.sin(v)
        y.register_hook(lambda g: g * 2)
        return y.sum()

    x = x3(requires_grad=True)
    x.register_hook(calls.append)
    assert_close(grad(f)(x), 2 * pb.cos(x))
    assert not calls


def test_131_an_escaped_tensor_is_a_constant():
    escaped = []

    def f(v):
        escaped.append(v * 2)
        return v.sum()

    grad(f)(x3())
    (e,) = escaped
    assert not e.requires_grad and e.is_leaf and not (e + 1).requires_grad


def test_132_saved_tensor_hooks_and_checkpoints_inside():
    def hooked(v):
        with pb.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            return pb.exp(v).sum()

    def checkpointed(v):
        return pb.utils.checkpoint.checkpoint(lambda u: pb.exp(u), v).sum()

    for f in (hooked, checkpointed):
        assert_close(grad(f)(x3()), pb.exp(x3()))


def test_133_an_argument_comes_back_as_itself():
    x = x3()
    assert vjp(lambda v: v, x)[0] is x


@pytest.mark.parametrize("function", [lambda v: (v, v.argmax()), lambda v: None, lambda v: 3.0])
def test_134_outputs_of_vjp_are_floating_tensors(function):
    with pytest.raises(RuntimeError):
        vjp(function, x3())


def test_135_cotangents_have_the_outputs_structure():
    vjp_fn = vjp(pb.sin, x3())[1]
    for wrong in (pb.ones(2), scalar(1)):
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            vjp_fn(wrong)
    with pytest.raises(RuntimeError, match="pytree structure"):
        vjp_fn((pb.ones(3),))


def test_136_a_vjp_may_be_called_again_unless_it_was_released():
    vjp_fn = vjp(pb.sin, x3())[1]
    assert_close(vjp_fn(pb.ones(3))[0], vjp_fn(pb.ones(3))[0])
    vjp_fn(pb.ones(3), retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        vjp_fn(pb.ones(3))


@pb.autograd.overwrite_policy("raise")
def test_137_a_primal_that_is_written_meanwhile_is_noticed():
    y = x3()
    _, vjp_fn = vjp(pb.sin, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        vjp_fn(pb.ones(3))


def test_138_a_vjp_is_differentiable_in_its_cotangent():
    assert_close(grad(lambda y: vjp(pb.sin, scalar(1))[1](y)[0])(scalar(2)), np.cos(1.0))


def test_139_unrolled_inner_gradients():
    def f(w):
        x = scalar(1)
        for _ in range(30):
            x = x - 0.1 * grad(lambda x: (w * x - 1) ** 2 + 0.1 * w * x**2)(x)
        return x

    eps = 1e-6
    numerical = (f(scalar(0.7 + eps)) - f(scalar(0.7 - eps))) / (2 * eps)
    assert_close(grad(f)(scalar(0.7)), numerical, rtol=1e-5)


def test_139_an_inner_gradient_does_not_walk_the_history_of_what_it_captures():
    visited = []

    class Watched(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            visited[-1] += 1
            return g * 1

    def f(w):
        x = scalar(1)
        for _ in range(10):
            x = Watched.apply(x) * w
            visited.append(0)
            x = x - 0.1 * grad(lambda y, x=x: Watched.apply(y) * x)(x)
        return x

    gradient = grad(f)
    visited.append(0)
    gradient(scalar(0.9))
    assert visited[1:10] == [1] * 9  # each inner pass meets its own Function and none of those before


def test_140_an_exception_leaves_nothing_behind():
    def fails(v):
        raise KeyError

    for transform in (lambda: grad(fails)(x3()), lambda: jvp(fails, (x3(),), (t3(),)), lambda: vmap(fails)(x3())):
        with pytest.raises(KeyError):
            transform()
    assert_close(grad(lambda v: v.sum())(x3()), pb.ones(3))
    assert_close(jvp(pb.sin, (scalar(0),), (scalar(1),))[1], 1.0)
    assert_close(vmap(pb.sin)(x3()), pb.sin(x3()))
    x = x3(requires_grad=True)
    (x * 2).sum().backward()
    assert_close(x.grad, pb.full((3,), 2.0))


# jvp, Jacobians, linearize


@pytest.mark.parametrize(
    "primals, tangents, message",
    [
        (lambda: x3(), lambda: (t3(),), "tuple"),
        (lambda: (x3(),), lambda: [t3()], "same python structure"),
        (lambda: (x3(),), lambda: (t3(), t3()), "same python structure"),
        (lambda: (), lambda: (), "at least one"),
    ],
)
def test_141_arguments_of_jvp(primals, tangents, message):
    with pytest.raises(RuntimeError, match=message):
        jvp(lambda *v: v[0], primals(), tangents())


def test_142_strict_asks_for_dependence_and_not_for_a_value():
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda v: pb.ones(3), (x3(),), (t3(),), strict=True)
    for f in (pb.floor, lambda v: v * 0):
        assert_close(jvp(f, (x3(),), (t3(),), strict=True)[1], pb.zeros(3))


def test_143_an_integer_output_has_an_integer_zero():
    _, (_, tangent) = jvp(lambda v: (v * 2, v.argmax()), (x3(),), (t3(),))
    assert tangent.dtype == pb.int64 and tangent.item() == 0


def test_144_the_primal_may_be_written_and_the_tangent_stays():
    y, t = x3(), t3()
    jvp(lambda v: v.mul_(2), (y,), (t,))
    assert_close(y, 2 * x3())
    assert_close(t, t3())


def test_145_none_is_a_zero_tangent():
    assert_close(jvp(pb.multiply, (x3(), x3()), (t3(), None))[1], x3() * t3())


def test_146_jvp_inside_a_level():
    with fwd.dual_level():
        d = fwd.make_dual(x3(), t3())
        value, tangent = jvp(lambda y: y * d, (x3(),), (t3(),))
        assert_close(fwd.unpack_dual(value).tangent, x3() * t3())
        assert_close(fwd.unpack_dual(tangent).tangent, t3() * t3())


def test_147_shapes_of_jacobians():
    assert jacrev(lambda v: pb.outer(v, v))(x3()).shape == (3, 3, 3)
    assert jacrev(pb.sin)(scalar(1)).shape == jacfwd(pb.sin)(scalar(1)).shape == ()


def test_148_the_function_is_called_once():
    for transform in (jacrev, jacfwd, hessian):
        calls = []

        def f(v, calls=calls):
            calls.append(1)
            return (v**3).sum()

        transform(f)(x3())
        assert len(calls) == 1


def test_149_dtypes_of_jacobians():
    def f(v):
        return v.astype(pb.float64) * 2

    x = x3().astype(pb.float32)
    assert jacrev(f)(x).dtype == pb.float32
    assert jacfwd(f)(x).dtype == pb.float64


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_150_chunks_change_nothing(size):
    def f(v):
        return pb.outer(v, v)

    assert_close(jacrev(f, chunk_size=size)(x3()), jacrev(f)(x3()))
    assert_close(jacfwd(f, chunk_size=size)(x3()), jacrev(f)(x3()))
    for transform in (jacrev, jacfwd):
        with pytest.raises(ValueError, match="chunk_size"):
            transform(f, chunk_size=0)


def test_151_jacobians_are_real():
    for transform in (jacrev, jacfwd):
        for f, x in ((lambda v: v * 1j, x3()), (lambda v: v.real, x3() * 1j)):
            with pytest.raises(RuntimeError, match="real"):
                transform(f)(x)


def test_152_random_functions():
    def f(x):
        return x * pb.random.normal(size=3)

    with pytest.raises(RuntimeError, match="randomness error mode"):
        jacfwd(f)(x3())
    for result in (jacfwd(f, randomness="same")(x3()), jacrev(f)(x3())):
        assert np.count_nonzero(result.numpy()) == 3 == np.count_nonzero(np.diag(result.numpy()))


def test_153_keywords_are_passed_on():
    for transform in (jacrev, jacfwd, hessian):
        assert transform(lambda x, k: (x * x).sum() * k)(x3(), k=2.0).shape == (
            (3, 3) if transform is hessian else (3,)
        )


def test_154_empty_inputs_and_outputs():
    for transform in (jacrev, jacfwd):
        assert transform(lambda v: v * 2)(pb.zeros(0)).shape == (0, 0)
        assert transform(lambda v: v[:0])(x3()).shape == (0, 3)


def test_155_hessians_of_more_than_scalars():
    assert hessian(lambda v: v**3)(x3()).shape == (3, 3, 3)
    nest = hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x3(), x3())
    assert len(nest) == len(nest[0]) == 2
    assert_close(nest[0][1], pb.eye(3))
    assert_close(nest[0][0], pb.zeros((3, 3)))


def test_156_linearize_runs_the_function_once():
    calls = []
    out, lin = linearize(lambda v: calls.append(1) or pb.sin(v), x3())
    assert_close(lin(t3()), pb.cos(x3()) * t3())
    assert_close(lin(2 * t3()), 2 * pb.cos(x3()) * t3())
    assert_close(out, pb.sin(x3()))
    assert len(calls) == 1


def test_157_linearize_is_differentiable_in_tangents_and_primals():
    _, lin = linearize(pb.sin, x3())
    assert_close(grad(lambda t: lin(t).sum())(t3()), pb.cos(x3()))
    assert_close(grad(lambda v: linearize(pb.sin, v)[1](t3()).sum())(x3()), -pb.sin(x3()) * t3())


def test_158_linearize_is_vmappable_and_follows_control_flow():
    _, lin = linearize(lambda v: pb.sin(v) if v.sum() > 0 else v, x3())
    assert_close(vmap(lin)(pb.eye(3)), pb.diag(pb.cos(x3())))


def test_159_tangents_of_linearize_are_checked():
    _, lin = linearize(pb.sin, x3())
    for wrong in (t3().astype(pb.float32), pb.ones(2)):
        with pytest.raises(RuntimeError, match="tangent 0"):
            lin(wrong)
    with pytest.raises(RuntimeError, match="same argspec"):
        lin((t3(),))
