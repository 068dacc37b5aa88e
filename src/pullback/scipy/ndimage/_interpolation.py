"""Images at other coordinates: splines through their elements, of the orders 0 to 5.

Coordinates are computed as SciPy computes them, to the last bit: at a border, the least difference would decide
between an element and what lies beyond. Which shape a result has is a constant.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

import pullback as pb
from pullback.operators.images.splines import spline_coefficients, spline_sample
from pullback.scipy._arrays import as_output, declare_arrays, floating, per_axis
from pullback.scipy._surface import Call, declare, joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor

PADDING = 12  # elements that SciPy adds at borders for which its filter has no exact start


def _checked(order: Any) -> int:
    order = operator.index(order)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    return order


def _coefficients(x: Tensor, order: int, mode: str) -> Any:
    if order > 1:
        for axis in range(x.ndim):
            x = spline_coefficients(x, axis=axis, order=order, mode=mode, adjoint=False)
    return x


def sampled(x: Tensor, at: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """The image at coordinates, which have one row for each axis."""
    order = _checked(order)
    if at.dtype.kind not in "f":
        at = at * 1.0
    if "constant" in mode and (isinstance(cval, Tensor) or np.any(cval)):
        return sampled(x - cval, at, order, mode, 0.0, prefilter) + cval
    dtype, shape = x.dtype, tuple(at.shape[1:])
    c = x
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            c = pb.pad(c, PADDING, "edge" if mode == "nearest" else "constant")
            at = at + PADDING
        c = _coefficients(c, order, mode)
    out = spline_sample(c, at.reshape((x.ndim, -1)), order=order, mode=mode, parts=((0,) * x.ndim,))
    out = out[0].reshape(shape)
    return out if out.dtype == dtype else pb.astype(out, dtype)


def _sampled(call: Call, x: Tensor, rows: list[Any], shape: tuple[int, ...]) -> Any:
    at = pb.stack([pb.broadcast_to(joined(row), shape) for row in rows])
    return as_output(call, sampled(x, at, call["order"], call["mode"], call["cval"], call["prefilter"]))


def _grid(shape: tuple[int, ...]) -> list[Any]:
    """The numbers of elements along each axis, to be broadcast."""
    return [np.arange(float(n)).reshape((-1,) + (1,) * (len(shape) - 1 - k)) for k, n in enumerate(shape)]


@declare_arrays("ndimage.spline_filter1d", kind="P", by="input")
def _spline_filter1d(call: Call) -> Any:
    x, order = joined(call["input"]), _checked(call["order"])
    if order > 1:
        axis = operator.index(call["axis"]) % x.ndim
        x = spline_coefficients(x, axis=axis, order=order, mode=call["mode"], adjoint=False)
    return as_output(call, x)


@declare_arrays("ndimage.spline_filter", kind="P", by="input")
def _spline_filter(call: Call) -> Any:
    order = call["order"]
    if order < 2 or order > 5:
        raise RuntimeError("spline order not supported")
    return as_output(call, _coefficients(joined(call["input"]), order, call["mode"]))


@declare_arrays("ndimage.map_coordinates", kind="P", by="input, coordinates, cval")
def _map_coordinates(call: Call) -> Any:
    x, at = floating(call, call["input"], "an image"), joined(call["coordinates"])
    if at.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if x.ndim < 1 or at.ndim < 2:
        raise RuntimeError("input and output rank must be > 0")
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return as_output(call, sampled(x, at, call["order"], call["mode"], call["cval"], call["prefilter"]))


def _shape(call: Call, x: Tensor) -> tuple[int, ...]:
    given = call["output_shape"]
    return tuple(x.shape) if given is None else tuple(operator.index(n) for n in given)


@declare_arrays("ndimage.affine_transform", kind="P", by="input, matrix, offset, cval")
def _affine_transform(call: Call) -> Any:
    x, matrix, offset = floating(call, call["input"], "an image"), joined(call["matrix"]) * 1.0, call["offset"]
    ndim = x.ndim
    if matrix.ndim not in (1, 2) or matrix.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if matrix.ndim == 2 and matrix.shape[1] == ndim + 1 and matrix.shape[0] in (ndim, ndim + 1):
        if matrix.shape[0] == ndim + 1:
            last = [0.0] * ndim + [1.0]
            if not np.array_equal(numbers(matrix.detach())[ndim], last):
                raise ValueError(f"the last row of a matrix for homogeneous coordinates must be {last}")
        offset, matrix = matrix[:ndim, ndim], matrix[:ndim, :ndim]
    shape = _shape(call, x)
    if matrix.shape[0] != ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    if matrix.ndim == 2 and matrix.shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    offsets = per_axis(offset, ndim)
    return _sampled(call, x, _moved(matrix, offsets, shape), shape)


def _moved(matrix: Any, offsets: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Coordinates that are a linear function of the numbers of elements."""
    grid = _grid(shape)
    if matrix.ndim == 1:
        return [(k + offset / factor) * factor for k, offset, factor in zip(grid, offsets, matrix)]
    rows = []
    for row, offset in zip(matrix, offsets):
        total = offset
        for k, factor in zip(grid, row):
            total = total + k * factor
        rows.append(total)
    return rows


