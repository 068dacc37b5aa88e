"""The stubs of all modules that need one, as texts."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import pullback as pb
from docs._ext.names import written_in
from tools.stubs.signatures import Missing, Scope, definitions, parts_of

SOURCE = Path(pb.__file__).parents[1]
MEMBERS = "pullback.tensors.members"
"""The base class that `Tensor` has for type checkers: the methods that it gets at run time."""

HEAD = "# Written by `make stubs` (tools/stubs), not by hand."
WITHOUT = "pullback.scipy"  # what its functions take depends on the SciPy that is installed
SHOWN_AS = {float: "float", int: "int", type(None): "None", str: "str"}


def stubs() -> dict[Path, str]:
    """The text of every stub by its path."""
    names = [name for name in public_modules() if needs_stub(name)]
    found = {stub_path(name): module_text(name, names) for name in names}
    found[stub_path(MEMBERS)] = members_text()
    return found


def public_modules() -> list[str]:
    """`pullback`, the modules that it exports, and in packages those without underscore."""
    exported = [value for name in pb.__all__ if isinstance(value := getattr(pb, name), ModuleType)]
    found = ["pullback"]
    for module in sorted(exported, key=lambda each: each.__name__):
        if module.__name__ != WITHOUT:
            inner = pkgutil.iter_modules(getattr(module, "__path__", []))
            found += [module.__name__, *(f"{module.__name__}.{info.name}" for info in inner if info.name[0] != "_")]
    return found


def needs_stub(name: str) -> bool:
    """Is there something in the module that a type checker cannot read, or that is written by hand in `parts`?"""
    return bool(parts_of(name)) or bool(set(importlib.import_module(name).__all__) - names_in_source(name))


@cache
def names_in_source(name: str) -> set[str]:
    """The names that a type checker finds in the source of a module."""
    path = stub_path(name).with_suffix(".py")
    if not path.exists():
        return set()
    return {each for statement in ast.parse(path.read_text(encoding="utf-8")).body for each in bound_by(statement)}


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds; what is looked up in a table of functions has no type."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        if isinstance(statement, ast.ImportFrom) and statement.module == "pullback.operators.public":
            return  # whose functions are made at run time, and have no types but in stubs
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.If):
        for each in statement.body:
            yield from bound_by(each)
    elif isinstance(statement, ast.AnnAssign):
        yield ast.unparse(statement.target)
    elif isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Subscript):
        yield from (each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name))


def stub_path(name: str) -> Path:
    """Where the stub of a module lies."""
    folder = SOURCE.joinpath(*name.split("."))
    return folder / "__init__.pyi" if folder.is_dir() else folder.with_suffix(".pyi")


# Modules --------------------------------------------------------------------------------------------------------------


def module_text(name: str, stubbed: list[str]) -> str:
    """The stub of a module."""
    module = importlib.import_module(name)
    exported = sorted(module.__all__)
    scope = Scope(name, set(exported))
    lines: list[str] = []
    written: dict[int, str] = {}
    parts = parts_of(name)
    for each in sorted(exported, key=lambda each: (each not in parts, each)):
        value = getattr(module, each)
        if each not in parts and id(value) in written:
            lines.append(f"{each} = {written[id(value)]}")
        else:
            lines += name_lines(scope, name, each, value, stubbed)
            if callable(value):
                written.setdefault(id(value), each)
    listing = ["__all__ = [", *(f'    "{each}",' for each in exported), "]"]
    return "\n".join([HEAD, *scope.head(), "", *parts.head, *extras(name), *listing, "", *lines, ""])


def extras(name: str) -> list[str]:
    """What the package has beside its public names."""
    if name != "pullback":
        return []
    own = [f"__{each}__: str" for each in ("version", "array_api_version")]
    return [*own, "def __array_namespace_info__() -> object: ...", ""]


def name_lines(scope: Scope, module: str, name: str, value: Any, stubbed: list[str]) -> list[str]:
    """The lines of one public name: written by hand, imported from where it can be read, or made from its signature."""
    parts = parts_of(module)
    if name in parts:
        return parts.lines(scope, name)
    if isinstance(value, ModuleType):
        home, _, last = value.__name__.rpartition(".")
        return [f"from {home} import {last} as {name}"]
    if isinstance(value, np.dtype):
        scope.imports.add(("", "import numpy as np"))
        return [f"{name}: np.dtype[np.{value.type.__name__}]"]
    if type(value) in SHOWN_AS:
        return [f"{name}: {SHOWN_AS[type(value)]}"]
    home = home_of(module, name, value, stubbed) if callable(value) else None
    if home is not None:
        return [f"from {home[0]} import {home[1]} as {name}"]
    if not callable(value) and type(value).__module__.startswith("pullback."):
        return [f"{name}: {scope.written(type(value).__name__, {type(value).__name__: type(value)})}"]
    if callable(value):
        return definitions(scope, f"{module}.{name}".removeprefix("pullback."), value, name)
    raise Missing(f"{module}.{name}: nothing is known of it but that it is a {type(value).__name__}")


def home_of(module: str, name: str, value: Any, stubbed: list[str]) -> tuple[str, str] | None:
    """The module where a name can be read by a type checker, if there is one: with a part, or as source of its own.

    The functions of operators are not among them: their source says little of what they take.
    """
    for other in stubbed:
        owner = importlib.import_module(other)
        found = next((each for each in parts_of(other).names if vars(owner).get(each) is value), None)
        if found is not None and other != module:
            return other, found
    own = written_in(value) or type(value).__module__
    if own.startswith("pullback.operators") and not isinstance(value, type) and callable(value):
        shared = first_with(value)
        return shared if shared is not None and shared[0] != module else None
    called = getattr(value, "__name__", name)
    for each in (own, *sorted(each for each in sys.modules if each.startswith("pullback."))):
        is_here = each not in (module, "pullback") and vars(sys.modules[each]).get(called) is value
        if is_here and called in names_in_source(each):
            return each, called
    shared = first_with(value)
    return shared if shared is not None and shared[0] != module else None


@cache
def first_places() -> dict[int, tuple[str, str]]:
    """Where every function is defined that several modules have: the first of them, `pullback` itself before all."""
    found: dict[int, tuple[str, str]] = {}
    for module in public_modules():
        if module.count(".") == 0 or needs_stub(module):
            for name in sorted(importlib.import_module(module).__all__):
                value = getattr(importlib.import_module(module), name)
                if callable(value):
                    found.setdefault(id(value), (module, name))
    return found


def first_with(value: Any) -> tuple[str, str] | None:
    """The first public place of a function."""
    return first_places().get(id(value))


# Tensor ---------------------------------------------------------------------------------------------------------------

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
COMPARISONS = ["lt", "le", "gt", "ge"]
NOT_TYPED = {
    "__array__": "NumPy's stubs would promise an ndarray for `np.sin(x)`",
    "__array_priority__": "a number for NumPy",
    "__pandas_priority__": "a number for pandas",
    "__reduce_ex__": "as of every object",
    "__repr__": "as of every object",
    "__str__": "as of every object",
}
"""Members of `Tensor` that its stub leaves out."""


def members_text() -> str:
    """The stub of what `Tensor` has beside what its source shows."""
    example = pb.zeros(2, 2)  # `pb.func.adapt` gives the class members that only adapted code sees
    members = [name for name in dir(pb.Tensor) if name not in NOT_TYPED and hasattr(example, name)]
    in_source = names_in_class(stub_path("pullback.tensors.tensor").with_suffix(".py"), "Tensor")
    wanted = [name for name in members if name not in in_source and (name[0] != "_" or is_ours(name))]
    scope = Scope(MEMBERS, set(wanted))
    parts = parts_of("Tensor")
    lines: list[str] = []
    written: dict[int, str] = {}
    for name in sorted(wanted, key=lambda each: (each not in parts, each)):
        value = inspect.unwrap(getattr(pb.Tensor, name))
        if name in parts:
            lines += parts.lines(scope, name)
        elif name.startswith("__"):
            lines += operator_lines(scope, name)
        elif id(value) in written:
            lines.append(f"{name} = {written[id(value)]}")
        else:
            lines += method_lines(scope, name, value)
        written.setdefault(id(value), name)
    body = [f"    {line}" for line in lines]
    return "\n".join([HEAD, *scope.head(), "", "class Members:", *body, ""])


def names_in_class(path: Path, name: str) -> set[str]:
    """The names that the source of a class defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (found,) = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name]
    return {each for statement in found.body for each in bound_by(statement)} | {"__dict__", "__weakref__"}


