"""A disagreeing program made minimal: drop statements, results, parameters and modes while it still disagrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .program import Program, Statement


def shrink(program: Program, disagrees: Callable[[Program], bool], budget: int = 300) -> Program:
    """A program of which nothing can go without losing the disagreement, or the best that the budget allows."""
    best, is_smaller = program, True
    while is_smaller and budget > 0:
        is_smaller = False
        for candidate in smaller(best):
            budget -= 1
            if budget <= 0:
                break
            if candidate != best and disagrees(candidate):
                best, is_smaller = candidate, True
                break
    return best


def smaller(program: Program) -> Iterator[Program]:
    """The programs that have one thing less."""
    for name in ("later", "body", "setup", "returned", "parameters"):
        parts = getattr(program, name)
        for position in reversed(range(len(parts))):
            yield replace(program, **{name: parts[:position] + parts[position + 1 :]}).tidy()
    if program.roots != -1:
        yield replace(program, roots=-1)
    if program.order != 1:
        yield replace(program, order=1)
    if program.shape != "tuple":
        yield replace(program, shape="tuple")
    for position, statement in enumerate(program.body):
        if statement.modes:
            yield replace(program, body=with_part(program.body, position, replace(statement, modes=())))


def with_part(parts: tuple[Statement, ...], position: int, part: Statement) -> tuple[Statement, ...]:
    """The parts with another one at a position."""
    return (*parts[:position], part, *parts[position + 1 :])
