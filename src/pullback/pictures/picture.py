"""`Picture`: what `pb.show` returns. One object, and a form of it for each place where somebody may look.

A picture holds texts and numbers only. It keeps no tensor, no graph and no memory of what it shows alive.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from pullback.graph.text import style
from pullback.graph.text.layout import Box, dot, drawn
from pullback.graph.text.style import Drawing

SCHEMA_VERSION = 1
_ASCII = str.maketrans({
    "├": "|", "└": "`", "│": "|", "─": "-", "…": ".", "×": "x", "█": "#", "▏": "|", "·": ".", "→": ">", "←": "<",
    "—": "-", "▁": "_", "▂": "_", "▃": "-", "▄": "-", "▅": "=", "▆": "=", "▇": "#",
})  # fmt: skip


class Picture:
    """A drawing of something, with the tables that belong to it.

    `str()` is the text, a notebook shows the drawing, and `save` writes a file whose form its suffix says.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> picture = pb.show((x * x).sum())
    >>> print(picture)
    tape: 2 operations, 1 leaf, 16 B kept for backward, 0 B of them new
    sum  float64[]
    multiply  float64[2]  keeps x 16 B
    └─ leaf x  float64[2]  no .grad
    >>> picture.to_svg().startswith("<svg")
    True
    """

    def __init__(
        self,
        kind: str,
        title: str,
        data: dict[str, Any],
        lines: Callable[[int], list[str]],
        *,
        boxes: list[Box] | None = None,
        drawing: Drawing | None = None,
        tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[Any]]]] = (),
        theme: str = "auto",
    ) -> None:
        style.check_theme(theme)
        self.kind = kind
        self.title = title
        self.data = {"schema_version": SCHEMA_VERSION, "kind": kind, "title": title, **data}
        self.theme = theme
        self._lines = lines
        self._boxes = boxes
        self._drawing = drawing
        self._tables = tables

    def to_text(self, width: int | None = None) -> str:
        """Lines for a terminal, `width` characters wide: that of the terminal if none is given, else 80."""
        width = shutil.get_terminal_size((80, 24)).columns if width is None else width
        lines = [self.title, *self._lines(width)]
        return "\n".join(line if len(line) <= width else f"{line[: width - 1]}…" for line in lines)

    def to_svg(self) -> str:
        """The drawing, complete in itself: light or dark as whoever shows it prefers."""
        return style.picture(self._drawn(), self.title, self.theme)

    def to_html(self) -> str:
        """A whole page in one file, with a search and a zoom. It loads nothing."""
        return style.page(self._body(), self.title, self.theme)

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        if self._boxes is None:
            raise TypeError(f"a picture of kind {self.kind!r} is not a graph, and has no form in the language of dot")
        return dot(self._boxes, self.title)

    def to_json(self, **options: Any) -> str:
        """What is shown, for programs; `options` are those of `json.dumps`."""
        return json.dumps(self.data, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: `.svg`, `.html`, `.txt`, `.dot` or `.json`."""
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        if suffix not in _FORMS:
            known = ", ".join(_FORMS)
            raise ValueError(f"cannot tell from {os.fspath(path)!r} in which form to save a picture; known are {known}")
        text = _FORMS[suffix](self)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def open(self) -> str:
        """Show the page in a browser; returns where the file is."""
        import webbrowser  # few programs ever do this

        handle, path = tempfile.mkstemp(".html", "pullback-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.to_html())
        webbrowser.open(f"file://{path}")
        return path

    def _drawn(self) -> Drawing:
        if self._drawing is None:
            self._drawing = drawn(self._boxes or [])
        return self._drawing

    def _body(self) -> str:
        parts = [style.embedded(self._drawn(), self.title)]
        for heading, head, rows in self._tables:
            parts.append(f"<h3>{style.escape(heading)}</h3>{style.table(head, rows)}")
        return "".join(parts)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.to_text(80), "text/html": style.output(self._body(), self.theme)}

    def __rich__(self) -> str:
        return self.to_text().replace("[", r"\[")

    def __str__(self) -> str:
        return for_stream(self.to_text())

    __repr__ = __str__


_FORMS: dict[str, Callable[[Picture], str]] = {
    ".svg": Picture.to_svg,
    ".html": Picture.to_html,
    ".txt": lambda picture: picture.to_text(100),
    ".dot": Picture.to_dot,
    ".json": Picture.to_json,
}


def for_stream(text: str) -> str:
    """Text with characters that the standard output can write: ASCII for those of boxes where it must be."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def columns(rows: Sequence[Sequence[Any]], right: frozenset[int] | set[int] = frozenset()) -> list[str]:
    """Rows as lines whose cells stand below each other; the columns `right` are aligned to the right."""
    if not rows:
        return []
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
    return [
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    ]


def tree(root: Any, children: Callable[[Any], Sequence[Any]], label: Callable[[Any, bool], str]) -> list[str]:
    """What hangs below `root`, one line each. What was there before is named again, without what hangs below it.

    Of several children the last one goes on in the column of its parent, since loops are long and lines are not.
    """
    lines: list[str] = []
    seen: set[int] = set()
    pending: list[tuple[Any, str, str]] = [(root, "", "")]
    while pending:
        item, first, rest = pending.pop()
        is_again = id(item) in seen
        seen.add(id(item))
        lines.append(first + label(item, is_again))
        below = [] if is_again else list(children(item))
        for position, child in reversed(list(enumerate(below))):
            if position < len(below) - 1:
                pending.append((child, f"{rest}├─ ", f"{rest}│  "))
            elif id(child) in seen or not children(child):
                pending.append((child, f"{rest}└─ ", f"{rest}   "))
            else:
                pending.append((child, rest, rest))
    return lines
