"""Case 172 of `compiling-anything.md` once more, as a stranger would try it: programs written without a thought of
compilers give compiled what they give, whichever way a call takes, with first and second derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.pytree import flatten
from tests.conformance.compiling import check_same, outcome, without_versions
from tests.conformance.stranger_programs import PROGRAMS

INPUTS = 4


@pytest.mark.parametrize("name", PROGRAMS)
def test_172_programs_of_strangers(name):
    function, makers = PROGRAMS[name]
    compiled = pb.compile(function, backend="numpy")
    for number in range(2 * INPUTS):
        seed = number % INPUTS

        def make(seed: int = seed) -> list[Any]:
            rng = np.random.default_rng(seed)
            return [each(rng) for each in makers]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = outcome(compiled, make, seed), outcome(function, make, seed)
            second, wanted = ([], []) if number < INPUTS else (curvature(call, make()) for call in (compiled, function))
        if name == "gauss_seidel":  # written in a loop of the graph, which counts as one write
            found["results"], expected["results"] = map(without_versions, (found["results"], expected["results"]))
        check_same(found, expected, f"{name} with seed {seed}", 1e-7)
        for mine, theirs in zip(second, wanted, strict=True):
            assert (mine is None) == (theirs is None), (name, seed)
            if theirs is not None:
                np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8, err_msg=f"{name} with seed {seed}")


def curvature(call: Any, args: list[Any]) -> list[Any]:
    """The derivative of the squares of all gradients."""
    try:
        results = [each for each in flatten(call(*args))[0] if isinstance(each, pb.Tensor) and each.requires_grad]
    except (ValueError, AssertionError):
        return []
    leaves = [each for each in args if isinstance(each, pb.Tensor) and each.requires_grad]
    if not results or not leaves:
        return []
    total = sum([(each * each).sum() for each in results], pb.tensor(0.0))
    grads = pb.autograd.grad(total, leaves, allow_unused=True, create_graph=True)
    squares = [(each * each).sum() for each in grads if each is not None and each.requires_grad]
    if not squares:
        return []
    found = pb.autograd.grad(sum(squares, pb.tensor(0.0)), leaves, allow_unused=True)
    return [None if each is None else each.numpy() for each in found]
