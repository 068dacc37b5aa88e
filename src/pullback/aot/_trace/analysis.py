"""From a finished trace to `OutputAliasInfo`: what each output is, seen from the caller.

The tree of questions for an output `o` on storage `S`, of which `n` different outputs are:

    o is an earlier output                              the same as that
    o is no tensor                                      non_alias
    o is an input                                       is_input
    S belongs to an input
        a custom Function made o a view, with history,
        or o has a history that is not the input's      custom_function_view
        otherwise                                       alias_of_input
    o is a view, and o and its base require grad
        it is the only output on S, or
        a custom Function made it                       unsafe_view_alias
        its base is an output                           alias_of_intermediate_base_is_user_output
        its base is already returned for another        alias_of_intermediate
        otherwise                                       alias_of_intermediate_save_as_output
    another output of the same place requires grad,
    and o does not                                      alias_of_intermediate_base_is_user_output
    otherwise                                           non_alias

Pieces of a split are views like any other here, since eager code may write to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._metadata import InputAliasInfo, Layout, OutputAliasInfo, OutputType
from pullback.aot._trace.leaves import address, are_same_views
from pullback.aot._trace.trace import Primal, Trace
from pullback.core.records import replace
from pullback.declare.views import ViewStep
from pullback.errors import FunctionalizationError, TraceError
from pullback.payloads.traced import TracedArray
from pullback.tape.history import edge_of, grad_fn, requires_grad
from pullback.tape.node import Node
from pullback.tensors.tensor import Leaf, Tensor, is_inference, shared_counter, version_of
from pullback.tensors.views import CreationMeta, view_of

# From a finished trace to `InputAliasInfo`: what the function has done to each of its inputs.

Steps = tuple[ViewStep, ...]


def input_info(trace: Trace, primal: Primal, keep: bool, group: int | None = None) -> InputAliasInfo:
    """What the function has done to one input."""
    tensor, storage = primal.tensor, primal.storage
    final: TracedArray = tensor._data
    swapped = final.is_swapped_in and not (final.storage is storage and same_place(final, primal.payload))
    writes, bumps = storage.generation, version_of(tensor)
    flag = flag_set(primal)
    if flag:
        primal.edge = edge_of(tensor)
    # Memory that it was given, and that turns out to be its own, was reached by views which are no change of shape.
    steps = () if final.is_swapped_in else relative(final, primal.payload) or ()
    moved = swapped or layout_in(final, primal.payload) != layout_in(primal.payload, primal.payload)
    if steps and type(tensor._node) is Leaf:
        primal.former_edge, primal.edge = primal.edge, edge_of(tensor)  # another shape, another accumulator
    tracked = requires_grad(tensor) and (writes > 0 or swapped) and _before_views(tensor, len(steps)) != primal.edge
    if swapped and tracked:
        raise FunctionalizationError(
            f"{primal.desc.expr()} was given other memory, and then written where gradients are recorded",
            why="the memory belongs to another tensor, whose history knows nothing of the write",
            fix="copy the values with copy_ instead of assigning to .data",
        )
    if swapped and flag and final.dtype != primal.payload.dtype:
        raise FunctionalizationError(
            f"{primal.desc.expr()} was given memory of another dtype, and then made to require grad",
            why="the flag is set before anything else happens to an argument, and its own dtype need not allow it",
            fix="assign to .data outside of the function",
        )
    to, place = _swapped_to(trace, final) if swapped else (None, None)
    return InputAliasInfo(
        is_leaf=bool(getattr(primal.original, "is_leaf", False)),
        requires_grad=requires_grad(tensor),
        mutates_data=writes > 0 and not swapped,
        mutates_metadata=moved,
        mutates_storage_metadata=swapped,
        mutation_is_shallow_copy_data=swapped,
        mutations_hidden_from_autograd=not bumps or writes <= storage.hidden,
        mutations_under_no_grad_or_inference_mode=writes > 0
        and (not bumps or writes <= storage.no_grad + storage.hidden),
        keep_input_mutations=keep,
        tracked=tracked,
        sets_requires_grad=flag,
        version_bumps=bumps,
        alias_group=group,
        metadata_steps=steps,
        swapped_to=to,
        strided=place,
        retains_grad=tensor._meta is not None and tensor._meta.retains_grad,
    )


def flag_set(primal: Any) -> bool | None:
    """What `requires_grad_` was called with on the input itself, if it was; False if it was detached in place."""
    before, node = getattr(primal.original, "requires_grad", False), primal.tensor._node
    if not before and type(node) is Leaf:
        return True
    if not before or primal.edge[0] is None:
        return None
    was_leaf = primal.original.is_leaf
    if not was_leaf and type(node) is Leaf:
        raise TraceError(
            f"{primal.desc.expr()} was detached in place and then made to require grad again",
            why="what was computed from it before has another gradient than what was computed afterwards",
            fix="use detach(), which returns a new tensor, and call requires_grad_() on that",
        )
    return False if node is None or (was_leaf and type(node) is not Leaf) else None  # the leaf was let go, and written


def _before_views(tensor: Tensor, count: int) -> tuple[Node | None, int]:
    """The gradient edge that the tensor had before the last `count` changes of its shape, if nothing came between."""
    node, number = edge_of(tensor)
    for _ in range(count):
        op = getattr(node, "op", None)
        if node is None or op is None or not op.is_view:
            break
        node, number = next(iter(node.edges()))
    return node, number


def _swapped_to(trace: Trace, final: TracedArray) -> tuple[int | None, Layout | None]:
    """The input whose memory this is, and where it lies there."""
    for slot, other in trace.numbered():
        if other.storage is final.storage:
            return slot, layout_in(final, other.payload)
    return None, None


def layout_in(payload: TracedArray, base: TracedArray) -> Layout:
    """Where an array lies in the memory of another one of its storage."""
    return payload.shape, payload.strides, address(payload.shadow) - address(base.shadow), payload.dtype.str


def same_place(first: TracedArray, second: TracedArray) -> bool:
    """Do two arrays of one storage consist of the same elements in the same order?"""
    mine, theirs = first.shadow, second.shadow
    return (
        mine.shape == theirs.shape
        and mine.dtype == theirs.dtype
        and address(mine) == address(theirs)
        and _effective(mine) == _effective(theirs)
    )


def _effective(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(stride if length != 1 else 0 for stride, length in zip(array.strides, array.shape, strict=True))


def relative(payload: TracedArray, base: TracedArray) -> Steps | None:
    """The views that lead from `base` to `payload`; None if the base's own are not their beginning."""
    count = len(base.steps)
    if payload.storage is not base.storage or not are_same_views(payload.steps[:count], base.steps):
        return None
    return payload.steps[count:]


