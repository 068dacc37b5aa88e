"""`CompiledFunction`: a function with a table of its captures. It is what `aot_function` and `pb.compile` return.

A call looks for its capture in three places: among the fast paths (`_call`), then in the table by its key, and
if it is in neither, the function is captured and compiled under the lock. Other threads that want the same wait there
and find it. A call inside of a trace or of a transform runs the function itself, which becomes part of what is traced.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from pullback.aot import _later, _trace
from pullback.aot._call.direct import direct
from pullback.aot._call.fast_call import MISS, FastPaths, fast_call, has_fast_paths
from pullback.aot._compilers import Compilers
from pullback.aot._dynamic import DynamicTable
from pullback.aot._entry import Entry
from pullback.aot._foreign import call_on_foreign, foreign_place
from pullback.aot._guards import call_key, difference, leaf_key
from pullback.aot._inside import Inside
from pullback.aot._methods import BoundMethods, Method
from pullback.aot._numbers.program import RAISES, Program, fixed_numbers, is_number
from pullback.aot._numbers.stand_in import value_of
from pullback.aot._surroundings.arguments import changes_arguments, given, has_one_twice
from pullback.aot._surroundings.varying import Varying, varied, with_more
from pullback.aot._trace.capture import Capture, Options
from pullback.aot._trace.leaves import flatten_arguments
from pullback.aot._tree.calls import MOST_ATTEMPTS, OnPaths
from pullback.aot._tree.live import Abandoned
from pullback.aot._tree.paths import Tree, open_places
from pullback.aot._tree.reasons import GivenUp, given_up
from pullback.aot._warm_up import Again, WarmUp
from pullback.aot._wrapper import HasWrappers, is_wrapped
from pullback.core.frames import drop_own_frames, warn
from pullback.core.pickling import check_importable, global_name
from pullback.core.pytree import how_to_register, unflatten
from pullback.core.records import replace
from pullback.core.reports import compiling, paused, reported
from pullback.core.state import Modes, current, forgive, open_levels, put_in_force
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
from pullback.payloads.traced import TracedArray
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
            return _trace.capture.capture(
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

_functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class _Eager:
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


EAGER = _Eager()
ONCE = _Eager()  # for one call only
_MOST_EFFECTS = 2  # so often a function is tried that has side effects
_MOST_FAILURES = 3
_MOST_KEYS = 64  # of captures that one function keeps
_MOST_REASONS = 256  # why it compiled again, for whoever asks
_EARNS = 64  # calls that find their capture earn another one beyond the limit: no limit is for good


def _made_again(function: Callable[..., Any], compilers: Compilers, options: Options, how: dict[str, Any]) -> Any:
    """What a pickle says is done here."""
    return CompiledFunction(function, compilers, options, **how)


class CompiledFunction(OnPaths, Inside, WarmUp, Generic[P, R]):
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
        self.uncompiled_on: set[Any] = set()  # devices of other libraries, for which there is no code
        self.recompile_limit = recompile_limit
        self._name = getattr(function, "__name__", type(function).__name__)
        self._lock = threading.RLock()
        self._is_off = os.environ.get("PULLBACK_COMPILE") == "0"  # it runs as it is
        self._tracing: set[tuple[int, Any]] = set()  # by thread and key: where a trace of this function is running
        self._methods = BoundMethods()
        self._forget()
        _functions.add(self)

    def _like_this(self, function: Callable[..., Any]) -> CompiledFunction:
        """Another function, compiled in the same way."""
        return CompiledFunction(
            function, self.compilers, self.options, fallback=self.fallback, recompile_limit=self.recompile_limit
        )

    def __reduce__(self) -> Any:
        """By its name if it is a global, as a decorator makes it; otherwise the function and how it is compiled.

        Captures and machine code stay where they are: another process makes its own, or finds them on disk.
        """
        name = global_name(self)
        if name is not None:
            return name
        check_importable(self.function, "a compiled function")
        how = {"fallback": self.fallback, "recompile_limit": self.recompile_limit}
        return _made_again, (self.function, self.compilers, self.options, how)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        """Itself, as functions are; that of a bound method belongs to the copy of its object."""
        function = copy.deepcopy(self.function, memo)
        return self if function is self.function else self._like_this(function)

    def seen_by(self, see: Callable[[Any], Any]) -> CompiledFunction:
        """The same with the function as a trace sees it, of which it becomes a part."""
        twin = self._like_this(see(self.function))
        twin._tracing = self._tracing
        return twin

    def _forget(self) -> None:
        self._entries: dict[Any, list[Any]] = {}
        self._on_values: dict[Any, CompiledFunction] = {}  # by what is ragged: the functions of values and offsets
        self._trees: dict[Any, Tree] = {}  # by key: where there are paths
        self._calls: tuple[Any, ...] = ()  # fast paths to be tried
        # All of them, by the number of positional arguments and the names of the others in the order of the call.
        self._ways: dict[tuple[Any, ...], FastPaths] = {(): FastPaths()}
        self._hits = 0
        self._misses = 0
        self._evicted = 0
        self._last_key: Any = None
        self._reasons: deque[str] = deque(maxlen=_MOST_REASONS)
        self._given_up: list[GivenUp] = []  # why calls run in Python
        self._warned = False
        self._failures = 0  # how often tracing has raised something that is no error of ours
        self._effects = 0  # how often the function had side effects when it was traced
        self._rest = 0  # calls that run as they are, without a look at them
        self._changes_arguments = False  # does a call change lists or dicts among them?
        self._varying: Varying | None = None  # the function with what it finds in places that vary as arguments
        self._sizes = DynamicTable(self.function, self.options)

    @property
    def _traced(self) -> Callable[..., Any]:
        """What is traced."""
        return self.function if self._varying is None else self._varying

    # Calling.

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of the function."""
        try:
            if not kwargs:
                for call in self._calls:
                    result = call(args)
                    if result is not MISS:
                        # path: short call
                        self._hits += 1
                        return result
            else:
                ways = self._ways.get((len(args), *kwargs))
                if ways is not None:
                    given = (*args, *kwargs.values())
                    for call in ways.calls:
                        result = call(given)
                        if result is not MISS:
                            # path: short call with keywords
                            self._hits += 1
                            return result
            return self._called(args, kwargs)
        except Exception as error:
            drop_own_frames(error)
            raise

    def _called(self, args: Any, kwargs: Any) -> Any:
        """A call without a short way."""
        modes = current()
        if modes.watch is not None:
            return self._watched(modes, args, kwargs)
        if modes.trace is not None or modes.transforms or modes.vmaps or (open_levels and modes.forwards):
            return self._as_a_part(args, kwargs)
        if self._is_off:
            return self.function(*args, **kwargs)
        leaves, structure = self._flattened(args, kwargs)
        is_unusual = any(isinstance(leaf, Tensor) and type(leaf._data) is not np.ndarray for leaf in leaves)
        if is_unusual and any(isinstance(leaf, Tensor) and leaf.is_nested for leaf in leaves):
            return self._on_rows(leaves, structure)
        if is_unusual and (place := foreign_place(leaves)) is not None:
            return call_on_foreign(self, leaves, structure, place)
        if is_unusual and not all(map(is_capturable, leaves)):
            return self.function(*args, **kwargs)
        if self._changes_arguments and has_one_twice(args, kwargs):
            return self.function(*args, **kwargs)
        key = call_key(leaves, structure)
        entry = self._found(key, leaves)
        if entry is None:
            try:
                with given(args, kwargs):
                    entry = self._compile(key, leaves, structure)
            except Again:
                return self._called(args, kwargs)
        elif type(entry) is not _Eager:
            self._hits += 1
        if type(entry) is _Eager:
            if entry.is_for_all and self._entries == {key: [entry]}:
                self._run_as_it_is()
            return self.function(*args, **kwargs)
        with given(args, kwargs):
            if type(entry) is Entry and entry.labels is not None:
                return self._on_a_path(entry, key, leaves, structure, args, kwargs)
            if len(entry.attempts) < MOST_ATTEMPTS:
                self._shorten(entry, args, kwargs, leaves, structure)
            return self._timed(entry, key, leaves, args, kwargs)

    def _run_as_it_is(self) -> None:
        """Calls of the only kind that there is cannot be compiled: do not even look at the next ones. In between they
        are looked at, because others may come."""
        self._rest = min(2 * self._rest + 64, 1 << 16)
        left = self._rest

        def resting(args: tuple[Any, ...]) -> Any:
            nonlocal left
            left -= 1
            if left < 0 or not has_fast_paths(current()):
                return MISS
            self._hits -= 1  # which is counted by whoever has called this
            return self.function(*args)

        with self._lock:
            self._calls = (resting,)

    def _flattened(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """The leaves of a call, with those that are found in places that vary."""
        if self._varying is not None:
            found = self._varying.found()
            if found is not None:
                return flatten_arguments((*args, found), kwargs)
            self._change_varying(None)
        return flatten_arguments(args, kwargs)

    def _change_varying(self, varying: Varying | None) -> None:
        """Have other places than before as arguments."""
        with self._lock:
            self._varying = varying
            self._entries, self._trees, self._ways, self._calls = {}, {}, {(): FastPaths()}, ()
            self._last_key = None
            self._sizes = DynamicTable(self._traced, self.options)

    def direct(self, *args: Tensor) -> Callable[..., tuple[Any, ...] | None] | None:
        """The capture that these arguments fit as a function of arrays (`_call/direct.py`); None if there is none."""
        entry, varying = self.entry_for(*args), self._varying
        run = None if entry is None else direct(entry, args)
        return run if run is None or varying is None else varying.while_found(run)

    def entry_for(self, *args: Any) -> Entry | None:
        """The capture that these arguments fit; None if there is none."""
        leaves, structure = self._flattened(args, {})
        entry = self._found(call_key(leaves, structure), leaves)
        return entry if isinstance(entry, Entry) else None

    def _on_rows(self, leaves: list[Any], structure: Any) -> Any:
        """A call with ragged tensors, by a function of their values and offsets, which serves rows of all lengths."""
        leaves = [leaf.contiguous() if isinstance(leaf, Tensor) and leaf.is_nested else leaf for leaf in leaves]
        key, records = _later.ragged_key(leaves, structure)
        with self._lock:
            compiled = self._on_values.get(key)
            if compiled is None:
                compiled = self._on_values[key] = self._like_this(_later.on_values(self.function, key))
        return _later.run_ragged(compiled, leaves, key, records)

    def _watched(self, modes: Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that somebody watches: it begins, goes its usual way, and ends."""
        watch: Any = modes.watch
        out = None
        mark = watch.begin("compiled", self._name, args)
        put_in_force(modes.unwatched())
        try:
            out = self(*args, **kwargs)
        finally:
            put_in_force(modes)
            watch.end(mark, out)
        return out

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = self._methods.of(self.function, instance, self._method_like_this)
        return functools.partial(self, instance) if bound is None else MethodType(bound, instance)

    def _method_like_this(self, method: Method) -> CompiledMethod:
        return CompiledMethod(
            method, self.compilers, self.options, fallback=self.fallback, recompile_limit=self.recompile_limit
        )

    def _as_a_part(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call inside of something larger, which looks into the function."""
        leaves, structure = flatten_arguments(args, kwargs)
        if not any(isinstance(leaf, Tensor) and type(leaf._data) is TracedArray for leaf in leaves):
            return self.function(*args, **kwargs)
        plain = [value_of(leaf) for leaf in leaves]
        try:
            # With the values of numbers: a function may call itself with another one, until that is 0.
            values = tuple([leaf_key(leaf) for leaf in plain if is_number(leaf)])
            key = (call_key(plain, structure), values) if values else call_key(plain, structure)
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

    def _shorten(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], structure: Any
    ) -> None:
        """Give calls like this one a fast path, if there is one."""
        if entry.capture.flat is not None or not has_fast_paths(current()):
            return
        if changes_arguments(entry.capture.effects):
            return
        varying = self._varying
        own = args if varying is None else unflatten(structure, leaves)[0]
        order = [*range(len(own)), *(len(own) + k for k in _sorted_positions(kwargs))]
        call = fast_call(entry, (*own, *kwargs.values()), leaves, order)
        both = (*args, *kwargs.values())
        specs = [id(leaf._spec) for leaf in leaves if isinstance(leaf, Tensor)]
        attempt = None if call is None else (call.source, *specs)
        with self._lock:
            # A fast path misses its own call where native code is made anew.
            is_new = call is not None and attempt not in entry.attempts
            entry.attempts.append(attempt)
            if is_new:
                ways = self._ways.setdefault((len(args), *kwargs) if kwargs else (), FastPaths())
                ways.add(call if varying is None else varying.quick(call, len(args)), both)
                self._calls = self._ways[()].calls

    # Compiling.

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
            if is_many or (reason and _recompiled() >= PROCESS_LIMIT):
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
            return _Eager(error.numbers)
        except AOTError as error:
            if self.fallback == "raise" or self.options.strict:
                raise
            self._give_up(error, str(error))
            if isinstance(error, DynamicShapeError) and error.instead is not None:
                self.function = error.instead(self.function)
            return _Eager(error.numbers)
        except Exception as error:
            # The function itself says whether this is its own: code that asks for its globals, or for the class of an
            # object, may find something else in a trace.
            if self.fallback == "raise" or self.options.strict or is_told(error):
                raise
            self._failures += 1
            if self._failures < _MOST_FAILURES:
                return ONCE
            self._give_up(error, f"tracing it raises {error!r}")
            return _Eager(fixed_numbers(leaves, "tracing raises"))

    def _give_up(self, error: BaseException, words: str) -> None:
        """Calls run in Python, for this reason, which is told."""
        forgive(error)
        found = given_up(error)
        if found not in self._given_up:
            self._given_up.append(found)
        warn(f"{self._name} runs without being compiled: {words}")

    def _entry_of(self, captured: Capture, looking: bool = False) -> Any:
        compilers = self.compilers.looking() if looking else self.compilers
        self._changes_arguments = self._changes_arguments or changes_arguments(captured.effects)
        entry = entry_for(captured, compilers, self.options, self._traced)
        # The entry does not refer to this function, which would live until the garbage collector runs.
        entry.compiled_again = functools.partial(compiled_gradients, self.compilers, self.options)
        return entry

    def _capture(self, leaves: list[Any], structure: Any) -> Capture:
        captured = None
        is_open_at = arms = None
        if self.options.live:
            arms = self._trees.setdefault(call_key(leaves, structure), Tree()).arms
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

    def clear(self) -> None:
        """Forget all captures."""
        with self._lock:
            self._forget()

    def __repr__(self) -> str:
        return f"<compiled {self._name}>"


class CompiledMethod(CompiledFunction[..., Any]):
    """The compiled function of one object. A bound method calls it, and keeps the object alive meanwhile."""

    __slots__ = ()

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the method."""
        if not kwargs:
            for call in self._calls:  # as the function itself does: one more call would cost a third of all
                result = call(args)
                if result is not MISS:
                    self._hits += 1
                    return result
        return CompiledFunction.__call__(self, *args, **kwargs)


def compiled_gradients(
    compilers: Compilers, options: Options, function: Callable[..., Any]
) -> CompiledFunction:
    """The gradients of a capture as a compiled function, for derivatives of them. Where they cannot be captured, they
    are computed all the same."""
    own = replace(options, static_inputs=(), joint_pass=None, strict=False, dynamic=False, live=False)
    return CompiledFunction(function, compilers, own, fallback="eager")


def _sorted_positions(kwargs: dict[str, Any]) -> list[int]:
    """The positions of keyword arguments in the order of their leaves."""
    names = list(kwargs)
    return sorted(range(len(names)), key=names.__getitem__)


def _recompiled() -> int:
    """How often functions were captured, without the first capture of each and those that they have earned."""
    return sum(max(0, function._misses - 1 - function._hits // _EARNS) for function in tuple(_functions))


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
                fix=how_to_register(type(leaf)) or "pass what is in it, or something that stands for it",
            )
    return TraceError("the structure of the arguments has no hash")
