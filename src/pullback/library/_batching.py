"""vmap of custom operators: the author's rule, one level at a time, or one example after the other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.state import change, current, in_force, reinstate
from pullback.graph.ir import find_operator
from pullback.library._call import TENSOR, Call
from pullback.library._kernel import run_kernel
from pullback.library._schema import Schema
from pullback.payloads.batched import BatchedArray, enter, leave, levels_of
from pullback.payloads.batched.array import Levels, aligned, broadcast, sizes, union
from pullback.payloads.batched.evaluate import check_fallback, unequal_shapes
from pullback.payloads.evaluate import evaluate
from pullback.payloads.refusals import check_at_home
from pullback.tape.function.batching import VmapInfo
from pullback.tensors.tensor import Tensor, from_outside, wrap

# Core signatures such as `(n,n),(n)->(n)`: what a kernel does with the last axes, while it broadcasts over the others.
#
# An operator that has one needs no other batching rule: the axes of a vmap are further axes in front.

Core = tuple[str, ...]
Shape = tuple[int, ...]
_GROUP = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"({_GROUP}(?:,{_GROUP})*)->({_GROUP}(?:,{_GROUP})*)\Z")


class CoreSignature:
    """The core axes of every tensor argument and of every result, by name; a number is a length."""

    __slots__ = ("inputs", "outputs", "text")

    def __init__(self, text: str) -> None:
        self.text = text.replace(" ", "")
        found = _SIGNATURE.match(self.text)
        if found is None:
            raise ValueError(f"{text!r} is not a core signature: expected one like '(n,n),(n)->(n)'")
        self.inputs, self.outputs = (_cores(side) for side in found.groups())

    def check_schema(self, qualname: str, schema: Schema) -> None:
        """Raise unless the signature has one group per tensor argument, and one per result."""
        if schema.written or schema.returns_views:
            raise ValueError(f"{qualname}: an operator with a core signature neither writes nor returns views")
        if schema.is_dynamic:
            return
        kinds = [argument.type for argument in schema.positional if argument.type.is_tensor]
        if any(kind.is_list or not kind.is_tensor for kind in (*kinds, *schema.returns)):
            raise ValueError(f"{qualname}: a core signature is for single Tensors, and the schema is {schema}")
        if len(kinds) != len(self.inputs) or len(schema.returns) != len(self.outputs):
            raise ValueError(
                f"{qualname}: the core signature {self.text} has {len(self.inputs)} arguments and {len(self.outputs)} "
                f"results, the schema {schema} has {len(kinds)} and {len(schema.returns)}"
            )

    def cores_of(self, call: Call, count: int) -> Sequence[Core]:
        """The core axes of every one of the `count` operands of a call."""
        schema = call.definition.schema
        if not schema.is_dynamic:
            kinds = [kind for (kind, _), argument in zip(call.layout, schema.positional, strict=True)
                     if argument.type.is_tensor]  # fmt: skip
            return [core for kind, core in zip(kinds, self.inputs, strict=True) if kind == TENSOR]
        if len(self.inputs) != count:
            raise RuntimeError(
                f"{call.definition.qualname} was called with {count} arrays, but its core signature {self.text} has "
                f"{len(self.inputs)} arguments"
            )
        return self.inputs

    def result_shapes(self, call: Call, shapes: Sequence[Shape]) -> list[tuple[int | None, ...]]:
        """The shapes of results for operands of these shapes; None for a length that the signature leaves open."""
        sizes: dict[str, int] = {}
        loops: list[Shape] = []
        for number, (shape, core) in enumerate(zip(shapes, self.cores_of(call, len(shapes)), strict=True)):
            if len(shape) < len(core):
                raise self._unfit(call, f"operand {number} of shape {shape} has fewer axes than ({','.join(core)})")
            loops.append(shape[: len(shape) - len(core)])
            for name, length in zip(core, shape[len(shape) - len(core) :], strict=True):
                expected = int(name) if name.isdigit() else sizes.setdefault(name, length)
                if length != expected:
                    what = f"operand {number} of shape {shape} has {length} where {name} is {expected}"
                    raise self._unfit(call, what)
        loop = np.broadcast_shapes(*loops)
        return [(*loop, *(int(name) if name.isdigit() else sizes.get(name) for name in core)) for core in self.outputs]

    def _unfit(self, call: Call, what: str) -> ValueError:
        return ValueError(f"{call.definition.qualname}: {what}, by its core signature {self.text}")

    def check_results(self, call: Call, shapes: Sequence[Shape], results: Sequence[Any]) -> None:
        """Raise unless the kernel broadcast over the axes in front as the signature says."""
        expected = self.result_shapes(call, shapes)
        found = [np.shape(result) for result in results]
        if len(found) == len(expected) and all(
            len(one) == len(two) and all(b is None or a == b for a, b in zip(one, two, strict=True))
            for one, two in zip(found, expected, strict=True)
        ):
            return
        definition = call.definition
        raise RuntimeError(
            f"the kernel of {definition.qualname} does not follow its core signature {self.text}: for operands of "
            f"shapes {list(shapes)} it returned {found}, expected {expected}\n"
            f"  signature  registered at {definition.batch[1]}\n  kernel     registered at "
            f"{definition.kernel_for(call)[1]}"
        )

    def __repr__(self) -> str:
        return self.text


def _cores(side: str) -> tuple[Core, ...]:
    return tuple(tuple(name for name in group.split(",") if name) for group in side[1:-1].split("),("))


def run_batched(call: Call, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call of which some operand is a `BatchedArray`."""
    definition = call.definition
    levels = union([levels_of(x) for x in operands])
    if not levels:
        flat = _below(call, [x.data if type(x) is BatchedArray else x for x in operands])
        return tuple(BatchedArray(each) if hasattr(each, "dtype") else each for each in flat)
    check_at_home(levels, definition.qualname)
    if definition.effect is not None and definition.effect[0] == "ordered":
        raise RuntimeError(f"{definition.qualname} has an ordered effect, and a vmap of it has no order")
    rule = None if definition.batch is None else definition.batch[0]
    if rule is None and definition.is_elementwise:
        rule = "pointwise"
    if rule is None or rule == "sequential":
        # path: custom operator one example after the other
        return _one_by_one(call, operands, levels, warns=rule is None)
    if rule == "pointwise":
        return _aligned(call, operands, levels)
    if isinstance(rule, CoreSignature):
        return _by_core(call, rule, operands, levels)
    return _by_rule(call, rule, operands, levels)


