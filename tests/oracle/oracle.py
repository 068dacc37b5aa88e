"""The command line: run programs on both sides, print what disagrees as minimal programs, and count.

    python -m tests.oracle --programs 20000 --seed 1 --jobs 2
    python -m tests.oracle --seed 1 --only 4711          # one program, printed with every outcome

Pullback runs in this interpreter, torch in processes of `--torch-python` (by default the same interpreter, or the one
named by PULLBACK_TORCH_PYTHON).
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .compare import Disagreement, disagreement
from .machine import Observation
from .rules import RULES
from .shrink import shrink
from .statements import Program, render
from .worker import Given, Request, Seeded, TorchProcess

Subject = Callable[[Program], list[Observation]]
BATCH = 50
PATIENCE = 20


@dataclass
class Totals:
    """What a run has seen. `rules` counts programs in which a rule mattered, `firings` every time it did."""

    programs: int = 0
    statements: int = 0
    agreed: int = 0
    crashed: int = 0
    disagreed: int = 0
    ruled: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    firings: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Totals) -> None:
        for name in ("programs", "statements", "agreed", "crashed", "disagreed", "ruled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("rules", "firings", "errors", "kinds"):
            getattr(self, name).update(getattr(other, name))

    def __str__(self) -> str:
        under = ", ".join(f"{rule}: {count}" for rule, count in sorted(self.rules.items(), key=by_number))
        return (
            f"{self.programs} programs, {self.statements} statements: {self.agreed} agreed "
            f"({under or 'no rule fired'}), {self.crashed} torch crashed, {self.disagreed} disagreed"
            + (f", {self.ruled} left out because a rule fired" if self.ruled else "")
        )


def by_number(item: tuple[str, Any]) -> tuple[bool, float]:
    name = item[0]
    return not name.startswith("D"), float(name[1:])


class TimeoutExpired(BaseException):
    """The side under test did not come back. No `except Exception` may swallow this."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise after so many seconds of processor time, or ten times as many of a clock: others may compute as well."""
    began, used = time.monotonic(), time.process_time()

    def expire(*_: object) -> None:
        if time.process_time() - used < 0.9 * seconds and time.monotonic() - began < 10 * seconds:
            signal.alarm(seconds)
            return
        raise TimeoutExpired(f"no result after {seconds} s")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def run_pullback(program: Program) -> list[Observation]:
    from pullback.autograd import overwrite_policy  # torch may be here without Pullback, to check the oracle itself

    from .run_pullback import PullbackMachine

    with overwrite_policy("raise"):  # as torch does; what is preserved otherwise is tested in tests/conformance
        return PullbackMachine().run(program)


def run_native(program: Program) -> list[Observation]:
    from .native_torch import NativeTorch

    return NativeTorch().run(program)


SUBJECTS: dict[str, Subject] = {"pullback": run_pullback, "torch": run_native}


def judge(subject: Subject, program: Program, reference: list[Observation]) -> Disagreement | None:
    try:
        with time_limit(PATIENCE):
            ours = subject(program)
    except TimeoutExpired as error:
        return Disagreement(0, "time", str(error), "done")
    return disagreement(ours, reference)


def run_share(arguments: argparse.Namespace, indices: range, report: Callable[[Totals | str], None]) -> None:
    """Run the programs of `indices`; report totals batch by batch and disagreements as text."""
    warnings.simplefilter("ignore")
    subject = SUBJECTS[arguments.subject]
    shown = 0
    with TorchProcess(arguments.torch_python) as torch_process, TorchProcess(arguments.torch_python) as shrinker:
        for start in range(0, len(indices), BATCH):
            totals = Totals()
            batch: list[Request] = [Seeded(arguments.seed, index) for index in indices[start : start + BATCH]]
            for request, reference in zip(batch, torch_process.run(batch), strict=True):
                program = request.program()
                found = examine(subject, program, reference, totals)
                if found is None:
                    continue
                shown += 1
                if shown <= arguments.show:
                    assert isinstance(request, Seeded)
                    report(explain(subject, shrinker, program, request, found))
            report(totals)


def examine(
    subject: Subject, program: Program, reference: list[Observation] | None, totals: Totals
) -> Disagreement | None:
    """Compare one program and count it."""
    totals.programs += 1
    totals.statements += len(program)
    if reference is None:
        totals.crashed += 1
        return None
    fired: Counter[str] = Counter()
    for statement, observation in zip(program, reference, strict=True):
        fired.update(observation.fired)
        totals.kinds[statement.kind] += 1
        if observation.error is not None:
            totals.errors[observation.error] += 1
    totals.firings.update(fired)
    if subject is run_native and (fired or any(observation.either for observation in reference)):
        totals.ruled += 1  # torch differs from Pullback here, or may; where no rule fires it must not
        return None
    found = judge(subject, program, reference)
    if found is not None:
        totals.disagreed += 1
        return found
    totals.agreed += 1
    totals.rules.update(fired.keys())
    return None


