"""Recursive filters along an axis: `lfilter`.

The recursion `y[n] = x[n] - a[1] * y[n - 1] - a[2] * y[n - 2] - ...` is one operator. It is linear in `x`, and its
transpose is itself running backwards in time. The part of a filter that does not recur is a convolution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import tensor_from
from pullback.operators.arrays.index_operators import basic_view
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.padding import pad_constant
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.signal.convolution import convolve_axes

Array = np.ndarray[Any, Any]

# Outputs computed by one matrix product. Measured for one signal and for many: 32 to 128 are equally good.
_BLOCK = 64


def _response(a: Array, length: int) -> Array:
    """The first outputs of the recursion after a single 1."""
    out = np.zeros((*a.shape[:-1], length), a.dtype)
    out[..., 0] = 1
    for n in range(1, length):
        reach = min(n, a.shape[-1] - 1)
        out[..., n] = -(a[..., 1 : reach + 1] * out[..., n - reach : n][..., ::-1]).sum(axis=-1)
    return out


def _toeplitz(values: Array, side: int) -> Array:
    """The lower triangular matrices whose first columns are `values`."""
    places = np.arange(side)[:, None] - np.arange(side)
    return np.where(places >= 0, values[..., np.maximum(places, 0)], 0)


@gufunc("(p),(n)->(n)", name="_signal_recursion")
def recursion(a, x):
    """`x` through the recursion with coefficients `a`, from rest. `a[0]` counts as 1 and is not read."""
    dtype = np.result_type(a, x)
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    batch = np.broadcast_shapes(a.shape[:-1], x.shape[:-1])
    out = np.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype)
    order, length = a.shape[-1] - 1, x.shape[-1]
    if order <= 0 or not out.size:
        return out
    side = min(max(_BLOCK, order), length)
    count = -(-length // side)
    blocks = np.zeros((*batch, count * side), dtype)
    blocks[..., :length] = out
    blocks = blocks.reshape(*batch, count, side)
    rows = np.swapaxes(_toeplitz(_response(a.astype(dtype), side), side), -1, -2)
    blocks = blocks @ rows  # every block from rest
    if count > 1:
        # The last outputs before a block, newest first, add to its first inputs: output -k adds -a[i + k] to input i.
        ahead = np.arange(1, order + 1)[:, None] + np.arange(order)
        carry = np.where(ahead <= order, -a[..., np.minimum(ahead, order)], 0).astype(dtype)
        echo = carry @ rows[..., :order, :]
        blocks += _states(blocks[..., ::-1][..., :order], echo[..., ::-1][..., :order]) @ echo
    return np.ascontiguousarray(blocks.reshape(*batch, count * side)[..., :length])


def _states(ends: Array, step: Array) -> Array:
    """The last outputs before every block, from those that the blocks have from rest, and what one adds to the next."""
    out = np.zeros_like(ends)
    for k in range(1, ends.shape[-2]):
        out[..., k, :] = ends[..., k - 1, :] + (out[..., k - 1 : k, :] @ step)[..., 0, :]
    return out


def _backwards(x: Any) -> Any:
    return basic_view(x, index=(..., slice(None, None, -1)))


@recursion.vjp
def recursion_vjp(g, a, out, needs):
    to_x = _backwards(recursion(conjugated(a), _backwards(g)))
    if not needs[0]:
        return None, to_x
    length, echo = out.shape[-1], conjugated(out)
    terms = [np.zeros((*to_x.shape[:-1], 1), to_x.dtype)]
    for delay in range(1, a.shape[-1]):
        early = basic_view(echo, index=(..., slice(0, max(length - delay, 0))))
        late = basic_view(to_x, index=(..., slice(delay, None)))
        terms.append(-(early * late).sum(axis=-1, keepdims=True))
    return join(*terms, axis=to_x.ndim - 1), to_x


@recursion.jvp
def recursion_jvp(t_a, t_x, a, out):
    moved = np.zeros(out.shape, out.dtype) if t_x is None else t_x
    if t_a is not None:
        # The first coefficient counts as 1, whatever it is.
        widths = ((0, 0),) * (a.ndim - 1) + ((1, 0),)
        change = pad_constant(basic_view(t_a, index=(..., slice(1, None))), 0, widths=widths)
        moved = moved - _first(convolve_axes(out, change, ndim=1, valid=False, method="direct"), out.shape[-1])
    return recursion(a, moved)


def _first(x: Any, length: int) -> Any:
    return basic_view(x, index=(..., slice(0, length)))


@recursion.samples
def recursion_samples(make: Maker) -> Iterator[Sample]:
    def coefficients(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        values = make(shape, dtype, -0.3, 0.3)
        values[..., :1] = 1
        return values

    yield Sample((coefficients((3,)), make((6,))), {}, "vector")
    yield Sample((coefficients((1,)), make((4,))), {}, "no-recursion")
    yield Sample((coefficients((5,)), make((3,))), {}, "longer-than-signal")
    yield Sample((coefficients((2,)), make((0,))), {}, "empty")
    yield Sample((coefficients((3,)), make((2, 70))[:, ::1]), {}, "blocks")
    yield Sample((coefficients((2, 3)), make((2, 5))), {}, "batches")
    yield Sample((coefficients((2, 1, 2)), make((3, 4))[::-1]), {}, "broadcast")
    yield Sample((coefficients((3,)), make((10,))[::-2]), {}, "strided")
    yield Sample((coefficients((3,), np.complex128), make((4,), np.complex128)), {}, "complex")
    yield Sample((coefficients((3,)), make((4,), np.complex128)), {}, "real-and-complex")
    yield Sample((coefficients((2,), np.float32), make((5,), np.float32)), {}, "float32")


@composite(arrays=3, name="signal.lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None, *, dim: int | None = None) -> Any:
    """`x` through a digital filter along `axis`: `a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + ... - a[1] y[n - 1] - ...`.

    With the initial state `zi`, of length `max(len(a), len(b)) - 1` along `axis`, the result is `(y, final state)`, so
    that a long signal can be filtered in parts. Differentiable in everything; the gradient of `x` is that of the
    output filtered backwards.
    """
    b, a, x = tensor_from(b), tensor_from(a), tensor_from(x)
    for name, part in (("b", b), ("a", a)):
        if part.ndim != 1 or not part.shape[0]:
            raise ValueError(f"lfilter: `{name}` must be a vector of coefficients, got shape {list(part.shape)}")
    if x.ndim == 0:
        raise ValueError("lfilter: expected a signal, got a number")
    axis = normalize_axis_index(axis if dim is None else dim, x.ndim)
    first = a[0]
    a, b, x = a / first, b / first, moveaxis(x, axis, -1)
    length = x.shape[-1]
    whole = convolve_axes(x, b, ndim=1, valid=False, method="direct")
    if zi is None:
        return moveaxis(recursion(a, _first(whole, length)), -1, axis)
    order = max(a.shape[0], b.shape[0]) - 1
    zi = moveaxis(tensor_from(zi), axis, -1)
    if zi.shape[-1] != order:
        raise ValueError(f"lfilter: the initial state must have length {order} along the axis, got {zi.shape[-1]}")
    total = _lengthened(whole, length + order) + _lengthened(zi, length + order)
    out = recursion(a, _first(total, length))
    left = total - _lengthened(convolve_axes(out, a, ndim=1, valid=False, method="direct"), length + order)
    return moveaxis(out, -1, axis), moveaxis(basic_view(left, index=(..., slice(length, None))), -1, axis)


def _lengthened(x: Any, length: int) -> Any:
    return pad_constant(x, 0, widths=((0, 0),) * (x.ndim - 1) + ((0, length - x.shape[-1]),))
