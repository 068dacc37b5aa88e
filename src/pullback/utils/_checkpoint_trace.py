"""The operators that two runs of a checkpointed function executed, for the message of `debug=True`."""

from __future__ import annotations

import sys
from typing import Any

from pullback.core.spec import describe
from pullback.declare.op import Op
from pullback.tensors.tensor import Tensor
from pullback.utils._interception import Interception, Proceed


class OperatorTrace(Interception):
    """A context that notes every primitive: `sin(float64[3]) -> float64[3]`, and where it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.places: list[str] = []

    def __enter__(self) -> None:
        self.calls.clear()
        self.places.clear()
        super().__enter__()

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        static = [f"{name}={value!r}" for name, value in params.items()]
        call = f"{op.name}({', '.join([*map(_describe, operands), *static])})"
        # Noted before it runs: the operator that completes a second run does not return.
        position = len(self.calls)
        self.calls.append(call)
        self.places.append(_place_of_the_call())
        out = proceed(op, operands, params)
        self.calls[position] = f"{call} -> {_describe(out)}"
        return out


def _describe(value: Any) -> str:
    if isinstance(value, Tensor):
        return describe(value.shape, value.dtype)
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))})"
    return repr(value)


def _place_of_the_call() -> str:
    """`file.py:12` of the innermost line that is not Pullback's own."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_ours(module: dict[str, Any]) -> bool:
    # Generated fast paths run in a namespace that is no module and has no name.
    return str(module.get("__name__", "pullback")).partition(".")[0] == "pullback"


def compare(first: OperatorTrace, second: OperatorTrace) -> str:
    """Both traces as text, and before them the first call in which they differ."""
    position = next(
        (
            index
            for index, (one, other) in enumerate(zip(first.calls, second.calls))
            # The last call of a run that was stopped has no result yet.
            if one != other and not one.startswith(f"{other} ->")
        ),
        min(len(first.calls), len(second.calls)),
    )
    parts = [f"  the runs first differ at operator {position}"] if first.calls != second.calls else []
    parts += [_listed("operators of the forward", first), _listed("operators of the second run", second)]
    return "\n".join(parts)


def _listed(title: str, trace: OperatorTrace) -> str:
    lines = (f"    {index:>4}  {call}    {place}" for index, (call, place) in enumerate(zip(trace.calls, trace.places)))
    return "\n".join([f"  {title}", *lines])
