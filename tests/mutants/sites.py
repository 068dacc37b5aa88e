"""The places of a source that can be changed: operators, comparisons, truth values, numbers.

Text is changed, not trees, so that a difference shows one line as somebody would have mistyped it. Left alone is what
no test of behaviour can notice: annotations, texts, what is raised, and numbers in capital letters, which say from
where on something pays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"),
}  # fmt: skip
_COMPARISONS = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
_CONSTANT_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*$")


class Site(NamedTuple):
    """A place, as a range of characters, and what is written there instead."""

    line: int
    start: int
    stop: int
    new: str
    function: int  # the first line of the function around it, 0 outside of all

    def changed(self, text: str) -> str:
        """The source with this place changed."""
        return text[: self.start] + self.new + text[self.stop :]


def sites_of(text: str) -> list[Site]:
    """All places of a source, in order."""
    return sorted(nodes_of(text, ast.parse(text)))


def nodes_of(text: str, tree: ast.Module) -> dict[Site, Any]:
    """All places of a source, and the nodes of its tree that are changed there."""
    finder = _Finder(text)
    finder.visit(tree)
    return finder.nodes


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[Site, Any] = {}
        self.function = 0
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = [line.encode() for line in text.splitlines()]

    def _at(self, line: int, column: int) -> int:
        """The place of a column, which Python counts in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def _begin(self, node: Any) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._at(node.end_lineno, node.end_col_offset)

    def _add(self, node: Any, start: int, stop: int, new: str) -> None:
        line = self.text.count("\n", 0, start) + 1
        self.nodes[Site(line, start, stop, new, self.function)] = node

    def _between(self, node: Any, left: Any, right: Any, old: str, new: str) -> None:
        """Change what is written between two expressions."""
        start, stop = self._end(left), self._begin(right)
        pattern = r"\s+".join(map(re.escape, old.split()))
        if old[0].isalpha():
            pattern = rf"\b{pattern}\b"
        match = re.search(pattern, self.text[start:stop])
        if match is not None and "#" not in self.text[start : start + match.start()]:
            self._add(node, start + match.start(), start + match.end(), new)

    # Functions, and what is left alone.

    def _visit_function(self, node: Any) -> None:
        before, decorators = self.function, getattr(node, "decorator_list", [])
        self.function = min([node.lineno, *(each.lineno for each in decorators)])
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.visit(default)
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self.function = before

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Without the annotation."""
        if node.value is not None and not _is_tuning(node.target):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Unless it is a number that says from where on something pays."""
        if not any(map(_is_tuning, node.targets)):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Nothing: messages."""

    visit_Import = visit_ImportFrom = visit_JoinedStr = visit_Raise  # type: ignore[assignment]

    def visit_keyword(self, node: ast.keyword) -> None:
        """But not whom a warning is about, and what only says that lengths are equal."""
        if node.arg not in ("stacklevel", "strict"):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """But not what only type checkers read."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    # What is changed.

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """An operator."""
        if not any(isinstance(x, (ast.JoinedStr, ast.Constant)) and _is_text(x) for x in (node.left, node.right)):
            self._between(node, node.left, node.right, *_OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The same with an assignment."""
        old, new = _OPERATORS[type(node.op)]
        self._between(node, node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Each comparison."""
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            self._between(node, left, right, *_COMPARISONS[type(op)])
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Each `and` and `or`."""
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(node, left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """A `not` or a minus that is forgotten."""
        if isinstance(node.op, (ast.Not, ast.USub)):
            begin = self._begin(node)
            word = re.compile(r"not\s*|-\s*").match(self.text, begin)  # the operand may stand in parentheses
            if word is not None:
                self._add(node, begin, word.end(), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number that is one more, a truth value that is the other."""
        value = node.value
        if type(value) is bool:
            self._add(node, self._begin(node), self._end(node), repr(not value))
        elif type(value) is int:
            self._add(node, self._begin(node), self._end(node), repr(value + 1))
        elif type(value) is float:
            self._add(node, self._begin(node), self._end(node), repr(value * 2 if value else 1.0))


def _is_tuning(target: Any) -> bool:
    names: Iterator[Any] = (each for each in ast.walk(target) if isinstance(each, ast.Name))
    return any(_CONSTANT_NAME.match(name.id) for name in names)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, (str, bytes))
