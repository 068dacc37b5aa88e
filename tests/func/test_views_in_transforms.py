"""Views that are taken before their base is written, in every transform, against the plain tape."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import functional
from pullback.func import grad, grad_and_value, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close
from pullback.utils.checkpoint import checkpoint

POINT = pb.tensor([[0.3, 0.7, -0.4], [1.1, 0.2, 0.5]])
DIRECTION = pb.tensor([[0.5, -0.7, 0.4], [0.1, 1.2, -0.5]])

VIEWS = {
    "an element": lambda b: b[1, 2],
    "a row": lambda b: b[0],
    "a slice": lambda b: b[:, ::2],
    "backwards": lambda b: b[::-1],
    "transposed": lambda b: b.T,
    "reshaped": lambda b: b.reshape(3, 2),
    "view": lambda b: b.view(6),
    "diagonal": pb.diagonal,
    "split": lambda b: pb.split(b, 2, 0)[1],
    "unbind": lambda b: b.unbind(0)[1],
    "expand": lambda b: b[:1].expand(2, 3),
    "as_strided": lambda b: pb.as_strided(b, (2, 2), (3, 1)),
    "real": pb.real,
    "view of views": lambda b: b.T.reshape(3, 2)[1:][:, 0],
}
WRITES = {
    "scaled": lambda b, x: b.mul_(3),
    "an element": lambda b, x: b.__setitem__((1, 1), x[0, 0] ** 2),
    "by another view": lambda b, x: b.reshape(-1)[1:4].copy_(x[0] * x[1]),
    "by a product": lambda b, x: b.T.mul_(x.T.sin()),
}
RETURNED = {
    "view": lambda v, b: v,
    "base": lambda v, b: b,
    "both": lambda v, b: {"v": v, "b": b},
    "computed": lambda v, b: (v * v).sum() + b,
}


def program(view, write, returned):
    def function(x):
        b = x * 1.5
        v = view(b)
        write(b, x)
        if view not in (VIEWS["expand"], VIEWS["as_strided"]):
            v.mul_(x.sum())
        write(b, x)
        return returned(v, b)

    return function


def leaves(tree):
    return pb.utils.pytree.flatten(tree)[0]


def total(tree):
    return sum((leaf**2 * 0.5 + leaf).sum() for leaf in leaves(tree))


def pulled(function):
    out, pull = vjp(function, POINT)
    leaves_of_out, structure = pb.utils.pytree.flatten(out)
    return pull(pb.utils.pytree.unflatten(structure, [leaf + 1 for leaf in leaves_of_out]))[0]


def contracted(jacobian):
    def way(function):
        outs, rows = leaves(function(POINT)), leaves(jacobian(function)(POINT))
        return sum(pb.tensordot(out + 1, row, out.ndim) for out, row in zip(outs, rows, strict=True))

    return way


def summed(function):
    return lambda x: total(function(x))


def plain_gradient(function):
    x = POINT.clone().requires_grad_()
    (first,) = pb.autograd.grad(total(function(x)), x, create_graph=True)
    (second,) = pb.autograd.grad((first * DIRECTION).sum(), x)
    return first.detach(), second


BATCH = pb.stack([POINT, POINT * 2])
FIRST = {
    "grad": lambda f: grad(summed(f))(POINT),
    "grad_and_value": lambda f: grad_and_value(summed(f))(POINT)[0],
    "has_aux": lambda f: grad(lambda x: (lambda out: (total(out), out))(f(x)), has_aux=True)(POINT)[0],
    "vjp": pulled,
    "jacrev": contracted(jacrev),
    "jacfwd": contracted(jacfwd),
    "functional.vjp": lambda f: functional.vjp(summed(f), POINT)[1],
    "functional.jacobian": lambda f: functional.jacobian(summed(f), POINT),
    "vmap of grad": lambda f: vmap(grad(summed(f)))(BATCH)[0],
    "vmap of grad, inner axis": lambda f: vmap(grad(summed(f)), in_dims=2)(pb.stack([POINT, POINT * 2], 2))[0],
    "vmap of jacrev": lambda f: contracted(lambda f: lambda x: [j[0] for j in leaves(vmap(jacrev(f))(BATCH))])(f),
    "grad of vmap": lambda f: grad(lambda a: vmap(summed(f))(a).sum())(BATCH)[0],
    "checkpoint": lambda f: plain_gradient(lambda x: checkpoint(f, x, use_reentrant=False))[0],
    "compiled": lambda f: plain_gradient(pb.compile(f, backend="numpy", fallback="raise"))[0],
}
ALONG = {
    "jvp": lambda f: jvp(summed(f), (POINT,), (DIRECTION,))[1],
    "linearize": lambda f: linearize(summed(f), POINT)[1](DIRECTION),
    "jvp of vmap": lambda f: jvp(lambda a: vmap(summed(f))(a), (BATCH,), (pb.stack([DIRECTION] * 2),))[1][0],
}
SECOND = {
    "hvp": lambda f: hvp(summed(f), (POINT,), (DIRECTION,))[1],
    "hessian": lambda f: pb.tensordot(hessian(summed(f))(POINT), DIRECTION, 2),
    "grad of grad": lambda f: grad(lambda x: (grad(summed(f))(x) * DIRECTION).sum())(POINT),
    "grad of jvp": lambda f: grad(lambda x: jvp(summed(f), (x,), (DIRECTION,))[1])(POINT),
    "functional.hvp": lambda f: functional.hvp(summed(f), POINT, DIRECTION)[1],
    "compiled": lambda f: plain_gradient(pb.compile(f, backend="numpy", fallback="raise"))[1],
}


@pytest.mark.parametrize("view", VIEWS)
def test_transforms_follow_views_and_writes_as_the_tape_does(view):
    for number, write in enumerate(WRITES):
        returned = list(RETURNED)[(number + len(view)) % len(RETURNED)]
        function = program(VIEWS[view], WRITES[write], RETURNED[returned])
        first, second = plain_gradient(function)
        for ways, expected in ((FIRST, first), (ALONG, (first * DIRECTION).sum()), (SECOND, second)):
            for name, way in ways.items():
                message = f"{name}: {write}, {returned}"
                np.testing.assert_allclose(way(function).detach(), expected, 1e-9, 1e-12, err_msg=message)


def test_a_row_that_was_taken_before_its_array_was_scaled():
    def f(x):
        b = x.clone()
        v = b[0]
        b.mul_(3)
        return v

    np.testing.assert_array_equal(grad(f)(pb.ones(3)), [3.0, 0.0, 0.0])
    np.testing.assert_array_equal(vmap(grad(f))(pb.ones((2, 3))), [[3.0, 0.0, 0.0]] * 2)
    np.testing.assert_array_equal(jacrev(lambda x: (f(x), x * f(x)))(pb.ones(3))[0], [3.0, 0.0, 0.0])


def test_a_view_that_is_returned_beside_the_value_keeps_the_history_of_the_outer_transform():
    def f(x):
        b = x * x
        v = b[0]
        b.mul_(x)
        return b.sum(), v

    def outer(x):
        slope, v = grad(f, has_aux=True)(x)
        return (slope * v).sum()

    x = pb.tensor([0.5, 2.0])
    expected = grad(lambda x: (3 * x**2 * x[0] ** 3).sum())(x)
    np.testing.assert_allclose(grad(outer)(x), expected)


def test_a_gradient_that_lies_otherwise_in_memory_than_the_result_has_a_second_derivative():
    def f(x):
        b = x * 1.5
        v = b.T
        b.reshape(-1)[1:4].copy_(x[0])
        return v

    first, second = plain_gradient(f)
    fast = plain_gradient(pb.compile(f, backend="numpy", fallback="raise"))
    np.testing.assert_allclose(fast[0], first)
    np.testing.assert_allclose(fast[1], second)


def test_tangents_that_pass_a_no_grad_block_unchanged_have_no_history():
    def f(x):
        with pb.no_grad():
            s = x + 1  # the tangent of x itself
            r = x * 1.0
        return (x * x * (s + r)).sum()

    x, t = pb.tensor([0.5, 2.0]), pb.tensor([1.0, -1.0])
    slope = grad(lambda x: jvp(f, (x,), (t,))[1])(x)
    # d/dx of 2 x t (s + r) + x² (t + t), where s, r and their tangents are constants
    np.testing.assert_allclose(slope, 2 * t * (2 * x + 1) + 4 * x * t)


def test_the_tangent_of_a_view_has_its_history_wherever_it_is_first_asked_for():
    def f(x):
        v = (x * x)[1:]
        with pb.no_grad():
            s = v * v
            quiet = v[1:]
        return (s * v).sum() + (v[1:] * quiet).sum()

    def by_hand(x):
        v = (x * x)[1:]
        return (v.detach() ** 2 * v).sum() + (v[1:] * v[1:].detach()).sum()

    x, t = pb.tensor([0.5, 2.0, 1.5]), pb.tensor([1.0, -1.0, 0.7])
    slope = grad(lambda x: jvp(f, (x,), (t,))[1])(x)
    w, t_w = x * x, 2 * x * t
    # The tangent is t_s v + s t_v + ..., of which s, t_s, quiet and its tangent are constants.
    expected = (2 * w * t_w * 2 * x + w**2 * 2 * t).numpy()
    expected[0] = 0
    expected[2] += (t_w * 2 * x + w * 2 * t)[2].item()
    np.testing.assert_allclose(slope, expected)
    np.testing.assert_allclose(grad(f)(x), grad(by_hand)(x))


def test_a_write_without_history_leaves_the_tangents_of_other_elements_theirs():
    def f(x):
        b = x * x + 1  # shares its tangent with x * x
        with pb.no_grad():
            b[0] = 5.0
        return (b * b)[1:].sum()

    x, t = pb.tensor([0.5, 2.0, 1.5]), pb.tensor([1.0, -1.0, 0.7])
    slope = grad(lambda x: jvp(f, (x,), (t,))[1])(x)
    expected = (8 * x**2 * t + 4 * (x * x + 1) * t).numpy()
    expected[0] = 0
    np.testing.assert_allclose(slope, expected)


@pytest.mark.parametrize("write", [
    lambda part, other: part.div_(other),
    lambda part, other: part.mul_(other),
    lambda part, other: part.exp_(),
    lambda part, other: part.sqrt_(),
    lambda part, other: part.tanh_(),
    lambda part, other: part.pow_(other),
], ids=["div_", "mul_", "exp_", "sqrt_", "tanh_", "pow_"])
@pytest.mark.parametrize("order", [2, 3])
def test_a_derivative_of_writes_to_a_part_is_a_constant_for_everybody_outside(write, order):
    """What a rule keeps of its result belongs to the transform; with `A[1:] /= A[0]` it passed for the caller's own."""
    def f(x):
        y = x.copy()
        write(y[1:], y[0])
        return (y**3).sum()

    derivative, twin = f, lambda x: (pb.concatenate([x[:1], write(x[1:] * 1, x[0])]) ** 3).sum()
    for _ in range(order):
        derivative = pb.func.grad(lambda x, inner=derivative: inner(x).sum())
        twin = pb.func.grad(lambda x, inner=twin: inner(x).sum())
    x = pb.tensor([1.1, 0.7, 0.9])
    assert not derivative(x).requires_grad
    np.testing.assert_allclose(derivative(x), twin(x))


