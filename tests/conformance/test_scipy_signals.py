"""Conformance cases 156 to 179: signals, images, space, special functions, and everything together."""

import threading
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.special

import pullback as pb
from pullback.func import grad
from pullback.scipy import _special_rules, spatial
from pullback.scipy import fft as F
from pullback.scipy import integrate as I
from pullback.scipy import ndimage as N
from pullback.scipy import optimize as O
from pullback.scipy import signal as G
from pullback.scipy import special as sp
from pullback.scipy.sparse import linalg as SL
from pullback.scipy.spatial import distance as D
from pullback.scipy.spatial.transform import Rotation

from .scipy_cases import adjoint, agrees, d, gc, leaf, refused

RNG = np.random.default_rng(0)
X = RNG.standard_normal(24)


def test_156_filters():
    b, a = [0.2, 0.3, 0.2], [1.0, -0.4, 0.1]
    sos = np.array([[0.2, 0.3, 0.2, 1.0, -0.4, 0.1]])
    gc(lambda b, a, x: G.filtfilt(b, a, x), b, a, X)
    gc(lambda s, x: G.sosfilt(s, x), sos, X)
    adjoint(lambda x: G.filtfilt(b, a, x), X, 1e-11)
    adjoint(lambda x: G.sosfilt(sos, x), X)
    adjoint(lambda x: G.sosfiltfilt(sos, x), X, 1e-11)


def test_157_linear_maps():
    for mode in ("mirror", "nearest", "wrap", "constant", "interp"):
        adjoint(lambda x, m=mode: G.savgol_filter(x, 5, 2, mode=m), X)
    adjoint(lambda x: G.upfirdn([1.0, 2.0, 1.0], x, 2, 3), X)
    adjoint(lambda x: G.resample_poly(x, 2, 3), X, 1e-11)
    adjoint(lambda x: G.decimate(x, 2, ftype="fir"), X, 1e-11)
    for mode in ("full", "same", "valid"):
        for method in ("direct", "fft"):
            adjoint(lambda x, m=mode, k=method: G.convolve(x, [1.0, -2.0, 0.5], m, k), X)


def test_158_spectra_and_windows():
    x = leaf(X)
    _, _, z = G.stft(x, nperseg=8)
    back = G.istft(z, nperseg=8)[1][: len(X)]
    np.testing.assert_allclose(pb.autograd.grad(back.sum(), [x])[0].numpy(), 1.0, atol=1e-9)
    gc(lambda x: G.welch(x, nperseg=8)[1], X)
    assert d(lambda beta: G.windows.kaiser(5, beta)[1], 3.0) == pytest.approx(-0.100746686, rel=1e-6)


def test_159_designs():
    assert d(lambda w: G.butter(2, w)[0][0], 0.3) == pytest.approx(0.699470923, rel=1e-6)
    gc(lambda w: G.cheby1(2, 1.0, w)[0], 0.3)
    gc(lambda w: G.firwin(5, w), 0.3)
    gc(lambda b: G.tf2zpk(b, [1.0])[0].real, [1.0, -3.0, 2.0])


def test_160_choices():
    x = leaf(X)
    (found,) = pb.autograd.grad(G.medfilt(x, 3).sum(), [x])
    assert set(np.unique(found.numpy())) <= {0.0, 1.0, 2.0, 3.0}
    assert np.asarray(G.find_peaks(x)[0]).dtype.kind != "f"


def test_161_images():
    impulse = np.zeros(9)
    impulse[4] = 1.0
    assert d(lambda s: N.gaussian_filter(impulse, s)[4], 1.0) == pytest.approx(-0.398914745, rel=1e-5)
    image = RNG.standard_normal((5, 6))
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        for call in (
            lambda x, m: N.gaussian_filter(x, 1.0, mode=m), lambda x, m: N.sobel(x, mode=m),
            lambda x, m: N.uniform_filter(x, 3, mode=m, origin=-1), lambda x, m: N.laplace(x, mode=m),
        ):  # fmt: skip
            adjoint(lambda x, c=call, m=mode: c(x, m), image, 1e-11)


