"""Functions that are SciPy's own text on tensors: each is compared with differences of SciPy's values.

A table has an entry for every function that is declared so: what no entry has seen is not declared.
"""

import importlib

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
import scipy.signal
import scipy.spatial
import scipy.stats

import pullback as pb
from pullback.core.pytree import flatten
from pullback.scipy import _replay, _surface

rng = np.random.default_rng(0)
X, Y, Z = rng.random(12) + 0.5, rng.random(12) + 0.7, rng.random((4, 3)) + 0.2
HALF = np.arange(12) % 2 == 0

ALONE = (
    "circmean circstd circvar describe differential_entropy entropy gmean gstd gzscore hmean iqr jarque_bera kstat "
    "kstatvar kurtosis kurtosistest lmoment median_abs_deviation normaltest obrientransform probplot sem sigmaclip "
    "skew skewtest tmax tmean tmin tsem tstd tvar variation zscore expectile chisquare"
)
PAIRS = (
    "bartlett energy_distance epps_singleton_2samp f_oneway levene linregress pearsonr theilslopes ttest_ind ttest_rel "
    "wasserstein_distance zmap"
)
STATS = {
    **{name: (lambda m, x, name=name: getattr(m, name)(x), X) for name in ALONE.split()},
    **{name: (lambda m, x, name=name: getattr(m, name)(x, Y), X) for name in PAIRS.split()},
    "bayes_mvs": (lambda m, x: [each.statistic for each in m.bayes_mvs(x)], X),
    "binned_statistic": (lambda m, x: m.binned_statistic(Y, x, "mean", bins=3)[0], X),
    "boxcox": (lambda m, x: m.boxcox(x, lmbda=0.3), X),
    "boxcox_llf": (lambda m, x: m.boxcox_llf(0.3, x), X),
    "chi2_contingency": (lambda m, x: m.chi2_contingency(x)[:2], Z * 10),
    "combine_pvalues": (lambda m, p: m.combine_pvalues(p, method="stouffer"), X * 0.3),
    "false_discovery_control": (lambda m, p: m.false_discovery_control(p), X * 0.3),
    "moment": (lambda m, x: m.moment(x, order=3), X),
    "pmean": (lambda m, x: m.pmean(x, 3), X),
    "pointbiserialr": (lambda m, x: m.pointbiserialr(HALF, x), X),
    "power_divergence": (lambda m, x: m.power_divergence(x, lambda_="log-likelihood"), X),
    "quantile": (lambda m, x: m.quantile(x, [0.2, 0.5]), X),
    "scoreatpercentile": (lambda m, x: m.scoreatpercentile(x, 30), X),
    "trim1": (lambda m, x: m.trim1(x, 0.1), X),
    "trim_mean": (lambda m, x: m.trim_mean(x, 0.1), X),
    "trimboth": (lambda m, x: m.trimboth(x, 0.1), X),
    "ttest_1samp": (lambda m, x: m.ttest_1samp(x, 0.3), X),
    "ttest_ind_from_stats": (lambda m, x: m.ttest_ind_from_stats(x[0], x[1], 5, x[2], x[3], 6), X[:4]),
    "cumfreq": (lambda m, x: m.cumfreq(x)[1:3], X),
    "relfreq": (lambda m, x: m.relfreq(x)[1:3], X),
    "ecdf": (lambda m, x: m.ecdf(x).cdf.quantiles, X),
    "yeojohnson": (lambda m, x: m.yeojohnson(x, lmbda=0.3), X),
    "yeojohnson_llf": (lambda m, x: m.yeojohnson_llf(0.3, x), X),
}  # fmt: skip


def weighted(out):
    """One number that depends on all numbers of a result."""
    total = 0.0
    for place, part in enumerate(flatten(tuple(out) if isinstance(out, tuple) else out)[0]):
        if isinstance(part, pb.Tensor | np.ndarray | float) and getattr(part, "dtype", np.dtype(float)).kind in "fc":
            weights = np.cos(np.arange(np.size(part) if not isinstance(part, pb.Tensor) else part.size) + 0.3 + place)
            terms = part * weights.reshape(np.shape(part))
            total = total + (terms.real.sum() + 0.5 * terms.imag.sum() if terms.dtype.kind == "c" else terms.sum())
    return total


