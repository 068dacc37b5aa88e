"""The reference, made from the package when the site is built: a page for each object, and a table for each family.

An entry stands for one object with all its public spellings, so every name is in exactly one place (`names.py`).
What a page says comes from the docstring, from the declaration of the operator (`declarations.py`), from an example
that has just been run (`examples.py`) and from where the site uses the object (`uses.py`).
Pages are Markdown in `docs/reference`, which nobody edits; a page whose text did not change is not written again.
"""

import inspect
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from docs._ext.declarations import gradient_of, kind_of, numbers_of, saved_by
from docs._ext.examples import example_of
from docs._ext.names import FAMILIES, Entry, entries, is_array_function
from docs._ext.uses import used_in
from pullback.interop._ufuncs import twin_of, ufunc_names

TORCH_DIFFERS = {
    "max": "`torch.max(x, dim)` returns a pair: `max_with_indices`",
    "min": "`torch.min(x, dim)` returns a pair: `min_with_indices`",
    "std": "torch's default is `correction=1`",
    "var": "torch's default is `correction=1`",
    "median": "`torch.median` is the lower of two middle values: `kthvalue`",
    "split": "`torch.split` takes sizes: `split_with_sizes`",
    "repeat": "`torch.Tensor.repeat` is `tile`",
    "transpose": "`torch.transpose` exchanges two axes: `swapaxes`",
    "dot": "`torch.dot` is of vectors only: `vecdot`",
    "sort": "`torch.sort` returns a pair: `sort_with_indices`",
    "unique": "the flags are NumPy's; `unique_all` and its sisters are the standard's",
    "norm": "`torch.norm` flattens by default: `linalg.vector_norm`",
    "select": "the function is NumPy's; torch's is the method `x.select(dim, i)`",
    "take": "`torch.take` always flattens: give no `axis`",
}
"""Functions that torch has under the same name with another meaning, and what torch's is called here."""


UNDOCUMENTED = {"output_nr": "Which output of its `grad_fn` the tensor is."}
"""Members of `Tensor` that cannot carry a docstring."""


# One entry ------------------------------------------------------------------------------------------------------------


def signature_of(entry: Entry) -> str:
    """How it is called, as users write it."""
    op = entry.op
    text = signature_text(entry.value)
    if op is not None and re.search(r"\boperands\b", text):
        return f"({', '.join([*op.operands, '/', *(['*', *op.params] if op.params else [])])}, out=None)"
    return text


