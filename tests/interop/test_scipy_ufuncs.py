"""Universal functions of SciPy on tensors, in SciPy's ordinary mode."""

import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

special = pytest.importorskip("scipy.special", reason="SciPy is an optional extra")


@pytest.mark.parametrize("name", ["erf", "gammaln", "expit", "ndtr", "psi", "j0", "log1p", "exprel"])
def test_a_ufunc_of_scipy_becomes_its_twin_and_keeps_the_gradient(name):
    x = pb.tensor([0.3, 0.7], requires_grad=True)
    out = getattr(special, name)(x)
    assert_close(out, getattr(special, name)(x.detach().numpy()))
    step = 1e-6
    out.sum().backward()
    up, down = (getattr(special, name)(x.detach().numpy() + s) for s in (step, -step))
    assert_close(x.grad, (up - down) / (2 * step), rtol=1e-6)


def test_several_operands_and_outer():
    x, y = pb.tensor([0.3, 0.7], requires_grad=True), np.array([1.0, 2.0, 3.0])
    special.xlogy.outer(x, y).sum().backward()
    assert_close(x.grad, [np.log(6.0), np.log(6.0)])
    x.grad = None
    special.gammainc(2.0, x).sum().backward()
    assert_close(x.grad, np.array([0.3, 0.7]) * np.exp([-0.3, -0.7]))


def test_a_ufunc_without_a_twin_is_refused_where_a_gradient_would_be_lost():
    x = pb.tensor([0.3, 0.7], requires_grad=True)
    with pytest.raises(pb.AutogradError) as caught:
        special.zetac(x)
    assert caught.value.code == "SCIPY_NO_RULE"
    assert_close(special.zetac(x.detach()), special.zetac(x.detach().numpy()))


def test_scipy_is_not_loaded_by_asking_for_a_ufunc_of_numpy():
    code = "import sys, numpy as np, pullback as pb; np.spacing(pb.ones(2)); assert 'scipy.special' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
