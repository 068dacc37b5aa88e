"""What the generator knows of a variable, and array literals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass
class Variable:
    """A named tensor as the generator sees it.

    `root` names the tensor whose memory it probably shares; `constant` marks views made while nothing was recorded,
    `transposed` what probably does not lie in memory in the order of its axes.
    """

    name: str
    shape: Shape
    dtype: str = "float64"
    requires_grad: bool = False
    is_leaf: bool = False
    is_view: bool = False
    expanded: bool = False
    inference: bool = False
    constant: bool = False
    transposed: bool = False
    root: str = ""


def literal(shape: Shape, element: Callable[[], str]) -> str:
    """A nested list of `shape` as Python text."""
    if not shape:
        return element()
    return "[" + ", ".join(literal(shape[1:], element) for _ in range(shape[0])) + "]"


def formula(shape: Shape, scale: str = "") -> str:
    """The same for an array that is too large to be written out: numbers that repeat after a while."""
    places = [f"i{axis}" for axis in range(len(shape))]
    text = f"(({' + '.join(f'{3 + 4 * k} * {place}' for k, place in enumerate(places))}) % 13 - 5){scale}"
    for place, length in zip(reversed(places), reversed(shape), strict=True):
        text = f"[{text} for {place} in range({length})]"
    return text
