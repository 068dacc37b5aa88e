"""The reference, made from the package: a page for each family of functions, and an index of every public name.

An entry stands for one object with all its public spellings, so every name is in exactly one place (`docs/names.py`).
What an entry says comes from the docstring, from the declaration of the operator (`docs/declarations.py`) and from an
example that has just been run (`docs/examples.py`).
"""

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from docs.declarations import gradient_of, kind_of, numbers_of, saved_by
from docs.examples import example_of
from docs.names import FAMILIES, Entry, entries, is_array_function
from pullback.interop._numpy import twin_of, ufunc_names

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
"""Members of `Tensor` that can not carry a docstring."""


# One entry ------------------------------------------------------------------------------------------------------------


def signature_of(entry: Entry) -> str:
    """How it is called, as users write it, without annotations that say nothing."""
    op = entry.op
    try:
        signature = inspect.signature(entry.value)
    except (TypeError, ValueError):
        return "(...)"
    if op is not None and "operands" in signature.parameters:
        return f"({', '.join([*op.operands, '/', *(['*', *op.params] if op.params else [])])}, out=None)"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature))  # annotations are strings
    text = text.replace(": Any = ", "=").replace(": Any", "").replace(" -> Any", "")
    text = text.replace("**spellings", "*, dim=None, keepdim=None")
    return re.sub(r"<class '([\w.]+)'>", r"\1", text)


def markdown_of(doc: str) -> str:
    """A docstring as Markdown: examples that begin with `>>>` become code."""
    lines, is_code = [], False
    for line in doc.splitlines():
        is_code = bool(line.strip()) and (is_code or line.startswith(">>>"))
        lines.append(f"    {line}" if is_code else line)
    return "\n".join(lines)


def entry_text(entry: Entry) -> str:
    """The Markdown of one entry."""
    if inspect.ismodule(entry.value):
        return f"{anchors(entry.names)}\n\n{markdown_of(inspect.getdoc(entry.value) or '')}\n"
    head = f"{anchors(entry.names[1:])}\n\n### {entry.name} {{#{entry.name}}}\n\n".lstrip()
    if not callable(entry.value):
        text = markdown_of(inspect.getdoc(entry.value) or "") if entry.page != "dtypes" else entry.meaning
        return f"{head}{text}\n"
    text = f"{head}    pb.{entry.name}{signature_of(entry)}\n\n{markdown_of(inspect.getdoc(entry.value) or '')}\n\n"
    if not is_array_function(entry):
        return text + (f"Also: {spellings(entry.names[1:])}.\n" if len(entry.names) > 1 else "")
    example = example_of(entry.names, entry.value, entry.op)
    facts = "\n".join(f"- {fact}" for fact in facts_of(entry, example.nodes))
    gradient = gradient_of(entry.op) if entry.op is not None else ""
    code = "\n".join(f"    {line}" for line in example.text.splitlines())
    return "\n\n".join(part for part in (text.rstrip(), facts, gradient, "Example:", code) if part) + "\n"


def anchors(names: Iterable[str]) -> str:
    """Places to which links can lead."""
    return "".join(f'<a id="{name}"></a>' for name in names)


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
    places = {"torch.linalg": "linalg.", "torch.fft": "fft.", "torch.special": "special.", "torch.nn.functional": "nn."}
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


def pages() -> dict[str, str]:
    """The Markdown of every page of the reference, by its name."""
    grouped: dict[str, list[Entry]] = {}
    for entry in entries():
        grouped.setdefault(entry.page, []).append(entry)
    found = {name: page_text(name, members) for name, members in grouped.items() if name != "Tensor"}
    found["Tensor"] = tensor_page(grouped["Tensor"][0])
    order = [*FAMILIES, "Tensor", *sorted(found.keys() - {*FAMILIES, "Tensor"})]
    return {"index": index_page(order, grouped), **{name: found[name] for name in order if name in found}}


def page_title(name: str) -> str:
    """The heading of a page."""
    return FAMILIES[name][0] if name in FAMILIES else f"pullback.{name}"


