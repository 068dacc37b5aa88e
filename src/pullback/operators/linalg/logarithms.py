"""The principal logarithm and real powers of matrices.

The derivative of a function of matrices is the block above the diagonal of the function of `[[a, e], [0, a]]`, so the
rules are calls of the function itself, to any order, and need no eigenvectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import every_value
from pullback.operators.arrays.joining import join
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.casting import astype
from pullback.operators.linalg.functions import exponential, triangular_root
from pullback.operators.linalg.solve import Array, square_samples

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_NEAR = 0.25  # of the identity: there the rule with 12 nodes is exact to rounding


def _logarithm(a: Array) -> Array:
    """Of one complex matrix: square roots until it is near the identity, then the integral of `x / (1 + t x)`.

    SciPy's kernel estimates norms with random vectors, so that equal calls differ by rounding errors.
    """
    upper, basis = import_module("scipy.linalg").schur(a, output="complex")
    one = np.eye(len(a))
    roots = 0
    while np.abs(upper - one).sum(axis=0).max() > _NEAR and roots < 100:
        upper = triangular_root(upper)
        roots += 1
    off = upper - one
    total = np.zeros_like(off)
    for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
        total += weight * np.linalg.solve(one + node * off, off)
    out: Array = basis @ (total * 2.0**roots) @ basis.conj().T
    return out


def _of_one(a: Array, power: float | None) -> Array:
    if not a.size or not np.isfinite(a).all():
        return np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        try:
            found = _logarithm(a)
        except np.linalg.LinAlgError:  # there is none: an eigenvalue is 0
            return np.full(a.shape, np.nan)
        return found if power is None or not np.isfinite(found).all() else exponential(power * found)


@gufunc("(n,n)->(n,n)", name="_linalg_logarithm", flops=lambda n: 60 * n**3)
def logarithms(a, *, power):
    """The principal logarithms of matrices, or their principal powers; of real ones NaN where they are not real."""
    dtype = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    out = np.empty(a.shape, dtype)
    for index in np.ndindex(*a.shape[:-2]):
        found = _of_one(a[index].astype(np.complex128), power)
        if dtype.kind != "c":
            is_real = not found.size or np.abs(found.imag).max() <= 1e-12 * np.abs(found).max()
            found = found.real if is_real else np.full(found.shape, np.nan)
        out[index] = found
    return out


def _moved(a: Any, e: Any, power: float | None) -> Any:
    """What the function changes by when `a` changes by `e`."""
    side = a.shape[-1]
    below = join(a * 0, a, axis=a.ndim - 1)
    both = join(join(a, e, axis=a.ndim - 1), below, axis=a.ndim - 2)
    return logarithms(both, power=power)[..., :side, side:]


@logarithms.vjp
def logarithms_vjp(g, a, power):
    return _moved(adjoint(a), g, power)


@logarithms.jvp
def logarithms_jvp(t_a, a, power):
    return _moved(a, t_a, power)


@logarithms.samples
def logarithms_samples(make: Maker) -> Iterator[Sample]:
    if find_spec("scipy") is None:
        return
    for power, label in ((None, ""), (0.3, "-power"), (-1.4, "-inverse")):
        for sample in square_samples(make, {"power": power}):
            if power is None or sample.label in ("two", "complex"):
                (a,) = sample.operands
                a = a @ a if a.size else a
                yield Sample((a,), {"power": power}, sample.label + label)


def principal(x: Any, power: float | None) -> Any:
    """The principal logarithm (`power=None`) or power of matrices: real where it can be, complex otherwise."""
    out = logarithms(x, power=power)
    if is_complex_dtype(out.dtype) or not np.isnan(every_value(out)).any():
        return out
    return logarithms(astype(x, np.result_type(out.dtype, np.complex64)), power=power)
