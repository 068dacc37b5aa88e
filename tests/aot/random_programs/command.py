"""The command line: run programs, print those that disagree in their smallest form, and count."""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .check import check
from .compare import Disagreement
from .generate import generate
from .program import Program
from .shrink import shrink

PATIENCE = 60


@dataclass
class Totals:
    """What a run has seen. `rules` counts programs in which a documented difference mattered."""

    programs: int = 0
    agreed: int = 0
    statements: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    which: list[int] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        self.programs += other.programs
        self.agreed += other.agreed
        self.statements += other.statements
        self.rules += other.rules
        self.found += other.found
        self.which += other.which

    def __str__(self) -> str:
        rules = "".join(f"\n  {count:6} {rule}" for rule, count in self.rules.most_common())
        found = "".join(f"\n  {count:6} {what}" for what, count in self.found.most_common(40))
        text = f"{self.agreed} of {self.programs} programs ({self.statements} statements) agreed"
        return text + (f"\nprograms with documented differences:{rules}" if rules else "") + (
            f"\ndisagreements, of programs {', '.join(map(str, sorted(self.which)))}:{found}" if found else ""
        )


class Slow(BaseException):
    """A program did not come back."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def expire(*_: object) -> None:
        raise Slow(f"no result after {seconds} s")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def judge(program: Program, rules: Counter[str] | None = None) -> Disagreement | None:
    """The verdict; a mistake of the harness or a hang is a disagreement as well."""
    try:
        with time_limit(PATIENCE):
            return check(program, rules)
    except Slow as error:
        return Disagreement("", "time", "", str(error))
    except Exception:
        return Disagreement("", "harness", "", traceback.format_exc())


def alike(a: Disagreement, b: Disagreement) -> bool:
    """Is this the same disagreement on a smaller program?"""
    if a.what.split(".")[-1].split(" of ")[0] != b.what.split(".")[-1].split(" of ")[0]:
        return False
    return a.what != "error" or kind(a).partition(": ")[2] == kind(b).partition(": ")[2]


def smallest(program: Program, found: Disagreement) -> tuple[Program, Disagreement]:
    """The smallest program with this disagreement."""

    def disagrees(candidate: Program) -> bool:
        try:
            other = judge(candidate)
        except Exception:
            return False
        return other is not None and other.what != "harness" and alike(other, found)

    small = shrink(program, disagrees)
    return small, judge(small) or found


def kind(found: Disagreement) -> str:
    """A disagreement in one line, without the names of variables."""
    step = found.step.split(", ")[-1]
    if found.what == "error":
        return f"{step}: eager {' '.join(found.eager.split()[:2])}, compiled {' '.join(found.compiled.split()[:2])}"
    return f"{step}: {found.what.split('.')[-1].split(' of ')[0]}"


def run_share(seed: int, indices: range, show: int, report: Any) -> None:
    """Run the programs of `indices`, and report totals and disagreements."""
    totals = Totals()
    for index in indices:
        program = generate(seed, index)
        rules: Counter[str] = Counter()
        found = judge(program, rules)
        totals.programs += 1
        totals.statements += len(program.body)
        totals.rules.update(rules.keys())
        if found is None:
            totals.agreed += 1
        else:
            totals.found[kind(found)] += 1
            totals.which.append(index)
            if totals.found[kind(found)] <= show:
                report(explained(seed, index, *smallest(program, found)))
    report(totals)


def explained(seed: int, index: int, program: Program, found: Disagreement) -> str:
    return f"---- seed {seed}, program {index}\n{program}\n-- {found}\n"


def job(seed: int, indices: range, show: int, queue: Any) -> None:
    try:
        run_share(seed, indices, show, queue.put)
    finally:
        queue.put(None)


def main(argv: list[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.aot.random_programs")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=2, help="disagreements of each kind that a job shrinks and prints")
    parser.add_argument("--only", type=int, help="run this one program and print it")
    arguments = parser.parse_args(argv)
    if arguments.only is not None:
        program = generate(arguments.seed, arguments.only)
        found = judge(program)
        print(program, found or "agreed", sep="\n-- ")
        if found is not None:
            print(explained(arguments.seed, arguments.only, *smallest(program, found)))
        return int(found is not None)
    began = time.perf_counter()
    totals = run_all(arguments)
    print(f"{totals.programs / (time.perf_counter() - began):.0f} programs/s, seed {arguments.seed}")
    print(totals)
    return int(totals.agreed < totals.programs)


def run_all(arguments: argparse.Namespace) -> Totals:
    """Share the programs among the jobs and add up what they report."""
    queue: Any = multiprocessing.Queue()
    last = arguments.start + arguments.programs
    shares = [range(arguments.start + k, last, arguments.jobs) for k in range(arguments.jobs)]
    processes = [
        multiprocessing.Process(target=job, args=(arguments.seed, share, arguments.show, queue)) for share in shares
    ]
    for process in processes:
        process.start()
    totals, running = Totals(), len(processes)
    while running:
        message = queue.get()
        if message is None:
            running -= 1
        elif isinstance(message, str):
            print(message, flush=True)
        else:
            totals.add(message)
    for process in processes:
        process.join()
    sys.stdout.flush()
    return totals