def page_text(name: str, members: list[Entry]) -> str:
    """A page: what the module says, then the entries by name, those of the top level first."""
    modules = [each for each in members if inspect.ismodule(each.value) and each.name == name]
    others = sorted((each for each in members if each not in modules), key=lambda each: ("." in each.name, each.name))
    if name in FAMILIES and not modules:
        texts = [f"# {page_title(name)}\n\nFunctions of `pullback`, here written `pb`.\n"]
    else:
        texts = [f"# {page_title(name)}\n", *map(entry_text, modules)]
    if name in FAMILIES:
        texts.append("Numbers are printed with four digits. [How to read an entry](index.md#how-to-read-an-entry)\n")
        texts.append(" · ".join(f"[{each.name}](#{each.name})" for each in others) + "\n")
    return "\n".join([*texts, *map(entry_text, others)])


def tensor_page(entry: Entry) -> str:
    """The class, its own members with their meaning, and the methods that are functions, with links to them."""
    places = {name: each for each in entries() for name in each.names if is_array_function(each)}
    functions, own = [], []
    for name in sorted(each for each in dir(pb.Tensor) if not each.startswith("_")):
        if name in places:
            functions.append(f"[{name}]({places[name].page}.md#{name})")
        elif name.endswith("_") and name[:-1] in places:
            functions.append(f"[{name}]({places[name[:-1]].page}.md#{name[:-1]})")
        else:
            meaning = first_sentence(getattr(pb.Tensor, name)) or UNDOCUMENTED[name]
            own.append(f'| <a id="Tensor.{name}"></a>`x.{name}` | {meaning} |')
    doc = markdown_of(inspect.getdoc(pb.Tensor) or "")
    return (
        f"# Tensor {{#{entry.name}}}\n\n{doc}\n\n## Members of its own\n\n| member | meaning |\n|---|---|\n"
        + "\n".join(own) + "\n\n## Methods that are functions\n\n" + " · ".join(functions) + "\n"
    )  # fmt: skip


def first_sentence(member: Any) -> str:
    """The first paragraph of a docstring in a table."""
    return (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


READING = """## How to read an entry

*Kind* says where the derivative comes from. A *primitive* has a rule of its own, which the entry shows as it is
written in the source: `g` is the gradient of the result `out`, and the other names are the operands. Of an elementwise
function the partial derivatives are shown; the gradient is `g` times their complex conjugate, summed over broadcast
axes. A *view* shares memory with its operand. A *composite* calls other functions and is differentiated through them.
A function that is *not differentiable* says why; its results never require grad. A primitive *with derivative 0* has
results that require grad, and gradients that are zeros.

*In place* names the method that writes the result into its first operand. *NumPy* and *torch* name what does the same
there; NumPy's functions may be called on tensors and do what the entry says. Where torch means something else by the
name, the entry says what. *Numbers* says what the derivative is declared and tested for; a composite takes what the
functions that it calls take. *Kept for backward* is what stays in memory, and must not be overwritten, until backward
has run.

Every example was run when this page was made.
"""


def index_page(order: list[str], grouped: dict[str, list[Entry]]) -> str:
    """The list of pages and the list of every public name."""
    rows = [f"| [{page_title(name)}]({name}.md) | {len(grouped[name])} |" for name in order if name in grouped]
    names = sorted(((name, each) for each in entries() for name in each.names), key=lambda pair: pair[0].lower())
    lines = []
    for name, each in names:
        what = each.meaning.replace("|", "\\|") if name == each.name else f"`{each.name}`"
        lines.append(f"| [{name}]({each.page}.md#{name}) | {what} |")
    return (
        "# Reference\n\n`import pullback as pb`; every name below follows `pb.`\n\n| page | entries |\n|---|---|\n"
        + "\n".join(rows) + f"\n\n{READING}\n## Every name\n\n| name | meaning |\n|---|---|\n" + "\n".join(lines) + "\n"
    )  # fmt: skip


def reference_page(module_name: str) -> str:
    """The entries of everything that one module exports, wherever in the reference they are."""
    prefix = module_name.removeprefix("pullback").lstrip(".")
    places = {name: each for each in entries() for name in each.names}
    names = [f"{prefix}.{name}".lstrip(".") for name in importlib.import_module(module_name).__all__]
    return "\n".join(f"### {name.rpartition('.')[2]}\n\n{places[name].meaning}\n" for name in names)
