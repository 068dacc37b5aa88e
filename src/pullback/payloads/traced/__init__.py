"""The payload of tensors inside a trace, complete: `TracedArray` with its operators.

| module       | what                                                            |
|--------------|-----------------------------------------------------------------|
| recorder     | the running trace, which appends nodes to a graph                |
| array        | arrays without data, and the storages that make writes disappear |
| evaluate     | evaluating an operator, and writing                              |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.frames import user_place
from pullback.payloads.batched.indexing import assign, read, store
from pullback.payloads.operators import bind_operators, function_called
from pullback.payloads.traced.array import Storage, TracedArray
from pullback.payloads.traced.evaluate import (
    assign_traced,
    evaluate_traced,
    fresh,
    known_types,
    recorded,
    traced_constant,
)
from pullback.payloads.traced.recorder import Recorder, user_location

__all__ = [
    "Recorder", "Storage", "TracedArray", "fresh", "known_types", "recorded", "traced_constant", "user_location",
    "user_place",
]  # fmt: skip


def apply_numpy_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for `np.broadcast_to(payload, shape)` and the like: the function of the same name.

    Only the batching machinery does this; users have tensors.
    """
    if function is np.copyto:
        assign(args[0], args[1])
        return None
    if function is np.may_share_memory:
        return _owner(args[0]) is _owner(args[1])
    return function_called(function.__name__)(*args, **kwargs)


def _owner(payload: Any) -> Any:
    return payload.storage if type(payload) is TracedArray else payload


TracedArray.evaluate_op = staticmethod(evaluate_traced)
TracedArray.assign_payload = staticmethod(assign_traced)
bind_operators(TracedArray, read, store)
setattr(TracedArray, "__array_function__", apply_numpy_function)  # noqa: B010
