"""A program: what it is given, what is around it, its statements, and how often and how it is called. All of it is
text, so that it can be printed, kept, made smaller and run again."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields, replace
from textwrap import indent
from typing import Any

import numpy as np

import pullback as pb

from . import world

MODES = {
    "": "",
    "no_grad": "with pb.no_grad():",
    "inference": "with pb.inference_mode():",
    "enable_grad": "with pb.enable_grad():",
}


@dataclass(frozen=True)
class Input:
    """An argument. `kind` is "leaf" (requires grad), "tensor" or "array"."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float64"
    layout: str = "C"
    values: str = "normal"
    seed: int = 0
    kind: str = "tensor"

    def text(self) -> str:
        what = "array" if self.kind == "array" else "tensor"
        grad = ", requires_grad=True" if self.kind == "leaf" else ""
        return f"{what}({self.shape}, {self.dtype!r}, {self.layout!r}, {self.values!r}, {self.seed}{grad})"

    def array(self) -> np.ndarray:
        return world.array(self.shape, self.dtype, self.layout, self.values, self.seed)

    def __repr__(self) -> str:
        return f"Input({', '.join(map(repr, values_of(self)))})"


@dataclass(frozen=True)
class Call:
    """One call: what is done before it, which arguments are others than in the first, in which mode, and where."""

    before: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    mode: str = ""
    in_thread: bool = False
    threads: int = 0

    def __repr__(self) -> str:
        return f"Call({', '.join(map(repr, values_of(self)))})"


@dataclass(frozen=True)
class Program:
    """What a tester runs. `form` says how the function is written: see `definition`. `order` is that of derivatives."""

    tester: str
    inputs: tuple[Input, ...]
    body: tuple[str, ...]
    result: tuple[str, ...]
    setup: tuple[str, ...] = ()
    calls: tuple[Call, ...] = (Call(),)
    form: str = "function"
    order: int = 1
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    def function_text(self) -> str:
        """The function alone."""
        names = [each.name for each in self.inputs]
        returned = (
            self.result[0] if len(self.result) == 1 else f"({', '.join(self.result)},)" if self.result else "None"
        )
        body = "\n".join((*self.body, f"return {returned}"))
        if self.form == "method":
            names = ["state", *names]
        return f"def f({', '.join(names)}):\n{indent(body, '    ')}"

    def definition(self) -> str:
        """Text that defines `f`: a function of the module, one that closes over what it uses, or a method."""
        if self.form == "method":
            return f"class Model:\n{indent(self.function_text(), '    ')}"
        if self.form == "closure":
            outer = [
                name for name in ("w", "k", "state", "box") if any(line.startswith(f"{name} =") for line in self.setup)
            ]
            text = indent(f"{self.function_text()}\nreturn f", "    ")
            return f"def make({', '.join(outer)}):\n{text}\nf = make({', '.join(outer)})"
        return self.function_text()

    def source(self) -> str:
        """The whole program for a reader."""
        lines = [*self.setup, self.definition()]
        if self.form == "method":
            lines = [self.definition(), *(s.replace("SimpleNamespace()", "Model()") for s in self.setup), "f = state.f"]
        given = {each.name: each for each in self.inputs}
        for number, call in enumerate(self.calls):
            lines += [f"# call {number + 1}", *call.before]
            now = given | {each.name: each for each in call.inputs}
            lines += [f"{name} = {each.text()}" for name, each in now.items() if number == 0 or given[name] != each]
            if call.threads:
                lines.append(f"pb.set_num_threads({call.threads})")
            text = f"f({', '.join(given)})" + ("  # in another thread" if call.in_thread else "")
            lines.append(f"{MODES[call.mode]} {text}" if call.mode else text)
        return "\n".join(lines)

    def arguments(self, call: Call) -> list[Input]:
        other = {each.name: each for each in call.inputs}
        return [other.get(each.name, each) for each in self.inputs]

    def count(self) -> tuple[int, int]:
        """Statements and calls."""
        statements = sum(isinstance(n, ast.stmt) for text in self.body for n in ast.walk(ast.parse(text)))
        return statements, len(self.calls)

    def __repr__(self) -> str:
        parts = [f"    {each.name}={getattr(self, each.name)!r},\n" for each in fields(self)]
        return f"Program(\n{''.join(parts)})"

    def but(self, **changes: Any) -> Program:
        return replace(self, **changes)


def values_of(record: Any) -> list[Any]:
    """Values of the fields, without the last ones that are as they are by default."""
    kept = [(getattr(record, each.name), each.default) for each in fields(record)]
    while kept and kept[-1][0] == kept[-1][1]:
        kept.pop()
    return [value for value, _ in kept]


def scope() -> dict[str, Any]:
    """The names that texts use."""
    from types import SimpleNamespace

    return {
        "np": np,
        "pb": pb,
        "array": world.array,
        "tensor": world.tensor,
        "SimpleNamespace": SimpleNamespace,
        "Record": SimpleNamespace,
    }


@dataclass(frozen=True)
class Disagreement:
    """What differs: `where` (a way, a call), `what` (a value, a gradient, an error), and both sides as text."""

    where: str
    what: str
    wanted: str = ""
    found: str = ""

    def __str__(self) -> str:
        sides = "".join(
            f"\n  {name}: {shortened(text)}" for name, text in (("wanted", self.wanted), ("found", self.found))
        )
        return f"{self.where}: {self.what}{sides}"

    @property
    def kind(self) -> str:
        """The disagreement without details, by which a smaller program is said to show the same one."""
        if self.what.startswith("error"):
            return f"{self.where.split(',')[0]}: {self.what}: {without_details(self.found)}"
        return f"{self.where.split(',')[0]}: {self.what.split(' of ')[0]}"


def without_details(text: str) -> str:
    """The first line of a message without names and numbers."""
    first = re.sub(r"'[^']*'|\"[^\"]*\"|\w+\[[^\]]*\]|\([\d, ]*\)", "..", text.split("\n")[0].replace("[", " [", 1))
    return re.sub(r"\d+", "n", first)[:90]


def shortened(text: str, most: int = 600) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"
