"""Views of the parts of complex numbers, and of pairs of numbers as complex ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from pullback.core.spec import is_complex_dtype, spec_for
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.declare.families import view
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.record import new_tensor
from pullback.operators.arguments import as_array
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of


@view(name="_real", torch="real", flow="halves")
def real_view(x):
    """The real parts, sharing memory; a real `x` as it is."""
    return x.real


@view(name="_imag", torch="imag", flow="halves")
def imag_view(x):
    """The imaginary parts of complex `x`, sharing memory."""
    return x.imag


@view(flow="to_pairs", reads_memory=True)
def view_as_real(x):
    """Complex numbers as pairs of their parts in a new last axis of length 2, sharing memory."""
    parts = x.real
    return strided_view(parts, (*x.shape, 2), (*x.strides, parts.itemsize))


def _complex_of(dtype: Any) -> Any:
    """The dtype of complex numbers with such parts, in their byte order."""
    return np.result_type(dtype, np.complex64).newbyteorder(dtype.byteorder)


@view(flow="from_pairs", reads_memory=True)
def view_as_complex(x):
    """Pairs in the last axis as complex numbers, sharing memory; the two of a pair must be neighbours."""
    if x.size and x.strides[-1] != x.itemsize:
        raise ValueError("view_as_complex: the two parts of a number must be neighbours in memory; copy('C') helps")
    dtype = _complex_of(x.dtype)
    return x.view(dtype)[..., 0] if x.size else np.empty(x.shape[:-1], dtype)


@view_as_real.spelling("array_api")
def view_as_real_spelling(np_there, x):
    return np_there.view_as_real(x)


@view_as_complex.spelling("array_api")
def view_as_complex_spelling(np_there, x):
    return np_there.view_as_complex(x)


@view_as_real.door
def view_as_real_door(x: Any) -> Any:
    x = as_array(x)
    if not is_complex_dtype(x.dtype):
        raise TypeError(f"view_as_real: expected complex numbers, got {x.dtype}")
    return (x,), {}


@view_as_complex.door
def view_as_complex_door(x: Any) -> Any:
    x = as_array(x)
    if x.dtype.char not in "fdg" or x.ndim == 0 or x.shape[-1] != 2:
        raise TypeError(f"view_as_complex: expected real numbers and a last axis of length 2, got {x.dtype}{x.shape}")
    return (x,), {}


@view_as_complex.spec
def view_as_complex_spec(x):
    return spec_for(x.shape[:-1], _complex_of(x.dtype))


@real_view.transpose
def real_transpose(g):
    return g


@imag_view.transpose
def imag_transpose(g):
    return g * 1j


@view_as_real.transpose
def view_as_real_transpose(g):
    return view_as_complex(g.copy(order="C"))


@view_as_complex.transpose
def view_as_complex_transpose(g):
    return view_as_real(g)


for _op in (real_view, imag_view, view_as_real, view_as_complex):
    _op.batch(_op)


@real_view.samples
def real_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4), np.complex128),), {}, "complex")
    yield Sample((make((3,), np.complex64),), {}, "complex64")
    yield Sample((make((0, 2), np.complex128),), {}, "empty")
    yield Sample((make((), np.complex128),), {}, "scalar")
    yield Sample((make((3,)),), {}, "real")
    for label, array in layouts(make((3, 4), np.complex128)):
        yield Sample((array,), {}, label)


for _op in (imag_view, view_as_real):
    _op.refuses("the parts are those of complex numbers", "float32", "float64")
view_as_complex.refuses("the two parts of a number are neighbours in memory", "0-d", "fortran", "reversed", "gaps")
view_as_complex.refuses("the parts of a number are real", "complex128")


@imag_view.samples
@view_as_real.samples
def complex_samples(make: Maker) -> Iterator[Sample]:
    yield from (sample for sample in real_samples(make) if sample.label != "real")


@view_as_complex.samples
def view_as_complex_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 2)),), {}, "pairs")
    yield Sample((make((4, 3, 2))[::2],), {}, "strided")
    yield Sample((make((0, 2)),), {}, "empty")
    yield Sample((make((3, 2), np.float32),), {}, "float32")


@composite(method=False)
def real(x: Any) -> Any:
    """The real part of every element: a view."""
    return real_view(x)


@composite(method=False)
def imag(x: Any) -> Any:
    """The imaginary part of every element: a view of complex numbers, and constant zeros for real ones."""
    if is_complex_dtype(x.dtype):
        return imag_view(x)
    zeros = np.zeros(x.shape, x.dtype)
    return new_tensor(zeros, current()) if isinstance(x, Tensor) else zeros


def _assign_real(self: Tensor, value: Any) -> None:
    _assign_part(real_view(self), value)


def _assign_imag(self: Tensor, value: Any) -> None:
    if not is_complex_dtype(self.dtype):
        raise TypeError("imag: a tensor of real numbers has no imaginary part to assign to")
    _assign_part(imag_view(self), value)


def _assign_part(part: Tensor, value: Any) -> None:
    """Write a part, unless it was written already: what `z.imag *= 2` assigns is `z.imag` itself."""
    own, given = view_of(part), view_of(value) if isinstance(value, Tensor) else None
    if own is None or given is None or given.base is not own.base or given.steps != own.steps:
        part[...] = value


members: dict[str, Any] = {
    "real": property(real_view, _assign_real, doc="The real part: a view."),
    "imag": property(imag, _assign_imag, doc="The imaginary part: a view of complex numbers, zeros for real ones."),
}
"""Attributes of `Tensor` that are no functions of the same name."""
