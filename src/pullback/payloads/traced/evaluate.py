"""Evaluating operators on traced arrays: a node of the graph, and arrays that stand for its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_of
from pullback.core.state import current
from pullback.declare.op import Op, registry
from pullback.declare.views import ViewStep, part
from pullback.errors import ConstantMutationError, DynamicShapeError, InternalError, TraceError
from pullback.graph.ir import BACKWARD, ArrayType, Node, Value, type_of
from pullback.payloads.batched.array import BatchedArray
from pullback.payloads.batched.indexing import assign_batches
from pullback.payloads.traced.array import Shadow, Storage, TracedArray
from pullback.payloads.traced.recorder import Recorder, user_location

_NUMBERS = (int, float, complex, bool)
_CONSTANTS = frozenset({np.ndarray, int, float, complex, bool, type(None)})


def evaluate_traced(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The results of `op` on operands of which at least one is traced."""
    trace = None
    for x in operands:
        kind = type(x)
        if kind is TracedArray:
            trace = trace or x.storage.trace
        elif kind not in _CONSTANTS and hasattr(kind, "evaluate_op"):
            return kind.evaluate_op(op, operands, params)  # made of traced arrays: a batch, a wrapper
    if trace is None:
        raise InternalError("none of the operands is traced")
    if not trace.is_open or current().trace is not trace:
        trace.check_open(op.name, next(x.last_value for x in operands if type(x) is TracedArray))
    if op.is_view:
        return _view(op, operands[0], params, trace)
    if op.family == "elementwise" and not params:
        return _elementwise(trace, op, operands)
    if op.name == "copy":
        shadow = laid_out(op, operands, params, spec_of(operands[0]))
        if type(operands[0]) is TracedArray and shadow.strides == operands[0].strides:
            copy = fresh(trace, operands[0].value, shadow)  # values do not change, so a copy is the value
            copy.stopped = copy.stopped or operands[0].stopped
            return copy
    if op.name == "_assign" and type(operands[0]) is TracedArray:
        made = fresh(trace, _fitting(operands[1], operands[0], trace), np.empty_like(operands[0].shadow))
        made.stopped = made.stopped or (type(operands[1]) is TracedArray and operands[1].stopped)
        return made
    return recorded(trace, op, operands, params)


