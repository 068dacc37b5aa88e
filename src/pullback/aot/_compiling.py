"""`Compiling`: how a compiled function finds the capture of a call, makes one for a new kind of calls, and what it does
where that cannot be."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np

from pullback.aot import _later
from pullback.aot._compilers import Compilers
from pullback.aot._dynamic import DynamicTable
from pullback.aot._entry import Entry
from pullback.aot._guards import call_key, difference, leaf_key
from pullback.aot._numbers.program import RAISES, Program, fixed_numbers
from pullback.aot._surroundings.varying import Varying, varied, with_more
from pullback.aot._trace.capture import capture as capture_plain
from pullback.aot._trace.records import Capture, Options
from pullback.aot._tree.live import Abandoned
from pullback.aot._tree.paths import Tree, open_places
from pullback.aot._tree.reasons import GivenUp, given_up
from pullback.aot._warm_up import Again
from pullback.aot._wrapper import HasWrappers, is_wrapped
from pullback.core.frames import warn
from pullback.core.pytree import how_to_register
from pullback.core.reports import compiling, paused, reported
from pullback.core.state import forgive
from pullback.errors import (
    AOTError,
    ConcretizationError,
    DynamicShapeError,
    RecompileLimitError,
    SideEffectError,
    TraceError,
)
from pullback.graph.pipeline import is_told
from pullback.payloads.evaluate import is_traced
from pullback.tensors.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

# Capturing, compiling and running calls, whether or not there are wrappers among their tensors.
#
# What is about wrappers is loaded when the first of them is met.

def capture(
    function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options, *, backward: bool = True,
    numbers: bool = False, is_open_at: Callable[[Any], bool] | None = None, arms: Any = None,
) -> Capture:  # fmt: skip
    """`_trace.capture.capture`, for calls with and without wrappers."""
    if not has_wrappers(leaves):
        try:
            return capture_plain(
                function, leaves, in_tree, options, backward=backward, numbers=numbers, is_open_at=is_open_at,
                arms=arms,
            )  # fmt: skip
        except HasWrappers:
            pass  # the function makes them by itself
    captured: Capture = _later.capture_wrapped(function, leaves, in_tree, options, backward=backward)
    if numbers:
        captured.numbers = fixed_numbers(leaves, "there are tensors on payloads of another kind")
    return captured


def entry_for(
    captured: Capture, compilers: Compilers, options: Options, function: Callable[..., Any] | None = None
) -> Any:
    """The compiled form of a capture."""
    kind: Any = Entry if captured.flat is None else _later.WrappedEntry
    return kind(captured, compilers, options, function)


def has_wrappers(leaves: list[Any]) -> bool:
    """Is a tensor on a payload made of arrays among the arguments?"""
    return any(map(is_wrapped, leaves))


def is_capturable(leaf: Any) -> bool:
    """Is this argument no tensor, a plain one, or one whose payload can be taken apart?"""
    if not isinstance(leaf, Tensor) or isinstance(leaf._data, np.ndarray) or is_traced(leaf._data):
        return True
    return is_wrapped(leaf)


PROCESS_LIMIT = 256
"""How many captures all functions together may have, not counting the first of each."""

functions: weakref.WeakSet[Any] = weakref.WeakSet()


class Eager:
    """Stands in the table for calls that cannot be captured: the function itself runs. For other numbers it may be
    another matter."""

    def __init__(self, numbers: Program | None = None) -> None:
        self._numbers = numbers

    @property
    def is_for_all(self) -> bool:
        """Is it for calls with this key whatever their numbers are?"""
        return self._numbers is None or not self._numbers.slots

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of a call with this key makes it another one."""
        return None if self._numbers is None else self._numbers.misfit(leaves)


EAGER = Eager()
ONCE = Eager()  # for one call only
_MOST_EFFECTS = 2  # so often a function is tried that has side effects
_MOST_FAILURES = 3
_MOST_KEYS = 64  # of captures that one function keeps
_EARNS = 64  # calls that find their capture earn another one beyond the limit: no limit is for good


