"""Passes that remove, merge and evaluate nodes, and the tools that all passes are made of.

A pass is a function `Graph -> Graph`: it returns a new graph and leaves its argument alone. Nodes are not changed once
a graph is complete, so the new graph shares every node whose operands are the same, and values keep their identity as
far as possible. `copied` makes a graph that shares nothing.

Passes keep dtypes, layouts, tags, places in the user's code, and inputs and outputs with their order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.graph.ir import BACKWARD, ArrayType, Node, Program, Value, returned_roots, root_of, type_of
from pullback.graph.text.printing import bodies_of, opaque_in, program_text

# Keys of attributes and operands: equal for what computes the same, and hashable.
#
# Python says that 1, 1.0 and True are equal, that 0.0 is -0.0, and that a slice has no hash. A key tells all of those
# apart, and an array is known by its type and bytes.

_LARGEST_COMPARED = 4096  # bytes of an array that is compared with others; larger ones are the same only if identical


def operand_key(x: Any) -> Any:
    """The key of an operand."""
    return x if type(x) is Value or x is None or type(x) is int else attribute_key(x)


def attributes_key(attrs: dict[str, Any]) -> Any:
    """The key of all attributes of a node."""
    if not attrs:
        return ()
    return tuple([(name, attribute_key(value)) for name, value in sorted(attrs.items())])


def attribute_key(x: Any) -> Any:
    """The key of one value."""
    kind = type(x)
    if kind in (int, str, bytes, type(None)):
        return x
    if kind is tuple:
        for part in x:
            if type(part) is not int:
                return tuple(map(attribute_key, x))
        return x
    if kind is bool:
        return ("bool", x)
    if kind in (float, complex):
        return (kind, repr(x))
    if kind is slice:
        return ("slice", attribute_key(x.start), attribute_key(x.stop), attribute_key(x.step))
    if kind is list:
        return ("list", *map(attribute_key, x))
    if kind is dict:
        return ("dict", *((attribute_key(name), attribute_key(value)) for name, value in x.items()))
    if kind is ViewStep:
        return (x.op, attributes_key(x.params))
    if isinstance(x, np.generic):
        return (kind, x.tobytes())
    if isinstance(x, np.ndarray):
        return (type_of(x), x.tobytes()) if x.nbytes <= _LARGEST_COMPARED and not x.dtype.hasobject else ("at", id(x))
    if isinstance(x, Program):
        return (program_text(x), *map(id, opaque_in(x)))
    return x if isinstance(x, (np.dtype, Op, type, ArrayType)) else ("at", id(x))


Kind = TypeVar("Kind", bound=Program)

LARGEST_FOLDED = 64 * 1024
"""Bytes of the largest result that folding keeps."""

_NEVER_MERGED = frozenset({"random", "custom"})


# Tools ----------------------------------------------------------------------------------------------------------------


def keeps_its_place(node: Node) -> bool:
    """Is the node there for more than its results? Stores and effects are, also those inside of control flow."""
    if node.op == "store" or node.effect is not None:
        return True
    return any(keeps_its_place(inner) for body in bodies_of(node).values() for inner in body.nodes)


def happens_once(node: Node) -> bool:
    """Would it be noticed if the node ran again? Of stores and draws it would, of collectives it would not: every rank
    runs them again."""
    if node.op == "store" or node.effect not in (None, "collective"):
        return True
    return any(happens_once(inner) for body in bodies_of(node).values() for inner in body.nodes)


def collectives_in(program: Program) -> list[tuple[Any, ...]]:
    """The messages between ranks of a graph, in order: operator, what it is called with, and types of operands."""
    found: list[tuple[Any, ...]] = []
    for node in program.nodes:
        if node.effect == "collective":
            types = tuple(value.type for value in node.inputs)
            found.append((node.op, tuple(data for _, data in node.attrs["call"].layout), types))
        for body in bodies_of(node).values():
            found += collectives_in(body)
    return found


def with_operands(node: Node, operands: tuple[Any, ...], attrs: dict[str, Any] | None = None) -> Node:
    """The same node with other operands, and results of its own."""
    made = Node(node.target, node.op, operands, node.attrs if attrs is None else attrs, node.tag)
    keep_remarks(made, node)
    made.results = tuple([Value(value.type, made, value.index) for value in node.results])
    return made


def keep_remarks(made: Node, node: Node) -> None:
    """Let `made` say of itself what `node` says."""
    made.effect, made.place, made.seq = node.effect, node.place, node.seq
    made.recompute, made.region = node.recompute, node.region


def outline(program: Kind) -> Kind:
    """A graph with the same name, inputs and descriptors of inputs, and nothing else."""
    made = type(program)(program.name)
    made.inputs, made.input_descs = list(program.inputs), list(program.input_descs)
    return made


class Replacements:
    """Values that stand for others, while a graph is written anew."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Value, Any] = {}

    def node(self, node: Node) -> Node:
        """The node on replaced operands: itself if there are none."""
        found = self.found
        if found:
            for x in node.operands:
                if x in found:
                    made = with_operands(node, tuple([found.get(y, y) for y in node.operands]))
                    found.update(zip(node.results, made.results, strict=True))
                    return made
        return node

    def outputs(self, program: Program) -> list[Value | None]:
        """The outputs of a graph, replaced."""
        found = self.found
        return [None if value is None else found.get(value, value) for value in program.outputs]

    def finish(self, made: Kind, program: Program) -> Kind:
        """Give `made` the outputs of `program`."""
        made.outputs, made.output_descs = self.outputs(program), list(program.output_descs)
        return made


