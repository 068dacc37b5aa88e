"""Numbers of adapted code in sets and dictionaries: found by value, as NumPy's are."""

from collections import Counter, defaultdict

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.testing import assert_close

AT = np.array([1.0, 1.1, 2.0])


def nearest(x):
    return np.argmin(np.abs(x[:, None] - np.array([1.0, 2.0])), axis=1)


PROGRAMS = [
    lambda x: x.sum() * len(set(nearest(x))),
    lambda x: x.sum() * Counter(nearest(x)).most_common(1)[0][1],
    lambda x: x.sum() * {2: 10.0}.get(np.argmax(x), 1.0),
    lambda x: x.sum() * (np.argmax(x) in {2, 3}),
    lambda x: sum({0: 2.0, 1: 3.0, 2: 5.0}[k] * v for k, v in zip(np.argsort(x), x)),
    lambda x: x.sum() * len(set(x > 1.5)),
    lambda x: x.sum() * (np.round(x[2]) in {1.0, 2.0}),
    lambda x: x.sum() * len(set(x)),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_keys_are_found_by_value(program):
    gradient, value = pb.func.grad_and_value(pb.func.adapt(program))(AT)
    assert_close(value, program(AT))
    steps = [(program(AT + step) - program(AT - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    assert_close(gradient, np.array(steps), rtol=1e-6, atol=1e-6)
    assert_close(pb.compile(pb.func.adapt(program))(AT), program(AT))


def sums_by_floor(x):
    sums = defaultdict(float)
    for value in x:
        sums[np.floor(value)] += value
    return sums[np.floor(x[0])]


@pytest.mark.parametrize("program", [sums_by_floor, lambda x: x.sum() * len(set(x))])
def test_two_differentiated_numbers_of_one_value_are_refused_as_keys(program):
    with pytest.raises(AutogradError, match="the same value"):
        pb.func.grad(pb.func.adapt(program))(np.array([1.0, 1.0, 2.0]))


def test_a_table_of_results_is_asked_for_the_same_number_again():
    def powers(x):
        known = {}

        def power(k, t):
            if (k, t) not in known:
                known[k, t] = t if k < 2 else power(k - 1, t) * t
            return known[k, t]

        first = x[0]
        return power(4, first) + power(3, first)

    for _ in range(2):  # the table of the first call lives in a cycle
        assert_close(pb.func.grad(pb.func.adapt(powers))(np.array([2.0])), np.array([44.0]))


def test_elsewhere_tensors_are_found_by_identity():
    x, y = pb.tensor(1.0), pb.tensor(1.0)
    assert len({x, y}) == 2 and {x: "x", y: "y"}[y] == "y"
