"""What a callback takes from outside is found whatever it does with it."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacfwd, jacrev, jvp, vmap

integrate, optimize = pb.scipy.integrate, pb.scipy.optimize
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


_D = None  # what callbacks find in a global variable

_SOLVERS = {
    "quad": lambda a, d: pb.scipy.integrate.quad(lambda t: (a * d() * t).sum(), 0, 1)[0],
    "quad by its limit": lambda a, d: pb.scipy.integrate.quad(lambda t: (d() * t).sum(), 0, a[0])[0],
    "solve_ivp": lambda a, d: pb.scipy.integrate.solve_ivp(lambda t, y: -a * d() * y, (0, 0.1), [1.0, 1.0]).y.sum(),
    "root": lambda a, d: optimize.root(lambda y: y**3 * d() - a, [1.0, 1.0]).x.sum(),
    "minimize": lambda a, d: optimize.minimize(lambda y: ((y - a * d()) ** 2).sum(), [1.0, 1.0]).x.sum(),
    "least_squares": lambda a, d: optimize.least_squares(lambda y: y - a * d(), [1.0, 1.0]).x.sum(),
}


@pytest.mark.parametrize("make", [pb.tensor, np.array], ids=["tensor", "array"])
@pytest.mark.parametrize("place", ["global", "closure"])
@pytest.mark.parametrize("solve", list(_SOLVERS.values()), ids=list(_SOLVERS))
def test_what_a_callback_looks_at_and_is_written_before_backward(solve, place, make):
    """Compiled code had the numbers of before, and the function itself those of after: `quad` of a tensor in a global
    variable gave the gradient of an integral that nobody had asked for."""
    global _D
    a = pb.tensor([8.0, 1.0], requires_grad=True)
    for _ in range(3):  # eagerly, compiled, from what was compiled
        _D = make([3.0, 1.0])
        look = (lambda: _D) if place == "global" else (lambda d=_D: d)  # noqa: B023  (that it changes is the point)
        (expected,) = pb.autograd.grad(solve(a, look), a)
        out = solve(a, look)
        _D *= 2
        try:
            (found,) = pb.autograd.grad(out, a)
        except pb.AutogradError as error:
            assert error.code == "SCIPY_CALLBACK_CHANGED"
        else:
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9)


_W = pb.tensor([2.0, 3.0])
_P = pb.tensor(2.0)
_FOUND = {  # by tensors of global variables, and what is found
    "root": (lambda: optimize.root(lambda y: y - _W, [0.0, 0.0]).x, lambda: _W),
    "brentq": (lambda: optimize.brentq(lambda y: y - _P, 0.0, 99.0), lambda: _P),
    "minimize": (lambda: optimize.minimize(lambda y: ((y - _W) ** 2).sum(), [0.0, 0.0]).x, lambda: _W),
    "quad": (lambda: pb.scipy.integrate.quad(lambda t: (_W * t).sum(), 0, 1)[0], lambda: _W.sum() / 2),
    "quad of numbers": (lambda: pb.scipy.integrate.quad(lambda t: _P * t, 0, 1)[0], lambda: _P / 2),
    "solve_ivp": (
        lambda: pb.scipy.integrate.solve_ivp(lambda t, y: -_W * y, (0, 0.1), [1.0, 1.0], rtol=1e-9).y[:, -1],
        lambda: pb.exp(-0.1 * _W),
    ),
}


@pytest.mark.parametrize("update", ["data", "in place", "set_"])
@pytest.mark.parametrize("solve, expected", list(_FOUND.values()), ids=list(_FOUND))
def test_parameters_in_global_variables_that_are_updated_between_solves(solve, expected, update):
    """Compiled callbacks kept the memory of a tensor, which `w.data = ...` replaces: values were those of the first."""
    for tensor in (_W, _P):
        tensor.requires_grad_(False)
        tensor.data = pb.tensor(np.array([2.0, 3.0]) if tensor is _W else np.array(2.0)).data
        tensor.requires_grad_()
    for _ in range(4):
        found = solve()
        np.testing.assert_allclose(found.detach().numpy(), expected().detach().numpy(), rtol=1e-6)
        found.sum().backward()
        for tensor in (_W, _P):
            with pb.no_grad():
                if update == "data":
                    tensor.data = tensor.data * 1.5
                elif update == "in place":
                    tensor.mul_(1.5)
                else:
                    tensor.set_(tensor.detach() * 1.5)


# A solver in the function of another: values, tangents and gradients of the inner one pass through the outer.

NESTED = {
    "brentq of brentq": lambda p: optimize.brentq(
        lambda t: optimize.brentq(lambda s: s**3 + s * p - t, -5, 5) - p, -50, 50),
    "dblquad with a moving limit": lambda p: integrate.dblquad(lambda y, x: p * x * y, 0, 1, 0, lambda x: 1 + p * x)[0],
}  # fmt: skip


@pytest.mark.parametrize("function", NESTED.values(), ids=NESTED)
def test_derivatives_of_a_solver_inside_a_solver_agree_both_ways(function):
    p, step = pb.tensor(0.7), 1e-4
    slopes = [grad(function)(p + side * step).item() for side in (1, -1)]
    expected = pytest.approx((slopes[0] - slopes[1]) / (2 * step), rel=1e-6)
    assert jacfwd(function)(p).item() == pytest.approx(grad(function)(p).item(), rel=1e-9)
    for inner in (jacfwd, jacrev):
        assert jacfwd(inner(function))(p).item() == expected
