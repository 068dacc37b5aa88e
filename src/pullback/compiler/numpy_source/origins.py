"""Where a value comes from: its place in NumPy or in Python's own modules, or its text in a source file of ours."""

from __future__ import annotations

import ast
import copy
import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np


class Unexportable(Exception):
    """A value that has no source, with the reason."""


def path_of(value: Any) -> tuple[str, str] | None:
    """The module and the path inside it of what NumPy or Python itself has; None if it is neither's."""
    if isinstance(value, types.ModuleType):
        root, _, path = value.__name__.partition(".")
        if root == "numpy":
            return "numpy", path
        return (value.__name__, "") if _is_python_module(root) else None
    if isinstance(value, np.ufunc):
        own = str(value.__name__)
        return ("numpy", own) if getattr(np, own, None) is value else None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] == "numpy":
        places = (module.partition(".")[2], "", "linalg", "fft", "lib.stride_tricks", "polynomial", "random")
        paths = [f"{place}.{name}".strip(".") for place in places]
        return next((("numpy", path) for path in paths if _found(np, path) is value), None)
    public = {"_operator": "operator", "_functools": "functools"}.get(module, module)
    home = sys.modules.get(public)
    if (public, name) == ("importlib", "import_module"):
        raise Unexportable("it imports a module while it runs")
    is_there = home is not None and _is_python_module(public.partition(".")[0]) and _found(home, name) is value
    return (public, name) if is_there else None


def _found(owner: Any, path: str) -> Any:
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner


def _is_python_module(name: str) -> bool:
    return name in sys.stdlib_module_names


# Source files.


@functools.lru_cache(maxsize=256)
def _index(file: str) -> dict[tuple[str, int], list[Any]]:
    """The functions, lambdas and classes of a file, by name and first line; a class by its name alone."""
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    found: dict[tuple[str, int], list[Any]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.setdefault((node.name, first), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.ClassDef):
            found.setdefault((node.name, 0), []).append(node)
    return found


def class_node(value: type) -> Any:
    """The definition of one of our classes in its source file."""
    found = _index(inspect.getfile(value)).get((value.__name__, 0), [])
    if len(found) != 1 or not value.__module__.startswith("pullback."):
        raise Unexportable(f"the class {value.__module__}.{value.__qualname__} has no source that stands alone")
    return copy.deepcopy(found[0])


def function_node(function: types.FunctionType) -> Any:
    """The definition of a function in its source file."""
    code = function.__code__
    try:
        index = _index(code.co_filename)
    except (OSError, SyntaxError) as error:
        raise Unexportable(f"the source of {function.__qualname__} is not to be found") from error
    found = index.get((code.co_name, code.co_firstlineno), [])
    if code.co_name == "<lambda>" and len(found) > 1:
        found = [node for node in found if _is_lambda(node, code)]
    if len(found) != 1:
        raise Unexportable(f"the source of {function.__qualname__} is not in {code.co_filename}")
    return copy.deepcopy(found[0])


def _is_lambda(node: ast.Lambda, code: types.CodeType) -> bool:
    """Is this the text of the lambda with that code? All its instructions come from the same stretch of the line."""
    low, high = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    return all(low <= place <= high for place in places)


def global_names(function: types.FunctionType) -> set[str]:
    """The names that a function, or one inside of it, takes from its module."""
    return {
        step.argval
        for code in _codes(function.__code__)
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_GLOBAL"
    }


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a definition gives a meaning itself."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
            yield each.id
        elif isinstance(each, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) and each is not node and each.name:
            yield each.name
        elif isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]


class _Unannotated(ast.NodeTransformer):
    """Drops annotations; the fields of a class keep one, since they are fields because of it."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):
                statement.annotation = ast.Name("object", ast.Load())
        node.body = [each if isinstance(each, ast.AnnAssign) else self.visit(each) for each in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return None if node.value is None else ast.Assign([node.target], self.visit(node.value))


def without_annotations(node: Any) -> Any:
    """A definition without its annotations."""
    return ast.fix_missing_locations(_Unannotated().visit(node))
