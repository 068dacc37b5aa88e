"""Mutants drawn from all places of parts of the package, evenly, and the same ones after an edit elsewhere."""

from __future__ import annotations

import hashlib
import importlib.util
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.mutants.sites import Site, sites_of

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src") / "pullback"


class Mutant(NamedTuple):
    """A file of the package, the place in it, a key that edits of other lines do not change, and a name to read."""

    file: str
    site: Site
    key: str
    name: str
    line: str
    column: int  # in the line without its indentation


def mutants_of(parts: tuple[str, ...], count: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """So many mutants, those whose keys come first in an order that the seed makes."""
    found = []
    for part in parts:
        for path in files_of(root / PACKAGE / part, "*.py"):
            if _is_loadable(path):
                found += _mutants(path.relative_to(root / PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
    found.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())
    return found[:count]


def _mutants(file: str, text: str) -> list[Mutant]:
    """All of a file. The key has the line as it is written, and which of its equals in the file it is."""
    lines = text.splitlines()
    equals: Counter[str] = Counter()
    ordinals = []
    for line in lines:
        ordinals.append(equals[line.strip()])
        equals[line.strip()] += 1
    found = []
    for site in sites_of(text):
        line, old = lines[site.line - 1], text[site.start : site.stop].strip()
        column = site.start - text.rfind("\n", 0, site.start)
        place = column - len(line) + len(line.lstrip())
        key = f"{file} {line.strip()} {ordinals[site.line - 1]} {place} {site.new}"
        name = f"{file}:{site.line}:{column} {old} -> {site.new or 'nothing'}"
        found.append(Mutant(file, site, key, name, line.strip(), place))
    return found


def files_of(path: Path, pattern: str) -> list[Path]:
    """A file, or all of a folder."""
    return [path] if path.is_file() else sorted(path.rglob(pattern))


def _is_loadable(path: Path) -> bool:
    """Unless it is about another library that is not installed."""
    library = {"dask_arrays": "dask", "jax_arrays": "jax", "torch_arrays": "torch"}.get(path.stem)
    return library is None or importlib.util.find_spec(library) is not None
