"""Roots and fixed points: derivatives against closed forms, in both modes and to the third order."""

import concurrent.futures
import functools

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

optimize = pb.scipy.optimize
Diff = pb.scipy.Diff


def pair(a, b, **options):
    """(2, 1.5) for a = 8, b = 3."""
    return optimize.root(lambda y: [y[0] ** 3 - a, y[0] * y[1] - b], [1.0, 1.0], **options).x


def second_of_pair(a):
    return pair(a, pb.tensor(3.0))[1]


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def test_a_root_without_parameters_is_scipys():
    found = optimize.brentq(lambda y: y * y - 2, 0, 2)
    assert isinstance(found, pb.Tensor)
    assert not found.requires_grad
    assert found.item() == scipy.optimize.brentq(lambda y: y * y - 2, 0, 2)


def test_gradients_of_a_system():
    a, b = leaf(8.0), leaf(3.0)
    y = pair(a, b)
    y[1].backward()
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [-0.0625, 0.5], rtol=1e-9)
    assert y.grad_fn.name() == "RootBackward"


def test_derivatives_to_the_third_order():
    a = pb.tensor(8.0)
    np.testing.assert_allclose(grad(grad(second_of_pair))(a).item(), 1 / 96, rtol=1e-8)
    np.testing.assert_allclose(jacfwd(jacfwd(second_of_pair))(a).item(), 1 / 96, rtol=1e-8)
    np.testing.assert_allclose(hessian(second_of_pair)(a).item(), 1 / 96, rtol=1e-8)
    np.testing.assert_allclose(grad(grad(grad(second_of_pair)))(a).item(), -0.003038194, rtol=1e-6)


def test_gradcheck_in_both_modes_and_second_order():
    inputs = (leaf(8.0), leaf(3.0))
    assert pb.autograd.gradcheck(pair, inputs, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(pair, inputs)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "broyden2", "anderson", "krylov", "df-sane"])
def test_every_method_that_converges_has_the_same_gradient(method):
    def function(a):
        return optimize.root(
            lambda y: [y[0] ** 3 - a, y[0] * y[1] - 3], [1.9, 1.4], method=method, tol=1e-12
        ).x[1]

    np.testing.assert_allclose(grad(function)(pb.tensor(8.0)).item(), -0.0625, rtol=1e-6)


def test_parameters_are_found_wherever_python_finds_them():
    class Model:
        def __init__(self, a):
            self.a = a

        def residual(self, y):
            return y**3 - self.a

    def through(make):
        a = leaf(8.0)
        optimize.root(make(a), [1.0]).x.sum().backward()
        return a.grad.item()

    for make in (
        lambda a: lambda y: y**3 - a,
        lambda a: Model(a).residual,
        lambda a: functools.partial(lambda a, y: y**3 - a, a),
        lambda a: (lambda held: lambda y: y**3 - held[0]["a"])([{"a": a}]),
        lambda a: (lambda once_more: lambda y: y**3 - once_more)(a * 1.0),
        lambda a: (lambda view: lambda y: y**3 - view[0])(a.reshape(1)),
    ):
        assert through(make) == pytest.approx(1 / 12)
    a = leaf(8.0)
    optimize.root(lambda y, a: y**3 - a, [1.0], args=(a,)).x.sum().backward()
    assert a.grad.item() == pytest.approx(1 / 12)


def test_a_callback_may_fill_an_array():
    a, b = leaf(8.0), leaf(3.0)

    def residual(y):
        h = pb.zeros(2)
        h[0] = y[0] ** 3 - a
        h[1] = y[0] * y[1] - b
        return h

    optimize.root(residual, [1.0, 1.0]).x[1].backward()
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [-0.0625, 0.5], rtol=1e-9)


