"""A plugin of pytest that writes down which functions of the package tests call: `-p tests.mutants.tracing`.

One line of JSON is added to the file that MUTANTS_TRACE names, when all tests have run: what did not pass, how long the
rest took, and for each function (a file and the first line) the quickest tests that call it. With MUTANTS_ROOT, the
folder of the package, functions are traced; without it only outcomes are told, for tests that being traced disturbs.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import pytest

OF_A_FILE = 6
"""Tests that are written down for a function."""
ROOT = os.environ.get("MUTANTS_ROOT", "")
_called: set[Any] = set()  # code that the test at hand has called
_tests: dict[str, dict[int, list[tuple[float, str]]]] = {}
_failed: dict[str, None] = {}
_seconds: dict[str, float] = {}


def _trace(frame: Any, event: str, argument: Any) -> None:
    _called.add(frame.f_code)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """Trace one test with its fixtures."""
    _called.clear()
    if ROOT:
        threading.settrace(_trace)
        sys.settrace(_trace)
    began = time.perf_counter()
    try:
        return (yield)
    finally:
        if ROOT:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        if item.nodeid not in _failed:
            _note(item.nodeid, round(time.perf_counter() - began, 4))


def pytest_runtest_logreport(report: Any) -> None:
    """Remember what did not pass; what was skipped says nothing either."""
    if report.outcome != "passed":
        _failed[report.nodeid] = None


def _note(test: str, seconds: float) -> None:
    _seconds[test] = seconds
    for code in _called:
        if code.co_filename.startswith(ROOT):
            known = _tests.setdefault(code.co_filename[len(ROOT) + 1 :], {}).setdefault(code.co_firstlineno, [])
            if (seconds, test) not in known:  # functions that are written in one line share it
                known.append((seconds, test))
                known.sort()
                del known[OF_A_FILE:]


def pytest_sessionfinish() -> None:
    """Write it down."""
    record = {"broken": list(_failed), "passed": list(_seconds), "seconds": sum(_seconds.values()), "tests": _tests}
    with open(os.environ["MUTANTS_TRACE"], "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
