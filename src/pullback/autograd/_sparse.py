"""`SparseGrad`: a gradient that is zero except in some rows, as reads of a few rows of a large table produce it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for


class SparseGrad:
    """Rows `values[k]` at positions `indices[k]` of axis 0 of an array of `shape`; equal positions add up."""

    __slots__ = ("__weakref__", "_version", "indices", "shape", "values")

    layout = "sparse_coo"
    device = "cpu"
    requires_grad = False

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...]) -> None:
        self.indices = np.asarray(indices).reshape(-1)
        self.values = values
        self.shape = tuple(shape)
        self._version = 0
        expected = (self.indices.shape[0], *self.shape[1:])
        if tuple(values.shape) != expected:
            raise ValueError(
                f"SparseGrad: {self.indices.shape[0]} positions of shape {self.shape} need values of shape "
                f"{expected}, got {tuple(values.shape)}"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return np.dtype(self.values.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes of the dense array."""
        return len(self.shape)

    @property
    def spec(self) -> Spec:
        """Shape and dtype of the dense array."""
        return spec_for(self.shape, self.dtype)

    def to_dense(self) -> np.ndarray[Any, Any]:
        """The gradient as an ndarray."""
        dense = np.zeros(self.shape, self.dtype)
        np.add.at(dense, self.indices, np.asarray(self._plain_values()))
        return dense

    def coalesce(self) -> SparseGrad:
        """The same gradient with every position at most once, in ascending order."""
        positions, inverse = np.unique(self.indices, return_inverse=True)
        values = np.zeros((len(positions), *self.shape[1:]), self.dtype)
        np.add.at(values, inverse, np.asarray(self._plain_values()))
        return SparseGrad(positions, values, self.shape)

    def _plain_values(self) -> Any:
        return self.values if isinstance(self.values, np.ndarray) else self.values._data

    def astype(self, dtype: Any) -> SparseGrad:
        """The gradient with values of another dtype."""
        return SparseGrad(self.indices, self.values.astype(dtype), self.shape)

    def accumulate_(self, other: SparseGrad) -> None:
        """Add `other` to this object; positions are not merged."""
        self.indices = np.concatenate([self.indices, other.indices])
        self.values = np.concatenate([self._plain_values(), other._plain_values()])
        self._version += 1

    def clone(self) -> SparseGrad:
        """An independent copy."""
        return SparseGrad(self.indices.copy(), np.array(self._plain_values()), self.shape)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseGrad):
            return SparseGrad(
                np.concatenate([self.indices, other.indices]),
                np.concatenate([self._plain_values(), other._plain_values()]),
                self.shape,
            )
        return other + self.to_dense()

    __radd__ = __add__
    # NumPy must ask us first, or `ndarray + SparseGrad` becomes an array of objects.
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return f"SparseGrad({len(self.indices)} rows of {self.spec})"
