"""Special functions: SciPy's values, derivatives at the edges, and what happens without SciPy."""

import math
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
import pullback.special
from pullback.autograd import gradcheck, gradgradcheck
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.testing import assert_close

scipy_special = pytest.importorskip("scipy.special", reason="most special functions need SciPy, an optional extra")

INF, NAN = math.inf, math.nan
OPS = [op for op in registry.values() if op.name.startswith("special.")]


def leaf(values):
    return pb.tensor(np.asarray(values, float), requires_grad=True)


def slope(name, *args, argument=0, **params):
    """The derivative of a special function by one argument, the others being numbers."""
    args = [leaf(x) if k == argument else x for k, x in enumerate(args)]
    out = getattr(pb.special, name)(*args, **params)
    return float(pb.autograd.grad(out, args[argument])[0])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_values_are_those_of_scipy(op):
    reference = getattr(scipy_special, op.name.removeprefix("special."))
    for sample in op.sample_rule(Maker(op.name)):
        got, expected = op.function(*sample.operands, **sample.params), reference(*sample.operands, **sample.params)
        for a, b in zip(got, expected) if len(op.outputs) > 1 else [(got, expected)]:
            assert_close(a, b, rtol=1e-14 if a.dtype.char in "dD" else 1e-6, atol=0, check_dtype=False)


@pytest.mark.parametrize(
    "name, args",
    [
        ("chdtr", (3.0, 2.0)), ("chdtrc", (3.0, 2.0)), ("fdtr", (3.0, 4.0, 1.5)), ("gdtr", (1.5, 2.0, 3.0)),
        ("pdtr", (2.0, 3.0)), ("bdtr", (2.0, 5, 0.3)), ("nbdtr", (2.0, 5.0, 0.3)), ("inv_boxcox", (0.5, 0.4)),
        ("inv_boxcox", (0.5, 0.0)), ("inv_boxcox1p", (0.5, 0.3)), ("factorial", (4.0,)), ("factorial", (-1.0,)),
        ("comb", (5.0, 2.0)), ("comb", (3.0, 4.0)), ("logsumexp", ([[1.0, 2.0], [3.0, -1.0]],)),
        ("softmax", ([[1.0, 2.0], [3.0, -1.0]],)), ("log_softmax", ([[1.0, 2.0], [3.0, -1.0]],)),
        ("expit", (0.3,)), ("logit", (0.3,)), ("log_expit", (-3.0,)), ("xlogy", (0.0, 0.0)), ("xlog1py", (2.0, 0.5)),
        ("exp2", (3.0,)), ("cbrt", (5.0,)), ("sinc", (0.4,)), ("softplus", (0.7,)), ("zeta", (2.0,)),
        ("lambertw", (-0.2, -1)), ("multigammaln", (3.0, 2)),
    ],
)  # fmt: skip
def test_functions_made_of_others_have_the_values_of_scipy(name, args):
    expected = getattr(scipy_special, name)(*args)
    assert_close(getattr(pb.special, name)(*args), expected, rtol=1e-13, check_dtype=False)


def test_logsumexp_with_weights_and_signs():
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])
    value, sign = pb.special.logsumexp(a, axis=1, b=b, return_sign=True)
    expected, expected_sign = scipy_special.logsumexp(a, axis=1, b=b, return_sign=True)
    assert_close(value, expected)
    assert_close(sign, expected_sign)
    assert pb.special.logsumexp(a, axis=1, b=abs(b), keepdims=True).shape == (2, 1)
    assert gradcheck(lambda a, b: pb.special.logsumexp(a, axis=0, b=b), (leaf(a), leaf([1.0, 0.5])))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: pb.special.chdtr(2 * x, 1.0 + x), lambda x: pb.special.chdtrc(2 * x, 1.0 + x),
        lambda x: pb.special.fdtr(2 * x, 1 + x, x), lambda x: pb.special.gdtr(x, 1 + x, 0.5 * x),
        lambda x: pb.special.pdtr(2.5, x), lambda x: pb.special.bdtr(2.0, 5 + x, x / 4),
        lambda x: pb.special.nbdtr(2.0, 3 + x, x / 4), lambda x: pb.special.stdtr(1 + x, x - 0.8),
        lambda x: pb.special.inv_boxcox(x, x - 1), lambda x: pb.special.inv_boxcox1p(x, 0.01 * x),
        lambda x: pb.special.factorial(x), lambda x: pb.special.comb(4 + x, x),
        lambda x: pb.special.legendre_polynomial_p(x, 3), lambda x: pb.special.airy_ai(x),
        lambda x: pb.special.multigammaln(2 + x, 3), lambda x: pb.special.spherical_bessel_j0(x),
    ],
)  # fmt: skip
def test_compositions_have_two_derivatives(call):
    x = leaf([0.4, 0.9, 1.7])
    assert gradcheck(call, (x,))
    assert gradgradcheck(call, (x,))


