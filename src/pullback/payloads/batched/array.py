"""`BatchedArray`: the payload of a tensor inside `vmap`. One example upstairs, all of them in memory.

`data` has one leading axis for every level of `vmap` that the value depends on, ordered by stamp, oldest first, and
`shape` is what remains. It is flat, never nested: the order of levels means nothing to kernels. A value that depends
on no level may be one too, with no levels: an array made inside `vmap`, into which examples may yet be written.

Such a write *widens*: the array that owns the memory gets new, wider memory, and all its views follow. For this a
view knows its parent and how it was made from it, and looks whether its root has moved before it shows its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pullback.core.frames import is_asked_by_user
from pullback.core.state import VmapLevel, current
from pullback.declare.op import Op
from pullback.graph.ir import array_type, empty_like_type
from pullback.payloads import wrappers
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.evaluate import innermost
from pullback.payloads.refusals import refuse_one_of_many
from pullback.payloads.wrappers import is_wrapper

# Levels and the axes that belong to them: pure functions on arrays with one leading axis per level, oldest first.

Array = np.ndarray[Any, Any]
Levels = tuple[VmapLevel, ...]


def union(several: Iterable[Levels]) -> Levels:
    """All these levels, each once, oldest first."""
    found: Levels = ()
    for levels in several:
        if not levels or levels == found:
            continue
        if not found:
            found = levels
        else:
            found = tuple(sorted({*found, *levels}, key=_stamp))
    return found


def _stamp(level: VmapLevel) -> int:
    return level.stamp


def sizes(levels: Levels) -> tuple[int, ...]:
    """The lengths of the levels' axes."""
    return tuple([level.size for level in levels])


def aligned(data: Array, own: Levels, levels: Levels, rank: int) -> Array:
    """`data` with an axis for every one of `levels`, of length 1 where it lacks the level, and `rank` axes behind them.

    A view in every case: only axes of length 1 are inserted.
    """
    missing = rank - (data.ndim - len(own))
    if own == levels and not missing:
        return data
    lead: list[int] = []
    position = 0
    for level in levels:
        if position < len(own) and own[position] is level:
            lead.append(data.shape[position])
            position += 1
        else:
            lead.append(1)
    return data.reshape((*lead, *(1,) * missing, *data.shape[len(own) :]))


def broadcast(data: Array, own: Levels, levels: Levels) -> Array:
    """`data` with an axis of full length for every one of `levels`: a read-only view where it lacks one."""
    if own == levels:
        return data
    rank = data.ndim - len(own)
    spread = aligned(data, own, levels, rank)
    return np.broadcast_to(spread, (*sizes(levels), *spread.shape[len(levels) :]))


def is_repeated(x: Any) -> bool:
    """Is the first axis one element, repeated without memory for it? Batching rules use it only once then."""
    return x.shape[0] > 1 and x.strides[0] == 0


def inserted_at(levels: Levels, level: VmapLevel) -> int:
    """The place of a level's axis among those of `levels`."""
    position = 0
    while position < len(levels) and levels[position].stamp < level.stamp:
        position += 1
    return position


def like_in_memory(shape: tuple[int, ...], strides: tuple[int, ...], lead: tuple[int, ...], dtype: Any) -> Array:
    """A new array of shape `lead + shape` whose last axes lie in memory in the order that `strides` says."""
    order = sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis))
    out = np.empty((*lead, *(shape[axis] for axis in order)), dtype)
    back = [0] * len(shape)
    for place, axis in enumerate(order):
        back[axis] = place
    trace = current().trace
    if trace is not None:
        out = trace.home(out)
    return out.transpose((*range(len(lead)), *(len(lead) + place for place in back)))


def in_own_memory(data: Array, own: Levels, levels: Levels, strides: Callable[[], tuple[int, ...]]) -> Array:
    """The values of `data` for every example of `levels`, in new memory in which an example lies as `strides` says."""
    spread = broadcast(data, own, levels)
    if type(data) in innermost:  # how its memory lies is the business of another library
        return spread.copy()
    out = like_in_memory(spread.shape[len(levels) :], strides(), sizes(levels), data.dtype)
    np.copyto(out, spread)
    return out


# How one example of a batch lies in memory.

