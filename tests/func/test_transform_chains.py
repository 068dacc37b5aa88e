"""Every transform of `pb.func` inside every other, with a `vmap` at every position, against a closed form.

The conformance cases run all chains of `grad`, `jvp` and `vjp` to depth four. Here all nine transforms take part: all
chains of two, and of the longer ones as many as a seed picks.
"""

import itertools
import random

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap

POINTS = np.array([0.7, -0.3])


def total(f):
    return lambda x: f(x).sum()


def pulled_back(f):
    def derivative(x):
        out, pull = vjp(f, x)
        return pull(pb.ones_like(out))[0]

    return derivative


def of_hessian(f):
    """On a vector the Hessian of the sum is diagonal."""

    def derivative(x):
        matrix = hessian(total(f))(x)
        return matrix if matrix.ndim == 0 else matrix.sum(axis=-1)

    return derivative


# Each takes an elementwise function of a number or vector to one of its derivatives.
STEPS = {
    "grad": lambda f: grad(total(f)),
    "grad_and_value": lambda f: lambda x: grad_and_value(total(f))(x)[0],
    "vjp": pulled_back,
    "jvp": lambda f: lambda x: jvp(f, (x,), (pb.ones_like(x),))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](pb.ones_like(x)),
    "jacrev": lambda f: jacrev(total(f)),
    "jacfwd": lambda f: jacfwd(total(f)),
    "hessian": of_hessian,
    "hvp": lambda f: lambda x: hvp(total(f), (x,), (pb.ones_like(x),))[1],
}
ORDERS = {name: 2 if name in ("hessian", "hvp") else 1 for name in STEPS}


def derivative(names, position):
    """The steps around `exp(x) * sin(x)`, with a map behind the first `position` of them."""
    f = lambda x: pb.exp(x) * pb.sin(x)
    for place in range(len(names), -1, -1):
        if place < len(names):
            f = STEPS[names[place]](f)
        if place == position:
            f = vmap(f)
    return f(pb.tensor(POINTS)).numpy()


def closed_form(names):
    order = sum(ORDERS[name] for name in names)
    return np.imag((1 + 1j) ** order * np.exp((1 + 1j) * POINTS))


@pytest.mark.parametrize("depth, picked", [(1, None), (2, None), (3, 25), (4, 8)])
def test_chains_of_all_transforms_with_a_map_at_every_position(depth, picked):
    chains = list(itertools.product(STEPS, repeat=depth))
    if picked is not None:
        chains = random.Random(depth).sample(chains, picked)
    wrong = []
    for names in chains:
        for position in range(depth + 1):
            found = derivative(names, position)
            if found.shape != (2,) or not np.allclose(found, closed_form(names), rtol=1e-9):
                wrong.append((names, position, found))
    assert not wrong
