"""Conformance cases 1 to 24: the names, what plain SciPy does with tensors, adapted programs, callbacks."""

import inspect
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import scipy
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

import pullback as pb
from pullback.func import adapt, grad
from pullback.scipy import integrate as I
from pullback.scipy import optimize as O
from pullback.scipy._surface import KINDS, SUBPACKAGES, public_names, scipy_value

from .scipy_cases import d, leaf, refused

P = pb.tensor(2.0)


def test_1_every_name_resolves_and_has_a_kind():
    rules = pb.scipy.rules()
    for path in SUBPACKAGES:
        module = pb.scipy
        for part in path.split("."):
            module = getattr(module, part)
        for name in public_names(path):
            if hasattr(scipy_value_of(path), name):
                assert getattr(module, name) is not None
                assert rules[f"{path}.{name}"].kind in KINDS


def scipy_value_of(path):
    module = scipy
    for part in path.split("."):
        __import__(f"{module.__name__}.{part}")
        module = getattr(module, part)
    return module


def test_2_signatures_are_scipys():
    for name, rule in pb.scipy.rules().items():
        theirs = scipy_value(name)
        if rule.kind == "=" or not inspect.isfunction(theirs):
            continue  # ufuncs and distributions have the signature of all of their kind
        module = pb.scipy
        for part in name.split("."):
            module = getattr(module, part)
        ours, of_scipy = parameters(inspect.signature(module)), parameters(inspect.signature(theirs))
        if NEWER:  # which may have parameters more
            of_scipy = [each for each in of_scipy if each[0] in {name for name, *_ in ours}]
        assert ours == of_scipy, name


NEWER = tuple(map(int, scipy.__version__.split(".")[:2])) > (1, 17)


def parameters(signature):
    return [(each.name, each.kind, str(each.default)) for each in signature.parameters.values() if each.name != "diff"]


