"""The page of promises names tests that exist, and has a row for every number."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-it-works" / "promises.md").read_text(encoding="utf-8")
COUNTS = {"D": 23, "T": 11, "P": 14, "W": 5, "O": 12, "E": 6, "I": 13, "M": 4, "R": 7}


def rows():
    """The numbers of each row, and what it is checked by."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.match(r"\| [A-Z]\d", line):
            letter, numbers = cells[0][0], [int(each) for each in re.findall(r"\d+", cells[0])]
            is_span = " to " in cells[0]
            yield letter, range(numbers[0], numbers[-1] + 1) if is_span else numbers, line


def test_every_promise_has_one_row():
    found = [(letter, number) for letter, numbers, _ in rows() for number in numbers]
    assert sorted(found) == sorted((letter, n + 1) for letter, count in COUNTS.items() for n in range(count))


def test_tests_and_files_that_are_named_exist():
    named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", PAGE)
    assert len(named) > 100
    for path, test in named:
        assert (ROOT / path).exists(), path
        if test:
            functions = [each for each in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
                         if isinstance(each, ast.FunctionDef)]  # fmt: skip
            assert test in {each.name for each in functions}, (path, test)


def test_every_row_says_how_it_is_checked_or_why_not():
    for *_, line in rows():
        assert "`" in line.rpartition(" | ")[2] or "*" in line or "versions.md" in line, line


TAUGHT = {
    "first-gradient": ["pip install", "requires_grad=True", "backward()"],
    "write-as-always": ["for ", "[1:", "+="],
    "jacobians-and-vmap": ["jacrev", "hessian", "vmap"],
    "fit-a-model": ["pb.optim", "plt.plot"],
    "make-it-fast": ["pb.compile", "explain"],
    "when-it-goes-wrong": ["gradcheck", "detect_anomaly", "AutogradError"],
    "train-a-network": ["pb.init", "pb.data.batches", "progress=", "pb.save", "pb.load", "@pb.dataclass"],
}


def test_tutorials_teach_what_they_are_for():
    for name, words in TAUGHT.items():
        text = (ROOT / "docs" / "start" / f"{name}.md").read_text(encoding="utf-8")
        assert [word for word in words if word not in text] == [], name
