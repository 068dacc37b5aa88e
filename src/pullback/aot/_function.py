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
from collections import deque
from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from pullback.aot import _later
from pullback.aot._call.direct import direct
from pullback.aot._call.fast_call import MISS, FastPaths, fast_call, has_fast_paths
from pullback.aot._compilers import Compilers
from pullback.aot._compiling import Compiling, Eager, entry_for, functions, is_capturable
from pullback.aot._dynamic import DynamicTable
from pullback.aot._entry import Entry
from pullback.aot._foreign import call_on_foreign, foreign_place
from pullback.aot._guards import call_key, leaf_key
from pullback.aot._inside import Inside
from pullback.aot._methods import BoundMethods, Method
from pullback.aot._numbers.program import is_number
from pullback.aot._numbers.stand_in import value_of
from pullback.aot._surroundings.arguments import changes_arguments, given, has_one_twice
from pullback.aot._surroundings.varying import Varying
from pullback.aot._trace.leaves import flatten_arguments
from pullback.aot._trace.records import Capture, Options
from pullback.aot._tree.calls import MOST_ATTEMPTS, OnPaths
from pullback.aot._tree.paths import Tree
from pullback.aot._tree.reasons import GivenUp
from pullback.aot._warm_up import Again, WarmUp
from pullback.core.frames import drop_own_frames
from pullback.core.pickling import check_importable, global_name
from pullback.core.pytree import unflatten
from pullback.core.records import replace
from pullback.core.state import Modes, current, open_levels, put_in_force
from pullback.payloads.traced import TracedArray
from pullback.tensors.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

_MOST_REASONS = 256  # why it compiled again, for whoever asks


def _made_again(function: Callable[..., Any], compilers: Compilers, options: Options, how: dict[str, Any]) -> Any:
    """What a pickle says is done here."""
    return CompiledFunction(function, compilers, options, **how)


class CompiledFunction(OnPaths, Compiling, Inside, WarmUp, Generic[P, R]):
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
        functions.add(self)

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
        elif type(entry) is not Eager:
            self._hits += 1
        if type(entry) is Eager:
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

    def _entry_of(self, captured: Capture, looking: bool = False) -> Any:
        compilers = self.compilers.looking() if looking else self.compilers
        self._changes_arguments = self._changes_arguments or changes_arguments(captured.effects)
        entry = entry_for(captured, compilers, self.options, self._traced)
        # The entry does not refer to this function, which would live until the garbage collector runs.
        entry.compiled_again = functools.partial(compiled_gradients, self.compilers, self.options)
        return entry

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


def reset() -> None:
    """Forget the captures of all compiled functions; each is captured again when it is called."""
    for function in tuple(functions):
        function.clear()
