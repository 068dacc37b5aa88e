"""Containers of the user's as a traced function sees them: copies of lists, dicts, sets and the like, item by item."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from pullback.aot._surroundings.places import ANY, PLAIN, Items, items_changed, items_of
from pullback.aot._surroundings.writes import Growing, Write, appended, grows, of_dict, of_list


class Grows(BaseException):
    """The function appends to a list, and is traced again with one that it has not looked into. Not an Exception, so
    that nobody catches it."""

    def __init__(self, container: list[Any]) -> None:
        super().__init__()
        self.container = container


class Containers:
    """The part of `Seer` that is about containers."""

    given: dict[Any, Any]
    growing: set[int]
    _has_numbers: bool
    note: Callable[..., None]
    see: Callable[..., Any]
    watch: Callable[..., None]
    remember: Callable[[Any, Any], None]
    outside: Callable[[Any], Any]

    def _look_at_container(self, value: Any, text: str) -> Any:
        if type(value) is list and id(value) in self.growing:
            return self._look_at_growing(value, text)
        return self._copied(value, text)

    def _look_at_growing(self, value: list[Any], text: str) -> Growing:
        def look() -> list[Any]:
            found: list[Any] = self._copied(value, text, is_known=True)
            return found

        def store() -> None:
            added = seen.added()
            self._store_items(value, seen.seen()) if added is None else value.extend(map(self.outside, added))

        seen = Growing(look)
        self.watch(
            lambda: f"changes what is in {text}" if seen.added() else None,
            store,
            lambda: [appended(value, seen.added() or [])],
        )
        return seen

    def _copied(self, value: Any, text: str, is_known: bool = False) -> Any:
        """A copy of a container, with all that is in it."""
        copy: Any
        if isinstance(value, defaultdict):
            copy = defaultdict(self.see(value.default_factory, text))
        else:
            copy = deque(maxlen=value.maxlen) if isinstance(value, deque) else type(value)()
        if not is_known:
            self.remember(value, copy)  # before it is filled: a table of functions is read by those functions
        before = items_of(value)
        varying = {key: x for (kind, holder, key), x in self.given.items() if kind == "item" and holder == id(value)}
        keys = before.keys or tuple(range(len(before.values)))
        if varying:
            before = Items(before.keys, tuple(
                ANY if isinstance(key, PLAIN) and key in varying else item
                for key, item in zip(keys, before.values, strict=True)
            ))  # fmt: skip
        self.note("items", value, None, before, text)
        if before.keys is not None:
            for key, item in zip(before.keys, before.values, strict=True):
                name = repr(key) if isinstance(key, PLAIN) else type(key).__name__
                seen = varying[key] if item is ANY else self.see(item, f"{text}[{name}]")
                copy[self.see(key, f"a key of {text}")] = seen
        else:
            items = [
                varying[k] if item is ANY else self.see(item, f"{text}[{k}]") for k, item in enumerate(before.values)
            ]
            copy.update(items) if isinstance(copy, set) else copy.extend(items)
        filled = items_of(copy)
        self.watch(
            lambda: f"changes what is in {text}" if items_changed(copy, filled) else None,
            lambda: self._store_items(value, copy),
            lambda: self._item_writes(value, copy, filled, is_known),
        )
        return copy

    def _item_writes(self, container: Any, copy: Any, filled: Items, is_known: bool) -> list[Write] | None:
        if type(container) is dict:
            return of_dict(container, copy, dict(zip(filled.keys or (), filled.values, strict=True)))
        if type(container) is not list:
            return None
        before = list(filled.values)
        if self._has_numbers and not is_known and grows(copy, before):
            raise Grows(container)
        return of_list(container, copy, before)

    def _store_items(self, container: Any, copy: Any) -> None:
        now = items_of(copy)
        container.clear()
        if now.keys is not None:
            pairs = zip(now.keys, now.values, strict=True)
            container.update((self.outside(key), self.outside(item)) for key, item in pairs)
        else:
            items = map(self.outside, now.values)
            container.update(items) if isinstance(container, set) else container.extend(items)
