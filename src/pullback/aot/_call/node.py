"""`CompiledBackward`: the node that a compiled call puts on the tape. One node, one compiled backward."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.aot._trace.higher import check_can_run_again, drawing_again, gradients_of_function
from pullback.core.spec import Spec, spec_for, spec_of
from pullback.core.state import current, next_stamp
from pullback.errors import DoubleBackwardError, HigherOrderError
from pullback.tape.anomaly import remember_place
from pullback.tape.history import bump_version
from pullback.tape.node import Node, released_error
from pullback.tape.saved import SavedVariable, version_error
from pullback.tensors.overwrites import UNWRITTEN, Lost, disturbed, epoch_of, epoch_of_array, is_disturbed, kept_value
from pullback.tensors.tensor import Tensor, version_of, wrap
from pullback.tensors.views import ViewInfo

ndarray = np.ndarray

DROPPED: Any = object()
"""Stands for an input that is made anew when a derivative of the backward pass needs it."""


class CompiledBackward(Node):
    """The history of the outputs of a compiled function. Its saved values are arrays, or SavedVariables where others
    could change them: inputs, outputs, and everything if there are hooks on saved values."""

    __slots__ = (
        "draws", "entry", "epochs", "goes_to_leaves", "is_fast", "next_nr", "payloads", "primals", "saved", "watched",
        "written",
    )  # fmt: skip

    draws: Any  # where generators were when the call began; unset if it draws nothing
    entry: Any
    is_fast: bool  # `pull` may be called: the backward graph for the first output alone is there, and nothing unusual
    primals: tuple[Any, ...] | None  # the inputs, or DROPPED, for derivatives of the backward pass
    payloads: tuple[Any, ...]  # what the inputs held when they were given, and the epochs of that
    epochs: tuple[Any, ...]
    saved: tuple[Any, ...] | None
    written: tuple[tuple[Any, int], ...]  # inputs that the backward pass writes to, and how often; unset if none
    watched: tuple[Any, ...]  # (position in saved, payload of the tensor, epoch): what others may write

    @classmethod
    def of_call(cls, entry: Any, edges: list[tuple[Node | None, int]], primals: tuple[Any, ...] | None) -> Any:
        """The node of one call; what it saves is added when the forward has run."""
        node = cls()
        node.entry = entry
        node.next = tuple([edge[0] for edge in edges])
        node.next_nr = tuple([edge[1] for edge in edges]) if any(edge[1] for edge in edges) else None
        node.spec = entry.tangent_specs[0]
        node.primals = primals
        node.note_inputs()
        node.saved = None
        node.watched = ()
        node.rare = None
        node.is_fast = node.goes_to_leaves = False
        node.seq = next_stamp()
        if current().anomaly:
            remember_place(node)
        return node

    def note_inputs(self) -> None:
        """What the inputs hold now is what derivatives of the backward pass are taken at."""
        primals = self.primals or ()
        self.payloads = tuple([x._data if isinstance(x, Tensor) else x for x in primals])
        self.epochs = tuple([
            epoch_of(x) if isinstance(x, Tensor) else epoch_of_array(x) if type(x) is ndarray else UNWRITTEN
            for x in primals
        ])  # fmt: skip

    def drop_tensors(self) -> None:
        """Keep of the inputs what they held and where their gradients go, and not the tensors: one that is written
        later may get a history that leads here, and would keep itself alive."""
        if self.primals and not self.entry.capture.has_own_formulas:
            self.primals = tuple([
                DROPPED if given.slot is not None and can_be_dropped(x) else x
                for x, given in zip(self.primals, self.entry.inputs, strict=True)
            ])  # fmt: skip

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        specs: tuple[Spec | None, ...] = self.entry.tangent_specs
        return specs

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        """How many outputs of the function have a history."""
        return len(self.entry.tangent_specs)

    def name(self) -> str:
        return "CompiledBackward"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        entry = self.entry
        if entry.meta.deferred_errors:
            grads = without_refused(entry.meta, grads, wanted)
        defined = tuple([gradient is not None for gradient in grads])
        if True not in defined:
            return (None,) * len(self.next)
        if as_tensors:
            return self._recorded(grads, defined)
        saved = self._checked_values(defined)
        is_plain = True
        values = saved
        if SavedVariable in map(type, saved):
            values = tuple([x.unpack(self, False) if type(x) is SavedVariable else x for x in saved])
            is_plain = all(type(x) is ndarray for x in values)
        tangents = []
        for k, gradient in enumerate(grads):
            if gradient is not None:
                is_plain = is_plain and type(gradient) is ndarray
                tangents.append(entry.fitting_tangent(k, gradient))
        run = entry.run_backward if is_plain else entry.run_backward_on_payloads
        gradients = run(defined, values, tangents)
        if entry.meta.backward_writes:
            for (tensor, count), happens in zip(self.written, entry.writes(defined), strict=True):
                _count_writes(tensor, count if happens else 0)
        return gradients

    def pull(self, gradient: Any, keep: bool) -> tuple[Any, ...]:
        """`evaluate` and `release`, for the gradient of the first output alone and a node that saved only arrays."""
        entry = self.entry
        saved = self._checked_values(entry.first_alone)
        gradients: tuple[Any, ...] = entry.quick(*saved, entry.fitting_tangent(0, gradient))
        if not keep:
            self.saved, self.watched = None if self.saved else self.saved, ()
            self.primals = None if self.primals is None else ()
            self.payloads = self.epochs = ()
        return gradients

    def _checked_values(self, defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """What was saved, as it was then; raises if what these gradients need of it is gone."""
        saved = self.saved
        if saved is None:
            raise released_error(self.name())
        for position, payload, epoch in self.watched:
            is_written = id(payload) in disturbed if epoch is None else epoch.next is not None
            if is_written and position in self.entry.reads(defined):
                saved = self._preserved(saved, position, payload, epoch)
        return saved

    def _preserved(self, saved: tuple[Any, ...], position: int, payload: Any, epoch: Any) -> tuple[Any, ...]:
        """The saved values with what one of them was when it was saved."""
        value = kept_value(payload, epoch)
        if value is payload:
            return saved
        array = saved[position]
        if type(value) is Lost:
            raise version_error(
                self, spec_for(array.shape, array.dtype), "", value.present_version(), value.expected, value.place
            )
        part = None if self.entry.meta.backward_writes else _same_part(array, payload, value)
        if part is None:
            expected = 0 if epoch is None else epoch.version
            raise version_error(self, spec_for(array.shape, array.dtype), "", expected + 1, expected)
        return (*saved[:position], part, *saved[position + 1 :])

    def _recorded(self, grads: tuple[Any, ...], defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients with a history of their own: the joint graph, compiled, of the inputs themselves."""
        entry = self.entry
        given = self.kept(self)
        if entry.capture.has_own_formulas:
            check_can_run_again(entry, "custom Functions")
            given = self._unchanged(given, entry.inputs_read())
            return gradients_of_function(entry, given, self.next, grads, getattr(self, "draws", None))
        graph, read = entry.differentiable_backward(defined)
        given = self._unchanged(given, read)
        if entry.meta.indices_of_inputs_that_requires_grad_with_mutations_in_bw:
            raise HigherOrderError(
                "a derivative of a compiled backward pass was asked for that writes to an input which requires grad",
                why="the write would have to be part of the derivative",
                fix="write to a .clone() of the input, or call backward without create_graph=True",
            )
        primals = [x if isinstance(x, Tensor) else wrap(x) for x in given]
        tangents = [g for g in grads if g is not None]
        with drawing_again(self.draws) if entry.draw_sources else nullcontext():
            results = entry.recorded(defined, graph)(*primals, *tangents)
        if entry.meta.backward_writes:
            for (tensor, count), value in zip(self.written, results[len(self.next) :], strict=True):
                if value is not None:
                    np.copyto(tensor._data if isinstance(tensor, Tensor) else tensor, value._data)
                    _count_writes(tensor, count)
        return results[: len(self.next)]

    def kept(self, inner: CompiledBackward) -> tuple[Any, ...]:
        """The inputs, for derivatives of the backward pass; an error if they are gone. `inner` has the saved values."""
        if self.primals is None:
            raise DoubleBackwardError(
                "a derivative of a compiled backward pass was asked for",
                why='the function was compiled with higher_order="error", so the inputs were not kept',
                fix='compile it with higher_order="retrace"',
            )
        if inner.saved is None or len(self.primals) < len(self.entry.inputs):
            raise released_error(self.name())
        return self.primals

    def _unchanged(self, given: tuple[Any, ...], read: Any) -> tuple[Any, ...]:
        """The inputs, where the derivative needs them as they were when they were given."""
        needed = set(read)
        return tuple([
            self._as_given(k) if k in needed else x if x is not DROPPED else wrap(self.payloads[k])
            for k, x in enumerate(given)
        ])  # fmt: skip

    def _as_given(self, position: int) -> Any:
        """An input as it was when it was given; an error if that is gone."""
        primal, payload = self.primals[position], self.payloads[position]  # type: ignore[index]
        info = self.entry.inputs[position].info
        is_tensor = primal is DROPPED or isinstance(primal, Tensor)
        if is_tensor and (info.mutates_data or info.mutates_metadata):
            raise HigherOrderError(
                "the function overwrites an input whose old value a higher derivative needs",
                why="the old value is gone by the time that the backward pass is differentiated",
                fix="write to a .clone() of the input inside of the function",
            )
        epoch = self.epochs[position]
        if not is_tensor:
            if is_disturbed(payload, epoch) and type(lost := kept_value(payload, epoch)) is Lost:
                raise version_error(self, spec_of(payload), "", lost.present_version(), lost.expected, lost.place)
            return primal
        if primal is not DROPPED and primal._data is payload and not is_disturbed(payload, epoch):
            return primal
        value = kept_value(payload, epoch) if is_disturbed(payload, epoch) else payload
        if type(value) is Lost:
            raise version_error(self, spec_of(payload), "", value.present_version(), value.expected, value.place)
        if primal is not DROPPED:
            if primal._data is value:
                return primal
            if type(value) is not ndarray or self.entry.inputs[position].slot is None:
                raise version_error(self, primal._spec, "", version_of(primal), version_of(primal) - 1)
        number = 0 if self.next_nr is None else self.next_nr[position]
        own = epoch if value is payload else UNWRITTEN
        return SavedVariable.restored(spec_of(value), value, own, self.next[position], number).unpack(self, True)

    def release(self) -> None:
        # Without saved values it can run again, as eager nodes can.
        saved, self.saved, self.watched = self.saved, () if self.saved == () else None, ()
        self.primals = None if self.primals is None else ()
        self.payloads = self.epochs = ()
        for x in saved or ():
            if type(x) is SavedVariable:
                x.release()


