"""What the transforms promise beyond the conformance cases: containers, captures, modes, writes, escapes, pairs."""

import collections

import numpy as np
import pytest

import pullback as pb
from pullback.func import (
    grad,
    grad_and_value,
    hessian,
    hvp,
    hvp_fn,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    vjp,
    vmap,
)
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


def pulled(f):
    def derivative(x):
        out, vjp_fn = vjp(f, x)
        return vjp_fn(pb.ones_like(out))[0]

    return derivative


# Containers


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: {"a": a, "b": b},
        lambda a, b: collections.OrderedDict(b=b, a=a),
        lambda a, b: collections.defaultdict(list, a=a, b=b),
        lambda a, b: [a, (b,)],
        lambda a, b: collections.deque([a, b]),
        lambda a, b: (a, {"x": [b]}),
    ],
)
def test_every_container_comes_back_as_it_went_in(make):
    def total(tree):
        leaves = pb.utils.pytree.flatten(tree)[0]
        return sum(((leaf * leaf).sum() for leaf in leaves), scalar(0))

    tree = make(x3(), t3())
    for result in (grad(total)(tree), jacfwd(total)(tree), jacrev(total)(tree), vjp(total, tree)[1](scalar(1))[0]):
        assert type(result) is type(tree)
        found, structure = pb.utils.pytree.flatten(result)
        given, expected = pb.utils.pytree.flatten(tree)
        assert structure == expected
        for one, other in zip(found, given, strict=True):
            assert_close(one, 2 * other)
    out, tangent = jvp(lambda t: t, (tree,), (tree,))
    assert type(out) is type(tangent) is type(tree)


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y


pb.utils.pytree.register(Pair, lambda p: ((p.x, p.y), None), lambda _, children: Pair(*children))


def test_a_registered_class_is_a_container():
    result = grad(lambda p: p.x * p.y)(Pair(scalar(2), scalar(3)))
    assert type(result) is Pair and result.x.item() == 3 and result.y.item() == 2
    mapped = vmap(lambda p: Pair(p.x + p.y, p.x))(Pair(x3(), t3()))
    assert_close(mapped.x, x3() + t3())


def test_an_empty_container_has_an_empty_gradient():
    assert grad(lambda e, x: x.sum(), argnums=(0, 1))((), x3())[0] == ()
    assert vjp(lambda: x3())[1](pb.ones(3)) == ()


def test_positions_that_are_not_differentiated_take_anything():
    result = grad(lambda x, name, n, i: (x * n).sum() if name == "n" else x.sum() + i.sum())(x3(), "n", 3, pb.arange(2))
    assert_close(result, pb.full((3,), 3.0))
    assert_close(grad(lambda x, *, k: (x * k).sum())(x3(), k=2), pb.full((3,), 2.0))


def test_all_arguments_at_once():
    for transform in (jacrev, jacfwd):
        by_a, by_b = transform(lambda a, b: (a * b).sum(), argnums=None)(x3(), t3())
        assert_close(by_a, t3())
        assert_close(by_b, x3())


def test_jacobians_of_containers():
    def f(p):
        return {"s": p["a"].sum() * p["b"], "o": (p["a"] * 2,)}

    for transform in (jacrev, jacfwd):
        result = transform(f)({"a": x3(), "b": scalar(2)})
        assert_close(result["s"]["a"], pb.full((3,), 2.0))
        assert_close(result["s"]["b"], 6.0)
        assert_close(result["o"][0]["a"], 2 * pb.eye(3))
        assert result["o"][0]["b"].shape == (3,)


