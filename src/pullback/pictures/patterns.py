"""Sparse matrices as pictures: where the entries are, and which columns or rows are computed together.

The text has eight entries in each letter, as the dots of braille; a matrix of more than 2000 rows or columns is drawn
in bins, each of them dark if there is an entry in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.func._sparse.coloring import color_columns, color_rows, number_of
from pullback.graph.text.style import LIGHT, SERIES, Drawing
from pullback.pictures.picture import Picture

_MOST = 2000
_SIDE = 640.0  # pixels of the longer side
_MOST_CELLS = 6000
_MOST_COLORED = 50_000  # entries; colours of more take longer to find than anybody waits for a picture
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def is_pattern(what: Any) -> bool:
    """Is this a sparse matrix of SciPy?"""
    return hasattr(what, "tocoo") and hasattr(what, "nnz")


def pattern_picture(matrix: Any, theme: str) -> Picture:
    """The entries of a sparse matrix, coloured by what one product computes together."""
    pattern = matrix.tocsr()
    height, width = pattern.shape
    is_colored = pattern.nnz <= _MOST_COLORED
    columns, rows = (color(pattern) if is_colored else np.zeros(size, np.int64)
                     for color, size in ((color_columns, width), (color_rows, height)))  # fmt: skip
    by_columns = number_of(columns) <= number_of(rows)
    colors, count = (columns, number_of(columns)) if by_columns else (rows, number_of(rows))
    entries = pattern.tocoo()
    share = 100 * entries.nnz / max(height * width, 1)
    what = "columns" if by_columns else "rows"
    title = f"pattern of {height} x {width}: {entries.nnz} entries ({share:.2g} %)"
    title += f", {count} colour{'' if count == 1 else 's'} of {what}" if is_colored else ", too many to be coloured"
    data = {
        "shape": [height, width], "nnz": int(entries.nnz), "colors": count if is_colored else None, "colored": what,
        "rows": entries.row.tolist(), "columns": entries.col.tolist(), "color_of": colors.tolist(),
    }  # fmt: skip
    cells = colors[entries.col if by_columns else entries.row]
    drawing = _drawn(entries.row, entries.col, cells, height, width)
    return Picture(
        "pattern", title, data, lambda letters: braille(entries.row, entries.col, (height, width), letters),
        drawing=drawing, theme=theme,
    )  # fmt: skip


def braille(rows: Any, columns: Any, shape: tuple[int, int], width: int) -> list[str]:
    """Lines of letters, each of which stands for four rows and two columns, or for more if these would be too wide."""
    per_dot = max(-(-shape[1] // (2 * max(width, 1))), -(-shape[0] // 400), 1)
    height, length = -(-shape[0] // per_dot), -(-shape[1] // per_dot)
    dots = np.zeros((-(-max(height, 1) // 4) * 4, -(-max(length, 1) // 2) * 2), np.bool_)
    dots[np.asarray(rows) // per_dot, np.asarray(columns) // per_dot] = True
    blocks = dots.reshape(dots.shape[0] // 4, 4, dots.shape[1] // 2, 2).transpose(0, 2, 1, 3)
    codes = 0x2800 + (blocks * _DOTS).sum(axis=(2, 3))
    return ["".join(map(chr, line)) for line in codes.tolist()]


def _drawn(rows: Any, columns: Any, colors: Any, height: int, width: int) -> Drawing:
    bin_size = max(-(-max(height, width) // _MOST), 1)
    while True:  # as many bins as a page can hold
        cells = {
            (int(row), int(column)): int(color)
            for row, column, color in zip(rows // bin_size, columns // bin_size, colors, strict=True)
        }
        if len(cells) <= _MOST_CELLS:
            break
        bin_size *= 2
    scale = min(_SIDE * bin_size / max(height, width, 1), 24.0)
    across, down = width / bin_size * scale, height / bin_size * scale
    fill, line = LIGHT["more"]
    parts = [f'<rect class="more" x="0" y="0" width="{across:.1f}" height="{down:.1f}" fill="{fill}" stroke="{line}"/>']
    for (row, column), color in cells.items():
        kind = SERIES[color % len(SERIES)]
        fill, line = LIGHT[kind]
        parts.append(
            f'<rect class="{kind}" x="{column * scale:.2f}" y="{row * scale:.2f}" width="{scale:.2f}" '
            f'height="{scale:.2f}" fill="{fill}" stroke="{line}" stroke-width="{min(scale / 8, 1):.2f}"/>'
        )
    return Drawing(-8, -8, across + 16, down + 16, "\n".join(parts))
