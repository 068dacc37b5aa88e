"""The products of linear algebra textbooks: `cross`, `dot`, `inner`, `kron` ..., made of `matmul` and `einsum`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index, normalize_axis_tuple
from pullback.core.einsum import (
    join,
    unused_letters,
)  # fmt: skip
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import on_arrays
from pullback.operators.arrays.joining import pile
from pullback.operators.arrays.movement import diagonal, moveaxis
from pullback.operators.contraction import contraction, rank_of, sum_of_products
from pullback.operators.elementwise.complex_numbers import conjugated

# cross ----------------------------------------------------------------------------------------------------------------


@primitive(name="_cross", torch="cross", flow="crosses")
def vector_product(a, b):
    """The vector product over a last axis of length 3; the other axes broadcast."""
    return np.cross(a, b)


@vector_product.expand(in_rows=True)
def vector_product_parts(a, b):
    (a0, a1, a2), (b0, b1, b2) = ([x[..., k] for k in range(3)] for x in (a, b))
    parts = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return pile(*parts, axis=parts[0].ndim)


@vector_product.transpose_of("a")
def vector_product_transpose_a(g, a, b):
    return vector_product(conjugated(b), g)


@vector_product.transpose_of("b")
def vector_product_transpose_b(g, a, b):
    return vector_product(g, conjugated(a))


@vector_product.spec
def vector_product_spec(a: Spec, b: Spec) -> Spec:
    return spec_for(np.broadcast_shapes(a.shape, b.shape), np.result_type(a.dtype, b.dtype))


@vector_product.batch
def vector_product_batch(a, b):
    rank = max(a.ndim, b.ndim)
    return vector_product(*(x.reshape((*x.shape[:1], *(1,) * (rank - x.ndim), *x.shape[1:])) for x in (a, b)))


@vector_product.samples
def vector_product_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3,)), make((3,))), label="vectors")
    yield Sample((make((2, 1, 3)), make((4, 3))), label="broadcast")
    yield Sample((make((0, 3)), make((0, 3))), label="empty")
    yield Sample((make((2, 3), np.complex128), make((2, 3))), label="real-and-complex")
    yield Sample((make((2, 3), np.float32), make((2, 3), np.float32)), label="float32")


@composite(arrays=2)
def cross(
    a: Any, b: Any, /, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None, *,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The vector product of vectors of length 3.

    `axis` (or `dim`) says which axis of both operands and of the result holds the vectors; `axisa`, `axisb` and
    `axisc` say it one by one. The other axes broadcast.
    """
    if axis is not None and dim is not None:
        raise TypeError("cross: axis and dim are two spellings of one argument; keep one of them")
    axis = dim if axis is None else axis
    if axis is not None:
        axisa = axisb = axisc = axis
    for x, own in ((a, axisa), (b, axisb)):
        length = x.shape[normalize_axis_index(own, x.ndim)]
        if length != 3:
            raise ValueError(f"cross: vectors have length 3, and axis {own} of shape {list(x.shape)} has {length}")
    out = vector_product(_axis_to_the_end(a, axisa), _axis_to_the_end(b, axisb))
    axisc = normalize_axis_index(axisc, out.ndim)
    return out if axisc == out.ndim - 1 else moveaxis(out, -1, axisc)


def _axis_to_the_end(x: Any, axis: int) -> Any:
    return x if normalize_axis_index(axis, x.ndim) == x.ndim - 1 else moveaxis(x, axis, -1)


# Products made of these -----------------------------------------------------------------------------------------------


@composite(arrays=2)
def dot(a: Any, b: Any, /) -> Any:
    """NumPy's `dot`: the sum over the last axis of `a` and the second to last (or only) axis of `b`."""
    left, right = rank_of(a), rank_of(b)
    if left == 0 or right == 0:
        return a * b
    if right <= 2:
        return a @ b
    return tensordot(a, b, ((left - 1,), (right - 2,)))


