"""Arrays of NumPy's that meet tensors and are written afterwards: backward computes with what they were."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

SIZE = 6
RANDOM = np.random.default_rng(0)


def vector():
    return RANDOM.uniform(0.5, 1.5, SIZE)


def matrix():
    return RANDOM.uniform(0.5, 1.5, (SIZE, SIZE)) + 3 * np.eye(SIZE)


def positions():
    return RANDOM.permutation(SIZE)[:3]


def truths():
    return np.arange(SIZE) % 2 == 0


def written_in_place(x, w):
    y = x * 1
    y *= w
    return y


def written_at(x, w):
    y = x * 1
    y[w] *= x[:3]
    return y


PROGRAMS = {
    "x * w": (vector, lambda x, w: x * w),
    "w / x": (vector, lambda x, w: w / x),
    "x / w": (vector, lambda x, w: x / w),
    "x ** w": (vector, lambda x, w: x**w),
    "w @ x": (matrix, lambda x, w: w @ x),
    "x @ w": (matrix, lambda x, w: x @ w),
    "x *= w": (vector, written_in_place),
    "x[w]": (positions, lambda x, w: 2 * x[w]),
    "x[mask]": (truths, lambda x, w: 2 * x[w]),
    "x[w] *= y": (positions, written_at),
    "np.multiply": (vector, lambda x, w: np.multiply(w, x)),
    "np.where": (truths, lambda x, w: np.where(w, x, 2 * x)),
    "np.maximum": (vector, lambda x, w: np.maximum(x, w)),
    "np.dot": (vector, lambda x, w: np.dot(w, x)),
    "np.outer": (vector, lambda x, w: np.outer(w, x)),
    "np.einsum": (matrix, lambda x, w: np.einsum("ij,j->i", w, x)),
    "np.convolve": (vector, lambda x, w: np.convolve(w, x)),
    "np.average": (vector, lambda x, w: np.average(x, weights=w)),
    "np.linalg.solve": (matrix, lambda x, w: np.linalg.solve(w, x)),
    "pb.kron": (vector, lambda x, w: pb.kron(w, x)),
    "pb.nn.linear": (matrix, lambda x, w: pb.nn.linear(x, w)),
    "pb.special.xlogy": (vector, lambda x, w: pb.special.xlogy(w, x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_array_may_be_used_again(name):
    make, function = PROGRAMS[name]
    w, x = make(), pb.tensor(vector(), requires_grad=True)
    (expected,) = pb.autograd.grad((function(x, w) ** 2).sum(), x)
    loss = (function(x, w) ** 2).sum()
    w[...] = w[::-1] if w.dtype.kind != "f" else 0.3 * w
    assert_close(pb.autograd.grad(loss, x)[0], expected, rtol=0, atol=0)


def test_a_buffer_is_filled_anew_in_every_step():
    x, buffer, total = pb.tensor(vector(), requires_grad=True), np.empty(SIZE), 0.0
    for step in range(3):
        buffer[:] = step + 1.0
        total = total + (x * buffer).sum()
    total.backward()
    assert x.grad.tolist() == [6.0] * SIZE


def test_views_of_an_array_share_its_memory():
    array = vector()
    assert np.shares_memory(pb.reshape(array, (2, 3)).numpy(), array)
