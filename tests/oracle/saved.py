"""Saved values checked and released the way Pullback does it, inside torch.

Torch compares one counter per storage, so a write anywhere invalidates everything saved from it. Pullback looks at
the written region `[D17]`, keeps the payload a tensor had when it was saved `[D24]`, divides by what it saved itself
(the quotient, not the dividend), and keeps an index given as a list for good, as it keeps a number `[D22]`.

Torch's saved-tensor hooks switch its own version check off, and passes that keep the graph switch its release off; this
module supplies both. It is used only for programs in which the difference can matter, so that the others run torch
as it is.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .reach import Reach
from .regions import region


class RuleError(RuntimeError):
    """What Pullback raises where torch does something else."""

    def __init__(self, code: str) -> None:
        super().__init__(f"by rule: {code}")
        self.code = code


class Saved:
    """One saved tensor: the memory it had, the version, and whether a later write reached that memory."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.alias = tensor.detach()
        self.value = self.alias
        self.version = self.seen = self.alias._version
        self.region = region(self.alias)
        self.origin = weakref.ref(tensor)
        self.is_interior = tensor.grad_fn is not None
        self.is_static = tensor.dtype == torch.int64  # the positions of an index, which programs give as lists
        self.serves: frozenset[int] | None = None  # the operands whose gradients are made from it; None: any
        self.overwritten = self.maybe_overwritten = self.detached = self.released = self.is_lent = False

    def watch(self, tensor: torch.Tensor) -> None:
        """Check `tensor` in place of what was saved; the value handed back is the one of now."""
        self.value = self.alias.clone()
        self.alias = tensor.detach()
        self.version = self.seen = self.alias._version
        self.region = region(self.alias)


class Kept:
    """What a `CopySlices` keeps: the formula of the write. It is released like a saved tensor."""

    is_static = False

    def __init__(self) -> None:
        self.released = self.is_running = False


