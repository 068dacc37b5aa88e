"""The machine-near code in C: its texts are those that the compiler makes, and what Python and C both say agrees."""

import gc
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import llvmlite.binding as llvm
from numpy._core.multiarray import get_handler_name

import pullback as pb
from pullback.aot._call import accumulators
from pullback.compiler.machine import buffers, entry, leaves, parts, passes, tape, ufuncs
from pullback.tape import node
from tools import native

HEADER = (native.SOURCES / "pullback.h").read_text(encoding="utf-8")
TABLES = {
    "buffers": buffers.FIELDS, "entry": entry.FIELDS, "leaves": leaves.FIELDS, "passes": passes.FIELDS,
    "ufunc": ufuncs.FIELDS, "calls": tape.CALLS, "call": tape.CALL, "direct": tape.DIRECT,
    "formula": tape.FORMULA, "parts": parts.FIELDS,
}  # fmt: skip


def fields_in_c(struct):
    (body,) = re.findall(rf"^struct {struct} {{\n(.*?)^}};", re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S), re.S | re.M)
    found = []
    for line in " ".join(body.split()).split(";"):
        pointer = re.search(r"\(\*(\w+)\)", line)
        found += [pointer[1]] if pointer else [re.sub(r".*[ *]", "", part.strip()) for part in line.split(",")]
    return tuple(name for name in found if name and not name.endswith("[]"))


@pytest.mark.parametrize("struct", TABLES)
def test_python_fills_a_table_in_the_order_of_the_header(struct):
    assert fields_in_c(struct) == TABLES[struct]


def test_python_and_c_mean_the_same_numbers():
    assert f"#define BLOCK {ufuncs.BLOCK} " in HEADER
    assert "enum { HARDWARE, LOOKED_AT };" in HEADER and (ufuncs.HARDWARE, ufuncs.LOOKED_AT) == (0, 1)
    assert "enum { ABSENT = -1, SAME = -2 };" in HEADER and (tape.ABSENT, tape.SAME) == (-1, -2)
    assert "enum { G, X, Y, OUT, TEMPORARY };" in HEADER and tape._TEMPORARY == 4
    kinds = (node.BY_INDEX, node.BY_PLACES, node.IN_ORDER, node.BY_AXES, node.TO_INDEX, node.TO_PLACES)
    assert "enum { BY_INDEX = 1, BY_PLACES, IN_ORDER, BY_AXES, TO_INDEX, TO_PLACES };" in HEADER
    assert kinds == tuple(range(1, 7))
    assert "#define ANY INT64_MIN" in HEADER and entry.ANY == -(2**63)


@pytest.mark.skipif(find_spec("ziglang") is None, reason="the compiler is not installed; `make native-check` does that")
def test_the_texts_are_what_the_compiler_makes_of_the_files():
    there = {path.name: path.read_text(encoding="utf-8") for path in native.TEXTS.glob("*.ll")}
    made = native.texts()
    assert sorted(there) == sorted(made)
    assert [name for name in made if made[name] != there[name]] == [], "`make native` has to be run"
    code = native.objects(made)
    assert code == {path.name: path.read_bytes() for path in native.OBJECTS.iterdir()}, "`make native` has to be run"


@pytest.mark.parametrize("machine", native.MACHINES)
def test_every_file_becomes_code_for_every_machine(machine):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = f"{machine}-unknown-linux-gnu"
    target = llvm.Target.from_triple(triple).create_target_machine(opt=2, jit=True, codemodel="jitdefault")
    for source in native.SOURCES.glob("*.c"):
        paths = [native.TEXTS / f"{source.stem}{kind}.ll" for kind in ("", f".{machine}")]
        (path,) = [path for path in paths if path.exists()]
        module = llvm.parse_assembly(path.read_text(encoding="utf-8"))
        module.triple = triple
        module.verify()
        assert target.emit_object(module)[:4] == b"\x7fELF"


def test_an_installed_package_brings_what_it_reads_and_no_sources():
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((native.ROOM.parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["pullback"]
    package = native.ROOM.parents[1]
    brought = {path for pattern in patterns for path in package.glob(pattern)}
    assert {*native.TEXTS.iterdir(), *native.OBJECTS.iterdir()} <= brought
    assert brought.isdisjoint(native.SOURCES.iterdir())


def _calls():
    x = np.arange(5.0)
    one = pb.compile(lambda x: x * 2 + 1, fallback="raise", backend="llvm")
    three = pb.compile(lambda x: (x * 2, x + 1, x * x), fallback="raise", backend="llvm")
    nodes, tensors = accumulators.native_or_not(), [pb.tensor(x, requires_grad=True) for _ in range(3)]
    reused = buffers.reusing(np.add)
    return {
        "one result": lambda: one(x), "three results": lambda: three(x), "leaves": lambda: nodes(*tensors),
        "reused memory": lambda: reused(x, x),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["one result", "three results", "leaves", "reused memory"])
def test_without_memory_there_is_an_error_and_nothing_is_lost(name):
    memory = pytest.importorskip("_testcapi", reason="this Python cannot be told to have no memory")
    call = _calls()[name]

    def errors():
        found = 0
        for number in range(12):  # the allocation that fails
            memory.set_nomemory(number, number + 1)
            try:
                call()
            except MemoryError:
                found += 1
            finally:
                memory.remove_mem_hooks()
            assert get_handler_name() == "default_allocator"
        return found

    def held():
        gc.collect()
        # Python itself loses parts of tables of context variables when it has no memory for them.
        known = [each for each in gc.get_objects() if not type(each).__name__.startswith("hamt")]
        return sys.getrefcount(np.dtype(float)) + len(known)

    call(), errors()
    before = held()
    assert sum(errors() for _ in range(10)) >= 20
    assert held() < before + 10
