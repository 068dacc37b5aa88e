"""`x[i]` inside vmap with an integer of its own for every example.

For one example that is a view of `x`. For many it is a copy, which behaves like the view as far as it can: what is
written to it is written to `x`, and after another write to `x` it is not read any more.
"""

from __future__ import annotations

from typing import Any

from pullback.core.spec import describe
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.tensors.tensor import Tensor, version_of


class Picked:
    """Where the examples of a tensor were picked. It is shared by all views of that tensor."""

    __slots__ = ("arrays", "source", "template", "version")

    def __init__(self, source: Tensor, arrays: tuple[Any, ...], template: tuple[Any, ...]) -> None:
        self.source = source
        self.arrays = arrays
        self.template = template
        self.version = version_of(source)

    def check(self) -> None:
        """Raise if the tensor has been written since."""
        if version_of(self.source) != self.version:
            raise AutogradError(
                "VMAP_PICKED",
                f"x[i], with an integer i of its own for every example of a vmap, is used after x, "
                f"{describe(self.source.shape, self.source.dtype)}, was modified inplace",
                why="for one example x[i] is a view of x, and shows what was written; for many it is a copy",
                fix="take x[i] again, or take x[i].clone() for the value before",
            )

    def write_through(self, part: Tensor, write: Any) -> None:
        """Write to the tensor what was written to the part that was picked."""
        params = {"template": self.template, "accumulate": False, "distinct": False}
        self.version = version_of(self.source)
        write(registry["_index_put"], self.source, (part, *self.arrays), params)
        self.version = version_of(self.source)
