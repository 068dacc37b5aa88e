"""`Call`: one call of a custom operator, with its tensors taken out.

The tensors of a call, those in lists included, are the operands of the operator; everything else is in the layout.
So the tape, forward mode and vmap see a flat list of operands, as for any other operator, and the record of a call
keeps no tensor alive. `arguments` and `results` put values back into the form that the author's functions see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pullback.graph.types import ArrayType
from pullback.tensors.tensor import Tensor

TENSOR, LIST, STATIC = range(3)
Layout = tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Promise:
    """What a trace took for granted of a call that is a node of a graph, and what every run of the node must keep."""

    schema: str
    results: tuple[ArrayType | complex | bool, ...]  # by flat output: the array it is, or the number
    written: tuple[int, ...] = ()  # operands of which the node returns the new value, behind the outputs
    same: tuple[int, ...] = ()  # by operand, the first one that is the same array; empty if all are different
    outs: tuple[str, ...] = ()  # keyword-only arguments that are written: the last operands of the node
    forward: tuple[Any, ...] | None = None  # `fwd` of `defvjp_all` runs: the residuals that are no arrays

    @property
    def arrays(self) -> tuple[ArrayType, ...]:
        """The outputs that are values of the graph."""
        return tuple([each for each in self.results if isinstance(each, ArrayType)])


class Call:
    """Where the operands of one call belong, and its other arguments."""

    __slots__ = ("counts", "definition", "keywords", "layout", "num_given", "promise", "written")

    def __init__(self, definition: Any, layout: Layout, keywords: dict[str, Any]) -> None:
        self.definition = definition
        self.layout = layout  # one entry per positional argument
        self.keywords = keywords
        self.counts: Any = None  # for each return, the number of tensors in a list, or None for a single value
        self.written: dict[int, Tensor] | None = None  # operands that the kernel writes, while it runs
        self.promise: Promise | None = None  # of a node in a graph

    def arguments(self, operands: Sequence[Any]) -> list[Any]:
        """The positional arguments with these values in place of the operands."""
        return [
            operands[data] if kind == TENSOR
            else data if kind == STATIC
            else [None if index is None else operands[index] for index in data]
            for kind, data in self.layout
        ]  # fmt: skip

    def per_argument(self, operands: Sequence[Any], missing: Any = None) -> list[Any]:
        """Values that belong to operands, such as tangents, by argument; `missing` for arguments without tensors."""
        return [
            operands[data] if kind == TENSOR
            else missing if kind == STATIC
            else [missing if index is None else operands[index] for index in data]
            for kind, data in self.layout
        ]  # fmt: skip

    def results(self, flat: Sequence[Any]) -> Any:
        """Flat outputs in the structure that the schema, or the kernel of a primitive, gives them."""
        schema = self.definition.schema
        if schema.is_dynamic:
            return tuple(flat) if self.counts is not None else flat[0]
        if not schema.returns:
            return None
        nested = self.per_return(flat)
        return tuple(nested) if schema.returns_tuple else nested[0]

    def per_return(self, flat: Sequence[Any]) -> list[Any]:
        """Flat values, one per output, grouped by return: a list for a list."""
        if self.counts is None or not any(count is not None for count in self.counts):
            return list(flat)
        nested: list[Any] = []
        position = 0
        for count in self.counts:
            if count is None:
                nested.append(flat[position])
                position += 1
            else:
                nested.append(list(flat[position : position + count]))
                position += count
        return nested

    def flat_returns(self, nested: Sequence[Any]) -> list[Any]:
        """The opposite of `per_return`."""
        if self.counts is None:
            return list(nested)
        flat: list[Any] = []
        for count, value in zip(self.counts, nested, strict=True):
            if count is None:
                flat.append(value)
            else:
                flat += [None] * count if value is None else list(value)
        return flat


def laid_out(values: Sequence[Any]) -> tuple[Layout, list[Tensor]]:
    """The layout of positional arguments, and the tensors in them."""
    layout: list[tuple[int, Any]] = []
    operands: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            layout.append((TENSOR, len(operands)))
            operands.append(value)
        elif type(value) in (list, tuple) and any(isinstance(each, Tensor) for each in value):
            indices: list[int | None] = []
            for each in value:
                if isinstance(each, Tensor):
                    indices.append(len(operands))
                    operands.append(each)
                else:
                    indices.append(None)
            layout.append((LIST, tuple(indices)))
        else:
            layout.append((STATIC, value))
    return tuple(layout), operands
