"""Elements of NumPy arrays among the arguments of compiled functions are numbers, and no views, as in eager code."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb


def swapped(x, y):
    t = y[0]
    y[0] = y[1]
    y[1] = t
    return x * y


def added_up(x, y):
    s = y[0]
    s += y[1]
    s *= 2
    return x * s


def of_what_is_computed(x, y):
    z = np.outer(y, y)
    t = z[0, 1]
    z[0] = 0
    row = z[1]
    z[1] += 1
    return x * t + row


def before_a_write_to_all(x, y):
    t = y[0]
    y += 1
    u = y[0]
    y *= 2
    return x * t + u


def of_a_view(x, y):
    part = y[1:]
    t = part[0]
    part[0] = 9.0
    return x * t + part.sum()


def in_a_loop(x, y):
    total = 0.0
    for v in y:
        y[2] = 5.0
        v += 1
        total = total + v
    return x * total


def sorted_in_place(x, y):
    for i in range(2):
        for j in range(2 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return x * y


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize(
    "function", [swapped, added_up, of_what_is_computed, before_a_write_to_all, of_a_view, in_a_loop, sorted_in_place]
)
def test_elements_of_arrays_are_no_views(function, requires_grad):
    compiled = pb.compile(function, backend="numpy")
    for number in range(5):
        outcomes = []
        for call in (function, compiled):
            x = pb.tensor(np.arange(3.0) + number, requires_grad=requires_grad)
            y = np.roll(np.arange(3.0) + 1, number) * (-1) ** number
            result = call(x, y)
            if requires_grad:
                result.sum().backward()
            outcomes.append([result.detach().numpy(), y, x.grad.numpy() if requires_grad else 0])
        for found, wanted in zip(*outcomes, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_elements_of_tensors_are_views():
    compiled = pb.compile(swapped, backend="numpy")
    outcomes = [call(pb.ones(3), pb.tensor([1.0, 2.0, 3.0])).tolist() for call in (swapped, compiled)]
    assert outcomes[0] == outcomes[1] == [2.0, 2.0, 3.0]
