"""Mutants, one at a time in each of several copies of the tree, and whether a test noticed them."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants.sites import Site, sites_of
from tests.mutants.which import Table

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src") / "pullback"
PARTS = ("aot", "compiler", "autograd", "tape", "eager", "graph", "payloads", "tensors")


class Mutant(NamedTuple):
    """A file of the package, the place in it, and a name that stays the same from run to run."""

    file: str
    site: Site
    name: str


def mutants_of(parts: tuple[str, ...], count: int, seed: int) -> list[Mutant]:
    """So many mutants, drawn evenly from all places."""
    found = []
    for part in parts:
        for path in _files(ROOT / PACKAGE / part, "*.py"):
            file, text = path.relative_to(ROOT / PACKAGE).as_posix(), path.read_text(encoding="utf-8")
            for site in sites_of(text):
                old = text[site.start : site.stop].strip()
                column = site.start - text.rfind("\n", 0, site.start)
                found.append(Mutant(file, site, f"{file}:{site.line}:{column} {old} -> {site.new or 'nothing'}"))
    return random.Random(seed).sample(found, min(count, len(found)))


# Copies of the tree.


def copied(folder: Path) -> Path:
    """A copy of all files of the repository, with bytecode, so that a mutant compiles one module."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=folder, check=False)
    return folder


def surroundings(tree: Path) -> dict[str, str]:
    """The environment of tests of a tree."""
    return {
        **os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def pytest(tree: Path, arguments: list[str], seconds: float | None, **variables: str) -> tuple[int | None, str]:
    """What pytest returns, None if it takes too long, and the end of what it prints."""
    environment = surroundings(tree) | variables
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=line"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output, subprocess.Popen(
        [*command, *arguments], cwd=tree, env=environment, stdout=output, stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, 9)  # with the processes that tests have started
            process.wait()
        output.seek(0)
        return code, output.read()[-2000:]


# The table of tests.


def made_table(path: Path, tests: list[str]) -> None:
    """Run the tests once, file by file, and write down what each calls. Files that are in the table are left out."""
    known = {json.loads(line)["file"] for line in path.open(encoding="utf-8")} if path.exists() else set()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copied(Path(folder))
        found = {each for name in tests for each in _files(tree / name, "test_*.py")}
        files = sorted(each.relative_to(tree).as_posix() for each in found)
        for number, file in enumerate(files):
            if file in known:
                continue
            began = time.monotonic()
            record = _traced(tree, [file], MUTANTS_ROOT=str(tree / PACKAGE))
            if record["broken"]:
                (tree / "arguments.txt").write_text("\n".join(record["broken"]), encoding="utf-8")
                again = _traced(tree, ["@arguments.txt"])  # what fails only because it was traced can be run
                record["broken"] = [test for test in record["broken"] if test not in again["passed"]]
            del record["passed"]
            with path.open("a", encoding="utf-8") as table:
                table.write(json.dumps({"file": file, **record}) + "\n")
            print(f"table: {number + 1}/{len(files)} {file} in {time.monotonic() - began:.0f} s", flush=True)


def _traced(tree: Path, arguments: list[str], **variables: str) -> dict[str, Any]:
    """What the plugin writes down."""
    result = tree / "trace.jsonl"
    result.unlink(missing_ok=True)
    pytest(tree, ["-p", "tests.mutants.tracing", "--maxfail=1000000", *arguments], 1800, MUTANTS_TRACE=str(result),
           **variables)  # fmt: skip
    nothing: dict[str, Any] = {"broken": [], "passed": [], "seconds": 0.0, "tests": {}}
    return json.loads(result.read_text(encoding="utf-8")) if result.exists() else nothing


def _files(path: Path, pattern: str) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob(pattern))


# Mutants.


