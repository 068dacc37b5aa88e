"""Write `docs/compiled-speed.md` and its picture from the newest results: `python -m bench.page`.

The tables on that page are what was measured, nothing is typed in; what limits the rows that miss their goal is in
`bench/limits.json`, beside the numbers it explains, one sentence for every beginning of a name.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.picture import bars
from bench.runner import RESULTS, format_seconds

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compiled-speed.md"
PICTURE = ROOT / "docs" / "images" / "compiled-speed.svg"
LIMITS = Path(__file__).parent / "limits.json"
PEERS = ("jax.jit", "torch.compile", "torch", "autograd")

INTRODUCTION = """# How fast is a compiled gradient?

Value and gradient (or what the name says) of whole programs, compiled by Pullback's native backend, beside `jax.jit`,
`torch.compile`, torch eager and HIPS autograd. Everybody computes the same function in one process, results are
compared before anything is timed, all take turns, and each keeps its best round. The ratio is Pullback's time over
that of the best peer, whichever way it loops: below 1 Pullback is faster.
`make bench ARGS="workloads cold --torch-compile"` measures it again, and `python -m bench.page` writes this page.
"""


def newest(question: str) -> dict[str, Any]:
    """The last results of one question."""
    found = sorted(RESULTS.glob(f"{question}-*.json"))
    if not found:
        raise SystemExit(f"nothing was measured yet: run `make bench ARGS={question}` first")
    return json.loads(found[-1].read_text(encoding="utf-8"))


def time_of(best: Mapping[str, float], peer: str) -> str:
    """The best time of a peer, whichever way it loops and however many threads it uses."""
    times = [seconds for name, seconds in best.items() if name == peer or name.startswith((f"{peer} ", f"{peer},"))]
    return format_seconds(min(times)) if times else "-"


def ways(found: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Pullback's native versions of a program: the label, who, and the ratio."""
    lines = []
    for who, ratio in found["ratio_to_best_peer"].items():
        backend, _, way = who.removeprefix("pullback ").partition(" ")
        if backend == "llvm":
            lines.append((f"{found['name']}, by {way}" if way else found["name"], who, ratio))
    return lines


def program_lines(findings: list[dict[str, Any]]) -> list[str]:
    """The rows of the table."""
    lines = []
    for found in findings:
        for label, who, ratio in ways(found):
            numpy = time_of(found["best"], who.replace("llvm", "numpy"))
            verdict = f"{ratio:.2f}" if ratio <= found["goal"] else f"**{ratio:.2f}**"
            peers = " | ".join(time_of(found["best"], peer) for peer in PEERS)
            own = f"{format_seconds(found['best'][who])} | {numpy}"
            first = format_seconds(found["first_call"][who])
            lines.append(f"| {label} | {verdict} | {found['goal']:g} | {own} | {peers} | {first} |")
    return lines


def missed(findings: list[dict[str, Any]]) -> list[str]:
    """A sentence for every row that misses its goal."""
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    lines = []
    for found in findings:
        for label, _, ratio in ways(found):
            if ratio > found["goal"]:
                why = next((text for start, text in limits.items() if label.startswith(start)), "not looked into yet.")
                lines.append(f"- {label}: {ratio:.2f}, goal {found['goal']:g}: {why}")
    return lines


def cold_lines(cold: Mapping[str, Any]) -> list[str]:
    """First gradients in new processes."""
    seconds, inside = cold["process_seconds"], cold["inside_seconds"]
    jax = seconds.get("jax.jit")
    if not jax:
        return []
    return [
        f"| {who} | {format_seconds(s)} | {s / jax:.2f} | {format_seconds(inside[who])} |" for who, s in seconds.items()
    ]


def text_of(workloads: Mapping[str, Any], cold: Mapping[str, Any]) -> str:
    """The whole page."""
    machine, date = workloads["machine"], datetime.fromisoformat(workloads["date"])
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    header = ["program", "ratio", "goal", "native", "NumPy backend", *PEERS, "first call, native"]
    findings = workloads["programs"]
    return "\n".join([
        INTRODUCTION,
        f"Measured on {date:%Y-%m-%d} on {machine['cores']} cores of an {machine['cpu']} server, Python "
        f"{machine['python']}, {versions}. The geometric mean of the best ratios is "
        f"**{workloads['geometric_mean']:.2f}** (goal 0.4).",
        "", "![Ratios to the best peer](images/compiled-speed.svg)", "",
        "| " + " | ".join(header) + " |", "|" + "---|" * len(header), *program_lines(findings),
        "", "## What misses its goal", "", *(missed(findings) or ["Nothing."]),
        "", "## The first gradient in a new process", "",
        "Import, trace, compile and run of a small network: medians of whole processes, interpreter included, and of",
        "the time from the first import to the gradient. Goals: 0.4 of jax for the process, and from the disk cache",
        "0.25 s from the first import on.", "",
        "| who | process | of jax | from import on |", "|---|---|---|---|", *cold_lines(cold), "",
    ])  # fmt: skip


def main() -> None:
    """Read, draw and write."""
    workloads, cold = newest("workloads"), newest("cold")
    PICTURE.parent.mkdir(exist_ok=True)
    rows = [(label, ratio, found["goal"]) for found in workloads["programs"] for label, _, ratio in ways(found)]
    PICTURE.write_text(bars("Time of the native backend over that of the best peer", rows), encoding="utf-8")
    PAGE.write_text(text_of(workloads, cold), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
