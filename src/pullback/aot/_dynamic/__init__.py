"""Which lengths of arguments vary, and finding or making the template of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.aot import _later
from pullback.aot._entry import Fit
from pullback.aot._trace.records import Capture, Options
from pullback.tensors.tensor import Tensor

if TYPE_CHECKING:
    from pullback.aot._dynamic.capture import DynamicCapture

Axis = tuple[int, int]  # a leaf slot and one of its axes


def mark_dynamic(x: Tensor, dim: int = 0, min: int = 2, max: int | None = None) -> Tensor:
    """Say that the length of this axis varies from call to call. Returns the tensor.

    Functions that are compiled for such an argument are captured once for all lengths, where that is possible. Lengths
    0 and 1 are always captured on their own.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"mark_dynamic: expected a Tensor, got {type(x).__name__}")
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"mark_dynamic: a tensor of shape {list(x.shape)} has no axis {dim}")
    marked: dict[int, tuple[int, int | None]] = x.__dict__.setdefault("_varying", {})
    marked[dim % x.ndim] = (min, max)
    return x


def varying_axes(leaves: list[Any], all_leading: bool, known: frozenset[Axis]) -> tuple[Axis, ...]:
    """The axes of a call's arguments whose lengths vary: marked ones, known ones, or every first one."""
    found: list[Axis] = []
    for slot, leaf in enumerate(leaves):
        array = leaf._data if isinstance(leaf, Tensor) else leaf
        if not isinstance(array, np.ndarray) or not array.ndim or not array.flags.c_contiguous:
            continue
        axes = set(leaf.__dict__.get("_varying", ())) if isinstance(leaf, Tensor) else set()
        axes |= {axis for where, axis in known if where == slot}
        if all_leading:
            axes.add(0)
        found += [(slot, axis) for axis in sorted(axes) if array.shape[axis] >= 2]
    return tuple(found)


class Fixed(Exception):
    """For other lengths of these axes the function is another program, or none at all."""

    def __init__(self, axes: tuple[Axis, ...], why: str) -> None:
        super().__init__(why)
        self.axes = axes


class NotDynamic(Exception):
    """Captures for different sizes are different programs. The text says where they differ."""


class DynamicTable:
    """The templates of one compiled function."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.captures: list[DynamicCapture] = []
        self.notes: list[str] = []
        self._seen: dict[Axis, set[int]] = {}  # the lengths that calls which had to be captured came with

    def found(self, leaves: list[Any], structure: Any) -> Capture | None:
        """The capture for a call that differs in sizes from one that was captured for all of them."""
        for dynamic in self.captures:
            captured = dynamic.at(leaves, structure)
            if captured is not None and Fit(captured).misfit(leaves) is None:
                return captured
        return None

    def capture(self, leaves: list[Any], structure: Any) -> Capture | None:
        """A capture for all sizes, as far as sizes of this call vary; None if they do not, or if it must be for one."""
        axes = varying_axes(leaves, self.options.dynamic, self._varying(leaves))
        while axes:
            try:
                dynamic = _later.DynamicCapture(self.function, leaves, structure, self.options, axes)
                captured: Capture = dynamic.template.at(dynamic.sizes)
            except Fixed as fixed:
                self.notes += [f"args[{slot}].shape[{axis}] does not vary: {fixed}" for slot, axis in fixed.axes]
                axes = tuple(axis for axis in axes if axis not in fixed.axes)
                continue
            except NotDynamic as reason:
                self.notes.append(f"captured for one size only: {reason}")
                return None
            self.captures.append(dynamic)
            return captured
        return None

    def _varying(self, leaves: list[Any]) -> frozenset[Axis]:
        """The axes that have had two other lengths in calls before this one."""
        found = set()
        for slot, leaf in enumerate(leaves):
            for axis, length in enumerate(getattr(leaf, "shape", ())):
                seen = self._seen.setdefault((slot, axis), set())
                if len(seen - {length}) >= 2:
                    found.add((slot, axis))
                seen.add(length)
        return frozenset(found)
