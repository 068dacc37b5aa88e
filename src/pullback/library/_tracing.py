"""A custom operator inside a trace: one opaque node, with the shapes and dtypes that its fake promises.

Kernels do not run here. When the graph runs, the node calls the operator through the checked entry that eager code
uses, and compares what it returns with the promise (`_promised.py`). Writes become results: the node returns the new
values, and the trace takes note of them as writes, so that they reach views and the caller's arrays as all others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.core.state import current
from pullback.declare.steps import ViewStep
from pullback.errors import AliasError, ConstantMutationError, TraceError
from pullback.graph.ir import BACKWARD
from pullback.graph.types import ArrayType, type_of
from pullback.library._call import Call, Promise
from pullback.library._fake import outputs_of_fake, view_of_fake
from pullback.library._memory import argument_names
from pullback.library._recorded import Form
from pullback.payloads.traced import Recorder, TracedArray, fresh, traced_constant, user_location
from pullback.payloads.tracing import _effect_of as effect_of
from pullback.payloads.tracing import _in_kept_order as in_kept_order
from pullback.payloads.tracing import _note_stopped as note_stopped
from pullback.payloads.tracing import _one_view as one_view
from pullback.payloads.tracing import operand_of
from pullback.tensors.tensor import Tensor
from pullback.tensors.versions import overlap

Array = np.ndarray[Any, Any]


def run_traced(trace: Recorder, call: Call, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call inside a trace: traced arrays, and numbers where the schema returns those."""
    definition = call.definition
    used = next((x.last_value for x in payloads if type(x) is TracedArray), None)
    trace.check_open(definition.qualname, used)
    if call.promise is not None:  # a node that is traced again
        return _added(trace, call, [_traced(trace, x) for x in payloads], list(map(_empty, call.promise.results)))
    _check_not_repeated(trace, definition)
    if definition.schema.returns_views:
        return (_traced_view(trace, call, payloads),)
    operands = [_traced(trace, x) for x in payloads]
    outputs = _promised_outputs(call, operands)
    promised = Call(definition, call.layout, call.keywords)
    outs = {name: value for name, value in call.keywords.items() if isinstance(value, Tensor)}
    if outs:
        promised.keywords = {name: value for name, value in call.keywords.items() if name not in outs}
        operands += [_traced(trace, value._data) for value in outs.values()]
    written: tuple[int, ...] = ()
    if definition.schema.written:
        written = (*definition.written_operands(call), *range(len(payloads), len(operands)))
    promised.promise = Promise(
        schema=str(definition.schema),
        results=tuple([type_of(each) if isinstance(each, np.ndarray) else each for each in outputs]),
        written=written,
        same=_same(call, operands, written) if written else (),
        outs=tuple(outs),
    )
    return _added(trace, promised, operands, outputs)


def _added(trace: Recorder, call: Call, operands: list[TracedArray], outputs: list[Any]) -> tuple[Any, ...]:
    """Append the node of a call, and write what it writes. `outputs` are shadows and numbers."""
    promise, op = call.promise, call.definition.op
    assert promise is not None
    types = [*promise.arrays, *(type_of(operands[position].shadow) for position in promise.written)]
    node = trace.add(op, [operand_of(x, trace) for x in operands], {"call": call}, types)
    effect = effect_of(op, node.attrs)
    node.effect = "ordered" if effect == "unordered" else effect  # a graph keeps the order of all effects
    if trace.noted:
        note_stopped(trace, node, operands)
    values = iter(node.results)
    made = [fresh(trace, next(values), each) if isinstance(each, np.ndarray) else each for each in outputs]
    modes = current()
    in_grad_mode = modes.grad and not modes.inference
    is_hidden = "autograd_hidden" in call.definition.tags
    for position in promise.written:
        target = operands[position]
        has_no_history = is_hidden or target.stopped or (not in_grad_mode and trace.tag is not BACKWARD)
        target.storage.write(target.steps, next(values), in_grad_mode, has_no_history, has_no_history)
        target.storage.hidden += is_hidden
    return tuple(made)


def _traced(trace: Recorder, payload: Any) -> TracedArray:
    return payload if type(payload) is TracedArray else traced_constant(trace, np.asarray(payload))


