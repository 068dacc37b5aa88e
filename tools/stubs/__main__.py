"""`python -m tools.stubs`: write every stub; with `--modules`, print the modules that have one."""

import sys

from tools.stubs.modules import needs_stub, public_modules, stubs

if "--modules" in sys.argv:
    print(*filter(needs_stub, public_modules()))
else:
    for path, text in stubs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
