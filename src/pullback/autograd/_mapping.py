"""A function of one example on a whole batch, for the parts of autograd that need no more than that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.autograd._bodies import running
from pullback.autograd._captures import Transform
from pullback.autograd._scope import without_room
from pullback.core.state import VmapLevel, current
from pullback.payloads.crossing import enter_level, leave_level
from pullback.tensors.tensor import Tensor


def map_over(function: Callable[..., Sequence[Tensor | None]], tensors: Sequence[Tensor]) -> list[Any]:
    """`function` of the rows of `tensors`, all at once; its results with the batch in front, None where it is None."""
    level = VmapLevel(tensors[0].shape[0])
    with running(Transform("vmap"), vmaps=(*current().vmaps, level)):
        results = function(*[enter_level(tensor, axis=0, level=level) for tensor in tensors])
        return [None if result is None else left(result, level) for result in results]


def left(result: Tensor, level: VmapLevel, axis: int = 0) -> Tensor:
    """A result with the batch as an ordinary axis; a plain array if this was the outermost map."""
    whole = leave_level(result, axis=axis, level=level)
    return whole if len(current().vmaps) > 1 else without_room(whole)
