"""Callbacks run as compiled code: the same numbers, whatever they look at, and never those of an earlier call."""

import functools
import itertools
import threading

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import pullback as pb
from pullback.func import grad
from pullback.scipy import _compiled

integrate, optimize = pb.scipy.integrate, pb.scipy.optimize


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Compile from the first evaluation on."""
    monkeypatch.setattr(_compiled, "EVALUATIONS", 0)
    _compiled._here.programs.clear()


def programs():
    return list(_compiled._here.programs.values())


def root_of(a, b=1.0):
    return optimize.brentq(lambda y: y**3 - a * b, 0, 9, xtol=1e-14)


def test_a_new_closure_is_the_same_program_with_other_values():
    for a in (8.0, 27.0, 64.0):
        x = pb.tensor(a, requires_grad=True)
        y = root_of(x)
        y.backward()
        assert y.item() == pytest.approx(a ** (1 / 3))
        assert x.grad.item() == pytest.approx(a ** (-2 / 3) / 3)
    value = next(program for program in programs() if any(kind == "value" for kind, _ in program._forms))
    assert not value.is_hopeless
    assert value._forms["value", False]._misses == 1


def test_a_number_in_a_closure_is_not_that_of_the_call_before():
    x = pb.tensor(8.0)
    assert [root_of(x, b).item() for b in (1.0, 2.0, 8.0, 1.0)] == pytest.approx([2.0, 16 ** (1 / 3), 4.0, 2.0])


@pytest.mark.parametrize("kind", [int, float])
def test_numbers_in_a_closure_change_again_and_again(kind):
    p = pb.tensor(1.3, requires_grad=True)
    for k in map(kind, (0, 0, 1, 2, 0, 3, 1)):
        value = integrate.quad(lambda t, k=k: pb.exp(-p * t) * t**k, 0, 1)[0]
        assert value.item() == pytest.approx(scipy.integrate.quad(lambda t, k=k: np.exp(-1.3 * t) * t**k, 0, 1)[0])
        slope = scipy.integrate.quad(lambda t, k=k: -np.exp(-1.3 * t) * t ** (k + 1), 0, 1)[0]
        assert pb.autograd.grad(value, p)[0].item() == pytest.approx(slope)
        y = optimize.brentq(lambda y: y**3 - p * (k + 1), 0, 9, xtol=1e-14)  # noqa: B023
        assert y.item() == pytest.approx((1.3 * (k + 1)) ** (1 / 3))
        assert pb.autograd.grad(y, p)[0].item() == pytest.approx((k + 1) / (3 * y.item() ** 2))


def test_an_array_that_was_written_is_seen():
    levels = np.array([1.0, 8.0])

    def function(y):
        return y**3 - levels

    first = optimize.root(function, np.ones(2), tol=1e-12).x.numpy()
    levels[:] = [27.0, 64.0]
    second = optimize.root(function, np.ones(2) * 2, tol=1e-12).x.numpy()
    np.testing.assert_allclose([first, second], [[1, 2], [3, 4]])


def test_a_tensor_of_an_object_that_was_replaced_is_seen():
    class Model:
        rate = pb.tensor(1.0, requires_grad=True)

        def right(self, t, y):
            return -self.rate * y

    model = Model()
    ends = []
    for rate in (1.0, 2.0):
        model.rate = pb.tensor(rate, requires_grad=True)
        y = integrate.solve_ivp(model.right, (0, 1), [1.0], rtol=1e-8).y[0, -1]
        y.backward()
        ends.append((y.item(), model.rate.grad.item()))
    np.testing.assert_allclose(ends, [(np.exp(-1), -np.exp(-1)), (np.exp(-2), -np.exp(-2))], rtol=1e-5)


def test_a_branch_on_values_runs_as_it_is():
    def function(y):
        return y - 2.0 if y > 1 else 3 * y - 4.0

    assert optimize.brentq(function, 0, 9).item() == scipy.optimize.brentq(function, 0, 9)
    assert any(program.is_hopeless for program in programs())


def test_what_a_callback_leaves_behind_is_left_behind():
    seen = []

    def function(y):
        seen.append(1)
        return y * y - 2

    result = optimize.root_scalar(function, bracket=(0, 2), method="brentq")
    assert len(seen) >= result.function_calls


def test_a_callback_that_prints_prints_every_time(capsys):
    def right(t, y):
        print("called")
        return -y

    result = integrate.solve_ivp(right, (0, 1), [1.0])
    assert capsys.readouterr().out.count("called") >= result.nfev


def test_a_callback_that_draws_is_not_compiled():
    rng = np.random.default_rng(0)
    y = integrate.quad(lambda t: t * 0 + rng.random(), 0, 1)[0]
    assert 0.2 < y.item() < 0.8
    assert all(program.is_hopeless for program in programs())


def test_compile_false_compiles_nothing():
    optimize.brentq(lambda y: y * y - 2, 0, 2, diff=pb.scipy.Diff(compile=False))
    assert not programs()


def test_two_helpers_of_one_code_keep_their_own_values():
    def shifted(by):
        return lambda y: y - by

    a, b = pb.tensor(1.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    first, second = shifted(a), shifted(b)
    y = optimize.brentq(lambda y: first(y) + 3 * second(y), 0, 9)
    y.backward()
    assert [y.item(), a.grad.item(), b.grad.item()] == pytest.approx([1.75, 0.25, 0.75])


def test_threads_have_programs_of_their_own():
    found = {}

    def work(a):
        x = pb.tensor(a, requires_grad=True)
        for _ in range(10):
            x.grad = None
            root_of(x).backward()
        found[a] = x.grad.item()

    threads = [threading.Thread(target=work, args=(a,)) for a in (8.0, 27.0, 64.0)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == pytest.approx({8.0: 1 / 12, 27.0: 1 / 27, 64.0: 1 / 48})


def test_a_backward_pass_in_another_thread_leaves_the_programs_of_this_one_alone():
    leaves = [pb.tensor(a, requires_grad=True) for a in (8.0, 27.0)]
    roots = [root_of(leaf) for leaf in leaves]
    areas = [integrate.quad(lambda t, leaf=leaf: leaf * t, 0, 1)[0] for leaf in leaves]
    owners = [program.owner for program in programs()]
    thread = threading.Thread(target=lambda: (roots[0] + areas[0]).backward())
    thread.start()
    thread.join()
    assert [program.owner for program in programs()] == owners
    (roots[1] + areas[1]).backward()
    assert [leaf.grad.item() for leaf in leaves] == pytest.approx([1 / 12 + 0.5, 1 / 27 + 0.5])


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "LSODA"])
def test_the_compiled_sweep_over_the_steps_is_the_eager_one(method, monkeypatch):
    monkeypatch.setattr("pullback.scipy.integrate._mesh.SWEPT", 0)

    def last(p, y0, begin, end, **options):
        return integrate.solve_ivp(
            lambda t, y: [y[1], -p[0] * y[0] + pb.sin(p[1] * t)], (begin, end), y0, method=method, **options
        ).y[:, -1].sum()  # fmt: skip

    arguments = [pb.tensor(each) for each in ([2.0, 0.5], [1.0, 0.0], 0.1, 4.0)]
    fast = grad(last, argnums=(0, 1, 2, 3))(*arguments)
    assert any("sweep" in str(kind) for program in programs() for kind, _ in program._forms)
    assert not any(program.is_hopeless for program in programs())
    slow = grad(lambda *args: last(*args, diff=pb.scipy.Diff(compile=False)), argnums=(0, 1, 2, 3))(*arguments)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9)


@pytest.mark.parametrize("many, kind", [(1, "integrand"), (900, "nodes")])
def test_gradients_of_integrals_by_compiled_nodes(many, kind):
    """On numbers where there are few, and for all nodes at once otherwise."""
    weights = np.ones(many) / many

    def integral(p, diff):
        return integrate.quad(
            lambda t: pb.exp(-p[0] * t * t) * (pb.cos(p[1] * t * weights * many) * weights).sum(), 0, 2, diff=diff
        )[0]

    p = pb.tensor([1.3, 2.0])
    fast = grad(lambda p: integral(p, pb.scipy.Diff()))(p).numpy()
    assert any(kind in str(known) for program in programs() for known in program.quick)
    slow = grad(lambda p: integral(p, pb.scipy.Diff(compile=False)))(p).numpy()
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


TIMES = np.linspace(0, 2, 9)
IN_ALL_MODES = {
    "root": lambda p, d: optimize.root(lambda y: [y[0] ** 3 - p[0], y[0] * y[1] - p[1]], [1.0, 1.0], diff=d).x.sum(),
    "brentq": lambda p, d: optimize.brentq(lambda y: pb.cos(y) - p[0] * y * p[1], 0, 2, xtol=1e-14, diff=d),
    "minimize": lambda p, d: optimize.minimize(
        lambda x: ((x - p) ** 2).sum() + 0.1 * (x**4).sum(), np.zeros(2), tol=1e-10, diff=d
    ).x.sum(),
    "curve_fit": lambda p, d: optimize.curve_fit(
        lambda t, a, b: a * pb.exp(-b * t), TIMES, p[0] * np.exp(-TIMES) + p[1] * TIMES, p0=[1.0, 1.0], diff=d
    )[0].sum(),
    "quad": lambda p, d: integrate.quad(lambda t: pb.exp(-p[0] * t * t) * pb.cos(p[1] * t), p[0] / 9, 2, diff=d)[0],
    "solve_ivp": lambda p, d: integrate.solve_ivp(
        lambda t, y: -p[0] * y * (1 + 0.1 * y), (0, 1.5), p[1:] * 2, t_eval=[1.0, 1.5], diff=d
    ).y.sum(),
}


@pytest.mark.parametrize("name", IN_ALL_MODES)
def test_second_derivatives_in_every_order_of_modes_are_those_of_eager_code(name, monkeypatch):
    monkeypatch.setattr("pullback.scipy.integrate._mesh.SWEPT", 0)
    p = pb.tensor([0.7, 1.1])
    function = lambda p: IN_ALL_MODES[name](p, pb.scipy.Diff())
    grad(function)(p)
    slow = pb.func.hessian(lambda p: IN_ALL_MODES[name](p, pb.scipy.Diff(compile=False)))(p).numpy()
    assert np.abs(slow).max() > 1e-3
    for outer, inner in itertools.product((pb.func.jacfwd, pb.func.jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(function))(p).numpy(), slow, rtol=1e-5, atol=1e-7)


class Squared:
    def __init__(self, of):
        self.of = of

    def off(self, y):
        return y * y - self.of


FURTHER = {
    "a number": lambda k: optimize.brentq(lambda y, p: y * y - p, 0, 50, args=(float(k),)),
    "a whole number": lambda k: optimize.brentq(lambda y, p: y * y - p, 0, 50, args=(k,)),
    "an array": lambda k: optimize.brentq(lambda y, p: y * y - p[1], 0, 50, args=(np.array([0.0, k]),)),
    "a list of dicts": lambda k: optimize.brentq(lambda y, p: y * y - p[0]["a"], 0, 50, args=([{"a": k}],)),
    "an object": lambda k: optimize.brentq(Squared(k).off, 0, 50),
    "a partial": lambda k: optimize.brentq(functools.partial(lambda y, p: y * y - p[1], p=np.array([0, k])), 0, 50),
    "data": lambda k: optimize.curve_fit(lambda t, a: a * a * t, np.arange(4.0), np.arange(4.0) * k)[0][0],
    "args of residuals": lambda k: optimize.least_squares(
        lambda x, t, y: x * x * t - y, [1.0], args=(np.arange(4.0), np.arange(4.0) * k)
    ).x[0],
    "a matrix": lambda k: optimize.nnls(np.eye(3)[:, :1], np.array([np.sqrt(k), 1.0, 2.0]))[0][0],
}


@pytest.mark.parametrize("name", FURTHER)
def test_what_a_call_was_given_is_not_what_the_call_before_was_given(name):
    for k in (4, 9, 16, 25):
        assert FURTHER[name](k).item() == pytest.approx(np.sqrt(k), rel=1e-6)


def test_numbers_in_args_do_not_compile_again():
    def roots(start):
        return [optimize.brentq(lambda y, p: y * y - p, 0, 50, args=(start + k,)).item() for k in range(5)]

    roots(1.0)
    before = [form._misses for program in _compiled._here.programs.values() for form in program._forms.values()]
    assert roots(20.0) == pytest.approx([np.sqrt(20 + k) for k in range(5)])
    after = [form._misses for program in _compiled._here.programs.values() for form in program._forms.values()]
    assert after == before


@pytest.mark.parametrize("evaluations", [0, 8])
def test_a_number_that_changes_may_lead_to_other_tensors(evaluations, monkeypatch):
    monkeypatch.setattr(_compiled, "EVALUATIONS", evaluations)
    p, q = pb.tensor(1.3, requires_grad=True), pb.tensor(1.0, requires_grad=True)
    for k in (0, 0, 1, 2, 0, 3, 1, 2, 0, 3, 5, 7, 2):
        area = integrate.quad(lambda t: pb.exp(-p * t) if k % 2 == 0 else q * pb.exp(-p * t), 0, 1)[0]  # noqa: B023
        y = optimize.brentq(lambda y: y**3 - (p if k % 2 == 0 else p * q), 0, 9)  # noqa: B023
        slope = pb.autograd.grad(area + y, q, allow_unused=True)[0]
        wanted = (1 - np.exp(-1.3)) / 1.3 + 1.3 ** (1 / 3) / 3
        assert slope is None if k % 2 == 0 else slope.item() == pytest.approx(wanted)


def test_where_numbers_raise_numpy_computes():
    """1 / 0 at an end of the bracket, and a logarithm of 0 at the end of an interval that is never asked for."""
    p = pb.tensor(2.0, requires_grad=True)
    for _ in range(12):
        with np.errstate(all="ignore"):
            y = optimize.brentq(lambda y: p - 1 / y, 0.0, 9.0)
        area = integrate.quad(lambda t: pb.log(t) * p, 0, 1)[0]
        found = pb.autograd.grad(y + area, p)[0]
        assert [y.item(), area.item(), found.item()] == pytest.approx([0.5, -2.0, -1.25])


@pytest.mark.parametrize("name", ["root", "integral"])
def test_the_short_way_of_recording_is_that_of_functions(name, monkeypatch):
    def solved(p):
        if name == "root":
            return optimize.root(lambda y: y**3 + 0.1 * y.sum() - p, np.ones(2), tol=1e-13).x
        return integrate.quad_vec(lambda t: pb.exp(-p * t * t), 0, 2)[0]

    def everything():
        p = pb.tensor([1.0, 2.0], requires_grad=True)
        y = solved(p)
        seen = []
        y.register_hook(lambda g: seen.append(g.detach().numpy().copy()))
        y.retain_grad()
        first = pb.autograd.grad((y**2).sum(), p, create_graph=True)[0]
        second = pb.autograd.grad((first * first).sum(), p)[0]
        outer = pb.func.hessian(lambda p: (solved(p) ** 2).sum())(p.detach())
        mapped = pb.func.vmap(solved)(pb.tensor([[1.0, 2.0], [2.0, 1.0]]))
        return [seen[0], *(x.detach().numpy() for x in (first, second, outer, mapped))]

    found = everything()
    for module in ("pullback.func._implicit", "pullback.scipy.integrate._quadrature"):
        monkeypatch.setattr(f"{module}.applied", lambda function, first, tensors, _: function.apply(first, *tensors))
    for one, other in zip(found, everything(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    monkeypatch.undo()

    y = solved(pb.tensor([1.0, 2.0], requires_grad=True))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
