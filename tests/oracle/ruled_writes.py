"""Torch with Pullback's in-place writes (rules D6, D16, D34, D35, §1.1, §2.18, §7.7, §7.8, §9.4)."""

from __future__ import annotations

from typing import Any

import torch

from .native_torch import is_recording, recording
from .regions import region, repeats, share_storage
from .ruled_views import RuledViews
from .saved import RuleError
from .statements import Statement, compiled
from .torch_errors import code_of

PERMISSIONS = ("LEAF_INPLACE", "VIEW_OF_LEAF_INPLACE", "VIEW_NO_GRAD", "VIEW_INFERENCE", "INFERENCE_INPLACE")


class RuledWrites(RuledViews):
    """Statements that write."""

    def execute_write(self, statement: Statement) -> Any:
        name = statement.args[0]
        known = (self.environment, self.multiple, self.refreshed_at)
        before = [mapping.get(name) for mapping in known]
        try:
            self.write(statement)
        except Exception:
            # A refused write changes nothing, so what was derived again in order to write is given up.
            for mapping, value in zip(known, before, strict=True):
                if value is not None:
                    mapping[name] = value  # type: ignore[index]
            raise

    def write(self, statement: Statement) -> None:
        name, *others = statement.args
        facts = statement.facts
        operands = [self.operand(other) for other in others]
        target = self.target(name, others)
        index, advanced = facts.get("index"), facts.get("advanced")
        written = region(target, index if advanced is None else advanced)
        reached = written if advanced is None else region(target)
        operands = [self.unaliased(target, reached, operand, facts) for operand in operands]
        text = None
        if facts.get("rows") is not None:
            text, operands = self.last_writers(facts["rows"], target, operands)
        if repeats(target if index is None else self.part(target, index)):
            if facts["op"] == "fill_" or facts["op"] == "set":
                self.fire("§7.8")
                self.allow(*PERMISSIONS)
                raise RuleError("OVERLAP_WRITE")
            self.allow("OVERLAP_WRITE", *PERMISSIONS)
        if index is not None and self.is_whole(target, index):
            text = self.through_a_view(statement, bool(operands))
        since = 0 if self.saved is None else len(self.saved.records)
        if facts["op"] in ("copy_", "fill_") and self.drops_history(target):
            target = self.overwrite(statement, target, operands)
        elif id(target) in self.ended and is_recording() and any(x.requires_grad for x in operands):
            self.fire("§1.3")
            old, target = target, self.stand_in(target)
            self.write_or_refuse(statement, target, operands, text)
            self.move_views(old, target)
        else:
            self.write_or_refuse(statement, target, operands, text)
        if self.saved is not None:
            self.saved.mark_uses(since, facts["op"], [target, *operands])
            self.saved.mark_outputs(since, (target,))
            self.saved.wrote(written, region(target, index))
            if facts["op"] == "div_" and not facts.get("scalar"):
                self.keep_quotient(since, operands[0], target)
            self.keep_formula(target)
        if facts.get("scalar") and statement.ruled is not None and not target._is_view():
            self.watch_scalar(target)

    def keep_quotient(self, since: int, divisor: torch.Tensor, quotient: torch.Tensor) -> None:
        """Pullback's division saves the quotient where torch saves the dividend, if the divisor needs a gradient."""
        assert self.saved is not None
        records = self.saved.records[since:]
        if len(records) == 2:
            dividend = records[0] if records[0].origin() is not divisor else records[1]
            dividend.watch(quotient)
            dividend.serves = frozenset({1})
            self.fire("§3.2")

    def keep_formula(self, target: torch.Tensor) -> None:
        """A write through a view is something that its base's node saves."""
        assert self.saved is not None
        base = target if target._base is None else target._base
        node = base.grad_fn
        if node is not None and node.name().endswith("CopySlices") and "kept" not in node.metadata:
            node.metadata["kept"] = True
            self.saved.keep_formula(node)

    def part(self, target: torch.Tensor, index: str) -> torch.Tensor:
        with recording(False):
            part: torch.Tensor = compiled(f"{{0}}[{index}]", 1)(self.namespace, self.helpers, target)
        return part

    def target(self, name: str, others: list[str]) -> torch.Tensor:
        """The tensor to write under `name`."""
        if name in self.constants:
            return self.constants[name]
        tensor: torch.Tensor = self.environment[name]
        if name in self.multiple and torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
            if tensor.requires_grad or any(self.environment[other].requires_grad for other in others):
                self.fire("D6")
            tensor = self.rederived(name)
        return tensor

    # ---- permission: rules §1.1, §7.7, §9.4 ------------------------------------------------------------------

    def write_or_refuse(
        self, statement: Statement, target: torch.Tensor, operands: list[Any], text: str | None
    ) -> None:
        """Write, or leave data and history as they were."""
        contents = None
        if target.is_inference() and not torch.is_inference_mode_enabled():
            contents = target.detach().clone()
            self.allow(*PERMISSIONS)
        try:
            self.call(statement, [target, *operands], text)
        except RuntimeError as error:
            code = code_of(error)
            if code == "INFERENCE_INPLACE" and contents is not None:
                self.fire("§9.4")
                with torch.inference_mode():
                    target.detach().copy_(contents)
            if code != "LEAF_INPLACE" or target._base is None or target._base.is_leaf:
                raise
            # Torch takes a view whose history was never looked at for a leaf. Looking at it is enough.
            self.fire("§1.1")
            target.grad_fn
            self.call(statement, [target, *operands], text)

    def is_whole(self, target: torch.Tensor, index: str) -> bool:
        """Whether a basic index takes every element where it is: torch then writes the tensor and makes no view."""
        part = self.part(target, index)
        same_elements = part.shape == target.shape and part.stride() == target.stride()
        return same_elements and part.data_ptr() == target.data_ptr()

    def through_a_view(self, statement: Statement, has_value: bool) -> str:
        """`target[index] = value` as a write to the view `target[index]` (rule §7.7)."""
        self.fire("§7.7")
        value = "{1}" if has_value else statement.text.partition(" = ")[2]
        return f"{{0}}[{statement.facts['index']}].{'copy_' if has_value else 'fill_'}({value})"

    # ---- overwriting: rule §2.18 -----------------------------------------------------------------------------

    def drops_history(self, target: torch.Tensor) -> bool:
        """Whether `target` has a history of its own that a recorded write to all of it makes worthless."""
        return is_recording() and not target._is_view() and target.grad_fn is not None

    def overwrite(self, statement: Statement, target: torch.Tensor, operands: list[torch.Tensor]) -> torch.Tensor:
        """Write all of `target`, whose old history is dropped and not sent zeros. Returns the tensor it is now.

        What is written leads to something, so that the target still requires grad: to the operand if that requires
        grad, otherwise to a leaf that nobody sees.
        """
        self.fire("§2.18")
        if operands and operands[0].requires_grad:
            value = operands[0].clone() if operands[0] is target else operands[0]
            value.expand_as(target)  # a shape that does not fit is refused before anything happens
        else:
            value = target.detach().clone()
            self.call(statement, [value, *operands])
            value.requires_grad_()
        if not target.retains_grad:
            target.detach_()
            target.copy_(value)
            return target
        new = self.stand_in(target)
        new.copy_(value)
        new.retain_grad()
        self.move_views(target, new)
        return new

    def stand_in(self, target: torch.Tensor) -> torch.Tensor:
        """Torch cannot detach a tensor that retains its gradient and write it later: another one takes its place."""
        new = target.detach()
        new.grad = target.grad
        self.moved[id(target)] = target, new
        for name in [name for name, tensor in self.environment.items() if tensor is target]:
            self.environment[name] = new
        return new

    def move_views(self, old: torch.Tensor, new: torch.Tensor) -> None:
        for name, tensor in list(self.environment.items()):
            if tensor._base is old and name not in self.own_leaves:
                self.rederived(name, new)

    # ---- operands: rules D16, D34, D35 -----------------------------------------------------------------------

    def unaliased(
        self, target: torch.Tensor, written: frozenset[int], operand: torch.Tensor, facts: dict[str, Any]
    ) -> torch.Tensor:
        """`operand`, copied first if the write would change it (rules D16 and D35)."""
        if not share_storage(target, operand) or written.isdisjoint(region(operand)):
            return operand
        whole = operand.shape == target.shape and operand.stride() == target.stride()
        same = whole and operand.data_ptr() == target.data_ptr() and facts["op"] != "set"
        if not same:
            self.fire("D35")
        elif torch.is_grad_enabled() and (operand.requires_grad or target.requires_grad):
            self.fire("D16")
        return operand.clone()

    def last_writers(
        self, rows: list[int], target: torch.Tensor, operands: list[torch.Tensor]
    ) -> tuple[str | None, list[torch.Tensor]]:
        """`target[rows] = value` without the entries that a later one overwrites (rule D34)."""
        last = {row: position for position, row in enumerate(rows)}
        if len(last) == len(rows):
            return None, operands
        self.fire("D34")
        value = operands[0].expand((len(rows), *target.shape[1:]))
        return f"{{0}}[{list(last)}] = {{1}}", [value[list(last.values())]]
