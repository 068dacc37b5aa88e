"""Gradients of a loop's constants that need not be added up step by step.

The gradient of a matrix that every step multiplies with is a sum of products, one for each step. All of them are one
product of the stacked factors, which is computed faster after the loop: it reads and writes the sum once, and not once
for every step. So where the body of a reverse scan adds `aᵀ @ b` to a sum that it carries, or the outer product of two
vectors, the loop returns the factors instead, unless they are slices of its operands anyway, and what is carried goes.
Sums over values that are returned in this way, such as the gradient of a bias, are made after the loop as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core.records import Record
from pullback.declare.op import registry
from pullback.graph.graph import Graph
from pullback.graph.ir import Node, Value

Recipe = tuple[Any, ...]
YS, XS = "ys", "xs"  # where a factor is found: among what the loop returns, or among what it goes along


class Sums(Record, frozen=True):
    """The body without the sums, and how they are made of what it returns. `recipes` has their places in the carry."""

    body: Graph
    recipes: dict[int, Recipe]
    extra: int  # how many ys there are more


def without_sums(body: Graph, sums: Sequence[int], carried: int, scanned: int) -> Sums:
    """Take the carried sums at these places out of a loop, as far as they can be made afterwards."""
    finder = _Finder(body, carried, scanned)
    recipes: dict[int, Recipe] = {}
    for _ in range(2):  # what products make the loop return is there for the others
        for place in sums:
            if place in recipes:
                continue
            kept = len(finder.returned)
            term = finder.added_to(place)
            recipe = None if term is None else finder.recipe(term)
            if recipe is None:
                del finder.returned[kept:]
            else:
                recipes[place] = recipe
    if not recipes:
        return Sums(body, {}, 0)
    return Sums(_rewritten(body, recipes, finder.returned), recipes, len(finder.returned))


def _rewritten(body: Graph, recipes: dict[int, Recipe], returned: list[Value]) -> Graph:
    made = body.copy()
    found = dict(zip(body.inputs, made.inputs, strict=True))
    for node, copy in zip(body.nodes, made.nodes, strict=True):
        found.update(zip(node.results, copy.results, strict=True))
    for value in returned:
        made.add_output(found[value], made.output_descs[0])
    for place in sorted(recipes, reverse=True):
        for listed in (made.inputs, made.input_descs, made.outputs, made.output_descs):
            del listed[place]
    return made.dce()


class _Finder:
    """Looks for sums in the body of a reverse scan."""

    def __init__(self, body: Graph, carried: int, scanned: int) -> None:
        self.body = body
        self.slices = {value: k for k, value in enumerate(body.inputs[carried : carried + scanned])}
        self.returned: list[Value] = []
        self.readers: dict[Value, list[Node]] = {}
        for node in body.nodes:
            for value in node.inputs:
                self.readers.setdefault(value, []).append(node)

    def added_to(self, place: int) -> Value | None:
        """What every step adds to the sum at this place, if it does nothing else with it."""
        so_far, out = self.body.inputs[place], self.body.outputs[place]
        node = None if out is None else out.node
        if node is None or node.op != "add" or self.readers.get(so_far, []) != [node] or out in self.readers:
            return None
        others = [x for x in node.operands if x is not so_far]
        if self.body.outputs.count(out) != 1 or len(others) != 1 or type(others[0]) is not Value:
            return None
        return others[0] if others[0].type.spec == so_far.type.spec else None

    def recipe(self, term: Value) -> Recipe | None:
        """How the sum of this value over all steps is made, None if it had better be carried."""
        node = term.node
        known = self._known(term)
        if known is not None:
            return ("total", known)
        if node is None:
            return None
        rule = _RULES.get(node.op)
        return None if rule is None else rule(self, node)

    def factor(self, value: Value) -> Recipe:
        """Where the stacked values are found after the loop; the loop returns them, if they are nowhere else."""
        known = self._known(value)
        if known is not None:
            return known
        self.returned.append(value)
        return (YS, len(self.returned) - 1)

    def _known(self, value: Value) -> Recipe | None:
        if value in self.slices:
            return (XS, self.slices[value])
        return (YS, self.returned.index(value)) if value in self.returned else None

    # The kinds of terms.

    def sum_of_two(self, node: Node) -> Recipe | None:
        if any(type(x) is not Value or x.type.spec != node.result.type.spec for x in node.operands):
            return None
        recipes = [self.recipe(x) for x in node.operands]
        return None if None in recipes else ("add", *recipes)

    def copied(self, node: Node) -> Recipe | None:
        return self.recipe(node.operands[0])

    def transposed(self, node: Node) -> Recipe | None:
        inner = self.recipe(node.operands[0])
        return None if inner is None else ("permute", node.attrs["axes"], inner)

    def product(self, node: Node) -> Recipe | None:
        first, second = node.operands
        if type(first) is not Value or type(second) is not Value or first.type.ndim != 2 or second.type.ndim != 2:
            return None
        flipped = first.node
        if flipped is None or flipped.op != "permute_dims" or second.type.shape[0] > 2 * first.type.shape[0]:
            return None
        inner, rows = flipped.operands[0].type.shape
        return ("product", self.factor(flipped.operands[0]), self.factor(second), (inner, rows, second.type.shape[1]))

    def outer_product(self, node: Node) -> Recipe | None:
        if not all(type(x) is Value for x in node.operands):
            return None
        column, row = sorted(node.operands, key=_is_row)
        (rows, *one), (*other, columns) = column.type.shape or (1,), row.type.shape or (1,)
        if one != [1] or other not in ([], [1]) or rows == 1 or columns == 1:
            return None
        return ("product", self.factor(_unviewed(column)), self.factor(_unviewed(row)), (1, rows, columns))

    def reduced(self, node: Node) -> Recipe | None:
        known = self._known(node.operands[0])
        return None if known is None else ("sum", known, node.attrs["axis"], node.attrs["keepdims"])


_RULES = {
    "add": _Finder.sum_of_two, "permute_dims": _Finder.transposed, "matmul": _Finder.product,
    "multiply": _Finder.outer_product, "sum": _Finder.reduced, "copy": _Finder.copied,
}  # fmt: skip


def _is_row(value: Value) -> bool:
    return value.type.ndim < 2 or value.type.shape[0] == 1


def _unviewed(value: Value) -> Value:
    """The value that this one shows all elements of, in another shape."""
    node = value.node
    while node is not None and node.op in ("_basic_index", "_reshape") and node.inputs[0].type.size == value.type.size:
        value = node.inputs[0]
        node = value.node
    return value


def computed(recipe: Recipe, ys: Sequence[Any], xs: Sequence[Any]) -> Any:
    """The sum, of what the loop returned and went along."""
    kind = recipe[0]
    if kind == YS:
        return ys[recipe[1]]
    if kind == XS:
        return xs[recipe[1]]
    if kind == "add":
        return computed(recipe[1], ys, xs) + computed(recipe[2], ys, xs)
    if kind == "permute":
        return registry["permute_dims"].call(computed(recipe[2], ys, xs), axes=recipe[1])
    if kind == "total":
        return registry["sum"].call(computed(recipe[1], ys, xs), axis=(0,), keepdims=False)
    if kind == "sum":
        _, factor, axis, keepdims = recipe
        inner = registry["sum"].call(computed(factor, ys, xs), axis=(0,), keepdims=False)
        return registry["sum"].call(inner, axis=axis, keepdims=keepdims)
    return _stacked_product(computed(recipe[1], ys, xs), computed(recipe[2], ys, xs), *recipe[3])


def _stacked_product(first: Any, second: Any, inner: int, rows: int, columns: int) -> Any:
    """All products of the steps, added up: one product, whose inner axis has the steps and what was summed in each."""
    reshape = registry["_reshape"].call
    count = first.shape[0] * inner
    left = registry["permute_dims"].call(reshape(first, shape=(count, rows)), axes=(1, 0))
    return registry["matmul"].call(left, reshape(second, shape=(count, columns)))
