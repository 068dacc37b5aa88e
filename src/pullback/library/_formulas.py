"""`Formulas`: what is in force for an operator's derivatives, resolved from its slots.

| wanted  | first                    | else                          | else                  |
|---------|--------------------------|-------------------------------|-----------------------|
| reverse | the registered formula   | transpose of the forward one  | the fallback mode     |
| forward | the registered formula   | transpose of the reverse one  | the fallback mode     |

They are resolved when the operator is called after a registration, and a recorded node keeps those it was made with.
"""

from __future__ import annotations

from typing import Any

from pullback.core.state import current
from pullback.library import _forward, _reverse
from pullback.library._call import Call
from pullback.library._node import node_class
from pullback.library._tracing import run_forward_traced
from pullback.payloads.batched import each_example
from pullback.tensors.tensor import Tensor, wrap


class Formulas:
    """The reverse and forward formulas of an operator, and how a call is prepared for them."""

    def __init__(self, definition: Any) -> None:
        reverse, forward = definition.reverse, definition.forward
        self.definition = definition
        self.setup = definition.setup
        self.has_any = reverse is not None or forward is not None
        self.reverse = reverse or (_reverse.Missing() if forward is None else _reverse.Transposed(forward))
        self.forward = forward or _forward.forward_from(self.reverse)
        self.reads_values = self.reverse.reads_values or self.forward.reads_values
        self.is_constant = not self.has_any and definition.autograd_fallback == "nondiff"
        self.pair = reverse if isinstance(reverse, _reverse.Pair) else None
        self.residuals = reverse if isinstance(reverse, _reverse.Residuals) else None
        self.node_class = node_class(definition, self)

    def check_call(self, call: Call, needs_grad: bool) -> None:
        """Raise if the operator has no derivative and says so when it is called."""
        if not self.has_any and self.definition.autograd_fallback == "forward" and needs_grad:
            raise RuntimeError(
                f"Autograd has not been implemented for {self.definition.qualname}, and an argument requires grad; "
                "give it a formula with register_autograd, or call it under pb.no_grad()"
            )

    def check_outputs(self, call: Call, outputs: list[Any]) -> None:
        """Raise if the outputs contradict what was said about their derivatives."""
        if self.pair is not None:
            self.pair.check_outputs(call, outputs)

    def set_up(self, ctx: Any, call: Call, operands: list[Tensor], outputs: list[Any]) -> None:
        """Run the author's setup."""
        if self.pair is not None:
            self.pair.set_up(ctx, call, operands, outputs)
        if self.setup is not None:
            inputs = tuple(call.arguments(operands))
            if self.definition.schema.keyword_only:
                self.setup[0](ctx, inputs, dict(call.keywords), call.results(outputs))
            else:
                self.setup[0](ctx, inputs, call.results(outputs))

    def outputs_of(self, ctx: Any, call: Call, operands: list[Tensor]) -> list[Any] | None:
        """The outputs, if something else than the kernel computes them: `fwd` of `defvjp_all`."""
        if self.residuals is None:
            return None
        residuals, trace = self.residuals, current().trace
        last: Any = None

        def run(*arrays: Any) -> Any:
            nonlocal last
            if trace is None:
                last = residuals.run(call, arrays)
                return (*last.outputs, *last.saved)
            last = residuals.known_run(call, arrays)
            return run_forward_traced(trace, call, arrays, last.outputs, last.saved, last.statics)

        everything = each_example(self.definition.qualname, run, *[x._data for x in operands])
        count = len(last.outputs)
        ctx._residuals = last.structure, last.places
        ctx.save_for_backward(*[wrap(each) for each in everything[count:]])
        return [wrap(each) for each in everything[:count]]

