"""What a trace has found out: how the function treats the memory of its inputs, and what its outputs are.

`ViewAndMutationMeta` is what the runtime works from: with it and two pure graphs it does to the caller's tensors what
the function itself would have done. `str()` of it is a table.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from pullback.core.records import Record, field, replace
from pullback.declare.views import ViewStep

# Where a view lies in memory: shape, strides in bytes, offset in bytes, dtype.
Layout = tuple[tuple[int, ...], tuple[int, ...], int, str]


class OutputType(enum.Enum):
    """What an output of the function is, seen from its caller."""

    non_alias = 1  # an array of its own
    alias_of_input = 2  # a view of an input
    is_input = 3  # an input itself
    alias_of_intermediate_save_as_output = 4  # a view of an intermediate that is returned for this purpose
    alias_of_intermediate = 5  # a view of one that another output has already returned
    alias_of_intermediate_base_is_user_output = 6  # a view of another output
    unsafe_view_alias = 7  # a view of an intermediate that nobody can tell from an array of its own
    custom_function_view = 8  # a view of an input that a custom Function made


class MutationType(enum.Enum):
    """Who writes to an input."""

    NOT_MUTATED = 1
    MUTATED_IN_GRAPH = 2  # the compiled graph, with a store
    MUTATED_OUT_GRAPH = 3  # the runtime, after the graph


class InputAliasInfo(Record, frozen=True):
    """What the function does to one leaf of its arguments."""

    is_leaf: bool
    requires_grad: bool  # after the call
    mutates_data: bool = False
    mutates_metadata: bool = False
    mutates_storage_metadata: bool = False
    mutation_is_shallow_copy_data: bool = False
    mutations_hidden_from_autograd: bool = True
    mutations_under_no_grad_or_inference_mode: bool = False
    mutation_storage_resize: bool = False  # always: NumPy arrays do not grow in place
    keep_input_mutations: bool = True
    tracked: bool = False  # its gradient edge is another one after the call
    sets_requires_grad: bool | None = None
    version_bumps: int = 0
    duplicate_of: int | None = None
    alias_group: int | None = None
    metadata_steps: tuple[ViewStep, ...] = ()  # the views by which its shape and strides changed
    swapped_to: int | None = None  # the input whose memory it was given, if it was given that of an input
    strided: Layout | None = None  # and where in that memory it lies
    retains_grad: bool = False  # retain_grad() was called on it

    @property
    def mutation_type(self) -> MutationType:
        """Who writes to it."""
        if not self.mutates_data and not self.mutates_metadata:
            return MutationType.NOT_MUTATED
        if self.keep_input_mutations and self.mutates_data and not self.mutates_metadata and not self.tracked:
            return MutationType.MUTATED_IN_GRAPH
        return MutationType.MUTATED_OUT_GRAPH

    @property
    def is_returned(self) -> bool:
        """Does the graph return a new value for it, which the runtime writes or makes its memory?"""
        is_written = self.mutation_type is MutationType.MUTATED_OUT_GRAPH and self.mutates_data
        return is_written or (self.mutates_storage_metadata and self.swapped_to is None)


class OutputAliasInfo(Record, frozen=True):
    """What one leaf of the results is."""

    output_type: OutputType
    raw_type: type
    base_idx: int | None = None
    dynamic_dims: frozenset[int] | None = None
    requires_grad: bool = False
    requires_grad_for_backward: bool = False
    view_meta_sequence: tuple[ViewStep, ...] | None = None
    connected: bool = False
    alias_group: int | None = None
    duplicate_of: int | None = None
    strided: Layout | None = None  # where it lies in the memory of its base
    detached: bool = False  # a view of a detached alias of its base
    view_of_memory: bool = False  # it is a view of that input, with a history of its own
    is_view: bool = False  # for autograd: it has a base
    alias_number: int = 0  # outputs with the same number are views of the same alias
    counted_apart: bool = False  # that alias counts its own writes, as the one that `.data` gives does
    creation: str = "DEFAULT"  # how the view was made, which decides whether it may be written
    base_requires_grad: bool = False  # and so does this
    memory_of: int | None = None  # the input whose memory a view made by a custom Function lies in
    view_of_output: int | None = None  # of an output that is no alias for autograd: the output that it is a view of
    view_steps: tuple[ViewStep, ...] = ()  # and how
    version: int = 0
    counter: int = 0  # outputs with the same number count their writes together
    counter_of: int | None = None  # with this input, too
    inference: bool = False
    retains_grad: bool = False
    literal: Any = None  # the result itself, where it is no array


class MemoryFormatMeta(Record, frozen=True):
    """The layout in which a tangent is expected."""

    size: tuple[int, ...]
    stride: tuple[int, ...] | None
    memory_format: str | None = None


class SavedSizes(Record, frozen=True):
    """What of the lengths that vary a backward graph is given; None where it differs from length to length."""

    axes: dict[int, frozenset[int]] | None
    count: int | None


class ViewAndMutationMeta(Record):
    """Everything about one captured function that its graphs do not say."""

    input_info: list[InputAliasInfo]
    output_info: list[OutputAliasInfo]
    num_intermediate_bases: int
    keep_input_mutations: bool
    traced_tangents: list[Any]
    traced_tangents_descs: list[Any]
    traced_tangent_metas: list[Any]  # a MemoryFormatMeta; of a payload a list, its own and those of its parts
    leaf_bases: list[int] = field(default_factory=list)  # the intermediate bases that are leaves
    base_introduced_by: list[int] = field(default_factory=list)  # for each intermediate base, the first output on it
    grad_enabled_mutation: bool | None = None
    static_input_indices: tuple[int, ...] = ()
    indices_of_inputs_that_requires_grad_with_mutations_in_bw: list[int] = field(default_factory=list)
    backward_writes: dict[int, int] = field(default_factory=dict)  # by input of the graph: writes in a backward pass
    effect_sources: dict[int, tuple[int, ...]] = field(default_factory=dict)  # see `_trace/dry_runs.py`
    gradient_sources: list[int] = field(default_factory=list)  # for each input: the tangents that lead to it, as bits
    bw_donated_idxs: list[int] | None = None
    num_tensors_saved_with_no_vc_check: int | None = None
    alias_groups: list[tuple[int, ...]] = field(default_factory=list)
    captures: list[Any] = field(default_factory=list)
    num_opaque_objects_saved_for_bw: int | None = None
    saved_sizes: Any = SavedSizes({}, 0)  # or a function that finds out
    num_saved: int | None = None
    tangent_source_stack_traces: list[str] = field(default_factory=list)  # for each tangent, the line of what it is of
    deterministic: bool = True  # always: every operator gives the same numbers again, whatever the number of threads
    tokens: tuple[str, ...] = ()  # always: effects keep their place by the order of the nodes, forward and backward
    num_backward_tokens: int = 0
    is_rng_op_functionalized: bool = False  # always: graphs draw from the generators of the call
    deferred_backward_error: BaseException | None = None  # no gradient can be computed
    deferred_errors: dict[int, BaseException] = field(default_factory=dict)  # none can from these tangents
    subclass_inp_meta: list[Any] = field(default_factory=list)
    subclass_fw_graph_out_meta: list[Any] = field(default_factory=list)
    subclass_tangent_meta: list[Any] = field(default_factory=list)

    @property
    def mutated_inp_runtime_indices(self) -> list[int]:
        """The inputs that the runtime writes to."""
        return self._slots(MutationType.MUTATED_OUT_GRAPH)

    @property
    def mutated_graph_handled_indices(self) -> list[int]:
        """The inputs that the graph writes to."""
        return self._slots(MutationType.MUTATED_IN_GRAPH)

    @property
    def mutated_graph_handled_indices_seen_by_autograd(self) -> list[int]:
        """Of those, the ones whose version is counted."""
        return [k for k in self.mutated_graph_handled_indices if not self.input_info[k].mutations_hidden_from_autograd]

    def _slots(self, kind: MutationType) -> list[int]:
        return [
            slot for slot, info in enumerate(self.input_info)
            if info.mutation_type is kind and info.duplicate_of is None
        ]  # fmt: skip

    @property
    def aliased_out_indices(self) -> list[int]:
        """The outputs that are made from others, from inputs or from bases."""
        return [k for k, info in enumerate(self.output_info) if info.output_type not in OWN]

    @property
    def unsafe_view_out_indices(self) -> list[int]:
        """The outputs that are views in secret."""
        return [k for k, info in enumerate(self.output_info) if info.output_type is OutputType.unsafe_view_alias]

    @property
    def num_unsafe_view_outputs(self) -> int:
        """How many outputs are views in secret."""
        return len(self.unsafe_view_out_indices)

    @property
    def num_outputs(self) -> int:
        """How many leaves the result has."""
        return len(self.output_info)

    @property
    def num_outputs_aliased_to_inputs(self) -> int:
        """How many of them are inputs or views of inputs."""
        return sum(info.output_type in OF_INPUTS for info in self.output_info)

    @property
    def num_outputs_aliased_to_intermediates(self) -> int:
        """How many of them are views of intermediates."""
        return sum(info.output_type in OF_INTERMEDIATES for info in self.output_info)

    @property
    def num_outputs_aliased(self) -> int:
        """How many of them are aliases."""
        return len(self.aliased_out_indices)

    @property
    def num_outputs_non_aliased(self) -> int:
        """How many of them are not."""
        return self.num_outputs - self.num_outputs_aliased

    @property
    def dynamic_outputs(self) -> bool:
        """Does a size of an output depend on a size of an input?"""
        return any(info.dynamic_dims for info in self.output_info)

    @property
    def output_types(self) -> list[type]:
        """The type expected of each tangent."""
        if not self.subclass_tangent_meta:
            return [np.ndarray for _ in self.traced_tangents_descs]
        return [getattr(each, "original_subclass_type", np.ndarray) for each in self.subclass_tangent_meta]

    @property
    def num_forward_returns(self) -> int:
        """How many arrays the forward graph returns, before those that it saves."""
        later = {slot for group in self.alias_groups for slot in group[1:]}  # a merged group has one value
        mutated = sum(
            info.is_returned and info.duplicate_of is None and slot not in later
            for slot, info in enumerate(self.input_info)
        )
        return mutated + self.num_outputs + self.num_intermediate_bases

    @property
    def num_outputs_rng_offset(self) -> int:
        """How many of them are states of generators: none."""
        return int(self.is_rng_op_functionalized)

    @property
    def num_forward(self) -> int:
        """How many values the forward graph returns before those that it saves."""
        return self.num_forward_returns + self.num_outputs_rng_offset

    @property
    def dynamic_saved_tensors_idxs(self) -> dict[int, frozenset[int]] | None:
        """By position among the saved values: the axes whose length depends on a size of an input. None if other values
        are saved where sizes differ a little."""
        return self._known_saved_sizes().axes

    @property
    def num_symints_saved_for_bw(self) -> int | None:
        """How many sizes of inputs numbers in the backward graph depend on, beyond the shapes of saved values."""
        return self._known_saved_sizes().count

    def _known_saved_sizes(self) -> SavedSizes:
        if callable(self.saved_sizes):
            self.saved_sizes = self.saved_sizes()
        found: SavedSizes = self.saved_sizes
        return found

    def _saved_slice(self, start: int, count: int) -> slice:
        return slice(self.num_forward + start, self.num_forward + start + count)

    @property
    def tensors_saved_for_backwards_slice(self) -> slice:
        """Where the forward graph returns saved arrays."""
        return self._saved_slice(0, self.num_saved or 0)

    @property
    def tensors_saved_for_backwards_with_vc_check_slice(self) -> slice:
        """Of those, the ones in memory that the caller can write to."""
        return self._saved_slice(0, (self.num_saved or 0) - (self.num_tensors_saved_with_no_vc_check or 0))

    @property
    def tensors_saved_for_backwards_no_vc_check_slice(self) -> slice:
        """And the others."""
        count = self.num_tensors_saved_with_no_vc_check or 0
        return self._saved_slice((self.num_saved or 0) - count, count)

    @property
    def opaque_objects_saved_for_backwards_slice(self) -> slice:
        """Where it returns other things that are saved: nowhere."""
        return self._saved_slice(self.num_saved or 0, self.num_opaque_objects_saved_for_bw or 0)

    @property
    def symints_saved_for_backwards_slice(self) -> slice:
        """Where it returns sizes: nowhere, they are part of the graph, which is filled in for those of a call."""
        return self._saved_slice(self.num_saved or 0, 0)

    def make_runtime_safe(self) -> ViewAndMutationMeta:
        """The same without anything of the trace: payloads are replaced by their types, and traced tangents dropped."""
        metas = ("subclass_inp_meta", "subclass_fw_graph_out_meta", "subclass_tangent_meta")
        safe: dict[str, Any] = {name: [each.make_runtime_safe() for each in getattr(self, name)] for name in metas}
        return replace(self, traced_tangents=[], saved_sizes=self._known_saved_sizes(), **safe)

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain types, for JSON."""
        return {
            "inputs": [
                {**_plain(asdict_shallow(info)), "mutation_type": info.mutation_type.name} for info in self.input_info
            ],
            "outputs": [_plain(asdict_shallow(info)) for info in self.output_info],
            "tangents": [desc.expr() for desc in self.traced_tangents_descs],
            "num_intermediate_bases": self.num_intermediate_bases,
            "keep_input_mutations": self.keep_input_mutations,
            "grad_enabled_mutation": self.grad_enabled_mutation,
            "alias_groups": [list(group) for group in self.alias_groups],
            "captures": len(self.captures),
            "deferred_backward_error": _text(self.deferred_backward_error),
        }

    def __str__(self) -> str:
        lines = []
        for slot, info in enumerate(self.input_info):
            lines.append(f"input  {slot}  {info.mutation_type.name:<18}" + _flags(info))
        for position, out in enumerate(self.output_info):
            base = "" if out.base_idx is None else f"({out.base_idx})"
            chain = "" if not out.view_meta_sequence else " via " + ", ".join(s.op.name for s in out.view_meta_sequence)
            twin = "" if out.duplicate_of is None else f"  same as output {out.duplicate_of}"
            grad = "  requires grad" if out.requires_grad else ""
            lines.append(f"output {position}  {out.output_type.name}{base}{chain}{grad}{twin}")
        lines += [f"tangent   {desc.expr()}" for desc in self.traced_tangents_descs]
        return "\n".join(lines)


OWN = frozenset({OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.custom_function_view})
OF_INPUTS = frozenset({OutputType.alias_of_input, OutputType.is_input})
OF_INTERMEDIATES = frozenset({
    OutputType.alias_of_intermediate, OutputType.alias_of_intermediate_save_as_output,
    OutputType.alias_of_intermediate_base_is_user_output,
})  # fmt: skip


def asdict_shallow(info: Any) -> dict[str, Any]:
    """The fields of a record."""
    return {name: getattr(info, name) for name in info.fields}


def _text(error: BaseException | None) -> str | None:
    return None if error is None else str(error)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, ViewStep):
        return value.op.name
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, (tuple, list, frozenset, set)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def _flags(info: InputAliasInfo) -> str:
    words = [
        word for word, holds in (
            ("data", info.mutates_data), ("metadata", info.mutates_metadata), ("tracked", info.tracked),
            ("requires grad", info.requires_grad), ("leaf", info.is_leaf),
        ) if holds
    ]  # fmt: skip
    if info.duplicate_of is not None:
        words.append(f"same as input {info.duplicate_of}")
    return ", ".join(words)
