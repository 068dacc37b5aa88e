"""Random numbers of other libraries' generators, for what draws (`operators/random/draws.py`).

A generator is asked by the names and parameters of NumPy's, and gives arrays of the host's: the numbers are the
library's, and where they go from there `device=` says. Its state can be read and set, so that checkpoints, `vmap` and
compiled functions repeat draws as they do those of NumPy's generators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.errors import AutogradError

Array = np.ndarray[Any, Any]


class Draws:
    """A generator of another library. A library's file says how to draw from it."""

    state: Any

    @property
    def bit_generator(self) -> Draws:
        """What has the state."""
        return self

    def random(self, size: tuple[int, ...], dtype: Any = np.float64) -> Array:
        raise NotImplementedError

    def standard_normal(self, size: tuple[int, ...], dtype: Any = np.float64) -> Array:
        raise NotImplementedError

    def standard_exponential(self, size: tuple[int, ...], dtype: Any = np.float64) -> Array:
        raise NotImplementedError

    def permutation(self, count: int) -> Array:
        raise NotImplementedError

    def between(self, low: int, high: int, size: tuple[int, ...]) -> Array:
        """Whole numbers from `low` up to and excluding `high`."""
        raise NotImplementedError

    def integers(self, low: Any, high: Any, size: tuple[int, ...], dtype: Any, endpoint: bool = False) -> Array:
        if np.ndim(low) or np.ndim(high):
            raise self.refused("whole numbers between limits that are arrays")
        return self.between(int(low), int(high) + endpoint, size).astype(dtype)

    def gumbel(self, size: tuple[int, ...]) -> Array:
        return -np.log(self.standard_exponential(size))

    def logistic(self, size: tuple[int, ...]) -> Array:
        return self.gumbel(size) - self.gumbel(size)

    def refused(self, what: str) -> AutogradError:
        """The error for what the library's generator is not asked for."""
        return AutogradError(
            "FOREIGN_RNG",
            f"{type(self).__name__.removesuffix('Draws')}'s generator is to draw {what}",
            why="of other libraries' generators uniform, normal, exponential, Gumbel and logistic numbers, whole "
            "numbers and permutations are drawn",
            fix="give a pb.random.Generator, or draw with the library, and take the array: pb.foreign(a)",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.random.Generator, name):
            raise AttributeError(name)
        raise self.refused(f"{name} numbers")
