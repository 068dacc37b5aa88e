"""Convolution and correlation of arrays, as in NumPy and in SciPy's signal package.

One operator carries all of it: the convolution over the last axes, either everywhere the operands overlap ("full") or
where the second lies inside the first ("valid"). It is closed under transposition: the transpose of a full one is a
valid one with the other operand reversed, and the other way round. Everything else crops, reverses and conjugates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_tuple
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import tensor_from
from pullback.operators.arrays.index_operators import basic_view
from pullback.operators.elementwise.complex_numbers import conjugated

Array = Any  # an ndarray; NumPy's types do not know that an index may be a tuple of slices


def _lengths(x: tuple[int, ...], y: tuple[int, ...], valid: bool) -> tuple[int, ...]:
    return tuple(a - b + 1 if valid else a + b - 1 for a, b in zip(x, y, strict=True))


@primitive(name="_convolve", torch="convolution", flow="convolves")
def convolve_axes(x, y, *, ndim, valid, method):
    """The convolution over the last `ndim` axes; axes before them are paired. With `valid`, `x` is the longer one."""
    cores = _lengths(x.shape[x.ndim - ndim :], y.shape[y.ndim - ndim :], valid)
    if 0 in cores or x.size == 0 or y.size == 0:
        batch = np.broadcast_shapes(x.shape[: x.ndim - ndim], y.shape[: y.ndim - ndim])
        return np.zeros((*batch, *(max(length, 0) for length in cores)), np.result_type(x, y))
    if method == "fft":
        return _by_transform(x, y, ndim, valid)
    if ndim == 1 and x.ndim == y.ndim == 1:
        return np.convolve(x, y, "valid" if valid else "full")
    return _by_shifts(x, y, ndim, valid)


def _by_shifts(x: Array, y: Array, ndim: int, valid: bool) -> Array:
    """The sum over the elements of one operand of that element times the other one, shifted."""
    first, second = x.shape[x.ndim - ndim :], y.shape[y.ndim - ndim :]
    batch = np.broadcast_shapes(x.shape[: x.ndim - ndim], y.shape[: y.ndim - ndim])
    out: Any = np.zeros((*batch, *_lengths(first, second, valid)), np.result_type(x, y))
    if not valid and math.prod(first) < math.prod(second):
        x, y, first, second = y, x, second, first
    for place in np.ndindex(second):
        factor = y[(..., *place, *(None,) * ndim)]
        if valid:
            starts = tuple(length - 1 - k for length, k in zip(second, place, strict=True))
            window = tuple(slice(s, s + n) for s, n in zip(starts, out.shape[out.ndim - ndim :], strict=True))
            out += x[(..., *window)] * factor
        else:
            out[(..., *(slice(k, k + n) for k, n in zip(place, first, strict=True)))] += x * factor
    return out


def _by_transform(x: Array, y: Array, ndim: int, valid: bool) -> Array:
    """The product of Fourier transforms: faster for long operands, exact to rounding relative to the largest value."""
    first, second = x.shape[x.ndim - ndim :], y.shape[y.ndim - ndim :]
    lengths = [a + b - 1 for a, b in zip(first, second, strict=True)]
    axes = tuple(range(-ndim, 0))
    dtype = np.result_type(x, y)
    out: Any
    if dtype.kind == "c":
        out = np.fft.ifftn(np.fft.fftn(x, lengths, axes) * np.fft.fftn(y, lengths, axes), lengths, axes)
    else:
        out = np.fft.irfftn(np.fft.rfftn(x, lengths, axes) * np.fft.rfftn(y, lengths, axes), lengths, axes)
    if valid:
        out = out[(..., *(slice(b - 1, a) for a, b in zip(first, second, strict=True)))]
    return (np.rint(out) if dtype.kind in "biu" else out).astype(dtype)


def _reversed(x: Any, ndim: int) -> Any:
    return basic_view(x, index=(..., *(slice(None, None, -1),) * ndim))


@convolve_axes.transpose_of("x")
def convolve_transpose_x(g, y, ndim, valid, method):
    return convolve_axes(g, _reversed(conjugated(y), ndim), ndim=ndim, valid=not valid, method=method)


@convolve_axes.transpose_of("y")
def convolve_transpose_y(g, x, ndim, valid, method):
    other = _reversed(conjugated(x), ndim)
    if valid:
        return convolve_axes(other, g, ndim=ndim, valid=True, method=method)
    return convolve_axes(g, other, ndim=ndim, valid=True, method=method)


@convolve_axes.spec
def convolve_spec(x, y, *, ndim, valid, method):
    batch = np.broadcast_shapes(x.shape[: x.ndim - ndim], y.shape[: y.ndim - ndim])
    cores = _lengths(x.shape[x.ndim - ndim :], y.shape[y.ndim - ndim :], valid)
    return spec_for((*batch, *(max(length, 0) for length in cores)), np.result_type(x.dtype, y.dtype))


@convolve_axes.batch
def convolve_batch(x, y, *, ndim, valid, method):
    rank = max(x.ndim, y.ndim)
    x, y = (each.reshape(each.shape[:1] + (1,) * (rank - each.ndim) + each.shape[1:]) for each in (x, y))
    return convolve_axes(x, y, ndim=ndim, valid=valid, method=method)


@convolve_axes.samples
def convolve_samples(make: Maker) -> Iterator[Sample]:
    def params(ndim: int, valid: bool, method: str = "direct") -> dict[str, Any]:
        return {"ndim": ndim, "valid": valid, "method": method}

    yield Sample((make((5,)), make((3,))), params(1, False), "full")
    yield Sample((make((5,)), make((3,))), params(1, True), "valid")
    yield Sample((make((2,)), make((4,))), params(1, False), "second-longer")
    yield Sample((make((1,)), make((1,))), params(1, True), "single")
    yield Sample((make((0, 4)), make((0, 2))), params(1, True), "empty")
    yield Sample((make((3, 4)), make((2, 3))), params(2, False), "plane-full")
    yield Sample((make((3, 4)), make((2, 3))), params(2, True), "plane-valid")
    yield Sample((make((4,), np.complex128), make((2,), np.complex128)), params(1, False), "complex")
    yield Sample((make((4,), np.complex128), make((2,))), params(1, True), "complex-real")
    yield Sample((make((5,), np.float32), make((3,), np.float32)), params(1, False), "float32")
    yield Sample((make((2, 5)), make((2, 3))), params(1, True), "batch")
    yield Sample((make((6,)), make((3,))), params(1, False, "fft"), "transform")
    yield Sample((make((4, 3)), make((2, 2))), params(2, True, "fft"), "transform-valid")
    yield Sample((make((6,))[::-2], make((4,))[::2]), params(1, False), "strided")
    yield Sample((make.integers(-3, 4, (5,)), make.integers(-3, 4, (2,))), params(1, False), "integers")


# One axis, as NumPy has it.


def _cropped(out: Any, lengths: tuple[int, ...], whole: tuple[int, ...]) -> Any:
    """The middle of a full convolution."""
    starts = [(n - length) // 2 for n, length in zip(whole, lengths, strict=True)]
    window = tuple(slice(s, s + length) for s, length in zip(starts, lengths, strict=True))
    return basic_view(out, index=(..., *window))


def _vectors(name: str, a: Any, v: Any) -> tuple[Any, Any]:
    a, v = tensor_from(a), tensor_from(v)
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError(f"{name}: expected two vectors, got {a.ndim} and {v.ndim} axes")
    a, v = (x if x.ndim else x.reshape((1,)) for x in (a, v))
    if not a.shape[0] or not v.shape[0]:
        raise ValueError(f"{name}: the vectors must not be empty")
    return a, v


@composite(arrays=2)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors: `out[k] = sum(a[j] * v[k - j])`.

    `mode` is "full" for all of it, "same" for as many elements as the longer one has, from the middle, and "valid" for
    those that need no element from beyond the ends.
    """
    a, v = _vectors("convolve", a, v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    return _vector_convolution("convolve", a, v, mode)


def _vector_convolution(name: str, a: Any, v: Any, mode: str) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    out = convolve_axes(a, v, ndim=1, valid=mode == "valid", method="direct")
    if mode != "same":
        return out
    start = (v.shape[0] - 1) // 2
    return basic_view(out, index=(slice(start, start + a.shape[0]),))


@composite(arrays=2)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors: `out[k] = sum(a[j + k] * conj(v[j]))`, from the first overlap of the two on.

    The modes are those of `convolve`.
    """
    a, v = _vectors("correlate", a, v)
    v = conjugated(v)
    if v.shape[0] <= a.shape[0]:
        return _vector_convolution("correlate", a, _reversed(v, 1), mode)
    # The longer one goes first, which turns the result around.
    return _reversed(_vector_convolution("correlate", v, _reversed(a, 1), mode), 1)


# Several axes, as SciPy has it.


def _signals(name: str, x: Any, y: Any, mode: str) -> tuple[Any, Any]:
    x, y = tensor_from(x), tensor_from(y)
    if x.ndim != y.ndim:
        raise ValueError(f"{name}: both must have the same number of axes, got {x.ndim} and {y.ndim}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    return x, y


def _goes_inside(name: str, x: Any, y: Any, ndim: int) -> bool:
    """Whether `y` fits into `x` along the last axes; an error if neither fits into the other."""
    lengths = list(zip(x.shape[x.ndim - ndim :], y.shape[y.ndim - ndim :], strict=True))
    if all(a >= b for a, b in lengths):
        return True
    if all(a <= b for a, b in lengths):
        return False
    raise ValueError(f"{name}: mode='valid' needs one to fit into the other along every axis, got {x.shape}, {y.shape}")


def _convolution(name: str, x: Any, y: Any, mode: str, method: str, ndim: int | None = None) -> Any:
    """Over the last `ndim` axes, or over all; those before are paired."""
    ndim = x.ndim if ndim is None else ndim
    if method == "auto":
        # Shifts cost the product of the sizes, transforms about 60 passes over the result.
        method = "fft" if min(x.size, y.size) > 400 and x.dtype.kind == y.dtype.kind == "f" else "direct"
    if method not in ("direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if ndim == 0:
        return x * y
    if mode == "valid":
        if not _goes_inside(name, x, y, ndim):
            x, y = y, x
        return convolve_axes(x, y, ndim=ndim, valid=True, method=method)
    out = convolve_axes(x, y, ndim=ndim, valid=False, method=method)
    if mode == "full":
        return out
    return _cropped(out, x.shape[x.ndim - ndim :], out.shape[out.ndim - ndim :])


@composite(name="signal.convolve", arrays=2)
def signal_convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", *, axes: Any = None, dot_axes: Any = ((), ())
) -> Any:
    """The convolution of two arrays over all axes, computed directly or by Fourier transforms.

    `mode` is "full", "same" for the middle part of the shape of `in1`, or "valid". Differentiable in both.

    `axes` are, as HIPS autograd has it, two lists: the axes of `in1` that are convolved with those of `in2`. Products
    over `dot_axes`, again two lists, are summed. Of all other axes the result has every pair, those of `in1` first,
    and what is convolved comes last.
    """
    if axes is None and not any(dot_axes):
        return _convolution("convolve", *_signals("convolve", in1, in2, mode), mode, method)
    x, y = tensor_from(in1), tensor_from(in2)
    axes = (range(x.ndim), range(y.ndim)) if axes is None else axes
    convolved, summed = ([normalize_axis_tuple(own, z.ndim) for own, z in zip(pair, (x, y), strict=True)]
                         for pair in (axes, dot_axes))  # fmt: skip
    if len(convolved[0]) != len(convolved[1]) or len(summed[0]) != len(summed[1]):
        raise ValueError("convolve: axes and dot_axes are two lists of the same length each, one for each operand")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: mode must be 'full', 'same' or 'valid', got {mode!r}")
    both = []
    others = [[k for k in range(z.ndim) if k not in (*c, *s)]
              for z, c, s in zip((x, y), convolved, summed, strict=True)]  # fmt: skip
    for k, z in enumerate((x, y)):
        lengths = [[z.shape[axis] for axis in group] for group in (others[k], summed[k], convolved[k])]
        ones = [1] * len(others[1 - k])
        lead = [*lengths[0], *ones] if k == 0 else [*ones, *lengths[0]]
        both.append(z.transpose((*others[k], *summed[k], *convolved[k])).reshape((*lead, *lengths[1], *lengths[2])))
    out = _convolution("convolve", both[0], both[1], mode, method, len(convolved[0]))
    first = len(others[0]) + len(others[1])
    return out.sum(axis=tuple(range(first, first + len(summed[0])))) if summed[0] else out


@composite(name="signal.fftconvolve", arrays=2)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """`signal.convolve` by Fourier transforms, over `axes` if these are given; the others are paired."""
    x, y = _signals("fftconvolve", in1, in2, mode)
    if axes is None:
        return _convolution("fftconvolve", x, y, mode, "fft")
    chosen = normalize_axis_tuple(axes, x.ndim)
    order = (*(k for k in range(x.ndim) if k not in chosen), *chosen)
    out = _convolution("fftconvolve", x.transpose(order), y.transpose(order), mode, "fft", len(chosen))
    return out.transpose(tuple(order.index(k) for k in range(x.ndim)))


@composite(name="signal.correlate", arrays=2)
def signal_correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays over all axes: the convolution with the second reversed and conjugated."""
    x, y = _signals("correlate", in1, in2, mode)
    if mode == "valid" and not _goes_inside("correlate", x, y, x.ndim):
        turned = _convolution("correlate", y, conjugated(_reversed(x, x.ndim)), mode, method)
        return conjugated(_reversed(turned, x.ndim))
    return _convolution("correlate", x, conjugated(_reversed(y, y.ndim)), mode, method)


@composite(name="signal.convolve2d", arrays=2)
def convolve2d(in1: Any, in2: Any, mode: str = "full") -> Any:
    """The convolution of two matrices, with zeros beyond their edges."""
    x, y = _matrices("convolve2d", in1, in2, mode)
    return _convolution("convolve2d", x, y, mode, "direct")


@composite(name="signal.correlate2d", arrays=2)
def correlate2d(in1: Any, in2: Any, mode: str = "full") -> Any:
    """The correlation of two matrices, with zeros beyond their edges."""
    x, y = _matrices("correlate2d", in1, in2, mode)
    if mode != "same":
        return signal_correlate(x, y, mode, "direct")
    out = signal_correlate(x, y, "full", "direct")
    # SciPy centers this one, alone of all, on the element after the middle of an even length.
    starts = [length // 2 for length in y.shape]
    return basic_view(out, index=tuple(slice(s, s + n) for s, n in zip(starts, x.shape, strict=True)))


def _matrices(name: str, x: Any, y: Any, mode: str) -> tuple[Any, Any]:
    x, y = _signals(name, x, y, mode)
    if x.ndim != 2:
        raise ValueError(f"{name}: expected two matrices, got arrays of {x.ndim} axes")
    return x, y