def test_a_parameter_of_a_custom_function_is_found():
    class Cube(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

    k = leaf(2.0)
    y = optimize.brentq(lambda y: y - Cube.apply(k), 0.0, 20.0)
    y.backward()
    assert (y.item(), k.grad.item()) == pytest.approx((8.0, 12.0))


def test_a_parameter_that_is_returned_as_it_is():
    a, b = leaf(8.0), leaf(3.0)
    y = optimize.minimize(lambda y: a * y[0] ** 2 - b * y[0], [0.0]).x
    flat = pb.scipy.integrate.quad(lambda t: b, 0, 2)[0]
    (y.sum() + flat).backward()
    assert b.grad.item() == pytest.approx(1 / 16 + 2)


def test_vmap_and_grad_in_both_orders():
    a = pb.tensor([8.0, 27.0])
    expected = [-0.0625, -0.01234568]
    np.testing.assert_allclose(vmap(grad(second_of_pair))(a).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda v: vmap(second_of_pair)(v).sum())(a).numpy(), expected, rtol=1e-6)


def test_vmap_over_start_values():
    found = vmap(lambda x0: optimize.newton(lambda y: y * y - 4, x0))(pb.tensor([1.0, -1.0]))
    np.testing.assert_allclose(found.numpy(), [2.0, -2.0])


@pytest.mark.parametrize("name", ["brentq", "brenth", "bisect", "ridder", "toms748"])
def test_bracketing_methods(name):
    def function(p):
        return getattr(optimize, name)(lambda y: pb.cos(y) - p * y, 0, 2)

    p = pb.tensor(0.5)
    np.testing.assert_allclose(grad(function)(p).item(), -0.758800149, rtol=1e-8)
    np.testing.assert_allclose(jvp(function, (p,), (pb.tensor(1.0),))[1].item(), -0.758800149, rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"bracket": [0, 2]},
        {"x0": 1.0, "method": "newton"},
        {"x0": 1.0, "x1": 1.1, "method": "secant"},
        {
            "x0": 1.0, "method": "halley", "fprime": lambda y: -pb.sin(y) - 0.5, "fprime2": lambda y: -pb.cos(y),
        },
    ],
    ids=["bracket", "newton", "secant", "halley"],
)  # fmt: skip
def test_root_scalar(options):
    result = optimize.root_scalar(lambda y: pb.cos(y) - 0.5 * y, **options)
    assert isinstance(result, scipy.optimize.RootResults)
    assert isinstance(result.root, pb.Tensor)
    slope = grad(lambda p: optimize.root_scalar(lambda y: pb.cos(y) - p * y, **options).root)(pb.tensor(0.5))
    np.testing.assert_allclose(slope.item(), -0.758800149, rtol=1e-8)


def test_keplers_equation():
    def anomaly(e):
        return optimize.newton(lambda x: x - e * pb.sin(x) - 1, 1.0)

    e = pb.tensor(0.3)
    np.testing.assert_allclose(grad(anomaly)(e).item(), 1.048008305, rtol=1e-8)
    step = 1e-4
    slopes = [grad(anomaly)(pb.tensor(0.3 + sign * step)).item() for sign in (1, -1)]
    np.testing.assert_allclose(grad(grad(anomaly))(e).item(), (slopes[0] - slopes[1]) / (2 * step), rtol=1e-5)


def test_newton_on_an_array_is_elementwise():
    p = pb.tensor([1.0, 4.0, 9.0])
    roots = optimize.newton(lambda y: y * y - p, np.ones(3))
    np.testing.assert_allclose(roots.numpy(), [1.0, 2.0, 3.0])
    jacobian = jacrev(lambda p: optimize.newton(lambda y: y * y - p, np.ones(3)))(p)
    np.testing.assert_allclose(jacobian.numpy(), np.diag([0.5, 0.25, 1 / 6]), atol=1e-9)


def test_complex_roots():
    c = pb.tensor(2j, requires_grad=True)
    z = optimize.newton(lambda z: z * z - c, 1.0 + 1.0j)
    (slope,) = pb.autograd.grad(z.real, c)
    np.testing.assert_allclose(slope.item(), np.conj(1 / (2 * z.item())), rtol=1e-8)


