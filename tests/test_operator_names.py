"""Facts about operators are in their declarations: other modules have no tables of operator names.

A name counts where it decides something: as a member of a collection, a key, or in a comparison. To use an operator by
its name is no table. The files below still have some, or have words that happen to be names of operators as well; each
has a reason, and no file may have more than it has here.
"""

import ast
from pathlib import Path

import pytest

import pullback
import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.declare.op import registry

ROOT = Path(pullback.__file__).parent
# Where operators are declared, and where functions of NumPy and SciPy are known by the names that users write.
NOT_ASKED = ("operators/", "func/_adapt/", "interop/")
FEW = 2  # names of operators that a file may have without a reason

INSTRUCTION = "names of instructions and of functions in libraries"
FACT = "words of `declare/facts.py`, by instruction"
PUBLIC = "public functions and members of arrays, whatever stands behind them"
STRUCTURE = "views and joins that the structure of graphs is made of"
NATIVE = "which loop of native code computes what: it is not a fact about the operator"
REDUCTION = "what ranks reduce by, as users write it and as MPI calls it"
SOURCE = "how Python source is written for a node"

LIBRARY = "functions of other libraries, by the names of the array API standard, of NumPy or of SciPy"
METHOD = "methods and names of SciPy's distributions, some of which are called as operators are"
REMAINING = {
    "aot/_control/sums.py": (8, STRUCTURE),
    "aot/_dynamic/sizes.py": (3, PUBLIC),
    "aot/_numbers/stand_in.py": (5, PUBLIC),
    "aot/_tree/lengths.py": (4, STRUCTURE),
    "aot/_tree/whole_arrays.py": (16, STRUCTURE),
    "compiler/emit/loops.py": (3, INSTRUCTION),
    "compiler/items/factors.py": (6, NATIVE),
    "compiler/items/gather.py": (6, NATIVE),
    "compiler/items/lapack.py": (4, NATIVE),
    "compiler/items/positions.py": (5, NATIVE),
    "compiler/loops/mathematics.py": (23, INSTRUCTION),
    "compiler/loops/scalars.py": (15, INSTRUCTION),
    "compiler/machine/ufuncs.py": (15, INSTRUCTION),
    "compiler/passes/layout.py": (6, STRUCTURE),
    "compiler/scalar_source.py": (36, INSTRUCTION),
    "declare/facts.py": (40, FACT),
    "distributed/_collectives.py": (9, REDUCTION),
    "distributed/_wires.py": (8, REDUCTION),
    "eager/dual_source.py": (5, SOURCE),
    "graph/passes/simplify.py": (10, STRUCTURE),
    "graph/reroll/table.py": (10, STRUCTURE),
    "graph/text/source.py": (8, SOURCE),
    "nn.py": (5, PUBLIC),
    "payloads/foreign/kinds.py": (75, LIBRARY),
    "payloads/foreign/libraries/dask_arrays.py": (20, LIBRARY),
    "payloads/foreign/libraries/jax_arrays.py": (40, LIBRARY),
    "payloads/foreign/members.py": (25, LIBRARY),
    "payloads/foreign/reductions.py": (12, LIBRARY),
    "payloads/operators.py": (20, PUBLIC),
    "scipy/stats/_continuous.py": (4, METHOD),
    "scipy/stats/_discrete.py": (3, METHOD),
    "scipy/stats/_moments.py": (3, METHOD),
}


def deciding_names(path):
    """The names of operators that a module decides something by."""
    found = set()

    def collect(nodes):
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        found.update(texts & registry.keys())

    def visit(node):
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            collect(node.elts)
        elif isinstance(node, ast.Dict):
            collect(node.keys)
        elif isinstance(node, ast.Compare):
            collect([node.left, *node.comparators])
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


@pytest.fixture(scope="module")
def names():
    """By file: the names it decides by, where there are more than a few."""
    files = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    found = {name: deciding_names(path) for name, path in files.items() if not name.startswith(NOT_ASKED)}
    return {name: each for name, each in found.items() if len(each) > FEW}


def test_tables_of_operators_are_where_there_is_a_reason(names):
    assert {name: sorted(each) for name, each in names.items() if name not in REMAINING} == {}


def test_no_table_grows(names):
    grown = {name: sorted(names[name]) for name, (most, _) in REMAINING.items() if len(names.get(name, ())) > most}
    assert grown == {}


def test_what_has_no_table_any_more_is_not_on_the_list(names):
    assert [name for name in REMAINING if name not in names] == []
