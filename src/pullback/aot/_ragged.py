"""Compiled calls with ragged tensors: their values and offsets are the arguments of the graph, for rows of all lengths.

The function that is compiled takes values and offsets, makes ragged tensors of them, and returns the values of those
that the function returns. How many elements and rows there are varies; which arguments share offsets does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.aot._dynamic import mark_dynamic
from pullback.core.pytree import flatten, register, unflatten
from pullback.declare.op import registry
from pullback.payloads.evaluate import is_traced
from pullback.payloads.ragged.array import RaggedArray
from pullback.payloads.ragged.offsets import Offsets
from pullback.tensors.tensor import Tensor, wrap


class Outcome:
    """The results of a call as plain tensors, and what they are parts of."""

    def __init__(self, items: list[Any], about: Any) -> None:
        self.items = items
        self.about = about  # the structure of the results, and for each ragged one: place, offsets, axis


register(Outcome, lambda outcome: (outcome.items, outcome.about), lambda about, items: Outcome(list(items), about))


def can_be_flat(leaf: Any) -> bool:
    """Is this a ragged tensor whose rows follow each other?"""
    return isinstance(leaf, Tensor) and type(leaf._data) is RaggedArray and leaf._data.starts is None


def ragged_key(leaves: list[Any], structure: Any) -> tuple[Any, list[Offsets]]:
    """What such a call is known by: which arguments are ragged, where, and which share offsets; and their records."""
    records: list[Offsets] = []
    marks: list[Any] = []
    for leaf in leaves:
        if not can_be_flat(leaf):
            marks.append(None)
            continue
        own = leaf._data
        if own.offsets not in records:
            records.append(own.offsets)
        marks.append((records.index(own.offsets), own.axis))
    return (structure, tuple(marks)), records


def on_values(function: Callable[..., Any], key: Any) -> Callable[..., Any]:
    """The function of values and offsets."""
    structure, marks = key

    def of_values(*given: Any) -> Outcome:
        leaves, cuts = list(given[: len(marks)]), given[len(marks) :]
        records: dict[int, Offsets] = {}
        for place, mark in enumerate(marks):
            if mark is not None:
                number, axis = mark
                if number not in records:
                    records[number] = _record(cuts[number], leaves[place])
                leaves[place] = _rows(leaves[place], records[number], axis)
        args, kwargs = unflatten(structure, leaves)
        outs, out_structure = flatten(function(*args, **kwargs))
        return _taken_apart(outs, out_structure, records)

    of_values.__name__ = getattr(function, "__name__", "function")
    return of_values


def _record(cut: Tensor, values: Tensor) -> Offsets:
    payload = cut._data
    total = values._data.shape[0]
    return Offsets(payload, total) if is_traced(payload) else Offsets.of(payload, total)


def _rows(values: Tensor, record: Offsets, axis: int) -> Tensor:
    out: Tensor = registry["_ragged"](values, offsets=record, axis=axis, starts=None)
    return out


def _taken_apart(outs: list[Any], structure: Any, records: dict[int, Offsets]) -> Outcome:
    items: list[Any] = []
    marks: list[Any] = []
    for out in outs:
        if not (isinstance(out, Tensor) and out.is_nested):
            marks.append(None)
            items.append(out)
            continue
        own = out._data
        number = next((each for each, record in records.items() if record is own.offsets), None)
        items.append(registry["_ragged_values"](out.contiguous()))
        if number is None:
            items.append(wrap(own.offsets.array))
        marks.append((number, own.axis))
    return Outcome(items, (structure, tuple(marks)))


def run_ragged(compiled: Any, leaves: list[Any], key: Any, records: list[Offsets]) -> Any:
    """The result of a call, by the compiled function of values and offsets."""
    flat: dict[int, Tensor] = {}
    given = [_flat(leaf, flat) if mark is not None else leaf for leaf, mark in zip(leaves, key[1], strict=True)]
    cuts = [mark_dynamic(wrap(record.array), 0) for record in records]
    outcome = compiled(*given, *cuts)
    structure, marks = outcome.about
    items, outs = iter(outcome.items), []
    for mark in marks:
        item = next(items)
        if mark is None:
            outs.append(item)
            continue
        number, axis = mark
        record = Offsets.of(next(items)._data, item.shape[0]) if number is None else records[number]
        outs.append(_rows(item, record, axis))
    return unflatten(structure, outs)


def _flat(leaf: Tensor, known: dict[int, Tensor]) -> Tensor:
    """The values of an argument: one tensor, however often it is given."""
    found = known.get(id(leaf))
    if found is None:
        found = known[id(leaf)] = mark_dynamic(registry["_ragged_values"](leaf), 0)
    return found
