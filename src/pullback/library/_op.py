"""A custom operator as the rest of Pullback knows operators: an `Op` with a kernel of flat operands.

The kernel finds out what it is given. Batches are mapped, traced arrays become a node of a graph, and plain arrays go
to the author's kernel, directly or as a node of a graph that runs. Calls are recorded as those of all operators
(`eager/record.py`); the rules read the context that the author's setup has filled in.

| wanted  | first                    | else                          | else                  |
|---------|--------------------------|-------------------------------|-----------------------|
| reverse | the registered formula   | transpose of the forward one  | the fallback mode     |
| forward | the registered formula   | transpose of the reverse one  | the fallback mode     |

An operator gets another `Op` when it is called after a registration, so that what was recorded keeps its rules.
"""

from __future__ import annotations

from typing import Any

from pullback.core.state import Modes, current, open_levels
from pullback.declare.op import Op
from pullback.eager.record import apply
from pullback.library import _reverse
from pullback.library._batching import run_batched
from pullback.library._call import Call
from pullback.library._context import context_class
from pullback.library._fake import Outline, outputs_of_fake, view_of_fake
from pullback.library._kernel import run_foreign, run_kernel
from pullback.library._tracing import call_promised, check_not_repeated, run_promised, run_traced
from pullback.library._writing import run_mutating
from pullback.payloads.batched import BatchedArray
from pullback.payloads.devices import device_of
from pullback.payloads.traced import TracedArray
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor


def call_operator(call: Call, operands: list[Tensor]) -> Any:
    """The results of a call, recorded if somebody wants their derivative."""
    definition, modes = call.definition, current()
    op = definition.op if definition.is_autograd_enabled() else as_op(definition)
    if modes.trace is not None:
        operands = [modes.trace.lifted(x) for x in operands]
        call.keywords = {
            name: modes.trace.lifted(x) if isinstance(x, Tensor) else x for name, x in call.keywords.items()
        }
    if definition.effect is not None and definition.effect[0] == "ordered":
        packs = [getattr(pack, "__self__", None) for pack, _ in modes.saved_hooks]
        check_not_repeated(definition, any(getattr(each, "runs_again", False) for each in packs))
    if definition.schema.written:
        return run_mutating(call, operands, modes)
    if op.context is not None and op.context.looks_ahead:
        _look_ahead(call, operands, modes)
    outputs = apply(op, tuple(operands), {"call": call})
    if isinstance(definition.reverse, _reverse.Pair):
        definition.reverse.check_outputs(call, outputs)
    return call.results(outputs)


def _look_ahead(call: Call, operands: list[Tensor], modes: Modes) -> None:
    """What depends on whether the call will be differentiated: may it be made, and does `fwd` replace the kernel?"""
    definition = call.definition
    needs_grad = modes.grad and not modes.inference and any(
        x._spec.is_differentiable and requires_grad(x) for x in operands
    )  # fmt: skip
    if isinstance(definition.reverse, _reverse.Residuals):
        if needs_grad or (open_levels and not modes.inference and live_levels(operands)):
            call.forward = definition.reverse
    elif needs_grad:
        raise RuntimeError(
            f"Autograd has not been implemented for {definition.qualname}, and an argument requires grad; "
            "give it a formula with register_autograd, or call it under pb.no_grad()"
        )


def as_op(definition: Any, reverse: Any = None, forward: Any = None) -> Op:
    """The operator as everybody else knows operators: a kernel of flat operands, and the call as its parameter.

    Without formulas it has no derivative.
    """

    def kernel(*operands: Any, call: Call) -> Any:
        if call.forward is not None:
            return _reverse.run_forward(call.forward, call, operands)
        trace = current().trace
        for x in operands:
            if type(x) is BatchedArray:
                return run_batched(call, operands)
            if type(x) is TracedArray:
                trace = x.recorder
            elif device_of(x).kind is not None and type(x) is not TracedArray:
                return run_foreign(call, operands)
            elif (handler := getattr(type(x), "evaluate_op", None)) is not None:
                return handler(op, operands, {"call": call})
        if trace is not None:
            return run_traced(trace, call, operands)
        return run_kernel(call, operands) if call.promise is None else run_promised(call, operands)

    def call_flat(*operands: Any, call: Call) -> Any:
        if call.promise is not None:
            return call_promised(call, operands, call_operator)
        if any(isinstance(x, Tensor) for x in operands):
            return call_operator(call, list(operands))
        return call.results(kernel(*operands, call=call))

    def specs(*operands: Any, call: Call) -> Any:
        if call.promise is not None:
            return (*call.promise.arrays, *(operands[position] for position in call.promise.written))
        outlines = [Outline(x.shape, x.dtype) for x in operands]
        return tuple(outputs_of_fake(definition, call, outlines))

    def set_up(ctx: Any, operands: Any, outputs: Any, params: dict[str, Any]) -> None:
        call = params["call"]
        if isinstance(reverse, (_reverse.Pair, _reverse.Residuals)):
            reverse.set_up(ctx, call, operands, outputs)
        if setup is not None:
            keywords = (dict(call.keywords),) if definition.schema.keyword_only else ()
            setup[0](ctx, tuple(call.arguments(operands)), *keywords, call.results(outputs))

    runs_again = "recomputable" in definition.tags and "nondeterministic" not in definition.tags
    op = Op(
        definition.qualname, kernel, ("*operands",), params=("call",), family="custom", table={},
        recompute="free" if runs_again else "never",
    )  # fmt: skip
    op.is_public = False
    op.takes_payloads = True
    op.num_outputs = 1 if definition.view_op is not None and len(definition.schema.returns) == 1 else None
    op.is_view = definition.view_op is not None
    op.call = call_flat
    op.spec_rule = specs
    if reverse is not None:
        setup = definition.setup
        op.joint, op.jvp_rule = reverse.rule(op), forward.rule(op)
        op.setup_rule = set_up
        op.context = context_class(definition, op, reverse)
        op.context.looks_ahead = isinstance(reverse, _reverse.Residuals) or (
            isinstance(reverse, _reverse.Missing) and definition.autograd_fallback == "forward"
        )
    else:
        op.not_differentiable("the operator has no formula")
    return op


def as_view_op(definition: Any) -> Op:
    """A declared view as graphs know it: one array in, and a view of it out."""

    def kernel(x: Any, *, call: Call) -> Any:
        if current().trace is not None:
            return view_of_fake(call, x)
        (view,) = run_promised(call, (x,))
        return view

    def take(x: Any, *, call: Call) -> Any:
        (view,) = call_promised(call, (x,), call_operator)
        return view

    op = Op(definition.qualname, kernel, ("x",), params=("call",), family="custom", table={})
    op.is_public = False
    op.is_view = True
    op.call = take
    op.spec_rule = lambda x, *, call: call.promise.arrays[0]
    return op