def _below(call: Call, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of the operator on what batches are made of: arrays, or traced ones."""
    outputs: tuple[Any, ...] = call.definition.op.kernel(*payloads, call=call)
    return outputs


# The author's rule.


def _by_rule(call: Call, rule: Any, operands: Sequence[Any], levels: Levels) -> tuple[Any, ...]:
    """Take the innermost level off, and let the rule say what the operator does with the axis that appears."""
    level = levels[-1]
    dims = [0 if level in levels_of(x) else None for x in operands]
    lowered = [x if dim is None else leave(x, 0, level) for x, dim in zip(operands, dims, strict=True)]
    others = tuple(other for other in current().vmaps if other is not level)
    settings = in_force()
    change(grad=False, vmaps=others)
    try:
        if isinstance(rule, str):
            return _entered_flat(call, _named_rule(call, rule, operands, dims, level), level)
        returned = rule(
            VmapInfo(level.size, level.randomness), tuple(call.per_argument(dims)),
            *call.arguments([from_outside(wrap(x)) for x in lowered]), **call.keywords,
        )  # fmt: skip
    finally:
        reinstate(settings)
    where = f"the vmap rule of {call.definition.qualname}, registered at {call.definition.batch[1]},"
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(f"{where} must have two returns, (output, out_dims), got {type(returned).__name__}")
    return _entered(call, where, *returned, level)


def _named_rule(call: Call, rule: str, operands: Sequence[Any], dims: list[Any], level: Any) -> tuple[Any, ...]:
    """The operator on operands with the axis of the level in front: repeated or of length 1 if not batched."""
    lowered = [
        x[None] if dim is None and rule == "expand_dims" else leave(x, 0, level)
        for x, dim in zip(operands, dims, strict=True)
    ]
    result: tuple[Any, ...] = evaluate(call.definition.op, lowered, {"call": call})
    return result


def _entered_flat(call: Call, flat: tuple[Any, ...], level: Any) -> tuple[Any, ...]:
    return tuple(enter(each, 0, level) if hasattr(each, "shape") else each for each in flat)


def _entered(call: Call, where: str, output: Any, out_dims: Any, level: Any) -> tuple[Any, ...]:
    schema = call.definition.schema
    several = schema.returns_tuple or (schema.is_dynamic and isinstance(output, (tuple, list)))
    outputs = list(output) if several else [output]
    dims = list(out_dims) if several and isinstance(out_dims, (tuple, list)) else [out_dims]
    if several and not isinstance(out_dims, (tuple, list)):
        dims = [out_dims] * len(outputs)
    if len(dims) != len(outputs):
        raise RuntimeError(f"{where} returned {len(dims)} out_dims for {len(outputs)} outputs")
    flat: list[Any] = []
    counts: list[int | None] = []
    for value, dim in zip(outputs, dims, strict=True):
        if isinstance(value, (list, tuple)):
            inner = list(dim) if isinstance(dim, (list, tuple)) else [dim] * len(value)
            if len(inner) != len(value):
                raise RuntimeError(f"{where} returned out_dims {dim!r} for a list of {len(value)}")
            flat += [_entered_one(where, each, own, level) for each, own in zip(value, inner, strict=True)]
            counts.append(len(value))
        else:
            flat.append(_entered_one(where, value, dim, level))
            counts.append(None)
    call.counts = tuple(counts) if several or any(count is not None for count in counts) else None
    return tuple(flat)


def _entered_one(where: str, value: Any, dim: Any, level: Any) -> Any:
    if dim is not None and not isinstance(dim, int):
        raise RuntimeError(f"{where} returned out_dims {dim!r}, expected an int or None")
    if not isinstance(value, Tensor):
        return value
    if dim is None:
        payload = value._data
        return payload if type(payload) is BatchedArray else BatchedArray(payload)
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(f"{where} returned out_dims {dim} for an output with {value.ndim} axes")
    return enter(value._data, dim % value.ndim, level)


def _aligned(call: Call, operands: Sequence[Any], levels: Levels) -> tuple[Any, ...]:
    """An elementwise operator, on the arrays as they lie in memory."""
    rank = max(x.ndim for x in operands)
    arrays = [
        aligned(x.data if type(x) is BatchedArray else x, levels_of(x), levels, rank) if x.ndim or levels_of(x) else x
        for x in operands
    ]
    arrays = [x.data if type(x) is BatchedArray else x for x in arrays]
    lead = sizes(levels)
    results = []
    for each in _below(call, arrays):
        if each.shape[: len(lead)] != lead:
            each = np.broadcast_to(each, (*lead, *each.shape[len(lead) :]))
        results.append(BatchedArray(each, levels))
    return tuple(results)


def _by_core(call: Call, signature: CoreSignature, operands: Sequence[Any], levels: Levels) -> tuple[Any, ...]:
    """A kernel that broadcasts over leading axes, at once: the axes of the levels stand in front of its own."""
    cores = signature.cores_of(call, len(operands))
    signature.result_shapes(call, [tuple(x.shape) for x in operands])  # an example must fit before all of them do
    loops = max(x.ndim - len(core) for x, core in zip(operands, cores, strict=True))
    arrays = [
        aligned(x.data if type(x) is BatchedArray else x, levels_of(x), levels, loops + len(core))
        for x, core in zip(operands, cores, strict=True)
    ]
    results = _below(call, arrays)
    signature.check_results(call, [x.shape for x in arrays], results)
    return tuple(BatchedArray(each, levels) for each in results)


# One example after the other.


def _one_by_one(call: Call, operands: Sequence[Any], levels: Levels, warns: bool) -> tuple[Any, ...]:
    definition = call.definition
    if warns:
        check_fallback(definition.qualname)
    if definition.schema.returns_views:
        raise RuntimeError(f"{definition.qualname} returns a view, which cannot be made example after example")
    lead = sizes(levels)
    written = set(definition.written_operands(call)) if definition.schema.written else set()
    spread: list[Any] = []
    for index, x in enumerate(operands):
        own = levels_of(x)
        data = x.data if type(x) is BatchedArray else x
        if index in written and own != levels:
            raise RuntimeError(
                f"{definition.qualname} writes an argument that is the same for all examples of a vmap, while another "
                "argument is batched: which of them should be written is undecided"
            )
        spread.append(broadcast(data, own, levels) if own else data)
    owners, call.written = call.written, None
    rows = []
    for place in itertools.product(*map(range, lead)):
        rows.append(_below(call, [x[place] if levels_of(y) else x for x, y in zip(spread, operands, strict=True)]))
    call.written = owners
    if not rows:
        return _no_examples(call, spread, operands, levels)
    return tuple(_stacked(definition, list(parts), lead, levels) for parts in zip(*rows, strict=True))


def _stacked(definition: Any, parts: list[Any], lead: tuple[int, ...], levels: Levels) -> Any:
    first = parts[0]
    if not hasattr(first, "dtype"):
        if any(part != first for part in parts):
            raise RuntimeError(
                f"{definition.qualname}: the examples of a vmap returned different values for an output that is no "
                f"Tensor: {first!r} and others"
            )
        return first
    if any(part.shape != first.shape for part in parts):
        raise unequal_shapes(definition.qualname)
    stacked = evaluate(find_operator("_stack"), parts, {"axis": 0})
    return BatchedArray(stacked.reshape((*lead, *first.shape)), levels)


def _no_examples(call: Call, spread: list[Any], operands: Sequence[Any], levels: Levels) -> tuple[Any, ...]:
    """The results of a batch of length 0: shapes from the fake, or from an example that does not exist."""
    definition = call.definition
    examples = [np.zeros(y.shape, y.dtype) if levels_of(y) else x for x, y in zip(spread, operands, strict=True)]
    flat = definition.fake_arrays(call, examples)
    if flat is None:
        flat = run_kernel(call, examples)
    lead = sizes(levels)
    return tuple(
        BatchedArray(np.empty((*lead, *each.shape), each.dtype), levels) if hasattr(each, "shape") else each
        for each in flat
    )
