"""What a function has done to inputs that are wrappers, and what its results are that are wrappers.

The questions are those of `_input_analysis.py` and `_analysis.py`. Where they are asked of memory, they are asked of
all parts; where they are asked of histories, of the tensor. What would need a wrapper to be a view of another one that
nobody returns is refused.
"""

from __future__ import annotations

from typing import Any

from pullback.aot._analysis import Outputs, root_tensor
from pullback.aot._input_analysis import flag_set, same_place
from pullback.aot._metadata import InputAliasInfo, OutputAliasInfo, OutputType
from pullback.aot._wrappers import arrays_of, is_wrapped, parts_of
from pullback.aot._wrappers_trace import WrappedPrimal, WrapperTrace
from pullback.autograd._variable import edge_of, grad_fn, requires_grad
from pullback.core.records import replace
from pullback.errors import AliasError, FunctionalizationError
from pullback.payloads.traced import TracedArray, user_location
from pullback.tensors.tensor import Tensor, is_inference, shared_counter, version_of
from pullback.tensors.views import CreationMeta, view_of


def wrapped_input_info(primal: WrappedPrimal, keep: bool) -> InputAliasInfo:
    """What the function has done to an input that is a wrapper."""
    tensor, storages = primal.tensor, primal.storages
    writes = sum(storage.generation for storage in storages)
    bumps = version_of(tensor)
    if not _is_unmoved(primal):
        raise FunctionalizationError(
            f"the shape, the memory or the meta of {primal.desc.expr()} was changed, which is a "
            f"{type(primal.payload).__name__}",
            location=user_location(),
            why="only the contents of a payload's parts can be written in a captured function",
            fix="return the changed tensor",
        )
    flag = flag_set(primal)
    if flag:
        primal.edge = edge_of(tensor)
    quiet = sum(storage.no_grad + storage.hidden for storage in storages)
    return InputAliasInfo(
        is_leaf=primal.original.is_leaf,
        requires_grad=requires_grad(tensor),
        mutates_data=writes > 0,
        mutations_hidden_from_autograd=not bumps or writes <= sum(storage.hidden for storage in storages),
        mutations_under_no_grad_or_inference_mode=writes > 0 and (not bumps or writes <= quiet),
        keep_input_mutations=keep,
        tracked=requires_grad(tensor) and writes > 0 and edge_of(tensor) != primal.edge,
        sets_requires_grad=flag,
        version_bumps=bumps,
        retains_grad=tensor._meta is not None and tensor._meta.retains_grad,
    )


def _is_unmoved(primal: WrappedPrimal) -> bool:
    """Does the tensor still have its payload, on the same arrays and with the same meta?"""
    final = primal.tensor._data
    if final is not primal.payload:
        return False
    now = arrays_of(final)
    same_arrays = len(now) == len(primal.parts) and all(
        type(mine) is TracedArray and mine.storage is before.storage and same_place(mine, before)
        for mine, before in zip(now, primal.parts, strict=True)
    )
    return same_arrays and tuple(final.shape) == tuple(primal.original.shape) and parts_of(final)[1] == parts_of(
        primal.original._data
    )[1]  # fmt: skip


def check_apart(trace: WrapperTrace, outs: list[Any]) -> None:
    """Raise if a plain result lies in the memory of a part: it would have to be a view of what has no views."""
    parts = {id(storage): primal for primal in trace.wrapped_primals for storage in primal.storages}
    for position, out in enumerate(outs):
        if isinstance(out, Tensor) and not is_wrapped(out):
            primal = parts.get(id(out._data.storage))
            if primal is not None:
                raise AliasError(
                    f"output {position} is a plain tensor in the memory of a part of {primal.desc.expr()}",
                    why="a plain tensor can not be made again as a view of a payload",
                    fix="return a .copy() of it",
                )