def explain(
    subject: Subject, torch_process: TorchProcess, program: Program, request: Seeded, found: Disagreement
) -> str:
    """The disagreement on a minimal program, with both scripts."""

    def disagrees(candidate: Program) -> bool:
        (reference,) = torch_process.run([Given(candidate)])
        if reference is None:
            return False
        other = judge(subject, candidate, reference)
        return other is not None and alike(other, found)

    small = shrink(program, disagrees)
    (reference,) = torch_process.run([Given(small)])
    if reference is not None:
        found = judge(subject, small, reference) or found
    rules = sorted({rule for observation in reference or () for rule in observation.fired})
    return "\n".join(
        (
            f"---- seed {request.seed}, program {request.index}, minimal; rules at work: {', '.join(rules) or 'none'}",
            render(small, "pullback").split("\n\n")[-1],
            "---- for torch",
            render(small, "torch").split("\n\n")[-1],
            f"---- {found}",
            "",
        )
    )


def alike(a: Disagreement, b: Disagreement) -> bool:
    """Whether a smaller program still shows the disagreement and not another one."""
    return a.what.split(".")[-1] == b.what.split(".")[-1] and (
        a.what != "error"
        or (a.subject.split()[0], a.reference.split()[0]) == (b.subject.split()[0], b.reference.split()[0])
    )


def show_one(arguments: argparse.Namespace) -> int:
    """Print one program, the reference's outcome of every statement, and the verdict."""
    request = Seeded(arguments.seed, arguments.only)
    program = request.program()
    print(render(program, "torch"))
    with TorchProcess(arguments.torch_python) as torch_process:
        (reference,) = torch_process.run([request])
        if reference is None:
            print("torch crashed")
            return 0
        for statement, observation in zip(program, reference, strict=True):
            print(f"{statement.source('torch')}\n    {observation.error or 'ok'} {observation.fired or ''}")
        found = judge(SUBJECTS[arguments.subject], program, reference)
        print(found if found is not None else "agreed")
        if found is not None:
            print(explain(SUBJECTS[arguments.subject], torch_process, program, request, found))
    return int(found is not None)


def run_all(arguments: argparse.Namespace) -> Totals:
    """Share the programs among `--jobs` processes and add up what they report."""
    queue: multiprocessing.Queue[Totals | str | None] = multiprocessing.Queue()
    shares = [range(job, arguments.programs, arguments.jobs) for job in range(arguments.jobs)]
    processes = [multiprocessing.Process(target=run_job, args=(arguments, share, queue)) for share in shares]
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
        if process.exitcode:
            raise SystemExit(f"a job ended with status {process.exitcode}")
    return totals


def run_job(arguments: argparse.Namespace, share: range, queue: multiprocessing.Queue[Totals | str | None]) -> None:
    try:
        run_share(arguments, share, queue.put)
    finally:
        queue.put(None)


def torch_python() -> str | None:
    """The interpreter that has torch, or None."""
    named = os.environ.get("PULLBACK_TORCH_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("torch") is not None else None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=5, help="disagreements to shrink and print, per job")
    parser.add_argument("--only", type=int, help="run this one program and print it")
    parser.add_argument(
        "--subject", choices=sorted(SUBJECTS), default="pullback", help="torch checks the oracle itself"
    )
    parser.add_argument("--torch-python", default=torch_python(), help="an interpreter that has torch")
    arguments = parser.parse_args(argv)
    if arguments.torch_python is None:
        print("skipped: torch is not installed here and PULLBACK_TORCH_PYTHON names no interpreter that has it")
        return 0
    if arguments.only is not None:
        return show_one(arguments)
    began = time.perf_counter()
    totals = run_all(arguments)
    seconds = time.perf_counter() - began
    print(f"{totals.programs / seconds:.0f} programs/s, seed {arguments.seed}")
    print("errors met:", ", ".join(f"{code} {n}" for code, n in totals.errors.most_common()))
    unmet = [name for name, rule in RULES.items() if rule.reach is None and not totals.firings[name]]
    print("rule firings:", ", ".join(f"{rule} {n}" for rule, n in totals.firings.most_common()))
    if unmet:
        print("rules not met:", ", ".join(unmet))
    print(totals)
    return int(totals.disagreed > 0)
