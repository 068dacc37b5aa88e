"""The operators behind masks: where they are true, and values put there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.elementwise.comparison import where


@primitive(name="_nonzero", any_number_of_outputs=True, dynamic=1, counted="_first_nonzero")
def positions(x):
    """The positions of the elements that are not 0, one array per axis."""
    return x.nonzero()


positions.not_differentiable("returns positions")


@positions.samples
def positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.booleans((3, 4)),), {}, "mask")
    yield Sample((make((3, 4)),), {}, "numbers")
    yield Sample((make((3,), np.complex128),), {}, "complex")
    yield Sample((make((0, 2)),), {}, "empty")


@primitive(name="_first_nonzero", any_number_of_outputs=True)
def first_positions(x, *, count):
    """The positions of the first `count` elements that are not 0, one array per axis; if there are less, that of the
    first element follows. For graphs, in which lengths are known: whoever records it sees to it that it is right."""
    found = x.nonzero()
    if len(found[0]) == count:
        return found
    kept = min(count, len(found[0]))
    return tuple([np.append(part[:kept], np.zeros(count - kept, np.int64)) for part in found])


first_positions.not_differentiable("returns positions")


@first_positions.spec
def first_positions_spec(x, *, count):
    return tuple([spec_for((count,), np.dtype(np.int64))] * len(x.shape))


@first_positions.samples
def first_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.booleans((3, 4)),), {"count": 2}, "mask")
    yield Sample((make((3, 4)),), {"count": 5}, "numbers")
    yield Sample((np.array([0.0, 1.0, 2.0]),), {"count": 3}, "less")
    yield Sample((make((3,), np.complex128),), {"count": 3}, "complex")
    yield Sample((make((0, 2)),), {"count": 0}, "empty")


# Truth arrays that need not be searched.


@primitive(flow="elementwise", complex="each", group="linear")
def masked_fill(x, mask, value):
    """`x` with `value` where `mask` is True; the two broadcast against each other."""
    out = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    np.copyto(out, value, where=mask, casting="unsafe")
    return out


@masked_fill.expand(of="mixed", takes_numbers=True)
def masked_fill_parts(x, mask, value):
    return where(mask, value, x)


@masked_fill.inplace
def masked_fill_inplace(x: Any, mask: Any, value: Any) -> None:
    np.copyto(x, value, where=mask, casting="unsafe")


@masked_fill.door
def masked_fill_door(x: Any, mask: Any, value: Any) -> Any:
    mask = mask if hasattr(mask, "ndim") else np.asarray(mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"masked_fill: the mask must hold truth values, not {mask.dtype}")
    return (x, mask, value), {}


@masked_fill.spec
def masked_fill_spec(x, mask, value):
    return spec_for(np.broadcast_shapes(x.shape, mask.shape), x.dtype)


@masked_fill.vjp_of("x")
def masked_fill_vjp_x(g, mask):
    return where(mask, 0, g)


@masked_fill.vjp_of("value")
def masked_fill_vjp_value(g, mask):
    return where(mask, g, 0)


@masked_fill.jvp
def masked_fill_jvp(x, mask, t_x, t_value):
    t_value = 0 if t_value is None else t_value
    if hasattr(t_value, "dtype") and is_complex_dtype(t_value.dtype) and not is_complex_dtype(x.dtype):
        t_value = t_value.real
    return masked_fill(np.zeros(x.shape, x.dtype) if t_x is None else t_x, mask, t_value)


def _with_rank(part: Any, rank: int) -> Any:
    """A batched operand with `rank` axes: those that it lacks come after the batch."""
    return part.reshape(part.shape[:1] + (1,) * (rank - part.ndim) + part.shape[1:]) if hasattr(part, "ndim") else part


@masked_fill.batch
def masked_fill_batch(x, mask, value):
    rank = max(x.ndim, mask.ndim)
    return masked_fill(_with_rank(x, rank), _with_rank(mask, rank), _with_rank(value, rank))


@masked_fill.samples
def masked_fill_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)), make.booleans((3, 4)), make(())), label="matrix")
    yield Sample((make((3, 4)), make.booleans((3, 1)), 1.5), label="number")
    yield Sample((make((2, 3)), make.booleans((3,)), make((3,))), label="broadcast")
    yield Sample((make((3,)), make.booleans((2, 1)), make(())), label="wider mask")
    yield Sample((make((2,), np.complex128), make.booleans((2,)), make(())), label="complex")
    yield Sample((make((0, 2)), make.booleans((2,)), 0.0), label="empty")
