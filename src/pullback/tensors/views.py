"""What a view remembers: its base, how to be replayed from it, and under which circumstances it was made.

Views are NumPy's own views. Chains flatten: the base is always the root, and the steps lead from it to the view.
Replaying the steps on another value with the base's memory order addresses the corresponding elements, which is how
gradients and rebuilt histories find their place.
"""

from __future__ import annotations

import enum
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pullback.core.state import VmapLevel, changed, current
from pullback.declare.views import ViewStep
from pullback.payloads.batched.array import BatchedArray, levels_of
from pullback.tensors.tensor import Extra, Tensor, Within


class CreationMeta(enum.Enum):
    """Who made a view, which decides whether writing through it can be differentiated."""

    DEFAULT = "a primitive in grad mode"
    NO_GRAD = "a primitive while grad mode was off"
    INFERENCE = "a primitive in inference mode"
    CUSTOM = "a custom Function or operator"
    MULTI = "a custom Function with several outputs"


ForwardRecord = tuple[Tensor, tuple[ViewStep, ...]]


class ViewInfo:
    """The view record of a tensor. `attr_version` is the version at which its `grad_fn` was built.

    `written` is set when this very view is written, and unset until then: few views are, and all pay for a field.
    `records` says at which forward levels it is another tensor's view than otherwise, and whose, by which steps. The
    alias that `make_dual` returns is nobody's at its level, which is None here: it shares no tangents at that level.

    Of a light view this record is the tensor's `Extra` itself: a view on an array that a primitive has made in grad
    mode, without tokens, tangents or records. Fast paths take these, once `attr_version` is the present version.
    Whoever has more to say about the tensor asks `extra_of` for an `Extra` to write it to.
    """

    __slots__ = ("attr_version", "base", "creation_meta", "records", "steps", "written")

    written: tuple[Any, int]

    # As `Extra` has them.
    born = output_nr = 0
    inference = readonly = False
    forward = deps = None

    def __init__(
        self, base: Tensor, steps: tuple[ViewStep, ...], creation_meta: CreationMeta, attr_version: int
    ) -> None:
        self.base = base
        self.steps = steps
        self.creation_meta = creation_meta
        self.attr_version = attr_version
        self.records: dict[Any, ForwardRecord | None] | None = None

    @property
    def view(self) -> ViewInfo:
        """As `Extra` has it."""
        return self

    def general(self) -> Extra:
        """An `Extra` that says the same and can be written."""
        extra = Extra()
        extra.view = self
        return extra

    def last_write(self) -> tuple[Any, int]:
        """The history that the last recorded write to this view gave to the base, and the version it made."""
        return getattr(self, "written", (None, -1))

    def forward_record(self, level: Any = None) -> ForwardRecord | None:
        """The tensor whose tangents at `level` this view shares, and the steps from there; None if there is none."""
        if self.records is not None and level in self.records:
            return self.records[level]
        return (self.base, self.steps) if self.creation_meta is not CreationMeta.INFERENCE else None

    def set_apart(self, level: Any) -> None:
        """Share no tangents at this level."""
        self.records = {**(self.records or {}), level: None}

    def replay(self, value: Any) -> Any:
        """The view of `value` that this record takes of its base."""
        return replayed(self.steps, value)


class ViewWithin(ViewInfo):
    """The record of a light view of what the body of a reverse transform has made."""

    __slots__ = ("within",)

    within: Within

    @property
    def deps(self) -> Any:  # type: ignore[override]
        """As `Extra` has them."""
        return self.within.deps

    def general(self) -> Extra:
        """An `Extra` that says the same and can be written."""
        extra = super().general()
        extra.deps = self.deps
        return extra


def record_of_view(source: Any) -> ViewInfo:
    """The record of a light view of a tensor with the `Extra` `source`, or None; its fields are still to be set."""
    if type(source) is not Within and type(source) is not ViewWithin:
        return ViewInfo.__new__(ViewInfo)
    view = ViewWithin.__new__(ViewWithin)
    view.within = source if type(source) is Within else source.within  # type: ignore[union-attr]
    return view


def replayed(steps: tuple[ViewStep, ...], value: Tensor) -> Tensor:
    """The view of `value` that the steps lead to. The batch dimensions that they pass through are active meanwhile:
    a view that was taken inside a vmap and returned from it is looked at again when the vmap has ended."""
    with at_home(value, *(step.params["level"] for step in steps if "level" in step.params)):
        for step in steps:
            value = step(value)
    if not current().vmaps and type(value._data) is BatchedArray and not value._data.levels:
        value._data = value._data.data  # nobody will write examples into it any more
    return value


def at_home(value: Tensor, *levels: VmapLevel) -> AbstractContextManager[None]:
    """The batch dimensions of `value`, and `levels`, are active in this block."""
    active = current().vmaps
    missing = {level for level in (*levels_of(value._data), *levels) if level not in active}
    return changed(vmaps=_in_order({*active, *missing})) if missing else _NOTHING


_NOTHING: AbstractContextManager[None] = nullcontext()


def _in_order(levels: set[VmapLevel]) -> tuple[VmapLevel, ...]:
    return tuple(sorted(levels, key=lambda level: level.stamp))


def view_of(source: Tensor) -> ViewInfo | None:
    """The view record of `source`, or None."""
    extra = source._extra
    return None if extra is None else extra.view


def propagated_meta(new: CreationMeta, parent: CreationMeta | None) -> CreationMeta:
    """The creation meta of a view of a view."""
    if parent is None:
        return new
    if new is CreationMeta.DEFAULT or parent is CreationMeta.INFERENCE:
        return parent
    return new


def forward_step(source: Tensor, info: ViewInfo | None, *steps: ViewStep) -> dict[Any, ForwardRecord | None] | None:
    """The forward records of a new view of `source`: None unless they differ from the backward one."""
    if info is None or info.records is None:
        return None
    return {
        level: (source, steps) if record is None else (record[0], (*record[1], *steps))
        for level, record in info.records.items()
        if level.is_open
    }


def root_and_steps(source: Tensor, step: ViewStep) -> tuple[Tensor, tuple[ViewStep, ...]]:
    """The root base of a new view of `source`, and the steps from there."""
    info = view_of(source)
    return (source, (step,)) if info is None else (info.base, (*info.steps, step))