class SavedValues:
    """All values saved by one program. `fire` counts a rule, `either` notes an outcome that is left open."""

    def __init__(self, fire: Callable[[str], None], either: Callable[[str], None]) -> None:
        self.fire = fire
        self.either = either
        self.records: list[Saved] = []
        self.read: list[tuple[Any, Saved | Kept]] = []  # in the running pass, with the node that read it
        self.idle: set[Any] = set()
        self.reach = Reach(None)
        self.formulas: dict[Any, tuple[Any, Callable[..., None]]] = {}

    def hooks(self) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: torch.Tensor) -> Saved:
        record = Saved(tensor)
        self.records.append(record)
        return record

    def unpack(self, record: Saved) -> torch.Tensor:
        node = torch._C._current_autograd_node()
        if node in self.idle:
            self.fire("§5.2")
            return record.value
        if record.value.dtype == torch.bool and node is not None and node.name().startswith("IndexPut"):
            record.is_static = True  # a mask: its positions, as those of a list
        try:
            self.check(record)
        except RuleError:
            if self.is_wanted(node, record):
                self.forget(node)
                raise
            self.fire("R4")
        self.read.append((node, record))
        origin = record.origin()
        if origin is not None and origin.data_ptr() != record.value.data_ptr() and record.value is record.alias:
            self.fire("D24")
        return record.value

    def is_wanted(self, node: Any, record: Saved) -> bool:
        """Whether the running pass wants a gradient that `node` makes from this value. Torch unpacks all it has."""
        return record.serves is None or any(self.reach.wants(node, position) for position in record.serves)

    def check(self, record: Saved) -> None:
        if record.released and not record.is_static:
            raise RuleError("SECOND_BACKWARD")
        if record.released:
            self.fire("D22")
        if record.detached:
            self.fire("D40")
        if record.alias._version != record.version:
            if record.overwritten and not record.is_lent:
                raise RuleError("VERSION")
            if record.maybe_overwritten or record.overwritten:
                self.either("VERSION")
            self.fire("N4" if record.overwritten else "D17")

    # ---- release ---------------------------------------------------------------------------------------------

    @contextmanager
    def running(self, keep: bool, reach: Reach, idle: set[Any]) -> Iterator[None]:
        """A pass to `reach`. Without `keep` what its nodes read is released; nodes in `idle` run in torch only."""
        self.read, self.reach, self.idle = [], reach, idle
        try:
            yield
        finally:
            for _, record in self.read:
                record.released |= not keep
            self.read, self.reach, self.idle = [], Reach(None), set()

    def forget(self, node: Any) -> None:
        """The formula of `node` failed, so what it has read so far stays."""
        while self.read and (self.read[-1][0] is node or getattr(self.read[-1][1], "is_running", False)):
            self.read.pop()

    def keep_formula(self, copy_slices: Any) -> None:
        """From now on the `CopySlices` counts as having saved something."""
        kept = Kept()

        def visit(grads: tuple[Any, ...]) -> None:
            if copy_slices in self.idle:
                self.fire("§5.2")
                return
            if grads[0] is None:
                return
            if kept.released:
                raise RuleError("SECOND_BACKWARD")
            self.read.append((None, kept))
            kept.is_running = True

        def leave(*_: Any) -> None:
            kept.is_running = False

        self.formulas[copy_slices] = copy_slices.register_prehook(visit), visit
        copy_slices.register_hook(leave)

    def check_last(self, node: Any) -> None:
        """`node` was given a pre-hook: it runs before the formula is found to be gone."""
        if node in self.formulas:
            handle, visit = self.formulas[node]
            handle.remove()
            self.formulas[node] = node.register_prehook(visit), visit

    # ---- writes ----------------------------------------------------------------------------------------------

    def wrote(self, certain: frozenset[int], possible: frozenset[int]) -> None:
        """A write touched `certain` and, seen coarsely, `possible`. Only values on its counter are concerned."""
        for record in self.records:
            version = record.alias._version
            if version != record.seen:
                record.seen = version
                record.overwritten |= not record.region.isdisjoint(certain)
                record.maybe_overwritten |= not record.region.isdisjoint(possible)

    def wrote_gradients(self) -> None:
        """A backward pass accumulated in place into gradients that were saved by some graph: all of each is new."""
        everywhere = frozenset(address for record in self.records for address in record.region)
        self.wrote(everywhere, everywhere)

    def lend(self, since: int, gradient: torch.Tensor) -> None:
        """Values saved since record number `since` that are the caller's `gradient`: others save a copy (rule N4)."""
        lent = region(gradient)
        for record in self.records[since:]:
            if not record.region.isdisjoint(lent):
                record.is_lent, record.value = True, record.alias.clone()

    def detached(self, tensor: torch.Tensor) -> None:
        """`tensor.detach_()` ran: values saved from it as an operand have lost their history."""
        for record in self.records:
            record.detached |= record.is_interior and record.origin() is tensor

    def mark_uses(self, since: int, op: str, operands: list[torch.Tensor]) -> None:
        """Values saved since record number `since` that do not serve all of the operation's gradients (rule R4)."""
        if op.rstrip("_") not in ("mul", "matmul") or len(operands) != 2:
            return
        regions = [region(operand) for operand in operands]
        for record in self.records[since:]:
            others = frozenset(1 - i for i, own in enumerate(regions) if own == record.region)
            record.serves = others or None

    def mark_quotient(self, since: int, quotient: torch.Tensor) -> None:
        """The quotient that a division saved serves the divisor's gradient only (rule R4)."""
        for record in self.records[since:]:
            if record.region and record.region == region(quotient):  # without elements nothing tells them apart
                record.serves = frozenset({1})

    def mark_outputs(self, since: int, results: tuple[torch.Tensor, ...]) -> None:
        """Values saved since record number `since` that are results: a result's history is its own node."""
        for record in self.records[since:]:
            if any(record.origin() is result for result in results):
                record.is_interior = False
