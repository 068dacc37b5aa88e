"""`export_source`: a graph, or a forward and a backward, as a file that runs with NumPy alone.

The functions are those that `compile_numpy` runs, written for NumPy of any version. Constants become expressions that
make them again to the bit; kernels that are more than one NumPy call are put in front of the functions, as source,
with everything they refer to.

Random numbers are drawn from a `generator` of the file, which `seed(number)` puts where `manual_seed` puts the default
generator of the library: then the draws are the same. A generator that the graph names itself is written down in the
state that it is in.
"""

from __future__ import annotations

import ast
import builtins
import functools
import os
import sys
import textwrap
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pullback.compiler.numpy_source.function import FunctionWriter, described
from pullback.compiler.numpy_source.module import (
    Binding,
    Module,
    Unexportable,
    array_text,
    bound_names,
    class_node,
    function_node,
    global_names,
    path_of,
    without_annotations,
)
from pullback.declare.op import Op, registry
from pullback.errors import AOTError
from pullback.graph.ir import Program
from pullback.graph.text.literals import type_text

# Functions as source that stands alone: their own text, and the text of everything they refer to.
#
# `Extractor.reference(value)` returns an expression for a value in the exported file and takes care that what the
# expression needs is defined there. Functions and classes are found in the source file of their module and taken over
# without annotations; names that they take from their module or from the functions around them are replaced by
# references to the values behind those names. NumPy and Python's own modules are imported, everything else is refused.

_ONE_AFTER_THE_OTHER = '''
def in_pieces(work, count, size=1, piece=32768):
    """Call `work(start, stop)` for stretches of rows that stay in the cache, one after the other."""
    step = max(1, piece // max(size, 1))
    for start in range(0, count, step):
        work(start, min(start + step, count))
'''
_NEW_MEMORY = '''
def scratch_like(x, number, dtype=None):
    """An array of the shape of `x` to work in."""
    return np.empty_like(x, dtype)
'''
_ERROR = '''
class AutogradError(RuntimeError):
    """A rule was broken; the message says which one, why it matters and what to do."""

    def __init__(self, code, what, *, where="", why="", fix=""):
        super().__init__("\\n  ".join(text for text in (f"[{code}] {what}", where, why, fix) if text))
'''
_GENERATOR = '''
def asked(generator):
    """The generator of a draw."""
    return generator
'''
_SAME_KERNEL = '''
def large_kernel(kernel, size):
    """The kernel for so many elements."""
    return kernel
'''
# What needs the machinery of the library, in a form that does not.
_SUBSTITUTES = {
    "pullback.operators.pieces.in_pieces": _ONE_AFTER_THE_OTHER,
    "pullback.operators.pieces.scratch_like": _NEW_MEMORY,
    "pullback.operators.random.draws.asked": _GENERATOR,
    "pullback.eager.large.large_kernel": _SAME_KERNEL,
    "pullback.errors.AutogradError": _ERROR,
}