def is_ours(name: str) -> bool:
    """Is this one of the members with an underscore that are typed?"""
    return name in parts_of("Tensor") or is_operator(name)


def is_operator(name: str) -> bool:
    """Is it behind one of the operators of the language?"""
    short = name.strip("_")
    return name.startswith("__") and (
        short in (*OPERATORS, *COMPARISONS, "eq", "ne", "divmod", "rdivmod") or short[1:] in OPERATORS
    )


def operator_lines(scope: Scope, name: str) -> list[str]:
    """A method behind an operator."""
    scope.imports |= {("pullback.typing", "ArrayLike"), ("pullback.tensors.tensor", "Tensor")}
    if name in ("__eq__", "__ne__"):
        scope.written("object", {})
        return [f"def {name}(self, other: object, /) -> Tensor: ...  # type: ignore[override]"]
    result = scope.written("tuple[Tensor, Tensor]" if "divmod" in name else "Tensor", {})
    return [f"def {name}(self, other: ArrayLike, /) -> {result}: ..."]


def method_lines(scope: Scope, name: str, value: Any) -> list[str]:
    """A method: with the signature of the function that it stands for, if its own says nothing."""
    function, base = value, name.removesuffix("_")
    parameters = inspect.signature(value).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        function = function_named(base)
    suffix = "_" if name.endswith("_") else ""
    return definitions(scope, full_name(base) + suffix, function, name, first="self")


def function_named(name: str) -> Callable[..., Any]:
    """The public function that a method of this name stands for."""
    name = {"inverse": "inv", "pinverse": "pinv"}.get(name, name)
    places = (pb, pb.linalg, pb.special)
    found: Callable[..., Any] = next(getattr(place, name) for place in places if name in place.__all__)
    return found


def full_name(name: str) -> str:
    """What the function behind a method is called within `pullback`."""
    if name in pb.__all__:
        return name
    return next((f"{place}.{name}" for place in ("linalg", "special") if name in getattr(pb, place).__all__), name)