# Numbers computed with 40 digits by differentiating the definitions.
GAMMA_BY_SHAPE = [
    (0.5, 0.3, -0.7705703513753519, 0.6261476558399126), (2.5, 4.0, -0.14765686908718714, -0.06977387933172398),
    (10.0, 8.0, -0.11260572310818615, 0.025433676870481196), (50.0, 60.0, -0.02128499278634949, -0.0038864838466261134),
    (200.0, 180.0, -0.010177598720668575, 0.0010727852662963681), (0.01, 0.001, -5.957905603446865, 36.30008774742207),
    (1000.0, 1100.0, -0.00011048987784079389, -1.0531678471574556e-05),
]  # fmt: skip
BETA_BY_SHAPES = [
    (0.5, 0.5, 0.3, -0.642811481157284, 0.4687445839155054),
    (2.5, 4.0, 0.7, -0.03974400667030277, 0.04565368443686429),
    (0.1, 3.0, 0.01, -2.354269709536432, 0.02752502768146234),
    (300.0, 2.0, 0.99, -0.001481100883176782, 0.1946592062095766),
    (1.5, 0.2, 0.999, -0.04821046256233278, 1.7979620114429195),
    (50.0, 60.0, 0.47, -0.03902720112409138, 0.03352981133130386),
]


@pytest.mark.parametrize("a, x, first, second", GAMMA_BY_SHAPE)
def test_the_incomplete_gamma_function_by_its_shape(a, x, first, second):
    shape = leaf(a)
    (g,) = pb.autograd.grad(pb.special.gammainc(shape, x), shape, create_graph=True)
    assert_close(g, first, rtol=1e-11, atol=0)
    assert_close(pb.autograd.grad(g, shape)[0], second, rtol=1e-11, atol=0)
    assert_close(slope("gammaincc", a, x), -first, rtol=1e-11, atol=0)


@pytest.mark.parametrize("a, b, x, by_a, by_b", BETA_BY_SHAPES)
def test_the_incomplete_beta_function_by_its_shapes(a, b, x, by_a, by_b):
    assert_close(slope("betainc", a, b, x), by_a, rtol=1e-11, atol=0)
    assert_close(slope("betainc", a, b, x, argument=1), by_b, rtol=1e-11, atol=0)


def test_incomplete_functions_at_the_ends():
    assert slope("gammainc", 2.0, 0.0) == 0 and slope("gammainc", 2.0, 1e4) == 0
    for x in (0.0, 1.0):
        assert slope("betainc", 2.0, 3.0, x) == slope("betainc", 2.0, 3.0, x, argument=1) == 0
    assert math.isnan(slope("gammainc", -1.0, 2.0))
    a, y = leaf(2.5), leaf(0.3)
    x = pb.special.gammaincinv(a, y)
    (by_a,) = pb.autograd.grad(pb.special.gammainc(a, x), a)
    assert abs(float(by_a)) < 1e-14  # y stays where it is


