"""`in_parts`, the pass: complex numbers in the parts that they consist of, also where loops carry them."""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.compiler.passes.complex_rules import RULES
from pullback.compiler.passes.complex_values import Halves, Splitter, is_complex, part_type
from pullback.compiler.planning import is_dense
from pullback.graph.ir import Node, Program, Value
from pullback.graph.printing import bodies_of
from pullback.graph.rewrite import keep_remarks, keeps_its_place, outline
from pullback.graph.types import ArrayType, array_type

Kind = TypeVar("Kind", bound=Program)
_LOOPS = ("scan", "while_loop", "cond")


def in_parts(program: Kind) -> Kind:
    """The graph with real numbers only, as far as there are rules; the graph itself if it has no others."""
    if not _has_complex(program):
        return program
    made = outline(program)
    s = Splitter(made)
    _write(s, program)
    made.outputs = [None if value is None else s.exact(value) for value in program.outputs]
    made.output_descs = list(program.output_descs)
    return made


def _has_complex(program: Program) -> bool:
    if any(map(is_complex, program.inputs)) or any(is_complex(x) for node in program.nodes for x in node.results):
        return True
    return any(_has_complex(body) for node in program.nodes for body in bodies_of(node).values())


def _write(s: Splitter, program: Program) -> None:
    for node in program.nodes:
        s.node = node
        if not _is_rewritten(s, node):
            s.kept(node)


def _is_rewritten(s: Splitter, node: Node) -> bool:
    if node.is_view:
        return s.looked(node)
    if keeps_its_place(node) or node.op == "constant":
        return False
    if node.target is None and node.op in _LOOPS:
        return _control_flow(s, node)
    rule = RULES.get(node.op)
    if rule is None or (node.target is not None and node.target.family == "custom") or len(node.results) != 1:
        return False
    if not any(is_complex(x) for x in (*node.operands, node.result)) or not is_dense(node.result.type):
        return False
    if not all(x.type.size for x in (*node.inputs, node.result)) or not all(map(_is_number, node.operands)):
        return False
    made = rule(s, node)
    if isinstance(made, Halves):
        s.split(node.result, made)
    elif made is not None:
        s.found(node.result, made)
    return made is not None


def _is_number(x: Any) -> bool:
    """Is an operand an array, or a number that can be a part?"""
    return type(x) is Value or type(x) in (bool, float, complex) or (type(x) is int and abs(x) < 1 << 53)


# Control flow.


def _control_flow(s: Splitter, node: Node) -> bool:
    """Bodies whose inputs and outputs are parts; also those inside of them that are complex without telling."""
    if not any(map(_has_complex, bodies_of(node).values())):
        return False
    first = node.op == "cond"  # the predicate is not for bodies
    operands = [s.exact(x) if type(x) is Value else x for x in node.operands[:first]]
    kinds: list[list[ArrayType]] = []
    for place, x in enumerate(node.operands[first:]):
        parts = list(s.arrays(x)) if is_complex(x) else [s.exact(x) if type(x) is Value else x]
        if is_complex(x) and place < node.attrs.get("carried", 0):
            parts = [s.in_rows(part) for part in parts]
        operands += parts
        kinds.append(_types_inside(node, place, parts))
    wanted = [is_complex(value) for value in node.results]
    bodies = {
        name: _body(body, kinds, [False] if name == "condition" else wanted) for name, body in bodies_of(node).items()
    }
    types = [each for value in node.results for each in _types(value)]
    made = s.made.add(node.op, operands, {**node.attrs, **_counts(node), **bodies}, types, node.tag)
    keep_remarks(made, node)
    found = iter(made.results)
    for value in node.results:
        if is_complex(value):
            s.split(value, Halves(next(found), next(found)))
        else:
            s.found(value, next(found))
    return True


def _types(value: Value) -> list[ArrayType]:
    return [part_type(value.type)] * 2 if is_complex(value) else [value.type]


def _types_inside(node: Node, place: int, given: list[Any]) -> list[ArrayType]:
    """What a body sees of an operand: what it carries, a slice, or all of it."""
    carried, scanned = node.attrs.get("carried", 0), node.attrs.get("scanned", 0)
    if place < carried:
        return _types(node.results[place])
    types = [x.type for x in given]
    if place >= carried + scanned:
        return types
    return [array_type(each.shape[1:], each.dtype, each.byte_strides[1:]) for each in types]


def _counts(node: Node) -> dict[str, int]:
    """How many operands are carried and scanned, in parts."""
    found: dict[str, int] = {}
    start = 0
    for name in ("carried", "scanned"):
        if name in node.attrs:
            stop = start + node.attrs[name]
            found[name] = sum(1 + is_complex(x) for x in node.operands[start:stop])
            start = stop
    return found


def _body(body: Kind, kinds: list[list[ArrayType]], wanted: list[bool]) -> Kind:
    made = type(body)(body.name)
    s = Splitter(made, Node(None, "constant", (), {}))
    for value, desc, types in zip(body.inputs, body.input_descs, kinds, strict=True):
        if len(types) == 1:
            made.inputs.append(value)
            made.input_descs.append(desc)
        else:
            s.split(value, Halves(*(made.add_input(type_, desc) for type_ in types)))
    _write(s, body)
    for output, desc, is_split in zip(body.outputs, body.output_descs, wanted, strict=True):
        for each in (None,) if output is None else s.arrays(output) if is_split else (s.exact(output),):
            made.add_output(s.in_rows(each) if is_split and each is not None else each, desc)
    return made
