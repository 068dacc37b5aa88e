"""`CompiledFunction`: a function with a table of its captures. It is what `aot_function` and `pb.compile` return.

A call looks for its capture in three places: among the short ways (`_fast_call.py`), then in the table by its key, and
if it is in neither, the function is captured and compiled under the lock. Other threads that want the same wait there
and find it. A call inside of a trace or of a transform runs the function itself, which becomes part of what is traced.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pullback import aot
from pullback.aot._any_call import capture, entry_for, has_wrappers, is_capturable, run
from pullback.aot._capture import Capture, Options
from pullback.aot._compilers import Compilers
from pullback.aot._dynamic import DynamicTable
from pullback.aot._entry import Entry
from pullback.aot._fast_call import MISS, fast_call, has_short_ways
from pullback.aot._guards import call_key, difference, leaf_key
from pullback.aot._inside import Inside
from pullback.aot._leaves import flatten_arguments
from pullback.aot._methods import BoundMethods
from pullback.aot._short_ways import ShortWays
from pullback.core.collector import paused
from pullback.core.records import replace
from pullback.core.reports import reported
from pullback.core.state import current, open_levels
from pullback.errors import AOTError, DynamicShapeError, RecompileLimitError, TraceError
from pullback.payloads.traced import TracedArray
from pullback.tensors.tensor import Tensor

PROCESS_LIMIT = 256
"""How many captures all functions together may have, not counting the first of each."""

_MOST_ATTEMPTS = 3  # to find a short way for calls of one capture, which may differ in what is no part of their key

_functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class CacheInfo(NamedTuple):
    """How often a call found its capture, and how often it had to be captured."""

    hits: int
    misses: int
    currsize: int


class _Eager:
    """Stands in the table for calls that can not be captured: the function itself runs."""


EAGER = _Eager()


class CompiledFunction(Inside):
    """A function that is captured when it is called with a new kind of arguments, and otherwise runs compiled."""

    __slots__ = ("_calls", "_hits")  # read at every call, and found sooner here than in a dictionary

    def __init__(
        self, function: Callable[..., Any], compilers: Compilers, options: Options, *, fallback: str = "raise",
        recompile_limit: int = 8,
    ) -> None:  # fmt: skip
        if fallback not in ("raise", "eager"):
            raise ValueError(f"fallback must be 'raise' or 'eager', got {fallback!r}")
        if not callable(function):
            raise TypeError(f"a function is compiled, and {type(function).__name__} is none")
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.compilers = compilers
        self.options = options
        self.fallback = fallback
        self.recompile_limit = recompile_limit
        self._name = getattr(function, "__name__", type(function).__name__)
        self._lock = threading.RLock()
        self._tracing: set[tuple[int, Any]] = set()  # by thread and key: where a trace of this function is running
        self._methods = BoundMethods()
        self._forget()
        _functions.add(self)

    def _like_this(self, function: Callable[..., Any]) -> CompiledFunction:
        """Another function, compiled in the same way."""
        return CompiledFunction(
            function, self.compilers, self.options, fallback=self.fallback, recompile_limit=self.recompile_limit
        )

    def _forget(self) -> None:
        self._entries: dict[Any, list[Any]] = {}
        self._calls: tuple[Any, ...] = ()  # short ways to be tried
        # All of them, by the number of positional arguments and the names of the others in the order of the call.
        self._ways: dict[tuple[Any, ...], ShortWays] = {(): ShortWays()}
        self._hits = 0
        self._misses = 0
        self._last_key: Any = None
        self._reasons: list[str] = []
        self._warned = False
        self._sizes = DynamicTable(self.function, self.options)

    # Calling.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function."""
        if not kwargs:
            for call in self._calls:
                result = call(args)
                if result is not MISS:
                    self._hits += 1
                    return result
        else:
            ways = self._ways.get((len(args), *kwargs))
            if ways is not None:
                given = (*args, *kwargs.values())
                for call in ways.calls:
                    result = call(given)
                    if result is not MISS:
                        self._hits += 1
                        return result
        modes = current()
        if modes.trace is not None or modes.transforms or modes.vmaps or (open_levels and modes.forwards):
            return self._as_a_part(args, kwargs)
        leaves, structure = flatten_arguments(args, kwargs)
        is_unusual = any(isinstance(leaf, Tensor) and type(leaf._data) is not np.ndarray for leaf in leaves)
        if is_unusual and not all(map(is_capturable, leaves)):
            return self.function(*args, **kwargs)
        key = call_key(leaves, structure)
        entry = self._found(key, leaves)
        if entry is None:
            entry = self._compile(key, leaves, structure)
        elif entry is not EAGER:
            self._hits += 1
        if entry is not EAGER and len(entry.attempts) < _MOST_ATTEMPTS:
            self._shorten(entry, args, kwargs, leaves)
        return self.function(*args, **kwargs) if entry is EAGER else run(entry, leaves)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = self._methods.of(self.function, instance, self._like_this)
        return functools.partial(self, instance) if bound is None else bound

    def _as_a_part(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call inside of something larger, which looks into the function."""
        leaves, structure = flatten_arguments(args, kwargs)
        if not any(isinstance(leaf, Tensor) and type(leaf._data) is TracedArray for leaf in leaves):
            return self.function(*args, **kwargs)
        try:
            key = call_key(leaves, structure)
            hash(key)
        except (TypeError, AttributeError):  # a literal without hash, or a payload of a transform
            return self.function(*args, **kwargs)
        with self._in_trace(key):
            return self.function(*args, **kwargs)

    def _found(self, key: Any, leaves: list[Any]) -> Any:
        try:
            entries = self._entries.get(key, ())
        except TypeError:
            raise _unhashable(leaves) from None
        for entry in entries:
            if entry is EAGER or entry.misfit(leaves) is None:
                return entry
        return None

    def _shorten(self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> None:
        """Give calls like this one a short way, if there is one."""
        if entry.capture.flat is not None or not has_short_ways(current()):
            return
        given = (*args, *kwargs.values())
        order = [*range(len(args)), *(len(args) + k for k in _sorted_positions(kwargs))]
        call = fast_call(entry, given, leaves, order)
        specs = [id(leaf._spec) for leaf in leaves if isinstance(leaf, Tensor)]
        attempt = None if call is None else (call.source, *specs)
        with self._lock:
            # A short way misses its own call where native code is made anew.
            is_new = call is not None and attempt not in entry.attempts
            entry.attempts.append(attempt)
            if is_new:
                ways = self._ways.setdefault((len(args), *kwargs) if kwargs else (), ShortWays())
                ways.add(call, given)
                self._calls = self._ways[()].calls

    # Compiling.

    def _compile(self, key: Any, leaves: list[Any], structure: Any) -> Any:
        with self._lock:
            entry = self._found(key, leaves)  # another thread may have been faster
            if entry is not None:
                return entry
            captured = None if has_wrappers(leaves) else self._sizes.found(leaves, structure)
            if captured is not None:
                entry = self._entry_of(captured)
                self._entries.setdefault(key, []).append(entry)
                return entry
            reason = self._reason(key, leaves)
            if self._misses >= self.recompile_limit or (reason and _recompiled() >= PROCESS_LIMIT):
                return self._over_the_limit(reason or "the first kind of arguments")
            self._misses += 1
            if reason is not None:
                self._reasons.append(reason)
            with self._in_trace(key), paused():
                entry = self._new_entry(leaves, structure)
            self._last_key = key
            self._entries.setdefault(key, []).append(entry)
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
            return self._entry_of(self._capture(leaves, structure))
        except AOTError as error:
            if self.fallback == "raise" or self.options.strict:
                raise
            warnings.warn(f"{self._name} runs without being compiled: {error}", stacklevel=4)
            if isinstance(error, DynamicShapeError) and error.instead is not None:
                self.function = error.instead(self.function)
            return EAGER

    def _entry_of(self, captured: Capture) -> Any:
        entry = entry_for(captured, self.compilers, self.options, self.function)
        # The entry does not refer to this function, which would live until the garbage collector comes by.
        entry.compiled_again = functools.partial(compiled_gradients, self.compilers, self.options)
        return entry

    def _capture(self, leaves: list[Any], structure: Any) -> Capture:
        captured = None if has_wrappers(leaves) else self._sizes.capture(leaves, structure)
        if captured is None:
            with reported(f"capture of {self._name}"):
                captured = capture(self.function, leaves, structure, self.options)
        captured.in_tree = structure
        return captured

    def _reason(self, key: Any, leaves: list[Any]) -> str | None:
        """What is new about a call; None for the first one."""
        for entry in reversed(self._entries.get(key, ())):
            return entry.misfit(leaves)
        return None if self._last_key is None else difference(key, self._last_key)

    def _over_the_limit(self, reason: str) -> Any:
        count = self._misses
        what = f"{self._name} was compiled for {count} kinds of arguments"
        if count < self.recompile_limit:
            what = f"functions were compiled again for {PROCESS_LIMIT} kinds of arguments in this process"
        if self.options.strict:
            raise RecompileLimitError(
                f"{what}, and this is another one",
                why=f"the last difference was in {reason}",
                fix="raise recompile_limit, mark the size that varies with pb.aot.mark_dynamic, or pass fewer literals",
            )
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{what}; other kinds of arguments of {self._name} run without being compiled ({reason})", stacklevel=4
            )
        return EAGER

    # Looking inside.

    def cache_info(self) -> CacheInfo:
        """Hits, misses and the number of captures."""
        return CacheInfo(self._hits, self._misses, sum(map(len, list(self._entries.values()))))

    def why_recompiled(self) -> list[str]:
        """For every capture after the first: the first thing that differed from the one before, the last one last."""
        return list(self._reasons)

    def explain(self, *args: Any, **kwargs: Any) -> aot.Explanation:
        """What a call with these arguments does: what is mutated, aliased, saved and recomputed. Nothing is run."""
        self._check_fits(args, kwargs)
        leaves, structure = flatten_arguments(args, kwargs)
        entry = entry_for(self._capture(leaves, structure), self.compilers.looking(), self.options, self.function)
        error = entry.deferred_error
        notes = [] if error is None else [f"backward raises: {str(error).splitlines()[0]}"]
        return aot.Explanation(entry, self.function, args, kwargs, notes)

    def _check_fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse arguments that the function does not take, before it is traced with them."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # written in C, and nobody knows
            return
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"explain: {error}; it explains a call, and wants the arguments of that call: {self._name}.explain(...)"
            ) from None

    def clear(self) -> None:
        """Forget all captures."""
        with self._lock:
            self._forget()

    def __repr__(self) -> str:
        return f"<compiled {self._name}>"


def compiled_gradients(
    compilers: Compilers, options: Options, function: Callable[..., Any]
) -> CompiledFunction:
    """The gradients of a capture as a compiled function, for derivatives of them. Where they can not be captured, they
    are computed all the same."""
    own = replace(options, static_inputs=(), joint_pass=None, strict=False, dynamic=False)
    return CompiledFunction(function, compilers, own, fallback="eager")


def _sorted_positions(kwargs: dict[str, Any]) -> list[int]:
    """The positions of keyword arguments in the order of their leaves."""
    names = list(kwargs)
    return sorted(range(len(names)), key=names.__getitem__)


def _recompiled() -> int:
    """The captures of all functions, without the first of each."""
    return sum(max(0, function.cache_info().currsize - 1) for function in tuple(_functions))


def reset() -> None:
    """Forget the captures of all compiled functions; each is captured again when it is called."""
    for function in tuple(_functions):
        function.clear()


def _unhashable(leaves: list[Any]) -> AOTError:
    for position, leaf in enumerate(leaves):
        try:
            hash(leaf_key(leaf))
        except TypeError:
            return TraceError(
                f"args[{position}], of type {type(leaf).__name__}, is part of the key of a call, and has no hash",
                fix="pass what is in it, or something that stands for it",
            )
    return TraceError("the structure of the arguments has no hash")
