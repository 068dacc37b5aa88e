"""`python -m tools.stubs`: write every stub, the examples that `help` shows, and the list of public names."""

from tools.stubs.examples import examples
from tools.stubs.modules import stubs
from tools.stubs.names import listed

for path, text in (stubs() | examples() | listed()).items():
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
