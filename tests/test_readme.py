"""The Python blocks of README.md run from top to bottom, as one program, the way a reader would type them.

A block opened with ```` ```python raises=NAME ```` must raise an exception of that name, which may be a base class.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```python[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its source, the line it starts at, and the exception it promises."""

    source: str
    line: int
    raises: str | None


def blocks_of(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        promised = re.search(r"raises=(\w+)", match[1])
        found.append(Block(match[2], text.count("\n", 0, match.start()) + 2, promised and promised[1]))
    return found


def run(blocks: list[Block], filename: str) -> dict[str, Any]:
    """The names bound after running `blocks` in order. Errors point at lines of the page."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        code = compile("\n" * (block.line - 1) + block.source, filename, "exec")
        if block.raises is None:
            exec(code, namespace)
            continue
        with pytest.raises(Exception) as caught:
            exec(code, namespace)
        assert block.raises in {cls.__name__ for cls in caught.type.__mro__}
    return namespace


def test_readme_code_runs():
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    assert blocks
    run(blocks, str(README))


def test_blocks_share_names_and_promised_exceptions_are_checked():
    text = "a\n```python\nx = 1\n```\n```text\nnot code\n```\n\n```python raises=LookupError\n{}[x]\n```\n"
    blocks = blocks_of(text)
    assert [(b.line, b.raises) for b in blocks] == [(3, None), (10, "LookupError")]
    assert run(blocks, "page")["x"] == 1
    with pytest.raises(pytest.fail.Exception):
        run(blocks_of("```python raises=ValueError\nx = 1\n```\n"), "page")
    with pytest.raises(AssertionError):
        run(blocks_of("```python raises=ValueError\n1 / 0\n```\n"), "page")
