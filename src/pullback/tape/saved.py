"""Values kept for backward, and the checks made when they are read.

A value is kept without its tensor: the payload, the epoch of its memory (`tensors/overwrites.py`) and the edge. A
tensor would own its history, which comes to depend on the node that saved it as soon as the tensor is written in place.
On reading, a leaf is found through its accumulator, and other tensors are rebuilt.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import Spec, describe
from pullback.core.state import (
    change,
    change_grad,
    changed,
    current,
    in_force,
    last_entered,
    note_entered,
    open_levels,
    reinstate,
    switch,
)
from pullback.errors import AutogradError
from pullback.payloads.batched import levels_of
from pullback.payloads.kinds import hollow
from pullback.payloads.wrappers import is_array, is_wrapper, leaves_of, rebuilt
from pullback.tape.accumulate import AccumulateGrad, accumulator_of
from pullback.tape.forward.levels import handle, live_levels, store_tangent, tangent_of
from pullback.tape.history import CopySlices, edge_of, history_of_view, requires_grad
from pullback.tape.node import BEHIND, Node, deps_at, released_error
from pullback.tape.transform.tokens import deps_of, living
from pullback.tensors.overwrites import OUTSIDE, UNWRITTEN, Lost, epoch_of, get_policy, is_disturbed, kept_value
from pullback.tensors.tensor import Leaf, Tensor, alias, extra_for, extra_of, version_of, wrap
from pullback.tensors.versions import VersionCounter, counter_of, new_counter

ndarray = np.ndarray


class SavedVariable:
    """A tensor kept for backward, with the version it had when it was kept."""

    __slots__ = (
        "__weakref__",
        "_data",
        "_deps",
        "_epoch",
        "_forward",
        "_is_output",
        "_node",
        "_nr",
        "_packed",
        "_released",
        "_tangents",
        "_tensor",
        "_unpack_hook",
        "spec",
    )

    spec: Spec | None
    _data: Any
    _deps: Any
    _epoch: Any
    _forward: Any
    _is_output: bool
    _node: Any
    _nr: int
    _packed: Any
    _released: bool
    _tangents: Any
    _tensor: Any
    _unpack_hook: Callable[[Any], Any] | None

    def __init__(self, tensor: Tensor | None, is_output: bool = False) -> None:
        self._released = False
        self._packed = self._unpack_hook = self._node = self._epoch = self._tensor = None
        self._forward = self._deps = None
        self._tangents = ()
        self._nr = 0
        self._is_output = is_output
        if tensor is None:
            self.spec = self._data = None
            return
        self._keep(tensor)
        modes = current()
        if modes is not switch.normal and modes.saved_hooks:
            self.pack(tensor, *modes.saved_hooks[-1])

    def _keep(self, tensor: Tensor) -> None:
        self.spec = tensor._spec
        self._data = tensor._data
        extra: Any = tensor._extra
        if extra is not None:
            _check_can_be_saved(extra, tensor)
            if open_levels:
                for level in live_levels((tensor,)):
                    tangent_of(tensor, level)  # a view's tangent is found through its base, and now kept here
                extra = tensor._extra  # of a light view another one now, which can keep it
            self._forward = forward = extra.forward
            if forward:
                self._tangents = tuple([(level, _kept_tangent(tangent)) for level, tangent in forward.items()])
            self._deps = extra.deps
            self._nr = extra.output_nr
        if not self._is_output:
            node = tensor._node
            # An accumulator found through a living edge; a leaf's own marker would not keep it alive.
            self._node = accumulator_of(tensor) if type(node) is Leaf else node
            self._tensor = weakref.ref(tensor)
        self._epoch = epoch_of(tensor)

    @classmethod
    def of_written_view(cls, node: Node, view: Tensor) -> SavedVariable:
        """A view that `node` has written, as its output. The view's base owns the history that owns this record, so
        neither is held: the view's history is made anew from that of the base, held weakly."""
        info = view._extra.view  # type: ignore[union-attr]
        stand_in = Tensor()
        stand_in._data = view._data
        stand_in._spec = view._spec
        stand_in._counter = view._counter
        stand_in._extra = stand_in._meta = None
        stand_in._node, stand_in._nr = node, 0
        for level in live_levels((view,)) if open_levels else ():
            tangent = tangent_of(view, level)
            if tangent is not None:
                store_tangent(stand_in, level, tangent, borrowed=True)
        saved = cls(stand_in, is_output=True)
        saved._deps = deps_of(view)
        base: Tensor = info.base
        if isinstance(base._node, CopySlices):
            saved._node = weakref.ref(base._node), base._spec, info.steps, levels_of(base._data)
        return saved

    @classmethod
    def restored(
        cls, spec: Spec | None, data: Any, epoch: Any, node: Any, output_nr: int, is_output: bool = False
    ) -> SavedVariable:
        """The record of a value that a node kept in slots of its own."""
        saved = cls(None, is_output)
        saved.spec = spec
        saved._data = data
        saved._epoch = epoch
        saved._node = node
        saved._nr = output_nr
        saved._deps = BEHIND if is_output or node is not None else None
        return saved

    def pack(self, tensor: Tensor, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Hand the tensor to `pack_hook` and keep what it returns instead."""
        version = version_of(tensor)
        if self._forward is not None:
            tensor = handle(tensor)  # tangents stay here; a hook that goes through NumPy would meet an error
        settings = in_force()
        change_grad(False)
        try:
            packed = pack_hook(tensor)
        finally:
            reinstate(settings)
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
        if not (isinstance(packed, Tensor) and packed._data is tensor._data):
            self._data = self._epoch = None

    def unpack(self, owner: Node, as_tensor: bool) -> Any:
        """The value: a payload, or with `as_tensor` a Tensor attached to the history it had."""
        if self.spec is None:
            return None
        # Read before the test: a pass on another thread may release this value in between.
        data, node, packed = self._data, self._node, self._packed
        if self._released:
            raise released_error(owner.name())
        if self._unpack_hook is not None:
            return self._unpack_through_hook(owner, as_tensor, packed, node)
        value = self._value(owner, data)
        if type(value) is not np.ndarray and hasattr(value, "recorder"):
            value.recorder.unpacked.add(id(value.storage))
        if not as_tensor:
            return value
        tensor = self._living_tensor()
        if tensor is not None and value is data:
            return tensor
        return self._twin(owner, node, value, self._counter(value, data))

    def _value(self, owner: Node, data: Any) -> Any:
        """What the payload held when it was saved; an error if that is gone."""
        value = kept_value(data, self._epoch) if is_disturbed(data, self._epoch) else data
        if type(value) is Lost:
            raise version_error(
                owner, self.spec, self._producer(owner), value.present_version(), value.expected, value.place
            )
        return value

    def _living_tensor(self) -> Tensor | None:
        """The tensor that was saved, if it lives and is still what it was then."""
        node = self._node
        if isinstance(node, AccumulateGrad):
            tensor: Any = node.variable
            is_end = tensor._node is None or type(tensor._node) is Leaf  # it may not require grad any more
            return tensor if tensor._data is self._data and is_end else None
        tensor = None if self._tensor is None else self._tensor()
        if tensor is None or tensor._data is not self._data or tensor._node is not node:
            return None
        return None if is_disturbed(self._data, self._epoch) else tensor

    def _counter(self, value: Any, data: Any) -> VersionCounter | None:
        """The counter of a tensor rebuilt on `value`: that of the memory, if others have it too, and otherwise one by
        which whoever saves the tensor again is in the same epoch."""
        epoch = self._epoch
        if epoch is None or epoch is UNWRITTEN or value is not data:
            return None
        counter = counter_of(epoch)
        if counter is None or not counter.shared:
            counter = new_counter()
            counter.epoch = epoch
        return counter

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what its pack hook returned; None if there is nothing, or it was released."""
        if self._unpack_hook is not None or self._data is None:
            return self._packed
        tensor = self._living_tensor()
        return self._kept_payload() if tensor is None else tensor

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The hook that turns `data` into a tensor, None if it is one."""
        return None if self._released else self._unpack_hook

    def _kept_payload(self) -> Tensor:
        value = kept_value(self._data, self._epoch)
        kept = wrap(self._data if type(value) is Lost else value)
        kept._counter = self._counter(value, self._data)
        return kept

    def release(self) -> None:
        """Drop the value; reading it again is an error."""
        self._released = True
        self._data = self._packed = self._node = self._epoch = self._forward = self._tensor = None
        self._tangents = ()

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack this value now, and unpack it through `unpack_hook` whenever it is read."""
        if self.spec is None:
            raise AutogradError(
                "HOOKS_NONE",
                "hooks cannot be registered on a saved slot that holds None",
                why="there is no value to pack",
                fix="look at `_saved_<name>` first",
            )
        if self._released:
            raise AutogradError(
                "HOOKS_FREED",
                "hooks cannot be registered on a saved value that was already freed",
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
        tensor = self._living_tensor()
        self.pack(self._kept_payload() if tensor is None else alias(tensor), pack_hook, unpack_hook)

    def _producer(self, owner: Node) -> str:
        node = owner if self._is_output else self._node
        return "" if node is None else f"output {self._nr} of {node.name()}"

    def _twin(self, owner: Node, node: Any, payload: Any, counter: VersionCounter | None) -> Tensor:
        """A new tensor on `payload` with the history that the saved one had."""
        twin = Tensor()
        twin._data = payload
        twin._spec = self.spec  # type: ignore[assignment]
        twin._counter = counter
        twin._extra = extra_for(payload)
        twin._meta = None
        twin._nr = self._nr
        if self._is_output and node is not None:
            # The output is a view that was written in place: its history is the view of the base's new history.
            copy_slices, base_spec, steps, levels = node
            with changed(grad=True, saved_hooks=(), interceptors=()):
                view = history_of_view(copy_slices(), base_spec, steps, levels)
            twin._node, twin._nr = view._node, view._nr
        elif self._is_output:
            twin._node = owner
        elif isinstance(node, AccumulateGrad) and node.variable._node is None:
            twin._node = None  # the leaf does not require grad any more
        elif isinstance(node, AccumulateGrad):
            twin._node = Leaf()
            # A strong reference: what the twin is used in must lead to the leaf, whoever else keeps its accumulator.
            twin._node.accumulator = lambda: node
        else:
            twin._node = node
        for level, tangent in self._tangents:
            store_tangent(twin, level, tangent.unpack(owner, True), borrowed=True)
        deps = deps_at(owner) if self._deps is BEHIND else self._deps
        alive = living(deps)
        if alive is not None:
            within = current().within
            if twin._extra is None and within is not None and alive == within.deps:
                twin._extra = within
            else:
                extra_of(twin).deps = deps
        return twin

    def _unpack_through_hook(self, owner: Node, as_tensor: bool, packed: Any, node: Any) -> Any:
        if self._data is not None:  # packed was the value itself, which may have been written since
            value = kept_value(self._data, self._epoch)
            packed = packed if value is packed._data or type(value) is Lost else wrap(value)
        settings = in_force()
        try:
            unpacked = self._unpack_hook(packed)  # type: ignore[misc]
        finally:
            reinstate(settings)
        spec = self.spec
        if not isinstance(unpacked, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(unpacked)}"
            )
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
        is_constant = node is None and not self._is_output and self._forward is None and self._deps is None
        if is_constant and not requires_grad(unpacked):
            return unpacked  # the very object, as without hooks
        twin = self._twin(owner, node, unpacked._data, unpacked._counter)
        twin._spec = unpacked._spec
        return twin


def _kept_tangent(tangent: Tensor) -> SavedVariable:
    """A tangent of what is saved, which is written with it. Hooks do not see it."""
    if requires_grad(tangent):
        edge_of(tangent)  # a view of a base that was written gets its present history before it is saved
    kept = SavedVariable(None)
    kept._keep(tangent)
    return kept


def _check_can_be_saved(extra: Any, tensor: Tensor) -> None:
    if extra.inference:
        raise AutogradError(
            "INFERENCE_SAVE",
            f"an inference tensor {describe(tensor.shape, tensor.dtype)} cannot be saved for backward",
            why="inference tensors carry no version counter, so a later write to it could not be noticed",
            fix="use a normal copy: `t.clone()` outside inference mode",
        )


def version_error(
    owner: Node, spec: Any, producer: str, version: Any, expected: int, place: Any = None
) -> AutogradError:
    """The error for a saved value that was overwritten, on the line `place` if that is known."""
    made_by = f", {producer}," if producer else ""
    hint = (
        "the traceback of the forward call was printed above"
        if current().anomaly
        else "run inside `pb.autograd.detect_anomaly()` to see where the operation was recorded"
    )
    written = "" if place is None or place is OUTSIDE else f"written at {place[0]}:{place[1]}; "
    if place is OUTSIDE:
        return AutogradError(
            "VERSION",
            f"backward of `{owner.forward_op_name()}` needs the NumPy array {spec!r}, that has been modified by an "
            "inplace operation: a write to the array itself, after it met a tensor",
            where=f"{owner.name()}; {hint}",
            why="the gradient is computed from what the array held in the forward pass, and it was not copied",
            fix="hand over a copy, x * w.copy(), or a tensor, pb.tensor(w), where the array is used again",
        )
    return AutogradError(
        "VERSION",
        f"backward of `{owner.forward_op_name()}` needs a value{made_by} {spec!r}, that has been modified by an "
        f"inplace operation: it is at version {version}, expected version {expected}",
        where=f"{owner.name()}; {written}{hint}",
        why="the gradient is computed from the value of the forward pass, and that value is gone",
        fix="write to a copy, or let the write keep the old value: overwrite_policy('preserve')"
        + (", with leaves='preserve' for leaves" if get_policy().policy == "preserve" else ""),
    )


# Hooks for values saved for backward: replace what is kept, or refuse that anybody does.

class saved_tensors_hooks:
    """Inside the block every tensor saved for backward goes through `pack`, and through `unpack` when it is read.

    `pack(tensor)` runs when the value is saved and may return anything; `unpack` turns that back into a tensor of the
    same shape and dtype. Of nested blocks the innermost applies. The tensor itself is no longer checked for writes.
    With `pack_parts` a tensor on a payload made of parts goes through the hooks part by part.

    >>> def pack(tensor):
    ...     return tensor.numpy().astype("float32")
    >>> def unpack(array):
    ...     return pb.asarray(array.astype("float64"))
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> with pb.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = x * x  # keeps x in single precision
    >>> y.backward()
    """

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any], *, pack_parts: bool = False
    ) -> None:
        self.pack_hook = _packing_parts(pack_hook) if pack_parts else pack_hook
        self.unpack_hook = _unpacking_parts(unpack_hook) if pack_parts else unpack_hook
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        modes = current()
        if modes.hooks_disabled is not None:
            raise RuntimeError(modes.hooks_disabled)
        note_entered(self._entered, change(saved_hooks=(*modes.saved_hooks, (self.pack_hook, self.unpack_hook))))

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._entered, self))


