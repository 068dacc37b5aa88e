"""Conformance cases 181 to 197: transforms inside transforms."""

import itertools
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close


def x3(**options):
    return pb.tensor([1.0, 2.0, 3.0], **options)


def x23():
    return pb.arange(6.0).reshape(2, 3)


def scalar(value, **options):
    return pb.tensor(float(value), **options)


def test_181_grad_and_vmap_in_both_orders():
    assert_close(vmap(grad(pb.sin))(x3()), pb.cos(x3()))
    assert_close(grad(lambda v: vmap(pb.sin)(v).sum())(x3()), pb.cos(x3()))


def test_182_gradients_per_sample():
    w, X = x3(), x23()

    def per_sample(w):
        return vmap(grad(lambda w, x: (w * w * x).sum()), (None, 0))(w, X)

    assert_close(per_sample(w), 2 * w * X)
    assert_close(grad(lambda w: per_sample(w).sum())(w), 2 * X.sum(axis=0))


def test_183_a_capture_collects_the_gradients_of_all_examples():
    w, X = x3(), x23()
    assert_close(grad(lambda w: vmap(lambda x: (w * w).sum())(X).sum())(w), 4 * w)
    assert_close(grad(lambda w: vmap(lambda x: (w + x).sum())(X).sum())(w), pb.full((3,), 2.0))


def test_184_second_derivatives_with_a_capture():
    def total(u):
        return vmap(lambda x: (u + x) ** 2 * u)(pb.arange(4.0)).sum()

    assert_close(grad(grad(total))(scalar(2)), 72.0)


class TwoOutputs(pb.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(w, x):
        return w * 2, w * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g_doubled, g_product):
        w, x = ctx.saved_tensors
        return g_doubled * 2 + g_product * x, g_product * w


class IgnoresItsGradient(pb.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, w, x):
        return w * x

    @staticmethod
    def backward(ctx, g):
        return pb.ones(()), pb.ones(())


def test_185_a_function_with_two_outputs_of_which_one_is_shared():
    def total(w):
        doubled, product = vmap(TwoOutputs.apply, (None, 0))(w, pb.arange(4.0))
        return doubled.sum() + product.sum()

    assert_close(grad(total)(scalar(1)), 14.0)


def test_185_a_backward_that_ignores_its_gradient_counts_once_per_example():
    assert_close(grad(lambda w: vmap(lambda x: IgnoresItsGradient.apply(w, x))(pb.arange(4.0)).sum())(scalar(1)), 4.0)


