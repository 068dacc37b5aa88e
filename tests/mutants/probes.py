"""A module that notes where the value at a place would have been another: `probed` makes it, `hits` has the notes.

Operands are evaluated once and in their order. Where a change always makes a difference, being there is enough; where
it need not, as with `<=` for `<`, numbers are compared, and for everything else a difference is assumed.
"""

from __future__ import annotations

import ast
import builtins
import operator
from typing import Any

from tests.mutants.sites import nodes_of

hits: set[Any] = set()
"""Numbers of the probes that were set off."""
_PLAIN = (int, float, bool)
_WORDS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
}  # fmt: skip


def probed(text: str, path: str, changes: list[tuple[int, int, str, Any]], whole: Any = None) -> Any:
    """The code of a source with probes: each place is given by its range, the new text and a number. With `whole`, all
    functions set off that one."""
    tree = ast.parse(text)
    marks: dict[int, list[tuple[Any, str, str]]] = {}
    wanted = {(start, stop, new): number for start, stop, new, number in changes}
    for site, node in nodes_of(text, tree).items():
        number = wanted.get((site.start, site.stop, site.new))
        if number is not None:
            old = " ".join(text[site.start : site.stop].split())
            marks.setdefault(id(node), []).append((number, old, site.new))
    tree = _Prober(marks, _conditions(tree), whole).visit(tree)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _conditions(tree: ast.Module) -> set[int]:
    """The expressions of which only the truth counts."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            found.add(id(node.test))
        elif isinstance(node, ast.comprehension):
            found.update(map(id, node.ifs))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found.add(id(node.operand))
        if isinstance(node, ast.BoolOp) and id(node) in found:  # parents come before children
            found.update(map(id, node.values))
    return found


class _Prober(ast.NodeTransformer):
    def __init__(self, marks: dict[int, list[tuple[Any, str, str]]], conditions: set[int], whole: Any) -> None:
        self.marks, self.conditions, self.whole = marks, conditions, whole

    def visit(self, node: ast.AST) -> Any:
        """The node, with a call around it if it has a mark."""
        marks = self.marks.get(id(node), ())
        is_condition = id(node) in self.conditions
        node = self.generic_visit(node)
        if self.whole is not None and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body.insert(_behind_docstring(node.body), ast.Expr(_call("hit", self.whole, ast.Constant(None))))
        for number, old, new in marks:
            node = self._wrapped(node, number, old, new, is_condition)
        return node

    def _wrapped(self, node: Any, number: Any, old: str, new: str, is_condition: bool) -> Any:
        if isinstance(node, ast.AugAssign):
            node.value = _call("hit", number, node.value)
        elif isinstance(node, ast.BoolOp):
            if not is_condition:
                return _located(_call("hit", number, node), node)
            # Only if both are true does `or` say the same as `and`, and the other way round.
            node.values = [_call("operand", number, ast.Constant(old == "and"), value) for value in node.values]
        elif isinstance(node, ast.BinOp):
            return _located(_call("pair", number, ast.Constant(old), ast.Constant(new), node.left, node.right), node)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            operands = (node.left, node.comparators[0])
            return _located(_call("pair", number, ast.Constant(old), ast.Constant(new), *operands), node)
        else:
            return _located(_call("hit", number, node), node)
        return node


def _behind_docstring(body: list[ast.stmt]) -> int:
    first = body[0]
    return int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def _call(name: str, number: Any, *arguments: Any) -> ast.Call:
    return ast.Call(ast.Name(f"__mutants_{name}__", ast.Load()), [ast.Constant(number), *arguments], [])


def _located(new: Any, old: Any) -> Any:
    return ast.copy_location(new, old)


# What the probes call.


def _hit(number: Any, value: Any) -> Any:
    hits.add(number)
    return value


def _operand(number: Any, same: bool, value: Any) -> Any:
    if number not in hits and (type(value) is not bool or value is not same):
        hits.add(number)
    return value


def _pair(number: Any, old: str, new: str, x: Any, y: Any) -> Any:
    value = _WORDS[old](x, y)
    if number not in hits and not (type(x) in _PLAIN and type(y) in _PLAIN and _is_same(value, new, x, y)):
        hits.add(number)
    return value


def _is_same(value: Any, new: str, x: Any, y: Any) -> bool:
    try:
        other = _WORDS[new](x, y)
    except Exception:
        return False
    return type(other) is type(value) and bool(other == value)


def install() -> None:
    """Let modules with probes find what they call."""
    for name, function in (("hit", _hit), ("operand", _operand), ("pair", _pair)):
        setattr(builtins, f"__mutants_{name}__", function)