@declare_arrays("ndimage.shift", kind="P", by="input, shift, cval")
def _shift(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    shape = tuple(x.shape)
    rows = [k - by for k, by in zip(_grid(shape), per_axis(call["shift"], x.ndim))]
    return _sampled(call, x, rows, shape)


@declare_arrays("ndimage.zoom", kind="P", by="input, cval; `zoom` chooses a shape, and has derivative 0")
def _zoom(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    factors = [float(numbers(pb.stop_gradient(joined(each)))) for each in per_axis(call["zoom"], x.ndim)]
    if all(factor == 1 for factor in factors) and call["prefilter"]:
        return as_output(call, x * 1.0)
    shape = tuple(round(n * factor) for n, factor in zip(x.shape, factors))
    rows: list[Any] = []
    for k, n, m in zip(_grid(shape), x.shape, shape):
        if call["grid_mode"]:
            rows.append((k + 0.5) * (n / m if m else 1.0) - 0.5)
        else:
            rows.append(k * ((n - 1) / (m - 1) if m != 1 else 1.0))
    return _sampled(call, x, rows, shape)


def _turn(angle: Any) -> tuple[Any, Any]:
    """Cosine and sine of an angle in degrees, exact for multiples of 90."""
    quarter = pb.stop_gradient(pb.round(angle / 90.0))
    rest = (angle - 90.0 * quarter) * (math.pi / 180.0)
    c, s, side = pb.cos(rest), pb.sin(rest), quarter % 4
    cosine = pb.where(side == 0, c, pb.where(side == 1, -s, pb.where(side == 2, -c, s)))
    return cosine, pb.where(side == 0, s, pb.where(side == 1, c, pb.where(side == 2, -s, -c)))


@declare_arrays("ndimage.rotate", kind="P", by="input, angle, cval")
def _rotate(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    if len(call["axes"]) != 2:
        raise ValueError("axes should contain exactly two values")
    first, second = sorted(operator.index(axis) + (x.ndim if axis < 0 else 0) for axis in call["axes"])
    if first < 0 or second >= x.ndim:
        raise ValueError("invalid rotation plane specified")
    angle = call["angle"]
    if isinstance(angle, Tensor):
        c, s = _turn(angle)
    else:
        special = scipy_module("special")
        c, s = special.cosdg(angle), special.sindg(angle)
    size = (x.shape[first], x.shape[second])
    plane = size
    if call["reshape"]:
        plain_c, plain_s = (float(numbers(pb.stop_gradient(joined(each)))) for each in (c, s))
        corners = np.array([[plain_c, plain_s], [-plain_s, plain_c]]) @ [[0, 0, size[0], size[0]],
                                                                         [0, size[1], 0, size[1]]]  # fmt: skip
        plane = tuple((np.ptp(corners, axis=1) + 0.5).astype(int).tolist())
    middle = [(n - 1) / 2 for n in plane]
    offset = [(size[0] - 1) / 2 - (c * middle[0] + s * middle[1]), (size[1] - 1) / 2 - (-s * middle[0] + c * middle[1])]
    rows, columns = _grid(plane)
    at = [offset[0] + rows * c + columns * s, offset[1] + rows * -s + columns * c]
    others = [k for k in range(x.ndim) if k not in (first, second)]
    if not others:
        return _sampled(call, x, at, plane)
    made = []
    stacked = pb.moveaxis(x, (first, second), (-2, -1))
    for place in itertools.product(*(range(x.shape[k]) for k in others)):
        made.append(_sampled(call, stacked[place], at, plane))
    out = pb.stack(made).reshape(tuple(x.shape[k] for k in others) + plane)
    return pb.moveaxis(out, (-2, -1), (first, second))


@declare("ndimage.geometric_transform", kind="P", by="input, cval, what the mapping takes from anywhere")
def _geometric_transform(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    shape = _shape(call, x)
    more, keywords = call["extra_arguments"], call["extra_keywords"] or {}
    places = itertools.product(*map(range, shape))
    points = [pb.stack([joined(each) * 1.0 for each in call["mapping"](place, *more, **keywords)]) for place in places]
    at = pb.stack(points, axis=-1).reshape((x.ndim, *shape))
    return as_output(call, sampled(x, at, call["order"], call["mode"], call["cval"], call["prefilter"]))