class WrappedOutputs:
    """The classification of the results that are wrappers, beside that of the others."""

    def __init__(self, trace: WrapperTrace, outs: list[Any], plain: Outputs) -> None:
        self.trace, self.outs, self.plain = trace, outs, plain
        self.first: dict[int, int] = {}
        self.on: dict[int, list[int]] = {}  # id of a storage made here: the outputs whose values lie in it
        for position, out in enumerate(outs):
            if is_wrapped(out) and id(out) not in self.first:
                self.first[id(out)] = position
                for storage in _values_memory(out):
                    self.on.setdefault(id(storage), []).append(position)
        self.infos: dict[int, OutputAliasInfo] = {}
        for position, out in enumerate(outs):
            if is_wrapped(out):
                first = self.first[id(out)]
                self.infos[position] = (
                    self._info(position, out) if first == position
                    else replace(self.infos[first], duplicate_of=first)
                )  # fmt: skip

    def _info(self, position: int, leaf: Tensor) -> OutputAliasInfo:
        connected = grad_fn(leaf) is not None  # this brings the history of a view up to date
        kind, number = self._kind(position, leaf, connected)
        info = view_of(leaf)
        is_replayed = number is not None and kind is not OutputType.is_input
        counter = shared_counter(leaf)
        shares = any(len(self.on[id(storage)]) > 1 for storage in _values_memory(leaf))
        return OutputAliasInfo(
            output_type=kind,
            raw_type=Tensor,
            base_idx=number,
            dynamic_dims=frozenset(),
            requires_grad=requires_grad(leaf),
            requires_grad_for_backward=requires_grad(leaf) and connected,
            view_meta_sequence=info.steps if is_replayed and info is not None else None,
            connected=connected,
            alias_group=position if shares else None,
            is_view=info is not None,
            creation="DEFAULT" if info is None else info.creation_meta.name,
            base_requires_grad=info is not None and requires_grad(info.base),
            version=version_of(leaf),
            counter_of=next((k for k, p in self._inputs() if p.tensor._counter is counter), None),
            counter=self.plain.counters.setdefault(id(counter), len(self.plain.counters)),
            inference=is_inference(leaf),
            retains_grad=leaf._meta is not None and leaf._meta.retains_grad,
        )

    def _inputs(self) -> list[tuple[int, Any]]:
        return [*self.trace.wrapped.items(), *self.plain.inputs]

    def _kind(self, position: int, leaf: Tensor, connected: bool) -> tuple[OutputType, int | None]:
        root = root_tensor(leaf)
        for slot, primal in self.trace.wrapped.items():
            if primal.tensor is leaf:
                return OutputType.is_input, slot
            if primal.tensor is root and not _is_custom(leaf):
                return OutputType.alias_of_input, slot
        if root is leaf or not requires_grad(leaf) or not requires_grad(root):
            return OutputType.non_alias, None
        at = self.first.get(id(root))
        if at is not None and not _is_custom(leaf):
            return OutputType.alias_of_intermediate_base_is_user_output, at
        for storage in _values_memory(leaf):
            if len(self.on[id(storage)]) > 1:
                raise AliasError(
                    f"outputs {', '.join(map(str, self.on[id(storage)]))} are views of one intermediate, which is a "
                    f"{type(leaf._data).__name__}",
                    why="a write to one of them would have to be seen through the others, and their base is not "
                    "returned",
                    fix="return the base as well, or .copy() of all but one",
                )
        return OutputType.unsafe_view_alias, None


def _values_memory(out: Tensor) -> list[Any]:
    """The storages in which the values of a wrapper lie, as far as they were made in the function."""
    return [
        part.storage for part in arrays_of(out._data)
        if type(part) is TracedArray and part.dtype == out.dtype and part.storage.slot is None
    ]  # fmt: skip


def _is_custom(tensor: Tensor) -> bool:
    info = view_of(tensor)
    return info is not None and info.creation_meta in (CreationMeta.CUSTOM, CreationMeta.MULTI)
