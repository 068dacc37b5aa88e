"""`CompiledBackward`: the node that a compiled call puts on the tape. One node, one compiled backward."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from pullback.aot._draws import drawing_again
from pullback.aot._run_again import check_can_run_again, gradients_of_function
from pullback.autograd._node import Node, released_error
from pullback.autograd._saved import SavedVariable, version_error
from pullback.autograd._variable import bump_version
from pullback.core.spec import Spec, spec_for
from pullback.core.state import next_stamp
from pullback.errors import DoubleBackwardError, HigherOrderError
from pullback.tensors.tensor import Tensor, version_of, wrap

ndarray = np.ndarray


class CompiledBackward(Node):
    """The history of the outputs of a compiled function. Its saved values are arrays, or SavedVariables where others
    could change them: inputs, outputs, and everything if there are hooks on saved values."""

    __slots__ = (
        "draws", "entry", "goes_to_leaves", "is_fast", "next_nr", "primals", "saved", "versions", "watched", "written",
    )  # fmt: skip

    draws: Any  # where generators were when the call began; unset if it draws nothing
    entry: Any
    is_fast: bool  # `pull` may be called: the backward graph for the first output alone is there, and nothing unusual
    primals: tuple[Any, ...] | None  # the inputs themselves, for derivatives of the backward pass
    versions: tuple[int, ...]
    saved: tuple[Any, ...] | None
    written: tuple[tuple[Any, int], ...]  # inputs that the backward pass writes to, and how often; unset if none
    watched: tuple[Any, ...]  # (position in saved, tensor or None, counter or None, version): what others may write

    @classmethod
    def of_call(cls, entry: Any, edges: list[tuple[Node | None, int]], primals: tuple[Any, ...] | None) -> Any:
        """The node of one call; what it saves is added when the forward has run."""
        node = cls()
        node.entry = entry
        node.next = tuple([edge[0] for edge in edges])
        node.next_nr = tuple([edge[1] for edge in edges]) if any(edge[1] for edge in edges) else None
        node.spec = entry.tangent_specs[0]
        node.primals = primals
        node.note_versions()
        node.saved = None
        node.watched = ()
        node.rare = None
        node.is_fast = node.goes_to_leaves = False
        node.seq = next_stamp()
        return node

    def note_versions(self) -> None:
        """What the inputs hold now is what derivatives of the backward pass are taken at."""
        self.versions = tuple([version_of(x) if isinstance(x, Tensor) else 0 for x in self.primals or ()])

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
        if entry.deferred_error is not None:
            raise entry.deferred_error.with_traceback(None)
        defined = tuple([gradient is not None for gradient in grads])
        for number, error in entry.meta.deferred_errors.items():
            if defined[number]:
                raise error.with_traceback(None)
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
            self.saved, self.watched = None if saved else saved, ()
            self.primals = None if self.primals is None else ()
        return gradients

    def _checked_values(self, defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """What was saved; raises if what these gradients need of it was written since, or is gone."""
        saved = self.saved
        if saved is None:
            raise released_error(self.name())
        for position, tensor, counter, version in self.watched:
            if tensor is not None:
                counter = tensor._counter
            if counter is not None and counter.value != version and position in self.entry.reads(defined):
                self._check_written(saved[position], counter, version)
        return saved

    def _check_written(self, array: Any, counter: Any, version: int) -> None:
        if counter.has_written(array, version):
            raise version_error(self, spec_for(array.shape, array.dtype), "", counter.value, version)

    def _recorded(self, grads: tuple[Any, ...], defined: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients with a history of their own: the joint graph, compiled, of the inputs themselves."""
        entry = self.entry
        given = self.kept(self)
        if entry.capture.has_own_formulas:
            check_can_run_again(entry, "custom Functions")
            for position in entry.inputs_read():
                self._check_unchanged(position)
            return gradients_of_function(entry, given, self.next, grads, getattr(self, "draws", None))
        graph, read = entry.differentiable_backward(defined)
        for position in read:
            self._check_unchanged(position)
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

    def _check_unchanged(self, position: int) -> None:
        """Raise if an input that the derivative needs was written since the call."""
        primal, version = self.primals[position], self.versions[position]  # type: ignore[index]
        info = self.entry.inputs[position].info
        if isinstance(primal, Tensor) and (info.mutates_data or info.mutates_metadata):
            raise HigherOrderError(
                "the function overwrites an input whose old value a higher derivative needs",
                why="the old value is gone by the time that the backward pass is differentiated",
                fix="write to a .clone() of the input inside of the function",
            )
        if isinstance(primal, Tensor) and version_of(primal) != version:
            raise version_error(self, primal._spec, "", version_of(primal), version)

    def release(self) -> None:
        # Without saved values it can run again, as eager nodes can.
        saved, self.saved, self.watched = self.saved, () if self.saved == () else None, ()
        self.primals = None if self.primals is None else ()
        for x in saved or ():
            if type(x) is SavedVariable:
                x.release()


def _count_writes(tensor: Any, count: int) -> None:
    for _ in range(count if isinstance(tensor, Tensor) else 0):
        bump_version(tensor, tensor._data)
