"""Eager code on its fast paths, and with the tape in native code, against the general path, which defines what an
operator call means: call after call, as in `compiled`."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core.spec import LARGE
from pullback.eager import large, small
from pullback.eager.native_tape import tape

from . import shrink
from .compare import shown
from .compiled import Compiled, Seen, compared, run
from .known import is_known
from .program import Disagreement, Program
from .ways import plain

_made: list[tuple[Any, Any]] = []  # the tape in native code, made once


@contextmanager
def native_tape(wanted: bool = True) -> Iterator[None]:
    """With the tape in native code, as in a process that has visited many nodes; or with that of Python."""
    before = tape.functions, tape.calls
    if wanted and tape.functions is None and _made:
        tape.functions, tape.calls = _made[0]
    elif not wanted:
        tape.functions = None
    tape.reset()
    if wanted:
        tape.load()
        _made[:] = [(tape.functions, tape.calls)]
    try:
        yield
    finally:
        tape.functions, tape.calls = before
        tape.reset()


@contextmanager
def native_calls() -> Iterator[None]:
    """Calls on small arrays become native at the second one of a kind, whether that pays or not."""
    before = small.CALLS, small._WORTH, large.IMPORT_SECONDS
    small.CALLS, small._WORTH, large.IMPORT_SECONDS = 2, np.inf, 0.0
    try:
        with native_tape(False):  # which has calls of its own
            yield
    finally:
        small.CALLS, small._WORTH, large.IMPORT_SECONDS = before


@contextmanager
def as_they_are() -> Iterator[None]:
    """Nothing becomes native meanwhile, nor does NumPy take it back, so that two runs can be the same to the bit.

    Kinds of calls outlive a program, and those that `native_calls` met are due soon: their sums have another order."""
    price, large.IMPORT_SECONDS = large.IMPORT_SECONDS, math.inf
    kinds = [kind for kind in small._all if kind.function is not None]
    for each in kinds:
        each.function = None
    try:
        yield
    finally:
        large.IMPORT_SECONDS = price
        for each in kinds:
            each.function = each.made


class Eager(Compiled):
    """Fast paths against the general path."""

    name = "eager"

    def draw(self, seed: int) -> Program:
        rng = random.Random(f"eager {seed}")
        program = self.drawn(rng)
        return program.but(options=(("calls", "native"),) if rng.random() < 0.1 else ())

    def check(self, program: Program) -> Disagreement | None:
        early = None
        if program.option("calls") == "native":  # before others: kinds of calls are counted from the first one on
            with native_calls():
                early = run(program, compiles=False)
        with plain():
            wanted = run(program, compiles=False)
        told = early and strictly(program, wanted, early, "native calls")
        if early and told is None:  # the native tape calls them, too
            with native_tape():
                told = strictly(program, wanted, run(program, compiles=False), "native calls of the native tape")
        with as_they_are():
            told = told or self.tapes_differ(program, wanted)
        return None if told is None or is_known(program, told) else told

    def tapes_differ(self, program: Program, wanted: list[Seen]) -> Disagreement | None:
        with native_tape(False):
            found = run(program, compiles=False)
        told = strictly(program, wanted, found, "fast paths")
        if told is not None:
            return told
        with native_tape():
            again = run(program, compiles=False)
        is_small = all(math.prod(each.shape) < LARGE for each in shrink.all_inputs(program))
        return strictly(program, found, again, "native tape", to_the_bit=is_small)


def strictly(
    program: Program, wanted: list[Seen], found: list[Seen], where: str, to_the_bit: bool = False
) -> Disagreement | None:
    """The first difference, where errors are the same ones."""
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        if kind(one.error) != kind(other.error):
            return Disagreement(f"{where}, call {number + 1}", "error", one.error or "none", other.error or "none")
        for name, value in one.facts.items() if to_the_bit else ():
            if not equal(value, other.facts.get(name)):
                seen = shown(value), shown(other.facts.get(name))
                return Disagreement(f"{where}, call {number + 1}", f"bits of {name}", *seen)
    told = compared(program, wanted, found)
    return told and Disagreement(told.where.replace("compiled by None", where), told.what, told.wanted, told.found)


def kind(error: str) -> str:
    return error.partition(": ")[0] + error.partition(": ")[2].partition(":")[0]


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, (np.ndarray, np.generic, float, complex)) and np.asarray(one).dtype.kind in "fc":
        return other is not None and np.array_equal(one, other, equal_nan=True)
    return type(one) is type(other) and bool(np.all(one == other))
