"""The tests that are worth running for a place: those that call the function, known from one run of the suite."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_FIRST = 50
"""Tests that are run before others are, the quickest."""


class Choice(NamedTuple):
    """The tests to run first, with their seconds together; then others, and their seconds."""

    tests: list[str]
    seconds: float
    others: list[str]
    other_seconds: float


class Table:
    """For every function of the package the tests that call it. Each line of the table is that of a file of tests."""

    def __init__(self, path: Path) -> None:
        self._tests: dict[tuple[str, int], dict[str, list[tuple[float, str]]]] = defaultdict(dict)
        self._seconds: dict[str, float] = {}
        with path.open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                name = record["file"]
                self._seconds[name] = record["seconds"]
                for file, functions in record["tests"].items():
                    for line, tests in functions.items():
                        self._tests[file, int(line)][name] = tests
                    self._tests[file, 0][name] = min(functions.values())  # what is outside of all functions

    def files(self) -> list[str]:
        """All files of tests."""
        return sorted(self._seconds)

    def choice(self, file: str, function: int, most_seconds: float) -> Choice:
        """What to run for a function of a file, given by its first line; 0 is what is outside of all."""
        found = self._tests.get((file, function)) or {}
        package = f"tests/{file.partition('/')[0]}/"
        ranked = [(rank, *each) for tests in found.values() for rank, each in enumerate(tests)]
        # Files differ more than tests of one file do.
        ranked.sort(key=lambda each: (not each[2].startswith(package), *each))
        tests = [(seconds, test) for _, seconds, test in ranked]
        others: list[tuple[float, str]] = []
        total = 0.0
        for seconds, test in tests[_FIRST:]:
            if total + seconds <= most_seconds:
                others.append((seconds, test))
                total += seconds
        first = tests[:_FIRST]
        names = [[test for _, test in each] for each in (first, others)]
        return Choice(names[0], sum(seconds for seconds, _ in first), names[1], total)
