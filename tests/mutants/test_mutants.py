"""The tool behind `make mutants`: what it changes, what it leaves alone, and which tests it runs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants import probes, run
from tests.mutants.drawn import PACKAGE, ROOT, mutants_of
from tests.mutants.run import Results, choice, explanations
from tests.mutants.sites import sites_of
from tests.mutants.warm import Runner, changed_codes

SOURCE = '''"""A text with + and 1."""
from __future__ import annotations
_MOST = 12
def f(x: "int | None", y=3) -> int | None:  # 1 + 1
    """Two + two."""
    if x is not None and not (y < -2 or y):
        raise ValueError(f"{x + 1}", 5)
    total: int = x[0:4] @ y  # é
    total //= 2
    zip(x, strict=True)
    é = "é" * 2 + "x" if x in (1.5, 0.0) or x else True
    return lambda z: z % 7
'''


def changes():
    lines = SOURCE.splitlines()
    for site in sites_of(SOURCE):
        changed = site.changed(SOURCE).splitlines()
        yield site, [(old, new) for old, new in zip(lines, changed, strict=True) if old != new]


def test_every_operator_comparison_and_number_is_changed_once():
    found = sorted(f"{SOURCE[site.start : site.stop].strip()}>{site.new}" for site, _ in changes())
    assert found == sorted([
        "3>4", "is not>is", "and>or", "not>", "<><=", "or>and", "->", "2>3", "0>1", "4>5", "@>*", "//=>*=", "2>3",
        "2>3",
        "in>not in", "1.5>3.0", "0.0>1.0", "or>and", "True>False", "%>//", "7>8",
    ])  # fmt: skip


def test_a_change_is_one_line_of_valid_source():
    for site, difference in changes():
        ast.parse(site.changed(SOURCE))
        assert len(difference) == 1 and SOURCE.splitlines()[site.line - 1] == difference[0][0]


def test_places_know_the_function_around_them():
    functions = {SOURCE[site.start : site.stop]: site.function for site, _ in changes()}
    assert functions["@"] == 4 and functions["%"] == 12


def test_mutants_of_the_package_are_valid_source_and_the_same_for_one_seed():
    drawn = mutants_of(("tensors", "payloads", "tape/engine.py"), 60, 3)
    assert drawn == mutants_of(("tensors", "payloads", "tape/engine.py"), 60, 3)
    assert len({mutant.key for mutant in drawn}) == 60
    assert mutants_of(("tensors", "payloads", "tape/engine.py"), 20, 3) == drawn[:20]
    for mutant in drawn:
        text = (ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8")
        ast.parse(mutant.site.changed(text))
        assert mutant.site.changed(text) != text


def test_an_edit_elsewhere_leaves_the_drawn_ones(tmp_path):
    (tmp_path / PACKAGE / "aot").mkdir(parents=True)
    path = tmp_path / PACKAGE / "aot" / "x.py"
    path.write_text("".join(f"def f{k}(x):\n    return x + {k}\n" for k in range(20)))
    before = {mutant.key for mutant in mutants_of(("aot",), 10, 1, tmp_path)}
    path.write_text("# a line more\n" + path.read_text())
    assert {mutant.key for mutant in mutants_of(("aot",), 10, 1, tmp_path)} == before


def run_probed(source, changes, *calls):
    probes.install()
    probes.hits.clear()
    places = [(site.start, site.stop, site.new, f"{source[site.start : site.stop]}>{site.new}")
              for site in sites_of(source)]  # fmt: skip
    scope = {}
    exec(probes.probed(source, "x.py", [each for each in places if each[3] in changes]), scope)
    results = [scope["f"](*call) for call in calls]
    return results, set(probes.hits)


@pytest.mark.parametrize(
    "text, change, alike, different",
    [
        ("x < y", "<><=", (1, 2), (2, 2)),
        ("x + y", "+>-", (1, 0), (1, 2)),
        ("x // y", "//>*", (5, 1), (5, 2)),
        ("1 if x and y else 2", "and>or", (True, True), (True, False)),
        ("1 if x or y else 2", "or>and", (False, False), (False, True)),
        ("x is y", "is>is not", None, (1, 2)),
        ("(x, 3)", "3>4", None, (1, 2)),
        ("[x] < [y]", "<><=", None, (1, 2)),  # no numbers: a difference is assumed
    ],
)
def test_a_probe_is_set_off_where_the_mutant_has_another_value(text, change, alike, different):
    source = f"def f(x, y):\n    return {text}\n"
    plain = eval(f"lambda x, y: {text}")
    if alike is not None:
        assert run_probed(source, [change], alike) == ([plain(*alike)], set())
    assert run_probed(source, [change], different) == ([plain(*different)], {change})


def test_probes_do_not_change_what_a_function_does():
    source = "def f(x, y):\n    x -= (n := y) * 2\n    return [k for k in (x, n) if 0 < k < 9 and not k == 3]\n"
    changes = [f"{source[site.start : site.stop]}>{site.new}" for site in sites_of(source)]
    scope = {}
    exec(source, scope)
    for call in ((9, 2), (0, 1), (-3, -9)):
        assert run_probed(source, changes, call)[0] == [scope["f"](*call)]


def test_functions_are_changed_as_they_are_and_what_runs_on_import_is_not():
    def codes(text):
        return compile(text, "x.py", "exec")

    source = "A = 1\ndef f(x, y=2):\n    return lambda z: z + 3 + y\nclass C:\n    B = 4\n    def g(self): return 5\n"
    scope = {}
    exec(codes(source), scope)
    changed = dict(changed_codes(codes(source), codes(source.replace("+ 3", "- 3"))))
    scope["f"].__code__ = changed[scope["f"].__code__]
    assert scope["f"](0)(10) == 9 and len(changed) == 2
    method = dict(changed_codes(codes(source), codes(source.replace("return 5", "return 6"))))
    assert list(method) == [scope["C"].g.__code__]
    for old, new in (("A = 1", "A = 2"), ("y=2", "y=3"), ("B = 4", "B = 5")):
        assert not dict(changed_codes(codes(source), codes(source.replace(old, new))))


def test_the_quickest_tests_of_each_file_come_first_as_many_as_there_is_time_for():
    tests = [[0.5, "b::1"], [0.2, "a::2"], [0.1, "a::1"], [9.0, "c::1"], [0.6, "b::2"]]
    assert [test for _, test in choice(tests, 100)] == ["a::1", "b::1", "c::1", "a::2", "b::2"]
    assert [test for _, test in choice(tests, 1)] == ["a::1", "b::1", "a::2"]


def test_for_what_runs_on_import_there_are_few_files_those_of_the_part_first(monkeypatch):
    monkeypatch.setattr(run, "_FEW_FILES", 2)
    tests = [[0.1, "tests/func/a::1"], [0.1, "tests/func/a::2"], [0.2, "tests/aot/b::1"], [0.1, "tests/func/c::1"]]
    assert [test for _, test in choice(tests, 100, "tests/aot/")] == [
        "tests/func/a::1", "tests/aot/b::1", "tests/func/a::2",
    ]  # fmt: skip


def test_a_case_that_is_not_there_is_no_witness(tmp_path):
    runner, work = Runner({}, {}, [], 1), {"tests": [[0.1, "tests/a.py::b[x]"], [0.1, "tests/a.py::c[x]"]]}
    (tmp_path / "output.txt").write_text("ERROR: not found: /tree/tests/a.py::b\n(no match in any of <Module a.py>)\n")
    runner.finish(work, tmp_path, 4)
    assert list(runner.waiting) == [{"tests": [[0.1, "tests/a.py::c[x]"]]}]


def test_what_is_explained_has_a_file_and_a_class():
    assert all((ROOT / PACKAGE / file).is_file() and why for (file, *_), why in explanations().items())
    assert ("graph/ir.py", "108", "1") in {place[:3] for place in explanations()}


def test_mutants_are_caught_by_tests_that_see_them(tmp_path):
    """The whole way on a package of one file, with what runs on import, and what no test can see."""
    tree = tmp_path / "tree"
    for name, text in {
        PACKAGE / "__init__.py": "",
        PACKAGE / "aot" / "__init__.py": "",
        PACKAGE / "aot" / "x.py": "limit = [4][0]\ndef least(x, y):\n    return x if x < y else y\n"
                                  "def unseen(x):\n    return x + 1\ndef top():\n    return limit\n"
                                  "def twice(x):\n    return x * 2\n",
        Path("tests") / "aot" / "test_x.py": "from pullback.aot.x import least, top, twice\n"
                                             "def test_a(): assert least(1, 1) == 1\n"
                                             "def test_b(): assert top() == 4 and twice(3) == 6\n",
    }.items():  # fmt: skip
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    for file in Path(__file__).parent.glob("*.py"):
        (tree / "tests" / "mutants").mkdir(exist_ok=True)
        (tree / "tests" / "mutants" / file.name).write_bytes(file.read_bytes())
    mutants = mutants_of(("aot",), 100, 0, tree)
    results = Results(tmp_path)
    results.seen(tree, mutants, ["tests/aot"], 1.0, 1)
    results.run(tree, mutants, 10.0, 2)
    found = {mutant.name.partition(" ")[2] + f" {mutant.site.line}": results.status(mutant) for mutant in mutants}
    assert found == {
        "4 -> 5 1": "killed", "0 -> 1 1": "killed", "< -> <= 3": "survived", "+ -> - 5": "unnoticed",
        "1 -> 2 5": "unnoticed", "* -> / 9": "killed", "2 -> 3 9": "killed",
    }  # fmt: skip
