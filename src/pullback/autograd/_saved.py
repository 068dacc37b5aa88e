"""Values kept for backward, and the checks made when they are read.

An operand is kept as the tensor object itself, so that reading it gives back the very same tensor. An output is kept
without its tensor, or every operation would close a reference cycle; it is rebuilt on reading. A view is kept weakly:
it owns its base, whose history may come to depend on the node that saved the view.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import AccumulateGrad, accumulator_of
from pullback.autograd._copy_slices import history_of_view
from pullback.autograd._levels import handle, live_levels, tangent_of
from pullback.autograd._node import Node, released_error
from pullback.core.spec import Spec, describe
from pullback.core.state import changed, current, open_levels, switch
from pullback.errors import AutogradError
from pullback.payloads.batched_array import region_of
from pullback.tensors.tensor import Extra, Leaf, Tensor, alias, extra_of, shared_counter, version_of, wrap
from pullback.tensors.versions import VersionCounter

ndarray = np.ndarray


class SavedVariable:
    """A tensor kept for backward, with the version it had when it was kept."""

    __slots__ = (
        "__weakref__",
        "_counter",
        "_data",
        "_deps",
        "_forward",
        "_is_output",
        "_node",
        "_nr",
        "_packed",
        "_released",
        "_tensor",
        "_unpack_hook",
        "_version",
        "_watched",
        "spec",
    )

    spec: Spec | None
    _counter: Any
    _data: Any
    _deps: Any
    _forward: Any
    _is_output: bool
    _node: Any
    _nr: int
    _packed: Any
    _released: bool
    _tensor: Any
    _unpack_hook: Callable[[Any], Any] | None
    _version: int
    _watched: Any

    def __init__(self, tensor: Tensor | None, is_output: bool = False) -> None:
        self._released = False
        # `_watched` is the value under allow_mutation_on_saved_tensors, copied when it is overwritten.
        self._packed = self._unpack_hook = self._watched = self._node = self._tensor = None
        self._forward = self._deps = None
        self._nr = 0
        self._is_output = is_output
        if tensor is None:
            self.spec = self._data = None
            return
        self.spec = tensor._spec
        self._data = tensor._data
        extra = tensor._extra
        modes = current()
        if is_output:
            self._counter = counter = shared_counter(tensor)
        else:
            self._counter = counter = tensor._counter
            node = tensor._node
            # An accumulator found through a living edge; a leaf's own marker would not keep it alive.
            self._node = accumulator_of(tensor) if type(node) is Leaf else node
            self._tensor = tensor
        self._version = 0 if counter is None else counter.value
        if extra is not None:
            _check_can_be_saved(extra, tensor)
            if open_levels:
                for level in live_levels((tensor,)):
                    tangent_of(tensor, level)  # a view's tangent is found through its base, and now kept here
            self._forward = extra.forward
            self._deps = extra.deps
            self._nr = extra.output_nr
            if extra.view is not None and not is_output:
                self._tensor = weakref.ref(tensor)
        if modes is switch.normal:
            return
        if modes.saved_hooks:
            self.pack(tensor, *modes.saved_hooks[-1])
        elif modes.mutation_guard is not None:
            self._watched = modes.mutation_guard.watch(tensor)

    @classmethod
    def restored(
        cls, spec: Spec | None, data: Any, tensor: Any, version: int, counter: Any, node: Any, output_nr: int
    ) -> SavedVariable:
        """The record of a value that a node kept in slots of its own."""
        saved = cls(None, is_output=tensor is None)
        saved.spec = spec
        saved._data = data
        saved._tensor = tensor
        saved._version = version
        saved._counter = counter
        saved._node = node
        saved._nr = output_nr
        return saved

    def pack(self, tensor: Tensor, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Hand the tensor to `pack_hook` and keep what it returns instead."""
        version = version_of(tensor)
        if self._forward is not None:
            tensor = handle(tensor)  # tangents stay here; a hook that goes through NumPy would meet an error
        with changed(grad=False):
            packed = pack_hook(tensor)
        if version_of(tensor) != version:
            raise AutogradError(
                "PACK_MUTATED",
                f"a pack hook wrote to the tensor it was given, {describe(tensor.shape, tensor.dtype)}",
                where=f"pack hook {getattr(pack_hook, '__name__', pack_hook)!s}",
                why="the tensor is the forward value itself, and others still use it",
                fix="let the pack hook work on a copy: `t.detach().clone()`",
            )
        self._packed = packed
        self._unpack_hook = unpack_hook
        self._tensor = self._data = self._watched = None

    def unpack(self, owner: Node, as_tensor: bool) -> Any:
        """The value: a payload, or with `as_tensor` a Tensor attached to the history it had."""
        if self.spec is None:
            return None
        # Read before the test: a pass on another thread may release this value in between.
        data, node, packed, watched, tensor = self._data, self._node, self._packed, self._watched, self._living_tensor()
        if self._released:
            raise released_error(owner.name())
        if self._unpack_hook is not None:
            return self._unpack_through_hook(owner, as_tensor, packed, node)
        if watched is not None:
            copy = watched.saved_copy()
            if copy is not None:
                return self._twin(owner, node, copy, None) if as_tensor else copy
        if tensor is not None and tensor._node is None and _is_interior(node):
            raise _detached_error(owner, tensor)
        counter = self._counter if tensor is None else tensor._counter
        version = self._version
        if counter is not None and counter.value != version and counter.has_written(region_of(data), version):
            raise version_error(owner, self.spec, self._producer(owner), counter.value, self._version)
        if not as_tensor:
            return data
        if tensor is not None and tensor._data is data:
            return tensor
        return self._twin(owner, node, data, self._counter)

    def release(self) -> None:
        """Drop the value; reading it again is an error."""
        self._released = True
        self._tensor = self._data = self._packed = self._node = self._watched = self._forward = None

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack this value now, and unpack it through `unpack_hook` whenever it is read."""
        if self.spec is None:
            raise AutogradError(
                "HOOKS_NONE",
                "hooks can not be registered on a saved slot that holds None",
                why="there is no value to pack",
                fix="look at `_saved_<name>` first",
            )
        if self._released:
            raise AutogradError(
                "HOOKS_FREED",
                "hooks can not be registered on a saved value that was already freed",
                why="the graph was released by a backward pass",
                fix="register before backward, or use retain_graph=True",
            )
        if self._unpack_hook is not None:
            raise AutogradError(
                "HOOKS_TWICE",
                "this saved value already has hooks",
                why="a value is packed once",
                fix="register one pair of hooks per saved value",
            )
        copy = None if self._watched is None else self._watched.saved_copy()
        tensor = self._living_tensor()
        if copy is None and tensor is not None and tensor._data is self._data:
            detached = alias(tensor)
        else:
            detached = wrap(self._data if copy is None else copy)
            detached._counter = self._counter if copy is None else None
        self.pack(detached, pack_hook, unpack_hook)

    def _living_tensor(self) -> Tensor | None:
        reference = self._tensor
        return reference() if type(reference) is weakref.ref else reference

    def _producer(self, owner: Node) -> str:
        node = owner if self._is_output else self._node
        return "" if node is None else f"output {self._nr} of {node.name()}"

    def _twin(self, owner: Node, node: Any, payload: Any, counter: VersionCounter | None) -> Tensor:
        """A new tensor on `payload` with the history that the saved one had."""
        twin = Tensor()
        twin._data = payload
        twin._spec = self.spec  # type: ignore[assignment]
        twin._counter = counter
        twin._extra = None if type(payload) is ndarray else Extra()
        twin._meta = None
        twin._nr = self._nr
        if self._is_output and node is not None:
            # The output is a view that was written in place: its history is the view of the base's new history.
            copy_slices, base_spec, steps = node
            with changed(grad=True, saved_hooks=(), interceptors=()):
                view = history_of_view(copy_slices(), base_spec, steps)
            twin._node, twin._nr = view._node, view._nr
        elif self._is_output:
            twin._node = owner
        elif isinstance(node, AccumulateGrad):
            twin._node = Leaf()
            # A strong reference: what the twin is used in must lead to the leaf, whoever else keeps its accumulator.
            twin._node.accumulator = lambda: node
        else:
            twin._node = node
        if self._forward is not None:
            extra_of(twin).forward = self._forward
        if self._deps is not None:
            extra_of(twin).deps = self._deps
        return twin

    def attach_output_to(self, copy_slices: Node, steps: tuple[Any, ...]) -> None:
        """Say that this saved output is the view `steps` of the value whose history is `copy_slices`, held weakly."""
        self._node = (weakref.ref(copy_slices), copy_slices.spec, steps)

    def _unpack_through_hook(self, owner: Node, as_tensor: bool, packed: Any, node: Any) -> Any:
        unpacked = self._unpack_hook(packed)  # type: ignore[misc]
        spec = self.spec
        if not isinstance(unpacked, Tensor):
            raise TypeError(f"an unpack hook must return a Tensor, got {type(unpacked).__name__}")
        if unpacked._spec != spec and not getattr(self._unpack_hook, "skips_metadata_check", False):
            raise AutogradError(
                "UNPACK_META",
                f"an unpack hook returned {unpacked._spec!r} for a value that was saved as {spec!r}",
                where=f"backward of {owner.name()}",
                why="another shape or dtype would give a gradient that is silently wrong",
                fix="return a tensor of the shape and dtype that the pack hook was given",
            )
        if not as_tensor:
            return unpacked._data
        twin = self._twin(owner, node, unpacked._data, unpacked._counter)
        twin._spec = unpacked._spec
        return twin


def _is_interior(node: Any) -> bool:
    return node is not None and not isinstance(node, AccumulateGrad)


def _check_can_be_saved(extra: Any, tensor: Tensor) -> None:
    if extra.inference:
        raise AutogradError(
            "INFERENCE_SAVE",
            f"an inference tensor {describe(tensor.shape, tensor.dtype)} can not be saved for backward",
            why="inference tensors carry no version counter, so a later write to it could not be noticed",
            fix="use a normal copy: `t.clone()` outside inference mode",
        )


def _detached_error(owner: Node, tensor: Tensor) -> AutogradError:
    return AutogradError(
        "SAVED_DETACHED",
        f"backward of {owner.name()} reads a tensor {describe(tensor.shape, tensor.dtype)} that was detached in "
        "place with detach_() after it was saved",
        where=owner.name(),
        why="its history is gone, so a derivative with respect to it can not be formed",
        fix="use detach(), which leaves the tensor as it is",
    )


def version_error(owner: Node, spec: Spec, producer: str, version: int, expected: int) -> AutogradError:
    """The error for a saved value that was overwritten."""
    made_by = f", {producer}," if producer else ""
    hint = (
        "the traceback of the forward call was printed above"
        if current().anomaly
        else "run inside `pb.autograd.detect_anomaly()` to see where the operation was recorded"
    )
    return AutogradError(
        "VERSION",
        f"backward of `{owner.forward_op_name()}` needs a value{made_by} {spec!r}, that has been modified by an "
        f"inplace operation: it is at version {version}, expected version {expected}",
        where=f"{owner.name()}; {hint}",
        why="the gradient is computed from the value of the forward pass, and that value is gone",
        fix="write to a copy (`y = y + 1` instead of `y += 1`), or move the in-place line before the operation",
    )
