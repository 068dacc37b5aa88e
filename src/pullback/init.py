"""What parameters begin with: `pb.init.kaiming_normal((out, in))` and others.

Every function takes a shape, and by name `rng`, a generator (the default one of `pb.random` if there is none), and
`dtype`. A weight has the axes that torch gives it, `(out, in, *kernel)`: `fan_in` is how many numbers go into an
output, the size of the axes behind the first. For `x @ w`, where `w` is `(in, out)`, say `mode="fan_out"`.

>>> pb.init.xavier_uniform((3, 2)).shape
(3, 2)
"""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING
from typing import Any as _Any

import numpy as _np

from pullback.core.doors import door as _door
from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators import functions as _functions
from pullback.operators.random import continuous as _continuous
from pullback.operators.random import normal_tail as _normal_tail

if TYPE_CHECKING:
    from pullback.tensors.tensor import Tensor

__all__ = [
    "constant", "identity", "kaiming_normal", "kaiming_uniform", "lecun_normal", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip
_explain_unknown(globals())


def _shape(shape: _Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


@_door
def zeros(shape: _Any, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """Zeros.

    >>> pb.init.zeros(2)
    tensor([0., 0.])
    """
    return constant(shape, 0.0, dtype=dtype)


@_door
def ones(shape: _Any, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """Ones.

    >>> pb.init.ones(2)
    tensor([1., 1.])
    """
    return constant(shape, 1.0, dtype=dtype)


@_door
def constant(shape: _Any, value: _Any = 0.0, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """The same number everywhere.

    >>> pb.init.constant((2,), 0.5)
    tensor([0.5, 0.5])
    """
    made: Tensor = _functions["full"](_shape(shape), value, dtype=dtype)
    return made


@_door
def identity(shape: _Any, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """A matrix with ones on its diagonal.

    >>> pb.init.identity((2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if len(_shape(shape)) != 2:
        raise ValueError(f"pb.init.identity makes matrices, got the shape {_shape(shape)}")
    made: Tensor = _functions["eye"](*_shape(shape), dtype=dtype)
    return made


@_door
def normal(
    shape: _Any, mean: float = 0.0, std: float = 1.0, *, rng: _Any = None, dtype: _Any = None
) -> Tensor:
    """Normal numbers.

    >>> pb.init.normal((2, 3), std=0.01).shape
    (2, 3)
    """
    return _continuous.normal(mean, std, _shape(shape), dtype=dtype, generator=rng)


@_door
def uniform(
    shape: _Any, low: float = 0.0, high: float = 1.0, *, rng: _Any = None, dtype: _Any = None
) -> Tensor:
    """Numbers from `low` up to and excluding `high`, all equally likely.

    >>> pb.init.uniform((2, 3), -0.1, 0.1).shape
    (2, 3)
    """
    return _continuous.uniform(low, high, _shape(shape), dtype=dtype, generator=rng)


@_door
def truncated_normal(
    shape: _Any, mean: float = 0.0, std: float = 1.0, low: float = -2.0, high: float = 2.0, *, rng: _Any = None,
    dtype: _Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers, of which only those from `low` to `high` are taken; the two are values, not multiples of `std`.

    >>> bool((abs(pb.init.truncated_normal(100)) <= 2).all())
    True
    """
    drawn: Tensor = _normal_tail.truncated_normal(
        mean, std, low, high, _shape(shape), dtype=dtype, generator=rng
    )
    return drawn


# Weights, whose numbers are the smaller the more of them are added up.


def _fans(who: str, shape: _Any) -> tuple[int, int]:
    """How many numbers go into an output, and to how many outputs an input goes."""
    sizes = _shape(shape)
    if len(sizes) < 2:
        raise ValueError(f"pb.init.{who} makes weights with two axes or more, (out, in, ...), got the shape {sizes}")
    kernel = _math.prod(sizes[2:])
    return sizes[1] * kernel, sizes[0] * kernel


def _fan(who: str, shape: _Any, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"pb.init.{who}: mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return max(_fans(who, shape)[mode == "fan_out"], 1)


@_door
def xavier_uniform(shape: _Any, gain: float = 1.0, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """Uniform numbers with variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio).

    >>> bool((abs(pb.init.xavier_uniform((2, 4))) <= 1).all())
    True
    """
    bound = gain * _math.sqrt(6.0 / max(sum(_fans("xavier_uniform", shape)), 1))
    return uniform(shape, -bound, bound, rng=rng, dtype=dtype)


@_door
def xavier_normal(shape: _Any, gain: float = 1.0, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """Normal numbers with variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio).

    >>> pb.init.xavier_normal((2, 4)).shape
    (2, 4)
    """
    std = gain * _math.sqrt(2.0 / max(sum(_fans("xavier_normal", shape)), 1))
    return normal(shape, 0.0, std, rng=rng, dtype=dtype)


@_door
def kaiming_uniform(
    shape: _Any, gain: float = _math.sqrt(2.0), *, mode: str = "fan_in", rng: _Any = None, dtype: _Any = None
) -> Tensor:
    """Uniform numbers with variance `gain**2 / fan` (He); the default gain is that of `relu`.

    >>> bool((abs(pb.init.kaiming_uniform((2, 6))) <= 1).all())
    True
    """
    bound = gain * _math.sqrt(3.0 / _fan("kaiming_uniform", shape, mode))
    return uniform(shape, -bound, bound, rng=rng, dtype=dtype)


@_door
def kaiming_normal(
    shape: _Any, gain: float = _math.sqrt(2.0), *, mode: str = "fan_in", rng: _Any = None, dtype: _Any = None
) -> Tensor:
    """Normal numbers with variance `gain**2 / fan` (He); the default gain is that of `relu`.

    >>> pb.init.kaiming_normal((2, 6), mode="fan_out").shape
    (2, 6)
    """
    return normal(shape, 0.0, gain / _math.sqrt(_fan("kaiming_normal", shape, mode)), rng=rng, dtype=dtype)


@_door
def lecun_normal(shape: _Any, *, mode: str = "fan_in", rng: _Any = None, dtype: _Any = None) -> Tensor:
    """Normal numbers without tails (beyond two deviations) with variance `1 / fan` (LeCun), as JAX has them.

    >>> pb.init.lecun_normal((2, 6)).shape
    (2, 6)
    """
    # 0.8796... is the deviation of a standard normal that is cut at -2 and 2.
    std = 1.0 / _math.sqrt(_fan("lecun_normal", shape, mode)) / 0.87962566103423978
    return truncated_normal(shape, 0.0, std, -2 * std, 2 * std, rng=rng, dtype=dtype)


@_door
def orthogonal(shape: _Any, gain: float = 1.0, *, rng: _Any = None, dtype: _Any = None) -> Tensor:
    """A random orthogonal matrix times `gain`; the axes behind the first count as one.

    If there are more rows than columns, the columns are orthonormal, otherwise the rows are.

    >>> w = pb.init.orthogonal((2, 3))
    >>> pb.testing.assert_close(w @ w.T, np.eye(2))
    """
    sizes = _shape(shape)
    if len(sizes) < 2:
        raise ValueError(f"pb.init.orthogonal makes weights with two axes or more, got the shape {sizes}")
    rows, columns = sizes[0], _math.prod(sizes[1:])
    drawn = normal((max(rows, columns), min(rows, columns)), rng=rng).numpy()
    q, r = _np.linalg.qr(drawn)
    q = q * _np.where(_np.diag(r) < 0, -1.0, 1.0)  # uniform over all orthogonal matrices only with this choice
    made: Tensor = _functions["tensor"](gain * (q if rows >= columns else q.T).reshape(sizes))
    return made if dtype is None else made.astype(dtype)
