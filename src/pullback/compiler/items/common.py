"""Nodes as items of fusion: their loops, what they read, and how they are computed. None: the node is left to NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.items.blas import Product, product_of
from pullback.compiler.loops.access import Access, Accesses, aligned, squeezed
from pullback.compiler.loops.fusion import Element, Item
from pullback.compiler.loops.scalars import EXPENSIVE, Rule, rule_of
from pullback.compiler.loops.text import can_cast, kind_of
from pullback.declare.facts import DIVISIONS
from pullback.errors import InternalError
from pullback.graph.ir import ArrayType, Node, Value, array_type, empty_like_type, find_operator


class Fold(NamedTuple):
    """How a reduction combines elements, and the kind it does so in. What two operands give is multiplied first."""

    combine: str
    kind: str


class Part(NamedTuple):
    """A region of a result that is put together: what goes there, and where it lies."""

    source: Any  # an Element or a number
    lengths: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


class Assembly(NamedTuple):
    """A result that is put together from regions, written one after the other."""

    parts: tuple[Any, ...]  # a Part, or what has reads and is written after them
    are_apart: bool = False  # no two regions overlap, so that they may be written in any order


What = Rule | Fold | Assembly | Product


def element(x: Any, accesses: Accesses, shape: tuple[int, ...]) -> Any:
    """An operand that broadcasts to `shape`: an Element, or a number if it is one."""
    if type(x) is not Value:
        return x
    access = accesses[x]
    number = _number(access)
    if number is not None and access.root.type.dtype == x.type.dtype:
        return number
    kind = kind_of(x.type.dtype)
    assert kind is not None
    return Element(access.root, kind, access.offset, aligned(access, x.type.shape, shape))


def _number(access: Access) -> Any:
    """The number that a constant of one element is."""
    node = access.root.node
    if node is None or node.op != "constant" or access.root.type.size != 1:
        return None
    return node.attrs["value"].item()


def copy_of(value: Value, wanted: ArrayType, accesses: Accesses) -> Item:
    """An item that makes a copy in this layout."""
    kind = kind_of(wanted.dtype)
    assert kind is not None
    node = Node(find_operator("copy"), "copy", (value,), {"order": "K"})
    node.results = (Value(wanted, node),)
    reads = (element(value, accesses, wanted.shape),)
    return Item(node, node.result, squeezed(wanted.shape), reads, Rule("identity", (kind,), kind))


def complex_copy(x: Value, accesses: Accesses) -> Item:
    """An item that makes complex numbers of real ones."""
    node = Node(None, "complex", (x,), {})
    node.results = (Value(array_type(x.type.shape, np.dtype(x.type.dtype.char.upper())), node),)
    return with_parts(node, [x, 0.0], accesses)


def with_parts(node: Node, parts: list[Any], accesses: Accesses) -> Item:
    """Complex numbers of two parts, which are two regions in memory: every other number is a real part."""
    made = node.result.type
    axes = [(n, step) for n, step in zip(made.shape, made.byte_strides, strict=True) if n != 1]
    lengths, strides = tuple([n for n, _ in axes]), tuple([step for _, step in axes])
    width = made.dtype.itemsize // 2
    regions = [Part(element(x, accesses, made.shape), lengths, k * width, strides) for k, x in enumerate(parts)]
    return assembled(node, regions, are_apart=True)


def elementwise(node: Node, accesses: Accesses) -> Item | None:
    """An operator on elements, if it has a rule."""
    rule = rule_of(node)
    if rule is None:
        return None
    shape = node.result.type.shape
    reads = tuple([element(x, accesses, shape) for x in node.operands[: len(rule.takes)]])
    is_slow, is_expensive = rule.name in DIVISIONS, rule.name in EXPENSIVE
    return Item(node, node.result, squeezed(shape), reads, rule, None, is_expensive, is_slow)


# Reductions.

_WORDS: dict[Any, str] = {np.multiply: "mul", np.logical_or: "or", np.logical_and: "and"}


def fold_of(node: Node) -> str:
    """The word for how a reduction or a scan combines elements."""
    assert node.target is not None and node.target.folds is not None
    return _WORDS.get(node.target.folds, node.target.folds.__name__)


def reduction(node: Node, accesses: Accesses) -> Item | None:
    """A reduction that a ufunc does."""
    x, kind = node.operands[0], kind_of(node.result.type.dtype)
    if type(x) is not Value or kind is None or set(node.attrs) - {"axis", "keepdims", "dtype"}:
        return None
    own = kind_of(x.type.dtype)
    if own is None or not can_cast(own, kind):
        return None
    read = element(x, accesses, x.type.shape)
    axes = node.attrs["axis"]
    kept = [axis for axis, length in enumerate(x.type.shape) if length != 1]
    reduced = frozenset(place for place, axis in enumerate(kept) if axis in axes)
    shape = squeezed(x.type.shape)
    if not reduced or type(read) is not Element:
        if math.prod(x.type.shape[axis] for axis in axes) != 1:
            return None
        if fold_of(node) == "add":
            return Item(node, node.result, shape, (read, 0), Rule("add", (kind, kind), kind))
        return Item(node, node.result, shape, (read,), Rule("identity", (kind,), kind))
    return Item(node, node.result, shape, (read,), Fold(fold_of(node), kind), reduced)


# Results put together from regions.


def region(view: Any, whole: Any, source: Any) -> Part:
    """Where a view lies in an array, and what goes there."""
    offset = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    steps = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    return Part(source, tuple([n for n, _ in steps]), offset, tuple([s for _, s in steps]))


def assembled(node: Node, parts: list[Part], are_apart: bool = False) -> Item:
    """A result that consists of these regions; a later one is written over an earlier one."""
    reads = tuple([part.source for part in parts])
    return Item(node, node.result, None, reads, Assembly(tuple(parts), are_apart))


def frame(whole: Part, inside: Part) -> list[Part] | None:
    """What is around a box in an array, as boxes that do not overlap; None if the inside is no box.

    `whole` says where all elements come from, `inside` where the box lies, which may have no length along some axes.
    """
    box: list[tuple[int, int]] = []  # along every axis, where it begins and ends
    offset, rest = inside.offset - whole.offset, list(zip(inside.lengths, inside.strides, strict=True))
    for length, step in zip(whole.lengths, whole.strides, strict=True):
        if step <= 0:
            return None
        start, offset = divmod(offset, step)
        count = rest.pop(0)[0] if rest and rest[0][1] == step else 1
        if start + count > length:
            return None
        box.append((start, start + count))
    if offset or rest:
        return None
    found = []
    for axis, (start, stop) in enumerate(box):
        for ends in ((0, start), (stop, whole.lengths[axis])):
            if ends[0] < ends[1]:
                behind = [(0, length) for length in whole.lengths[axis + 1 :]]
                found.append(_cut_out(whole, [*box[:axis], ends, *behind]))
    return found


def _cut_out(whole: Part, box: list[tuple[int, int]]) -> Part:
    """A box of a part whose source is an element."""
    source = whole.source
    kept = [axis for axis, (start, stop) in enumerate(box) if stop - start != 1]

    def moved(offset: int, strides: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        start = offset + sum(start * step for (start, _), step in zip(box, strides, strict=True))
        return start, tuple([strides[axis] for axis in kept])

    offset, strides = moved(source.offset, source.strides)
    lengths = tuple([box[axis][1] - box[axis][0] for axis in kept])
    return Part(source._replace(offset=offset, strides=strides), lengths, *moved(whole.offset, whole.strides))


def fits_kind(x: Any, node: Node) -> bool:
    """Can an operand be put into the result without a conversion?"""
    if type(x) is Value:
        return bool(x.type.dtype == node.result.type.dtype)
    return type(x) in (int, float, bool) and node.result.type.dtype.kind == "f"


def _update(node: Node, accesses: Accesses) -> Item | None:
    base, new = node.operands
    result = node.result.type
    if not fits_kind(base, node) or not fits_kind(new, node) or type(base) is not Value:
        return None
    whole = empty_like_type(result)
    view = whole
    for step in node.attrs["steps"]:
        view = step.op.kernel(view, **step.params)
    if not view.size or view.dtype != result.dtype:
        return None
    if not np.may_share_memory(view, whole):
        raise InternalError("an update writes through a view that is a copy, and would have no effect")
    parts = [
        region(whole, whole, element(base, accesses, result.shape)),
        region(view, whole, element(new, accesses, view.shape)),
    ]
    return assembled(node, parts)


def join(node: Node, accesses: Accesses) -> Item | None:
    """Arrays one after the other along an axis, or along a new one."""
    axis, whole, start, parts = node.attrs["axis"], empty_like_type(node.result.type), 0, []
    for x in node.operands:
        if type(x) is not Value or not fits_kind(x, node):
            return None
        is_stacked = x.type.ndim < whole.ndim
        place = start if is_stacked else slice(start, start + x.type.shape[axis])
        view = whole[(*(slice(None),) * axis, place, ...)]
        parts.append(region(view, whole, element(x, accesses, x.type.shape)))
        start += 1 if is_stacked else x.type.shape[axis]
    return assembled(node, parts, are_apart=True)


def _place_slice(node: Node, accesses: Accesses) -> Item | None:
    (x,), shape = node.operands, node.result.type.shape
    if type(x) is not Value or not fits_kind(x, node):
        return None
    read = _shifted_read(x, node.attrs["index"], shape, accesses)
    kind = kind_of(node.result.type.dtype)
    assert kind is not None
    if read is not None:
        return Item(node, node.result, squeezed(shape), (read,), Rule("identity", (kind,), kind))
    whole = empty_like_type(node.result.type)
    view = whole[node.attrs["index"]]
    if not isinstance(view, type(whole)) or not view.size:
        return None
    return assembled(node, [region(whole, whole, 0), region(view, whole, element(x, accesses, x.type.shape))])


def _shifted_read(x: Value, index: tuple[Any, ...], shape: tuple[int, ...], accesses: Accesses) -> Element | None:
    """The operand read with bounds, if the index consists of ints, new axes and slices without steps."""
    access, kind = accesses[x], kind_of(x.type.dtype)
    if kind is None or any(type(part) is slice and part.step not in (None, 1) for part in index):
        return None
    before, missing = list(index), len(shape) - sum(part is not ... and part is not None for part in index)
    place = before.index(...) if ... in before else len(before)
    full = [*before[:place], *[slice(None)] * missing, *before[place + 1 :]]
    # The operand has an axis for every slice, and one of length 1 for every new axis.
    of_operand = [part for part in full if part is None or type(part) is slice]
    steps = [step for step, part in zip(access.strides, of_operand, strict=True) if part is not None]
    strides, offset, bounds, axis = [], access.offset, [], 0
    for part, length in zip([part for part in full if part is not None], shape, strict=True):
        low, high = (part % length, part % length + 1) if type(part) is not slice else part.indices(length)[:2]
        step = 0
        if type(part) is slice:
            own = steps.pop(0)
            step = own if high - low > 1 else 0
        if length == 1:
            continue
        if (low, high) != (0, length):
            bounds.append((axis, low, high))
            offset -= low * step
        strides.append(step)
        axis += 1
    return Element(access.root, kind, offset, tuple(strides), tuple(bounds))


_FEW_COLUMNS = 8
LARGEST_INLINE_PRODUCT = 2048
"""Multiplications in a product of matrices up to which a call of BLAS takes longer than loops."""


def matmul(node: Node, accesses: Accesses) -> Item | None:
    """A product of matrices or vectors, of at most two axes each."""
    x, y = node.operands
    if type(x) is not Value or type(y) is not Value or max(x.type.ndim, y.type.ndim) > 2:
        return None
    dtypes = {x.type.dtype, y.type.dtype, node.result.type.dtype}
    if len(dtypes) != 1 or node.result.type.dtype.char not in "fd" or node.result.type.strides is not None:
        return None
    if node.result.type.size * x.type.shape[-1] <= LARGEST_INLINE_PRODUCT:
        return _product_in_loops(node, accesses)
    product = product_of(node, accesses)
    # Products with a vector are limited by memory, and loops share it with what is around them.
    columns = y.type.shape[1] if y.type.ndim == 2 else 1
    rows = x.type.shape[0] if x.type.ndim == 2 else 1
    if 1 in (rows, columns) and (product is None or columns == 1 or columns >= _FEW_COLUMNS):
        return _product_in_loops(node, accesses)
    if product is None:
        return None
    reads = tuple([element(x, accesses, x.type.shape) for x in node.operands])
    if not all(type(read) is Element for read in reads):
        return None
    return Item(node, node.result, None, reads, product)


def _product_in_loops(node: Node, accesses: Accesses) -> Item:
    """A product as a sum of products, in loops over rows, columns and terms; one row has terms before columns."""
    x, y = node.operands
    kind = kind_of(node.result.type.dtype)
    assert kind is not None
    rows = x.type.shape[0] if x.type.ndim == 2 else 1
    columns = y.type.shape[1] if y.type.ndim == 2 else 1
    terms = x.type.shape[-1]
    of_x, of_y = accesses[x].strides, accesses[y].strides
    left = (of_x[0] if x.type.ndim == 2 else 0, 0, of_x[-1])
    right = (0, of_y[1] if y.type.ndim == 2 else 0, of_y[0])
    lengths = (rows, columns, terms)
    kept = [axis for axis in ((2, 1) if rows == 1 else (0, 1, 2)) if lengths[axis] != 1]
    reads = tuple([
        Element(accesses[value].root, kind, accesses[value].offset, tuple([steps[axis] for axis in kept]))
        for value, steps in ((x, left), (y, right))
    ])  # fmt: skip
    shape = tuple([lengths[axis] for axis in kept])
    if terms == 1:
        return Item(node, node.result, shape, reads, Rule("mul", (kind, kind), kind))
    return Item(node, node.result, shape, reads, Fold("add", kind), frozenset({kept.index(2)}))


MAKERS: dict[str, Callable[[Node, Accesses], Item | None]] = {"update": _update, "_place_slice": _place_slice}