def _product(v):
    return (pb.sin(v) * v).sum()


def _checkpointed(v):
    return checkpoint(lambda v: pb.sin(v) * v, v, use_reentrant=False).sum()


def _mapped(out):
    def written(x):
        v = vmap(lambda row: row * x)(pb.tensor([[0.4, 0.5, 0.6]]))
        v.mul_(v[::2])
        return out(v)

    return written, lambda x: _product((pb.tensor([[0.4, 0.5, 0.6]]) * x) ** 2)


def _part(out):
    def written(x):
        v = x.clone()
        part = v[1:]
        part.mul_(v[0])
        return out(v)

    return written, lambda x: _product(pb.concat([x[:1], x[1:] * x[0]]))


@pytest.mark.parametrize("orders", list(itertools.product((jacfwd, jacrev), repeat=3)))
@pytest.mark.parametrize("out", [_product, _checkpointed])
@pytest.mark.parametrize("case", [_mapped, _part])
def test_third_derivatives_of_what_is_computed_from_a_written_view(case, out, orders):
    """What is saved of a value has its tangents beside it, and those have the history that the write gave them."""
    found, expected = case(out)
    for order in orders:
        found, expected = order(found), order(expected)
    x = pb.tensor([0.1, 0.2, 0.3])
    assert_close(found(x), expected(x), rtol=1e-10, atol=1e-12)