def check(call, ours, plain, values, rtol=1e-4, step=1e-6):
    """Value and derivative along one direction, backward and forward."""
    values = np.asarray(values, dtype=float)
    x = pb.tensor(values, requires_grad=True)
    out = weighted(call(ours, x))
    assert out.item() == pytest.approx(float(weighted(call(plain, values))), rel=1e-7)
    along = np.sin(np.arange(values.size) + 1.0).reshape(values.shape)
    ends = [float(weighted(call(plain, values + sign * step * along))) for sign in (1, -1)]
    expected = (ends[0] - ends[1]) / (2 * step)
    (slope,) = pb.autograd.grad(out, [x])
    assert float((slope.numpy() * along).sum()) == pytest.approx(expected, rel=rtol, abs=1e-6)
    _, moved = pb.func.jvp(lambda x: weighted(call(ours, x)), (pb.tensor(values),), (pb.tensor(along),))
    assert float(moved) == pytest.approx(expected, rel=rtol, abs=1e-6)


@pytest.mark.parametrize("name", STATS)
def test_statistics_and_tests_by_their_data(name):
    call, values = STATS[name]
    check(call, pb.scipy.stats, scipy.stats, values)


def test_every_function_that_is_scipys_text_has_an_entry():
    names = pb.scipy.stats.__all__
    declared = {name for name in names if _surface._declared[f"stats.{name}"].by == "data, weights"}
    assert declared == STATS.keys()


def test_axes_weights_and_second_derivatives():
    check(lambda m, x: m.skew(x, axis=1, bias=False), pb.scipy.stats, scipy.stats, Z)
    check(lambda m, x: m.zscore(x, axis=None), pb.scipy.stats, scipy.stats, Z)
    check(lambda m, w: m.gmean(X, weights=w), pb.scipy.stats, scipy.stats, Y)
    assert pb.autograd.gradgradcheck(lambda x: pb.scipy.stats.skew(x), [pb.tensor(X[:4], requires_grad=True)])


def test_the_distance_of_a_sample_that_moves():
    x = pb.tensor(3.0, requires_grad=True)
    pb.scipy.stats.wasserstein_distance(pb.stack([pb.tensor(0.0), pb.tensor(1.0), x]), [5.0, 6.0, 8.0]).backward()
    assert x.grad.item() == pytest.approx(-1 / 3)


@pytest.mark.parametrize("name", ["rankdata", "mode"])
def test_ranks_and_counts_are_constants(name):
    out = getattr(pb.scipy.stats, name)(pb.tensor(X, requires_grad=True))
    assert not any(part.requires_grad for part in flatten(tuple(out))[0] if isinstance(part, pb.Tensor))


@pytest.mark.parametrize("name", ["spearmanr", "kendalltau"])
def test_correlations_of_ranks_are_constants(name):
    out = getattr(pb.scipy.stats, name)(pb.tensor(X, requires_grad=True), Y)
    assert out.statistic.item() == pytest.approx(getattr(scipy.stats, name)(X, Y).statistic)


def test_resampling_is_refused():
    with pytest.raises(pb.AutogradError) as raised:
        pb.scipy.stats.bootstrap((pb.tensor(X, requires_grad=True),), np.mean)
    assert raised.value.code == "SCIPY_NO_RULE"


def test_text_that_leads_into_compiled_code_is_refused():
    with pytest.raises((pb.AutogradError, TypeError)):
        _replay.replay(scipy.spatial.distance.directed_hausdorff, pb.tensor(X[:, None], requires_grad=True), X[:, None])


def test_an_adapted_program_uses_the_same_functions():
    def program(x):
        p = scipy.stats.ttest_1samp(x, 0.3).pvalue
        return scipy.stats.skew(x) + p + scipy.stats.poisson.logpmf(3, x[0]) + scipy.stats.norm.ppf(0.3, x[0], x[1])

    ends = [float(program(X + s * 1e-6 * np.eye(12)[0])) for s in (1, -1)]
    found = pb.func.grad(pb.func.adapt(program))(pb.tensor(X))
    assert found[0].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


