"""A picture of a graph: as SVG, laid out here, or in the language of `dot` for those who have it.

Inputs stand on top, outputs at the bottom, and every node below what it reads. Forward nodes are blue, backward nodes
orange, effects and stores have a dashed border. Boxes of a row are ordered by where their neighbours in the row above
are, a few times up and down, so that few lines cross. Nobody's eyes follow ten thousand lines: for such graphs the
text is the better picture.
"""

from __future__ import annotations

from typing import Any

from pullback.core.records import Record, field
from pullback.graph.ir import BACKWARD, Program, Value
from pullback.graph.literals import Writer, type_text
from pullback.graph.printing import bodies_of, numbered
from pullback.graph.rewrite import keeps_its_place

_FILLS = {"input": "#eceff1", "fw": "#d6e9fb", "bw": "#fde3c8", "output": "#dff2df"}
_LINES = {"input": "#78909c", "fw": "#2f74b5", "bw": "#c4691c", "output": "#3f8f4f"}
_LETTER, _HEIGHT, _GAP, _ROW, _EDGE = 6.7, 38, 18, 84, 16  # in pixels
_LONGEST = 34


def escape(text: str) -> str:
    """Text as SVG has it. `html` can do this too, and takes longer to load than everything else here."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Box(Record, eq=False):
    """One box of the picture."""

    title: str
    remark: str
    kind: str  # input, fw, bw or output
    is_dashed: bool = False
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)
    row: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        """As wide as what is written in it."""
        return max(len(self.title), len(self.remark)) * _LETTER + 18


def boxes_of(program: Program) -> list[Box]:
    """The boxes of a graph, operands before their readers."""
    numbers = numbered(program)
    owners: dict[Value, Box] = {}
    boxes = []
    for value, desc in zip(program.inputs, program.input_descs, strict=True):
        title = f"%{numbers[value]}" if desc is None else desc.expr()
        boxes.append(Box(_short(title), f"%{numbers[value]}: {type_text(value.type)}", "input"))
        owners[value] = boxes[-1]
    for node in program.nodes:
        remark = ", ".join(f"%{numbers[value]}: {type_text(value.type)}" for value in node.results)
        kind = "bw" if node.tag == BACKWARD else "fw"
        box = Box(_short(_title(node)), _short(remark), kind, keeps_its_place(node))
        boxes.append(_joined(box, node.inputs, owners))
        owners.update(dict.fromkeys(node.results, box))
    for output, desc in zip(program.outputs, program.output_descs, strict=True):
        if output is not None:
            title = "output" if desc is None else desc.expr()
            boxes.append(_joined(Box(_short(title), f"%{numbers[output]}", "output"), (output,), owners))
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


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _joined(box: Box, values: Any, owners: dict[Value, Box]) -> Box:
    for value in dict.fromkeys(values):
        source = owners[value]
        if source not in box.above:
            box.above.append(source)
            source.below.append(box)
    return box


# Layout ---------------------------------------------------------------------------------------------------------------


def laid_out(boxes: list[Box]) -> list[list[Box]]:
    """Rows of boxes from top to bottom, each box with its place."""
    for box in boxes:
        box.row = max((source.row + 1 for source in box.above), default=0)
    last = max((box.row for box in boxes), default=0)
    for box in reversed(boxes):
        if box.kind == "output":
            box.row = last
        elif not box.above and box.kind != "input" and box.below:
            box.row = min(reader.row for reader in box.below) - 1  # a constant stands near its first reader
    rows: list[list[Box]] = [[] for _ in range(last + 1)]
    for box in boxes:
        rows[box.row].append(box)
    for sweep in range(4):
        _place(rows)
        for row in rows if sweep % 2 == 0 else reversed(rows):
            neighbours = "above" if sweep % 2 == 0 else "below"
            row.sort(key=lambda box, name=neighbours: _middle(box, getattr(box, name)))  # type: ignore[misc]
            _place_row(row)
    _place(rows)
    return rows


def _middle(box: Box, neighbours: list[Box]) -> float:
    if not neighbours:
        return box.x
    return sum(other.x for other in neighbours) / len(neighbours)


def _place_row(row: list[Box]) -> None:
    """Side by side, with the middle of the row at 0. `x` is the middle of a box."""
    x = -(sum(box.width for box in row) + _GAP * (len(row) - 1)) / 2
    for box in row:
        box.x = x + box.width / 2
        x += box.width + _GAP


def _place(rows: list[list[Box]]) -> None:
    for row in rows:
        _place_row(row)


# Drawing --------------------------------------------------------------------------------------------------------------


def to_svg(program: Program) -> str:
    """The picture, complete in itself."""
    rows = laid_out(boxes_of(program))
    boxes = [box for row in rows for box in row]
    left = min((box.x - box.width / 2 for box in boxes), default=0) - _EDGE
    right = max((box.x + box.width / 2 for box in boxes), default=0) + _EDGE
    width, height = right - left, len(rows) * _ROW - (_ROW - _HEIGHT) + 2 * _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {-_EDGE} {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">',
        f"<title>graph {escape(program.name)}</title>",
        f'<rect x="{left:.0f}" y="{-_EDGE}" width="{width:.0f}" height="{height}" fill="white"/>',
    ]
    parts += [_line(source, box) for box in boxes for source in box.above]
    parts += [_drawn(box) for box in boxes]
    return "\n".join([*parts, "</svg>"])


def _line(source: Box, box: Box) -> str:
    start, end = source.row * _ROW + _HEIGHT, box.row * _ROW
    bend = min((end - start) / 2, 30)
    path = f"M{source.x:.1f},{start} C{source.x:.1f},{start + bend:.1f} {box.x:.1f},{end - bend:.1f} {box.x:.1f},{end}"
    return f'<path d="{path}" fill="none" stroke="#9aa5ad" stroke-width="1.1"/>'


def _drawn(box: Box) -> str:
    top = box.row * _ROW
    corner = 16 if box.kind in ("input", "output") else 5
    dashed = ' stroke-dasharray="4 3"' if box.is_dashed else ""
    return (
        f'<g class="{box.kind}"><rect x="{box.x - box.width / 2:.1f}" y="{top}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="{corner}" fill="{_FILLS[box.kind]}" stroke="{_LINES[box.kind]}"{dashed}/>'
        f'<text x="{box.x:.1f}" y="{top + 16}" text-anchor="middle" fill="#1c2a33">{escape(box.title)}</text>'
        f'<text x="{box.x:.1f}" y="{top + 30}" text-anchor="middle" fill="#66757f" font-size="9.5">'
        f"{escape(box.remark)}</text></g>"
    )


def to_dot(program: Program) -> str:
    """The picture in the language of Graphviz."""
    boxes = boxes_of(program)
    numbers = {box: f"n{number}" for number, box in enumerate(boxes)}
    lines = [f"digraph {_quoted(program.name)} {{", '  node [shape=box, style=filled, fontname="monospace"];']
    for box, name in numbers.items():
        style = '"filled,dashed"' if box.is_dashed else '"filled"'
        label = _quoted(f"{box.title}\n{box.remark}")
        lines.append(
            f'  {name} [label={label}, style={style}, fillcolor="{_FILLS[box.kind]}", color="{_LINES[box.kind]}"];'
        )
    lines += [f"  {numbers[source]} -> {numbers[box]};" for box in boxes for source in box.above]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
