"""How the arrays of a graph make up the payloads of tensors: records that can be kept and stored.

    PlainTensorMeta(2)                                     array 2 itself
    SubclassCreationMeta(0, 2, attrs={"a": ..., "b": ...}) a payload that is made of arrays 0 and 1

The numbers count the arrays in a flat list, at every depth: the inputs of a graph, its forward outputs, the tangents or
the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pullback.aot._metadata import MemoryFormatMeta
from pullback.core.records import Record, field, replace
from pullback.payloads.wrappers import is_array, is_wrapper, parts_of, stride_of


class PlainTensorMeta(Record, frozen=True):
    """One array of the flat list."""

    unwrapped_idx: int
    memory_format: MemoryFormatMeta | None = None

    arg_count = 1

    def create(self, flat: Sequence[Any]) -> Any:
        """The array."""
        return flat[self.unwrapped_idx]

    def positions(self) -> Iterator[int]:
        """Where its arrays are in the flat list."""
        yield self.unwrapped_idx

    def make_runtime_safe(self) -> PlainTensorMeta:
        """Itself: there is nothing of a trace in it."""
        return self


class OpaqueMeta(Record, frozen=True):
    """A part that is no array. It is guarded by equality, and passed on as it is."""

    value: Any = None

    arg_count = 0

    def create(self, flat: Sequence[Any]) -> Any:
        """The part."""
        return self.value

    def positions(self) -> Iterator[int]:
        """Nowhere."""
        return iter(())

    def make_runtime_safe(self) -> OpaqueMeta:
        """Itself."""
        return self


class SubclassCreationMeta(Record, frozen=True):
    """A payload that is made of parts."""

    flat_tensor_start_idx: int
    arg_count: int  # arrays, with those of parts that are payloads themselves
    attrs: dict[str, Any]
    outer_size: tuple[int, ...]
    outer_stride: tuple[int, ...] | None
    meta: Any
    original_subclass: Any = field(compare=False, repr=False)  # the payload that was described; later its type
    original_subclass_type: type = object
    memory_format: MemoryFormatMeta | None = None
    outer_size_from_attr: str | None = None  # a part that has the size of the whole, if all arrays do
    outer_stride_from_attr: str | None = None
    included_subclass_symints: bool = False  # sizes are part of the graph

    def create(self, flat: Sequence[Any]) -> Any:
        """The payload on these arrays."""
        inner = {name: part.create(flat) for name, part in self.attrs.items()}
        kind: Any = self.original_subclass_type
        return kind.__tensor_unflatten__(inner, self.meta, self.outer_size, self.outer_stride)

    def positions(self) -> Iterator[int]:
        """Where its arrays are in the flat list."""
        for part in self.attrs.values():
            yield from part.positions()

    def make_runtime_safe(self) -> SubclassCreationMeta:
        """The same without anything of the trace."""
        attrs = {name: part.make_runtime_safe() for name, part in self.attrs.items()}
        return replace(self, original_subclass=self.original_subclass_type, attrs=attrs)

    def misfit(self, payload: Any) -> str | None:
        """What another payload is that this is not, in words; None if it could be this one."""
        if type(payload) is not self.original_subclass_type:
            return f"a {_name(payload)}"
        parts, meta = parts_of(payload)
        if meta != self.meta or [name for name, _ in parts] != list(self.attrs):
            return f"a {_name(payload)} with meta {meta!r}"
        for name, part in parts:
            found = _part_misfit(self.attrs[name], part)
            if found is not None:
                return f"a {_name(payload)} whose {name} is {found}"
        return None

    def __str__(self) -> str:
        return f"a {self.original_subclass_type.__name__} with meta {self.meta!r}"


class SubclassMeta(Record, frozen=True):
    """What is known of the function between arrays that is compiled, where its arguments and results are payloads."""

    fw_metadata: Any
    grad_input_metas: list[Any]  # for each input: None, or what its gradient was when it was traced


def described(payload: Any, start: int, layout: Callable[[Any], MemoryFormatMeta | None] = lambda _: None) -> Any:
    """The record of an array or payload whose arrays begin at `start` of the flat list; `layout` says how they lie."""
    if not is_wrapper(payload):
        return PlainTensorMeta(start, layout(payload))
    own = layout(payload)
    parts, meta = parts_of(payload)
    attrs: dict[str, Any] = {}
    count = 0
    for name, part in parts:
        is_part = is_wrapper(part) or is_array(part)
        attrs[name] = described(part, start + count, layout) if is_part else OpaqueMeta(part)
        count += attrs[name].arg_count
    arrays = [(name, part) for name, part in parts if not isinstance(attrs[name], OpaqueMeta)]
    size, stride = tuple(payload.shape), stride_of(payload)
    return SubclassCreationMeta(
        flat_tensor_start_idx=start, arg_count=count, attrs=attrs, outer_size=size, outer_stride=stride, meta=meta,
        original_subclass=payload, original_subclass_type=type(payload), memory_format=own,
        outer_size_from_attr=_same_as(size, [(name, tuple(part.shape)) for name, part in arrays]),
        outer_stride_from_attr=_same_as(stride, [(name, stride_of(part)) for name, part in arrays]),
    )  # fmt: skip


def _same_as(whole: Any, parts: list[tuple[str, Any]]) -> str | None:
    return parts[0][0] if parts and all(part == whole for _, part in parts) else None


def _part_misfit(expected: Any, part: Any) -> str | None:
    if isinstance(expected, SubclassCreationMeta):
        return expected.misfit(part)
    if isinstance(expected, OpaqueMeta):
        return None if expected.value == part else repr(part)
    if is_wrapper(part) or not hasattr(part, "shape"):
        return f"a {_name(part)}"
    wanted = expected.memory_format
    return None if wanted is None or tuple(part.shape) == wanted.size else f"of shape {list(part.shape)}"


def _name(payload: Any) -> str:
    return "plain array" if is_array(payload) else type(payload).__name__