class Extractor:
    """Collects imports, constants and definitions for one exported file."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.imports: dict[str, None] = {}
        self.constants: list[str] = []
        self.definitions: list[str] = []
        self._named: dict[int, str] = {}
        self._kept: list[Any] = []  # an object must live as long as its id stands for it

    def reference(self, value: Any, wanted: str = "value") -> str:
        """An expression for a value."""
        if isinstance(value, Op):
            value = value.kernel  # nothing else of it is there
        known = self._named.get(id(value))
        if known is not None:
            return known
        plain = self._plain_text(value, wanted)
        if plain is not None:
            return plain
        found = path_of(value)
        if found is not None:
            package, path = found
            if package == "numpy":
                return f"np.{path}" if path else "np"
            if package != "builtins":
                self.imports[package] = None
            return f"{package}.{path}" if package != "builtins" and path else path or package
        return self._defined(value, wanted)

    def define(self, value: Any, name: str, wanted: str) -> None:
        """Give a value this name, which the module has kept free for it."""
        is_known = id(value) in self._named or _is_substituted(value) or path_of(value) is not None
        if type(value) is types.FunctionType and not is_known:
            self._function(value, wanted, name)
            return
        self.definitions.append(f"{name} = {self.reference(value, wanted)}")

    # Values.

    def _plain_text(self, value: Any, wanted: str) -> str | None:
        if isinstance(value, np.dtype):
            return f"np.dtype({value.str!r})" if value.names is None else None
        if type(value) in (bool, int, float, complex, str, bytes, type(None), type(...), slice):
            text = self.module.text(value)
            return text if text not in self.module.bindings else None
        if type(value) in (tuple, list, set, frozenset):
            parts = [self.reference(part, wanted) for part in value]
            inside = ", ".join(parts) + ("," if type(value) is tuple and len(parts) == 1 else "")
            if type(value) is frozenset:
                return f"frozenset(({inside}{',' if len(parts) == 1 else ''}))"
            if type(value) is set:
                return f"{{{inside}}}" if parts else "set()"
            return f"({inside})" if type(value) is tuple else f"[{inside}]"
        if type(value) is dict:
            pairs = [f"{self.reference(k, wanted)}: {self.reference(v, wanted)}" for k, v in value.items()]
            return "{" + ", ".join(pairs) + "}"
        return None

    def _defined(self, value: Any, wanted: str) -> str:
        """The name under which a definition of the value is put into the file."""
        self._kept.append(value)
        if isinstance(value, (np.ndarray, np.generic)):
            name = self._named[id(value)] = self.module.name(wanted)
            self.constants.append(f"{name} = {array_text(value)}")
            return name
        if isinstance(value, functools.partial):
            self.imports["functools"] = None
            parts = [self.reference(part) for part in (value.func, *value.args)]
            parts += [f"{key}={self.reference(part)}" for key, part in value.keywords.items()]
            return f"functools.partial({', '.join(parts)})"
        if type(value) is functools._lru_cache_wrapper:
            return self._cached_function(value)
        if _is_substituted(value):
            name = self._named[id(value)] = self.module.name(value.__name__)
            self.definitions.append(_renamed(_SUBSTITUTES[_full_name(value)], value.__name__, name))
            return name
        if isinstance(value, types.FunctionType):
            return self._function(value, wanted)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, np.ufunc) or (isinstance(value, types.ModuleType) and "scipy" in value.__name__):
            raise Unexportable(f"it calls {getattr(value, '__name__', wanted)}, which is SciPy's and not NumPy's")
        raise Unexportable(f"{wanted} is a {type(value).__module__}.{type(value).__qualname__}, which has no source")

    def _cached_function(self, value: Any) -> str:
        inner = self.reference(value.__wrapped__, value.__name__)
        self.imports["functools"] = None
        name = self._named[id(value)] = self.module.name(f"cached_{value.__name__}")
        size = value.cache_parameters()["maxsize"]
        self.definitions.append(f"{name} = functools.lru_cache(maxsize={size})({inner})")
        return name

    # Functions and classes.

    def _function(self, function: types.FunctionType, wanted: str, name: str = "") -> str:
        node = function_node(function)
        own = function.__name__ if isinstance(node, ast.FunctionDef) else wanted
        name = self._named[id(function)] = name or self.module.name(own)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        around = {key: cell.cell_contents for key, cell in cells}
        node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        node = self._resolved(node, {**vars(builtins), **function.__globals__, **around}, global_names(function))
        arguments = node.args
        arguments.defaults = [_expression(self.reference(value)) for value in function.__defaults__ or ()]
        keywords = function.__kwdefaults__ or {}
        arguments.kw_defaults = [
            _expression(self.reference(keywords[arg.arg])) if arg.arg in keywords else None
            for arg in arguments.kwonlyargs
        ]
        if isinstance(node, ast.Lambda):
            body: list[ast.stmt] = [ast.Return(node.body)]
            node = ast.FunctionDef(name, arguments, body, [], None, None)
        node.name = name
        self.definitions.append(ast.unparse(ast.fix_missing_locations(node)))
        return name

    def _class(self, value: type) -> str:
        node = class_node(value)
        module = sys.modules[value.__module__]
        name = self._named[id(value)] = self.module.name(value.__name__)
        node = self._resolved(node, {**vars(builtins), **vars(module)}, set())
        node.name = name
        self.definitions.append(ast.unparse(ast.fix_missing_locations(node)))
        return name

    def _resolved(self, node: Any, names: dict[str, Any], globals_: set[str]) -> Any:
        """The same definition with names from outside replaced by references."""
        node = without_annotations(node)
        bound = set(bound_names(node))
        clashes = bound & globals_
        if clashes:
            raise Unexportable(f"the name {min(clashes)!r} is a variable in one place and a global in another")
        references = _References(self, names, bound)
        node = references.visit(node)
        hidden = bound & references.used
        if hidden:
            raise Unexportable(f"the name {min(hidden)!r} is needed inside a function that has a variable of that name")
        return node


class _References(ast.NodeTransformer):
    """Replaces names from outside by references to what they stand for."""

    def __init__(self, extractor: Extractor, names: dict[str, Any], bound: set[str]) -> None:
        self.extractor = extractor
        self.names = names
        self.bound = bound
        self.used: set[str] = set()  # names that the references begin with

    def _to(self, value: Any, wanted: str) -> ast.expr:
        expression = _expression(self.extractor.reference(value, wanted))
        self.used |= {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        return expression

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id not in self.bound:
            owner = self.names.get(node.value.id)
            if isinstance(owner, Op) and node.attr == "kernel":
                return self._to(owner.kernel, owner.name)
            if isinstance(owner, types.ModuleType) and not owner.__name__.startswith("numpy"):
                # Of a module only what is used has to be known.
                return self._to(getattr(owner, node.attr), node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.bound or not isinstance(node.ctx, ast.Load):
            return node
        if node.id not in self.names:
            raise Unexportable(f"the name {node.id!r} stands for nothing")
        return self._to(self.names[node.id], node.id)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _full_name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def _is_substituted(value: Any) -> bool:
    return _full_name(value) in _SUBSTITUTES


def _renamed(source: str, old: str, new: str) -> str:
    return source.strip().replace(f" {old}(", f" {new}(", 1)


def export_source(graphs: Program | Sequence[Program], path: str | os.PathLike[str] | None = None) -> str:
    """The source of a module with one function for each graph; it is also written to `path`, if that is given."""
    programs = [graphs] if isinstance(graphs, Program) else list(graphs)
    module = Module()
    names = [module.name(program.name) for program in programs]
    for name, program in zip(names, programs, strict=True):
        writer = FunctionWriter(module, program, None, is_portable=True)
        text = writer.write(name, is_boxed=False)
        module.functions.append(_with_docstring(text, program))
    source = _assembled(module, programs)
    if path is not None:
        Path(path).write_text(source, encoding="utf-8")
    return source


def _with_docstring(text: str, program: Program) -> str:
    head, rest = text.split("\n", 1)
    takes = [f"{described(desc, 'x')}: {type_text(value.type)}"
             for value, desc in zip(program.inputs, program.input_descs, strict=True)]  # fmt: skip
    gives = [f"{described(desc, 'result')}: {'None' if value is None else type_text(value.type)}"
             for value, desc in zip(program.outputs, program.output_descs, strict=True)]  # fmt: skip
    lines = textwrap.wrap(f"({', '.join(takes)}) -> ({', '.join(gives)})", 112)
    summary = "\n".join(f"    {line}" for line in lines).strip().replace("\\", "")
    return f'{head}\n    """{summary}"""\n{rest}'


def _assembled(module: Module, programs: list[Program]) -> str:
    extractor = Extractor(module)
    bound = [_bound(name, binding, extractor) for name, binding in list(module.bindings.items())]
    constants = "\n".join([*extractor.constants, *(text for text in bound if text)])
    body = [*extractor.definitions, *module.functions]
    if "base64." in constants:
        extractor.imports["base64"] = None
    imports = "\n".join([*(f"import {name}" for name in sorted(extractor.imports)), "", "import numpy as np"]).strip()
    draws = any(binding.role == "generator" for binding in module.bindings.values())
    title = (
        f'"""{" and ".join(program.name for program in programs)}: written by Pullback, runs with NumPy alone.\n\n'
        "The last argument of a NumPy function is the array that its result is written to, if there is one.\n"
        + ("Random numbers are drawn from a generator of this file.\n" if draws else "")
        + f'Written with NumPy {np.__version__}; another version may round differently.\n"""'
    )
    return "\n\n\n".join(["\n\n".join(part for part in (title, imports, constants) if part), *body]) + "\n"


