"""Halo exchange as users call it: at once, in two halves, or into room that is there already."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core.records import replace
from pullback.core.state import current, open_levels
from pullback.distributed._collectives import axis_of, operand, written
from pullback.distributed._halo import ENDS, HaloExchange, HaloWait
from pullback.distributed._mesh import group_of
from pullback.distributed._operators import apply, call
from pullback.distributed._sums import Begun
from pullback.tensors.tensor import Tensor


def halo_exchange(
    x: Any, width: Any, axis: Any = 0, *, mesh: Any = None, mesh_axis: Any = None, boundary: Any = "periodic",
    fill: complex = 0, comm: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """`x` with rows of the neighbours around it, along one or several axes.

    `width` is an int or `(low, high)`, or one of them per axis if `axis` and `mesh_axis` are tuples. At the ends of
    the mesh, `boundary` wraps around ("periodic"), adds nothing ("open"), adds `fill` ("constant") or repeats the end
    ("edge"); a pair gives the two ends their own.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.halo_exchange(pb.tensor([1.0, 2.0, 3.0]), 1, mesh=grid)
    tensor([3., 1., 2., 3., 1.])
    """
    tensor = operand(x, "halo_exchange", booleans=True)
    for move in _halo_moves(tensor.ndim, width, axis, mesh, mesh_axis, boundary, fill, comm):
        tensor = call(move, tensor, requires_grad)
    return tensor


class Halo(NamedTuple):
    """A halo exchange that was started with `halo_start`."""

    x: Tensor
    moves: list[Any]


def halo_start(
    x: Any, width: Any, axis: Any = 0, *, mesh: Any = None, mesh_axis: Any = None, boundary: Any = "periodic",
    fill: complex = 0, comm: Any = None,
) -> Halo:  # fmt: skip
    """Send rows to the neighbours and come back at once; `halo_wait` returns what `halo_exchange` does.

    Meanwhile the inside of the block can be computed. Of several axes the first is started. Inside of transforms and
    compiled functions everything happens in `halo_wait`.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> begun = pb.distributed.halo_start(pb.tensor([1.0, 2.0]), 1, mesh=grid)
    >>> pb.distributed.halo_wait(begun)
    tensor([2., 1., 2., 1.])
    """
    tensor = operand(x, "halo_exchange", booleans=True)
    moves = _halo_moves(tensor.ndim, width, axis, mesh, mesh_axis, boundary, fill, comm)
    data = tensor._data
    modes = current()
    is_plain = type(data) is np.ndarray and modes.trace is None and not open_levels and not modes.transforms
    if moves and is_plain and all(each.refusal(tuple(tensor.shape)) is None for each in moves[:1]):
        first = moves[0]
        text = first.describe(tensor.shape, tensor.dtype)
        begun = Begun(first.comm, f"{text}, started", "", *first.messages(np.ascontiguousarray(data)))
        options = {name: getattr(first, name) for name in first.fields}
        moves[0] = HaloWait(**options, begun=begun)
    return Halo(tensor, moves)


def halo_wait(begun: Halo) -> Any:
    """The block with rows of the neighbours around it, of an exchange that was started."""
    tensor: Any = begun.x
    for move in begun.moves:
        tensor = _waited(move, tensor) if isinstance(move, HaloWait) else call(move, tensor)
    return tensor


def _waited(move: HaloWait, tensor: Tensor) -> Any:
    records = current().grad and tensor._spec.is_differentiable and bool(tensor.requires_grad)
    return apply(replace(move, records=records), tensor)


def _halo_moves(
    ndim: int, width: Any, axis: Any, mesh: Any, mesh_axis: Any, boundary: Any, fill: complex, comm: Any
) -> list[Any]:
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    several = isinstance(axis, (tuple, list))
    names = list(mesh_axis) if isinstance(mesh_axis, (tuple, list)) else [mesh_axis] * len(axes)
    widths = list(width) if several and isinstance(width, (tuple, list)) else [width] * len(axes)
    if len(axes) != len(names) or len(axes) != len(widths):
        raise ValueError(f"halo_exchange: {len(axes)} axes, {len(names)} axes of the mesh and {len(widths)} widths")
    low_end, high_end = (boundary, boundary) if isinstance(boundary, str) else boundary
    for end in (low_end, high_end):
        if end not in ENDS:
            raise ValueError(f"halo_exchange: a boundary is one of {ENDS}, got {end!r}")
    if (low_end == "periodic") != (high_end == "periodic"):
        raise ValueError("halo_exchange: if one end wraps around, the other one does")
    made: list[Any] = []
    for each, name, rows in zip(axes, names, widths, strict=True):
        low, high = (rows, rows) if isinstance(rows, int) else (int(n) for n in rows)
        if low < 0 or high < 0:
            raise ValueError(f"halo_exchange: a width is at least 0, got {rows}")
        group = group_of(comm, mesh, name)
        if low or high:
            at = axis_of(each, ndim, "halo_exchange")
            made.append(HaloExchange(group, axis=at, low=low, high=high, ends=(low_end, high_end), fill=complex(fill)))
    return made


def halo_fill_(
    x: Tensor, width: Any, axis: Any = 0, *, mesh: Any = None, mesh_axis: Any = None, boundary: Any = "periodic",
    fill: complex = 0, comm: Any = None,
) -> Tensor:  # fmt: skip
    """Write the rows of the neighbours to the outer rows of `x`, which has room for them."""

    def filled() -> Any:
        moves = _halo_moves(x.ndim, width, axis, mesh, mesh_axis, boundary, fill, comm)
        inner: Any = x
        for move in moves:
            low, high = move.added
            at = move.axis
            inner = inner[(*(slice(None),) * at, slice(low, inner.shape[at] - high))]
        for move in moves:
            inner = call(move, inner)
        return inner

    return written(x, filled, "halo_fill_")
