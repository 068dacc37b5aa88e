"""The stubs say what is there: they are those of the generator, and both type checkers read them as the tables say."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback as pb
from tests.types.checkers import errors_of_mypy, program, revealed_by_mypy, short
from tools.stubs.modules import MEMBERS, public_modules, stub_path, stubs
from tools.stubs.names import listed, present, promised

pytest.importorskip("scipy", reason="the examples that stubs are made with need SciPy")

SOURCE = Path(pb.__file__).parents[1]
WITHOUT_TYPE = {
    "payload",  # what a tensor computes with: an array, or an object of a class of the user
    "__array_function__", "__array_namespace__", "__array_ufunc__", "__dlpack__",  # what NumPy and DLPack say
    "_grad_fn", "grad_fn",  # nodes of a graph: one class per operator, and those of users
    "foreign", "set_default_device", "to_device",  # arrays and devices of other libraries
    "redistribute",  # placements are classes of `pb.distributed`, which tensors do not know
    "tolist",  # numbers in nested lists
    "array2string", "printoptions", "set_printoptions",  # options of NumPy's
    "compile",  # options of `pb.aot.aot_function`
    "fromfunction", "piecewise",  # handed on to functions of users
    "lobpcg", "solve_banded",  # options of SciPy's
    "grad_and_value", "hessian", "jacfwd", "jacobian", "jacrev",  # what no overload says
}  # fmt: skip


@pytest.fixture(scope="module")
def written():
    return stubs()


def test_the_stubs_are_those_that_the_generator_writes(written):
    changed = [path.name for path, text in written.items() if not path.exists() or path.read_text() != text]
    assert changed == [], "run `make stubs`"
    assert set(SOURCE.rglob("*.pyi")) == set(written), "a stub that nobody writes"


def test_no_public_name_goes_without_a_word():
    now, known = present(), promised()
    gone = [name for name in known if name not in now]
    assert gone == [], "a name goes after a time of warnings, and then out of tests/api.txt"
    gone = [f"{name}({each}=)" for name in known for each in known[name] if each not in now[name]]
    assert gone == [], "a parameter goes after a time of warnings, and then out of tests/api.txt"
    (text,) = listed().values()
    assert text.count("\n") == len(known), "python -m tools.stubs adds what is new"


def test_no_parameter_and_no_result_is_anything_except_for_a_few(written):
    found = set()
    for text in written.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                given = [each for each in ast.walk(node.args) if isinstance(each, ast.arg)]
                annotations = [node.returns, *(each.annotation for each in given)]
                if any(isinstance(one, ast.Name) and one.id == "Any" for one in annotations):
                    found.add(node.name)
    assert found <= WITHOUT_TYPE
    assert len(WITHOUT_TYPE) <= 25


def test_every_member_of_a_tensor_is_known_to_type_checkers(written):
    (shown,) = [node for node in ast.parse(written[stub_path(MEMBERS)]).body if isinstance(node, ast.ClassDef)]
    source = ast.parse((SOURCE / "pullback" / "tensors" / "tensor.py").read_text())
    (own,) = [node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "Tensor"]
    known = {getattr(node, "name", None) or ast.unparse(node.targets[0]) for node in shown.body} | {
        node.name for node in own.body if isinstance(node, ast.FunctionDef)
    }
    example = pb.zeros(2, 2)
    assert [name for name in dir(pb.Tensor) if name[0] != "_" and name not in known and hasattr(example, name)] == []


def test_every_public_name_is_in_a_stub_or_in_the_source(written):
    for module in public_modules():
        if stub_path(module) in written:
            names = set(re.findall(r'^    "(\w+)",$', written[stub_path(module)], re.MULTILINE))
            assert set(importlib.import_module(module).__all__) == names


def test_mypy_reads_the_types_and_refuses_the_mistakes_of_the_tables(tmp_path, pytestconfig):
    pytest.importorskip("mypy", reason="mypy is in the extra `dev`")
    text, revealed, wrong = program()
    path = tmp_path / "program.py"
    path.write_text(text)
    kept = getattr(pytestconfig, "cache", None)  # which `-p no:cacheprovider` takes away
    cache = tmp_path if kept is None else kept.mkdir("mypy")
    options = ["--strict", "--config-file=", f"--cache-dir={cache}", "--hide-error-context", "--no-pretty"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, path], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "MYPYPATH": ""},
    )  # fmt: skip
    types, errors = revealed_by_mypy(ran.stdout), errors_of_mypy(ran.stdout)
    assert {row.code: types.get(line) for line, row in revealed.items()} == {
        row.code: row.mypy for row in revealed.values()
    }
    assert {row.code: errors.get(line) for line, row in wrong.items()} == {
        row.code: {row.mypy} for row in wrong.values()
    }
    assert {line: codes for line, codes in errors.items() if line not in wrong} == {}, ran.stdout
    assert len(revealed) >= 120 and len(wrong) >= 40


def test_pyright_reads_the_types_and_refuses_the_mistakes_of_the_tables(tmp_path):
    pyright = os.environ.get("PULLBACK_PYRIGHT")
    if not pyright:
        pytest.skip("pyright is run by `make types`, which installs it")
    text, revealed, wrong = program()
    (tmp_path / "program.py").write_text(text)
    settings = {"include": ["program.py"], "extraPaths": [str(SOURCE)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    ran = subprocess.run([pyright, "-p", tmp_path, "--outputjson"], capture_output=True, text=True, check=False)
    types, errors = {}, set()
    for each in json.loads(ran.stdout)["generalDiagnostics"]:
        line = each["range"]["start"]["line"] + 1
        if each["severity"] == "information":
            types[line] = short(each["message"].partition('" is "')[2].removesuffix('"'))
        else:
            errors.add(line)
    assert {row.code: types.get(line) for line, row in revealed.items()} == {
        row.code: row.pyright for row in revealed.values()
    }
    assert [row.code for line, row in wrong.items() if line not in errors] == []
    assert errors & revealed.keys() == set()
