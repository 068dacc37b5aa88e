"""`pieces_of`: which operands of a `_stack` or `_concat` are results of a loop, one repetition after the other."""

from __future__ import annotations

from typing import NamedTuple

from pullback.graph.ir import Node, Value
from pullback.graph.reroll.loop import REPEATED, Loops
from pullback.graph.reroll.regions import Own, Region

_SHORTEST = 8


class Piece(NamedTuple):
    """Operands in a row: results `own` of repetitions `first + slope * k` of a region, or anything."""

    values: list[int]
    region: Region | None = None
    own: Own | None = None
    first: int = 0
    slope: int = 1


def pieces_of(loops: Loops, node: Node) -> list[Piece]:
    """The operands of a node that joins; nothing if none of them are results of a loop in turn."""
    if node.op not in ("_stack", "_concat") or len(node.operands) < _SHORTEST:
        return []
    if not all(type(x) is Value for x in node.operands):
        return []
    pieces: list[Piece] = []
    for x in node.operands:
        pieces = _with(loops, pieces, loops.table.number[x])
    joined: list[Piece] = []
    for piece in pieces:
        if piece.own is not None and len(piece.values) >= _SHORTEST:
            joined.append(piece)
        elif joined and joined[-1].own is None:
            joined[-1].values.extend(piece.values)
        else:
            joined.append(Piece(list(piece.values)))
    return joined if any(piece.own is not None for piece in joined) else []


def _with(loops: Loops, pieces: list[Piece], value: int) -> list[Piece]:
    region = loops.of_value(value)
    if region is None:
        return [*pieces, Piece([value])]
    own, turn = region.place_of(value)
    if loops.by_region[region].roles[own.slot] != REPEATED:
        return [*pieces, Piece([value])]
    if pieces and pieces[-1].region is region and pieces[-1].own == own:
        last = pieces[-1]
        slope = turn - last.first if len(last.values) == 1 else last.slope
        if abs(slope) == 1 and turn == last.first + slope * len(last.values):
            last.values.append(value)
            return [*pieces[:-1], last._replace(slope=slope)]
    return [*pieces, Piece([value], region, own, turn)]
