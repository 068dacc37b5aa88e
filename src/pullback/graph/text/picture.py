"""A picture of a graph: as SVG, laid out by `layout`, or in the language of `dot` for those who have it.

Inputs stand on top, outputs at the bottom, and every node below what it reads. Forward nodes are blue, backward nodes
orange, effects and stores have a dashed border.
"""

from __future__ import annotations

from typing import Any

from pullback.graph.ir import BACKWARD, Program, Value
from pullback.graph.rewrite import keeps_its_place
from pullback.graph.text import style
from pullback.graph.text.layout import Box, dot, drawn, short
from pullback.graph.text.literals import Writer, type_text
from pullback.graph.text.printing import bodies_of, numbered


def boxes_of(program: Program) -> list[Box]:
    """The boxes of a graph, operands before their readers."""
    numbers = numbered(program)
    owners: dict[Value, Box] = {}
    boxes = []
    for value, desc in zip(program.inputs, program.input_descs, strict=True):
        title = f"%{numbers[value]}" if desc is None else desc.expr()
        boxes.append(Box(short(title), f"%{numbers[value]}: {type_text(value.type)}", "input"))
        owners[value] = boxes[-1]
    for node in program.nodes:
        remark = ", ".join(f"%{numbers[value]}: {type_text(value.type)}" for value in node.results)
        kind = "bw" if node.tag == BACKWARD else "fw"
        box = Box(short(_title(node)), short(remark), kind, keeps_its_place(node))
        boxes.append(_joined(box, node.inputs, owners))
        owners.update(dict.fromkeys(node.results, box))
    for output, desc in zip(program.outputs, program.output_descs, strict=True):
        if output is not None:
            title = "output" if desc is None else desc.expr()
            boxes.append(_joined(Box(short(title), f"%{numbers[output]}", "output"), (output,), owners))
    return boxes


def _title(node: Any) -> str:
    """The operator with what it is given besides values."""
    writer = Writer(False)
    if node.op == "constant":
        return f"constant {writer.array(node.attrs['value'])}"
    if node.op == "update":
        return f"update {' '.join(step.op.name for step in node.attrs['steps'])}"
    bodies = bodies_of(node)
    numbers = [writer.value(x) for x in node.operands if type(x) is not Value]
    params = writer.params({name: value for name, value in node.attrs.items() if name not in bodies})
    given = ", ".join(numbers + params)
    return f"{node.op}({given})" if given else node.op


def _joined(box: Box, values: Any, owners: dict[Value, Box]) -> Box:
    for value in dict.fromkeys(values):
        box.read(owners[value], type_text(value.type))
    return box


def to_svg(program: Program) -> str:
    """The picture, complete in itself."""
    return style.picture(drawn(boxes_of(program)), f"graph {program.name}")


def to_dot(program: Program) -> str:
    """The picture in the language of Graphviz."""
    return dot(boxes_of(program), program.name)
