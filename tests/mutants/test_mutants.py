"""The tool behind `make mutants`: what it changes, what it leaves alone, and which tests it runs."""

from __future__ import annotations

import ast
import json

from tests.mutants import which
from tests.mutants.run import equivalent, mutants_of
from tests.mutants.sites import sites_of
from tests.mutants.warm import changed_codes
from tests.mutants.which import Table

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
    from tests.mutants.run import PACKAGE, ROOT

    drawn = mutants_of(("tensors", "payloads", "tape/engine.py"), 60, 3)
    assert drawn == mutants_of(("tensors", "payloads", "tape/engine.py"), 60, 3)
    assert len({mutant.name for mutant in drawn}) == 60
    for mutant in drawn:
        text = (ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8")
        ast.parse(mutant.site.changed(text))
        assert mutant.site.changed(text) != text


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


def test_mutants_that_change_nothing_have_a_reason(tmp_path):
    (tmp_path / "equivalent.txt").write_text("aot/x.py:7:3 1 -> 2 # only how often a table is cleared\n\n")
    assert equivalent(tmp_path / "equivalent.txt") == {"aot/x.py:7:3 1 -> 2": "only how often a table is cleared"}
    assert equivalent(tmp_path / "none.txt") == {}


def test_tests_that_call_the_function_are_run_quickest_first_and_then_others(tmp_path, monkeypatch):
    def record(file, seconds, tests, broken=()):
        return json.dumps({"file": file, "seconds": seconds, "broken": list(broken), "tests": tests})

    (tmp_path / "table").write_text("\n".join([
        record("tests/operators/test_a.py", 5.0, {"aot/x.py": {"7": [[0.2, "a::1"]], "9": [[0.1, "a::2"]]}}),
        record("tests/aot/test_b.py", 50.0, {"aot/x.py": {"7": [[0.1, "tests/aot/b::1"], [0.3, "tests/aot/b::2"]]}},
               ["b::broken"]),
        record("tests/aot/test_c.py", 90.0, {"aot/x.py": {"7": [[9.0, "tests/aot/c::1"]]}}),
        record("tests/aot/test_d.py", 1.0, {"aot/y.py": {"7": [[0.1, "d::1"]]}}),
    ]))  # fmt: skip
    table = Table(tmp_path / "table")
    choice = table.choice("aot/x.py", 7, 100.0)
    assert choice.tests == ["tests/aot/b::1", "tests/aot/c::1", "tests/aot/b::2", "a::1"]  # of the package first
    assert round(choice.seconds, 6) == 9.6 and not choice.others
    assert len(table.choice("aot/x.py", 0, 1000.0).tests) == 4  # outside of all functions
    assert table.choice("aot/z.py", 7, 100.0).tests == []
    monkeypatch.setattr(which, "_FIRST", 1)
    choice = table.choice("aot/x.py", 7, 1.0)
    assert choice.tests == ["tests/aot/b::1"] and choice.others == ["tests/aot/b::2", "a::1"]
    assert choice.other_seconds == 0.5 and table.files()[0] == "tests/aot/test_b.py"
