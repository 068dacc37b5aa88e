"""`tests/api.txt`: every public name with its parameters, one a line.

Names and parameters are added here and never taken out: a test says which are gone, and whoever takes them out of the
file has thought of those who use them.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import pullback as pb
from tools.stubs.modules import public_modules

PATH = Path(__file__).parents[2] / "tests" / "api.txt"


def present() -> dict[str, list[str]]:
    """The public names, and the parameters of those that can be called."""
    found = {}
    for module in public_modules():
        space = importlib.import_module(module)
        for name in getattr(space, "__all__", ()):
            found[f"{module}.{name}"] = _parameters(getattr(space, name))
    for name in dir(pb.Tensor):
        if not name.startswith("_"):
            found[f"pullback.Tensor.{name}"] = []
    return found


def _parameters(value: Any) -> list[str]:
    try:
        return list(inspect.signature(value).parameters) if inspect.isroutine(value) else []
    except (TypeError, ValueError):
        return []


def promised() -> dict[str, list[str]]:
    """What the file says."""
    lines = PATH.read_text(encoding="utf-8").splitlines() if PATH.exists() else []
    parts = [line.partition("(") for line in lines]
    return {name: [each for each in rest.rstrip(")").split(", ") if each] for name, _, rest in parts}


def listed() -> dict[Path, str]:
    """The file with what is new."""
    known = promised()
    for name, parameters in present().items():
        before = known.setdefault(name, [])
        before += [each for each in parameters if each not in before]
    return {PATH: "".join(f"{name}({', '.join(known[name])})\n" for name in sorted(known))}
