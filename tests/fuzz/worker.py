"""A process that runs programs of one tester for a while. A program that ends the process, or never ends, is a finding
too: so whoever waits is told before every program, and before every smaller one."""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np

from tests import paths

from .eager import native_tape
from .program import Disagreement
from .shrink import shrink
from .testers import TESTERS, source_of

MEMORY = 4 << 30
TRY_SECONDS = 15  # for a smaller program
SAME_KIND = 2  # disagreements of a kind that a slice makes small; there are more of each in the first runs


def judged(tester: Any, seed: int, program: Any) -> Disagreement | None:
    """The verdict, with the tape in native code for a third of the numbers; a mistake of the harness is one as well."""
    try:
        with native_tape(seed // 7 % 3 == 0):
            return tester.check(program)  # type: ignore[no-any-return]
    except MemoryError:
        return None
    except Exception:
        return harness()


def harness() -> Disagreement:
    """The mistake of the harness that was just caught."""
    lines = traceback.format_exc().strip().split("\n")
    return Disagreement("harness", "error", "", "\n".join((lines[-1], *lines[-12:])))


def work(connection: Any, name: str, first: int, seconds: float, most_seconds: float, shrink_seconds: float) -> None:
    """Run programs from number `first` on, and report what begins, is done, and is found. `seconds` are of processor
    time, so that testers have equal shares also where others compute; `most_seconds` are those of a clock."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    tester = TESTERS[name]
    kinds: Counter[str] = Counter()
    end = time.monotonic() + most_seconds
    seed, began = first, spent()
    used = began
    while time.monotonic() < end and used < began + seconds:
        connection.send(("begin", seed))
        try:
            program = tester.draw(seed)
        except MemoryError:
            seed += 1
            continue
        except Exception:
            connection.send(("found", seed, None, harness(), f"{name}, program {seed}: cannot be drawn"))
            seed += 1
            continue
        found = judged(tester, seed, program)
        now = spent()
        connection.send(("done", seed, *tester.count(program), now - used))
        used = now
        if found is not None:
            kinds[found.kind] += 1
            if kinds[found.kind] <= SAME_KIND:
                small, told = made_small(tester, seed, program, found, shrink_seconds, connection)
                connection.send(("found", seed, small, told, source_of(small)))
                used = spent()
            else:
                connection.send(("again", seed, found.kind))
        seed += 1
    connection.send(("end", seed))
    connection.close()
    paths.save()
    os._exit(0)


def made_small(
    tester: Any, seed: int, program: Any, found: Disagreement, seconds: float, connection: Any
) -> tuple[Any, Disagreement]:
    """The smallest program with this disagreement. What is known so far is sent: a smaller one may end the process."""
    best = [found]
    signal.signal(signal.SIGALRM, expire)
    connection.send(("holding", seed, program, found, source_of(program)))

    def disagrees(candidate: Any) -> bool:
        signal.alarm(TRY_SECONDS)
        try:
            other = judged(tester, seed, candidate)
        except (SyntaxError, Slow):
            return False
        finally:
            signal.alarm(0)
        if other is None or other.kind != found.kind:
            connection.send(("trying",))
            return False
        best[0] = other
        connection.send(("holding", seed, candidate, other, source_of(candidate)))
        return True

    return shrink(program, tester.smaller, disagrees, seconds=seconds), best[0]


class Slow(BaseException):
    """A smaller program does not come back: it may have lost what ends its loop."""


def expire(*_: Any) -> None:
    raise Slow


def spent() -> float:
    """Processor time of this process, of those that it started (torch runs in one), and of those that have ended."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for each in children():
        total += time_of(each)
    return total


def children() -> list[int]:
    """Processes that this one started and has not waited for; none where the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(each) for each in file.read().split()]
    except OSError:
        return []


def time_of(process: int) -> float:
    """Processor time of a process so far; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def describe(connection: Any, name: str, seed: int) -> None:
    """Draw a program and send it with its text: for whoever lost the process that ran it."""
    program = TESTERS[name].draw(seed)
    connection.send((program, source_of(program)))


def run_one(name: str, seed: int, program: Any) -> None:
    """Check one program in this process, which may not survive it."""
    judged(TESTERS[name], seed, program)
    os._exit(0)
