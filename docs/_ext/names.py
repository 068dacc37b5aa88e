"""Every public name of the package: which object it stands for, and on which page of the reference it is described."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback.declare.op import Op, registry

FAMILIES = {
    "creation": ("Creation and conversion", "arrays.creation arrays.grids dlpack"),
    "dtypes": ("Data types and inspection", "elementwise.casting elementwise.dtypes inspection"),
    "elementwise": ("Elementwise functions", ""),
    "reductions": ("Reductions, statistics, scans", "application"),
    "sorting": ("Sorting, searching, sets", "arrays.sorting"),
    "indexing": (
        "Indexing and scatter",
        "arrays.indexing arrays.index_operators arrays.scatter arrays.updates arrays.selection arrays.masks methods",
    ),
    "shape": (
        "Shape and views",
        "arrays.movement arrays.reshaping arrays.strided arrays.complex_parts arrays.inplace_views",
    ),
    "joining": ("Joining, splitting, rearranging", "arrays.joining arrays.padding arrays.rearranging"),
    "products": ("Products and contractions", "contraction products vector_products"),
    "linalg": ("Linear algebra", ""),
    "fft": ("Fourier transforms", ""),
    "masked": ("Reductions of chosen elements", ""),
    "nested": ("Rows of different lengths", "ragged.making"),
    "special": ("Special functions", ""),
    "signal": (
        "Signals, integration, interpolation, polynomials",
        "reductions.integration polynomial",
    ),
    "nn": ("Neural-network functions", ""),
    "random": ("Random numbers", ""),
}
"""The pages of functions: title, and the modules of `pullback.operators` on it beside those in its folder."""

OPERATORS = "pullback.operators."
PLUMBING = {"examples", "keywords", "loading", "names"}
"""Modules of `pullback.operators` that declare nothing of their own."""

BY_KIND = {"elementwise": "elementwise", "reduction": "reductions", "view": "shape"}
"""The pages of operators whose module is not listed."""


@dataclass(frozen=True)
class Entry:
    """One object of the package and every name it has, relative to `pullback`; the first is what it is filed under."""

    names: tuple[str, ...]
    value: Any
    page: str

    @property
    def name(self) -> str:
        """What it is filed under."""
        return self.names[0]

    @property
    def meaning(self) -> str:
        """The first paragraph of the docstring, on one line."""
        if inspect.ismodule(self.value) or callable(self.value) or type(self.value).__module__.startswith("pullback"):
            return (inspect.getdoc(self.value) or "").partition("\n\n")[0].replace("\n", " ")
        kind = "The data type" if isinstance(self.value, np.dtype) else "The constant"
        return f"{kind} `{self.value}`."

    @property
    def op(self) -> Op | None:
        """The operator behind a function, if it is one, also if the function adds keywords to it."""
        return next((registry[name] for name in self.names if name in registry and registry[name].is_public), None)


def public_modules() -> list[str]:
    """`pullback`, the modules that it exports, `pullback.errors`, and in packages the modules without underscore."""
    exported = [value for name in sorted(pb.__all__) if inspect.ismodule(value := getattr(pb, name))]
    exported.sort(key=lambda module: module is pb.scipy)  # it has names for what is found elsewhere
    found = ["pullback", "pullback.errors"]
    for module in exported:
        inner = pkgutil.iter_modules(getattr(module, "__path__", []))
        found += [module.__name__, *(f"{module.__name__}.{info.name}" for info in inner if info.name[0] != "_")]
    return found


@lru_cache
def entries() -> tuple[Entry, ...]:
    """Everything public, each object once."""
    found: dict[Any, tuple[list[str], Any]] = {}
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        prefix = module_name.removeprefix("pullback").lstrip(".")
        if prefix:
            found.setdefault(id(module), ([prefix], module))
        for name in module.__all__:
            full, value = f"{prefix}.{name}".lstrip("."), getattr(module, name)
            key = id(value) if callable(value) or inspect.ismodule(value) else full
            names = found.setdefault(base_of_twin(full) or key, ([], value))[0]
            if full not in names:
                names.append(full)
    return tuple(filed(names, value, page_of(names, value)) for names, value in found.values())


def filed(names: list[str], value: Any, page: str) -> Entry:
    """An entry under the name that the page suggests: `nn.conv2d` on the page of `nn`."""
    return Entry(tuple(sorted(names, key=lambda name: not name.startswith(f"{page}."))), value, page)


def base_of_twin(name: str) -> Any:
    """For a function such as `nn.relu_`, the key of the function whose result it writes into its argument."""
    if not name.startswith("nn.") or not name.endswith("_"):
        return None
    return id(getattr(pb.nn, name.removeprefix("nn.").removesuffix("_")))


def page_of(names: list[str], value: Any) -> str:
    """The page of an object: that of its family, or of the public module it belongs to."""
    if inspect.ismodule(value):
        return names[0]
    if value is pb.Tensor:
        return "Tensor"
    module = home_of(names[0], value)
    if module is None and callable(value) and all("." not in name for name in names):
        package = written_in(value).split(".")[1]
        return {"_compile": "aot", "core": "settings", "eager": "settings"}.get(package, package)
    if module is None:
        return next((name.rpartition(".")[0] for name in names if "." in name), "dtypes")
    listed = next((page for page, (_, modules) in FAMILIES.items() if module in modules.split()), None)
    if listed is not None:
        return listed
    if module.partition(".")[0] in FAMILIES:
        return module.partition(".")[0]
    op = registry.get(names[0])
    return BY_KIND.get(op.family, module) if op is not None else module


def written_in(value: Any) -> str:
    """The module whose source defines an object; its `__module__` says where users find it, which may be another."""
    scope = getattr(inspect.unwrap(value), "__globals__", {}) if inspect.isfunction(value) else {}
    return scope.get("__name__") or getattr(value, "__module__", None) or ""


def home_of(name: str, value: Any) -> str | None:
    """The module of `pullback.operators` that declares a function; None for what is no array function."""
    namespace, _, short = name.rpartition(".")
    if namespace in FAMILIES:
        return namespace
    module = written_in(value if callable(value) else type(value))
    is_operator, module = module.startswith(OPERATORS), module.removeprefix(OPERATORS)
    if is_operator and module not in PLUMBING:
        return module
    return definitions().get(short) if is_operator or name in registry else None


@lru_cache
def definitions() -> dict[str, str]:
    """The module of `pullback.operators` where a name is bound at the top level by something else than an import."""
    found: dict[str, str] = {}
    package = importlib.import_module("pullback.operators")
    modules = {info.name.removeprefix(OPERATORS) for info in pkgutil.walk_packages(package.__path__, OPERATORS)}
    modules -= PLUMBING | {name.partition(".")[0] for name in modules if "." in name}
    namespaces = {name for name in modules if name.partition(".")[0] in ("linalg", "signal", "special", "nn", "random")}
    for module in [*sorted(modules - namespaces), *sorted(namespaces)]:
        path = Path(package.__path__[0], *module.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for statement in tree.body:
            for name in bound_by(statement):
                found.setdefault(name, module)
    return found


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines."""
    if isinstance(statement, ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def is_array_function(entry: Entry) -> bool:
    """Whether an entry is one of the functions on the pages of families."""
    is_function = callable(entry.value) and not inspect.isclass(entry.value)
    if getattr(entry.value, "__module__", "").startswith("pullback.interop."):
        return False  # it needs objects of another library, which may not be there
    return is_function and entry.page in FAMILIES and home_of(entry.name, entry.value) is not None
