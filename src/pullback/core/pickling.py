"""How functions get to other processes: by pickle, or by cloudpickle if that is installed.

    data = dumps(work)      # what cannot travel is named in the error
    work = loads(data)

Pickle knows functions by their names, and everything that can be imported travels so. Lambdas and functions made in
functions have no such name; cloudpickle sends their code.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Callable
from importlib import import_module, util
from types import FunctionType
from typing import Any

from pullback._sites import told
from pullback.core.pytree import flatten

Refuse = Callable[[Any], str | None]

loads = pickle.loads
_NEED_NO_NAME = frozenset({"cloudpickle", "copy", "dill"})  # modules that do without the names of functions


def global_name(value: Any) -> str | None:
    """The name under which a module has this very object, as the result of a decorator; None if there is none."""
    name: str = getattr(value, "__qualname__", "")
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is value else None


def check_importable(function: Any, who: str) -> None:
    """Raise where pickle itself would fail, without saying why, at a function that has no name of its own."""
    if not isinstance(function, FunctionType) or global_name(function) is not None:
        return
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not _NEED_NO_NAME.isdisjoint(frame.f_globals.get("__name__", "").split(".")):
            return
        frame = frame.f_back
    kind = "a lambda" if function.__name__ == "<lambda>" else f"the local function {function.__name__!r}"
    place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    raise told(
        pickle.PicklingError(f"{who} cannot be pickled: its function is {kind}, made at {place}"),
        why="pickle sends a function as the name under which another process can import it, and this one has none",
        fix="define it with `def` at the top of a module, or use cloudpickle, which sends the code",
    )


def dumps(value: Any, what: str, refuse: Refuse) -> bytes:
    """`value` as bytes, by pickle or else by cloudpickle; a TypeError names what can be sent by neither.

    `refuse` is asked about every object, and says why it must not be sent, or None.
    """
    try:
        return _written(pickle.Pickler, value, refuse)
    except _Refused as refused:
        raise TypeError(f"{what}: {refused}") from None
    except Exception as error:
        if util.find_spec("cloudpickle") is None:
            raise TypeError(
                f"{what}: {_culprit(value, error)} cannot be pickled ({type(error).__name__}: {error}); define it at "
                "the top of a module, or `pip install cloudpickle`, which sends lambdas and local functions"
            ) from error
    try:
        return _written(import_module("cloudpickle").Pickler, value, refuse)
    except _Refused as refused:
        raise TypeError(f"{what}: {refused}") from None
    except Exception as error:
        raise TypeError(
            f"{what}: {_culprit(value, error)} cannot be pickled, by cloudpickle neither ({type(error).__name__}: "
            f"{error}); send what it is made from instead"
        ) from error


class _Refused(Exception):
    """Something that must not be sent, although it could be."""


@functools.cache
def _pickler(base: Any) -> Any:
    """A pickler that asks before it sends something."""

    class Asking(base):
        def __init__(self, file: io.BytesIO, refuse: Refuse) -> None:
            super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
            self.refuse = refuse

        def reducer_override(self, value: Any) -> Any:
            reason = self.refuse(value)
            if reason is not None:
                raise _Refused(reason)
            inner = getattr(super(), "reducer_override", None)
            return NotImplemented if inner is None else inner(value)

    return Asking


def _written(base: Any, value: Any, refuse: Refuse) -> bytes:
    file = io.BytesIO()
    _pickler(base)(file, refuse).dump(value)
    return file.getvalue()


def _culprit(value: Any, error: Exception) -> str:
    """The part of `value` that cannot be pickled, in words."""
    for part in flatten(value)[0]:
        try:
            pickle.dumps(part)
        except Exception:
            name = getattr(part, "__qualname__", None)
            return f"`{name}`" if name else f"an object of the class {type(part).__qualname__}"
    return "an object"
