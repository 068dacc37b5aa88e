"""The command: all testers in turn, each in processes of its own, until the time is over."""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import paths

from . import worker
from .findings import COUNTS, Findings, Totals, table
from .program import Disagreement
from .shrink import shrink
from .testers import TESTERS, source_of

PATIENCE = 90.0  # seconds for one program: of processor time, or ten times as many of a clock
SLICE = 30.0  # seconds of processor time for one tester, before the next has its turn
CRASH_SECONDS = 60.0  # to make a program small that ends its process
context = multiprocessing.get_context("forkserver")


@dataclass
class Job:
    """A process that runs a tester."""

    tester: str
    process: Any
    connection: Any
    seed: int
    heard: float
    used: float  # its processor time when it was heard
    holding: tuple[Any, ...] | None = None  # what is being made small


class Run:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.findings = Findings(Path(options.findings))
        self.totals = Totals(Path(options.findings) / "totals.json")
        self.counts = {name: dict.fromkeys(COUNTS, 0.0) for name in options.testers}
        self.turns = dict.fromkeys(options.testers, 0)
        self.next = {
            name: options.seed * 10_000_000 if options.seed is not None else int(self.totals.of(name)["next"])
            for name in options.testers
        }

    def __call__(self) -> int:
        """Run until the time is over; how many disagreements there were."""
        end = time.monotonic() + 60 * self.options.minutes
        jobs: list[Job] = []
        stop = False
        while jobs or not stop:
            left = end - time.monotonic()
            stop = stop or left <= 0
            while not stop and len(jobs) < self.options.jobs:
                jobs.append(self.start(left))
            try:
                multiprocessing.connection.wait([job.connection for job in jobs], timeout=1.0)
                jobs = [job for job in jobs if not self.attend(job)]
            except KeyboardInterrupt:
                print("stopping", flush=True)
                for job in jobs:
                    job.process.kill()
                break
        self.totals.data["runs"] += 1
        self.totals.write()
        return int(sum(counts["disagreements"] for counts in self.counts.values()))

    def start(self, left: float) -> Job:
        """A process for the tester that had the least turns, and in all runs the least time. Its numbers are its own:
        others begin far behind."""
        tester = min(self.turns, key=lambda name: (self.turns[name], self.totals.of(name)["seconds"]))
        self.turns[tester] += 1
        ours, theirs = context.Pipe(duplex=False)
        first = self.next[tester]
        self.next[tester] = first + 100_000  # put back when the process ends, if no other has begun meanwhile
        process = context.Process(target=worker.work, args=(theirs, tester, first, SLICE, left, self.options.shrink))
        process.start()
        theirs.close()
        return Job(tester, process, ours, first, time.monotonic(), worker.time_of(process.pid))

    def attend(self, job: Job) -> bool:
        """Hear what a process has to say; whether it is over."""
        try:
            while job.connection.poll():
                job.heard, job.used = time.monotonic(), worker.time_of(job.process.pid)
                if self.hear(job, job.connection.recv()):
                    job.process.join()
                    return True
        except EOFError:
            job.process.join()
            code = job.process.exitcode or 0
            what = signal.Signals(-code).name if code < 0 else f"status {code}"
            self.lost(job, Disagreement("process", f"ended with {what}"))
            return True
        waited = time.monotonic() - job.heard
        if waited > 10 * PATIENCE or min(waited, worker.time_of(job.process.pid) - job.used) > PATIENCE:
            job.process.kill()
            job.process.join()
            self.lost(job, Disagreement("process", f"no result after {PATIENCE:.0f} s"))
            return True
        return False

    def hear(self, job: Job, message: tuple[Any, ...]) -> bool:
        kind, *rest = message
        if kind == "begin":
            job.seed, job.holding = rest[0], None
        elif kind == "holding":
            job.holding = tuple(rest)
        elif kind == "done":
            _, statements, calls, seconds = rest
            self.count(job.tester, programs=1, statements=statements, calls=calls, seconds=seconds)
        elif kind == "again":
            self.count(job.tester, disagreements=1)
        elif kind == "found":
            seed, program, found, source = rest
            self.keep(job.tester, seed, program, found, source)
        elif kind == "end":
            self.over(job, rest[0])
            return True
        return False

    def count(self, tester: str, **counts: float) -> None:
        for name, number in counts.items():
            self.counts[tester][name] += number
        self.totals.add(tester, **counts)

    def over(self, job: Job, seed: int) -> None:
        """Numbers go on where this process stopped."""
        if self.next[job.tester] // 100_000 == job.seed // 100_000 + 1:
            self.next[job.tester] = seed
        if self.options.seed is None:
            self.totals.of(job.tester)["next"] = self.next[job.tester]
        self.totals.write()

    def keep(self, tester: str, seed: int, program: Any, found: Disagreement, source: str) -> None:
        path, is_new = self.findings.save(tester, seed, program, found, source)
        self.count(tester, disagreements=1, **({"kinds": 1} if is_new else {}))
        if is_new:
            print(f"\n---- {path}\n{source}\n-- {found}", flush=True)

    def lost(self, job: Job, found: Disagreement) -> None:
        """A program ended its process: make it small in processes that may end."""
        self.over(job, job.seed + 1)
        if job.holding is not None:  # a smaller one did: what was found is something else
            self.keep(job.tester, *job.holding)
            return
        given = elsewhere(worker.describe, job.tester, job.seed)
        if given is None:
            self.keep(job.tester, job.seed, None, found, f"{job.tester}, program {job.seed}: cannot even be drawn")
            return
        program, source = given

        def still(candidate: Any) -> bool:
            code = exit_code(worker.run_one, job.tester, job.seed, candidate)
            return code is None if "no result" in found.what else code not in (0, None)

        if "no result" not in found.what:
            program = shrink(program, TESTERS[job.tester].smaller, still, seconds=CRASH_SECONDS)
            source = source_of(program)
        self.keep(job.tester, job.seed, program, found, source)


