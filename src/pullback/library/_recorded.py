"""What an operator without a fake was seen to return: its runs, by the shapes, dtypes and constants they were given.

A run tells what another one with arguments of the same form returns, unless the operator's shapes depend on data. One
that was seen to return two forms for the same arguments does that, and is never described from its runs again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.library._call import STATIC, Call
from pullback.library._core_signature import CoreSignature

_MOST_RUNS = 64
_CONSTANTS = (int, float, complex, str, type(None))

Form = tuple[tuple[tuple[int, ...], Any], ...]
"""Shapes and dtypes."""


class RecordedRuns:
    """The runs of one operator."""

    __slots__ = ("_runs", "varies")

    def __init__(self) -> None:
        self._runs: dict[Any, dict[Form, tuple[Form, Any]]] = {}  # by constants, then by the form of operands
        self.varies = False

    def note(self, call: Call, operands: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Remember a run."""
        if self.varies:
            return
        constants = constants_of(call)
        if constants is None or not all(isinstance(out, np.ndarray) for out in outputs):
            return  # numbers are data
        given, returned = form_of(operands), form_of(outputs)
        counts = call.counts
        if not call.definition.schema.is_dynamic and set(counts or ()) <= {None}:
            counts = None  # what the quick ways leave it at
        runs = self._runs.setdefault(constants, {})
        known = runs.get(given)
        if known is not None and known != (returned, counts):
            self.varies = True
            self._runs = {}
        elif known is None:
            if len(runs) >= _MOST_RUNS or len(self._runs) > _MOST_RUNS:
                self._runs = {constants: (runs := {})}
            runs[given] = (returned, counts)

    def outputs(self, call: Call, operands: Sequence[Any]) -> Form | None:
        """The form of what this call returns; None if no run tells. Sets the call's `counts`."""
        constants = constants_of(call)
        if constants is None:
            return None
        given = form_of(operands)
        runs = self._runs.get(constants, {})
        known = runs.get(given) or _by_signature(call, given, runs)
        if known is None:
            return None
        call.counts = known[1]
        return known[0]


def _by_signature(call: Call, given: Form, runs: dict[Form, tuple[Form, Any]]) -> tuple[Form, Any] | None:
    """With a core signature shapes are known for operands of any size, and a run with these dtypes tells the others."""
    signature = None if call.definition.batch is None else call.definition.batch[0]
    if not isinstance(signature, CoreSignature):
        return None
    dtypes = [dtype for _, dtype in given]
    for form, (returned, counts) in tuple(runs.items()):
        if [dtype for _, dtype in form] == dtypes:
            shapes = signature.result_shapes(call, [shape for shape, _ in given])
            if any(None in shape for shape in shapes) or len(shapes) != len(returned):
                return None
            return tuple([(shape, dtype) for shape, (_, dtype) in zip(shapes, returned, strict=True)]), counts  # type: ignore[misc]
    return None


def form_of(arrays: Sequence[Any]) -> Form:
    """Shapes and dtypes of arrays."""
    return tuple([(tuple(x.shape), x.dtype) for x in arrays])


def constants_of(call: Call) -> Any:
    """The arguments of a call that are no tensors, and where its tensors are; None if that can not be compared."""
    found: list[tuple[Any, Any]] = [(kind, data if kind != STATIC else _frozen(data)) for kind, data in call.layout]
    found += [(name, _frozen(value)) for name, value in call.keywords.items()]
    return None if any(each is NotImplemented for _, each in found) else tuple(found)


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        parts = tuple([_frozen(each) for each in value])
        return NotImplemented if any(part is NotImplemented for part in parts) else (type(value), parts)
    return (type(value), value) if isinstance(value, _CONSTANTS) else NotImplemented