@pytest.mark.parametrize(
    "name, args, argument, expected",
    [
        ("exprel", (0.0,), 0, 0.5), ("sinc", (0.0,), 0, 0.0), ("j1", (0.0,), 0, 0.5), ("i1", (0.0,), 0, 0.5),
        ("i0e", (0.0,), 0, 0.0), ("i1e", (0.0,), 0, 0.5), ("ellipk", (0.0,), 0, math.pi / 8),
        ("ellipe", (0.0,), 0, -math.pi / 8), ("ellipkm1", (1.0,), 0, -math.pi / 8), ("spence", (1.0,), 0, -1.0),
        ("boxcox", (3.0, 0.0), 1, math.log(3.0) ** 2 / 2), ("boxcox", (3.0, 0.0), 0, 1 / 3),
        ("boxcox", (0.0, 0.5), 1, 4.0), ("erfinv", (1.0,), 0, INF), ("erfinv", (-1.0,), 0, INF),
        ("ndtri", (0.0,), 0, INF), ("ndtri", (1.0,), 0, INF), ("rel_entr", (0.0, 0.5), 0, 0.0),
        ("rel_entr", (0.0, 0.0), 1, 0.0), ("entr", (0.0,), 0, INF), ("xlogy", (0.0, 0.0), 0, 0.0),
        ("xlogy", (0.0, 0.0), 1, 0.0), ("huber", (1.0, 2.0), 1, 1.0), ("huber", (1.0, 2.0), 0, 1.0),
        ("huber", (1.0, 1.0), 1, 1.0), ("huber", (1.0, 1.0), 0, 0.0), ("gammasgn", (-0.5,), 0, 0.0),
        ("rgamma", (0.0,), 0, 1.0), ("rgamma", (-1.0,), 0, -1.0), ("rgamma", (-3.0,), 0, -6.0),
        ("spherical_jn", (1, 0.0), 1, 1 / 3), ("struve", (0, 0.0), 1, 2 / math.pi), ("sici", (0.0,), 0, 1.0),
        ("eval_legendre", (3, 1.0), 1, 6.0), ("eval_legendre", (2, -1.0), 1, -3.0), ("eval_chebyu", (3, 1.0), 1, 20.0),
        ("eval_hermite", (0, 0.3), 1, 0.0), ("stdtr", (3.0, 0.0), 0, 0.0), ("lambertw", (0.0,), 0, 1.0),
        # As torch has them.
        ("log_ndtr", (-40.0,), 0, 40.024968847212364), ("erfcx", (-1.0,), 0, -11.14633932862008),
        ("i1e", (0.7,), 0, 0.11082128265468205),
        ("entr", (0.3,), 0, 0.20397280432593612), ("ndtri", (0.2,), 0, 3.5719143465773615),
    ],
)  # fmt: skip
def test_derivatives_at_the_edges(name, args, argument, expected):
    args = [leaf(x) if k == argument else x for k, x in enumerate(args)]
    out = getattr(pb.special, name)(*args)
    out = out[0] if isinstance(out, tuple) else out
    (g,) = pb.autograd.grad(out.real if out.dtype.kind == "c" else out, args[argument])
    assert_close(float(g), expected, rtol=1e-12, atol=1e-15)


def test_derivatives_near_removable_singularities_keep_their_digits():
    """Two derivatives of quotients that cancel to nothing if they are written down naively."""
    for name, first, second in (("exprel", 1 / 2, 1 / 3), ("ellipk", math.pi / 8, 9 * math.pi / 64)):
        for x in (0.0, 1e-12, -1e-9, 1e-6):
            point = leaf(x)
            (g,) = pb.autograd.grad(getattr(pb.special, name)(point), point, create_graph=True)
            assert_close(g.item(), first, rtol=3e-6)
            assert abs(g.item() - (first + second * x)) < 1e-11
            assert_close(float(pb.autograd.grad(g, point)[0]), second, rtol=1e-5)


def test_the_far_tails_do_not_overflow():
    assert_close(slope("ndtri_exp", -1e5), 1 / 447.2, rtol=1e-3)
    assert slope("log_ndtr", 50.0) == 0
    assert_close(slope("log_ndtr", -1e10), 1e10)


REFUSED = [
    ("jv", (1.5, 2.0), 0), ("kve", (1.5, 2.0), 0), ("polygamma", (1.0, 2.0), 0), ("zeta", (2.0, 1.0), 0),
    ("hyp2f1", (1.0, 1.0, 2.0, 0.3), 2), ("ellipkinc", (0.3, 0.5), 1), ("expn", (1.0, 2.0), 0),
    ("eval_jacobi", (2.0, 1.0, 1.0, 0.3), 1),
]  # fmt: skip


