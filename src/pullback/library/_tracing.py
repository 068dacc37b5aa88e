"""A custom operator inside a trace: one opaque node, with the shapes and dtypes that its fake promises.

Kernels do not run here. When the graph runs, the node calls the operator through the checked entry that eager code
uses, and compares what it returns with the promise. Writes become results: the node returns the new
values, and the trace takes note of them as writes, so that they reach views and the caller's arrays as all others do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.spec import describe, spec_for
from pullback.core.state import current
from pullback.declare.views import ViewStep
from pullback.errors import AliasError, AutogradError, ConstantMutationError, TraceError
from pullback.graph.ir import BACKWARD, ArrayType, type_of
from pullback.library._call import Call, Promise
from pullback.library._errors import FakeMismatchError
from pullback.library._fake import Form, outputs_of_fake, view_of_fake
from pullback.library._kernel import argument_names, run_kernel
from pullback.payloads.evaluate import evaluate
from pullback.payloads.traced import Recorder, TracedArray, fresh, traced_constant, user_location
from pullback.payloads.traced.evaluate import _effect_of as effect_of
from pullback.payloads.traced.evaluate import _in_kept_order as in_kept_order
from pullback.payloads.traced.evaluate import _one_view as one_view
from pullback.payloads.traced.evaluate import note_stopped, operand_of
from pullback.tape.history import edge_of, rebase_history, requires_grad
from pullback.tape.node import ErrorNode
from pullback.tape.transform.tokens import deps_behind
from pullback.tensors.tensor import Tensor, as_constant, wrap
from pullback.tensors.versions import overlap

Array = np.ndarray[Any, Any]


def run_traced(trace: Recorder, call: Call, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call inside a trace: traced arrays, and numbers where the schema returns those."""
    definition = call.definition
    used = next((x.last_value for x in payloads if type(x) is TracedArray), None)
    trace.check_open(definition.qualname, used)
    if call.promise is not None:  # a node that is traced again
        return _added(trace, call, [_traced(trace, x) for x in payloads], list(map(_empty, call.promise.results)))
    happens_once = definition.effect is not None and definition.effect[0] not in (None, "collective")
    check_not_repeated(definition, trace.region is not None and happens_once)
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


def check_not_repeated(definition: Any, is_repeated: bool) -> None:
    """Raise if an effect that must happen once is inside of what will be run again."""
    if is_repeated:
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
            "trace cannot tell how to take such a view again",
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


# A node of a graph runs: the operator is called as always, and its results are compared with what the trace was told.
#
# On arrays the node is pure: what the operator writes is a copy, laid out as the argument was, and the copy is
# returned. On tensors the operator itself is called, so that it is recorded, mapped or traced again.

