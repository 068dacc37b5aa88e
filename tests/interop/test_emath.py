"""`np.emath` on tensors."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

INSIDE, OUTSIDE = np.array([0.25, 0.5]), np.array([-2.0, 0.5, 3.0])


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
def test_arguments_outside_of_the_domain_become_complex(name):
    function = getattr(np.emath, name)
    for x in (INSIDE, OUTSIDE, OUTSIDE.astype(np.float32)):
        out, expected = function(pb.tensor(x, requires_grad=True)), function(x)
        assert isinstance(out, pb.Tensor) and out.dtype == expected.dtype and out.requires_grad
        assert_close(out, expected, rtol=1e-6)
    assert gradcheck(function, (pb.tensor(OUTSIDE[:2], requires_grad=True),))


def test_functions_of_two_arguments():
    x = pb.tensor(OUTSIDE, requires_grad=True)
    assert_close(np.emath.logn(2, x), np.emath.logn(2, OUTSIDE))
    assert_close(np.emath.power(x, 0.5), np.emath.power(OUTSIDE, 0.5))
    assert_close(np.emath.power(pb.tensor([2, 4]), -1), [0.5, 0.25])
    assert gradcheck(lambda x: np.emath.logn(3.0, x), (x,))
