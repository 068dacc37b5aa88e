"""Where adapted code reads and writes: globals, variables of closures, lists and dicts, each with its copy.

The copy holds what adapted code should see. What it assigned there is stored in the user's own place when a call ends;
a place that was only read is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import CellType
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.eager.build import COPIED, may_be_written
from pullback.errors import AutogradError, DetachedWarning
from pullback.func._adapt.arrays import has_history, inside
from pullback.func._adapt.stand_ins import Proxy
from pullback.operators.arrays.creation import finished
from pullback.payloads.batched import plain_array
from pullback.tensors.overwrites import get_policy, make_way
from pullback.tensors.tensor import Tensor, from_outside, version_of

See = Callable[[Any], Any]

PLAIN = (int, float, complex, str, bytes, bool, type(None), Proxy)
"""Types of values that look the same to everybody."""
MISSING: Any = object()


class Cell:
    """A variable of a closure: the user's own, and the one that rewritten functions have.

    They are one for numbers and text, which look the same to everybody, so that a counter counts for all.
    """

    def __init__(self, original: CellType, see: See) -> None:
        self.original = original
        self._see = see
        self._before: Any = MISSING
        try:
            self.copy = original if isinstance(original.cell_contents, PLAIN) else CellType()
        except ValueError:
            self.copy = original  # not assigned yet

    def fill(self) -> None:
        """Put what is seen of the variable into the copy: after the function that has it is known, which may be it."""
        if self._before is MISSING and self.copy is not self.original:
            self._before = self.original.cell_contents  # not filled twice on the way through a circle
            self._before = self.copy.cell_contents = self._see(self._before)

    def store_assigned(self, back: See) -> None:
        """Give the user's variable what `nonlocal` statements assigned in the copy."""
        try:
            value = self.copy.cell_contents
        except ValueError:
            return  # never filled, because seeing what it should hold failed
        if value is self._before:
            return
        stored = back(value)
        if self.copy is not self.original or stored is not value:
            self.original.cell_contents = stored


class Container:
    """A list or dict: the user's own, and the one that rewritten functions have because its items look different."""

    def __init__(self, original: Any, see: See) -> None:
        self.original = original
        self.copy: Any = type(original)()
        self._see = see
        self._items: dict[int, Any] = {}
        self._before: list[tuple[Any, Any]] = []

    def fill(self) -> bool:
        """Put what is seen of the items into the copy; False if that makes no difference."""
        for key, item in list(_items_of(self.original)):
            seen = self._see(item)
            if seen is not item:
                self._items[id(seen)] = item
            if isinstance(self.copy, dict):
                self.copy[key] = seen
            else:
                self.copy.append(seen)
        self._before = list(_items_of(self.copy))
        return bool(self._items)

    def store_assigned(self, back: See) -> None:
        """Give the user's container what was put into the copy."""
        now = list(_items_of(self.copy))
        # Compared with what was put there and not with the original, which other threads may have written.
        if len(now) == len(self._before) and all(
            key == old_key and item is old for (key, item), (old_key, old) in zip(now, self._before, strict=True)
        ):
            return
        after = {key: self._items[id(item)] if id(item) in self._items else back(item) for key, item in now}
        self.original.clear()
        if isinstance(self.original, dict):
            self.original.update(after)
        else:
            self.original.extend(after.values())


def _items_of(container: Any) -> Any:
    return container.items() if isinstance(container, dict) else enumerate(container)


# Arrays of the user's that adapted code meets: arguments, globals, attributes.
#
# They are seen as tensors on the same memory. Values with a gradient may be written to them, and the gradient flows on
# within the call; what the user has afterwards is the numbers, of which a warning tells. Inside of function transforms
# the tensor is a copy, because memory from outside must not hold what is only meaningful inside, and the numbers are
# written back when the call ends.

NumpyArray = np.ndarray[Any, Any]


class DetachedArrayWarning(DetachedWarning):
    """An adapted function wrote values with a gradient to a NumPy array of its caller, which has only the numbers."""


class Lent:
    """One array, the tensor that adapted code has for it, and whether that is a copy."""

    def __init__(self, array: NumpyArray) -> None:
        self.array = array
        self.is_copy = bool(current().transforms)
        self.tensor = finished(array.copy()) if self.is_copy else from_outside(finished(array))
        self._version = version_of(self.tensor)

    @property
    def is_written(self) -> bool:
        """Has somebody written to the tensor?"""
        return version_of(self.tensor) != self._version

    @property
    def is_to_be_copied(self) -> bool:
        """Is what a graph has kept of it copied because NumPy may write to it later, of which nobody tells?"""
        is_small = not self.is_copy and self.array.size <= COPIED
        return is_small and may_be_written(self.array) and get_policy().policy == "preserve"


class LentArrays:
    """The arrays that were lent to one call."""

    def __init__(self) -> None:
        self._lent: list[Lent] = []

    def borrow(self, array: NumpyArray) -> Any:
        """What adapted code sees in place of `array`."""
        if type(array) is not np.ndarray or array.dtype.kind not in "fc":
            return inside(array)
        self._lent.append(Lent(array))
        return self._lent[-1].tensor

    def is_borrowed(self, tensor: Tensor) -> bool:
        """Is this the tensor that stands for an array of the user's?"""
        return any(lent.tensor is tensor for lent in self._lent)

    def give_back(self) -> None:
        """Let the user have the numbers. What a graph has kept of the memory is copied before others write to it."""
        for lent in self._lent:
            numbers = plain_array(lent.tensor._data) if lent.is_written else None
            if lent.is_copy and numbers is not None:
                np.copyto(lent.array, numbers)
            elif lent.is_written or lent.is_to_be_copied:
                make_way(lent.tensor)

    def check(self, given: dict[Any, Any], returned: Collection[int]) -> None:
        """Say where a gradient ended because an array cannot keep it, or was lost because two share their memory.

        `given` are the arguments of the call by position and name, and `returned` the identities of returned tensors.
        """
        for lent in self._written():
            attached = has_history(lent.tensor)
            what = f"{_name(lent.array, given)} {describe(lent.array.shape, lent.array.dtype)}"
            if (attached or lent.is_copy) and self._has_twin(lent.array):
                raise AutogradError(
                    "ADAPT_OVERLAP",
                    f"an adapted function wrote to {what} and knows its memory as another array too",
                    why="the other array does not have what was written, or not its gradient, so the result is wrong",
                    fix="hand over one of the two arrays, and take the part of it (`a[1:]`) inside of the function",
                )
            if plain_array(lent.tensor._data) is None:
                problem = "Every example of vmap has values of its own, so the array was left as it was"
            elif attached and id(lent.tensor) not in returned:
                problem = "Within the call the gradient was kept; the array has the numbers alone"
            else:
                continue
            warn(
                f"an adapted function wrote to {what}. {problem}. To go on with the values, return the array from the "
                "function or hand over a tensor in its place",
                DetachedArrayWarning,
            )

    def _written(self) -> Iterator[Lent]:
        return (lent for lent in self._lent if lent.is_written)

    def _has_twin(self, array: NumpyArray) -> bool:
        return any(other.array is not array and _share_memory(array, other.array) for other in self._lent)


def _name(array: NumpyArray, given: dict[Any, Any]) -> str:
    name = next((name for name, value in given.items() if value is array), None)
    if name is None:
        return "an array from outside,"
    return f"its argument `{name}`," if isinstance(name, str) else f"its argument number {name + 1},"


def _share_memory(x: NumpyArray, y: NumpyArray) -> bool:
    try:
        return np.shares_memory(x, y, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
