"""The harness: one piece of mathematics, several frameworks, one process, one table of ratios.

For every workload the frameworks' results are compared with each other first; a wrong framework is not timed. Then all
take turns for a number of rounds, so that a slow minute of the machine is slow for everybody, and each keeps its best
round. The number that matters is Pullback's time over torch's. Times are printed beside it, and everything, with
machine and date, goes to `bench/results/` as JSON.

The garbage collector stays on, as in a user's program; what was alive before the measurement is frozen out of it, or
each collection would mostly walk over the peers' own modules.
"""

import gc
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bench.frameworks import Arrays, Case

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    quick: bool = False
    only: str = ""
    torch_compile: bool = False

    @property
    def rounds(self) -> int:
        """How many turns each framework takes."""
        return 7 if self.quick else 31

    @property
    def seconds(self) -> float:
        """How long one turn lasts at least."""
        return 0.003 if self.quick else 0.015


@dataclass(frozen=True)
class Workload:
    """A question about speed: the mathematics, its operands, and who is asked.

    `function(namespace, *operands)` is the mathematics; where names differ between frameworks it is a mapping from
    framework to function. `mode` is `record` (forward on the tape), `differentiate` (forward and backward), `marginal`
    (32 times forward, and one pass) or `evaluate` (forward under `no_grad`, entered once per call). `aim` is the ratio
    to torch that we want to stay below.
    """

    name: str
    function: Callable[..., Any] | Mapping[str, Callable[..., Any]]
    operands: Callable[[np.random.Generator], Arrays]
    mode: str = "record"
    frameworks: tuple[str, ...] = ("pullback", "torch", "numpy")
    aim: float | None = None
    tolerance: float = 1e-10

    def case(self, framework: str, adapter: Any) -> Case:
        """This workload in one framework."""
        function = self.function if callable(self.function) else self.function[framework]
        arrays = self.operands(np.random.default_rng(7))
        if self.mode == "differentiate":
            return adapter.differentiate(function, arrays)
        if self.mode == "marginal":
            return adapter.repeat(function, arrays)
        return adapter.record(function, arrays, grad=self.mode == "record")

    def is_for(self, framework: str) -> bool:
        """Whether `framework` takes part: asked for, and able to."""
        return framework in self.frameworks and not (framework == "numpy" and self.mode == "differentiate")


@dataclass(frozen=True)
class Row:
    """What was measured for one workload: seconds per call, for each framework."""

    name: str
    best: dict[str, float]
    median: dict[str, float]
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        """Pullback's time over torch's."""
        if "pullback" in self.best and "torch" in self.best:
            return self.best["pullback"] / self.best["torch"]
        return None


def compare(workload: Workload, cases: Mapping[str, Case]) -> None:
    """Check that all frameworks computed the same thing; NumPy has no gradients and is compared as far as it goes."""
    results = {name: case.read(case.run()) for name, case in cases.items()}
    reference = max(results, key=lambda name: len(results[name]))
    for name, arrays in results.items():
        for position, (actual, expected) in enumerate(zip(arrays, results[reference], strict=False)):
            np.testing.assert_allclose(
                actual, expected, rtol=workload.tolerance, atol=workload.tolerance,
                err_msg=f"{workload.name}: result {position} of {name} differs from {reference}'s",
            )  # fmt: skip


def seconds_per_call(run: Callable[[], Any], calls: int) -> float:
    """Mean time of `calls` calls."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def calls_lasting(run: Callable[[], Any], seconds: float) -> int:
    """How many calls take at least `seconds`."""
    calls = 1
    while (elapsed := seconds_per_call(run, calls) * calls) < seconds:
        calls = max(calls + 1, int(calls * min(10.0, 1.2 * seconds / max(elapsed, 1e-9))))
    return calls


def time_in_turns(runs: Mapping[str, Callable[[], Any]], options: Options) -> dict[str, list[float]]:
    """Seconds per call in every round, for each name.

    The order is shuffled for every round and a turn begins with a call that is not counted, since a framework can slow
    down whoever comes next: in a fixed order, torch measured twice under two names once differed by a factor of nine.
    """
    calls = {name: calls_lasting(run, options.seconds) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    shuffle = random.Random(0).shuffle
    order = list(runs)
    gc.collect()
    gc.freeze()
    try:
        for _ in range(options.rounds):
            shuffle(order)
            for name in order:
                runs[name]()
                samples[name].append(seconds_per_call(runs[name], calls[name]))
    finally:
        gc.unfreeze()
    return samples


def measure(workload: Workload, adapters: Mapping[str, Any], options: Options) -> Row:
    """Compare, then time."""
    cases = {name: workload.case(name, adapter) for name, adapter in adapters.items() if workload.is_for(name)}
    compare(workload, cases)
    samples = time_in_turns({name: case.run for name, case in cases.items()}, options)
    best = {name: min(times) for name, times in samples.items()}
    median = {name: statistics.median(times) for name, times in samples.items()}
    return Row(workload.name, best, median, workload.aim)


def format_seconds(seconds: float | None) -> str:
    """Three digits and a unit."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def format_ratio(row: Row) -> str:
    """The ratio to torch and, where there is an aim, whether it is met."""
    if row.ratio is None:
        return "-"
    if row.aim is None:
        return f"{row.ratio:.2f}"
    return f"{row.ratio:.2f} {'<=' if row.ratio <= row.aim else '> '} {row.aim:.2f}"


def print_table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Columns as wide as they need to be, the first to the left and the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        cells = (cell.ljust(width) if column == 0 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths, strict=True)))  # fmt: skip
        print("  " + "   ".join(cells).rstrip())
        if number == 0:
            print("  " + "-" * (sum(widths) + 3 * (len(widths) - 1)))


def print_rows(title: str, rows: Iterable[Row], frameworks: Iterable[str]) -> None:
    """The table of ratios."""
    names = list(frameworks)
    body = [[row.name, format_ratio(row), *(format_seconds(row.best.get(name)) for name in names)] for row in rows]
    print_table(title, ["best of all rounds", "ratio to torch", *names], body)


def describe_cpu() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_machine() -> dict[str, Any]:
    """Where and with which versions this run happened."""
    versions = {}
    for package in ("pullback", "numpy", "torch", "jax", "jaxlib", "autograd"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "cpu": describe_cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


@dataclass
class Report:
    """The findings on one question. Describes the machine when made, and is written to disk by `write`."""

    question: str
    machine: dict[str, Any] = field(default_factory=describe_machine)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    findings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        machine = self.machine
        print(f"\n== {self.question}: {self.started:%Y-%m-%d %H:%M} UTC, {machine['cpu']}, {machine['cores']} cores ==")
        print("   " + ", ".join(f"{name} {number}" for name, number in machine["versions"].items()))
        if machine["load"] is not None and machine["load"] > 0.5:
            load = machine["load"]
            print(f"   the machine is not quiet (load {load:.1f}): trust the times even less than the ratios")

    def add_rows(self, key: str, rows: Iterable[Row]) -> None:
        """Keep measured workloads under `key`."""
        self.findings[key] = [
            {"name": r.name, "best": r.best, "median": r.median, "ratio_to_torch": r.ratio, "aim": r.aim} for r in rows
        ]

    def write(self) -> Path:
        """Store the findings with machine and date, and say where."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.question}-{self.started:%Y%m%dT%H%M%SZ}.json"
        heading = {"question": self.question, "date": self.started.isoformat(), "machine": self.machine}
        path.write_text(json.dumps(heading | self.findings, indent=1) + "\n", encoding="utf-8")
        print(f"\n  written to {path.relative_to(RESULTS.parents[1])}")
        return path
