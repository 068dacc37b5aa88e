"""Case 14: every declared operator on every library is NumPy's, or refused; none is wrong."""

import pytest

from tests.foreign.kinds import NAMES, library
from tests.foreign.operators import MODES, derivative_outcome, forward_outcomes, operators, usable_samples

GROUPS = 6
# The part of the operators outside of `special` whose usual samples must agree.
COVERAGE = {"strict": 0.85, "torch": 0.95, "jax": 0.95, "dask": 0.85, "cupy": 0.95}


@pytest.mark.parametrize("group", range(GROUPS))
def test_values_are_numpys_or_refused(kind, group):
    place = kind.tensor([1.0]).device
    for op in operators(group, GROUPS):
        for _ in forward_outcomes(op, place):
            pass


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("group", range(GROUPS))
def test_derivatives_batches_and_writes_are_numpys_or_refused(kind, group, mode):
    place = kind.tensor([1.0]).device
    seen = 0
    for op in operators(group, GROUPS):
        for sample, operands, _ in usable_samples(op, 2 if kind.name in ("strict", "torch") else 1):
            seen += derivative_outcome(op, sample, operands, place, mode) == ""
    assert seen > 5


@pytest.mark.parametrize("name", NAMES)
def test_coverage(name):
    place = library(name).tensor([1.0]).device
    asked = [list(forward_outcomes(op, place)) for op in operators() if op.family != "special"]
    asked = [outcomes for outcomes in asked if outcomes]
    covered = [outcomes for outcomes in asked if not any(code for _, usual, code in outcomes if usual)]
    assert len(covered) >= COVERAGE[name] * len(asked)