def can_be_dropped(x: Any) -> bool:
    """Is this a tensor of which a payload and an edge say everything?"""
    if type(x) is not Tensor or type(x._data) is not ndarray:
        return False
    extra: Any = x._extra
    return extra is None or type(extra) is ViewInfo


def without_refused(meta: Any, grads: tuple[Any, ...], wanted: tuple[bool, ...]) -> tuple[Any, ...]:
    """The gradients that arrive, without those that nothing can be computed from. An error if they lead somewhere."""
    left = list(grads)
    for number, error in meta.deferred_errors.items():
        if left[number] is not None:
            if any(k and sources >> number & 1 for k, sources in zip(wanted, meta.gradient_sources, strict=True)):
                raise error.with_traceback(None)
            left[number] = None
    return tuple(left)


def _same_part(array: Any, payload: Any, copy: Any) -> Any:
    """What lies in the copy of a payload where `array` lies in the payload; None if that is not known."""
    if array is payload:
        return copy
    if not type(array) is type(payload) is type(copy) is ndarray:
        return None
    place, start = array.__array_interface__["data"][0], payload.__array_interface__["data"][0]
    if place == start and (array.shape, array.strides, array.dtype) == (payload.shape, payload.strides, payload.dtype):
        return copy
    low, high = byte_bounds(payload)
    first, last = byte_bounds(array)
    if first < low or last > high:
        return None
    known = np.zeros(high - low, bool)  # by byte: between the elements of the payload there may be others
    _bytes_of(payload, known, start - low)[...] = True
    if not _bytes_of(array, known, place - low).all():
        return None
    memory = np.zeros(high - low, np.uint8)
    ndarray(payload.shape, payload.dtype, memory, start - low, payload.strides)[...] = copy
    return ndarray(array.shape, array.dtype, memory, place - low, array.strides)


def _bytes_of(array: Any, memory: Any, offset: int) -> Any:
    """What lies in `memory`, which has one element for each byte, where the elements of an array lie."""
    return ndarray((*array.shape, array.itemsize), memory.dtype, memory, offset, (*array.strides, 1))


def _count_writes(tensor: Any, count: int) -> None:
    for _ in range(count if isinstance(tensor, Tensor) else 0):
        bump_version(tensor)
