"""`pb.scipy.ndimage`: values are SciPy's, filters satisfy the adjoint identity, and derivatives hold to every order."""

import numpy as np
import pytest
import scipy.ndimage

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.scipy import ndimage

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.standard_normal((7, 6))
WEIGHTS = RANDOM.standard_normal((2, 3))
POINTS = RANDOM.uniform(-4, 10, (2, 9)) + 0.013
LABELS = RANDOM.integers(0, 4, IMAGE.shape)
SHAPE = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror"]


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


FILTERS = {
    "correlate": lambda f, x, mode: f(x, WEIGHTS, mode=mode, origin=(0, 1)),
    "convolve": lambda f, x, mode: f(x, WEIGHTS, mode=mode, origin=(-1, 0)),
    "correlate1d": lambda f, x, mode: f(x, WEIGHTS[0], axis=0, mode=mode, origin=-1),
    "convolve1d": lambda f, x, mode: f(x, [1.0, 2.0, -3.0, 4.0], mode=mode, origin=1),
    "gaussian_filter": lambda f, x, mode: f(x, (1.2, 2.5), mode=mode),
    "gaussian_filter1d": lambda f, x, mode: f(x, 0.8, order=2, mode=mode),
    "uniform_filter": lambda f, x, mode: f(x, (3, 4), mode=mode, origin=(0, 1)),
    "gaussian_laplace": lambda f, x, mode: f(x, 1.0, mode=mode),
    "sobel": lambda f, x, mode: f(x, 0, mode=mode),
    "prewitt": lambda f, x, mode: f(x, mode=mode),
    "laplace": lambda f, x, mode: f(x, mode=mode),
    "spline_filter": lambda f, x, mode: f(x, 4, mode=mode),
    "spline_filter1d": lambda f, x, mode: f(x, 5, axis=0, mode=mode),
    "rotate": lambda f, x, mode: f(x, 33.0, order=3, mode=mode),
    "zoom": lambda f, x, mode: f(x, 1.7, order=2, mode=mode),
    "shift": lambda f, x, mode: f(x, (1.7, -0.4), order=5, mode=mode),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_a_linear_filter_is_scipys_and_has_its_adjoint(name, mode):
    x = leaf(IMAGE)
    out = FILTERS[name](getattr(ndimage, name), x, mode)
    plain = FILTERS[name](getattr(scipy.ndimage, name), IMAGE, mode)
    np.testing.assert_array_equal(out.detach().numpy(), plain)
    g = np.random.default_rng(1).standard_normal(plain.shape)
    (gradient,) = pb.autograd.grad(out, x, pb.tensor(g))
    along, _ = np.random.default_rng(2).standard_normal((2, *IMAGE.shape))
    moved = FILTERS[name](getattr(scipy.ndimage, name), along, mode)
    assert (gradient.numpy() * along).sum() == pytest.approx((g * moved).sum(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", range(6))
def test_samples_are_scipys_and_have_derivatives_by_image_and_coordinates(order, mode):
    x, at = leaf(IMAGE), leaf(POINTS)
    out = ndimage.map_coordinates(x, at, order=order, mode=mode)
    np.testing.assert_array_equal(
        out.detach().numpy(), scipy.ndimage.map_coordinates(IMAGE, POINTS, order=order, mode=mode)
    )
    assert gradcheck(
        lambda x, at: ndimage.map_coordinates(x, at, order=order, mode=mode), (x, at), check_forward_ad=True,
        fast_mode=True,
    )  # fmt: skip
    if order == 0:
        assert not pb.autograd.grad(out.sum(), at)[0].any()


def test_far_outside_samples_are_scipys():
    far = RANDOM.uniform(-60, 60, (2, 50))
    for mode in MODES:
        for order in (1, 3):
            out = ndimage.map_coordinates(leaf(IMAGE), far, order=order, mode=mode)
            plain = scipy.ndimage.map_coordinates(IMAGE, far, order=order, mode=mode)
            np.testing.assert_array_equal(out.detach().numpy(), plain)


def test_samples_differentiate_twice_batch_and_compile():
    def sampled(x, at):
        return ndimage.map_coordinates(x, at, order=3, mode="reflect")

    x, at = leaf(IMAGE), leaf(POINTS[:, :3])
    assert gradgradcheck(sampled, (x, at), fast_mode=True)
    many = pb.tensor(RANDOM.standard_normal((3, 7, 6)))
    looped = pb.stack([sampled(each, at.detach()) for each in many])
    np.testing.assert_allclose(pb.func.vmap(lambda x: sampled(x, at.detach()))(many).numpy(), looped.numpy())

    def slope(x, at):
        return pb.func.grad(lambda at: (sampled(x, at) ** 2).sum())(at)

    expected = slope(x.detach(), at.detach()).numpy()
    np.testing.assert_allclose(pb.compile(slope)(x.detach(), at.detach()).numpy(), expected)
    batched = pb.func.vmap(slope, in_dims=(0, None))(many, at.detach())
    np.testing.assert_allclose(batched[1].numpy(), slope(many[1], at.detach()).numpy())


def test_the_slope_of_a_sample_of_squares():
    squares = leaf([0.0, 1.0, 4.0, 9.0, 16.0])
    for order, mode, slope in [(1, "constant", 3.0), (3, "mirror", 3.107142857)]:
        at = leaf([[1.5]])
        ndimage.map_coordinates(squares, at, order=order, mode=mode).sum().backward()
        assert at.grad.item() == pytest.approx(slope, rel=1e-8)


def test_a_gaussian_by_its_width():
    impulse = np.zeros(21)
    impulse[10] = 1
    sigma = leaf(1.0)
    ndimage.gaussian_filter(impulse, sigma)[10].backward()
    assert sigma.grad.item() == pytest.approx(-0.398914745, rel=1e-8)
    for order in (0, 1, 2, 3):
        assert gradcheck(
            lambda x, s, order=order: ndimage.gaussian_filter(x, (s, 1.1), order=(order, 0), radius=4),
            (leaf(IMAGE), leaf(1.3)),
            check_forward_ad=True, fast_mode=True,
        )  # fmt: skip
        width = leaf(1.3)
        np.testing.assert_allclose(
            ndimage.gaussian_filter1d(IMAGE, width, order=order).detach().numpy(),
            scipy.ndimage.gaussian_filter1d(IMAGE, 1.3, order=order), rtol=1e-12, atol=1e-14,
        )  # fmt: skip


def test_weights_have_derivatives_to_second_order():
    for mode in ("reflect", "mirror", "constant"):
        assert gradcheck(lambda x, w, mode=mode: ndimage.correlate(x, w, mode=mode), (leaf(IMAGE), leaf(WEIGHTS)),
                         check_forward_ad=True, fast_mode=True)  # fmt: skip
        values = (leaf(IMAGE), leaf(WEIGHTS[0]))
        assert gradgradcheck(lambda x, w, mode=mode: ndimage.convolve1d(x, w, mode=mode), values, fast_mode=True)


def test_complex_weights_are_conjugated_as_scipy_does():
    weights = WEIGHTS + 1j * WEIGHTS[::-1]
    for name in ("correlate", "convolve"):
        out = getattr(ndimage, name)(pb.tensor(IMAGE + 0j, requires_grad=True), weights)
        np.testing.assert_allclose(out.detach().numpy(), getattr(scipy.ndimage, name)(IMAGE + 0j, weights), rtol=1e-13)


def test_what_lies_beyond_the_borders_has_a_derivative():
    for call in (
        lambda c: ndimage.correlate(IMAGE, WEIGHTS, mode="constant", cval=c),
        lambda c: ndimage.map_coordinates(IMAGE, POINTS, order=3, mode="constant", cval=c),
        lambda c: ndimage.map_coordinates(IMAGE, POINTS, order=3, mode="grid-constant", cval=c),
        lambda c: ndimage.maximum_filter(IMAGE, 3, mode="constant", cval=c),
        lambda c: ndimage.uniform_filter(IMAGE, 3, mode="constant", cval=c),
    ):
        assert gradcheck(call, (leaf(0.7),), check_forward_ad=True)
        assert not np.allclose(call(leaf(0.7)).detach().numpy(), call(0.0).numpy())
    shifted = ndimage.shift(leaf(IMAGE), 2.5, order=1, cval=3.0)
    np.testing.assert_allclose(shifted.detach().numpy(), scipy.ndimage.shift(IMAGE, 2.5, order=1, cval=3.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda f, angle: f.rotate(IMAGE, angle, reshape=False, order=3),
        lambda f, angle: f.rotate(np.stack([IMAGE, -IMAGE]), angle, axes=(1, 2), order=1),
        lambda f, s: f.shift(IMAGE, s, order=3, mode="mirror"),
        lambda f, s: f.affine_transform(IMAGE, np.array([[1.0, 0.2], [-0.3, 0.9]]) * s / 33.3, (s / 50, 0.55), order=3),
        lambda f, s: f.affine_transform(IMAGE, np.array([1.1, 0.9]) * s / 33.3, s / 100, order=2, mode="nearest"),
        lambda f, s: f.geometric_transform(IMAGE, lambda p: (p[0] * s / 40, p[1] + 0.3), order=3),
        lambda f, s: f.fourier_shift(np.fft.fft2(IMAGE), s / 10).real,
        lambda f, s: f.fourier_gaussian(np.fft.fft2(IMAGE), s / 30).real,
        lambda f, s: f.fourier_uniform(np.fft.fft2(IMAGE), s / 30).real,
    ],
)  # fmt: skip
def test_transforms_by_their_parameters_agree_with_differences(call):
    step = 1e-6
    numerical = (call(scipy.ndimage, 33.3 + step) - call(scipy.ndimage, 33.3 - step)) / (2 * step)
    out, slope = pb.func.jvp(lambda s: call(ndimage, s), (pb.tensor(33.3),), (pb.tensor(1.0),))
    np.testing.assert_allclose(out.numpy(), call(scipy.ndimage, 33.3), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(slope.numpy(), numerical, rtol=1e-6, atol=1e-6)
    s = leaf(33.3)
    call(ndimage, s).sum().backward()
    assert s.grad.item() == pytest.approx(numerical.sum(), rel=1e-5, abs=1e-6)


def test_a_quarter_turn_by_a_tensor_loses_no_border():
    out = ndimage.rotate(IMAGE, leaf(90.0), order=1)
    np.testing.assert_array_equal(out.detach().numpy(), scipy.ndimage.rotate(IMAGE, 90.0, order=1))


CHOOSING = {
    "minimum_filter": [{"size": 3}, {"footprint": SHAPE, "origin": (0, 1)}],
    "maximum_filter": [{"size": (2, 3)}, {"size": (3,), "axes": (1,)}],
    "median_filter": [{"size": (2, 3)}, {"footprint": SHAPE}],
    "rank_filter": [{"rank": 2, "footprint": SHAPE}],
    "percentile_filter": [{"percentile": 30, "size": (3, 2)}],
    "maximum_filter1d": [{"size": 4, "axis": 0, "origin": 1}],
    **{
        name: [{"size": (2, 3)}, {"structure": WEIGHTS}, {"footprint": SHAPE}]
        for name in ("grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "morphological_gradient",
                     "morphological_laplace", "white_tophat", "black_tophat")
    },
}  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "constant", "mirror"])
@pytest.mark.parametrize("name", CHOOSING)
def test_a_filter_that_chooses_is_scipys_and_reads_what_it_chose(name, mode):
    for options in CHOOSING[name]:
        x = leaf(IMAGE)
        out = getattr(ndimage, name)(x, mode=mode, **options)
        np.testing.assert_array_equal(out.detach().numpy(), getattr(scipy.ndimage, name)(IMAGE, mode=mode, **options))
        assert gradcheck(
            lambda x, how=options: getattr(ndimage, name)(x, mode=mode, **how), (x,), check_forward_ad=True,
            fast_mode=True,
        )  # fmt: skip


def test_of_equal_elements_the_first_is_chosen():
    x = leaf(np.ones((3, 3)))
    ndimage.maximum_filter(x, 3, mode="constant", cval=-1.0)[1, 1].backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1, 0, 0], [0, 0, 0], [0, 0, 0]])


