"""A process that has imported the package and the tests, and forks for each mutant: `python -m tests.mutants.warm`.

A mutant changes the code of functions that exist already, so that no module is imported anew, and the tests begin at
once. What functions do while modules are imported is not seen here, so the first line that goes out says which were
called then: `run` gives these a process of their own. Lines of JSON come in, with the file, the changed text, the tests
and the seconds that they may take, and lines of JSON go out, with what pytest returned (null if it took too long) and
the end of what it printed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest


def main() -> None:
    """Import everything, say so, and answer until the input ends."""
    root, files = Path(sys.argv[1]), sys.argv[2:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
    called: set[CodeType] = set()
    sys.setprofile(lambda frame, event, argument: called.add(frame.f_code) if event == "call" else None)
    package = importlib.import_module(root.name)
    for module in pkgutil.walk_packages(package.__path__, f"{root.name}."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name is None or error.name.startswith(root.name):
                    raise  # otherwise an optional library is not installed, and no test calls that module
    sys.setprofile(None)
    imported: dict[str, list[int]] = {}
    for code in called:
        if code.co_filename.startswith(str(root)) and code.co_flags & 2:
            imported.setdefault(code.co_filename[len(str(root)) + 1 :], []).append(code.co_firstlineno)
    pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *files])
    gc.freeze()
    print(json.dumps({"imported": imported}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(tried(root, **request)), file=answers, flush=True)


def tried(root: Path, file: str, text: str, tests: list[str], seconds: float) -> Any:
    """What pytest returns for a change in a file of the package, and what it prints."""
    path = root / file
    original = path.read_text(encoding="utf-8")
    changes = dict(changed_codes(compile(original, str(path), "exec"), compile(text, str(path), "exec")))
    if not changes:
        return ["cold", ""]  # it has been run: a default, or something outside of functions
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = os.fork()
        if process == 0:
            run_tests(str(path), changes, tests, output.fileno(), seconds)
        path.write_text(text, encoding="utf-8")  # for processes that tests start
        try:
            code = waited(process, seconds)
        finally:
            path.write_text(original, encoding="utf-8")
        output.seek(0)
        return [code, output.read()[-2000:]]


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


def run_tests(
    path: str, changes: dict[CodeType, CodeType], tests: list[str], output: int, seconds: float
) -> None:
    """In the new process: change functions, run tests, and end."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 10))
    gc.unfreeze()
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == path and function.__code__ in changes:
            function.__code__ = changes[function.__code__]
    code = 70
    try:
        code = int(pytest.main(["-q", "-x", "--no-header", "--tb=line", "-p", "no:cacheprovider", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def waited(process: int, seconds: float) -> int | None:
    """How a process ended, None if it took too long. Others compute as well: the clock may show much more."""
    end = time.monotonic() + 8 * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


if __name__ == "__main__":
    main()