def test_162_samples():
    squares = np.arange(5.0) ** 2
    for order, expected in ((1, 3.0), (3, 3.107142857)):
        found = d(lambda c, o=order: N.map_coordinates(squares, c[None], order=o, mode="mirror").sum(), [1.5])
        assert found[0] == pytest.approx(expected, rel=1e-6)
    image, places = RNG.standard_normal((5, 6)), np.array([[1.2, 2.7, 3.1], [0.4, 4.3, 2.6]])
    for order in range(6):
        adjoint(lambda x, o=order: N.map_coordinates(x, places, order=o), image, 1e-10)


def test_163_transforms():
    image = RNG.standard_normal((6, 6))
    agrees(lambda a: N.rotate(image, a, reshape=False, order=3, mode="mirror").sum(), 20.0, 1e-5)
    agrees(
        lambda m: N.affine_transform(image, m, offset=[0.3, 0.2], order=3, mode="mirror").sum(),
        [[0.9, 0.1], [-0.1, 1.1]],
        1e-5,
    )
    agrees(lambda s: N.shift(image, s, order=3, mode="mirror").sum(), [0.3, -0.4], 1e-5)


def test_164_selections():
    image = leaf(RNG.standard_normal((5, 5)))
    for name in ("median_filter", "maximum_filter", "grey_dilation"):
        (found,) = pb.autograd.grad(getattr(N, name)(image, size=3).sum(), [image])
        assert found.numpy().sum() == pytest.approx(25.0)
    labels = np.repeat([1, 2], [2, 3])[:, None] * np.ones(5, int)
    gc(lambda x: N.mean(x, labels, [1, 2]), image.detach().numpy())


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "cosine", "correlation", "chebyshev",
                                    "canberra", "braycurtis", "minkowski"])  # fmt: skip
def test_165_distances(metric):
    a, b = RNG.standard_normal((3, 4)), RNG.standard_normal((2, 4))
    gc(lambda a, b: D.cdist(a, b, metric), a, b)
    gc(lambda a: D.pdist(a, metric), a)


def test_165_points_that_coincide():
    np.testing.assert_allclose(d(lambda a: D.cdist(a, np.ones((1, 2))).sum(), np.ones((1, 2))), 0.0)


def test_166_rotations():
    v, x = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, 3.0])
    gc(lambda v, x: Rotation.from_rotvec(v).apply(x), v, x)
    gc(lambda a: Rotation.from_euler("xyz", a).as_matrix(), v)
    gc(lambda a: (Rotation.from_rotvec(a) * Rotation.from_rotvec(v).inv()).as_quat(), x / 4)
    found = pb.func.jacrev(lambda v: Rotation.from_rotvec(v).apply(x))(pb.zeros(3)).numpy()
    np.testing.assert_allclose(found, [[0, 3, -2], [-3, 0, 1], [2, -1, 0]], atol=1e-12)
    with refused("SCIPY_DEGENERATE"):
        d(lambda a: Rotation.from_euler("xyz", a).as_euler("xyz")[0], [0.3, np.pi / 2, 0.2])


def test_167_neighbours_and_hulls():
    data, points = RNG.standard_normal((6, 2)), RNG.standard_normal((2, 2))
    gc(lambda p: spatial.KDTree(data).query(p, k=2)[0], points)
    corners = lambda w: pb.stack([pb.stack([0 * w, 0 * w]), pb.stack([w, 0 * w]), pb.stack([w, 0 * w + 1]),
                                  pb.stack([0 * w, 0 * w + 1])])  # fmt: skip
    assert d(lambda w: spatial.ConvexHull(corners(w)).volume, 2.0) == pytest.approx(1.0)


@pytest.mark.parametrize("function, at, expected", [
    (lambda u: sp.ellipj(u, 0.3)[0], 0.5, 0.850192197),
    (lambda x: sp.hyperu(1.0, 2.5, x), 0.7, -3.885623512),
    (lambda x: sp.elliprf(x, 1.0, 2.0), 0.5, -0.237033669),
    (lambda q: sp.stdtrit(3.0, q), 0.7, 3.375389360),
    (lambda x: sp.voigt_profile(x, 1.0, 0.5), 0.7, -0.110003768),
])  # fmt: skip
def test_168_special_functions(function, at, expected):
    assert d(function, at) == pytest.approx(expected, rel=1e-6)