def test_full_output_keeps_the_pair():
    one = leaf(1.0)
    found, result = optimize.brentq(lambda y: y - one, 0, 2, full_output=True)
    assert isinstance(result, scipy.optimize.RootResults)
    assert found.requires_grad
    assert result.converged
    found, info, status, message = optimize.fsolve(lambda y: y - one, [0.0], full_output=True)
    assert found.requires_grad
    assert status == 1
    assert "fvec" in info
    assert message


@pytest.mark.parametrize("method", ["del2", "iteration"])
def test_fixed_points(method):
    slope = grad(lambda a: optimize.fixed_point(lambda y: pb.cos(a * y), 0.7, method=method))(pb.tensor(1.0))
    np.testing.assert_allclose(slope.item(), -0.297474341, rtol=1e-6)


def test_the_start_has_no_influence():
    start, a = leaf([1.0]), leaf(8.0)
    optimize.root(lambda y: y**3 - a, start).x.sum().backward()
    assert start.grad.tolist() == [0.0]


@pytest.mark.parametrize("solver", ["auto", "dense", "gmres"])
def test_many_unknowns(solver):
    n = 600 if solver == "auto" else 60

    def function(p):
        def residual(v):
            inner = pb.concat([pb.zeros(1), v, pb.zeros(1)])
            return 4 * v - inner[:-2] - inner[2:] + 0.1 * v**3 - p

        return optimize.root(residual, np.zeros(n), method="krylov", tol=1e-12, diff=Diff(solver=solver)).x.sum()

    p = pb.tensor(1.3)
    step = 1e-4
    numerical = (function(pb.tensor(1.3 + step)) - function(pb.tensor(1.3 - step))).item() / (2 * step)
    np.testing.assert_allclose(grad(function)(p).item(), numerical, rtol=1e-6)
    np.testing.assert_allclose(jvp(function, (p,), (pb.tensor(1.0),))[1].item(), numerical, rtol=1e-6)


def test_a_failed_solve_is_refused_when_it_is_differentiated():
    p = leaf(1.0)
    result = optimize.root(lambda y: y * y + p, [1.0])
    assert not result.success
    with pytest.raises(pb.AutogradError) as raised:
        result.x.sum().backward()
    assert raised.value.code == "SCIPY_NOT_CONVERGED"
    assert str(result.message).split(".")[0][:20] in str(raised.value)
    with pytest.raises(pb.AutogradError) as raised:
        jvp(lambda p: optimize.root(lambda y: y * y + p, [1.0]).x, (pb.tensor(1.0),), (pb.tensor(1.0),))
    assert raised.value.code == "SCIPY_NOT_CONVERGED"
    optimize.root(lambda y: y * y + p, [1.0], diff=Diff(on_failure="nan")).x.sum().backward()
    assert np.isnan(p.grad.item())


def test_only_the_failed_example_of_a_batch_is_nan():
    def function(p):
        return optimize.root(lambda y: y * y + p, [1.0], diff=Diff(on_failure="nan")).x.sum()

    slopes = vmap(grad(function))(pb.tensor([-4.0, 1.0])).numpy()
    np.testing.assert_allclose(slopes[0], -0.25)
    assert np.isnan(slopes[1])


def test_a_multiple_root_has_no_derivative():
    p = leaf(1.0)
    y = optimize.bisect(lambda y: (y - p) ** 3, 0.0, 3.5)
    with pytest.raises(pb.AutogradError) as raised:
        y.backward()
    assert raised.value.code == "SCIPY_SINGULAR"


def test_a_jump_of_the_sign_is_no_root():
    p = leaf(1.0)
    y = optimize.bisect(lambda y: pb.where(y > p, 1.0 + y, -1.0 - p), 0.0, 3.0)
    with pytest.raises(pb.AutogradError) as raised:
        y.backward()
    assert raised.value.code == "SCIPY_NOT_A_SOLUTION"


def test_a_number_taken_out_in_the_callback_is_refused():
    p = leaf(1.0)
    with pytest.raises(pb.AutogradError) as raised:
        optimize.brentq(lambda y: float(p * y) - 0.1, 0, 2)
    assert raised.value.code == "SCIPY_CALLBACK_DETACHED"


