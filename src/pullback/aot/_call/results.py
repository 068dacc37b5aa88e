"""The results of a compiled call: new tensors on arrays that the graph returns, and views of inputs and of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.aot._metadata import OWN, OutputAliasInfo, OutputType, ViewAndMutationMeta
from pullback.aot._trace.leaves import strided_view
from pullback.core.state import changed, current
from pullback.operators.arrays.complex_parts import view_as_complex, view_as_real
from pullback.tape.history import requires_grad
from pullback.tape.tensor_members import detach, requires_grad_
from pullback.tensors.tensor import Tensor, alias, extra_of, from_outside, shared_counter, version_of, wrap
from pullback.tensors.versions import VersionCounter
from pullback.tensors.views import CreationMeta, ViewInfo, view_of

_UNMADE: Any = object()


class Results:
    """Makes the results of one call. `attach` gives a tensor the next output of the call's node as its history,
    `input_at` is the caller's object in a slot."""

    def __init__(
        self, meta: ViewAndMutationMeta, attach: Callable[[Tensor], None], input_at: Callable[[int], Any]
    ) -> None:
        self.meta = meta
        self.attach = attach
        self.input_at = input_at
        self.made: list[Any] = [_UNMADE] * len(meta.output_info)
        self.bases: list[Tensor] = []
        self.detached: dict[int, Tensor] = {}  # by number
        self.counters: dict[int, VersionCounter] = {}  # by number

    def own(self, arrays: Sequence[Any]) -> None:
        """Make what the graph returns: first the results, then intermediates that other results are views of."""
        infos = self.meta.output_info
        for position, info in enumerate(infos):
            if info.raw_type is not Tensor:
                self.made[position] = info.literal
            elif info.output_type in OWN and info.duplicate_of is None:
                self.made[position] = self._new(arrays[position], info)
        for array, introduced_by in zip(arrays[len(infos) :], self.meta.base_introduced_by, strict=True):
            base = _tensor_on(array, infos[introduced_by])
            if len(self.bases) in self.meta.leaf_bases:
                requires_grad_(base)  # a leaf that was made in the function
            else:
                self.attach(base)
            self.bases.append(base)
        self._count_together()
        for position, info in enumerate(infos):
            if info.output_type in OWN and info.duplicate_of is None and info.raw_type is Tensor:
                self._relate(self.made[position], info)

    def connected(self) -> None:
        """Make the results that have a history: their inputs may be detached afterwards."""
        for position, info in enumerate(self.meta.output_info):
            if info.requires_grad:
                self.at(position)

    def all(self) -> list[Any]:
        """All results, in order."""
        return [self.at(position) for position in range(len(self.made))]

    def at(self, position: int) -> Any:
        """One result, made now if it is a view of another."""
        if self.made[position] is _UNMADE:
            info = self.meta.output_info[position]
            made = self._alias(info) if info.duplicate_of is None else self.at(info.duplicate_of)
            self.made[position] = made
        return self.made[position]

    # Results on arrays of the graph.

    def _new(self, array: Any, info: OutputAliasInfo) -> Tensor:
        if info.memory_of is not None:
            owner = self.input_at(info.memory_of)
            if isinstance(owner, Tensor):
                shared_counter(owner)  # or a write to it would leave the memory to the result
            array = strided_view(owner, info.strided)  # type: ignore[arg-type]
        tensor = _tensor_on(array, info)
        if info.memory_of is not None:
            from_outside(tensor)
        if info.requires_grad_for_backward:
            self.attach(tensor)
        elif info.requires_grad:
            with changed(inference=info.inference):  # an inference tensor gets its flag where it was made
                requires_grad_(tensor)
        if info.retains_grad:
            tensor.retain_grad()
        return tensor

    def _count_together(self) -> None:
        """Results on one piece of memory count their writes together, beginning with those of the function."""
        infos = self.meta.output_info
        introduced = zip(self.meta.base_introduced_by, self.bases, strict=True)
        for position, tensor in [*introduced, *enumerate(self.made)]:
            info = infos[position]
            if not isinstance(tensor, Tensor) or info.inference:
                continue
            owner = None if info.counter_of is None else self.input_at(info.counter_of)
            if isinstance(owner, Tensor):
                tensor._counter = shared_counter(owner)
            elif info.counter in self.counters or info.version or info.alias_group is not None:
                self._count(tensor, info)

    def _count(self, tensor: Tensor, info: OutputAliasInfo) -> None:
        """Count the writes to a tensor together with those to others of the same counter."""
        if info.counter in self.counters:
            tensor._counter = self.counters[info.counter]
        else:
            counter = self.counters[info.counter] = shared_counter(tensor)  # type: ignore[assignment]
            counter.value = info.version  # type: ignore[union-attr]

    def _relate(self, tensor: Tensor, info: OutputAliasInfo) -> None:
        """Make a result a view for autograd where it has to be one: of another result, or so as to refuse writes."""
        meta, steps = CreationMeta[info.creation], info.view_steps
        if info.view_of_output is not None:
            base = self.at(info.view_of_output)
        elif info.view_of_memory or (info.memory_of is not None and meta in (CreationMeta.CUSTOM, CreationMeta.MULTI)):
            base = self.input_at(info.memory_of)  # type: ignore[arg-type]
        elif meta is not CreationMeta.DEFAULT and not info.inference:
            base = alias(tensor)
            if info.base_requires_grad:
                requires_grad_(base)
        else:
            return
        if isinstance(base, Tensor):
            record = view_of(base)
            if record is not None:  # a view of a view is one of its base
                base, steps = record.base, (*record.steps, *steps)
            extra_of(tensor).view = ViewInfo(base, steps, meta, version_of(tensor))

    # Results that are views.

    def _alias(self, info: OutputAliasInfo) -> Any:
        kind, number = info.output_type, info.base_idx
        assert number is not None
        if kind is OutputType.is_input:
            return self.input_at(number)
        if info.view_of_output is not None:
            return replayed(_as_tensor(self.at(info.view_of_output)), info, info.view_steps)
        if kind is OutputType.alias_of_input:
            base = _as_tensor(self.input_at(number))
        elif kind is OutputType.alias_of_intermediate_base_is_user_output:
            base = self.at(number)
        else:
            base = self.bases[number]
        if info.detached:
            base = self._detached(base, info)
        return replayed(base, info, info.view_meta_sequence)

    def _detached(self, base: Tensor, info: OutputAliasInfo) -> Tensor:
        """The alias without history that one or several results are, or are views of."""
        known = self.detached.get(info.alias_number)
        if known is None:
            if info.counted_apart:
                shared_counter(base)
            known = self.detached[info.alias_number] = wrap(base._data) if info.counted_apart else detach(base)
            if info.counted_apart:
                from_outside(known)
                self._count(known, info)
        return known


