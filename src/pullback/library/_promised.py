"""A node of a graph runs: the operator is called as always, and its results are compared with what the trace was told.

On arrays the node is pure: what the operator writes is a copy, laid out as the argument was, and the copy is returned.
On tensors the operator itself is called, so that it is recorded, mapped or traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd._node import ErrorNode
from pullback.autograd._tokens import deps_behind
from pullback.autograd._variable import edge_of, rebase_history, requires_grad
from pullback.core.spec import describe
from pullback.core.state import current, next_stamp
from pullback.errors import AutogradError
from pullback.graph.types import ArrayType, type_of
from pullback.library._call import Call, Promise
from pullback.library._errors import FakeMismatchError
from pullback.library._kernel import run_kernel
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Tensor, as_constant, wrap

Array = np.ndarray[Any, Any]


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
    residuals = call.definition.formulas().residuals
    if residuals is None:
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
    if current().grad and True in needs:
        for value in found:
            if value._spec.is_differentiable:
                node = ErrorNode()
                edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
                node.next, node.next_nr = tuple(edge[0] for edge in edges), tuple(edge[1] for edge in edges)
                node.spec, node.rare, node.seq = value._spec, None, next_stamp()
                node.error = AutogradError(
                    "SAVED_INTERMEDIATE",
                    f"a second derivative of {call.definition.qualname} goes through a saved intermediate, a residual "
                    f"{value.dtype}{list(value.shape)} of its fwd",
                    why="fwd is NumPy code, so this part of the derivative would silently be missing",
                    fix="return it as another output, or compute it again in bwd",
                )
                rebase_history(value, node, 0, deps_behind(operands, needs))
    return found
