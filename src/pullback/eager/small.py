"""Native code for calls on small arrays that a program makes again and again: rows, statistics, scans, factors.

A softmax of 16 by 16 is five calls of NumPy, and its formula four: twelve microseconds, of which the numbers take one.
The native compiler makes one function of either (`eager/traced_calls.py`). So calls of one kind, which is an operator
with its parameters on arrays of these shapes and dtypes, are counted, and when they are so many that native code has
paid, it is made, and takes the place of the kernel, or of the formula, if the best of twenty runs of it is faster.
So when that is decided does not depend on times, but what is decided may, where both take about as long: then two
runs of a program may differ in last bits.

Native functions are made for arrays that lie row by row, and check that themselves; what lies otherwise, what is not
finite and what fails goes on to NumPy. docs/design/native-eager.md tells why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from pullback import eager
from pullback.core.spec import LARGE, Spec
from pullback.declare.derive import pull
from pullback.declare.op import Op
from pullback.eager import large
from pullback.eager.segments import is_silent, is_written_down

ndarray = np.ndarray

CALLS = 5000
"""Calls of one kind after which it is compiled, if the price of loading the compiler has been paid."""
_SECONDS = 10e-6  # what a call is taken to cost, so that a program that runs twice decides at the same call
_WORTH = 0.9  # of NumPy's time: what native code may take, at most
_MOST = 256  # entries of a spec
_FLOATS = frozenset("fd")


def has_kinds(op: Op) -> bool:
    """Are formulas of this operator counted? Those of elementwise operators that are written for arrays are few calls
    of NumPy, those of sums are views, and with any number of operands there are too many kinds."""
    return (
        is_written_down(op) and op.fast_rules is None and op.variadic_from < 0 and op.num_outputs is not None
        and (op.family != "elementwise" or (op.is_differentiable and not op.array_rules))
        and (op.folds is not np.add or op.flow == "scans")
    )  # fmt: skip


def are_calls_counted(op: Op) -> bool:
    """Its calls as well? Plain sums and the like are one call of NumPy's."""
    return has_kinds(op) and (op.folds is None or op.flow == "scans")


class Tally:
    """Calls of one operator, or visits of its nodes, that are made before kinds are told apart, which takes time."""

    __slots__ = ("__weakref__", "is_native", "left")

    def __init__(self) -> None:
        self.left: float = CALLS  # infinite where there is no native code
        self.is_native = False  # is there any?
        tallies.add(self)


tallies: WeakSet[Tally] = WeakSet()


class Kind:
    """Calls of one kind. `function` computes them natively, if it is something."""

    __slots__ = ("__weakref__", "function", "left", "made", "specs", "tally")

    def __init__(self, left: int, specs: Sequence[Spec | None] = (), tally: Tally | None = None) -> None:
        self.function: Any = None
        self.made: Any = None
        self.left = left  # calls until native code is to be made; 0 for never
        self.specs = specs  # whose identities are part of the key
        self.tally = tally

    def due(self, arrays: Sequence[Any], make: Callable[[Callable[..., Any]], Any], plain: Callable[..., Any]) -> None:
        """So many calls have been made that native code may pay: make it, unless the compiler has yet to be paid for.
        `plain` computes the same with NumPy, and `make` takes a function for what native code leaves to it."""
        state = large.state
        state.spent += CALLS * _SECONDS
        if state.failed:
            return
        if not state.enabled or state.spent < large.IMPORT_SECONDS or not all(map(_lies_well, arrays)):
            self.left = CALLS
            return
        missed, own = [CALLS], ref(self)

        def slow(*given: Any) -> Any:
            missed[0] -= 1
            if not missed[0] and (kind := own()) is not None:
                kind.made = kind.function = None  # what is unusual is usual here
            return plain(*given)

        def faster() -> Any:
            made = make(slow)
            tally = self.tally
            if made is None:
                if tally is not None and not tally.is_native:
                    tally.left = inf
                return None
            if tally is not None:
                tally.is_native = True
            with np.errstate(all="ignore"):
                return made if _time(made, arrays) < _WORTH * _time(plain, arrays) else None

        with large.lock:
            self.made = self.function = large.attempted(faster)
            _all.add(self)


def _lies_well(x: Any) -> bool:
    """Is this an array that native code can read where it is?"""
    if type(x) is not ndarray:
        return False
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.isnative and x.size < LARGE


