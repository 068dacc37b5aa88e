"""Imports point downward: every import in the package is compared with the drawing in docs/architecture.md.

The imports are read with `ast`, so nothing has to be importable. A module may import from its own package and from
the packages in lines below it. Imports under `if TYPE_CHECKING:` are annotations and do not count. Imports of our own
modules inside functions are refused whatever they point at: a cycle means that a piece is in the wrong layer.

Other ways to name a module count as well: `sys.modules["pullback"]`, and every text that is the dotted path of one of
our modules or of something in it, as in tables of names that are loaded later.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pullback"

# From the lowest line to the highest. Neighbours in one line do not know each other.
LAYERS = (
    ("_phrases",),
    ("_sites",),
    ("errors",),
    ("core",),
    ("declare",),
    ("graph",),
    ("payloads", "compiler"),
    ("tensors",),
    ("tape",),
    ("eager",),
    ("operators",),
    ("autograd",),
    ("func", "library", "aot", "interop", "testing", "tree", "utils", "_compile"),
    ("pictures",),
    ("pullback", "data", "linalg", "fft", "init", "lax", "masked", "nested", "nn", "polynomial", "random", "signal")
    + ("special", "typing"),
    ("scipy",),
    ("optim",),
    ("distributed",),
)
HEIGHT = {package: height for height, line in enumerate(LAYERS) for package in line}

# `_compile` is the one module that knows both aot and compiler; autograd knows nothing of LLVM.
ALSO_ALLOWED = {("_compile", "aot")}
NEVER_ALLOWED = {("aot", "compiler"), ("autograd", "compiler"), ("tape", "compiler")}

# Inside of `compiler`, from the lowest room to the highest; its other modules put the rooms together.
ROOMS = {"loops": 0, "passes": 1, "numpy_source": 1, "machine": 2, "items": 3, "plan": 4, "emit": 5}

# Packages whose modules with an underscore are nobody else's business, except for `_compile` and the names above all.
PUBLIC = {"autograd", "distributed", "func", "library", "aot", "interop", "optim", "scipy", "testing", "tree", "utils"}

# Paths from one module to another that the drawing does not have.
EXCEPTIONS = {
    ("pullback.aot", "pullback._compile"): "`pb.aot.export_source` needs both halves, and is loaded when asked for",
    ("pullback.aot", "pullback.library._effects"): "`pb.aot.debug_print` and `effect_op` are custom operators",
    ("pullback.func._adapt.numpy_proxy", "pullback.interop._array_function"): "what NumPy's protocol leads to",
    ("pullback.func._adapt.numpy_proxy", "pullback.interop._ufuncs"): "what NumPy's protocol leads to",
    ("pullback.interop._array_api", "pullback"): "`x.__array_namespace__()` is the package itself",
    ("pullback.library._check.promises", "pullback"): "`opcheck` runs what it checks as users do, compiled as well",
    ("pullback.operators.loading", "pullback"): "families are loaded under the names that users know them by",
    ("pullback.pictures.door", "pullback.aot._function"): "compiled functions are shown, and are no public class",
    ("pullback.pictures.patterns", "pullback.func._sparse.coloring"): "the colours of sparse Jacobians are shown",
    ("pullback.compiler.numpy_source.export", "pullback.operators.pieces"): "functions that exports write anew",
    ("pullback.compiler.numpy_source.export", "pullback.operators.random.draws"): "functions that exports write anew",
    ("pullback.compiler.numpy_source.export", "pullback.eager.large"): "functions that exports write anew",
}

PEERS = {"torch", "jax", "jaxlib", "autograd"}
# What is loaded when the first array of such a library arrives.
OF_LIBRARIES = ("pullback.payloads.foreign.libraries.", "pullback.interop._foreign")


@dataclass(frozen=True)
class Import:
    """One module that a piece of source imports: absolute name, line, and whether a function hides the import.

    `is_named` ones are not imported but named in a text, or taken from those that are loaded.
    """

    module: str
    line: int
    is_local: bool
    is_named: bool = False


@functools.cache
def imports_of(source: str, module: str, is_package: bool, modules: frozenset[str]) -> tuple[Import, ...]:
    """All imports of `source`. `modules` tells `from pullback import func` (a module) from `... import sin`."""
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

    def named(node: ast.AST) -> str | None:
        """The module of ours that is named without an import statement."""
        if isinstance(node, ast.Subscript | ast.Call) and isinstance(ast_key(node), ast.Constant):
            looks_up = node.value if isinstance(node, ast.Subscript) else node.func
            if ast.unparse(looks_up) in ("sys.modules", "_sys.modules", "sys.modules.get", "_sys.modules.get"):
                key = str(ast_key(node).value)
                return key if is_ours(key) else None
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):  # f"pullback.func.{name}"
            text = str(node.values[0].value).rpartition(".")[0]
            return text if is_ours(text) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            path = node.value
            found = next((each for each in (path, path.rpartition(".")[0]) if each in modules), None)
            return found if found and found != "pullback" else None
        return None

    def walk(node: ast.AST, is_local: bool) -> Iterator[Import]:
        yield from (Import(target, node.lineno, is_local) for target in targets(node))
        if target := named(node):
            yield Import(target, node.lineno, is_local, is_named=True)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            children: list[ast.AST] = list(node.orelse)
        else:
            children = list(ast.iter_child_nodes(node))
        inside = is_local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in children:
            yield from walk(child, inside)

    return tuple(walk(ast.parse(source), False))


def ast_key(node: ast.Subscript | ast.Call) -> ast.AST | None:
    """What is looked up: `key` of `table[key]` and of `table.get(key)`."""
    return node.slice if isinstance(node, ast.Subscript) else next(iter(node.args), None)


def layer_of(module: str) -> str:
    """The name in the drawing that `module` belongs to."""
    return module.split(".")[1] if "." in module else module


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "pullback"


def room_of(module: str) -> int:
    """The height of a module inside of `compiler`."""
    return ROOMS.get(".".join(module.split(".")[2:3]), len(ROOMS))


def is_upward_in_compiler(importer: str, imported: str) -> bool:
    """Does a module of one room use a neighbouring or a higher one?"""
    if importer.split(".")[2:3] == imported.split(".")[2:3]:
        return False
    return len(ROOMS) > room_of(importer) <= room_of(imported)


def is_private_elsewhere(importer: str, imported: str) -> bool:
    """Does a module use one with an underscore of a public package that is not its own?"""
    if layer_of(imported) not in PUBLIC or layer_of(imported) == layer_of(importer):
        return False
    if HEIGHT[layer_of(importer)] >= HEIGHT["pullback"] or layer_of(importer) == "_compile":
        return False
    return any(part.startswith("_") for part in imported.split(".")[2:])


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
        if (module, target.module) in EXCEPTIONS:
            continue
        if imported not in HEIGHT:
            found.append(f"{place}: `{target.module}` is in no layer of the drawing")
        elif not is_allowed(importer, imported):
            found.append(f"{place}: `{importer}` must not import `{target.module}`, which is not below it")
        elif importer == imported == "compiler" and is_upward_in_compiler(module, target.module):
            found.append(f"{place}: `{target.module}` is in a room of the compiler that is not below")
        elif is_private_elsewhere(module, target.module):
            found.append(f"{place}: `{target.module}` belongs to another public package")
        if target.is_local and not target.is_named:
            found.append(f"{place}: `{target.module}` is imported inside a function")
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Module:
    """A source file of the package."""

    name: str
    is_package: bool
    source: str


@functools.cache
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
            if target.module in names and not target.is_named and not package[target.module].is_package
        })
        for module in package.values()
        if not module.is_package
    }


def test_every_import_points_downward():
    assert package_violations(SOURCE) == []


def test_the_package_was_read():
    package = read_package(SOURCE)
    assert "pullback" in package and "pullback.tape.engine" in package
    assert sum(len(targets) for targets in import_graph(package).values()) > 20


def test_modules_form_no_import_cycle():
    assert find_cycle(import_graph(read_package(SOURCE))) == []


def test_peers_are_never_imported_and_llvm_only_by_the_compiler():
    package = read_package(SOURCE)
    found = [
        f"{module.name}, line {target.line}: {target.module}"
        for module in package.values()
        for target in imports_of(module.source, module.name, module.is_package, frozenset(package))
        if ((top := target.module.split(".")[0]) in PEERS and not module.name.startswith(OF_LIBRARIES))
        or (top == "llvmlite" and layer_of(module.name) != "compiler")
    ]
    assert found == []


MODULES = frozenset({
    "pullback", "pullback.errors", "pullback.operators", "pullback.operators.arrays.movement",
    "pullback.tensors.tensor", "pullback.autograd._gradcheck.problem", "pullback.compiler.llvm",
})  # fmt: skip

GOOD = [
    ("pullback.tape.engine", "from pullback.tensors.tensor import Tensor"),
    ("pullback.tape.engine", "from ._node import Node"),
    ("pullback.tape.engine", "from . import _node"),
    ("pullback.tape.engine", "import numpy as np\nimport heapq"),
    ("pullback.core.state", "from pullback import errors"),
    ("pullback.core.state", "from ..errors import AutogradError"),
    ("pullback.core.state", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pullback.func import vmap"),
    ("pullback.core.state", "import typing\nif typing.TYPE_CHECKING:\n    import pullback.func"),
    ("pullback._compile", "from pullback.aot import trace\nfrom pullback.compiler import pipeline"),
    ("pullback.linalg", "from pullback.operators.linalg.family import eigh"),
    ("pullback.operators.methods", "def bind():\n    import json\n    return json"),
    ("pullback.core.lazy", '"""As in {"vmap": "pullback.operators"}."""'),
    ("pullback.core.state", "import logging\nlog = logging.getLogger('pullback.native')"),
    ("pullback.core.state", "import sys\nspecial = sys.modules.get('scipy.special')"),
    ("pullback.func", "PLACES = {'add': 'pullback.operators.arrays.movement'}"),
    ("pullback.func", "def load(name):\n    return f'pullback.operators.{name}'"),
    ("pullback.interop._array_api", "import sys\ndef package():\n    return sys.modules['pullback']"),
    ("pullback.compiler.emit.loops", "from pullback.compiler.plan import tiles\nfrom pullback.compiler.emit import x"),
    ("pullback.compiler.items.flow", "from pullback.compiler.passes import expand"),
    ("pullback.compiler.llvm", "from pullback.compiler.emit import module\nfrom . import report"),
    ("pullback.utils.checkpoint", "from pullback.autograd.graph import Node"),
    ("pullback.lax", "from pullback.aot._control import scan"),
]
BAD = [
    ("pullback.tape.engine", "from pullback.operators import add"),
    ("pullback.tape.engine", "import pullback.eager.build"),
    ("pullback.tape.engine", "from ..operators import movement"),
    ("pullback.tape.engine", "from pullback.compiler import pipeline"),
    ("pullback.tape.engine", "import pullback as pb"),
    ("pullback.core.state", "from pullback import operators"),
    ("pullback.core.state", "from pullback import sin"),
    ("pullback.core.state", "from .. import Tensor"),
    ("pullback.payloads.batched", "from pullback.compiler import pipeline"),
    ("pullback.aot._trace.joint", "from pullback.compiler import pipeline"),
    ("pullback.func._vmap", "from pullback.library import custom_op"),
    ("pullback.operators.arrays.movement", "from pullback.attic import reshape"),
    ("pullback.core.state", "try:\n    from pullback.operators import sin\nexcept ImportError:\n    sin = None"),
    ("pullback.core.state", "import importlib\nops = importlib.import_module('pullback.operators')"),
    ("pullback.core.state", "if TYPE_CHECKING:\n    pass\nelse:\n    from pullback.operators import sin"),
    ("pullback.func._grad", "def grad(f):\n    from pullback.autograd import backward"),
    ("pullback.func._grad", "class A:\n    async def f(self):\n        import pullback.operators"),
    ("pullback.func._grad", "f = lambda: __import__('pullback.operators')"),
    ("pullback.func._grad", "import sys\nops = sys.modules['pullback'].operators"),
    ("pullback.tape.engine", "import sys\ndef add(a, b):\n    return sys.modules.get('pullback.operators').add(a, b)"),
    ("pullback.tape.engine", "PLACES = {'add': 'pullback.operators'}"),
    ("pullback.tape.engine", "PLACES = {'add': 'pullback.operators.arrays.movement.add'}"),
    ("pullback.tape.engine", "def load(name):\n    return f'pullback.operators.{name}'"),
    ("pullback.tape", "__getattr__, __dir__ = deferred(globals(), {'swap': 'pullback.operators.arrays.movement'})"),
    ("pullback.compiler.plan.plan", "from pullback.compiler.emit.module import write"),
    ("pullback.compiler.machine.jit", "from pullback.compiler import llvm"),
    ("pullback.compiler.machine.jit", "from pullback.compiler import expand"),
    ("pullback.compiler.passes.fold", "from pullback.compiler.numpy_source.module import module"),
    ("pullback.compiler.loops.text", "from pullback.compiler.passes import expand"),
    ("pullback.utils.checkpoint", "from pullback.autograd._gradcheck import gradcheck"),
    ("pullback.utils.checkpoint", "PLACES = {'Problem': 'pullback.autograd._gradcheck.problem'}"),
]


@pytest.mark.parametrize("module, source", GOOD)
def test_downward_and_neighbouring_imports_pass(module, source):
    assert violations(source, module, modules=MODULES) == []


@pytest.mark.parametrize("module, source", BAD)
def test_a_violating_import_is_caught(module, source):
    assert len(violations(source, module, modules=MODULES)) == 1


def test_a_relative_import_in_a_package_starts_at_the_package_itself():
    assert violations("from ..aot import trace", "pullback.autograd", is_package=True, modules=MODULES)
    assert not violations("from .graph import Node", "pullback.autograd", is_package=True, modules=MODULES)


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


def test_a_violating_tree_is_caught_file_by_file(tmp_path):
    tree = {
        "__init__.py": "from pullback.operators import sin",
        "core/__init__.py": "",
        "core/state.py": "from pullback.operators import sin",
        "operators/__init__.py": "from pullback.operators.elementwise.arithmetic import sin",
        "operators/elementwise/arithmetic.py": "from pullback.core import state",
        "helpers.py": "import os",
    }
    assert package_violations(write_tree(tmp_path, tree)) == [
        "pullback.helpers is in no layer of the drawing",
        "pullback.core.state, line 1: `core` must not import `pullback.operators`, which is not below it",
    ]


def test_a_cycle_between_two_files_is_caught(tmp_path):
    tree = {
        "operators/__init__.py": "from pullback.operators.arrays import joining, movement",
        "operators/arrays/movement.py": "from pullback.operators.arrays.joining import concat",
        "operators/arrays/joining.py": "from .. import contraction",
        "operators/contraction.py": "from .arrays.movement import reshape",
    }
    cycle = find_cycle(import_graph(read_package(write_tree(tmp_path, tree))))
    assert len(cycle) == 4 and cycle[0] == cycle[-1]
