"""Modules of the user's as twins see them, and what `global` statements leave behind in them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from pullback.core.mirrors import Space


class ModuleView(ModuleType):
    """A module of the user's, whose names are those that twins see."""

    def __init__(self, module: ModuleType, space: Space) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update(_module=module, _space=space)
        vars(self).pop("__spec__", None)

    def __getattr__(self, name: str) -> Any:
        space = self.__dict__["_space"]
        if name in space.original or name in space.copy:
            return space.look_up(name, f"{self.__name__}.{name}")
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_space"].copy[name] = value  # which counts as left behind
        self.__dict__[name] = value


def left_behind(space: Space) -> str | None:
    """What `global` statements have assigned."""
    space.copy.pop("__warningregistry__", None)  # Python's own
    if not is_other(space.copy, space.before):
        return None
    changed = [name for name, value in space.copy.items() if value is not space.before.get(name, space)]
    return f"assigns to the global name {', '.join(changed)}" if changed else "deletes a global name"


def is_other(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Were names assigned, or deleted?"""
    return now.keys() != before.keys() or any(now[name] is not value for name, value in before.items())