class Warm:
    """A process with everything imported, which runs tests of mutants in forks of itself: see `warm`."""

    def __init__(self, tree: Path, files: list[str]) -> None:
        self.tree, self.files = tree, files
        self.process: subprocess.Popen[str] | None = None
        self.imported: set[tuple[str, int]] = set()

    def knows(self, mutant: Mutant) -> bool:
        """Has the changed place been run while modules were imported?"""
        function = mutant.site.function
        return function == 0 or (mutant.file, function) in self.imported

    def __call__(self, mutant: Mutant, changed: str, tests: list[str], seconds: float) -> tuple[Any, str]:
        """What pytest returns, None if it takes too long, "cold" if it needs a process of its own; and the end of what
        it prints."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-m", "tests.mutants.warm", str(self.tree / PACKAGE), *self.files]
            self.process = subprocess.Popen(
                command, cwd=self.tree, env=surroundings(self.tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            heard = self._heard()
            if not isinstance(heard, dict):
                raise RuntimeError(f"the tests of {self.tree} cannot be collected")
            self.imported = {(file, line) for file, lines in heard["imported"].items() for line in lines}
        request = {"file": mutant.file, "text": changed, "tests": tests, "seconds": seconds}
        self.process.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        code, output = self._heard()
        return code, output

    def _heard(self) -> Any:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        return json.loads(line) if line else [0, "the process ended"]

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def tried(tree: Path, mutant: Mutant, table: Table, most_seconds: float, warm: Warm, is_last: bool) -> dict[str, Any]:
    """What came of a mutant: `killed`, `slow`, `unreached` by all tests, or that it `lived` through the quickest. The
    last time it is run through others, and has `survived`."""
    path = tree / PACKAGE / mutant.file
    text = path.read_text(encoding="utf-8")
    changed = mutant.site.changed(text)
    lines = difflib.unified_diff(text.splitlines(), changed.splitlines(), n=0, lineterm="")
    record: dict[str, Any] = {
        "name": mutant.name, "diff": [line for line in lines if not line.startswith(("---", "+++", "@@"))],
    }  # fmt: skip
    choice = table.choice(mutant.file, mutant.site.function, most_seconds)
    if not choice.tests:
        return {**record, "status": "unreached"}
    began = time.monotonic()
    code: Any = "cold"
    output = ""
    if not is_last:
        code, output = warm(mutant, changed, choice.tests, 10 + 3 * choice.seconds)
    elif not warm.knows(mutant):
        code, output = warm(mutant, changed, choice.others, 10 + 3 * choice.other_seconds) if choice.others else (0, "")
    if code == "cold":
        (tree / "arguments.txt").write_text("\n".join([*choice.tests, *choice.others]), encoding="utf-8")
        path.write_text(changed, encoding="utf-8")
        try:
            code, output = pytest(tree, ["@arguments.txt"], 60 + 8 * (choice.seconds + choice.other_seconds))
        finally:
            path.write_text(text, encoding="utf-8")
    status = "slow" if code is None else "killed" if code else "survived" if is_last else "lived"
    ends = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    seconds = round(time.monotonic() - began, 1)
    by = ends[0][:200] if ends and status == "killed" else ""
    return {**record, "status": status, "by": by, "seconds": seconds}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="mutants, drawn from all places")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", default=",".join(PARTS), help="folders or files of the package, with commas")
    parser.add_argument("--tests", default="tests", help="folders or files of tests, with commas, for the table")
    parser.add_argument("--seconds", type=float, default=30.0, help="of other tests than the quickest for one mutant")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants", help="where results are")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    made_table(options.folder / "table.jsonl", options.tests.split(","))
    table = Table(options.folder / "table.jsonl")
    results = options.folder / "results.jsonl"
    done = {each["name"]: each for each in map(json.loads, results.open(encoding="utf-8"))} if results.exists() else {}
    wanted = mutants_of(tuple(options.parts.split(",")), options.count, options.seed)
    waiting: queue.SimpleQueue[tuple[Mutant, bool]] = queue.SimpleQueue()
    for mutant in sorted(wanted, key=lambda each: each.name in done):
        if mutant.name not in done or done[mutant.name]["status"] == "lived":
            waiting.put((mutant, mutant.name in done))
    lock = threading.Lock()

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            tree = copied(Path(folder))
            warm = Warm(tree, table.files())
            while not waiting.empty():
                try:
                    mutant, is_last = waiting.get_nowait()
                except queue.Empty:
                    break
                record = tried(tree, mutant, table, options.seconds, warm, is_last)
                if record["status"] == "lived":
                    waiting.put((mutant, True))
                with lock, results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                    done[mutant.name] = record
                    print(f"{record['status']:>9}  {mutant.name}", flush=True)
            warm.close()

    workers = [threading.Thread(target=work) for _ in range(options.jobs if not waiting.empty() else 0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    reasons = equivalent(options.folder / "equivalent.txt")
    return _told([done[mutant.name] for mutant in wanted if mutant.name in done], reasons)


def equivalent(path: Path) -> dict[str, str]:
    """Names of mutants that change nothing anybody could see, with the reason: lines with ` # ` between them."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: why for name, _, why in (line.partition(" # ") for line in lines if line.strip())}


def is_by_own(record: dict[str, Any]) -> bool:
    """Was a mutant noticed by a test of its own package?"""
    return f"tests/{record['name'].partition('/')[0]}/" in record["by"]


def _told(records: list[dict[str, Any]], reasons: dict[str, str]) -> int:
    """Print what survived; 1 if anything did."""
    for each in records:
        if each["name"] in reasons and each["status"] in ("survived", "unreached"):
            each["status"] = "equivalent"
    counts = {status: sum(each["status"] == status for each in records)
              for status in ("killed", "slow", "lived", "survived", "unreached", "equivalent")}  # fmt: skip
    own = [each for each in records if each["status"] == "killed" and is_by_own(each)]
    counts["killed by tests of their own package"] = len(own)
    for each in records:
        if each["status"] in ("survived", "unreached"):
            print(f"\n{each['status']}: src/pullback/{each['name']}", *each["diff"], sep="\n")
    print(f"\n{len(records)} mutants:", ", ".join(f"{count} {status}" for status, count in counts.items()))
    return int(counts["survived"] + counts["unreached"] > 0)