def test_aux_of_every_transform():
    def f(x):
        return (x * x).sum(), {"y": x * 2, "name": "f"}

    for transform in (grad, jacrev):
        derivative, aux = transform(f, has_aux=True)(x3())
        assert_close(derivative, 2 * x3())
        assert_close(aux["y"], 2 * x3())
        assert aux["name"] == "f" and not aux["y"].requires_grad
    _, vjp_fn, aux = vjp(f, x3(), has_aux=True)
    assert_close(vjp_fn(scalar(1))[0], 2 * x3())
    assert aux["name"] == "f"
    _, tangent, aux = jvp(f, (x3(),), (t3(),), has_aux=True)
    assert_close(tangent, (2 * x3() * t3()).sum())
    assert_close(aux["y"], 2 * x3())
    _, lin, aux = linearize(f, x3(), has_aux=True)
    assert_close(lin(t3()), (2 * x3() * t3()).sum())
    assert aux["name"] == "f"
    derivative, aux = jacfwd(lambda x: (x * x, x * 2), has_aux=True)(x3())
    assert_close(derivative, pb.diag(2 * x3()))
    assert_close(aux, 2 * x3())


def test_jacfwd_returns_an_aux_that_is_no_tensor():
    derivative, aux = jacfwd(lambda x: (x * x, ("f", x * 2, pb.ones(2))), has_aux=True)(x3())
    assert_close(derivative, pb.diag(2 * x3()))
    assert aux[0] == "f"
    assert_close(aux[1], 2 * x3())
    assert_close(aux[2], pb.ones(2))


def test_cotangents_of_none_and_of_another_dtype():
    _, vjp_fn = vjp(lambda x: (x * 2, x * 3), x3())
    assert_close(vjp_fn((None, pb.ones(3)))[0], pb.full((3,), 3.0))
    assert_close(vjp_fn((None, None))[0], pb.zeros(3))
    _, vjp_fn = vjp(lambda x: x * 2, x3().astype(pb.float32))
    assert vjp_fn(pb.ones(3))[0].dtype == pb.float32


def test_the_identity_of_jvp():
    value, tangent = jvp(lambda v: v, (x3(),), (t3(),))
    assert_close(value, x3())
    assert_close(tangent, t3())
    with pytest.raises(RuntimeError, match="different size"):
        jvp(lambda v: v, (x3(),), (pb.ones(2),))
    assert jvp(lambda v: v * 2, (x3().astype(pb.float32),), (t3(),))[1].dtype == pb.float32
    for wrong in (None, (), 3.0):
        with pytest.raises(RuntimeError):
            jvp(lambda v, wrong=wrong: wrong, (x3(),), (t3(),))


# Captures


def test_only_what_is_passed_is_differentiated():
    y = x3()
    assert_close(grad(lambda v: (v * y).sum())(y), y)
    assert_close(jvp(lambda v: v * y, (y,), (t3(),))[1], y * t3())
    assert_close(grad(lambda a, b: (a * a * b).sum())(y, y), 2 * y * y)


def test_captures_stay_connected_in_both_modes():
    w = x3(requires_grad=True)
    _, tangent = jvp(lambda x: x * w, (x3(),), (t3(),))
    assert_close(pb.autograd.grad(tangent.sum(), w)[0], t3())
    with fwd.dual_level():
        d = fwd.make_dual(x3(), t3())
        gradient = grad(lambda x: (x * x * d).sum())(x3())
        assert_close(fwd.unpack_dual(gradient).tangent, 2 * x3() * t3())
    assert_close(grad(lambda w: vmap(lambda x: (x * w).sum())(pb.stack([x3(), t3()])).sum())(x3()), x3() + t3())


# Modes


def test_a_function_under_no_grad_has_gradient_zero():
    @pb.no_grad()
    def f(x):
        return (x * x).sum()

    assert_close(grad(f)(x3()), pb.zeros(3))
    assert_close(jvp(f, (x3(),), (t3(),))[1], (2 * x3() * t3()).sum())


def test_no_grad_around_changes_no_derivative():
    with pb.no_grad():
        results = [
            grad(grad(pb.sin))(scalar(1)),
            slope(grad(pb.sin))(scalar(1)),
            grad(slope(pb.sin))(scalar(1)),
            hessian(pb.sin)(scalar(1)),
            linearize(grad(pb.sin), scalar(1))[1](scalar(1)),
        ]
    for result in results:
        assert_close(result, -np.sin(1.0))
        assert not result.requires_grad


