"""Which calls have a short way (`_fast_call.py`): what arguments may be, and what a function may do."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._metadata import OWN, MutationType, OutputType
from pullback.autograd._variable import refresh_view
from pullback.core.state import open_levels
from pullback.tensors.tensor import Extra, Tensor
from pullback.tensors.views import CreationMeta

_PLAIN_KINDS = (OutputType.non_alias, OutputType.unsafe_view_alias)


def is_plain(leaf: Any) -> bool:
    """Is an argument or a captured tensor one that a short way knows?"""
    if isinstance(leaf, Tensor):
        is_known = type(leaf) is Tensor and (leaf._extra is None or is_usual(leaf))
        return is_known and type(leaf._data) is np.ndarray and leaf._data.flags.aligned
    return not isinstance(leaf, np.ndarray) or (type(leaf) is np.ndarray and leaf.flags.aligned)


def is_usual(tensor: Tensor) -> bool:
    """Is a tensor that needs care only an ordinary view, or not the first output of its node? The history of a view is
    brought up to date."""
    extra = tensor._extra
    if type(extra) is not Extra or extra.inference or extra.readonly or open_levels:
        return False
    if extra.forward is not None or extra.deps is not None:
        return False
    if extra.view is not None:
        if extra.view.creation_meta is not CreationMeta.DEFAULT:
            return False
        refresh_view(tensor)
    return True


def is_plain_entry(entry: Any) -> bool:
    """Does an entry do nothing that only the general way can do?"""
    meta = entry.meta
    return (
        entry.deferred_error is None
        and meta.grad_enabled_mutation is None
        and not meta.backward_writes
        and not meta.num_intermediate_bases
        and not entry.fit.met
        and bool(entry.tangent_specs) is entry.is_training
        and all(is_plain(captured.tensor) for captured in entry.fit.captured)
        and all(not given.members and _is_plain_input(given) for given in entry.inputs)
        and not any(_is_overwritten(saved, entry.inputs) for saved in entry.saved)
        and all(info.duplicate_of is None for info in meta.input_info)
        and all(_is_plain_output(info) for info in meta.output_info)
    )


def _is_plain_input(given: Any) -> bool:
    info = given.info
    if info.sets_requires_grad is not None or info.retains_grad:
        return False
    if info.mutation_type is MutationType.NOT_MUTATED:
        return not info.version_bumps
    return info.mutation_type is MutationType.MUTATED_IN_GRAPH and not given.wants_grad


def _is_overwritten(saved: Any, inputs: list[Any]) -> bool:
    return saved.is_checked and saved.input_index is not None and inputs[saved.input_index].info.mutates_data


def _is_plain_output(info: Any) -> bool:
    if info.raw_type is not Tensor or info.duplicate_of is not None or info.output_type is OutputType.is_input:
        return True
    if info.output_type not in OWN:  # a view of an argument, which `replayed` makes
        return info.output_type is OutputType.alias_of_input and info.view_of_output is None and not info.detached
    return (
        info.output_type in _PLAIN_KINDS
        and info.alias_group is None
        and info.view_of_output is None
        and not info.retains_grad
        and not info.version
        and not info.inference
        and info.creation == "DEFAULT"
        and info.requires_grad is info.requires_grad_for_backward
    )