def recorded(trace: Recorder, op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The results of a node of this kind."""
    if op.dynamic == len(operands):
        op, params = trace.with_lengths(op, operands, params)
    specs = _specs(op, operands, params)
    several = type(specs) is tuple
    shadows = [laid_out(op, operands, params, spec) for spec in (specs if several else (specs,))]
    node = trace.add(op, [operand_of(x, trace) for x in operands], params, [type_of(shadow) for shadow in shadows])
    node.effect = _effect_of(op, params)
    if trace.noted:
        note_stopped(trace, node, operands)
    results = [fresh(trace, value, shadow) for value, shadow in zip(node.results, shadows, strict=True)]
    return tuple(results) if several else results[0]


# The types of results by operator and operands: most operations of a long function are alike.
known_types: dict[Any, ArrayType] = {}
_MOST_KNOWN = 4096


def _elementwise(trace: Recorder, op: Op, operands: Any) -> Any:
    """The same for the operators that most nodes are of: what is known of the result is looked up."""
    values = [operand_of(x, trace) for x in operands]
    key = (op.name, *[x.type if type(x) is Value else type(x) for x in values])
    kind = known_types.get(key)
    if kind is None:
        result = recorded(trace, op, operands, {})
        if all(type(x) is not Value or x.type.strides is None for x in values) and type(result) is TracedArray:
            if len(known_types) >= _MOST_KNOWN:
                known_types.clear()
            known_types[key] = type_of(result.shadow)
        return result
    node = trace.add(op, values, {}, [kind])
    if trace.noted:
        note_stopped(trace, node, operands)
    return fresh(trace, node.result, np.empty(kind.shape, kind.dtype))


def note_stopped(trace: Recorder, node: Node, operands: Any) -> None:
    """Note the operands of a node that have no history."""
    trace.noted = False
    trace.stopped[node] = tuple([k for k, x in enumerate(operands) if type(x) is TracedArray and x.stopped])


def _effect_of(op: Op, params: dict[str, Any]) -> str | None:
    """What a node does besides computing, for which it keeps its place and happens exactly once."""
    if op.family == "random":
        return "random"
    if op.family != "custom":
        return None
    definition = params["call"].definition
    if definition.effect is not None and definition.effect[0] is not None:
        return definition.effect[0]
    return "random" if "nondeterministic" in definition.tags else None


def fresh(trace: Recorder, value: Value, shadow: Shadow) -> TracedArray:
    """An array in memory of its own that holds `value`."""
    storage = Storage(trace, value, shadow)
    trace.homes.setdefault(value, storage)
    array = TracedArray(storage, shadow, value)
    if trace.stops and trace.tag is not BACKWARD and not current().grad:
        array.stopped = True
    return array


def traced_constant(trace: Recorder, array: Any) -> TracedArray:
    """An array made inside the trace, with these contents."""
    return fresh(trace, trace.constant(array), np.empty_like(array))


def operand_of(x: Any, trace: Recorder) -> Any:
    """What a node has as an operand: a value, or a Python number as it is."""
    if type(x) is TracedArray:
        if x.storage.trace is not trace:
            x.storage.trace.check_open("a tensor of another trace", x.last_value)
        if trace.tag is BACKWARD:
            known, size = trace.read_later.get(id(x.storage)), x.shadow.size
            if known is None or known[1] < size:
                trace.read_later[id(x.storage)] = x.storage, size
        if x.stopped:
            trace.noted = True
        return x.value
    if x is None or type(x) in _NUMBERS:
        return x
    return trace.constant(np.asarray(x))


def _specs(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    if op.dynamic == len(operands):
        raise _dynamic_shape(op)
    if op.spec_rule is None:
        raise TraceError(
            f"{op.name} has no rule for the shape of its result, so it cannot be traced",
            location=user_location(),
            why="a trace runs without data",
            fix="give the operator a fake with register_fake, or call it outside of the compiled function",
        )
    given = [spec_of(x) if hasattr(x, "dtype") else x for x in operands]
    if op.family == "reduction" and 0 in given[0].shape:
        op.kernel(np.empty(given[0].shape, given[0].dtype), **params)  # some have no value then, and raise
    found = op.specs_of(*given, **params)
    if found is None:
        raise _dynamic_shape(op)
    return tuple(found) if isinstance(found, (tuple, list)) else found


def _dynamic_shape(op: Op) -> DynamicShapeError:
    return DynamicShapeError(
        f"{op.name.strip('_')}: the shape of the result depends on values",
        location=user_location(),
        why="a graph has fixed shapes",
        fix="use pb.where(condition, a, b), a product with a mask, or a fixed number of results",
    )


# Views.


def _view(op: Op, source: TracedArray, params: dict[str, Any], trace: Recorder) -> Any:
    out = op.kernel(source.shadow, **params)
    if isinstance(out, (tuple, list)):
        return tuple(
            [
                _one_view(ViewStep(part, {"whole": op, "params": params, "index": index}), source, shadow, trace)
                for index, shadow in enumerate(out)
            ]
        )
    if op.may_copy and out.size and not np.may_share_memory(out, source.shadow):
        return _copied_view(op, source, params, trace)
    return _one_view(ViewStep(op, params), source, out, trace)


def _one_view(step: ViewStep, source: TracedArray, shadow: Shadow, trace: Recorder) -> TracedArray:
    node = trace.add(step.op, [operand_of(source, trace)], step.params, [type_of(shadow)])
    view = TracedArray(source.storage, shadow, node.result, (*source.steps, step))
    view.is_swapped_in, view.stopped, view.is_detached = source.is_swapped_in, source.stopped, source.is_detached
    trace.noted = False
    return view


def _copied_view(op: Op, source: TracedArray, params: dict[str, Any], trace: Recorder) -> TracedArray:
    """A view that NumPy cannot make of this memory: the same view of a copy in row-major order."""
    kind = type_of(np.empty(source.shape, source.dtype))
    copy = trace.add(registry["copy"], [operand_of(source, trace)], {"order": "C"}, [kind])
    if trace.noted:
        note_stopped(trace, copy, [source])
    shadow = op.kernel(np.empty(source.shape, source.dtype), **params)
    return fresh(trace, trace.add(op, [copy.result], params, [type_of(shadow)]).result, shadow)


# How results lie in memory.


def laid_out(op: Op, operands: Any, params: dict[str, Any], spec: Spec) -> Shadow:
    """A shadow for a result of `op`, in the order that NumPy gives it."""
    arrays = [x.shadow if type(x) is TracedArray else x for x in operands if hasattr(x, "strides")]
    layout = op.layout
    if layout == "order" and params["order"] != "K":
        return np.empty(spec.shape, spec.dtype, params["order"])
    if layout == "kept" and not arrays[0].flags.c_contiguous and len(spec.shape) > 1:
        return _reduced(arrays[0], params, spec)
    if layout == "kernel" and not all(array.flags.c_contiguous for array in arrays):
        if op.flow == "joins":
            return op.kernel(*arrays, **params)
        if arrays[0].size:
            return op.kernel(arrays[0], *map(np.zeros_like, arrays[1:]), **params)  # places that every array has
    if layout != "kept" and len(spec.shape) > 1 and not all(array.flags.c_contiguous for array in arrays):
        asked = _as_the_kernel_has_it(op, operands, params, spec)
        if asked is not None:
            return asked
    if layout in ("rows", "kept", "kernel"):
        return np.empty(spec.shape, spec.dtype)
    if all(array.flags.c_contiguous and array.shape == spec.shape for array in arrays):
        return np.empty(spec.shape, spec.dtype)
    if layout == "first":
        return np.empty_like(arrays[0], spec.dtype)  # unlike a ufunc it puts axes without a stride last
    return _in_kept_order(arrays, spec)


def _as_the_kernel_has_it(op: Op, operands: Any, params: dict[str, Any], spec: Spec) -> Shadow | None:
    """How the result of a kernel lies in memory, which only it knows if it is no ufunc and its operands do not lie row
    by row: whether a reshape of the result is a view depends on it. None if the kernel cannot be asked."""
    if isinstance(op.kernel, np.ufunc) or registry.get(op.name) is not op or op.family == "random" or op.takes_payloads:
        return None
    if any(type(x) is TracedArray and 0 in x.shadow.strides for x in operands):
        return None  # what repeats elements cannot be made anew in the same layout
    given = [_harmless(x.shadow) if type(x) is TracedArray else x for x in operands]
    try:
        with np.errstate(all="ignore"):
            out = (op.inner_kernel or op.kernel)(*given, **params)
    except Exception:  # of these numbers there is no result; then it is what was declared
        return None
    for each in out if type(out) is tuple else (out,):
        if type(each) is np.ndarray and each.shape == spec.shape and each.dtype == spec.dtype:
            return np.empty_like(each)
    return None


def _harmless(array: Shadow) -> Shadow:
    """Numbers that kernels compute with, laid out as an array is: places that every array has, or ones."""
    return np.zeros_like(array) if array.dtype.kind in "biu" else np.ones_like(array)


def _in_kept_order(arrays: list[Any], spec: Spec) -> Shadow:
    """What a ufunc makes of arrays that lie in memory in other orders."""
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    dtypes = [None] * len(arrays) + [spec.dtype]
    iterator = np.nditer((*arrays, None), ["zerosize_ok", "refs_ok"], flags, dtypes, order="K", casting="unsafe")  # type: ignore[call-overload]
    made: Shadow = iterator.operands[-1]
    return made if made.shape == spec.shape else np.empty(spec.shape, spec.dtype)


def _reduced(array: Shadow, params: dict[str, Any], spec: Spec) -> Shadow:
    keeps = params.get("keepdims", False)
    axes = params["axis"]
    index = tuple([(slice(0, 1) if keeps else 0) if axis in axes else slice(None) for axis in range(array.ndim)])
    if 0 in array.shape:
        return np.empty(spec.shape, spec.dtype)
    return _in_kept_order([array[index]], spec)


# Writing.


def assign_traced(target: Any, value: Any) -> None:
    """Write `value`, which broadcasts to the target's shape, into the target's memory."""
    if type(target) is BatchedArray:
        assign_batches(target, value)
        return
    if type(target) is not TracedArray:
        raise ConstantMutationError(
            "a traced value is written into an array that is not traced",
            location=user_location(),
            why="the array is a constant of the graph, and would be written once, while tracing, and never again",
            fix="make the array with pb.zeros inside of the function, or pass it as an argument",
        )
    trace = target.storage.trace
    trace.check_open("a write", target.last_value)
    new = _fitting(value, target, trace)
    modes = current()
    in_grad_mode = modes.grad and not modes.inference
    was_stopped, is_stopped = target.stopped, type(value) is TracedArray and value.stopped
    hidden = target.is_detached or (not was_stopped and not in_grad_mode and trace.tag is not BACKWARD)
    stopped = hidden or (is_stopped and not was_stopped)
    begins = was_stopped and in_grad_mode and not is_stopped
    target.storage.write(target.steps, new, in_grad_mode, stopped, hidden, begins)


def _fitting(value: Any, target: TracedArray, trace: Recorder) -> Value:
    """The value to be written, in the shape and dtype of the target."""
    if type(value) is not TracedArray:
        if hasattr(type(value), "__tensor_flatten__"):
            raise TypeError(f"a {type(value).__name__} cannot be written into a plain array")
        array = np.asarray(value)
        if array.dtype != target.dtype:
            array = array.astype(target.dtype)
        value = traced_constant(trace, array)
    elif value.dtype != target.dtype:
        value = registry["_astype"].call(value, dtype=target.dtype)
    extra = value.ndim - target.ndim
    if extra > 0 and value.shape[:extra] == (1,) * extra:  # NumPy drops axes of length 1 in front
        value = registry["_reshape"].call(value, shape=value.shape[extra:])
    if value.shape != target.shape:
        spread = registry["broadcast_to"].call(value, shape=target.shape)
        value = registry["copy"].call(spread, order="C")
    return value.value
