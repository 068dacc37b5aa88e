"""Cases 46, 48, 67, 68 and 73 of `compiling-anything.md`: captured arrays that are written between calls, and captured
leaves that a compiled function computes gradients for or reads. What is not compiled runs as it is, and says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import leaf


def test_046_048_an_element_of_a_captured_array_or_of_what_a_view_of_it_sees_is_written():
    array = np.arange(6.0)

    def whole(x):
        return x * array

    def part(x):
        return x[:2] * array[2:4]

    for function in (whole, part):
        compiled = pb.compile(function, fallback="raise", backend="numpy")
        for value in (1.0, 5.0, -2.0, 5.0):
            array[2] = value
            x, y = leaf(np.ones(6)), leaf(np.ones(6))
            found, expected = compiled(x), function(y)
            assert found.tolist() == expected.tolist()
            found.sum().backward()
            expected.sum().backward()
            assert x.grad.tolist() == y.grad.tolist()


@pytest.mark.parametrize("options", [lambda w: {"inputs": [w]}, lambda w: {}], ids=["067", "068"])
def test_067_068_gradients_that_arrive_at_captured_leaves_add_up(options):
    w = leaf([1.0, 2.0])

    def f(x):
        (w * w * x).sum().backward(**options(w))
        return x * 2

    compiled = pb.compile(f)
    with pytest.warns(UserWarning, match=r"stores a gradient in the \.grad"):
        compiled(pb.tensor([1.0, 1.0]))
    compiled(pb.tensor([2.0, 3.0]))
    assert w.grad.tolist() == [6.0, 16.0]
    with pytest.raises(pb.aot.NotCompiledError, match=r"\.grad"):
        pb.compile(f, fallback="raise")(pb.tensor([1.0, 1.0]))
    assert w.grad.tolist() == [6.0, 16.0]


def test_073_the_array_of_a_captured_tensor_has_the_values_of_the_call():
    k = pb.tensor([1.0, 2.0])
    compiled = pb.compile(lambda x: x * k.numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it runs as it is
        for _ in range(3):
            assert compiled(pb.ones(2)).tolist() == k.tolist()
            k.mul_(5)