def test_modes_are_restored_when_the_function_fails():
    def fails(x):
        raise KeyError

    with pb.no_grad():
        for run in (
            lambda: grad(fails)(x3()),
            lambda: vjp(fails, x3()),
            lambda: jvp(fails, (x3(),), (t3(),)),
            lambda: vmap(fails)(x3()),
            lambda: linearize(fails, x3()),
            lambda: hessian(fails)(x3()),
        ):
            with pytest.raises(KeyError):
                run()
            assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()
    assert fwd.enter_dual_level() == 0
    fwd.exit_dual_level()
    assert_close(pb.ones(3) + 1, pb.full((3,), 2.0))


# Writes


def test_writes_to_intermediates_and_their_views():
    def f(x):
        y = x * 1
        v = y[1:]
        v.mul_(x[:2])
        y[0] = x[2] ** 2
        return y

    expected = [[0.0, 0.0, 6.0], [2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    for transform in (jacrev, jacfwd):
        assert_close(transform(f)(x3()), expected)


@pb.autograd.overwrite_policy("raise")
def test_a_write_to_what_backward_needs_is_noticed():
    def f(x):
        y = pb.exp(x)
        y.mul_(2)
        return y.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace"):
        grad(f)(x3())


def test_jvp_may_write_to_its_argument():
    y = x3()
    value, tangent = jvp(lambda v: v.mul_(v), (y,), (t3(),))
    assert_close(y, x3() ** 2)
    assert_close(value, x3() ** 2)
    assert_close(tangent, 2 * x3() * t3())
    assert fwd.unpack_dual(y).tangent is None


def test_statistics_in_a_capture():
    mean = pb.zeros(())

    def f(x):
        mean.mul_(0.9).add_(0.1 * x.detach().mean())
        return (x * x).sum()

    for transform in (grad, jacrev, slope):
        transform(f)(x3())
    assert_close(mean, 2 * (1 - 0.9**3))
    assert not mean.requires_grad


def test_a_perturbed_value_does_not_get_into_a_capture_by_a_view():
    c = pb.zeros((2, 3))

    def f(x):
        c[0].copy_(x)
        return x.sum()

    for run in (lambda: grad(f)(x3()), lambda: jvp(f, (x3(),), (t3(),)), lambda: vjp(f, x3())):
        with pytest.raises(RuntimeError, match="mutate a captured"):
            run()
    assert_close(c, pb.zeros((2, 3)))


def test_an_inner_transform_may_not_write_into_what_the_outer_made():
    def outer(x):
        buffer = pb.zeros(3)

        def inner(y):
            buffer.copy_(y)
            return y.sum()

        return grad(inner)(x).sum()

    with pytest.raises(RuntimeError, match="mutate a captured"):
        grad(outer)(x3())

    def fine(x):
        buffer = pb.zeros(3)

        def inner(y):
            buffer.copy_(x * x)  # is not perturbed by the inner transform
            return (y * buffer).sum()

        return (grad(inner)(x) * x).sum()

    assert_close(grad(fine)(x3()), 3 * x3() ** 2)


# Leaves, hooks and passes inside


def test_leaves_made_inside():
    seen = []

    def f(x):
        y = pb.ones(3, requires_grad=True)
        z = x * y
        z.retain_grad()
        seen.append(y)
        (by_y,) = pb.autograd.grad((z * z).sum(), y, create_graph=True)
        return by_y.sum()

    assert_close(grad(f)(x3()), 4 * x3())
    assert not seen[0].requires_grad
    with pytest.raises(RuntimeError, match="requires_grad_"):
        jvp(lambda x, b: x * b.requires_grad_(), (x3(), x3()), (t3(), None))


@pytest.mark.parametrize("run", [lambda f: jvp(f, (x3(),), (t3(),)), lambda f: vmap(f)(x3()), lambda f: vjp(f, x3())])
def test_backward_inside_is_refused_by_every_transform(run):
    w = x3(requires_grad=True)

    def f(x):
        (w * 2).sum().backward()
        return x.sum()

    with pytest.raises(RuntimeError, match=r"backward\(\) called inside"):
        run(f)
    assert w.grad is None


def test_autograd_grad_inside_a_map_is_per_example():
    w = x3(requires_grad=True)
    X = pb.stack([x3(), t3()])

    def f(x):
        return pb.autograd.grad((w * w * x).sum(), w, create_graph=True)[0]

    result = vmap(f)(X)
    assert_close(result, 2 * w.detach() * X)
    assert_close(pb.autograd.grad(result.sum(), w)[0], 2 * X.sum(axis=0))


def test_levels_inside_every_body():
    def derivative(x):
        with fwd.dual_level():
            return fwd.unpack_dual(fwd.make_dual(x, pb.ones_like(x)) ** 3).tangent

    assert_close(grad(lambda x: derivative(x).sum())(x3()), 6 * x3())
    assert_close(jvp(derivative, (x3(),), (t3(),))[1], 6 * x3() * t3())
    assert_close(vmap(derivative)(x3()), 3 * x3() ** 2)


def test_saved_tensor_hooks_and_checkpoints_around_transforms():
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        assert_close(grad(lambda x: pb.exp(x).sum())(x3()), pb.exp(x3()))
        assert_close(vmap(grad(pb.sin))(x3()), pb.cos(x3()))
    x = x3(requires_grad=True)
    out = pb.utils.checkpoint.checkpoint(lambda v: grad(lambda u: (u**3).sum())(v), x)
    assert_close(out, 3 * x3() ** 2)
    out.sum().backward()
    assert_close(x.grad, 6 * x3())


def test_a_checkpoint_inside_other_transforms():
    def f(v):
        return pb.utils.checkpoint.checkpoint(lambda u: pb.exp(u) * pb.sin(u), v)

    expected = np.exp(0.7) * (np.sin(0.7) + np.cos(0.7))
    for derivative in (grad(f), slope(f), pulled(f), jacrev(f), jacfwd(f)):
        assert_close(derivative(scalar(0.7)), expected)
    assert_close(vmap(grad(f))(pb.tensor([0.7, 0.7])), [expected, expected])
    assert_close(grad(lambda x: vmap(f)(x).sum())(pb.tensor([0.7, 0.7])), [expected, expected])
    for outer in (grad, slope, pulled, jacrev, jacfwd):
        for inner in (grad, slope, pulled, jacrev, jacfwd):
            assert_close(outer(inner(f))(scalar(0.7)), 2 * np.exp(0.7) * np.cos(0.7))
    third = np.imag((1 + 1j) ** 3 * np.exp((1 + 1j) * 0.7))
    for chain in (grad(slope(slope(f))), grad(slope(grad(f))), slope(grad(slope(f))), grad(grad(slope(f)))):
        assert_close(chain(scalar(0.7)), third)


# Escapes


def test_what_escapes_from_jvp_has_no_tangent():
    escaped = []
    jvp(lambda v: escaped.append(v * 2) or v, (x3(),), (t3(),))
    with fwd.dual_level():
        assert fwd.unpack_dual(escaped[0]).tangent is None
    assert_close(escaped[0] + 1, 2 * x3() + 1)


def test_what_escapes_from_grad_keeps_its_outer_history():
    escaped = []
    w = x3(requires_grad=True)
    grad(lambda v: (escaped.append(v * w), v.sum())[1])(x3())
    assert escaped[0].requires_grad
    assert_close(pb.autograd.grad(escaped[0].sum(), w)[0], x3())


# Every pair


@pytest.mark.parametrize("outer", [grad, slope, pulled])
@pytest.mark.parametrize("inner", [grad, slope, pulled])
def test_pairs_of_derivatives(outer, inner):
    assert_close(outer(inner(lambda x: x**3))(scalar(2)), 12.0)
    # No confusion of perturbations: the rows of the table of confusion cases.
    assert_close(outer(lambda x: x * inner(lambda y: x + y)(scalar(1)))(scalar(3)), 1.0)
    assert_close(outer(lambda x: inner(lambda y: x * y)(x))(scalar(3)), 1.0)
    assert_close(outer(lambda x: inner(lambda y: x * y * y)(x))(scalar(3)), 12.0)
    at = 0.6
    expected = np.cos(2 * at**3) * 6 * at**2
    assert_close(outer(lambda x: pb.sin(x * inner(lambda y: x * y * y)(x)))(scalar(at)), expected)


@pytest.mark.parametrize("derivative", [grad, slope, pulled])
def test_pairs_with_a_map(derivative):
    assert_close(vmap(derivative(lambda x: x**3))(x3()), 3 * x3() ** 2)
    total = derivative if derivative is not grad else lambda f: grad(lambda x: f(x).sum())
    assert_close(total(vmap(lambda x: x**3))(x3()), 3 * x3() ** 2)


def test_a_vjp_of_a_vjp_is_linear_in_the_cotangent():
    _, vjp_fn = vjp(pb.sin, x3())
    out, again = vjp(lambda c: vjp_fn(c)[0], t3())
    assert_close(out, pb.cos(x3()) * t3())
    assert_close(again(pb.ones(3))[0], pb.cos(x3()))


def test_batched_tangents_over_one_point_are_columns():
    columns = vmap(lambda t: jvp(lambda x: pb.outer(x, x).sum(axis=0), (x3(),), (t,))[1], out_dims=1)(pb.eye(3))
    assert_close(columns, jacrev(lambda x: pb.outer(x, x).sum(axis=0))(x3()))


# Hessian products and linear maps


@pytest.mark.parametrize("strategy", ["fwd_rev", "rev_fwd", "rev_rev"])
def test_hessian_products_by_every_strategy(strategy):
    def f(a, b):
        return (a**3 * b**2).sum()

    gradients, products = hvp(f, (x3(), t3()), (t3(), x3()), strategy=strategy)
    expected = jvp(grad(f, argnums=(0, 1)), (x3(), t3()), (t3(), x3()))
    for found, right in zip((*gradients, *products), (*expected[0], *expected[1]), strict=True):
        assert_close(found, right)
    gradient, product, aux = hvp(
        lambda x: ((x**3).sum(), "aux"), (x3(),), (t3(),), has_aux=True, strategy=strategy
    )
    assert_close(gradient, 3 * x3() ** 2)
    assert_close(product, 6 * x3() * t3())
    assert aux == "aux"
    with pytest.raises(ValueError, match="strategy"):
        hvp(f, (x3(), t3()), (t3(), x3()), strategy="sideways")


def test_hvp_fn_evaluates_the_gradient_once():
    calls = []
    gradient, product = hvp_fn(lambda x: calls.append(1) or (x**3).sum(), x3())
    for k in range(3):
        assert_close(product(k * t3()), 6 * x3() * k * t3())
    assert_close(gradient, 3 * x3() ** 2)
    assert len(calls) == 1


def test_linearize_inside_every_transform():
    def f(x):
        return linearize(lambda y: y**3, x)[1](t3()[: x.shape[0]] if x.ndim else scalar(1))

    assert_close(grad(lambda x: f(x).sum())(x3()), 6 * x3() * t3())
    assert_close(jvp(f, (x3(),), (x3(),))[1], 6 * x3() * t3() * x3())
    assert_close(vmap(f)(x3()), 3 * x3() ** 2)
    constant, lin = linearize(lambda x: (x * 2, pb.ones(2)), x3())
    assert_close(constant[1], pb.ones(2))
    doubled, zero = lin(t3())
    assert_close(doubled, 2 * t3())
    assert_close(zero, pb.zeros(2))


def test_the_transpose_of_a_linear_map():
    _, lin = linearize(lambda x, y: (pb.sin(x) * y, x.sum()), x3(), t3())
    transposed = linear_transpose(lin, x3(), t3())
    by_x, by_y = transposed((pb.ones(3), scalar(2)))
    assert_close(by_x, pb.cos(x3()) * t3() + 2)
    assert_close(by_y, pb.sin(x3()))
    (back,) = linear_transpose(lambda v: pb.cumsum(v) * 2, x3())(t3())
    assert_close(back, [222.0, 220.0, 200.0])
    rows = vmap(linear_transpose(lambda v: v * x3(), x3()))(pb.eye(3))[0]
    assert_close(rows, pb.diag(x3()))


def test_grad_and_value_in_containers_and_maps():
    gradients, values = vmap(grad_and_value(lambda x: (x * x).sum()))(pb.stack([x3(), t3()]))
    assert_close(gradients, 2 * pb.stack([x3(), t3()]))
    assert_close(values, [14.0, 10101.0])


def test_a_complex_cotangent_of_a_real_output_is_refused():
    _, pull = vjp(pb.sin, x3())
    with pytest.raises(pb.AutogradError) as caught:
        pull(x3() * 1j)
    assert caught.value.code == "GRADOUT_COMPLEX"
    _, pull = vjp(lambda x: x * 1j, x3())
    assert_close(pull(x3() * 1j)[0], x3())
    assert_close(pull(x3())[0], 0 * x3())


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_jacrev_lets_the_function_write_to_its_other_arguments(chunk_size):
    def f(x, scratch):
        scratch.copy_(x * x)
        return x * scratch

    x, scratch = pb.tensor([1.0, 3.0]), pb.zeros(2)
    assert_close(pb.func.jacrev(f, chunk_size=chunk_size)(x, scratch), [[3.0, 0.0], [0.0, 27.0]])
    assert_close(scratch, [1.0, 9.0])
    assert not scratch.requires_grad
    rows = pb.tensor([[1.0, 3.0], [2.0, 1.0]])
    assert_close(pb.func.vmap(pb.func.jacrev(f))(rows, pb.zeros((2, 2)))[1], [[12.0, 0.0], [0.0, 3.0]])
    with pytest.raises(RuntimeError, match="given to jacrev tried to mutate a captured"):
        pb.func.jacrev(lambda x: f(x, scratch))(x)


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 3])
def test_jacfwd_lets_the_function_write_to_its_arguments_once(chunk_size):
    def f(x, scratch, *, count):
        scratch.mul_(x * x)
        count.add_(1)
        return x.mul_(2) * scratch * count

    x, scratch, count = pb.tensor([1.0, 3.0, 2.0]), pb.ones(3), pb.zeros(3)
    jacobian = pb.func.jacfwd(f, chunk_size=chunk_size)(x, scratch, count=count)
    assert_close(jacobian, pb.diag(pb.tensor([6.0, 54.0, 24.0])))
    assert_close(x, [2.0, 6.0, 4.0])
    assert_close(scratch, [1.0, 9.0, 4.0])
    assert_close(count, [1.0, 1.0, 1.0])


