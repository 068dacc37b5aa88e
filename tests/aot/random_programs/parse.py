"""A program as it is printed, read again: what was found can be kept as a test, or changed by hand."""

from __future__ import annotations

import ast
from textwrap import dedent

from .program import Program, Statement


def parse(text: str) -> Program:
    """The program that this is the text of: setup, `def f`, lines that begin with `later:`, and `roots:` with a number
    in binary and the order of differentiation."""
    lines = dedent(text).strip().split("\n")
    later = "\n".join(line.removeprefix("later: ") for line in lines if line.startswith("later: "))
    roots, order = -1, 1
    for line in lines:
        if line.startswith("roots: "):
            bits, _, number = line.removeprefix("roots: ").partition(", order ")
            roots, order = int(bits, 2), int(number or 1)
    code = ast.parse("\n".join(line for line in lines if not line.startswith(("later: ", "roots: "))))
    *setup, function = code.body
    assert isinstance(function, ast.FunctionDef)
    *body, last = function.body
    assert isinstance(last, ast.Return) and last.value is not None
    is_tuple = isinstance(last.value, ast.Tuple)
    return Program(
        setup=tuple(Statement(ast.unparse(each), (), names(each)) for each in setup),
        parameters=tuple(argument.arg for argument in function.args.args),
        body=tuple(Statement(ast.unparse(each)) for each in body),
        returned=tuple(map(ast.unparse, last.value.elts if isinstance(last.value, ast.Tuple) else [last.value])),
        shape="tuple" if is_tuple else "single",
        later=tuple(s for each in ast.parse(later).body for s in outside(each)),
        roots=roots,
        order=order,
    )


def names(statement: ast.stmt) -> tuple[str, ...]:
    """The names that a statement assigns to, also inside of `with`."""
    found = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return tuple(node.id for node in found)


def outside(statement: ast.stmt) -> tuple[Statement, ...]:
    """A statement of the caller's; a `with` is a statement for each that it holds."""
    if isinstance(statement, ast.With):
        return tuple(Statement(ast.unparse(each), modes=("no_grad",)) for each in statement.body)
    return (Statement(ast.unparse(statement)),)
