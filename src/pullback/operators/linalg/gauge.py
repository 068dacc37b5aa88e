"""What eigenvectors and singular vectors leave open, and what their derivatives do about it.

Derivatives of vectors divide by gaps between values. Where a gap is exactly zero and the loss does not depend on the
vectors of that eigenspace, the quotient is 0. Otherwise it is inf, if the loss depends on the choice of the basis, or
NaN, if it does not: `v @ v.T` of both vectors has derivative 0 there and `(v * exp(w)) @ v.T` has not, and the
gradients that arrive are the same.

Complex vectors are determined up to a phase only. Rules of operators that were called with `checked=True`, as the
public functions do, pass the gradient of the vectors through `phase_free`, which raises if the loss depends on a phase;
`check_gauge(False)` leaves that out. Only the whole gradient can be checked: in a backward of a backward the vectors
have several consumers, and the phase cancels in the sum alone. A check on the way to one consumer would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import numpy as np

from pullback.core.state import restore_beside_modes
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.errors import AutogradError
from pullback.operators.arrays.movement import diagonal
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.comparison import where

# Division by gaps -----------------------------------------------------------------------------------------------------


@gufunc("(n,n),(n,n)->(n,n)", name="_linalg_no_quotient")
def no_quotient(m, gap):
    """Where `m / gap` counts as 0: on the diagonal, and where the gap is 0 and `m` no more than a rounding error."""
    size = np.abs(m)
    bound = 8 * np.finfo(m.dtype).eps * np.maximum(np.max(size, axis=(-2, -1), keepdims=True, initial=0), 1)
    return np.eye(m.shape[-1], dtype=bool) | ((gap == 0) & (size <= bound))


@no_quotient.expand(of="everything", in_rows=True, when=lambda m, gap: _are_real(m, gap))
def no_quotient_parts(m, gap):
    size = abs(m)
    largest = size.max(axis=(m.ndim - 2, m.ndim - 1), keepdims=True)
    bound = 8 * float(np.finfo(m.dtype).eps) * np.maximum(largest, 1)
    is_small = (size <= bound)
    return np.eye(m.shape[-1], dtype=bool) | ((gap == 0) & is_small)


def _are_real(*matrices: Any) -> bool:
    kinds = {x.dtype.char if x.dtype.isnative else "" for x in matrices}
    return kinds in ({"f"}, {"d"}) and all(x.size for x in matrices)


no_quotient.not_differentiable("truth values")


@no_quotient.samples
def no_quotient_samples(make: Maker) -> Iterator[Sample]:
    gap = make((2, 3, 3))
    gap[0, 0, 1] = 0
    yield Sample((make((2, 3, 3)), gap), label="batches")
    yield Sample((make((2, 2), np.complex128), make((2, 2))), label="complex")
    yield Sample((make((0, 0)), make((0, 0))), label="empty")


def over(m: Any, gap: Any) -> Any:
    """`m / gap` off the diagonal and 0 on it; 0 / 0 is 0."""
    skip = no_quotient(m, gap)
    return where(skip, 0, m) / where(skip, 1, gap)


def skew_over(m: Any, gap: Any) -> Any:
    """`(m - m^H) / gap` off the diagonal and 0 on it. Where the gap is 0 it is 0 if there is nothing in `m`, and NaN if
    what is there cancels: the quotient has a limit then, which depends on how the loss goes on from equal values."""
    skip = no_quotient(abs(m) + abs(adjoint(m)), gap)
    return where(skip, 0, m - adjoint(m)) / where(skip, 1, gap)


def gaps(values: Any) -> Any:
    """`values[j] - values[i]` at `[i, j]`."""
    return values[..., None, :] - values[..., :, None]


def on_diagonal(values: Any) -> Any:
    """Square matrices with `values` on the diagonal."""
    return where(np.eye(values.shape[-1], dtype=bool), values[..., None], 0)


def diagonal_of(x: Any) -> Any:
    """The diagonals of the matrices in the last two axes."""
    return diagonal(x, axis1=-2, axis2=-1)


# The phase of complex vectors -----------------------------------------------------------------------------------------

_checks_gauge: ContextVar[bool] = ContextVar("pullback_linalg_check_gauge", default=True)
restore_beside_modes(_checks_gauge.get, _checks_gauge.set)


class GaugeSwitch:
    """What `check_gauge` returns: leaving a `with` block puts the switch back."""

    def __init__(self, enabled: bool) -> None:
        self.token = _checks_gauge.set(enabled)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _checks_gauge.reset(self.token)


@composite(arrays=0, name="linalg.check_gauge")
def check_gauge(enabled: bool = True) -> GaugeSwitch:
    """Say whether complex `eigh`, `eig` and `svd` raise in backward if the loss depends on the vectors' phases.

    The switch acts at once and on calls made after it; as a context manager it is put back at the end.
    """
    return GaugeSwitch(bool(enabled))


def is_gauge_checked() -> bool:
    """What `check_gauge` was told last."""
    return _checks_gauge.get()


_PHASE_TOLERANCE = 1e-2  # of the length of the gradient


@gufunc("(m,n),(m,n)->(m,n)", name="_linalg_phase_free")
def phase_free(x, v, *, function):
    """The gradient `x` of the columns of `v`, which must not point along a change of phase."""
    along = np.abs(np.sum(v.conj() * x, axis=-2).imag)
    length = np.sqrt(np.sum(np.abs(x) ** 2, axis=-2) * np.sum(np.abs(v) ** 2, axis=-2))
    if np.any(along > _PHASE_TOLERANCE * np.max(length, axis=-1, keepdims=True, initial=0)):
        raise AutogradError(
            "LINALG_PHASE",
            f"{function}: the loss depends on the phase of the vectors",
            why="a complex eigenvector or singular vector times any phase is as good, so the loss is not well defined",
            fix="use a loss that is the same for every phase, or switch the check off: pb.linalg.check_gauge(False)",
        )
    return x.copy()


@phase_free.vjp
def phase_free_vjp(g):
    return g, None


@phase_free.jvp
def phase_free_jvp(t_x, x):
    return np.zeros(x.shape, x.dtype) if t_x is None else t_x


@phase_free.samples
def phase_free_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3)), make.integers(-3, 4, (2, 3))), {"function": "eigh"}, "real")
    vectors = make((2, 3), np.complex128, 0.5, 1.5)
    yield Sample((vectors * make((3,)), vectors), {"function": "eigh"}, "complex")
    yield Sample((make((0, 0)), make((0, 0))), {"function": "eigh"}, "empty")
