"""`pb.optim.minimize`, `least_squares` and `root`: SciPy's solvers on trees."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

optimize = pytest.importorskip("scipy.optimize")
START = {"x": pb.tensor(-1.2), "rest": (pb.tensor([1.0]),)}


def rosenbrock(tree):
    x, (y,) = tree["x"], tree["rest"]
    return (1 - x) ** 2 + 100 * ((y - x**2) ** 2).sum()


METHODS = ["Nelder-Mead", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "dogleg",
           "trust-exact", "trust-constr", None]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:delta_grad")
def test_every_method_finds_the_minimum_of_a_tree(method):
    more = {"maxfun": 1000} if method == "TNC" else {"maxiter": 1000} if method == "trust-constr" else {}
    start = START if method != "dogleg" else {"x": pb.tensor(0.9), "rest": (pb.tensor([0.8]),)}  # convex there
    found = pb.optim.minimize(rosenbrock, start, method=method, compile=False, **more)
    assert found.success
    assert_close(found.x["x"], 1.0, atol=1e-3)
    assert_close(found.x["rest"][0], [1.0], atol=1e-3)
    assert pb.tree.structure(found.x) == pb.tree.structure(START)


def test_the_answer_is_that_of_scipy():
    found = pb.optim.minimize(rosenbrock, START, method="BFGS", gtol=1e-9)
    theirs = optimize.minimize(
        optimize.rosen, [-1.2, 1.0], jac=optimize.rosen_der, method="BFGS", options={"gtol": 1e-9}
    )
    ours = pb.tree.ravel({"rest": found.x["rest"], "x": found.x["x"]})[0]
    assert_close(ours, theirs.x[::-1].copy(), rtol=1e-8)
    assert type(found) is optimize.OptimizeResult and abs(found.nit - theirs.nit) <= 2
    assert_close(pb.tree.ravel(found.jac)[0], [0.0, 0.0], atol=1e-8)


@pytest.mark.filterwarnings("error")  # what cannot be compiled runs with a warning
@pytest.mark.parametrize("method", ["L-BFGS-B", "Newton-CG", "trust-exact"])
def test_compiled_or_not_the_search_is_the_same(method):
    one, other = (pb.optim.minimize(rosenbrock, START, method=method, compile=choice) for choice in (True, False))
    assert pb.tree.all_close(one.x, other.x, rtol=1e-6) and one.nit == other.nit


def test_bounds_are_trees_or_numbers():
    bounds = ({"x": None, "rest": (pb.tensor([-1.0]),)}, {"x": 0.5, "rest": (None,)})
    found = pb.optim.minimize(rosenbrock, START, bounds=bounds, compile=False)
    assert_close(found.x["x"], 0.5, atol=1e-5)
    assert_close(found.x["rest"][0], [0.25], atol=1e-4)
    found = pb.optim.minimize(rosenbrock, START, bounds=(None, 0.5), compile=False)
    assert_close(found.x["x"], 0.5, atol=1e-5)
    with pytest.raises(TypeError, match="must be a pair"):
        pb.optim.minimize(rosenbrock, START, bounds=[1, 2, 3])


@pytest.mark.filterwarnings("ignore:delta_grad")
def test_constraints_are_functions_of_trees():
    square = lambda tree: tree["x"] ** 2 + tree["rest"][0][0] ** 2
    expected = optimize.minimize(
        optimize.rosen, [0.0, 0.0], constraints=[{"type": "ineq", "fun": lambda v: 1 - v[0] ** 2 - v[1] ** 2}]
    )
    for method, given in [
        ("SLSQP", {"type": "ineq", "fun": lambda tree: 1 - square(tree)}),
        ("trust-constr", optimize.NonlinearConstraint(square, -np.inf, 1.0)),
    ]:
        start = pb.tree.map(pb.zeros_like, START)
        found = pb.optim.minimize(rosenbrock, start, method=method, constraints=given, compile=False)
        assert_close(found.x["x"], expected.x[0], atol=1e-3)


def test_a_callback_gets_trees_and_can_stop():
    seen = []

    def callback(state):
        seen.append(state.x["x"].item())
        if len(seen) == 3:
            raise StopIteration

    found = pb.optim.minimize(rosenbrock, START, method="BFGS", callback=callback, compile=False)
    assert len(seen) == 3 and not found.success


def test_least_squares_fit_a_tree_and_respect_bounds():
    t = np.linspace(0, 2, 30)
    y = 2.0 * np.exp(-1.5 * t) + 0.3
    residuals = lambda p: p["a"] * pb.exp(-p["b"] * t) + p["c"] - y
    start = {"a": pb.tensor(1.0), "b": pb.tensor(1.0), "c": 0.0}
    found = pb.optim.least_squares(residuals, start)
    assert pb.tree.all_close(found.x, {"a": 2.0, "b": 1.5, "c": 0.3}, rtol=1e-6)
    assert found.jac.shape == (30, 3) and pb.tree.structure(found.grad) == pb.tree.structure(start)
    theirs = optimize.least_squares(
        lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y, [1.0, 1.0, 0.0], bounds=([0, 0, 0], [1.8, 9, 9]), xtol=1e-12,
        jac="3-point",
    )  # fmt: skip
    ours = pb.optim.least_squares(residuals, start, bounds=(0.0, {"a": 1.8, "b": None, "c": None}), xtol=1e-12)
    assert_close(pb.tree.ravel(ours.x)[0], theirs.x, rtol=1e-3)
    assert ours.cost <= theirs.cost * (1 + 1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root_solves_for_a_tree(method):
    equations = lambda t: (t["x"] + t["y"] - 3, t["x"] - t["y"] ** 2 + 3)
    found = pb.optim.root(equations, {"x": pb.tensor(1.0), "y": pb.tensor(1.5)}, method=method, compile=False)
    assert found.success
    assert_close(found.x["y"], 2.0, rtol=1e-4)


def test_what_scipy_cannot_search_is_refused():
    with pytest.raises(TypeError, match="searches real numbers"):
        pb.optim.minimize(lambda z: abs(z), pb.tensor(1.0 + 1.0j))
    with pytest.raises(ValueError, match="hess must be"):
        pb.optim.minimize(rosenbrock, START, hess=True)


@pytest.mark.parametrize("method", [None, "BFGS", "L-BFGS-B", "SLSQP", "TNC", "Nelder-Mead", "trust-constr"])
def test_a_search_is_told_of_and_ends_in_time(method):
    valley = lambda t: (1 - t["x"]) ** 2 + 100 * (t["y"] - t["x"] ** 2) ** 2
    start = {"x": pb.tensor(-1.2), "y": pb.tensor(1.0)}
    told = []
    found = pb.optim.minimize(valley, start, method=method, compile=False, progress=lambda *each: told.append(each))
    assert told and told[0][0] == 1 and told[-1][2] == "minimize"
    stopped = pb.optim.minimize(valley, start, method=method, compile=False, timeout=0.0)
    assert not stopped.success and "timeout" in stopped.message and stopped.nit == 1
    assert found.fun <= stopped.fun == valley(stopped.x).item() and set(stopped.x) == {"x", "y"}
