"""Second spellings of arguments: `dim` for `axis`, `keepdim` for `keepdims`, `dims` for `axes`.

A composite is written with one of them, and gets the other from its declaration. Operators that reduce or take other
common parameters know both by their family, and a function that names both itself is left as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_SECOND = {"axis": "dim", "keepdims": "keepdim", "axes": "dims"}


def with_second_spellings(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, which takes its arguments under their second spellings too; giving both is a TypeError."""
    code = inspect.unwrap(function).__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    added = {second: first for first, second in _SECOND.items() if first in known and second not in known}
    if not added or code.co_flags & inspect.CO_VARKEYWORDS:
        return function

    @functools.wraps(function)
    def spelled(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for second, first in added.items():
                if second in kwargs:
                    if first in kwargs:
                        raise TypeError(f"{name}: {first} and {second} are one argument; give one of them")
                    kwargs[first] = kwargs.pop(second)
        return function(*args, **kwargs)

    own = inspect.signature(function)
    extra = [inspect.Parameter(second, inspect.Parameter.KEYWORD_ONLY, default=None) for second in added]
    spelled.__signature__ = own.replace(parameters=[*own.parameters.values(), *extra])  # type: ignore[attr-defined]
    return spelled
