"""Elements that an index without a known value picks: eager code sees them in place, and a trace has a copy.

`v = x[i]` is a view for an integer `i`. In a trace `i` may be computed, and a graph has no view whose place is, so `v`
is a copy, which is as good until one of the two is written. If that is `x`, `v` cannot be read any more. If it is `v`,
then `x` cannot be read before it is given the same values at the same place, as `x[i] += 1` does.
"""

from __future__ import annotations

from typing import Any

from pullback.errors import FunctionalizationError
from pullback.payloads.traced.recorder import user_location


class Pick:
    """What a storage is a copy of: `source` is a traced array, and `index` the integers, traced as well."""

    __slots__ = ("generation", "index", "source", "steps")

    def __init__(self, source: Any, index: tuple[Any, ...]) -> None:
        self.source = source.storage
        self.steps = source.steps
        self.index = _values(index)
        self.generation = source.storage.generation

    def check(self) -> None:
        """Raise if the source has been written, and may hold something else at this place."""
        if self.source.generation != self.generation:
            raise picked_error("is read after the array that it belongs to was written")

    def is_place(self, target: Any, index: tuple[Any, ...]) -> bool:
        """Is this a copy of that place of `target`, as it is now?"""
        return (
            self.source is target.storage and self.steps == target.steps
            and self.generation == target.storage.generation
            and self.index == _values(index)
        )  # fmt: skip


def _values(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells values of traced arrays apart, without reading them."""
    return tuple([(each.storage, each.storage.generation, each.steps) for each in arrays])


def picked_error(what: str) -> FunctionalizationError:
    """The error for an element whose copy is not what eager code would see."""
    return FunctionalizationError(
        f"an element picked by an index that is computed {what}",
        location=user_location(),
        why="`x[i]` is a view of `x`, and a graph has no view whose place is computed: it has a copy",
        fix="write `x[i] = ...` or `x[i] += ...` where `x` is to change, and `x[i].clone()` where it is not",
    )
