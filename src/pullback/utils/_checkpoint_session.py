"""Who shares one second run, and for how long its values live.

All reads of one backward pass share a run per checkpoint; a `GraphExecGroup` widens that to several passes; a read
outside of a pass has a run of its own. A value is dropped once it was consumed, that is when the node that read it is
done: a node may read it repeatedly, as derivative rules and `ctx.saved_tensors` do.
"""

from __future__ import annotations

import sys
import weakref
from contextvars import ContextVar
from typing import Any

from pullback.core.spec import describe
from pullback.core.state import restore_beside_modes
from pullback.declare.op import Op
from pullback.errors import CheckpointError
from pullback.tape.task import GraphTask, current_task
from pullback.tape.transform.interception import Interception, Proceed
from pullback.tensors.tensor import Tensor
from pullback.utils._checkpoint_frame import Frame, Holder, Recomputed, recompute


class Session:
    """The recomputed values that a pass, a group of passes or a single read goes through."""

    __slots__ = ("_consumed", "_reader", "_recomputed")

    def __init__(self) -> None:
        # Weak in the frame: its arguments are freed as soon as the last of its nodes is released.
        self._recomputed: weakref.WeakKeyDictionary[Frame, Recomputed] = weakref.WeakKeyDictionary()
        self._reader: Any = None
        self._consumed: list[tuple[Recomputed, weakref.ref[Holder]]] = []

    def read(self, holder: Holder, reader: Any) -> Tensor | None:
        """The value of `holder` for this reader, None if another one has consumed it."""
        if reader != self._reader:
            self._drop_consumed()
            self._reader = reader
        recomputed = self._recomputed.get(holder.frame)
        if recomputed is None or holder.index >= recomputed.count:
            recomputed = self._recomputed[holder.frame] = recompute(holder.frame)
        kept = recomputed.values.get(holder)
        if kept is None:
            return None
        self._consumed.append((recomputed, weakref.ref(holder)))
        return kept.value()

    def _drop_consumed(self) -> None:
        for recomputed, reference in self._consumed:
            holder = reference()
            if holder is not None:
                recomputed.values.pop(holder, None)
        self._consumed.clear()


_group: ContextVar[Session | None] = ContextVar("pullback_checkpoint_group", default=None)
restore_beside_modes(_group.get, _group.set)
# A read outside of a pass: the checkpoints around the one that is read share its session.
_single_read: ContextVar[Session | None] = ContextVar("pullback_checkpoint_read", default=None)


class GraphExecGroup:
    """Backward passes inside this context share one second run of every checkpoint they reach.

    Without it, each pass runs a checkpointed function again. The passes must not overlap: a value that one of them
    has consumed is gone for the others, which raises `CheckpointError`. Groups do not nest.

    >>> from pullback.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> first, second = checkpoint(lambda x: (pb.sin(x), pb.cos(x)), x)
    >>> with GraphExecGroup():
    ...     first.backward()
    ...     second.backward()
    """

    def __enter__(self) -> GraphExecGroup:
        if _group.get() is not None:
            raise CheckpointError(
                "a GraphExecGroup was entered inside another one\n"
                "  why   a pass belongs to one group\n"
                "  fix   leave the outer group first, or let it cover these passes too"
            )
        _group.set(Session())
        return self

    def __exit__(self, *exc: object) -> None:
        _group.set(None)


def restore(holder: Holder) -> Tensor:
    """The unpack hook of a checkpointed call: the value for this holder, computed again if need be."""
    task = current_task()
    if task is None:
        return _read_outside_of_a_pass(holder)
    group = _group.get()
    session = _session_of(task) if group is None else group
    value = session.read(holder, (task.id, None if task.current_node is None else task.current_node.seq))
    if value is not None:
        return value
    if group is not None:
        raise CheckpointError(
            "two backward passes of one GraphExecGroup need the same saved value\n"
            "  why   the passes of a group share one run of a checkpointed function, and values are dropped once used\n"
            "  fix   run these passes in groups of their own, or without a group\n"
            "  torch Performing two backward calls that overlap (i.e. require the same saved activation to be unpacked)"
        )
    # Somebody other than the node it was saved for has read it, say a hook that looks at `_saved_self`.
    return _value_from_a_run_of_its_own(holder)


# The values were compared with those of the forward by the checkpoint itself, as far as that was wanted.
restore.skips_metadata_check = True  # type: ignore[attr-defined]


def _session_of(task: GraphTask) -> Session:
    session = task.scratch.get(Session)
    if session is None:
        session = task.scratch[Session] = Session()
    return session


def _value_from_a_run_of_its_own(holder: Holder) -> Tensor:
    return recompute(holder.frame).values[holder].value()


def _read_outside_of_a_pass(holder: Holder) -> Tensor:
    session = _single_read.get()
    token = None
    if session is None:
        session = Session()
        token = _single_read.set(session)
    try:
        value = session.read(holder, None)
    finally:
        if token is not None:
            _single_read.reset(token)
    return _value_from_a_run_of_its_own(holder) if value is None else value


# The operators that two runs of a checkpointed function executed, for the message of `debug=True`.

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
