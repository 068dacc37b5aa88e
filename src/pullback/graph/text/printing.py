"""A graph as text: one node per line, what it belongs to in a column of its own.

    graph joint(%0: f64[3] = args[0], %1: f64[3] = tangent(output[0])) {
      %2: f64[3] = multiply(%0, 3)      # fw
      %3: f64[3] = update(%2, 1.0, view=(_basic_index(index=(0, ...))))     # fw
      %4: f64[3] = cond(%5, %0)         # fw
        true: graph branch(%0: f64[3] = input[0]) {
          return (result[0]=%0)
        }
      store %0 <- %2                    # fw
      return (output[0]=%2, grad(args[0])=None)
    }

Behind the tag stand an effect and what the partitioner was told: `# fw random recompute=must_save region=1`. Values
are numbered from the inputs on, in every nested graph anew. `str()` is for people and abbreviates large constants;
`to_text()` is complete, and `graph/text/parsing.py` reads it.
"""

from __future__ import annotations

from typing import Any

from pullback.graph.ir import Node, Program, Value
from pullback.graph.text.literals import Writer, described, type_text

_WIDTH = 118  # a line that would be longer is broken, where lists of inputs and outputs are concerned
_COLUMN = 84  # tags are aligned, but a very long line does not push all of them aside


def program_text(program: Program, is_complete: bool = True) -> str:
    """The text of a graph."""
    return "\n".join(_lines(program, Writer(is_complete)))


def opaque_in(program: Program) -> list[Any]:
    """The attributes that have no text, in order."""
    writer = Writer(False)
    _lines(program, writer)
    return writer.opaque


def _lines(program: Program, writer: Writer) -> list[str]:
    numbers = numbered(program)
    inputs = [
        f"%{numbers[value]}: {type_text(value.type)}{_described(' = ', desc)}"
        for value, desc in zip(program.inputs, program.input_descs, strict=True)
    ]
    outputs = [
        f"{_described('', desc, '=')}{_reference(value, numbers)}"
        for value, desc in zip(program.outputs, program.output_descs, strict=True)
    ]
    statements = [(_statement(node, numbers, writer), node) for node in program.nodes]
    column = min(max([len(text) for text, _ in statements], default=0), _COLUMN)
    lines = _listed(f"graph {program.name}(", inputs, ") {")
    for text, node in statements:
        lines.append(f"  {text:<{column}} # {_remarks(node)}")
        for name, body in bodies_of(node).items():
            first, *rest = _lines(body, writer)
            lines += [f"    {name}: {first}", *(f"    {line}" for line in rest)]
    return [*lines, *(f"  {line}" for line in _listed("return (", outputs, ")")), "}"]


def _listed(start: str, parts: list[str], end: str) -> list[str]:
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) <= _WIDTH or len(parts) < 2:
        return [line]
    return [start, *(f"  {part}," for part in parts), end]


def _described(before: str, desc: Any, after: str = "") -> str:
    return "" if desc is None else f"{before}{desc.expr()}{after}"


def _reference(value: Value | None, numbers: dict[Value, int]) -> str:
    return "None" if value is None else f"%{numbers.get(value, '?')}"


def _statement(node: Node, numbers: dict[Value, int], writer: Writer) -> str:
    if node.op == "store":
        target, value = node.operands
        return f"store {operand_text(target, numbers, writer)} <- {operand_text(value, numbers, writer)}"
    results = ", ".join(f"%{numbers[value]}: {type_text(value.type)}" for value in node.results)
    parts = _arguments(node, [operand_text(x, numbers, writer) for x in node.operands], writer)
    return f"{results}{' = ' if results else ''}{node.op}({', '.join(parts)})"


def _arguments(node: Node, operands: list[str], writer: Writer) -> list[str]:
    if not writer.is_complete and len(node.attrs) == 1:
        (attribute,) = node.attrs.values()
        entry = described.get(type(attribute))
        if entry is not None and entry.arguments is not None:
            return entry.arguments(attribute, operands, writer)
    return [*operands, *_attributes(node, writer)]


def _attributes(node: Node, writer: Writer) -> list[str]:
    if node.op == "constant":
        return [writer.array(node.attrs["value"])]
    if node.op == "update":
        return [f"view=({', '.join(map(writer.step, node.attrs['steps']))})"]
    return writer.params({name: value for name, value in node.attrs.items() if not isinstance(value, Program)})


def operand_text(x: Any, numbers: dict[Value, int], writer: Writer) -> str:
    """An operand: the number of a value, or a Python number."""
    return _reference(x, numbers) if type(x) is Value else writer.value(x)


def _remarks(node: Node) -> str:
    words = [node.tag]
    if node.effect is not None:
        words.append(node.effect)
    if node.recompute is not None:
        words.append(f"recompute={node.recompute}")
    if node.region is not None:
        words.append(f"region={node.region}")
    return " ".join(words)


def numbered(program: Program) -> dict[Value, int]:
    """The number of every value: inputs first, then in order."""
    numbers: dict[Value, int] = {}
    for value in program.inputs:
        numbers[value] = len(numbers)
    for node in program.nodes:
        for value in node.results:
            numbers[value] = len(numbers)
    return numbers


def bodies_of(node: Node) -> dict[str, Program]:
    """The graphs that a node of control flow holds."""
    if node.target is not None:
        return {}
    return {name: value for name, value in node.attrs.items() if isinstance(value, Program)}
