"""How pictures and tables look in notebooks and on pages: colours for light and dark, and rules that reach nobody else.

An output is one `<div class="pb-out pb-<digest>">`, and every selector of its style begins with the class that nobody
else has. There is no script in it, no id, and nothing is loaded. A page is one file: the same with a head, a search
and a zoom; its policy allows the one style and the one script that are in it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

# Fill and border of each kind of box. Borders and fills differ between kinds, so that colour is not all there is.
LIGHT = {
    "input": ("#eceff1", "#78909c"), "fw": ("#d6e9fb", "#2f74b5"), "bw": ("#fde3c8", "#c4691c"),
    "output": ("#dff2df", "#3f8f4f"), "leaf": ("#dff2df", "#2d6a39"), "write": ("#fbe0ea", "#b0305f"),
    "custom": ("#e9e0f7", "#6d4bb0"), "released": ("#f0f0f0", "#8d8d8d"), "more": ("#ffffff", "#8d8d8d"),
}  # fmt: skip
DARK = {
    "input": ("#2a3238", "#8fa3ad"), "fw": ("#15324b", "#6fb1ea"), "bw": ("#4a2d10", "#eda35c"),
    "output": ("#173a20", "#74c586"), "leaf": ("#173a20", "#a0e0ae"), "write": ("#4c1730", "#f08bb2"),
    "custom": ("#31214f", "#b79cf0"), "released": ("#262626", "#8d8d8d"), "more": ("#16191c", "#8d8d8d"),
}  # fmt: skip
_INKS = {
    "light": {"ink": "#1c2a33", "soft": "#51606a", "line": "#7d8a93", "head": "#eef1f3", "rule": "#c7ced3",
              "paper": "#ffffff", "mark": "#8a4b00"},
    "dark": {"ink": "#e6eaed", "soft": "#b4bfc7", "line": "#93a0a9", "head": "#262c31", "rule": "#49525a",
             "paper": "#16191c", "mark": "#ffc470"},
}  # fmt: skip
SERIES = ("fw", "bw", "custom", "write", "output", "input")
"""The colours of one series after the other, for charts."""

_RULES = """
{s}{{color:var(--pb-ink);font:13px/1.45 system-ui,sans-serif;overflow-x:auto;max-width:100%}}
{s} h2,{s} h3{{font-size:14px;font-weight:600;margin:12px 0 4px;color:var(--pb-ink)}}
{s} p{{margin:4px 0}}
{s} .pb-scroll{{overflow:auto;max-width:100%}}
{s} .pb-scroll:focus-visible{{outline:2px solid var(--pb-fw-line)}}
{s} svg{{max-width:100%;height:auto;display:block}}
{s} svg.pb-wide{{max-width:none}}
{s} svg text{{fill:var(--pb-ink)}}
{s} svg .pb-soft{{fill:var(--pb-soft)}}
{s} svg .pb-line{{stroke:var(--pb-line)}}
{s} svg .pb-axis{{stroke:var(--pb-rule)}}
{s} svg .pb-hit rect{{stroke-width:3;stroke:var(--pb-mark)}}
{s} table{{border-collapse:collapse;margin:4px 0;color:inherit;background:transparent}}
{s} td,{s} th{{border:1px solid var(--pb-rule);padding:2px 8px;text-align:left;vertical-align:top;
overflow-wrap:anywhere;background:transparent}}
{s} th{{background:var(--pb-head);font-weight:600;overflow-wrap:normal}}
{s} td.pb-number{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
{s} code{{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;background:none;color:inherit;padding:0}}
{s} summary{{cursor:pointer;color:var(--pb-soft)}}
"""
_DARK_PLACES = "[data-theme=dark] *,[data-jp-theme-light=false] *,.vscode-dark *"
_LIGHT_PLACES = "[data-theme=light] *,[data-jp-theme-light=true] *,.vscode-light *"
THEMES = ("auto", "light", "dark")


def escape(text: str) -> str:
    """Text as SVG and HTML have it. `html` can do this too, and takes longer to load than everything else here."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def check_theme(theme: str) -> None:
    """Raise unless there is such a theme."""
    if theme not in THEMES:
        raise ValueError(f"theme is one of {', '.join(map(repr, THEMES))}, got {theme!r}")


def _variables(theme: str) -> str:
    boxes = LIGHT if theme == "light" else DARK
    named = [f"--pb-{name}:{value}" for name, value in _INKS[theme].items()]
    named += [f"--pb-{kind}:{fill};--pb-{kind}-line:{line}" for kind, (fill, line) in boxes.items()]
    return ";".join(named)


def rules(scope: str, theme: str) -> str:
    """The style of one output. Every selector begins with `scope`."""
    first = "dark" if theme == "dark" else "light"
    text = f"{scope}{{{_variables(first)}}}\n"
    if theme == "auto":
        dark = _variables("dark")
        text += f"@media (prefers-color-scheme:dark){{{scope}{{{dark}}}}}\n"
        text += f"{scope}:is({_DARK_PLACES}){{{dark}}}\n"
        text += f"{scope}:is({_LIGHT_PLACES}){{{_variables('light')}}}\n"
    text += _RULES.format(s=scope).lstrip("\n")
    for kind in LIGHT:
        text += f"{scope} svg .{kind} rect,{scope} svg .{kind} path,{scope} svg rect.{kind}"
        text += f"{{fill:var(--pb-{kind});stroke:var(--pb-{kind}-line)}}\n"
    return text


class Drawing(NamedTuple):
    """The elements of an SVG, and the part of the plane that they are in."""

    left: float
    top: float
    width: float
    height: float
    elements: str


def svg(drawing: Drawing, title: str, attributes: str = "", style: str = "") -> str:
    """The drawing as one element."""
    box = f"{drawing.left:.0f} {drawing.top:.0f} {drawing.width:.0f} {drawing.height:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{box}" width="{drawing.width:.0f}" '
        f'height="{drawing.height:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11"'
        f"{attributes}>\n<title>{escape(title)}</title>\n{style}{drawing.elements}\n</svg>"
    )


