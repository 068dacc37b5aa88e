"""Initial value problems: derivatives by parameters, states, times and events."""

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.func import grad, jvp

integrate = pb.scipy.integrate
K, Y0, T = 0.7, 2.0, 1.5
END = Y0 * np.exp(-K * T)


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def decay(k, y0, end, begin, **options):
    options = {"rtol": 1e-9, "atol": 1e-11} | options
    return integrate.solve_ivp(lambda t, y: -k * y, (begin, end), y0.reshape(1), **options)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method_by_every_argument(method):
    inputs = [leaf(value) for value in (K, Y0, T, 0.0)]
    decay(*inputs, method=method, rtol=1e-8, atol=1e-10).y[0, -1].backward()
    found = [x.grad.item() for x in inputs]
    np.testing.assert_allclose(found, [-T * END, np.exp(-K * T), -K * END, K * END], rtol=1e-6)


def test_the_low_order_method():
    k = leaf(K)
    decay(k, pb.tensor(Y0), pb.tensor(T), pb.tensor(0.0), method="RK23", rtol=1e-4).y[0, -1].backward()
    assert k.grad.item() == pytest.approx(-T * END, rel=5e-3)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_second_derivatives_and_forward_mode(method):
    def end(k):
        return decay(k, pb.tensor(Y0), pb.tensor(T), pb.tensor(0.0), method=method, rtol=1e-6).y[0, -1]

    k = pb.tensor(K)
    assert grad(grad(end))(k).item() == pytest.approx(T * T * END, rel=1e-4)
    forward = jvp(end, (k,), (pb.tensor(1.0),))[1].item()
    assert forward == pytest.approx(grad(end)(k).item(), rel=1e-9)


def lotka_volterra(p, **options):
    return integrate.solve_ivp(
        lambda t, y: [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]],
        (0, 10), [10.0, 5.0], **({"rtol": 1e-6} | options),
    )  # fmt: skip


def test_lotka_and_volterra():
    p = leaf([1.5, 1.0, 3.0, 1.0])
    result = lotka_volterra(p)
    plain = scipy.integrate.solve_ivp(
        lambda t, y: [1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]], (0, 10), [10.0, 5.0], rtol=1e-6
    )
    np.testing.assert_allclose(result.y.detach().numpy(), plain.y, rtol=1e-12)
    assert result.nfev == plain.nfev
    result.y[0, -1].backward()
    np.testing.assert_allclose(p.grad.numpy(), [1.643287, -0.899954, 1.208233, -2.173302], rtol=1e-4)


def test_t_eval_and_dense_output():
    times = np.linspace(0, 2, 9)
    k = leaf(K)
    result = decay(k, pb.tensor(Y0), pb.tensor(2.0), pb.tensor(0.0), t_eval=times, dense_output=True)
    weights = np.arange(9.0)
    (result.y[0] * weights).sum().backward(retain_graph=True)
    assert k.grad.item() == pytest.approx((-weights * times * Y0 * np.exp(-K * times)).sum(), rel=1e-6)
    at = leaf(0.73)
    y = result.sol(at)
    y.sum().backward()
    assert y.item() == pytest.approx(Y0 * np.exp(-K * 0.73), rel=1e-7)
    assert at.grad.item() == pytest.approx(-K * y.item(), rel=1e-6)


def test_times_of_t_eval_have_derivatives():
    times = leaf([0.5, 1.0])
    result = decay(pb.tensor(K), pb.tensor(Y0), pb.tensor(T), pb.tensor(0.0), t_eval=times)
    result.y.sum().backward()
    np.testing.assert_allclose(times.grad.numpy(), -K * Y0 * np.exp(-K * np.array([0.5, 1.0])), rtol=1e-6)


def falling(h, g, **options):
    def hit(t, y):
        return y[0]

    hit.terminal, hit.direction = True, -1
    return integrate.solve_ivp(
        lambda t, y: [y[1], -g], (0, 10), pb.stack([h, pb.tensor(0.0)]), events=hit, rtol=1e-9, atol=1e-11, **options
    )


def test_events():
    h, g = leaf(10.0), leaf(9.81)
    result = falling(h, g)
    result.t_events[0][0].backward(retain_graph=True)
    assert (h.grad.item(), g.grad.item()) == pytest.approx((0.071392156, -0.072774879), rel=1e-6)
    (slope,) = pb.autograd.grad(result.y_events[0][0, 1], h, retain_graph=True)
    assert slope.item() == pytest.approx(-np.sqrt(9.81 / 20), rel=1e-6)
    (slope,) = pb.autograd.grad(result.t[-1], h, retain_graph=True)
    assert slope.item() == pytest.approx(0.071392156, rel=1e-6)
    assert result.y[0, -1].item() == pytest.approx(0, abs=1e-9)


