"""Boxes and lines: any graph as rows of boxes, in SVG or in the language of `dot`.

Sources stand on top and every box below what it reads. Boxes of a row are ordered by where their neighbours in the row
above are, a few times up and down, so that few lines cross. Nobody's eyes follow ten thousand lines: for such graphs
the text is the better picture.
"""

from __future__ import annotations

from pullback.core.records import Record, field
from pullback.graph.text.style import LIGHT, Drawing, escape

_LETTER, _HEIGHT, _GAP, _ROW, _EDGE = 6.7, 38, 18, 84, 16  # in pixels
_LONGEST = 34
_ROUND = ("input", "output", "leaf")


class Box(Record, eq=False):
    """One box of the picture."""

    title: str
    remark: str
    kind: str  # a key of `style.LIGHT`, which has its colours
    is_dashed: bool = False
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)
    row: int = 0
    x: float = 0.0
    hint: str = ""  # what is told of the box beyond what is written in it
    lines: dict[Box, str] = field(default_factory=dict)  # what is told of the line to a box above
    views: list[Box] = field(default_factory=list)  # the boxes above whose memory is shared: a dashed line

    @property
    def width(self) -> float:
        """As wide as what is written in it."""
        return max(len(self.title), len(self.remark)) * _LETTER + 18

    def read(self, source: Box, told: str = "", is_view: bool = False) -> None:
        """Stand below `source`, with a line to it."""
        if source not in self.above:
            self.above.append(source)
            source.below.append(self)
        if told:
            self.lines[source] = told
        if is_view:
            self.views.append(source)


def short(text: str) -> str:
    """Text that fits into a box."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def laid_out(boxes: list[Box]) -> list[list[Box]]:
    """Rows of boxes from top to bottom, each box with its place. Sources come before their readers in `boxes`."""
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


def drawn(boxes: list[Box]) -> Drawing:
    """The boxes with their lines."""
    rows = laid_out(boxes)
    ordered = [box for row in rows for box in row]
    left = min((box.x - box.width / 2 for box in ordered), default=0) - _EDGE
    right = max((box.x + box.width / 2 for box in ordered), default=0) + _EDGE
    height = len(rows) * _ROW - (_ROW - _HEIGHT) + 2 * _EDGE
    lines = [_line(source, box) for box in ordered for source in box.above]
    return Drawing(left, -_EDGE, right - left, height, "\n".join(lines + [_drawn(box) for box in ordered]))


def _line(source: Box, box: Box) -> str:
    start, end = source.row * _ROW + _HEIGHT, box.row * _ROW
    bend = min((end - start) / 2, 30)
    path = f"M{source.x:.1f},{start} C{source.x:.1f},{start + bend:.1f} {box.x:.1f},{end - bend:.1f} {box.x:.1f},{end}"
    dashed = ' stroke-dasharray="2 3"' if source in box.views else ""
    told = box.lines.get(source, "")
    inside = f"><title>{escape(told)}</title></path>" if told else "/>"
    return f'<path class="pb-line" d="{path}" fill="none" stroke="#7d8a93" stroke-width="1.1"{dashed}{inside}'


def _drawn(box: Box) -> str:
    top = box.row * _ROW
    corner = 16 if box.kind in _ROUND else 5
    dashed = ' stroke-dasharray="4 3"' if box.is_dashed else ""
    hint = f"<title>{escape(box.hint)}</title>" if box.hint else ""
    fill, stroke = LIGHT[box.kind]
    return (
        f'<g class="{box.kind}">{hint}<rect x="{box.x - box.width / 2:.1f}" y="{top}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="{corner}" fill="{fill}" stroke="{stroke}"{dashed}/>'
        f'<text x="{box.x:.1f}" y="{top + 16}" text-anchor="middle" fill="#1c2a33">{escape(box.title)}</text>'
        f'<text class="pb-soft" x="{box.x:.1f}" y="{top + 30}" text-anchor="middle" fill="#51606a" font-size="9.5">'
        f"{escape(box.remark)}</text></g>"
    )


def dot(boxes: list[Box], name: str) -> str:
    """The boxes in the language of Graphviz."""
    numbers = {box: f"n{number}" for number, box in enumerate(boxes)}
    lines = [f"digraph {_quoted(name)} {{", '  node [shape=box, style=filled, fontname="monospace"];']
    for box, number in numbers.items():
        style = '"filled,dashed"' if box.is_dashed else '"filled"'
        label = _quoted(f"{box.title}\n{box.remark}")
        fill, stroke = LIGHT[box.kind]
        lines.append(f'  {number} [label={label}, style={style}, fillcolor="{fill}", color="{stroke}"];')
    for box in boxes:
        for source in box.above:
            dashed = " [style=dashed]" if source in box.views else ""
            lines.append(f"  {numbers[source]} -> {numbers[box]}{dashed};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