def test_3_scipy_is_not_imported_before_it_is_used():
    program = (
        "import sys, pullback as pb\nassert 'scipy' not in sys.modules\n"
        "sys.modules['scipy'] = None\n"
        "try:\n    pb.scipy.optimize.brentq\nexcept ImportError as error:\n    assert 'scipy' in str(error), error\n"
        "else:\n    raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_4_a_constant_root_is_scipys():
    found = O.brentq(lambda y: y * y - 2, 0, 2)
    assert isinstance(found, pb.Tensor)
    assert not found.requires_grad
    assert found.item() == scipy.optimize.brentq(lambda y: y * y - 2, 0, 2)


PLAIN = {
    "optimize.brentq": lambda p: scipy.optimize.brentq(lambda y: y * y - p, 0, 5),
    "integrate.quad": lambda p: scipy.integrate.quad(lambda t: t * p, 0, 1),
    "optimize.ridder": lambda p: scipy.optimize.ridder(lambda y: y * y - p, 0, 5),
    "optimize.bisect": lambda p: scipy.optimize.bisect(lambda y: y * y - p, 0, 5),
    "optimize.brenth": lambda p: scipy.optimize.brenth(lambda y: y * y - p, 0, 5),
    "optimize.toms748": lambda p: scipy.optimize.toms748(lambda y: y * y - p, 0, 5),
    "integrate.dblquad": lambda p: scipy.integrate.dblquad(lambda y, x: x * y * p, 0, 1, 0, 1),
    "integrate.odeint": lambda p: scipy.integrate.odeint(lambda y, t: -p * y, [1.0], [0.0, 1.0]),
    **{
        f"integrate.solve_ivp {method}": lambda p, method=method: scipy.integrate.solve_ivp(
            lambda t, y: -p * y, (0, 1), [1.0], method=method
        )
        for method in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")
    },
    "optimize.minimize": lambda p: scipy.optimize.minimize(lambda x: ((x - p) ** 2).sum(), [1.0]),
    "optimize.least_squares": lambda p: scipy.optimize.least_squares(lambda x: x - p, [1.0]),
    "optimize.leastsq": lambda p: scipy.optimize.leastsq(lambda x: x - p, [1.0]),
    "optimize.curve_fit": lambda p: scipy.optimize.curve_fit(
        lambda x, a: a * x * p, np.arange(3.0), np.arange(3.0), p0=[1.0]
    ),
    "optimize.fmin_slsqp": lambda p: scipy.optimize.fmin_slsqp(lambda x: ((x - p) ** 2).sum(), [1.0], disp=0),
    "optimize.root": lambda p: scipy.optimize.root(lambda y: y - p, [1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_5_to_7_plain_scipy_refuses_and_names_ours(name):
    with refused("SCIPY_ON_GRAD", word=f"pb.scipy.{name.split()[0]}"):
        PLAIN[name](leaf(2.0))


@pytest.mark.parametrize("name", PLAIN)
def test_8_without_derivatives_plain_scipy_runs(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PLAIN[name](leaf(2.0).detach())


def test_9_a_number_that_the_user_takes_is_a_warning():
    p = leaf(2.0)
    with pytest.warns(pb.errors.DetachedScalarWarning):
        found = scipy.optimize.brentq(lambda y: float(p) * y - 1, 0, 5)
    assert found == pytest.approx(0.5)


@pytest.mark.parametrize("name, call", [
    ("linalg.inv", lambda x: scipy.linalg.inv(x)),
    ("stats.norm", lambda x: scipy.stats.norm.logpdf(x)),
    ("ndimage.sobel", lambda x: scipy.ndimage.sobel(x)),
    ("interpolate.interp1d", lambda x: scipy.interpolate.interp1d(np.arange(2.0), x)),
    ("spatial.distance.cdist", lambda x: scipy.spatial.distance.cdist(x, x)),
])  # fmt: skip
def test_10_arrays_that_are_differentiated_are_refused(name, call):
    with pytest.raises(pb.AutogradError) as caught:
        call(leaf([[2.0, 1.0], [0.0, 1.0]]))
    assert caught.value.code == "SCIPY_ON_GRAD"
    assert "NUMPY_ON_GRAD" in caught.value.codes
    assert f"pb.scipy.{name}" in str(caught.value)


def test_11_ufuncs_have_rules_or_refuse():
    assert d(lambda x: scipy.special.voigt_profile(x, 1.0, 0.5), 0.7) == pytest.approx(-0.110003768, rel=1e-6)
    without = [
        name for name in public_names("special")
        if isinstance(getattr(scipy.special, name), np.ufunc) and pb.scipy.rule(f"special.{name}").kind == "X"
    ]  # fmt: skip
    if without:
        ufunc = getattr(scipy.special, without[0])
        with refused("SCIPY_NO_RULE", "SCIPY_ON_GRAD", "NUMPY_ON_GRAD"):
            ufunc(*[leaf(0.5)] * ufunc.nin)


def root_of(p):
    return brentq(lambda y: y * y - p, 0.0, 5.0)


TABLE = {"root": brentq}


def root_by_module(p):
    import scipy.optimize as so

    return so.brentq(lambda y: y * y - p, 0.0, 5.0)


def root_inside(p):
    import scipy

    return scipy.optimize.brentq(lambda y: y * y - p, 0.0, 5.0)


def root_of_table(p):
    return TABLE["root"](lambda y: y * y - p, 0.0, 5.0)


@pytest.mark.parametrize("function", [root_of, root_by_module, root_inside, root_of_table])
def test_12_and_13_an_adapted_program_by_any_import(function):
    assert grad(adapt(function))(P).item() == pytest.approx(1 / (2 * np.sqrt(2)))


def integral_of(p):
    return scipy.integrate.quad(lambda t: t * p, 0, 1)[0]


def decay_of(p):
    return solve_ivp(lambda t, y: -p * y, (0, 1.0), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]


def density_of(p):
    return scipy.stats.norm.logpdf(p)


@pytest.mark.parametrize("function, expected", [(integral_of, 0.5), (decay_of, -np.exp(-2)), (density_of, -2.0)])
def test_14_integrals_equations_and_densities_adapted(function, expected):
    assert grad(adapt(function))(P).item() == pytest.approx(expected, rel=1e-6)


def filtered(p):
    return scipy.signal.remez(5, [0, p, 0.3, 0.5], [1, 0])


def test_15_a_function_without_rule_is_named():
    with refused("SCIPY_NO_RULE", word="remez"):
        grad(lambda p: adapt(filtered)(p).sum())(pb.tensor(0.1))
    assert isinstance(adapt(filtered)(0.1), pb.Tensor)


def approximated(p):
    return scipy.optimize.approx_fprime(np.array([1.0]), lambda x: (x * p).sum(), 1e-6)


def test_16_a_guarded_function_with_a_callback_refuses():
    with refused("SCIPY_NO_RULE"):
        grad(lambda p: adapt(approximated)(p).sum())(P)


SPLINE = CubicSpline([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 4.0, 9.0])
MATRIX = scipy.sparse.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
LAW = scipy.stats.norm(0, 2)


def on_the_spline(p):
    return SPLINE(p)


def product(v):
    return (MATRIX @ v * np.array([1.0, 2.0])).sum()


def by_the_law(p):
    return LAW.logpdf(p)


def test_17_objects_that_were_made_before():
    assert grad(adapt(on_the_spline))(pb.tensor(1.5)).item() == pytest.approx(SPLINE(1.5, 1).item())
    np.testing.assert_allclose(grad(adapt(product))(pb.tensor([1.0, 1.0])).numpy(), MATRIX.T @ [1.0, 2.0])
    assert grad(adapt(by_the_law))(P).item() == pytest.approx(-0.5)


def test_18_scipys_modules_are_not_adapted():
    with pytest.raises(ValueError, match="scipy"):
        adapt(root_of, modules=["scipy.optimize"])


ARRAY_API = r"""
import warnings; warnings.simplefilter("ignore")
import numpy as np, pullback as pb, scipy
from scipy import integrate, signal, stats, special, linalg, fft
from pullback.autograd import gradcheck
x = pb.tensor(np.array([0.4, 1.3, 0.8, 2.1, 1.7, 0.6]), requires_grad=True)
y = pb.tensor(np.array([0.5, 0.9, 1.4, 1.1, 0.7, 1.9]), requires_grad=True)
CALLS = {
    "trapezoid": lambda x: integrate.trapezoid(x), "cumulative_trapezoid": lambda x: integrate.cumulative_trapezoid(x),
    "block_diag": lambda x: linalg.block_diag(x, x), "hilbert": lambda x: abs(signal.hilbert(x)),
    "resample": lambda x: signal.resample(x, 4), "fft": lambda x: abs(fft.fft(x)), "rfft": lambda x: abs(fft.rfft(x)),
    "skew": stats.skew, "kurtosis": stats.kurtosis, "moment": lambda x: stats.moment(x, 3), "gmean": stats.gmean,
    "hmean": stats.hmean, "variation": stats.variation, "sem": stats.sem, "entropy": stats.entropy,
    "circmean": stats.circmean, "logsumexp": special.logsumexp, "softmax": special.softmax,
    "ttest_1samp": lambda x: stats.ttest_1samp(x, pb.tensor(0.5)).statistic,
}
for name, call in CALLS.items():
    assert gradcheck(call, (x,)), name
for call in (lambda w: signal.butter(2, w), lambda w: signal.chirp(np.linspace(0, 1, 4), w, 1.0, 2.0)):
    try:
        call(pb.tensor(0.3, requires_grad=True))
    except pb.AutogradError as error:
        assert error.code == "SCIPY_ON_GRAD", error
    else:
        raise SystemExit("no error")
"""


def test_19_the_array_interface_differentiates_or_refuses():
    import os

    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", ARRAY_API], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_20_results_are_scipys_classes():
    found = O.minimize(lambda x: ((x - 1) ** 2).sum(), [0.0])
    assert isinstance(found, scipy.optimize.OptimizeResult)
    assert isinstance(found.nit, int)
    assert isinstance(bool(found.success), bool)
    assert isinstance(found.x, pb.Tensor)
    assert "success" in str(found)


def test_21_options_hold_in_their_block_and_thread():
    def failing(p, **options):
        return O.root(lambda y: y * y + p, [1.0], **options).x[0]

    outcomes = []

    def elsewhere():
        try:
            d(failing, 1.0)
        except pb.AutogradError as error:
            outcomes.append(error.code)

    with pb.scipy.differentiation(on_failure="nan"):
        assert np.isnan(d(failing, 1.0))
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        with refused("SCIPY_NOT_CONVERGED"):
            d(lambda p: failing(p, diff=pb.scipy.Diff()), 1.0)
    assert outcomes == ["SCIPY_NOT_CONVERGED"]
    with refused("SCIPY_NOT_CONVERGED"):
        d(failing, 1.0)


@pytest.mark.parametrize("callback", [
    lambda t, y, p: [y[1], -p * y[0]],
    lambda t, y, p: pb.stack([y[1], -p * y[0]]),
    lambda t, y, p: (y[1], pb.reshape(-p * y[0], ())),
])  # fmt: skip
def test_22_callbacks_return_lists_and_tensors(callback):
    found = d(lambda p: I.solve_ivp(callback, (0, 1), [1.0, 0.0], args=(p,), rtol=1e-9, atol=1e-11).y[0, -1], 4.0)
    assert found == pytest.approx(-np.sin(2.0) / 4, rel=1e-6)  # y = cos(sqrt(p) t)


def test_23_a_callback_that_throws_its_derivative_away():
    p = leaf(2.0)
    with refused("SCIPY_CALLBACK_DETACHED"):
        O.brentq(lambda y: float(p * y) - 1, 0, 5)
    assert not O.brentq(lambda y: 2 * y.item() - 1, 0, 5).requires_grad


def test_24_starts_and_brackets_have_no_influence():
    p = leaf(8.0)
    x0 = leaf([1.0])
    found = O.root(lambda y: y**3 - p, x0).x
    by_p, by_start = pb.autograd.grad(found.sum(), [p, x0], allow_unused=True, materialize_grads=True)
    assert by_start.item() == 0.0
    assert by_p.item() == pytest.approx(1 / 12)
    lower, upper = leaf(0.0), leaf(5.0)
    found = O.brentq(lambda y: y**3 - p, lower, upper)
    ends = pb.autograd.grad(found, [lower, upper], allow_unused=True, materialize_grads=True)
    assert [end.item() for end in ends] == [0.0, 0.0]
