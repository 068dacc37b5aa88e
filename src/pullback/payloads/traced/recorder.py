"""`Recorder`: a running trace. It appends to a graph what the operators on traced arrays do.

A recorder knows nothing of tensors and gradients. What a trace needs to know of those is in `aot/_trace/trace.py`,
which derives from this class. It is reachable as `current().trace` while the traced function runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core.frames import is_own, place_of, user_place
from pullback.core.state import current, next_stamp
from pullback.declare.op import Op
from pullback.errors import AOTError, LeakedTracerError
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, FORWARD, ArrayType, Node, Value, type_of

_ARRAYS = ("array_members.py", os.path.join("traced", "array.py"))  # where arrays are asked
_DEEP = 12  # frames; ways that are not longer are gone again


class Recorder:
    """What one trace has written down so far."""

    lifts = False  # are there stand-ins for tensors from outside?

    def __init__(self, name: str) -> None:
        self.graph = Graph(name)
        self.tag = FORWARD
        self.is_open = True
        self.refusals: list[AOTError] = []  # what was raised in the function, which may have caught it
        self.has_own_formulas = False  # a custom Function was called, whose derivative need not be that of its forward
        self.watcher: Any = None  # what is told about questions for sizes that vary (aot/_dynamic/sizes.py)
        self.recompute: str | None = None
        self.region: int | None = None
        self.homes: dict[Value, Any] = {}  # for values computed here: the storage that they were computed for
        # What has no history although it is computed from values that have one, for derivatives of higher order:
        # operands of nodes, by position, and for writes the value before and the value after.
        self.stopped: dict[Node, tuple[int, ...]] = {}
        self.hidden: list[tuple[Value, Value]] = []
        self.unsettled: set[Any] = set()  # storages of which a copied element was written (payloads/traced/picks.py)
        self.noted = False  # an operand of the next node is stopped
        self.stops = True  # False while a custom Function computes: its results have the history that it gives them
        # By id: storages that the backward half reads, and the size of the largest part that is read.
        self.read_later: dict[int, tuple[Any, int]] = {}
        self.unpacked: set[int] = set()  # of those, what was saved for it, by id: others are read as they are then
        self.looked_for: str | None = None  # what the function has asked for, and the graph does not have
        self.overwrite_policy: Any = None  # that of a write over a value that was saved, if there was one
        self.overwrites: list[Any] = []  # the values that survived such writes
        self.retaining: list[Any] = []  # tensors on which retain_grad() was called
        # In a backward pass from several roots: what is computed from the gradients that arrive.
        self.dependent: set[Value] | None = None
        self.place: tuple[str, int, str] | None = None  # that of all nodes, while a graph is recorded anew
        self.num_storages = 0  # that were made so far
        self._constants: dict[int, tuple[Any, Value, Any]] = {}
        self._frames: dict[Any, tuple[str, int, str] | None] = {}  # deep frames of ours, with the user's place

    def add(self, target: Op | str, operands: list[Any], attrs: dict[str, Any], types: list[ArrayType]) -> Node:
        """Append a node, with what is known of the place it comes from."""
        node = self.graph.add(target, operands, attrs, types, self.tag)
        if self.tag is FORWARD:
            node.place = self._user_place()
            node.recompute = self.recompute
            node.region = self.region
        else:
            running = self.running_node()
            if running is not None:
                node.seq = running.seq
            if self.dependent is not None and not self.dependent.isdisjoint(node.inputs):
                self.dependent.update(node.results)
        return node

    def _user_place(self) -> tuple[str, int, str] | None:
        """As `user_place`. Whoever called a frame that is still there stands where it stood, so the way up is gone once
        for all nodes of a backward pass: it was a quarter of the time of a trace. Elsewhere frames are not kept, since
        they would keep views alive that the user's program has let go of."""
        if self.place is not None:
            return self.place
        if self.running_node() is None:
            self._frames.clear()
            return user_place()
        frame: Any = sys._getframe(2)
        known, passed = self._frames, []
        while frame is not None:
            if frame in known:
                return known[frame]
            if not is_own(frame.f_code.co_filename):
                break
            passed.append(frame)
            frame = frame.f_back
        place = place_of(frame)
        if len(passed) > _DEEP:
            self._frames = dict.fromkeys(passed, place)
        return place

    def answered(self, array: Any, into: str) -> Any:
        """The values of an array that are about to become `into`; None if there are none."""
        return None

    def taken(self, array: Any) -> Any:
        """The only element of an array as a number that is another one in every call; None if there is no such."""
        return None

    def shown_shape(self, array: Any) -> tuple[Any, ...]:
        """The shape of an array as the code that is traced sees it."""
        shape: tuple[Any, ...] = array.shadow.shape
        return shape if self.watcher is None else self.watcher.shown(shape)

    def with_lengths(self, op: Op, operands: Any, params: dict[str, Any]) -> tuple[Op, dict[str, Any]]:
        """An operator whose result has as many elements as values say, as one whose result has a known length."""
        return op, params

    def elementwise_again(self, op: Op, operands: tuple[Any, ...], modes: Any) -> Any:
        """The result of an elementwise operator on tensors like those of a call before; None if it is not known."""
        return None

    def part_again(self, op: Op, x: Any, index: tuple[Any, ...], modes: Any) -> Any:
        """The view `x[index]`, where nothing unusual watches; None elsewhere."""
        return None

    def stands_for_array(self, tensor: Any) -> bool:
        """Does eager code have an array of NumPy's in place of this tensor?"""
        return False

    def before_write(self, storage: Any) -> None:
        """A storage is about to be written."""

    def unrecorded(self, value: Value) -> Value:
        """A value without its history, for the operand of an update. It is in `stopped` that it has none."""
        return value

    def hide_write(self, before: Value, after: Value, is_quiet: bool) -> None:
        """A write has happened that has no history: while grad mode was off, or else through a detached alias."""
        self.hidden.append((before, after))

    def before_grad(self, tensor: Any) -> None:
        """The `.grad` of a tensor is about to be read or assigned."""

    def is_input(self, tensor: Any) -> bool:
        """Does this tensor stand for one from outside, or is it one?"""
        return False

    def outward(self, function: Any) -> Any:
        """A function that is called when the graph runs, as it is outside of the trace."""
        return function

    def differentiated(self, inputs: list[Any]) -> list[Any]:
        """The function computes gradients by these tensors; what stands here for those from outside."""
        return inputs

    def as_leaf(self, array: Any) -> Any:
        """An array by which a transform is about to differentiate, as one that it can tell from the caller's."""
        return array

    def gradients_of_loops(self, root: Any, edge: Any, seed: Any, leaves: Any) -> Any:
        """What arrives at the leaves of a transform; None if the tape has to be asked."""
        return None

    def bound(self, gradients: tuple[Any, ...], arrived: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the formula of a custom Function made of gradients that arrived."""
        return gradients

    def home(self, array: np.ndarray[Any, Any]) -> Any:
        """The payload of a tensor that is made here with this array."""
        raise NotImplementedError  # abstract: aot/_trace/trace.py

    def draw(self, name: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The payload of random numbers that are drawn whenever the graph runs."""
        raise NotImplementedError  # abstract: aot/_trace/trace.py

    def lifted(self, tensor: Any) -> Any:
        """The tensor that stands here for one from outside; the tensor itself, if it is from here."""
        raise NotImplementedError  # abstract: aot/_trace/trace.py

    def running_node(self) -> Any:
        """The node of the tape whose formula is running, in a backward pass."""
        return None

    @contextmanager
    def checkpointed(self) -> Iterator[None]:
        """What is recorded inside belongs to one checkpoint: backward computes it again, unless told otherwise."""
        before = self.region, self.recompute
        self.region, self.recompute = next_stamp(), "PREFER_RECOMPUTE"
        try:
            yield
        finally:
            self.region, self.recompute = before

    def begin_backward(self) -> None:
        """What is recorded from now on belongs to the backward half."""
        self.tag = BACKWARD
        self._constants = {}

    def constant(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of a constant. The array is kept as it is now; one that was written since is another constant."""
        key = id(array)
        known = self._constants.get(key)
        if known is not None and _has_same_bits(array, known[2]):
            return known[1]
        kept = array.copy("K")
        kept.flags.writeable = False
        node = self.add("constant", [], {"value": kept}, [type_of(kept)])
        self._constants[key] = (array, node.result, kept)  # the array is held, so that its id stays its own
        return node.result

    def stand_in_for(self, generator: Any) -> Any:
        """What draws from a generator of NumPy's whenever the graph runs; None if nothing does."""
        return None

    def formatted(self, number: Any, specification: str) -> str | None:
        """What stands for the text of a number, if it is made when the graph has run; here it is not."""
        return None

    def check_open(self, name: str, value: Value | None = None) -> None:
        """Raise if the trace has ended, or is not the one that is running here; `value` is what is used."""
        if not self.is_open or current().trace is not self:
            made = value.node.place if value is not None and value.node is not None else None
            where = "" if made is None else f"it was made at {_written(made)}; "
            when = "in another thread or trace" if self.is_open else "after the trace has ended"
            error = LeakedTracerError(
                f"{name}: a tensor of a trace is used {when}",
                location=user_location(),
                why=f"{where}it has a shape and a type, and never had a value",
                fix="return it from the function; do not keep it in a list, an attribute or a global",
            )
            if self.is_open:
                self.refusals.append(error)
            raise error


def asker() -> str:
    """If an array was asked for its values by Pullback's own code, and not by that of its user: by which function."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.endswith(_ARRAYS):
        frame = frame.f_back
    is_user = frame is None or not is_own(frame.f_code.co_filename) or "interop" in frame.f_code.co_filename
    return "" if is_user else f"; `{frame.f_code.co_qualname}` inside of Pullback wants it, on behalf of this line"


def user_location() -> str:
    """The place of `user_place`, for error messages."""
    place = user_place()
    return "" if place is None else _written(place)


def _written(place: tuple[str, int, str]) -> str:
    return f"{place[0]}, line {place[1]}, in {place[2]}"


def _has_same_bits(array: np.ndarray[Any, Any], kept: np.ndarray[Any, Any]) -> bool:
    """Does an array hold what a copy of it holds?"""
    if array.shape != kept.shape or array.dtype != kept.dtype:
        return False
    if array.dtype.itemsize in (1, 2, 4, 8) and array.dtype.kind in "biufc":
        bits = np.dtype(f"u{array.dtype.itemsize}")
        return bool((array.view(bits) == kept.view(bits)).all())
    return array.tobytes() == kept.tobytes()
