"""A plugin of pytest that writes down which probes each test sets off: `-p tests.mutants.reach`.

What is set off before the first test belongs to none: it happens while modules are imported. Seconds are of the
processor, with processes that the test has started, so that other work on the machine does not matter.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import loading, probes

_outcomes: dict[str, str] = {}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out what is known to take long."""
    slow = set(json.loads(Path(os.environ["PULLBACK_MUTANTS_SLOW"]).read_text(encoding="utf-8")))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in slow])
    items[:] = [item for item in items if item.nodeid not in slow]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """One test with its fixtures."""
    if not _outcomes:
        loading.note("", 0.0, probes.hits)
    probes.hits.clear()
    _outcomes[item.nodeid] = "passed"
    began = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        if probes.hits:
            seconds = round(sum(os.times()[:4]) - began, 3)
            loading.note(item.nodeid, seconds, probes.hits, _outcomes[item.nodeid])


def pytest_runtest_logreport(report: Any) -> None:
    """What does not pass says nothing about a mutant."""
    if report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome
