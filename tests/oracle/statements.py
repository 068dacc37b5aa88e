"""One statement of a random program, and programs printed as runnable Python.

A statement is text with `{0}`, `{1}`, ... where its operands go and `{ns}` where the framework's name goes. The text
that is printed for a reader is the text that was executed, so a report can be pasted into an interpreter.
Statements name fresh variables only and are independent of their neighbours: a statement whose operand does not exist
is skipped, which is what lets the shrinker drop any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

MODES = {
    "no_grad": "{ns}.no_grad()",
    "enable_grad": "{ns}.enable_grad()",
    "inference": "{ns}.inference_mode()",
    "normal": "{ns}.inference_mode(False)",
    "no_grad_twice": "twice({ns}.no_grad())",
}

PREAMBLE = """\
import collections, copy, types
from contextlib import contextmanager
log, handles = [], {{}}

@contextmanager
def twice(mode):
    with mode:
        with mode:
            yield

def hook(name, does):
    def run(g):
        log.append((name, None if g is None else g.tolist()))
        if does == "scale": return g * 3.0
        if does == "same": return g
        if does == "sum": return g.sum()
        if does == "narrow": return {narrow}
        if does == "write": g.mul_(2.0)
    return run

def prehook(name, position):
    return lambda gs: log.append((name, gs[position].tolist()))

def accumulated(name):
    return lambda leaf: log.append((name, leaf.grad.tolist()))
"""


@dataclass(frozen=True)
class Statement:
    """`out = text`, with `args` in the text's numbered holes, under the context managers `modes`.

    `kind` says which rules may apply; `facts` holds what they need to know of the text (an axis, an index, a flag).
    `torch` is torch's spelling where it differs; `ruled` is the spelling the torch side runs when a rule asks for it.
    """

    kind: str
    text: str
    args: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    torch: str | None = None
    ruled: str | None = None
    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    def source(self, framework: str) -> str:
        """This statement as Python for `framework`, "pullback" or "torch", without its modes."""
        text = self.torch if framework == "torch" and self.torch is not None else self.text
        line = text.format(*self.args, ns="pb" if framework == "pullback" else "torch")
        if not self.out:
            return line
        names = ", ".join(self.out)
        return f"{names}{',' if self.facts.get('unpack') else ''} = {line}"


Program = tuple[Statement, ...]


def render(program: Program, framework: str) -> str:
    """`program` as a script for `framework`; consecutive statements under the same modes share one `with`."""
    namespace, narrow = ("pb", "g.astype(pb.float32)") if framework == "pullback" else ("torch", "g.float()")
    lines = ["import pullback as pb" if framework == "pullback" else "import torch", PREAMBLE.format(narrow=narrow)]
    for modes, block in groupby(program, key=lambda statement: statement.modes):
        indent = ""
        if modes:
            lines.append("with " + ", ".join(MODES[mode].format(ns=namespace) for mode in modes) + ":")
            indent = "    "
        lines.extend(indent + statement.source(framework) for statement in block)
    return "\n".join(lines)


@lru_cache(maxsize=200_000)
def compiled(text: str, arity: int) -> Callable[..., Any]:
    """`text` as a function of the namespace, the helpers it may call and `arity` operands."""
    names = [f"operand_{i}" for i in range(arity)]
    body = text.format(*names, ns="ns")
    header = f"def run({', '.join(['ns', 'helpers', *names])}):\n"
    header += "    hook, prehook, accumulated, handles, copy, types, collections = helpers\n"
    scope: dict[str, Any] = {}
    try:
        compile(body, "<statement>", "eval")
    except SyntaxError:
        exec(f"{header}    {body}", scope)
    else:
        exec(f"{header}    return {body}", scope)
    run: Callable[..., Any] = scope["run"]
    return run
