"""A disagreeing program made minimal: drop statements, then modes, as long as it still disagrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .statements import Program


def shrink(program: Program, disagrees: Callable[[Program], bool], budget: int = 600) -> Program:
    """A program of which no statement and no mode can go without losing the disagreement (or the budget ran out)."""
    best = program
    tries = 0

    def still(candidate: Program) -> bool:
        nonlocal tries
        tries += 1
        return tries <= budget and disagrees(candidate)

    size = max(1, len(best) // 2)
    while size:
        start = 0
        while start < len(best):
            candidate = best[:start] + best[start + size :]
            if still(candidate):
                best = candidate
            else:
                start += size
        size = size // 2 if size > 1 else 0
    changed = True
    while changed and tries < budget:
        changed = False
        for position in reversed(range(len(best))):
            without = best[:position] + best[position + 1 :]
            if still(without):
                best, changed = without, True
                continue
            if best[position].modes:
                plain = (*best[:position], replace(best[position], modes=()), *best[position + 1 :])
                if still(plain):
                    best, changed = plain, True
    return best
