"""Write `docs/scipy/cases.md`: which test checks which numbered case of the specification of SciPy.

Tests of `tests/conformance/test_scipy_*.py` have the numbers of their cases in their names: `test_50_to_52_bounds`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scipy" / "cases.md"
LAST = 179
OPEN = {
    98: "`checkpoints=` is not there: all states of a solution are kept",
    101: "the engine is always SciPy's own",
}

_TEST = re.compile(r"^def (test_(\d+)(?:_(to|and)_(\d+))?_\w+)", re.MULTILINE)


def tests() -> dict[int, list[str]]:
    """The tests of each case, as `file::name`."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests" / "conformance").glob("test_scipy_*.py")):
        for name, first, joint, last in _TEST.findall(path.read_text(encoding="utf-8")):
            cases = [int(first), *([int(last)] if joint == "and" else [])]
            if joint == "to":
                cases = list(range(int(first), int(last) + 1))
            for case in cases:
                found.setdefault(case, []).append(f"{path.name}::{name}")
    return found


def page() -> str:
    """The text of the page."""
    found = tests()
    rows = [f"| {case} | {', '.join(f'`{test}`' for test in found[case]) if case in found else OPEN[case]} |"
            for case in range(1, LAST + 1)]  # fmt: skip
    return "\n".join((
        "# Cases and their tests", "",
        "The numbered cases of the specification of `pb.scipy`, and the tests in `tests/conformance` that check them.",
        f"{LAST - len(OPEN)} of {LAST} have one; of the others it says what is not so.",
        "`python tools/scipy_cases.py` writes this page.", "", "| case | tests |", "|---|---|", *rows, "",
    ))  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