def picture(drawing: Drawing, title: str, theme: str = "auto") -> str:
    """The drawing as a file of its own, with its style in it."""
    name = _digest(drawing.elements + theme)
    text = rules(f".pb-{name}", theme).replace(f".pb-{name} svg", f".pb-{name}")
    return svg(drawing, title, f' class="pb-out pb-{name}"', f"<style>{escape_style(text)}</style>\n")


def escape_style(text: str) -> str:
    """A style inside of SVG, which is XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


_WIDE = 1100  # pixels; what is wider is scrolled, since letters would become too small to read


def embedded(drawing: Drawing, title: str) -> str:
    """The drawing inside of an output, which has the style."""
    wide = ' class="pb-wide"' if drawing.width > _WIDE else ""
    name = escape(title)
    return f'<div class="pb-scroll" tabindex="0" role="group" aria-label="{name}">{svg(drawing, title, wide)}</div>'


def output(body: str, theme: str = "auto") -> str:
    """What a notebook shows: the body with a style that reaches nothing else."""
    name = _digest(body + theme)
    return f'<div class="pb-out pb-{name}"><style>\n{rules(f".pb-{name}", theme)}</style>{body}</div>'


_SCRIPT = """
const root = document.querySelector('main'), field = document.querySelector('input');
let zoom = 1;
const marks = () => {
  const text = field.value.toLowerCase();
  let first = null, count = 0;
  for (const each of root.querySelectorAll('svg g')) {
    const hit = text !== '' && each.textContent.toLowerCase().includes(text);
    each.classList.toggle('pb-hit', hit);
    if (hit) { count += 1; first = first || each; }
  }
  for (const each of root.querySelectorAll('tbody tr'))
    each.hidden = text !== '' && !each.textContent.toLowerCase().includes(text);
  document.querySelector('output').textContent = text === '' ? '' : count + ' in the drawing';
  if (first) first.scrollIntoView({block: 'nearest', inline: 'center'});
};
const scale = by => {
  zoom = Math.min(8, Math.max(0.2, by === 0 ? 1 : zoom * by));
  for (const each of root.querySelectorAll('svg')) {
    const box = each.viewBox.baseVal;
    each.classList.toggle('pb-wide', zoom !== 1 || box.width > 1100);
    each.setAttribute('width', box.width * zoom);
    each.setAttribute('height', box.height * zoom);
  }
};
field.addEventListener('input', marks);
for (const each of document.querySelectorAll('button'))
  each.addEventListener('click', () => scale(Number(each.dataset.by)));
