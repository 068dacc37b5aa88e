"""The tables of this folder as one program, and what a type checker says of each of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FLAT = (
    "Tensor | ndarray[Any, Any] | bool | int | float | complex | number[Any, int | float | complex] | bool[bool] | "
    "SupportsArray"
)
ARRAY_LIKE = f"{FLAT} | Nested[{FLAT} | Nested[{FLAT} | Nested[{FLAT} | Nested[{FLAT} | Nested[{FLAT}]]]]]"


@dataclass(frozen=True)
class Row:
    """A line of a table: what is asked, and the answer of mypy and of pyright."""

    code: str
    mypy: str
    pyright: str


def rows(table: str) -> Iterator[Row]:
    """The lines of a table."""
    for line in (HERE / table).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            code, _, answers = line.partition(" -> ")
            mypy, _, pyright = answers.partition(" || ")
            yield Row(code, mypy, pyright or mypy)


def program() -> tuple[str, dict[int, Row], dict[int, Row]]:
    """A program with a line for every row, and which rows of `reveal.txt` and `wrong.txt` stand on which line."""
    lines = (HERE / "program.py.txt").read_text(encoding="utf-8").splitlines()
    revealed, wrong = {}, {}
    for row in rows("reveal.txt"):
        lines.append(f"    reveal_type({row.code})")
        revealed[len(lines)] = row
    for row in rows("wrong.txt"):
        lines.append(f"    {row.code}")
        wrong[len(lines)] = row
    return "\n".join(lines) + "\n", revealed, wrong


def short(text: str) -> str:
    """A type without the modules of its names, the same for both checkers where they mean the same."""
    text = re.sub(r"TypedDict\([\w.]*\.?Params, \{[^}]*\}\)|TypedDict\(\{'w'[^}]*\}\)", "Params", text)
    text = re.sub(r"tuple\[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*, fallback=([\w.]+)\]", r"\1", text)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)
    text = re.sub(r"float =(?: 1)?", "float = ...", text)
    return text.replace(ARRAY_LIKE, "ArrayLike")


def revealed_by_mypy(output: str) -> dict[int, str]:
    """The type that mypy reveals, by line."""
    found = re.findall(r":(\d+): note: Revealed type is \"(.*)\"$", output, re.MULTILINE)
    return {int(line): short(text) for line, text in found}


def errors_of_mypy(output: str) -> dict[int, set[str]]:
    """The codes of the errors of mypy, by line."""
    found: dict[int, set[str]] = {}
    for line, code in re.findall(r":(\d+): error: .*\[([\w-]+)\]$", output, re.MULTILINE):
        found.setdefault(int(line), set()).add(code)
    return found
