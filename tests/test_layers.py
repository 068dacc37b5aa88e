"""Imports point downward: every import in the package is compared with the drawing in docs/architecture.md.

The imports are read with `ast`, so nothing has to be importable. A module may import from its own package and from
the packages in lines below it. Imports under `if TYPE_CHECKING:` are annotations and do not count. Imports of our own
modules inside functions are refused whatever they point at: a cycle means that a piece is in the wrong layer.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pullback"

# From the lowest line to the highest. Neighbours in one line do not know each other.
LAYERS = (
    ("errors",),
    ("core",),
    ("declare",),
    ("graph",),
    ("payloads", "compiler"),
    ("tensors",),
    ("autograd",),
    ("eager",),
    ("ops",),
    ("func", "library", "aot", "interop", "testing", "utils", "_compile"),
    ("pullback", "linalg", "fft", "lax", "nn", "polynomial", "random", "signal", "special"),
)
HEIGHT = {package: height for height, line in enumerate(LAYERS) for package in line}

# `_compile` is the one module that knows both aot and compiler; autograd knows nothing of LLVM.
ALSO_ALLOWED = {("_compile", "aot")}
NEVER_ALLOWED = {("aot", "compiler"), ("autograd", "compiler")}

PEERS = {"torch", "jax", "jaxlib", "autograd"}


@dataclass(frozen=True)
class Import:
    """One module that a piece of source imports: absolute name, line, and whether a function hides the import."""

    module: str
    line: int
    is_local: bool


def imports_of(source: str, module: str, is_package: bool, modules: frozenset[str]) -> Iterator[Import]:
    """All imports of `source`. `modules` tells `from pullback import ops` (a module) from `... import sin` (a name)."""
    package = module if is_package else module.rpartition(".")[0]

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*parent, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{origin}.{alias.name}"
                yield submodule if submodule in modules else origin
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                yield str(node.args[0].value)

    def walk(node: ast.AST, is_local: bool) -> Iterator[Import]:
        yield from (Import(target, node.lineno, is_local) for target in targets(node))
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            children: list[ast.AST] = list(node.orelse)
        else:
            children = list(ast.iter_child_nodes(node))
        inside = is_local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in children:
            yield from walk(child, inside)

    return walk(ast.parse(source), False)


def layer_of(module: str) -> str:
    """The name in the drawing that `module` belongs to."""
    return module.split(".")[1] if "." in module else module


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "pullback"


def is_allowed(importer: str, imported: str) -> bool:
    """Whether a module of layer `importer` may import one of layer `imported`."""
    if importer == imported or (importer, imported) in ALSO_ALLOWED:
        return True
    return HEIGHT[imported] < HEIGHT[importer] and (importer, imported) not in NEVER_ALLOWED


def violations(source: str, module: str, is_package: bool = False, modules: frozenset[str] = frozenset()) -> list[str]:
    """What is wrong with the imports of one module, one sentence each."""
    found = []
    for target in imports_of(source, module, is_package, modules):
        if not is_ours(target.module):
            continue
        importer, imported = layer_of(module), layer_of(target.module)
        place = f"{module}, line {target.line}"
        if imported not in HEIGHT:
            found.append(f"{place}: `{target.module}` is in no layer of the drawing")
        elif not is_allowed(importer, imported):
            found.append(f"{place}: `{importer}` must not import `{target.module}`, which is not below it")
        if target.is_local:
            found.append(f"{place}: `{target.module}` is imported inside a function")
    return found


@dataclass(frozen=True)
class Module:
    """A source file of the package."""

    name: str
    is_package: bool
    source: str


def read_package(root: Path) -> dict[str, Module]:
    """Every module under `root` by name; the folder `root` is the package `pullback`."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = ["pullback", *path.relative_to(root).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, is_package, path.read_text(encoding="utf-8"))
    return found


def package_violations(root: Path) -> list[str]:
    package = read_package(root)
    names = frozenset(package)
    unplaced = [f"{name} is in no layer of the drawing" for name in package if layer_of(name) not in HEIGHT]
    placed = [module for module in package.values() if layer_of(module.name) in HEIGHT]
    return unplaced + [
        text for module in placed for text in violations(module.source, module.name, module.is_package, names)
    ]


def find_cycle(edges: dict[str, list[str]]) -> list[str]:
    """Some cycle of the graph as a closed path, or an empty list."""
    finished: set[str] = set()
    for start in edges:
        path: list[str] = []
        stack = [(start, iter(edges[start]))] if start not in finished else []
        path += [start] if stack else []
        while stack:
            node, successors = stack[-1]
            following = next((n for n in successors if n not in finished), None)
            if following is None:
                finished.add(node)
                path.pop()
                stack.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                stack.append((following, iter(edges.get(following, []))))
    return []


def import_graph(package: dict[str, Module]) -> dict[str, list[str]]:
    """Which modules each module imports. A package's own `__init__` re-exports its modules and is left out."""
    names = frozenset(package)
    return {
        module.name: sorted({
            target.module
            for target in imports_of(module.source, module.name, module.is_package, names)
            if target.module in names and not package[target.module].is_package
        })
        for module in package.values()
        if not module.is_package
    }


