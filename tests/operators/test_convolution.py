"""Convolution and correlation: values of NumPy and SciPy, gradients by both arguments."""

import numpy as np
import pytest
import scipy.signal

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(6)
MODES = ["full", "same", "valid"]


def normal(*shape, complex_numbers=False):
    values = RANDOM.normal(size=shape)
    return values + 1j * RANDOM.normal(size=shape) if complex_numbers else values


def leaf(values):
    return pb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lengths", [(7, 3), (3, 7), (4, 4), (6, 2), (2, 6), (1, 1)])
@pytest.mark.parametrize("complex_numbers", [False, True])
def test_vectors_equal_numpy(mode, lengths, complex_numbers):
    a, v = (normal(length, complex_numbers=complex_numbers) for length in lengths)
    assert_close(pb.convolve(a, v, mode), np.convolve(a, v, mode))
    assert_close(pb.correlate(a, v, mode), np.correlate(a, v, mode))


@pytest.mark.parametrize("mode", MODES)
def test_vectors_are_differentiable_in_both(mode):
    for a, v in ((normal(5), normal(3)), (normal(2), normal(4)), (normal(3, complex_numbers=True), normal(2))):
        assert gradcheck(lambda a, v: pb.convolve(a, v, mode), (leaf(a), leaf(v)))
        assert gradcheck(lambda a, v: pb.correlate(a, v, mode), (leaf(a), leaf(v)))
    assert gradgradcheck(lambda a, v: pb.convolve(a, v, mode), (leaf(normal(3)), leaf(normal(2))))


def test_integers_stay_integers():
    out = pb.convolve([1, 2, 3], [0, 1])
    assert out.dtype == np.int64
    assert_close(out, [0, 1, 2, 3])


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="empty"):
        pb.convolve([], [1.0])
    with pytest.raises(ValueError, match="vectors"):
        pb.convolve(np.ones((2, 2)), [1.0])
    with pytest.raises(ValueError, match="mode"):
        pb.correlate([1.0], [1.0], "some")
    with pytest.raises(ValueError, match="fit into the other"):
        pb.signal.convolve(np.ones((2, 5)), np.ones((3, 3)), "valid")
    with pytest.raises(ValueError, match="matrices"):
        pb.signal.convolve2d(np.ones(3), np.ones(3))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((5, 6), (3, 2)), ((3, 2), (5, 6)), ((4, 3), (4, 3)), ((2, 3, 4), (2, 2, 3))])
@pytest.mark.parametrize("complex_numbers", [False, True])
def test_several_axes_equal_scipy(mode, shapes, complex_numbers):
    x, y = (normal(*shape, complex_numbers=complex_numbers) for shape in shapes)
    for method in ("direct", "fft", "auto"):
        assert_close(pb.signal.convolve(x, y, mode, method), scipy.signal.convolve(x, y, mode))
        assert_close(pb.signal.correlate(x, y, mode, method), scipy.signal.correlate(x, y, mode))
    assert_close(pb.signal.fftconvolve(x, y, mode), scipy.signal.convolve(x, y, mode))
    if x.ndim == 2:
        assert_close(pb.signal.convolve2d(x, y, mode), scipy.signal.convolve2d(x, y, mode))
        # SciPy's correlate2d forgets to conjugate when it exchanges its arguments; its correlate does not.
        exchanged = mode == "valid" and x.size < y.size
        wanted = (scipy.signal.correlate if exchanged else scipy.signal.correlate2d)(x, y, mode)
        assert_close(pb.signal.correlate2d(x, y, mode), wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "fftconvolve", "correlate2d"])
def test_several_axes_are_differentiable_in_both(mode, name):
    function = getattr(pb.signal, name)
    assert gradcheck(lambda x, y: function(x, y, mode), (leaf(normal(3, 4)), leaf(normal(2, 2))))


def test_long_signals_go_through_transforms_with_the_same_result():
    x, y = normal(3000), normal(800)
    assert_close(pb.signal.convolve(x, y), np.convolve(x, y), atol=1e-10)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_some_axes_are_convolved_and_the_others_paired_or_summed(mode):
    """`axes` of SciPy's `fftconvolve`, and `axes` and `dot_axes` of HIPS autograd's `convolve`."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((3, 6, 2)), rng.standard_normal((3, 4, 2))
    for axes in (1, -2, [1, 2], [0, 1]):
        assert_close(pb.signal.fftconvolve(x, y, mode, axes=axes), scipy.signal.fftconvolve(x, y, mode, axes=axes))
    pairs = np.array([[scipy.signal.convolve(x[i, :, k], y[i, :, m], mode) for i in range(3)]
                      for k in range(2) for m in range(2)]).sum(axis=1).reshape(2, 2, -1)  # fmt: skip
    out = pb.signal.convolve(x, y, mode, axes=([1], [1]), dot_axes=([0], [0]))
    assert_close(out, pairs)
    leaves = [pb.tensor(each, requires_grad=True) for each in (x[:, :, 0], y[:, :, 1])]
    summed = lambda a, b: pb.signal.convolve(a, b, mode, axes=([1], [1]), dot_axes=([0], [0]))
    assert pb.autograd.gradcheck(summed, leaves)
    assert pb.autograd.gradcheck(lambda a, b: pb.signal.fftconvolve(a, b, mode, axes=1), leaves)


def test_axes_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="same length"):
        pb.signal.convolve(np.ones((2, 3)), np.ones((2, 3)), axes=([0, 1], [0]))
