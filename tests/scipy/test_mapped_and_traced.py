"""Solvers inside of vmap and of compiled code: what a loop over the examples gives, and what eager code gives."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

integrate, optimize = pb.scipy.integrate, pb.scipy.optimize
TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def decay(k, method):
    return integrate.solve_ivp(lambda t, y: -k * y, (0, 1.5), [2.0], t_eval=[0.5, 1.5], method=method, **TIGHT).y[0]


CASES = {
    "brentq": lambda p: optimize.brentq(lambda y: pb.cos(y) - p * y, 0, 2),
    "minimize": lambda p: optimize.minimize(lambda y: ((y - p) ** 2).sum() + (y**4).sum(), [1.5], tol=1e-10).x[0],
    "quad": lambda p: integrate.quad(lambda t: pb.exp(-p * t * t), 0, 2)[0],
    "quad by a limit": lambda p: integrate.quad(lambda t: pb.exp(-t * t), 0, p)[0],
    "RK45": lambda p: decay(p, "RK45").sum(),
    "Radau": lambda p: decay(p, "Radau").sum(),
    "by times": lambda p: integrate.solve_ivp(
        lambda t, y: -y, (0, p), p.reshape(1), t_eval=p.reshape(1), **TIGHT
    ).y[0, 0],
    "odeint": lambda p: integrate.odeint(lambda y, t: -p * y, [2.0], [0.0, 0.5, 1.5])[-1, 0],
}  # fmt: skip
PS = pb.tensor([0.5, 0.9])


@pytest.mark.parametrize("name", CASES)
def test_vmap_is_the_loop_over_the_examples(name):
    f = CASES[name]
    values = [f(p).item() for p in PS]
    slopes = [grad(f)(p).item() for p in PS]
    np.testing.assert_allclose(vmap(f)(PS).numpy(), values, rtol=1e-10)
    np.testing.assert_allclose(vmap(grad(f))(PS).numpy(), slopes, rtol=1e-8)
    np.testing.assert_allclose(grad(lambda p: vmap(f)(p).sum())(PS).numpy(), slopes, rtol=1e-8)
    forward = vmap(lambda p: jvp(f, (p,), (pb.ones_like(p),))[1])(PS)
    np.testing.assert_allclose(forward.numpy(), slopes, rtol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_inside_of_compiled_code_it_is_one_node(name):
    f = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backend in ("numpy", "auto"):
            compiled, slope = pb.compile(f, backend=backend), pb.compile(grad(f), backend=backend)
            for p in PS:
                assert compiled(p).item() == pytest.approx(f(p).item(), rel=1e-12)
                assert slope(p).item() == pytest.approx(grad(f)(p).item(), rel=1e-8)
            assert compiled.cache_info().misses == slope.cache_info().misses == 1


def cube_root(p):
    return optimize.root(lambda y: y**3 - p, [1.0]).x[0]


def test_a_compiled_solve_has_every_derivative():
    out = pb.compile(lambda p: cube_root(p) * 2)(p := pb.tensor(8.0, requires_grad=True))
    out.backward()
    assert (out.item(), p.grad.item()) == pytest.approx((4.0, 1 / 6))
    assert pb.compile(grad(grad(cube_root)))(pb.tensor(8.0)).item() == pytest.approx(-1 / 144)
    forward = pb.compile(lambda p: jvp(cube_root, (p,), (pb.ones_like(p),))[1])
    assert forward(pb.tensor(8.0)).item() == pytest.approx(1 / 12)
    mapped = pb.compile(lambda p: vmap(grad(cube_root))(p))
    np.testing.assert_allclose(mapped(pb.tensor([8.0, 27.0])).numpy(), [1 / 12, 1 / 27])


def test_what_only_the_run_knows_is_not_known_inside_of_compiled_code():
    f = pb.compile(lambda p: p * optimize.root(lambda y: y**3 - p, [1.0]).nfev, fallback="raise")
    with pytest.raises(pb.errors.TraceError, match="nfev"):
        f(pb.tensor(8.0))


def test_a_solution_for_two_maps():
    def last(k, y):
        return integrate.solve_ivp(lambda t, x: -k * x, (0, 1), y[None], t_eval=[1.0], rtol=1e-6).y[0, 0]

    both = vmap(vmap(last))
    k, y = pb.tensor([[0.5, 0.9], [1.0, 2.0]]), pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(both(k, y).numpy(), y.numpy() * np.exp(-k.numpy()), rtol=1e-3)


def test_how_many_results_there_are_must_be_known_inside_of_vmap():
    with pytest.raises(pb.AutogradError) as caught:
        vmap(lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]).y[0, -1])(PS)
    assert caught.value.code == "SCIPY_DYNAMIC_SHAPE"
    assert "t_eval" in str(caught.value)


def test_an_example_that_blows_up_is_nan_or_an_error():
    def last(y0, diff):
        return integrate.solve_ivp(lambda t, y: y * y, (0, 1.0), y0[None], t_eval=[0.5, 1.0], diff=diff).y[0, -1]

    starts = pb.tensor([0.5, 2.0])
    with pytest.raises(pb.AutogradError) as caught:
        vmap(lambda y0: last(y0, None))(starts)
    assert caught.value.code == "SCIPY_NOT_CONVERGED"
    found = vmap(lambda y0: last(y0, pb.scipy.Diff(on_failure="nan")))(starts).numpy()
    assert found[0] == pytest.approx(1.0, rel=1e-2)
    assert np.isnan(found[1])


def test_only_the_example_that_fails_has_no_gradient():
    def found(p):
        options = {"maxiter": 3}
        return optimize.root(lambda y: pb.exp(y) - p, [0.9], method="broyden1", options=options,
                             diff=pb.scipy.Diff(on_failure="nan")).x[0]  # fmt: skip

    slopes = vmap(grad(found))(pb.tensor([np.exp(0.9), 50.0])).numpy()
    assert slopes[0] == pytest.approx(np.exp(-0.9), rel=1e-6)
    assert np.isnan(slopes[1])


def test_what_did_not_converge_raises_its_code_in_every_mode():
    def found(p):
        return optimize.root(lambda y: y * y + p, [1.0]).x[0]

    p = pb.tensor(1.0)
    for derivative in (
        lambda: grad(found)(p),
        lambda: jvp(found, (p,), (p,)),
        lambda: vmap(grad(found))(p[None]),
        lambda: pb.compile(grad(found))(p),
    ):
        with pytest.raises(pb.AutogradError) as caught:
            derivative()
        assert caught.value.code == "SCIPY_NOT_CONVERGED"


_X = np.linspace(0, 1, 8)
_GIVEN = {  # the cube root of p, by searches that are given derivatives, which depend on p as well
    "newton": lambda p: optimize.newton(
        lambda y: y**3 - p, 1.0, fprime=lambda y: 3 * y**2 + 0 * p, fprime2=lambda y: 6 * y + 0 * p
    ),
    "newton of arrays": lambda p: optimize.newton(
        lambda y: y**3 - p * np.ones(2), np.ones(2), fprime=lambda y: 3 * y**2 + 0 * p
    )[0],
    "root": lambda p: optimize.root(lambda y: y**3 - p, [1.0], jac=lambda y: (3 * y**2 + 0 * p)[None]).x[0],
    "fsolve": lambda p: optimize.fsolve(lambda y: y**3 - p, [1.0], fprime=lambda y: (3 * y**2 + 0 * p)[None])[0],
    "root_scalar": lambda p: optimize.root_scalar(
        lambda y: y**3 - p, x0=1.0, fprime=lambda y: 3 * y**2 + 0 * p, fprime2=lambda y: 6 * y + 0 * p, method="halley"
    ).root,
    "minimize": lambda p: optimize.minimize(
        lambda y: ((y**3 - p) ** 2).sum(), [1.5], jac=lambda y: 6 * y**2 * (y**3 - p),
        hess=lambda y: (30 * y**4 - 12 * y * p)[None], method="trust-exact", tol=1e-12,
    ).x[0],
    "products": lambda p: optimize.minimize(
        lambda y: ((y**3 - p) ** 2).sum(), [1.5], jac=lambda y: 6 * y**2 * (y**3 - p),
        hessp=lambda y, v: (30 * y**4 - 12 * y * p) * v, method="trust-ncg", tol=1e-12,
    ).x[0],
    "fmin_ncg": lambda p: optimize.fmin_ncg(
        lambda y: ((y**3 - p) ** 2).sum(), [1.5], lambda y: 6 * y**2 * (y**3 - p),
        fhess=lambda y: (30 * y**4 - 12 * y * p)[None], avextol=1e-12, disp=0,
    )[0],
    "least_squares": lambda p: optimize.least_squares(
        lambda y: y**3 - p, [1.5], jac=lambda y: (3 * y**2 + 0 * p)[None], xtol=1e-14, ftol=1e-14, gtol=1e-14
    ).x[0],
    "leastsq": lambda p: optimize.leastsq(lambda y: y**3 - p, [1.5], Dfun=lambda y: (3 * y**2 + 0 * p)[None])[0][0],
    "curve_fit": lambda p: optimize.curve_fit(
        lambda x, a: a**3 * x, _X, _X * p, p0=[1.5], jac=lambda x, a: (3 * a**2 * x + 0 * p)[:, None]
    )[0][0],
}  # fmt: skip


@pytest.mark.parametrize("solve", list(_GIVEN.values()), ids=list(_GIVEN))
def test_searches_that_are_given_derivatives(solve):
    """These were called with what they close over, the whole batch or a trace that has ended."""
    p = pb.tensor([2.0, 8.0])
    expected = p.numpy() ** (-2 / 3) / 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.errors.ImplicitAccuracyWarning)
        found = [
            pb.func.vmap(pb.func.grad(solve))(p),
            pb.func.grad(lambda p: pb.func.vmap(solve)(p).sum())(p),
            pb.stack([pb.compile(pb.func.grad(solve))(each) for each in p]),
        ]
    for each in found:
        np.testing.assert_allclose(each.numpy(), expected, rtol=1e-5)


def test_multipliers_of_every_example():
    def multiplier(c):
        rules = {"type": "eq", "fun": lambda x: x[0] + x[1] - c}
        return optimize.minimize(
            lambda x: x[0] ** 2 + 2 * x[1] ** 2, [0.5, 0.5], method="SLSQP", bounds=[(0, None)] * 2, constraints=rules
        ).multipliers[0]

    c = pb.tensor([1.0, 2.0])
    np.testing.assert_allclose(pb.func.vmap(multiplier)(c).numpy(), [4 / 3, 8 / 3], rtol=1e-5)
    np.testing.assert_allclose(pb.func.vmap(pb.func.grad(multiplier))(c).numpy(), [4 / 3, 4 / 3], rtol=1e-5)


@pytest.mark.parametrize("end", [lambda x: 1.0, lambda x: x], ids=["constant", "moving"])
def test_an_integral_inside_of_a_root(end):
    """What stands for a parameter inside of the outer callback is what derivatives of the inner one are taken with."""

    def root(p):
        return pb.scipy.optimize.brentq(
            lambda x: x - 0.5 - pb.scipy.integrate.quad(lambda t: pb.exp(-p * t), 0, end(x))[0], 0, 5, xtol=1e-13
        )

    at, step = np.array([1.3, 1.4]), 1e-5
    expected = [(root(value + step) - root(value - step)).item() / (2 * step) for value in at]
    np.testing.assert_allclose(pb.func.vmap(pb.func.grad(root))(pb.tensor(at)).numpy(), expected, rtol=1e-6)
    compiled = pb.compile(root)
    for value, slope in zip(at, expected, strict=True):
        leaf = pb.tensor(value, requires_grad=True)
        compiled(leaf).backward()
        assert leaf.grad.item() == pytest.approx(slope, rel=1e-6)
