"""Segments, and control flow inside of them: bodies that are native throughout.

A loop or a branch is native if everything in its bodies is. Its bodies are segments of their own, which read and write
where the loop tells them: carried values in two buffers that take turns, slices of the operands where these lie, slices
of the results where they belong. So a body's inputs have the layout of what it is given, and its outputs are values of
its own, one for each result. Whatever is otherwise is copied, in front of the loop or at the end of the body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.compiler.items import item_of
from pullback.compiler.items.common import copy_of
from pullback.compiler.loops.access import Access, Accesses
from pullback.compiler.loops.fusion import Element, Item, elements_of
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.text import kind_of
from pullback.compiler.passes.expand import expand
from pullback.compiler.passes.layout import planar_points
from pullback.core.records import Record, field, replace
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, is_store
from pullback.graph.pipeline import run
from pullback.graph.rewrite import Replacements, dce, outline, with_operands

Kind = TypeVar("Kind", bound=Program)

# What a scan keeps of every step for another scan lies together, step by step.
#
# A loop that is differentiated keeps dozens of small values of every step. Each as an array of its own would be as many
# places in memory to which the loop writes, and from which its reverse reads, more than processors foresee. So what
# only other scans read, slice by slice, lies in one block: all values of the first step, then all of the second. Views
# of it are read there too, by scans and, if they are of one step, by everybody: where a loop was found in a long
# program, steps at its ends stand beside it.

_BYTE = np.dtype(np.uint8)
_ALIGNMENT = 8
_LARGEST = 1 << 14
"""Bytes of a step from which on a value is better off alone."""


def stacked_together(program: Program, accesses: Accesses, items: Mapping[Node, Any]) -> dict[Value, Access]:
    """Where the values lie that are put into blocks."""
    scans = [node for node in program.nodes if node.op == "scan" and items.get(node) is not None]
    if len(scans) < 2:
        return {}
    alone = _read_otherwise(program, accesses, items)
    found: dict[Value, Access] = {}
    for node in scans:
        kept = [x for x in node.results[node.attrs["carried"] :] if x not in alone and _is_small(x)]
        if len(kept) > 1:
            # path: stacked together
            found.update(_block(node, kept))
    return found


def _read_otherwise(program: Program, accesses: Accesses, items: Mapping[Node, Any]) -> set[Any]:
    """What anybody reads otherwise than slice by slice, which is on its own."""
    alone = set(program.outputs)
    for node in reversed(program.nodes):
        if accesses.is_view(node):
            if not alone.isdisjoint(node.results):
                alone.add(node.operands[0])
            continue
        is_native = items.get(node) is not None
        for place, x in enumerate(node.operands):
            if not is_native or not (_is_sliced(node, place) or _is_of_one_step(x, accesses)):
                alone.add(x)
    return alone


def _is_of_one_step(x: Any, accesses: Accesses) -> bool:
    """Is it a view of no more than one slice?"""
    root = accesses.root_of(x) if type(x) is Value else x
    return root is not x and x.type.nbytes * (root.type.shape or (1,))[0] <= root.type.nbytes


def _is_small(value: Value) -> bool:
    return value.type.nbytes < _LARGEST * value.type.shape[0]


def _is_sliced(node: Node, place: int) -> bool:
    """Does a node take this operand slice by slice?"""
    if node.op != "scan" or node.target is not None:
        return False
    carried: int = node.attrs["carried"]
    return carried <= place < carried + node.attrs["scanned"]


def _block(node: Node, kept: list[Value]) -> dict[Value, Access]:
    offsets, end = [], 0
    for value in kept:
        offsets.append(end)
        end = -(-(end + value.type.nbytes // value.type.shape[0]) // _ALIGNMENT) * _ALIGNMENT
    block = Value(array_type((node.attrs["length"], end), _BYTE), node)
    return {
        value: Access(block, offset, (end, *value.type.byte_strides[1:]))
        for value, offset in zip(kept, offsets, strict=True)
    }


class Segment(Record, eq=False):
    """Items that become one native function: what it is given, what it knows, and what it makes."""

    items: list[Item] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)


class Flow(NamedTuple):
    """Control flow: its bodies, and where its operands and results lie, in the order of those of the bodies.

    The bodies of a `while_loop` are its condition and its body; a `cond` has its predicate in front of the operands.
    """

    op: str
    bodies: tuple[Segment, ...]
    operands: tuple[Element, ...]
    results: tuple[Element, ...]
    strides: tuple[int, ...] = ()  # from one slice of an operand, or of a result, to the next; 0 if it has none
    carried: int = 0
    scanned: int = 0
    length: int = 0
    is_reverse: bool = False


def native_items(program: Program) -> tuple[Accesses, dict[Node, Item | None]]:
    """Where all values lie, and the items of all nodes; views have none, nor has what is left to NumPy."""
    accesses = Accesses(program.inputs, program.nodes)
    items = {node: None if accesses.is_view(node) else _told(node, accesses) for node in program.nodes}
    placed = stacked_together(program, accesses, items)
    if not placed:
        return accesses, items
    accesses = Accesses(program.inputs, program.nodes, placed)
    return accesses, {node: None if accesses.is_view(node) else _told(node, accesses) for node in program.nodes}


def _told(node: Node, accesses: Accesses) -> Item | None:
    try:
        return native_item(node, accesses)
    except Exception as error:
        error.add_note(f"operator {node.op}")
        raise


def native_item(node: Node, accesses: Accesses) -> Item | None:
    """The item of a node, None if it is left to NumPy."""
    if node.target is None and node.op in _MAKERS:
        return _control_item(node, accesses)
    return item_of(node, accesses)


def _control_item(node: Node, accesses: Accesses) -> Item | None:
    if node.effect is not None or not node.results or not all(type(x) is Value for x in node.operands):
        return None
    for type_ in [value.type for value in (*node.inputs, *node.results)]:
        if not type_.size or kind_of(type_.dtype) is None:
            return None
    if not all(is_dense(value.type) for value in node.results):
        return None
    # A body may reshape a slice, which cannot be done without a copy if it does not lie as the body expects.
    for in_place in (True, False):
        operands = _Operands(node, accesses, in_place)
        flow = _MAKERS[node.op](node, operands)
        if flow is not None:
            return _item(node, flow, operands.copies)
    return None


def _item(node: Node, flow: Flow, copies: list[Item]) -> Item:
    constants = [Element(value, "", 0, ()) for body in flow.bodies for value in body.constants]
    first, *others = dict.fromkeys([where.root for where in flow.results])
    reads = (*flow.operands, *constants)
    return Item(node, first, None, reads, flow, others=tuple(others), before=tuple(copies))


class _Operands:
    """Where the operands of control flow lie; they are copied if they have to lie otherwise."""

    def __init__(self, node: Node, accesses: Accesses, in_place: bool) -> None:
        self.node = node
        self.accesses = accesses
        self.in_place = in_place
        self.copies: list[Item] = []

    def given(self, place: int, wanted: ArrayType | None = None) -> tuple[Element, ArrayType]:
        """Operand `place`, and how it lies in memory: as `wanted`, or else as it is."""
        value = self.node.operands[place]
        access = self.accesses[value]
        as_it_is = array_type(value.type.shape, value.type.dtype, access.strides)
        if wanted is None:
            wanted = as_it_is if self.in_place else array_type(value.type.shape, value.type.dtype)
        kind = kind_of(value.type.dtype)
        assert kind is not None
        if as_it_is == wanted:
            return Element(access.root, kind, access.offset, ()), wanted
        item = copy_of(value, wanted, self.accesses)
        self.copies.append(item)
        return Element(item.result, kind, 0, ()), wanted


    def results(self) -> tuple[Element, ...]:
        """Where the results lie."""
        found = [self.accesses[value] for value in self.node.results]
        return tuple([Element(access.root, "", access.offset, ()) for access in found])


# The kinds of control flow.


def _scan(node: Node, operands: _Operands) -> Flow | None:
    carried, scanned, length = (node.attrs[name] for name in ("carried", "scanned", "length"))
    if length < 1:
        return None
    given, types, strides = [], [], []
    for place in range(len(node.operands)):
        where, type_ = operands.given(place, node.results[place].type if place < carried else None)
        is_sliced = carried <= place < carried + scanned
        strides.append(type_.byte_strides[0] if is_sliced else 0)
        types.append(_slice(type_) if is_sliced else type_)
        given.append(where)
    made = [value.type if k < carried else _slice(value.type) for k, value in enumerate(node.results)]
    body = body_segment(node.attrs["body"], types, made)
    if body is None:
        return None
    strides += [0 if k < carried else operands.accesses[value].strides[0] for k, value in enumerate(node.results)]
    places = (carried, scanned, length, node.attrs["reverse"])
    # path: native scan
    return Flow("scan", (body,), tuple(given), operands.results(), tuple(strides), *places)


def _slice(type_: ArrayType) -> ArrayType:
    return array_type(type_.shape[1:], type_.dtype, type_.byte_strides[1:])


def _while_loop(node: Node, operands: _Operands) -> Flow | None:
    carried = node.attrs["carried"]
    wanted = [value.type for value in node.results]
    pairs = [operands.given(k, wanted[k] if k < carried else None) for k in range(len(node.operands))]
    types = [type_ for _, type_ in pairs]
    asked = node.attrs["condition"].outputs[0]
    if asked is None or asked.type.size != 1:
        return None
    condition = body_segment(node.attrs["condition"], types, [array_type(asked.type.shape, asked.type.dtype)])
    body = body_segment(node.attrs["body"], types, wanted)
    if condition is None or body is None:
        return None
    given = tuple([where for where, _ in pairs])
    # path: native while
    return Flow("while_loop", (condition, body), given, operands.results(), carried=carried)


def _cond(node: Node, operands: _Operands) -> Flow | None:
    if node.operands[0].type.size != 1:
        return None
    pairs = [operands.given(k) for k in range(len(node.operands))]
    types = [type_ for _, type_ in pairs[1:]]
    wanted = [value.type for value in node.results]
    branches = [body_segment(node.attrs[name], types, wanted) for name in ("true", "false")]
    if branches[0] is None or branches[1] is None:
        return None
    given = tuple([where for where, _ in pairs])
    # path: native cond
    return Flow("cond", (branches[0], branches[1]), given, operands.results())


_MAKERS = {"scan": _scan, "while_loop": _while_loop, "cond": _cond}


# Bodies.


def body_segment(program: Program, given: Sequence[ArrayType], wanted: Sequence[ArrayType]) -> Segment | None:
    """A body as a segment whose inputs and results have these types; None if something in it is not native."""
    program = run([partial(each, given=given) if each is with_layouts else each for each in BODY], program)
    accesses, items = native_items(program)
    segment = Segment(inputs=list(program.inputs))
    for node, item in items.items():
        if item is not None:
            segment.items += [*item.before, item]
        elif not accesses.is_view(node) and node.op != "constant":
            return None
    for value, type_ in zip(program.outputs, wanted, strict=True):
        if value is None or kind_of(value.type.dtype) is None:
            return None
        segment.results.append(_own_result(value, type_, segment, accesses))
    segment.constants = _constants(segment)
    return segment


def _own_result(value: Value, type_: ArrayType, segment: Segment, accesses: Accesses) -> Value:
    """The value, if it is made in the body for this result alone, else a copy."""
    is_made = value.node is not None and value.node.op != "constant" and accesses.root_of(value) is value
    if is_made and value not in segment.results and value.type == type_:
        return value
    item = copy_of(value, type_, accesses)
    segment.items.append(item)
    return item.result


def _constants(segment: Segment) -> list[Value]:
    known = {*segment.inputs, *(value for item in segment.items for value in item.results)}
    roots = [leaf.root for item in segment.items for read in item.reads for leaf in elements_of(read)]
    return [root for root in dict.fromkeys(roots) if root not in known]


def with_layouts(program: Kind, given: Sequence[ArrayType]) -> Kind:
    """The graph with inputs that lie in memory as they are given."""
    made, replaced = outline(program), Replacements()
    for place, (value, type_) in enumerate(zip(program.inputs, given, strict=True)):
        if value.type != type_:
            made.inputs[place] = replaced.found[value] = Value(type_)
    made.nodes = [replaced.node(node) for node in program.nodes]
    return replaced.finish(made, program)


BODY: tuple[Callable[..., Any], ...] = (
    dce,            # before operators are written out as many others
    expand,         # operators as others that native code has
    with_layouts,   # slices are read where they lie
    planar_points,  # coordinates of many points lie together, where nobody else looks at them
)  # fmt: skip
"""Passes of a body in native code; `compiler/pipeline.py` has all others."""


# `cut_segments`: a graph in which everything that native code can do is gathered into as few nodes as possible.
#
# A `native` node stands for a segment: many nodes that become one native function. Between segments are the operators
# that only NumPy has; the graph is cut into levels, each of which is a segment followed by such operators. Views remain
# where somebody outside of native code looks at them; inside, they are only ways to count through memory.


def cut_segments(program: Kind) -> Kind:
    """The graph with `native` nodes, and without the views and constants that only native code needed."""
    accesses, items = native_items(program)
    levels = _levels(program, accesses, items)
    segments = _segments(program, accesses, items, levels)
    if not segments:
        return dce(program)
    made, replaced = outline(program), Replacements()
    others: dict[int, list[Node]] = defaultdict(list)
    for node in program.nodes:
        if items[node] is None:
            others[levels[node]].append(node)
    for level in sorted({*others, *segments}):
        if level in segments:
            _add_native(made, replaced, segments[level])
        for node in others[level]:
            made.nodes.append(replaced.node(node))
    made.nodes.sort(key=is_store)
    return dce(replaced.finish(made, program))


def _add_native(made: Program, replaced: Replacements, segment: Segment) -> None:
    operands = [replaced.found.get(value, value) for value in segment.inputs]
    types = [value.type for value in segment.results]
    node = made.add("native", operands, {"segment": segment}, types)
    replaced.found.update(zip(segment.results, node.results, strict=True))


def _levels(program: Program, accesses: Accesses, items: dict[Node, Item | None]) -> dict[Node, int]:
    """When each node runs: native ones of a level before the others of the same level."""
    levels: dict[Node, int] = {}
    last_effect = 0
    for node in program.nodes:
        is_native, level = items[node] is not None, 0
        for x in node.inputs:
            maker = accesses.root_of(x).node
            if maker is not None and maker in levels and maker.op != "constant":
                level = max(level, levels[maker] + (is_native and items[maker] is None))
        if node.effect is not None or node.op == "store":
            level = last_effect = max(level, last_effect)
        levels[node] = level
    return levels


def _segments(
    program: Program, accesses: Accesses, items: dict[Node, Item | None], levels: dict[Node, int]
) -> dict[int, Segment]:
    found: dict[int, Segment] = {}
    outside: set[Value] = {accesses.root_of(value) for value in program.outputs if value is not None}
    for node in program.nodes:
        item = items[node]
        if item is not None:
            found.setdefault(levels[node], Segment()).items.extend([*item.before, item])
        elif not accesses.is_view(node):
            outside.update(accesses.root_of(x) for x in node.inputs)
    for segment in found.values():
        _find_inputs(segment, outside)
    for segment in found.values():
        segment.results = [value for item in segment.items for value in item.results if value in outside]
    return found


def _find_inputs(segment: Segment, outside: set[Value]) -> None:
    own = {value for item in segment.items for value in item.results}
    roots = (leaf.root for item in segment.items for read in item.reads for leaf in elements_of(read))
    for root in dict.fromkeys(roots):
        if root in own:
            continue
        is_constant = root.node is not None and root.node.op == "constant"
        (segment.constants if is_constant else segment.inputs).append(root)
        outside.add(root)


def align_inputs(program: Kind) -> Kind:
    """With the inputs of a native function in the order of those of the graph, needed or not, if it is all that there
    is: then it can be called as it is."""
    if len(program.nodes) != 1 or program.nodes[0].op != "native":
        return program
    (node,) = program.nodes
    inputs = program.inputs
    if list(node.operands) == inputs or not set(node.operands) <= set(inputs):
        return program
    segment = replace(node.attrs["segment"], inputs=list(inputs))
    aligned = with_operands(node, tuple(inputs), {**node.attrs, "segment": segment})
    made, replaced = outline(program), Replacements()
    made.nodes.append(aligned)
    replaced.found.update(zip(node.results, aligned.results, strict=True))
    return replaced.finish(made, program)
