"""What a node costs: floating point operations, and bytes of its values.

A product of matrices of m by k and k by n is 2mnk, whatever works element by element or reduces is one per element,
and views, constants and stores are nothing. Decompositions cost a multiple of n**3; the factors are those of the
usual algorithms, rounded. The numbers are for comparing plans with each other, not for predicting times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback.graph.ir import Node, Program, Value
from pullback.graph.printing import bodies_of

# Multiples of n**3 for a square matrix, and of m*n*n for a tall one.
_CUBIC = {
    "_linalg_solve": 2 / 3, "_linalg_inv": 2.0, "_linalg_solve_triangular": 0.0, "_linalg_cholesky": 1 / 3,
    "_linalg_qr": 2.0, "_linalg_eigh": 9.0, "_linalg_eigvalsh": 4 / 3, "_linalg_eig": 25.0, "_linalg_eigvals": 10.0,
    "_linalg_svd": 22.0, "_linalg_svdvals": 8 / 3, "_linalg_det": 2 / 3, "_linalg_slogdet": 2 / 3,
    "_linalg_cofactors": 2.0, "_linalg_matrix_exp": 30.0, "_linalg_pinv": 22.0, "_linalg_rank": 8 / 3,
    "_linalg_lu": 2 / 3, "_linalg_sylvester": 50.0, "_linalg_sqrtm": 28.0, "_orthogonal_factor": 9.0,
}  # fmt: skip
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
    if node.op in _COUNTS:
        return int(_COUNTS[node.op](node))
    if node.op in _CUBIC:
        return _decomposition(node)
    if node.target is not None and node.target.family in ("elementwise", "random", "special"):
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


def _longer(a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    """The lengths after broadcasting."""
    a, b = (1,) * (len(b) - len(a)) + a, (1,) * (len(a) - len(b)) + b
    return [y if x == 1 else x for x, y in zip(a, b, strict=True)]


def _einsum(node: Node) -> int:
    """Every combination of indices is one product and one sum; a single operand has no products."""
    left = node.attrs["subscripts"].split("->")[0].split(",")
    lengths: dict[Any, int] = {}
    for letters, x in zip(left, node.inputs, strict=False):
        before, dots, after = letters.replace(" ", "").partition("...")
        shape = x.type.shape
        batch = len(shape) - len(before) - len(after)
        names = [*before, *(range(-batch, 0) if dots else ()), *after]
        for name, length in zip(names, shape, strict=False):
            lengths[name] = max(lengths.get(name, 1), length)
    return max(2 * (len(node.inputs) - 1), 1) * math.prod(lengths.values())


def _size(x: Any) -> int:
    return x.type.size if type(x) is Value else 1


def _linear(node: Node) -> int:
    x, weight = node.operands[:2]
    return 2 * _size(x) * weight.type.shape[0] + _size(node.result)


def _convolution(node: Node) -> int:
    """Every element of the output reads one window of the weights."""
    _, w = node.operands
    return 2 * _size(node.result) * (w.type.size // max(w.type.shape[0], 1))


def _convolution_input(node: Node) -> int:
    y, w = node.operands
    return 2 * _size(y) * (w.type.size // max(w.type.shape[0], 1))


def _convolution_weight(node: Node) -> int:
    _, y = node.operands
    result = node.result.type
    return 2 * _size(y) * (result.size // max(result.shape[0], 1))


def _convolve(node: Node) -> int:
    x, y = node.operands
    return 2 * max(_size(x), _size(y)) * math.prod(min(x.type.shape, y.type.shape, key=math.prod))


def _attention(node: Node) -> int:
    query, key, value = node.operands[:3]
    scores = _size(query) // max(query.type.shape[-1], 1) * key.type.shape[-2]
    return 2 * scores * (query.type.shape[-1] + value.type.shape[-1]) + 5 * scores


def _fourier(node: Node) -> int:
    size = max(_size(node.operands[0]), _size(node.result))
    points = math.prod(node.attrs["lengths"]) if node.attrs.get("lengths") else size
    return int(5 * size * math.log2(max(points, 2)))


def _sorting(node: Node) -> int:
    x = node.operands[0]
    return int(_size(x) * math.log2(max(x.type.shape[node.attrs["axis"]] if x.type.shape else 1, 2)))


def _decomposition(node: Node) -> int:
    first, *others = node.inputs
    *batch, rows, columns = first.type.shape
    small = min(rows, columns)
    count = math.prod(batch)
    right = sum(2 * rows * rows * (x.type.shape[-1] if x.type.ndim > 1 else 1) for x in others)
    return math.ceil(count * (_CUBIC[node.op] * max(rows, columns) * small * small + right))


_COUNTS: dict[str, Callable[[Node], int]] = {
    "matmul": _matmul, "einsum": _einsum, "_einsum_one": _einsum, "_einsum_two": _einsum, "_linear": _linear,
    "_convolution": _convolution, "_convolution_input": _convolution_input, "_convolution_weight": _convolution_weight,
    "_convolve": _convolve, "_attention": _attention, "_fft_c2c": _fourier, "_fft_r2c": _fourier, "_fft_c2r": _fourier,
    "_argsort": _sorting, "_sort": _sorting,
}  # fmt: skip