_PRO, _OBL = float(scipy.special.pro_cv(1, 2, 1.5)), float(scipy.special.obl_cv(1, 2, 1.5))
BY = {
    "radian": (10.0, 20.0, 30.0), "powm1": (1.3, 0.7), "agm": (1.0, 2.3), "voigt_profile": (0.7, 1.0, 0.5),
    "stdtrit": (3.0, 0.7), "chdtri": (3.0, 0.4), "pdtrc": (2.0, 1.5), "bdtrc": (2.0, 5.0, 0.3), "ellipj": (0.5, 0.3),
    "nbdtrc": (2.0, 5.0, 0.3), "gdtrc": (1.0, 2.0, 1.5), "fdtrc": (3.0, 4.0, 1.2), "hyperu": (1.0, 2.5, 0.7),
    "elliprf": (0.5, 1.0, 2.0), "elliprc": (0.5, 2.0), "pbdv": (0.7, 1.1), "pbvv": (0.7, 1.1), "pbwa": (0.7, 1.1),
    "bdtri": (3.0, 10.0, 0.4), "bdtrik": (0.4, 10.0, 0.35), "bdtrin": (3.0, 0.4, 0.35), "btdtria": (0.4, 2.0, 0.3),
    "btdtrib": (2.0, 0.4, 0.3), "chdtriv": (0.4, 3.0), "fdtri": (3.0, 5.0, 0.4), "fdtridfd": (3.0, 0.4, 0.8),
    "gdtria": (0.4, 2.0, 1.5), "gdtrib": (1.5, 0.4, 2.0), "gdtrix": (1.5, 2.0, 0.4), "nbdtri": (3.0, 5.0, 0.4),
    "nbdtrik": (0.4, 5.0, 0.6), "nbdtrin": (3.0, 0.4, 0.6), "pdtri": (3.0, 0.4), "pdtrik": (0.4, 3.0),
    "stdtridf": (0.7, 0.6), "nrdtrimn": (0.3, 2.0, 1.0), "nrdtrisd": (0.3, 0.7, 1.0), "chndtr": (3.0, 2.5, 1.5),
    "ncfdtr": (3.0, 5.0, 1.5, 0.8), "nctdtr": (4.0, 0.8, 0.9), "chndtrix": (0.4, 2.5, 1.5),
    "chndtridf": (3.0, 0.4, 1.5), "chndtrinc": (3.0, 2.5, 0.4), "ncfdtri": (3.0, 5.0, 1.5, 0.4),
    "ncfdtridfd": (3.0, 0.4, 1.5, 1.2), "ncfdtrinc": (3.0, 5.0, 0.4, 1.2),
    "nctdtridf": (0.6, 0.8, 1.1), "nctdtrinc": (4.0, 0.4, 0.9), "nctdtrit": (4.0, 0.8, 0.4), "kolmogorov": (0.8,),
    "smirnov": (7.0, 0.3), "kolmogi": (0.4,), "smirnovi": (7.0, 0.3), "elliprd": (0.5, 1.1, 2.0),
    "elliprj": (0.5, 1.1, 2.0, 0.8), "elliprg": (0.5, 1.1, 2.0), "pro_ang1": (1.0, 2.0, 1.5, 0.3),
    "pro_rad1": (1.0, 2.0, 1.5, 1.3), "obl_ang1": (1.0, 2.0, 1.5, 0.3), "obl_rad1": (1.0, 2.0, 1.5, 1.3),
    "mathieu_cem": (2.0, 1.5, 40.0), "mathieu_sem": (2.0, 1.5, 40.0), "mathieu_modcem1": (2.0, 1.5, 0.7),
    "mathieu_modcem2": (2.0, 1.5, 0.7), "mathieu_modsem1": (2.0, 1.5, 0.7), "mathieu_modsem2": (2.0, 1.5, 0.7),
    "mathieu_a": (2.0, 1.5), "mathieu_b": (2.0, 1.5), "besselpoly": (0.7, 1.5, 1.0),
    "eval_sh_jacobi": (3.0, 2.5, 1.5, 0.3), "lpmv": (1.0, 2.5, 0.3), "wright_bessel": (0.7, 1.2, 0.9),
    "log_wright_bessel": (0.7, 1.2, 0.9), "perm": (7.3, 2.4), "softplus": (0.4,), "modfresnelp": (0.7,),
    "modfresnelm": (0.7,), "airye": (0.8,), "tklmbda": (0.4, 0.3), "jvp": (1.0, 0.8), "yvp": (1.0, 0.8),
    "h1vp": (1.0, 0.8), "h2vp": (1.0, 0.8), "ivp": (1.0, 0.8), "kvp": (1.0, 0.8), "diric": (0.8, 5.0), "sinc": (0.4,),
    "assoc_laguerre": (0.4, 3.0), "kelvin": (0.8,),
    "pro_cv": (1.0, 2.0, 1.5), "obl_cv": (1.0, 2.0, 1.5),
    "pro_ang1_cv": (1.0, 2.0, 1.5, _PRO, 0.3), "pro_rad1_cv": (1.0, 2.0, 1.5, _PRO, 1.3),
    "obl_ang1_cv": (1.0, 2.0, 1.5, _OBL, 0.3), "obl_rad1_cv": (1.0, 2.0, 1.5, _OBL, 1.3),
}  # fmt: skip
FORMULAS = sorted(
    name for name in sp.__all__
    if getattr(getattr(sp, name), "__module__", "") == _special_rules.__name__ and name != "ncfdtridfn"
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("name", FORMULAS)
def test_169_formulas_by_every_argument(name):
    at = BY.get(name) or ((3.0, 0.4) if name.startswith("eval") else (0.5, 1.3)[2 - getattr(scipy.special, name).nin :])
    differentiated = 0
    for k in range(len(at)):

        def own(x, k=k):
            parts = getattr(sp, name)(*at[:k], x, *at[k + 1 :])
            parts = parts if isinstance(parts, tuple) else (parts,)
            return tuple(part.real + 2 * part.imag if part.dtype.kind == "c" else part for part in parts)

        try:
            gc(own, at[k])
            differentiated += 1
        except pb.AutogradError as error:
            assert error.code == "SCIPY_NO_ARG_RULE"
    assert differentiated


def test_169_an_inverse_whose_search_is_too_coarse_for_differences():
    at = (3.0, 5.0, 1.5, 0.3)
    p = float(scipy.special.ncfdtr(*at))
    direct = d(lambda n: sp.ncfdtr(n, *at[1:]), 3.0)
    assert d(lambda p: sp.ncfdtridfn(p, *at[1:]), p) == pytest.approx(1 / direct, rel=1e-5)
    assert np.isnan(d(lambda p: sp.ncfdtridfn(p, 5.0, 1.5, 1.2), 0.44))  # SciPy's search ends at 1e-100


def test_169_what_has_no_formula_is_refused():
    for name in ("pro_rad2", "obl_rad2", "zetac"):
        ufunc = getattr(scipy.special, name)
        for function in (ufunc, getattr(sp, name)):
            with refused("SCIPY_NO_RULE"):
                function(*[leaf(1.0)] * ufunc.nin)


def test_170_transforms():
    x = RNG.standard_normal((3, 4))
    gc(lambda x: F.dstn(x), x)
    gc(lambda x: F.idctn(x, norm="ortho"), x)
    gc(lambda a: F.fht(a, 0.1, 0.5), np.abs(X[:8]) + 0.5)


def test_171_one_node_with_a_name():
    p = leaf(8.0)
    found = O.root(lambda y: y**3 - p, [1.0]).x
    assert type(found.grad_fn).__name__ == "RootBackward" or "Root" in str(found.grad_fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pb.autograd.detect_anomaly():
            found.sum().backward()
    assert p.grad.item() == pytest.approx(1 / 12)


def test_172_threads():
    def slopes(p):
        ode = d(lambda k: I.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], rtol=1e-5).y[0, -1], p)
        root = d(lambda k: O.brentq(lambda y: y**3 - k, 0, 3), p)
        return float(ode), float(root)

    points = [1.0, 1.5, 2.0, 2.5]
    expected = [slopes(p) for p in points]
    found = {}
    threads = [threading.Thread(target=lambda p=p: found.update({p: [slopes(p) for _ in range(3)]})) for p in points]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for p, one in zip(points, expected, strict=True):
        for each in found[p]:
            assert each == pytest.approx(one, rel=1e-9)


