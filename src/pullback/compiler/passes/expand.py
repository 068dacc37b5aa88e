"""`expand`: operators that are a few others, written out, so that their parts can be fused with what is around them.

Only what a backend computes better in parts is expanded: real floating numbers, and axes that are not empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pullback.compiler.passes.arrangements import ARRANGEMENTS, can_be_arranged, permuted
from pullback.compiler.passes.convolutions import CONVOLUTIONS, can_be_columns
from pullback.compiler.passes.formulas import FORMULAS, Formula
from pullback.compiler.passes.identities import by_identity, has_identity
from pullback.compiler.passes.pairs import can_be_paired, pair
from pullback.compiler.passes.pooling import can_be_compared, compared
from pullback.compiler.passes.questions import QUESTIONS, are_bounded_integers, can_be_asked
from pullback.compiler.passes.quotients import are_real_matrices, no_quotient
from pullback.graph.ir import Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import Replacements, keep_remarks, outline
from pullback.graph.types import ArrayType, array_type, type_of

Kind = TypeVar("Kind", bound=Program)
When = Callable[[Node], bool]
Write = Callable[[Any, Node], Value | tuple[Value, ...]]
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

    def constant(self, array: Any) -> Value:
        """A constant."""
        return self.program.add("constant", (), {"value": array}, (type_of(array),), self.node.tag).result

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


def _softmax_nll(w: _Writer, node: Node) -> tuple[Value, ...]:
    """The logarithm of the sum of exponentials minus the score of the target, and that logarithm."""
    (x, target), axis = node.operands, node.attrs["axis"]
    shifted, peak = _shifted(w, x, (axis,))
    total = w.reduce("sum", w.like("exp", _plain(x), shifted), (axis,), True, dtype=None)
    total = w.like("add", total.type, w.like("log", total.type, total), peak)
    steps = target.type.byte_strides
    steps = (*steps[:axis], target.type.dtype.itemsize, *steps[axis:])
    places = array_type(total.type.shape, target.type.dtype, None if target.type.strides is None else steps)
    place = w("_reshape", (target,), places, shape=places.shape)
    chosen = w("_gather", (x, place), total.type, axis=axis, distinct=True)
    kept = (w.like("subtract", total.type, total, chosen), total)
    return tuple([w.reduce("sum", each, (axis,), False, dtype=None) for each in kept])


def _normalize(w: _Writer, node: Node) -> tuple[Value, ...]:
    (x, weight, bias), axis = node.operands, node.attrs["axis"]
    count = math.prod(x.type.shape[k] for k in axis)
    total = w.reduce("sum", x, axis, True, dtype=None)
    center = w.like("divide", total.type, total, count)
    centred = w.like("subtract", _plain(x), x, center)
    spread = w.reduce("sum", w.like("multiply", centred.type, centred, centred), axis, True, dtype=None)
    scale = _inverse_root(w, spread, count, node.attrs["eps"])
    return _scaled(w, centred, scale, weight, bias), center, scale


def _normalize_rms(w: _Writer, node: Node) -> tuple[Value, ...]:
    (x, weight), axis = node.operands, node.attrs["axis"]
    count = math.prod(x.type.shape[k] for k in axis)
    spread = w.reduce("sum", w.like("multiply", _plain(x), x, x), axis, True, dtype=None)
    scale = _inverse_root(w, spread, count, node.attrs["eps"])
    return _scaled(w, x, scale, weight, None), scale


def _inverse_root(w: _Writer, spread: Value, count: int, eps: float) -> Value:
    mean = w.like("divide", spread.type, spread, count)
    return w.like("divide", spread.type, 1, w.like("sqrt", spread.type, w.like("add", spread.type, mean, eps)))


def _scaled(w: _Writer, x: Value, scale: Value, weight: Value | None, bias: Value | None) -> Value:
    out = w.like("multiply", _plain(x), x, scale)
    if weight is not None:
        out = w.like("multiply", out.type, out, weight)
    return out if bias is None else w.like("add", out.type, out, bias)


def _linear(w: _Writer, node: Node) -> Value:
    x, weight, bias = node.operands
    product = w("matmul", (x, _turned(w, weight)), _plain(node.result))
    return product if bias is None else w.like("add", product.type, product, bias)


_LARGEST_MASK = 1 << 20  # elements


def _attention(w: _Writer, node: Node) -> tuple[Value, ...]:
    """Products, a softmax in between, and the logarithms of its sums."""
    (query, key, value, mask), attrs = node.operands, node.attrs
    out, total = (each.type for each in node.results)
    dtype, columns = out.dtype, key.type.shape[-2]
    scaled = w.like("multiply", _plain(query), query, attrs["scale"])
    batch = np.broadcast_shapes(query.type.shape[:-2], key.type.shape[:-2])
    product = array_type((*batch, query.type.shape[-2], columns), dtype)
    scores = w("matmul", (scaled, _turned(w, key)), product)
    full = array_type((*total.shape, columns), dtype)
    if mask is not None:
        scores = w.like("add", full, scores, mask)
    if attrs["causal"]:
        scores = w.like("where", full, w.constant(_hidden(*full.shape[-2:])), -math.inf, scores)
    last = (len(full.shape) - 1,)
    shifted, peak = _shifted(w, scores, last)
    powers = w.like("exp", full, shifted)
    sums = w.reduce("sum", powers, last, True, dtype=None)
    sums = w.like("where", sums.type, w.like("equal", array_type(sums.type.shape, _BOOL), sums, 0), 1, sums)
    logarithm = w.like("add", sums.type, w.like("log", sums.type, sums), peak)
    weighted = w.like("divide", out, w("matmul", (powers, value), out), sums)
    return weighted, w.reduce("sum", logarithm, last, False, dtype=None)


def _hidden(rows: int, columns: int) -> Any:
    """What a causal mask hides: columns after the row's own."""
    hidden = np.arange(columns) > np.arange(rows)[:, None]
    hidden.flags.writeable = False
    return hidden


