"""Write the table of operators and libraries into docs/foreign-arrays.md: `python -m tests.foreign.table [libraries]`.

A library that is not installed, or not asked for, has "not run".
"""

import datetime
import sys
from pathlib import Path

import _pytest.outcomes

from pullback.payloads.foreign import evaluate
from tests.foreign.kinds import NAMES, library
from tests.foreign.operators import Wrong, forward_outcomes, operators

PAGE = Path(__file__).parents[2] / "docs" / "foreign-arrays.md"
BEGIN, END = "<!-- table of operators: begin -->", "<!-- table of operators: end -->"


def column(name, asked):
    """By operator: "yes", "partly" or "no". None where the library is not installed."""
    try:
        kind = library(name)
    except _pytest.outcomes.Skipped:
        return None
    place = kind.tensor([1.0]).device
    found = {}
    for op in asked:
        codes = [(usual, code) for _, usual, code in forward_outcomes(op, place)]
        if not codes:
            continue  # offsets of rows are its only operand
        usual = [code for is_usual, code in codes if is_usual] or [code for _, code in codes]
        if not any(code for _, code in codes):
            found[op.name] = "yes"
        elif not any(usual):
            found[op.name] = "yes¹"
        else:
            found[op.name] = "no" if all(code for _, code in codes) else "partly"
    return found


def text(names):
    """The table."""
    asked = operators()
    columns = {name: column(name, asked) if name in names else None for name in NAMES}
    today = datetime.date.today().isoformat()
    lines = [f"Written on {today} by `make foreign TABLE=1`.", ""]
    counted = []
    for name, found in columns.items():
        if found is None:
            counted.append(f"| {name} | not run | not run |")
            continue
        special = {op.name for op in asked if op.family == "special"}
        others = [cell.startswith("yes") for each, cell in found.items() if each not in special]
        right, rest = sum(others), sum(found[each].startswith("yes") for each in special)
        share = f"{right / len(others):.1%}"
        counted.append(f"| {name} | {right} of {len(others)} ({share}) | {rest} of {len(special)} |")
    lines += ["| library | operators outside of `special` | `special` |", "|---|---|---|", *counted, ""]
    lines += [f"| operator | {' | '.join(NAMES)} |", f"|---|{'---|' * len(NAMES)}"]
    for op in sorted(asked, key=lambda op: op.name.lstrip("_")):
        cells = ["not run" if found is None else found.get(op.name, "on the host") for found in columns.values()]
        lines.append(f"| `{op.name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    evaluate.checks_results = True
    names = sys.argv[1:] or list(NAMES)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, behind = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text(names)}\n{END}{behind}", encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as error:
        sys.exit(f"a wrong result: {error}")
