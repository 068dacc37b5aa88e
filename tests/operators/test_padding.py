"""The modes of `pad`, against NumPy and by their derivatives."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck

X = np.random.default_rng(0).permutation(12.0 * np.arange(12) / 7).reshape(3, 4)
WIDTHS = [2, (1, 0), ((0, 3), (2, 1))]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean", "median", "maximum", "minimum"]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_numpys(mode):
    for widths in WIDTHS:
        for x in (X, X.astype(np.float32), X[::-1, ::2], X + 1j * X, (10 * X).astype(int)):
            out, expected = pb.pad(x, widths, mode), np.pad(x, widths, mode)
            assert out.dtype == expected.dtype
            np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_every_mode(mode):
    x = pb.tensor(X, requires_grad=True)
    assert gradcheck(lambda x: pb.pad(x, ((2, 1), (0, 2)), mode) ** 2, (x,))


@pytest.mark.parametrize("length", [1, 2, (1, 9), ((2, 1), (3, 2))])
@pytest.mark.parametrize("mode", ["mean", "median", "maximum", "minimum"])
def test_statistics_of_some_elements(mode, length):
    np.testing.assert_allclose(
        pb.pad(X, ((1, 2), (3, 0)), mode, stat_length=length), np.pad(X, ((1, 2), (3, 0)), mode, stat_length=length)
    )


def test_ramps_end_where_they_are_told():
    ends = ((1.0, 2.0), (3.0, 4.0))
    np.testing.assert_allclose(
        pb.pad(X, 2, "linear_ramp", end_values=ends), np.pad(X, 2, "linear_ramp", end_values=ends)
    )
    x, end = pb.tensor(X, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    assert gradcheck(lambda x, end: pb.pad(x, (1, 3), "linear_ramp", end_values=end), (x, end))


def test_constants_by_side_are_differentiable():
    values = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = pb.pad(X, ((1, 2), (3, 1)), constant_values=values)
    np.testing.assert_array_equal(out.detach(), np.pad(X, ((1, 2), (3, 1)), constant_values=values.detach().tolist()))
    out.sum().backward()
    assert values.grad.tolist() == [[4.0, 8.0], [18.0, 6.0]]


def test_the_extreme_of_several_equal_elements_shares_its_gradient():
    x = pb.tensor([1.0, 5.0, 5.0], requires_grad=True)
    pb.pad(x, (0, 2), "maximum").sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0]


def test_what_can_not_be_padded_raises():
    with pytest.raises(ValueError, match="axis 0 is empty"):
        pb.pad(np.zeros(0), 1, "mean")
    with pytest.raises(ValueError, match="axis 0 is empty"):
        pb.pad(np.zeros(0), 1, "linear_ramp")
    with pytest.raises(ValueError, match="negative width"):
        pb.pad(X, -1, "mean")
    with pytest.raises(ValueError, match="stat_length must be positive"):
        pb.pad(X, 1, "mean", stat_length=0)
    with pytest.raises(ValueError, match="mode must be one of"):
        pb.pad(X, 1, "flat")
    assert pb.pad(np.zeros((0, 2)), ((0, 0), (1, 1)), "mean").shape == (0, 4)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("widths", [(0, 1), (1, 0), (2, 3), (7, 12)], ids=str)
def test_odd_reflections_are_numpys(mode, length, widths):
    x = np.arange(1.0, 2 * length + 1).reshape(length, 2) ** 1.5
    expected = np.pad(x, (widths, (1, 1)), mode, reflect_type="odd")
    np.testing.assert_allclose(pb.pad(x, (widths, (1, 1)), mode, reflect_type="odd").numpy(), expected)
    leaf = pb.tensor(x, requires_grad=True)
    assert gradcheck(lambda x: pb.pad(x, (widths, (0, 0)), mode, reflect_type="odd"), (leaf,))


def test_reflections_are_even_or_odd():
    with pytest.raises(ValueError, match="reflect_type"):
        pb.pad(X, 1, "reflect", reflect_type="other")


def test_a_function_pads_line_by_line():
    def pads(line, widths, axis, options):
        line[: widths[0]] = options.get("start", line[widths[0]] * 3)
        line[line.shape[0] - widths[1] :] = line[widths[0]] * (axis + 2)

    a, widths = np.arange(1.0, 7.0).reshape(2, 3), ((1, 2), (2, 1))
    for options in ({}, {"start": 5.0}):
        padded = np.pad(pb.asarray(a), widths, pads, **options)
        assert padded.tolist() == np.pad(a, widths, pads, **options).tolist()
    assert gradcheck(lambda x: pb.pad(x, widths, pads), (pb.tensor(a, requires_grad=True),))
    assert pb.pad(pb.asarray(a), 1, "empty")[1:-1, 1:-1].tolist() == a.tolist()
    with pytest.raises(TypeError, match="unsupported keyword arguments"):
        pb.pad(pb.asarray(a), 1, "empty", start=5.0)
