"""Custom Functions on lifted payloads (`payloads/lifted.py`): they run on values, and the lift says what that means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.payloads.lifted import LiftedArray, newest_lift
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor


def is_lifted(inputs: Iterable[Any]) -> bool:
    """Is the payload of one of these a lifted one?"""
    return any(isinstance(x, Tensor) and isinstance(x._data, LiftedArray) for x in inputs)


def on_values(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an opaque function gives for the values of its arguments, lifted again."""
    everything = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
    lift = newest_lift([x._data for x in everything])
    given = [x._data for x in everything if isinstance(x._data, LiftedArray) and x._data.lift is lift]

    def value(x: Any) -> Any:
        if isinstance(x, Tensor) and isinstance(x._data, LiftedArray) and x._data.lift is lift:
            return made_here(x._data.parts[0])
        return x

    lift.opaque(name, given, [])  # refused before it runs
    out = function(*map(value, args), **{key: value(x) for key, x in kwargs.items()})
    outs = out if isinstance(out, tuple) else (out,)
    tensors = [x for x in outs if isinstance(x, Tensor)]
    lifted = iter(lift.opaque(name, given, [x._data for x in tensors]))
    results = tuple([made_here(next(lifted)) if isinstance(x, Tensor) else x for x in outs])
    return results if isinstance(out, tuple) else results[0]