class Compiling:
    """The part of `CompiledFunction` that is about making captures."""

    _entries: dict[Any, list[Any]]
    _trees: dict[Any, Tree]
    _tracing: set[tuple[int, Any]]
    _reasons: deque[str]
    _given_up: list[GivenUp]
    _varying: Varying | None
    _sizes: DynamicTable
    _lock: Any
    _name: str
    _last_key: Any
    _hits: int
    _misses: int
    _evicted: int
    _effects: int
    _failures: int
    _warned: bool
    _changes_arguments: bool
    _entry_of: Any
    _change_varying: Any
    _traced: Any
    function: Any
    compilers: Compilers
    options: Options
    fallback: str
    recompile_limit: int

    def _found(self, key: Any, leaves: list[Any]) -> Any:
        try:
            entries = self._entries.get(key, ())
        except TypeError:
            raise _unhashable(leaves) from None
        for entry in entries:
            found = entry.misfit(leaves)
            if found is RAISES:
                return ONCE  # as the function itself does, at the right place
            if found is None:
                if len(self._entries) > _MOST_KEYS // 2:
                    with self._lock:  # it is the last one to go now
                        if key in self._entries:
                            self._entries[key] = self._entries.pop(key)
                return entry
        return None

    def _compile(self, key: Any, leaves: list[Any], structure: Any) -> Any:
        with self._lock:
            entry = self._found(key, leaves)  # another thread may have been faster
            if entry is not None:
                return entry
            if key in self._trees and not self._trees[key].may_trace(self._hits):
                return EAGER
            captured = None if has_wrappers(leaves) else self._sizes.found(leaves, structure)
            if captured is not None:
                return self._kept(key, self._entry_of(captured))
            reason = self._reason(key, leaves)
            if reason is not None and self._vary(key, reason):
                raise Again
            is_many = self._misses >= self.recompile_limit + self._hits // _EARNS
            if is_many or (reason and recompiled() >= PROCESS_LIMIT):
                return self._over_the_limit(reason or "the first kind of arguments")
            self._misses += 1
            if reason is not None:
                self._reasons.append(reason)
            with self._in_trace(key), paused():
                entry = self._new_entry(leaves, structure)
            if entry is ONCE:
                self._misses -= 1
                self._trees.setdefault(key, Tree()).spend()
                return EAGER
            self._last_key = key
            return self._kept(key, entry)

    def _vary(self, key: Any, reason: str) -> bool:
        """Are there places that hold another number or tensor than before? They become arguments from now on."""
        places = [place for entry in self._entries.get(key, ()) if type(entry) is Entry for place in entry.fit.places]
        found = varied(places)
        more = with_more(self.function, self._varying, found)
        if more is None:
            return False
        self._reasons.append(reason)
        self._change_varying(more)
        return True

    def _kept(self, key: Any, entry: Any) -> Any:
        """Keep an entry. There may be one for every length that ever came: those go that were not asked for longest."""
        entries = self._entries.pop(key, [])
        self._entries = {**self._entries, key: [*entries, entry]}  # others may be looking through the old one
        while len(self._entries) > _MOST_KEYS:
            oldest = next(iter(self._entries))
            self._evicted += len(self._entries.pop(oldest))
            self._trees.pop(oldest, None)
        return entry

    @contextmanager
    def _in_trace(self, key: Any) -> Iterator[None]:
        me = (threading.get_ident(), key)
        if me in self._tracing:
            raise TraceError(
                f"{self._name} calls itself with arguments of the same kind while it is being traced",
                why="the trace would never end",
                fix="compile the outermost function only, or write the repetition as pb.while_loop",
            )
        self._tracing.add(me)
        try:
            yield
        finally:
            self._tracing.discard(me)

    def _new_entry(self, leaves: list[Any], structure: Any) -> Any:
        try:
            with compiling(self._name) as phases:
                entry = self._entry_of(self._capture(leaves, structure))
            entry.spent = phases.spent
            return entry
        except Abandoned:
            return ONCE
        except SideEffectError as error:
            # A function may fill a cache in its first call, and do nothing of the kind later.
            if self.fallback == "raise" or self.options.strict:
                raise
            self._effects += 1
            if self._effects < _MOST_EFFECTS:
                return ONCE
            self._give_up(error, str(error))
            return Eager(error.numbers)
        except AOTError as error:
            if self.fallback == "raise" or self.options.strict:
                raise
            self._give_up(error, str(error))
            if isinstance(error, DynamicShapeError) and error.instead is not None:
                self.function = error.instead(self.function)
            return Eager(error.numbers)
        except Exception as error:
            # The function itself says whether this is its own: code that asks for its globals, or for the class of an
            # object, may find something else in a trace.
            if self.fallback == "raise" or self.options.strict or is_told(error):
                raise
            self._failures += 1
            if self._failures < _MOST_FAILURES:
                return ONCE
            self._give_up(error, f"tracing it raises {error!r}")
            return Eager(fixed_numbers(leaves, "tracing raises"))

    def _give_up(self, error: BaseException, words: str) -> None:
        """Calls run in Python, for this reason, which is told."""
        forgive(error)
        found = given_up(error)
        if found not in self._given_up:
            self._given_up.append(found)
        warn(f"{self._name} runs without being compiled: {words}")

    def _capture(self, leaves: list[Any], structure: Any) -> Capture:
        captured = None
        is_open_at = arms = tree = None
        if self.options.live:
            tree = self._trees.setdefault(call_key(leaves, structure), Tree())
            arms = tree.arms
            known = [each for entries in self._entries.values() for each in entries if type(each) is Entry]
            is_open_at = open_places(known).__contains__
        try:
            captured = None if has_wrappers(leaves) else self._sizes.capture(leaves, structure)
        except (ConcretizationError, DynamicShapeError):
            if is_open_at is None:
                raise
        if captured is None:
            with reported(f"capture of {self._name}", "trace"):
                captured = capture(
                    self._traced, leaves, structure, self.options, numbers=True, is_open_at=is_open_at, arms=arms
                )
            captured = captured if tree is None else tree.selections.joined(captured)
        captured.in_tree = structure
        return captured

    def _reason(self, key: Any, leaves: list[Any]) -> str | None:
        """What is new about a call; None for the first one."""
        for entry in reversed(self._entries.get(key, ())):
            return entry.misfit(leaves)
        return None if self._last_key is None else difference(key, self._last_key)

    def _over_the_limit(self, reason: str) -> Any:
        count = self._misses
        reason = "; ".join([*list(self._reasons)[-2:], reason])  # the last three changes
        what = f"{self._name} was compiled for {count} kinds of arguments"
        if count < self.recompile_limit + self._hits // _EARNS:
            what = f"functions were compiled again for {PROCESS_LIMIT} kinds of arguments in this process"
        if self.options.strict:
            raise RecompileLimitError(
                f"{what}, and this is another one",
                why=f"the last differences were in {reason}",
                fix="raise recompile_limit, mark the size that varies with pb.aot.mark_dynamic, or pass fewer literals",
            )
        if not self._warned:
            self._warned = True
            warn(
                f"{what}; other kinds of arguments of {self._name} run without being compiled ({reason}); pass numbers "
                "that vary as tensors, or mark a length that varies with pb.aot.mark_dynamic"
            )
        return EAGER


def recompiled() -> int:
    """How often functions were captured, without the first capture of each and those that they have earned."""
    return sum(max(0, function._misses - 1 - function._hits // _EARNS) for function in tuple(functions))


def _unhashable(leaves: list[Any]) -> AOTError:
    for position, leaf in enumerate(leaves):
        try:
            hash(leaf_key(leaf))
        except TypeError:
            return TraceError(
                f"args[{position}], of type {type(leaf).__name__}, is part of the key of a call, and has no hash",
                fix=how_to_register(type(leaf)) or "pass what is in it, or something that stands for it",
            )
    return TraceError("the structure of the arguments has no hash")
