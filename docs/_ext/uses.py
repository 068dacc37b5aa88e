"""Which written pages and which scripts of the gallery use a public name: the links "used in" of the reference."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

DOCS = Path(__file__).parents[1]
GENERATED = ("_site", "_build", "reference", "gallery", "errors", "jupyter_execute")
"""Folders of `docs` that a build fills."""

MOST = 6
"""More links than these help nobody."""


def written_pages() -> list[Path]:
    """The Markdown files that people wrote."""
    return [path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in GENERATED]


def title_of(text: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else ""


@lru_cache
def sources() -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Name, title and the public names that are used, of tutorials, guides and scripts, in the order of learning."""
    found = []
    for path in written_pages():
        text = path.read_text(encoding="utf-8")
        page = path.relative_to(DOCS).with_suffix("").as_posix()
        code = "\n".join(re.findall(r"^```(?:python|\{code-cell\}).*?^```", text, re.MULTILINE | re.DOTALL))
        if not page.startswith(("design/", "index")):
            found.append((page, title_of(text), names_in(code)))
    for path in sorted((DOCS.parent / "examples").glob("*.py")):
        if path.stem == "demo":  # it is a program for the terminal, and has no page
            continue
        text = path.read_text(encoding="utf-8")
        found.append((f"gallery/{path.stem}", text.partition("\n")[0].strip('"'), names_in(text)))
    return tuple(sorted(found, key=lambda each: not each[0].startswith("start/")))


def names_in(code: str) -> frozenset[str]:
    """What follows `pb.` in code, and every beginning of it."""
    dotted = re.findall(r"\bpb\.([A-Za-z_][\w.]*)", code)
    return frozenset(".".join(name.split(".")[:end]) for name in dotted for end in range(1, name.count(".") + 2))


def used_in(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pages that use one of `names`, with their titles, those that use it among few names first."""
    wanted = set(names)
    found = [(len(used), page, title) for page, title, used in sources() if used & wanted]
    return [(page, title) for _, page, title in sorted(found)[:MOST]]
