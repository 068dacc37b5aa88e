"""Windows of samples. Parameters may be tensors, and then have a gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.operators.arrays.creation import finished, get_default_dtype
from pullback.operators.elementwise.arithmetic import cos, exp, sin, sqrt
from pullback.operators.elementwise.complex_numbers import abs
from pullback.operators.loading import i0
from pullback.tensors.tensor import Tensor


def _window(shape_of: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a window, given what it is at the points 0, 1, .., M - 1 of a span."""
    name = shape_of.__name__.lstrip("_")

    def window(
        M: int, *args: Any, sym: bool = True, dtype: Any = None, requires_grad: bool = False, **options: Any
    ) -> Tensor:
        if M < 0:
            raise ValueError(f"windows.{name}: the number of points cannot be negative, got {M}")
        dtype = np.dtype(get_default_dtype() if dtype is None else dtype)
        if dtype.kind != "f":
            raise ValueError(f"windows.{name}: weights are real numbers, so dtype cannot be {dtype}")
        span = M - 1 if sym or M <= 1 else M
        points = finished(np.arange(M, dtype=np.float64))
        if M == 0:
            out = points
        elif M == 1 and name not in ("exponential", "gaussian", "cosine"):
            out = points + 1  # the span has no length
        else:
            out = shape_of(points, span, *args, **options)
        out = out.astype(dtype)
        return out.requires_grad_() if requires_grad else out

    window.__name__ = window.__qualname__ = name
    window.__doc__ = shape_of.__doc__
    composite(window, arrays=0, name=f"signal.windows.{name}")
    return window


@_window
def bartlett(n: Any, span: int) -> Any:
    """A triangle that is 0 at both ends."""
    return 1 - abs(2 / span * n - 1)


@_window
def general_cosine(n: Any, span: int, a: Sequence[Any]) -> Any:
    """The sum of cosines `a[0] - a[1] * cos(t) + a[2] * cos(2 * t) - ..`, t running from 0 to 2 pi."""
    angle = 2 * math.pi / span * n
    terms = [(-1) ** k * as_operand(weight) * cos(k * angle) for k, weight in enumerate(a)]
    return sum(terms[1:], terms[0])


def _cosines(name: str, a: Sequence[float], doc: str) -> Any:
    def shape_of(n: Any, span: int) -> Any:
        angle = 2 * math.pi / span * n
        return sum(((-1) ** k * weight * cos(k * angle) for k, weight in enumerate(a)), 0.0)

    shape_of.__name__, shape_of.__doc__ = name, doc
    return _window(shape_of)


blackman = _cosines("blackman", (0.42, 0.5, 0.08), "The Blackman window: three cosines, nearly 0 at both ends.")
hann = _cosines("hann", (0.5, 0.5), "The Hann window: a raised cosine that is 0 at both ends.")
hamming = _cosines("hamming", (0.54, 0.46), "The Hamming window: a raised cosine that is 0.08 at both ends.")
nuttall = _cosines(
    "nuttall", (0.3635819, 0.4891775, 0.1365995, 0.0106411), "The Blackman-Harris window of four terms after Nuttall."
)


@_window
def general_hamming(n: Any, span: int, *, alpha: Any = 0.54) -> Any:
    """The raised cosine `alpha - (1 - alpha) * cos(t)`, t running from 0 to 2 pi."""
    alpha = as_operand(alpha)
    return alpha - (1 - alpha) * cos(2 * math.pi / span * n)


@_window
def cosine(n: Any, span: int) -> Any:
    """Half a period of a sine, at points half a step away from its ends."""
    return sin(math.pi / (span + 1) * (n + 0.5))


@_window
def exponential(n: Any, span: int, *, center: Any = None, tau: Any = 1.0) -> Any:
    """`exp(-abs(n - center) / tau)`; by default the center is the middle."""
    center = span / 2 if center is None else as_operand(center)
    return exp(-abs(n - center) / as_operand(tau))


@_window
def gaussian(n: Any, span: int, *, std: Any = 1.0) -> Any:
    """`exp(-d * d / (2 * std * std))` at the distance d from the middle."""
    away = (n - span / 2) / as_operand(std)
    return exp(-0.5 * away * away)


@_window
def kaiser(n: Any, span: int, *, beta: Any = 12.0) -> Any:
    """The Kaiser window, the narrower the larger `beta` is."""
    beta = as_operand(beta)
    away = 2 / span * n - 1
    return i0(as_operand(beta) * sqrt(1 - away * away)) / i0(beta * (n[:1] * 0 + 1))


def _with_length(name: str, window: Callable[..., Any], *parameters: tuple[str, float]) -> None:
    """Torch's older function, `hann_window(length, periodic=True)`."""

    def function(window_length: int, periodic: bool = True, *args: Any, **options: Any) -> Tensor:
        given = dict(zip((key for key, _ in parameters), args, strict=False))
        return window(window_length, sym=not periodic, **{**dict(parameters), **given, **options})

    function.__name__ = function.__qualname__ = f"{name}_window"
    function.__doc__ = f"`signal.windows.{name}` of this length, without its last point if `periodic`."
    composite(function, arrays=0)


_with_length("bartlett", bartlett)
_with_length("blackman", blackman)
_with_length("hann", hann)
_with_length("hamming", hamming)
_with_length("kaiser", kaiser, ("beta", 12.0))