class _PackedParts:
    """What a pack hook has made of the parts of a payload; `like` is such a payload without memory."""

    __slots__ = ("like", "parts")

    def __init__(self, like: Any, parts: dict[tuple[str, ...], Any]) -> None:
        self.like, self.parts = like, parts


def _packing_parts(pack: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def packed(tensor: Any) -> Any:
        payload = tensor._data
        if not is_wrapper(payload):
            return pack(tensor)
        made = {path: pack(wrap(part)) for path, part in leaves_of(payload) if is_array(part)}
        return _PackedParts(hollow(payload), made)

    return packed


def _unpacking_parts(unpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def unpacked(packed: Any) -> Any:
        if not isinstance(packed, _PackedParts):
            return unpack(packed)
        return wrap(rebuilt(packed.like, lambda path, _: unpack(packed.parts[path])._data))

    return unpacked


class disable_saved_tensors_hooks:
    """Inside the block using `saved_tensors_hooks` is an error with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        if current().saved_hooks:
            raise RuntimeError(self.error_message)
        note_entered(self._entered, change(hooks_disabled=self.error_message))

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._entered, self))


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory. They are there already, so this changes nothing."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        # A detached alias: an output that kept itself would keep its own node, too.
        super().__init__(lambda tensor: tensor.detach(), lambda tensor: tensor)
