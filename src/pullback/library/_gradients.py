"""What formulas return, as one gradient per operand: the checks, in the words that the specification fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.spec import Spec
from pullback.core.state import current
from pullback.library._call import LIST, STATIC, TENSOR, Call
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.transform.recording import Recording
from pullback.tensors.tensor import Tensor, made_here


def num_operands(call: Call) -> int:
    """How many tensors the call has."""
    return sum(
        1 if kind == TENSOR else sum(index is not None for index in data) if kind == LIST else 0
        for kind, data in call.layout
    )


def is_gradient(value: Any) -> bool:
    """Is it something that the engine carries?"""
    return isinstance(value, (Tensor, SparseGrad))


def flat_gradients(call: Call, returned: Any, location: str) -> list[Any]:
    """The gradients that a formula returned for positional arguments, one per operand."""
    layout = call.layout
    total, passed = len(layout), _num_passed(call)
    takes_one = 1 in (total, passed)
    if not isinstance(returned, (tuple, list)) or (
        takes_one and isinstance(returned, list) and layout[0][0] == LIST
    ):
        returned = (returned,)
    if len(returned) not in (total, passed):
        expected = str(total) if total == passed else f"{passed} or {total}"
        raise _problem(call, location, f"returned an incorrect number of gradients (expected {expected}, got "
                                       f"{len(returned)})")  # fmt: skip
    flat: list[Any] = [None] * num_operands(call)
    for position, entry in enumerate(returned):
        kind, data = layout[position]
        if kind == TENSOR:
            if entry is not None and not is_gradient(entry):
                raise _problem(call, location, f"returned a {type(entry).__name__} at position {position}, expected a "
                                               "Tensor or None")  # fmt: skip
            flat[data] = entry
        elif kind == LIST:
            _take_list(call, location, position, data, entry, flat)
        elif entry is not None and not (isinstance(entry, (list, tuple)) and not entry and data == []):
            omitted = ", which was not passed" if position >= passed else ""
            raise _problem(call, location, f"returned a gradient different than None at position {position}{omitted}, "
                                           "where the argument is no Tensor")  # fmt: skip
    return flat


def _take_list(call: Call, location: str, position: int, data: Any, entry: Any, flat: list[Any]) -> None:
    if entry is None:
        return
    if not isinstance(entry, (list, tuple)) or len(entry) != len(data):
        got = f"{len(entry)} gradients" if isinstance(entry, (list, tuple)) else type(entry).__name__
        raise _problem(call, location, f"returned {got} at position {position}, where the argument is a list of "
                                       f"{len(data)}: gradients have the same structure as the arguments")  # fmt: skip
    for index, each in zip(data, entry, strict=True):
        if each is not None and (index is None or not is_gradient(each)):
            raise _problem(call, location, f"returned a {type(each).__name__} in the list at position {position}, "
                                           "which must have the same structure as the argument")  # fmt: skip
        if index is not None:
            flat[index] = each


def _num_passed(call: Call) -> int:
    """The position after the last argument that differs from its default."""
    arguments = call.definition.schema.positional
    if call.definition.schema.is_dynamic:
        return len(call.layout)
    for position in reversed(range(len(call.layout))):
        kind, data = call.layout[position]
        if kind != STATIC or not _equals(data, arguments[position].default):
            return position + 1
    return 0


def _equals(value: Any, default: Any) -> bool:
    if isinstance(value, list) or isinstance(default, (list, tuple)):
        return isinstance(default, (list, tuple)) and isinstance(value, list) and value == list(default)
    return type(value) is type(default) and (value == default or value is default)


def _problem(call: Call, location: str, what: str) -> RuntimeError:
    return RuntimeError(f"the backward of {call.definition.qualname}, registered at {location}, {what}")


# The pair.


def gradients_by_name(call: Call, returned: Any, location: str) -> list[Any]:
    """The dictionary of gradients that `impl_backward` returned, one entry per operand."""
    definition = call.definition
    where = f"{definition.qualname}: backward, registered at {location}: expected the gradients"
    if not isinstance(returned, dict):
        raise RuntimeError(f"{where} to be a dict by argument name, got {type(returned).__name__}")
    arguments = definition.schema.arguments
    expected = {argument.name for argument in arguments if argument.type.is_tensor}
    if set(returned) != expected:
        raise RuntimeError(
            f"{where} to have keys {expected}, got {set(returned)}; every Tensor argument has one, with None for no "
            "gradient, and arguments of non-Tensor-like types have none"
        )
    flat: list[Any] = [None] * num_operands(call)
    for argument, (kind, data) in zip(definition.schema.positional, call.layout, strict=True):
        if argument.name in expected:
            _take_named(where, argument, kind, data, returned[argument.name], flat)
    return flat


def _take_named(where: str, argument: Any, kind: int, data: Any, entry: Any, flat: list[Any]) -> None:
    name = argument.name
    if argument.type.is_list and not (kind == STATIC and data is None):
        indices = data if kind == LIST else (None,) * len(data)
        if not isinstance(entry, (list, tuple)):
            raise RuntimeError(f"{where} of {name!r} to be a list of gradients, got {type(entry).__name__}")
        if len(entry) != len(indices):
            raise RuntimeError(f"{where} of {name!r} to be a list of {len(indices)} gradients but got {len(entry)}")
        for place, (index, each) in enumerate(zip(indices, entry, strict=True)):
            if each is not None and not is_gradient(each):
                raise RuntimeError(
                    f"{where} of {name!r} to be None or Tensor gradients, got {type(each).__name__} at index {place}"
                )
            if each is not None and index is None:
                raise RuntimeError(
                    f"{where} of {name!r} at index {place}: expected None because the argument is NoneType there"
                )
            if index is not None:
                flat[index] = each
        return
    if entry is None:
        return
    if not is_gradient(entry):
        raise RuntimeError(f"{where} of {name!r} to be either None or a Tensor, got {type(entry).__name__}")
    if kind != TENSOR:
        raise RuntimeError(f"{where}: expected None as the gradient of {name!r}, which was None in the call")
    flat[data] = entry


# One rule is enough: a linear map run on recorded zeros is transposed by pulling through it.
#
# Reverse from forward: `t -> jvp(t)` is linear, its transpose is the vjp. Forward from reverse: `u -> vjp(u)` is
# linear, its transpose is the jvp. Both are ordinary recordings, so what comes out can be differentiated again.

def zeros_of(spec: Spec) -> Tensor:
    """Zeros of this shape and dtype."""
    return made_here(np.zeros(spec.shape, spec.dtype))


def transposed(
    who: str,
    function: Callable[[list[Any]], Sequence[Any]],
    inputs: Sequence[Spec],
    cotangents: Sequence[Any],
    leaves_pullback: Callable[[], Exception],
) -> list[Any]:
    """The transpose of a linear function applied to `cotangents`, one for each of its outputs.

    An output that is not zero and has no history did not come from the inputs through Pullback.
    """
    recording = Recording(who)
    outputs = recording.run(lambda *values: function(list(values)), tuple(zeros_of(spec) for spec in inputs), {})
    used = [
        (out, cotangent)
        for out, cotangent in zip(outputs, cotangents, strict=True)
        if isinstance(out, Tensor) and cotangent is not None and out._spec.is_differentiable
    ]
    for out, _ in used:
        if out._node is None:
            raise leaves_pullback()
    recording.keep_outputs([out for out, _ in used])
    return recording.pull([cotangent for _, cotangent in used], True, current().grad)
