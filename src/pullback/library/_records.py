"""A custom operator as the rest of Pullback knows operators: an `Op` with a kernel of flat operands.

The kernel finds out what it is given. Batches are mapped, traced arrays become a node of a graph, and plain arrays go
to the author's kernel, directly or as a node of a graph that runs.
"""

from __future__ import annotations

from typing import Any

from pullback.core.state import current
from pullback.declare.op import Op
from pullback.library._batching import run_batched
from pullback.library._call import Call
from pullback.library._fake import Outline, outputs_of_fake, view_of_fake
from pullback.library._kernel import run_kernel
from pullback.library._promised import call_promised, run_promised
from pullback.library._run import call_operator
from pullback.library._tracing import run_traced
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced import TracedArray
from pullback.tensors.tensor import Tensor


def record_of(definition: Any) -> Op:
    """The operator as everybody else knows operators: a kernel of flat operands, and the call as its parameter."""

    def kernel(*operands: Any, call: Call) -> Any:
        trace = current().trace
        for x in operands:
            if type(x) is BatchedArray:
                return run_batched(call, operands)
            if type(x) is TracedArray:
                trace = x.recorder
            elif (handler := getattr(type(x), "evaluate_op", None)) is not None:
                return handler(definition.op, operands, {"call": call})
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

    op = Op(definition.qualname, kernel, ("*operands",), params=("call",), family="custom", table={})
    op.is_public = False
    op.takes_payloads = True
    op.may_recompute = "recomputable" in definition.tags and "nondeterministic" not in definition.tags
    op.num_outputs = None
    op.call = call_flat
    op.spec_rule = specs
    return op


def view_record_of(definition: Any) -> Op:
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
