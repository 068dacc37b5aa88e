"""Which things to keep in a box of limited size so that what is kept is worth most (0-1 knapsack).

Three solvers: `dp` counts sizes in ten-thousandths of the whole, rounded up, so the box is never overfull and the
answer is best up to that rounding; `exact` keeps every combination that is not beaten by a smaller and better one,
which can take long for many things of many sizes; `greedy` takes what is worth most for its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

GRAIN = 10_000


def keep_best(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float, solver: str = "dp") -> list[int]:
    """Positions of the things to keep, in order: the sum of their sizes is at most `share` of `whole`."""
    return sorted(_SOLVERS[solver](sizes, worths, whole, share))


def _room(whole: int, share: float) -> Fraction:
    """The size of the box. A share is meant as it is written: 0.3 of 10 has room for 3."""
    return Fraction(repr(float(share))) * whole


def _by_grains(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = int(_room(GRAIN, share))
    grains = [-(-size * GRAIN // whole) for size in sizes]
    best = np.zeros(room + 1)  # for every amount of room, the most that can be worth
    taken = np.zeros((len(sizes), room + 1), dtype=bool)
    for index, (size, worth) in enumerate(zip(grains, worths, strict=True)):
        if size <= room:
            with_it = best[: room + 1 - size] + worth
            taken[index, size:] = with_it > best[size:]
            best[size:] = np.maximum(with_it, best[size:])
    kept = []
    for index in reversed(range(len(sizes))):
        if taken[index, room]:
            kept.append(index)
            room -= grains[index]
    return kept


def _by_worth(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = _room(whole, share)
    kept = []
    for index in sorted(range(len(sizes)), key=lambda index: (-worths[index] / max(sizes[index], 1), index)):
        if worths[index] > 0 and sizes[index] <= room:
            kept.append(index)
            room -= sizes[index]
    return kept


def _exactly(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = _room(whole, share)
    # (size, worth, what is kept), ever larger and ever worth more
    front: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    for index, (size, worth) in enumerate(zip(sizes, worths, strict=True)):
        grown = [(s + size, w + worth, (*kept, index)) for s, w, kept in front if s + size <= room]
        merged = sorted([*front, *grown], key=lambda state: (state[0], -state[1]))
        front = []
        for state in merged:
            if not front or state[1] > front[-1][1]:
                front.append(state)
    return list(front[-1][2])


_SOLVERS: dict[str, Callable[..., list[int]]] = {"dp": _by_grains, "greedy": _by_worth, "exact": _exactly}
SOLVERS = tuple(_SOLVERS)