def run_promised(call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a node on arrays: the outputs that are arrays, and the new values of what is written."""
    promise = call.promise
    assert promise is not None
    if not promise.written:
        flat = run_kernel(call, arrays) if promise.forward is None else _run_forward(call, promise, arrays)
        return tuple(_kept(call, promise, flat))
    given = _own(promise, arrays, laid_out_copy)
    fresh, own = _without_outs(call, promise, given, wrap)
    flat = run_kernel(fresh, own)
    return (*_kept(call, promise, flat), *(given[position] for position in promise.written))


def call_promised(
    call: Call, operands: Sequence[Any], call_operator: Callable[[Call, list[Tensor]], Any]
) -> list[Any]:
    """The results of a node on tensors."""
    promise = call.promise
    assert promise is not None
    tensors = _own(promise, [as_constant(x) for x in operands], lambda x: x.clone())
    fresh, own = _without_outs(call, promise, tensors, lambda x: x)
    results = call_operator(fresh, own)
    flat = [] if call.definition.tags & {"inplace", "out"} else _flat(results)
    if promise.forward is not None:
        flat += _residuals(call, own)[len(flat) :]
    return [*_kept(call, promise, flat), *(tensors[position] for position in promise.written)]


def _flat(results: Any) -> list[Any]:
    if results is None:
        return []
    parts = results if isinstance(results, (tuple, list)) else (results,)
    return [each for part in parts for each in (part if isinstance(part, (tuple, list)) else (part,))]


def _own(promise: Promise, operands: Sequence[Any], copy: Callable[[Any], Any]) -> list[Any]:
    """The operands with a copy in the place of every one that is written, and of those that are the same array."""
    given = list(operands)
    same = promise.same or tuple(range(len(given)))
    for first in dict.fromkeys(same[position] for position in promise.written):
        made = copy(given[first])
        for position, group in enumerate(same):
            if group == first:
                given[position] = made
    return given


def _without_outs(
    call: Call, promise: Promise, given: list[Any], as_tensor: Callable[[Any], Any]
) -> tuple[Call, list[Any]]:
    """The call as eager code makes it, with written keyword-only arguments among its keywords, and its operands."""
    count = len(given) - len(promise.outs)
    outs = {name: as_tensor(x) for name, x in zip(promise.outs, given[count:], strict=True)}
    return Call(call.definition, call.layout, {**call.keywords, **outs}), given[:count]


def laid_out_copy(array: Array) -> Array:
    """A copy whose elements lie at the same distances."""
    if array.flags.c_contiguous:
        return array.copy()
    reach = [stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True) if length]
    low, high = sum(step for step in reach if step < 0), sum(step for step in reach if step > 0)
    memory = np.empty(high - low + array.itemsize, np.uint8)
    copy: Array = np.ndarray(array.shape, array.dtype, memory, -low, array.strides)
    copy[...] = array
    return copy


# Keeping the promise.


def _kept(call: Call, promise: Promise, flat: Sequence[Any]) -> list[Any]:
    """The outputs that are arrays, in the order in memory that was promised."""
    if len(flat) != len(promise.results):
        raise _broken(call, f"returned {len(flat)} outputs, and {len(promise.results)} were promised")
    kept: list[Any] = []
    for number, (value, expected) in enumerate(zip(flat, promise.results, strict=True)):
        if isinstance(expected, ArrayType):
            kept.append(_kept_array(call, number, value, expected))
        elif not _is_equal(value, expected):
            raise _broken(call, f"returned {value!r} for output {number}, and the graph was made with {expected!r}")
    return kept


def _kept_array(call: Call, number: int, value: Any, expected: ArrayType) -> Any:
    if not hasattr(value, "dtype") or value.shape != expected.shape or value.dtype != expected.dtype:
        got = describe(value.shape, value.dtype) if hasattr(value, "dtype") else type(value).__name__
        wanted = describe(expected.shape, expected.dtype)
        raise _broken(call, f"returned {got} for output {number}, and {wanted} was promised")
    if type(value) is not np.ndarray or type_of(value) == expected or call.definition.schema.returns_views:
        return value
    ordered = np.empty(expected.shape, expected.dtype)
    if expected.strides is not None:
        ordered = np.ndarray(expected.shape, expected.dtype, np.empty(expected.nbytes, np.uint8), 0, expected.strides)
    ordered[...] = value
    return ordered


def _is_equal(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and (value == expected or (value != value and expected != expected))


def _broken(call: Call, what: str) -> FakeMismatchError:
    definition = call.definition
    fake = "derived from earlier runs" if definition.fake is None else f"registered at {definition.fake[1]}"
    return FakeMismatchError(
        f"{definition.qualname} {what}\n  kernel  registered at {definition.kernel_for(call)[1]}\n  fake    {fake}\n"
        "  why     the graph was traced with what the fake says, and continues with that\n"
        "  fix     let the fake return what the kernel returns; pb.library.opcheck compares them"
    )


# `fwd` of `defvjp_all`.


def _run_forward(call: Call, promise: Promise, arrays: Sequence[Any]) -> tuple[Any, ...]:
    residuals = call.definition.reverse
    if not hasattr(residuals, "known_run"):
        raise _broken(call, "has no fwd any more")
    run = residuals.run(call, arrays)
    if len(run.statics) != len(promise.forward or ()) or not all(
        map(_is_equal, run.statics, promise.forward or ())
    ):
        raise _broken(call, f"has residuals {run.statics!r}, and the graph was made with {promise.forward!r}")
    return (*run.outputs, *run.saved)


def _residuals(call: Call, operands: list[Tensor]) -> list[Any]:
    """What `fwd` returns for these tensors. Nobody knows the derivative of its residuals, so asking for it raises."""
    found = [wrap(x) for x in evaluate(call.definition.op, [x._data for x in operands], {"call": call})]
    needs = tuple([requires_grad(x) for x in operands])
    edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
    for value in found if current().grad and True in needs else ():
        if value._spec.is_differentiable:
            error = AutogradError(
                "SAVED_INTERMEDIATE",
                f"a second derivative of {call.definition.qualname} goes through a saved intermediate, a residual "
                f"{value.dtype}{list(value.shape)} of its fwd",
                why="fwd is NumPy code, so this part of the derivative would silently be missing",
                fix="return it as another output, or compute it again in bwd",
            )
            rebase_history(value, ErrorNode.behind(value._spec, edges, error), 0, deps_behind(operands, needs))
    return found
