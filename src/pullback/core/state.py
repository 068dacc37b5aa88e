"""The modes of the running thread or task, and the process-wide clock.

All modes live in one immutable record held by a context variable, so they are separate per thread and per async
task, and code that runs in the normal modes finds that out with one identity test: `current() is switch.normal`.
Fast paths make that test and nothing else; whatever it does not cover goes through the general path.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

next_stamp: Callable[[], int] = itertools.count(1).__next__
"""The process-wide clock: nodes, levels and tokens get their number from it, and later means larger."""


class VmapLevel:
    """One running `vmap`: its place in the order of levels, the length of the mapped axis, and how it draws."""

    __slots__ = ("randomness", "size", "stamp")

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.stamp = next_stamp()
        self.size = size
        self.randomness = randomness

    def __repr__(self) -> str:
        return f"<vmap of {self.size}>"


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
        "mutation_guard",
        "records",
        "saved_hooks",
        "trace",
        "transforms",
        "vmaps",
    )

    grad: bool  # operations are recorded
    inference: bool  # new tensors carry no version counter
    anomaly: bool  # nodes remember where they were made
    check_nan: bool  # anomaly mode looks for NaN after every node
    layout_policy: bool  # a leaf's gradient gets the leaf's strides
    multithreading: bool  # accepted for compatibility, without effect
    saved_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]  # innermost pair last
    hooks_disabled: str | None  # message of the innermost disable_saved_tensors_hooks
    mutation_guard: Any  # the allow_mutation_on_saved_tensors context, or None
    interceptors: tuple[Callable[..., Any], ...]  # see every primitive before it runs, innermost last
    transforms: tuple[Any, ...]  # function transforms whose body is running, innermost last
    vmaps: tuple[VmapLevel, ...]  # batch dimensions that exist here, oldest first
    trace: Any  # what records a graph here (payloads/recorder.py), or None
    forward_mask: int  # forward levels up to this stamp are switched off
    born: int  # derived: what dates the memory that operations make here, the stamp of the innermost transform or 0
    forwards: bool  # derived: tangents may take the short way (eager/fast_forward.py)
    records: bool  # derived: nothing but transforms is unusual, which recording has a short way for (eager/fast.py)

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.anomaly = False
        self.check_nan = True
        self.layout_policy = True
        self.multithreading = True
        self.saved_hooks = ()
        self.hooks_disabled = None
        self.mutation_guard = None
        self.interceptors = ()
        self.transforms = ()
        self.vmaps = ()
        self.trace = None
        self.forward_mask = 0
        self.born = 0
        self.forwards = True
        self.records = False
        self._variants: dict[bool, Modes] = {}  # this record with another grad mode, the change made most often

    def replace(self, **changes: Any) -> Modes:
        """A copy with these fields changed; the one `NORMAL` record if that makes everything normal."""
        if len(changes) == 1 and "grad" in changes:
            variant = self._variants.get(changes["grad"])
            if variant is None:
                variant = self._variants[changes["grad"]] = self._copy(changes)
            return variant
        return self._copy(changes)

    def inside(self, transform: Any) -> Modes:
        """These modes in the body of a forward transform: it is the innermost one, and inference mode is off."""
        copy = self._twin()
        copy.inference = False
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
        copy.mutation_guard = self.mutation_guard
        copy.interceptors = self.interceptors
        copy.transforms = self.transforms
        copy.vmaps = self.vmaps
        copy.trace = self.trace
        copy.forward_mask = self.forward_mask
        copy._variants = {}
        return copy

    def _derive(self) -> None:
        transforms = self.transforms
        self.born = transforms[-1].stamp if transforms else 0
        self.forwards = not (
            self.inference or self.interceptors or self.vmaps or self.forward_mask or self.trace is not None
        )
        self.records = bool(transforms) and self.forwards and self.grad and not (
            self.saved_hooks or self.anomaly or self.mutation_guard is not None
        )  # fmt: skip


_FIELDS = tuple(name for name in Modes.__slots__ if name not in ("_variants", "born", "forwards", "records"))
_values = operator.attrgetter(*_FIELDS)


NORMAL = Modes()

_modes: ContextVar[Modes] = ContextVar("pullback_modes", default=NORMAL)

current: Callable[[], Modes] = _modes.get
"""The modes in force here."""

put_in_force: Callable[[Modes], Any] = _modes.set
"""Make this record the modes in force here."""


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


@contextmanager
def changed(**changes: Any) -> Iterator[None]:
    """These modes inside the block, the previous ones after it."""
    previous = change(**changes)
    try:
        yield
    finally:
        change(**previous)


open_levels: set[Any] = set()
"""The forward levels that are open in this process. While there is none, nothing asks for tangents."""

running_pass: ContextVar[Any] = ContextVar("pullback_running_pass", default=None)
"""The backward pass that is running here; within one, values of a vmap that has ended are at home."""


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
