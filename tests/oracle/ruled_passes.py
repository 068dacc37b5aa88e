"""Torch with Pullback's hooks and passes (rules D1, D3, D10, D13, D18, D19, D21, D26, D33, §5.1, §5.2, N1, N2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from .inference import Connect, is_flagged
from .reach import Reach
from .regions import repeats, share_storage
from .ruled_writes import RuledWrites
from .saved import RuleError
from .statements import Statement

_make_grads = torch.autograd._make_grads
_run_backward = torch.autograd._engine_run_backward


class RuledPasses(RuledWrites):
    """Statements that differentiate, and hooks."""

    def __init__(self, own_saved_values: bool) -> None:
        super().__init__(own_saved_values)
        self.hooked: dict[str, tuple[Any, int]] = {}
        self.prehooked: dict[str, Any] = {}
        self.captures: dict[tuple[int, int], torch.Tensor] = {}
        self.set_aside: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.idle: set[Any] = set()
        self.given: list[torch.Tensor] = []
        self.called: set[str] = set()  # hooks that ran in the pass

    # ---- hooks: rules D3, D18, D21 ---------------------------------------------------------------------------

    def execute_hook(self, statement: Statement) -> Any:
        tensor = self.refreshed(statement.args[0])
        if tensor.grad_fn is not None:
            self.hooked[statement.facts["hook"]] = tensor.grad_fn, tensor.output_nr
        return self.call(statement, [tensor])

    def execute_retain(self, statement: Statement) -> Any:
        return self.call(statement, [self.refreshed(statement.args[0])])

    execute_post_hook = execute_retain

    def execute_pre_hook(self, statement: Statement) -> Any:
        tensor = self.refreshed(statement.args[0])
        self.prehooked[statement.facts["hook"]] = tensor.grad_fn
        value = self.call(statement, [tensor])
        if self.saved is not None:
            self.saved.check_last(tensor.grad_fn)
        return value

    def hook(self, name: str, does: str) -> Callable[[Any], Any]:
        plain = super().hook(name, does)

        def run(g: Any) -> Any:
            if g is None:
                self.fire("D21")
                return None
            if name in self.called:
                self.fire("§6.3")
                return None
            self.called.add(name)
            result = plain(g)
            if name in self.hooked:
                node, position = self.hooked[name]
                self.captures[id(node), position] = g if result is None else result
            return result

        return run

    def effect(self, does: str, g: Any) -> Any:
        if does == "write":
            self.fire("D18")
            raise RuleError("READONLY_GRAD")
        return super().effect(does, g)

    def prehook(self, name: str, position: int) -> Callable[[tuple[Any, ...]], None]:
        """A node's pre-hook; silent where the node runs in torch only (rule §5.2)."""
        plain = super().prehook(name, position)

        def run(gs: tuple[Any, ...]) -> None:
            if self.prehooked[name] in self.idle:
                self.fire("§5.2")
            else:
                plain(gs)

        return run

    def accumulated(self, name: str) -> Callable[[Any], None]:
        """A post-accumulate hook; silent if nothing was (rule D20), it sees what was set aside added (rule D33)."""

        def run(leaf: Any) -> None:
            if not leaf.requires_grad:
                self.fire("D20")
                return
            aside = [grad for tensor, grad in self.set_aside if tensor is leaf]
            self.log.append((name, self.array(leaf.grad + aside[0] if aside else leaf.grad)))

        return run

    # ---- one pass --------------------------------------------------------------------------------------------

    @contextmanager
    def running(self, statement: Statement, reach: Reach, idle: set[Any]) -> Iterator[None]:
        """A pass: roots are checked one after the other, saved values are read and released as Pullback does it."""
        keep = statement.facts["keep"]
        self.keeps_graph, self.idle = keep, idle
        self.called.clear()
        torch.autograd._make_grads = self.root_gradients
        try:
            with ExitStack() as stack:
                if self.saved is not None:
                    torch.autograd._engine_run_backward = run_and_keep
                    stack.enter_context(self.saved.running(keep, reach, idle))
                yield
        finally:
            torch.autograd._make_grads = _make_grads
            torch.autograd._engine_run_backward = _run_backward
            self.idle = set()

    def root_gradients(self, outputs: Any, grads: Any, is_grads_batched: bool) -> tuple[Any, ...]:
        """The gradients of the roots. Torch looks at all shapes before it looks at flags (rule §5.1)."""
        self.given = [grad for grad in grads if grad is not None]
        if len(outputs) == 1:
            return _make_grads(outputs, grads, is_grads_batched=is_grads_batched)
        results: list[Any] = []
        for output, grad in zip(outputs, grads, strict=True):
            try:
                results += _make_grads([output], [grad], is_grads_batched=is_grads_batched)
                if not output.requires_grad:
                    raise RuleError("ROOT_NO_GRAD")
            except RuntimeError:
                self.fire("§5.1")
                raise
        return tuple(results)

    def roots(self, statement: Statement, operands: list[torch.Tensor]) -> list[torch.Tensor]:
        """`operands` with roots that are summed first connected to inference tensors behind them (rule §9.4)."""
        count, text = statement.facts["num_roots"], self.text(statement)
        results = list(operands)
        for position in range(count):
            if f"{{{position}}}.sum()" in text and is_flagged(operands[position]):
                self.fire("§9.4")
                results[position] = Connect.apply(operands[position])
        return results

    # ---- backward: rules D10, D13, D33, §5.2, N2 -------------------------------------------------------------

    def execute_backward(self, statement: Statement) -> Any:
        facts = statement.facts
        if facts["surplus"]:
            self.fire("D10")
            raise RuleError("GRADOUT_COUNT")
        operands = [self.operand(name, active=True) for name in statement.args]
        inputs = operands[facts["num_roots"] :]
        if any(not tensor.requires_grad for tensor in inputs):
            # Torch makes the inputs before the constant one retain their gradients, and only then complains.
            self.fire("D13")
            self.allow("GRADOUT_SHAPE", "IMPLICIT_NONSCALAR", "ROOT_NO_GRAD")
            raise RuleError("INPUT_NO_GRAD")
        reach = Reach(inputs or None)
        try:
            with self.running(statement, reach, reach.idle()), self.unwritable_gradients(facts["create_graph"]):
                self.call(statement, self.roots(statement, operands))
        finally:
            self.materialize_gradients()
            if self.saved is not None:
                self.saved.wrote_gradients()

    def materialize_gradients(self) -> None:
        """Gradients stored as zeros without memory get some: a `.grad` can be written (rule §2.3)."""
        for tensor in {id(tensor): tensor for tensor in self.environment.values()}.values():
            if tensor.grad is not None and tensor.grad._is_zerotensor():
                self.fire("§2.3")
                tensor.grad = tensor.grad.clone()

    @contextmanager
    def unwritable_gradients(self, create_graph: bool) -> Iterator[None]:
        """Leaves whose `.grad` cannot be written accumulate elsewhere meanwhile (rules D33 and N2)."""
        if not create_graph:
            for tensor in {id(tensor): tensor for tensor in self.environment.values()}.values():
                grad = tensor.grad
                if grad is not None and tensor.requires_grad and not is_writable(grad):
                    self.set_aside.append((tensor, grad))
                    tensor.grad = None
        try:
            yield
        finally:
            for tensor, grad in self.set_aside:
                if tensor.grad is None:
                    tensor.grad = grad
                else:
                    self.fire("D33" if repeats(grad) else "N2")
                    with torch.no_grad():
                        tensor.grad = grad + tensor.grad
            self.set_aside.clear()

    # ---- grad: rules D1, D19, D26, N1 ------------------------------------------------------------------------

    def execute_grad(self, statement: Statement) -> Any:
        facts = statement.facts
        operands = [self.operand(name, active=True) for name in statement.args]
        first = facts["first_input"]
        if any(not tensor.requires_grad for tensor in operands[first:]):
            self.allow("INPUT_NO_GRAD")
        if facts["mapping"]:
            self.fire("D26")
        for position in range(1, first):
            if operands[position].requires_grad and not facts["create_graph"]:
                self.fire("N1")
                operands[position] = operands[position].detach()
        self.captures.clear()
        since = 0 if self.saved is None else len(self.saved.records)
        with self.running(statement, Reach(operands[first:]), set()):
            gradients = list(self.call(statement, self.roots(statement, operands)))
        if self.saved is not None:
            for gradient in operands[1:first]:
                self.saved.lend(since, gradient)
        with torch.set_grad_enabled(facts["create_graph"]):
            captured = [self.captured(x, g) for x, g in zip(operands[first:], gradients, strict=True)]
            return self.distinct(captured, [*operands[:first], *self.given])

    def captured(self, x: torch.Tensor, gradient: torch.Tensor | None) -> torch.Tensor | None:
        """What was captured for `x`, after its hooks (rule D1)."""
        if gradient is None or x.grad_fn is None:
            return gradient
        hooked = self.captures.get((id(x.grad_fn), x.output_nr))
        if hooked is None or hooked is gradient:
            return gradient
        if not torch.equal(hooked, gradient):
            self.fire("D1")
        return hooked

    def distinct(self, gradients: list[Any], others: list[torch.Tensor]) -> list[Any]:
        """Gradients that share no memory with each other, with `others` or with the engine (rule D19)."""
        results: list[Any] = []
        for gradient in gradients:
            if gradient is None:
                results.append(None)
                continue
            seen = [*others, *(result for result in results if result is not None)]
            shared = any(gradient is other or share_storage(gradient, other) for other in seen)
            if shared or gradient._is_view() or repeats(gradient) or gradient._is_zerotensor():
                self.fire("D19")
                gradient = Connect.apply(gradient) if is_flagged(gradient) else gradient.clone()
            results.append(gradient)
        return results


def run_and_keep(outputs: Any, gradients: Any, retain_graph: bool, *rest: Any, **named: Any) -> Any:
    """Torch's engine with the graph kept: `SavedValues` does the releasing."""
    return _run_backward(outputs, gradients, True, *rest, **named)


def is_writable(gradient: torch.Tensor) -> bool:
    """Whether torch can add to this `.grad` in place."""
    return not repeats(gradient) and (torch.is_inference_mode_enabled() or not gradient.is_inference())
