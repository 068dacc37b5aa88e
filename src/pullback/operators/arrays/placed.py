"""Members of tensors that lie on several processes. What they do is said by the payload, whose class lies above."""

from __future__ import annotations

from typing import Any

from pullback.tensors.tensor import Tensor


def _member(x: Tensor, name: str) -> Any:
    found = getattr(type(x._data), "tensor_members", {}).get(name)
    if found is None:
        raise AttributeError(f"this tensor has no {name}: only distributed ones have, which pb.distributed makes")
    return found


def placements(self: Tensor) -> tuple[Any, ...]:
    """How a distributed tensor is placed: one placement for each axis of its mesh."""
    found: tuple[Any, ...] = _member(self, "placements")(self)
    return found


def mesh(self: Tensor) -> Any:
    """The mesh of ranks that a distributed tensor lies on."""
    return _member(self, "mesh")(self)


def local_shape(self: Tensor) -> tuple[int, ...]:
    """The shape of this rank's part of a distributed tensor."""
    found: tuple[int, ...] = _member(self, "local_shape")(self)
    return found


def redistribute(self: Tensor, placements: object) -> Tensor:
    """A distributed tensor placed in another way: differentiable."""
    found: Tensor = _member(self, "redistribute")(self, placements)
    return found


def to_local(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """This rank's part of a distributed tensor, as a plain tensor: differentiable."""
    found: Tensor = _member(self, "to_local")(self, grad_placements=grad_placements)
    return found


def full_tensor(self: Tensor) -> Tensor:
    """The whole of a distributed tensor as a plain tensor, on every rank: a collective, differentiable."""
    found: Tensor = _member(self, "full_tensor")(self)
    return found


members: dict[str, Any] = {
    "full_tensor": full_tensor, "local_shape": property(local_shape), "mesh": property(mesh),
    "placements": property(placements), "redistribute": redistribute, "to_local": to_local,
}  # fmt: skip
"""Members of `Tensor`."""
