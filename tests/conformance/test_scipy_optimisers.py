"""Conformance cases 46 to 71: minima, with bounds and constraints, least squares, fits, programs."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.func import grad, jacrev
from pullback.scipy import optimize as O

from .scipy_cases import agrees, d, gc, gg, leaf, refused

A = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
B = np.array([1.0, -2.0, 0.5])


def valley(a, x):
    return (a - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


TIGHT = {
    "Newton-CG": {"tol": 1e-12}, "TNC": {"options": {"ftol": 1e-16, "gtol": 1e-10, "maxfun": 2000}},
    "SLSQP": {"tol": 1e-14}, "trust-constr": {"options": {"gtol": 1e-10, "xtol": 1e-12}},
    "L-BFGS-B": {"options": {"ftol": 1e-16, "gtol": 1e-10}},
}  # fmt: skip


@pytest.mark.parametrize("method", [
    "BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg", "TNC", "SLSQP",
    "trust-constr",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:delta_grad", "ignore:Singular")
def test_46_every_method_that_uses_gradients(method):
    options = TIGHT.get(method, {"tol": 1e-9})
    start = [1.0, 0.9] if method == "dogleg" else [0.9, 0.7]  # where the Hessian is positive definite

    def found(a):
        return O.minimize(lambda x: valley(a, x), start, method=method, **options)

    np.testing.assert_allclose(jacrev(lambda a: found(a).x)(pb.tensor(1.1)).numpy(), [1, 2.2], rtol=1e-5)
    plain = scipy.optimize.minimize(lambda x: valley(1.1, x), [0.9, 0.7], method="BFGS")
    if method == "BFGS":
        assert found(pb.tensor(1.1)).nfev < plain.nfev / 2


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_47_methods_without_gradients(method):
    def found(a, **options):
        return O.minimize(lambda x: valley(a, x), [0.9, 0.7], method=method, **options).x

    if method == "COBYLA":  # it does not arrive
        with refused("SCIPY_NOT_CONVERGED", "SCIPY_NOT_A_SOLUTION"):
            jacrev(lambda a: found(a))(pb.tensor(1.1))
        return
    polished = pb.scipy.Diff(polish=2)
    np.testing.assert_allclose(jacrev(lambda a: found(a, diff=polished))(pb.tensor(1.1)).numpy(), [1, 2.2], rtol=1e-7)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            slopes = jacrev(lambda a: found(a))(pb.tensor(1.1)).numpy()
        is_close = np.allclose(slopes, [1, 2.2], rtol=1e-3)
        assert is_close or any(issubclass(w.category, pb.errors.ImplicitAccuracyWarning) for w in caught)
    except pb.AutogradError as error:
        assert error.code in ("SCIPY_NOT_A_SOLUTION", "SCIPY_NOT_CONVERGED")


def quadratic(a, b):
    return O.minimize(lambda x: 0.5 * x @ ((a + a.T) / 2) @ x - b @ x, np.zeros(3), tol=1e-10)


def test_48_a_quadratic_form():
    np.testing.assert_allclose(
        jacrev(lambda b: quadratic(pb.tensor(A), b).x)(pb.tensor(B)).numpy(), np.linalg.inv(A), atol=1e-7
    )
    gc(lambda a, b: quadratic(a, b).x, A, B, atol=1e-4)
    gg(lambda b: quadratic(pb.tensor(A), b).x, B, atol=1e-4)


def test_49_the_value_of_a_minimum(monkeypatch):
    from pullback.func import _implicit

    def value(b):
        return quadratic(pb.tensor(A), b).fun

    x = np.linalg.solve(A, B)
    second = pb.func.hessian(value)(pb.tensor(B)).numpy()
    np.testing.assert_allclose(second, -np.linalg.inv(A), atol=1e-6)
    monkeypatch.setattr(_implicit.Equation, "linear", None)
    np.testing.assert_allclose(d(value, B), -x, atol=1e-7)


def cornered(a, b, low=0.0, **options):
    bounds = [(0.0, None), (low, None)]
    return O.minimize(
        lambda x: (x[0] - a) ** 2 + (x[1] - b) ** 2 + x[0] * x[1], [0.5, 0.5], bounds=bounds, tol=1e-12, **options
    ).x


def test_50_to_52_bounds():
    np.testing.assert_allclose(d(lambda a, b: cornered(a, b)[0], 1.0, 1.0), [4 / 3, -2 / 3], rtol=1e-6)
    found = [d(lambda a, b, low, k=k: cornered(a, b, low)[k], 1.0, -1.0, 0.0) for k in (0, 1)]
    np.testing.assert_allclose(found, [[1, 0, -0.5], [0, 0, 1]], atol=1e-7)
    with refused("SCIPY_DEGENERATE"):
        d(lambda b: cornered(1.0, b)[1], 0.5)
    for side, expected in (("active", 0.0), ("inactive", 4 / 3)):
        diff = pb.scipy.Diff(on_degenerate=side)
        assert d(lambda b, diff=diff: cornered(1.0, b, diff=diff)[1], 0.5) == pytest.approx(expected, abs=1e-6)


CONSTRAINTS = {
    "dict": lambda c: {"type": "eq", "fun": lambda x: x[0] + x[1] - c},
    "linear": lambda c: scipy.optimize.LinearConstraint(np.array([[1.0, 1.0]]), c, c),
    "nonlinear": lambda c: scipy.optimize.NonlinearConstraint(lambda x: x[0] + x[1], c, c),
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
@pytest.mark.filterwarnings("ignore:delta_grad")
def test_53_an_equality(method, kind):
    options = {"options": {"gtol": 1e-10, "xtol": 1e-12}} if method == "trust-constr" else {"tol": 1e-10}

    def found(c):
        constraint = CONSTRAINTS[kind](c)
        return O.minimize(
            lambda x: x[0] ** 2 + 2 * x[1] ** 2, [0.5, 0.5], method=method, constraints=constraint, **options
        )

    np.testing.assert_allclose(jacrev(lambda c: found(c).x)(pb.tensor(1.5)).numpy(), [2 / 3, 1 / 3], rtol=1e-5)
    assert d(lambda c: found(c).fun, 1.5) == pytest.approx(2.0, rel=1e-5)


def test_54_inequalities():
    def found(limit, far):
        rows = [scipy.optimize.NonlinearConstraint(lambda x: x[0] + x[1], -np.inf, limit),
                {"type": "ineq", "fun": lambda x: far - x[0]}]  # fmt: skip
        return O.minimize(
            lambda x: (x[0] - 1) ** 2 + (x[1] - 2) ** 2, [0.1, 0.1], method="SLSQP", constraints=rows, tol=1e-12
        ).x

    slopes = [d(lambda limit, far, k=k: found(limit, far)[k], 2.0, 9.0) for k in (0, 1)]
    np.testing.assert_allclose(slopes, [[0.5, 0.0], [0.5, 0.0]], atol=1e-6)


def test_55_dependent_equalities():
    def found(c, **options):
        rows = [{"type": "eq", "fun": lambda x, k=k: k * (x[0] + x[1] - c)} for k in (1, 2)]
        return O.minimize(
            lambda x: x[0] ** 2 + 2 * x[1] ** 2, [1.0, 0.5], method="trust-constr", constraints=rows,
            options={"gtol": 1e-10, "xtol": 1e-12}, **options,
        ).x[0]  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with refused("SCIPY_SINGULAR", "SCIPY_NOT_CONVERGED"):
            d(found, 1.5)
        diff = pb.scipy.Diff(on_degenerate="lstsq")
        assert d(lambda c: found(c, diff=diff), 1.5) == pytest.approx(2 / 3, rel=1e-5)


def test_56_a_flat_minimum():
    p = leaf([1.0, 2.0])
    found = O.minimize(lambda x: ((x - p) ** 4).sum(), [0.0, 0.0]).x
    with refused("SCIPY_NOT_A_SOLUTION"):
        found.sum().backward()


def test_57_a_saddle():
    def stays(fun, x0, args=(), **_):
        return scipy.optimize.OptimizeResult(x=np.zeros(2), fun=0.0, success=True, message="", nit=0)

    with refused("SCIPY_NOT_A_SOLUTION", word="saddle"):
        d(lambda p: O.minimize(lambda x: p * (x[0] ** 2 - x[1] ** 2), [0.0, 0.0], method=stays).x.sum(), 1.0)


@pytest.mark.parametrize("options", [
    {"method": "brent", "tol": 1e-10}, {"method": "golden", "tol": 1e-10},
    {"method": "bounded", "bounds": (-3, 3), "options": {"xatol": 1e-10}},
])  # fmt: skip
def test_58_one_variable(options):
    found = d(lambda p: O.minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4, **options).x, 1.0)
    assert found == pytest.approx(0.688269443, rel=1e-5)


def test_58_one_variable_at_a_bound():
    def found(p, upper):
        return O.minimize_scalar(
            lambda x: (x - p) ** 2, method="bounded", bounds=(0.0, upper), options={"xatol": 1e-10}
        ).x

    np.testing.assert_allclose(d(found, 2.0, 1.0), [0.0, 1.0], atol=1e-6)


def test_59_very_many_variables():
    count = 2000

    def found(load):
        def energy(u):
            inner = 0.5 * ((u[1:] - u[:-1]) ** 2).sum() * count + 0.5 * count * (u[0] ** 2 + u[-1] ** 2)
            return (inner + 0.25 * (u**4).sum() / count - load * u.sum() / count + 0.5 * count * (u * u).sum()) / count

        return O.minimize(energy, np.zeros(count), method="L-BFGS-B", options={"gtol": 1e-11, "ftol": 1e-16}).x.sum()

    tracemalloc.start()
    slope = d(found, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * count**2
    assert slope == pytest.approx((found(pb.tensor(1.1)).item() - found(pb.tensor(0.9)).item()) / 0.2, rel=1e-4)


T, Y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.6, 0.5])


def test_60_least_squares():
    def fitted(y, **options):
        return O.least_squares(lambda b: pb.exp(-b * T) - y, [0.5], ftol=1e-14, xtol=1e-14, gtol=1e-14, **options).x[0]

    assert fitted(pb.tensor(Y)).item() == pytest.approx(0.401324268, rel=1e-7)
    assert d(fitted, Y)[1] == pytest.approx(-0.555555555, rel=1e-5)
    with pytest.warns(pb.errors.ImplicitAccuracyWarning):
        found = d(lambda y: fitted(y, diff=pb.scipy.Diff(hessian="gn")), Y)
    assert found[1] == pytest.approx(-0.534921565, rel=1e-5)


@pytest.mark.parametrize("options", [
    {"loss": "soft_l1"}, {"loss": "huber", "f_scale": 0.5}, {"loss": "cauchy"}, {"loss": "arctan"},
    {"method": "dogbox", "loss": "soft_l1"}, {"method": "lm"},
])  # fmt: skip
def test_61_losses_and_methods(options):
    def fitted(y):
        polished = pb.scipy.Diff(polish=4)  # differences want more digits than the search gives
        return O.least_squares(lambda x: x - y, [0.2], diff=polished, **options).x[0]

    data = np.array([0.0, 0.1, 3.0])
    agrees(fitted, data, 1e-5)
    if options == {"loss": "soft_l1"}:
        assert d(fitted, data)[2] == pytest.approx(0.0381955, rel=1e-4)
    if options.get("loss") == "huber":
        assert d(fitted, data)[2] == pytest.approx(0.0, abs=1e-9)


def test_62_an_active_bound():
    def fitted(y, k):
        return O.least_squares(
            lambda x: pb.stack([x[0] - y[0], x[1] - y[1], x[0] + x[1] - y[2]]), [0.1, 0.1], bounds=([0, 0], [0.5, 9]),
            ftol=1e-15, xtol=1e-15, gtol=1e-15,
        ).x[k]  # fmt: skip

    data = np.array([1.0, 0.3, 2.0])
    np.testing.assert_allclose(d(lambda y: fitted(y, 0), data), 0.0, atol=1e-9)
    agrees(lambda y: fitted(y, 1), data, 1e-5)


X7 = np.linspace(0, 3, 7)
Y7 = np.array([0.1, 0.9, 2.2, 2.8, 4.1, 5.2, 5.8])


def line(x, a, b):
    return a * x + b


def test_63_curve_fit():
    design = np.stack([X7, np.ones(7)], axis=1)
    found = jacrev(lambda y: O.curve_fit(line, X7, y)[0])(pb.tensor(Y7)).numpy()
    np.testing.assert_allclose(found, np.linalg.solve(design.T @ design, design.T), atol=1e-7)
    gc(lambda y: O.curve_fit(line, X7, y)[1], Y7, atol=1e-4)
    sigma = np.linspace(0.5, 1.5, 7)
    for spread in (sigma, np.diag(sigma**2) + 0.01):
        agrees(lambda s: O.curve_fit(line, X7, Y7, sigma=s)[0].sum(), spread, 1e-5)
    agrees(lambda s: O.curve_fit(line, X7, Y7, sigma=s, absolute_sigma=True)[1].sum(), sigma, 1e-6)
    agrees(lambda x: O.curve_fit(line, x, Y7)[0][0], X7, 1e-6)


def test_64_a_fit_that_fails():
    with pytest.raises(RuntimeError, match="Optimal parameters not found"):
        O.curve_fit(lambda x, a: pb.exp(a * x), X7, -leaf(Y7), p0=[3.0], maxfev=2)


def test_65_non_negative_least_squares():
    a, b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -2.0, 0.5])
    found = jacrev(lambda b: O.nnls(a, b)[0])(pb.tensor(b)).numpy()
    np.testing.assert_allclose(found, [[0.5, 0, 0.5], [0, 0, 0]], atol=1e-9)
    gc(lambda a: O.nnls(a, b)[0], a)
    found = jacrev(lambda b: O.lsq_linear(a, b, bounds=(0, [0.5, 9]), tol=1e-13).x)(pb.tensor(b)).numpy()
    np.testing.assert_allclose(found, 0.0, atol=1e-6)
    gc(lambda b: O.lsq_linear(a, b, bounds=(0, np.inf), tol=1e-13).x, b, atol=1e-4)


def test_66_linear_programs():
    matrix = np.array([[1.0, 1.0], [1.0, 3.0]])

    def found(b, c=(-1.0, -2.0)):
        return O.linprog(c, A_ub=matrix, b_ub=b)

    b = pb.tensor([4.0, 6.0])
    np.testing.assert_allclose(jacrev(lambda b: found(b).x)(b).numpy(), [[1.5, -0.5], [-0.5, 0.5]], atol=1e-9)
    np.testing.assert_allclose(grad(lambda b: found(b).fun)(b).numpy(), [-0.5, -0.5], atol=1e-9)
    c = pb.tensor([-1.0, -2.0])
    np.testing.assert_allclose(grad(lambda c: found(b, c).fun)(c).numpy(), [3.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(grad(lambda c: found(b, c).x.sum())(c).numpy(), [0.0, 0.0], atol=1e-9)

    def degenerate(b):
        rows = np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 4.0]])
        return O.linprog([-1.0, -2.0], A_ub=rows, b_ub=b).x.sum()

    with refused("SCIPY_DEGENERATE"):
        d(degenerate, [4.0, 6.0, 10.0])


def test_67_assignments():
    cost = leaf([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    rows, columns = O.linear_sum_assignment(cost)
    assert rows.dtype.kind == "i"
    (found,) = pb.autograd.grad(cost[rows, columns].sum(), [cost])
    np.testing.assert_allclose(found.numpy().sum(axis=0), 1)
    np.testing.assert_allclose(found.numpy().sum(axis=1), 1)
    bounds = scipy.optimize.Bounds(0, 3)
    slopes = d(lambda c: O.milp(c, integrality=[1, 1], bounds=bounds).fun, [1.0, -2.0])
    np.testing.assert_allclose(slopes, [0.0, 3.0])


GLOBAL = {
    "differential_evolution": lambda f, **_: O.differential_evolution(f, [(-3, 3)], rng=0, maxiter=20),
    "basinhopping": lambda f, **_: O.basinhopping(f, [0.5], niter=2, rng=0),
    "dual_annealing": lambda f, **_: O.dual_annealing(f, [(-3, 3)], maxiter=10, rng=0),
    "shgo": lambda f, **_: O.shgo(f, [(-3, 3)]),
}


@pytest.mark.parametrize("name", GLOBAL)
def test_68_global_searches(name):
    assert d(lambda p: GLOBAL[name](lambda x: ((x - p) ** 2).sum()).x.sum(), 0.7) == pytest.approx(1.0, rel=1e-4)


def test_68_without_polish():
    def found(p):
        return O.differential_evolution(
            lambda x: ((x - p) ** 2).sum(), [(-3, 3)], rng=0, maxiter=4, popsize=3, polish=False
        ).x.sum()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            d(found, 0.7)
        except pb.AutogradError as error:
            assert error.code in ("SCIPY_NOT_A_SOLUTION", "SCIPY_NOT_CONVERGED")
        else:
            assert any(issubclass(w.category, pb.errors.ImplicitAccuracyWarning) for w in caught)


def test_69_isotonic_regression():
    y = np.array([1.0, 3.0, 2.0, 2.2, 4.0])
    gc(lambda y: O.isotonic_regression(y).x, y)
    np.testing.assert_allclose(d(lambda y: O.isotonic_regression(y).x[1], y), [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=1e-12)


def test_70_compiled():
    def value(p):
        return O.minimize(lambda x: ((x - p) ** 2).sum() + (x**4).sum(), [0.5], tol=1e-10).fun

    compiled = pb.compile(grad(value))
    for p in (1.0, 1.4):
        slope = (value(pb.tensor(p + 1e-5)).item() - value(pb.tensor(p - 1e-5)).item()) / 2e-5
        assert compiled(pb.tensor(p)).item() == pytest.approx(slope, rel=1e-5)


def test_71_a_hyperparameter():
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    y, v = rng.standard_normal(8), rng.standard_normal(5)

    def loss(alpha):
        w = O.minimize(lambda w: ((x @ w - y) ** 2).sum() + alpha * (w * w).sum(), np.zeros(3), tol=1e-12).x
        return ((z @ w - v) ** 2).sum()

    m = x.T @ x + 0.5 * np.eye(3)
    w = np.linalg.solve(m, x.T @ y)
    expected = -2 * (z @ w - v) @ z @ np.linalg.solve(m, w)
    assert d(loss, 0.5) == pytest.approx(expected, rel=1e-7)
