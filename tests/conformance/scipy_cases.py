"""The shorthands of the conformance cases of SciPy: leaves, gradients, differences, and errors by their code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pullback as pb


def leaf(value: Any) -> Any:
    """A float64 tensor that requires grad."""
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def d(function: Callable[..., Any], *at: Any) -> Any:
    """The gradient of a function with one number as its value: an array, or one for each argument."""
    leaves = [leaf(value) for value in at]
    found = pb.autograd.grad(function(*leaves), leaves, allow_unused=True, materialize_grads=True)
    return found[0].numpy() if len(found) == 1 else [part.numpy() for part in found]


def differences(function: Callable[..., Any], at: Any, step: float = 1e-5) -> np.ndarray:
    """The gradient by central differences."""
    at = np.array(at, dtype=float)
    out = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(float(function(pb.tensor(moved)).detach().numpy()))
        out[place] = (ends[0] - ends[1]) / (2 * step)
    return out


def agrees(function: Callable[..., Any], at: Any, tolerance: float, step: float = 1e-5) -> None:
    """The gradient is that of differences: FD(tolerance)."""
    expected = differences(function, at, step)
    np.testing.assert_allclose(d(function, at), expected, rtol=tolerance, atol=tolerance * (1 + np.abs(expected).max()))


def gc(function: Callable[..., Any], *at: Any, **options: Any) -> None:
    """Both modes agree with differences."""
    assert pb.autograd.gradcheck(function, tuple(leaf(value) for value in at), check_forward_ad=True, **options)


def gg(function: Callable[..., Any], *at: Any, **options: Any) -> None:
    """So do second derivatives."""
    assert pb.autograd.gradgradcheck(function, tuple(leaf(value) for value in at), **options)


@contextmanager
def refused(*codes: str, word: str = "") -> Iterator[None]:
    """The block raises an error with one of these codes, whose message has a word in it."""
    with pytest.raises(pb.AutogradError) as caught:
        yield
    assert caught.value.code in codes, caught.value
    assert word in str(caught.value)


def adjoint(linear: Callable[[Any], Any], x: Any, tolerance: float = 1e-12) -> None:
    """`<A x, y> == <x, A' y>`."""
    given = leaf(x)
    out = linear(given)
    y = np.random.default_rng(3).standard_normal(out.shape)
    (back,) = pb.autograd.grad(out, [given], pb.tensor(y))
    left, right = (out.detach().numpy() * y).sum(), (np.asarray(x) * back.numpy()).sum()
    assert abs(left - right) <= tolerance * (1 + abs(left) + np.abs(y).sum())
