"""Rotations with derivatives: `scipy.spatial.transform.Rotation` and `Slerp` on a tensor of quaternions.

A quaternion `(x, y, z, w)` is kept with length 1. Functions of an angle that divide by it (`from_rotvec`, `as_rotvec`)
are power series near 0, so that their derivatives of every order are right there. Where a representation has none (a
half turn as a vector, Euler angles in gimbal lock) a differentiated call is refused.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced.array import TracedArray
from pullback.scipy._arrays import is_differentiated, root
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.scipy.spatial._geometry import degenerate, plain, real
from pullback.tensors.tensor import Tensor

NEAR = 0.01  # squares of angles below this are left to power series


def _series(square: Any, coefficients: list[float]) -> Any:
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * square + c
    return total


def _even(square: Any, near: list[float], far: Any) -> Any:
    """A function of an angle by its square: a series for small ones, `far` of the angle for others."""
    is_near = square < NEAR
    return pb.where(is_near, _series(square, near), far(pb.sqrt(pb.where(is_near, 1.0, square))))


_COSINE = [(-1.0) ** k / (4.0**k * math.factorial(2 * k)) for k in range(8)]
_SINE = [(-1.0) ** k / (2.0 * 4.0**k * math.factorial(2 * k + 1)) for k in range(8)]
_ARCTANGENT = [2.0 * (-1.0) ** k / (2 * k + 1) for k in range(10)]


def _from_vector(v: Any) -> Any:
    square = (v * v).sum(axis=-1)[..., None]
    sine = _even(square, _SINE, lambda angle: pb.sin(angle / 2) / angle)
    return pb.concat([v * sine, _even(square, _COSINE, lambda angle: pb.cos(angle / 2))], axis=-1)


def _times(p: Any, q: Any) -> Any:
    p, q = pb.broadcast_arrays(p, q)
    a, b = p[..., :3], q[..., :3]
    s, t = p[..., 3:], q[..., 3:]
    return pb.concat([s * b + t * a + pb.cross(a, b), s * t - (a * b).sum(axis=-1)[..., None]], axis=-1)


def _unit(q: Any) -> Any:
    return q / pb.sqrt((q * q).sum(axis=-1)[..., None])


def _is_known(x: Tensor) -> bool:
    """Are there numbers in this tensor, rather than a batch or a trace of them?"""
    return not isinstance(x._data, BatchedArray | TracedArray)


def _refuse_where(x: Tensor, is_bad: Any, name: str, why: str) -> None:
    if is_differentiated(x) and _is_known(x) and np.any(is_bad(plain(x))):
        raise degenerate(f"Rotation.{name}", why)


_AXES = {"x": 0, "y": 1, "z": 2}


def _about(axis: int, angle: Any) -> Any:
    parts = [pb.zeros_like(angle)] * 3
    parts[axis] = pb.sin(angle / 2)
    return pb.stack([*parts, pb.cos(angle / 2)], axis=-1)


def _eigenvector(matrix: Any) -> Any:
    """The direction of the largest eigenvalue."""
    return pb.linalg.eigh(matrix)[1][..., :, -1]


def _scaled(angles: Any, degrees: bool) -> Any:
    return angles * (math.pi / 180.0) if degrees else angles


def _returned(angles: Any, degrees: bool) -> Any:
    return angles * (180.0 / math.pi) if degrees else angles


class Rotation:
    """`scipy.spatial.transform.Rotation` with derivatives, by whatever it is made from."""

    __array_priority__ = 1000  # what `vectors * rotation` would mean is not asked of NumPy

    def __init__(self, quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False) -> None:
        q = real(quat)
        if q.ndim < 1 or q.shape[-1] != 4:
            raise ValueError(f"Expected `quat` to have shape (..., 4), got {tuple(q.shape)}.")
        if scalar_first:
            q = pb.roll(q, -1, axis=-1)
        if normalize:
            if _is_known(q) and np.any(np.all(plain(q) == 0, axis=-1)):
                raise ValueError("Found zero norm quaternions in `quat`.")
            q = _unit(q)
        self._q = q

    # Made from other representations.

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Rotation:
        """From quaternions, which are normalized."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From vectors along the axes, as long as the angles."""
        v = real(rotvec)
        if v.ndim < 1 or v.shape[-1] != 3:
            raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {tuple(v.shape)}")
        return cls(_from_vector(_scaled(v, degrees)), normalize=False)

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters: the axis times the tangent of a quarter of the angle."""
        v = real(mrp)
        square = (v * v).sum(axis=-1)[..., None]
        return cls(pb.concat([2.0 * v, 1.0 - square], axis=-1) / (1.0 + square), normalize=False)

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """From angles about axes, one after the other: about those of space (`xyz`) or of the body (`XYZ`)."""
        if not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
            raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
        if any(a == b for a, b in itertools.pairwise(seq)):
            raise ValueError(f"Expected consecutive axes to be different, got {seq}")
        angles = _scaled(real(angles), degrees)
        if len(seq) == 1 and (angles.ndim == 0 or angles.shape[-1] != 1):
            angles = angles[..., None]
        if angles.ndim < 1 or angles.shape[-1] != len(seq):
            raise ValueError(f"Expected {len(seq)} angles along the last axis, got shape {tuple(angles.shape)}")
        q: Any = None
        for k, axis in enumerate(seq.lower()):
            turn = _about(_AXES[axis], angles[..., k])
            q = turn if q is None else _times(q, turn) if seq.isupper() else _times(turn, q)
        return cls(q, normalize=False)

    @classmethod
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Rotation:
        """From matrices. One that is not orthogonal stands for the closest that is."""
        m = real(matrix)
        if m.shape[-2:] != (3, 3):
            raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {tuple(m.shape)}")
        if _is_known(m) and np.any(np.linalg.det(plain(m)) <= 0):
            raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix")
        if not assume_valid:
            for _ in range(10):  # Newton's iteration for the orthogonal factor, quadratic near it
                m = (m + pb.matrix_transpose(pb.linalg.inv(m))) / 2.0
        d = [m[..., k, k] for k in range(3)]
        trace = d[0] + d[1] + d[2]
        rows = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            row: list[Any] = [None] * 4
            row[i] = 1.0 - trace + 2.0 * d[i]
            row[j] = m[..., j, i] + m[..., i, j]
            row[k] = m[..., k, i] + m[..., i, k]
            row[3] = m[..., k, j] - m[..., j, k]
            rows.append(pb.stack(row, axis=-1))
        off = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
        rows.append(pb.stack([*off, 1.0 + trace], axis=-1))
        best = pb.argmax(pb.stack([*d, trace], axis=-1), axis=-1)[..., None]
        q = pb.where(best == 0, rows[0], pb.where(best == 1, rows[1], pb.where(best == 2, rows[2], rows[3])))
        return cls(q)

    @classmethod
    def identity(cls, num: int | None = None, *, shape: Any = None) -> Rotation:
        """Rotations that change nothing."""
        return cls(scipy_module("spatial.transform").Rotation.identity(num, shape=shape).as_quat())

    @classmethod
    def random(
        cls, num: int | None = None, rng: Any = None, *, shape: Any = None, random_state: Any = None
    ) -> Rotation:
        """Random rotations, uniformly distributed: the ones that SciPy draws."""
        theirs = scipy_module("spatial.transform").Rotation
        given = {"random_state": numbers(random_state)} if random_state is not None else {"rng": numbers(rng)}
        return cls(theirs.random(num, shape=shape, **given).as_quat())

    @classmethod
    def concatenate(cls, rotations: Any) -> Rotation:
        """Several rotations as one object."""
        if isinstance(rotations, Rotation):
            return cls(rotations._q, normalize=False)
        return cls(pb.concat([each._q.reshape((-1, 4)) for each in rotations]), normalize=False)

    @classmethod
    def align_vectors(
        cls, a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False
    ) -> tuple[Rotation, Tensor]:
        """The rotation that brings the vectors `b` closest to `a`, and the root of the sum of squares that remains."""
        if return_sensitivity:
            raise NotImplementedError("align_vectors: the sensitivity has no derivative; use SciPy's")
        a, b = (real(x).reshape((-1, 3)) for x in (a, b))
        if a.shape != b.shape or a.shape[0] < 2:
            raise ValueError(f"align_vectors: expected two or more pairs, got {tuple(a.shape)} and {tuple(b.shape)}")
        w = pb.ones(a.shape[0]) if weights is None else real(weights)
        if _is_known(w) and not np.all(np.isfinite(plain(w))):
            raise NotImplementedError("align_vectors: an infinite weight has no derivative; use SciPy's")
        product = (a * w[:, None]).T @ b
        trace = product[0, 0] + product[1, 1] + product[2, 2]
        turn = (w[:, None] * pb.cross(b, a)).sum(axis=0)
        top = pb.concat([product + product.T - trace * np.eye(3), turn[:, None]], axis=1)
        form = pb.concat([top, pb.concat([turn, trace[None]])[None, :]])
        found = cls(_eigenvector(form), normalize=False)
        off = a - found.apply(b)
        return found, root((w[:, None] * off * off).sum())

    # Other representations.

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Tensor:
        """Quaternions; the canonical ones have a positive real part."""
        q = _canonical(self._q) if canonical else self._q
        return pb.roll(q, 1, axis=-1) if scalar_first else q * 1.0

    def as_matrix(self) -> Tensor:
        """Matrices."""
        x, y, z, w = (self._q[..., k] for k in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return pb.stack([pb.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Tensor:
        """Vectors along the axes, as long as the angles."""
        _refuse_where(self._q, lambda q: np.abs(q[..., 3]) < 1e-12, "as_rotvec",
                      "of half a turn, the vector jumps to its opposite")  # fmt: skip
        q = _canonical(self._q)
        v, w = q[..., :3], q[..., 3:]
        square = (v * v).sum(axis=-1)[..., None]
        safe = pb.where(square < NEAR, w, 1.0)
        near = _series(square / (safe * safe), _ARCTANGENT) / safe
        length = pb.sqrt(pb.where(square < NEAR, 1.0, square))
        out = v * pb.where(square < NEAR, near, 2.0 * pb.atan2(length, w) / length)
        return _returned(out, degrees)

    def as_mrp(self) -> Tensor:
        """Modified Rodrigues parameters."""
        q = _canonical(self._q)
        return q[..., :3] / (1.0 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Tensor:
        """Angles about three axes, one after the other."""
        if len(seq) != 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
            raise ValueError(f"Expected 3 axes, got {seq}.")
        if not is_differentiated(self._q):  # SciPy decides, and warns, in gimbal lock
            theirs = scipy_module("spatial.transform").Rotation(plain(self._q))
            return joined(theirs.as_euler(seq, degrees, suppress_warnings=suppress_warnings))
        if seq[0] == seq[1] or seq[1] == seq[2]:
            raise ValueError(f"Expected consecutive axes to be different, got {seq}")
        order = [_AXES[each] for each in (seq.lower() if seq.islower() else seq.lower()[::-1])]
        i, j, k = order
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        x = [self._q[..., each] for each in range(4)]
        if is_symmetric:
            a, b, c, d = x[3], x[i], x[j], x[k] * sign
        else:
            a, b, c, d = x[3] - x[j], x[i] + x[k] * sign, x[j] + x[3], x[k] * sign - x[i]
        locks = pb.minimum(a * a + b * b, c * c + d * d)
        _refuse_where(locks, lambda value: value < 1e-14, "as_euler",
                      "in gimbal lock, only a sum of two angles is determined")  # fmt: skip
        middle = 2.0 * pb.atan2(root(c * c + d * d), root(a * a + b * b))
        half_sum, half_difference = pb.atan2(b, a), pb.atan2(d, c)
        first, last = half_sum - half_difference, half_sum + half_difference
        if not is_symmetric:
            last, middle = last * sign, middle - math.pi / 2
        found = [first, middle, last] if seq.islower() else [last, middle, first]
        out = pb.stack(found, axis=-1)
        turns = pb.stop_gradient(pb.where(out < -math.pi, 1.0, pb.where(out > math.pi, -1.0, 0.0)))
        return _returned(out + 2.0 * math.pi * turns, degrees)

    # Work with them.

    @property
    def single(self) -> bool:
        """Is this one rotation?"""
        return self._q.ndim == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which there are several."""
        return tuple(self._q.shape[:-1])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._q.shape[0])

    def __getitem__(self, index: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self._q[numbers(index)], normalize=False)

    def __iter__(self) -> Iterator[Rotation]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self._q!r})"

    def apply(self, vectors: Any, inverse: bool = False) -> Tensor:
        """The vectors, rotated."""
        v, m = real(vectors), self.as_matrix()
        if inverse:
            m = pb.matrix_transpose(m)
        return (m @ v[..., None])[..., 0]

    def __mul__(self, other: Any) -> Rotation:
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_times(self._q, other._q))

    def __pow__(self, n: Any, modulus: None = None) -> Rotation:
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        if not isinstance(n, Tensor) and n in (-1, 0, 1):
            if n == 0:
                return Rotation.identity(shape=self.shape or None)
            return Rotation(self._q, normalize=False) if n == 1 else self.inv()
        return Rotation.from_rotvec(self.as_rotvec() * n)

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(self._q * np.array([-1.0, -1.0, -1.0, 1.0]), normalize=False)

    def magnitude(self) -> Tensor:
        """The angles."""
        v = self._q[..., :3]
        return 2.0 * pb.atan2(root((v * v).sum(axis=-1)), pb.abs(self._q[..., 3]))

    def mean(self, weights: Any = None, axis: Any = None) -> Rotation:
        """The mean of the rotations, the closest to all of them."""
        if axis is not None:
            raise NotImplementedError("Rotation.mean: an axis has no derivative here; reshape the rotations")
        q = self._q.reshape((-1, 4))
        w = pb.ones(q.shape[0]) if weights is None else real(weights).reshape(-1)
        return Rotation(_eigenvector((q * w[:, None]).T @ q), normalize=False)

    def approx_equal(self, other: Rotation, atol: float | None = None, degrees: bool = False) -> Any:
        """Are the rotations equal, up to an angle?"""
        limit = 1e-8 if atol is None else math.radians(atol) if degrees else atol
        return (other * self.inv()).magnitude() < limit


