"""Which positional arguments a transform is about."""

from __future__ import annotations

from typing import Any

Argnums = int | tuple[int, ...]


def normalized_argnums(who: str, argnums: Any, count: int) -> tuple[int, ...]:
    """Positions of the arguments meant, non-negative and in the order given."""
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"{who}: argnums should be int or Tuple[int, ...], got {type(argnums).__name__}")
    if not given:
        raise RuntimeError(f"{who}: argnums must be non-empty")
    positions = []
    for position in given:
        if not isinstance(position, int):
            raise RuntimeError(f"{who}: elements of argnums must be int, got {type(position).__name__}")
        if not -count <= position < count:
            raise RuntimeError(f"{who}: got argnums={argnums!r}, but only {count} positional arguments")
        positions.append(position % count)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"{who}: elements of argnums must be unique, got {argnums!r}")
    return tuple(positions)


def picked(argnums: Any, results: list[Any]) -> Any:
    """One result for an int, a tuple of them otherwise."""
    return results[0] if isinstance(argnums, int) else tuple(results)
