"""Random functions whose way depends on values do compiled what they do eagerly, call after call."""

import warnings

import numpy as np
import pytest

import pullback as pb
from tests.aot.random_branches import program
from tests.conformance.compiling import check_same, leaf, outcome


def given(seed, values, s):
    """Arguments: leaves, results of something, views, or tensors without a gradient."""
    x, y, w = leaf(values[0]), leaf(values[1]), pb.tensor(values[2])
    kind = seed % 5
    if kind == 1:
        x, y = x * 1, leaf(np.outer(values[1], [1.0, 2.0]))[:, 0]
    elif kind == 2:
        x, w = x.detach(), pb.tensor(np.outer([1.0, 0.5], values[2]))[0]
    elif kind == 3:
        w = w * y
    return x, y, w, s


def compare(seed, calls=8, **options):
    text = program(seed)
    names = {"__name__": f"random_branches_{seed}"}
    exec(compile(text, f"<program {seed}>", "exec"), names)
    function = names["f"]
    compiled = pb.compile(function, **options)
    draws = np.random.default_rng(seed)
    kinds = [draws.normal(size=(3, 3)) * draws.choice([0.3, 1.0, 3.0]) for _ in range(calls // 2)]
    for number in range(calls):
        values = kinds[number % len(kinds)] if draws.random() < 0.5 else draws.normal(size=(3, 3))
        s = float(draws.choice([0.5, 1.25, -1.0]))
        make = lambda v=values, s=s: given(seed, v, s)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, found = outcome(function, make, number), outcome(compiled, make, number)
        check_same(found, expected, f"{text}\ncall {number}, seed {seed}")
    return compiled


@pytest.mark.parametrize("seed", range(24))
def test_random_functions(seed):
    compare(seed, 6, backend="numpy")


@pytest.mark.parametrize("seed", range(1000, 1004))
def test_random_functions_in_native_code(seed):
    compare(seed)
