"""Hook lists and the handles that remove their entries."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from pullback._sites import told

_next_id = itertools.count().__next__


class HookList:
    """Hooks in the order of their registration. Iterating takes a snapshot."""

    __slots__ = ("__weakref__", "_hooks")

    def __init__(self) -> None:
        self._hooks: dict[int, Callable[..., Any]] = {}

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Append `hook` and return the handle that removes it."""
        if not callable(hook):
            raise told(
                TypeError(f"a hook is a function that is given a gradient, got {type(hook).__name__}"),
                fix="write x.register_hook(lambda g: ...); it may return another gradient, or None",
            )
        key = _next_id()
        self._hooks[key] = hook
        return RemovableHandle(self, key)

    def discard(self, key: int) -> None:
        """Remove the hook with this key if it is still there."""
        self._hooks.pop(key, None)

    def __len__(self) -> int:
        return len(self._hooks)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(tuple(self._hooks.values()))


class RemovableHandle:
    """Returned by every hook registration: `remove()` undoes it, and so does leaving a `with` block on it."""

    def __init__(self, hooks: HookList, key: int) -> None:
        self._hooks = weakref.ref(hooks)
        self._key = key

    def remove(self) -> None:
        """Remove the hook. Calling it again, or after the tensor died, does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.discard(self._key)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def has_hooks(tensor: Any) -> bool:
    """Does somebody want to be told of the gradient of this tensor?"""
    meta, rare = tensor._meta, getattr(tensor._node, "rare", None)
    return (meta is not None and bool(meta.hooks)) or (rare is not None and bool(rare.tensor_hooks or rare.pre_hooks))


class HandleGroup(RemovableHandle):
    """Several handles that are removed together."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Remove all of them."""
        for handle in self._handles:
            handle.remove()
