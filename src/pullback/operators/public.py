"""The public functions, from the declarations.

Their names are known when the package is imported; what a name stands for is made when it is first asked for, here as
`functions[name]`, and by the name of `pullback` as an attribute of this module (docs/design/import-time.md).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import CO_VARKEYWORDS, cleandoc, isfunction
from inspect import unwrap as unwrapped  # whose own name is that of an array function
from typing import Any

from numpy import ndarray

from pullback.core.doors import door, leave
from pullback.declare.composite import Composite, composites
from pullback.declare.op import Op, registry
from pullback.eager.build import as_operand
from pullback.operators.names import FUNCTIONS
from pullback.tensors.tensor import Tensor, as_constant


class Functions(Mapping[str, Callable[..., Any]]):
    """Every public function by each of its names. One is made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Callable[..., Any]] = {}
        self._declared: dict[str, Op | Composite] = {}
        self._families = {name: family for family, names in FUNCTIONS.items() for name in names}

    def learn(self) -> None:
        """Take over the names that were declared since the last call."""
        operators = [op for op in registry.values() if op.is_public]
        everything: list[Op | Composite] = [*operators, *composites.values()]
        for declared in everything:
            self._declared[declared.name] = declared
            for alias in declared.aliases:
                self._declared[alias] = declared

    def load(self, family: str) -> Any:
        """The module of a family, whose functions are known from now on."""
        module = import_module(f"pullback.operators.{family}")
        self.learn()
        self._made.update(getattr(module, "subscripted", {}))
        return module

    def declaration(self, name: str) -> Op | Composite:
        """What a public name of a loaded family stands for."""
        return self._declared[name]

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._made and name not in self._declared:
            self.load(self._families[name])
        if name not in self._made:
            declared = self._declared[name]
            function = declared.function if isinstance(declared, Op) else public_composite(declared)
            _complete(function, declared.name)
            self._made[name] = function
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._declared or name in self._families

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared | self._families)

    def __len__(self) -> int:
        return len(self._declared | self._families)


def _complete(function: Callable[..., Any], name: str) -> None:
    """Let a function lead back to itself by its module and name, as pickling does, and have an example in `help`."""
    space, _, function.__qualname__ = name.rpartition(".")
    function.__module__ = "pullback"
    if space:
        function.__module__ += f".{space}"
    doc = function.__doc__ or ""
    if ">>>" not in doc:
        example = _examples(space.partition(".")[0] or "top").get(name)
        function.__doc__ = f"{cleandoc(doc)}\n\nExample:\n\n{example}" if example else doc


def complete(namespace: dict[str, Any], space: str) -> None:
    """The same for the functions of a module that no declaration makes."""
    for name in namespace["__all__"]:
        if isfunction(namespace[name]) and ">>>" not in (namespace[name].__doc__ or ""):
            namespace[name] = door(namespace[name])
            _complete(namespace[name], f"{space}.{name}")


@functools.cache
def _examples(space: str) -> dict[str, str]:
    """What `make stubs` has written for a namespace; nothing yet if that is new."""
    try:
        found: dict[str, str] = import_module(f"pullback.operators.examples.{space}").EXAMPLES
    except ModuleNotFoundError:
        return {}
    return found


functions = Functions()


def __getattr__(name: str) -> Any:
    if name in functions:
        return functions[name]
    raise AttributeError(f"there is no public function {name!r}")


def namespace(name: str) -> dict[str, Callable[..., Any]]:
    """The public functions of one namespace, such as "linalg", by their short names.

    Called by the module that is the namespace, once the operators of its family have been declared.
    """
    functions.learn()
    prefix = f"{name}."
    return {key.removeprefix(prefix): functions[key] for key in functions if key.startswith(prefix)}


_TENSORS = frozenset({Tensor})


@functools.cache
def public_composite(item: Composite) -> Callable[..., Any]:
    """What users call of a composite: arrays and lists count as constant Tensors."""
    inner, arrays = item.function, item.arrays
    if arrays == 0:
        return inner if unwrapped(inner).__code__.co_flags & CO_VARKEYWORDS else door(inner)

    @functools.wraps(inner)
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) >= arrays and _TENSORS.issuperset(map(type, args[:arrays])):
                return inner(*args, **kwargs)
            beside = any(isinstance(x, Tensor) for x in args[:arrays])
            leading = [as_operand(x, beside and type(x) is ndarray) for x in args[:arrays]]
            if leading and not any(isinstance(x, Tensor) for x in leading):
                leading[0] = as_constant(leading[0])
            return inner(*leading, *args[arrays:], **kwargs)
        except Exception as error:
            leave(error, inner)
            raise

    return function
