"""Linear filters of images: correlation, Gaussians, means, differences, and filters of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.operators.images.correlation import correlated, window_mean
from pullback.scipy._arrays import as_output, ascending_axes, chosen_axes, declare_arrays, floating, per_axis, root
from pullback.scipy._surface import Call, joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor


def _is_zero(cval: Any) -> bool:
    return not isinstance(cval, Tensor) and not np.any(cval)


def _with_fill(x: Tensor, cval: Any, mode: str, filtered: Callable[[Tensor], Any], total: Any) -> Any:
    """A filter with `cval` beyond the borders: it is 0 there after `cval` is subtracted everywhere."""
    if "constant" not in mode or _is_zero(cval):
        return filtered(x)
    return filtered(x - cval) + cval * total


def _weighted(x: Tensor, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0) -> Any:
    """The correlation with weights along one axis."""
    if weights.dtype.kind not in "fc":
        weights = weights * 1.0

    def filtered(x: Tensor) -> Any:
        return correlated(x, weights, ndim=x.ndim, axis=axis % x.ndim - x.ndim, mode=mode, origin=(int(origin),))

    return _with_fill(x, cval, mode, filtered, weights.sum())


def _vector(weights: Any) -> Any:
    weights = joined(weights)
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    return weights


@declare_arrays("ndimage.correlate1d", "ndimage.convolve1d", kind="P", by="input, weights, cval")
def _along_one_axis(call: Call) -> Any:
    x, weights, origin = floating(call, call["input"], "an image"), _vector(call["weights"]), call["origin"]
    if call.name.endswith("convolve1d"):
        weights = pb.flip(weights)
        origin = -origin - (weights.shape[0] % 2 == 0)
    else:
        weights = pb.conj(weights)
    return as_output(call, _weighted(x, weights, call["axis"], call["mode"], call["cval"], origin))


@declare_arrays("ndimage.correlate", "ndimage.convolve", kind="P", by="input, weights, cval")
def _over_axes(call: Call) -> Any:
    x, weights = floating(call, call["input"], "an image"), joined(call["weights"])
    axes = ascending_axes(call["axes"], x.ndim)
    if weights.ndim != len(axes) or not weights.size:
        raise RuntimeError(f"filter weights array has incorrect shape: {tuple(weights.shape)}")
    origins = [0] * x.ndim
    for axis, origin in zip(axes, per_axis(call["origin"], len(axes))):
        origins[axis] = int(origin)
    modes = set(per_axis(call["mode"], len(axes)))
    if len(modes) != 1:
        raise RuntimeError("a correlation over several axes has one mode")
    mode = modes.pop()
    for axis in range(x.ndim):
        if axis not in axes:
            weights = pb.expand_dims(weights, axis)
    if call.name.endswith("convolve"):
        weights = pb.flip(weights)
        origins = [-o - (size % 2 == 0) for o, size in zip(origins, weights.shape)]
    else:
        weights = pb.conj(weights)
    weights = weights if weights.dtype.kind in "fc" else weights * 1.0

    def filtered(x: Tensor) -> Any:
        return correlated(x, weights, ndim=x.ndim, axis=None, mode=mode, origin=tuple(origins))

    return as_output(call, _with_fill(x, call["cval"], mode, filtered, weights.sum()))


# Means.


def _mean_along(x: Tensor, size: int, axis: int, mode: str, cval: Any, origin: int) -> Any:
    def filtered(x: Tensor) -> Any:
        return window_mean(x, axis=axis % x.ndim, size=int(size), mode=mode, origin=int(origin))

    return _with_fill(x, cval, mode, filtered, 1.0)


@declare_arrays("ndimage.uniform_filter1d", kind="P", by="input, cval")
def _uniform_along(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    return as_output(call, _mean_along(x, call["size"], call["axis"], call["mode"], call["cval"], call["origin"]))


@declare_arrays("ndimage.uniform_filter", kind="P", by="input, cval")
def _uniform(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    axes = chosen_axes(call["axes"], x.ndim)
    options = (per_axis(call[name], len(axes)) for name in ("size", "mode", "origin"))
    for axis, size, mode, origin in zip(axes, *options):
        x = _mean_along(x, size, axis, mode, call["cval"], origin) if size > 1 else x
    return as_output(call, x)


# Gaussians.


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The weights of a Gaussian or one of its derivatives, as SciPy has them; by formula if `sigma` is a tensor."""
    if not isinstance(sigma, Tensor):
        impulse = np.zeros(2 * radius + 1)
        impulse[radius] = 1
        made = scipy_module("ndimage").gaussian_filter1d(impulse, sigma, order=order, radius=radius, mode="constant")
        return made[::-1].copy()
    at = np.arange(-radius, radius + 1.0)
    bell = pb.exp(-0.5 / (sigma * sigma) * at**2)
    bell = bell / bell.sum()
    # Each derivative of `polynomial * bell` takes the slope of the polynomial, less `at / sigma**2` times it.
    polynomial: Any = [1.0]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(polynomial)][1:] + [0.0, 0.0]
        lower = [0.0, *(c / (sigma * sigma) for c in polynomial)]
        polynomial = [a - b for a, b in zip(slope, lower)]
    factor = sum((c * at**k for k, c in enumerate(polynomial)), 0.0) if order else 1.0
    return pb.flip(factor * bell)


def _gaussian_along(
    x: Tensor, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: float, radius: Any
) -> Any:
    if radius is None:
        width = float(numbers(sigma.detach() if isinstance(sigma, Tensor) else sigma))
        radius = int(truncate * width + 0.5)
    if radius < 0 or int(radius) != radius:
        raise ValueError("Radius must be a nonnegative integer.")
    if order < 0:
        raise ValueError("order must be non-negative")
    return _weighted(x, _gaussian(sigma, order, int(radius)), axis, mode, cval)


