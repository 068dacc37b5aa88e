"""The command: draw mutants, see which tests could notice them, run these, and tell what survived."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.mutants import loading
from tests.mutants.drawn import PACKAGE, ROOT, Mutant, mutants_of

_TAPE = ("autograd", "eager", "tensors", "func", "messages", "conformance")
_GRAPHS = ("aot", "compiler", "graph", "messages", "conformance")
TESTS = {
    "aot": _GRAPHS, "compiler": _GRAPHS, "graph": _GRAPHS,
    "autograd": _TAPE, "tape": _TAPE, "eager": _TAPE, "tensors": _TAPE,
    "payloads": ("payloads", "func", "foreign", "aot", "conformance"),
}  # fmt: skip
"""The folders of `tests` that are about a part of the package. The cases of `conformance` and `messages` are sorted by
subject and not by part; autograd is four parts, and a graph goes through three; payloads are driven by transforms and
by traces."""
EXPLAINED = Path(__file__).with_name("explained.txt")
_FEW_FILES = 6
_OF_A_FILE = 12
"""Tests of one file that are run for a mutant, the quickest of those that see a difference."""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="mutants, drawn from all places")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", default=",".join(TESTS), help="folders or files of the package, with commas")
    parser.add_argument("--seconds", type=float, default=40.0, help="of the processor for the tests of one mutant")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds of one test; longer ones are left out")
    parser.add_argument("--again", default="", help="files of tests, with commas: what survived is tried on these too")
    parser.add_argument("--folder", type=Path, help="where results are, by default below the user's cache")
    options = parser.parse_args()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = options.folder or caches / "pullback-mutants"
    folder.mkdir(parents=True, exist_ok=True)
    tree = copied(folder / "tree")
    wanted = mutants_of(tuple(options.parts.split(",")), options.count, options.seed, tree)
    results = Results(folder)
    if options.again:
        again = [mutant for mutant in wanted if results.status(mutant) in ("survived", "unnoticed")]
        results.seen(tree, again, options.again.split(","), options.longest, options.jobs)
        results.forget(again)
    else:
        new = [mutant for mutant in wanted if mutant.key not in results.reached]
        folders = sorted({name for mutant in new for name in TESTS[mutant.file.partition("/")[0]]})
        results.seen(tree, new, [f"tests/{name}" for name in folders], options.longest, options.jobs)
    results.run(tree, wanted, options.seconds, options.jobs)
    return told(wanted, results)


def copied(tree: Path) -> Path:
    """A copy of all files of the repository, so that it can be edited meanwhile."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    return tree


