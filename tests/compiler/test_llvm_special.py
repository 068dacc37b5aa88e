"""Special functions that native code computes by series of its own, over their whole domains: SciPy's numbers."""

import numpy as np
import pytest

import pullback as pb
import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.declare.op import registry
from pullback.eager import traced_calls

pytest.importorskip("llvmlite")
special = pytest.importorskip("scipy.special")

RANDOM = np.random.default_rng(0)
POSITIVE = np.concatenate(
    [10.0 ** RANDOM.uniform(-37, 36, 2000), RANDOM.uniform(0, 12, 8000), RANDOM.uniform(12, 1e4, 2000)]
)
ROOT = 1.4616321449683622
NEAR = 10.0 ** RANDOM.uniform(-7, -2, 300)
NEGATIVE = -RANDOM.uniform(0, 40, 4000)
ALL = np.concatenate(
    [10.0 ** RANDOM.uniform(-37, 1.5, 2000), RANDOM.uniform(0, 25, 8000), RANDOM.uniform(25, 86, 2000)]
)
BELOW_ONE = np.concatenate([RANDOM.uniform(-1, 1, 8000), 10.0 ** RANDOM.uniform(-37, 0, 2000), 1 - NEAR, NEAR - 1])
EDGES = np.array([-np.inf, -1e30, -3, -2, -1, -0.5, -0.0, 0.0, 0.25, 0.5, 1, 2, 6, 40, 100, 1e10, np.inf, np.nan])

# Where they are computed, and how many units in the last place they may be off SciPy's, which are themselves up to 7
# off in double precision.
FUNCTIONS = {
    "i0": (np.concatenate([ALL, -ALL]), 6),
    "i1": (np.concatenate([ALL, -ALL]), 11),
    "i0e": (np.concatenate([ALL, -ALL]), 6),
    "i1e": (np.concatenate([ALL, -ALL]), 11),
    "gammaln": (POSITIVE, 6),
    "digamma": (np.concatenate([POSITIVE, ROOT + NEAR, ROOT - NEAR]), 6),
    "erfinv": (BELOW_ONE, 6),
}


def natively(name, x):
    """What native code alone gives, without NumPy for what is not finite."""
    op = registry[name]
    with np.errstate(all="ignore"):
        function = traced_calls.native_call(op, (x,), {}, op.kernel(x))
        assert function is not None
        return function(x)[0]


def of_scipy(name, x):
    with np.errstate(all="ignore"):
        return getattr(special, name)(x).astype(x.dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_whole_domain(name, dtype):
    x, units = FUNCTIONS[name]
    x = x.astype(dtype)
    found, expected = natively(f"special.{name}", x), of_scipy(name, x)
    normal = np.isfinite(expected) & (np.abs(expected) > np.finfo(dtype).tiny)
    # Near its zeros SciPy's gammaln is accurate to 1e-16, but not relatively.
    size = np.maximum(np.abs(expected[normal]), 1 if name == "gammaln" else 0)
    off = np.abs(found[normal].astype(float) - expected[normal]) / size / np.finfo(dtype).eps
    assert off.max() <= units, (off.max(), x[normal][off.argmax()])
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*FUNCTIONS, "i2"])
def test_edges(name, dtype):
    x = np.resize(EDGES.astype(dtype), 64)
    with np.errstate(all="ignore"):
        expected = special.iv(dtype(2), x) if name == "i2" else of_scipy(name, x)
    found = natively("_i2" if name == "i2" else f"special.{name}", x)
    np.testing.assert_allclose(found, expected, rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_bessel_functions_of_the_largest_numbers(name, dtype):
    largest = np.finfo(dtype).max
    x = np.array([largest, largest / 2, largest / 5, -largest / 2, -largest], dtype)
    np.testing.assert_allclose(natively(f"special.{name}", x), of_scipy(name, x), rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["gammaln", "digamma"])
def test_below_zero_it_is_as_accurate_as_the_terms_of_the_reflection(name, dtype):
    x = NEGATIVE.astype(dtype)
    found = natively(f"special.{name}", x)
    wide = x.astype(float)
    turn = np.abs(wide - np.floor(wide + 0.5))
    away = turn > 1e-2  # SciPy's own reflection rounds pi * x
    size = np.maximum(1, np.abs(getattr(special, name)(1 - wide)))
    expected = getattr(special, name)(wide)
    off = np.abs(found - expected) / (np.abs(expected) + size) / np.finfo(dtype).eps
    assert off[away].max() < (150 if dtype is np.float64 else 1)


@pytest.mark.parametrize("zero", [1.0, 2.0])
def test_the_logarithm_of_gamma_keeps_its_digits_near_its_zeros(zero):
    distance = np.concatenate([NEAR, -NEAR]) * 1e-3
    found = natively("special.gammaln", zero + distance)
    distance = (zero + distance) - zero
    slope, curve = (-np.euler_gamma, np.pi**2 / 6) if zero == 1 else (1 - np.euler_gamma, np.pi**2 / 6 - 1)
    third = special.zeta(3, zero)
    np.testing.assert_allclose(found, distance * (slope + distance * (curve / 2 - distance * third / 3)), rtol=2e-14)


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_all_orders_of_derivatives_at_zero(name):
    """The derivative of `i1` at 0 is a limit, and so are the higher ones: those of the power series."""
    order, derivative, found = int(name[1]), getattr(pb.special, name), []
    for _ in range(5):
        found.append(derivative(pb.tensor(0.0, dtype="float64")).item())
        derivative = pb.func.grad(derivative)
    expected = [0.0 if (k - order) % 2 or k < order else special.binom(k, (k - order) // 2) / 2**k for k in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-15)
