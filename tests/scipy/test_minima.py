"""Minima with and without constraints: derivatives of the minimum, of its value and of its multipliers."""

import warnings

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, vmap

optimize = pb.scipy.optimize
Diff = pb.scipy.Diff


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def numerically(function, x, step=1e-4):
    return (function(pb.tensor(x + step)) - function(pb.tensor(x - step))).detach().numpy() / (2 * step)


@pytest.mark.parametrize(
    "method",
    [
        "BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg", "TNC", "SLSQP",
        "trust-constr",
    ],
)  # fmt: skip
def test_every_method_with_gradients(method):
    def rosenbrock(a):
        return optimize.minimize(
            lambda x: (a - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [1.0, 1.0], method=method, tol=1e-12
        ).x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(jacrev(rosenbrock)(pb.tensor(1.2)).numpy(), [1.0, 2.4], rtol=1e-4)
        np.testing.assert_allclose(jacfwd(rosenbrock)(pb.tensor(1.2)).numpy(), [1.0, 2.4], rtol=1e-4)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYQA"])
def test_methods_without_gradients_are_polished(method):
    def found(a):
        def function(x):
            return (a - x[0]) ** 2 + (x[1] - x[0] ** 2) ** 2

        return optimize.minimize(function, [1.0, 1.0], method=method, tol=1e-7, diff=Diff(polish=2)).x

    np.testing.assert_allclose(jacrev(found)(pb.tensor(1.2)).numpy(), [1.0, 2.4], rtol=1e-8)


def test_gradients_are_filled_in():
    plain = scipy.optimize.minimize(scipy.optimize.rosen, np.zeros(4))
    ours = optimize.minimize(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), np.zeros(4))
    assert ours.nfev < plain.nfev / 2
    assert isinstance(ours, scipy.optimize.OptimizeResult)
    assert isinstance(ours.nit, int)
    assert "success: True" in str(ours)


def quadratic(a, b):
    return optimize.minimize(lambda x: 0.5 * x @ a @ x - b @ x, [0.0, 0.0], tol=1e-13)


def test_a_quadratic_function():
    a, b = leaf([[2.0, 0.5], [0.5, 1.0]]), leaf([1.0, 2.0])
    inverse = np.linalg.inv(a.detach().numpy())
    np.testing.assert_allclose(jacrev(lambda b: quadratic(a, b).x)(b).detach().numpy(), inverse, rtol=1e-8)
    assert pb.autograd.gradcheck(lambda a, b: quadratic(a, b).x, (a, b), eps=1e-5, check_forward_ad=True)
    np.testing.assert_allclose(hessian(lambda b: quadratic(a, b).fun)(b).detach().numpy(), -inverse, rtol=1e-8)


def test_the_value_needs_no_linear_system(monkeypatch):
    from pullback.func._implicit import Equation

    b = leaf([1.0, 2.0])
    result = quadratic(pb.tensor([[2.0, 0.5], [0.5, 1.0]]), b)

    def refuse(*args, **kwargs):
        raise AssertionError("a linear system was solved")

    monkeypatch.setattr(Equation, "linear", refuse)
    result.fun.backward()
    np.testing.assert_allclose(b.grad.numpy(), -result.x.detach().numpy())


def in_quadrant(p, low=0.0, **options):
    return optimize.minimize(
        lambda x: (x[0] - p[0]) ** 2 + (x[1] - p[1]) ** 2 + x[0] * x[1],
        [1.0, 1.0],
        bounds=[(0, None), (low, None)],
        tol=1e-12,
        **options,
    ).x


def test_bounds_that_do_not_hold_have_no_influence():
    np.testing.assert_allclose(
        jacrev(in_quadrant)(pb.tensor([1.0, 1.0])).numpy(), [[4 / 3, -2 / 3], [-2 / 3, 4 / 3]], rtol=1e-8
    )