class Flags(NamedTuple):
    """The few flags of an array that code asks for."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool
    owndata: bool
    aligned: bool = True


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, order: str) -> bool:
    """Do elements of this shape and these strides follow each other in row-major ("C") or column-major ("F") order?"""
    if 0 in shape:
        return True
    expected = itemsize
    axes = range(len(shape)) if order == "F" else range(len(shape) - 1, -1, -1)
    for axis in axes:
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True


Replay = Callable[[Any], Any]


class BatchedArray(ArrayMembers):
    """An array with batch axes in front that nobody upstairs sees."""

    __slots__ = (
        "__weakref__", "_data", "_epoch", "_levels", "_parent", "_replay", "_root", "is_spread", "kept", "picked",
    )  # fmt: skip

    evaluate_op: ClassVar[Callable[..., Any]]  # payloads/batched/evaluate.py, bound in payloads/batched/__init__.py

    def __init__(
        self, data: Array, levels: Levels = (), *, parent: BatchedArray | None = None, replay: Replay | None = None
    ) -> None:
        self._data = data
        self._levels = levels
        self._parent = parent
        self._replay = replay
        self.picked: Any = None if parent is None else parent.picked  # as x[i] with an i for every example
        self.is_spread = False  # made wider without memory for it, by `widened`; gets memory when it is written
        if parent is None:
            self._root = None
            self._epoch = 0
        else:
            self._root = parent if parent._root is None else parent._root
            self._epoch = self._root._epoch

    # Where the data is.

    @property
    def data(self) -> Array:
        """The array, with one leading axis per level."""
        if self._root is not None and self._epoch != self._root._epoch:
            self._follow()
        return self._data

    @property
    def levels(self) -> Levels:
        """The levels of the leading axes, oldest first."""
        if self._root is not None and self._epoch != self._root._epoch:
            self._follow()
        return self._levels

    def _follow(self) -> None:
        """Take the view again: the memory that it was a view of has been replaced."""
        assert self._root is not None and self._replay is not None
        fresh = self._replay(self._parent)
        self._data, self._levels, self._epoch = fresh.data, fresh.levels, self._root._epoch

    @property
    def root(self) -> BatchedArray:
        """The payload that owns the memory."""
        return self if self._root is None else self._root

    def replace_memory(self, data: Array, levels: Levels) -> None:
        """Give a root other memory. Its views follow."""
        assert self._root is None
        self._data, self._levels = data, levels
        self._epoch += 1

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        return self is source or self._parent is source

    @property
    def detached(self) -> BatchedArray:
        """The same array, for a tensor that was detached; itself, if its memory does not want to know."""
        memory = getattr(self.data, "detached", self.data)
        if memory is self.data:
            return self
        return BatchedArray(memory, self.levels, parent=self, replay=lambda parent: parent.detached)

    # What one example looks like. None of it changes when the memory is replaced by wider memory.

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self._data.shape[len(self._levels) :]

    @property
    def shown_shape(self) -> tuple[int, ...]:
        """The same as the code that is traced sees it, see `TracedArray`."""
        return self.asked_shape if is_asked_by_user(2) else self.shape

    @property
    def asked_shape(self) -> tuple[int, ...]:
        """The same, for those who ask in the place of that code."""
        shape: Any = getattr(self._data, "asked_shape", self._data.shape)
        return tuple(shape[len(self._levels) :])

    @property
    def ndim(self) -> int:
        """The number of axes of one example."""
        return self._data.ndim - len(self._levels)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._data.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._data.itemsize

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of one example."""
        return self.size * self._data.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element of an example to the next, along each axis."""
        return self._data.strides[len(self._levels) :]

    def is_contiguous(self, order: str = "C") -> bool:
        """Does one example lie in memory in row-major ("C") or column-major ("F") order?"""
        return is_contiguous(self.shape, self.strides, self._data.itemsize, order)

    @property
    def flags(self) -> Flags:
        """How one example lies in memory, and whether it may be written."""
        own = self._data.flags
        return Flags(self.is_contiguous("C"), self.is_contiguous("F"), own.writeable, own.owndata)

    def __repr__(self) -> str:
        values = f", values={np.array2string(self.data, separator=', ')}" if type(self.data) is np.ndarray else ""
        return f"BatchedArray({self.dtype}{list(self.shape)}, levels={list(self.levels)}{values})"

    # What needs the values themselves.

    def plain_values(self, into: str) -> Array:
        """The array, which is about to become `into`; refused if it stands for many."""
        if not self.levels:
            return self.data
        raise refuse_one_of_many(self, self.levels, into)


def levels_of(payload: Any) -> Levels:
    """The levels of a payload of any kind."""
    if type(payload) is BatchedArray:
        return payload.levels
    if type(payload) is np.ndarray or not is_wrapper(payload):
        return ()
    parts = [part for _, part in wrappers.parts_of(payload)[0] if type(part) is not np.ndarray]
    return union([levels_of(part) for part in parts]) if parts else ()


def region_of(payload: Any) -> Any:
    """The memory of a payload, as version counters know it."""
    memory = payload.data if type(payload) is BatchedArray else payload
    return memory if type(memory) is np.ndarray else getattr(memory, "region", memory)


def parts_of(payload: Any) -> tuple[Any, Levels]:
    """The memory of a payload and the levels of its leading axes."""
    return (payload.data, payload.levels) if type(payload) is BatchedArray else (as_payload(payload), ())


def as_payload(x: Any) -> Any:
    """A payload as it is, anything else as an array."""
    return x if type(x) is np.ndarray or hasattr(type(x), "evaluate_op") else np.asarray(x)


def bare(payload: Any) -> Any:
    """What is behind a payload that is the same for all examples; others as they are."""
    return payload.data if type(payload) is BatchedArray and not payload.levels else payload


def plain_array(payload: Any) -> Array | None:
    """The array behind a payload that is the same for all examples; None for batches, for what has no values in a
    trace, and for what is no payload."""
    payload = bare(payload)
    return payload if type(payload) is np.ndarray else None


# Copies of batches: every example is laid out as its copy would be, and the examples follow each other.

def copy(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """A copy in memory order "C", "F", or "K" for the order that an example has."""
    (x,) = operands
    if type(x.data) in innermost:
        return _laid_out(x, ())
    if params["order"] == "C":
        strides = tuple(range(x.ndim, 0, -1))
    elif params["order"] == "F":
        strides = tuple(range(1, x.ndim + 1))
    elif 0 in x.strides:
        stand_in = empty_like_type(array_type(x.shape, x.dtype, x.strides))  # the examples may have no values yet
        strides = op.kernel(stand_in, **params).strides
    else:
        strides = x.strides
    return _laid_out(x, strides)


def settled(x: BatchedArray) -> BatchedArray:
    """A new result in memory of which every example has a stretch of its own, in the order that it has for itself.

    NumPy follows the memory of its operands, and the examples of a batch that came along an inner axis lie interleaved
    there. A result of one of them would not: a view of it is no view, then, of the other.
    """
    data = x.data
    if data.flags.c_contiguous:
        return x
    lead = len(x.levels)
    extent = x.itemsize
    for length, stride in zip(data.shape[lead:], data.strides[lead:], strict=True):
        extent += (length - 1) * abs(stride)
    for length, stride in zip(data.shape[:lead], data.strides[:lead], strict=True):
        if length > 1 and 0 < abs(stride) < extent:
            return _laid_out(x, x.strides)
    return x


def as_of_one(op: Op, operands: Any, params: dict[str, Any], x: BatchedArray) -> BatchedArray:
    """A new result laid out as that of one example is, for operators that look at all operands to decide."""
    batches = [each for each in operands if type(each) is BatchedArray]
    if not x.size or (x.data.flags.c_contiguous and all(each.data.flags.c_contiguous for each in batches)):
        return x
    strides = op.kernel(*map(_example, operands), **params).strides
    return x if strides == x.strides else _laid_out(x, strides)


def _example(x: Any) -> Any:
    """An array without meaning that lies in memory like one example."""
    if type(x) is not BatchedArray:
        return getattr(x, "shadow", x)
    one = getattr(x.data, "shadow", x.data)[(0,) * len(x.levels)]
    return np.zeros_like(one) if one.dtype.kind in "iu" else one  # a place that every array has


def _laid_out(x: BatchedArray, strides: tuple[int, ...]) -> BatchedArray:
    return BatchedArray(in_own_memory(x.data, x.levels, x.levels, lambda: strides), x.levels)
