"""Which calls have a short way (`_fast_call.py`): what arguments may be, and what a function may do."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._metadata import MutationType, OutputType
from pullback.tensors.tensor import Tensor

LITERALS = (int, bool, str, type(None))


def is_plain(leaf: Any) -> bool:
    """Is an argument or a captured tensor one that a short way knows?"""
    if type(leaf) is Tensor:
        return leaf._extra is None and type(leaf._data) is np.ndarray and leaf._data.flags.carray
    if type(leaf) is np.ndarray:
        return leaf.flags.carray
    return type(leaf) in LITERALS or (type(leaf) is float and leaf == leaf and leaf != 0)


def is_plain_entry(entry: Any) -> bool:
    """Does an entry do nothing that only the general way can do?"""
    meta = entry.meta
    return (
        entry.deferred_error is None
        and meta.grad_enabled_mutation is None
        and not meta.backward_writes
        and not meta.num_intermediate_bases
        and not entry.fit.met
        and all(is_plain(captured.tensor) for captured in entry.fit.captured)
        and all(not given.members and _is_plain_input(given) for given in entry.inputs)
        and not any(_is_overwritten(saved, entry.inputs) for saved in entry.saved)
        and all(info.duplicate_of is None for info in meta.input_info)
        and all(_is_plain_output(info) for info in meta.output_info)
        and all(saved.value.type.strides is None or not saved.is_input for saved in entry.saved)
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
    return (
        info.output_type in (OutputType.non_alias, OutputType.unsafe_view_alias)
        and info.raw_type is Tensor
        and info.duplicate_of is None
        and info.alias_group is None
        and info.view_of_output is None
        and not info.retains_grad
        and not info.version
        and not info.inference
        and info.creation == "DEFAULT"
        and info.requires_grad is info.requires_grad_for_backward
    )
