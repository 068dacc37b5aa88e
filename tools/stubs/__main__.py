"""`python -m tools.stubs`: write every stub, and the examples that `help` shows.

With `--modules` it prints the modules that have a stub.
"""

import sys

from tools.stubs.examples import examples
from tools.stubs.modules import needs_stub, public_modules, stubs

if "--modules" in sys.argv:
    print(*filter(needs_stub, public_modules()))
else:
    for path, text in (stubs() | examples()).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
