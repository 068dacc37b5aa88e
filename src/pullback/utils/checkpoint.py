"""Activation checkpointing: trade time for memory by computing values again instead of keeping them.

    y = checkpoint(layer, x)          # keeps x, not what layer computed on the way
    y.sum().backward()                # runs layer again when its values are needed

The gradients are those of the plain call, to any order. The function runs again once per backward pass, with grad mode
on and with the random numbers of the forward, and only as far as its last saved value. It must do the same every time:
what it saves is counted and compared by shape and dtype, and a difference raises `CheckpointError`.

Checkpoints nest. The values of an inner one are managed by it alone; what it was called with counts as saved by the
outer one. This is an implementation on saved-tensor hooks. The older design, in which backward starts a pass of its own
for each checkpoint, supports neither `inputs=` nor double backward; `use_reentrant=True` asks for it, and without
`use_reentrant` it is never taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from pullback.core.state import change, current, restore_beside_modes
from pullback.errors import CheckpointError
from pullback.utils._checkpoint_frame import Arguments, Frame, RandomState, first_draws_of
from pullback.utils._checkpoint_reentrant import run_reentrant
from pullback.utils._checkpoint_selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
    tagging,
)
from pullback.utils._checkpoint_session import GraphExecGroup, OperatorTrace, compare, restore

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_R = TypeVar("_R")
Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_debug: ContextVar[bool | None] = ContextVar("pullback_checkpoint_debug", default=None)
restore_beside_modes(_debug.get, _debug.set)
_early_stop: ContextVar[bool | None] = ContextVar("pullback_checkpoint_early_stop", default=None)
restore_beside_modes(_early_stop.get, _early_stop.set)


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the `context_fn` of a plain checkpoint."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, checkpoints end their second runs early or not as said here, whatever their `early_stop` argument.

    What counts is where the forward runs. The contexts nest; the innermost decides.
    """
    token = _early_stop.set(bool(enable))
    try:
        yield
    finally:
        _early_stop.reset(token)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside, checkpoints note their operators or not as said here, whatever their `debug` argument; None leaves it to
    them. What counts is where the forward runs."""
    token = _debug.set(None if enabled is None else bool(enabled))
    try:
        yield
    finally:
        _debug.reset(token)


def checkpoint(
    function: Callable[..., _R],
    /,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Contexts] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> _R:
    """`function(*args, **kwargs)`, recorded without keeping any value that it saves for backward.

    A backward pass that needs one of them runs the function again; `args` and `kwargs`, in any structure, are kept for
    that, and writing to a Tensor among them in the meantime is an error. With grad mode off this is a plain call.

    Args:
        function: What to run. It must do the same on every call.
        args: Its positional arguments.
        use_reentrant: True makes the whole call one node, as in PyTorch's older variant: only for `backward()` without
            `inputs`, without keyword arguments, and for Tensors that are arguments themselves. None means False.
        preserve_rng_state: Draw the same numbers again, from Pullback's default generator, from those that functions of
            `pb.random` are given, and from NumPy's global one.
        context_fn: Returns two context managers, the first around the forward and the second around each further run.
        determinism_check: "default" compares shape and dtype of every saved value; "none" only their number.
        debug: Add the operators of both runs to the error when they differ. Excludes `context_fn`.
        early_stop: End a further run as soon as it has computed the last saved value, by an exception through it.
        kwargs: Keyword arguments of the function.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.sin().exp(), x).sum().backward()
    """
    override = _debug.get()
    if use_reentrant:
        _check_reentrant(kwargs, context_fn, debug)
    elif override is not None:
        debug = override
    if determinism_check not in ("default", "none"):
        raise ValueError(f'determinism_check must be "default" or "none", got {determinism_check!r}')
    if debug and context_fn not in (None, noop_context_fn):
        raise ValueError("debug=True brings contexts of its own and cannot be combined with context_fn")
    modes = current()
    if not modes.grad or modes.inference:
        return function(*args, **kwargs)
    if modes.trace is not None:
        return _traced(function, args, kwargs, context_fn)
    if use_reentrant:
        return run_reentrant(function, args, preserve_rng_state)
    if modes.hooks_disabled is not None:
        raise RuntimeError(modes.hooks_disabled)
    forward_context, context, explain = _contexts(context_fn, debug)
    override = _early_stop.get()
    frame = Frame(
        function,
        Arguments(args, kwargs),
        context,
        random_state=RandomState() if preserve_rng_state else None,
        early_stop=early_stop if override is None else override,
        checks_specs=determinism_check == "default",
        explain=explain,
    )
    return _run_forward(frame, forward_context, args, kwargs)


def _check_reentrant(kwargs: dict[str, Any], context_fn: Callable[[], Contexts] | None, debug: bool) -> None:
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}; use_reentrant=True takes none")
    if debug or context_fn not in (None, noop_context_fn):
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False")


def _traced(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    context_fn: Callable[[], Contexts] | None,
) -> Any:  # fmt: skip
    """Inside of a trace the function runs as it is, and its nodes say that backward is to compute them again."""
    trace = current().trace
    context = noop_context_fn()[0] if context_fn is None else context_fn()[0]
    with trace.checkpointed(), tagging(context, trace):
        return function(*args, **kwargs)


def _contexts(
    context_fn: Callable[[], Contexts] | None, debug: bool
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any], Callable[[], str]]:
    """What surrounds the forward, what surrounds further runs, and what to add to the error when they differ."""
    if debug:
        first, second = OperatorTrace(), OperatorTrace()
        return first, second, lambda: compare(first, second)
    forward_context, context = (noop_context_fn if context_fn is None else context_fn)()
    return forward_context, context, lambda: "  debug=True lists the operators of both runs"


def _run_forward(
    frame: Frame, context: AbstractContextManager[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    modes = current()
    previous = change(saved_hooks=(*modes.saved_hooks, (frame.pack, restore)))
    try:
        with first_draws_of(frame.random_state), context:
            frame.interceptors = current().interceptors[len(modes.interceptors) :]
            result = frame.function(*args, **kwargs)
            frame.is_complete = True
    finally:
        frame.interceptors = ()
        change(**previous)
    if not frame.is_complete:
        raise CheckpointError(
            "the forward context of a checkpoint swallowed an exception of the function\n"
            "  why   there is no result to return\n"
            "  fix   let the first context manager of context_fn pass exceptions on"
        )
    return result


def checkpoint_sequential(functions: Sequence[Callable[[Any], Any]], segments: int, input: Any, **options: Any) -> Any:
    """Apply `functions` one after the other, checkpointed in `segments` pieces of about equal length.

    The last segment is not checkpointed, since backward would run it again at once. `options` are those of
    `checkpoint`.

    >>> x = pb.tensor([0.5, 1.0], requires_grad=True)
    >>> y = pb.utils.checkpoint.checkpoint_sequential([pb.sin, pb.exp, pb.tanh, pb.cos], 2, x)
    """
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(f"{len(functions)} functions cannot be run in {segments} segments")
    length = len(functions) // segments
    value = input
    for start in range(0, length * (segments - 1), length):
        value = checkpoint(_chain(functions[start : start + length]), value, **options)
    return _chain(functions[length * (segments - 1) :])(value)


def _chain(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def chain(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return chain
