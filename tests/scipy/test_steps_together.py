"""First derivatives of initial value problems by all steps at once, against the same one step after the other."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from pullback.scipy import integrate, optimize
from pullback.scipy.integrate import _mesh

METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
START = pb.tensor([1.5, 1.0, 3.0, 1.0, 2.0, 1.5, 0.4])


def hunting(method, times=None):
    def states(q):
        solution = integrate.solve_ivp(
            lambda t, y: [q[0] * y[0] - q[1] * y[0] * y[1] + 0.1 * t, -q[2] * y[1] + q[3] * y[0] * y[1]],
            (0.1 * q[6], q[6]), q[4:6], method=method, t_eval=times, rtol=1e-2, atol=1e-2,
        )  # fmt: skip
        return solution.y[:, -1]

    return states


def derivatives(function):
    return [
        jacrev(function)(START).numpy(),
        jacfwd(function)(START).numpy(),
        jvp(function, (START,), (START * 0.1,))[1].numpy(),
        grad(lambda q: function(q).sum())(START).numpy(),
    ]


@pytest.mark.parametrize(("method", "times"), [
    *((method, None) for method in METHODS), ("RK45", [0.05, 0.2, 0.33]), ("BDF", [0.05, 0.2, 0.33]),
])  # fmt: skip
def test_all_at_once_is_one_after_the_other(method, times, monkeypatch):
    with pb.scipy.differentiation(compile=False):
        found = derivatives(hunting(method, times))
        with monkeypatch.context() as patched:
            patched.setattr(_mesh.Mesh, "_is_small", False)
            expected = derivatives(hunting(method, times))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_the_steps_are_not_taken_again(monkeypatch):
    def never(*args):
        raise AssertionError("one step after the other")

    monkeypatch.setattr(_mesh.Mesh, "replayed", never)
    derivatives(hunting("RK45"))


def test_a_right_hand_side_that_decides_by_values_goes_step_by_step():
    def end(k):
        return integrate.solve_ivp(lambda t, y: -k * y if t < 10 else y, (0, 1.0), [1.0], rtol=1e-6).y[0, -1]

    for derivative in (grad(end), jacfwd(end)):
        assert derivative(pb.tensor(1.0)).item() == pytest.approx(-np.exp(-1), rel=1e-5)


def test_what_is_differentiated_again_is_recorded():
    def end(k):
        return integrate.solve_ivp(lambda t, y: -k * y, (0, 1.5), [2.0], rtol=1e-5, atol=1e-7).y[0, -1]

    k = pb.tensor(0.7, requires_grad=True)
    exact = 2 * 1.5**2 * np.exp(-0.7 * 1.5)
    for second in (hessian(end), jacfwd(jacfwd(end)), jacrev(jacfwd(end)), jacfwd(jacrev(end))):
        assert second(pb.tensor(0.7)).item() == pytest.approx(exact, rel=1e-4)
    pushed = jvp(end, (k,), (pb.tensor(1.0),))[1]
    assert pb.autograd.grad(pushed, k)[0].item() == pytest.approx(exact, rel=1e-4)


def test_a_fit_of_an_equation_with_jacobians_in_forward_mode():
    times = np.linspace(0, 2, 5)

    def fitted(p):
        data = pb.exp(-p[0] * times) + 0.01 * np.cos(9 * times) * p[1]

        def misfit(theta):
            solution = integrate.solve_ivp(  # of steps that are all of one length
                lambda t, y: -theta[0] * y, (0, 2), [theta[1]], t_eval=times, rtol=1, first_step=0.5, max_step=0.5
            )
            return solution.y[0] - data

        return optimize.least_squares(misfit, [1.0, 1.1], xtol=1e-12, ftol=1e-12, gtol=1e-12).x

    at = np.array([1.3, 0.7])
    step = 1e-4
    columns = [(fitted(pb.tensor(at + step * e)) - fitted(pb.tensor(at - step * e))).numpy() / (2 * step)
               for e in np.eye(2)]  # fmt: skip
    np.testing.assert_allclose(jacrev(fitted)(pb.tensor(at)).numpy().T, columns, atol=1e-5)


def test_examples_of_vmap():
    rates = pb.tensor([[0.5, 1.0], [0.7, 2.0], [0.9, 3.0]])
    times = np.linspace(0, 1, 4)

    def end(q):
        return integrate.solve_ivp(lambda t, y: -q[0] * y, (0, 1), q[1:], t_eval=times, rtol=1e-9).y[0].sum()

    expected = np.stack([grad(end)(rate).numpy() for rate in rates])
    np.testing.assert_allclose(vmap(grad(end))(rates).numpy(), expected, rtol=1e-8)
