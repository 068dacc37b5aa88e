"""Signatures as stubs write them: every parameter and every result with a type."""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pullback as pb
from tools.stubs.results import observed_results
from tools.stubs.table import BY_NAME, FLAGS, MEANT, OF_FUNCTION, ORIGINS, RESULTS


class Missing(Exception):
    """The generator was not told a type."""


class Text:
    """Something that is written as it is, in place of an annotation or a default."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Scope:
    """What names mean in one stub: which of the builtins are hidden by names of its own, and what was imported."""

    def __init__(self, module: str, bound: set[str]) -> None:
        self.module = module
        self.bound = bound
        self.imports: set[tuple[str, str]] = set()
        self.hidden: set[str] = set()

    def written(self, annotation: str, context: dict[str, Any]) -> str:
        """A type as it is written here. `context` has the classes that the source knows and the tables do not."""
        tree = ast.parse(annotation.strip(), mode="eval").body
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self._name(node.id, context)
        return ast.unparse(tree).replace("'", '"')

    def _name(self, name: str, context: dict[str, Any]) -> str:
        if name in MEANT:
            return self.written(MEANT[name], context)
        if hasattr(builtins, name):
            if name in self.bound:
                self.hidden.add(name)
                return f"_{name}"
            return name
        if name in ORIGINS:
            origin = ORIGINS[name]
        elif isinstance(context.get(name), type):
            origin = context[name].__module__
        else:
            raise Missing(f"{self.module}: where does {name} come from? tools/stubs/table.py should know")
        if origin == "numpy":
            self.imports.add(("", "import numpy as np"))
        elif origin != self.module:
            self.imports.add((origin, name))
        return name

    def head(self) -> list[str]:
        """The lines that import what was needed."""
        lines = [f"from builtins import {name} as _{name}" for name in sorted(self.hidden)]
        for origin, group in itertools.groupby(sorted(self.imports), lambda pair: pair[0]):
            names = [name for _, name in group]
            shown = [f"{name} as {name}" if name in self.bound else name for name in names]
            lines.append(f"from {origin} import {', '.join(shown)}" if origin else names[0])
        return lines


def definitions(scope: Scope, name: str, function: Any, as_name: str, first: str | None = None) -> list[str]:
    """The lines that define a function, `name` within `pullback`, as `as_name`.

    `first` is given for methods: what their first parameter is called.
    """
    signature = typed(scope, name, function, inspect.signature(function))
    if first is not None:
        own, *others = signature.parameters.values()
        kind = own.kind if others and others[0].kind is own.POSITIONAL_ONLY else own.POSITIONAL_OR_KEYWORD
        own = own.replace(name="self", annotation=own.empty, default=own.empty, kind=kind)
        signature = signature.replace(parameters=[own, *others])
    overloads = list(by_flags(scope, name, signature))
    if not overloads:
        return [f"def {as_name}{signature}: ..."]
    scope.imports.add(("typing", "overload"))
    return [line for each in overloads for line in ("@overload", f"def {as_name}{each}: ...")]


def typed(scope: Scope, name: str, function: Any, signature: inspect.Signature) -> inspect.Signature:
    """The signature with a type for everything."""
    context = classes() | getattr(inspect.unwrap(function), "__globals__", {})
    parameters = []
    for each in signature.parameters.values():
        annotation = scope.written(type_of(name, each), context)
        default = each.default if is_plain(each.default) else Text("...")
        default = Text(f'"{default}"') if isinstance(default, str) else default
        parameters.append(each.replace(annotation=Text(annotation), default=default))
    result = scope.written(result_of(name, function, signature), context)
    return signature.replace(parameters=parameters, return_annotation=Text(result))


def type_of(name: str, parameter: inspect.Parameter) -> str:
    """The type of a parameter: by function and name, by the annotation if it says something, or by name."""
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    short, own = name.rpartition(".")[2], f"{star}{parameter.name}"
    told = OF_FUNCTION.get(f"{name}.{own}") or OF_FUNCTION.get(f"{short}.{own}")
    if told is None and isinstance(parameter.annotation, str) and parameter.name != "device":
        told = parameter.annotation if not re.search(r"\bAny\b", parameter.annotation) else None
    told = told or BY_NAME.get(own)
    if told is None:
        raise Missing(f"{name}: no type for the parameter {own}; tools/stubs/table.py wants one")
    is_optional = parameter.default is None and not re.search(r"\bNone\b", told)
    return f"{told} | None" if is_optional else told


def is_plain(default: Any) -> bool:
    """Can a default be shown as it is?"""
    if isinstance(default, tuple):
        return all(type(each) is int for each in default)
    if isinstance(default, float):
        return abs(default) < 1e300
    return default is None or default is inspect.Parameter.empty or type(default) in (bool, int, str)


def result_of(name: str, function: Any, signature: inspect.Signature) -> str:
    """The type of the result: by the table, by the annotation, or by what the example returns."""
    short = name.rpartition(".")[2]
    told = RESULTS.get(name) or RESULTS.get(short)
    if told is None and short.endswith("_"):
        return "Tensor"  # written into, and returned
    declared = signature.return_annotation
    if told is None and isinstance(declared, str) and declared != "Any":
        told = re.sub(r"\bAny\b", "Tensor", declared) if declared.startswith("tuple[") else declared
    for each in (function, getattr(pb, short, None)):  # a method may be another function than that of its name
        told = told or (observed_results().get(id(inspect.unwrap(each))) if each is not None else None)
    if told is None:
        raise Missing(f"{name}: no type for the result; RESULTS in tools/stubs/table.py wants one")
    return told


@cache
def classes() -> dict[str, Any]:
    """The classes that operators return, such as named tuples, by name."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("pullback.operators")]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, type)}


