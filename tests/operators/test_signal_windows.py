"""Windows against SciPy's, and derivatives in their parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal.windows

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

PARAMETERS = {
    "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 2.0}, "gaussian": {"std": 1.5},
    "general_cosine": {"a": [0.4, 0.5, 0.1]}, "general_hamming": {"alpha": 0.6}, "hamming": {}, "hann": {},
    "kaiser": {"beta": 5.0}, "nuttall": {},
}  # fmt: skip


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
@pytest.mark.parametrize("name", PARAMETERS)
def test_windows_are_scipys(name, length, sym):
    window, parameters = getattr(pb.signal.windows, name), PARAMETERS[name]
    expected = getattr(scipy.signal.windows, name)(length, **parameters, sym=sym)
    assert_close(window(length, **parameters, sym=sym), expected, atol=1e-12)
    assert window(length, **parameters, dtype=pb.float32).dtype == np.float32


def test_parameters_of_windows_have_gradients():
    parameter = pb.tensor(1.5, requires_grad=True)
    for name, key in [("exponential", "tau"), ("gaussian", "std"), ("general_hamming", "alpha"), ("kaiser", "beta")]:
        assert gradcheck(lambda p, n=name, k=key: getattr(pb.signal.windows, n)(6, **{k: p}), (parameter,))


def test_older_names_leave_the_last_point_out():
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
        older, window = getattr(pb, f"{name}_window"), getattr(pb.signal.windows, name)
        assert_close(older(6), window(6, sym=False))
        assert_close(older(6, False), window(6))


def test_impossible_windows_are_refused():
    with pytest.raises(ValueError, match="negative"):
        pb.signal.windows.hann(-1)
    with pytest.raises(ValueError, match="real"):
        pb.signal.windows.hann(3, dtype=pb.int64)
