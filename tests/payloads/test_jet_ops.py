"""Every declared operator has Taylor coefficients: those that nested forward mode gives.

Nothing here knows a particular operator: the cases come from the declarations, a few samples of each.
"""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.eager.build import as_operand
from pullback.eager.record import apply
from pullback.func._jet import jet
from pullback.operators import LATER
from pullback.testing import assert_close

for family in LATER:
    importlib.import_module(f"pullback.{family}")

SLOW = ("random", "special", "gufunc")


def is_smooth(x):
    return isinstance(x, np.ndarray) and x.dtype.char in "dD" and x.size > 0


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def results_of(op, sample, operands=None):
    """The real and complex ones among the results, as far as they are well defined."""
    given = map(as_operand, sample.inputs()) if operands is None else operands
    with np.errstate(all="ignore"):
        results = listed(apply(op, tuple(given), sample.params))
        if sample.observe is not None:
            results = listed(sample.observe(*results))
    return [out for out in results if out.dtype.kind in "fc"]


def cases():
    for op in registry.values():
        if op.sample_rule is None or not op.is_differentiable or op.takes_payloads:
            continue
        found = [s for s in op.sample_rule(Maker(op.name)) if any(map(is_smooth, s.inputs())) and results_of(op, s)]
        for sample in itertools.islice(found, 1 if op.family in ("elementwise", *SLOW) else 2):
            yield pytest.param(op, sample, id=f"{op.name}-{sample.label}")



def nested(function, values, directions, order):
    """Value and derivatives along a line, one forward level for each order."""
    if not order:
        return [function(*values)]

    def highest(*at):
        return nested(function, at, directions, order - 1)[-1]

    return [*nested(function, values, directions, order - 1), pb.func.jvp(highest, values, directions)[1]]


@pytest.mark.parametrize(("op", "sample"), list(cases()))
def test_jet_equals_nested_jvps(op, sample):
    operands = sample.inputs()
    random = np.random.default_rng(7)
    positions = [k for k, x in enumerate(operands) if is_smooth(x)]
    allowed = sample.allowed(
        *[random.uniform(-0.5, 0.5, x.shape).astype(x.dtype) if is_smooth(x) else 0 for x in operands]
    )
    directions = tuple(pb.tensor(np.asarray(allowed[k], operands[k].dtype)) for k in positions)
    values = tuple(pb.tensor(operands[k]) for k in positions)
    order = 3

    def function(*chosen):
        full = list(operands)
        for k, value in zip(positions, chosen):
            full[k] = value
        return results_of(op, sample, full)

    with np.errstate(all="ignore"):
        series = tuple((t, *[pb.zeros_like(t)] * (order - 1)) for t in directions)
        out, out_series = jet(function, values, series)
        expected = nested(function, values, directions, order)
    for index, value in enumerate(out):
        assert_close(value, expected[0][index])
        for k in range(order):
            assert_close(out_series[index][k], expected[k + 1][index], rtol=1e-7, atol=1e-7)
