"""The modes of the running thread or task, and the process-wide clock.

All modes live in one immutable record held by a context variable, so they are separate per thread and per async
task, and code that runs in the normal modes finds that out with one identity test: `current().usual is switch.normal`.
Fast paths make that test and nothing else; whatever it does not cover goes through the general path. The same modes
inside of a reverse transform are usual, too: there is `within`, which tensors have that the body has made.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any

from pullback.errors import AOTError, AutogradError

next_stamp: Callable[[], int] = itertools.count(1).__next__
"""The process-wide clock: nodes, levels and tokens get their number from it, and later means larger."""


class VmapLevel:
    """One running `vmap`: its place in the order of levels, the length of the mapped axis, and how it draws."""

    __slots__ = ("over", "randomness", "refusals", "size", "stamp")

    def __init__(self, size: int, randomness: str = "error", over: Any = None) -> None:
        self.stamp = next_stamp()
        self.size = size
        self.randomness = randomness
        self.over = over  # which ranks have which examples, if they are spread over ranks
        self.refusals: list[AutogradError] = []  # raised inside, perhaps in a thread: the function may have caught it

    @property
    def length(self) -> int:
        """How many examples there are, on all ranks."""
        return self.size if self.over is None else self.over.length

    def __repr__(self) -> str:
        return f"<vmap of {self.size}>"


class Watch:
    """Somebody who looks at what runs: `pb.profile`, `pb.memory`. Told by whoever runs it."""

    def begin(self, kind: str, name: str, operands: tuple[Any, ...] = ()) -> Any:
        """Something begins: "forward", "backward", "compiled", "compile", "hook" or "user". What is returned goes to
        `end`."""

    def end(self, mark: Any, subject: Any) -> None:
        """What began with `mark` is over. `subject` is its result, or the node that ran; None after an exception."""


class Modes:
    """What the running code has switched on. Immutable; `replace` makes the changed copy."""

    __slots__ = (
        "_variants",
        "anomaly",
        "born",
        "check_nan",
        "forward_mask",
        "forwards",
        "grad",
        "hooks_disabled",
        "inference",
        "interceptors",
        "layout_policy",
        "multithreading",
        "records",
        "saved_hooks",
        "trace",
        "transforms",
        "usual",
        "vmaps",
        "watch",
        "within",
    )

    grad: bool  # operations are recorded
    inference: bool  # new tensors carry no version counter
    anomaly: bool  # nodes remember where they were made
    check_nan: bool  # anomaly mode looks for NaN after every node
    layout_policy: bool  # a leaf's gradient gets the leaf's strides
    multithreading: bool  # accepted for compatibility, without effect
    saved_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]  # innermost pair last
    hooks_disabled: str | None  # message of the innermost disable_saved_tensors_hooks
    interceptors: tuple[Callable[..., Any], ...]  # see every primitive before it runs, innermost last
    transforms: tuple[Any, ...]  # function transforms whose body is running, innermost last
    vmaps: tuple[VmapLevel, ...]  # batch dimensions that exist here, oldest first
    trace: Any  # what records a graph here (payloads/traced/recorder.py), or None
    forward_mask: int  # forward levels up to this stamp are switched off
    watch: Watch | None  # is told when operations begin and end here
    born: int  # derived: what dates the memory that operations make here, the stamp of the innermost transform or 0
    forwards: bool  # derived: tangents may take the fast path (eager/forward.py)
    records: bool  # derived: nothing but transforms is unusual, which recording has a fast path for (eager/fast.py)
    within: Any  # derived: what tensors share that the innermost transform makes, if that is one of reverse mode
    usual: Any  # derived: `NORMAL` if fast paths may run, here or in the body of such a transform

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.anomaly = False
        self.check_nan = True
        self.layout_policy = True
        self.multithreading = True
        self.saved_hooks = ()
        self.hooks_disabled = None
        self.interceptors = ()
        self.transforms = ()
        self.vmaps = ()
        self.trace = None
        self.forward_mask = 0
        self.watch = None
        self.born = 0
        self.forwards = True
        self.records = False
        self.within = None
        self.usual = self
        self._variants: dict[Any, Modes] = {}  # this record with another grad mode, the change made most often

    def replace(self, **changes: Any) -> Modes:
        """A copy with these fields changed; the one `NORMAL` record if that makes everything normal."""
        if len(changes) == 1 and "grad" in changes:
            variant = self._variants.get(changes["grad"])
            if variant is None:
                variant = self._variants[changes["grad"]] = self._copy(changes)
            return variant
        return self._copy(changes)

    def inside(self, transform: Any) -> Modes:
        """These modes in the body of a transform that differentiates: it is the innermost one, inference mode is off,
        and a reverse transform records."""
        copy = self._twin()
        copy.inference = False
        copy.grad = self.grad or transform.level is None
        copy.transforms = (*self.transforms, transform)
        copy._derive()
        return copy

    def _copy(self, changes: dict[str, Any]) -> Modes:
        copy = self._twin()
        for name, value in changes.items():
            setattr(copy, name, value)
        copy._derive()
        if copy.transforms or copy.vmaps or copy.trace is not None:
            return copy
        if copy.grad:
            return NORMAL if _values(copy) == _values(NORMAL) else copy
        no_grad = NORMAL._variants.get(False)
        return copy if no_grad is None or _values(copy) != _values(no_grad) else no_grad

    def _twin(self) -> Modes:
        # Written out: every transform makes two of these, and each of its passes another two.
        copy = object.__new__(Modes)
        copy.grad = self.grad
        copy.inference = self.inference
        copy.anomaly = self.anomaly
        copy.check_nan = self.check_nan
        copy.layout_policy = self.layout_policy
        copy.multithreading = self.multithreading
        copy.saved_hooks = self.saved_hooks
        copy.hooks_disabled = self.hooks_disabled
        copy.interceptors = self.interceptors
        copy.transforms = self.transforms
        copy.vmaps = self.vmaps
        copy.trace = self.trace
        copy.forward_mask = self.forward_mask
        copy.watch = self.watch
        copy._variants = {}
        return copy

    def _derive(self) -> None:
        transforms = self.transforms
        self.born = transforms[-1].stamp if transforms else 0
        self.forwards = not (
            self.inference or self.interceptors or self.vmaps or self.forward_mask or self.trace is not None
        )
        self.records = (
            bool(transforms)
            and self.forwards
            and self.grad
            and not (self.saved_hooks or self.anomaly)
            and self.watch is None
        )
        self.within = transforms[-1].within if transforms and not self.vmaps and self.trace is None else None
        self.usual = NORMAL if self.records and self.within is not None else False

    def unwatched(self) -> Modes:
        """These modes for the inside of an operation that is watched: it goes its usual way, the fast one if it can."""
        found = self._variants.get("unwatched")
        if found is None:
            found = self._variants["unwatched"] = self._copy({"watch": None})
        return found


_DERIVED = ("_variants", "born", "forwards", "records", "usual", "within")
_FIELDS = tuple(name for name in Modes.__slots__ if name not in _DERIVED)
_values = operator.attrgetter(*_FIELDS)


NORMAL = Modes()

_modes: ContextVar[Modes] = ContextVar("pullback_modes", default=NORMAL)

current: Callable[[], Modes] = _modes.get
"""The modes in force here."""

put_in_force: Callable[[Modes], Any] = _modes.set
"""Make this record the modes in force here."""


def _start_in_normal_modes(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """`Thread.start`, after which the new thread has what it inherits, but for our modes."""

    @functools.wraps(start)
    def started(thread: threading.Thread) -> None:
        values = copy_context()
        if not any(each.name.startswith("pullback") for each in values):
            return start(thread)
        inherited = Context()
        for variable, value in values.items():
            if not variable.name.startswith("pullback"):
                inherited.run(variable.set, value)
        return inherited.run(start, thread)

    return started


# Free-threaded Python hands the context of whoever starts a thread on to it. A worker of a pool would keep the modes of
# the block that happened to need it first, a transform that has ended for instance; so threads begin as elsewhere.
if getattr(sys.flags, "thread_inherit_context", False):
    threading.Thread.start = _start_in_normal_modes(threading.Thread.start)  # type: ignore[assignment, method-assign]


def put_back(error: BaseException, before: Modes) -> None:
    """After Ctrl-C the modes are those from before the call: a signal may have come between a change and the block that
    would have undone it. Other errors leave what the user's code has set for good."""
    if not isinstance(error, Exception) and current() is not before:
        put_in_force(before)