def test_an_event_that_only_touches_zero_has_no_derivative():
    p = leaf(1.0)

    def touch(t, y):
        return (t - p) * (t - 1.0)

    result = integrate.solve_ivp(lambda t, y: [pb.tensor(1.0)], (0, 3), [0.0], events=touch, max_step=0.4)
    if len(result.t_events[0]):
        with pytest.raises(pb.AutogradError) as raised:
            result.t_events[0].sum().backward()
        assert raised.value.code in ("SCIPY_EVENT_GRAZING", "SCIPY_NOT_A_SOLUTION")


def test_a_bouncing_ball():
    def height(restitution):
        h, v, total = pb.tensor(1.0), pb.tensor(0.0), pb.tensor(0.0)

        def hit(t, y):
            return y[0]

        hit.terminal, hit.direction = True, -1
        for _ in range(2):
            result = integrate.solve_ivp(
                lambda t, y: [y[1], -9.81], (0, 5), pb.stack([h, v]), events=hit, rtol=1e-9, atol=1e-12
            )
            total = total + result.t_events[0][0]
            h, v = pb.tensor(1e-9), -restitution * result.y_events[0][0, 1]
        return total

    # sqrt(2 h / g) (1 + 2 r)
    assert grad(height)(pb.tensor(0.8)).item() == pytest.approx(2 * np.sqrt(2 / 9.81), rel=1e-5)


def test_parameters_in_args_and_objects():
    class Model:
        def __init__(self, k):
            self.k = k

        def right(self, t, y):
            return -self.k * y

    first, second = leaf(K), leaf(K)
    integrate.solve_ivp(Model(first).right, (0, T), [Y0], rtol=1e-9, atol=1e-11).y[0, -1].backward()
    integrate.solve_ivp(
        lambda t, y, k: -k * y, (0, T), [Y0], args=(second,), rtol=1e-9, atol=1e-11
    ).y[0, -1].backward()  # fmt: skip
    assert first.grad.item() == pytest.approx(-T * END, rel=1e-6)
    assert second.grad.item() == pytest.approx(first.grad.item(), rel=1e-12)


def test_complex_states():
    w = leaf(2.0)
    result = integrate.solve_ivp(lambda t, y: 1j * w * y, (0, T), np.array([1.0 + 0j]), rtol=1e-9, atol=1e-11)
    (slope,) = pb.autograd.grad(result.y[0, -1].real, w)
    assert slope.item() == pytest.approx((1j * T * np.exp(2j * T)).real, rel=1e-6)


def test_a_stiff_problem():
    rates = np.log([0.04, 3e7, 1e4])

    def end(log_rates):
        r = pb.exp(log_rates)
        return integrate.solve_ivp(
            lambda t, y: [
                -r[0] * y[0] + r[2] * y[1] * y[2],
                r[0] * y[0] - r[2] * y[1] * y[2] - r[1] * y[1] ** 2,
                r[1] * y[1] ** 2,
            ],
            (0, 4), [1.0, 0, 0], method="BDF", rtol=1e-4, atol=1e-8,
        ).y[2, -1]  # fmt: skip

    def plain(log_rates):
        r = np.exp(log_rates)
        return scipy.integrate.solve_ivp(
            lambda t, y: [
                -r[0] * y[0] + r[2] * y[1] * y[2],
                r[0] * y[0] - r[2] * y[1] * y[2] - r[1] * y[1] ** 2,
                r[1] * y[1] ** 2,
            ],
            (0, 4), [1.0, 0, 0], method="Radau", rtol=1e-10, atol=1e-14,
        ).y[2, -1]  # fmt: skip

    step = 1e-4
    numerical = [(plain(rates + step * e) - plain(rates - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(grad(end)(pb.tensor(rates)).numpy(), numerical, rtol=5e-3)


def test_a_solution_that_ends_early():
    p = leaf(1.0)
    result = integrate.solve_ivp(lambda t, y: p * y * y, (0, 2), [1.0])
    assert result.status == -1
    result.y[0, 3].backward()
    t = result.t.detach().numpy()[3]
    assert p.grad.item() == pytest.approx(t / (1 - t) ** 2, rel=1e-2)


def test_odeint():
    k = leaf(K)
    times = np.linspace(0, T, 4)
    rows = integrate.odeint(lambda y, t, k: -k * y, [Y0], times, args=(k,))
    np.testing.assert_allclose(
        rows.detach().numpy(), scipy.integrate.odeint(lambda y, t: -K * y, [Y0], times), rtol=1e-12
    )
    rows[-1, 0].backward()
    assert k.grad.item() == pytest.approx(-T * END, rel=1e-5)
    first = integrate.odeint(lambda t, y: -k * y, Y0, times, tfirst=True)
    assert first.shape == (4, 1)


def test_vmap_says_that_it_cannot():
    with pytest.raises(pb.AutogradError) as raised:
        pb.vmap(lambda k: decay(k, pb.tensor(Y0), pb.tensor(T), pb.tensor(0.0)).y)(pb.tensor([0.5, 0.7]))
    assert raised.value.code == "SCIPY_DYNAMIC_SHAPE"
