"""Names that a package offers from the start, and loads when they are first asked for.

    __getattr__, __dir__ = deferred(globals(), {"vmap": "pullback.func", "func": "pullback.func"})

A name stands for the attribute of that name in a module, or for the module itself if it is the package's own of that
name. The first question imports the module and binds the name, so later ones find it as if it had been imported at the
top. docs/design/import-time.md says what is loaded with the package and what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def deferred(
    namespace: dict[str, Any], places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that loads each name of `places` from the module named there."""
    package = namespace["__name__"]

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(places[name])
        value = namespace[name] = module if places[name] == f"{package}.{name}" else getattr(module, name)
        return value

    def names() -> list[str]:
        public = namespace.get("__all__") or {*namespace, *places}
        return sorted({*public, *(name for name in namespace if name[:2] == "__")})

    return load, names
