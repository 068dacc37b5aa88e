"""How fast are value and gradient of whole programs, compiled?

Recurrent networks and simulations (loops of tiny operators), a mixture of Gaussians and bundle adjustment (programs of
many medium arrays), and fused reductions. Every program is written once for each framework and way of looping. Their
results are compared, then they take turns. The number that matters is Pullback's time over that of the best peer,
whichever way the peer loops. The first call, which traces and compiles, is timed on its own.
"""

import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import (
    workload_bodies,
    workload_bundle,
    workload_derivatives,
    workload_functions,
    workload_images,
    workload_layers,
    workload_lstm,
    workload_mixture,
    workload_networks,
)
from bench.contestants import load
from bench.frameworks import Case
from bench.programs import Program
from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

SUBJECTS = (
    workload_functions, workload_networks, workload_images, workload_layers, workload_mixture, workload_bundle,
    workload_lstm, workload_bodies, workload_derivatives,
)  # fmt: skip
ONCE = 1.0  # seconds: who needs longer for a call is timed with that one call


@dataclass(frozen=True)
class Patience(Options):
    """Fewer rounds where a round, one call by everybody, takes `round_seconds`."""

    round_seconds: float = 0.0

    @property
    def rounds(self) -> int:
        """As many turns as fit into some seconds, at least three."""
        fitting = int((2 if self.quick else 20) / (2 * self.round_seconds + 0.01))
        return max(3, min(super().rounds, fitting))


@dataclass(frozen=True)
class Entry:
    """One version of a program with one framework: what it computed, and how long its first calls took."""

    name: str
    is_peer: bool
    case: Case
    result: list[np.ndarray]
    first: float
    second: float


def enter(program: Program, framework: Any, way: str) -> Entry:
    """Run a version twice: the first call traces and compiles."""
    name = f"{framework.name} {way}".strip()
    case = framework.case(program, program.versions[framework.framework][way])
    start = time.perf_counter()
    result = case.read(case.run())
    between = time.perf_counter()
    case.run()
    second = time.perf_counter() - between
    return Entry(name, framework.framework != "pullback", case, result, between - start, second)


def enter_all(program: Program, frameworks: Iterable[Any]) -> tuple[list[Entry], dict[str, str]]:
    """Everybody who has a version of the program, and the reasons of those who cannot run theirs."""
    entered, failed = [], {}
    for framework in frameworks:
        for way in program.versions.get(framework.framework, {}):
            if f"{framework.name} {way}" in program.left_out:
                continue
            try:
                entered.append(enter(program, framework, way))
            except Exception as error:  # whatever it is, it is told, and the others are measured
                reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
                failed[f"{framework.name} {way}".strip()] = reason
    return entered, failed


def compare(program: Program, contestants: Sequence[Entry]) -> None:
    """Check that all computed the same as the first peer, to a tolerance relative to the largest element."""
    reference = next((each for each in contestants if each.is_peer), contestants[0])
    for each in contestants:
        for position, (actual, expected) in enumerate(zip(each.result, reference.result, strict=True)):
            np.testing.assert_allclose(
                actual, expected, rtol=program.tolerance, atol=program.tolerance * np.abs(expected).max(),
                err_msg=f"{program.name}: result {position} of {each.name} differs from {reference.name}'s",
            )  # fmt: skip


def time_all(contestants: Sequence[Entry], options: Options) -> dict[str, list[float]]:
    """Seconds per call in every round; one call of those who need very long."""
    fast = [each for each in contestants if each.second < ONCE]
    patience = Patience(options.quick, round_seconds=sum(each.second for each in fast))
    samples = time_in_turns({each.name: each.case.run for each in fast}, patience)
    return {each.name: samples.get(each.name, [each.second]) for each in contestants}


def measure(program: Program, frameworks: Sequence[Any], options: Options) -> dict[str, Any]:
    """Compare, then time; the findings as they are stored."""
    contestants, failed = enter_all(program, frameworks)
    for name, reason in failed.items():
        print(f"  {program.name}: without {name}: {reason}")
    for remark in program.remarks:
        print(f"  {program.name}: {remark}")
    if not contestants:
        return {"name": program.name, "goal": program.goal, "best": {}, "failed": failed}
    compare(program, contestants)
    samples = time_all(contestants, options)
    best = {name: min(times) for name, times in samples.items()}
    peers = [best[each.name] for each in contestants if each.is_peer]
    ours = [each.name for each in contestants if not each.is_peer]
    return {
        "name": program.name,
        "goal": program.goal,
        "best": best,
        "median": {name: statistics.median(times) for name, times in samples.items()},
        "first_call": {each.name: each.first for each in contestants},
        "ratio_to_best_peer": {name: best[name] / min(peers) for name in ours} if peers else {},
        "failed": failed,
    }


def lines_of(found: Mapping[str, Any]) -> list[list[str]]:
    """A line for every contestant, the fastest first."""
    lines = []
    for name, seconds in sorted(found["best"].items(), key=lambda item: item[1]):
        ratio, goal = found["ratio_to_best_peer"].get(name), found["goal"]
        verdict = "" if ratio is None else f"{ratio:.2f} {'<=' if ratio <= goal else '> '} {goal:.2f}"
        label = "" if lines else found["name"]
        lines.append([label, name, format_seconds(seconds), verdict, format_seconds(found["first_call"][name])])
    return lines


def geometric_mean(findings: Iterable[Mapping[str, Any]]) -> float | None:
    """Of the best of Pullback's ratios, over all programs."""
    ratios = [min(found["ratio_to_best_peer"].values()) for found in findings if found.get("ratio_to_best_peer")]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def programs(options: Options) -> list[Program]:
    """What was asked for: with `quick`, the small ones."""
    everything = [program for subject in SUBJECTS for program in subject.programs()]
    return [each for each in everything if options.only in each.name and (each.small or not options.quick)]


def main(options: Options) -> None:
    """Measure, print and store everything."""
    report = Report("workloads")
    frameworks = list(load(options))
    findings = [measure(program, frameworks, options) for program in programs(options)]
    lines = [line for found in findings for line in lines_of(found)]
    header = ["program", "who", "best", "of the best peer", "first call"]
    print_table("value and gradient of whole programs", header, lines)
    mean = geometric_mean(findings)
    if mean is not None:
        print(f"  geometric mean of Pullback's best ratios: {mean:.2f}")
    report.findings |= {"programs": findings, "geometric_mean": mean}
    report.write()


if __name__ == "__main__":
    main(Options())
