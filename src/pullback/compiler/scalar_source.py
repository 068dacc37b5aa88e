"""A graph of a few numbers as Python code on Python's own numbers, for functions that are called very often.

NumPy takes half a microsecond for an operation on one number, and Python a twentieth of that. So where all values of a
graph together are few, each element becomes a variable:

    def bound(held):
        (p,) = held
        def computed(y):
            return (cos(y) - p * y,)
        return computed

Python raises where NumPy warns and gives NaN or infinity: then the caller has to compute otherwise, and `RAISED` says
what to catch. Last bits may differ from NumPy's, as those of native code may.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.compiler.loops.scalars import rule_of
from pullback.graph.ir import Node, Program, Value

RAISED = (ValueError, ArithmeticError)
_MOST = 400  # elements of all values together

_NAMED = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
          "expm1", "hypot", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh")  # fmt: skip
_TEXTS = {
    **{name: f"{name}({{0}})" for name in _NAMED if hasattr(math, name)},
    **{name: f"{name}({{0}}, {{1}})" for name in ("atan2", "hypot", "pow")},
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "square": "{0} * {0}", "cube": "{0} * {0} * {0}", "reciprocal": "1.0 / {0}", "rsqrt": "1.0 / sqrt({0})",
    "abs": "abs({0})", "sigmoid": "1.0 / (1.0 + exp(-{0}))", "identity": "{0}",
    "sign": "1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0}", "relu": "{0} if not {0} <= 0.0 else 0.0",
    "maximum": "{0} if {0} >= {1} or {0} != {0} else {1}", "minimum": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "logical_not": "not {0}", "logical_and": "{0} and {1}", "logical_or": "{0} or {1}",
    "select": "{1} if {0} else {2}",
}  # fmt: skip


class _Unfit(Exception):
    """This graph has no such form."""


def scalar_function(program: Program, held: Sequence[int]) -> Callable[[list[list[float]]], Callable[..., Any]] | None:
    """A function that binds the inputs at the places `held`, each a list of numbers, and returns one of the others.

    That takes a list of numbers for an input with axes, and a number for one without, and returns a tuple with a list
    or a number for each output. None if the graph is too large, or computes with something else than real numbers.
    """
    try:
        return _Writer(program).written(set(held))
    except _Unfit:
        return None


class _Writer:
    """Writes the text. Every value is known by the texts of its elements, in row-major order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._elements: dict[Value, list[str]] = {}
        self._count = 0
        self._outer: set[str] = set()  # what is known when the function is bound
        self._lines: tuple[list[str], list[str]] = ([], [])
        self._functions: dict[str, Any] = {}

    def written(self, held: set[int]) -> Callable[..., Any]:
        """The function that binds."""
        program = self._program
        heads: tuple[list[str], list[str]] = ([], [])
        arguments = []
        for k, value in enumerate(program.inputs):
            names = self._new(value)
            if k in held:
                self._outer.update(names)
                heads[0].append(f"[{', '.join(names)}] = held[{len(heads[0])}]")
            elif value.type.shape:
                arguments.append(f"x{k}")
                heads[1].append(f"[{', '.join(names)}] = x{k}")
            else:
                arguments.append(names[0])
        for node in program.nodes:
            self._write(node)
        if any(value is None or value.type.dtype != np.float64 for value in program.outputs):
            raise _Unfit
        outputs = [self._result(value) for value in program.outputs if value is not None]
        text = "\n".join([
            "def bound(held):",
            *(f"    {line}" for line in (*heads[0], *self._lines[0])),
            f"    def computed({', '.join(arguments)}):",
            *(f"        {line}" for line in (*heads[1], *self._lines[1])),
            f"        return ({', '.join(outputs)},)",
            "    return computed",
        ])  # fmt: skip
        namespace: dict[str, Any] = {**vars(math), "array": np.array, **self._functions}
        exec(compile(text, "<pullback numbers>", "exec"), namespace)
        bound: Callable[..., Any] = namespace["bound"]
        return bound

    def _result(self, value: Value) -> str:
        elements = self._elements[value]
        return f"[{', '.join(elements)}]" if value.type.shape else elements[0]

    def _new(self, value: Value) -> list[str]:
        if value.type.dtype.char not in "d?":
            raise _Unfit
        size = value.type.size
        self._count += size
        if not size or self._count > _MOST:
            raise _Unfit
        self._elements[value] = [f"v{self._count - size + k}" for k in range(size)]
        return self._elements[value]

    def _write(self, node: Node) -> None:
        if node.effect is not None or len(node.results) != 1:
            raise _Unfit
        rule = rule_of(node)
        if node.op == "constant":
            self._elements[node.result] = [_literal(each) for each in np.asarray(node.attrs["value"]).ravel().tolist()]
        elif rule is not None:
            self._write_elements(node, _TEXTS.get(rule.name))
        elif node.target is not None and node.target.family in ("elementwise", "special"):
            self._write_elements(node, self._called(node))
        elif node.target is not None and node.target.flow in ("moves", "joins"):
            self._elements[node.result] = self._moved(node)
        elif node.op == "sum" and node.attrs.get("dtype") in (None, node.result.type.dtype):
            self._write_sums(node)
        elif node.target is not None and node.target.flow == "multiplies":
            self._write_products(node)
        else:
            raise _Unfit

    def _assign(self, node: Node, texts: list[str], reads: list[list[str]]) -> None:
        for name, text, read in zip(self._new(node.result), texts, reads, strict=True):
            is_outer = all(each in self._outer or not each.startswith("v") for each in read)
            self._lines[0 if is_outer else 1].append(f"{name} = {text}")
            if is_outer:
                self._outer.add(name)

    def _called(self, node: Node) -> str:
        """A function that `math` has not, by NumPy or SciPy."""
        if node.attrs or node.result.type.dtype != np.float64:
            raise _Unfit
        name = f"f{len(self._functions)}"
        self._functions[name] = node.target.kernel  # type: ignore[union-attr]
        return f"{name}({', '.join(f'array({{{k}}})' for k in range(len(node.operands)))}).item()"

    def _write_elements(self, node: Node, form: str | None) -> None:
        kinds = {x.type.dtype for x in node.inputs}
        if form is None or (form == "{0}" and kinds != {node.result.type.dtype}):
            raise _Unfit
        if len(kinds) > 1 and form != _TEXTS["select"]:
            raise _Unfit
        shape = node.result.type.shape
        given = [self._broadcast(x, shape) for x in node.operands]
        reads = [list(each) for each in zip(*given, strict=True)] if shape or given else []
        self._assign(node, [form.format(*each) for each in reads], reads)

    def _broadcast(self, operand: Any, shape: tuple[int, ...]) -> list[str]:
        if type(operand) is not Value:
            return [_literal(operand)] * math.prod(shape)
        places = np.arange(operand.type.size).reshape(operand.type.shape)
        elements = self._elements[operand]
        return [elements[k] for k in np.broadcast_to(places, shape).ravel().tolist()]

    def _moved(self, node: Node) -> list[str]:
        """Where elements come from the operator itself says, of their numbers; what comes from nowhere is 0."""
        texts = ["0.0"]
        places = []
        assert node.target is not None
        for operand in node.operands:
            if type(operand) is not Value or operand.type.dtype != node.result.type.dtype:
                raise _Unfit
            own = self._elements[operand]
            places.append(np.arange(len(texts), len(texts) + len(own)).reshape(operand.type.shape))
            texts += own
        found = np.asarray(node.target.kernel(*places, **node.attrs))
        if found.dtype.kind != "i" or found.shape != node.result.type.shape:
            raise _Unfit
        return [texts[k] for k in found.ravel().tolist()]

    def _write_sums(self, node: Node) -> None:
        (x,) = node.inputs
        shape, axes = x.type.shape, tuple(node.attrs["axis"])
        places = np.arange(x.type.size).reshape(shape)
        kept = [k for k in range(len(shape)) if k not in axes]
        rows = places.transpose((*kept, *axes)).reshape(node.result.type.size, -1).tolist()
        elements = self._elements[x]
        reads = [[elements[k] for k in row] for row in rows]
        self._assign(node, [" + ".join(row) or "0.0" for row in reads], reads)

    def _write_products(self, node: Node) -> None:
        x, y = node.operands
        if node.attrs or type(x) is not Value or type(y) is not Value or max(x.type.ndim, y.type.ndim) > 2:
            raise _Unfit
        left, right = (np.array(self._elements[each], dtype=object).reshape(each.type.shape) for each in (x, y))
        left = left.reshape(-1, left.shape[-1])
        right = right.reshape(right.shape[0], -1)
        pairs = [list(zip(row, column, strict=True)) for row in left.tolist() for column in right.T.tolist()]
        texts = [" + ".join(f"{a} * {b}" for a, b in each) or "0.0" for each in pairs]
        self._assign(node, texts, [[name for pair in each for name in pair] for each in pairs])


def _literal(number: Any) -> str:
    if isinstance(number, bool):
        return repr(number)
    if not isinstance(number, int | float):
        raise _Unfit
    text = repr(float(number))
    return text if math.isfinite(number) and number >= 0 and text[0] != "-" else f"({text})"