def elsewhere(function: Callable[..., None], *args: Any) -> Any:
    """What a function sends, called in another process; None if it sends nothing."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=function, args=(theirs, *args))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(PATIENCE) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def exit_code(function: Callable[..., None], *args: Any) -> int | None:
    """How a process ended, None if it had to be."""
    process = context.Process(target=function, args=args)
    process.start()
    process.join(PATIENCE / 3)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return process.exitcode


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, run, and print what was run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--seed", type=int, help="programs of this seed; without one, those that come after the last run"
    )
    parser.add_argument("--only", default="", help=f"testers, separated by commas: {', '.join(TESTERS)}")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--findings", default="fuzz-findings", help="the folder for findings and totals")
    parser.add_argument("--shrink", type=float, default=40.0, help="seconds to make one finding small")
    options = parser.parse_args(argv)
    options.testers = [name for name in options.only.replace(" ", "").split(",") if name] or list(TESTERS)
    unknown = [name for name in options.testers if name not in TESTERS]
    if unknown:
        parser.error(f"no tester {', '.join(unknown)}; there are {', '.join(TESTERS)}")
    if "oracle" in options.testers and not TESTERS["oracle"].is_available():  # type: ignore[attr-defined]
        options.testers.remove("oracle")
        print("oracle: SKIPPED, torch is not installed here and PULLBACK_TORCH_PYTHON names no interpreter that has it")
    context.set_forkserver_preload(["tests.fuzz.testers"])
    run = Run(options)
    disagreements = run()
    print(f"\nthis run:\n{table(run.counts)}\n\nall runs:\n{table(run.totals.data['testers'])}")
    print(run.totals.since())
    if paths.is_counting():
        paths.save()
        print("\nspecial ways, the rarest first:", *paths.report(paths.read(os.environ[paths.VARIABLE])), sep="\n")
    return int(disagreements > 0)


if __name__ == "__main__":
    sys.exit(main())