def test_173_checkpoints():
    runs = []

    def solved(p):
        def f(y):
            runs.append(1)
            return y**3 - p

        return O.brentq(f, 0, 5)

    p = leaf(8.0)
    pb.utils.checkpoint.checkpoint(solved, p).backward()
    assert p.grad.item() == pytest.approx(1 / 12)


def test_174_without_recording_nothing_is_kept():
    p = leaf(8.0)
    with pb.no_grad():
        assert not O.root(lambda y: y**3 - p, [1.0]).x.requires_grad


def test_175_many_calls_compile_once():
    from pullback.scipy import _compiled

    def cost(k):
        return I.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], t_eval=[1.0]).y[0, -1]

    for k in np.linspace(0.5, 1.5, 10):
        cost(leaf(k))
    forms = [form for program in _compiled._here.programs.values() for form in program._forms.values()]
    before = [form._misses for form in forms]
    for k in np.linspace(0.5, 1.5, 30):
        cost(leaf(k))
    assert [form._misses for form in forms] == before


def test_176_single_precision():
    p = pb.tensor(np.float32(8.0), requires_grad=True)
    O.brentq(lambda y: y**3 - p, 0, 5).backward()
    assert p.grad.dtype == np.float32
    assert p.grad.item() == pytest.approx(1 / 12, rel=1e-6)


