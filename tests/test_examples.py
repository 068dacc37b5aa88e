"""Every script in examples/ runs to its end, in a process of its own, without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples():
    assert "demo.py" in {path.name for path in EXAMPLES} and len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    # The working directory is elsewhere: an example must not depend on where it is started.
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "template"},  # plots are made and not drawn
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode and "is not installed: pip install" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


LONGER = ("demo", "distributed_fit", "distributed_heat", "payload_")  # a class of arrays, or ranks, is the example


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_scripts_are_short_and_show_something(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 100 or path.stem.startswith(LONGER)
    assert "plt.show()" in text or path.stem in ("demo", "distributed_fit")
