"""Operators that write: what was written has no derivative, whichever way it is reached."""

import numpy as np
import pytest

import pullback as pb
from tests.conformance.custom_ops import op


def double_():
    def double_(x: np.ndarray) -> None:
        x *= 2

    return op(double_, ("x",))


def add_():
    def add_(x: np.ndarray, y: np.ndarray) -> None:
        x += y

    return op(add_, ("x",))


@pytest.mark.parametrize("written, seen", [
    (lambda y: y, lambda y, w: y), (lambda y: y[0], lambda y, w: y), (lambda y: y[0], lambda y, w: w),
    (lambda y: y.T, lambda y, w: w), (lambda y: y.T, lambda y, w: y[1]), (lambda y: y[0][:1], lambda y, w: y.T),
])  # fmt: skip
@pytest.mark.parametrize("is_tracked", [True, False], ids=["tracked", "by another"])
def test_views_of_what_was_written_raise_too(written, seen, is_tracked):
    x = pb.ones((2, 2), requires_grad=True)
    y = x * 1 if is_tracked else pb.ones((2, 2))
    view = written(y)
    if is_tracked:
        double_()(view)
    else:
        add_()(view, written(x))
    with pytest.raises(RuntimeError, match="no autograd formula"):
        seen(y, view).sum().backward()


def test_parts_that_were_not_written_keep_their_derivative_where_it_is_known():
    x = pb.ones((2, 2), requires_grad=True)
    y = x * 1
    other = y * 3
    double_()(y)
    other.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_hidden_writes_are_seen_by_nobody():
    def count_(x: np.ndarray) -> None:
        x += 1

    hidden = op(count_, ("x",), tags="autograd_hidden")
    x = pb.ones(2, requires_grad=True)
    y = x * x
    hidden(x)
    hidden(y)
    assert x._version == y._version == 0 and x.tolist() == [2.0, 2.0] and y.tolist() == [2.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
