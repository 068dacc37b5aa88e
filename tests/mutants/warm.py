"""A plugin of pytest that collects tests, and then forks for each mutant: `-p tests.mutants.warm`.

A mutant changes the code of functions that exist already, so that no module is imported anew, and the tests begin at
once. What happens while modules are imported is not seen that way, so such mutants get a process of their own.
PULLBACK_MUTANTS_WORK names a file with lines of JSON, one for each mutant, and PULLBACK_MUTANTS_RESULTS the file that
gets a line for each. A test that fails in a fork without any mutant is no witness, so whatever notices its first mutant
is run without one too.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.mutants import loading

_LOST = "ERROR: not found: "
_failed: list[str] = []
_PYTEST = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "--rootdir=."]


def pytest_runtest_logreport(report: Any) -> None:
    """Remember what failed."""
    if report.outcome == "failed":
        _failed.append(report.nodeid)


def pytest_runtestloop(session: Any) -> bool:
    """Mutants instead of tests."""
    if "PULLBACK_MUTANTS_WORK" not in os.environ:
        return False  # a process of one mutant
    with open(os.environ["PULLBACK_MUTANTS_WORK"], encoding="utf-8") as file:
        work = [json.loads(line) for line in file]
    gc.collect()
    functions: dict[str, list[FunctionType]] = {each["path"]: [] for each in work}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename in functions:
            functions[function.__code__.co_filename].append(function)
    gc.freeze()
    items = {item.nodeid: item for item in session.items}
    Runner(items, functions, work, int(os.environ["PULLBACK_MUTANTS_JOBS"])).run()
    return True


class Runner:
    """Mutants that wait, and processes that run."""

    def __init__(
        self, items: dict[str, Any], functions: dict[str, list[FunctionType]], work: list[dict[str, Any]], jobs: int
    ) -> None:
        self.items, self.functions, self.jobs = items, functions, jobs
        self.waiting = deque(work)
        self.running: dict[int, tuple[dict[str, Any], Path, float]] = {}
        self.sound: set[str] = set()
        self.unsound: set[str] = set()

    def run(self) -> None:
        """Until all are done."""
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.jobs:
                self.start(self.waiting.popleft())
            for process, (work, scratch, end) in list(self.running.items()):
                done, status = os.waitpid(process, os.WNOHANG)
                if not done and time.monotonic() > end:
                    kill_group(process)
                    done, status = os.waitpid(process, 0)
                if done:
                    kill_group(process)  # what tests have left running
                    del self.running[process]
                    self.finish(work, scratch, os.waitstatus_to_exitcode(status))
            time.sleep(0.02)

    def start(self, work: dict[str, Any]) -> None:
        """A process for a mutant, or for a test alone."""
        work["tests"] = [each for each in work["tests"] if each[1] in self.items and each[1] not in self.unsound]
        if not work["tests"]:
            self.tell(work, "unnoticed", "")
            return
        scratch = Path(tempfile.mkdtemp(prefix="mutant-"))
        (scratch / "objects").mkdir(mode=0o700)
        path = Path(work["path"]) if work.get("path") else None
        change = {work["path"]: {"start": work["start"], "stop": work["stop"], "text": work["text"]}} if path else {}
        seconds = sum(each[0] for each in work["tests"])
        codes: dict[CodeType, CodeType] = {}
        if path is not None and not work["imported"]:
            text = path.read_text(encoding="utf-8")
            texts = (text, loading.changed(text, change[str(path)]))
            codes = dict(changed_codes(*(compile(x, str(path), "exec", dont_inherit=True) for x in texts)))
        environment = loading.environment(Path.cwd(), scratch, change)
        environment["PULLBACK_CACHE_DIR"] = str(scratch / "objects")  # no native code of other mutants
        if path is not None and not codes:
            del environment["PULLBACK_MUTANTS_WORK"]
            (scratch / "tests.txt").write_text("\n".join(test for _, test in work["tests"]), encoding="utf-8")
            command = [sys.executable, "-m", "pytest", *_PYTEST, f"@{scratch / 'tests.txt'}"]
            with (scratch / "output.txt").open("w") as output:
                process = subprocess.Popen(
                    command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                    preexec_fn=lambda: allow(60 + 10 * seconds),
                ).pid  # fmt: skip
        else:
            process = os.fork()
            if process == 0:
                self.be_mutant(work, scratch, environment, codes)
        self.running[process] = (work, scratch, time.monotonic() + 120 + 30 * seconds)

    def be_mutant(self, work: dict[str, Any], scratch: Path, environment: dict[str, str], codes: Any) -> None:
        """In the new process: change functions, run tests until one fails, and end."""
        code = 70
        try:
            os.setsid()
            with (scratch / "output.txt").open("w") as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            os.environ.update(environment)
            loading.install()
            for function in self.functions[work["path"]] if codes else ():
                function.__code__ = codes.get(function.__code__, function.__code__)
            code = 0
            items = [(seconds, self.items[test]) for seconds, test in work["tests"]]
            for number, (seconds, item) in enumerate(items):
                allow(10 + 10 * seconds)
                (scratch / "test.txt").write_text(item.nodeid, encoding="utf-8")
                following = items[number + 1][1] if number + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if _failed:
                    code = 1
                    break
        except BaseException as error:
            print(repr(error))
            code = 71
        finally:
            sys.stdout.flush()
            os._exit(code)

    def finish(self, work: dict[str, Any], scratch: Path, code: int) -> None:
        """Write down what came of it, unless the witness must be heard alone first."""
        output = (scratch / "output.txt").read_text(encoding="utf-8", errors="replace")
        named = [line.split()[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        test = (scratch / "test.txt").read_text(encoding="utf-8") if (scratch / "test.txt").exists() else ""
        test = test or (named[0] if named else "")
        shutil.rmtree(scratch, ignore_errors=True)
        # Cases that are made of what is loaded are others, or none, where fewer files are.
        lost = {line.rpartition("::")[2].partition("[")[0] for line in output.splitlines() if _LOST in line}
        found = [each for each in work["tests"] if each[1].partition("[")[0].rpartition("::")[2] not in lost]
        if len(found) < len(work["tests"]):
            self.waiting.appendleft({**work, "tests": found})
        elif "witness_of" in work:
            (self.unsound if code else self.sound).add(test)
            self.waiting.appendleft(work["witness_of"]) if code else self.tell(work["witness_of"], "killed", test)
        elif code == 1 and test in self.items and test not in self.sound and not work["imported"]:
            seconds = next(each[0] for each in work["tests"] if each[1] == test)
            self.waiting.appendleft({"tests": [[seconds, test]], "witness_of": work, "imported": False})
        elif code == 0:
            self.tell(work, "survived", "")
        elif code in (-signal.SIGXCPU, -signal.SIGKILL):
            self.tell(work, "slow", test)
        else:  # a test failed, nothing could be imported, or the process crashed
            self.tell(work, "killed", test or output[-300:])

    def tell(self, work: dict[str, Any], status: str, by: str) -> None:
        """A line for a mutant."""
        record = {"key": work["key"], "name": work["name"], "status": status, "by": by, "ran": len(work["tests"])}
        with open(os.environ["PULLBACK_MUTANTS_RESULTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{status:>9}  {work['name']}", file=sys.__stderr__, flush=True)


def changed_codes(old: CodeType, new: CodeType, is_function: bool = False) -> Iterator[tuple[CodeType, CodeType]]:
    """Functions and what takes their place. Nothing if something outside of functions differs: it has been run."""
    inner = [x for x in old.co_consts if isinstance(x, CodeType)]
    others = [x for x in new.co_consts if isinstance(x, CodeType)]
    if len(inner) != len(others) or (not is_function and without_inner(old) != without_inner(new)):
        return
    if is_function and old != new:
        yield old, new
    for one, other in zip(inner, others, strict=True):
        yield from changed_codes(one, other, is_function or bool(one.co_flags & 2))  # 2: with variables of its own


def without_inner(code: CodeType) -> Any:
    return code.co_code, code.co_names, [x for x in code.co_consts if not isinstance(x, CodeType)]


def allow(seconds: float) -> None:
    """End this process if it takes more than so many seconds of the processor from now on."""
    most = int(sum(os.times()[:2]) + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def kill_group(process: int) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