def test_a_dilation_by_its_structure():
    assert gradcheck(lambda s: ndimage.grey_dilation(IMAGE, structure=s), (leaf(WEIGHTS),), check_forward_ad=True)
    assert gradcheck(lambda s: ndimage.grey_closing(IMAGE, structure=s), (leaf(WEIGHTS),), check_forward_ad=True)


def test_choosing_filters_batch_and_compile():
    def filtered(x):
        return ndimage.median_filter(x, 3) + ndimage.maximum_filter(x, (2, 3)) + ndimage.gaussian_filter(x, 1.0)

    many = pb.tensor(RANDOM.standard_normal((3, 7, 6)))
    gradient = pb.func.grad(lambda x: (filtered(x) ** 2).sum())
    looped = pb.stack([gradient(each) for each in many])
    np.testing.assert_allclose(pb.func.vmap(gradient)(many).numpy(), looped.numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pb.compile(gradient)(many[0]).numpy(), looped[0].numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median"]
)
def test_measurements_of_parts(name):
    for where in [(), (LABELS,), (LABELS, 2), (LABELS, [3, 1, 1])]:
        out = getattr(ndimage, name)(leaf(IMAGE), *where)
        np.testing.assert_allclose(out.detach().numpy(), getattr(scipy.ndimage, name)(IMAGE, *where), rtol=1e-12)
        assert gradcheck(
            lambda x, where=where: getattr(ndimage, name)(x, *where), (leaf(IMAGE),), check_forward_ad=True,
            fast_mode=True,
        )  # fmt: skip


