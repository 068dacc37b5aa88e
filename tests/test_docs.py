"""The Python blocks of every page under docs/ run, each page as one program, and show what they say they show.

The blocks are those of README.md (`tests/test_readme.py`), and the code cells of tutorials, which the site runs in a
kernel and this file without one. Beside that, an expression with a comment `# → text` must have that text as its repr,
on one line.
"""

import ast
import importlib.util
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from docs._ext import site
from docs._ext.uses import GENERATED, written_pages
from tests.test_readme import Block, blocks_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def code_of(text: str) -> list[Block]:
    """The Python blocks and code cells of a page; a cell that must fail says so by a tag."""

    def plain(found: re.Match[str]) -> str:
        raises = " raises=Exception" if "raises-exception" in found[1] else ""
        return f"```python{raises}\n" + "\n" * found[1].count("\n")

    return blocks_of(re.sub(r"^```\{code-cell\} python\n((?::.*\n)*)", plain, text, flags=re.MULTILINE))


PAGES = [path for path in written_pages() if code_of(path.read_text(encoding="utf-8"))]


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
def test_the_code_of_a_page_runs(path, monkeypatch, tmp_path):
    text = path.read_text(encoding="utf-8")
    if "matplotlib" in text and importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    monkeypatch.setenv("MPLBACKEND", "template")  # draws nothing
    monkeypatch.chdir(tmp_path)  # tutorials save files
    run(code_of(text), str(path))


@pytest.mark.parametrize("origin", ["numpy", "torch", "jax", "hips-autograd", "casadi-sympy"])
def test_there_is_a_page_for_those_who_come_from(origin):
    assert ROOT / "docs" / f"coming-from-{origin}.md" in PAGES


def test_promises_are_checked():
    assert run(blocks_of("```python\nx = 1\nx + 1  # → 2\n```\n"), "page")["x"] == 1
    with pytest.raises(AssertionError):
        run(blocks_of("```python\n1 + 1  # → 3\n```\n"), "page")
    with pytest.raises(pytest.fail.Exception):
        run(blocks_of("```python raises=ValueError\nx = 1\n```\n"), "page")


def test_code_cells_are_run_and_those_that_must_fail_are_marked():
    page = "```{code-cell} python\nx = 1\n```\n```{code-cell} python\n:tags: [raises-exception]\n1 / 0\n```\n"
    assert [block.raises for block in code_of(page)] == [None, "Exception"]
    assert run(code_of(page), "page")["x"] == 1
    with pytest.raises(ZeroDivisionError):
        run(code_of(page.replace(":tags: [raises-exception]\n", "")), "page")


def linked_from(page: Path) -> list[Path]:
    """The files that a page links to, and those in its tables of contents."""
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"\]\((?!\w+:)([^)#]+\.md)", text)
    for table in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = [line for line in table.splitlines() if line and line[0] != ":"]
        names += [f"{re.sub(r'.*<(.*)>', chr(92) + '1', line)}.md" for line in lines]
    places = [DOCS / name[1:] if name[0] == "/" else page.parent / name for name in names]
    return [Path(os.path.normpath(place)) for place in places]


def is_generated(path: Path) -> bool:
    return path.relative_to(DOCS).parts[0] in GENERATED


def test_links_between_pages_lead_to_pages():
    links = [(page, link) for page in written_pages() for link in linked_from(page) if "*" not in link.name]
    assert len(links) > 30
    assert [(page, link) for page, link in links if not is_generated(link) and not link.exists()] == []


def test_every_page_is_reachable_from_home():
    found, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in found and not is_generated(page):
            found.add(page)
            for link in linked_from(page):
                waiting += sorted(link.parent.glob(link.name)) if "*" in link.name else [link]
    assert set(written_pages()) - found == set()


def test_old_measurements_are_noticed():
    assert site.too_old("Measured on 2026-01-02 with x", date(2026, 7, 1)) == []
    assert site.too_old("Measured on 2026-01-02 with x", date(2026, 7, 2)) == ["2026-01-02"]


def test_thumbnails_of_the_gallery_get_the_name_of_their_script():
    card = """<div class="sphx-glr-thumbcontainer" tooltip="x"><img/><a class="reference internal" href="a.html"><span>
    A</span></a><div class="sphx-glr-thumbnail-title">Fit a curve</div></div>"""
    named = site.name_thumbnails(card * 2)
    assert named.count('<a class="reference internal" aria-label="Fit a curve" href="a.html">') == 2