# Signals.

SOS, T = scipy.signal.butter(3, 0.3, output="sos"), np.linspace(0, 1, 12)
STATE = np.array([[0.0, 1.0], [-2.0, -3.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]]), np.array([[0.0]])
LONG = np.sin(np.arange(31.0) ** 1.5)
PLATE = rng.random((6, 7))
SECTION = np.array([[1.0, 3, 2, 1, 0.7, 0.1]])


def sections(gain):
    """One section of a filter that begins with this number."""
    joined = pb.concat if isinstance(gain, pb.Tensor) else np.concatenate
    return joined(
        [gain.reshape((1, 1)), SECTION[:, 1:] if joined is np.concatenate else pb.tensor(SECTION[:, 1:])], axis=1
    )


def by(name, value, *before, after=(), **options):
    """A call with the differentiated argument in its place."""
    return lambda m, w: getattr(m, name)(*before, w, *after, **options), value


SIGNAL = {
    "butter": by("butter", 0.3, 2),
    "butter, band": by("butter", [0.2, 0.4], 2, btype="band", output="sos"),
    "cheby1": by("cheby1", 1.0, 3, after=(0.3,)),
    "cheby2": by("cheby2", 20.0, 3, after=(0.3,)),
    "ellip": by("ellip", 0.3, 3, 1.0, 30.0),
    "bessel": by("bessel", 0.3, 3),
    "iirfilter": by("iirfilter", 0.3, 3, rp=1, ftype="cheby1", btype="low"),
    "iirnotch": by("iirnotch", 0.3, after=(30.0,)),
    "iirpeak": by("iirpeak", 0.3, after=(30.0,)),
    "iircomb": by("iircomb", 30.0, 0.25),
    "iirdesign": by("iirdesign", 0.2, after=(0.6, 1, 40)),
    "firwin": by("firwin", 0.3, 7),
    "firwin2": by("firwin2", [1.0, 0.5, 0.0], 9, [0, 0.5, 1.0]),
    "firls": by("firls", [1.0, 0.5, 0.1, 0.1], 9, [0, 0.3, 0.5, 1]),
    "firwin_2d": (lambda m, w: m.firwin_2d((5, 5), ("hamming", "hamming"), fc=w, circular=False), 0.3),
    "cheb1ap": by("cheb1ap", 1.0, 3),
    "cheb2ap": by("cheb2ap", 20.0, 3),
    "kaiser_beta": by("kaiser_beta", 30.0),
    "kaiser_atten": by("kaiser_atten", 0.3, 9),
    "bilinear": by("bilinear", [1.0, 2, 3], [1.0, 2.0]),
    "bilinear_zpk": by("bilinear_zpk", [-2.0, -3.0], [-1.0], after=(1.0, 2.0)),
    **{name: by(name, [1.0, 2.0], [1.0], after=(2.0,)) for name in ("lp2lp", "lp2hp")},
    **{name: by(name, [1.0, 2.0], [1.0], after=(2.0, 0.5)) for name in ("lp2bp", "lp2bs")},
    **{name: by(name, 2.0, [], [-1.0], 1.0) for name in ("lp2lp_zpk", "lp2hp_zpk")},
    **{name: by(name, 2.0, [], [-1.0], 1.0, after=(0.5,)) for name in ("lp2bp_zpk", "lp2bs_zpk")},
    "zpk2tf": by("zpk2tf", [0.5, 0.2], [1.0, 2.0], after=(2.0,)),
    "zpk2sos": by("zpk2sos", [0.5, 0.2], [1.0, 2.0], after=(2.0,)),
    "zpk2ss": by("zpk2ss", [0.5, 0.2], [1.0], after=(2.0,)),
    "tf2sos": by("tf2sos", [1.0, 0.7, 0.1], [1.0, 3.0, 2.0]),
    "tf2zpk": by("tf2zpk", [1.0, 2.0, 0.5], [1.0, 3.0, 2.0]),
    "tf2ss": by("tf2ss", [1.0, 2.0, 0.5], [1.0, 3.0]),
    "sos2tf": by("sos2tf", SECTION),
    "sos2zpk": by("sos2zpk", SECTION),
    "ss2tf": by("ss2tf", STATE[0], after=STATE[1:]),
    "ss2zpk": by("ss2zpk", STATE[0], after=STATE[1:]),
    "normalize": by("normalize", [2.0, 3.0], [1.0, 2.0]),
    "abcd_normalize": by("abcd_normalize", STATE[0], after=STATE[1:]),
    "cont2discrete": (lambda m, a: m.cont2discrete((a, *STATE[1:]), 0.1)[:4], STATE[0]),
    "residue": by("residue", [1.0, 5.0], after=([1.0, 3.0, 2.0],)),
    "residuez": by("residuez", [1.0, 0.5], after=([1.0, -0.8, 0.15],)),
    "invres": by("invres", [-1.0, -2.0], [1.0, 0.5], after=([],)),
    "invresz": by("invresz", [-0.1, -0.2], [1.0, 0.5], after=([],)),
    "freqz": by("freqz", [1.0, 0.5], [1.0, 2.0], after=(8,)),
    "freqs": by("freqs", [1.0, 0.5], [1.0, 2.0], after=([1.0, 2.0],)),
    "freqz_zpk": by("freqz_zpk", [0.5], [0.1], after=(2.0, 8)),
    "freqs_zpk": by("freqs_zpk", [0.5], [0.1], after=(2.0, [1.0, 2.0])),
    **{name: (lambda m, g, name=name: getattr(m, name)(sections(g), 8), 1.5) for name in ("freqz_sos", "sosfreqz")},
    "group_delay": (lambda m, a: m.group_delay(([1.0, 0.3], a), 8), [1.0, 0.5]),
    "lsim": (lambda m, u: m.lsim(([1.0], [1.0, 2.0, 3.0]), u, T), X),
    "lsim, matrix": (lambda m, a: m.lsim((a, *STATE[1:]), X, T), STATE[0]),
    "lsim, inputs": (lambda m, b: m.lsim((STATE[0], b, STATE[2], [[0.1, 0.2]]), Z[:, :2], T[:4]), Z[:2, :2]),
    "lsim, steps": (lambda m, c: m.lsim((*STATE[:2], c, STATE[3]), X, T, interp=False), STATE[2]),
    "lsim, state": (lambda m, x: m.lsim(STATE, None, T + 0.5, x), [1.0, 2.0]),
    "lsim, poles": (lambda m, p: m.lsim(([], p, 2.0), X, T), [-1.0, -2.0]),
    "lsim, object": (lambda m, u: m.lsim(scipy.signal.lti(*STATE), u, T), X),
    "step": (lambda m, a: m.step((a, *STATE[1:]), T=T), STATE[0]),
    "step, coefficients": (lambda m, d: m.step(([1.0], d), T=T), [1.0, 3.0, 2.0]),
    "step, chosen times": (lambda m, b: m.step((STATE[0], b, *STATE[2:]), N=9), STATE[1]),
    "impulse": (lambda m, a: m.impulse((a, *STATE[1:]), T=T), STATE[0]),
    "freqresp": (lambda m, a: m.freqresp((a, *STATE[1:]), [0.5, 2.0]), STATE[0]),
    "freqresp, coefficients": (lambda m, d: m.freqresp(([1.0], d), [0.5, 2.0]), [1.0, 3.0, 2.0]),
    "freqresp, poles": (lambda m, p: m.freqresp(([0.5], p, 2.0), [0.5, 2.0]), [-1.0, -2.0]),
    "freqresp, frequencies": (lambda m, w: m.freqresp(STATE, w), [0.5, 2.0]),
    "bode": (lambda m, d: m.bode(([1.0], d), [0.5, 2.0]), [1.0, 3.0, 2.0]),
    "dlsim": (lambda m, u: m.dlsim(([1.0], [1.0, 0.2, 0.3], 0.1), u), X),
    "dlsim, matrix": (lambda m, a: m.dlsim((a, *STATE[1:], 0.1), X, t=T), STATE[0] * 0.2),
    "dstep": (lambda m, a: m.dstep((a, *STATE[1:], 0.1), n=5), STATE[0] * 0.2),
    "dimpulse": (lambda m, a: m.dimpulse((a, *STATE[1:], 0.1), n=5), STATE[0] * 0.2),
    "dfreqresp": (lambda m, a: m.dfreqresp((a, *STATE[1:], 0.1), [0.5, 2.0]), STATE[0] * 0.2),
    "dbode": (lambda m, d: m.dbode(([1.0], d, 0.1), [0.5, 2.0]), [1.0, 0.3, 0.2]),
    "czt": by("czt", X),
    "zoom_fft": by("zoom_fft", X, after=([0.1, 0.4], 5)),
    "lombscargle": by("lombscargle", X, T, after=([1.0, 2.0],)),
    "chirp": by("chirp", 2.0, T, after=(1.0, 3.0)),
    "gausspulse": by("gausspulse", 1000.0, T * 0.001),
    "sawtooth": by("sawtooth", X, after=(0.3,)),
    "sweep_poly": by("sweep_poly", [1.0, 2.0], T),
    "vectorstrength": by("vectorstrength", X, after=(0.7,)),
    "gauss_spline": by("gauss_spline", X, after=(3,)),
    "minimum_phase": by("minimum_phase", scipy.signal.firwin(7, 0.3), n_fft=64),
    "cspline1d": by("cspline1d", X),
    "qspline1d": by("qspline1d", X),
    "stft": by("stft", X, nperseg=4),
    "istft": (lambda m, z: m.istft(z * (1 + 1j), nperseg=6), rng.random((4, 5))),
    "spectrogram": by("spectrogram", X, nperseg=4),
    "csd": by("csd", X, after=(Y,), nperseg=4),
    "coherence": by("coherence", X, after=(Y,), nperseg=4),
    "welch": by("welch", X, nperseg=4),
    "periodogram": by("periodogram", X),
    "detrend": by("detrend", X),
    "hilbert2": by("hilbert2", PLATE),
    "envelope": by("envelope", X, after=((1, 4),)),
    "wiener": by("wiener", X, after=(3,)),
    "oaconvolve": by("oaconvolve", X, after=([1.0, 2, 3],)),
    "savgol_coeffs": (lambda m, d: m.savgol_coeffs(5, 2, deriv=1, delta=d), 1.5),
    "lfilter_zi": by("lfilter_zi", [1.0, -0.3, 0.1], [1.0, 0.5]),
    "lfiltic": by("lfiltic", [1.0, -0.3], [1.0, 0.5], after=([0.3],)),
    "sosfilt_zi": by("sosfilt_zi", SOS),
    "deconvolve": by("deconvolve", X[:5], after=([1.0, 2.0],)),
    "lfilter": by("lfilter", [1.0, -0.3], [1.0, 0.5], after=(X,)),
    "filtfilt": by("filtfilt", [1.0, -0.4], [0.2, 0.3], after=(X,)),
    "filtfilt, signal": by("filtfilt", X, [0.2, 0.3], [1.0, -0.4]),
    "sosfilt": by("sosfilt", X, SOS),
    "sosfilt, state": (lambda m, z: m.sosfilt(SOS, X, zi=z), np.ones((2, 2))),
    "sosfiltfilt": by("sosfiltfilt", X, SOS, padlen=5),
    "decimate": by("decimate", X, after=(2,), n=2),
    "decimate, fir": by("decimate", X, after=(2,), n=4, ftype="fir"),
    "resample_poly": by("resample_poly", X, after=(2, 3)),
    "upfirdn": by("upfirdn", X, [1.0, 2, 3], after=(2, 3)),
    **{name: (lambda m, v, name=name: getattr(m, name)([20, v[0]], [14, 60], v[1], v[2], fs=200)[1], [50.0, 3.0, 40.0])
       for name in ("buttord", "cheb1ord", "cheb2ord", "ellipord")},
    "upfirdn, filter": by("upfirdn", X[:4], after=(Y, 3, 2)),
    "medfilt": by("medfilt", X, after=(3,)),
    "medfilt2d": by("medfilt2d", PLATE, after=(3,)),
    "order_filter": by("order_filter", X, after=(np.ones(3), 0)),
    **{
        f"savgol_filter, {mode}, {len(x)}": by("savgol_filter", x, after=(5, 2), mode=mode, cval=0.5)
        for mode in ("interp", "mirror", "constant", "nearest", "wrap")
        for x in (X, LONG)
    },
    **{
        f"{name}, {mode}, {boundary}": by(name, PLATE, after=(Z[:3, :2],), mode=mode, boundary=boundary, fillvalue=0.5)
        for name in ("convolve2d", "correlate2d")
        for mode in ("full", "same", "valid")
        for boundary in ("fill", "wrap", "symm")
    },
}
WINDOWS = {
    **{
        name: by(name, value, 8)
        for name, value in {
            "gaussian": 1.3,
            "kaiser": 3.0,
            "tukey": 0.4,
            "general_hamming": 0.6,
            "chebwin": 50.0,
            "kaiser_bessel_derived": 3.0,
            "general_cosine": [0.5, 0.5],
        }.items()
    },
    "exponential": by("exponential", 1.3, 8, None),
    "general_gaussian": by("general_gaussian", 1.3, 8, after=(1.2,)),
    "taylor": by("taylor", 30.0, 8, 4),
    "get_window": (lambda m, b: m.get_window(("kaiser", b), 8), 3.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SIGNAL)
def test_signals_and_filters(name):
    call, values = SIGNAL[name]
    step = 1e-3 if name == "gausspulse" else 1e-6
    check(call, pb.scipy.signal, scipy.signal, values, step=step)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_by_their_numbers(name):
    call, values = WINDOWS[name]
    check(call, pb.scipy.signal.windows, scipy.signal.windows, values)


def test_every_function_of_signals_has_an_entry():
    seen = {name.partition(",")[0] for name in SIGNAL} | {"get_window"}
    declared = {name for name in pb.scipy.signal.__all__ if pb.scipy.rule(f"signal.{name}").kind == "C"}
    assert declared <= seen
    assert set(pb.scipy.signal.windows.__all__) == WINDOWS.keys()


@pytest.mark.parametrize(
    "function, at, expected",
    [
        (lambda b: pb.scipy.signal.windows.kaiser(5, b)[1], 3.0, -0.100746686),
        (lambda w: pb.scipy.signal.butter(2, w)[0][0], 0.3, 0.699470923),
    ],
)
def test_known_derivatives(function, at, expected):
    assert pb.func.grad(function)(pb.tensor(at)).item() == pytest.approx(expected, rel=1e-7)


def test_linear_filters_have_their_transpose():
    y = rng.standard_normal(24)
    for filtered in (
        lambda x: pb.scipy.signal.filtfilt([0.2, 0.3], [1.0, -0.4], x),
        lambda x: pb.scipy.signal.savgol_filter(x, 5, 2),
        lambda x: pb.scipy.signal.sosfilt(SOS, x),
    ):
        x = pb.tensor(rng.standard_normal(24), requires_grad=True)
        out = filtered(x)
        (back,) = pb.autograd.grad(out, [x], pb.tensor(y))
        assert float((out.detach().numpy() * y).sum()) == pytest.approx(
            float((back.numpy() * x.detach().numpy()).sum()), rel=1e-11
        )


def test_a_median_selects():
    x = pb.tensor([3.0, 1.0, 2.0, 5.0, 4.0], requires_grad=True)
    pb.scipy.signal.medfilt(x, 3)[2].backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    peaks, _ = pb.scipy.signal.find_peaks(x)
    assert peaks.tolist() == [3]


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_a_parameter_that_is_searched_for_is_refused(name):
    x = pb.tensor(X, requires_grad=True)
    with pytest.raises(pb.AutogradError, match="SCIPY_NO_RULE"):
        getattr(pb.scipy.stats, name)(x)


# Fourier transforms.

FFTPACK = {
    **{
        f"{name}, {len(x)}": by(name, x)
        for name in ("rfft", "irfft", "diff", "hilbert", "ihilbert", "fftshift", "ifftshift", "fft", "ifft", "dct",
                     "idct", "dst", "idst")
        for x in (X, X[:7])
    },
    **{name: by(name, X, after=(0.3,)) for name in ("tilbert", "itilbert", "shift")},
    **{name: by(name, X, after=(0.3, 0.4)) for name in ("cs_diff", "sc_diff", "ss_diff", "cc_diff")},
    **{
        f"{name}, {kind}, {norm}": by(name, Z, after=(kind,), norm=norm)
        for name in ("dctn", "idctn", "dstn", "idstn")
        for kind in (1, 2, 3)
        for norm in (None, "ortho")
    },
    **{f"{name}, {n}": by(name, X, after=(n,)) for name in ("rfft", "irfft") for n in (5, 15, 16)},
    "rfft, axis": by("rfft", Z, axis=0),
    "irfft, axis": by("irfft", Z, axis=0),
    "dctn, shape": by("dctn", Z, shape=(4, 3)),
    "diff, twice": by("diff", X, after=(2, 3.0)),
}  # fmt: skip
HANKEL = {
    f"{name}, {n}, {what}": (lambda m, v, name=name, call=call, n=n: call(getattr(m, name), v, X[:n]), value)
    for name in ("fht", "ifht")
    for n in (12, 7)
    for what, call, value in (
        ("samples", lambda f, v, x: f(x * v, 0.1, 0.5, 0.2, 0.1), 1.3),
        ("order, offset, bias", lambda f, v, x: f(x, 0.1, *(v[k] for k in range(3))), [0.5, 0.1, 0.05]),
        ("spacing", lambda f, v, x: f(x, v, 0.5, 0.2, 0.3), 0.1),
    )
}


@pytest.mark.parametrize("name", FFTPACK)
def test_transforms_of_fftpack(name):
    check(FFTPACK[name][0], pb.scipy.fftpack, scipy.fftpack, FFTPACK[name][1])


@pytest.mark.parametrize("name", HANKEL)
def test_fast_hankel_transforms_by_all_their_numbers(name):
    check(HANKEL[name][0], pb.scipy.fft, scipy.fft, HANKEL[name][1])


def test_inverse_cosine_transforms_of_fftpack_in_adapted_programs():
    found = pb.func.adapt(lambda x: scipy.fftpack.idct(x) + scipy.fftpack.idst(x))(pb.tensor(X, requires_grad=True))
    np.testing.assert_allclose(found.detach().numpy(), scipy.fftpack.idct(X) + scipy.fftpack.idst(X))


def test_systems_in_every_mode():
    step = lambda a: pb.scipy.signal.step((a, *STATE[1:]), T=T[:4])[1]
    a = pb.tensor(STATE[0], requires_grad=True)
    assert pb.autograd.gradgradcheck(step, [a])
    both = pb.func.vmap(step)(pb.stack([a, 2 * a]))
    np.testing.assert_allclose(both.detach().numpy(), [step(a).detach().numpy(), step(2 * a).detach().numpy()])
    np.testing.assert_allclose(pb.compile(step)(a).detach().numpy(), step(a).detach().numpy())


@pytest.mark.parametrize("name", ["anderson", "cramervonmises", "ks_1samp", "kstest"])
def test_a_statistic_that_moves_with_the_data_is_no_constant(name):
    """These were taken for functions of ranks, and had no gradient, without a word."""
    given = {"anderson": ("norm",), "ks_1samp": (scipy.stats.norm.cdf,)}.get(name, ("norm",))
    with pytest.raises(pb.AutogradError) as caught:
        getattr(pb.scipy.stats, name)(pb.tensor(X, requires_grad=True), *given)
    assert caught.value.code == "SCIPY_NO_RULE"


@pytest.mark.parametrize("package, name", [("fft", "fftfreq"), ("fft", "rfftfreq"), ("fftpack", "fftfreq"),
                                           ("fftpack", "rfftfreq")])  # fmt: skip
def test_frequencies_by_the_time_between_samples(package, name):
    ours, plain = (importlib.import_module(f"{root}.{package}") for root in ("pullback.scipy", "scipy"))
    check(lambda m, d: getattr(m, name)(7, d), ours, plain, 0.3)
    check(lambda m, d: m.fhtoffset(d, 0.5, bias=0.2), pb.scipy.fft, scipy.fft, 0.1)