def with_bodies(node: Node, change: Callable[[Any], Any]) -> Node:
    """The node with `change` made to the graphs that it holds."""
    bodies = bodies_of(node)
    if not bodies:
        return node
    return with_operands(node, node.operands, {**node.attrs, **{name: change(body) for name, body in bodies.items()}})


def in_bodies(change: Callable[[Kind], Kind]) -> Callable[[Kind], Kind]:
    """Make a pass work inside of control flow too."""

    def whole(program: Kind) -> Kind:
        if any(node.target is None and bodies_of(node) for node in program.nodes):
            program = _changed_inside(program, whole)
        return change(program)

    whole.__name__, whole.__doc__ = change.__name__, change.__doc__
    return whole


def _changed_inside(program: Kind, change: Callable[[Any], Any]) -> Kind:
    made, replaced = outline(program), Replacements()
    for node in program.nodes:
        moved = replaced.node(node)
        changed = with_bodies(moved, change)
        if changed is not moved:
            replaced.found.update(zip(node.results, changed.results, strict=True))
        made.nodes.append(changed)
    return replaced.finish(made, program)


def shared(program: Kind) -> Kind:
    """A graph of the same nodes, with lists of inputs, nodes and outputs of its own."""
    made = Replacements().finish(outline(program), program)
    made.nodes = list(program.nodes)
    return made


def copied(program: Kind) -> Kind:
    """A graph of nodes and values of its own."""
    made, found = type(program)(program.name), {}
    for value, desc in zip(program.inputs, program.input_descs, strict=True):
        found[value] = made.add_input(value.type, desc)
    for node in program.nodes:
        own = with_operands(with_bodies(node, copied), tuple([_own(found, x) for x in node.operands]))
        found.update(zip(node.results, own.results, strict=True))
        made.nodes.append(own)
    for output, desc in zip(program.outputs, program.output_descs, strict=True):
        made.add_output(None if output is None else found[output], desc)
    return made


def _own(found: dict[Value, Value], x: Any) -> Any:
    return found[x] if type(x) is Value else x


def replace_uses(program: Kind, old: Value, new: Value) -> Kind:
    """The graph with `new` in place of `old`, from where `new` is made: what `new` is made of keeps reading `old`."""
    program.check_belongs(old)
    program.check_belongs(new)
    made, replaced = outline(program), Replacements()
    is_made = new.node is None
    for node in program.nodes:
        if is_made and not replaced.found:
            replaced.found[old] = new
        made.nodes.append(replaced.node(node) if is_made else node)
        is_made = is_made or node is new.node
    replaced.found.setdefault(old, new)
    return replaced.finish(made, program)


def insert_before(
    program: Kind, node: Node, target: Op | str, operands: Iterable[Any], attrs: dict[str, Any],
    types: Iterable[ArrayType],
) -> tuple[Kind, Node]:  # fmt: skip
    """The graph with one more node in front of `node`, and that node. It has the tag of `node`."""
    made = shared(program)
    place = program.nodes.index(node)
    added = made.add(target, tuple(operands), attrs, types, node.tag)
    made.nodes.insert(place, made.nodes.pop())
    added.place = node.place
    return made, added


