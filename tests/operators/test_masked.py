"""Reductions of chosen elements are those of the elements alone, row by row, with a gradient for these alone."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(4, 5))
MASK = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 1, 1, 0]], bool)
REDUCTIONS = {
    "sum": pb.sum, "prod": pb.prod, "mean": pb.mean, "amax": pb.amax, "amin": pb.amin, "median": pb.median,
    "logsumexp": pb.logsumexp, "var": pb.var, "std": pb.std, "norm": pb.linalg.vector_norm,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_that_of_the_chosen_elements(name):
    function = getattr(pb.masked, name)
    expected = [REDUCTIONS[name](pb.tensor(row[chosen])).item() for row, chosen in zip(X, MASK, strict=True)]
    assert_close(function(X, axis=1, mask=MASK), expected)
    assert_close(function(X, dim=1, keepdim=True, mask=pb.tensor(MASK)), np.array(expected)[:, None])
    assert_close(function(X), REDUCTIONS[name](X))
    x = pb.tensor(X, requires_grad=True)
    function(x, mask=MASK).backward()
    assert (x.grad.numpy()[~MASK] == 0).all()
    assert gradcheck(lambda x: function(x, axis=0, mask=MASK), (x,), check_forward_ad=True)


def test_nothing_chosen_is_reduced_to_what_nothing_gives():
    none = np.zeros((2, 3), bool)
    x = pb.tensor(np.ones((2, 3)), requires_grad=True)
    expectations = {"sum": 0, "prod": 1, "mean": np.nan, "amax": -np.inf, "amin": np.inf, "var": np.nan}
    for name, expected in expectations.items():
        out = getattr(pb.masked, name)(x, axis=1, mask=none)
        np.testing.assert_array_equal(out.detach().numpy(), [expected] * 2)
        assert pb.autograd.grad(out.sum(), x)[0].tolist() == [[0, 0, 0]] * 2


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_weights_of_chosen_elements(name):
    out = getattr(pb.masked, name)(X, 1, mask=MASK).numpy()
    plain = pb.nn.softmin if name == "softmin" else getattr(pb, name)
    for row, values, chosen in zip(X, out, MASK, strict=True):
        assert_close(values[chosen], plain(pb.tensor(row[chosen]), 0))
        assert (values[~chosen] == (-np.inf if name == "log_softmax" else 0)).all()
    if name != "log_softmax":
        x = pb.tensor(X, requires_grad=True)
        assert gradcheck(lambda x: getattr(pb.masked, name)(x, 1, mask=MASK), (x,))


def test_scans_norms_and_places():
    assert_close(pb.masked.cumsum(X, 1, mask=MASK), np.cumsum(np.where(MASK, X, 0), 1))
    assert_close(pb.masked.cumprod(X, 1, mask=MASK), np.cumprod(np.where(MASK, X, 1), 1))
    assert pb.masked.argmax(X, 1, mask=MASK).tolist() == np.where(MASK, X, -np.inf).argmax(1).tolist()
    assert pb.masked.argmin(X, 1, mask=MASK).tolist() == np.where(MASK, X, np.inf).argmin(1).tolist()
    kept = np.where(MASK, X, 0)
    assert_close(pb.masked.normalize(X, 2.0, 1, mask=MASK), kept / np.linalg.norm(kept, axis=1, keepdims=True))
    both = pb.masked.logaddexp(X, X + 1, input_mask=MASK, other_mask=~MASK)
    assert_close(both, np.where(MASK, X, X + 1))
    with pytest.raises(TypeError, match="truth"):
        pb.masked.sum(X, mask=np.ones((4, 5)))
