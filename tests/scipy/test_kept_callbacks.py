"""Derivatives call a callback again, later: with the variables that it closed over when the solver was called."""

# ruff: noqa: B023  (late binding is what this is about)

import numpy as np
import pytest
import scipy.optimize

import pullback as pb

integrate, optimize = pb.scipy.integrate, pb.scipy.optimize
P = 1.3
POWERS = range(1, 4)

IN_A_LOOP = {
    "quad": (
        lambda p: sum(integrate.quad(lambda t: pb.exp(-p * t) * k, 0, 1)[0] for k in POWERS),
        sum(k * (P * np.exp(-P) + np.exp(-P) - 1) / P**2 for k in POWERS),
    ),
    "quad, a helper": (
        lambda p: sum(integrate.quad(lambda t: (lambda: p * t * k)(), 0, 1)[0] for k in POWERS), 3.0,
    ),
    "solve_ivp": (
        lambda p: sum(integrate.solve_ivp(lambda t, y: [p * k + 0 * y[0]], (0, 1), [1.0]).y[0, -1] for k in POWERS),
        6.0,
    ),
    "brentq": (lambda p: sum(optimize.brentq(lambda y: y - p * k, 0, 9) for k in POWERS), 6.0),
    "minimize": (lambda p: sum(optimize.minimize(lambda v: ((v - p * k) ** 2).sum(), [0.0]).x[0] for k in POWERS), 6.0),
    "constraints": (
        lambda p: sum(
            optimize.minimize(
                lambda v: (v**2).sum(), [1.0, 1.0], constraints=[{"type": "eq", "fun": lambda v: v[0] - p * k}]
            ).x[0]
            for k in POWERS
        ),
        6.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_A_LOOP)
@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
def test_a_variable_of_a_loop_is_that_of_each_call(name, is_compiled):
    function, expected = IN_A_LOOP[name]
    leaf = pb.tensor(P, requires_grad=True)
    (pb.compile(function) if is_compiled else function)(leaf).backward()
    assert leaf.grad.item() == pytest.approx(expected, rel=1e-5)


def test_a_variable_that_a_callback_writes_stays_shared():
    count = 0
    seen = []

    def function(y):
        nonlocal count
        count += 1
        return y**3 - 8.0

    def watching(t, y):
        seen.append(count)
        return -y * count

    optimize.brentq(function, 0, 9)
    assert count > 5
    integrate.solve_ivp(watching, (0, 1), [1.0])
    assert set(seen) == {count}


def test_a_flag_that_an_event_sets_is_seen_by_the_right_hand_side():
    def run(solve):
        is_late = False

        def right(t, y):
            return [-1.0 + 0 * y[0]] if not is_late else [1.0 + 0 * y[0]]

        def event(t, y):
            nonlocal is_late
            is_late = is_late or t > 0.5
            return y[0] + 9

        return solve(right, (0, 2), [1.0], events=event, max_step=0.1).y[0, -1]

    assert float(run(integrate.solve_ivp)) == pytest.approx(float(run(scipy.integrate.solve_ivp)))


def test_what_changes_otherwise_is_an_error_and_never_another_gradient():
    p = pb.tensor(P, requires_grad=True)
    for solve in (
        lambda f: integrate.quad(f, 0, 1)[0],
        lambda f: integrate.solve_ivp(lambda t, y: [f(y[0])], (0, 1), [1.0]).y[0, -1],
    ):
        levels = np.array([2.0])
        y = solve(lambda t, levels=levels: p * t * levels[0])
        levels[0] = 5.0
        with pytest.raises(pb.errors.AutogradError, match="SCIPY_CALLBACK_CHANGED"):
            y.backward()


def test_lists_of_tensors_in_bounds_and_constraints_keep_their_derivatives():
    def low(p):
        bounds = optimize.Bounds([p, -np.inf], [np.inf, np.inf])
        assert isinstance(bounds, scipy.optimize.Bounds)
        return optimize.minimize(lambda v: ((v + 5) ** 2).sum() + v[0] * v[1] * 0.2, [1.0, 1.0], bounds=bounds).x.sum()

    def held(p):
        row = optimize.LinearConstraint([[p, 1.0]], 2.0, 2.0)
        return optimize.minimize(lambda v: (v**2).sum(), [1.0, 1.0], constraints=row, tol=1e-12).x[0]

    for function, expected in ((low, 0.9), (held, 2 / (P**2 + 1) - 4 * P**2 / (P**2 + 1) ** 2)):
        for own in (function, pb.compile(function)):
            leaf = pb.tensor(P, requires_grad=True)
            own(leaf).backward()
            assert leaf.grad.item() == pytest.approx(expected, rel=1e-5)


GRID = np.linspace(0, 2, 9)


def test_an_array_of_the_module_in_an_adapted_and_compiled_callback():
    def fitted(x):
        return scipy.optimize.least_squares(lambda b: b[0] * np.exp(-GRID) - x * GRID, [1.0]).x[0]

    shape = np.exp(-GRID)
    expected = shape @ GRID / (shape @ shape)
    found = pb.compile(pb.func.grad(pb.func.adapt(fitted)))(pb.tensor(P))
    assert found.item() == pytest.approx(expected, rel=1e-6)