def _promised_outputs(call: Call, operands: list[TracedArray]) -> list[Any]:
    """Shadows of the outputs, and numbers. Sets the call's `counts`."""
    definition = call.definition
    if definition.tags & {"inplace", "out"}:
        return []
    outputs = []
    for each in outputs_of_fake(definition, call, operands):
        if not hasattr(each, "shape"):
            outputs.append(each)
        elif isinstance(each, np.ndarray):
            outputs.append(np.empty_like(each))
        elif definition.casts_results:
            outputs.append(in_kept_order([x.shadow for x in operands], spec_for(tuple(each.shape), each.dtype)))
        else:
            outputs.append(np.empty(each.shape, each.dtype))
    return outputs


def _empty(promised: Any) -> Any:
    return np.empty(promised.shape, promised.dtype) if isinstance(promised, ArrayType) else promised


def _check_not_repeated(trace: Recorder, definition: Any) -> None:
    if trace.region is not None and definition.effect is not None and definition.effect[0] is not None:
        raise RuntimeError(
            f"{definition.qualname} has an ordered effect and is called inside a checkpoint, which would run it again "
            f"in the backward pass: call it outside\n  effect  registered at {definition.effect[1]}"
        )


# Views.


def _traced_view(trace: Recorder, call: Call, payloads: Sequence[Any]) -> TracedArray:
    """The view that a declared view makes, of the array it is traced with: where it lies is what the fake does."""
    definition = call.definition
    if len(payloads) != 1 or len(definition.schema.returns) != 1:
        raise TraceError(
            f"{definition.qualname} returns views, and takes or returns several Tensors; from its alias annotations a "
            "trace can not tell how to take such a view again",
            location=user_location(),
            fix="declare a view with one Tensor in and one out, or return copies",
        )
    source = _traced(trace, payloads[0])
    shadow = view_of_fake(call, source.shadow)
    promised = Call(definition, call.layout, call.keywords)
    promised.promise = Promise(str(definition.schema), (type_of(shadow),))
    return one_view(ViewStep(definition.view_op, {"call": promised}), source, shadow, trace)


# Writes to what is no part of the trace.


def check_written_arrays(definition: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise if an array that is no tensor would be written: a trace knows nothing of its memory."""
    given = dict(zip([argument.name for argument in definition.schema.positional], args, strict=False)) | kwargs
    for name in definition.mutates_args:
        value = given.get(name)
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, np.ndarray):
                raise ConstantMutationError(
                    f"{definition.qualname} writes its argument {name}, an array that is not traced",
                    location=user_location(),
                    why="it is a constant of the graph, and would be written once, while tracing, and never again",
                    fix="pass it as an argument of the compiled function, or make it a tensor outside",
                )


# Operands that share memory.


def _same(call: Call, operands: list[TracedArray], written: tuple[int, ...]) -> tuple[int, ...]:
    """By operand, the first one that is the same array. Raises if a written one overlaps another in some other way."""
    found = [next(k for k in range(len(operands)) if _is_same(operands[k], x)) for x in operands]
    for position in written:
        for other, x in enumerate(operands):
            mine = operands[position]
            if x.storage is mine.storage and found[other] != found[position] and overlap(x.shadow, mine.shadow):
                names = [name or "out" for name, _ in argument_names(call, len(operands))]
                raise AliasError(
                    f"{call.definition.qualname} writes its argument {names[position]}, which overlaps {names[other]}",
                    location=user_location(),
                    why="in a graph every argument is an array of its own",
                    fix=f"pass a .clone() for {names[other]}",
                )
    return tuple(found) if found != list(range(len(operands))) else ()


def _is_same(first: TracedArray, second: TracedArray) -> bool:
    one, two = first.shadow, second.shadow
    return first.storage is second.storage and (
        (one.shape, one.strides, one.dtype) == (two.shape, two.strides, two.dtype)
        and one.__array_interface__["data"][0] == two.__array_interface__["data"][0]
    )


# `fwd` of `defvjp_all`.


def run_forward_traced(
    trace: Recorder, call: Call, payloads: Sequence[Any], outputs: Form, saved: Form, statics: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A node that runs `fwd`: the outputs of the operator, and the residuals that are neither argument nor output."""
    promised = Call(call.definition, call.layout, call.keywords)
    shadows: list[Any] = [np.empty(shape, dtype) for shape, dtype in (*outputs, *saved)]
    promised.promise = Promise(str(call.definition.schema), tuple(map(type_of, shadows)), forward=statics)
    return _added(trace, promised, [_traced(trace, x) for x in payloads], shadows)
