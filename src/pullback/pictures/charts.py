"""Charts as SVG: an area over time, bars on a line of time."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.graph.text.style import LIGHT, Drawing, escape, in_bytes

_WIDTH, _HEIGHT, _LEFT, _TOP = 720.0, 180.0, 70.0, 12.0
_MOST_POINTS = 600


def area(values: Sequence[tuple[int, bool]]) -> Drawing:
    """Bytes after one event after the other; those of backward passes have the other colour."""
    values = _thinned(values)
    most = max((value for value, _ in values), default=0) or 1
    step = _WIDTH / max(len(values), 1)
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = _TOP + _HEIGHT * (1 - part)
        parts.append(f'<path class="pb-axis" d="M{_LEFT},{y:.1f} h{_WIDTH:.0f}" stroke="#c7ced3" fill="none"/>')
        text = escape(in_bytes(int(most * part)))
        parts.append(f'<text class="pb-soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    start = 0
    while start < len(values):  # one shape for each stretch of one colour
        end = start
        while end < len(values) and values[end][1] == values[start][1]:
            end += 1
        kind = "bw" if values[start][1] else "fw"
        bottom = _TOP + _HEIGHT
        path = f"M{_LEFT + start * step:.1f},{bottom:.1f}"
        for k in range(start, end):
            y = bottom - _HEIGHT * values[k][0] / most
            path += f" L{_LEFT + k * step:.1f},{y:.1f} h{step:.2f}"
        path += f" L{_LEFT + end * step:.1f},{bottom:.1f} Z"
        fill, line = LIGHT[kind]
        parts.append(f'<g class="{kind}"><path d="{path}" fill="{fill}" stroke="{line}"/></g>')
        start = end
    y = _TOP + _HEIGHT + 18
    parts.append(f'<text class="pb-soft" x="{_LEFT}" y="{y}">one event after the other →</text>')
    return Drawing(0, 0, _LEFT + _WIDTH + 12, y + 10, "\n".join(parts))


def _thinned(values: Sequence[tuple[int, bool]]) -> Sequence[tuple[int, bool]]:
    """At most so many points; of those that fall together, the highest."""
    size = -(-len(values) // _MOST_POINTS)
    if size <= 1:
        return values
    return [max(values[k : k + size]) for k in range(0, len(values), size)]


_ROW, _BAR = 20.0, 16.0
_MOST_BARS = 1500


def timeline(rows: Sequence[tuple[str, Sequence[tuple[float, float, int, str, str]]]], span: float) -> Drawing:
    """Bars on a line of time: for each thread its bars, each of start, length, depth, kind and text."""
    scale = 1000.0 / (span or 1.0)
    parts: list[str] = []
    top = 24.0
    for tick in range(6):
        x = 1000.0 * tick / 5
        parts.append(f'<text class="pb-soft" x="{x:.0f}" y="12" text-anchor="middle">{_time(span * tick / 5)}</text>')
    total = sum(len(bars) for _, bars in rows)
    for name, bars in rows:
        parts.append(f'<text class="pb-soft" x="0" y="{top + 10:.0f}">{escape(name)}</text>')
        top += 16
        deepest = 0
        most = max(_MOST_BARS * len(bars) // max(total, 1), 20)
        for start, length, depth, kind, text in sorted(bars, key=lambda bar: -bar[1])[:most]:
            deepest = max(deepest, depth)
            parts.append(_bar(start * scale, length * scale, top + depth * _ROW, kind, f"{text}, {_time(length)}"))
        top += (deepest + 1) * _ROW + 8
    if total > _MOST_BARS:
        parts.append(f'<text class="pb-soft" x="0" y="{top + 10:.0f}">the longest of {total} events are drawn</text>')
        top += 16
    return Drawing(-30, -4, 1060, top + 8, "\n".join(parts))


def _bar(x: float, width: float, y: float, kind: str, text: str) -> str:
    fill, line = LIGHT[kind]
    letters = int((width - 6) / 6.7)
    inside = ""
    if letters >= 3:
        name = text.partition(",")[0]
        name = name if len(name) <= letters else f"{name[: letters - 1]}…"
        inside = f'<text x="{x + 4:.1f}" y="{y + 12:.1f}">{escape(name)}</text>'
    return (
        f'<g class="{kind}"><title>{escape(text)}</title><rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 0.4):.2f}" '
        f'height="{_BAR}" fill="{fill}" stroke="{line}" stroke-width="0.5"/>{inside}</g>'
    )


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"