def test_a_parameter_that_is_used_close_to_the_solution_only():
    p = leaf(4.0)
    first = leaf(1.0)

    def residual(y):
        return y * y - p if y > 1.5 else y - 3.0 * first

    optimize.newton(residual, 1.0).backward()  # it starts where `first` is used, and ends where `p` is
    assert p.grad.item() == pytest.approx(0.25)
    assert first.grad is None or first.grad.item() == 0

    def in_vmap(x0):
        return optimize.newton(residual, x0)

    with pytest.raises(pb.AutogradError) as raised:
        vmap(in_vmap)(pb.tensor([1.0, 1.1]))
    assert raised.value.code == "SCIPY_CALLBACK_CHANGED"


def test_written_parameters_are_noticed():
    a = leaf(8.0)
    scaled = a * 1.0
    y = optimize.brentq(lambda y: y**3 - scaled, 0, 5)
    with pb.no_grad():
        scaled.fill_(1.0)
    y.backward()  # what the graph needs is preserved
    assert a.grad.item() == pytest.approx(1 / 12)


def test_solvers_nest():
    def function(p):
        def outer(y):
            inner = optimize.brentq(lambda z: z**3 - y * p, 0.0, 10.0)
            return inner - 2.0

        return optimize.brentq(outer, 0.1, 10.0)

    # inner = (y p)^(1/3) = 2, so y = 8 / p
    p = pb.tensor(2.0)
    np.testing.assert_allclose(function(p).item(), 4.0)
    np.testing.assert_allclose(grad(function)(p).item(), -2.0, rtol=1e-8)
    np.testing.assert_allclose(grad(grad(function))(p).item(), 2.0, rtol=1e-7)


def test_implicit_differentiates_any_black_box():
    def solve(a):
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if middle**3 < float(a) else (low, middle)
        return low

    cube_root = pb.func.implicit(solve, lambda y, a: y**3 - a)
    inputs = (leaf(8.0),)
    assert pb.autograd.gradcheck(cube_root, inputs, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(cube_root, inputs)
    np.testing.assert_allclose(vmap(grad(cube_root))(pb.tensor([8.0, 27.0])).numpy(), [1 / 12, 1 / 27])


def test_implicit_finds_what_the_residual_closes_over():
    k = leaf(2.0)
    solved = pb.func.implicit(lambda a: float((2 * float(a)) ** (1 / 3)), lambda y, a: y**3 - a * k)
    solved(pb.tensor(4.0)).backward()
    assert k.grad.item() == pytest.approx(1 / 3)


def test_hooks_and_anomaly_mode_see_one_node():
    a = leaf(8.0)
    seen = []
    with pb.autograd.detect_anomaly():
        y = optimize.brentq(lambda y: y**3 - a, 0, 5)
        y.register_hook(seen.append)
        y.backward()
    assert len(seen) == 1
    assert y.grad_fn.name() == "BrentqBackward"


def test_no_grad_records_nothing():
    a = leaf(8.0)
    with pb.no_grad():
        y = optimize.brentq(lambda y: y**3 - a, 0, 5)
    assert not y.requires_grad


def test_threads_do_not_disturb_each_other():
    def gradients(offset):
        found = []
        for k in range(5):
            p = leaf(2.0 + offset + k)
            optimize.brentq(lambda y: y * y - p, 0, 10).backward()  # noqa: B023
            found.append(p.grad.item())
        return found

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(gradients, range(4)))
    assert together == [gradients(offset) for offset in range(4)]


@pytest.mark.parametrize("given", [True, None])
def test_halleys_method_with_derivatives_that_the_function_gives_or_nobody(given):
    def root(p):
        def function(y):
            return (y**3 - y - p, 3 * y**2 - 1, 6 * y) if given else y**3 - y - p

        return optimize.root_scalar(function, x0=1.2, fprime=given, fprime2=given, method="halley").root

    y = root(pb.tensor(1.0)).item()
    assert grad(root)(pb.tensor(1.0)).item() == pytest.approx(1 / (3 * y**2 - 1), rel=1e-6)
