"""`split_complex`, the pass: complex numbers in the parts that they consist of, also where loops carry them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pullback.compiler.loops.planning import is_dense
from pullback.compiler.passes.complex_values import PARTS, Parts, Splitter, is_complex, part_of, part_type
from pullback.compiler.passes.expand import laid_out, meets
from pullback.compiler.passes.stand_ins import StandIn, Writer
from pullback.declare.op import Op
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, is_store
from pullback.graph.rewrite import keep_remarks, keeps_its_place, outline
from pullback.graph.text.printing import bodies_of

Rule = Callable[[Splitter, Node], "Parts | Value | None"]
_SMALL_PRODUCT = 2048  # multiplications: such a product is a loop, which takes matrices with gaps


class _Operand:
    """What functions of parts see of an operand. Elementwise ones take parts that repeat themselves, or are numbers."""

    def __init__(self, s: Splitter, writer: Writer, x: Any, node: Node) -> None:
        self._s, self._writer, self._x = s, writer, x
        made = node.result.type.dtype
        self._part = part_of(made if made.kind == "c" or type(x) is not Value else x.type.dtype)
        self._is_solid = node.target is not None and node.target.flow != "elementwise"

    @cached_property
    def _parts(self) -> list[Any]:
        parts: Any = self._s.parts(self._x, self._part)
        if self._is_solid:
            parts = [self._s.solid(part, self._x.type.shape, self._part) for part in parts]
        return [StandIn(self._writer, part) if type(part) is Value else np.float64(part) for part in parts]

    real = property(lambda self: self._parts[0])
    imag = property(lambda self: self._parts[1])
    shape = property(lambda self: self._x.type.shape)
    dtype = property(lambda self: self._x.type.dtype)

    @property
    def itself(self) -> Any:
        """The array, or the number, as it is."""
        return StandIn(self._writer, self._s.near(self._x)) if type(self._x) is Value else self._x


def _of_parts(function: Callable[..., Any]) -> Rule:
    """What a function makes of the parts of operands."""

    def rule(s: Splitter, node: Node) -> Parts | Value | None:
        made = node.result.type
        likes: tuple[ArrayType, ...] = ()
        if node.target is not None and node.target.flow == "elementwise":
            likes = (part_type(made), made) if made.dtype.kind == "c" else (made,)
        writer = Writer(s.append, *likes)
        with np.errstate(all="ignore"):
            found = function(*[_Operand(s, writer, x, node) for x in node.operands], **node.attrs)
        if found is None:
            return None
        if isinstance(found, tuple):
            return Parts(*(x.value if type(x) is StandIn else float(x) for x in found))
        return laid_out(s.made, found.value, made)

    return rule


# Elements moved and added up.


def _each(s: Splitter, node: Node) -> Parts | Value | None:
    """The same operator on both parts."""
    op = node.target
    assert op is not None
    if op.family != "elementwise":
        return _moved(s, node)
    return _of_parts(lambda *xs: (op(*[x.real for x in xs]), op(*[x.imag for x in xs])))(s, node)


def _moved(s: Splitter, node: Node) -> Parts | None:
    """The same operator on the real parts, and on the imaginary ones."""
    if node.result.type.dtype.kind != "c":
        return None
    dtype, made = part_of(node.result.type.dtype), part_type(node.result.type)
    operands: list[Sequence[Any]] = []
    for place, x in enumerate(node.operands):
        if node.target is not None and not _has_elements(node.target, place):
            operands.append((s.near(x) if type(x) is Value else x,) * 2)
        elif type(x) is Value:
            operands.append([s.solid(part, x.type.shape, dtype) for part in s.parts(x, dtype)])
        else:
            operands.append(s.parts(x, dtype))
    return Parts(*(_again(s, node, parts, made) for parts in zip(*operands, strict=True)))


def _has_elements(op: Op, place: int) -> bool:
    """Do elements come from this operand? The others say where to, and are the same for both parts."""
    position = op.operand_index(place)
    if op.linear_in is not None:
        return position in op.linear_in
    return position in op.gradients if op.gradients else position != op.variadic_from


def _updated(s: Splitter, node: Node) -> Parts | Value | None:
    """An update of the real or the imaginary parts leaves the others as they are; any other one is two."""
    ops = [step.op for step in node.attrs["steps"]]
    looked_at = [op.name for op in ops if op.name in PARTS]
    if not all(op.complex == "each" or op.name in PARTS for op in ops):
        return None
    if not looked_at:
        return _moved(s, node)
    base, new = node.operands
    dtype, made = part_of(node.result.type.dtype), part_type(node.result.type)
    if len(looked_at) > 1 or type(new) is not Value or new.type.dtype != dtype:
        return None
    parts, place = list(s.arrays(base)), PARTS.index(looked_at[0])
    steps = tuple(step for step in node.attrs["steps"] if step.op.name not in PARTS)
    if steps:
        parts[place] = s.made.add("update", (parts[place], s.near(new)), {"steps": steps}, (made,), node.tag).result
    else:
        parts[place] = s.solid(s.near(new), made.shape, dtype)
    return Parts(*parts)


def _again(s: Splitter, node: Node, operands: tuple[Any, ...], made: ArrayType) -> Value:
    if node.target is not None:
        attrs = {**node.attrs, "dtype": made.dtype} if node.attrs.get("dtype") is not None else node.attrs
        return s.add(node.op, operands, made, **attrs)
    return s.made.add(node.op, operands, node.attrs, (made,), node.tag).result


def _cast(s: Splitter, node: Node) -> Parts | None:
    return None if node.result.type.dtype.kind != "c" else s.parts(node.operands[0], part_of(node.result.type.dtype))


# Products.


def _contracted(s: Splitter, node: Node) -> Parts | Value | None:
    """Four products of real matrices. Large ones are computed by BLAS, which takes no gaps between elements."""
    whole, part = node.result.type.dtype, part_of(node.result.type.dtype)
    if not all(type(x) is Value and x.type.dtype in (whole, part) for x in node.operands):
        return None
    if len(node.operands) != 2 and any(x.type.dtype == part for x in node.operands):
        return None
    if len(node.operands) == 1:
        return _moved(s, node)
    if len(node.operands) > 2:
        return _paired(s, node)
    made = part_type(node.result.type)
    terms = max(x.type.size for x in node.inputs) * min(x.type.shape[-1] if x.type.shape else 1 for x in node.inputs)
    (a, b), (c, d) = ([x if terms <= _SMALL_PRODUCT else _packed(s, x) for x in s.arrays(y)] for y in node.inputs)
    ac, bd, ad, bc = (s.add(node.op, xy, made, **node.attrs) for xy in ((a, c), (b, d), (a, d), (b, c)))
    return Parts(s.add("subtract", (ac, bd), made), s.add("add", (ad, bc), made))


def _packed(s: Splitter, x: Value) -> Value:
    steps = [abs(step) for step, n in zip(x.type.byte_strides, x.type.shape, strict=True) if n > 1 and step]
    if x.type.size == 1 or (steps and min(steps) == x.type.dtype.itemsize):
        return x
    return s.add("copy", (x,), array_type(x.type.shape, x.type.dtype), order="C")


def _paired(s: Splitter, node: Node) -> Parts | None:
    expansion = None if node.target is None else node.target.expansion
    if expansion is None or not meets(node, expansion):
        return None

    def add(op: Op, operands: tuple[Any, ...], type_: ArrayType, attrs: dict[str, Any]) -> Value:
        step = Node(op, op.name, operands, attrs, node.tag)
        step.results = (Value(type_, step),)
        rule = _rule_of(step)
        parts = None if rule is None else rule(s, step)
        assert isinstance(parts, Parts)
        s.split(step.result, parts)
        return step.result

    (last,) = Writer(add).written(expansion.function, node)
    return s.parts(last, part_of(last.type.dtype))


_BY_FLOW: dict[str, Rule] = {"casts": _cast, "contracts": _contracted, "multiplies": _contracted}


def _rule_of(node: Node) -> Rule | None:
    """What a result consists of, or the result itself if that is real, is what the rule gives; None leaves it whole."""
    op = node.target
    if op is None:
        return _updated if node.op == "update" else None
    if callable(op.complex):
        return _of_parts(op.complex)
    if op.complex is None:
        return _BY_FLOW.get(op.flow)
    return _each if op.complex == "each" else None


Kind = TypeVar("Kind", bound=Program)
_LOOPS = ("scan", "while_loop", "cond")


def split_complex(program: Kind) -> Kind:
    """The graph with real numbers only, as far as there are rules; the graph itself if it has no others."""
    if not _has_complex(program):
        return program
    # path: complex parts
    made = outline(program)
    s = Splitter(made)
    _write(s, program)
    made.outputs = [None if value is None else s.exact(value) for value in program.outputs]
    made.output_descs = list(program.output_descs)
    made.nodes.sort(key=is_store)  # what is put together for outputs comes before stores too
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
    rule = _rule_of(node)
    if rule is None or len(node.results) != 1:
        return False
    if not any(is_complex(x) for x in (*node.operands, node.result)) or not is_dense(node.result.type):
        return False
    if not node.result.type.dtype.isnative:
        return False
    if not all(x.type.size for x in (*node.inputs, node.result)) or not all(map(_is_number, node.operands)):
        return False
    made = rule(s, node)
    if isinstance(made, Parts):
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
            s.split(value, Parts(next(found), next(found)))
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
            s.split(value, Parts(*(made.add_input(type_, desc) for type_ in types)))
    _write(s, body)
    for output, desc, is_split in zip(body.outputs, body.output_descs, wanted, strict=True):
        for each in (None,) if output is None else s.arrays(output) if is_split else (s.exact(output),):
            made.add_output(s.in_rows(each) if is_split and each is not None else each, desc)
    return made
