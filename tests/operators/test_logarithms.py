"""Logarithms of differences."""

import numpy as np

import pullback as pb
from pullback.testing import assert_close


def test_log1mexp_loses_no_digits():
    x = np.array([1e-300, 1e-12, 0.5, np.log(2), 1.0, 40.0, np.inf])
    expected = [np.log(1e-300), np.log(1e-12) - 5e-13, np.log(1 - np.exp(-0.5)), np.log(0.5)]
    expected += [np.log(1 - np.exp(-1.0)), -np.exp(-40.0), 0.0]
    assert_close(pb.log1mexp(x), expected, rtol=1e-14, atol=0)


def test_log1mexp_at_zero_is_minus_infinity_with_an_infinite_derivative():
    x = pb.tensor([0.0, np.inf], requires_grad=True)
    with np.errstate(all="ignore"):
        out = pb.log1mexp(x)
        assert np.isnan(pb.log1mexp(-1.0).item())
    assert out.tolist() == [-np.inf, 0.0]
    out.sum().backward()
    assert x.grad.tolist() == [np.inf, 0.0]


def test_integers_become_floating():
    assert pb.log1mexp([1, 2]).dtype == np.float64


def test_products_with_a_logarithm_where_the_factor_is_zero():
    """The slope by the argument of the logarithm is 0 there, and moves with the factor."""
    for function, inner in ((pb.xlogy, 2.0), (pb.xlog1py, 1.0)):
        at = pb.tensor([0.0, inner])
        for second in (pb.func.hessian, lambda f: pb.func.jacrev(pb.func.grad(f))):
            assert_close(second(lambda v, f=function: f(v[0], v[1]))(at), [[0.0, 0.5], [0.5, 0.0]])
    x = pb.tensor([0.0, 0.0], requires_grad=True)
    pb.xlogy(x, pb.tensor([0.0, -1.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
