"""Lists and dicts among the arguments of a function that it changes: every call changes those that it is given.

A trace has copies of them, with stand-ins in their places. What the function has done to a copy becomes writes, as for
containers that it finds by itself (`writes.py`), to what a call has in the same place of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pullback.aot._surroundings.places import items_changed, items_of
from pullback.aot._surroundings.writes import Write, of_dict, of_list
from pullback.errors import SideEffectError

_given: ContextVar[Any] = ContextVar("pullback_arguments")  # of the call that is running

Path = tuple[Any, ...]


@contextmanager
def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """These are the arguments that the block changes."""
    token = _given.set((args, kwargs))
    try:
        yield
    finally:
        _given.reset(token)


class Argument:
    """A place among the arguments of whichever call is running."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> Any:
        found = _given.get()
        for key in self._path:
            found = found[key]
        return found


def watch(seer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Ask in the end what has become of the containers among these arguments."""
    for path, container in _containers((args, kwargs), ()):
        if len(path) > 1:  # not the arguments as a whole
            _watch(seer, path, container)


def _watch(seer: Any, path: Path, container: Any) -> None:
    kind, *keys = path
    text = (f"args[{keys[0]}]" if kind == 0 else str(keys[0])) + "".join(f"[{key!r}]" for key in keys[1:])
    before = items_of(container)

    def writes() -> list[Write] | None:
        holder: Any = Argument(path)
        if has_one_twice(*_given.get(((), {}))):
            return None
        if type(container) is dict:
            return of_dict(holder, container, dict(zip(before.keys or (), before.values, strict=True)))
        return of_list(holder, container, list(before.values)) if type(container) is list else None

    def store() -> None:
        raise SideEffectError(
            f"the function changes what is in {text}",
            why="a trace has a copy of that container, and the one of the caller stays as it is",
            fix="return the new values, or compile with pb.compile, whose calls change what they are given",
        )

    seer.watch(lambda: f"changes what is in {text}" if items_changed(container, before) else None, store, writes)


def _containers(tree: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(tree, (list, dict)):
        yield path, tree
    if isinstance(tree, (list, tuple, dict)):
        for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _containers(item, (*path, key))


def has_one_twice(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Is one list or dict in two places of the arguments, so that what is done to one is done to the other?"""
    found = [id(container) for _, container in _containers((args, kwargs), ())]
    return len(set(found)) < len(found)


def changes_arguments(effects: tuple[Callable[..., None], ...]) -> bool:
    """Is there a write to an argument among what a call does?"""
    return any(getattr(effect, "is_of_argument", False) for effect in effects)