def test_centers_and_extremes_of_parts():
    x = leaf(IMAGE**2)
    centers = scipy.ndimage.center_of_mass(IMAGE**2, LABELS, [1, 3])
    for found, plain in zip(ndimage.center_of_mass(x, LABELS, [1, 3]), centers):
        np.testing.assert_allclose([each.item() for each in found], plain)
    assert gradcheck(lambda x: ndimage.center_of_mass(x, LABELS, 2), (x,), fast_mode=True)
    least, most, lowest, highest = ndimage.extrema(x, LABELS, [1, 2])
    plain = scipy.ndimage.extrema(IMAGE**2, LABELS, [1, 2])
    np.testing.assert_array_equal(least.detach().numpy(), plain[0])
    np.testing.assert_array_equal(most.detach().numpy(), plain[1])
    assert (lowest, highest) == plain[2:]


def test_a_generic_filter_finds_what_its_function_takes_from_anywhere():
    p = leaf(1.5)
    out = ndimage.generic_filter(IMAGE, lambda v: (v**2).sum() * p, 3, mode="constant", cval=2.0)
    plain = scipy.ndimage.generic_filter(IMAGE, lambda v: (v**2).sum() * 1.5, 3, mode="constant", cval=2.0)
    np.testing.assert_allclose(out.detach().numpy(), plain)
    out.sum().backward()
    assert p.grad.item() == pytest.approx(plain.sum() / 1.5)


