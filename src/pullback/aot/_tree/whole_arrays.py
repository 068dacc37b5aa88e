"""`Whole`: a graph in which what masks select has the length of one call, written for any length.

Two graphs that differ in lengths show which numbers come from them. In the place of a selection there is the whole
array; what the mask does not select is filled with an element that it does select, so that whatever is computed there
is finite where the selection is. Reductions and writes ask the mask:

    s = x[m]                            %1: f64[9] = where(%m, %x, one of those that are selected)
    (s * s).sum() / len(s)              %2: f64[9] = multiply(%1, %1)
                                        %3: f64[] = sum(where(%m, %2, 0)) / count_nonzero(%m)

That is for elementwise operators, reductions, dots, reads and writes at what was selected, of the forward and backward
half alike. Anything else that is done with a selection (it is returned, sorted, sliced) is `Refused`. The event that
compares the length with that of one call becomes one that says that enough elements are selected: none, and only one,
are cases of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.aot._trace.higher import Stops
from pullback.core.records import replace
from pullback.declare.op import registry
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, Node, Value, array_type, empty_like_type, type_of

LABEL = "any number"
"""Of an event that once compared a length."""

_NORMS = (1.0, 2.0, float("inf"))


class Refused(Exception):
    """Something is done with a selection that can only be done with that many elements."""


def same(one: Any, other: Any) -> bool:
    """Are two attributes equal, with everything in them?"""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(x, other[key]) for key, x in one.items())
    return bool(one is other or repr(one) == repr(other) if isinstance(one, (float, complex)) else one == other)


# What values of the graphs are in the new one.

class Mask(NamedTuple):
    """A mask that is searched."""

    value: Value  # row by row
    number: Value  # of elements that it selects
    lengths: tuple[int, int]  # in the two calls
    first: Value  # the position of the first that is selected, in row-major order, as a vector


class Selection(NamedTuple):
    """An array in the place of one with as many rows as a mask selects. What is not selected is filled."""

    mask: Mask
    whole: Value
    axis: int | None = None  # of the mask, if these are the positions along it


class Rows(NamedTuple):
    """An array of equal rows, any number of them: one of these."""

    row: Any


class Number(NamedTuple):
    """A number that differs between the two graphs."""

    pair: tuple[Any, Any]


class Whole:
    """Writes one graph that does what two graphs do, which differ in lengths."""

    def __init__(self, one: Any, two: Any) -> None:
        self._one, self._two = one, two
        self._graph = Graph(two.graph.name)
        self._tag = ""
        self._known: dict[Value, Any] = {}
        self._made: dict[Any, Value] = {}  # equal nodes are one, so that equal masks are one
        self._masks: dict[Value, Mask] = {}  # by what is searched, in the new graph
        self._stops: dict[Node, tuple[int, ...]] = {}
        self._masked: dict[Node, tuple[Value, tuple[int, ...]]] = {}
        self._fills: dict[tuple[Value, Value], Value] = {}  # by mask and array
        # What is searched, in the second graph, and how many there are in both.
        self._searched: dict[Value, tuple[int, int]] = {}

    def captured(self) -> Any:
        """The capture of the new graph."""
        one, two = self._one.graph, self._two.graph
        pairs = list(zip(one.nodes, two.nodes, strict=True))
        for a, b in pairs:
            if a.op != b.op or a.tag != b.tag or a.effect != b.effect or a.region != b.region:
                raise Refused
            if a.op == "_first_nonzero":
                self._searched[b.operands[0]] = a.attrs["count"], b.attrs["count"]
        self._check_wiring(one, two)
        for value, desc in zip(two.inputs, two.input_descs, strict=True):
            self._known[value] = self._graph.add_input(value.type, desc)
        for a, b in pairs:
            self._add_like(a, b)
        for value, desc in zip(two.outputs, two.output_descs, strict=True):
            self._graph.add_output(None if value is None else self._plain(value), desc)
        events = tuple([replace(e, label=LABEL) if self._is_lifted(k) else e for k, e in enumerate(self._two.events)])
        meta = replace(self._two.meta, traced_tangents=[self._known[x] for x in self._two.meta.traced_tangents])
        stops = Stops(self._stops, masked=self._masked)
        return replace(self._two, graph=self._graph, meta=meta, stops=stops, events=events)

    def _is_lifted(self, number: int) -> bool:
        one, two = self._one.events[number], self._two.events[number]
        return bool(one.label != two.label)

    def _check_wiring(self, one: Graph, two: Graph) -> None:
        """Raise if the nodes of two graphs are put together in different ways, or have other things without history."""
        partner = dict(zip(one.inputs, two.inputs, strict=True)) if len(one.inputs) == len(two.inputs) else None
        if partner is None or any(a.type != b.type for a, b in partner.items()):
            raise Refused
        stops = self._one.stops.operands, self._two.stops.operands
        for a, b in zip(one.nodes, two.nodes, strict=True):
            if len(a.operands) != len(b.operands) or len(a.results) != len(b.results):
                raise Refused
            for x, y in zip(a.operands, b.operands, strict=True):
                if (type(x) is Value) != (type(y) is Value) or (type(x) is Value and partner[x] is not y):
                    raise Refused
            if stops[0].get(a) != stops[1].get(b):
                raise Refused
            partner.update(zip(a.results, b.results, strict=True))
        if [None if x is None else partner[x] for x in one.outputs] != two.outputs:
            raise Refused

    # Nodes.

    def _add_like(self, a: Node, b: Node) -> None:
        self._tag = b.tag
        first = len(self._graph.nodes)
        operands = [self._operand(x, y) for x, y in zip(a.operands, b.operands, strict=True)]
        if b.op == "_first_nonzero" and (a.attrs != b.attrs or not isinstance(operands[0], Value)):
            mask = self._mask(b.operands[0])
            results: Sequence[Any] = [self._positions(mask, axis) for axis in range(mask.value.type.ndim)]
        elif not any(isinstance(x, (Selection, Rows, Number)) for x in operands):
            results = self._ordinary(a, b, operands)
        else:
            results = [self._on_selections(a, b, operands)]
        self._known.update(zip(b.results, results, strict=True))
        for node in self._graph.nodes[first:]:
            node.place, node.seq, node.region, node.recompute = b.place, b.seq, b.region, b.recompute

    def _operand(self, x: Any, y: Any) -> Any:
        if type(y) is Value:
            return self._known[y]
        if x is y or same(x, y):
            return y
        if type(x) in (int, float) and type(x) is type(y):
            return Number((x, y))
        raise Refused

    def _ordinary(self, a: Node, b: Node, operands: list[Any]) -> Sequence[Any]:
        """The results of a node that has nothing to do with selections so far."""
        if b.op == "constant" and not same(a.attrs, b.attrs):
            return [self._constants(a.attrs["value"], b.attrs["value"])]
        if b.op == "broadcast_to" and a.attrs != b.attrs:
            return [self._spread(a, b, operands[0])]
        if not same(a.attrs, b.attrs) or any(x.type != y.type for x, y in zip(a.results, b.results, strict=True)):
            raise Refused
        stops = self._two.stops.operands.get(b)
        is_own = b.effect is not None or stops or b.region is not None or b.op in ("store", "update")
        key = None if is_own else self._key(b.op, operands, b.attrs)
        if key is not None and len(b.results) == 1 and key in self._made:
            return [self._made[key]]
        node = self._graph.add(b.target or b.op, operands, b.attrs, [x.type for x in b.results], b.tag)
        node.effect = b.effect
        if stops:
            self._stops[node] = stops
        if key is not None and len(b.results) == 1:
            self._made[key] = node.result
        return node.results

    def _on_selections(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """The result of a node some of whose operands are selections, or numbers that come from lengths."""
        if self._two.stops.operands.get(b) or b.target is None or len(b.results) != 1:
            raise Refused
        if b.op == "equal" and self._is_length(b, operands):
            low = 1 if 1 in operands[1].pair else 2
            return self._add("greater_equal", [operands[0], low])
        operands = [self._counted(x, b) if isinstance(x, Number) else x for x in operands]
        handler = _HANDLERS.get(b.op)
        if handler is None and b.target.flow in ("elementwise", "casts"):
            handler = Whole._elementwise
        if handler is None and b.target.family == "reduction":
            handler = Whole._reduced
        if handler is None:
            raise Refused
        result = handler(self, a, b, operands)
        if isinstance(result, Value) and result.type != b.results[0].type:
            raise Refused
        return result

    # Masks.

    def _is_length(self, node: Node, operands: list[Any]) -> bool:
        """Is this where the length of a selection is compared with that of one call?"""
        count = node.operands[0].node if type(node.operands[0]) is Value else None
        if count is None or count.op != "count_nonzero" or not isinstance(operands[1], Number):
            return False
        return self._searched.get(count.operands[0]) == operands[1].pair

    def _mask(self, searched: Value) -> Mask:
        """The mask of a search, of which an element is selected."""
        lengths = self._searched[searched]
        found = self._known[searched]
        if 0 in lengths or lengths[0] == lengths[1]:
            raise Refused
        if isinstance(found, Selection):  # of a selection: what both select
            value = found.whole if found.whole.type.dtype == bool else self._add("not_equal", [found.whole, 0])
            if value.type.ndim != found.mask.value.type.ndim:
                raise Refused
            value = self._add("logical_and", [found.mask.value, value])
        elif isinstance(found, Value):
            value = self._in_rows(found if found.type.dtype == bool else self._add("not_equal", [found, 0]))
        else:
            raise Refused
        known = self._masks.get(value)
        if known is not None:
            if known.lengths != lengths:
                raise Refused
            return known
        axes = tuple(range(value.type.ndim))
        count = self._add("count_nonzero", [value], axis=axes, keepdims=False)
        row = self._shaped(value, (value.type.size,))
        first = self._shaped(self._add("argmax", [row], axis=0, keepdims=False), (1,))
        self._masks[value] = mask = Mask(value, count, lengths, first)
        return mask

    def _positions(self, mask: Mask, axis: int) -> Selection:
        """Where the selected elements are along an axis of the mask."""
        shape = mask.value.type.shape
        along = np.broadcast_to(np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - 1 - axis)), shape)
        return Selection(mask, self._filled(mask, self._constant(np.ascontiguousarray(along))), axis)

    def _filled(self, mask: Mask, array: Value) -> Value:
        """An array with an element that is selected in the place of those that are not."""
        known = self._fills.get((mask.value, array))
        if known is not None:
            return known
        rest = array.type.shape[mask.value.type.ndim :]
        rows = self._shaped(array, (mask.value.type.size, *rest))
        one = self._add("_index", [rows, mask.first], template=("array",), distinct=True)
        # A node of its own, and none that is equal: nobody wants the derivative of what it is filled with.
        given = [self._over(mask, len(rest)), array, self._shaped(one, rest)]
        node = self._graph.add(registry["where"], given, {}, [array.type], self._tag)
        self._stops[node] = (2,)
        self._fills[mask.value, array] = node.result
        return node.result

    def _over(self, mask: Mask, rest: int) -> Value:
        """The mask of arrays with so many axes more."""
        return self._shaped(mask.value, (*mask.value.type.shape, *(1,) * rest)) if rest else mask.value

    def _by_lengths(self, one: Any, two: Any) -> Mask:
        """The mask that selects so many elements in the two calls."""
        found = [mask for mask in self._masks.values() if mask.lengths == (one, two)]
        if len(found) != 1:
            raise Refused
        return found[0]

    def _counted(self, number: Number, node: Node) -> Value:
        """A number that differs between the two graphs, as one that is computed of a length."""
        dtype = node.results[0].type.dtype
        one, two = number.pair
        if float(one).is_integer() and float(two).is_integer():
            count = self._by_lengths(int(one), int(two)).number
            return self._as_type(count, dtype if dtype.kind in "fc" else np.dtype(np.int64))
        found = [mask for mask in self._masks.values() if (1 / mask.lengths[0], 1 / mask.lengths[1]) == number.pair]
        if len(found) != 1 or dtype.kind != "f":
            raise Refused
        return self._add("divide", [1.0, self._as_type(found[0].number, dtype)])

    def _constants(self, one: Any, two: Any) -> Any:
        """Constants that differ: numbers, or rows that are all alike."""
        if one.dtype != two.dtype or one.ndim != two.ndim:
            raise Refused
        if not one.ndim:
            return Number((one.item(), two.item()))
        if not one.size or not two.size or one.shape[1:] != two.shape[1:] or one.shape[0] == two.shape[0]:
            raise Refused
        if any(row.tobytes() != one[0].tobytes() for array in (one, two) for row in array):
            raise Refused
        return Rows(self._constant(np.array(one[0])))

    # Kinds of nodes.

    def _spread(self, a: Node, b: Node, operand: Any) -> Rows:
        """`broadcast_to` as many rows as are selected."""
        if a.attrs["shape"][1:] != b.attrs["shape"][1:] or not isinstance(operand, Value):
            raise Refused
        row, rest = self._row(operand, len(b.attrs["shape"])), b.attrs["shape"][1:]
        return Rows(row if row.type.shape == rest else self._copied(self._add("broadcast_to", [row], shape=rest)))

    def _broadcast(self, a: Node, b: Node, operands: list[Any]) -> Any:
        (x,) = operands
        if a.attrs["shape"][1:] != b.attrs["shape"][1:]:
            raise Refused
        if isinstance(x, Rows):
            if not isinstance(x.row, Value):
                raise Refused
            return Rows(self._copied(self._add("broadcast_to", [x.row], shape=b.attrs["shape"][1:])))
        if not isinstance(x, Selection) or b.operands[0].type.ndim != len(b.attrs["shape"]):
            raise Refused
        shape = (*x.mask.value.type.shape, *b.attrs["shape"][1:])
        return Selection(x.mask, self._copied(self._add("broadcast_to", [x.whole], shape=shape)))

    def _row(self, x: Any, ndim: int) -> Any:
        """An operand that is the same for all rows of an array with so many axes, without the first axis."""
        if isinstance(x, Rows):
            return x.row
        if not isinstance(x, Value):
            return x
        if x.type.ndim < ndim:
            return self._in_rows(x)
        if x.type.shape[0] != 1:
            raise Refused
        return self._shaped(self._in_rows(x), x.type.shape[1:])

    def _elementwise(self, a: Node, b: Node, operands: list[Any]) -> Any:
        ndim = b.results[0].type.ndim
        if not same(a.attrs, b.attrs):
            raise Refused
        chosen = [x for x in operands if isinstance(x, Selection)]
        if not chosen and not any(isinstance(x, Rows) for x in operands):  # numbers alone
            return self._add(b.op, operands, **b.attrs)
        for x, y in zip(operands, b.operands, strict=True):
            is_rows = isinstance(x, (Selection, Rows))
            if (is_rows and y.type.ndim != ndim) or (isinstance(x, Selection) and x.mask is not chosen[0].mask):
                raise Refused
        given = [x.whole if isinstance(x, Selection) else self._row(x, ndim) for x in operands]
        over = self._over(chosen[0].mask, ndim - 1) if chosen else None
        made = self._add(b.op, given, **b.attrs)
        if made.type.dtype != b.results[0].type.dtype:
            raise Refused
        if over is None:
            return Rows(made)
        # The slope of what is the same for all rows is that of those which are selected: 0 times infinity is no number.
        shared = [k for k, x in enumerate(operands) if not isinstance(x, Selection) and type(given[k]) is Value]
        floats = tuple([k for k in shared if given[k].type.dtype.kind in "fc"])
        if floats and made.node is not None:
            self._masked[made.node] = over, floats
        return Selection(chosen[0].mask, made)

    def _reduced(self, a: Node, b: Node, operands: list[Any]) -> Any:
        (x,) = operands
        if not same(a.attrs, b.attrs):
            raise Refused
        if isinstance(x, Rows):
            x = self._as_selection(x, a.operands[0].type, b.operands[0].type)
        mask, attrs, result = x.mask, dict(b.attrs), b.results[0].type
        axes, more = attrs.pop("axis"), mask.value.type.ndim - 1
        keeps = attrs.pop("keepdims", False)
        if 0 not in axes:
            moved = tuple([axis + more for axis in axes])
            return Selection(mask, self._add(b.op, [x.whole], axis=moved, keepdims=keeps, **attrs))
        moved = (*range(more + 1), *[axis + more for axis in axes if axis])
        whole = self._over(mask, x.whole.type.ndim - more - 1)
        if b.op in ("mean", "var", "std"):
            out = self._moment(b, x, whole, moved, attrs)
        else:
            chosen = self._add("where", [whole, x.whole, self._neutral(b, x.whole.type)])
            if chosen.type.dtype != x.whole.type.dtype:
                raise Refused
            out = self._add(b.op, [chosen], axis=moved, keepdims=False, **attrs)
        return self._shaped(out, result.shape) if keeps else out

    def _neutral(self, node: Node, kind: ArrayType) -> Any:
        """A number that changes nothing of what a reduction gives."""
        folds = node.target.folds if node.target is not None else None
        if folds in (np.maximum, np.minimum) or node.op == "logsumexp":
            if kind.dtype.kind == "f":
                return float("inf") if folds is np.minimum else float("-inf")
            if kind.dtype.kind in "iu":
                info = np.iinfo(kind.dtype)
                return int(info.max if folds is np.minimum else info.min)
        elif folds is not None and folds.identity is not None:
            return bool(folds.identity) if kind.dtype == bool else folds.identity
        elif node.op == "count_nonzero" or node.attrs.get("ord") in _NORMS:
            return False if kind.dtype == bool else 0
        raise Refused

    def _moment(self, node: Node, x: Selection, over: Value, axes: tuple[int, ...], attrs: dict[str, Any]) -> Value:
        """A mean, variance or deviation of what is selected."""
        dtype = node.results[0].type.dtype
        if dtype.kind != "f" or x.whole.type.dtype != dtype or attrs.keys() - {"correction"}:
            raise Refused
        others = int(np.prod([x.whole.type.shape[axis] for axis in axes[x.mask.value.type.ndim :]], dtype=np.int64))
        number = self._as_type(self._add("multiply", [x.mask.number, others]), dtype)

        def total(values: Value, keepdims: bool) -> Value:
            return self._add("sum", [self._add("where", [over, values, 0.0])], axis=axes, keepdims=keepdims)

        if node.op == "mean":
            return self._add("divide", [total(x.whole, False), number])
        middle = self._add("divide", [total(x.whole, True), number])
        apart = self._add("subtract", [x.whole, middle])
        number = self._add("subtract", [number, float(attrs.get("correction", 0))])
        found = self._add("divide", [total(self._add("multiply", [apart, apart]), False), number])
        if node.op == "var":
            return found
        is_zero = self._add("equal", [found, 0.0])  # where the root has no slope, and the deviation the slope 0
        return self._add("where", [is_zero, found, self._add("sqrt", [self._add("where", [is_zero, 1.0, found])])])

    def _as_selection(self, rows: Rows, one: ArrayType, two: ArrayType) -> Selection:
        mask = self._by_lengths(one.shape[0], two.shape[0])
        shape = (*mask.value.type.shape, *two.shape[1:])
        if not isinstance(rows.row, Value):
            raise Refused
        return Selection(mask, self._copied(self._add("broadcast_to", [rows.row], shape=shape)))

    def _gathered(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """`x[m]`, or the elements at positions that are computed of those that were found."""
        x, *places = operands
        mask = self._places(b, places)
        if isinstance(x, Selection):  # x[m][n]: the second mask is one of the first selection
            made = mask.value.node
            if not self._are_found(mask, places) or made is None or x.mask.value not in made.operands:
                raise Refused
            return Selection(mask, self._filled(mask, x.whole))
        if not isinstance(x, Value):
            raise Refused
        if self._are_found(mask, places) and x.type.shape[: len(places)] == mask.value.type.shape:
            return Selection(mask, self._filled(mask, self._in_rows(x)))
        whole = [place.whole for place in places]
        found = self._add("_index", [self._in_rows(x), *whole], **{**b.attrs, "distinct": False})
        return Selection(mask, self._filled(mask, found))  # what is not selected has no part in derivatives

    def _places(self, node: Node, places: list[Any]) -> Mask:
        """The mask of positions, which stand for the first axes of an array."""
        if not places or not all(isinstance(place, Selection) for place in places):
            raise Refused
        if any(place.mask is not places[0].mask for place in places):
            raise Refused
        if node.attrs["template"] != ("array",) * len(places):
            raise Refused
        mask: Mask = places[0].mask
        if any(place.whole.type.shape != mask.value.type.shape for place in places):
            raise Refused
        return mask

    def _are_found(self, mask: Mask, places: list[Any]) -> bool:
        """Are these the positions that were found, and not what was computed of them?"""
        return [place.axis for place in places] == list(range(mask.value.type.ndim))

    def _written(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """`x[m] = values`, or `x[m] += values`."""
        x, values, *places = operands
        mask = self._places(b, places)
        if not isinstance(x, Value) or not self._are_found(mask, places):
            raise Refused
        rank = mask.value.type.ndim
        if x.type.shape[:rank] != mask.value.type.shape:
            raise Refused
        new = self._values(values, mask, x.type.ndim - rank + 1)
        if isinstance(new, Value) and new.type.dtype != x.type.dtype:
            new = self._as_type(new, x.type.dtype)
        if b.attrs["accumulate"]:
            new = self._add("add", [x, new])
        return self._add("where", [self._over(mask, x.type.ndim - rank), new, x])

    def _collected(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """Zeros with values added where elements were selected: what the backward of reading is."""
        values, *places = operands
        mask, shape = self._places(b, places), b.attrs["shape"]
        if not same(a.attrs, b.attrs):
            raise Refused
        rank = mask.value.type.ndim
        rest = b.results[0].type.ndim - len(places)
        zero = self._constant(np.zeros((), b.results[0].type.dtype))
        chosen = self._add("where", [self._over(mask, rest), self._values(values, mask, rest + 1), zero])
        whole = (*mask.value.type.shape, *shape[len(places) :])
        if chosen.type.shape != whole:
            chosen = self._copied(self._add("broadcast_to", [chosen], shape=whole))
        if self._are_found(mask, places) and shape[:rank] == mask.value.type.shape:
            return chosen
        given = [place.whole for place in places]
        return self._add("_index_add", [chosen, *given], **{**b.attrs, "distinct": False})

    def _values(self, values: Any, mask: Mask, ndim: int) -> Any:
        """What is written to selected elements, as something that fits the whole array."""
        if isinstance(values, Selection):
            if values.mask is not mask or values.whole.type.ndim != mask.value.type.ndim + ndim - 1:
                raise Refused
            return values.whole
        return self._row(values, ndim)

    def _product(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """The dot of two selections."""
        x, y = operands
        if not isinstance(x, Selection) or not isinstance(y, Selection) or x.mask is not y.mask:
            raise Refused
        if b.operands[0].type.ndim != 1 or b.operands[1].type.ndim != 1:
            raise Refused
        each = self._add("multiply", [x.whole, y.whole])
        chosen = self._add("where", [x.mask.value, each, self._constant(np.zeros((), each.type.dtype))])
        return self._add("sum", [chosen], axis=tuple(range(each.type.ndim)), keepdims=False)

    def _reshaped(self, a: Node, b: Node, operands: list[Any]) -> Any:
        (x,) = operands
        one, two = a.results[0].type.shape, b.results[0].type.shape
        if isinstance(x, Rows) or not two or one[1:] != two[1:]:
            raise Refused
        if (one[0], two[0]) != x.mask.lengths:
            raise Refused
        return Selection(x.mask, self._shaped(x.whole, (*x.mask.value.type.shape, *two[1:])))

    def _indexed(self, a: Node, b: Node, operands: list[Any]) -> Any:
        """A view that keeps all rows."""
        (x,) = operands
        index = b.attrs["index"]
        if not isinstance(x, Selection) or not same(a.attrs, b.attrs) or not index or index[0] != slice(None):
            raise Refused
        index = (*[slice(None)] * x.mask.value.type.ndim, *index[1:])
        return Selection(x.mask, self._in_rows(self._add("_basic_index", [x.whole], index=index)))

    # Writing nodes.

    def _plain(self, value: Value) -> Value:
        found = self._known[value]
        if not isinstance(found, Value):
            raise Refused
        return found

    def _add(self, name: str, operands: list[Any], **attrs: Any) -> Value:
        if any(isinstance(x, (Selection, Rows, Number)) for x in operands):
            raise Refused
        key = self._key(name, operands, attrs)
        if key is not None and key in self._made:
            return self._made[key]
        op = registry[name]
        if op.is_view:
            kind = type_of(op.kernel(empty_like_type(operands[0].type), **attrs))
        else:
            spec = op.specs_of(*[x.type.spec if type(x) is Value else x for x in operands], **attrs)
            kind = array_type(spec.shape, spec.dtype)
        value = self._graph.add(op, operands, attrs, [kind], self._tag).result
        if key is not None:
            self._made[key] = value
        return value

    def _key(self, name: str, operands: list[Any], attrs: dict[str, Any]) -> Any:
        """What equal nodes have in common; None if that cannot be told."""
        given = tuple([x if type(x) is Value else (type(x), repr(x)) for x in operands])
        key = (name, given, tuple([(each, repr(x)) for each, x in sorted(attrs.items())]))
        has_plain = all(isinstance(x, (int, float, bool, str, tuple, type(None), np.dtype)) for x in attrs.values())
        return key if has_plain else None

    def _constant(self, array: Any) -> Value:
        array.flags.writeable = False
        return self._graph.add("constant", [], {"value": array}, [type_of(array)], self._tag).result

    def _as_type(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return value if value.type.dtype == dtype else self._add("_astype", [value], dtype=dtype)

    def _copied(self, value: Value) -> Value:
        return self._add("copy", [value], order="C")

    def _in_rows(self, value: Value) -> Value:
        """An array that lies in memory row by row, as all do that stand for selections."""
        return value if value.type.strides is None else self._copied(value)

    def _shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        return value if value.type.shape == shape else self._add("_reshape", [self._in_rows(value)], shape=shape)


_HANDLERS: dict[str, Any] = {
    "_index": Whole._gathered, "_index_put": Whole._written, "_index_add": Whole._collected,
    "broadcast_to": Whole._broadcast, "_reshape": Whole._reshaped, "_basic_index": Whole._indexed,
    "matmul": Whole._product, "_linalg_vector_norm": Whole._reduced,
}  # fmt: skip
