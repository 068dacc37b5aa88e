"""Sample inputs: the data on which every declared operator is checked.

A sample is positional operands and static parameters. Operands that are floating point arrays are differentiated;
integers, booleans and numbers are passed as they are. `prepare` maps free perturbations of the operands onto allowed
ones (symmetric matrices stay symmetric); `observe` maps the outputs to what is well defined of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call of an operator."""

    operands: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    prepare: Callable[..., Any] | None = None
    observe: Callable[..., Any] | None = None


class Maker:
    """Makes arrays of numbers inside an operator's domain, the same ones in every run."""

    def __init__(self, name: str, domain: tuple[float, float] = (-2.0, 2.0)) -> None:
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.domain = domain

    def __call__(
        self, shape: tuple[int, ...] = (), dtype: Any = np.float64, low: float | None = None, high: float | None = None
    ) -> np.ndarray[Any, Any]:
        """An array of this shape, uniform over the domain."""
        low = self.domain[0] if low is None else low
        high = self.domain[1] if high is None else high
        dtype = np.dtype(dtype)
        values = self.random.uniform(low, high, shape)
        if dtype.kind == "c":
            values = values + 1j * self.random.uniform(low, high, shape)
        return np.asarray(values).astype(dtype)

    def integers(self, low: int, high: int, shape: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
        """Integers from `low` up to and excluding `high`."""
        return self.random.integers(low, high, shape)

    def booleans(self, shape: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
        """Random booleans."""
        return self.random.random(shape) < 0.5

    def distinct(self, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray[Any, Any]:
        """Values that differ by much more than a finite-difference step, in random order."""
        size = int(np.prod(shape))
        values = np.linspace(self.domain[0], self.domain[1], max(size, 2))[:size]
        return self.random.permutation(values).reshape(shape).astype(dtype)


def layouts(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The same values in other memory layouts: transposed storage, a gap between elements, negative strides."""
    yield "fortran", np.asfortranarray(array)
    spaced = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    spaced[..., ::2] = array
    yield "gaps", spaced[..., ::2]
    yield "reversed", np.ascontiguousarray(array[::-1])[::-1]