@pytest.mark.parametrize("name, args, argument", REFUSED)
def test_an_argument_without_derivative_is_named(name, args, argument):
    operand = registry[f"special.{name}"].operands[argument]
    tensors = [leaf(x) if k == argument else x for k, x in enumerate(args)]
    out = getattr(pb.special, name)(*tensors)
    with pytest.raises(NotImplementedError, match=f"special.{name}.*'{operand}'"):
        out.backward()
    # The other arguments are differentiable nevertheless.
    other = {"ellipkinc": 0}.get(name, len(args) - 1)
    assert math.isfinite(slope(name, *args, argument=other))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_slope_of_digamma_far_below_zero(dtype):
    """Where SciPy, which adds up one by one, does not come back."""
    x = pb.tensor(np.array([-INF, -1e30, -1e6 - 0.25, -1000.25, -999.75, NAN], dtype), requires_grad=True)
    (slope,) = pb.autograd.grad(pb.special.digamma(x).sum(), x)
    rest = 1 / 1001.0  # of the sum over all integers
    expected = [INF, INF, 2 * math.pi**2, 2 * math.pi**2 - rest, 2 * math.pi**2 - rest, NAN]
    assert slope.dtype == dtype
    assert_close(slope, np.array(expected, dtype), rtol=1e-6, equal_nan=True)


def test_complex_digamma_has_no_second_derivative_and_says_so():
    z = pb.tensor(1.0 + 0.5j, requires_grad=True)
    out = pb.special.loggamma(z)
    (g,) = pb.autograd.grad(out, z, pb.tensor(1.0 + 0j), create_graph=True)
    assert_close(g.detach().numpy().conj(), scipy_special.digamma(1.0 + 0.5j))
    with pytest.raises(NotImplementedError, match="digamma"):
        pb.autograd.grad(g, z, pb.tensor(1.0 + 0j))


SEVERAL = [op for op in OPS if len(op.operands) > 1]


@pytest.mark.parametrize("op", SEVERAL, ids=lambda op: op.name)
def test_numbers_count_as_constants(op):
    """An operand that is a Python number gives the derivative that a tensor without gradient gives."""
    sample = next(s for s in op.sample_rule(Maker(op.name)) if s.label == "scalar")
    for position, operand in enumerate(sample.operands):
        if operand.dtype.kind != "f":
            continue
        results = []
        for wrap in (lambda value: value.item(), pb.tensor):
            args = [leaf(x) if k == position else wrap(x) for k, x in enumerate(sample.operands)]
            out = op.function(*args, **sample.params)
            (g,) = pb.autograd.grad(out, args[position], pb.tensor(np.ones((), out.dtype)), create_graph=True)
            (h,) = pb.autograd.grad(g, args[position], allow_unused=True) if g.requires_grad else (None,)
            results.append((out, g, pb.tensor(0.0) if h is None else h))
        for a, b in zip(*results):
            assert_close(a.detach(), b.detach(), rtol=1e-12)


def test_names_of_torch_are_there():
    x = pb.tensor([0.3, 0.7])
    for name, other in (("bessel_j0", "j0"), ("modified_bessel_k1", "k1"), ("lgamma", "gammaln"), ("psi", "digamma")):
        assert getattr(pb.special, name) is getattr(pb.special, other)
    assert_close(pb.special.chebyshev_polynomial_t(x, 3), scipy_special.eval_chebyt(3, x.numpy()))
    assert_close(pb.special.mvlgamma(x + 2, d=2), scipy_special.multigammaln(x.numpy() + 2, 2))
    with pytest.raises(ValueError, match="positive integer"):
        pb.special.multigammaln(x, 0)


# Without SciPy


KERNELS = {
    "exprel": 1, "entr": 1, "rel_entr": 2, "kl_div": 2, "huber": 2, "erf": 1, "erfc": 1, "ndtr": 1, "cosm1": 1,
    "exp10": 1, "boxcox": 2, "boxcox1p": 2, "pseudo_huber": 2,
}  # fmt: skip
PROBE = """
import sys
sys.modules["scipy"] = None
import numpy as np
import pullback as pb
import pullback.special
grid = np.array([0.0, 0.2, 1.0, 2.5, 1e-8, 7.0])
x, y = np.meshgrid(grid, grid)
for name, count in {kernels}.items():
    for dtype in (np.float64, np.float32):
        out = getattr(pb.special, name)(*[pb.tensor(v.astype(dtype)) for v in (x, y)[:count]])
        assert out.dtype == dtype, (name, out.dtype)
        print(name, dtype.__name__, *[float(v).hex() for v in out.numpy().ravel()])
leaf = pb.tensor(0.3, requires_grad=True)
for name in ("erf", "ndtr", "xlogy", "boxcox"):
    args = (leaf,) if name in ("erf", "ndtr") else (leaf, 0.5)
    getattr(pb.special, name)(*args).backward()
try:
    pb.special.gammaln(leaf)
except ImportError as error:
    assert "pullback[scipy]" in str(error) and "special.gammaln" in str(error)
else:
    raise AssertionError("gammaln worked without SciPy")
"""


