"""What adapted code hands to SciPy to be called.

A solver asks its callback for numbers and keeps none of the history, so what it returns is a constant: quietly wrong
if the callback depends on something that is differentiated. SciPy's compiled code may even swallow the error that a
conversion raises. So callbacks are asked here, before SciPy sees their results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from pullback.errors import AutogradError
from pullback.func._adapt.arrays import has_history
from pullback.tensors.tensor import Tensor

# They compute with what the callback returns by operators alone, which are recorded.
_RECORDED = frozenset(("fixed_quad",))


def is_scipy(module: Any) -> bool:
    """Is this the name of a module of SciPy's? Compiled classes may have something else in its place."""
    return isinstance(module, str) and module.partition(".")[0] == "scipy"


def through_scipy(function: FunctionType, mark: str) -> Callable[..., Any]:
    """A function of SciPy's, whose callbacks from adapted code (by its `mark`) must not return what has a history."""
    if function.__name__ in _RECORDED:
        return function
    ours = with_derivatives(function)
    if ours is not None:
        return ours
    name = f"{public_module(function.__module__)}.{function.__name__}"

    def guarded(value: Any) -> Any:
        plain = value.func if isinstance(value, functools.partial) else value
        plain = plain.__func__ if isinstance(plain, MethodType) else plain
        if not isinstance(plain, FunctionType) or mark not in plain.__globals__:
            return value

        @functools.wraps(plain)
        def callback(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            _refuse_history(result, name, plain.__qualname__)
            return result

        return callback

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(guarded, args), **{key: guarded(value) for key, value in kwargs.items()})

    return functools.update_wrapper(call, function)


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


def _refuse_history(result: Any, name: str, callback: str) -> None:
    if isinstance(result, (list, tuple)):
        for part in result:
            _refuse_history(part, name, callback)
    elif isinstance(result, Tensor) and has_history(result):
        raise AutogradError(
            "ADAPT_CALLBACK",
            f"{name} calls `{callback}`, and what it returns has a gradient",
            why=f"{name} computes with numbers only: its result would be a constant, and the gradient wrong",
            fix="detach() in the callback what the result does not depend on, write the computation with NumPy's "
            "functions, or give the result a derivative with pb.autograd.Function (for a root or a minimum, that of "
            "the equation it solves)",
        )
