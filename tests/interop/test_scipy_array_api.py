"""SciPy's functions for array API inputs compute on tensors, with the values of NumPy inputs and right derivatives.

SciPy reads SCIPY_ARRAY_API when it is imported, so the calls are made in a process of their own: this file, run as a
script, prints what it found for every call.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb

scipy = pytest.importorskip("scipy", reason="SciPy is an optional extra")

CALLS = {
    "fft.fft": lambda x: scipy.fft.fft(x, axis=0),
    "integrate.cumulative_simpson": lambda x: scipy.integrate.cumulative_simpson(x, dx=0.5),
    "integrate.cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x, dx=0.5),
    "integrate.trapezoid": lambda x: scipy.integrate.trapezoid(x, dx=0.5, axis=0),
    "optimize.rosen": lambda x: scipy.optimize.rosen(x),
    "spatial.transform.Rotation": lambda x: scipy.spatial.transform.Rotation.from_quat(x).as_matrix(),
    "special.expit": lambda x: scipy.special.expit(x),
    "special.gammaln": lambda x: scipy.special.gammaln(x),
    "special.log_softmax": lambda x: scipy.special.log_softmax(x, axis=1),
    "special.logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "special.ndtr": lambda x: scipy.special.ndtr(x),
    "special.softmax": lambda x: scipy.special.softmax(x, axis=0),
    "special.xlogy": lambda x: scipy.special.xlogy(x, 2 * x),
    "stats.circmean": lambda x: scipy.stats.circmean(x, axis=1),
    "stats.entropy": lambda x: scipy.stats.entropy(x, axis=0),
    "stats.gmean": lambda x: scipy.stats.gmean(x, axis=1),
    "stats.kurtosis": lambda x: scipy.stats.kurtosis(x, axis=None),
    "stats.skew": lambda x: scipy.stats.skew(x, axis=1),
    "stats.variation": lambda x: scipy.stats.variation(x, axis=0),
}


def findings(call):
    """What is true of one call: a dictionary, or the text of the exception it raised."""
    values = np.random.default_rng(7).uniform(0.2, 1.5, (3, 4))
    leaf = pb.tensor(values, requires_grad=True)
    try:
        out, expected = call(leaf), call(values)
        return {
            "is a tensor": isinstance(out, pb.Tensor),
            "stays in the graph": out.requires_grad,
            "has the values": bool(np.allclose(out.detach().numpy(), expected, rtol=1e-13, atol=1e-13)),
            "has the gradient": pb.autograd.gradcheck(call, leaf),
        }
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module")
def found():
    """The findings for every call."""
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | {"SCIPY_ARRAY_API": "1"}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CALLS)
def test_a_scipy_function_works_on_tensors(found, name):
    assert found[name] == dict.fromkeys(
        ("is a tensor", "stays in the graph", "has the values", "has the gradient"), True
    )


if __name__ == "__main__":
    import scipy.fft
    import scipy.integrate
    import scipy.optimize
    import scipy.spatial.transform
    import scipy.special
    import scipy.stats

    print(json.dumps({name: findings(call) for name, call in CALLS.items()}))
