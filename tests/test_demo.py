"""The demo on one screen, wherever it is run: into a file, without colours, without native code or matplotlib."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import runpy, sys
for name in sys.argv[1].split():
    sys.modules[name] = None
sys.argv = sys.argv[:1]
runpy.run_path({!r}, run_name="__main__")
"""


@pytest.mark.parametrize("missing", ["matplotlib", "matplotlib llvmlite scipy"])
def test_the_demo_fits_the_screen(missing, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | {"NO_COLOR": "1"}
    out = tmp_path / "out.txt"
    with open(out, "w") as file:
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM.format(str(ROOT / "examples" / "demo.py")), missing],
            cwd=tmp_path, env=environment, stdout=file, check=True, timeout=120,
        )  # fmt: skip
    lines = out.read_text(encoding="utf-8").rstrip().split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    page = (tmp_path / lines[-1].split()[-1]).read_text(encoding="utf-8")
    assert len(page) < 400_000 and "http" not in page.replace("http://www.w3.org", "") and page.count("<svg") >= 5
