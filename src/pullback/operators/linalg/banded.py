"""Banded matrices, stored by diagonals as SciPy and LAPACK store them: `bands[upper + i - j, j]` is `a[i, j]`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.index_operators import basic_view
from pullback.operators.arrays.joining import join, pile
from pullback.operators.arrays.movement import permute_dims
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.decompose import as_values
from pullback.operators.linalg.solve import Array


def _moved(x: Any, places: int) -> Any:
    """A vector, or the rows of a matrix, with the elements that many places further down, and zeros for the missing."""
    length = x.shape[0]
    if abs(places) >= length:
        return np.zeros(x.shape, x.dtype)
    gap = np.zeros((abs(places), *x.shape[1:]), x.dtype)
    if places > 0:
        return join(gap, basic_view(x, index=(slice(0, length - places), ...)), axis=0)
    return join(basic_view(x, index=(slice(-places, length), ...)), gap, axis=0) if places else x


def _adjoint_bands(bands: Any, lower: int, upper: int) -> Any:
    """The adjoint matrix, by its diagonals."""
    rows = [_moved(conjugated(bands[k]), k - upper) for k in range(lower + upper + 1)]
    return pile(*rows[::-1], axis=0)


def _times(bands: Any, x: Any, lower: int, upper: int) -> Any:
    """The banded matrix times the columns of `x`."""
    total = 0
    for k in range(lower + upper + 1):
        total = total + _moved(bands[k][:, None] * x, k - upper)
    return total


@primitive(name="_linalg_solve_banded")
def banded_solution(bands, b, *, lower, upper):
    """The `x` with `a @ x == b` for a banded matrix `a`."""
    out: Array = import_module("scipy.linalg").solve_banded((lower, upper), bands, b)
    return out


@banded_solution.spelling("array_api")
def banded_solution_spelling(np_there, bands, b, *, lower, upper):
    n = bands.shape[-1]
    full = np_there.zeros((n, n), bands.dtype)
    for k in range(max(-lower, 1 - n), min(upper, n - 1) + 1):  # row `upper - k` of the bands has diagonal k
        rows = np_there.arange(max(-k, 0), n - max(k, 0))
        full[rows, rows + k] = bands[upper - k, max(k, 0) : n + min(k, 0)]
    return np_there.linalg.solve(full, b)


@banded_solution.spec
def banded_solution_spec(bands: Spec, b: Spec, *, lower: int, upper: int) -> Spec:
    dtype = np.result_type(bands.dtype, b.dtype)
    return spec_for(b.shape, dtype if dtype.kind in "fc" else np.dtype(np.float64))


@banded_solution.vjp
def banded_solution_vjp(g, bands, out, lower, upper, needs):
    to_b = banded_solution(_adjoint_bands(bands, lower, upper), g, lower=upper, upper=lower)
    if not needs[0]:
        return None, to_b
    rows = [-(_moved(to_b, upper - k) * conjugated(out)).sum(axis=1) for k in range(lower + upper + 1)]
    return pile(*rows, axis=0), to_b


@banded_solution.jvp
def banded_solution_jvp(t_bands, t_b, bands, out, lower, upper):
    right = 0 if t_b is None else t_b
    if t_bands is not None:
        right = right - _times(t_bands, out, lower, upper)
    return banded_solution(bands, right, lower=lower, upper=upper)


@banded_solution.batch
def banded_solution_batch(bands, b, *, lower, upper):
    """Several systems are one, with their matrices along its diagonal. Entries that no matrix reads would join them."""
    count, diagonals, size = bands.shape
    wide = where(_is_inside(lower, upper, size), bands, 0)
    wide = permute_dims(wide, axes=(1, 0, 2)).reshape((diagonals, count * size))
    out = banded_solution(wide, b.reshape((count * size, b.shape[-1])), lower=lower, upper=upper)
    return out.reshape(b.shape)


def _is_inside(lower: int, upper: int, size: int) -> Array:
    """Which entries of the diagonals belong to the matrix."""
    row = np.arange(lower + upper + 1)[:, None] - upper + np.arange(size)
    inside: Array = (row >= 0) & (row < size)
    return inside


@banded_solution.samples
def banded_solution_samples(make: Maker) -> Iterator[Sample]:
    def sample(lower: int, upper: int, size: int, label: str, dtype: Any = np.float64) -> Sample:
        bands = make((lower + upper + 1, size), dtype)
        bands[upper] += 5
        return Sample((bands, make((size, 2), dtype)), {"lower": lower, "upper": upper}, label)

    yield sample(1, 1, 4, "three diagonals")
    yield sample(2, 1, 5, "four diagonals")
    yield sample(0, 1, 3, "upper")
    yield sample(1, 0, 1, "one")
    yield sample(1, 1, 3, "complex", np.complex128)
    yield sample(1, 1, 3, "float32", np.float32)


banded_solution.refuses("there is no system without equations", "empty")


@composite(name="linalg.solve_banded", arrays=0)
def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any, **options: Any) -> Any:
    """The `x` with `a @ x == b`, where `a` has `l` diagonals below and `u` above the main one: `ab[u + i - j, j]`.

    As in SciPy the entries of `ab` that are no part of `a` are not read; their gradient is 0.
    """
    lower, upper = (int(n) for n in l_and_u)
    bands, right = as_values(ab), as_values(b)
    if bands.ndim != 2 or bands.shape[0] != lower + upper + 1 or right.ndim not in (1, 2):
        shapes = f"{tuple(bands.shape)} and {tuple(right.shape)}"
        raise ValueError(f"solve_banded: {lower} + {upper} + 1 diagonals and shapes {shapes} do not fit")
    if right.ndim == 1:
        return banded_solution(bands, right[:, None], lower=lower, upper=upper)[:, 0]
    return banded_solution(bands, right, lower=lower, upper=upper)
