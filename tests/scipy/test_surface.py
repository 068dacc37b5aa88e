"""Every public name of SciPy's resolves: ours, SciPy's own, or a guard that loses nothing silently."""

import importlib
import inspect
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.scipy import _surface


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", _surface.SUBPACKAGES)
def test_every_public_name_resolves(path):
    module = importlib.import_module(f"pullback.scipy.{path}")
    for name in _surface.public_names(path):
        if hasattr(_surface.scipy_module(path), name):
            getattr(module, name)
            assert pb.scipy.rule(f"{path}.{name}").kind in _surface.KINDS


def test_signatures_are_scipys():
    for name, rule in _surface._declared.items():
        plain = _surface.scipy_value(name)
        if rule.kind in "XK" or not (inspect.isclass(plain) or inspect.isfunction(plain)):
            continue  # ufuncs and distributions have the signature of all of their kind
        if name == "spatial.cKDTree":
            continue  # written in Cython, without a signature that Python could see
        package, _, own = name.rpartition(".")
        assert parameters(_surface.resolve(package, own)) == parameters(plain), name


def parameters(function):
    """The parameters of a function by kind and default; values that differ from themselves by their text."""
    known = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, str(each.default)) for each in known if each.name != "diff"]


def test_importing_pullback_does_not_import_scipy():
    code = "import sys, pullback; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_guard_refuses_what_would_lose_a_derivative():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(pb.AutogradError) as raised:
        pb.scipy.optimize.approx_fprime(x, lambda v: (v * v).sum())
    assert raised.value.code == "SCIPY_NO_RULE"
    assert "approx_fprime" in str(raised.value)
    with pytest.raises(pb.AutogradError) as raised:
        pb.scipy.optimize.approx_fprime(x.detach(), lambda v: (v * x).sum())
    assert raised.value.code == "SCIPY_NO_RULE"
    slope = pb.scipy.optimize.approx_fprime(x.detach(), lambda v: (v * v).sum())
    assert isinstance(slope, pb.Tensor)


def test_classes_and_exceptions_are_scipys():
    assert pb.scipy.optimize.OptimizeResult is scipy.optimize.OptimizeResult
    assert pb.scipy.optimize.NoConvergence is scipy.optimize.NoConvergence


def test_a_name_that_scipy_does_not_have():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = pb.scipy.optimize.no_such_name
    with pytest.raises(ValueError, match="no_such_name"):
        pb.scipy.rule("optimize.no_such_name")


def test_options_are_in_force_in_their_block_and_thread():
    from pullback.scipy._options import in_force

    seen = []
    with pb.scipy.differentiation(on_failure="nan"):
        assert in_force(None).on_failure == "nan"
        assert in_force(pb.scipy.Diff()).on_failure == "raise"
        with pb.scipy.differentiation(polish=2):
            assert (in_force(None).on_failure, in_force(None).polish) == ("nan", 2)
        thread = threading.Thread(target=lambda: seen.append(in_force(None).on_failure))
        thread.start()
        thread.join()
    assert in_force(None).on_failure == "raise"
    assert seen == ["raise"]


@pytest.mark.parametrize("options", [{"on_failure": "x"}, {"solver": "x"}, {"on_degenerate": "x"}, {"hessian": "x"}])
def test_unknown_options_are_refused(options):
    with pytest.raises(ValueError, match="must be one of"), pb.scipy.differentiation(**options):
        pass
    with pytest.raises(TypeError, match="diff= takes"):
        pb.scipy.optimize.brentq(lambda y: y - 1, 0, 2, diff="steps")


P = pb.tensor(2.0, requires_grad=True)


@pytest.mark.parametrize(
    "name, call",
    [
        ("optimize.brentq", lambda f: f(lambda y: y * y - P, 0, 5)),
        ("optimize.ridder", lambda f: f(lambda y: y * y - P, 0, 5)),
        ("optimize.toms748", lambda f: f(lambda y: y * y - P, 0, 5)),
        ("optimize.root", lambda f: f(lambda y: y - P, [1.0])),
        ("optimize.minimize", lambda f: f(lambda y: ((y - P) ** 2).sum(), [1.0])),
        ("optimize.least_squares", lambda f: f(lambda y: y - P, [1.0])),
        ("optimize.leastsq", lambda f: f(lambda y: y - P, [1.0])),
        ("integrate.quad", lambda f: f(lambda t: P * t, 0, 1)),
        ("integrate.solve_ivp", lambda f: f(lambda t, y: -P * y, (0, 1), [1.0])),
        ("integrate.odeint", lambda f: f(lambda y, t: -P * y, 1.0, [0.0, 1.0])),
    ],
)
def test_scipys_own_function_names_ours_instead_of_losing_a_derivative(name, call):
    package, _, own = name.rpartition(".")
    plain = _surface.scipy_value(name)
    with pytest.raises(pb.AutogradError) as raised:
        call(plain)
    assert raised.value.code == "SCIPY_ON_GRAD"
    assert "NUMPY_ON_GRAD" in raised.value.codes
    assert f"pb.scipy.{package}." in str(raised.value)
    assert own in str(raised.value)


def test_what_ours_does_not_do_is_scipys_for_numbers_and_refused_for_tensors():
    """Options without a derivative raised, in programs that never asked for one."""
    integrate = pb.scipy.integrate
    p = pb.tensor([2.0, 3.0], requires_grad=True)
    found = integrate.nsum(lambda k, q: 1 / k**q, 1, np.inf, args=(np.array([2.0, 3.0]),))
    np.testing.assert_allclose(found.sum.numpy(), [np.pi**2 / 6, 1.2020569], rtol=1e-6)
    with pytest.raises(pb.AutogradError, match="several sums at once") as caught:
        integrate.nsum(lambda k, q: 1 / k**q, 1, np.inf, args=(p,))
    assert caught.value.code == "SCIPY_NO_RULE"


def test_a_guarded_callback_has_as_many_arguments_as_the_users():
    matrix = np.array([[0.0, 2, 2], [0, 1, 2], [1, 0, 1]])
    assert pb.scipy.linalg.schur(matrix, output="complex", sort=lambda x: x.imag > 1e-15)[2] == 1
    data = (np.arange(5.0), np.arange(5.0) + 1)
    found = pb.scipy.stats.permutation_test(data, lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis), n_resamples=9)
    assert found.statistic.item() == -1.0
