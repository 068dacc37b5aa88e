"""`stencil`: a function of neighbouring elements, written for the whole array, on arrays in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.distributed._collectives import all_to_all, axis_of
from pullback.distributed._communicator import Alone
from pullback.distributed._errors import PlacementError
from pullback.distributed._halo_calls import halo_exchange
from pullback.distributed._placements import Partial, local_lengths, moves_between, shards
from pullback.distributed._tensors import from_local, mesh_of, placements, to_local
from pullback.tensors.tensor import Tensor


def stencil(
    f: Callable[..., Any], u: Tensor | Sequence[Tensor], width: Any, *, axis: Any = None, boundary: Any = "periodic",
    fill: complex = 0,
) -> Tensor:  # fmt: skip
    """A function of neighbouring elements on a distributed tensor, which stays in blocks.

    `f` gets this rank's block with `width` rows of the neighbours around it, along `axis` (all axes if it is None),
    and returns a block of the size that `u`'s has; it is the code for one process, written in slices. `u` may be
    several, placed alike: `f` gets a block of each then. `width` is an int or `(low, high)`, or one of them per
    axis. `boundary` is that of `halo_exchange`. With "open" nothing is added at the ends, so that the result is as
    much shorter there as that of the whole array.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> u = pb.distributed.distribute(np.arange(4.0), grid, [pb.distributed.Shard(0)])
    >>> pb.distributed.stencil(lambda w: w[2:] - w[:-2], u, 1).full_tensor()
    tensor([-2.,  2.,  2., -2.])
    """
    several = [u] if isinstance(u, Tensor) else list(u)
    u = several[0]
    mesh, placed = mesh_of(u), placements(u)
    if Partial() in placed or any(placements(x) != placed or x.shape != u.shape for x in several):
        raise PlacementError("stencil: arrays in blocks, all of one shape and placed alike; redistribute them first")
    given = range(u.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [axis_of(a, u.ndim, "stencil") for a in given]
    widths = list(width) if isinstance(width, (tuple, list)) and len(axes) > 1 else [width] * len(axes)
    blocks = [to_local(x, grad_placements=placed) for x in several]  # ranks that have the same compute the same
    cut = {}
    for number, (own, low_high) in enumerate(zip(axes, widths, strict=True)):
        low, high = (low_high, low_high) if isinstance(low_high, int) else low_high
        ends = boundary[number] if isinstance(boundary, list) else boundary
        names = [mesh.axis_names[k] for k in shards(placed, own)]
        group = mesh.group(names) if names else _ALONE
        options = {"comm": group, "boundary": ends, "fill": fill}
        blocks = [halo_exchange(block, (low, high), own, **options) for block in blocks]
        first, last = (ends, ends) if isinstance(ends, str) else ends
        cut[own] = (low if first == "open" else 0, high if last == "open" else 0)
    result = f(*blocks)
    lengths = tuple([n - sum(cut.get(d, (0, 0))) for d, n in enumerate(u.shape)])
    for own, (low, high) in cut.items():
        axes_of = shards(placed, own)
        if (low or high) and axes_of:
            sizes = moves_between(u.shape[own], low, lengths[own], axes_of, mesh)
            group = mesh.group([mesh.axis_names[k] for k in axes_of])
            me = group.rank
            if result.shape[own] != sum(sizes[me]):
                raise _wrong_size(result, own, sum(sizes[me]))
            result = all_to_all(result, own, own, sizes=sizes, comm=group)
    if tuple(result.shape) != local_lengths(lengths, placed, mesh):
        raise _wrong_size(result, None, local_lengths(lengths, placed, mesh))
    return from_local(result, mesh, placed, lengths)


def _wrong_size(result: Any, axis: int | None, expected: Any) -> PlacementError:
    where = "" if axis is None else f" along axis {axis}"
    return PlacementError(
        f"stencil: the function returned a block of shape {list(result.shape)}, and {expected} was expected{where}: "
        "every element of the block once, without the rows of the neighbours"
    )


_ALONE = Alone("one rank")
