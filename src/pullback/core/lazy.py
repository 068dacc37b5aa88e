"""Names that a package offers from the start, and loads when they are first asked for.

    __getattr__, __dir__ = deferred(globals(), {"vmap": "pullback.func", "func": "pullback.func"})

A name stands for the attribute of that name in a module, or for the module itself if it is the package's own of that
name. The first question imports the module and binds the name, so later ones find it as if it had been imported at the
top. docs/design/import-time.md says what is loaded with the package and what is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_OTHER_LIBRARIES = "pullback.core.foreign"
_HOMES = (
    "autograd", "func", "linalg", "fft", "special", "nn", "random", "tree", "optim", "init", "data", "lax", "aot",
    "signal", "library", "testing", "utils", "errors",
)  # fmt: skip
"""Where a name is looked for that somebody asked another module for."""


class UnknownName(AttributeError):
    """A name that is not there. What was meant is looked up when the text is asked for: `hasattr` never pays for it."""

    __module__, __qualname__ = "builtins", "AttributeError"  # as tracebacks show it

    def __init__(self, owner: str, name: str, obj: Any) -> None:
        super().__init__(f"{owner} has no attribute {name!r}", name=name, obj=obj)

    def __str__(self) -> str:
        return f"{self.args[0]}{self.hint()}"

    def hint(self) -> str:
        """What to write instead, if anything comes to mind."""
        answer = import_module(_OTHER_LIBRARIES).FOREIGN.get(self.name)
        if answer is not None:
            return f"; write {answer}" if answer.startswith(("pb.", "x.", "loss.")) else f": {answer}"
        package = sys.modules.get(getattr(self.obj, "__name__", "").partition(".")[0])
        if package is not self.obj and self.name in getattr(package, "__all__", ()):
            return f"; write pb.{self.name}"
        for home in _HOMES:
            module = getattr(package, home, None)
            if module is not self.obj and self.name in getattr(module, "__all__", ()):
                return f"; write pb.{home}.{self.name}"
        import difflib  # nobody needs it until there is an error

        names = [each for each in dir(self.obj) if each[:1] != "_"]
        close = difflib.get_close_matches(str(self.name), names, 1, 0.7)
        return f"; did you mean {close[0]!r}?" if close else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return (AttributeError, (str(self),))


def explain_unknown(namespace: dict[str, Any]) -> None:
    """Let a module that has all its names say what was meant by another.

    Its `__getattr__` is set here and not in its source, where type checkers would take any name for one of its own.
    """
    package = namespace["__name__"]

    def refuse(name: str) -> Any:
        raise _unknown(package, name)

    namespace["__getattr__"] = refuse


def _unknown(package: str, name: str) -> UnknownName:
    return UnknownName(f"module {package!r}", name, sys.modules.get(package))


def deferred(
    namespace: dict[str, Any], places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that loads each name of `places` from the module named there."""
    package = namespace["__name__"]

    def load(name: str) -> Any:
        if name not in places:
            raise _unknown(package, name)
        module = import_module(places[name])
        value = namespace[name] = module if places[name] == f"{package}.{name}" else getattr(module, name)
        return value

    def names() -> list[str]:
        public = namespace.get("__all__") or {*namespace, *places}
        return sorted({*public, *(name for name in namespace if name[:2] == "__")})

    return load, names
