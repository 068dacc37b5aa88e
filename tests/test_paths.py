"""Every special way through the code has a counter, a program that goes it, and gives what the plain way gives.

The programs run in one process of their own, in which the counters exist (`tests/paths.py`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="most special ways are those of native code")

from tests import paths
from tests.path_programs import PROGRAMS

ROOT = Path(__file__).parents[1]
MARKS = paths.marks()


@pytest.fixture(scope="module")
def ran() -> dict[str, tuple[float, dict[str, int]]]:
    """What each program computed and where it went."""
    variables = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(sys.path)}
    variables.pop("PULLBACK_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.path_programs"], capture_output=True, text=True, cwd=ROOT, env=variables
    )
    assert done.returncode == 0, done.stderr
    return {name: (worst, gone) for name, worst, gone in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_goes_its_ways_and_gives_what_the_plain_way_gives(ran, name):
    worst, gone = ran[name]
    assert worst < 1e-12
    assert all(gone.get(path, 0) > 0 for path in PROGRAMS[name].paths), gone
    assert all(gone.get(path, 0) <= 1 for path in PROGRAMS[name].instead_of), gone


def test_every_way_has_a_program():
    assert {path for each in PROGRAMS.values() for path in each.paths} == set(MARKS)


def test_the_page_lists_every_way_where_it_is():
    page = (ROOT / "docs" / "design" / "fast-paths.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| ([^|`]+) \| `([\w/.]+\.py)` \|", page, re.MULTILINE))
    assert listed == {name: places[0].split(":")[0] for name, places in MARKS.items()}


def test_lines_are_comments_where_nobody_counts():
    assert not paths.is_counting() and not paths.counts
    source = "import sys, pullback as pb; print((pb.ones(2) * 2).sum().item(), 'tests' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stdout.split() == ["4.0", "False"], done.stderr


def test_processes_add_their_counts_to_a_file(tmp_path):
    source = "import tests.paths, pullback as pb; (pb.ones(2) * 2).sum()"
    variables = {**os.environ, paths.VARIABLE: str(tmp_path / "counts"), "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=ROOT, env=variables)
        assert done.returncode == 0, done.stderr
    total = paths.read(str(tmp_path / "counts"))
    assert total["eager elementwise"] == 2 and total["tiles"] == 0
    assert any(re.match(r" +2  eager elementwise +eager/source.py:\d+$", line) for line in paths.report(total))


def test_a_package_that_is_loaded_can_not_be_counted_any_more():
    with pytest.raises(RuntimeError, match="imported already"):
        paths.install()
