"""What `isinstance` and `type` say in a traced function of NumPy arrays among its arguments.

In a trace an array is a tensor, like everything that is computed. A function that asks is told what it would be told of
the array. Of what was computed of arrays alone nobody knows here whether eager code has an array, a number of NumPy's
or a tensor of ours, so the function runs as it is if the answer would matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._numbers.program import Repeat
from pullback.core.state import current
from pullback.errors import TraceError
from pullback.payloads.traced import TracedArray, user_location
from pullback.tensors.tensor import Tensor


def names_for(trace: Any, leaves: list[Any]) -> dict[str, Any]:
    """What the two names mean in the function; nothing of ours if there are no arrays and no numbers among the
    arguments."""
    has_numbers = trace.host is not None and bool(trace.host.given)
    if not has_numbers and not any(isinstance(leaf, np.ndarray) for leaf in leaves):
        return {}

    def is_instance(x: Any, kinds: Any) -> bool:
        kinds = _own_types(kinds)
        found = isinstance(x, kinds)
        eager = in_eager_code(trace, x)
        if eager is None:
            return found
        answer = isinstance(eager, kinds)
        if answer != found and not _is_argument(trace, x):
            raise _unknown(x)
        return answer

    def type_of(*args: Any) -> Any:
        eager = in_eager_code(trace, args[0]) if len(args) == 1 else None
        if eager is None:
            return type(*args)
        if not _is_argument(trace, args[0]):
            raise _unknown(args[0])
        return type(eager)

    def _own_types(kinds: Any) -> Any:
        if isinstance(kinds, tuple):
            return tuple([_own_types(kind) for kind in kinds])
        return type if kinds is type_of else kinds

    return {"isinstance": is_instance, "type": type_of}


def _is_argument(trace: Any, x: Tensor) -> bool:
    return any(primal.tensor is x for primal in trace.members.values())


def in_eager_code(trace: Any, x: Any) -> Any:
    """Something of the kind that eager code has in place of a tensor of the trace; None if that is a tensor, too."""
    if type(x) is not Tensor or type(x._data) is not TracedArray or current().trace is not trace:
        return None
    given = {id(primal.value): primal.original for primal in trace.primals}
    waiting, known, has_array = [x._data.value], set(), False
    while waiting:
        value = waiting.pop()
        if id(value) in known:
            continue
        known.add(id(value))
        if id(value) in given:
            if isinstance(given[id(value)], Tensor):
                return None
            has_array = True
        has_array = has_array or value in trace.met_arrays
        if value.node is not None:
            waiting += value.node.inputs
    if not has_array:
        return None
    return x._data.shadow if x.ndim or _is_argument(trace, x) else x.dtype.type(0)


def check_arrays(trace: Any, outs: list[Any]) -> None:
    """Let the capture be for the numbers of which, with arrays alone, a result is made: it has to be an array."""
    if not trace.met_arrays:
        return
    given = {primal.value for primal in trace.primals}
    for out in outs:
        waiting, known = [out._data.value] if type(out) is Tensor else [], set()
        slots: frozenset[int] = frozenset()
        while waiting:
            value = waiting.pop()
            if value in given:
                break
            slots |= trace.met_arrays.get(value, frozenset())
            if value not in known and value.node is not None:
                waiting += value.node.inputs
            known.add(value)
        else:
            if slots:
                raise Repeat(slots, "the function returns an array that is made of it")


def _unknown(x: Tensor) -> TraceError:
    return TraceError(
        f"the function asks for the type of {x._spec!r}, which is computed of NumPy arrays alone",
        location=user_location(),
        why="arrays are tensors while a function is traced, so it would be told something else than in eager code",
        fix="pass the arrays as tensors, or ask outside of what is compiled",
    )