def by_flags(scope: Scope, name: str, signature: inspect.Signature) -> Iterator[inspect.Signature]:
    """One signature for each setting of the flags that change the kind of result, and one for flags not known."""
    flags = FLAGS.get(name) or FLAGS.get(name.rpartition(".")[2])
    if flags is None:
        return
    names = [each for each in signature.parameters if each in flags.names]
    scope.imports.add(("typing", "Literal"))
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            yield with_flags(scope, signature, names, chosen, flags.result(chosen))
    yield signature.replace(return_annotation=Text(scope.written(flags.any_result(), {})))


def with_flags(
    scope: Scope, signature: inspect.Signature, names: list[str], chosen: tuple[str, ...], result: str
) -> inspect.Signature:
    """The signature with `chosen` flags other than by default; they, and what follows them, are given by name."""
    parameters: list[inspect.Parameter] = []
    is_named = False
    for each in signature.parameters.values():
        if each.name in names:
            value = (not each.default) if each.name in chosen else each.default
            is_named = is_named or each.name in chosen
            default = each.empty if each.name in chosen else each.default
            each = each.replace(annotation=Text(f"Literal[{value}]"), default=default)
        if is_named and each.kind is each.POSITIONAL_OR_KEYWORD:
            each = each.replace(kind=each.KEYWORD_ONLY)
        parameters.append(each)
    return signature.replace(parameters=parameters, return_annotation=Text(scope.written(result, {})))


class Parts(dict[str, list[ast.FunctionDef]]):
    """The definitions of a module that are written by hand, by name, and the lines that they need before them."""

    def __init__(self) -> None:
        self.imports: set[tuple[str, str]] = set()
        self.head: list[str] = []  # type variables

    @property
    def names(self) -> list[str]:
        """The functions."""
        return list(self)

    def lines(self, scope: Scope, name: str) -> list[str]:
        """The lines of one function. Types that a name of the module hides are written otherwise."""
        found = []
        scope.imports |= self.imports
        for definition in self[name]:
            arguments = definition.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            holders: list[Any] = [each for each in given if each is not None and each.annotation is not None]
            for node in itertools.chain(*(ast.walk(each.annotation) for each in holders), ast.walk(definition.returns)):
                if isinstance(node, ast.Name) and node.id == "np":
                    scope.imports.add(("", "import numpy as np"))
                if isinstance(node, ast.Name) and hasattr(builtins, node.id) and node.id in scope.bound:
                    scope.hidden.add(node.id)
                    node.id = f"_{node.id}"
            found += ast.unparse(definition).replace("'", '"').removesuffix("\n    ...").splitlines()
            found[-1] += " ..."
        return found


@cache
def parts_of(module: str) -> Parts:
    """What is written by hand for a module."""
    parts = Parts()
    path = Path(__file__).parent / "parts" / f"{module}.pyi"
    for statement in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []:
        if isinstance(statement, ast.FunctionDef):
            parts.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.ImportFrom):
            parts.imports |= {(str(statement.module), alias.name) for alias in statement.names}
        elif not isinstance(statement, ast.Import):
            parts.head.append(ast.unparse(statement).replace("'", '"'))
    return parts
