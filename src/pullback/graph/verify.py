"""Is a graph what graphs promise to be? A pass that breaks one of these promises is wrong, and is told which.

    values        every operand is an input or was made above; nobody makes a value twice
    types         shape and dtype of results are what the operator's shape rule says
    views         are views: the steps of an update lead to memory of its base, which what is written fits into
    control flow  bodies take what they are given, and carry on what they take; a native function does so too
    purity        stores write an input, which nobody reads afterwards, once per half, and are the last of their half
    halves        every node has a tag; what the forward half returns is not made by the backward half
    constants     cannot be written
    descriptors   there is one for each input and output
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import Spec
from pullback.errors import InternalError
from pullback.graph.ir import BACKWARD, FORWARD, Node, Program, Value, empty_like_type, root_of
from pullback.graph.text.literals import Writer, type_text
from pullback.graph.text.printing import bodies_of, numbered, operand_text

EFFECTS = (None, "random", "ordered", "collective")
_OWN_KINDS = ("cond", "constant", "native", "scan", "store", "update", "while_loop")
_BODIES = {"cond": ("true", "false"), "scan": ("body",), "while_loop": ("condition", "body")}


def verify(program: Program, is_to_be_split: bool = False, known: frozenset[Node] = frozenset()) -> None:
    """Raise an `InternalError` that says what is wrong; nothing happens if all is well.

    Where a graph `is_to_be_split`, its backward half may read what its forward half overwrites: a copy will be saved.
    The types of `known` nodes, and the graphs in them, were verified before: nodes do not change.
    """
    check = _Check(program, is_to_be_split, known)
    check.descriptors()
    for node in program.nodes:
        check.node(node)
    check.outputs()


class _Check:
    """What is known at one node of a graph."""

    def __init__(self, program: Program, is_to_be_split: bool, known: frozenset[Node]) -> None:
        self.program = program
        self.known = known
        self.is_to_be_split = is_to_be_split
        self.numbers = numbered(program)
        self.made: set[Value] = set(program.inputs)
        self.stored: dict[Value, set[str]] = {}  # inputs that were written, and in which halves
        self.closed: set[str] = set()  # halves in which there was a store

    def fail(self, what: str, node: Node | None = None) -> InternalError:
        place = "" if node is None else f" at `{self._line(node)}`"
        return InternalError(f"graph {self.program.name}{place}: {what}")

    def _line(self, node: Node) -> str:
        writer = Writer(False)
        operands = ", ".join(operand_text(x, self.numbers, writer) for x in node.operands)
        results = ", ".join(f"%{self.numbers[value]}" for value in node.results)
        return f"{results}{' = ' if results else ''}{node.op}({operands})"

    def descriptors(self) -> None:
        program = self.program
        pairs = (("inputs", program.inputs, program.input_descs), ("outputs", program.outputs, program.output_descs))
        for name, values, descs in pairs:
            if len(values) != len(descs):
                raise self.fail(f"there are {len(values)} {name} and {len(descs)} descriptors of them")
        if len(self.made) != len(program.inputs):
            raise self.fail("a value is an input twice")

    def node(self, node: Node) -> None:
        if node.tag not in (FORWARD, BACKWARD):
            raise self.fail(f"the tag is {node.tag!r}, neither {FORWARD!r} nor {BACKWARD!r}", node)
        if node.effect not in EFFECTS:
            raise self.fail(f"{node.effect!r} is not an effect", node)
        if node.target is None and node.op not in _OWN_KINDS:
            raise self.fail(f"there is no operation {node.op!r}", node)
        for x in node.operands:
            if type(x) is Value:
                self._operand(node, x)
        for value in node.results:
            if value in self.made or value.node is not node:
                raise self.fail(f"%{self.numbers[value]} is made twice", node)
            self.made.add(value)
        if node.op == "store" and node.target is None:
            self._store(node)
            return
        if node.tag in self.closed:
            raise self.fail("a store is followed by a node of the same half; stores come last", node)
        if node not in self.known:
            self._types(node)

    def _operand(self, node: Node, x: Value) -> None:
        if x not in self.made:
            known = f"%{self.numbers[x]} is made further down" if x in self.numbers else "a value of another graph"
            raise self.fail(f"an operand is {known}", node)
        # A native function may have nodes of both halves in it, where a backward graph computes something again.
        if node.tag == FORWARD and node.op != "native" and x.node is not None and x.node.tag == BACKWARD:
            raise self.fail(f"%{self.numbers[x]} is of the backward half, and read by the forward half", node)
        root = root_of(x)
        if self.is_to_be_split and node.tag == BACKWARD and self.stored.get(root) == {FORWARD}:
            return
        if root in self.stored and not (node.op == "store" and x is node.operands[0]):
            raise self.fail(f"%{self.numbers[x]} is read after a store into %{self.numbers[root]}", node)

    def _store(self, node: Node) -> None:
        if len(node.operands) != 2 or node.results:
            raise self.fail("a store has a target and a value, and no result", node)
        target, value = node.operands
        if target not in self.program.inputs:
            raise self.fail("the target of a store must be an input", node)
        if type(value) is not Value or value.type.spec != target.type.spec:
            shown = type_text(value.type) if type(value) is Value else repr(value)
            raise self.fail(f"{shown} cannot be stored into {type_text(target.type)}", node)
        halves = self.stored.setdefault(target, set())
        if node.tag in halves:
            raise self.fail(f"%{self.numbers[target]} is stored into twice in one half", node)
        halves.add(node.tag)
        self.closed.add(node.tag)

    def _types(self, node: Node) -> None:
        if node.target is None:
            expected = getattr(self, f"_types_of_{node.op}")(node)
        elif node.target.spec_rule is None:
            return
        else:
            expected = self._types_of_operator(node)
        listed = expected if isinstance(expected, (tuple, list)) else (expected,)
        wanted = [(tuple(spec.shape), spec.dtype) for spec in listed]
        if wanted != [(value.type.shape, value.type.dtype) for value in node.results]:
            shown = ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in listed)
            raise self.fail(f"the results should be {shown}", node)

    def _types_of_constant(self, node: Node) -> Any:
        array = node.attrs["value"]
        if array.flags.writeable:
            raise self.fail("the array of a constant can be written", node)
        return array

    def _types_of_operator(self, node: Node) -> Any:
        assert node.target is not None
        specs = [x.type.spec if type(x) is Value else x for x in node.operands]
        try:
            expected = node.target.specs_of(*specs, **node.attrs)
            seen = self._seen(node) if node.is_view else ()
        except Exception as error:
            raise self.fail(f"there is no such call: {type(error).__name__}: {error}", node) from error
        if not all(seen):
            raise self.fail(f"{node.op} is no view of {type_text(node.operands[0].type)}", node)
        return expected

    def _seen(self, node: Node) -> list[bool]:
        """Which results of a view lie in the memory of its operand? How that lies does not matter here."""
        assert node.target is not None
        given, *others = node.operands
        whole = np.empty(given.type.shape, given.type.dtype)
        made = node.target.kernel(whole, *others, **node.attrs)
        parts = made if isinstance(made, (tuple, list)) else (made,)
        return [not part.size or np.may_share_memory(part, whole) for part in parts]

    def _types_of_update(self, node: Node) -> Any:
        base, new = node.operands
        if type(base) is not Value:
            raise self.fail("the base of an update must be a value", node)
        written = empty_like_type(node.result.type)
        place = self._place(node, written)
        if place.size and not np.may_share_memory(place, written):
            raise self.fail(f"the steps lead to no memory of {type_text(base.type)}", node)
        shape, dtype = (new.type.shape, new.type.dtype) if type(new) is Value else ((), np.min_scalar_type(new))
        if not _fits(shape, place.shape):
            raise self.fail(f"{list(shape)} cannot be written to a place of shape {list(place.shape)}", node)
        if dtype.kind == "c" and place.dtype.kind != "c":
            raise self.fail(f"{dtype} cannot be written to a place of {place.dtype}", node)
        return base.type

    def _place(self, node: Node, array: Any) -> Any:
        """Where an update writes to in this array."""
        try:
            for step in node.attrs["steps"]:
                array = step.op.kernel(array, **step.params)
        except Exception as error:
            raise self.fail(f"{step.op.name} is no view of this: {type(error).__name__}: {error}", node) from error
        return array

    def _types_of_native(self, node: Node) -> Any:
        segment = node.attrs["segment"]
        if [x.type for x in node.operands] != [value.type for value in segment.inputs]:
            raise self.fail("the native function takes other values than it is given", node)
        return [value.type for value in segment.results]

    def _types_of_cond(self, node: Node) -> Any:
        bodies = self._bodies(node)
        _, *arguments = node.operands
        for body in bodies:
            self._takes(node, body, [x.type for x in arguments])
        first, second = ([value.type.spec for value in body.outputs] for body in bodies)
        if first != second:
            raise self.fail("the two branches return values of different types", node)
        return first

    def _types_of_while_loop(self, node: Node) -> Any:
        condition, body = self._bodies(node)
        types = [x.type for x in node.operands]
        carried = types[: node.attrs["carried"]]
        self._takes(node, condition, types)
        self._takes(node, body, types)
        if [value.type.spec for value in body.outputs] != [type.spec for type in carried]:
            raise self.fail("the body does not return what it carries", node)
        return carried

    def _types_of_scan(self, node: Node) -> Any:
        (body,) = self._bodies(node)
        attrs = node.attrs
        carried, end, length = attrs["carried"], attrs["carried"] + attrs["scanned"], attrs["length"]
        types = [x.type for x in node.operands]
        for type in types[carried:end]:
            if type.shape[:1] != (length,):
                raise self.fail(f"{type_text(type)} has not {length} slices", node)
        slices = [Spec(type.shape[1:], type.dtype) for type in types[carried:end]]
        self._takes(node, body, [*types[:carried], *slices, *types[end:]])
        outputs = [value.type for value in body.outputs]
        if [type.spec for type in outputs[:carried]] != [type.spec for type in types[:carried]]:
            raise self.fail("the body does not return what it carries", node)
        return [*outputs[:carried], *(Spec((length, *type.shape), type.dtype) for type in outputs[carried:])]

    def _bodies(self, node: Node) -> list[Any]:
        bodies = bodies_of(node)
        if tuple(sorted(bodies)) != tuple(sorted(_BODIES[node.op])):
            raise self.fail(f"there must be graphs {', '.join(_BODIES[node.op])}", node)
        for body in bodies.values():
            verify(body)
        return [bodies[name] for name in _BODIES[node.op]]

    def _takes(self, node: Node, body: Program, given: list[Any]) -> None:
        wanted = [(value.type.shape, value.type.dtype) for value in body.inputs]
        if wanted != [(each.shape, each.dtype) for each in given]:
            raise self.fail(f"graph {body.name} takes other values than it is given", node)

    def outputs(self) -> None:
        for value, desc in zip(self.program.outputs, self.program.output_descs, strict=True):
            if value is None:
                continue
            shown = "an output" if desc is None else desc.expr()
            if value not in self.made:
                raise self.fail(f"{shown} is not a value of this graph")
            is_forward = desc is not None and not desc.is_grad
            if is_forward and value.node is not None and value.node.tag == BACKWARD and self._has_forward():
                raise self.fail(f"{shown} belongs to the forward half, and is made by the backward half")

    def _has_forward(self) -> bool:
        """A graph that has only one half may return what it likes."""
        return any(node.tag == FORWARD for node in self.program.nodes)


def _fits(shape: tuple[int, ...], place: tuple[int, ...]) -> bool:
    """Can an array of this shape be written to such a place? Further axes of length 1 in front are as if not there."""
    extra = max(len(shape) - len(place), 0)
    pairs = zip(shape[extra:][::-1], place[::-1], strict=False)
    return all(length == 1 for length in shape[:extra]) and all(length in (1, wanted) for length, wanted in pairs)
