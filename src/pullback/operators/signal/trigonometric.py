"""Cosine and sine transforms of types 1 to 4, each one complex transform with phases around it.

Every type is `y[k] = 2 * sum(weight[n] * x[n] * trig(pi * (k + a) * (n + b) / m))`, and the product under the sum
is `k n + k b + a n + a b`: a Fourier transform over 2 m points between a factor that depends on n and one that depends
on k. Complex input is transformed part by part, as SciPy does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.records import Record
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.elementwise.complex_numbers import complex
from pullback.operators.signal.transforms import (
    c2c,
    checked_norm,
    chosen_lengths,
    one_axis,
    opposite_norm,
    resized,
    several_axes,
)


class _Form(Record, frozen=True):
    """One type of transform: `m` is n + `extra`; the input elements `halved` count half."""

    extra: int
    a: float
    b: float
    halved: tuple[int, ...] = ()
    scaled: tuple[int, ...] = ()  # the outputs that an orthogonal transform divides by sqrt(2)


_COSINE = {
    1: _Form(-1, 0, 0, (0, -1), (0, -1)), 2: _Form(0, 0, 0.5, (), (0,)), 3: _Form(0, 0.5, 0, (0,)),
    4: _Form(0, 0.5, 0.5),
}  # fmt: skip
_SINE = {
    1: _Form(1, 1, 1), 2: _Form(0, 1, 0.5, (), (-1,)), 3: _Form(0, 0.5, 1, (-1,)), 4: _Form(0, 0.5, 0.5),
}  # fmt: skip
_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _along(x: Any, axis: int, length: int, form: _Form, is_sine: bool, norm: str) -> Any:
    """The transform of the real `x` along one axis."""
    m = length + form.extra
    n = np.arange(length)
    before = np.exp(-1j * np.pi / m * form.a * n)
    after = 2 * np.exp(-1j * np.pi / m * (n * form.b + form.a * form.b))
    before[list(form.halved)] *= math.sqrt(0.5) if norm == "ortho" else 0.5
    if norm == "ortho":
        after[list(form.scaled)] *= math.sqrt(0.5)
    after *= {"backward": 1.0, "ortho": 1 / math.sqrt(2 * m), "forward": 0.5 / m}[norm]
    after = 1j * after if is_sine else after
    dtype = np.result_type(x.dtype if x.dtype.kind == "f" else np.float64, np.complex64)
    shape = list(x.shape)
    shape[axis] = length
    x = moveaxis(resized(x, tuple(shape)), axis, -1)
    spectrum = c2c(
        x * before.astype(dtype), axes=(x.ndim - 1,), lengths=(2 * m,), inverse=False, norm="backward"
    )  # fmt: skip
    return moveaxis((spectrum[..., :length] * after.astype(dtype)).real, -1, axis)


def _transform(name: str, x: Any, kind: int, where: Any, norm: str | None, inverse: bool) -> Any:
    forms = _SINE if name.strip("in").startswith("dst") else _COSINE
    if kind not in forms:
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {kind!r}")
    norm = checked_norm(name, norm)
    if inverse:
        kind, norm = _INVERSE_TYPE[kind], opposite_norm(norm)
    if is_complex_dtype(x.dtype):
        parts = [_transform(name, part, kind, where, norm, False) for part in (x.real, x.imag)]
        return complex(*parts)
    axes, wanted = where
    for position, axis in enumerate(axes):
        (length,) = chosen_lengths(name, x.shape, (axis,), None if wanted is None else (wanted[position],))
        if length + forms[kind].extra < 1:
            raise ValueError(f"{name}: type {kind} needs at least two elements along axis {axis}, got {length}")
        x = _along(x, axis, length, forms[kind], forms is _SINE, norm)
    return x


@composite(name="fft.dct")
def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The cosine transform of a type from 1 to 4 along `axis`, cut or zero-padded to `n` elements first.

    `norm` is as in `fft`; "ortho" makes the transform orthogonal, for which it also scales single elements.
    """
    return _transform("dct", x, type, one_axis("dct", x, n, axis, None), norm, False)


@composite(name="fft.idct")
def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `dct` of the same type."""
    return _transform("idct", x, type, one_axis("idct", x, n, axis, None), norm, True)


@composite(name="fft.dst")
def dst(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The sine transform of a type from 1 to 4 along `axis`, cut or zero-padded to `n` elements first."""
    return _transform("dst", x, type, one_axis("dst", x, n, axis, None), norm, False)


@composite(name="fft.idst")
def idst(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `dst` of the same type."""
    return _transform("idst", x, type, one_axis("idst", x, n, axis, None), norm, True)


@composite(name="fft.dctn")
def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The cosine transform over `axes`, by default all of them."""
    return _transform("dctn", x, type, several_axes("dctn", x, s, axes, None), norm, False)


@composite(name="fft.idctn")
def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of `dctn` of the same type."""
    return _transform("idctn", x, type, several_axes("idctn", x, s, axes, None), norm, True)
