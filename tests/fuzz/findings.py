"""What was found, kept as files that run, each kind once; and what was run so far, in all runs together."""

from __future__ import annotations

import json
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from .program import Disagreement, Program

TEMPLATE = '''"""{title}

{told}

Found by `make fuzz`, tester {tester}, program {seed}. Run this file to see whether it is still so.

{source}
"""

from tests.fuzz.program import Call, Input, Program  # noqa: F401
from tests.fuzz.replay import replay

PROGRAM = {program}

if __name__ == "__main__":
    replay({tester!r}, {seed}, PROGRAM)
'''
COUNTS = ("programs", "statements", "calls", "seconds", "disagreements", "kinds")


def signature(tester: str, found: Disagreement, source: str) -> str:
    """One text for all programs that show the same: the kind, and the functions that the small program calls."""
    code = re.sub(r"#.*", "", source)
    names = sorted(set(re.findall(r"\b(?:pb|np)\.[\w.]*?(\w+)\(|\.(\w+)\(|^  %\S+ = (\w+)\(", code, re.MULTILINE)))
    words = [word for each in names for word in each if word and word not in ("set_num_threads", "pow")]
    if found.what.startswith("error"):  # the message tells them apart
        words = []
    return f"{tester}: {found.kind}: {' '.join(words[:8])}".rstrip(": ")


class Findings:
    """A folder of findings."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, tester: str, seed: int, program: Any, found: Disagreement, source: str) -> tuple[Path, bool]:
        """The file of this finding, and whether it is new."""
        name = signature(tester, found, source)
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:70]
        path = self.folder / f"{slug}-{sha256(name.encode()).hexdigest()[:6]}.py"
        if path.exists():
            return path, False
        literal = repr(program) if isinstance(program, Program) else "None"
        safe = [text.replace('"""', "'''").replace("\\", "\\\\") for text in (name, str(found), source)]
        path.write_text(
            TEMPLATE.format(title=safe[0], told=safe[1], source=safe[2], tester=tester, seed=seed, program=literal)
        )
        return path, True


class Totals:
    """Counts of all runs, kept in a file. `quiet` is the processor time since the last kind of disagreement that was
    new, `last` when that was."""

    def __init__(self, path: Path):
        self.path = path
        self.data: dict[str, Any] = {"testers": {}, "quiet": 0.0, "runs": 0, "began": now(), "last": None}
        if path.exists():
            self.data |= json.loads(path.read_text())

    def of(self, tester: str) -> dict[str, float]:
        counts: dict[str, float] = self.data["testers"].setdefault(tester, {})
        for name in (*COUNTS, "next"):
            counts.setdefault(name, 0)
        return counts

    def add(self, tester: str, **counts: float) -> None:
        mine = self.of(tester)
        for name, number in counts.items():
            mine[name] += number
        self.data["quiet"] += counts.get("seconds", 0.0)
        if counts.get("kinds"):
            self.data["quiet"], self.data["last"] = 0.0, now()

    def since(self) -> str:
        """For a reader: how long nothing new was found."""
        hours = sum(each["seconds"] for each in self.data["testers"].values()) / 3600
        last = f"the last new kind of disagreement, {self.data['last']}" if self.data["last"] else "the beginning"
        return (f"{hours:.2f} hours of processor time since {self.data['began']}; "
                f"{self.data['quiet'] / 3600:.2f} of them after {last}")  # fmt: skip

    def write(self) -> None:
        self.data["written"] = now()
        self.path.write_text(json.dumps(self.data, indent=1))


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def table(rows: dict[str, dict[str, float]]) -> str:
    """Counts for a reader."""
    lines = [
        f"{'tester':12} {'programs':>9} {'statements':>11} {'calls':>9} {'cpu min':>8} {'disagree':>9} {'new kinds':>9}"
    ]
    every = dict.fromkeys(COUNTS, 0.0)
    for tester, counts in rows.items():
        lines.append(line(tester, counts))
        for name in COUNTS:
            every[name] += counts[name]
    return "\n".join((*lines, line("all", every)))


def line(name: str, counts: dict[str, float]) -> str:
    return (f"{name:12} {counts['programs']:9.0f} {counts['statements']:11.0f} {counts['calls']:9.0f} "
            f"{counts['seconds'] / 60:8.1f} {counts['disagreements']:9.0f} {counts['kinds']:9.0f}")  # fmt: skip
