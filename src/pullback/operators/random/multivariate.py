"""Normal vectors. Loaded with `pullback.random`, since it needs the decompositions of `pullback.linalg`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.movement import expand_dims, squeeze
from pullback.operators.contraction import matmul
from pullback.operators.linalg.decompose import lower_cholesky
from pullback.operators.random.draws import (
    as_parameter,
    beside,
    cast,
    draw,
    drawing,
    dtype_for,
    shape_for,
    sized,
    values_of,
)
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor

METHODS = ("cholesky", "eigh", "svd")


@drawing
def multivariate_normal(
    mean: Any, cov: Any, size: Any = None, *, method: str = "cholesky", dtype: Any = None, generator: Any = None
) -> Tensor:
    """Normal vectors along the last axis, `mean + factor @ noise` with `factor @ factor.T == cov`.

    They are differentiable in `mean` and `cov`, whose gradient is symmetric. Both may have further axes in front, which
    broadcast. `size` is the shape of the result without the last axis. The methods "eigh" and "svd" also take a
    covariance that is only positive semidefinite, and have no derivative by it.
    """
    if method not in METHODS:
        raise ValueError(f"multivariate_normal: method={method!r} is none of {', '.join(METHODS)}: choose one of them")
    mean, cov = as_parameter(mean), as_parameter(cov)
    _check_shapes(mean, cov)
    dtype = dtype_for((mean, cov), dtype)
    mean, cov = cast(mean, dtype), cast(cov, dtype)
    whole = None if size is None else (*sized(size), mean.shape[-1])
    shape = shape_for("multivariate_normal", whole, (mean, cov[..., 0]))
    factor = _triangle(cov) if method == "cholesky" else _factor(cov, method)
    noise = beside(draw("standard_normal", shape, dtype=dtype, generator=generator), mean, cov)
    return mean + squeeze(matmul(factor, expand_dims(noise, axis=-1)), axis=-1)


def _check_shapes(mean: Any, cov: Any) -> None:
    if np.ndim(mean) == 0 or np.ndim(cov) < 2 or cov.shape[-2:] != (mean.shape[-1],) * 2:
        raise ValueError(
            f"multivariate_normal: mean of shape {np.shape(mean)} and cov of shape {np.shape(cov)} do not fit: cov "
            "needs a row and a column for each number of mean; pass a vector of length n and a matrix n by n"
        )
    values = values_of(cov)
    if not np.allclose(values, np.swapaxes(values, -1, -2), rtol=1e-5, atol=1e-8 * np.abs(values).max(initial=0)):
        raise ValueError(
            "multivariate_normal: cov is not symmetric, and a covariance is: pass (cov + cov.mT) / 2 if it differs by "
            "rounding only"
        )


def _triangle(cov: Tensor) -> Tensor:
    try:
        factor: Tensor = lower_cholesky(cov)
    except np.linalg.LinAlgError:
        raise ValueError(
            "multivariate_normal: cov is not positive definite, so it has no Cholesky factor: add a small multiple of "
            "the identity, or pass method='eigh' if it is positive semidefinite and needs no gradient"
        ) from None
    return factor


def _factor(cov: Tensor, method: str) -> Tensor:
    if current().grad and requires_grad(cov):
        raise no_derivative(method)
    factor: Tensor = orthogonal_factor(cov, method=method)
    return factor


@gufunc("(n,n)->(n,n)", name="_orthogonal_factor", flops=lambda n: 9 * n**3)
def orthogonal_factor(cov, *, method):
    """A factor of a positive semidefinite matrix with orthogonal columns."""
    if method == "svd":
        columns, widths, rows = np.linalg.svd(cov)
        is_valid = np.allclose(columns * widths[..., None, :], np.swapaxes(rows, -1, -2) * widths[..., None, :])
        columns = np.swapaxes(rows, -1, -2)
    else:
        widths, columns = np.linalg.eigh(cov)
        is_valid = not np.any(widths < -1e-8 * np.abs(widths).max(initial=0))
    if not is_valid:
        raise ValueError(
            "multivariate_normal: cov has a negative eigenvalue, and a variance is never negative: check how it was "
            "computed, or add a multiple of the identity"
        )
    return columns * np.sqrt(np.maximum(widths, 0))[..., None, :]


def no_derivative(method: str) -> ValueError:
    """What is raised when somebody asks how such a factor changes."""
    return ValueError(
        f"multivariate_normal: method={method!r} has no derivative by cov, and one is asked for: its columns are not "
        "determined where eigenvalues are equal; use method='cholesky', or detach() cov"
    )


@orthogonal_factor.vjp
def orthogonal_factor_vjp(g, method):
    raise no_derivative(method)


@orthogonal_factor.jvp
def orthogonal_factor_jvp(t_cov, method):
    raise no_derivative(method)


@orthogonal_factor.samples
def orthogonal_factor_samples(make: Maker) -> Iterator[Sample]:
    # Integers have values and no derivative, which is all there is to sample.
    for method in ("eigh", "svd"):
        free = make.integers(-2, 3, (2, 3, 3))
        yield Sample((free @ np.swapaxes(free, -1, -2),), {"method": method}, method)
        yield Sample((np.zeros((0, 3, 3), int),), {"method": method}, f"{method}-empty")
