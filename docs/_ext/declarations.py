"""What the declaration of an operator says about it, in sentences: its kind, its gradient, what it keeps.

The formulas shown are the source of the rules themselves, so they cannot differ from what is computed.
"""

import ast
import inspect
import linecache
import textwrap
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.declare.op import Op, Rule
from pullback.declare.samples import Maker, Sample


def samples_of(op: Op) -> list[Sample]:
    """The inputs on which the systematic tests check `op`."""
    return list(op.sample_rule(Maker(op.name))) if op.sample_rule is not None else []


def numbers_of(op: Op) -> str:
    """What the operands may be, by the samples: a view looks at no element, so it takes everything."""
    if op.is_view:
        return "of any type"
    has_complex = any(np.iscomplexobj(x) for sample in samples_of(op) for x in sample.operands)
    if has_complex:
        return "real and complex"
    return f"real; complex ones are refused: {op.refused['complex128']}" if "complex128" in op.refused else "real"


def is_constant(op: Op) -> bool:
    """Whether the derivative is 0 by every operand."""
    return op.partials is not None and all(rule.constant == 0 for rule in op.partials)


def kind_of(op: Op) -> str:
    """Primitive, view, or not differentiable and why."""
    if op.is_view:
        return "view, or a copy where NumPy cannot alias" if op.may_copy else "view: shares memory with its operand"
    if op.not_differentiable_because:
        return f"not differentiable: {op.not_differentiable_because}"
    return "primitive with derivative 0: results require grad, gradients are zeros" if is_constant(op) else "primitive"


def gradient_of(op: Op) -> str:
    """Markdown that says how gradients are computed, from the rules; empty where there are none."""
    if not op.is_differentiable or is_constant(op):
        return ""
    if op.partials is not None:
        rows = [f"- by `{name}`: {partial_text(rule)}" for name, rule in zip(op.operands, op.partials, strict=True)]
        return "Derivative:\n\n" + "\n".join(rows)
    how = "Linear; the gradient is the transpose:" if op.linear_in and not op.multilinear else "Gradient, by a rule:"
    rules = [op.joint] if op.joint is not None else list(op.gradients.values())
    return f"{how}\n\n" + "\n\n".join(textwrap.indent(source_of(rule.fn), "    ") for rule in rules if rule is not None)


def saved_by(op: Op) -> str:
    """What is kept for backward when all operands need a gradient."""
    if not op.is_differentiable:
        return ""
    operands, outputs = op.reads((True,) * len(op.operands))
    names = [op.operands[i] for i in operands] + [op.outputs[i] for i in outputs if i < len(op.outputs)]
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def partial_text(rule: Rule) -> str:
    """One partial derivative: a number, or an expression with the sentence of the function that it calls."""
    if rule.constant is not None:
        return f"`{rule.constant}`"
    if rule.fn.__qualname__.startswith("refused."):
        return "none, asking for it raises NotImplementedError"
    body = expression_of(rule.fn)
    if body is None:
        return "by a rule\n\n" + textwrap.indent(source_of(rule.fn), "        ") + "\n"
    known = inspect.getclosurevars(rule.fn)
    names = {**known.globals, **known.nonlocals}
    return f"`{ast.unparse(_Numbers(names).visit(body))}`{helper_note(body, names)}"


def helper_note(body: ast.expr, names: Mapping[str, Any]) -> str:
    """What the private function does that an expression calls: its sentence, or its source."""
    if not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name):
        return ""
    helper = names.get(body.func.id)
    if not inspect.isfunction(helper) or not helper.__name__.startswith("_"):
        return ""
    if not helper.__doc__:
        return " where\n\n" + textwrap.indent(source_of(helper), "        ") + "\n"
    sentence = inspect.cleandoc(helper.__doc__).partition("\n\n")[0].replace("\n", " ").rstrip(".")
    return f" ({sentence[0].lower()}{sentence[1:]})"


class _Numbers(ast.NodeTransformer):
    """Writes private constants such as `_LN2` as the numbers that they are."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id)
        return ast.Constant(value) if node.id.startswith("_") and isinstance(value, (int, float)) else node


def expression_of(fn: Any) -> ast.expr | None:
    """What a lambda, or a function that is one return statement, computes."""
    if fn.__name__ == "<lambda>":
        return lambda_body(fn)
    definition = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    last = definition.body[-1]
    return last.value if len(definition.body) == 1 and isinstance(last, ast.Return) else None


def source_of(fn: Any) -> str:
    """The text of a rule without its decorator."""
    if fn.__name__ == "<lambda>" and (body := lambda_body(fn)) is not None:
        return ast.unparse(body)
    lines = textwrap.dedent(inspect.getsource(fn)).rstrip().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:])


@lru_cache
def _lambdas(filename: str) -> list[ast.Lambda]:
    tree = ast.parse("".join(linecache.getlines(filename)))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]


def lambda_body(fn: Any) -> ast.expr | None:
    """The expression after the colon, found by where its instructions come from."""
    spots = [(line, column) for line, _, column, _ in list(fn.__code__.co_positions())[1:] if line and column]
    first = min(spots)
    arguments = list(fn.__code__.co_varnames[: fn.__code__.co_argcount])
    for node in _lambdas(fn.__code__.co_filename):
        start, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
        if start <= first <= end and [argument.arg for argument in node.args.args] == arguments:
            return deepcopy(node.body)
    return None
