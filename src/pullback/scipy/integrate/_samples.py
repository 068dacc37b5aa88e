"""Integrals of samples and fixed rules: sums of what is given."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._surface import Call, declare, joined, numbers, scipy_module
from pullback.scipy.optimize._problem import start


@declare("integrate.fixed_quad", kind="C", by="a, b, what the callback takes from anywhere, args")
def fixed_quad(call: Call) -> Any:
    args = call.further
    nodes, weights = np.polynomial.legendre.leggauss(call["n"])
    a, b = start(call["a"]), start(call["b"])
    if np.isinf([numbers(a.detach()), numbers(b.detach())]).any():
        return call.run(a=numbers(a), b=numbers(b))  # SciPy says why not
    x = (b - a) * (pb.asarray(nodes) + 1) / 2.0 + a
    return (b - a) / 2.0 * (pb.asarray(weights) * joined(call["func"](x, *args))).sum(axis=-1), None


def _spacing(call: Call) -> dict[str, Any]:
    return {name: call[name] for name in ("x", "dx", "axis") if call.given(name)}


@declare("integrate.trapezoid", kind="E", by="y, x, dx")
def trapezoid(call: Call) -> Any:
    return pb.trapezoid(joined(call["y"]), **_spacing(call))


@declare("integrate.cumulative_trapezoid", kind="E", by="y, x, dx, initial")
def cumulative_trapezoid(call: Call) -> Any:
    return pb.cumulative_trapezoid(joined(call["y"]), initial=call["initial"], **_spacing(call))


@declare("integrate.simpson", kind="E", by="y, x, dx")
def simpson(call: Call) -> Any:
    return pb.simpson(joined(call["y"]), **_spacing(call))


@declare("integrate.romb", kind="C", by="y, dx")
def romb(call: Call) -> Any:
    """The weights of Romberg's rule are those that SciPy applies to the rows of a unit matrix."""
    y = joined(call["y"])
    axis = call["axis"]
    length = y.shape[axis]
    weights = scipy_module("integrate").romb(np.eye(length), axis=0)
    return call["dx"] * (pb.moveaxis(y, axis, -1) * weights).sum(axis=-1)


@declare("integrate.cumulative_simpson", kind="C", by="y, x, dx, initial")
def cumulative_simpson(call: Call) -> Any:
    """Each interval by the parabola through its ends and a neighbour: the point behind it, or before it at odd places
    and at the end."""
    y = joined(call["y"]) * 1.0
    axis = call["axis"] % y.ndim
    x, dx, initial = call["x"], call["dx"], call["initial"]
    call.run(
        y=numbers(y.detach()), x=_plain(x), dx=_plain(dx), initial=None if initial is None else _plain(initial)
    )  # SciPy says what is wrong
    values = pb.moveaxis(y, axis, -1)
    count = values.shape[-1]
    if x is None:
        h = pb.broadcast_to(joined(dx) * 1.0, (count - 1,)) if joined(dx).ndim == 0 else joined(dx)
    else:
        points = joined(x) * 1.0
        points = pb.moveaxis(points, axis, -1) if points.ndim == y.ndim and y.ndim > 1 else points
        h = points[..., 1:] - points[..., :-1]
    if count < 3:
        parts = h * (values[..., 1:] + values[..., :-1]) / 2
    else:
        ahead = _parabola(h[..., :-1], h[..., 1:], values[..., :-2], values[..., 1:-1], values[..., 2:])
        behind = _parabola(h[..., 1:], h[..., :-1], values[..., 2:], values[..., 1:-1], values[..., :-2])
        chosen = [
            ahead[..., k] if k % 2 == 0 and k < count - 2 else behind[..., k - 1] for k in range(count - 1)
        ]
        parts = pb.stack(chosen, axis=-1)
    out = pb.cumulative_sum(parts, axis=-1)
    if initial is not None:
        first = pb.moveaxis(joined(initial) * 1.0, axis, -1) if joined(initial).ndim else joined(initial) * 1.0
        first = pb.broadcast_to(first, (*out.shape[:-1], 1))
        out = pb.concat([first, out + first], axis=-1)
    return pb.moveaxis(out, -1, axis)


def _plain(value: Any) -> Any:
    return None if value is None else numbers(joined(value).detach())


def _parabola(near: Any, far: Any, y0: Any, y1: Any, y2: Any) -> Any:
    """The integral over the first of two intervals, of these lengths, of the parabola through three values."""
    both = near + far
    return near / 6 * (
        (3 - near / both) * y0 + (3 + near**2 / (both * far) + near / both) * y1 - near**2 / (both * far) * y2
    )