document.addEventListener('keydown', event => {
  if (event.target === field) { if (event.key === 'Escape') field.blur(); return; }
  if (event.key === '/') { event.preventDefault(); field.focus(); }
  if (event.key === '+') scale(1.25);
  if (event.key === '-') scale(0.8);
  if (event.key === '0') scale(0);
});
let held = null;
root.addEventListener('pointerdown', event => {
  const area = event.target.closest('.pb-scroll');
  if (area && event.button === 0) held = [area, event.clientX + area.scrollLeft, event.clientY + area.scrollTop];
});
addEventListener('pointermove', event => {
  if (held) { held[0].scrollLeft = held[1] - event.clientX; held[0].scrollTop = held[2] - event.clientY; }
});
addEventListener('pointerup', () => { held = null; });
"""
_PAGE = """
.pb-page{margin:0;padding:12px;box-sizing:border-box;min-height:100vh;background:var(--pb-paper)}
.pb-page h1{font-size:17px;margin:0 0 8px;overflow-wrap:anywhere}
.pb-page .pb-tools{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin-bottom:8px}
.pb-page input,.pb-page button{font:inherit;color:var(--pb-ink);background:var(--pb-paper);
border:1px solid var(--pb-line);border-radius:4px;padding:2px 8px}
.pb-page .pb-scroll{cursor:grab}
@media print{.pb-page .pb-tools{display:none}.pb-page details>*{display:block}.pb-page .pb-scroll{overflow:visible}}
"""


def page(body: str, title: str, theme: str = "auto") -> str:
    """A whole page in one file."""
    scope = ".pb-page"
    style = rules(scope, theme) + _PAGE
    policy = f"default-src 'none'; style-src '{_allowed(style)}'; script-src '{_allowed(_SCRIPT)}'; img-src data:"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body class="pb-out pb-page">\n<main>\n<h1>{escape(title)}</h1>\n'
        '<div class="pb-tools"><input type="search" placeholder="search: /" aria-label="search">'
        '<button type="button" data-by="1.25" aria-label="larger">+</button>'
        '<button type="button" data-by="0.8" aria-label="smaller">−</button>'
        '<button type="button" data-by="0" aria-label="as it was">1:1</button><output></output></div>\n'
        f"{body}\n</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _allowed(text: str) -> str:
    """What a policy calls a style or a script of exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


FOLDED_BEYOND = 20  # rows


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], folds: bool = True) -> str:
    """A table; numbers are on the right, and what is beyond twenty rows is folded away."""
    if folds and len(rows) > FOLDED_BEYOND:
        rest = table(head, rows[FOLDED_BEYOND:], False)
        count = len(rows) - FOLDED_BEYOND
        more = f"<details><summary>{count} more row{'' if count == 1 else 's'}</summary>{rest}</details>"
        return table(head, rows[:FOLDED_BEYOND], False) + more
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    number = ' class="pb-number"' if type(value) in (int, float) else ""
    return f"<td{number}>{escape(str(value))}</td>"


def in_bytes(count: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**4)):
        if count >= size:
            return f"{count / (10**3 if unit == 'kB' else size):.1f} {unit}"
    return f"{count} B"
