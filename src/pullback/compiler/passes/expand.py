"""`expand`: operators that are a few others, written out, so that their parts can be fused with what is around them.

Only what a backend computes better in parts is expanded: real floating numbers, and axes that are not empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pullback.graph.ir import Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import Replacements, keep_remarks, outline
from pullback.graph.types import ArrayType, array_type

Kind = TypeVar("Kind", bound=Program)
_BOOL = np.dtype(np.bool_)


class _Writer:
    """Adds nodes in the place of one."""

    def __init__(self, program: Program, node: Node) -> None:
        self.program = program
        self.node = node

    def __call__(self, name: str, operands: tuple[Any, ...], type: ArrayType, **attrs: Any) -> Value:
        made = self.program.add(find_operator(name), operands, attrs, (type,), self.node.tag)
        keep_remarks(made, self.node)
        return made.result

    def reduce(self, name: str, x: Value, axis: tuple[int, ...], keepdims: bool, **attrs: Any) -> Value:
        """A reduction of `x`."""
        shape = tuple([1 if k in axis else n for k, n in enumerate(x.type.shape) if keepdims or k not in axis])
        return self(name, (x,), array_type(shape, x.type.dtype), axis=axis, keepdims=keepdims, **attrs)

    def like(self, name: str, type: ArrayType, *operands: Any) -> Value:
        """An elementwise operator with a result of this type."""
        return self(name, operands, type)


def _mean(w: _Writer, node: Node) -> Value:
    (x,) = node.operands
    count = math.prod(x.type.shape[k] for k in node.attrs["axis"])
    total = w.reduce("sum", x, node.attrs["axis"], node.attrs.get("keepdims", False), dtype=None)
    return w.like("divide", node.result.type, total, count)


def _shifted(w: _Writer, x: Value, axis: tuple[int, ...]) -> tuple[Value, Value]:
    """`x` minus its largest element, and that element; what is infinite is not subtracted."""
    peak = w.reduce("amax", x, axis, True)
    finite = w.like("isfinite", array_type(peak.type.shape, _BOOL), peak)
    peak = w.like("where", peak.type, finite, peak, 0.0)
    return w.like("subtract", _plain(x), x, peak), peak


def _plain(x: Value) -> ArrayType:
    return array_type(x.type.shape, x.type.dtype)


def _softmax(w: _Writer, node: Node) -> Value:
    (x,), axis = node.operands, node.attrs["axis"]
    shifted, _ = _shifted(w, x, axis)
    powers = w.like("exp", _plain(x), shifted)
    return w.like("divide", node.result.type, powers, w.reduce("sum", powers, axis, True, dtype=None))


def _log_softmax(w: _Writer, node: Node) -> Value:
    (x,), axis = node.operands, node.attrs["axis"]
    shifted, _ = _shifted(w, x, axis)
    total = w.reduce("sum", w.like("exp", _plain(x), shifted), axis, True, dtype=None)
    return w.like("subtract", node.result.type, shifted, w.like("log", total.type, total))


def _logsumexp(w: _Writer, node: Node) -> Value:
    (x,), axis = node.operands, node.attrs["axis"]
    shifted, peak = _shifted(w, x, axis)
    total = w.reduce("sum", w.like("exp", _plain(x), shifted), axis, True, dtype=None)
    log = w.like("log", total.type, total)
    if node.attrs.get("keepdims", False):
        return w.like("add", node.result.type, log, peak)
    kept = w.like("add", total.type, log, peak)
    return w("sum", (kept,), node.result.type, axis=axis, keepdims=False, dtype=None)


def _clip(w: _Writer, node: Node) -> Value:
    x, low, high = node.operands
    if high is None:
        return w.like("maximum", node.result.type, x, low)
    if low is not None:
        x = w.like("maximum", node.result.type, x, low)
    return w.like("minimum", node.result.type, x, high)


_EXPANSIONS: dict[str, Callable[[_Writer, Node], Value]] = {
    "mean": _mean, "softmax": _softmax, "log_softmax": _log_softmax, "logsumexp": _logsumexp, "clip": _clip,
}  # fmt: skip


def expand(program: Kind) -> Kind:
    """With operators written out as others."""
    if not any(node.op in _EXPANSIONS for node in program.nodes):
        return program
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if node.op in _EXPANSIONS and node.target is not None and _is_plain(node):
            replaced.found[original.result] = _EXPANSIONS[node.op](_Writer(made, node), node)
        else:
            made.nodes.append(node)
    return replaced.finish(made, program)


def _is_plain(node: Node) -> bool:
    """Real floating numbers of one kind throughout, and something to reduce."""
    dtype = node.result.type.dtype
    if dtype.char not in "fd" or any(x.type.dtype != dtype or not x.type.size for x in node.inputs):
        return False
    if node.op == "clip":
        bounds = node.operands[1:]
        return type(node.operands[0]) is Value and any(x is not None for x in bounds)
    return node.attrs.get("dtype") is None and type(node.operands[0]) is Value
