"""Fourier, cosine and sine transforms: values as in NumPy and SciPy, and adjoints that are exact for half spectra."""

import numpy as np
import pytest

import pullback as pb
import pullback.fft
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(3)
REAL = RANDOM.uniform(-1, 1, (3, 4, 5))
COMPLEX = REAL + 1j * RANDOM.uniform(-1, 1, REAL.shape)
NORMS = ["backward", "ortho", "forward", None]
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")


def leaf(values):
    return pb.tensor(np.asarray(values), requires_grad=True)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 2, 4, 5, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis_as_in_numpy(name, n, norm):
    x = REAL if name in OF_REAL else COMPLEX
    for axis in (-1, 0, 1):
        out = getattr(pb.fft, name)(pb.tensor(x), n, axis, norm)
        expected = getattr(np.fft, name)(x, n, axis, norm)
        assert out.dtype == expected.dtype
        assert_close(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "s, axes", [(None, None), (None, (0, 2)), ((4, 3), (2, 0)), ((2, 6), (-2, -1)), ((-1, 3), (0, 1))]
)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes_as_in_numpy(name, s, axes, norm):
    x = REAL if name in OF_REAL else COMPLEX
    out = getattr(pb.fft, name)(pb.tensor(x), s, axes, norm)
    assert_close(out, getattr(np.fft, name)(x, s, axes, norm), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes_as_in_numpy(name):
    x = REAL if name in OF_REAL else COMPLEX
    assert_close(getattr(pb.fft, name)(pb.tensor(x)), getattr(np.fft, name)(x), rtol=1e-12, atol=1e-12)
    out = getattr(pb.fft, name)(pb.tensor(x), dim=(0, 1))
    assert_close(out, getattr(np.fft, name)(x, axes=(0, 1)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("s", [None, (3, 6, 4)])
def test_an_axis_that_comes_twice_is_transformed_twice(name, s):
    x = REAL if name in OF_REAL else COMPLEX
    axes = (1, 0, 1) if name != "irfftn" else (0, 0, 1)
    out = getattr(pb.fft, name)(pb.tensor(x), s, axes)
    assert_close(out, getattr(np.fft, name)(x, s, axes), rtol=1e-12, atol=1e-12)
    y = leaf(x[:2, :3, 0])
    repeated = {"fftn": (0, 0), "ifftn": (1, 1), "rfftn": (0, 0), "irfftn": (0, 0, 1)}[name]
    lengths = (4, 3, 5)[: len(repeated)]
    assert gradcheck(lambda y: getattr(pb.fft, name)(y, lengths, repeated), (y,))


@pytest.mark.parametrize("norm", NORMS[:3])
def test_the_hermitian_transforms_invert_each_other(norm):
    assert_close(pb.fft.hfftn(pb.fft.ihfftn(REAL, norm=norm), s=REAL.shape, norm=norm), REAL, atol=1e-12)
    assert_close(pb.fft.hfft2(pb.fft.ihfft2(REAL, norm=norm), s=(4, 5), norm=norm), REAL, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS[:3])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_every_transform_is_the_adjoint_of_its_gradient(name, n, norm):
    """<g, F x> = <F* g, x> in the real inner product, to rounding."""
    x = leaf(REAL[0] if name in OF_REAL else COMPLEX[0])
    out = getattr(pb.fft, name)(x, n=n, axis=0, norm=norm)
    g = RANDOM.uniform(-1, 1, out.shape) + (1j * RANDOM.uniform(-1, 1, out.shape) if out.dtype.kind == "c" else 0)
    (pulled,) = pb.autograd.grad(out, x, pb.tensor(g))
    left = np.sum(np.conj(g) * out.detach().numpy()).real
    right = np.sum(np.conj(pulled.numpy()) * x.detach().numpy()).real
    assert abs(left - right) < 1e-12


@pytest.mark.parametrize("name, x", [("rfft", REAL[0, :2]), ("irfft", COMPLEX[0, :2]), ("fft", COMPLEX[0, :2])])
def test_gradients_of_every_order(name, x):
    def nonlinear(y):
        out = getattr(pb.fft, name)(y, n=6)
        return out * out

    assert gradcheck(nonlinear, (leaf(x),))
    assert gradgradcheck(nonlinear, (leaf(x),))


def test_the_gradient_of_a_half_spectrum_as_torch_has_it():
    x = leaf([0.5, -1.0, 2.0, 0.25, 1.5])
    (abs(pb.fft.rfft(x)) ** 2 * np.array([1.0, 2.0, 3.0])).sum().backward()
    assert_close(x.grad, [6.5816, -14.9635, 26.4496, -2.9721, 17.4045], atol=5e-5)
    z = leaf([1 + 2j, 0.5 - 1j, -0.3 + 0.4j])
    (pb.fft.irfft(z) ** 2 * np.array([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert_close(z.grad, [0.575, 0.65 - 2.35j, -0.375], atol=1e-12)
    y = leaf([[1.0, 2.0], [3.0, 5.0]])
    (abs(pb.fft.rfftn(y, s=(3, 3), norm="ortho")) ** 2 * np.arange(6.0).reshape(3, 2)).sum().backward()
    assert_close(y.grad, [[0.0, -5 / 3], [9.0, 15.0]], atol=1e-12)


def test_the_ignored_imaginary_parts_have_gradient_zero():
    for n in (4, 5):
        z = leaf(COMPLEX[0, 0, :3])
        (pb.fft.irfft(z, n=n) * np.arange(1.0, n + 1)).sum().backward()
        ignored = z.grad.numpy().imag[[0, 2]] if n == 4 else z.grad.numpy().imag[[0]]
        assert np.array_equal(ignored, np.zeros(ignored.shape))
        assert (z.grad.numpy().imag[1:2] != 0).all()


def test_the_gradient_of_real_input_is_real_and_keeps_its_precision():
    x = pb.tensor(REAL[0].astype(np.float32), requires_grad=True)
    for transform in (pb.fft.fft, pb.fft.rfft):
        out = transform(x)
        assert out.dtype == pb.complex64
        (g,) = pb.autograd.grad(abs(out).sum(), x)
        assert g.dtype == pb.float32 and g.shape == x.shape


def test_a_transform_saves_nothing():
    out = pb.fft.rfft(leaf(REAL))
    assert all(value is None for value in (*out.grad_fn.saved_operands, *out.grad_fn.saved_outputs))
    assert out.grad_fn.name() == "FftR2cBackward0"


def test_shifting_the_order_of_frequencies():
    for axes in (None, 0, (0, 2), (-1,)):
        assert_close(pb.fft.fftshift(REAL, axes), np.fft.fftshift(REAL, axes))
        assert_close(pb.fft.ifftshift(REAL, axes=axes), np.fft.ifftshift(REAL, axes))
    x = leaf(np.arange(5.0))
    (pb.fft.fftshift(x) * np.array([1.0, 2.0, 3.0, 4.0, 5.0])).sum().backward()
    assert_close(x.grad, [3.0, 4.0, 5.0, 1.0, 2.0])


def test_frequencies_have_a_dtype_and_a_device():
    for n in (1, 4, 5):
        assert_close(pb.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
        assert_close(pb.fft.rfftfreq(n, d=0.5), np.fft.rfftfreq(n, 0.5))
    assert pb.fft.fftfreq(4, dtype=pb.float32, device="cpu").dtype == pb.float32
    with pytest.raises(ValueError, match="device"):
        pb.fft.rfftfreq(4, device="gpu")
    with pytest.raises(TypeError, match="real"):
        pb.fft.fftfreq(4, dtype=np.int64)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: pb.fft.fft(np.zeros((3, 0))), ValueError, "at least one element"),
        (lambda: pb.fft.fft(np.zeros(3), n=0), ValueError, "at least one element"),
        (lambda: pb.fft.irfft(np.zeros(1)), ValueError, "at least one element"),
        (lambda: pb.fft.fft(np.zeros(())), ValueError, "single number"),
        (lambda: pb.fft.fft(np.zeros(3), norm="unitary"), ValueError, "norm must be"),
        (lambda: pb.fft.rfft(np.zeros(3, complex)), TypeError, "must be real"),
        (lambda: pb.fft.fft(np.zeros(3), axis=1), np.exceptions.AxisError, "out of bounds"),
        (lambda: pb.fft.fft(np.zeros((3, 3)), axis=0, dim=1), TypeError, "two spellings"),
        (lambda: pb.fft.fftn(np.zeros((3, 3)), s=(2, 2), axes=(0,)), ValueError, "as many"),
        (lambda: pb.fft.fftn(np.zeros(3), s=(2, 2)), ValueError, "has 1 axes"),
        (lambda: pb.fft.rfftn(np.zeros(3), axes=()), ValueError, "at least one axis"),
        (lambda: pb.fft.dct(np.zeros(3), type=5), ValueError, "type must be"),
        (lambda: pb.fft.dct(np.zeros(1), type=1), ValueError, "two elements"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_cosine_and_sine_transforms_as_in_scipy(name, kind, norm):
    fft = pytest.importorskip("scipy.fft", reason="SciPy is the reference here")
    for x, n, axis in ((REAL, None, -1), (REAL, 6, 0), (COMPLEX, 3, 1), (REAL.astype(np.float32), None, 0)):
        out = getattr(pb.fft, name)(pb.tensor(x), kind, n, axis, norm)
        expected = getattr(fft, name)(x, kind, n, axis, norm)
        assert out.dtype == expected.dtype
        tolerance = 1e-5 if x.dtype == np.float32 else 1e-12
        assert_close(out, expected, rtol=tolerance, atol=tolerance)


def test_cosine_transforms_over_several_axes_invert_each_other():
    fft = pytest.importorskip("scipy.fft", reason="SciPy is the reference here")
    assert_close(pb.fft.dctn(REAL, axes=(0, 2)), fft.dctn(REAL, axes=(0, 2)), atol=1e-12)
    assert_close(pb.fft.idctn(pb.fft.dctn(REAL, norm="ortho"), norm="ortho"), REAL, atol=1e-12)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_the_gradient_of_an_orthogonal_transform_is_its_inverse(kind):
    for forward, back in ((pb.fft.dct, pb.fft.idct), (pb.fft.dst, pb.fft.idst)):
        x = leaf(REAL[0])
        g = RANDOM.uniform(-1, 1, x.shape)
        (pulled,) = pb.autograd.grad(forward(x, kind, norm="ortho"), x, pb.tensor(g))
        assert_close(pulled, back(g, kind, norm="ortho"), rtol=1e-12, atol=1e-12)


def test_short_time_transforms_as_torch_has_them():
    x, window = leaf(np.sin(np.arange(10.0))), leaf([0.5, 1.0, 0.75, 0.25])
    z = pb.fft.stft(x, 4, hop_length=2, window=window, normalized=True)
    assert z.shape == (3, 6)
    (abs(z) ** 2 * np.arange(18.0).reshape(3, 6)).sum().backward()
    expected = [-5.1471, 10.7660, 2.2041, 1.2182, -3.9424, -9.0872, -1.2957, 6.5027, 17.4257, 0.5873]
    assert_close(x.grad, expected, atol=1e-4)
    assert_close(window.grad, [11.9025, 21.7805, 22.1851, 2.7153], atol=1e-4)
    z = pb.fft.stft(x.detach(), 5, hop_length=2, win_length=3, center=False, onesided=False)
    assert_close(z[1], [-0.5898 - 1.2518j, 1.4317 - 0.2530j, -0.6018 + 1.4624j], atol=1e-4)


@pytest.mark.parametrize("dtype", [float, complex])
def test_the_inverse_short_time_transform_gives_the_signal_back(dtype):
    x = RANDOM.uniform(-1, 1, (2, 12)).astype(dtype) * (1 + (0.5j if dtype is complex else 0))
    window = np.array([0.2, 0.7, 1.0, 0.7])
    z = pb.fft.stft(x, 4, hop_length=2, window=window)
    back = pb.fft.istft(z, 4, hop_length=2, window=window, length=12, return_complex=dtype is complex)
    assert_close(back, x, atol=1e-12)
    assert pb.fft.istft(z, 4, 2, window=window, length=20, return_complex=dtype is complex).shape == (2, 20)

    def inverse(z, window):
        return pb.fft.istft(z, 4, hop_length=2, window=window, return_complex=dtype is complex)

    assert gradcheck(inverse, (leaf(z.numpy()), leaf(window)))


def test_short_time_transforms_name_what_is_wrong():
    x = np.zeros(8)
    with pytest.raises(ValueError, match="leave a gap"):
        pb.fft.istft(pb.fft.stft(x, 4, 2, window=[0.0, 0.0, 0.0, 1.0]), 4, 2, window=[0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="fewer than n_fft"):
        pb.fft.stft(x, 16, center=False)
    with pytest.raises(ValueError, match="window must have the shape"):
        pb.fft.stft(x, 4, window=np.ones(3))
    with pytest.raises(ValueError, match="3 frequencies"):
        pb.fft.istft(np.zeros((4, 5), complex), 4)