def _turned(w: _Writer, x: Value) -> Value:
    """A view of matrices, transposed."""
    last = x.type.ndim - 1
    return permuted(w, x, (*range(last - 1), last, last - 1))


def _variance(w: _Writer, node: Node) -> Value:
    """`var`, or `std`, its root."""
    (x,), axis, keepdims = node.operands, node.attrs["axis"], node.attrs.get("keepdims", False)
    count = math.prod(x.type.shape[k] for k in axis)
    total = w.reduce("sum", x, axis, True, dtype=None)
    centred = w.like("subtract", _plain(x), x, w.like("divide", total.type, total, count))
    spread = w.reduce("sum", w.like("multiply", centred.type, centred, centred), axis, keepdims, dtype=None)
    out = w.like("divide", spread.type, spread, count - node.attrs["correction"])
    return out if node.op == "var" else w.like("sqrt", out.type, out)


def _with_indices(w: _Writer, node: Node) -> tuple[Value, ...]:
    (x,), axis, keepdims = node.operands, node.attrs["axis"], node.attrs["keepdims"]
    largest = node.op == "max_with_indices"
    values = w.reduce("amax" if largest else "amin", x, (axis,), keepdims)
    place = "argmax" if largest else "argmin"
    return values, w(place, (x,), node.results[1].type, axis=axis, keepdims=keepdims)


def _by_formula(w: _Writer, node: Node) -> Value | tuple[Value, ...]:
    return FORMULAS[node.op](Formula(w, node), *node.operands, **node.attrs)


# When, and as what, each operator is written out.


def _has_numbers(node: Node, mixed: bool = False) -> bool:
    """Real floating numbers of one kind throughout, and elements. `mixed` has operands that are no floating numbers."""
    dtype = node.results[0].type.dtype
    numbers = [x for x in node.inputs if not mixed or x.type.dtype.kind == "f"]
    if dtype.char not in "fd" or any(x.type.dtype != dtype for x in numbers):
        return False
    return all(x.type.size for x in node.inputs)


def _has_array(node: Node) -> bool:
    return _has_numbers(node) and node.attrs.get("dtype") is None and type(node.operands[0]) is Value


def _has_spread(node: Node) -> bool:
    """Are there more elements than `correction` takes away?"""
    count = math.prod(node.inputs[0].type.shape[k] for k in node.attrs["axis"])
    return count > node.attrs["correction"] and _has_array(node)


def _is_dense(node: Node) -> bool:
    """Are operands arrays, and results in row-major order?"""
    if not _has_numbers(node, mixed=node.op == "_softmax_nll"):
        return False
    is_dense = all(value.type.strides is None for value in node.results)
    return is_dense and all(x is None or type(x) is Value for x in node.operands)


def _has_mask(node: Node) -> bool:
    return math.prod(x.type.shape[-2] for x in node.inputs[:2]) <= _LARGEST_MASK and _is_dense(node)


def _has_bounds(node: Node) -> bool:
    bounds = node.operands[1:]
    is_bounded = type(node.operands[0]) is Value and any(x is not None for x in bounds)
    return are_bounded_integers(node) or (_has_numbers(node) and is_bounded)


def _has_shape(node: Node) -> bool:
    """Has the first operand the shape of the result?"""
    is_fit = _has_numbers(node, mixed=node.op == "masked_fill")
    return is_fit and all(x.type.shape == node.results[0].type.shape for x in node.inputs[:1])


def _numbers_and(fits: When) -> When:
    return lambda node: _has_numbers(node) and fits(node)


_EXPANSIONS: dict[str, tuple[When, Write]] = {
    **{name: (_has_array, write) for name, write in (
        ("mean", _mean), ("softmax", _softmax), ("log_softmax", _log_softmax), ("logsumexp", _logsumexp),
    )},
    **dict.fromkeys(("var", "std"), (_has_spread, _variance)),
    **{name: (_is_dense, write) for name, write in (
        ("_softmax_nll", _softmax_nll), ("_normalize", _normalize), ("_normalize_rms", _normalize_rms),
        ("_linear", _linear), ("max_with_indices", _with_indices), ("min_with_indices", _with_indices),
    )},
    "_attention": (_has_mask, _attention),
    "clip": (_has_bounds, _clip),
    "matmul": (_numbers_and(has_identity), by_identity),
    **dict.fromkeys(("einsum", "_einsum_two"), (_numbers_and(can_be_paired), pair)),
    "_max_pool": (_numbers_and(can_be_compared), compared),
    "_linalg_no_quotient": (are_real_matrices, no_quotient),
    **{name: (can_be_asked, write) for name, write in QUESTIONS.items()},
    **{name: (_numbers_and(can_be_arranged), write) for name, write in ARRANGEMENTS.items()},
    **{name: (_numbers_and(can_be_columns), write) for name, write in CONVOLUTIONS.items()},
    **dict.fromkeys(FORMULAS, (_has_shape, _by_formula)),
}  # fmt: skip


def expand(program: Kind) -> Kind:
    """With operators written out as others."""
    if not any(node.op in _EXPANSIONS for node in program.nodes):
        return program
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        fits, write = _EXPANSIONS.get(node.op, _NEVER)
        if node.target is not None and fits(node):
            found = write(_Writer(made, node), node)
            values = found if isinstance(found, tuple) else (found,)
            replaced.found.update(zip(original.results, values, strict=True))
        else:
            made.nodes.append(node)
    return replaced.finish(made, program)


_NEVER: tuple[When, Write] = (lambda node: False, lambda w, node: ())