# Outputs that the runtime makes by taking views again.
REPLAYED = frozenset({
    OutputType.alias_of_input, OutputType.alias_of_intermediate, OutputType.alias_of_intermediate_save_as_output,
    OutputType.alias_of_intermediate_base_is_user_output,
})  # fmt: skip

Kind = tuple[OutputType, int | None, Tensor | None]  # the base's number, and the traced tensor that the base is


class Outputs:
    """The classification of all outputs together."""

    def __init__(self, trace: Trace, leaves: list[Any]) -> None:
        self.leaves = leaves
        self.inputs = list(trace.numbered())
        self._index_inputs()
        self.bases: list[Tensor] = []  # intermediates that are returned because outputs are views of them
        self.numbers: dict[int, int] = {}  # of these, by id
        self.introduced_by: list[int] = []
        self.first: dict[int, int] = {}  # id of a tensor: its first position
        self.on: dict[int, list[int]] = {}  # id of a storage: first positions of the outputs on it
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor) and id(leaf) not in self.first:
                self.first[id(leaf)] = position
                self.on.setdefault(id(leaf._data.storage), []).append(position)
        # Memory that an input was given is seen by the caller through that input as well.
        finals = [(primal.tensor._data.storage, primal.storage) for _, primal in self.inputs]
        self.handed_over = {id(final) for final, own in finals if final is not own}
        self.aliases: dict[int, int] = {}  # numbers of the tensors that outputs are views of, by id
        self.counters: dict[int, int] = {}  # and of their version counters
        self.infos: list[OutputAliasInfo] = []
        for position, leaf in enumerate(leaves):
            self.infos.append(self._info(position, leaf))

    def _index_inputs(self) -> None:
        """Tables of the inputs, by what each output is compared with: there may be thousands of both."""
        self.slots: dict[int, int] = {}  # by id of the tensor
        self.counted: dict[int, int] = {}  # by id of the version counter: the first input that has it
        self.inputs_on: dict[int, list[tuple[int, Primal]]] = {}  # by id of the storage that it has now
        for slot, primal in self.inputs:
            self.slots.setdefault(id(primal.tensor), slot)
            self.counted.setdefault(id(shared_counter(primal.tensor)), slot)
            self.inputs_on.setdefault(id(primal.tensor._data.storage), []).append((slot, primal))

    def _info(self, position: int, leaf: Any) -> OutputAliasInfo:
        if not isinstance(leaf, Tensor):
            return OutputAliasInfo(OutputType.non_alias, type(leaf), literal=leaf)
        first = self.first[id(leaf)]
        if first != position:
            return replace(self.infos[first], duplicate_of=first)
        return self._describe(position, leaf)

    def _describe(self, position: int, leaf: Tensor) -> OutputAliasInfo:
        connected = grad_fn(leaf) is not None  # this brings the history of a view up to date
        kind, number, base = self._kind(position, leaf, connected)
        payload: TracedArray = leaf._data
        info = view_of(leaf)
        shared = self.on[id(payload.storage)]
        is_replayed = kind in REPLAYED
        is_custom = kind is OutputType.custom_function_view
        root = root_tensor(leaf)
        at = self.first.get(id(root)) if root is not leaf else None
        if kind is OutputType.alias_of_intermediate_base_is_user_output and at == number:
            at = None  # it is replayed on that output in any case
        is_elsewhere = is_replayed and (at is not None or base is root) and root._data.storage is not payload.storage
        if is_elsewhere or (root is not leaf and _was_taken_before(leaf, root)):
            raise FunctionalizationError(
                "a result is a view of a tensor that was given other memory",
                why="the view lies in the memory that the tensor had before, and is made again from what it has now",
                fix="take views again after assigning to .data",
            )
        is_apart = base is not None and at is None and root is not root_tensor(base)
        is_of_input = is_custom and root is base and root is not leaf and not _is_custom_view(leaf)
        return OutputAliasInfo(
            output_type=kind,
            raw_type=Tensor,
            base_idx=None if is_custom else number,
            dynamic_dims=frozenset(),
            requires_grad=requires_grad(leaf),
            requires_grad_for_backward=requires_grad(leaf) and connected,
            view_meta_sequence=_chain(payload, base._data) if is_replayed else None,  # type: ignore[union-attr]
            connected=connected,
            alias_group=shared[0] if len(shared) > 1 else None,
            strided=None if base is None else layout_in(payload, base._data),
            detached=is_apart,
            is_view=info is not None,
            alias_number=self.aliases.setdefault(id(root), len(self.aliases)),
            counted_apart=is_apart and shared_counter(leaf) is not shared_counter(base),  # type: ignore[arg-type]
            creation="DEFAULT" if info is None else info.creation_meta.name,
            base_requires_grad=info is not None and requires_grad(info.base),
            memory_of=number if is_custom else None,
            view_of_output=at,
            view_steps=() if info is None or (at is None and not is_of_input) else info.steps,
            view_of_memory=is_of_input,
            version=version_of(leaf),
            counter_of=self.counted.get(id(shared_counter(leaf))),
            counter=self.counters.setdefault(id(shared_counter(leaf)), len(self.counters)),
            inference=is_inference(leaf),
            retains_grad=leaf._meta is not None and leaf._meta.retains_grad,
        )

    def _kind(self, position: int, leaf: Tensor, connected: bool) -> Kind:
        given = self.slots.get(id(leaf))
        if given is not None:
            return OutputType.is_input, given, None
        found = None if leaf._data.storage.frozen else self._input_behind(leaf)
        if leaf._data.storage.frozen and leaf._data.storage.slot is not None:
            raise FunctionalizationError(
                "a result lies in the memory that an argument had, before it was given other memory",
                why="its elements are no longer found through the argument",
                fix="take views again after assigning to .data",
            )
        if found is None:
            return self._of_intermediate(position, leaf, connected)
        slot, primal = found
        root = root_tensor(leaf)
        has_own_history = root is not root_tensor(primal.tensor) and (root is leaf or id(root) not in self.first)
        if connected and (has_own_history or _is_custom_view(leaf) or not _leads_to(leaf, primal.tensor)):
            return OutputType.custom_function_view, slot, primal.tensor
        return OutputType.alias_of_input, slot, primal.tensor

    def _input_behind(self, leaf: Tensor) -> tuple[int, Primal] | None:
        """The input that an output lies in the memory of, and is a view of: the nearest one of its storage."""
        payload, root = leaf._data, root_tensor(leaf)

        def nearness(each: tuple[int, Primal]) -> tuple[bool, bool, bool, bool, bool, int]:
            has_history = requires_grad(each[1].tensor) or not requires_grad(leaf)
            base: TracedArray = each[1].tensor._data
            is_beginning = relative(payload, base) is not None
            was_beginning = relative(payload, each[1].payload) is not None
            is_root = root_tensor(each[1].tensor) is root
            counts = each[1].tensor._counter is leaf._counter
            return has_history, is_beginning, was_beginning, is_root, counts, len(base.steps) if is_beginning else 0

        found = self.inputs_on.get(id(payload.storage), [])
        if payload.storage.slot is None:  # memory made here that an input was given: views of that input know it
            found = [each for each in found if root_tensor(each[1].tensor) is root]
        return max(found, key=nearness) if found else None

    def _of_intermediate(self, position: int, leaf: Tensor, connected: bool) -> Kind:
        storage = leaf._data.storage
        shared = self.on[id(storage)]
        info = view_of(leaf)
        if info is not None and requires_grad(leaf) and requires_grad(info.base):
            is_custom = connected and _is_custom_view(leaf)
            if is_custom or (len(shared) == 1 and id(storage) not in self.handed_over):
                return OutputType.unsafe_view_alias, None, None
            return self._of_base(position, info.base)
        if not requires_grad(leaf):
            for other in shared:
                twin = self.leaves[other]
                if other != position and requires_grad(twin) and same_place(twin._data, leaf._data):
                    return OutputType.alias_of_intermediate_base_is_user_output, other, twin
        return OutputType.non_alias, None, None

    def _of_base(self, position: int, base: Tensor) -> Kind:
        at = self.first.get(id(base))
        if at is not None:
            return OutputType.alias_of_intermediate_base_is_user_output, at, base
        number = self.numbers.setdefault(id(base), len(self.bases))
        if number < len(self.bases):
            return OutputType.alias_of_intermediate, number, base
        self.bases.append(base)
        self.introduced_by.append(position)
        return OutputType.alias_of_intermediate_save_as_output, number, base


