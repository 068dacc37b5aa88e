"""Where the rows of a ragged array begin and end, and what stands in its shape for a length that is no number.

Two ragged arrays fit each other if they share the `Offsets` record, not if their lengths happen to be equal: to compare
them would cost every operator a pass over the rows. The same array of offsets gives the same record, results inherit
that of their operands, and records of parts are kept with the whole, so `x[1:3] + y[1:3]` works where `x + y` does.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from pullback.errors import AutogradError
from pullback.payloads.evaluate import is_traced

_numbers = itertools.count()
_known: dict[int, tuple[Any, Any]] = {}
"""By the identity of an array of offsets: weak references to it and to its record."""


class Offsets:
    """Row `i` is `array[i]` to `array[i + 1]`. `array` is read-only, or stands for offsets of a trace."""

    __slots__ = ("__weakref__", "_lengths", "_rows", "array", "count", "derived", "number", "specs", "total")

    def __init__(self, array: Any, total: int) -> None:
        self.array = array
        self.count: int = array.shape[0] - 1
        self.total = total
        self.number = next(_numbers)
        self.derived: dict[Any, Any] = {}  # records of parts, by what was taken, and arrays that are made of it
        self.specs: dict[Any, Any] = {}  # see `core/spec.py`
        self._lengths: Any = None
        self._rows: Any = None

    @classmethod
    def of(cls, given: Any, total: int) -> Offsets:
        """The record of an array of offsets into `total` elements; `!RAGGED_OFFSETS` if they make no rows."""
        if is_traced(given):
            return given.derived_offsets(cls, total) if hasattr(given, "derived_offsets") else cls(given, total)
        given = np.asarray(given)
        found = _known.get(id(given))
        if found is not None and found[0]() is given:
            record = found[1]()
            # The array belongs to the user, who may have changed it since.
            if record is not None and record.total == total and np.array_equal(record.array, given):
                return record
        check_offsets(given, total)
        array = np.array(given, np.int64)
        array.flags.writeable = False
        record = cls(array, total)
        for key in (array, given):
            _remember(key, record)
        return record

    @classmethod
    def from_lengths(cls, lengths: Any) -> Offsets:
        """A new record of rows of these lengths."""
        array = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=array[1:])
        array.flags.writeable = False
        record = cls(array, int(array[-1]))
        _remember(array, record)
        return record

    @property
    def is_known(self) -> bool:
        """Are the offsets numbers? In a trace they are not."""
        return type(self.array) is np.ndarray

    @property
    def lengths(self) -> Any:
        """The lengths of the rows."""
        if self._lengths is None:
            self._lengths = self.array[1:] - self.array[:-1]
            if self.is_known:
                self._lengths.flags.writeable = False
        return self._lengths

    @property
    def rows(self) -> Any:
        """For every element the number of its row."""
        if self._rows is None:
            self._rows = np.repeat(np.arange(self.count), self.known("row numbers").lengths)
            self._rows.flags.writeable = False
        return self._rows

    @property
    def min(self) -> int:
        """The length of the shortest row, 0 if there are none."""
        return int(self.known("the shortest length").lengths.min(initial=self.total)) if self.count else 0

    @property
    def max(self) -> int:
        """The length of the longest row."""
        return int(self.known("the longest length").lengths.max(initial=0))

    def known(self, wanted: str) -> Offsets:
        """This record, if its offsets are numbers; in a trace they differ from call to call."""
        if not self.is_known:
            raise AutogradError(
                "RAGGED_OP",
                f"{wanted} of a ragged array are wanted while a function is traced",
                why="a compiled function serves rows of all lengths, so that its graph has offsets, but no numbers",
                fix="do this outside of the compiled function, or with functions that work on all rows at once",
            )
        return self

    def part(self, key: Any, lengths: Any) -> Offsets:
        """The record of something made of this one, which `key` says: the same whenever it is asked for."""
        found = self.derived.get(key)
        if found is None:
            found = self.derived[key] = Offsets.from_lengths(lengths)
        return found

    def __repr__(self) -> str:
        return f"Offsets({self.array.tolist()})" if self.is_known else f"Offsets({self.array!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Offsets:
        return Offsets.of(self.array.copy(), self.total)

    def __reduce__(self) -> Any:
        return Offsets.of, (self.known("offsets").array, self.total)


def _remember(array: Any, record: Offsets) -> None:
    key = id(array)
    try:
        _known[key] = (weakref.ref(array, lambda _: _known.pop(key, None)), weakref.ref(record))
    except TypeError:  # cannot be referred to weakly: its record is not found again
        return


def check_offsets(offsets: Any, total: int) -> None:
    """Raise `!RAGGED_OFFSETS` unless these are offsets of rows that fill `total` elements."""
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        raise refuse_offsets(f"offsets are {offsets.dtype}{list(offsets.shape)}", "they are one row of integers")
    if not len(offsets) or offsets[0] != 0:
        first = offsets[0] if len(offsets) else "nothing"
        raise refuse_offsets(f"offsets begin with {first}", "the first row begins at 0")
    steps = np.diff(offsets.astype(np.int64))
    if len(steps) and steps.min() < 0:
        row = int(np.argmax(steps < 0))
        raise refuse_offsets(f"row {row} would have {steps[row]} elements", "offsets must not decrease")
    if offsets[-1] != total:
        raise refuse_offsets(f"offsets end at {offsets[-1]}, and there are {total} elements", "rows use all of them")


def refuse_offsets(what: str, why: str) -> AutogradError:
    """The error for offsets, lengths or masks that make no rows."""
    return AutogradError(
        "RAGGED_OFFSETS",
        what,
        why=why,
        fix="give integers that begin with 0, do not decrease, and end with the number of elements; or lengths=",
    )


class RaggedSize:
    """The length of an axis along which rows have different lengths. It is no number, and equal only to itself."""

    __slots__ = ("factor", "offsets")

    def __init__(self, offsets: Offsets, factor: int = 1) -> None:
        self.offsets = offsets
        self.factor = factor

    @property
    def lengths(self) -> Any:
        """The lengths of the rows."""
        return self.offsets.lengths * self.factor

    @property
    def min(self) -> int:
        """The length of the shortest row."""
        return self.offsets.min * self.factor

    @property
    def max(self) -> int:
        """The length of the longest row."""
        return self.offsets.max * self.factor

    @property
    def total(self) -> int:
        """The lengths of all rows together."""
        return self.offsets.total * self.factor

    @property
    def elements(self) -> int:
        """How many elements there are, if this is the product of all lengths of a shape."""
        return self.total // self.offsets.count if self.offsets.count else 0

    @property
    def specs(self) -> dict[Any, Any]:
        """Specs of arrays with this length, which live as long as the offsets do."""
        return self.offsets.specs

    def rest_beside(self, known: Any) -> Any:
        """What is left of this product of all lengths of a shape, if the product of the others is `known`."""
        other = known.factor if isinstance(known, RaggedSize) else known
        if not other or self.factor % other:
            raise ValueError(f"reshape: cannot fit {self!r} elements beside lengths whose product is {known!r}")
        rest = self.factor // other
        return rest if isinstance(known, RaggedSize) else RaggedSize(self.offsets, rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self.offsets is other.offsets and self.factor == other.factor

    def __hash__(self) -> int:
        return hash((id(self.offsets), self.factor))

    def __repr__(self) -> str:
        name = f"j{self.offsets.number}"
        return name if self.factor == 1 else f"{self.factor}*{name}"

    def __mul__(self, other: Any) -> RaggedSize:
        if not isinstance(other, (int, np.integer)):
            raise self._refuse(f"{self!r} * {other!r}")
        return RaggedSize(self.offsets, self.factor * int(other))

    __rmul__ = __mul__

    def _refuse(self, wanted: str) -> AutogradError:
        return AutogradError(
            "RAGGED_SIZE",
            f"{wanted}: {self!r} is the length of rows of different lengths, and no number",
            why="whatever is computed with one number would be wrong for all rows of other lengths",
            fix=f"use its .min, .max, .total or .lengths, or functions of whole rows: .max is {_shown(self)}",
        )

    def __index__(self) -> int:
        raise self._refuse("a number is wanted")

    __int__ = __index__
    __float__ = __index__


def _shown(size: RaggedSize) -> str:
    return str(size.max) if size.offsets.is_known else "not known in a trace"


def _refused(sign: str) -> Any:
    def method(self: RaggedSize, other: Any) -> Any:
        raise self._refuse(f"{self!r} {sign} {other!r}")

    return method


_SIGNS = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "radd": "+", "sub": "-", "rsub": "-", "floordiv": "//",
    "truediv": "/", "rtruediv": "/", "rfloordiv": "//", "mod": "%", "pow": "**",
}  # fmt: skip
for _name, _sign in _SIGNS.items():
    setattr(RaggedSize, f"__{_name}__", _refused(_sign))


def ragged_place(shape: Any) -> int | None:
    """Which axis of a shape is ragged, None if none is."""
    for axis, length in enumerate(shape):
        if type(length) is RaggedSize:
            return axis
    return None
