"""A finding run again: what `fuzz-findings/*.py` call."""

from __future__ import annotations

import sys
from typing import Any

from .testers import TESTERS, source_of


def replay(tester: str, seed: int, program: Any = None) -> None:
    """Check a program, or the one of this number, and say what comes out."""
    program = TESTERS[tester].draw(seed) if program is None else program
    print(source_of(program))
    found = TESTERS[tester].check(program)
    print(f"-- {found}" if found else "-- agreed")
    sys.exit(found is not None)
