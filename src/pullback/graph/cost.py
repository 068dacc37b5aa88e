"""What a node costs: floating point operations, and bytes of its values.

A product of matrices of m by k and k by n is 2mnk, whatever works element by element or reduces is one per element,
and views, constants and stores are nothing. What costs something else declares its `flops`: decompositions are a
multiple of n**3, with the factors of the usual algorithms, rounded. The numbers are for comparing plans with each
other, not for predicting times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.einsum import label_lengths
from pullback.declare.op import Op
from pullback.graph.ir import Node, Program, Value
from pullback.graph.text.printing import bodies_of

_WITHOUT_ARITHMETIC = ("constant", "store", "update")


def nbytes(value: Value) -> int:
    """Bytes of a value's elements; a view has as many as a copy of it would."""
    return value.type.nbytes


def flops(node: Node) -> int:
    """Floating point operations of a node. A loop whose length is not known counts one turn."""
    if node.is_view or node.op in _WITHOUT_ARITHMETIC:
        return 0
    bodies = {name: program_flops(body) for name, body in bodies_of(node).items()}
    if bodies:
        return max(bodies.values()) if node.op == "cond" else sum(bodies.values()) * node.attrs.get("length", 1)
    op = node.target
    if op is not None:
        if op.flops is not None:
            return _stated(node, op, op.flops)
        if op.flow in _COUNTS:
            return int(_COUNTS[op.flow](node))
        if op.flow == "elementwise":
            return max((value.type.size for value in node.results), default=0)
    return max((value.type.size for value in (*node.inputs, *node.results)), default=0)


def program_flops(program: Program) -> int:
    """Floating point operations of all nodes."""
    return sum(map(flops, program.nodes))


def _matmul(node: Node) -> int:
    a, b = (x.type.shape for x in node.operands)
    rows, columns = (a[-2] if len(a) > 1 else 1), (b[-1] if len(b) > 1 else 1)
    batch = math.prod(_longer(a[:-2], b[:-2]))
    return 2 * batch * rows * columns * a[-1]


def _longer(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths after broadcasting."""
    a, b = (1,) * (len(b) - len(a)) + a, (1,) * (len(a) - len(b)) + b
    return tuple([y if x == 1 else x for x, y in zip(a, b, strict=True)])


def _einsum(node: Node) -> int:
    """Every combination of indices is one product and one sum; a single operand has no products."""
    terms = node.attrs["subscripts"].split("->")[0].split(",")
    lengths = label_lengths(terms, [x.type.shape if type(x) is Value else () for x in node.operands])
    return max(2 * (len(terms) - 1), 1) * math.prod(lengths.values())


def _size(x: Any) -> int:
    return x.type.size if type(x) is Value else 1


def _linear(node: Node) -> int:
    x, weight = node.operands[:2]
    return 2 * _size(x) * weight.type.shape[0] + _size(node.result)


def _convolve(node: Node) -> int:
    x, y = node.operands
    return 2 * max(_size(x), _size(y)) * math.prod(min(x.type.shape, y.type.shape, key=math.prod))


def _sorting(node: Node) -> int:
    x = node.operands[0]
    return int(_size(x) * math.log2(max(x.type.shape[node.attrs["axis"]] if x.type.shape else 1, 2)))


def _stated(node: Node, op: Op, count: Callable[..., float]) -> int:
    """What the declaration of the operator says, of what the parameters of its function name."""
    code = count.__code__
    names = code.co_varnames[: code.co_argcount]
    if op.cores is None:
        known = {**node.attrs, **_types(op.outputs, node.results), **_types(op.operands, node.operands)}
        return int(count(*[known[name] for name in names]))
    lengths: dict[str, int] = {}
    batch: tuple[int, ...] = ()
    for core, x in zip(op.cores, node.inputs, strict=True):
        shape = x.type.shape
        start = len(shape) - len(core)
        lengths.update(zip(core, shape[start:], strict=True))
        batch = _longer(batch, shape[:start])
    return math.ceil(math.prod(batch) * count(*[lengths[name] for name in names]))


def _types(names: tuple[str, ...], values: Iterable[Any]) -> dict[str, Any]:
    return {name: x.type for name, x in zip(names, values, strict=False) if type(x) is Value}


_COUNTS: dict[str, Callable[[Node], int]] = {
    "multiplies": _matmul, "contracts": _einsum, "affine": _linear, "convolves": _convolve, "sorts": _sorting,
}  # fmt: skip
"""By the flow of operators that declare no `flops`."""
