"""The Python blocks of every page under docs/ run, each page as one program, and show what they say they show.

The blocks are those of README.md (`tests/test_readme.py`). Beside that, an expression with a comment `# → text` must
have that text as its repr, on one line.
"""

import ast
import os
import re
from pathlib import Path
from typing import Any

import pytest

from docs.build import REFERENCE, relink, target_of, written_pages
from docs.names import entries
from tests.test_readme import Block, blocks_of

ROOT = Path(__file__).parents[1]
PAGES = [
    path for path in sorted((ROOT / "docs").rglob("*.md"))
    if "_site" not in path.parts and blocks_of(path.read_text(encoding="utf-8"))
]  # fmt: skip


def promised(block: Block, statement: ast.stmt) -> str | None:
    """What a comment after an expression says that its value looks like."""
    line = block.source.splitlines()[(statement.end_lineno or 1) - 1]
    found = re.search(r"# → (.*)$", line)
    return found[1].strip() if found else None


def run(blocks: list[Block], filename: str) -> dict[str, Any]:
    """The names bound after running `blocks` in order. Errors point at lines of the page."""
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        if block.raises is None:
            run_block(block, filename, namespace)
            continue
        with pytest.raises(Exception) as caught:
            run_block(block, filename, namespace)
        assert block.raises in {cls.__name__ for cls in caught.type.__mro__}, caught.value
    return namespace


def run_block(block: Block, filename: str, namespace: dict[str, Any]) -> None:
    for statement in ast.parse(block.source).body:
        text = promised(block, statement)
        ast.increment_lineno(statement, block.line - 1)
        if text is not None and isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), filename, "eval"), namespace)
            assert re.sub(r"\s*\n\s*", " ", repr(value)) == text
        else:
            exec(compile(ast.Module([statement], []), filename, "exec"), namespace)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_page_runs(path):
    run(blocks_of(path.read_text(encoding="utf-8")), str(path))


@pytest.mark.parametrize("origin", ["numpy", "torch", "jax", "hips-autograd"])
def test_there_is_a_page_for_those_who_come_from(origin):
    assert ROOT / "docs" / f"coming-from-{origin}.md" in PAGES


def test_promises_are_checked():
    assert run(blocks_of("```python\nx = 1\nx + 1  # → 2\n```\n"), "page")["x"] == 1
    with pytest.raises(AssertionError):
        run(blocks_of("```python\n1 + 1  # → 3\n```\n"), "page")
    with pytest.raises(pytest.fail.Exception):
        run(blocks_of("```python raises=ValueError\nx = 1\n```\n"), "page")


def test_links_between_pages_lead_to_pages():
    existing = {*written_pages(), REFERENCE / "index.md", *(REFERENCE / f"{entry.page}.md" for entry in entries())}
    links = [
        (source, Path(os.path.normpath(source.parent / link)))
        for source, text in written_pages().items()
        for link in re.findall(r"\]\((?!\w+:)([^)#]+\.md)", text)
    ]
    assert links
    assert [link for link in links if link[1] not in existing] == []


def test_links_are_moved_to_the_site_and_mistakes_are_named():
    anchors = {Path("docs/a.md"): {"top"}, Path("docs/sub/b.md"): set(), Path("README.md"): set()}
    text = '<a href="sub/b.md">1</a><a href="../README.md">2</a><a href="#top">3</a><a href="https://x.org/y.md">4</a>'
    linked, mistakes = relink(text, Path("docs/a.md"), anchors)
    assert re.findall('href="([^"]*)"', linked) == ["sub/b.html", "index.html", "#top", "https://x.org/y.md"]
    assert mistakes == []
    assert len(relink('<a href="c.md">', Path("docs/a.md"), anchors)[1]) == 1
    assert len(relink('<a href="a.md#bottom">', Path("docs/a.md"), anchors)[1]) == 1
    assert target_of(Path("CHANGELOG.md")) == Path("changelog.html")
