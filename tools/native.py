"""`make native`: writes `ir/*.ll` and `o/*.o` in `compiler/machine` from `c/*.c`, with the compiler of `ziglang`.

Every file is compiled for each of `MACHINES`. What depends on the machine in name only is left out, so one text serves
all; where texts differ all the same, each machine has a file of its own, `pool.x86_64.ll`. The compiler is older than
any LLVM that llvmlite brings, which therefore reads what it writes. The texts are made into object code for the machine
that `objects.py` links for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import pullback

ROOM = Path(pullback.__file__).parent / "compiler" / "machine"
SOURCES, TEXTS, OBJECTS = ROOM / "c", ROOM / "ir", ROOM / "o"
MACHINES = ("x86_64", "aarch64")
LINKED = "x86_64"
# No vectors and no unrolling: there is nothing to gain here, and each machine would have its own. What newer Pythons
# deprecate stays in their stable interface.
_FLAGS = (
    "-std=c11", "-O2", "-g0", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
    "-fno-strict-aliasing", "-fno-stack-protector", "-fno-sanitize=undefined", "-fno-vectorize", "-fno-slp-vectorize",
    "-fno-unroll-loops", "-fno-discard-value-names",
)  # fmt: skip


def texts() -> dict[str, str]:
    """The files that should be there, with what should be in them."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        headers = _headers(Path(folder))
        for source in sorted(SOURCES.glob("*.c")):
            made = {machine: _compiled(source, machine, headers, Path(folder)) for machine in MACHINES}
            if len(set(made.values())) == 1:
                found[f"{source.stem}.ll"] = made[MACHINES[0]]
            else:
                found.update({f"{source.stem}.{machine}.ll": text for machine, text in made.items()})
    return found


def objects(made: dict[str, str]) -> dict[str, bytes]:
    """The object code of these texts, each for any processor of the machine."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(SOURCES.glob("*.c")):
            text = made.get(f"{source.stem}.ll") or made[f"{source.stem}.{LINKED}.ll"]
            given, out = Path(folder, "given.ll"), Path(folder, "made.o")
            given.write_text(text, encoding="utf-8")
            # Nothing depends on the C library, but for others the compiler insists on position-independent code.
            compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{LINKED}-linux-musl", "-c", "-O2"]
            options = ["-fno-pic", "-mcmodel=large", "-Wno-override-module"]
            subprocess.run([*compiler, *options, str(given), "-o", str(out)], check=True)
            found[f"{source.stem}.{LINKED}.o"] = out.read_bytes()
    return found


def _headers(folder: Path) -> list[str]:
    """Python's headers in a folder of their own: beside those of the system the compiler would find other things, and
    some systems let the machine choose among several of `pyconfig.h`, of which one is there."""
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise FileNotFoundError(f"there are no headers of Python in {headers}")
    own = folder / "include"
    shutil.copytree(headers, own, ignore=lambda where, names: [name for name in names if not name.endswith(".h")
                                                               and not Path(where, name).is_dir()])  # fmt: skip
    shutil.copy(sysconfig.get_config_h_filename(), own / "pyconfig.h")
    return ["-isystem", str(own), "-isystem", np.get_include()]


def _compiled(source: Path, machine: str, headers: list[str], folder: Path) -> str:
    made = folder / "made.ll"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu", "-S", "-emit-llvm"]
    subprocess.run([*compiler, *_FLAGS, *headers, str(source), "-o", str(made)], check=True)
    return f"; Made from c/{source.name} by `make native`.\n\n" + neutral(made.read_text(encoding="utf-8"))


def neutral(text: str) -> str:
    """The text of a module without what names the machine, the compiler or the place of the source, and with names of
    functions as `jit` wants them."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("; ModuleID", "; Function Attrs", "source_filename", "target ", "!")):
            continue
        if line.startswith("attributes"):
            line = re.sub(r' "[^"]*"(="[^"]*")?| uwtable(\(\w+\))?', "", line).replace("{ }", "{ nounwind }")
        line = re.sub(r", ![a-z.]+ !\d+", "", line)
        if line or (lines and lines[-1]):
            lines.append(line)
    text = "\n".join(lines).strip() + "\n"
    exported = re.findall(r"^define (?!internal).*?@(\w+)\(", text, re.M)
    return re.sub(rf"@({'|'.join(exported)})\b", r"@NAME_\1", text)  # which `jit` makes unique


def main() -> None:
    """Write all files, and remove others."""
    made = texts()
    code = objects(made)
    for folder, names in ((TEXTS, made), (OBJECTS, code)):
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            if old.name not in names:
                old.unlink()
    for name, text in made.items():
        (TEXTS / name).write_text(text, encoding="utf-8")
        print(f"{name}: {text.count(chr(10))} lines")
    for name, each in code.items():
        (OBJECTS / name).write_bytes(each)
        print(f"{name}: {len(each)} bytes")


if __name__ == "__main__":
    main()