def _as_tensor(owner: Any) -> Tensor:
    """What views are taken of: an argument may be a NumPy array."""
    return owner if isinstance(owner, Tensor) else wrap(owner)


def replayed(base: Tensor, info: OutputAliasInfo, steps: Any) -> Tensor:
    """A result that is a view of `base`, with the history that the function gave it."""
    meta = CreationMeta[info.creation]
    is_custom, in_inference = meta in (CreationMeta.CUSTOM, CreationMeta.MULTI), meta is CreationMeta.INFERENCE
    in_grad_mode = info.requires_grad if is_custom else meta is not CreationMeta.NO_GRAD
    modes = current()
    if modes.grad is in_grad_mode and modes.inference is in_inference and not modes.saved_hooks:
        view = _views_taken(base, info, steps)
    else:
        with changed(grad=in_grad_mode, inference=in_inference, saved_hooks=()):
            view = _views_taken(base, info, steps)
    if (info.detached and not info.is_view) or (requires_grad(view) and not info.requires_grad):
        view = detach(view)  # of a view: it has no base
    if is_custom and (record := view_of(view)) is not None:
        extra_of(view)  # no light view any more
        record.creation_meta = meta
    if info.requires_grad and not info.connected:
        requires_grad_(view)
    if info.retains_grad:
        view.retain_grad()
    return view


def _views_taken(base: Tensor, info: OutputAliasInfo, steps: Any) -> Tensor:
    if steps is None:
        return _placed(base, *info.strided)  # type: ignore[misc]
    view = base
    for step in steps:
        view = step(view)
    return view if view is not base or info.detached else base[...]


def _placed(base: Tensor, shape: Any, strides: Any, offset: int, dtype: Any) -> Tensor:
    """The view of these bytes. Numbers and their real and imaginary parts have memory in common."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c" and base.dtype.kind != "c":
        half = dtype.itemsize // 2
        return view_as_complex(_placed(base, (*shape, 2), (*strides, half), offset, base.dtype))
    if dtype != base.dtype:
        base = view_as_real(base) if base.dtype.kind == "c" else base.view(dtype)
    return base.as_strided(shape, tuple(stride // dtype.itemsize for stride in strides), offset // dtype.itemsize)


def _tensor_on(array: Any, info: OutputAliasInfo) -> Tensor:
    tensor = wrap(array)
    if info.inference:
        extra_of(tensor).inference = True
    return tensor
