"""`Mesh`: ranks on a grid, with a communicator along every axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.distributed._communicator import Communicator
from pullback.distributed._start import world


class Mesh:
    """A grid of ranks in row-major order. `mesh["x"]` is the communicator of the ranks along that axis."""

    is_literal_argument = True  # of compiled functions, which are made for this one

    def __init__(
        self, shape: tuple[int, ...], axis_names: tuple[str, ...], ranks: Any, coords: tuple[int, ...],
        groups: dict[tuple[str, ...], Communicator],
    ) -> None:  # fmt: skip
        self.shape = shape
        self.axis_names = axis_names
        self.ranks = ranks
        self.coords = coords
        self._groups = groups

    def group(self, axis: str | Sequence[str] | None = None) -> Communicator:
        """The communicator along an axis, of the product of several (row-major), or of all."""
        names = self.axis_names if axis is None else (axis,) if isinstance(axis, str) else tuple(axis)
        found = self._groups.get(names)
        if found is None:
            raise ValueError(f"the mesh has no axis {axis!r}: its axes are {self.axis_names}, several in that order")
        return found

    def __getitem__(self, axis: str) -> Communicator:
        return self.group(axis)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    def submesh(self, names: str | Sequence[str]) -> Mesh:
        """The mesh of these axes that this rank is in."""
        kept = (names,) if isinstance(names, str) else tuple(names)
        self.group(kept)
        index = tuple(slice(None) if n in kept else c for n, c in zip(self.axis_names, self.coords, strict=True))
        at = [self.axis_names.index(name) for name in kept]
        groups = {key: comm for key, comm in self._groups.items() if set(key) <= set(kept)}
        return Mesh(
            tuple(self.shape[a] for a in at), kept, self.ranks[index], tuple(self.coords[a] for a in at), groups
        )

    def neighbour(self, axis: str, step: int, *, periodic: bool = True) -> int | None:
        """The rank (in the communicator along `axis`) so many steps away; None beyond an open end."""
        comm = self.group(axis)
        place = comm.rank + step
        if not periodic and not 0 <= place < comm.size:
            return None
        return place % comm.size

    def _identity(self) -> tuple[Any, ...]:
        return self.shape, self.axis_names, tuple(self.ranks.ravel().tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={n}" for name, n in zip(self.axis_names, self.shape, strict=True))
        return f"<Mesh {axes}, here {self.coords}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} belongs to this process, and cannot be pickled or copied")

    def __copy__(self) -> Mesh:
        return self

    def __deepcopy__(self, memo: Any) -> Mesh:
        return self


def mesh(
    shape: int | Sequence[int], axis_names: str | Sequence[str], *, comm: Communicator | None = None,
    reorder: bool = False,
) -> Mesh:  # fmt: skip
    """Ranks on a grid. One length may be -1. All ranks call it; `reorder` lets the machine choose places, which this
    one does not use.

    >>> grid = pb.distributed.mesh((1, 1), ("x", "y"))
    >>> grid["x"].size, grid.coords
    (1, (0, 0))
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    comm = world() if comm is None else comm
    if len(lengths) != len(names) or len(set(names)) != len(names) or not names:
        raise ValueError(f"mesh: {len(lengths)} lengths {lengths} and the names {names}: one different name each")
    if lengths.count(-1) > 1 or any(n < 1 for n in lengths if n != -1):
        raise ValueError(f"mesh: lengths are positive, and one of them may be -1, got {lengths}")
    if -1 in lengths:
        known = math.prod(n for n in lengths if n != -1)
        lengths = tuple(comm.size // known if n == -1 else n for n in lengths)
    if math.prod(lengths) != comm.size:
        raise ValueError(f"mesh: {lengths} are {math.prod(lengths)} places, and there are {comm.size} ranks")
    ranks = np.arange(comm.size).reshape(lengths)
    coords = tuple(int(c) for c in np.unravel_index(comm.rank, lengths))
    groups = {names: comm}
    # All products now, since a group cannot be made later inside of a trace.
    for count in range(1, len(names)):
        for kept in itertools.combinations(range(len(names)), count):
            fixed = [coords[a] for a in range(len(names)) if a not in kept]
            others = [lengths[a] for a in range(len(names)) if a not in kept]
            color = int(np.ravel_multi_index(fixed, others))
            chosen = tuple(names[a] for a in kept)
            groups[chosen] = comm.split(color)
            groups[chosen].name = f"{comm.name}[{', '.join(chosen)}]"
    return Mesh(lengths, names, ranks, coords, groups)


def group_of(comm: Any, mesh: Any, axis: Any) -> Communicator:
    """The communicator that a call means: given itself, or by a mesh and axes of it; else the world."""
    if isinstance(comm, Mesh):
        comm, mesh = None, comm
    if comm is not None and mesh is not None:
        raise ValueError("a communicator and a mesh were given; one of them says who takes part")
    if mesh is not None:
        found: Communicator = mesh.group(axis)
        return found
    if axis is not None:
        raise ValueError(f"an axis {axis!r} of a mesh was given, and no mesh")
    if comm is None:
        return world()
    if not isinstance(comm, Communicator):
        raise TypeError(f"comm is a Communicator or a Mesh, got {type(comm).__name__}; pb.distributed.init(comm) wraps "
                        "one of mpi4py")  # fmt: skip
    return comm