def signature_text(function: Any) -> str:
    """A signature without annotations that say nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature))  # annotations are strings
    text = text.replace(": Any = ", "=").replace(": Any", "").replace(" -> Any", "")
    text = text.replace("**spellings", "*, dim=None, keepdim=None")
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    return re.sub(r"<[^<>]* at 0x\w+>", "...", text)


def prose_of(value: Any) -> str:
    """A docstring without the example that `help` shows: the page has it in a place of its own."""
    return (inspect.getdoc(value) or "").partition("\n\nExample:\n\n")[0]


def markdown_of(doc: str) -> str:
    """A docstring as Markdown: examples that begin with `>>>` become code."""
    lines, is_code = [], False
    for line in doc.splitlines():
        was_code, is_code = is_code, bool(line.strip()) and (is_code or line.startswith(">>>"))
        if is_code != was_code:
            lines.append("```pycon" if is_code else "```")
        lines.append(line)
    return "\n".join([*lines, "```"] if is_code else lines)


def object_page(entry: Entry) -> str:
    """The page of one object."""
    parts = ["---\norphan: true\n---", f"# pullback.{entry.name}", *described(entry), used_text(entry)]
    return "\n\n".join(part for part in parts if part) + "\n"


def described(entry: Entry) -> Iterator[str]:
    """What a page says of its object, part by part."""
    yield directive(entry)
    if not callable(entry.value):
        yield entry.meaning if entry.page == "dtypes" else markdown_of(prose_of(entry.value))
        return
    yield markdown_of(prose_of(entry.value))
    if inspect.isclass(entry.value):
        yield members_of(entry)
    if not is_array_function(entry):
        return
    example = example_of(entry.names, entry.value, entry.op)
    gradient = gradient_of(entry.op) if entry.op is not None else ""
    if gradient:
        yield f"## Gradient\n\n{gradient}"
    shown = re.sub(r" at 0x[0-9a-f]+", "", example.text)  # an address is another one in every build
    yield f"## Example\n\n```pycon\n{shown}\n```\n\nRun when this page was made; numbers have four digits."
    yield "## Facts\n\n" + "\n".join(f"- {fact}" for fact in facts_of(entry, example.nodes))


def directive(entry: Entry) -> str:
    """The declaration of an object to Sphinx, with a line for each of its names."""
    kind, signature = "data", ""
    if callable(entry.value):
        kind, signature = "class" if inspect.isclass(entry.value) else "function", signature_of(entry)
    if inspect.isclass(entry.value) and issubclass(entry.value, BaseException):
        kind = "exception"
    return declared(kind, [f"{name}{signature}" for name in entry.names])


def declared(kind: str, signatures: list[str]) -> str:
    """Directives of Sphinx, one for each name: so each of them is in the index and in the search."""
    return "\n".join(f"```{{py:{kind}}} {signature}\n:module: pullback\n```" for signature in signatures)


def member_text(owner: Any, path: str, name: str) -> str:
    """A method or property of a class, with the first paragraph of its docstring."""
    member = getattr(owner, name)
    kind, signature = ("method", signature_text(member)) if callable(member) else ("attribute", "")
    signature = re.sub(r"^\(self(, )?", "(", signature)
    meaning = first_paragraph(member) or UNDOCUMENTED.get(name, "")
    return f"{declared(kind, [f'{path}.{name}{signature}'])}\n{meaning}"


def members_of(entry: Entry) -> str:
    """The public members that a class defines itself."""
    owner = entry.value
    names = [name for name, value in sorted(vars(owner).items()) if name[0] != "_" and not isinstance(value, type)]
    found = [member_text(owner, entry.name, name) for name in names if first_paragraph(getattr(owner, name))]
    return "## Members\n\n" + "\n\n".join(found) if found else ""


def used_text(entry: Entry) -> str:
    """Links to the pages and scripts that use the object."""
    links = [f"{{doc}}`{title} </{page}>`" for page, title in used_in(entry.names)]
    return f"## Used in\n\n{' · '.join(links)}" if links else ""


def facts_of(entry: Entry, nodes: tuple[str, ...]) -> Iterator[str]:
    """What is known of a function besides its meaning, one sentence each."""
    yield kind_text(entry, nodes)
    others = [name for name in entry.names[1:] if not name.endswith("_")]
    if others:
        yield f"Also: {spellings(others)}."
    methods = [name for name in entry.names if "." not in name and hasattr(pb.Tensor, name)]
    if methods:
        yield "Method: " + ", ".join(f"`x.{name}`" for name in methods) + "."
    twins = [f"`x.{name}_`" for name in methods if hasattr(pb.Tensor, f"{name}_")]
    twins += [f"`pb.{name}`" for name in entry.names if name.endswith("_") and name[:-1] in entry.names]
    if twins:
        yield f"In place: {', '.join(twins)}."
    if numpy := numpy_names(entry):
        yield f"NumPy: {', '.join(f'`{name}`' for name in numpy)}."
    if torch := torch_text(entry):
        yield torch
    if entry.op is not None and entry.op.is_differentiable:
        yield f"Numbers: {numbers_of(entry.op)}. Kept for backward: {saved_by(entry.op)}."


def kind_text(entry: Entry, nodes: tuple[str, ...]) -> str:
    """Primitive, view, composite or without derivative. What a composite is differentiated by is what it recorded."""
    if entry.op is not None:
        return f"Kind: {kind_of(entry.op)}."
    if not nodes:
        return "Kind: function whose result has no derivative."
    recorded = ", ".join(f"`{name}`" for name in nodes if name != "SumBackward0") or "`SumBackward0`"
    return f"Kind: composite, differentiated through what it calls; the example below recorded {recorded}."


def spellings(names: Iterable[str]) -> str:
    """Names as users write them."""
    return ", ".join(f"`pb.{name}`" for name in names)


def numpy_names(entry: Entry) -> list[str]:
    """NumPy's functions that do the same; those that are given tensors call this one then."""
    ufuncs = {f"np.{ufunc.__name__}" for ufunc in ufunc_names() if twin_of(ufunc) is entry.value}
    found = set()
    for name in entry.names:
        namespace, _, short = name.rpartition(".")
        module = {"": np, "linalg": np.linalg, "fft": np.fft}.get(namespace)
        if module is not None and short in module.__all__ and callable(getattr(module, short)):
            found.add(f"np.{name}")
    return sorted(ufuncs & {f"np.{name}" for name in np.__all__} | found)