def _canonical(q: Any) -> Any:
    """The quaternions of the same rotations with a positive real part."""
    return pb.where(q[..., 3:] < 0, -1.0, 1.0) * q


class Slerp(metaclass=PerExample):
    """`scipy.spatial.transform.Slerp` with derivatives: rotations between rotations, at constant speed."""

    def __init__(self, times: Any, rotations: Rotation) -> None:
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        self.times = real(times)
        knots = plain(self.times)
        if knots.ndim != 1 or len(knots) != len(rotations):
            raise ValueError(f"Expected one time for each of {len(rotations)} rotations, got shape {knots.shape}.")
        if np.any(np.diff(knots) <= 0):
            raise ValueError("Times must be in strictly increasing order.")
        self.rotations = rotations[:-1]
        self.rotvecs = (self.rotations.inv() * rotations[1:]).as_rotvec()

    def __call__(self, times: Any) -> Rotation:
        at = real(times)
        knots, values = plain(self.times), plain(at)
        if values.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        if np.any(values < knots[0]) or np.any(values > knots[-1]):
            raise ValueError(f"Interpolation times must be within the range [{knots[0]}, {knots[-1]}], both inclusive.")
        piece = np.clip(np.searchsorted(knots, values, side="left") - 1, 0, len(knots) - 2)
        start = self.times[piece]
        share = (at - start) / (self.times[piece + 1] - start)
        return Rotation(self.rotations._q[piece], normalize=False) * Rotation.from_rotvec(
            self.rotvecs[piece] * share[..., None]
        )
