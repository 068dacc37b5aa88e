"""Second derivatives of small programs: all ways to them agree, alone, in a batch, and with a shared parameter."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.func import grad, hessian, hvp_fn, jacfwd, jacrev, jvp, linearize, vmap
from pullback.testing import assert_close

A = pb.tensor(np.random.default_rng(0).standard_normal((3, 3)))
X = pb.tensor(np.random.default_rng(1).uniform(0.3, 1.7, (2, 3)))


def writes_into_views(x):
    z = pb.zeros((2, 3))
    z[0] = x * x
    z[1, 1:] = z[0, :2].clone() * x[1:]
    z.mul_(2)
    z.T[0].add_(x[0])
    return (z**2).sum()


def writes_into_a_copy(x):
    y = x.clone()
    tail = y[1:]
    tail *= x[0]
    y[0] += tail.sum()
    return (y * x).sum()


def transforms_in_place(x):
    y = x * 0.5
    y.exp_()
    y[1:].tanh_()
    y[::-1].reciprocal_()
    return (y * y * x).sum()


def recurrent(x):
    h = pb.zeros(3)
    for k in range(3):
        h = pb.tanh(A @ h + x * x[k])
    return (h * h).sum()


PROGRAMS = {
    "writes into views": writes_into_views,
    "writes into a copy": writes_into_a_copy,
    "transforms in place": transforms_in_place,
    "recurrent": recurrent,
    "solve": lambda x: pb.linalg.solve(A + pb.diag(x**2 + 3), x).sum() * x[1],
    "eigh": lambda x: (pb.linalg.eigh(pb.outer(x, x) + pb.diag(pb.tensor([1.0, 2.0, 4.0])))[0] ** 3).sum(),
    "einsum": lambda x: pb.einsum("i,ij,j,k->k", x, A, x, x).sum(),
    "indices": lambda x: (x[[0, 2, 2]] * x[[1, 1, 0]]).sum() ** 2,
    "sorted": lambda x: (pb.sort(x) * pb.tensor([1.0, 2.0, 3.0])).sum() ** 2 * x.max(),
    "joined": lambda x: (pb.concat([x, x[::-1] * x]) ** 2).sum() * pb.split(x, 3)[1].sum(),
    "complex": lambda x: (pb.exp(1j * x) * x).sum().real * x[0],
    "checkpoint": lambda x: pb.utils.checkpoint.checkpoint(lambda u: pb.sin(u) * u * u, x).sum(),
    "linearize": lambda x: linearize(lambda u: u**3 * A[0], x)[1](x).sum(),
    "inner grad": lambda x: (grad(lambda y: (y**3 * x).sum())(x * 2) * x).sum(),
    "inner map": lambda x: (vmap(lambda a: pb.sin(a) * x.sum() * a)(x) * x).sum(),
    "inner jacobian": lambda x: jacfwd(lambda y: y**2 * x)(x).sum() * x[0],
}

programs = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)


@programs
def test_all_ways_to_a_hessian_agree(f):
    eps = 1e-5
    expected = pb.stack([hessian(f)(x) for x in X])
    x = X[0]
    numerical = [(grad(f)(x + eps * e) - grad(f)(x - eps * e)) / (2 * eps) for e in pb.eye(3)]
    assert_close(expected[0], pb.stack(numerical), rtol=1e-4, atol=1e-5)
    for way in (
        hessian,
        lambda f: jacrev(jacrev(f)),
        lambda f: jacrev(jacfwd(f)),
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(grad(f)),
        lambda f: lambda x: vmap(hvp_fn(f, x)[1])(pb.eye(3)),
    ):
        assert_close(vmap(way(f))(X), expected)
        assert_close(way(f)(X[1]), expected[1])


READ_THEIR_RESULT = sorted(
    name for name, op in registry.items() if len(op.operands) == 1 and op.reads((True,))[1] and hasattr(X, f"{name}_")
)
PARTS = {"whole": lambda u: u, "part": lambda u: u[1:], "turned": lambda u: u[::-1], "one": lambda u: u[1:2],
         "column": lambda u: u.reshape(-1, 1)[:, 0]}  # fmt: skip


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("name", READ_THEIR_RESULT)
def test_a_write_whose_derivative_is_a_function_of_its_result_has_all_second_derivatives(name, part):
    """The saved result has the tangent of what was written, not that of what was there before."""

    def f(x):
        y = x * 0.5
        written = part(y)
        getattr(written, f"{name}_")()
        return (y**3).sum() + (written * written).sum()

    x, t = X
    expected = jvp(grad(f), (x,), (t,))[1]
    assert_close(grad(lambda x: (grad(f)(x) * t).sum())(x), expected)
    assert_close(grad(lambda x: jvp(f, (x,), (t,))[1])(x), expected)
    leaf = x.clone().requires_grad_()
    (first,) = pb.autograd.grad(f(leaf), leaf, create_graph=True)
    if first.requires_grad:
        assert_close(pb.autograd.grad((first * t).sum(), leaf, materialize_grads=True)[0], expected)


@programs
def test_a_shared_parameter_collects_the_derivatives_of_all_examples(f):
    def mapped(w):
        return vmap(lambda x: f(w * x) * f(w))(X).sum()

    def looped(w):
        return sum((f(w * x) * f(w) for x in X), pb.zeros(()))

    w, t = X
    assert_close(grad(mapped)(w), grad(looped)(w))
    expected = jvp(grad(looped), (w,), (t,))[1]
    assert_close(jvp(grad(mapped), (w,), (t,))[1], expected)
    assert_close(grad(lambda w: jvp(mapped, (w,), (t,))[1])(w), expected)


@programs
def test_gradients_per_example_of_a_leaf_from_outside(f):
    leaf = X[0].clone().requires_grad_()
    gradients = vmap(lambda x: pb.autograd.grad(f(leaf * x), leaf, create_graph=True)[0])(X)
    assert_close(gradients, pb.stack([grad(lambda u, x=x: f(u * x))(X[0]) for x in X]))
    (second,) = pb.autograd.grad((gradients**2).sum(), leaf)

    def squares(u):
        return sum(((grad(lambda v, x=x: f(v * x))(u) ** 2).sum() for x in X), pb.zeros(()))

    assert_close(second, grad(squares)(X[0]))


_PRODUCTS = {  # of the Hessian at `x` and `v`, by every transform with gradients inside of one with tangents
    "grad": lambda f, x, v: jvp(grad(f), (x,), (v,))[1],
    "jacrev": lambda f, x, v: jvp(jacrev(f), (x,), (v,))[1],
    "vjp": lambda f, x, v: jvp(lambda u: pb.func.vjp(f, u)[1](pb.ones(()))[0], (x,), (v,))[1],
    "hvp": lambda f, x, v: pb.func.hvp(f, (x,), (v,))[1],
    "captured": lambda f, x, v: jvp(lambda s: grad(lambda u: f(u + s))(x), (0 * x,), (v,))[1],
}


@programs
@pytest.mark.parametrize("product", list(_PRODUCTS.values()), ids=list(_PRODUCTS))
def test_a_product_with_the_hessian_has_derivatives_by_the_vector(f, product):
    x, v = X
    expected = hessian(f)(x)
    assert_close(jacrev(lambda u: product(f, x, u))(v), expected)
    assert_close(vmap(lambda g: grad(lambda u: (product(f, x, u) * g).sum())(v))(pb.eye(3)), expected)
    leaf = v.clone().requires_grad_()
    assert_close(pb.autograd.grad(product(f, x, leaf)[0], leaf)[0], expected[0])


@programs
def test_a_second_directional_derivative_has_derivatives_by_the_direction(f):
    x, v = X

    def along(u):
        return jvp(lambda w: jvp(grad(f), (w,), (u,))[1], (x,), (u,))[1]

    assert_close(jacrev(along)(v), jacfwd(along)(v))
