"""`Template`: a capture for other lengths of an axis, without running the function again.

The function is captured for a few neighbouring sizes. Captures that differ in whole numbers only, and in such that grow
in proportion to the sizes, are one capture with formulas in the place of these numbers; a further capture checks the
formulas. What differs in any other way, a Python loop over the axis for example, is a capture for its size alone; a
`pb.scan` over the axis has its length as a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from pullback.aot._dynamic import NotDynamic
from pullback.aot._dynamic.sizes import Guard, Numbers, Size, plain_number
from pullback.core.records import Record, replace
from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, Node, Value, array_type
from pullback.graph.text.literals import described


class Affine:
    """A whole number that depends on sizes: `constant + sum(factor * size)`."""

    __slots__ = ("constant", "factors")

    def __init__(self, constant: int, factors: Numbers) -> None:
        self.constant = constant
        self.factors = factors

    def at(self, sizes: Numbers) -> int:
        """Its value for these sizes."""
        return self.constant + sum(factor * size for factor, size in zip(self.factors, sizes, strict=True))

    def __repr__(self) -> str:
        terms = [f"{factor}*s{k}" if factor != 1 else f"s{k}" for k, factor in enumerate(self.factors) if factor]
        text = "+".join([*terms, str(self.constant)] if self.constant or not terms else terms)
        return text.replace("+-", "-")


class Template:
    """A capture for all sizes that its guards allow."""

    def __init__(self, captures: Sequence[Any], sizes: Sequence[Numbers], guards: list[Guard]) -> None:
        """`captures` were made for `sizes`: the first pair is the one that was asked for, then one with each of the
        sizes changed, and then one to check the formulas with. `guards` are asked later."""
        self.base = captures[0]
        self.guards = guards
        self.count = len(sizes[0])
        self._solver = _Solver(sizes)
        self._near = sizes[:-1]  # in each but the first one size is a little larger or smaller
        self._graph: _Program = self._solver.graph([each.graph for each in captures])
        self._meta = self._solver.tree([_meta_parts(each.meta) for each in captures], "metadata")
        self._varying = [_varying(captures, position) for position in range(len(self.base.meta.output_info))]
        inputs = [[(given.desc, given.info) for given in each.inputs] for each in captures]
        self._inputs = self._solver.tree(inputs, "inputs")
        later = [(each.inputs_read_later, each.outputs_read_later) for each in captures]
        self._later = self._solver.tree(later, "what backward reads")

    def allows(self, sizes: Numbers) -> bool:
        """Would the function have done the same for these sizes? Lengths 0 and 1 are always special."""
        return all(size >= 2 for size in sizes) and all(guard(sizes) for guard in self.guards)

    def at(self, sizes: Numbers) -> Any:
        """The capture for these sizes."""
        # path: capture for other lengths
        graph, values = self._graph.filled(sizes)
        meta = replace(self.base.meta, **_filled(self._meta, sizes))
        meta.output_info = [
            info if info.dynamic_dims is None else replace(info, dynamic_dims=axes)
            for info, axes in zip(meta.output_info, self._varying, strict=True)
        ]
        meta.traced_tangents = [values[value] for value in self.base.meta.traced_tangents]
        infos = _filled(self._inputs, sizes)
        inputs = [replace(given, info=info) for given, (_, info) in zip(self.base.inputs, infos, strict=True)]
        nodes = dict(zip(self.base.graph.nodes, graph.nodes, strict=True))
        inputs_read, outputs_read = _filled(self._later, sizes)
        return replace(
            self.base, graph=graph, meta=meta, inputs=inputs, stops=self.base.stops.moved(nodes, values),
            inputs_read_later=inputs_read, outputs_read_later=outputs_read, at_other_sizes=self._nearby,
        )  # fmt: skip

    def _nearby(self) -> list[tuple[Numbers, Any]]:
        return [(sizes, self.at(sizes)) for sizes in self._near]


def _varying(captures: Sequence[Any], position: int) -> frozenset[int]:
    """The axes of an output whose lengths differ between captures."""
    at = captures[0].num_forward_outputs - len(captures[0].meta.output_info) - captures[0].meta.num_intermediate_bases
    values = [each.graph.outputs[at + position] for each in captures]
    if values[0] is None:
        return frozenset()
    shapes = [value.type.shape for value in values]
    return frozenset(axis for axis, lengths in enumerate(zip(*shapes, strict=True)) if len(set(lengths)) > 1)


def _meta_parts(meta: Any) -> dict[str, Any]:
    return {name: getattr(meta, name) for name in ("input_info", "output_info", "traced_tangent_metas")}


def check_same_program(first: Graph, second: Graph, size: int, other: int) -> None:
    """Raise NotDynamic unless two graphs differ in numbers only, in proportion to a size that changed."""
    _Solver([(size,), (other,)]).graph([first, second])


class _Filler:
    """A constant whose shape varies: all elements are one number, or they count up."""

    def __init__(self, shape: Any, dtype: np.dtype[Any], start: Any, step: Any) -> None:
        self.shape, self.dtype, self.start, self.step = shape, dtype, start, step

    def at(self, sizes: Numbers) -> np.ndarray[Any, Any]:
        shape = _filled(self.shape, sizes)
        array = np.full(shape, self.start, self.dtype)
        if self.step:
            array = (self.start + self.step * np.arange(shape[0])).astype(self.dtype)
        array.flags.writeable = False
        return array


class _Record:
    """A dataclass or a named tuple with formulas among its fields."""

    def __init__(self, make: Callable[..., Any], parts: dict[str, Any]) -> None:
        self.make, self.parts = make, parts


class _Program:
    """A graph with formulas: in the types of its inputs, and in the operands, attributes and types of its nodes. The
    bodies of control flow are attributes."""

    def __init__(self, base: Graph, inputs: list[Any], nodes: list[Any]) -> None:
        self.base, self.inputs, self.nodes = base, inputs, nodes

    def at(self, sizes: Numbers) -> Graph:
        """The graph for these sizes."""
        return self.filled(sizes)[0]

    def filled(self, sizes: Numbers) -> tuple[Graph, dict[Value, Value]]:
        """The graph for these sizes, and which of its values stand for those of the base."""
        base, graph = self.base, Graph(self.base.name)
        values: dict[Value, Value] = {}
        for value, desc, kind in zip(base.inputs, base.input_descs, self.inputs, strict=True):
            values[value] = graph.add_input(_filled(kind, sizes), desc)
        for node, (operands, attrs, types) in zip(base.nodes, self.nodes, strict=True):
            given = [
                values[x] if type(x) is Value else _filled(number, sizes)
                for x, number in zip(node.operands, operands, strict=True)
            ]
            made = graph.add(node.target or node.op, given, _filled(attrs, sizes), _filled(types, sizes), node.tag)
            for name in ("effect", "place", "seq", "recompute", "region"):
                setattr(made, name, getattr(node, name))
            values.update(zip(node.results, made.results, strict=True))
        for output, desc in zip(base.outputs, base.output_descs, strict=True):
            graph.add_output(None if output is None else values[output], desc)
        return graph, values


def _filled(template: Any, sizes: Numbers) -> Any:
    if isinstance(template, (Affine, _Filler, _Program)):
        return template.at(sizes)
    if isinstance(template, _Record):
        return template.make(**{name: _filled(part, sizes) for name, part in template.parts.items()})
    if isinstance(template, dict):
        return {key: _filled(part, sizes) for key, part in template.items()}
    if type(template) in (tuple, list):
        return type(template)(_filled(part, sizes) for part in template)
    return template


def formulas(sizes: Sequence[Numbers], asked: Sequence[list[int]]) -> list[Affine]:
    """What lengths are that captures for `sizes` asked for in the same order."""
    if len({len(lengths) for lengths in asked}) > 1:
        raise NotDynamic("it asks for more lengths where sizes are larger")
    solver = _Solver(sizes)
    return [solver._affine(lengths, "a length") for lengths in zip(*asked, strict=True)]


def sizes_needed(sizes: Sequence[Numbers], graphs: Sequence[Graph]) -> frozenset[int]:
    """The sizes that numbers in graphs depend on, beyond the shapes of values; between `sizes` each of them differs."""
    found: set[int] = set()
    for operands, attrs, _ in _Solver(sizes).graph(graphs).nodes:
        _collect_sizes((operands, attrs), found)
    return frozenset(found)


def _collect_sizes(template: Any, found: set[int]) -> None:
    if isinstance(template, Affine):
        found |= {k for k, factor in enumerate(template.factors) if factor}
    elif isinstance(template, _Program):
        for operands, attrs, _ in template.nodes:
            _collect_sizes((operands, attrs), found)
    else:
        parts: Any = ()
        if isinstance(template, _Record):
            parts = template.parts.values()
        elif isinstance(template, _Filler):
            parts = template.shape
        elif isinstance(template, (dict, tuple, list)):
            parts = template.values() if isinstance(template, dict) else template
        for part in parts:
            _collect_sizes(part, found)


class _Solver:
    """Compares what captures for different sizes have in the same place."""

    def __init__(self, sizes: Sequence[Numbers]) -> None:
        self.sizes = sizes

    def graph(self, graphs: Sequence[Graph]) -> _Program:
        """One graph with formulas for graphs that differ in numbers only."""
        first = graphs[0]
        if len({(len(g.nodes), len(g.inputs), len(g.outputs)) for g in graphs}) > 1:
            raise NotDynamic("the graphs have different lengths")
        numbered = [_numbers(g) for g in graphs]
        types = [self.tree([g.inputs[k].type for g in graphs], f"input {k}") for k in range(len(first.inputs))]
        nodes = [self._node([g.nodes[k] for g in graphs], numbered) for k in range(len(first.nodes))]
        for k in range(len(first.outputs)):
            self._same([_reference(g.outputs[k], n) for g, n in zip(graphs, numbered, strict=True)], f"output {k}")
        return _Program(first, types, nodes)

    def _node(self, nodes: Sequence[Node], numbered: Sequence[dict[Value, int]]) -> Any:
        where = nodes[0].op
        self._same([(node.op, node.tag, len(node.operands), len(node.results)) for node in nodes], where)
        operands: list[Any] = []
        for k in range(len(nodes[0].operands)):
            given = [node.operands[k] for node in nodes]
            if type(given[0]) is Value:
                self._same([_reference(x, n) for x, n in zip(given, numbered, strict=True)], where)
                operands.append(None)
            else:
                operands.append(self.tree(given, where))
        attrs = self.tree([node.attrs for node in nodes], where)
        types = self.tree([[value.type for value in node.results] for node in nodes], where)
        return operands, attrs, types

    def _same(self, things: Sequence[Any], where: str) -> None:
        if any(thing != things[0] for thing in things[1:]):
            raise NotDynamic(f"{where} differs")

    def tree(self, things: Sequence[Any], where: str) -> Any:
        """One thing with formulas for things that differ in numbers only."""
        things = [plain_number(thing) if type(thing) is Size else thing for thing in things]
        first = things[0]
        kind = type(first)
        if any(type(thing) is not kind for thing in things):
            raise NotDynamic(f"{where}: different kinds of attributes")
        if kind is int:
            return first if all(thing == first for thing in things) else self._affine(things, where)
        if kind is float and any(thing != first for thing in things):
            return self._reciprocal(things, where)
        if kind is ArrayType:
            return self._record(array_type, things, ("shape", "dtype", "strides"), where)
        if kind is np.ndarray:
            return self._array(things, where)
        if kind is ViewStep:
            return self._record(ViewStep, things, ("op", "params"), where)
        if kind is dict:
            self._same([thing.keys() for thing in things], where)
            return {key: self.tree([thing[key] for thing in things], where) for key in first}
        if kind in (tuple, list):
            self._same([len(thing) for thing in things], where)
            return kind(self.tree([thing[k] for thing in things], where) for k in range(len(first)))
        if kind is slice:
            return self._record(_slice, things, ("start", "stop", "step"), where)
        if kind in described:
            return self._described(things, where)
        if isinstance(first, Record):
            return self._record(kind, things, first.fields, where)
        if is_dataclass(first):
            return self._record(kind, things, tuple(each.name for each in fields(first)), where)
        if isinstance(first, Graph):
            return self.graph(things)
        if kind is not Op and any(thing is not first and thing != first for thing in things):
            raise NotDynamic(f"{where}: {first!r} differs")
        self._same([thing if kind is not Op else id(thing) for thing in things], where)
        return first

    def _record(self, make: Callable[..., Any], things: Sequence[Any], names: tuple[str, ...], where: str) -> _Record:
        return _Record(make, {name: self.tree([getattr(t, name) for t in things], where) for name in names})

    def _described(self, things: Sequence[Any], where: str) -> _Record:
        """What another package has taught graphs to write is made of its values."""
        entry = described[type(things[0])]
        values = [entry.values_of(thing) for thing in things]
        self._same([len(parts) for parts in values], where)
        parts = {f"value {k}": self.tree([own[k] for own in values], where) for k in range(len(values[0]))}
        return _Record(lambda **made: entry.build(*made.values()), parts)

    def _affine(self, values: Sequence[int], where: str) -> Affine:
        base = self.sizes[0]
        factors = []
        for k in range(len(base)):
            change = self.sizes[k + 1][k] - base[k]
            slope, rest = divmod(values[k + 1] - values[0], change)
            if rest:
                raise NotDynamic(f"{where}: a number is not in proportion to a size")
            factors.append(slope)
        found = Affine(values[0] - sum(f * s for f, s in zip(factors, base, strict=True)), tuple(factors))
        if any(found.at(sizes) != value for sizes, value in zip(self.sizes, values, strict=True)):
            raise NotDynamic(f"{where}: a number is not in proportion to a size")
        return found

    def _reciprocal(self, values: Sequence[float], where: str) -> Any:
        """One over a number that varies, which is what the derivative of a mean has."""
        counts = [round(1 / value) if value else 0 for value in values]
        if any(not count or 1 / count != value for count, value in zip(counts, values, strict=True)):
            raise NotDynamic(f"{where}: {values[0]!r} differs")
        return _Record(_one_over, {"count": self._affine(counts, where)})

    def _array(self, arrays: Sequence[np.ndarray[Any, Any]], where: str) -> Any:
        first = arrays[0]
        if all(array.shape == first.shape and np.array_equal(array, first) for array in arrays):
            return first
        shape = self.tree([array.shape for array in arrays], where)
        start, step = first.reshape(-1)[0], 0
        if first.ndim == 1 and first.size > 1:
            step = first[1] - first[0]
        for array in arrays:
            expected = np.full(array.shape, start, array.dtype)
            if step:
                expected = (start + step * np.arange(array.shape[0])).astype(array.dtype)
            if not np.array_equal(array, expected):
                raise NotDynamic(f"{where}: a constant array depends on a size")
        return _Filler(shape, first.dtype, start, step)


def _one_over(count: int) -> float:
    return 1 / count


def _slice(start: Any, stop: Any, step: Any) -> slice:
    return slice(start, stop, step)


def _numbers(graph: Graph) -> dict[Value, int]:
    numbers = {value: k for k, value in enumerate(graph.inputs)}
    for node in graph.nodes:
        for value in node.results:
            numbers[value] = len(numbers)
    return numbers


def _reference(x: Any, numbers: dict[Value, int]) -> Any:
    return None if x is None else numbers[x]