# Passes ---------------------------------------------------------------------------------------------------------------


@in_bodies
def dce(program: Kind) -> Kind:
    """Without the nodes that nobody needs; stores, effects and outputs stay."""
    live: set[Any] = set(program.outputs)
    kept = []
    for node in reversed(program.nodes):
        is_live = node.effect is not None or node.op == "store"
        if not is_live:
            for value in node.results:
                if value in live:
                    is_live = True
                    break
            else:
                is_live = node.target is None and keeps_its_place(node)
        if is_live:
            kept.append(node)
            live.update(node.operands)
    made = Replacements().finish(outline(program), program)
    made.nodes = kept[::-1]
    return made


@in_bodies
def cse(program: Kind) -> Kind:
    """With one node where several compute the same.

    Left alone are draws, custom operators and effects, whatever shares memory with an output (two equal outputs are two
    arrays), nodes with a store between them, and a node that only the forward half needs beside one that the backward
    half reads: merging those would save a value for backward that nobody asked for.
    """
    returned = returned_roots(program)
    for_backward = _read_by_backward(program)
    made, replaced = outline(program), Replacements()
    known: dict[Any, Node] = {}
    region = 0
    for original in program.nodes:
        node = replaced.node(original)
        if node.op == "store":
            region += 1
        elif _is_mergeable(original, returned):
            key = (
                node.target or node.op, region, node.tag == BACKWARD or original in for_backward,
                tuple(map(operand_key, node.operands)), attributes_key(node.attrs),
            )  # fmt: skip
            same = known.setdefault(key, node)
            if same is not node:
                replaced.found.update(zip(original.results, same.results, strict=True))
                continue
        made.nodes.append(node)
    return replaced.finish(made, program)


def _is_mergeable(node: Node, returned: set[Value]) -> bool:
    if node.effect is not None or not node.results or (node.target is not None and node.target.family in _NEVER_MERGED):
        return False
    if node.op == "empty" or (node.target is None and keeps_its_place(node)):
        return False
    if node.is_view:
        return root_of(node.results[0]) not in returned
    return returned.isdisjoint(node.results)


def _read_by_backward(program: Program) -> set[Node | None]:
    """The forward nodes that have a reader in the backward half."""
    return {x.node for node in program.nodes if node.tag == BACKWARD for x in node.operands if type(x) is Value}


@in_bodies
def fold(program: Kind) -> Kind:
    """With constants in place of deterministic nodes that have nothing but constants to work on.

    A node that raises or warns is left alone: that happens when the graph runs, and only if it runs. Results of more
    than 64 KiB are left to be computed.
    """
    made, replaced = outline(program), Replacements()
    returned = returned_roots(program)
    for original in program.nodes:
        node = replaced.node(original)
        # An output that is a view of another output must stay one.
        is_seen = original.is_view and root_of(original.results[0]) in returned
        arrays = None if is_seen else _folded(node)
        if arrays is None:
            made.nodes.append(node)
            continue
        for array, value in zip(arrays, original.results, strict=True):
            constant = made.add("constant", (), {"value": array}, (value.type,), node.tag)
            keep_remarks(constant, node)
            replaced.found[value] = constant.result
    return replaced.finish(made, program)


def _folded(node: Node) -> list[np.ndarray[Any, Any]] | None:
    """The results of a node on constants; None if it is not to be folded."""
    target = node.target
    if target is None or node.effect is not None or target.takes_payloads or target.family in _NEVER_MERGED:
        return None
    operands = [x.node.attrs["value"] if _is_constant(x) else x for x in node.operands]
    if any(type(x) is Value for x in operands) or sum(value.nbytes for value in node.results) > LARGEST_FOLDED:
        return None
    try:
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error")
            out = target.kernel(*operands, **node.attrs)
    except Exception:
        return None
    arrays = [np.asarray(part) for part in (out if isinstance(out, (tuple, list)) else (out,))]
    if [type_of(array) for array in arrays] != [value.type for value in node.results]:
        return None
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _is_constant(x: Any) -> bool:
    return type(x) is Value and x.node is not None and x.node.op == "constant"
