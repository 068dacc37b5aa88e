"""`TracedArray`: the payload of a tensor inside a trace. It has a shape, a type and a value of a graph, and no data.

Writes disappear here. A `Storage` stands for a piece of memory; what the memory holds is a value, and a write replaces
it by another one: `update(base, new, steps)`, where the steps are the views that led to the place written. Every array
of that storage reads its own part of the new value when it is next used, and not before. So a graph has no writes, and
the tensors above behave as if there were memory.

`shadow` is an array of the same shape, dtype and strides whose contents mean nothing. All shadows of one storage share
memory, as the real arrays will: NumPy itself answers whether a reshape copies, what the strides of a slice are, and
whether two views overlap. Memory that is never touched costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.core.frames import is_asked_by_user
from pullback.core.spec import describe
from pullback.declare.views import ViewStep
from pullback.errors import ConcretizationError, FunctionalizationError
from pullback.graph.ir import Value, empty_like_type, type_of
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.traced.picks import Pick, picked_error
from pullback.payloads.traced.recorder import Recorder, asker, user_location

Shadow = np.ndarray[Any, Any]


class Storage:
    """A piece of memory inside a trace: the value it holds, and how often it was written, and how."""

    __slots__ = (
        "base", "begun", "frozen", "generation", "hidden", "no_grad", "number", "pick", "shadow", "slot", "start",
        "trace",
    )  # fmt: skip

    def __init__(self, trace: Recorder, base: Value, shadow: Shadow, slot: Any = None) -> None:
        self.trace = trace
        self.number = trace.num_storages  # in the order in which they are made
        trace.num_storages += 1
        self.base = base
        self.start = base  # what it held at first
        self.shadow = shadow
        self.slot = slot  # the input that it belongs to, None for memory made inside
        self.generation = 0  # number of writes
        self.no_grad = 0  # of those, in no_grad or inference mode
        self.hidden = 0  # of those, by operators that hide them from differentiation
        self.begun = 0  # how often a history began, with a recorded write to memory that had none
        self.frozen = False  # another payload has taken its place in the tensor that it belonged to
        self.pick: Pick | None = None  # what it is a copy of, where eager code would have a view

    def write(
        self, steps: tuple[ViewStep, ...], new: Value, in_grad_mode: bool, stopped: bool = False, hidden: bool = False,
        begins: bool = False,
    ) -> None:  # fmt: skip
        """Replace the part that the steps lead to by `new`, which has its shape and dtype. `stopped` says that the new
        value has no history, `hidden` that the write has none, and `begins` that what was there before had none."""
        self.trace.before_write(self)
        if self.pick is not None:
            self.trace.unsettled.add(self.pick.source)
        if self.frozen:
            raise FunctionalizationError(
                "a write to a frozen storage: the tensor that this memory belonged to was given other memory",
                location=user_location(),
                why="the write would be seen by nobody, or by the wrong tensor",
                fix="take views again after assigning to .data",
            )
        if any(step.op.name == "as_strided" for step in steps[1:]):
            raise FunctionalizationError(
                "a write through as_strided of another view",
                location=user_location(),
                why="strides are counted in the memory of the whole array, and the view before it may have moved them",
                fix="call as_strided on the array itself, or use slices",
            )
        before = self.base
        if steps or new.type != before.type:
            held = self.trace.unrecorded(before) if begins else before
            node = self.trace.add("update", [held, new], {"steps": steps}, [before.type])
            self.base = node.result
            if stopped or begins:
                self.trace.stopped[node] = (0,) * begins + (1,) * stopped
        else:
            self.base = new
            if stopped:
                self.trace.hidden.append((new, new))
        if hidden:
            self.trace.hide_write(before, self.base, not in_grad_mode)
        self.generation += 1
        self.begun += begins
        self.no_grad += not in_grad_mode


class TracedArray(ArrayMembers):
    """An array of a trace: a storage, the views from there to this array, and the value when it was last read."""

    __slots__ = (
        "__weakref__", "_generation", "_stopped", "_value", "is_detached", "is_swapped_in", "kept", "shadow", "steps",
        "storage",
    )  # fmt: skip
    is_traced = True  # see `payloads.evaluate.is_traced`

    evaluate_op: ClassVar[Callable[..., Any]]  # payloads/traced/evaluate.py, bound in payloads/traced/__init__.py
    assign_payload: ClassVar[Callable[..., None]]

    def __init__(self, storage: Storage, shadow: Shadow, value: Value, steps: tuple[ViewStep, ...] = ()) -> None:
        self.storage = storage
        self.shadow = shadow
        self.steps = steps
        self._value = value
        self._generation = storage.generation
        self._stopped = -1
        self.is_detached = False  # by detach(): it has no tangents either
        self.is_swapped_in = False  # the tensor got it by an assignment to .data, or is a view of one that did

    @property
    def value(self) -> Value:
        """The value that the array has now."""
        storage = self.storage
        if storage.pick is not None:
            storage.pick.check()
        if storage in storage.trace.unsettled:
            raise picked_error("was written, and then the array that it belongs to is read")
        if self._generation != storage.generation:
            value, shadow = storage.base, storage.shadow
            for step in self.steps:
                shadow = step.op.kernel(shadow, **step.params)
                value = storage.trace.add(step.op, [value], step.params, [type_of(shadow)]).result
            self._value = value
            self._generation = storage.generation
        return self._value

    @property
    def stopped(self) -> bool:
        """Was it made without history, by detach() or where no gradients are recorded, and has none begun since?"""
        return self.is_detached or self._stopped == self.storage.begun

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        self._stopped = self.storage.begun if stopped else -1

    @property
    def last_value(self) -> Value:
        """The value that it had when it was last read, for messages."""
        return self._value

    @property
    def detached(self) -> TracedArray:
        """The same array, for a tensor that was detached."""
        array = self.without_history
        array.is_detached = True
        return array

    @property
    def without_history(self) -> TracedArray:
        """The same array, for a tensor that has no history where gradients are recorded."""
        array = TracedArray(self.storage, self.shadow, self.value, self.steps)
        array.stopped, array.is_detached, array.is_swapped_in = True, self.is_detached, self.is_swapped_in
        return array

    def pinned(self) -> TracedArray:
        """An array in memory of its own with the value that this one has now, for those who keep it over a write."""
        value = self.value
        shadow = empty_like_type(type_of(self.shadow))
        array = TracedArray(Storage(self.storage.trace, value, shadow), shadow, value)
        array.is_detached, array.is_swapped_in = self.is_detached, self.is_swapped_in
        array.stopped = self.stopped
        return array

    @property
    def recorder(self) -> Recorder:
        """The trace it belongs to."""
        return self.storage.trace

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        return type(source) is TracedArray and self.storage is source.storage

    def picked_from(self, source: Any, index: tuple[Any, ...]) -> None:
        """Remember that eager code would see this place of `source` and not a copy of it."""
        self.storage.pick = Pick(source, index)

    def replaced_by(self, other: Any) -> Any:
        """The tensor that this belongs to gets other memory, which is returned in the form that it gets it.

        Nobody may write to an input through the old memory from now on."""
        if self.storage.slot is not None:
            self.storage.frozen = True
        if type(other) is not TracedArray:
            return other
        other.storage.frozen = False
        taken = TracedArray(other.storage, other.shadow, other._value, other.steps)
        taken._generation = other._generation
        taken.is_swapped_in = True
        return taken

    # What is known without data.

    @property
    def region(self) -> Shadow:
        """The memory of the array, as version counters know it."""
        return self.shadow

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.shadow.shape

    @property
    def shown_shape(self) -> tuple[int, ...]:
        """The shape as the code that is traced sees it: sizes that vary remember what they are compared with."""
        return self.asked_shape if is_asked_by_user(2) else self.shadow.shape

    @property
    def asked_shape(self) -> tuple[int, ...]:
        """The same, for those who ask in the place of that code."""
        return self.storage.trace.shown_shape(self)

    @property
    def shown_strides(self) -> tuple[int, ...]:
        """The strides likewise."""
        return self.asked_strides if is_asked_by_user(2) else self.shadow.strides

    @property
    def asked_strides(self) -> tuple[int, ...]:
        """The same, for those who ask in the place of that code."""
        watcher = self.storage.trace.watcher
        return self.shadow.strides if watcher is None else watcher.shown(self.shadow.strides)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.shadow.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.shadow.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.shadow.itemsize

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.shadow.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.shadow.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self.shadow.strides

    @property
    def flags(self) -> Any:
        """How the array lies in memory, and whether it may be written."""
        return self.shadow.flags

    def __repr__(self) -> str:
        return f"TracedArray({self.dtype}{list(self.shape)})"

    # What needs the values themselves.

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """The values, if the trace has them; refused if not."""
        answer = self.recorder.answered(self, into)
        if answer is None:
            raise self.refused(into)
        return answer

    def taken(self) -> Any:
        """The only element as a number of the trace; None if the trace has none."""
        return self.recorder.taken(self)

    def refused(self, into: str) -> ConcretizationError:
        """The error for a value that is about to become `into`."""
        self.recorder.check_open(into, self._value)
        choice = "write the choice as pb.where(condition, a, b) or pb.cond(condition, f, g, *args)"
        number = "keep computing with the tensor, or pass the number as an argument named in static="
        array = "keep computing with the tensor, or wrap this NumPy code in a custom op (pb.library.custom_op)"
        return ConcretizationError(
            f"{into} is wanted of a traced tensor {describe(self.shape, self.dtype)}",
            location=user_location(),
            why=f"the function is being traced, with shapes and types only, and there is no value yet{asker()}",
            fix=choice if into == "a truth value" else array if into == "a NumPy array" else number,
        )
