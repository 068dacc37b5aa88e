"""`Module`: the names of generated source. What the functions refer to stands above them, each under a name of its own.

Numbers, tuples and slices are written where they are used. Arrays, dtypes and kernels are bound to names that all
functions of the module see, so that a call neither builds nor looks up anything it could have at hand.
"""

from __future__ import annotations

import ast
import base64
import builtins
import copy
import dis
import functools
import inspect
import keyword
import math
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.graph.ir import type_of
from pullback.graph.text.literals import type_text

_NUMBER_WORDS = {0: "zero", 1: "one", 2: "two", 3: "three", 4: "four", 0.5: "half", -1: "minus_one", 10: "ten"}
_PLAIN = (bool, int, str, bytes, type(None), type(...))


class Binding(NamedTuple):
    """An object that the source calls by name; `role` says what it is to whoever writes it as source."""

    value: Any
    role: str


class Module:
    """Names that are taken, objects bound to some of them, and the text of the functions."""

    def __init__(self) -> None:
        self.bindings: dict[str, Binding] = {}
        self.functions: list[str] = []
        self._taken = {"np", *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
        self._numbers: dict[str, int] = {}  # the last number that was put behind a word
        self._bound: dict[Any, str] = {}

    def name(self, wanted: str) -> str:
        """An unused name like this one."""
        word = re.sub(r"\W+", "_", wanted)
        word = (word.rstrip("_") if wanted.isidentifier() else word.strip("_")) or "value"
        if word[0].isdigit():
            word = f"value_{word}"
        name = word
        while name in self._taken:
            self._numbers[word] = number = self._numbers.get(word, 1) + 1
            name = f"{word}_{number}"
        self._taken.add(name)
        return name

    def bind(self, value: Any, wanted: str, role: str) -> str:
        """The name of an object; the same one for the same object."""
        key = (id(value), role)
        if key not in self._bound:
            self._bound[key] = self.name(wanted)
            self.bindings[self._bound[key]] = Binding(value, role)
        return self._bound[key]

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> str:
        """The name of an array without axes that holds a number. NumPy takes half as long to read it."""
        # The representation tells 0.0 from -0.0, and a nan from other nans is never told.
        key = ("scalar", repr(value), dtype)
        if key not in self._bound:
            array = np.array(value, dtype)
            array.flags.writeable = False
            self._bound[key] = self.name(_number_word(value))
            self.bindings[self._bound[key]] = Binding(array, "array")
        return self._bound[key]

    def text(self, value: Any, wanted: str = "constant") -> str:
        """An expression for a static value."""
        if type(value) in _PLAIN:
            return "..." if value is ... else repr(value)
        if type(value) is float:
            return _float_text(value)
        if type(value) is complex and math.isfinite(value.real) and math.isfinite(value.imag):
            return repr(value)
        if type(value) is slice:
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if type(value) in (tuple, list):
            parts = [self.text(part, wanted) for part in value]
            inside = ", ".join(parts) + ("," if type(value) is tuple and len(parts) == 1 else "")
            return f"({inside})" if type(value) is tuple else f"[{inside}]"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.text(k)}: {self.text(v, wanted)}" for k, v in value.items()) + "}"
        if isinstance(value, np.dtype):
            return self.dtype(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.bind(value, wanted, "array")
        return self.bind(value, wanted, "object")

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """The name of a dtype."""
        key = ("dtype", dtype)
        if key not in self._bound:
            self._bound[key] = self.name(dtype.name)
            self.bindings[self._bound[key]] = Binding(dtype, "dtype")
        return self._bound[key]

    def namespace(self) -> dict[str, Any]:
        """What the functions find under the names of the module."""
        return {"np": np, **{name: binding.value for name, binding in self.bindings.items()}}

    def source(self) -> str:
        """All functions, those that others call first, below a list of the names that they find in the namespace."""
        names = [f"# {name}: {_summary(binding)}" for name, binding in self.bindings.items()]
        return "\n".join(names) + "\n" * (3 if names else 0) + "\n\n\n".join(self.functions) + "\n"


def _summary(binding: Binding) -> str:
    value, role = binding
    if role == "array" and value.size == 1:
        return f"{value.dtype} {value.item()!r}{f' of shape {value.shape}' if value.shape else ''}"
    if role == "array":
        return f"a constant {type_text(type_of(value))}"
    if role.startswith("kernel "):
        return f"the kernel of `{role.removeprefix('kernel ')}`"
    return f"{role} {getattr(value, '__name__', type(value).__name__)}"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _number_word(value: Any) -> str:
    if type(value) is not complex and value in _NUMBER_WORDS and not (value == 0 and math.copysign(1, value) < 0):
        return _NUMBER_WORDS[value]
    return "number_" + repr(value).replace("-", "minus_").replace("+", "")


def subscript(module: Module, index: tuple[Any, ...], is_scalar: bool) -> str:
    """`[1:, None]` for an index of ints, slices, None and Ellipsis.

    An Ellipsis at the end is left out where the result has axes; without axes it makes the result an array.
    """
    if index and index[-1] is Ellipsis and not is_scalar and len(index) > 1:
        index = index[:-1]
    return f"[{', '.join(_index_part(module, part) for part in index)}]" if index else "[()]"


def _index_part(module: Module, part: Any) -> str:
    if type(part) is not slice:
        return module.text(part)
    start, stop, step = ("" if x is None else module.text(x) for x in (part.start, part.stop, part.step))
    return f"{start}:{stop}" + (f":{step}" if step else "")


# Where a value comes from: its place in NumPy or in Python's own modules, or its text in a source file of ours.

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


# Arrays as expressions that make them again, to the bit.

MOST_ELEMENTS = 64
"""Larger arrays are written as text that holds their bytes."""


def array_text(value: Any) -> str:
    """An expression for an array or a NumPy scalar; readable where that is exact."""
    if isinstance(value, np.generic):
        return f"{array_text(np.asarray(value))}[()]"
    if value.size <= MOST_ELEMENTS:
        text = f"np.array({_elements(value.tolist())}, np.dtype({value.dtype.str!r}))"
        if value.size == 0 and value.shape != (0,):
            return f"np.zeros({value.shape}, np.dtype({value.dtype.str!r}))"
        if _is_same(eval(text, {"np": np, "inf": np.inf, "nan": np.nan}), value):
            return text
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    lines = [data[start : start + 100] for start in range(0, len(data), 100)]
    inside = repr(lines[0]) if len(lines) == 1 else "(\n" + "\n".join(f"    {line!r}" for line in lines) + "\n)"
    return f"np.frombuffer(base64.b64decode({inside}), np.dtype({value.dtype.str!r})).reshape({value.shape}).copy()"


def _elements(value: Any) -> str:
    return repr(value).replace("inf", "np.inf").replace("nan", "np.nan")


def _is_same(left: Any, right: Any) -> bool:
    return bool(left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes())
