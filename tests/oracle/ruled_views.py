"""Torch with Pullback's reading: views, aliases, flags and inference tensors (rules D3 to D6, D37, §1, §8, §9)."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from .formulas import formula_for
from .inference import Connect, RecordedView, is_flagged, needs_connection, refusing
from .machine import Observation, State
from .native_torch import NativeTorch, is_recording, recording
from .saved import SavedValues
from .statements import Program, Statement, compiled


class RuledViews(NativeTorch):
    """The state of a ruled run, and every statement that does not write.

    Names in `constants` are views made while nothing was recorded (rule D5): `environment` holds a detached alias of
    them for reading, `constants` the view itself for writing. `multiple` holds outputs of multi-output views with the
    version at which their history was built (rule D6), `chains` how each view is made alone.
    """

    def __init__(self, own_saved_values: bool) -> None:
        super().__init__()
        self.constants: dict[str, torch.Tensor] = {}
        self.multiple: dict[str, int] = {}
        self.chains: dict[str, tuple[str, ...]] = {}
        self.refreshed_at: dict[str, int] = {}
        self.own_leaves: set[str] = set()
        self.ended: dict[int, torch.Tensor] = {}  # tensors that retained their gradients until they were detached
        self.unread: set[str] = set()  # views whose base was switched on and that nobody has looked at since
        self.moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # bases that were replaced, by identity
        self.saved = SavedValues(self.fire, self.allow) if own_saved_values else None

    def fire(self, rule: str) -> None:
        fired = self.observation.fired
        fired[rule] = fired.get(rule, 0) + 1

    def allow(self, *codes: str) -> None:
        """The specification leaves open whether one of `codes` is raised instead."""
        self.observation.either += codes

    def run(self, program: Program) -> list[Observation]:
        with self.saved.hooks() if self.saved is not None else ExitStack():
            return super().run(program)

    def text(self, statement: Statement) -> str:
        return super().text(statement) if statement.ruled is None else statement.ruled

    def mode(self, name: str) -> AbstractContextManager[Any]:
        if name != "no_grad_twice":
            return super().mode(name)
        self.fire("D8")
        stack = ExitStack()
        stack.enter_context(torch.no_grad())
        return stack

    def execute(self, statement: Statement) -> Any:
        run = getattr(self, f"execute_{statement.kind}", self.execute_plain)
        return run(statement)

    def call(self, statement: Statement, operands: list[Any], text: str | None = None) -> Any:
        run = compiled(self.text(statement) if text is None else text, len(operands))
        return run(self.namespace, self.helpers, *operands)

    def execute_plain(self, statement: Statement) -> Any:
        return self.call(statement, [self.environment[name] for name in statement.args])

    # ---- functions -------------------------------------------------------------------------------------------

    def execute_read(self, statement: Statement) -> Any:
        since = 0 if self.saved is None else len(self.saved.records)
        operands = [self.operand(name) for name in statement.args]
        result = self.applied(statement, operands)
        if result._is_view():
            self.fire("§9.4")  # outside inference mode torch shows how it makes some results of inference tensors
            result = result.clone()
        if self.saved is not None:
            self.saved.mark_uses(since, statement.facts["op"], operands)
            self.saved.mark_outputs(since, (result,))
            if statement.facts["op"] == "div" and len(operands) == 2:
                self.saved.mark_quotient(since, result)
        if statement.facts.get("scalar") and statement.ruled is not None:
            self.watch_scalar(result)
        return result

    def applied(self, statement: Statement, operands: list[torch.Tensor]) -> Any:
        """The statement on these operands with Pullback's formulas, recorded for inference tensors too (rule §9.4)."""
        recorded = is_recording() and any(x.requires_grad for x in operands)
        formula = formula_for(statement.facts["op"], self.text(statement), operands) if recorded else None
        if formula is not None:
            self.fire(formula[0])
        run = partial(self.call, statement) if formula is None else lambda values: formula[1](*values)
        if not needs_connection(operands):
            return run(operands)
        self.fire("§9.4")
        copies = [Connect.apply(x) if is_flagged(x) else x for x in operands]
        pack, unpack = (same, same) if self.saved is None else (self.saved.pack, self.saved.unpack)
        replaced = [copy for copy, x in zip(copies, operands, strict=True) if copy is not x]
        with refusing(replaced, pack, unpack):
            return run(copies)

    def watch_scalar(self, result: torch.Tensor) -> None:
        """Rule D22 fires when the node of a product with a number runs again after a pass that kept nothing."""
        node = result.grad_fn
        if node is None:
            return
        state = {"released": False}

        def visit(_: Any) -> None:
            if state["released"]:
                self.fire("D22")
            state["released"] = not self.keeps_graph

        node.register_prehook(visit)

    keeps_graph = False

    # ---- views: rules D3, D4, D5, D6 -------------------------------------------------------------------------

    def operand(self, name: str, active: bool = False) -> torch.Tensor:
        """The tensor to read under `name`; `active` when reading rebuilds history whatever the grad mode."""
        tensor: torch.Tensor = self.environment[name]
        if name in self.constants:
            if self.constants[name].requires_grad:
                self.fire("D5")
            return tensor
        if (active or torch.is_grad_enabled()) and name in self.multiple:
            base = tensor._base
            assert base is not None
            if (base.requires_grad or tensor.requires_grad) and tensor._version != self.multiple[name]:
                self.fire("D6")
                return self.rederived(name)
        if tensor._is_view() and (active or torch.is_grad_enabled()) and not tensor.is_inference():
            self.unread.discard(name)
            if not tensor.numel() and tensor._version != self.refreshed_at[name] and tensor.requires_grad:
                self.fire("§7.5")
                return self.rederived(name)
            self.refreshed_at[name] = tensor._version
        return tensor

    def refreshed(self, name: str) -> torch.Tensor:
        """The tensor under `name` with its history up to date (rule D3)."""
        before = self.refreshed_at.get(name)
        tensor = self.operand(name, active=True)
        if before is not None and before != self.refreshed_at[name] and tensor.requires_grad:
            self.fire("D3")
        tensor.grad_fn  # reading is what refreshes
        return tensor

    def rederived(self, name: str, base: torch.Tensor | None = None, keep_flag: bool = True) -> torch.Tensor:
        """The view under `name` made again by single-output views of its base, or of another (rules D4 and D6)."""
        old = self.environment[name]
        made = base = old._base if base is None else base
        # A view keeps a node though its base was switched off; that node leads to an accumulator that drops.
        switched_off = keep_flag and old.requires_grad and not base.requires_grad
        with recording(True):
            base.requires_grad_(base.requires_grad or switched_off)
            for text in self.chains[name]:
                made = compiled(text, 1)(self.namespace, self.helpers, made)
            if switched_off:
                base.requires_grad_(False)
        if old.grad is not None:
            made.grad = old.grad
        if old.retains_grad:
            made.retain_grad()
        self.environment[name] = made
        self.multiple.pop(name, None)
        self.refreshed_at[name] = made._version
        return made  # type: ignore[no-any-return]

    def execute_view(self, statement: Statement) -> Any:
        return self.views(statement, [self.text(statement)])

    def execute_views(self, statement: Statement) -> Any:
        return self.views(statement, statement.facts["forms"])

    def views(self, statement: Statement, forms: list[str]) -> Any:
        """Make views; `forms` tells how each is made alone."""
        (parent,) = statement.args
        if parent in self.constants:
            self.operand(parent)
            with torch.no_grad():
                value = self.call(statement, [self.constants[parent]])
        elif is_flagged(tensor := self.operand(parent)):
            self.fire("§9.4")
            value = RecordedView.apply(tensor, lambda x: self.call(statement, [x]))
        else:
            value = self.call(statement, [tensor])
        single = statement.kind == "view"
        results = [value] if single else list(value)
        for position, (name, form) in enumerate(zip(statement.out, forms, strict=True)):
            view = results[position]
            if not view._is_view():
                continue
            self.chains[name] = (*self.chains.get(parent, ()), form)
            if parent in self.constants or torch.is_inference_mode_enabled() or not torch.is_grad_enabled():
                self.constants[name] = view
                with recording(False):
                    results[position] = view.detach()
            else:
                self.refreshed_at[name] = view._version
                if not single or parent in self.multiple:
                    self.multiple[name] = view._version
        return results[0] if single else results

    def view_of(self, name: str, tensor: Any) -> tuple[bool, Any]:
        is_view, base = super().view_of(name, self.constants.get(name, tensor))
        return is_view, self.moved[id(base)][1] if id(base) in self.moved else base

    def execute_flag(self, statement: Statement) -> Any:
        (name,) = statement.args
        tensor = self.environment[name]
        before = tensor.requires_grad
        if before and tensor._is_view() and tensor._version != self.refreshed_at.get(name):
            self.fire("§1.1")
            tensor = self.refreshed(name)
        if name in self.multiple and not before:
            tensor = self.rederived(name)  # a leaf of its own from now on, and no output of anything
        views = [n for n, view in self.environment.items() if view._base is tensor and not view.requires_grad]
        value = self.execute_plain(statement)
        if tensor._is_view() and not before:
            self.own_leaves.add(name)
        if statement.facts["wanted"] and not before and tensor.requires_grad:
            for view_name in views:
                self.fire("D4")
                self.rederived(view_name)
                self.unread.add(view_name)
        if before and not tensor.requires_grad:
            self.forget_unread(tensor)
        return value

    def execute_observe(self, statement: Statement) -> Any:
        return self.call(statement, [self.operand(statement.args[0], active=True)])

    def bind(self, statement: Statement, results: tuple[Any, ...]) -> None:
        """A gradient may be a tensor that has a name already: the new name knows what the old one knows."""
        super().bind(statement, results)
        if statement.kind == "get_grad" and results and results[0] is not None:
            (new,) = statement.out
            for known in (self.constants, self.multiple, self.chains, self.refreshed_at):
                for name in [n for n in known if n != new and self.environment[n] is results[0]]:
                    known[new] = known[name]

    def born_at(self, statement: Statement, result: Any) -> int:
        """Some of torch's kernels write their result once more before they return it (rule §8.1)."""
        version = self.raw_version(result)
        if statement.kind == "read" and version:
            self.fire("§8.1")
            return version
        return super().born_at(statement, result)

    # ---- aliases: rules D37, §1.3, §1.6, §9.4 ----------------------------------------------------------------

    def execute_alias(self, statement: Statement) -> Any:
        """Of an inference tensor torch makes an alias that has a version counter after all (rule §9.4)."""
        tensor = self.environment[statement.args[0]]
        if tensor.is_inference() and not torch.is_inference_mode_enabled():
            self.fire("§9.4")
            with torch.inference_mode():
                return self.execute_plain(statement)
        return self.execute_plain(statement)

    def execute_set_data(self, statement: Statement) -> Any:
        """In inference mode torch would make the tensor an inference tensor (rule §1.6)."""
        if torch.is_inference_mode_enabled():
            self.fire("§1.6")
        with recording(is_recording()):
            return self.execute_plain(statement)

    def execute_detach_(self, statement: Statement) -> Any:
        """In inference mode, and on inference tensors, torch's `detach_` does nothing (rule §1.3)."""
        (name,) = statement.args
        tensor = self.constants.get(name, self.environment[name])
        if torch.is_inference_mode_enabled() and tensor.requires_grad:
            self.fire("§1.3")
        if tensor.is_inference() and tensor.requires_grad:
            self.fire("§1.3")
            if tensor.is_leaf:
                tensor.requires_grad_(False)
            else:
                with torch.inference_mode():
                    self.environment[name] = tensor.detach()
            return
        with recording(is_recording()):
            self.call(statement, [tensor])
        if tensor.retains_grad:
            self.ended[id(tensor)] = tensor
        self.forget_unread(tensor)
        if self.saved is not None:
            self.saved.detached(tensor)

    def forget_unread(self, base: torch.Tensor) -> None:
        """`base` requires grad no more, and neither do views that nobody has looked at while it did."""
        for name in [name for name in self.unread if self.environment[name]._base is base]:
            self.rederived(name, keep_flag=False)
            self.unread.discard(name)

    def state(self, name: str, tensor: Any, names: dict[int, str], fresh: bool) -> State:
        """Torch says of a tensor that was detached that it retains its gradient (rule §1.3)."""
        state = super().state(name, tensor, names, fresh)
        return replace(state, retains_grad=False) if id(tensor) in self.ended else state

    def execute_copy(self, statement: Statement) -> Any:
        """Rule D37."""
        x = self.environment[statement.args[0]]
        self.fire("D37")
        return x.detach().requires_grad_(x.requires_grad)


def same(x: Any) -> Any:
    return x