def root_tensor(tensor: Tensor) -> Tensor:
    """The tensor of which this is a view, or itself."""
    info = view_of(tensor)
    return tensor if info is None else info.base


def _leads_to(view: Tensor, tensor: Tensor) -> bool:
    """Does the history of a view lead to the tensor, or to the base that they share? Not if a view between them was
    made a leaf, or if the tensor was detached since."""
    ends = [edge_of(each)[0] for each in (tensor, root_tensor(tensor))]
    node = grad_fn(view)
    while node is not None and not any(node is end for end in ends):
        node = node.next[0] if node.next else None
    return node is not None


def _is_custom_view(tensor: Tensor) -> bool:
    info = view_of(tensor)
    return info is not None and info.creation_meta in (CreationMeta.CUSTOM, CreationMeta.MULTI)


def _was_taken_before(leaf: Tensor, root: Tensor) -> bool:
    """Is this a view of a tensor from before it was given another part of its own memory?"""
    info = view_of(leaf)
    now = root._data
    if info is None or info.base is not root or type(now) is not TracedArray:
        return False
    if not now.is_swapped_in or now.storage is not leaf._data.storage:
        return False
    place = now.shadow
    for step in info.steps:
        place = step(place)
    mine = leaf._data.shadow
    return address(place) != address(mine) or place.shape != mine.shape or _effective(place) != _effective(mine)


def _chain(payload: TracedArray, base: TracedArray) -> Steps | None:
    """How the runtime gets from the base to the output; None if it has to go by strides."""
    return () if same_place(payload, base) and len(payload.steps) <= len(base.steps) else relative(payload, base)