def test_labels_are_constant_and_lose_nothing_silently():
    x = leaf(IMAGE)
    labels, count = ndimage.label(x > 0)
    assert not labels.requires_grad and count == scipy.ndimage.label(IMAGE > 0)[1]
    with pytest.raises(pb.AutogradError) as raised:
        ndimage.generic_filter1d(x, lambda i, o: None, 3)
    assert raised.value.code == "SCIPY_NO_RULE"


def test_results_that_would_be_rounded_are_refused():
    with pytest.raises(pb.AutogradError, match="rounded to integers") as raised:
        ndimage.gaussian_filter(np.arange(12).reshape(3, 4), leaf(1.0))
    assert raised.value.code == "SCIPY_NO_RULE"
    with pytest.raises(pb.AutogradError, match="output= is an array"):
        ndimage.gaussian_filter(leaf(IMAGE), 1.0, output=np.zeros((7, 6)))
    with pytest.raises(pb.AutogradError, match="ascending order"):
        ndimage.correlate(leaf(np.ones((3, 4, 5))), WEIGHTS, axes=(2, 0))


def test_constants_are_computed_by_scipy_itself():
    out = ndimage.gaussian_filter(np.arange(12).reshape(3, 4), 1.0)
    assert isinstance(out, pb.Tensor) and out.dtype.kind == "i"
    out = ndimage.gaussian_filter(leaf(IMAGE).detach(), 1.0, mode="constant", cval=3.0)
    np.testing.assert_array_equal(out.numpy(), scipy.ndimage.gaussian_filter(IMAGE, 1.0, mode="constant", cval=3.0))
