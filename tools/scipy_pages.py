"""The tables of `docs/scipy/*.md`: what differentiates by what, of every function of a subpackage.

`python tools/scipy_pages.py` writes them; the text above the heading of the tables is written by hand.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "scipy"
HEADING = "## Every function"
SUBPACKAGES = {
    "optimize": ("optimize", "optimize.elementwise"),
    "integrate": ("integrate",),
    "interpolate": ("interpolate",),
    "linalg": ("linalg",),
    "sparse": ("sparse", "sparse.linalg", "sparse.csgraph"),
    "stats": ("stats",),
    "signal": ("signal", "signal.windows", "fft"),
    "ndimage": ("ndimage",),
    "spatial": ("spatial", "spatial.distance", "spatial.transform", "cluster.vq"),
    "special": ("special",),
}


def table(paths: tuple[str, ...]) -> str:
    """The functions of subpackages, with one row for those that have all in common."""
    from pullback.scipy._surface import KINDS, public_names, rule, scipy_module

    lines = [HEADING, ""]
    for path in paths:
        known = [rule(f"{path}.{own}") for own in public_names(path) if hasattr(scipy_module(path), own)]
        known = [each for each in known if each.kind != "="]
        if len(paths) > 1:
            lines += [f"### `{path}`", ""]
        lines += ["| functions | by | how |", "|---|---|---|"]
        alike = sorted(known, key=lambda each: (each.kind in "KX", each.kind, each.by, each.reason, each.name))
        for (kind, by, reason), group in groupby(alike, key=lambda each: (each.kind, each.by, each.reason)):
            names = ", ".join(f"`{each.name.rpartition('.')[2]}`" for each in group)
            how = reason if kind in "KX" and reason else KINDS[kind]
            lines.append(f"| {names} | {by or ('—' if kind == 'K' else 'refused')} | {how} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def page(name: str) -> str:
    """A page as it should be: what is written by hand, and the tables."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    return text.partition(HEADING)[0] + table(SUBPACKAGES[name])


if __name__ == "__main__":
    for name in sys.argv[1:] or SUBPACKAGES:
        (PAGES / f"{name}.md").write_text(page(name), encoding="utf-8")
