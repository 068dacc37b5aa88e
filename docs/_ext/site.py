"""Formulas, and what is promised of the built site: names for links, sizes, and measurements that are not too old."""

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from docs._ext.uses import written_pages

MEGABYTE = 1_000_000
SITE_LIMIT, SEARCH_LIMIT, PAGE_LIMIT = 60 * MEGABYTE, MEGABYTE, 70_000  # 40 kB but for classes of many members
COMMON = 100  # a heading that so many pages have says nothing about any of them
OLDEST = timedelta(days=180)


def too_old(text: str, today: date) -> list[str]:
    """The dates in `Measured on <date>` that are so long ago that somebody should measure again."""
    found = re.findall(r"Measured on (\d{4}-\d\d-\d\d)", text)
    return [each for each in found if today - date.fromisoformat(each) > OLDEST]


def check_dates(app: Any) -> None:
    """Refuse to build pages with old numbers."""
    for path in written_pages():
        if found := too_old(path.read_text(encoding="utf-8"), date.today()):
            raise ValueError(f"{path.name} has numbers of {found[0]}: measure again, the page says how")


def name_thumbnails(html: str) -> str:
    """Give every link of the gallery that is only a picture the title of its script as a name."""
    card = (
        r'(<div class="sphx-glr-thumbcontainer".*?<a class="reference internal")(.*?)'
        r'(<div class="sphx-glr-thumbnail-title">)(.*?)</div>'
    )
    return re.sub(card, r'\1 aria-label="\4"\2\3\4</div>', html, flags=re.DOTALL)


def lighter(index: str) -> str:
    """The index of the search without what finds nothing more: headings that every page of the reference has, and
    entries and titles of objects, which are found as objects."""
    before, _, rest = index.partition("(")
    data = json.loads(rest.rpartition(")")[0])
    data["indexentries"] = {}
    titles = data["alltitles"].items()
    data["alltitles"] = {name: at for name, at in titles if len(at) < COMMON and not name.startswith("pullback.")}
    return f"{before}({json.dumps(data, separators=(',', ':'), ensure_ascii=False)})"


def check_sizes(app: Any, exception: Exception | None) -> None:
    """Print what the site weighs, and refuse what readers would have to wait for."""
    if exception is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    gallery = site / "gallery" / "index.html"
    if gallery.exists():
        gallery.write_text(name_thumbnails(gallery.read_text(encoding="utf-8")), encoding="utf-8")
    for path in site.rglob("*.map"):
        path.unlink()  # what developers of the theme want to know of its scripts and styles
    index = site / "searchindex.js"
    index.write_text(lighter(index.read_text(encoding="utf-8")), encoding="utf-8")
    whole = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    search = index.stat().st_size
    largest = max(site.glob("reference/api/*.html"), key=lambda path: path.stat().st_size)
    page = largest.stat().st_size
    print(f"site {whole / MEGABYTE:.1f} MB, search index {search / MEGABYTE:.2f} MB, largest reference page", end=" ")
    print(f"{page / 1000:.0f} kB ({largest.name})")
    sizes = {"site": (whole, SITE_LIMIT), "search index": (search, SEARCH_LIMIT), "page": (page, PAGE_LIMIT)}
    for what, (size, limit) in sizes.items():
        if size > limit:
            raise ValueError(f"the {what} has {size} bytes, more than {limit}")


def visit_math(translator: Any, node: Any) -> None:
    """A formula within a line, as MathML."""
    put_math(translator, node, as_block=False)


def visit_display(translator: Any, node: Any) -> None:
    """A formula of its own, as MathML."""
    put_math(translator, node, as_block=True)


def put_math(translator: Any, node: Any, as_block: bool) -> None:
    """Translate with docutils' own converter: no script, no font, no other host."""
    from docutils import nodes
    from docutils.utils.math.latex2mathml import tex2mathml

    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Sphinx asks for this."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_display, None))
    app.connect("builder-inited", check_dates)
    app.connect("build-finished", check_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