def test_what_numpy_can_compute_works_without_scipy_and_the_rest_names_the_extra():
    script = PROBE.replace("{kernels}", repr(KERNELS))
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    grid = np.array([0.0, 0.2, 1.0, 2.5, 1e-8, 7.0])
    x, y = np.meshgrid(grid, grid)
    lines = run.stdout.splitlines()
    assert len(lines) == 2 * len(KERNELS)
    for line in lines:
        name, dtype, *values = line.split()
        with np.errstate(all="ignore"):
            expected = getattr(scipy_special, name)(*[v.astype(dtype) for v in (x, y)[: KERNELS[name]]])
        got = np.array([float.fromhex(value) for value in values])
        tolerance = 1e-13 if dtype == "float64" else 1e-5
        assert_close(got, expected.ravel().astype(float), rtol=tolerance, atol=tolerance * 1e-3, equal_nan=True)


def test_scipy_is_imported_with_the_family_and_not_before():
    script = """
import sys, pullback
assert "scipy" not in sys.modules
import pullback.special
assert "scipy" in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.parametrize("kind", "tuvw")
def test_four_kinds_of_chebyshev_polynomials(kind):
    """By their definition as ratios of trigonometric functions of the angle whose cosine is `x`."""
    x, n = np.array([-0.7, 0.1, 0.6]), np.array([[0], [1], [2], [5]])
    t = np.arccos(x)
    expected = {
        "t": np.cos(n * t), "u": np.sin((n + 1) * t) / np.sin(t), "v": np.cos((n + 0.5) * t) / np.cos(t / 2),
        "w": np.sin((n + 0.5) * t) / np.sin(t / 2),
    }[kind]  # fmt: skip
    polynomial = getattr(pb.special, f"chebyshev_polynomial_{kind}")
    shifted = getattr(pb.special, f"shifted_chebyshev_polynomial_{kind}")
    assert_close(polynomial(x, n), expected)
    assert_close(shifted((x + 1) / 2, n), expected)
    point = pb.tensor(x, requires_grad=True)
    assert gradcheck(lambda x: polynomial(x, n), (point,), check_forward_ad=True)
    assert gradcheck(lambda x: shifted(x, n), (point,), check_forward_ad=True)


def test_hermite_polynomials_take_whole_degrees_of_any_type():
    x = np.array([0.5, 1.5])
    for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
        polynomial = getattr(pb.special, name)
        for degree in (3.0, np.float32(3), pb.tensor(3.0), np.array([3.0, 3.0])):
            assert_close(polynomial(x, degree), polynomial(x, 3))
        with pytest.raises(ValueError, match="whole"):
            polynomial(x, 2.5)


@pytest.mark.parametrize("b", [[1, 0], [0, 1], [2.0, -1.0]])
@pytest.mark.parametrize("a", [[-1000.0, -2.0], [1e3, 0.0], [-1000.0, -1000.0], [1 + 2j, -3 + 1j]])
def test_weights_of_zero_do_not_decide_the_scale_of_logsumexp(a, b):
    scipy_special = pytest.importorskip("scipy.special")
    with np.errstate(all="ignore"):
        wanted = scipy_special.logsumexp(a, b=b, return_sign=True)
        found = pb.special.logsumexp(pb.tensor(a), b=pb.tensor(b), return_sign=True)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    weights = pb.tensor([0.0, 1.0], requires_grad=True)
    pb.special.logsumexp(pb.tensor([1.0, 2.0]), b=weights).backward()
    np.testing.assert_allclose(weights.grad.numpy(), [np.exp(-1.0), 1.0])