def clipping(**members):
    class Clip(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g / pb.sqrt((g * g).sum())

        locals().update(members)

    return Clip


def test_186_the_order_of_batching_and_differentiation_is_that_of_the_transforms():
    def own_rule(info, in_dims, x):
        return Own.apply(x), in_dims[0]

    Own = clipping(vmap=staticmethod(own_rule))
    Generated = clipping(generate_vmap_rule=True)
    Y = pb.ones((2, 3))
    for cls, inside in ((Own, 6**-0.5), (Generated, 3**-0.5)):
        assert_close(vmap(grad(lambda y, cls=cls: cls.apply(y).sum()))(Y), pb.full((2, 3), 3**-0.5))
        assert_close(grad(lambda Y, cls=cls: vmap(cls.apply)(Y).sum())(Y), pb.full((2, 3), inside))


def test_187_a_graph_from_outside_with_a_batch_of_gradients():
    w = x3(requires_grad=True)
    y = w**2
    result = vmap(lambda v: pb.autograd.grad(y, w, v, retain_graph=True)[0])(pb.eye(3))
    assert_close(result, pb.diag(2 * w.detach()))


def test_188_a_leaf_from_outside_has_a_gradient_per_example():
    w = x3(requires_grad=True)
    result = vmap(lambda x: pb.autograd.grad((w * w * x).sum(), w)[0])(x23())
    assert_close(result, 2 * w.detach() * x23())


def f_vector(v):
    return pb.sin(v) * v.sum() + pb.outer(v, v).sum(axis=0) * v


def test_189_the_mode_of_a_second_derivative_does_not_matter():
    def f(v):
        return (f_vector(v) ** 2).sum()

    ways = [hessian, *(lambda f, a=a, b=b: a(b(f)) for a in (jacfwd, jacrev) for b in (jacfwd, jacrev))]
    results = [way(f)(x3()) for way in ways]
    for result in results[1:]:
        assert_close(result, results[0])
    X = pb.stack([x3(), x3() / 2, -x3()])
    for way in (jacrev, jacfwd):
        assert_close(vmap(way(f_vector))(X), pb.stack([jacrev(f_vector)(x) for x in X]))
    for way in ways:
        assert_close(vmap(way(f))(X), pb.stack([results[0] if i == 0 else hessian(f)(x) for i, x in enumerate(X)]))


def test_190_rows_of_a_jacobian_through_a_map_that_is_over():
    def f(x):
        return vmap(lambda v: pb.sin(v) * x)(x).sum(axis=1)

    x = x3()
    _, vjp_fn = vjp(f, x)
    (rows,) = vmap(vjp_fn)(pb.eye(3))
    expected = pb.diag(pb.cos(x) * x.sum()) + pb.outer(pb.sin(x), pb.ones(3))
    assert_close(rows, expected)


def test_191_writes_in_place_under_jacfwd():
    def writes(v):
        y = v.clone()
        y.mul_(2)
        y[0] = v[1]
        return y

    def fills(v):
        y = pb.zeros(3)
        y[0] = v[1]
        return y

    for transform in (jacfwd, jacrev):
        assert_close(transform(writes)(x3()), [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
        assert_close(transform(fills)(x3()), [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def test_192_a_batched_tangent_written_into_one_that_is_not():
    def f(t):
        def body(v):
            y = v * 1  # its tangent is the same for all examples
            view = y[1:]
            y.copy_(jvp(lambda u: u * 2, (v,), (t,))[1] * v)
            return y, view * 1

        return jvp(body, (x3(),), (pb.ones(3),))[1]

    whole, tail = vmap(f)(x23())
    assert_close(whole, 2 * x23())
    assert_close(tail, 2 * x23()[:, 1:])

    def direct(t):
        def body(v, u):
            y = v * 1  # a tangent that is the same for all
            y.copy_(u)  # gets one per example
            return y

        return jvp(body, (x3(), x3()), (pb.ones(3), t))[1]

    assert_close(vmap(direct)(x23()), x23())


def test_193_a_function_says_how_it_is_batched():
    class Plain(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    class Both(Plain):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    class OneValue(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            return x

    class Incompatible(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            return (x, x), (0, 0, 0)

    for cls, message in (
        (Plain, "vmap support"),
        (Both, "generate_vmap_rule"),
        (OneValue, "two returns"),
        (Incompatible, "incompatible"),
    ):
        with pytest.raises(RuntimeError, match=message):
            vmap(cls.apply)(x23())


def test_194_the_rule_is_called_where_something_is_batched():
    calls = []

    class Scaled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, k):
            return x * y * k

        @staticmethod
        def backward(ctx, g):
            return None, None, None

        @staticmethod
        def vmap(info, in_dims, x, y, k):
            calls.append((info.batch_size, info.randomness, in_dims, x.shape))
            return x * y * k, 0

    y = x3()
    vmap(lambda x: x * Scaled.apply(y, y, 3))(x23())
    assert not calls
    assert_close(vmap(lambda x: Scaled.apply(x, y, 3), randomness="same")(x23()), x23() * y * 3)
    assert calls == [(2, "same", (0, None, None), (2, 3))]
    calls.clear()

    def nested(info, in_dims, x, y, k):
        calls.append(info.batch_size)
        return Scaled.apply(x, y, k), 0

    Scaled.vmap = staticmethod(nested)
    assert_close(vmap(vmap(lambda x: Scaled.apply(x, scalar(1), 3)))(x23()), x23() * 3)
    assert calls == [3, 2]  # the innermost level first


def test_195_a_custom_operator_with_a_registered_gradient():
    @pb.library.custom_op("conformance_195::sine", mutates_args=())
    def sine(x: pb.Tensor) -> pb.Tensor:
        return np.sin(x)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    sine.register_autograd(lambda ctx, g: g * pb.cos(ctx.saved_tensors[0]), setup_context=keep)
    cosine = pb.cos(x3())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.PerformanceWarning)  # it has no batching rule
        assert_close(grad(sine)(scalar(1)), np.cos(1.0))
        assert_close(vmap(grad(sine))(x3()), cosine)
        assert_close(jacrev(sine)(x3()), pb.diag(cosine))
        assert_close(grad(lambda x: vmap(sine)(x).sum())(x3()), cosine)
        assert_close(grad(grad(sine))(scalar(1)), -np.sin(1.0))


def test_196_inference_mode_around_transforms():
    with pb.inference_mode():
        gradient = grad(pb.sin)(scalar(1))
        value, tangent = jvp(pb.sin, (scalar(1),), (scalar(1),))
        mapped = vmap(pb.sin)(x3())
    assert_close(gradient, np.cos(1.0))
    assert_close(tangent, np.cos(1.0))
    assert_close(value, np.sin(1.0))
    assert not gradient.is_inference() and not tangent.is_inference() and not value.is_inference()
    assert_close(mapped, pb.sin(x3()))
    assert mapped.is_inference()
    assert_close(grad(lambda v: v * v)(scalar(3)), 6.0)


# Case 197: all chains


def gradient_of(f):
    return grad(f)


def tangent_of(f):
    return lambda x: jvp(f, (x,), (pb.ones_like(x),))[1]


def cotangent_of(f):
    def derivative(x):
        out, vjp_fn = vjp(f, x)
        return vjp_fn(pb.ones_like(out))[0]

    return derivative


def linearized(f):
    def derivative(x):
        return linearize(f, x)[1](pb.ones_like(x))

    return derivative


STEPS = {"grad": gradient_of, "jvp": tangent_of, "vjp": cotangent_of}
MORE_STEPS = {**STEPS, "jacrev": jacrev, "jacfwd": jacfwd, "linearize": linearized}


def chains(order, steps=STEPS):
    return list(itertools.product(steps, repeat=order))


def composed(names, f, steps=MORE_STEPS):
    for name in reversed(names):
        f = steps[name](f)
    return f


def spiral(x):
    return pb.exp(x) * pb.sin(x)


def spiral_derivative(order, x):
    return np.imag((1 + 1j) ** order * np.exp((1 + 1j) * np.asarray(x)))


POINTS = np.array([0.7, -0.3])


def mismatches(cases):
    """The labels of all cases whose values differ, with what they are; `cases` yields label, a thunk, expected."""
    found = []
    for label, compute, expected in cases:
        try:
            values = np.asarray(compute())
        except Exception as error:  # every chain that fails is reported, not only the first
            found.append((label, f"{type(error).__name__}: {error}".splitlines()[0]))
            continue
        if values.shape != np.shape(expected) or not np.allclose(values, expected, rtol=1e-9, atol=1e-9):
            found.append((label, values, expected))
    return found


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_197_all_chains_of_derivatives(order):
    expected = spiral_derivative(order, 0.7)
    cases = [(names, lambda n=names: composed(n, spiral)(scalar(0.7)).numpy(), expected) for names in chains(order)]
    assert len(cases) == 3**order
    assert not mismatches(cases)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_197_all_chains_with_a_map_at_every_position(order):
    """`vmap` around the k inner steps, for every k. Steps outside of it differentiate with respect to the batch, one
    entry after the other: the sum over the batch has the entries' own derivatives."""

    def cases():
        for names in chains(order):
            for position in range(order + 1):
                yield (names, position), lambda n=names, p=position: with_map(n, p), spiral_derivative(order, POINTS)

    assert sum(1 for _ in cases()) == (order + 1) * 3**order
    assert not mismatches(cases())


def with_map(names, position):
    """The first `position` steps are outside of the map."""
    inner = vmap(composed(names[position:], spiral))
    outer = composed([ON_VECTORS[name] for name in names[:position]], inner, VECTOR_STEPS)
    return outer(pb.tensor(POINTS)).numpy()


def summed_gradient(f):
    return grad(lambda x: f(x).sum())


VECTOR_STEPS = {"summed": summed_gradient, "jvp": tangent_of, "vjp": cotangent_of}
ON_VECTORS = {"grad": "summed", "jvp": "jvp", "vjp": "vjp"}


CAPTURING = [
    lambda u, x: (u + x) ** 2 * u,
    lambda u, x: pb.sin(u * x),
    lambda u, x: u**4,
    lambda u, x: pb.exp(u) * x + u * u * u,
    lambda u, x: pb.tanh(u) * pb.tanh(x),
    lambda u, x: u**3 * x**2 + pb.cos(u + x),
    lambda u, x: pb.where(x > 0.5, u**4 * x, pb.sin(u)),
]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_197_all_chains_with_a_capture_equal_a_loop(order):
    batch = pb.tensor([0.0, 1.0, 2.5])
    rows = list(batch)

    def mapped_total(f):
        return lambda u: vmap(lambda x: f(u, x))(batch).sum()

    def looped_total(f):
        return lambda u: sum((f(u, x) for x in rows), scalar(0))

    def cases():
        for number, f in enumerate(CAPTURING):
            # The loop has no batch, so its derivative is the same for every chain: case 197's first part.
            expected = composed(("grad",) * order, looped_total(f))(scalar(1.2)).numpy()
            for names in chains(order):
                yield (
                    (number, names),
                    lambda names=names, f=f: composed(names, mapped_total(f))(scalar(1.2)).numpy(),
                    expected,
                )

    assert sum(1 for _ in cases()) == 7 * 3**order
    assert not mismatches(cases())


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_197_a_capture_under_derivatives_of_every_example(order):
    """`vmap` outermost, and what is differentiated is shared by all examples: each has a derivative of its own."""
    batch = np.array([0.0, 1.0, 2.5])

    def f(u, x):
        return pb.sin(u * x)

    def of_u(names):
        return vmap(lambda x: composed(names, lambda u: f(u, x))(scalar(1.2)))(pb.tensor(batch)).numpy()

    expected = np.imag((1j * batch) ** order * np.exp(1j * batch * 1.2))
    assert not mismatches((names, lambda names=names: of_u(names), expected) for names in chains(order))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_197_chains_with_jacobians_and_linearize(order):
    def cases():
        for names in chains(order, MORE_STEPS):
            if not set(names) <= set(STEPS):
                if order < 3:
                    expected = spiral_derivative(order, 0.7)
                    yield (names, lambda n=names: composed(n, spiral)(scalar(0.7)).numpy(), expected)
                yield (
                    (names, "mapped"),
                    lambda n=names: vmap(composed(n, spiral))(pb.tensor(POINTS)).numpy(),
                    spiral_derivative(order, POINTS),
                )

    assert not mismatches(cases())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_197_a_hessian_among_two_steps(place):
    steps = {**MORE_STEPS, "hessian": hessian}

    def cases():
        for pair in chains(2, MORE_STEPS):
            names = (*pair[:place], "hessian", *pair[place:])
            yield (
                names,
                lambda n=names: vmap(composed(n, spiral, steps))(pb.tensor(POINTS)).numpy(),
                spiral_derivative(4, POINTS),
            )

    assert not mismatches(cases())
