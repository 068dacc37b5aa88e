"""Operators that tell a complex number from its conjugate: they are real-linear or not even that, never holomorphic.

The gradient of a real loss at z = a + bi is dL/da + i dL/db, so that a step against it is a step downhill. With the
inner product Re(sum(conj(u) * v)) reverse rules are then adjoints of forward rules, which the tests check.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.families import binary, unary
from pullback.eager.inplace import write
from pullback.operators.elementwise import in_parts
from pullback.operators.elementwise.comparison import where
from pullback.tensors.tensor import Tensor

conj = unary(
    "conj", np.conjugate, exact="twice", aliases=("conjugate", "conj_physical"), complex_domain=True,
    complex=in_parts.conjugate,
    doc="The complex conjugate, always with memory of its own.",
)  # fmt: skip


@conj.transpose
def conj_transpose(g):
    return conj(g)


def conjugated(x: Any) -> Any:
    """`conj(x)` without the copy that a real value does not need."""
    return x.conj() if is_complex_dtype(x.dtype) else x


def squared_size(x: Any) -> Any:
    """`abs(x) ** 2` without a root, real also for complex numbers."""
    return (x * x.conj()).real if is_complex_dtype(x.dtype) else x * x


def _guarded(x: Any) -> Any:
    """`x` with zeros replaced by ones, to be divided by where the quotient is 0 or not used."""
    return where(x == 0, 1, x)


# `sign` of a real number is a step and saves nothing; of a complex number it is the phase. They are two operators.

_sign = unary("_sign", np.sign, 0, torch="sign", doc="-1, 0 or 1: the sign of a real number.")
_sign.refuses("the sign of a complex number is its phase, another operator", "complex128")
_phase = unary("_phase", np.sign, torch="sgn", complex_domain=True, doc="`z / abs(z)`, and 0 at 0.")


@_phase.vjp_of("x")
def phase_vjp(g, x, out):
    return where(out == 0, 0, (g - out * out * conjugated(g)) / (2 * _guarded(abs(x))))


@_phase.jvp
def phase_jvp(t_x, x, out):
    return phase_vjp(t_x, x, out)


@composite(aliases=("sgn",))
def sign(x: Any) -> Any:
    """The sign of every element: -1, 0 or 1; for a complex number `z / abs(z)`, and 0 at 0.

    The derivative of a real sign is 0 everywhere; that of a complex one is the derivative of the phase, and 0 at 0.
    """
    return _phase(x) if is_complex_dtype(x.dtype) else _sign(x)


def sign_(self: Tensor) -> Tensor:
    """In-place version of `sign`."""
    return write(_phase if is_complex_dtype(self.dtype) else _sign, self, (), {})


inplace_methods = {"sign_": sign_, "sgn_": sign_}


abs = unary(
    "abs", np.absolute, lambda x: conjugated(sign(x)), aliases=("absolute",), complex_domain=True,
    complex=lambda x: np.hypot(x.real, x.imag),
    doc="The absolute value; real also for complex numbers. The derivative at 0 is 0.",
)  # fmt: skip


@abs.jvp
def abs_jvp(t_x, x):
    return (t_x * conjugated(sign(x))).real


@abs.inplace
def abs_inplace(x: Any) -> None:
    if is_complex_dtype(x.dtype):
        raise TypeError("abs_: absolute values are real and cannot be stored in a complex tensor; use abs()")
    np.absolute(x, out=x)


angle = unary(
    "angle", np.angle, inplace=False, complex_domain=True, complex=lambda x: np.arctan2(x.imag, x.real),
    expand=lambda x: np.arctan2(0.0, x),
    doc="The argument of complex numbers, in radians. The derivative is 0 at 0, and at all real numbers.",
)  # fmt: skip


@angle.vjp_of("x")
def angle_vjp(g, x):
    if not is_complex_dtype(x.dtype):
        return np.zeros(g.shape, g.dtype)
    length = _guarded(abs(x))
    return g * 1j * (x / length / length)


@angle.jvp
def angle_jvp(t_x, x):
    if not is_complex_dtype(x.dtype):
        return np.zeros(t_x.shape, t_x.dtype)
    length = _guarded(abs(x))
    return (t_x * conjugated(x) / length / length).imag


def _make_complex(x: Any, y: Any) -> Any:
    parts = np.result_type(x, y)
    if parts.kind == "c":
        raise TypeError("complex: the two parts of a complex number are real")
    dtype = np.result_type(parts if parts.kind == "f" else np.float64, np.complex64)
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), dtype)
    out.real, out.imag = x, y
    return out


complex = binary(
    "complex", _make_complex, inplace=False, complex=lambda x, y: (x.real, y.real),
    doc="`x + y * 1j`, the complex numbers with these parts.",
)  # fmt: skip
complex.refuses("the two parts of a complex number are real", "complex128")


@complex.transpose
def complex_transpose(g):
    return g.real, g.imag
