"""Modules of the package as they are imported with probes or with a mutant in them; files stay as they are.

`environment` makes the variables with which a process, and every process that it starts, imports that way: a folder
with a `sitecustomize.py` that calls `install`, and the changes as JSON in a file.
"""

from __future__ import annotations

import atexit
import json
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

VARIABLE = "PULLBACK_MUTANTS"
HITS = "PULLBACK_MUTANTS_HITS"
changes: dict[str, dict[str, Any]] = {}
"""For each path what is changed there: `text` in a range, or `probes`."""


def install() -> None:
    """Read the changes that the environment names, and load modules accordingly from now on."""
    changes.update(json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))
    if SourceFileLoader.get_code is not _get_code:
        SourceFileLoader.get_code = _get_code  # type: ignore[method-assign]
    if any("probes" in change for change in changes.values()):
        from tests.mutants import probes

        probes.install()
        started_by = os.environ.get("PYTEST_CURRENT_TEST")
        if started_by is not None:
            atexit.register(lambda: note(started_by.rpartition(" ")[0], 0.0, probes.hits))


_plain_code = SourceFileLoader.get_code


def _get_code(self: Any, fullname: str) -> Any:
    path = self.get_filename(fullname)
    change = changes.get(path)
    if change is None:
        return _plain_code(self, fullname)
    text = Path(path).read_text(encoding="utf-8")
    if "probes" in change:
        from tests.mutants.probes import probed

        return probed(text, path, change["probes"], change["whole"])
    return compile(changed(text, change), path, "exec", dont_inherit=True)


def changed(text: str, change: dict[str, Any]) -> str:
    """A source with one range of it replaced."""
    return text[: change["start"]] + change["text"] + text[change["stop"] :]


def note(test: str, seconds: float, hits: set[Any], outcome: str = "passed") -> None:
    """Add a line to the file of hits."""
    with open(os.environ[HITS], "a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "seconds": seconds, "hits": list(hits), "outcome": outcome}) + "\n")


def environment(tree: Path, scratch: Path, changes: dict[str, Any]) -> dict[str, str]:
    """The variables for processes that run tests of a tree."""
    (scratch / "site").mkdir(parents=True, exist_ok=True)
    (scratch / "site" / "sitecustomize.py").write_text("from tests.mutants import loading\nloading.install()\n")
    (scratch / "changes.json").write_text(json.dumps(changes), encoding="utf-8")
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(map(str, (scratch / "site", tree / "src", tree))),
        VARIABLE: str(scratch / "changes.json"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
