"""What adapted code sees in the place of SciPy's functions and objects: those of `pb.scipy`, found by name.

A solver asks its callback for numbers and keeps none of the history, so its result would be a constant: quietly wrong
if the callback depends on something that is differentiated. Functions of `pb.scipy` know what to do with it, and what
has no derivative there is behind a guard.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any


def is_scipy(module: Any) -> bool:
    """Is this the name of a module of SciPy's? Compiled classes may have something else in its place."""
    return isinstance(module, str) and module.partition(".")[0] == "scipy"


def through_scipy(function: FunctionType) -> Callable[..., Any]:
    """A function of SciPy's as adapted code sees it: ours, or SciPy's own behind a guard, for numbers."""
    ours = with_derivatives(function)
    if ours is not None:
        return ours
    guarded: Callable[..., Callable[..., Any]] = _package("scipy._surface").guarded
    return guarded(f"{public_module(function.__module__).removeprefix('scipy.')}.{function.__name__}", function)


def with_derivatives(function: Any) -> Callable[..., Any] | None:
    """The function or class of `pb.scipy` that stands for one of SciPy's; None if there is none.

    The package lies above this one, and is looked up by SciPy's own name, when adapted code meets such a function.
    """
    names = _package(public_module(function.__module__))
    return getattr(names, function.__name__) if function.__name__ in getattr(names, "__all__", ()) else None


def stand_in(value: Any) -> Any:
    """The object of `pb.scipy` that stands for an object of SciPy's, a spline for instance; None if there is none."""
    names = _package(public_module(type(value).__module__))
    make = getattr(names, "_stand_in", None)
    return None if make is None else make(value)


def _package(module: str) -> Any:
    try:
        return import_module(f"{__name__.partition('.')[0]}.{module}")
    except ImportError:
        return None


def public_module(module: str) -> str:
    """The module that users import a function from: `scipy.optimize` for `scipy.optimize._zeros_py`."""
    return module.partition("._")[0]
