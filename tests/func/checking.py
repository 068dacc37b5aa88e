"""What the tests of `adapt` share. Gradients are compared with central differences of the function itself."""

import warnings

import numpy as np

import pullback as pb
from pullback.func import adapt
from pullback.testing import assert_close


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def differences(function, x, step=1e-6):
    """The gradient of a function of one array, by central differences of the function as it was written."""
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[index] += step
        below[index] -= step
        out[index] = (function(above) - function(below)) / (2 * step)
    return out


def check(function, values=(0.5, 1.5, 0.7), **options):
    """Value and gradient of the adapted function are those of the function itself."""
    plain = np.array(values)
    x = leaf(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = adapt(function, **options)(x)
    result.backward()
    assert_close(result.detach(), np.asarray(function(plain.copy()), dtype=float))
    assert_close(x.grad, differences(function, plain), rtol=1e-6, atol=1e-7)
