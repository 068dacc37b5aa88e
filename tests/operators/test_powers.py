"""Powers of every kind of base with every kind of exponent: values as NumPy's, derivatives as the differences say."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

BASES = {
    "positive": [0.5, 2.0, 1.0],
    "negative": [-0.5, -2.0, -1.0],
    "complex": [-0.5 + 0.5j, 2.0 - 1.0j, -1.0 + 0.1j],
    "integers": [2, 3, -2],
}
EXPONENTS = {
    "real": [0.5, -1.5, 2.0],
    "whole": [2.0, -1.0, 3.0],
    "complex": [0.5 + 1.0j, -1.5 - 0.5j, 2.0 + 0.5j],
    "integers": [2, 3, 1],
}
SPELLINGS = {
    "operator": lambda x, y: x**y,
    "pow": pb.pow,
    "method": lambda x, y: pb.asarray(x).pow(y),
    "numpy": np.power,
    "float_power": pb.float_power,
}


def as_tensor(values):
    return pb.tensor(values, requires_grad=np.asarray(values).dtype.kind in "fc")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("base", BASES)
def test_derivatives_of_powers(base, exponent, spelling):
    x, y = as_tensor(BASES[base]), as_tensor(EXPONENTS[exponent])
    if not (x.requires_grad or y.requires_grad):
        return
    power = SPELLINGS[spelling]
    with np.errstate(invalid="ignore"):
        out = power(x, y)
        assert_close(out, np.float_power(x.detach().numpy(), y.detach().numpy()))
    is_real = "complex" not in (base, exponent)
    has_negative = base in ("negative", "integers")
    if is_real and has_negative and exponent == "real":
        return  # NaN
    if is_real and has_negative:
        y = y.detach()  # by the exponent it is NaN
    if x.requires_grad or y.requires_grad:
        assert gradcheck(power, (x, y), check_forward_ad=True)


@pytest.mark.parametrize("number", [0, 0.0, 2, -2, 0.5, -0.5, 1j, -1 + 0.5j, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
def test_a_number_is_a_base_like_an_array(number, dtype):
    values = np.array([0.5, 1.5, 2.0]).astype(dtype)
    results = []
    for base in (number, np.full(3, number, np.result_type(number, np.dtype(dtype)))):
        y = pb.tensor(values, requires_grad=True)
        with np.errstate(all="ignore"):
            out = base ** y if base is number else pb.asarray(base) ** y
            (out.real if out.dtype.kind == "c" else out).sum().backward()
        assert y.grad.dtype == values.dtype
        results.append((out.detach().numpy(), y.grad.numpy()))
    for first, second in zip(*results, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_powers_of_zero(dtype):
    """The derivative by the exponent is 0 where it is not negative, and minus infinity where it is."""
    for zero in (0, 0.0, pb.zeros(3, dtype=dtype)):
        y = pb.tensor(np.array([0.0, 1.5, 2.0]).astype(dtype), requires_grad=True)
        out = zero**y
        (out.real if out.dtype.kind == "c" else out).sum().backward()
        assert_close(y.grad, pb.zeros(3, dtype=dtype))
    y = pb.tensor([-1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        (0**y).sum().backward()
    assert y.grad.tolist() == [-np.inf]


def test_a_truth_value_is_a_factor_like_one_and_zero():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    (x * True + False * x).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_second_derivatives_of_a_negative_base_with_a_complex_exponent():
    x, y = as_tensor(BASES["negative"]), as_tensor(EXPONENTS["complex"])
    assert pb.autograd.gradgradcheck(pb.pow, (x, y))


@pytest.mark.parametrize("x", [4.0, 0.25, 1.0])
def test_second_derivatives_at_exponent_zero_are_those_of_the_neighbourhood(x):
    """The slope `y * x ** (y - 1)` is 0 at `y = 0` and grows there by `1 / x`."""
    hessian = pb.func.hessian(lambda v: v[0] ** v[1])(pb.tensor([x, 0.0]))
    assert_close(hessian, [[0.0, 1 / x], [1 / x, np.log(x) ** 2]])
    reverse = pb.func.jacrev(pb.func.jacrev(lambda v: v[0] ** v[1]))(pb.tensor([x, 0.0]))
    assert_close(reverse, hessian)
    third = pb.func.jacfwd(pb.func.hessian(lambda v: v[0] ** v[1]))(pb.tensor([x, 0.0]))
    assert_close(third[0, 1], [-1 / x**2, 2 * np.log(x) / x])
