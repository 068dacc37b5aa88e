"""Native code for operators on large arrays: threads and vectors, where NumPy has one thread.

A spec knows whether its arrays are large, so the fast paths find out at no cost: for those they go to a function of the
same source, made here, whose kernel and formulas may be native. NumPy computes until it has taken as much time as
native code costs: llvmlite has to be imported, and each operator compiled. Where there is no llvmlite, or anything
fails, NumPy goes on computing. docs/design/native-eager.md tells why.

`eager/native.py`, which is loaded only then, makes native kernels and formulas.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from pullback import compiler, eager
from pullback.core.reports import INFO, WARNING, report
from pullback.core.spec import LARGE
from pullback.core.threads import get_num_threads, sums
from pullback.declare.op import Op, Rule
from pullback.eager.pull import make_pull

IMPORT_SECONDS = 0.25
"""Estimated time spent in NumPy on large arrays after which llvmlite is imported: about what that takes."""
COMPILE_SECONDS = 0.025
"""The same for compiling one operator."""


class _State:
    """Whether native code may be used, and what NumPy has been asked to do so far."""

    enabled = os.environ.get("PULLBACK_NATIVE_EAGER", "1") not in ("0", "false", "off")
    failed = False
    is_loaded = False
    spent = 0.0


state = _State()
lock = threading.RLock()
_meters: list[Any] = []  # whatever has a `reset`


def set_native_eager(enabled: bool) -> bool:
    """Let operators use native code where that pays, or only NumPy; returns what it was before.

    Native code needs llvmlite, and is used on large arrays, and for calls on small ones that are made thousands of
    times. Its results are those of NumPy to the bit for arithmetic, and within 5 units in the last place for
    mathematical functions. `PULLBACK_NATIVE_EAGER=0` in the environment turns it off from the start.

    >>> before = pb.set_native_eager(False)
    >>> pb.set_native_eager(before)
    False
    """
    with lock:
        before, state.enabled = state.enabled, bool(enabled)
        for meter in list(_meters):
            meter.reset()
        if not enabled and state.is_loaded:
            compiler.release()
    return before


def listen(listener: Any) -> None:
    """Have `reset` of this called whenever the switch is changed."""
    _meters.append(listener)


def is_native_eager() -> bool:
    """May operators use native code, on large arrays and where they are called often?

    >>> before = pb.set_native_eager(False)
    >>> pb.is_native_eager()
    False
    >>> _ = pb.set_native_eager(before)
    """
    return state.enabled


class Meter:
    """Lets NumPy do something, and puts something native in its place when that pays."""

    def __init__(self, plain: Any, metered: Any, cost: float) -> None:
        self.plain = plain  # what only NumPy does
        self.metered = metered  # the same, with a call of `note`
        self.cost = cost  # estimated seconds for an element
        self.spent = 0.0
        self.made: Any = None
        listen(self)
        self.reset()

    def make(self) -> Any:
        """Something native; None if there can be nothing."""
        raise NotImplementedError  # abstract

    def use(self, what: Any) -> None:
        """Put something in its place."""
        raise NotImplementedError  # abstract

    def note(self, size: int) -> None:
        """Count one more call on so many elements."""
        time = self.cost * size
        self.spent += time
        state.spent += time
        if state.failed:
            self.use(self.plain)
        elif state.spent >= IMPORT_SECONDS and self.spent >= COMPILE_SECONDS:
            with lock:
                self.made = self.made or attempted(self.make) or self.plain
                self.reset()

    def reset(self) -> None:
        """Put in place what the switch wants."""
        self.use(self.plain if not state.enabled else self.made or self.metered)


def attempted(make: Callable[[], Any]) -> Any:
    """What `make` makes. A failure is no failure of the user's program, which goes on with NumPy."""
    try:
        made = make()
        state.is_loaded = state.is_loaded or made is not None
        return made
    except Exception as error:
        if isinstance(error, ImportError):
            state.failed = True
            report(f"operators stay with NumPy: {error}", "autograd", INFO)
        else:
            report(f"an operator stays with NumPy: {type(error).__name__}: {error}", "autograd", WARNING)
    return None


# Kernels.


class Kernels:
    """What computes an operator: arrays of any size, and large ones, whose results may lie in memory used before."""

    __slots__ = ("any_size", "large")

    def __init__(self, any_size: Callable[..., Any], large: Callable[..., Any]) -> None:
        self.any_size = any_size
        self.large = large


def kernels_of(op: Op) -> Kernels:
    """Where the fast paths of an operator find what computes it."""
    if op.kernels is None:
        op.kernels = Kernels(op.kernel, op.kernel)
    return op.kernels


