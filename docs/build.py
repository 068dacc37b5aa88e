"""Render the pages and the reference as HTML in `docs/_site`: `make docs`.

Two sources: the Markdown files of the repository, and the reference that `docs/reference.py` makes from the package,
which counts as `docs/reference/*.md`. A page that is added later appears without any change here; a link to a page or
to a place in one that does not exist is an error.
"""

import html
import os
import re
import shutil
import sys
from pathlib import Path

from markdown import markdown

from docs.names import public_modules
from docs.reference import pages, reference_page

__all__ = ["main", "public_modules", "reference_page"]

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_site"
REFERENCE = Path("docs/reference")

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222 }
nav { border-bottom: 1px solid #ccc; padding-bottom: .5rem; margin-bottom: 1.5rem }
nav a { margin-right: 1rem; display: inline-block }
pre { background: #f6f6f4; padding: .8rem; overflow-x: auto; line-height: 1.3 }
code { font: .9em ui-monospace, monospace; background: #f6f6f4 }
table { border-collapse: collapse } td, th { border: 1px solid #ddd; padding: .25rem .6rem; text-align: left }
td, th { vertical-align: top } h3 { margin-top: 2rem } a { color: #14507a }
"""


def written_pages() -> dict[Path, str]:
    """The Markdown files of the repository that are pages, by their path from the root."""
    sources = [Path("README.md"), Path("CONTRIBUTING.md"), Path("CHANGELOG.md")]
    sources += sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md") if SITE not in path.parents)
    return {source: (ROOT / source).read_text(encoding="utf-8") for source in sources if (ROOT / source).exists()}


def target_of(source: Path) -> Path:
    """Where a page goes in the site."""
    if source == Path("README.md"):
        return Path("index.html")
    inside = source.relative_to("docs") if source.parts[0] == "docs" else Path(source.name.lower())
    return inside.with_suffix(".html")


def relink(text: str, source: Path, anchors: dict[Path, set[str]]) -> tuple[str, list[str]]:
    """`text` with links between Markdown files turned into links between their pages, and what is wrong with them."""
    mistakes = []

    def replace(match: re.Match[str]) -> str:
        path, anchor = match[1] or "", match[2] or ""
        linked = Path(os.path.normpath(source.parent / path)) if path else source
        if linked not in anchors:
            mistakes.append(f"{source} links to {path}, which is not a page")
        elif anchor and html.unescape(anchor[1:]) not in anchors[linked]:
            mistakes.append(f"{source} links to {path}{anchor}, and there is no such place")
        elif path:
            return f'href="{os.path.relpath(target_of(linked), target_of(source).parent)}{anchor}"'
        return match[0]

    return re.sub(r'href="(?!\w+:)([^"#]+\.md)?(#[^"]*)?"', replace, text), mistakes


def title_of(text: str, otherwise: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+?)( \{#.*\})?$", text, re.MULTILINE)
    return found[1].strip() if found else otherwise


def render(text: str) -> str:
    """Markdown as HTML; headings get anchors. What tests read after the language of a code block is not shown."""
    text = re.sub(r"^```python raises=\w+", "```python", text, flags=re.MULTILINE)
    return markdown(text, extensions=["attr_list", "tables", "fenced_code", "toc", "sane_lists"], output_format="html")


def navigation(source: Path, titles: dict[Path, str]) -> str:
    """Links to the written pages and to the first page of the reference, seen from `source`."""
    start = target_of(source).parent
    links = (
        f'<a href="{os.path.relpath(target_of(page), start)}">{html.escape(title)}</a>'
        for page, title in titles.items()
        if page.parent != REFERENCE or page.stem == "index"
    )
    return "<nav>" + "\n".join(links) + "</nav>"


def write_page(source: Path, body: str, titles: dict[Path, str]) -> None:
    """One HTML file."""
    path = SITE / target_of(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    title = html.escape(titles[source])
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} - Pullback</title>\n'
        f"<style>{STYLE}</style></head>\n<body>{navigation(source, titles)}\n{body}\n</body></html>\n",
        encoding="utf-8",
    )


def main() -> int:
    """Build the whole site afresh; 1 if a link leads nowhere."""
    texts = written_pages() | {REFERENCE / f"{name}.md": text for name, text in pages().items()}
    titles = {source: title_of(text, source.stem) for source, text in texts.items()}
    bodies = {source: render(text) for source, text in texts.items()}
    anchors = {source: set(re.findall(r' id="([^"]+)"', body)) for source, body in bodies.items()}
    shutil.rmtree(SITE, ignore_errors=True)
    mistakes = []
    for source, body in bodies.items():
        linked, wrong = relink(body, source, anchors)
        mistakes += wrong
        write_page(source, linked, titles)
    shutil.copytree(ROOT / "docs" / "images", SITE / "images")
    print(f"{len(titles)} pages in {SITE.relative_to(ROOT)}")
    print("".join(f"{mistake}\n" for mistake in mistakes), end="", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