def test_every_import_points_downward():
    assert package_violations(SOURCE) == []


def test_the_package_was_read():
    package = read_package(SOURCE)
    assert "pullback" in package and "pullback.autograd._engine" in package
    assert sum(len(targets) for targets in import_graph(package).values()) > 20


def test_modules_form_no_import_cycle():
    assert find_cycle(import_graph(read_package(SOURCE))) == []


def test_peers_are_never_imported_and_llvm_only_by_the_compiler():
    package = read_package(SOURCE)
    found = [
        f"{module.name}, line {target.line}: {target.module}"
        for module in package.values()
        for target in imports_of(module.source, module.name, module.is_package, frozenset(package))
        if (top := target.module.split(".")[0]) in PEERS
        or (top == "llvmlite" and layer_of(module.name) != "compiler")
    ]
    assert found == []


MODULES = frozenset({"pullback", "pullback.errors", "pullback.ops", "pullback.ops.movement", "pullback.tensors.tensor"})

GOOD = [
    ("pullback.autograd._engine", "from pullback.tensors.tensor import Tensor"),
    ("pullback.autograd._engine", "from ._node import Node"),
    ("pullback.autograd._engine", "from . import _node"),
    ("pullback.autograd._engine", "import numpy as np\nimport heapq"),
    ("pullback.core.state", "from pullback import errors"),
    ("pullback.core.state", "from ..errors import AutogradError"),
    ("pullback.core.state", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pullback.ops import sin"),
    ("pullback.core.state", "import typing\nif typing.TYPE_CHECKING:\n    import pullback.func"),
    ("pullback._compile", "from pullback.aot import trace\nfrom pullback.compiler import pipeline"),
    ("pullback.linalg", "from pullback.ops.linalg import eigh"),
    ("pullback.ops.methods", "def bind():\n    import json\n    return json"),
]
BAD = [
    ("pullback.autograd._engine", "from pullback.ops import add"),
    ("pullback.autograd._engine", "import pullback.eager.build"),
    ("pullback.autograd._engine", "from ..ops import movement"),
    ("pullback.autograd._engine", "from pullback.compiler import pipeline"),
    ("pullback.autograd._engine", "import pullback as pb"),
    ("pullback.core.state", "from pullback import ops"),
    ("pullback.core.state", "from pullback import sin"),
    ("pullback.core.state", "from .. import Tensor"),
    ("pullback.payloads.batched", "from pullback.compiler import pipeline"),
    ("pullback.aot._joint", "from pullback.compiler import pipeline"),
    ("pullback.func._vmap", "from pullback.library import custom_op"),
    ("pullback.ops.movement", "from pullback.attic import reshape"),
    ("pullback.core.state", "try:\n    from pullback.ops import sin\nexcept ImportError:\n    sin = None"),
    ("pullback.core.state", "import importlib\nops = importlib.import_module('pullback.ops')"),
    ("pullback.core.state", "if TYPE_CHECKING:\n    pass\nelse:\n    from pullback.ops import sin"),
    ("pullback.func._grad", "def grad(f):\n    from pullback.autograd import backward"),
    ("pullback.func._grad", "class A:\n    async def f(self):\n        import pullback.ops"),
    ("pullback.func._grad", "f = lambda: __import__('pullback.ops')"),
]


@pytest.mark.parametrize("module, source", GOOD)
def test_downward_and_neighbouring_imports_pass(module, source):
    assert violations(source, module, modules=MODULES) == []


@pytest.mark.parametrize("module, source", BAD)
def test_a_violating_import_is_caught(module, source):
    assert len(violations(source, module, modules=MODULES)) == 1


def test_a_relative_import_in_a_package_starts_at_the_package_itself():
    assert violations("from ..ops import sin", "pullback.autograd", is_package=True, modules=MODULES)
    assert not violations("from .graph import Node", "pullback.autograd", is_package=True, modules=MODULES)


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


def test_a_violating_tree_is_caught_file_by_file(tmp_path):
    tree = {
        "__init__.py": "from pullback.ops import sin",
        "core/__init__.py": "",
        "core/state.py": "from pullback.ops import sin",
        "ops/__init__.py": "from pullback.ops.elementwise import sin",
        "ops/elementwise.py": "from pullback.core import state",
        "helpers.py": "import os",
    }
    assert package_violations(write_tree(tmp_path, tree)) == [
        "pullback.helpers is in no layer of the drawing",
        "pullback.core.state, line 1: `core` must not import `pullback.ops`, which is not below it",
    ]


def test_a_cycle_between_two_files_is_caught(tmp_path):
    tree = {
        "ops/__init__.py": "from pullback.ops import joining, movement",
        "ops/movement.py": "from pullback.ops.joining import concat",
        "ops/joining.py": "from . import contraction",
        "ops/contraction.py": "from .movement import reshape",
    }
    cycle = find_cycle(import_graph(read_package(write_tree(tmp_path, tree))))
    assert len(cycle) == 4 and cycle[0] == cycle[-1]
