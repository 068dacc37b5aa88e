"""What workers do: a function for the items of a piece, under the modes of whoever sent it.

A worker never raises what the function raised: it returns it, with the traceback as text. So whatever a future raises
is the fault of the pool, and worth another try.
"""

from __future__ import annotations

import os
import pickle
import platform
import reprlib
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.core.pickling import dumps, loads
from pullback.core.pytree import flatten
from pullback.core.state import changed, current, inside_worker
from pullback.core.threads import set_num_threads
from pullback.errors import PieceError
from pullback.operators import functions
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import is_leaf
from pullback.tensors.tensor import Tensor

_KEPT = 8  # functions that a worker remembers
_TOLD = ("PULLBACK_NUM_THREADS", "OMP_NUM_THREADS")


class Settings(NamedTuple):
    """What is in force where the work is sent from."""

    grad: bool
    inference: bool
    dtype: str
    errors: Any
    seed: Any
    stops: bool  # behind the first item of a piece that fails
    sender: tuple[str, int]


def settings_here(seed: Any, stops: bool) -> Settings:
    """What is in force now."""
    modes = current()
    return Settings(
        modes.grad, modes.inference, functions["get_default_dtype"]().str, np.geterr(), seed, stops, _address()
    )


def _address() -> tuple[str, int]:
    return platform.node(), os.getpid()


class Failure(NamedTuple):
    """An item that failed: its number, what it was, what was raised, as text and, if it can be sent, as it is."""

    number: int
    item: str
    text: str
    traceback: str
    error: BaseException | None

    def as_error(self, who: str, attempts: int) -> PieceError:
        """The error for the caller."""
        error = PieceError(
            f"{who}: item {self.number}, {self.item}, failed with {self.text}\n{self.traceback}", index=self.number,
            item=self.item, attempts=attempts, remote_traceback=self.traceback,
        )  # fmt: skip
        error.__cause__ = self.error
        return error


def done(
    work: Callable[..., Any], settings: Settings, start: int, items: list[tuple[Any, ...]], sends: bool
) -> list[Any]:
    """What the work gives for items, the first of which has the number `start`: results and `Failure`s."""
    found: list[Any] = []
    token = inside_worker.set(True)
    try:
        with changed(grad=settings.grad, inference=settings.inference), np.errstate(**settings.errors):
            for index, item in enumerate(items, start):
                try:
                    result = work(*item, **_generator(settings.seed, index))
                    check_without_history(result, "the result")
                    found.append(result)
                except (Exception, SystemExit) as error:
                    found.append(_failure(error, index, item, sends))
                    if settings.stops:
                        break
    finally:
        inside_worker.reset(token)
    return found


def _generator(seed: Any, index: int) -> dict[str, Any]:
    if seed is None:
        return {}
    return {"rng": np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))}


def _failure(error: BaseException, index: int, item: tuple[Any, ...], sends: bool) -> Failure:
    text = "".join(traceback.format_exception(error)).rstrip()
    kept: BaseException | None = error
    if sends:  # not all exceptions can be pickled, and of those not all can be read again
        try:
            kept = loads(pickle.dumps(error))
        except Exception:
            kept = None
    last = traceback.format_exception_only(error)[-1].strip()
    return Failure(index, ", ".join(map(short, item)) or "without arguments", last, text, kept)


def short(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, (np.ndarray, Tensor)) and value.size > 4:
        return f"{value.dtype}{list(value.shape)}"
    text = " ".join(reprlib.repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def refusal(value: Any) -> str | None:
    """Why a value must not be sent; None if it may."""
    if not isinstance(value, Tensor) or (is_leaf(value) and not live_levels((value,))):
        return None
    return (
        f"a tensor with a history, {value._spec!r}, cannot be sent: its graph stays in this process, and its gradient "
        "would be lost without notice; send x.detach()"
    )


def check_without_history(value: Any, what: str) -> None:
    """Raise a TypeError if a tensor in a structure has a history, which ends between processes."""
    for leaf in flatten(value)[0]:
        reason = refusal(leaf)
        if reason is not None:
            raise TypeError(f"{what}: {reason}")


# In other processes.

_known: OrderedDict[str, tuple[Callable[..., Any], Settings]] = OrderedDict()
_lock = threading.Lock()


def work_elsewhere(digest: str, sent: bytes, piece: bytes) -> bytes:
    """`done` with everything as bytes. The function is read once, and remembered by its digest."""
    with _lock:
        if digest in _known:
            _known.move_to_end(digest)
        else:
            work, settings = loads(sent)
            _adopt(settings)
            _known[digest] = (work, settings)
            if len(_known) > _KEPT:
                _known.popitem(last=False)
        work, settings = _known[digest]
    start, items = loads(piece)
    found = done(work, settings, start, items, sends=True)
    return pickle.dumps([_sendable(result, start + k, item) for k, (result, item) in enumerate(zip(found, items))])


def _adopt(settings: Settings) -> None:
    """In a process of its own a worker has one thread, unless it is told otherwise, and the sender's default dtype."""
    if settings.sender == _address():
        return
    if not any(name in os.environ for name in _TOLD):
        os.environ[_TOLD[0]] = "1"
        set_num_threads(1)
    functions["set_default_dtype"](np.dtype(settings.dtype))


def _sendable(result: Any, index: int, item: tuple[Any, ...]) -> Any:
    if isinstance(result, Failure):
        return result
    try:
        return _Sent(dumps(result, "the result", refusal))
    except TypeError as error:
        return _failure(error, index, item, sends=True)


class _Sent(NamedTuple):
    data: bytes


def received(data: bytes) -> list[Any]:
    """What `work_elsewhere` returned, as `done` has it."""
    return [loads(each.data) if isinstance(each, _Sent) else each for each in loads(data)]