def test_hessian_lets_the_function_write_to_its_other_arguments():
    hessian = pb.func.hessian(lambda x, scratch: (scratch.mul_(x) * x**2).sum())
    assert_close(hessian(pb.tensor([1.0, 2.0]), pb.ones(2)), [[6.0, 0.0], [0.0, 12.0]])
    assert_close(pb.func.vmap(hessian)(pb.ones(2, 1), pb.ones(2, 1)), [[[6.0]], [[6.0]]])


def test_sparse_jacobian_runs_a_function_that_writes_to_its_arguments_on_copies():
    x, scratch = pb.tensor([1.0, 3.0]), pb.ones(2)
    jacobian = pb.func.sparse_jacobian(lambda x, scratch: scratch.add_(x) * x.mul_(2), structure="diag")(x, scratch)
    assert_close(jacobian.toarray(), [[6.0, 0.0], [0.0, 14.0]])
    assert_close(x, [1.0, 3.0])
    assert_close(scratch, [1.0, 1.0])


def test_jacrev_returns_the_parts_in_the_order_of_argnums():
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    by_y, by_x = pb.func.jacrev(lambda x, y: x["a"] * y**2, argnums=(1, 0))({"a": x}, y)
    assert_close(by_y, [[6.0, 0.0], [0.0, 16.0]])
    assert_close(by_x["a"], [[9.0, 0.0], [0.0, 16.0]])
