"""What a function tells the world while it is traced, and every compiled call tells again: `print`, `logging` and
`warnings.warn`. Writes to Python objects are in `_surroundings/writes.py`.

What is told are further results of the function: tensors as they are at that moment, numbers of the call, constants.
When a call ends, after everything else has happened, it is told in the order of the program. A value in an f-string
that is told and nothing else is formatted then (`texts.py`); a text that was made of a value elsewhere is a constant,
because the path is for that value (`live.py`).
"""

from __future__ import annotations

import builtins
import functools
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

from pullback.aot._numbers.stand_in import is_stand_in
from pullback.aot._trace.captured import InputBoundary
from pullback.aot._tree.texts import Texts, is_told_here
from pullback.core.frames import is_own
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import changed, current
from pullback.errors import SideEffectError
from pullback.payloads.traced import TracedArray, user_location
from pullback.tensors.printing import format_tensor, history_of, to_text
from pullback.tensors.tensor import Tensor

_CONSTANTS = (str, int, float, complex, bool, type(None))


class Shown:
    """A tensor in what is told, with the history that it had when the function told it."""

    def __init__(self, tensor: Tensor, history: list[str]) -> None:
        self._tensor, self._history = tensor, history

    def __repr__(self) -> str:
        return to_text(self._tensor, self._history)

    def __format__(self, specification: str) -> str:
        return format_tensor(self._tensor, specification) if self._tensor.ndim == 0 else repr(self)


class Teller:
    """A function of Python's that tells something, as the user's code sees it in a trace."""

    def __init__(self, effects: Effects, own: Any, told: Callable[..., tuple[Any, ...]]) -> None:
        self._effects = effects
        self._own = own
        self._told = told  # of the arguments: what every call does, and with which

    def __call__(self, *args: Any, **options: Any) -> None:
        if not self._effects.is_open:
            self._own(*args, **options)
            return
        self._effects.note(*self._told(*args, **options))


class Effects:
    """What was done in one trace."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self.given: list[tuple[Any, Any]] = []  # what is done, and with which value
        self._texts = Texts()
        self.print = Teller(self, builtins.print, lambda *args, **options: (builtins.print, args, options))

    @property
    def is_open(self) -> bool:
        return bool(self._trace.is_open)

    def note(self, do: Callable[..., None], args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Every call does this with these arguments, as they are now."""
        leaves, structure = flatten((args, options))
        kept: list[Any] = []
        plans = [self._planned(leaf, kept) for leaf in leaves]
        self.given.append((functools.partial(_done, do, structure, plans), kept))

    def _planned(self, leaf: Any, kept: list[Any]) -> Callable[[list[Any]], Any]:
        """How to make an argument of the values of a call, to which those that it needs are added."""
        if type(leaf) is str:
            pieces = [
                piece if type(piece) is str else (self._planned(piece[0], kept), piece[1])
                for piece in self._texts.pieces(leaf)
            ]
            return functools.partial(_joined, pieces)
        position, history = len(kept), self._history(leaf)
        kept.append(self._kept(leaf))
        return lambda values: values[position] if history is None else Shown(values[position], history)

    def _kept(self, leaf: Any) -> Any:
        """An argument as it is now."""
        if self._is_traced(leaf):
            with changed(grad=False):
                return leaf.detach().clone()
        if is_stand_in(leaf) or type(leaf) in _CONSTANTS:
            return leaf
        raise _refused(f"an object of type {type(leaf).__name__}")

    def _is_traced(self, leaf: Any) -> bool:
        return isinstance(leaf, Tensor) and type(leaf._data) is TracedArray and current().trace is self._trace

    def _history(self, leaf: Any) -> list[str] | None:
        """What the text of a tensor says of its history."""
        if not self._is_traced(leaf) or not leaf.requires_grad:
            return None
        live = self._trace.live
        if isinstance(leaf.grad_fn, InputBoundary) or live.joined or live.loops:
            raise _refused("a tensor that requires grad")  # by a node that eager code does not have
        return history_of(leaf)

    def formatted(self, value: Any, specification: str) -> str | None:
        """What stands for the text of a value in a text that is told and nothing else; None if it may be more."""
        if not self.is_open or not is_told_here(Teller):
            return None
        return self._texts.standing_for(value, specification)

    # Logging and warnings.

    def logger(self, logger: Any, name: str) -> Any:
        """A method of a logger."""
        level = logging.getLevelNamesMapping().get(name.upper())

        def told(*args: Any) -> tuple[Any, ...]:
            frame = _user_frame()
            place = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
            return functools.partial(_logged, logger, level, place), args, {}

        return Teller(self, getattr(logger, name), told)

    @property
    def warn(self) -> Teller:
        """`warnings.warn`."""

        def told(message: Any, category: Any = None, stacklevel: int = 1) -> tuple[Any, ...]:
            return functools.partial(_warned, Warned(_user_frame(), stacklevel, category)), (message,), {}

        return Teller(self, warnings.warn, told)


class Warned:
    """Which line a warning is about, and its category."""

    def __init__(self, frame: Any, level: int, category: Any) -> None:
        self.category = category or UserWarning
        for _ in range(level - 1):
            if frame is None or is_own(frame.f_code.co_filename):
                break
            frame, level = frame.f_back, level - 1
        self.above = level if frame is None or is_own(frame.f_code.co_filename) else 0  # frames above the call
        if not self.above:
            self.place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__") or "<string>"


def _user_frame() -> Any:
    frame: Any = sys._getframe(1)
    while is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _done(do: Callable[..., None], structure: Any, plans: list[Callable[[list[Any]], Any]], values: list[Any]) -> None:
    args, options = unflatten(structure, [plan(values) for plan in plans])
    do(*args, **options)


def _joined(pieces: list[Any], values: list[Any]) -> str:
    return "".join([piece if type(piece) is str else format(piece[0](values), piece[1]) for piece in pieces])


def _logged(logger: Any, level: int | None, place: tuple[str, int, str], *args: Any) -> None:
    if level is None:  # `log(level, message)`
        level, *args = args  # type: ignore[assignment]
    if logger is logging:
        logger = logging.root
        if not logger.handlers:
            logging.basicConfig()
    if logger.isEnabledFor(level):
        message, *rest = args
        record = logger.makeRecord(logger.name, level, *place[:2], message, tuple(rest), None, place[2])
        logger.handle(record)


def _warned(place: Warned, message: str) -> None:
    if not place.above:
        filename, line, module = place.place
        registry = vars(sys.modules[module]).setdefault("__warningregistry__", {}) if module in sys.modules else {}
        warnings.warn_explicit(message, place.category, filename, line, module, registry)
        return
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, place.category, stacklevel=depth + place.above - 1)


def _refused(what: str) -> SideEffectError:
    return SideEffectError(
        f"the function tells {what}",
        location=user_location(),
        why="a compiled call does not have it when it prints, logs or warns",
        fix="tell x.detach(), a number, or a text, or tell it outside of what is compiled",
    )
