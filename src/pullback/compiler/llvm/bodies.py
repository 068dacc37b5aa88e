"""Segments, and control flow inside of them: bodies that are native throughout.

A loop or a branch is native if everything in its bodies is. Its bodies are segments of their own, which read and write
where the loop tells them: carried values in two buffers that take turns, slices of the operands where these lie, slices
of the results where they belong. So a body's inputs have the layout of what it is given, and its outputs are values of
its own, one for each result. Whatever is otherwise is copied, in front of the loop or at the end of the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pullback.compiler.access import Accesses
from pullback.compiler.fusion import Element, Item, elements_of
from pullback.compiler.llvm.items import copy_of
from pullback.compiler.llvm.lowering import item_of
from pullback.compiler.llvm.planes import in_planes
from pullback.compiler.llvm.stacks import stacked_together
from pullback.compiler.llvm.text import kind_of
from pullback.compiler.passes.expand import expand
from pullback.compiler.planning import is_dense
from pullback.graph.ir import Node, Program, Value
from pullback.graph.rewrite import Replacements, dce, outline
from pullback.graph.types import ArrayType, array_type


@dataclass(eq=False)
class Segment:
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
    # A body may reshape a slice, which can not be done without a copy if it does not lie as the body expects.
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
    return Flow("cond", (branches[0], branches[1]), given, operands.results())


_MAKERS = {"scan": _scan, "while_loop": _while_loop, "cond": _cond}


# Bodies.


def body_segment(program: Program, given: Sequence[ArrayType], wanted: Sequence[ArrayType]) -> Segment | None:
    """A body as a segment whose inputs and results have these types; None if something in it is not native."""
    program = in_planes(_with_inputs(expand(dce(program)), given))
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


def _with_inputs(program: Program, given: Sequence[ArrayType]) -> Program:
    """The graph with inputs that lie in memory as they are given."""
    made, replaced = outline(program), Replacements()
    for place, (value, type_) in enumerate(zip(program.inputs, given, strict=True)):
        if value.type != type_:
            made.inputs[place] = replaced.found[value] = Value(type_)
    made.nodes = [replaced.node(node) for node in program.nodes]
    return replaced.finish(made, program)
