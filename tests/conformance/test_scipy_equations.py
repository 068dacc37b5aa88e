"""Conformance cases 83 to 107: differential equations."""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse

import pullback as pb
from pullback.func import grad, hessian, jvp, vmap
from pullback.scipy import _compiled
from pullback.scipy import integrate as I
from pullback.scipy import optimize as O

from .scipy_cases import agrees, d, differences, gc, gg, leaf, refused

METHODS = ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]
K, Y0, T = 0.7, 2.0, 1.5


def decay(k, y0=Y0, t1=T, t0=0.0, **options):
    options = {"rtol": 1e-8, "atol": 1e-10, **options}
    return I.solve_ivp(lambda t, y: -k * y, (t0, t1), pb.stack([pb.asarray(y0) * 1.0]), **options).y[0, -1]


@pytest.mark.parametrize("method", METHODS)
def test_83_every_method_by_everything(method):
    options = {"rtol": 1e-6} if method == "RK23" else {}
    found = d(lambda k, y0, t1, t0: decay(k, y0, t1, t0, method=method, **options), K, Y0, T, 0.0)
    y = Y0 * np.exp(-K * T)
    np.testing.assert_allclose(found, [-T * y, np.exp(-K * T), -K * y, K * y], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_84_default_tolerances(method):
    found = d(lambda k: decay(k, method=method, rtol=1e-3, atol=1e-6), K)
    assert found == pytest.approx(-T * Y0 * np.exp(-K * T), rel=50e-3)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_85_the_steps_are_what_is_differentiated(method):
    tableau = {"RK45": scipy.integrate.RK45, "RK23": scipy.integrate.RK23, "DOP853": scipy.integrate.DOP853}[method]
    grid = scipy.integrate.solve_ivp(lambda t, y: -K * y, (0, T), [Y0], method=method, rtol=1e-2).t

    def frozen(k):
        y = Y0
        for t, h in zip(grid[:-1], np.diff(grid), strict=True):
            stages = []
            for row, _ in zip(tableau.A, tableau.C, strict=True):
                inner = sum((a * s for a, s in zip(row, stages, strict=False)), 0.0)
                stages.append(-k * (y + h * inner))
            y = y + h * sum(b * s for b, s in zip(tableau.B, stages, strict=True))
            assert t is not None
        return y

    step = 1e-6
    expected = (frozen(K + step) - frozen(K - step)) / (2 * step)
    assert d(lambda k: decay(k, method=method, rtol=1e-2, atol=1e-6), K) == pytest.approx(expected, rel=1e-7)


def test_86_second_derivatives():
    y = Y0 * np.exp(-K * T)
    assert grad(grad(decay))(pb.tensor(K)).item() == pytest.approx(T * T * y, rel=1e-6)
    found = hessian(lambda v: decay(v[0], v[1]))(pb.tensor([K, Y0])).numpy()
    slope = -T * np.exp(-K * T)
    np.testing.assert_allclose(found, [[T * T * y, slope], [slope, 0]], atol=1e-6)
    gg(lambda k: decay(k, rtol=1e-4), K)


@pytest.mark.parametrize("method, tolerance", [("RK45", 1e-9), ("Radau", 1e-7), ("LSODA", 1e-6)])
def test_87_both_modes_agree(method, tolerance):
    forward = jvp(lambda k: decay(k, method=method), (pb.tensor(K),), (pb.tensor(1.0),))[1].item()
    assert forward == pytest.approx(d(lambda k: decay(k, method=method), K).item(), rel=tolerance)


def hunting(t, y, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]


def test_88_hunters_and_hunted():
    def end(p, rtol):
        return I.solve_ivp(lambda t, y: hunting(t, y, p), (0, 10), [10.0, 5.0], rtol=rtol, atol=rtol / 1e3).y[0, -1]

    expected = [1.643287, -0.899954, 1.208233, -2.173302]
    for rtol, tolerance in ((1e-6, 1e-3), (1e-9, 2e-6)):
        np.testing.assert_allclose(d(lambda p, r=rtol: end(p, r), [1.5, 1, 3, 1]), expected, rtol=tolerance)


def test_89_times_of_evaluation():
    times = np.linspace(0, T, 50)
    weights = np.linspace(-1, 1, 50)

    def rows(k, t):
        return I.solve_ivp(lambda t, y: -k * y, (0, T), [Y0], t_eval=t, rtol=1e-7, atol=1e-9).y[0]

    found = d(lambda k: (rows(k, times) * weights).sum(), K)
    assert found == pytest.approx((-times * Y0 * np.exp(-K * times) * weights).sum(), rel=1e-5)
    inner = times[1:-1]
    by_time = d(lambda t: (rows(K, t) * weights[1:-1]).sum(), inner)
    np.testing.assert_allclose(by_time, -K * Y0 * np.exp(-K * inner) * weights[1:-1], atol=1e-4)


def test_90_dense_output():
    def at(t, k):
        return I.solve_ivp(lambda t, y: -k * y, (0, T), [Y0], dense_output=True, rtol=1e-4).sol(t)[0]

    gc(at, 0.4, K, atol=1e-3, rtol=1e-2)  # differences of other steps
    gc(lambda t: at(t, K), [0.2, 0.9])
    plain = scipy.integrate.solve_ivp(lambda t, y: -K * y, (0, T), [Y0], dense_output=True, rtol=1e-4).sol
    assert at(pb.tensor(2.0), pb.tensor(K)).item() == pytest.approx(plain(2.0)[0])


def test_91_parameters_anywhere():
    class Model:
        def __init__(self, k):
            self.k = k

        def slope(self, t, y):
            return -self.k * y

    def by_args(k):
        return I.solve_ivp(lambda t, y, k: -k * y, (0, T), [Y0], args=(k,), rtol=1e-8, atol=1e-10).y[0, -1]

    def by_object(k):
        return I.solve_ivp(Model(k).slope, (0, T), [Y0], rtol=1e-8, atol=1e-10).y[0, -1]

    expected = d(decay, K)
    assert d(by_args, K) == pytest.approx(expected)
    assert d(by_object, K) == pytest.approx(expected)

    def many(*parts):
        return I.solve_ivp(lambda t, y: -sum(part.sum() for part in parts) * y, (0, T), [Y0], rtol=1e-8).y[0, -1]

    for found in d(many, *np.full((5, 6), K / 30)):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def fallen(h, g, **options):
    def ground(t, y):
        return y[0]

    ground.terminal = True
    start = pb.stack([h * 1.0, h * 0.0])
    return I.solve_ivp(
        lambda t, y: pb.stack([y[1], -g + 0 * y[0]]), (0, 5), start, events=ground, rtol=1e-9, atol=1e-11, **options
    )


def test_92_a_falling_body():
    found = d(lambda h, g: fallen(h, g).t_events[0][0], 10.0, 9.81)
    np.testing.assert_allclose(found, [0.071392156, -0.072774879], rtol=1e-6)
    speed = d(lambda h: fallen(h, 9.81).y_events[0][0, 1], 10.0)
    assert speed == pytest.approx(-np.sqrt(9.81 / 20), rel=1e-6)


@pytest.mark.parametrize("direction, terminal", [(0, False), (-1, False), (0, 2)])
def test_93_events_by_their_parameters(direction, terminal):
    def found(level):
        def height(t, y):
            return y[0] - level

        height.direction, height.terminal = direction, terminal
        solution = I.solve_ivp(
            lambda t, y: pb.stack([y[1], -y[0]]), (0, 6), [0.0, 1.0], events=height, rtol=1e-10, atol=1e-12
        )
        return solution.t_events[0].sum()

    agrees(found, 0.4, 1e-5)


def test_94_an_event_that_only_touches():
    def touched(h):
        def level(t, y):
            return y[0]

        start = pb.stack([h * 1.0, -2 * pb.sqrt(h)])
        return I.solve_ivp(lambda t, y: pb.stack([y[1], 2 + 0 * y[0]]), (0, 3), start, events=level, rtol=1e-10)

    solution = touched(leaf(1.0))
    if solution.t_events[0].shape[0]:
        with refused("SCIPY_EVENT_GRAZING"):
            pb.autograd.grad(solution.t_events[0][0], [leaf(1.0)], allow_unused=True)
    assert np.isfinite(d(lambda h: touched(h).y[0, -1], 1.0))


def test_95_a_ball_that_bounces():
    def height(restitution):
        def ground(t, y):
            return y[0]

        ground.terminal, ground.direction = True, -1
        state, t = pb.stack([1.0 + 0 * restitution, 0 * restitution]), 0.0
        for _ in range(2):
            solution = I.solve_ivp(
                lambda t, y: pb.stack([y[1], -9.81 + 0 * y[0]]), (t, 5), state, events=ground, rtol=1e-9, atol=1e-11
            )
            t, end = solution.t[-1], solution.y[:, -1]
            state = pb.stack([end[0] * 0 + 1e-9, -restitution * end[1]])
        return I.solve_ivp(lambda t, y: pb.stack([y[1], -9.81 + 0 * y[0]]), (t, t + 0.1), state, rtol=1e-9).y[0, -1]

    agrees(height, 0.8, 1e-4)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_96_robertson(method):
    def end(logs):
        k = pb.exp(logs)

        def rates(t, y):
            first, second, third = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
            return [-first + second, first - second - third, third]

        return I.solve_ivp(rates, (0, 40), [1.0, 0.0, 0.0], method=method, rtol=1e-6, atol=1e-9).y[0, -1]

    logs = np.log([0.04, 1e4, 3e7])
    expected = differences(end, logs, 1e-2)
    np.testing.assert_allclose(d(end, logs), expected, rtol=2e-3)


def test_97_a_stiff_equation_with_a_sparse_jacobian():
    count = 30
    pattern = scipy.sparse.diags_array([np.ones(count - 1), np.ones(count), np.ones(count - 1)], offsets=[-1, 0, 1])

    def end(k):
        def heat(t, u):
            flow = pb.concat([pb.zeros(1), u[1:] - u[:-1], pb.zeros(1)])
            return k * count**2 * (flow[1:] - flow[:-1])

        start = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        return I.solve_ivp(
            heat, (0, 0.05), start, method="Radau", jac_sparsity=pattern, rtol=1e-8, atol=1e-10
        ).y[0, -1]  # fmt: skip

    agrees(end, 1.0, 1e-4)


def test_99_a_solution_that_ends_early():
    def blown(y0, t1):
        return I.solve_ivp(lambda t, y: y * y, (0, t1), pb.stack([y0 * 1.0]), rtol=1e-6)

    y0 = leaf(1.0)
    solution = blown(y0, 2.0)
    assert solution.status == -1
    (found,) = pb.autograd.grad(solution.y[0, 2], [y0])
    assert np.isfinite(found.item())
    t1 = leaf(2.0)
    solution = blown(pb.tensor(1.0), t1)
    if solution.y.requires_grad:
        with refused("SCIPY_NOT_CONVERGED"):
            pb.autograd.grad(solution.y[0, -1], [t1])


def test_100_complex_states():
    w = leaf(1.3)
    end = I.solve_ivp(lambda t, y: 1j * w * y, (0, T), [1.0 + 0j], rtol=1e-9, atol=1e-11).y[0, -1]
    y = np.exp(1.3j * T)
    (by_real,) = pb.autograd.grad(end.real, [w], retain_graph=True)
    (by_imag,) = pb.autograd.grad(end.imag, [w])
    assert by_real.item() == pytest.approx((1j * T * y).real, rel=1e-6)
    assert by_imag.item() == pytest.approx((1j * T * y).imag, rel=1e-6)


def test_103_odeint():
    assert d(lambda k: I.odeint(lambda y, t: -k * y, Y0, [0.0, T], rtol=1e-9, atol=1e-11)[-1, 0], K) == pytest.approx(
        -T * Y0 * np.exp(-K * T), rel=1e-6
    )
    found = d(lambda k: I.odeint(lambda t, y, k: -k * y, [Y0], [0.0, T], args=(k,), tfirst=True)[-1, 0], K)
    assert found == pytest.approx(-T * Y0 * np.exp(-K * T), rel=1e-5)
    by_time = d(lambda t: I.odeint(lambda y, t: -K * y, [Y0], pb.stack([0 * t, t]), rtol=1e-9, atol=1e-11)[-1, 0], T)
    assert by_time == pytest.approx(-K * Y0 * np.exp(-K * T), rel=1e-6)
    program = d(lambda y0: I.odeint(lambda y, t: 0 * y, y0, [0.0, 1.0])[-1, 0], 3.0)
    assert program == pytest.approx(1.0)


def test_104_examples_and_compiled_code():
    starts = pb.tensor([1.0, 2.0])

    def end(y0, **options):
        return I.solve_ivp(lambda t, y: -K * y, (0, T), y0[None], rtol=1e-8, atol=1e-10, **options).y[0, -1]

    expected = [end(y0).item() for y0 in starts]
    np.testing.assert_allclose(vmap(lambda y0: end(y0, t_eval=[T]))(starts).numpy(), expected, rtol=1e-7)
    with refused("SCIPY_DYNAMIC_SHAPE"):
        vmap(end)(starts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert pb.compile(end)(starts[0]).item() == pytest.approx(expected[0])


def test_105_boundary_values():
    def middle(p):
        x = np.linspace(0, 1, 9)
        return I.solve_bvp(
            lambda x, y: pb.stack([y[1], -p * p * y[0]]), lambda a, b: pb.stack([a[0], b[0] - 1]), x, np.ones((2, 9)),
            tol=1e-7,
        ).sol(0.5)[0]  # fmt: skip

    assert middle(pb.tensor(1.0)).item() == pytest.approx(0.569746964, rel=1e-6)
    assert d(middle, 1.0) == pytest.approx(0.155627092, rel=1e-5)


def test_106_a_right_hand_side_with_a_root_in_it():
    def end(p):
        def slope(t, y):
            return -O.brentq(lambda u: u**3 + u - p * y[0], -9, 9)[None]

        return I.solve_ivp(slope, (0, 0.5), [1.0], rtol=1e-6).y[0, -1]

    agrees(end, 1.2, 1e-4)


def test_107_a_callback_that_prints(capsys):
    def end(k):
        def slope(t, y):
            print("called")
            return -k * y

        return I.solve_ivp(slope, (0, T), [Y0], rtol=1e-8, atol=1e-10).y[0, -1]

    assert d(end, K) == pytest.approx(-T * Y0 * np.exp(-K * T), rel=1e-6)
    assert capsys.readouterr().out.count("called") > 20


def test_102_one_compilation_for_every_power_of_two(monkeypatch):
    monkeypatch.setattr(_compiled, "EVALUATIONS", 0)
    monkeypatch.setattr("pullback.scipy.integrate._mesh.SWEPT", 0)
    _compiled._here.programs.clear()
    lengths = set()
    for end in (2.0, 2.5, 3.0, 5.0, 6.0, 9.0, 9.5):
        k = leaf(1.7)
        found = I.solve_ivp(lambda t, y, k=k: [y[1], -k * y[0]], (0, end), [1.0, 0.0], rtol=1e-7)
        found.y[0, -1].backward()
        lengths.add(1 << max(5, (len(found.t) - 2).bit_length()))
    programs = _compiled._here.programs.values()
    sweeps = {kind[1]: form for one in programs for (kind, _), form in one._forms.items() if "sweep" in str(kind)}
    assert len(lengths) > 1
    assert set(sweeps) == {f"sweep RK45 {length}" for length in lengths}
    assert all(form._misses == 1 for form in sweeps.values())


def test_178_the_pendulum_and_the_rod_of_the_examples():
    def angle(initial, gravity, friction):
        def velocity(t, state):
            return [state[1], -gravity * pb.sin(state[0]) - friction * state[1]]

        return I.solve_ivp(velocity, (0, 1.0), initial, t_eval=[1.0], rtol=1e-10, atol=1e-10).y[0, 0]

    def temperature(conductivity, source):
        inner, outer = conductivity[:-1] + conductivity[1:], -conductivity[1:-1]
        rod = pb.scipy.sparse.diags_array([inner, outer, outer], offsets=[0, 1, -1]).tocsc()
        return pb.scipy.sparse.linalg.spsolve(rod, source)

    pendulum = [pb.tensor(value, requires_grad=True) for value in ([1.2, 0.0], 9.81, 0.3)]
    assert pb.autograd.gradcheck(angle, pendulum, atol=1e-4, rtol=1e-4)
    rod = [pb.tensor(value, requires_grad=True) for value in (np.linspace(1.0, 2.0, 6), np.ones(5))]
    assert pb.autograd.gradcheck(temperature, rod, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(temperature, rod)
