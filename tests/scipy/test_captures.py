"""What a callback takes from outside is found whatever it does with it."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

optimize = pb.scipy.optimize
compiled = pb.compile(lambda y, p: y**3 - p)


def filled(v, p):
    h = pb.zeros(1)
    h[0] = v[0] ** 3
    h -= p
    return h


def scanned(y, p):
    return pb.scan(lambda carry, _: (carry + y**3 / 3 - p / 3, carry), pb.tensor(0.0), pb.zeros(3))[0]


CUBE_ROOTS = {
    "compiled": lambda p: optimize.brentq(lambda y: compiled(y, p), 0.0, 5.0),
    "compiled closure": lambda p: optimize.brentq(pb.compile(lambda y: y**3 - p), 0.0, 5.0),
    "vmap": lambda p: optimize.root(lambda v: vmap(lambda a: a**3 - p)(v), [1.0, 1.5]).x[0],
    "grad": lambda p: optimize.root(lambda v: grad(lambda w: (w**4 / 4 - p * w).sum())(v), [1.0, 1.5]).x[0],
    "checkpoint": lambda p: optimize.brentq(lambda y: pb.checkpoint(lambda y: y**3 - p * 1.0, y), 0.0, 5.0),
    "scan": lambda p: optimize.brentq(lambda y: scanned(y, p), 0.0, 5.0),
    "cond": lambda p: optimize.brentq(lambda y: pb.cond(y > 1.0, lambda y: y**3 - p, lambda y: y - p, y), 0.0, 5.0),
    "writes": lambda p: optimize.root(lambda v: filled(v, p), [1.0]).x[0],
    "a default": lambda p: optimize.brentq(lambda y, q=p * 1.0: y**3 - q, 0.0, 5.0),
    "numpy": lambda p: optimize.brentq(lambda y: np.power(y, 3) - np.multiply(p, 1.0), 0.0, 5.0),
}


@pytest.mark.parametrize("name", CUBE_ROOTS)
def test_a_parameter_is_found(name):
    function = CUBE_ROOTS[name]
    p = pb.tensor(8.0)
    leaf = pb.tensor(8.0, requires_grad=True)
    function(leaf).backward()
    found = [grad(function)(p), leaf.grad, jvp(function, (p,), (pb.tensor(1.0),))[1]]
    found.append(vmap(grad(function))(pb.tensor([8.0, 8.0]))[1])
    np.testing.assert_allclose([x.item() for x in found], 1 / 12, rtol=1e-7)


@pytest.mark.parametrize("low", [1.0, 3.0])
def test_a_tensor_that_is_limit_and_parameter_at_once(low):
    """Found by identity, it was replaced in both places where only the parameter moves: `grad(grad)` gave 12."""
    quad = pb.scipy.integrate.quad
    area = lambda a: quad(lambda t: t * a, low, a)[0]
    a = pb.tensor(3.0)
    orders = (lambda f: grad(grad(f)), lambda f: pb.func.jacfwd(grad(f)), lambda f: pb.func.jacrev(pb.func.jacfwd(f)))
    assert [order(area)(a).item() for order in orders] == pytest.approx([9.0] * 3)
    tripled = lambda a: quad(lambda t: t**2 * a**2, low, a)[0]  # a^2 (a^3 - low^3) / 3, thrice
    assert grad(grad(grad(tripled)))(a).item() == pytest.approx(20 * 9.0)
