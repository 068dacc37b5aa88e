"""Writes inside vmap: what they may change, and when a later gradient still finds the values it needs."""

import pytest

import pullback as pb
from pullback.testing import assert_close


def filled(x):
    h = pb.zeros(4)
    h[0] = x
    for i in range(3):
        h[i + 1] = pb.sin(h[i]) * x
    return h[3]


def overwritten(x):
    h = pb.zeros(4)
    h[0] = x
    y = pb.sin(h[0])
    h[0] = x * 2
    return y


def rows():
    return pb.linspace(0.1, 1.0, 5)


def test_a_preallocated_array_that_is_filled_differentiates():
    assert_close(pb.func.vmap(pb.func.grad(filled))(rows()), pb.stack([pb.func.grad(filled)(x) for x in rows()]))
    by_batch = pb.func.grad(lambda xs: pb.func.vmap(filled)(xs).sum())(rows())
    assert_close(by_batch, pb.func.vmap(pb.func.grad(filled))(rows()))
    assert_close(pb.func.vmap(pb.func.hessian(filled))(rows()), pb.stack([pb.func.hessian(filled)(x) for x in rows()]))


def test_a_write_that_destroys_a_saved_value_is_noticed():
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.grad(overwritten)(pb.tensor(0.3))
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.vmap(pb.func.grad(overwritten))(rows())


def test_a_write_before_the_array_got_room_for_the_examples_is_remembered():
    def f(x):
        h = pb.ones(4)
        y = x * h  # keeps h while it is the same for all examples
        h[0] = 3.0  # destroys what was kept
        h[1] = x  # gives h room for the examples, in other memory
        return y.sum() + h[1]

    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.grad(f)(pb.tensor(0.3))
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.vmap(pb.func.grad(f))(rows())
