"""A program: setup lines that make the arguments, a function of statements, and what is done with the results.

Everything is text, so what is printed for a reader is what was executed. A statement names the variables that it reads
and those that it makes; one whose operands are gone goes with them, which is what lets the shrinker drop any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

import pullback as pb

from . import functions

MODES = {
    "no_grad": "pb.no_grad()", "enable_grad": "pb.enable_grad()", "inference": "pb.inference_mode()",
}  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """One line, or several, that read variables and make others, under the context managers `modes`."""

    text: str
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """`setup` makes the arguments `parameters`; `body` is the function; `returned` are the leaves of its result.

    `shape` says how the leaves are nested. `later` is what the caller does to results and arguments afterwards: the
    number of an object among those, and a statement in which it is `{x}`. `roots` selects what is differentiated.
    """

    setup: tuple[Statement, ...]
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    returned: tuple[str, ...]
    shape: str = "tuple"
    later: tuple[Statement, ...] = ()
    roots: int = -1  # bits: which of the results and arguments gradients are taken of
    order: int = 1  # 2: gradients are differentiated once more

    def scope(self) -> dict[str, Any]:
        """New arguments, and what they were made of, by name."""
        made: dict[str, Any] = {"pb": pb, "np": np, "fn": functions}
        exec(compile("\n".join(lines(self.setup)) or "pass", "<setup>", "exec"), made)
        return {name: made[name] for statement in self.setup for name in statement.makes}

    def source(self) -> str:
        """The function, as Python."""
        body = ["    " + line for line in lines(self.body)]
        return "\n".join([f"def f({', '.join(self.parameters)}):", *body, f"    return {self.result()}"])

    def function(self) -> Callable[..., Any]:
        """The function itself."""
        made: dict[str, Any] = {"pb": pb, "np": np, "fn": functions}
        exec(compile(self.source(), "<program>", "exec"), made)
        function: Callable[..., Any] = made["f"]
        return function

    def result(self) -> str:
        """What is returned, as Python."""
        leaves = list(self.returned)
        if self.shape == "single" and len(leaves) == 1:
            return leaves[0]
        if self.shape == "dict":
            return "{" + ", ".join(f"'k{k}': {leaf}" for k, leaf in enumerate(leaves)) + "}"
        if self.shape == "nested" and len(leaves) > 1:
            return f"[{leaves[0]}, ({''.join(leaf + ', ' for leaf in leaves[1:])})]"
        return f"({''.join(leaf + ', ' for leaf in leaves)})"

    def __str__(self) -> str:
        later = [f"later: {line}" for line in lines(self.later)]
        return "\n".join([*lines(self.setup), self.source(), *later, f"roots: {self.roots:b}, order {self.order}"])

    def tidy(self) -> Program:
        """Without what reads variables that nobody makes, and without parameters that do not exist."""
        setup, known = kept(self.setup, set())
        parameters = tuple(name for name in self.parameters if name in known)
        body, names = kept(self.body, set(parameters))
        returned = tuple(leaf for leaf in self.returned if not leaf.isidentifier() or leaf in names or leaf == "None")
        return replace(self, setup=setup, parameters=parameters, body=body, returned=returned)


def lines(statements: Iterable[Statement]) -> list[str]:
    """Statements as lines; neighbours under the same modes share one `with`."""
    written: list[str] = []
    for modes, block in groupby(statements, key=lambda statement: statement.modes):
        indent = "    " if modes else ""
        if modes:
            written.append("with " + ", ".join(MODES[mode] for mode in modes) + ":")
        written += [indent + line for statement in block for line in statement.text.split("\n")]
    return written


def kept(statements: Iterable[Statement], known: set[str]) -> tuple[tuple[Statement, ...], set[str]]:
    """The statements whose operands exist, and the names that exist after them."""
    left, names = [], set(known)
    for statement in statements:
        if names.issuperset(statement.reads):
            left.append(statement)
            names.update(statement.makes)
    return tuple(left), names