def _smoothed(
    x: Tensor, sigma: Any, order: Any = 0, mode: Any = "reflect", cval: Any = 0.0, truncate: float = 4.0,
    radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    axes = chosen_axes(axes, x.ndim)
    options = (per_axis(each, len(axes)) for each in (sigma, order, mode, radius))
    for axis, width, nu, at_border, reach in zip(axes, *options):
        if isinstance(width, Tensor) or width > 1e-15:
            x = _gaussian_along(x, width, axis, nu, at_border, cval, truncate, reach)
    return x


def _options(call: Call, *names: str) -> dict[str, Any]:
    return {name: call[name] for name in names}


@declare_arrays("ndimage.gaussian_filter1d", kind="P", by="input, sigma, cval")
def _gaussian_filter1d(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    options = _options(call, "sigma", "axis", "order", "mode", "cval", "truncate", "radius")
    return as_output(call, _gaussian_along(x, **options))


@declare_arrays("ndimage.gaussian_filter", kind="P", by="input, sigma, cval")
def _gaussian_filter(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    options = _options(call, "sigma", "order", "mode", "cval", "truncate", "radius", "axes")
    return as_output(call, _smoothed(x, **options))


def _derived(call: Call, order: int) -> list[Any]:
    """The image smoothed, with derivatives of this order along each of the axes in turn."""
    x = floating(call, call["input"], "an image")
    axes = chosen_axes(call["axes"], x.ndim)
    made = []
    for k in range(len(axes)):
        orders = [order * (j == k) for j in range(len(axes))]
        more = {"axes": axes, "mode": call["mode"], "cval": call["cval"], **call.bound.arguments.get("kwargs", {})}
        made.append(_smoothed(x, call["sigma"], orders, **more))
    return made


@declare_arrays("ndimage.gaussian_laplace", kind="P", by="input, sigma, cval")
def _gaussian_laplace(call: Call) -> Any:
    return as_output(call, _added(_derived(call, 2)))


@declare_arrays("ndimage.gaussian_gradient_magnitude", kind="P", by="input, sigma, cval")
def _gaussian_gradient_magnitude(call: Call) -> Any:
    return as_output(call, root(_added([each * each for each in _derived(call, 1)])))


def _added(parts: Sequence[Any]) -> Any:
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


# Differences.


@declare_arrays("ndimage.sobel", "ndimage.prewitt", kind="P", by="input, cval")
def _edges(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    axis = call["axis"] % x.ndim
    modes = per_axis(call["mode"], x.ndim)
    across = np.array([1.0, 2.0, 1.0] if call.name.endswith("sobel") else [1.0, 1.0, 1.0])
    out = _weighted(x, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], call["cval"])
    for other in range(x.ndim):
        if other != axis:
            out = _weighted(out, across, other, modes[other], call["cval"])
    return as_output(call, out)


@declare_arrays("ndimage.laplace", kind="P", by="input, cval")
def _laplace(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    axes = chosen_axes(call["axes"], x.ndim)
    second = np.array([1.0, -2.0, 1.0])
    modes = per_axis(call["mode"], len(axes))
    return as_output(
        call, _added([_weighted(x, second, axis, mode, call["cval"]) for axis, mode in zip(axes, modes)])
    )


# Fourier transforms.


def _frequencies(x: Tensor, n: int, axis: int) -> list[Any]:
    """The frequencies of a Fourier transform along every axis, in cycles for each sample."""
    axis = axis % x.ndim
    found = []
    for k, length in enumerate(x.shape):
        is_half = k == axis and n >= 0
        values = np.arange(length) / n if is_half else np.fft.fftfreq(length)
        found.append(values.reshape((-1,) + (1,) * (x.ndim - 1 - k)))
    return found


@declare_arrays("ndimage.fourier_gaussian", kind="C", by="input, sigma")
def _fourier_gaussian(call: Call) -> Any:
    x = floating(call, call["input"], "a transform")
    for frequency, sigma in zip(_frequencies(x, call["n"], call["axis"]), per_axis(call["sigma"], x.ndim)):
        x = x * pb.exp(joined(-2.0 * np.pi**2 * frequency**2 * sigma * sigma))
    return as_output(call, x)


@declare_arrays("ndimage.fourier_shift", kind="C", by="input, shift")
def _fourier_shift(call: Call) -> Any:
    x = floating(call, call["input"], "a transform")
    phase: Any = 0.0
    for frequency, shift in zip(_frequencies(x, call["n"], call["axis"]), per_axis(call["shift"], x.ndim)):
        phase = phase + frequency * shift
    phase = joined(phase) * (-2.0 * np.pi)
    return as_output(call, x * (pb.cos(phase) + 1j * pb.sin(phase)))


@declare_arrays("ndimage.fourier_uniform", kind="C", by="input, size")
def _fourier_uniform(call: Call) -> Any:
    x = floating(call, call["input"], "a transform")
    for frequency, size in zip(_frequencies(x, call["n"], call["axis"]), per_axis(call["size"], x.ndim)):
        x = x * pb.sinc(joined(frequency * size))
    return as_output(call, x)


@declare_arrays("ndimage.fourier_ellipsoid", kind="C", by="input")
def _fourier_ellipsoid(call: Call) -> Any:
    x = floating(call, call["input"], "a transform")
    return as_output(call, x * call.run(input=np.ones(x.shape), size=numbers(call["size"]), output=None))