class Results:
    """What is known of mutants, in files of a folder: the tests that see a difference, and what came of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reached: dict[str, dict[str, Any]] = _read(folder / "reached.json")
        self.seconds: dict[str, float] = _read(folder / "seconds.json")
        self.records: dict[str, dict[str, Any]] = {}
        self.read()

    def read(self) -> None:
        """What processes have written."""
        path = self.folder / "results.jsonl"
        with path.open(encoding="utf-8") if path.exists() else open(os.devnull) as lines:
            self.records = {record["key"]: record for record in map(json.loads, lines)}

    def status(self, mutant: Mutant) -> str:
        """`killed`, `slow`, `survived`, `unnoticed` by tests that never see a difference, or `waiting`."""
        if mutant.key in self.records:
            return self.records[mutant.key]["status"]
        return "waiting" if self.reached[mutant.key]["tests"] else "unnoticed"

    def forget(self, mutants: list[Mutant]) -> None:
        """Let mutants be run again."""
        keys = {mutant.key for mutant in mutants}
        lines = [json.dumps(record) + "\n" for key, record in self.records.items() if key not in keys]
        (self.folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
        self.read()

    def seen(self, tree: Path, mutants: list[Mutant], tests: list[str], longest: float, jobs: int) -> None:
        """Run tests with probes at the places of mutants, and remember which tests see a difference."""
        if not mutants:
            return
        changes: dict[str, Any] = {}
        for number, mutant in enumerate(mutants):
            path = str(tree / PACKAGE / mutant.file)
            change = changes.setdefault(path, {"probes": [], "whole": mutant.file})
            change["probes"].append((mutant.site.start, mutant.site.stop, mutant.site.new, number))
        hits = self.folder / "hits.jsonl"
        hits.unlink(missing_ok=True)
        slow = [test for test, seconds in self.seconds.items() if seconds > longest]
        (self.folder / "slow.json").write_text(json.dumps(slow), encoding="utf-8")
        environment = loading.environment(tree, self.folder / "probes", changes) | {
            loading.HITS: str(hits), "PULLBACK_MUTANTS_SLOW": str(self.folder / "slow.json"),
        }  # fmt: skip
        command = ["-q", "-p", "tests.mutants.reach", "-p", "no:cacheprovider", "--no-header", "--rootdir=."]
        command += ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
        subprocess.run([sys.executable, "-m", "pytest", *command, *tests], cwd=tree, env=environment, check=False)
        self._note(hits, mutants)

    def _note(self, hits: Path, mutants: list[Mutant]) -> None:
        seconds: dict[str, float] = defaultdict(float)
        tests_of: dict[Any, set[str]] = defaultdict(set)
        bad = set()
        with hits.open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                seconds[record["test"]] += record["seconds"]
                for number in record["hits"]:
                    tests_of[number].add(record["test"])
                if record["outcome"] != "passed":
                    bad.add(record["test"])
        for number, mutant in enumerate(mutants):
            known = self.reached.setdefault(mutant.key, {"tests": [], "imported": False})
            tests = tests_of[number]
            if "" in tests:
                known["imported"] = True
                tests = tests | tests_of[mutant.file]
            own = tuple(f"tests/{name}/" for name in TESTS[mutant.file.partition("/")[0]])
            found = {test: seconds[test] for test in tests - bad if test.startswith(own)}
            known["tests"] = sorted((time, test) for test, time in ({b: a for a, b in known["tests"]} | found).items())
        (self.folder / "reached.json").write_text(json.dumps(self.reached))
        (self.folder / "seconds.json").write_text(json.dumps(self.seconds | seconds))

    def run(self, tree: Path, mutants: list[Mutant], most_seconds: float, jobs: int) -> None:
        """Run what has not been run."""
        waiting = [mutant for mutant in mutants if self.status(mutant) == "waiting"]
        if not waiting:
            return
        work, files = [], set()
        for mutant in waiting:
            known = self.reached[mutant.key]
            own = f"tests/{mutant.file.partition('/')[0]}/" if known["imported"] else None
            tests = choice(known["tests"], most_seconds, own)
            files.update(test.partition("::")[0] for _, test in tests)
            work.append({
                "key": mutant.key, "name": mutant.name, "path": str(tree / PACKAGE / mutant.file), "tests": tests,
                "start": mutant.site.start, "stop": mutant.site.stop, "text": mutant.site.new,
                "imported": known["imported"],
            })  # fmt: skip
        (self.folder / "work.jsonl").write_text("".join(json.dumps(each) + "\n" for each in work), encoding="utf-8")
        environment = loading.environment(tree, self.folder / "warm", {}) | {
            "PULLBACK_MUTANTS_WORK": str(self.folder / "work.jsonl"), "PULLBACK_MUTANTS_JOBS": str(jobs),
            "PULLBACK_MUTANTS_RESULTS": str(self.folder / "results.jsonl"),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.mutants.warm", "-p", "no:cacheprovider"]
        command += ["-p", "no:xdist", "--rootdir=.", *sorted(files)]
        subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False)
        self.read()


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def choice(tests: list[list[Any]], most_seconds: float, own: str | None = None) -> list[list[Any]]:
    """The quickest tests of each file, then the next ones, as many as there is time for: files differ more than tests
    of one file do. What runs on import needs a process that imports them, so for `own`, a folder, there are few files:
    those of it that are most about the module, and then others."""
    of_file: dict[str, list[list[Any]]] = defaultdict(list)
    for seconds, test in sorted(tests):
        of_file[test.partition("::")[0]].append([seconds, test])
    files = sorted(of_file)
    if own is not None:
        files = sorted(files, key=lambda file: (not file.startswith(own), -len(of_file[file])))[:_FEW_FILES]
    ranked = sorted((rank, each) for file in files for rank, each in enumerate(of_file[file][:_OF_A_FILE]))
    chosen, total = [], 0.0
    for _, each in ranked:
        if total + each[0] <= most_seconds:
            chosen.append(each)
            total += each[0]
    return chosen


def explanations(path: Path = EXPLAINED) -> dict[tuple[str, ...], str]:
    """By file, column, new text and line: the class of mutants that nobody could notice. The file describes classes."""
    found, name = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line.removeprefix("== ")
        elif " | " in line:
            found[tuple(line.split(" | ", 3))] = name
    return found


def told(mutants: list[Mutant], results: Results) -> int:
    """Print what survived, and the sums by part; 1 if fewer than nine of ten were caught or are explained."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    known = explanations()
    for mutant in mutants:
        status = results.status(mutant)
        why = known.get((mutant.file, str(mutant.column), mutant.site.new or "nothing", mutant.line))
        if why is not None and status in ("survived", "unnoticed"):
            status = f"explained: {why}"
        for name in (mutant.file.partition("/")[0], "all"):
            counts[name][status] += 1
        if status in ("survived", "unnoticed"):
            print(f"\n{status}: src/pullback/{mutant.name}\n    {mutant.line}")
    for name, count in counts.items():
        caught, total = count["killed"] + count["slow"], sum(count.values())
        print(f"{name:>10}: {caught} of {total} caught, {caught / total:.0%};", dict(count))
    return int(counts["all"]["survived"] + counts["all"]["unnoticed"] > 0.1 * len(mutants))
