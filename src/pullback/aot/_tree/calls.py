"""Calls of a compiled function that asks for values: which path they take, and what happens if there is none."""

from __future__ import annotations

from typing import Any

from pullback.aot import _later
from pullback.aot._call.fast_call import MISS, FastPaths, has_fast_paths
from pullback.aot._call.runtime import Exit
from pullback.aot._call.runtime import run as run_plain
from pullback.aot._entry import Entry
from pullback.aot._tree.clock import reading, seconds_since
from pullback.aot._tree.paths import LOST, Tree, taken, too_many
from pullback.aot._tree.selections import is_part_of
from pullback.core.reports import paused
from pullback.core.state import current

MOST_ATTEMPTS = 3
"""To find a fast path for calls of one capture, which may differ in what is no part of their key."""

_VAIN = 8
"""A path that its own call leaves counts for so many: rounding decides there, and the next one will be left as well."""


def run(entry: Any, leaves: list[Any]) -> Any:
    """The result of a call that fits `entry`."""
    return run_plain(entry, leaves) if type(entry) is Entry else _later.run_wrapped(entry, leaves)


class OnPaths:
    """The part of `CompiledFunction` that is about paths."""

    _trees: dict[Any, Tree]
    _entries: dict[Any, list[Any]]
    _ways: dict[tuple[Any, ...], FastPaths]
    _calls: tuple[Any, ...]
    _hits: int
    _evicted: int
    _lock: Any
    fallback: str
    function: Any
    _shorten: Any
    _in_trace: Any
    _new_entry: Any

    def _on_a_path(
        self, entry: Entry, key: Any, leaves: list[Any], structure: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a function that asks for values: on a path that is known, on one that is traced now, or none."""
        tree = self._trees.setdefault(key, Tree())
        tree.slow += 1
        if self.fallback == "eager" and tree.runs_eagerly():
            return tree.timed_eagerly(self.function, args, kwargs)
        start = reading()
        found = taken(entry, self._entries.get(key, ()), leaves)
        is_known = True
        if found is None or found is LOST:
            tree.exits += 1
            new = self._new_path(tree, key, leaves, structure) if found is None else None
            found = None if new is None else taken(new, (), leaves)
            is_known = new is None
            if new is not None and (found is None or found is LOST):
                tree.spend(_VAIN)
        if found is None or found is LOST:
            try:
                return tree.timed_eagerly(self.function, args, kwargs)
            finally:
                if is_known and tree.timed(seconds_since(start), self._hits):
                    self._drop_fast_paths(tree)
        # path: one of several paths
        entry, result = found
        tree.stayed()
        if is_known and tree.timed(seconds_since(start), self._hits):
            self._drop_fast_paths(tree)
        if len(entry.attempts) < MOST_ATTEMPTS and tree.is_short(entry):
            self._shorten(entry, args, kwargs, leaves, structure)
        self._put_first(key, entry)
        return result

    def _timed(
        self, entry: Any, key: Any, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call that asks for no values and has no fast path, by what takes less time. The backward half is not timed,
        so one that is differentiated is judged only if kernels raise in it."""
        tree = self._trees.get(key) if type(entry) is Entry else None
        if tree is None or self.fallback != "eager" or (entry.is_training and not tree.exits):
            result = run(entry, leaves)
            if type(result) is Exit and tree is not None:
                tree.exits += 1
        else:
            tree.slow += 1
            if tree.runs_eagerly():
                return tree.timed_eagerly(self.function, args, kwargs)
            start = reading()
            result = run(entry, leaves)
            if type(result) is not Exit:
                if tree.timed(seconds_since(start), self._hits):
                    self._drop_fast_paths(tree)
                return result
            tree.exits += 1
            try:
                return tree.timed_eagerly(self.function, args, kwargs)
            finally:
                if tree.timed(seconds_since(start), self._hits):
                    self._drop_fast_paths(tree)
        return self.function(*args, **kwargs) if type(result) is Exit else result  # which raises, or catches that

    def _drop_fast_paths(self, tree: Tree) -> None:
        """Compiled calls take longer: do not try for nothing. If there is one kind of calls only, they do not even have
        to be told apart."""
        with self._lock:
            self._ways, self._calls = {(): FastPaths()}, ()
            if len(self._entries) != 1:
                return

        def resting(args: tuple[Any, ...]) -> Any:
            if not has_fast_paths(current()) or not tree.rests():
                return MISS
            result = self.function(*args)
            self._hits -= 1  # which is counted by whoever has called this
            return result

        self._calls = (resting,)

    def _put_first(self, key: Any, entry: Entry) -> None:
        """Try this one first in the next call."""
        entries = self._entries.get(key, ())
        if entries and entries[0] is not entry:
            with self._lock:
                entries = self._entries.get(key, ())
                if any(each is entry for each in entries):
                    self._entries[key] = [entry, *(each for each in entries if each is not entry)]

    def _new_path(self, tree: Tree, key: Any, leaves: list[Any], structure: Any) -> Entry | None:
        """An entry for the path of this call, of which none is known; None if there will be none."""
        if not tree.may_trace(self._hits):
            return None
        with self._lock, self._in_trace(key), paused():
            start = reading()
            try:
                entry = self._new_entry(leaves, structure)
            finally:
                tree.spend(seconds=seconds_since(start))
            if type(entry) is not Entry:
                return None
            entries = self._entries.get(key, [])
            if entry.labels is None:  # all decisions are joined, so it is for the calls of all paths
                entries = [each for each in entries if getattr(each, "labels", None) is None]
                self._ways, self._calls = {(): FastPaths()}, ()
            entries = [each for each in entries if not is_part_of(each, entry.capture)]
            for _ in range(too_many(entries)):  # those that were not taken for longest
                last = next(k for k in reversed(range(len(entries))) if getattr(entries[k], "labels", None) is not None)
                entries = [*entries[:last], *entries[last + 1 :]]
                self._evicted += 1
            self._entries[key] = [entry, *entries]
            return entry