class _Switch:
    """The records under which fast paths may run; None sends every operation down the general path."""

    __slots__ = ("no_grad", "normal")

    def __init__(self) -> None:
        self.close()

    def close(self) -> None:
        """Allow fast paths in the normal modes, and where they differ in grad mode only."""
        self.normal: Modes | None = NORMAL
        self.no_grad: Modes | None = NORMAL.replace(grad=False)

    def open(self) -> None:
        """Send every operation down the general path."""
        self.normal = self.no_grad = None


switch = _Switch()


def change(**changes: Any) -> dict[str, Any]:
    """Put these modes in force and return the values they had, which `change(**previous)` restores."""
    modes = current()
    previous = {name: getattr(modes, name) for name in changes}
    _modes.set(modes.replace(**changes))
    return previous


def change_grad(enabled: bool) -> bool:
    """Set the grad mode and return what it was. This is the change made most often, so it has a way of its own."""
    modes = current()
    previous = modes.grad
    if previous is not enabled:
        _modes.set(modes._variants.get(enabled) or modes.replace(grad=enabled))
    return previous


class _Here(threading.local):
    """The notes of the context managers that are entered in this thread, one for each time."""

    def __init__(self) -> None:
        self.entered: list[list[Any]] = []


here = _Here()


def note_entered(notes: list[Any], previous: Any) -> None:
    """Note among those of a context manager what was in force when it was entered, for `last_entered`."""
    notes.append(previous)
    here.entered.append(notes)


