"""Render the pages and a reference generated from the package as HTML in `docs/_site`: `make docs`.

Three sources: the Markdown files of the repository, the docstrings of every public name, and the operators'
declarations. A page that is added later appears without any change here; a link to a page that does not exist is named
on the screen and left as it is.
"""

import html
import importlib
import inspect
import os
import pkgutil
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markdown import markdown

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_site"

PUBLIC_PACKAGES = (
    "autograd", "func", "library", "aot", "interop", "testing", "utils", "linalg", "fft", "nn", "polynomial", "random",
    "signal", "special", "errors",
)  # fmt: skip

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222 }
nav { border-bottom: 1px solid #ccc; padding-bottom: .5rem; margin-bottom: 1.5rem }
nav a { margin-right: 1rem; display: inline-block }
pre { background: #f6f6f4; padding: .8rem; overflow-x: auto; line-height: 1.3 }
code { font: .9em ui-monospace, monospace; background: #f6f6f4 }
table { border-collapse: collapse } td, th { border: 1px solid #ddd; padding: .25rem .6rem; text-align: left }
td, th { vertical-align: top } h3 { margin-top: 2rem } a { color: #14507a }
"""


# The package ----------------------------------------------------------------------------------------------------------


def public_modules() -> list[str]:
    """`pullback`, its public packages that exist, and the modules in them that have no leading underscore."""
    existing = {info.name for info in pkgutil.iter_modules(importlib.import_module("pullback").__path__)}
    found = ["pullback"]
    for name in PUBLIC_PACKAGES:
        if name not in existing:
            continue
        module = importlib.import_module(f"pullback.{name}")
        found.append(module.__name__)
        found += [
            f"{module.__name__}.{info.name}"
            for info in pkgutil.iter_modules(getattr(module, "__path__", []))
            if not info.name.startswith("_")
        ]
    return found


def describe(name: str, value: Any) -> str:
    """The Markdown entry of one public name: signature and docstring, or the value itself."""
    if inspect.ismodule(value):
        text = (value.__doc__ or "").partition("\n")[0]
        return f"### {name}\n\nModule. {text}\n"
    if not callable(value):
        return f"### {name}\n\n`{value!r}`\n"
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        signature = "(...)"
    return f"### {name}\n\n    {name}{signature}\n\n{inspect.getdoc(value) or ''}\n"


def reference_page(module_name: str) -> str:
    """The Markdown page of one public module, every name of `__all__` under a heading of its own."""
    module = importlib.import_module(module_name)
    entries = [describe(name, getattr(module, name)) for name in sorted(module.__all__, key=str.lower)]
    return f"# {module_name}\n\n{inspect.getdoc(module) or ''}\n\n" + "\n".join(entries)


def reverse_rule(op: Any) -> str:
    """Where the gradient of `op` comes from, in a few words."""
    if op.not_differentiable_because:
        return f"none: {op.not_differentiable_because}"
    if op.partials is not None:
        return "from partial derivatives"
    if op.linear_in and not op.multilinear:
        return "transpose"
    return "written"


def saved_names(op: Any) -> str:
    """What is kept for backward when all operands need a gradient."""
    if not op.is_differentiable:
        return ""
    operands, outputs = op.reads((True,) * len(op.operands))
    names = [op.operands[i] for i in operands] + [op.outputs[i] for i in outputs if i < len(op.outputs)]
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def operator_page() -> str:
    """The Markdown table of all declared operators."""
    importlib.import_module("pullback")
    registry = importlib.import_module("pullback.declare.op").registry
    lines = ["# Operators", "", f"{len(registry)} operators, each declared once under `src/pullback/ops/`.", ""]
    lines += ["| operator | what it gives | family | gradient | kept for backward |", "|---|---|---|---|---|"]
    for name in sorted(registry):
        op = registry[name]
        call = f"{name}({', '.join([*op.operands, *(f'{p}=' for p in op.params)])})"
        first = inspect.cleandoc(op.doc).partition("\n")[0]
        cells = [f"`{call}`", first, op.family, reverse_rule(op), saved_names(op)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


# The pages ------------------------------------------------------------------------------------------------------------


def written_pages() -> dict[Path, Path]:
    """Where each Markdown file of the repository goes: source relative to the root, target relative to the site."""
    pages = {}
    if (ROOT / "README.md").exists():
        pages[Path("README.md")] = Path("index.html")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        pages[Path(name)] = Path(name.lower()).with_suffix(".html")
    for source in sorted((ROOT / "docs").rglob("*.md")):
        if SITE not in source.parents:
            pages[source.relative_to(ROOT)] = source.relative_to(ROOT / "docs").with_suffix(".html")
    return pages


def relink(text: str, source: Path, pages: dict[Path, Path]) -> str:
    """`text` with links between Markdown files turned into links between their HTML pages."""

    def replace(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        linked = Path(os.path.normpath(source.parent / path))
        if linked not in pages:
            print(f"{source} links to {path}, which is not a page")
            return match[0]
        return f'href="{os.path.relpath(pages[linked], pages[source].parent)}{anchor}"'

    return re.sub(r'href="(?!\w+:)([^"#]+\.md)(#[^"]*)?"', replace, text)


def navigation(target: Path, titles: dict[Path, str]) -> str:
    """Links to all pages, seen from `target`."""
    links = (
        f'<a href="{os.path.relpath(page, target.parent)}">{html.escape(title)}</a>' for page, title in titles.items()
    )
    return "<nav>" + "\n".join(links) + "</nav>"


def title_of(markdown_text: str, otherwise: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", markdown_text, re.MULTILINE)
    return found[1].strip() if found else otherwise


def render(text: str) -> str:
    """Markdown as HTML; headings get anchors."""
    return markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"], output_format="html")


def write_page(target: Path, title: str, body: str, titles: dict[Path, str]) -> None:
    """One HTML file."""
    path = SITE / target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)} - Pullback</title>\n'
        f"<style>{STYLE}</style></head>\n<body>{navigation(target, titles)}\n{body}\n</body></html>\n",
        encoding="utf-8",
    )


def generated_pages(modules: Iterable[str]) -> dict[Path, str]:
    """The Markdown of the pages that come out of the package."""
    pages = {Path("operators.html"): operator_page()}
    return pages | {Path("reference") / f"{module}.html": reference_page(module) for module in modules}


def main() -> None:
    """Build the whole site afresh."""
    sources = written_pages()
    texts = {target: (ROOT / source).read_text(encoding="utf-8") for source, target in sources.items()}
    generated = generated_pages(public_modules())
    titles = {target: title_of(text, target.stem) for target, text in (texts | generated).items()}
    shutil.rmtree(SITE, ignore_errors=True)
    for source, target in sources.items():
        write_page(target, titles[target], relink(render(texts[target]), source, sources), titles)
    for target, text in generated.items():
        write_page(target, titles[target], render(text), titles)
    print(f"{len(titles)} pages in {SITE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
