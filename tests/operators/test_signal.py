"""Filters, resampling, trends and power spectra, against SciPy and by their derivatives."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

scipy_signal = pytest.importorskip("scipy.signal", reason="SciPy is what the values are compared with")

random = np.random.default_rng(5)
X = random.standard_normal((3, 150))
Z = X[0, :20] + 1j * X[1, :20]
B, A = np.array([0.5, 0.2, -0.1]), np.array([2.0, -0.6, 0.3, 0.1])


def leaf(x):
    return pb.tensor(x, requires_grad=True)


# Filters


@pytest.mark.parametrize("b, a", [(B, A), (B, [1.0]), ([1.0], A), (B[:1], A[:1])])
def test_lfilter_has_the_values_of_scipy(b, a):
    assert_close(pb.signal.lfilter(b, a, X), scipy_signal.lfilter(b, a, X), rtol=1e-10)
    assert_close(pb.signal.lfilter(b, a, X, axis=0), scipy_signal.lfilter(b, a, X, axis=0), rtol=1e-10)
    assert_close(pb.signal.lfilter(b, a, Z), scipy_signal.lfilter(b, a, Z), rtol=1e-10)


def test_a_filter_that_grows_stays_exact():
    ours, theirs = (f([1.0], [1.0, -1.5, 0.7, -0.9], X[0]) for f in (pb.signal.lfilter, scipy_signal.lfilter))
    assert np.abs(theirs).max() > 1e10
    assert_close(ours, theirs, rtol=1e-9)


def test_a_signal_filtered_in_parts_is_the_signal_filtered():
    whole = pb.signal.lfilter(B, A, X)
    state = np.zeros((3, 3))
    parts = []
    for piece in (X[:, :1], X[:, 1:70], X[:, 70:]):
        out, state = pb.signal.lfilter(B, A, piece, zi=state)
        parts.append(out)
    assert_close(pb.concat(parts, 1), whole, rtol=1e-10)
    expected = scipy_signal.lfilter(B, A, X, zi=np.ones((3, 3)))
    for ours, theirs in zip(pb.signal.lfilter(B, A, X, zi=np.ones((3, 3))), expected, strict=True):
        assert_close(ours, theirs, rtol=1e-10)
    with pytest.raises(ValueError, match="length 3"):
        pb.signal.lfilter(B, A, X, zi=np.ones((3, 2)))


def test_derivatives_of_a_filter_in_signal_coefficients_and_state():
    b, a, x = leaf(B), leaf(A), leaf(X[:2, :6])
    assert gradcheck(pb.signal.lfilter, (b, a, x))
    assert gradgradcheck(pb.signal.lfilter, (b, a, x))
    assert gradcheck(lambda x, zi: pb.signal.lfilter(B, A, x, zi=zi), (x, leaf(np.ones((2, 3)))))
    assert gradcheck(pb.signal.lfilter, (leaf(B + 0.1j), leaf(A + 0.2j), leaf(Z[:5])))


def test_the_gradient_of_the_signal_is_the_gradient_filtered_backwards():
    x, g = leaf(X[0]), X[1]
    pb.signal.lfilter(B, A, x).backward(pb.tensor(g))
    assert_close(x.grad, scipy_signal.lfilter(B, A, g[::-1])[::-1], rtol=1e-10)


def test_what_is_no_filter_or_no_signal_raises():
    with pytest.raises(ValueError, match="`a` must be a vector"):
        pb.signal.lfilter(B, np.ones((2, 2)), X)
    with pytest.raises(ValueError, match="expected a signal"):
        pb.signal.lfilter(B, A, 1.0)


# Trends


def test_detrend_has_the_values_of_scipy():
    for options in ({}, {"axis": 0}, {"type": "constant"}, {"bp": [40, 90]}, {"bp": 7, "axis": -1}):
        assert_close(pb.signal.detrend(X, **options), scipy_signal.detrend(X, **options), atol=1e-12)
    assert pb.signal.detrend([3.0]).tolist() == [0.0]
    with pytest.raises(ValueError, match="type must be"):
        pb.signal.detrend(X, type="cubic")
    with pytest.raises(ValueError, match="breakpoints"):
        pb.signal.detrend(X, bp=400)


def test_detrend_of_a_line_is_zero_and_its_derivative_a_projection():
    assert_close(pb.signal.detrend(np.arange(9.0) * 3 - 4), np.zeros(9), atol=1e-13)
    x = leaf(X[0, :7])
    assert gradcheck(lambda x: pb.signal.detrend(x, bp=3), (x,))


# Analytic signals


@pytest.mark.parametrize("length", [None, 1, 2, 19, 24])
def test_hilbert_has_the_values_of_scipy(length):
    x = X[:, :20]
    assert_close(pb.signal.hilbert(x, length), scipy_signal.hilbert(x, length), atol=1e-12)


def test_hilbert_keeps_the_signal_as_its_real_part():
    x = leaf(X[0, :8])
    assert_close(pb.signal.hilbert(x).real, X[0, :8])
    assert gradcheck(pb.signal.hilbert, (x,))
    with pytest.raises(ValueError, match="must be real"):
        pb.signal.hilbert(Z)


# Other sampling rates


@pytest.mark.parametrize("num", [1, 2, 5, 6, 9, 10, 11, 15, 20])
@pytest.mark.parametrize("length", [9, 10])
def test_resample_has_the_values_of_scipy(num, length):
    for x in (X[:, :length], Z[:length]):
        assert_close(pb.signal.resample(x, num, axis=-1), scipy_signal.resample(x, num, axis=-1), atol=1e-12)


def test_resample_with_window_and_positions():
    x, t = X[0, :10], np.arange(10) * 0.5 + 1
    for window in ("hann", ("kaiser", 4.0), lambda f: 1 / (1 + f * f)):
        expected = scipy_signal.resample(x, 16, window=window)
        assert_close(pb.signal.resample(x, 16, window=window), expected, atol=1e-12)
    assert_close(pb.signal.resample(x, 7, window=pb.tensor(np.ones(10))), scipy_signal.resample(x, 7), atol=1e-12)
    ours, theirs = pb.signal.resample(x, 16, t), scipy_signal.resample(x, 16, t)
    assert_close(ours[0], theirs[0], atol=1e-12)
    assert_close(ours[1], theirs[1])
    spectrum = np.fft.fft(Z)
    assert_close(pb.signal.resample(spectrum, 8, domain="freq"), pb.signal.resample(Z, 8), atol=1e-12)


def test_derivatives_of_resampling():
    for num in (4, 6, 9):
        assert gradcheck(lambda x, num=num: pb.signal.resample(x, num), (leaf(X[0, :6]),))
        assert gradcheck(lambda x, num=num: pb.signal.resample(x, num), (leaf(Z[:6]),))
    with pytest.raises(ValueError, match="cannot make 0 samples"):
        pb.signal.resample(X, 0)


# Power spectra


@pytest.mark.parametrize(
    "options",
    [{}, {"window": "hann", "fs": 10.0}, {"nfft": 200}, {"nfft": 65}, {"detrend": "linear"}, {"detrend": False},
     {"scaling": "spectrum"}, {"return_onesided": False}, {"axis": 0}],
)  # fmt: skip
def test_periodogram_has_the_values_of_scipy(options):
    for ours, theirs in zip(pb.signal.periodogram(X, **options), scipy_signal.periodogram(X, **options), strict=True):
        assert_close(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"nperseg": 32}, {"nperseg": 31, "noverlap": 10, "nfft": 40}, {"window": "hamming", "nperseg": 20},
     {"window": np.linspace(0, 1, 25)}, {"nperseg": 30, "average": "median"}, {"nperseg": 40, "scaling": "spectrum"},
     {"nperseg": 16, "return_onesided": False, "detrend": "linear"}],
)  # fmt: skip
def test_welch_has_the_values_of_scipy(options):
    scipy_options = {"nperseg": 150, **options} if "window" not in options else options
    for ours, theirs in zip(pb.signal.welch(X, **options), scipy_signal.welch(X, **scipy_options), strict=True):
        assert_close(ours, theirs, atol=1e-12)


def test_spectra_of_complex_signals_have_two_sides():
    for name, options in (("periodogram", {}), ("welch", {"nperseg": 20})):
        ours, theirs = (getattr(module, name)(Z, nfft=32, **options) for module in (pb.signal, scipy_signal))
        assert_close(ours[0], theirs[0])
        assert_close(ours[1], theirs[1], atol=1e-12)


def test_derivatives_of_power_spectra():
    x = leaf(X[0, :9])
    assert gradcheck(lambda x: pb.signal.periodogram(x)[1], (x,))
    assert gradcheck(lambda x, w: pb.signal.welch(x, window=w, nperseg=4)[1], (x, leaf(np.array([0.2, 1.0, 0.7, 0.1]))))
    assert gradcheck(lambda z: pb.signal.welch(z, nperseg=4)[1], (leaf(Z[:8]),))


def test_arguments_of_spectra_are_checked():
    with pytest.raises(ValueError, match="noverlap must be less"):
        pb.signal.welch(X, nperseg=8, noverlap=8)
    with pytest.raises(ValueError, match="the window must be"):
        pb.signal.welch(X, window="square")
    with pytest.raises(ValueError, match="scaling"):
        pb.signal.periodogram(X, scaling="power")
    with pytest.raises(ValueError, match="empty"):
        pb.signal.welch(np.zeros(0))
