"""A picture of ratios: horizontal bars on a logarithmic scale, with a mark where each goal is. Plain SVG."""

import math
from collections.abc import Sequence
from html import escape

LINE, LABELS, WIDTH = 20, 330, 460  # pixels: height of a row, room for names, length of the scale
LEAST, MOST = 0.01, 10.0
MET, MISSED, GOAL = "#2a7f62", "#c05746", "#222"


def place(ratio: float) -> float:
    """Where a ratio is on the scale."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LABELS + WIDTH * share


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def bar(top: float, label: str, ratio: float, goal: float) -> list[str]:
    """One row."""
    left, right, mark = place(LEAST), place(ratio), place(goal)
    colour = MET if ratio <= goal else MISSED
    return [
        text(LABELS - 8, top + 14, label, "end"),
        f'<rect x="{left:.1f}" y="{top + 3}" width="{right - left:.1f}" height="{LINE - 6}" fill="{colour}"/>',
        f'<rect x="{mark - 1:.1f}" y="{top + 1}" width="2" height="{LINE - 2}" fill="{GOAL}"/>',
        text(max(right, mark) + 6, top + 14, f"{ratio:.2f}"),
    ]


def scale(top: float, bottom: float) -> list[str]:
    """Thin lines at powers of ten; the peer's own time is the thicker one."""
    lines = []
    for power in range(round(math.log10(LEAST)), round(math.log10(MOST)) + 1):
        x, colour = place(10.0**power), "#888" if power == 0 else "#ddd"
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{colour}"/>')
        lines.append(text(x, bottom + 14, f"{10.0**power:g}", "middle"))
    return lines


def bars(title: str, rows: Sequence[tuple[str, float, float]]) -> str:
    """The picture of rows `(label, ratio, goal)`."""
    top, bottom = 30, 30 + LINE * len(rows)
    parts = scale(top, bottom)
    for number, (label, ratio, goal) in enumerate(rows):
        parts += bar(top + LINE * number, label, ratio, goal)
    width, height = LABELS + WIDTH + 60, bottom + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        + text(LABELS, 18, f"{title}; the dark mark is the goal")
        + "\n" + "\n".join(parts) + "\n</svg>\n"
    )  # fmt: skip
