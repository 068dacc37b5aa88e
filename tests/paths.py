"""Counters of the special ways through the code, which exist in processes that ask for them and nowhere else.

A line `# path: tiles` in the package says that whoever gets there goes a special way. `install()`, called before
`pullback` is imported, makes a statement of every such line that counts; in all other processes it is a comment, also
in source that the package writes at run time. `counts` has the numbers, and `marks()` tells where the lines are.

    PULLBACK_COUNT_PATHS=counts.jsonl python -m pytest tests/operators   # or any program that imports tests.paths first
    python -m tests.paths counts.jsonl                                # sums of all processes, and what is at 0

With the variable in the environment, importing this module is enough: `install()` is called, and each process adds its
counts to the file when it ends.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

VARIABLE = "PULLBACK_COUNT_PATHS"
PACKAGE = "pullback"
_MARK = re.compile(r"^([ \t]*)# path: (.+)$", re.MULTILINE)
counts: Counter[str] = Counter()


def marks() -> dict[str, list[str]]:
    """Every special way that has a name, with the places of its lines."""
    root = Path(__file__).parents[1] / "src" / PACKAGE
    found: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for mark in _MARK.finditer(text):
            line = text.count("\n", 0, mark.start()) + 1
            found.setdefault(mark.group(2), []).append(f"{file.relative_to(root).as_posix()}:{line}")
    return found


def _count(name: str) -> None:
    counts[name] += 1


class _Loader(SourceFileLoader):
    """Loads a module of the package with statements in the place of the comments, and keeps no bytecode of it."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode("utf-8")
        return compile(_MARK.sub(r'\1__count_path__("\2")', text), path, "exec", dont_inherit=True)


class _Finder:
    """Asks the other finders, and puts in the loader that counts."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE:
            return None
        for finder in sys.meta_path:
            spec = None if finder is cls else finder.find_spec(name, path, target)
            if spec is not None:
                if type(spec.loader) is SourceFileLoader:
                    spec.loader = _Loader(spec.loader.name, spec.loader.path)
                return spec
        return None


def install() -> None:
    """Count from now on. The package must not be loaded yet."""
    if PACKAGE in sys.modules:
        raise RuntimeError(f"{PACKAGE} is imported already: its special ways cannot be counted any more")
    builtins.__count_path__ = _count  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder)


def is_counting() -> bool:
    """Does this process count?"""
    return _Finder in sys.meta_path


def save() -> None:
    """Add the counts to the file that the environment names, if it does, and begin anew. Processes that end in the
    usual way do so by themselves."""
    if counts and os.environ.get(VARIABLE):
        with open(os.environ[VARIABLE], "a", encoding="utf-8") as file:
            file.write(json.dumps(counts) + "\n")
        counts.clear()


def read(path: str) -> Counter[str]:
    """The sums of all processes that have added to a file."""
    total: Counter[str] = Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            total.update(json.loads(line))
    return total


def report(total: Counter[str] | None = None) -> Iterable[str]:
    """Lines for people: how often each way was gone, the rarest first."""
    total = counts if total is None else total
    width = max(map(len, marks()))
    for name, places in sorted(marks().items(), key=lambda each: (total[each[0]], each[0])):
        yield f"{total[name]:>12}  {name:<{width}}  {', '.join(places)}"


if os.environ.get(VARIABLE) and not is_counting() and PACKAGE not in sys.modules:
    install()
    atexit.register(save)

if __name__ == "__main__":
    print("\n".join(report(read(sys.argv[1]))))