def _time(function: Callable[..., Any], arrays: Sequence[Any]) -> float:
    best = float("inf")
    for _ in range(20):
        began = perf_counter()
        function(*arrays)
        best = min(best, perf_counter() - began)
    return best


_all: WeakSet[Kind] = WeakSet()
NEVER = Kind(0)


class _Switch:
    """What `set_native_eager` tells."""

    def reset(self) -> None:
        """Put in place what the switch wants."""
        for kind in list(_all):
            kind.function = kind.made if large.state.enabled else None


large.listen(_Switch())


class Settings(dict[str, Any]):
    """Canonical parameters that were found once for one operator and one kind of array (`eager/build.py`), which is all
    that kinds of calls with one operand depend on."""

    __slots__ = ("call", "pull")

    def __init__(self, params: dict[str, Any], spec: Spec) -> None:
        super().__init__(params)
        left = CALLS if _is_known(spec) else 0
        self.call, self.pull = Kind(left), Kind(left)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def kind_of(op: Op, tally: Tally, specs: Sequence[Spec | None], params: dict[str, Any], which: Any) -> Kind:
    """The kind of a call, or with another mark in the place of None for `which`, of its formula."""
    first = specs[0]
    if first is None or not all(specs):  # numbers: it takes longer to ask than it gains
        tally.left = max(tally.left, CALLS)
        return NEVER
    values = params.values()
    key = (op, which, *map(id, specs), *values, *map(type, values))
    try:
        kind = first.known.get(key)
    except TypeError:  # a parameter that has no hash
        return NEVER
    if kind is None:
        if len(first.known) >= _MOST:
            first.known.clear()
        is_known = all(map(_is_known, specs)) and not any(map(is_no_key, values))
        kind = first.known[key] = Kind(CALLS // 2 if is_known else 0, specs, tally)
    return kind


def _is_known(spec: Spec | None) -> bool:
    """Could native code be for such arrays?"""
    return spec is not None and (spec.dtype.char in _FLOATS or spec.dtype.kind in "biu") and spec.size > 0


def is_no_key(x: Any) -> bool:
    """Zeros of both signs are one key, and NaN is none."""
    return type(x) is float and (x != x or not x)


# What becomes due.


def call_due(kind: Kind, op: Op, operands: Sequence[Any], params: dict[str, Any], out: Any) -> None:
    """Make native code for a call of these operands, whose result is `out`."""
    kernel, single = op.inner_kernel or op.kernel, op.num_outputs == 1

    def plain(*arrays: Any) -> Any:
        made = kernel(*arrays, **params)
        return (np.asarray(made),) if single else made

    def make(slow: Callable[..., Any]) -> Any:
        return eager.traced_calls.native_call(op, operands, params, out, slow, not is_silent(op))

    kind.due(operands, make, plain)


def pull_due(
    kind: Kind, op: Op, gradients: tuple[Any, ...], needs: tuple[bool, ...], operands: dict[int, Any],
    specs: tuple[Spec, ...], outputs: dict[int, Any], params: dict[str, Any],
) -> None:  # fmt: skip
    """Make native code for the formula of a node, which is to give the gradients that are needed."""
    present = [k for k, g in enumerate(gradients) if g is not None]

    def plain(*arrays: Any) -> Any:
        values = iter(arrays)
        given = tuple([next(values) if k in present else None for k in range(len(gradients))])
        read = dict(zip(operands, values, strict=False))
        made = dict(zip(outputs, list(arrays)[len(present) + len(operands) :], strict=True))
        found = pull(op, given, needs, read.get, specs.__getitem__, made.get, params)
        return tuple([g for g, needed in zip(found, needs, strict=True) if needed])

    def make(slow: Callable[..., Any]) -> Any:
        return eager.traced_calls.native_formula(op, gradients, needs, operands, specs, outputs, params, slow)

    arrays = [gradients[k] for k in present] + [*operands.values(), *outputs.values()]
    if all(type(x) is ndarray for x in arrays):
        kind.due(arrays, make, plain)


COUNTING = {"NEVER": NEVER, "Settings": Settings, "Tally": Tally, "kind_of": kind_of, "pull_due": pull_due}
"""What formulas that count themselves call (`counted_pull`)."""