@composite(arrays=2)
def inner(a: Any, b: Any, /) -> Any:
    """The sum over the last axes of `a` and `b`, without conjugation."""
    left, right = rank_of(a), rank_of(b)
    if left == 0 or right == 0:
        return a * b
    return a @ b if right == 1 else tensordot(a, b, ((left - 1,), (right - 1,)))


@composite(arrays=2, aliases=("ger",))
@on_arrays
def outer(a: Any, b: Any, /) -> Any:
    """All products of an element of `a` with an element of `b`, both flattened: a matrix."""
    return (a if rank_of(a) == 1 else _flat(a))[:, None] * (b if rank_of(b) == 1 else _flat(b))


@composite(arrays=2)
def vdot(a: Any, b: Any, /) -> Any:
    """The inner product of the flattened operands, with the first one conjugated."""
    return conjugated(_flat(a)) @ _flat(b)


@composite(arrays=2)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, dim: int | None = None) -> Any:
    """Inner products over one axis, with `x1` conjugated; the other axes broadcast."""
    x1, x2 = (_axis_to_the_end(x, axis if dim is None else dim) for x in (x1, x2))
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: the vectors have lengths {x1.shape[-1]} and {x2.shape[-1]}")
    return sum_of_products("...i,...i->...", conjugated(x1), x2)


@composite(arrays=2)
def tensordot(a: Any, b: Any, /, axes: Any = 2) -> Any:
    """The sum over several axes of two arrays.

    `axes` is a number `n` (the last `n` axes of `a` with the first `n` of `b`), or a pair of axes or sequences of axes.
    """
    left, right = _contracted_axes(axes, a.ndim, b.ndim)
    for one, other in zip(left, right, strict=True):
        if a.shape[one] != b.shape[other]:
            raise ValueError(
                f"tensordot: axis {one} of {list(a.shape)} and axis {other} of {list(b.shape)} differ in length"
            )
    if a.ndim and b.ndim <= 2 and left == (a.ndim - 1,) and right == (0,):
        return a @ b
    letters = unused_letters("")
    terms = [list(letters[: a.ndim]), list(letters[a.ndim : a.ndim + b.ndim])]
    for one, other in zip(left, right, strict=True):
        terms[1][other] = terms[0][one]
    output = "".join(label for label in terms[0] + terms[1] if (label in terms[0]) != (label in terms[1]))
    return contraction(a, b, subscripts=join(map("".join, terms), output), optimize=True)


def _contracted_axes(axes: Any, left: int, right: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(left, right):
            raise ValueError(f"tensordot: {axes} axes cannot be summed of operands with {left} and {right} axes")
        return tuple(range(left - int(axes), left)), tuple(range(int(axes)))
    of_left, of_right = axes
    pair = normalize_axis_tuple(of_left, left), normalize_axis_tuple(of_right, right)
    if len(pair[0]) != len(pair[1]):
        raise ValueError(f"tensordot: {len(pair[0])} axes of one operand and {len(pair[1])} of the other")
    return pair


@composite(arrays=2)
def kron(a: Any, b: Any, /) -> Any:
    """The Kronecker product: `b` scaled by every element of `a`, laid out as blocks."""
    left, right = rank_of(a), rank_of(b)
    if left == 0 or right == 0:
        return a * b
    rank = max(left, right)
    rows, columns = (1,) * (rank - left) + a.shape, (1,) * (rank - right) + b.shape
    spread_a = a.reshape(tuple(n for length in rows for n in (length, 1)))
    spread_b = b.reshape(tuple(n for length in columns for n in (1, length)))
    return (spread_a * spread_b).reshape(tuple(n * m for n, m in zip(rows, columns, strict=True)))


@composite
def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal, `offset` places above the main one, of the matrices in the axes `axis1` and `axis2`."""
    entries = diagonal(x, offset=offset, axis1=axis1, axis2=axis2)
    return (entries if dtype is None else entries.astype(dtype)).sum(axis=-1)


def _flat(x: Any) -> Any:
    return np.asarray(x).reshape(-1) if rank_of(x) == 0 and not hasattr(x, "reshape") else x.reshape((x.size,))