def test_177_scipys_own_examples():
    def fun(x):
        return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]]

    assert O.root(fun, [0, 0]).x.numpy() == pytest.approx([0.8411639, 0.1588361], abs=1e-7)
    found = O.minimize(O.rosen, [1.3, 0.7, 0.8, 1.9, 1.2], method="BFGS")
    assert found.x.numpy() == pytest.approx(np.ones(5), abs=1e-4)
    assert I.quad(lambda x: x**2, 0, 4)[0].item() == pytest.approx(21.333333333333332)
    found = I.solve_ivp(lambda t, y: -0.5 * y, [0, 10], [2, 4, 8]).y.numpy()
    assert np.array_equal(found, scipy.integrate.solve_ivp(lambda t, y: -0.5 * y, [0, 10], [2, 4, 8]).y)
    matrix = scipy.sparse.csc_array([[3, 2, 0], [1, -1, 0], [0, 5, 1.0]])
    assert SL.spsolve(matrix, [2.0, 4, -1]).numpy() == pytest.approx([2.0, -2.0, 9.0])


SOLVED = [name for name, rule in pb.scipy.rules().items() if rule.kind in "IA"]


def test_179_what_solves_refuses_what_did_not_converge():
    """Both modes, second order, vmap and compiled code of each kind are in the cases above; here what fails."""
    assert {"optimize.root", "optimize.minimize", "integrate.quad", "integrate.solve_ivp"} <= set(SOLVED)
    failing = {
        "root": lambda p: O.root(lambda y: y * y + p, [1.0]).x.sum(),
        "fsolve": lambda p: O.fsolve(lambda y: y * y + p, [1.0]).sum(),
        "minimize": lambda p: O.minimize(lambda y: ((y - p) ** 4).sum(), [99.0], options={"maxiter": 1}).x.sum(),
        "newton": lambda p: O.newton(lambda y: y * y + p, 1.0, maxiter=5, disp=False),
        "least_squares": lambda p: O.least_squares(lambda y: pb.exp(y) - p - 1e4, [1.0], max_nfev=1).x.sum(),
    }
    for name, function in failing.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((pb.AutogradError, RuntimeError)) as caught:
                grad(function)(pb.tensor(1.0))
        assert getattr(caught.value, "code", "SCIPY_NOT_CONVERGED").startswith("SCIPY_"), name
