"""`adapt` inside of function transforms, function transforms inside of adapted code, and threads."""

import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import DetachedArrayWarning, adapt, grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close
from tests.func.checking import differences, leaf


def helper(x):
    y = np.exp(x)
    y += 1
    return y


def f(x):
    out = np.zeros(3)
    total = x[0]
    for i in range(3):
        out[i] = np.sin(x[i]) * total
        total += x[i]
    out[1:] *= 2
    return helper(out).sum()


POINT = np.array([0.5, 1.0, 1.5])
GRADIENT = differences(f, POINT)
DIRECTION = np.array([1.0, -2.0, 0.5])
adapted = adapt(f)


@pytest.mark.parametrize("derivative", [
    lambda x: grad(adapted)(x),
    lambda x: jacfwd(adapted)(x),
    lambda x: jacrev(adapted)(x),
    lambda x: vjp(adapted, x)[1](pb.tensor(1.0))[0],
    lambda x: vmap(grad(adapted))(pb.stack([x, x]))[1],
    lambda x: grad(lambda batch: vmap(adapted)(batch).sum())(pb.stack([x, x]))[0],
    lambda x: adapt(lambda x: grad(f)(x) * np.ones(3))(x),
    lambda x: adapt(lambda x: pb.func.vmap(pb.func.grad(f))(np.stack([x, x]))[0])(x),
    lambda x: adapt(lambda x: jvp(f, (x,), (np.array([1.0, 0.0, 0.0]),))[1] * np.array([1.0, 0, 0]))(x)
    + GRADIENT * [0, 1, 1],
], ids=[
    "grad", "jacfwd", "jacrev", "vjp", "vmap-grad", "grad-vmap", "grad-inside", "vmap-grad-inside", "jvp-inside",
])  # fmt: skip
def test_gradients(derivative):
    assert_close(derivative(pb.tensor(POINT)), GRADIENT, rtol=1e-6, atol=1e-6)


def test_directional_derivatives():
    x, t = pb.tensor(POINT), pb.tensor(DIRECTION)
    value, tangent = jvp(adapted, (x,), (t,))
    assert_close(value, f(POINT))
    assert_close(tangent, GRADIENT @ DIRECTION, rtol=1e-6, atol=1e-6)
    assert_close(linearize(adapted, x)[1](t), tangent)


def test_second_derivatives():
    matrix = hessian(adapted)(pb.tensor(POINT))
    assert_close(matrix, matrix.T)
    for row, position in zip(matrix, range(3), strict=True):
        expected = differences(lambda x, i=position: grad(adapted)(pb.tensor(x))[i].item(), POINT)
        assert_close(row, expected, rtol=1e-5, atol=1e-5)
    x = leaf(POINT)
    adapt(lambda x: (grad(f)(x) * np.ones(3)).sum())(x).backward()
    assert_close(x.grad, matrix.sum(0))
    product = hvp(adapted, (pb.tensor(POINT),), (pb.tensor(DIRECTION),))[1]
    assert_close(product, matrix @ DIRECTION)


BUFFER = np.zeros(3)


def uses_buffer(x):
    BUFFER[:] = x * x
    BUFFER[0] += x[1]
    return (BUFFER * x).sum()


def test_an_array_of_the_caller_may_be_written_inside_of_transforms():
    expected = [0.75 + 1.0, 3.0 + 0.5, 6.75]
    with pytest.warns(DetachedArrayWarning):
        assert_close(grad(adapt(uses_buffer))(pb.tensor(POINT)), expected)
    assert_close(BUFFER, [0.25 + 1.0, 1.0, 2.25])
    with pytest.warns(DetachedArrayWarning):
        assert_close(jvp(adapt(uses_buffer), (pb.tensor(POINT),), (pb.ones(3),))[1], np.sum(expected))


def test_an_array_that_would_hold_many_examples_is_left_as_it_was():
    BUFFER[:] = 7.0
    with pytest.warns(DetachedArrayWarning, match="Every example of vmap"):
        results = vmap(adapt(uses_buffer))(pb.tensor([POINT, 2 * POINT]))
    assert_close(results, [adapt(uses_buffer)(POINT).item(), adapt(uses_buffer)(2 * POINT).item()])
    BUFFER[:] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vmap(adapt(lambda x: (BUFFER * x).sum()))(pb.ones((2, 3))).tolist() == [21.0, 21.0]


def test_two_arrays_on_the_same_memory_are_refused_inside_of_transforms():
    state = np.zeros((2, 3))
    row = state[1]

    def g(x):
        row[:] = 1.0
        return (state * x).sum()

    with pytest.raises(pb.AutogradError) as caught:
        grad(adapt(g))(pb.tensor(POINT))
    assert caught.value.code == "ADAPT_OVERLAP"


def test_numerical_checks_and_checkpoints():
    x = leaf(POINT)
    assert pb.autograd.gradcheck(adapted, (x,), check_forward_ad=True)
    pb.utils.checkpoint.checkpoint(adapted, x, use_reentrant=False).backward()
    assert_close(x.grad, GRADIENT, rtol=1e-6, atol=1e-6)


def test_threads_do_not_meet():
    points = [np.array([0.1 * i, 0.5, 1.0]) for i in range(8)]
    expected = [differences(f, point) for point in points]
    adapted, gradients = adapt(f), {}
    start = threading.Barrier(len(points))

    def work(number):
        start.wait()
        for _ in range(5):
            x = leaf(points[number])
            adapted(x).backward()
            assert type(f(points[number])) is np.float64  # the function itself still computes with NumPy
        gradients[number] = x.grad

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(points))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, gradient in enumerate(expected):
        assert_close(gradients[number], gradient, rtol=1e-6, atol=1e-7)