@lru_cache
def torch_names() -> dict[str, str]:
    """Torch's names by ours, without the prefix of either."""
    places = {
        "torch.linalg": "linalg.", "torch.fft": "fft.", "torch.special": "special.", "torch.nn.functional": "nn.",
        "torch.masked": "masked.", "torch.signal.windows": "signal.windows.",
    }  # fmt: skip
    found: dict[str, str] = {}
    place = ""
    for line in Path(__file__).with_name("torch_names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            place = line.strip("[]")
        elif not line.startswith("#"):
            for name in line.split():
                found[f"{places.get(place, '')}{name}"] = f"{place}.{name}"
    return found


def torch_text(entry: Entry) -> str:
    """What torch calls the function, or what it means by the name."""
    for name in entry.names:
        if name in TORCH_DIFFERS:
            return f"torch: {TORCH_DIFFERS[name]}."
    found = [torch_names()[name] for name in entry.names if name in torch_names()]
    return f"torch: {', '.join(f'`{name}`' for name in dict.fromkeys(found))}." if found else ""


# Pages ----------------------------------------------------------------------------------------------------------------


def page_title(name: str) -> str:
    """The heading of a family's page."""
    if name == "settings":
        return "Settings"
    return FAMILIES[name][0] if name in FAMILIES else f"pullback.{name}"


@lru_cache
def families() -> dict[str, list[Entry]]:
    """The objects on each page by name, those of the top level first, pages in the order of the reference."""
    grouped: dict[str, list[Entry]] = {}
    for entry in entries():
        grouped.setdefault(entry.page, []).append(entry)
    order = [*FAMILIES, "Tensor", *sorted(grouped.keys() - {*FAMILIES, "Tensor"})]
    place = lambda each: ("." in each.name, each.name)
    return {page: sorted(grouped[page], key=place) for page in order if page in grouped}


def pages() -> dict[str, str]:
    """The Markdown of every page of the reference, by its path without the ending."""
    found = {"index": index_page()}
    for page, members in families().items():
        found[page] = tensor_page(members[0]) if page == "Tensor" else family_page(page, members)
        found |= {f"api/{each.name}": object_page(each) for each in members if has_page(each)}
    return found


def has_page(entry: Entry) -> bool:
    """Whether an object has a page of its own: modules are families, and `Tensor` is one too."""
    return not inspect.ismodule(entry.value) and entry.page != "Tensor"


def family_page(name: str, members: list[Entry]) -> str:
    """What the module says, and a table of its objects."""
    module = next((each for each in members if inspect.ismodule(each.value) and name in each.names), None)
    text = f"# {page_title(name)}\n\n"
    if module is not None:
        names = "".join(f"```{{py:module}} pullback.{each}\n```\n\n" for each in module.names)
        text += f"{names}{markdown_of(inspect.getdoc(module.value) or '')}\n\n"
    rows = [f"| {names_of(each)} | {cell(each.meaning)} |" for each in members if has_page(each)]
    return text + ("| name | meaning |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else "")


def names_of(entry: Entry) -> str:
    """The link of a table to an object, and its other names."""
    others = "".join(f", `{name}`" for name in entry.names[1:] if not name.startswith("scipy."))
    return f"[`{entry.name}`](api/{entry.name}.md){others}"


def cell(text: str) -> str:
    """Text that fits into a table."""
    return text.replace("\n", " ").replace("|", "\\|")


def tensor_page(entry: Entry) -> str:
    """The class, its own members with their meaning, and the methods that are functions, with links to them."""
    places = {name: each for each in entries() for name in each.names if is_array_function(each)}
    functions, own = [], []
    for name in sorted(each for each in dir(pb.Tensor) if not each.startswith("_")):
        base = name if name in places else name.removesuffix("_")
        if base in places:
            functions.append(f"[{name}](api/{places[base].name}.md)")
        else:
            own.append(member_text(pb.Tensor, "Tensor", name))
    doc = markdown_of(inspect.getdoc(pb.Tensor) or "")
    return (
        f"# Tensor\n\n{directive(entry)}\n\n{doc}\n\n## Members of its own\n\n"
        + "\n\n".join(own) + "\n\n## Methods that are functions\n\n" + " · ".join(functions) + "\n"
    )  # fmt: skip


def first_paragraph(member: Any) -> str:
    """The first paragraph of a docstring on one line."""
    return (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")


READING = """## How to read a page

*Kind* says where the derivative comes from. A *primitive* has a rule of its own, which the page shows as it is
written in the source: `g` is the gradient of the result `out`, and the other names are the operands. Of an elementwise
function the partial derivatives are shown; the gradient is `g` times their complex conjugate, summed over broadcast
axes. A *view* shares memory with its operand. A *composite* calls other functions and is differentiated through them.
A function that is *not differentiable* says why; its results never require grad. A primitive *with derivative 0* has
results that require grad, and gradients that are zeros.

*In place* names the method that writes the result into its first operand. *NumPy* and *torch* name what does the same
there; NumPy's functions may be called on tensors and do what the page says. Where torch means something else by the
name, the page says what. *Numbers* says what the derivative is declared and tested for; a composite takes what the
functions that it calls take. *Kept for backward* is what stays in memory until backward has run.

Every example was run when its page was made.
"""


def index_page() -> str:
    """The families, and how a page is read."""
    grouped = {page: sum(map(has_page, members)) for page, members in families().items()}
    rows = [f"| [{page_title(page)}]({page}.md) | {count or ''} |" for page, count in grouped.items()]
    listed = "\n".join(grouped)
    return (
        "# Reference\n\n`import pullback as pb`; a page for every object, and {ref}`every name <genindex>` from A to Z."
        " Errors have [pages by code](/errors/index.md).\n\n| family | objects |\n|---|---|\n"
        + "\n".join(rows) + f"\n\n{READING}\n```{{toctree}}\n:hidden:\n\n{listed}\n/errors/index\n```\n"
    )  # fmt: skip


def write(folder: Path, texts: dict[str, str]) -> None:
    """The pages as files in `folder`, and nothing else in it. A page that says what it said is left alone."""
    for path in set(folder.rglob("*.md")) - {folder / f"{name}.md" for name in texts}:
        path.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


@lru_cache
def neighbours() -> dict[str, tuple[str, str | None, str | None]]:
    """By the page of an object: its family, and the objects before and after it there."""
    found = {}
    for page, members in families().items():
        names = [each.name for each in members if has_page(each)]
        for before, name, after in zip([None, *names], names, [*names[1:], None], strict=False):
            found[f"reference/api/{name}"] = (page, before, after)
    return found


def add_way(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Where the page of an object is: Sphinx knows no parents and neighbours of pages outside of tables of contents."""
    if pagename not in neighbours():
        return
    page, *beside = neighbours()[pagename]
    link = lambda name: app.builder.get_relative_uri(pagename, f"reference/{name}")
    context["parents"] = [
        {"link": link("index"), "title": "Reference"},
        {"link": link(page), "title": page_title(page)},
    ]
    for place, name in zip(("prev", "next"), beside, strict=True):
        context[place] = None if name is None else {"link": link(f"api/{name}"), "title": name}


def setup(app: Any) -> dict[str, Any]:
    """Sphinx asks for this: the pages are written before it looks for pages."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir, "reference"), pages()))
    app.connect("html-page-context", add_way)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
