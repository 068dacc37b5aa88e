"""Custom operators in the text of graphs: found by qualified name, with their calls taken apart."""

from __future__ import annotations

from typing import Any

from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.graph.literals import Described, Writer, described
from pullback.graph.operators import finders
from pullback.library._call import LIST, TENSOR, Call, Layout, Promise
from pullback.library._definition import find, operators


def _find(name: str) -> Op | None:
    definition = operators.get(name)
    return None if definition is None else definition.view_op or definition.op


def _values_of(call: Call) -> tuple[Any, ...]:
    """What a call is made of before it runs, and what it promises; the number of its results is found out then."""
    values = (call.definition.qualname, call.layout, call.keywords)
    return values if call.promise is None else (*values, call.promise)


def _build(qualname: str, layout: Layout, keywords: dict[str, Any], promise: Promise | None = None) -> Call:
    call = Call(find(qualname), layout, keywords)
    call.promise = promise
    if promise is not None and promise.schema != str(call.definition.schema):
        raise AutogradError(
            "GRAPH_OPERATOR",
            f"{qualname} has another schema than when the graph was written",
            where=f"here      {qualname}{call.definition.schema}\n        in graph  {qualname}{promise.schema}",
            why="the graph gives the arguments of the old one",
            fix="trace the function again",
        )
    return call


def _parts_of(promise: Promise) -> tuple[Any, ...]:
    """The fields up to the last that says something."""
    values = (promise.schema, promise.results, promise.written, promise.same, promise.outs, promise.forward)
    defaults = (..., ..., (), (), (), None)
    last = max(index for index, (value, default) in enumerate(zip(values, defaults, strict=True)) if value != default)
    return values[: last + 1]


def _arguments_of(call: Call, operands: list[str], writer: Writer) -> list[str]:
    """The arguments of a node as its operator was called."""
    outs = () if call.promise is None else call.promise.outs
    parts = []
    for kind, data in call.layout:
        if kind == LIST:
            parts.append(f"[{', '.join('None' if index is None else operands[index] for index in data)}]")
        else:
            parts.append(operands[data] if kind == TENSOR else writer.value(data))
    given = operands[len(operands) - len(outs) :]
    return [*parts, *writer.params(call.keywords), *(f"{name}={x}" for name, x in zip(outs, given, strict=True))]


def teach_graphs() -> None:
    """Let graphs find custom operators, and write and read their calls."""
    finders.append(_find)
    described[Call] = Described("Call", _values_of, _build, _arguments_of)
    described[Promise] = Described("Promise", _parts_of, Promise)
