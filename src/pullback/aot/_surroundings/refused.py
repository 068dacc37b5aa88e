"""What is not constant in Python's own modules, as a traced function sees it: clocks, caches, loggers, files."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from pullback.aot._surroundings.places import PLAIN
from pullback.errors import SideEffectError
from pullback.payloads.traced import user_location


class Asked:
    """A function with a cache, or a context variable: what it answers is asked for again before every call."""

    def __init__(self, asked: Any, text: str, seer: Any) -> None:
        self._asked, self._text, self._seer = asked, text, seer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not all(isinstance(each, PLAIN) for each in args):
            raise SideEffectError(
                f"the function asks {self._text}, which has a cache, for something that is no plain value",
                location=user_location(),
                why="the tensors of a trace may not be kept there",
                fix="call it outside of what is compiled, and pass what it returns",
            )
        return self._answer(self._asked, args)

    def get(self, *default: Any) -> Any:
        """What a context variable has."""
        return self._answer(self._asked.get, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(Refusing(self._asked, self._text), name)

    def _answer(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        value = function(*args)
        self._seer.note("call", function, args, value, f"what {self._text} answers")
        return self._seer.see(value, self._text)


_CLOCKS = frozenset((
    "time", "perf_counter", "monotonic", "process_time", "thread_time",
    "time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns", "thread_time_ns",
))  # fmt: skip


def is_clock(value: Any) -> bool:
    return isinstance(value, BuiltinFunctionType) and value.__module__ == "time" and value.__name__ in _CLOCKS


_TELLING = frozenset(("warn", "debug", "info", "warning", "error", "exception", "critical", "log"))


def tells(value: Any) -> bool:
    """Does this tell the world something whenever it is called: a logger, a file, a function that warns?"""
    module = type(value).__module__ if not isinstance(value, (FunctionType, BuiltinFunctionType)) else value.__module__
    if module in ("logging", "warnings", "_warnings") and not isinstance(value, type):
        return hasattr(value, "handlers") or getattr(value, "__name__", "") in _TELLING
    return isinstance(value, io.IOBase)


def telling(value: Any, text: str, seer: Any) -> Any:
    """Something that tells the world, as the function sees it: every compiled call tells it again, or it is refused."""
    if value is warnings.warn:
        return seer.effects.warn
    if isinstance(value, logging.Logger):
        return LoggerView(value, text, seer)
    if isinstance(value, FunctionType) and value.__module__ == "logging" and value.__name__ != "exception":
        return seer.effects.logger(logging, value.__name__)
    return Refusing(value, text)


class LoggerView:
    """A logger: what it is told is told by every call, and what it answers is asked again before every call."""

    def __init__(self, logger: logging.Logger, text: str, seer: Any) -> None:
        self._logger, self._text, self._seer = logger, text, seer

    def __getattr__(self, name: str) -> Any:
        if name in _TELLING and name not in ("warn", "exception"):
            return self._seer.effects.logger(self._logger, name)
        if name in ("isEnabledFor", "getEffectiveLevel"):
            return Asked(getattr(self._logger, name), f"{self._text}.{name}", self._seer)
        if name in ("name", "level"):
            return self._seer.read("attribute", self._logger, name, getattr(self._logger, name), f"{self._text}.{name}")
        return getattr(Refusing(self._logger, self._text), name)


class LibraryView(ModuleType):
    """The modules `time` and `os`, whose clocks and environment are not constant, and those that tell something."""

    def __init__(self, module: ModuleType, seer: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _seer=seer)

    def __getattr__(self, name: str) -> Any:
        value, seer, text = getattr(self.__dict__["_module"], name), self.__dict__["_seer"], f"{self.__name__}.{name}"
        if name in ("environ", "getenv"):
            return seer.see(value, name)
        if value is logging.getLogger:
            return lambda *args: seer.see(value(*args), f"{text}({', '.join(map(repr, args))})")
        if seer.effects is not None and tells(value):
            return telling(value, text, seer)
        return Refusing(value, text) if is_clock(value) or tells(value) else value


class Refusing:
    """Something that may answer differently every time, as a clock does: it is not asked."""

    def __init__(self, asked: Any, text: str) -> None:
        self._asked, self._text = asked, text

    def __getattr__(self, name: str) -> Any:
        raise self._refused()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refused()

    def _refused(self) -> SideEffectError:
        if tells(self._asked):
            return SideEffectError(
                f"the function calls {self._text}, which tells something",
                location=user_location(),
                why="it would be told once, since a compiled call does not run the function",
                fix="use print, which compiled calls do, or tell it outside of what is compiled",
            )
        return SideEffectError(
            f"the function asks {self._text}, of type {type(self._asked).__name__}, from outside",
            location=user_location(),
            why="every call may get another answer, and a compiled call does not run the function",
            fix="draw random numbers with pb.random, or pass what it answers as an argument",
        )