class KernelMeter(Meter):
    """The kernel of an operator: one for arrays of any size, and one for large arrays."""

    def __init__(self, op: Op) -> None:
        if "function" not in op.__dict__:
            op.build()
        self.op = op
        super().__init__(Kernels(op.kernel, op.kernel), Kernels(op.kernel, self._compute), _numpy_cost(op))

    def _compute(self, *operands: Any) -> Any:
        self.note(max(x.size for x in operands if type(x) is np.ndarray))
        return self.op.kernel(*operands)

    def make(self) -> Any:
        return eager.native.native_kernels(self.op, get_num_threads() == 1)

    def use(self, what: Any) -> None:
        op = self.op
        kernels = kernels_of(op)
        kernels.any_size, kernels.large = any_size, for_large = what.any_size, what.large
        op.native = None if any_size is op.kernel else any_size
        if op.name == "add":
            sums.add, sums.large_add = any_size, any_size if what is self.metered else for_large


def _numpy_cost(op: Op) -> float:
    """Roughly the seconds that NumPy takes for an element."""
    return 0.7e-9 if op.price in ("add", "divide") else 6e-9


_kernel_meters: dict[str, KernelMeter] = {}


def kernel_meter(op: Op) -> KernelMeter:
    """The meter of an operator."""
    with lock:
        found = _kernel_meters.get(op.name)
        if found is None:
            found = _kernel_meters[op.name] = KernelMeter(op)
        return found


def meter_kernels(op: Op) -> Kernels:
    """The kernels of an operator of which the one for large arrays is about to be called."""
    if op.name not in _kernel_meters:
        kernel_meter(op)
    return kernels_of(op)


def large_kernel(op: Op, size: int) -> Callable[..., Any]:
    """The kernel, a ufunc, of an operator that somebody else is about to call on so many elements."""
    if size < LARGE:
        return op.kernel
    meter = kernel_meter(op)
    if kernels_of(op).large == meter.metered.large:
        meter.note(size)
    return op.native or op.kernel


class ChoiceMeter(Meter):
    """The kernel of an operator that has no fast path, which is called by way of `op.native`."""

    def __init__(self, op: Op, truths: tuple[bool, ...]) -> None:
        self.op, self.truths = op, truths
        super().__init__(None, self._compute, _numpy_cost(op))

    def _compute(self, *operands: Any) -> Any:
        first = operands[0]
        if type(first) is np.ndarray and first.size >= LARGE and operands[-1] is not None:
            self.note(first.size)
        return self.op.kernel(*operands)

    def make(self) -> Any:
        return eager.native.native_choice(self.op, self.truths)

    def use(self, what: Any) -> None:
        self.op.native = what


def native_when_large(op: Op, truths: tuple[bool, ...]) -> None:
    """Let an operator of several operands be native for large arrays; `truths` says which operands are truth values."""
    with lock:
        ChoiceMeter(op, truths)


# Functions for large arrays.


def large_function(op: Op, code: Callable[[], CodeType], scope: dict[str, Any], classes: Callable[[], Any]) -> Any:
    """A fast function with this code, for large arrays; `scope` is that of the function for small ones.

    It is compiled when it is first called, and `classes` makes the classes of its nodes then.
    """
    own = dict(scope)
    own.pop("large", None)
    function: Any = FunctionType(_stub.__code__, own, op.name)

    def compile_now() -> Any:
        own["Saved"], own["Loose"] = classes()
        meter_kernels(op)
        return FunctionType(code(), own, op.name, (None,))

    own["made"] = []
    own["compile_now"] = compile_now
    return function


def _stub(*operands):
    if not made:  # type: ignore[name-defined]  # noqa: F821
        made.append(compile_now())  # type: ignore[name-defined]  # noqa: F821
    return made[0](*operands)  # type: ignore[name-defined]  # noqa: F821


# Formulas of nodes.


class PullMeter(Meter):
    """The formula of a class of nodes for large arrays."""

    def __init__(self, op: Op, rules: tuple[Rule, ...], nodes: Any) -> None:
        self.op, self.rules, self.nodes = op, rules, nodes
        plain = make_pull(op, rules, fits=True, is_real=True)

        def metered(node: Any, gradient: Any, keep: bool) -> Any:
            self.note(gradient.size)
            return plain(node, gradient, keep)

        super().__init__(plain, metered, _pull_cost(rules))

    def make(self) -> Any:
        return eager.native.native_pull(self.op, self.rules)

    def use(self, what: Any) -> None:
        self.nodes.pull = what


def _pull_cost(rules: Sequence[Rule]) -> float:
    return sum(0.0 if rule.constant in (0, 1) else 2e-9 for rule in rules)


def metered_pull(op: Op, rules: tuple[Rule, ...], nodes: Any) -> None:
    """Let a class of nodes for large arrays have its formula."""
    with lock:
        PullMeter(op, rules, nodes)
