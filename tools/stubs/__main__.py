"""`python -m tools.stubs`: write every stub, and the examples that `help` shows."""

from tools.stubs.examples import examples
from tools.stubs.modules import stubs

for path, text in (stubs() | examples()).items():
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
