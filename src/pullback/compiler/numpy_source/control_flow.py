"""Control flow as Python's own: a branch, or a loop around a function that is written from the body's graph.

The functions of bodies return arrays in memory of their own, except that a loop may hand on a carried value as it is.
So the results of a loop are arrays of its own too, once those that it never replaced are copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pullback.compiler.numpy_source.runtime import own_memory
from pullback.graph.ir import Node, Program
from pullback.graph.literals import type_text

if TYPE_CHECKING:
    from pullback.compiler.numpy_source.function import FunctionWriter


def write_body(writer: FunctionWriter, program: Program, name: str, carried: int = 0) -> str:
    """The name of a function for the graph of a body, which is written before the function that calls it."""
    passed = {k for k in range(carried) if program.outputs[k] is program.inputs[k]}
    fresh = frozenset(range(len(program.outputs))) - passed
    own = writer.module.name(name)
    body = type(writer)(writer.module, program, fresh, writer.is_portable)
    writer.module.functions.append(body.write(own, is_boxed=False))
    return own


def _results(writer: FunctionWriter, node: Node) -> tuple[list[str], str]:
    names = [writer.name_result(value) for value in node.results]
    return names, ", ".join(type_text(value.type) for value in node.results)


def _tuple(names: list[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def write_cond(writer: FunctionWriter, node: Node) -> None:
    """`if predicate: ... else: ...`."""
    predicate, *args = [writer.argument(x) for x in writer.operands[node]]
    branches = [write_body(writer, node.attrs[key], f"when_{key}") for key in ("true", "false")]
    names, types = _results(writer, node)
    left = f"{_tuple(names)} = " if names else ""
    for word, branch in zip((f"if {predicate}:", "else:"), branches, strict=True):
        writer.add(word, types)
        writer.add(f"    {left}{branch}({', '.join(args)})")


def write_while_loop(writer: FunctionWriter, node: Node) -> None:
    """`while condition: ...`."""
    carried = node.attrs["carried"]
    args = [writer.argument(x) for x in writer.operands[node]]
    condition = write_body(writer, node.attrs["condition"], "condition")
    body = write_body(writer, node.attrs["body"], "body", carried)
    names, types = _results(writer, node)
    _begin(writer, names, args, types)
    given = ", ".join([*names, *args[carried:]])
    writer.add(f"while {condition}({given})[0]:")
    writer.add(f"    {_tuple(names)} = {body}({given})")
    _end(writer, names, args)


def write_scan(writer: FunctionWriter, node: Node) -> None:
    """`for step in range(length): ...`, with what is collected in arrays that are there from the start."""
    carried, scanned, length = (node.attrs[key] for key in ("carried", "scanned", "length"))
    args = [writer.argument(x) for x in writer.operands[node]]
    body = write_body(writer, node.attrs["body"], "body", carried)
    names, types = _results(writer, node)
    carry, collected = names[:carried], names[carried:]
    _begin(writer, carry, args, types)
    for name, value in zip(collected, node.results[carried:], strict=True):
        writer.add(f"{name} = np.empty({value.type.shape}, {writer.module.dtype(value.type.dtype)})")
    step = writer.module.name("step")
    items = [writer.module.name("item") for _ in collected]
    slices = [f"{name}[{step}, ...]" for name in args[carried : carried + scanned]]
    given = ", ".join([*carry, *slices, *args[carried + scanned :]])
    steps = f"range({length} - 1, -1, -1)" if node.attrs["reverse"] else f"range({length})"
    writer.add(f"for {step} in {steps}:")
    left = f"{_tuple([*carry, *items])} = " if carry or items else ""
    writer.add(f"    {left}{body}({given})")
    for name, item in zip(collected, items, strict=True):
        writer.add(f"    {name}[{step}] = {item}")
    _end(writer, carry, args)


def _begin(writer: FunctionWriter, carry: list[str], args: list[str], types: str) -> None:
    for name, arg in zip(carry, args, strict=False):
        writer.add(f"{name} = {arg}", types)
        types = ""


def _end(writer: FunctionWriter, carry: list[str], args: list[str]) -> None:
    for name, arg in zip(carry, args, strict=False):
        writer.add(f"{name} = {writer.module.bind(own_memory, 'own_memory', 'helper')}({name}, {arg})")


WRITERS: dict[str, Callable[[FunctionWriter, Node], None]] = {
    "cond": write_cond,
    "while_loop": write_while_loop,
    "scan": write_scan,
}