def last_entered(notes: list[Any], context: object) -> Any:
    """What a context manager noted when it was entered last, for its `__exit__`."""
    if not notes:
        name = type(context).__name__
        raise AutogradError(
            "EXIT_WITHOUT_ENTER",
            f"__exit__ of {name} was called more often than its __enter__",
            where=name,
            why="leaving a context puts back what entering it has changed, and this object has changed nothing",
            fix=f"use it in a `with` statement: `with {name}(...):`",
        )
    entered = here.entered
    if entered and entered[-1] is notes:
        entered.pop()
    else:  # left out of turn, or in another thread
        place = next((k for k in range(len(entered) - 1, -1, -1) if entered[k] is notes), None)
        if place is not None:
            del entered[place]
    return notes.pop()


def _count_entered() -> int:
    return len(here.entered)


def _forget_entered(count: int) -> None:
    """Forget that context managers were entered since there were so many, and not left: what they changed is undone.

    One that was entered before as well would take the inner note for the outer one, and stay in force for good. Any
    other may be left later, as by a generator that waits in its block.
    """
    entered = here.entered
    while len(entered) > count:
        notes = entered.pop()
        if any(each is notes for each in entered):
            notes.pop()


@contextmanager
def changed(**changes: Any) -> Iterator[None]:
    """These modes inside the block, the previous ones after it."""
    previous = change(**changes)
    try:
        yield
    finally:
        change(**previous)


_beside_modes: list[tuple[Callable[[], Any], Callable[[Any], Any], Any]] = []


def restore_beside_modes(get: Callable[[], Any], restore: Callable[[Any], Any]) -> None:
    """Let `reinstate` take care of a setting that lives elsewhere; `restore` is called if what `get` gives is another
    object than before. Modules that are loaded late do this late, so the value of now is that of all earlier times."""
    _beside_modes.append((get, restore, get()))


def in_force() -> tuple[Any, ...]:
    """Everything that user code can switch in its thread or task, for `reinstate`."""
    return (current(), *[get() for get, _, _ in _beside_modes])


def reinstate(settings: tuple[Any, ...]) -> None:
    """Undo what code that was called since `in_force` gave these settings has switched on or off and left so.

    Whoever calls user code from inside of the machinery (hooks, formulas, second runs) does this when it returns: what
    runs next belongs to somebody else.
    """
    if current() is not settings[0]:
        _modes.set(settings[0])
    for position, (get, restore, initial) in enumerate(_beside_modes, start=1):
        before = settings[position] if position < len(settings) else initial
        if get() is not before:
            restore(before)


restore_beside_modes(_count_entered, _forget_entered)


open_levels: set[Any] = set()
"""The forward levels that are open in this process. While there is none, nothing asks for tangents."""

inside_worker: ContextVar[bool] = ContextVar("pullback_inside_worker", default=False)
"""Does a piece of mapped work run here, on an executor or in its place? Collectives must not."""

running_pass: ContextVar[Any] = ContextVar("pullback_running_pass", default=None)
"""The backward pass that is running here; within one, values of a vmap that has ended are at home."""


watching: ContextVar[Watch | None] = ContextVar("pullback_watching", default=None)
"""Who watches here. Inside of an operation the modes do not say so, and what is compiled there is seen all the same."""


@contextmanager
def watched(kind: str, name: str) -> Iterator[None]:
    """Tell whoever watches that something runs in this block."""
    watch = watching.get()
    if watch is None:
        yield
        return
    mark = watch.begin(kind, name)
    try:
        yield
    finally:
        watch.end(mark, None)


# What a trace refuses is raised in the user's function, which may catch it and go on, as it would not without a trace.


def _notice(error: AOTError) -> None:
    trace = current().trace
    if trace is not None:
        trace.refusals.append(error)


AOTError.notice = staticmethod(_notice)


def forgive(error: BaseException | None) -> None:
    """Say that Pullback itself caught this error, and knows another way."""
    trace = current().trace
    while trace is not None and error is not None:
        trace.refusals = [each for each in trace.refusals if each is not error]
        error = error.__cause__ or error.__context__


Observer = Callable[[str, str, int, int], None]
observers: list[Observer] = []


def add_observer(observer: Observer) -> None:
    """Call `observer(kind, name, sequence_nr, thread_id)` around every primitive and every executed node."""
    observers.append(observer)
    switch.open()


def remove_observer(observer: Observer) -> None:
    """Stop calling `observer`."""
    observers.remove(observer)
    if not observers:
        switch.close()