def _bound(name: str, binding: Binding, extractor: Extractor) -> str:
    """The line that gives a name of the functions its meaning."""
    value, role = binding
    if isinstance(value, np.dtype):
        return f"{name} = np.dtype({value.str!r})"
    if role == "array":
        return f"{name} = {array_text(value)}"
    kind, _, operator = role.partition(" ")
    if kind == "kernel" and "::" in operator:
        raise _refusal(operator, "it is a custom operator, whose kernel may be anything")
    if role == "generator":
        return _generator(name, value, extractor)
    if kind == "kernel" and operator in registry and registry[operator].family == "random":
        value = value.plain
    try:
        extractor.define(value, name, operator or name)
    except Unexportable as error:
        raise _refusal(operator or name, str(error)) from None
    return ""


_SEED = '''
def {seed}(number):
    """Begin the stream of random numbers that belongs to this seed."""
    global {generator}
    {generator} = np.random.default_rng(number)
'''


def _generator(name: str, generator: Any, extractor: Extractor) -> str:
    """The lines that make a generator: the default one, which is None, or one in the state that it is in."""
    if generator is None:
        extractor.definitions.append(_SEED.strip().format(seed=extractor.module.name("seed"), generator=name))
        return f"{name} = np.random.default_rng()"
    source = getattr(generator, "numpy", generator).bit_generator
    state = extractor.reference(dict(source.state), "state")
    made = f"{name} = np.random.Generator(np.random.{type(source).__name__}())"
    return f"{made}\n{name}.bit_generator.state = {state}"


def _refusal(operator: str, why: str) -> AOTError:
    return AOTError(
        f"{operator} cannot be exported as NumPy source",
        why=why,
        fix="compute this part outside of the exported function and give it the result as an input",
    )
