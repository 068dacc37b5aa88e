"""Composite functions: ordinary Python on operators. They need no rules, and are listed here to be found.

A composite works on whatever its operators work on, so derivative rules may use it too. What users call is a thin
wrapper that first turns arrays and lists in the leading `arrays` arguments into Tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

# Second spellings of arguments: `dim` for `axis`, `keepdim` for `keepdims`, `dims` for `axes`.
#
# A composite is written with one of them, and gets the other from its declaration. Operators that reduce or take other
# common parameters know both by their family, and a function that names both itself is left as it is.

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


composites: dict[str, Composite] = {}
"""Every composite function by name, in the order of declaration."""


class Composite:
    """A public function made of operators."""

    def __init__(
        self, name: str, declared: Callable[..., Any], arrays: int, aliases: tuple[str, ...], is_method: bool
    ) -> None:  # fmt: skip
        self.name = name
        self.declared = declared
        self.arrays = arrays
        self.aliases = aliases
        self.is_method = is_method

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """The function with its second spellings, made when it is first used."""
        return with_second_spellings(self.declared, self.name)


def composite(
    fn: Callable[..., Any] | None = None, *, arrays: int = 1, aliases: tuple[str, ...] = (), method: bool = True,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Make a function public under its name and `aliases`, and a Tensor method unless `method=False`.

    `arrays` says how many leading positional arguments are arrays; 0 is for creation functions. What users call takes
    `dim` for `axis`, `keepdim` for `keepdims` and `dims` for `axes`; the function itself is returned as it is.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        public = name or function.__name__
        if name is not None:
            function.__qualname__ = name  # what Python calls it in a TypeError
        composites[public] = Composite(public, function, arrays, aliases, method and arrays > 0)
        return function

    return declare if fn is None else declare(fn)
