"""Optimisers, schedules and clipping do what torch 2.13 does; what it did is recorded (`torch_cases.py`)."""

import json

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close
from tests.optim import torch_cases

RECORDED = json.loads(torch_cases.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", range(len(torch_cases.CASES)), ids=lambda i: f"{torch_cases.CASES[i][0]}-{i}")
def test_fifty_steps_are_those_of_torch(case):
    rows = torch_cases.trajectory(pb, *torch_cases.CASES[case])
    np.testing.assert_allclose(rows[list(torch_cases.SHOWN)], RECORDED["steps"][case], rtol=0, atol=1e-12)


OURS = {
    "onecycle": pb.optim.onecycle(0.3, 21),
    "cosine": pb.optim.cosine(0.1, 25, 0.01),
    "exponential": pb.optim.exponential(0.1, 0.9),
    "linear": pb.optim.linear(0.1, 0.025, 10),
    "piecewise": pb.optim.piecewise([5, 12], [0.1, 0.01, 0.001]),
}


@pytest.mark.parametrize("name", OURS)
def test_schedules_are_those_of_torch(name):
    np.testing.assert_allclose([float(OURS[name](t)) for t in range(20)], RECORDED["schedules"][name], atol=1e-15)


def test_clipping_by_norm_is_that_of_torch():
    clipped = pb.optim.clip_by_norm([pb.tensor(10 * torch_cases.W), pb.tensor(torch_cases.B)], 1.5)
    for ours, theirs in zip(clipped, RECORDED["clipped"], strict=True):
        assert_close(ours, theirs)
    assert_close(pb.optim.global_norm(clipped), 1.5, atol=1e-6)