def test_a_bound_that_holds():
    p = pb.tensor([1.0, -1.0])
    np.testing.assert_allclose(jacrev(in_quadrant)(p).numpy(), [[1.0, 0.0], [0.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(jacrev(lambda low: in_quadrant(p, low))(pb.tensor(0.0)).numpy(), [-0.5, 1.0])
    np.testing.assert_allclose(vmap(jacrev(in_quadrant))(pb.stack([p, pb.tensor([1.0, 1.0])]))[0].numpy(),
                               [[1.0, 0.0], [0.0, 0.0]], atol=1e-9)  # fmt: skip


def test_a_kink_is_refused_or_chosen():
    p = pb.tensor([1.0, 0.5])
    with pytest.raises(pb.AutogradError) as raised:
        jacrev(in_quadrant)(p)
    assert raised.value.code == "SCIPY_DEGENERATE"
    active = jacrev(lambda p: in_quadrant(p, diff=Diff(on_degenerate="active")))(p).numpy()
    np.testing.assert_allclose(active[1], 0, atol=1e-9)
    inactive = jacrev(lambda p: in_quadrant(p, diff=Diff(on_degenerate="inactive")))(p).numpy()
    np.testing.assert_allclose(inactive[1, 1], 4 / 3)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
@pytest.mark.parametrize(
    "constraint",
    [
        lambda c: {"type": "eq", "fun": lambda x: x[0] + x[1] - c},
        lambda c: optimize.LinearConstraint(np.ones((1, 2)), c, c),
        lambda c: optimize.NonlinearConstraint(lambda x: x[0] + x[1], c, c),
    ],
    ids=["dict", "linear", "nonlinear"],
)
@pytest.mark.filterwarnings("ignore:delta_grad")
def test_equalities(method, constraint):
    def found(c):
        return optimize.minimize(
            lambda x: x[0] ** 2 + 2 * x[1] ** 2, [1.0, 1.0], constraints=constraint(c), method=method, tol=1e-10
        )

    c = pb.tensor(1.5)
    np.testing.assert_allclose(jacrev(lambda c: found(c).x)(c).numpy(), [2 / 3, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(grad(lambda c: found(c).fun)(c).item(), 2.0, rtol=1e-6)
    np.testing.assert_allclose(grad(grad(lambda c: found(c).fun))(c).item(), 4 / 3, rtol=1e-6)


def test_one_of_two_inequalities_holds():
    def found(c):
        constraints = [
            {"type": "ineq", "fun": lambda x: c - x[0] - x[1]},
            {"type": "ineq", "fun": lambda x: 100.0 + x[0] * c},
        ]
        return optimize.minimize(
            lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [0.0, 0.0], constraints=constraints, tol=1e-12
        ).x

    np.testing.assert_allclose(jacrev(found)(pb.tensor(1.0)).numpy(), [0.5, 0.5], rtol=1e-7)


@pytest.mark.filterwarnings("ignore:delta_grad", "ignore:Singular")
def test_dependent_equalities_are_singular():
    c = leaf(1.0)
    result = optimize.minimize(
        lambda x: x @ x,
        [1.0, 1.0],
        constraints=[
            {"type": "eq", "fun": lambda x: x[0] + x[1] - c},
            {"type": "eq", "fun": lambda x: 2 * (x[0] + x[1] - c)},
        ],
        method="trust-constr",
    )
    with pytest.raises(pb.AutogradError) as raised:
        result.x.sum().backward()
    assert raised.value.code == "SCIPY_SINGULAR"


def test_a_flat_minimum_is_no_solution_yet():
    p = leaf([1.0, 2.0])
    with pytest.raises(pb.AutogradError) as raised:
        optimize.minimize(lambda x: ((x - p) ** 4).sum(), [0.0, 0.0]).x.sum().backward()
    assert raised.value.code == "SCIPY_NOT_A_SOLUTION"


def test_a_saddle_is_no_minimum():
    p = leaf(0.0)

    def stays(fun, x0, args=(), **options):
        return scipy.optimize.OptimizeResult(x=np.zeros(2), fun=0.0, success=True, nit=0)

    with pytest.raises(pb.AutogradError) as raised:
        optimize.minimize(lambda x: x[0] ** 2 - x[1] ** 2 + p * x[0], [0.0, 0.0], method=stays).x.sum().backward()
    assert raised.value.code == "SCIPY_NOT_A_SOLUTION"
    assert "saddle" in str(raised.value)


def scalar(p, **options):
    return optimize.minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4, **options).x


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "golden", "tol": 1e-9},
        {"bounds": (0, 3), "method": "bounded", "options": {"xatol": 1e-10}},
    ],
    ids=["brent", "golden", "bounded"],
)  # fmt: skip
def test_minima_of_one_variable(options):
    np.testing.assert_allclose(grad(lambda p: scalar(p, **options))(pb.tensor(1.0)).item(), 0.688269443, rtol=1e-6)


@pytest.mark.parametrize(
    "older",
    [
        lambda f, p: optimize.fmin(f, [0.0], disp=0, xtol=1e-10, ftol=1e-14),
        lambda f, p: optimize.fmin_powell(f, [0.0], disp=0, xtol=1e-10),
        lambda f, p: optimize.fmin_cg(f, [0.0], disp=0),
        lambda f, p: optimize.fmin_bfgs(f, [0.0], disp=0),
        lambda f, p: optimize.fmin_ncg(f, [0.0], lambda x: 2 * (x - p), disp=0),
        lambda f, p: optimize.fmin_l_bfgs_b(f, [0.0], approx_grad=True)[0],
        lambda f, p: optimize.fmin_tnc(f, [0.0], approx_grad=True, disp=0)[0],
        lambda f, p: optimize.fminbound(lambda x: f(x.reshape(1)), 0.0, 3.0, xtol=1e-10),
        lambda f, p: optimize.brent(lambda x: f(x.reshape(1))),
        lambda f, p: optimize.golden(lambda x: f(x.reshape(1)), tol=1e-9),
        lambda f, p: optimize.differential_evolution(f, [(-3.0, 3.0)], rng=0).x,
        lambda f, p: optimize.dual_annealing(f, [(-3.0, 3.0)], rng=0, maxiter=20).x,
        lambda f, p: optimize.shgo(f, [(-3.0, 3.0)]).x,
        lambda f, p: optimize.basinhopping(f, [0.0], niter=3, rng=0).x,
    ],
)
def test_older_functions_and_global_searches(older):
    def found(p):
        return older(lambda x: ((x - p) ** 2).sum(), p).sum()

    np.testing.assert_allclose(grad(found)(pb.tensor(1.25)).item(), 1.0, rtol=1e-5)


def test_a_hyperparameter_through_a_fit():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    x_new, y_new = rng.standard_normal((10, 3)), rng.standard_normal(10)

    def validation(log_alpha):
        alpha = pb.exp(log_alpha)
        w = optimize.minimize(
            lambda w: ((pb.asarray(x) @ w - y) ** 2).sum() + alpha * w @ w, np.zeros(3), tol=1e-12
        ).x
        return ((pb.asarray(x_new) @ w - y_new) ** 2).sum()

    def closed(log_alpha):
        alpha = pb.exp(log_alpha)
        w = pb.linalg.solve(pb.asarray(x.T @ x) + alpha * pb.eye(3), pb.asarray(x.T @ y))
        return ((pb.asarray(x_new) @ w - y_new) ** 2).sum()

    at = pb.tensor(0.3)
    np.testing.assert_allclose(grad(validation)(at).item(), grad(closed)(at).item(), rtol=1e-7)


def test_linear_programs():
    def solved(b, c):
        return optimize.linprog(c, [[1, 1], [1, 3]], b)

    b, c = pb.tensor([4.0, 6.0]), pb.tensor([-1.0, -2.0])
    np.testing.assert_allclose(jacrev(lambda b: solved(b, c).x)(b).numpy(), [[1.5, -0.5], [-0.5, 0.5]])
    np.testing.assert_allclose(grad(lambda b: solved(b, c).fun)(b).numpy(), [-0.5, -0.5])
    np.testing.assert_allclose(grad(lambda c: solved(b, c).fun)(c).numpy(), [3.0, 1.0])
    np.testing.assert_allclose(jacrev(lambda c: solved(b, c).x)(c).numpy(), np.zeros((2, 2)), atol=1e-12)


def test_assignments_are_constant_and_their_cost_is_not():
    costs = leaf([[4.0, 1.0], [2.0, 3.0]])
    rows, columns = optimize.linear_sum_assignment(costs)
    assert rows.dtype.kind == "i"
    costs[rows, columns].sum().backward()
    assert costs.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_non_negative_least_squares():
    a, b = leaf([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), leaf([1.0, -2.0, 0.5])
    np.testing.assert_allclose(
        jacrev(lambda b: optimize.nnls(a, b)[0])(b).detach().numpy(), [[0.5, 0, 0.5], [0, 0, 0]], atol=1e-12
    )
    assert pb.autograd.gradcheck(lambda a: optimize.nnls(a, b)[0], (a,))
    right = leaf([1.0, 0.4, 0.5])
    assert pb.autograd.gradcheck(lambda a, b: optimize.lsq_linear(a, b, bounds=([0, 0], [0.5, 1.0])).x, (a, right))


def test_isotonic_regression_averages_blocks():
    y = leaf([1.0, 3.0, 2.0, 4.0])
    assert pb.autograd.gradcheck(lambda y: optimize.isotonic_regression(y).x, (y,))


_RULES = {  # constraints of three variables that move with `t`, and bounds
    "dictionaries": (
        lambda t: [
            {"type": "ineq", "fun": lambda x: 1.5 * t - x[0]},
            {"type": "eq", "fun": lambda x: x[0] + x[1] + x[2] - 4 * t},
            {"type": "ineq", "fun": lambda x: x[1] + 5},
        ],
        ((0, None), (0, None), (None, 2.0)),
    ),
    "rows": (
        lambda t: [
            optimize.LinearConstraint([[1.0, 0, 0], [0, 1, 0]], [-np.inf, -5.0], [1.5 * t, 5.0]),
            optimize.LinearConstraint([[1.0, 1, 1]], 4 * t, 4 * t),
        ],
        None,
    ),
    "functions": (
        lambda t: [
            optimize.NonlinearConstraint(lambda x: x[:2] ** 2, [-np.inf, 1.0 * t], [1.2 * t, 5.0]),
            {"type": "eq", "fun": lambda x: x[2] - x[0] - t},
        ],
        None,
    ),
}


@pytest.mark.parametrize("rules, bounds", list(_RULES.values()), ids=list(_RULES))
def test_multipliers_are_scipys_and_move(rules, bounds):
    """Those of the bounds stood in front of them, and equalities came where they were given."""

    def multipliers(t, minimize):
        def cost(x):
            return ((x - np.array([2.0, 1.0, 3.0]) * t) ** 2).sum() + x[0] * x[1]

        given = {"bounds": bounds, "constraints": rules(t), "options": {"ftol": 1e-14}}
        return minimize(cost, [0.5] * 3, method="SLSQP", **given).multipliers

    found = multipliers(pb.tensor(1.0), optimize.minimize)
    np.testing.assert_allclose(found.numpy(), multipliers(1.0, scipy.optimize.minimize), atol=1e-5)
    slope = jacrev(lambda t: multipliers(t, optimize.minimize))(pb.tensor(1.0))
    step = 1e-3
    sides = [multipliers(pb.tensor(1 + move), optimize.minimize).numpy() for move in (step, -step)]
    np.testing.assert_allclose(slope.numpy(), (sides[0] - sides[1]) / (2 * step), atol=1e-4)


@pytest.mark.parametrize("search", ["shgo", "differential_evolution"])
def test_a_search_of_a_box_under_constraints(search):
    def lowest(p):
        if search == "shgo":
            rules = {"constraints": [{"type": "ineq", "fun": lambda x: x[0] - 0.3 * p}], "n": 60,
                     "sampling_method": "sobol"}  # fmt: skip
        else:
            rules = {"constraints": optimize.NonlinearConstraint(lambda x: x[0] - 0.3 * p, 0, np.inf), "rng": 0,
                     "tol": 1e-8}  # fmt: skip
        return getattr(optimize, search)(lambda x: x[0] ** 2 + (x[1] - p) ** 2, [(-2, 2), (-2, 2)], **rules).x

    np.testing.assert_allclose(jacrev(lowest)(pb.tensor(1.0)).numpy(), [0.3, 1.0], rtol=1e-4)


def test_a_hopping_search_for_a_function_that_gives_its_gradient_too():
    def lowest(p):
        def both(x):
            return ((x - p) ** 2).sum(), 2 * (x - p)

        kwargs = {"method": "L-BFGS-B", "jac": True}
        return optimize.basinhopping(both, [1.0, 1.0], niter=2, minimizer_kwargs=kwargs, rng=0).x

    np.testing.assert_allclose(jacrev(lowest)(pb.tensor(0.5)).numpy(), [1.0, 1.0], rtol=1e-5)


def test_an_integer_program_has_no_derivative_by_its_constraints():
    p = leaf(1.5)
    with pytest.raises(pb.AutogradError) as caught:
        optimize.milp([1.0, 2.0], constraints=optimize.LinearConstraint([[1.0, 1.0]], p, np.inf), integrality=[1, 1])
    assert caught.value.code == "SCIPY_NO_RULE"
    row = optimize.LinearConstraint([[1.0, 1.0]], p.detach(), np.inf)
    found = optimize.milp(pb.stack([p, 2 * p]), constraints=row, integrality=[1, 1])
    assert pb.autograd.grad(found.fun, p)[0].item() == 2.0


def test_an_interior_point_that_stops_short_of_a_binding_constraint_is_a_rough_solution():
    def cut(p):
        disk = optimize.NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, p[0])
        line = optimize.LinearConstraint(np.array([[1.0, 1.0]]), p[1], p[1])
        return optimize.minimize(
            lambda x: (x[0] - 2) ** 2 + (x[1] + 1) ** 2, [0.2, 0.2], method="trust-constr", constraints=[disk, line],
            options={"gtol": 1e-10, "xtol": 1e-12},
        ).x  # fmt: skip

    with pytest.warns(pb.errors.ImplicitAccuracyWarning):
        found = jacrev(cut)(pb.tensor([1.1, 0.4])).numpy()
    # x + y = b and x**2 + y**2 = a: their differentials.
    root = np.sqrt(2 * 1.1 - 0.4**2)
    exact = [[1 / (2 * root), 0.5 - 0.4 / (2 * root)], [-1 / (2 * root), 0.5 + 0.4 / (2 * root)]]
    np.testing.assert_allclose(found, exact, rtol=1e-3)


def test_a_complaint_about_the_last_digits_under_constraints_is_no_failure():
    def corner(p):
        rules = ({"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2 * p[0]},
                 {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6})  # fmt: skip
        result = optimize.minimize(
            lambda x: (x[0] - p[0]) ** 2 + (x[1] - 2.5 * p[1]) ** 2, (2.0, 0.0), method="SLSQP",
            bounds=((0, None), (0, None)), constraints=rules, options={"ftol": 1e-14},
        )  # fmt: skip
        successes.append(result.success)
        return result.x

    successes: list[bool] = []
    points = np.array([[1.0, 2.0], [1.0, 1.9999], [0.9999, 2.0], [1.01, 2.02], [0.98, 1.96]])
    each = np.stack([jacrev(corner)(pb.tensor(point)).numpy() for point in points])
    assert not all(successes)
    # Both constraints hold: x = 3 - p and y = (3 + p) / 2.
    np.testing.assert_allclose(each, np.broadcast_to([[-1.0, 0.0], [0.5, 0.0]], each.shape), atol=1e-6)
    np.testing.assert_allclose(vmap(jacrev(corner))(pb.tensor(points)).numpy(), each, atol=1e-6)
