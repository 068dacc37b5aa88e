"""`expand`: operators as the others that their declarations name, which can be fused with what is around them."""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.compiler.passes.stand_ins import StandIn, Writer
from pullback.declare.facts import Expansion
from pullback.declare.op import Op
from pullback.graph.ir import ArrayType, Node, Program, Value
from pullback.graph.rewrite import Replacements, keep_remarks, outline

Kind = TypeVar("Kind", bound=Program)


def expand(program: Kind) -> Kind:
    """With operators written out as others."""
    if not any(node.target is not None and node.target.expansion is not None for node in program.nodes):
        return program
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        expansion = None if node.target is None else node.target.expansion
        if expansion is not None and _fits(node, expansion) and meets(node, expansion):
            # path: expanded operator
            replaced.found.update(zip(original.results, _written(made, node, expansion), strict=True))
        else:
            made.nodes.append(node)
    return replaced.finish(made, program)


def meets(node: Node, expansion: Expansion) -> bool:
    """Does the condition of the declaration hold? It is asked with what the names of its parameters say."""
    if expansion.when is None:
        return True
    op, writer = node.target, Writer(_refuse)
    assert op is not None
    code = expansion.when.__code__
    values = [StandIn(writer, x) if type(x) is Value else x for x in node.operands]
    results = [StandIn(writer, x) for x in node.results]
    arrays = (*zip(op.outputs, results, strict=True), *zip(op.operands, values, strict=False))
    known = {**node.attrs, **dict(arrays)}
    if op.variadic_from >= 0:
        known[op.operands[-1][1:]] = values[op.variadic_from :]
    return bool(expansion.when(*[known.get(name) for name in code.co_varnames[: code.co_argcount]]))


def _fits(node: Node, expansion: Expansion) -> bool:
    """Are the operands what the expansion takes, and do results lie in memory as it gives them?"""
    assert node.target is not None
    if expansion.of != "everything" and not _has_numbers(node, expansion.of == "mixed"):
        return False
    if expansion.in_rows and any(value.type.strides is not None for value in node.results):
        return False
    if node.target.flow == "elementwise" and expansion.when is None:  # what is not repeated
        return node.inputs[0].type.shape == node.results[0].type.shape
    arrays = node.operands[:1] if expansion.takes_numbers else node.operands
    return all(x is None or type(x) is Value for x in arrays)


def _has_numbers(node: Node, is_mixed: bool) -> bool:
    """Real floating numbers of one kind throughout, and elements. A mixture has other operands than numbers, too."""
    dtype = node.results[0].type.dtype
    numbers = [x for x in node.inputs if not is_mixed or x.type.dtype.kind in "fc"]
    if any(type(x) is complex for x in node.operands):
        return False
    if dtype.char not in "fd" or not dtype.isnative or any(x.type.dtype != dtype for x in numbers):
        return False
    return all(x.type.size for x in node.inputs)


def _written(program: Program, node: Node, expansion: Expansion) -> list[Value]:
    def add(target: Op | str, operands: tuple[Any, ...], type_: ArrayType, attrs: dict[str, Any]) -> Value:
        made = program.add(target, operands, attrs, (type_,), node.tag)
        keep_remarks(made, node)
        return made.result

    assert node.target is not None
    likes = (node.results[0].type,) if node.target.flow == "elementwise" else ()
    found = Writer(add, *likes).written(expansion.function, node)
    return [laid_out(program, value, wanted.type) for value, wanted in zip(found, node.results, strict=True)]


def laid_out(program: Program, value: Value, wanted: ArrayType) -> Value:
    """The value as it lay in memory before: what was written last is written there."""
    last = program.nodes[-1] if program.nodes else None
    if value.type == wanted or last is None or value.node is not last:
        return value
    program.nodes.pop()
    made = program.add(last.target or last.op, last.operands, last.attrs, (wanted,), last.tag)
    keep_remarks(made, last)
    return made.result


def _refuse(*ignored: Any) -> Value:
    raise TypeError("a condition of `expand` computes something")
