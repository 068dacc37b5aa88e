"""A finding run again: what `fuzz-findings/*.py` call."""

from __future__ import annotations

import sys
from typing import Any

from .testers import TESTERS, source_of
from .worker import judged


def replay(tester: str, seed: int, program: Any = None) -> None:
    """Check a program, or the one of this number, and say what comes out."""
    program = TESTERS[tester].draw(seed) if program is None else program
    print(source_of(program))
    found = judged(TESTERS[tester], seed, program)
    print(f"-- {found}" if found else "-- agreed")
    sys.exit(found is not None)
