"""`share_factors`: one elimination for everything that is asked of the same matrix.

`solve`, `inv` and `slogdet` each factor their matrix, and so do their gradients, with the matrix or its transpose. If
a graph asks twice or more, the factors are computed once, as `lu` of LAPACK, and the rest are triangular systems: ten
steps of an implicit method with one matrix, or the likelihood of a Gaussian process, whose gradient is a solution, and
an inverse, of the matrix whose determinant it has. Pivots are those that NumPy's own routines choose, so results differ
in rounding only. What is singular raises, or is NaN, as before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.compiler.machine.blas_library import addresses, symbol
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, empty_like_type, find_operator, type_of
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, outline

Kind = TypeVar("Kind", bound=Program)
_DOUBLE, _WHOLE = np.dtype(np.float64), np.dtype(np.int64)
_SOLVE, _INVERSE, _DETERMINANT = "_linalg_solve", "_linalg_inv", "_linalg_slogdet"
_REPEATS = ("broadcast_to", "_reshape")  # the second puts axes of length 1 in front
_FEWEST_ROWS = 8
_NARROW = 8  # right sides are few if there are so many times as many rows: exchanging theirs is a product


class Question(NamedTuple):
    """What a node asks of a matrix, or of its transpose, and the batch of right sides for which it asks."""

    matrix: Value
    is_turned: bool
    batch: tuple[int, ...]


@in_bodies
def share_factors(program: Kind) -> Kind:
    """With one elimination for all that is asked of a matrix."""
    questions = {node: found for node in program.nodes if (found := _question(node)) is not None}
    counts: dict[Value, int] = {}
    for found in questions.values():
        counts[found.matrix] = counts.get(found.matrix, 0) + math.prod(found.batch)
    if max(counts.values(), default=0) < 2 or symbol("getrf", "f8") not in addresses():
        return program
    made, replaced = outline(program), Replacements()
    known: dict[Value, Factors] = {}
    for original in program.nodes:
        node, question = replaced.node(original), questions.get(original)
        if question is None or counts[question.matrix] < 2:
            made.nodes.append(node)
            continue
        # path: shared factors
        matrix = replaced.found.get(question.matrix, question.matrix)
        factors = known.get(matrix)
        if factors is None:
            factors = known[matrix] = Factors(made, matrix, node)
        factors.asker = node
        replaced.found.update(zip(original.results, factors.answers(node, question), strict=True))
    return replaced.finish(made, program)


def _question(node: Node) -> Question | None:
    if node.op not in (_SOLVE, _INVERSE, _DETERMINANT) or node.effect is not None:
        return None
    asked = node.operands[0]
    if type(asked) is not Value or any(value.type.strides is not None for value in node.results):
        return None
    matrix, is_turned = _behind_views(asked)
    shape, batch = matrix.type.shape, node.results[0].type.shape[:-2]
    if len(shape) != 2 or matrix.type.dtype != _DOUBLE or shape[0] < _FEWEST_ROWS:
        return None
    if node.op == _SOLVE:
        sides = node.operands[1].type
        if sides.dtype != _DOUBLE or sides.shape[:-2] != batch or not 0 < _NARROW * sides.shape[-1] <= shape[0]:
            return None
        return Question(matrix, is_turned, batch) if 0 not in batch else None
    if asked.type.ndim != 2 or (node.op == _INVERSE and is_turned):
        return None
    return Question(matrix, is_turned, ())


def _behind_views(asked: Value) -> tuple[Value, bool]:
    """The matrix that is transposed or repeated, and whether it is transposed."""
    matrix, is_turned = asked, False
    while (maker := matrix.node) is not None:
        (*before, rows, columns), source = range(matrix.type.ndim), maker.operands[:1]
        if maker.op == "permute_dims" and maker.attrs["axes"] == (*before, columns, rows):
            is_turned = not is_turned
        elif maker.op not in _REPEATS or _one_matrix(source[0].type.shape) != matrix.type.shape[-2:]:
            break
        (matrix,) = source
    return matrix, is_turned


def _one_matrix(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without axes of length 1 in front of those of a matrix."""
    return shape[-2:] if all(length == 1 for length in shape[:-2]) else shape


class Factors:
    """The factors of a matrix in a graph that is being written: the matrix is `exchanged @ lower @ upper`."""

    def __init__(self, program: Program, matrix: Value, asker: Node) -> None:
        self.program = program
        self.asker = asker  # whose remarks new nodes have
        self.side = side = matrix.type.shape[0]
        square = array_type((side, side), _DOUBLE)
        types = (array_type((side,), _WHOLE), square, square)
        node = program.add(find_operator("_linalg_lu"), (matrix,), {}, types, asker.tag)
        keep_remarks(node, asker)
        self.pivots, self.lower, self.upper = node.results
        attrs = {"rows": side, "dtype": _DOUBLE}
        self.exchanged = self._added("_linalg_permutation", (self.pivots,), square, **attrs)
        diagonal = {"offset": 0, "axis1": 0, "axis2": 1}
        self.diagonal = self._view("diagonal", self.upper, **diagonal)

    def answers(self, node: Node, question: Question) -> tuple[Value, ...]:
        """The results of a node that asks for something."""
        if node.op == _DETERMINANT:
            return self._sign(), self._logarithm()
        raises = "solve" if node.attrs["singular"] == "raise" else "ieee"
        if question.is_turned:
            inner = self._triangle(self._repeated(self.upper, question, True), node.operands[1], False, False, raises)
            inner = self._triangle(self._repeated(self.lower, question, True), inner, True, True, "ieee")
            found = self._product(self._repeated(self.exchanged, question), inner)
        else:
            sides = self._repeated(self.exchanged, question, True)
            if node.op == _SOLVE:
                sides = self._product(sides, node.operands[1])
            found = self._triangle(self._repeated(self.lower, question), sides, False, True, "ieee")
            found = self._triangle(self._repeated(self.upper, question), found, True, False, raises)
        return (found if raises == "solve" else self._or_nan(found),)

    def _repeated(self, matrix: Value, question: Question, is_turned: bool = False) -> Value:
        """A matrix or its transpose for every right side of a batch."""
        if is_turned:
            matrix = self._view("permute_dims", matrix, axes=(1, 0))
        shape = (*question.batch, self.side, self.side)
        return self._view("broadcast_to", matrix, shape=shape) if question.batch else matrix

    def _triangle(self, matrix: Value, sides: Value, upper: bool, unit: bool, singular: str) -> Value:
        made = array_type(sides.type.shape, _DOUBLE)
        attrs = {"upper": upper, "unit": unit, "singular": singular}
        return self._added("_linalg_solve_triangular", (matrix, sides), made, **attrs)

    def _product(self, matrix: Value, sides: Value) -> Value:
        return self._added("matmul", (matrix, sides), array_type(sides.type.shape, _DOUBLE))

    def _or_nan(self, found: Value) -> Value:
        """What was found; NaN for a singular matrix."""
        sizes = self._added("abs", (self.diagonal,), array_type((self.side,), _DOUBLE))
        least = self._added("amin", (sizes,), array_type((), _DOUBLE), axis=(0,), keepdims=False)
        is_singular = self._added("equal", (least, 0.0), array_type((), np.dtype(np.bool_)))
        return self._added("where", (is_singular, float("nan"), found), found.type)

    def _logarithm(self) -> Value:
        vector = array_type((self.side,), _DOUBLE)
        logarithms = self._added("log", (self._added("abs", (self.diagonal,), vector),), vector)
        return self._added("sum", (logarithms,), array_type((), _DOUBLE), axis=(0,), keepdims=False)

    def _sign(self) -> Value:
        """The product of the signs on the diagonal, turned around by every exchange."""
        vector, flags = array_type((self.side,), _DOUBLE), array_type((self.side,), np.dtype(np.bool_))
        rows = np.arange(self.side)
        rows.flags.writeable = False
        own = self._added("constant", (), type_of(rows), value=rows)
        stays = self._added("equal", (self.pivots, own), flags)
        signs = self._added("_sign", (self.diagonal,), vector)
        turned = self._added("where", (stays, signs, self._added("negative", (signs,), vector)), vector)
        return self._added("prod", (turned,), array_type((), _DOUBLE), axis=(0,), keepdims=False)

    def _view(self, name: str, x: Value, **attrs: Any) -> Value:
        kind = type_of(find_operator(name).kernel(empty_like_type(x.type), **attrs))
        return self._added(name, (x,), kind, **attrs)

    def _added(self, name: str, operands: tuple[Any, ...], kind: ArrayType, **attrs: Any) -> Value:
        target = name if name == "constant" else find_operator(name)
        node = self.program.add(target, operands, attrs, (kind,), self.asker.tag)
        keep_remarks(node, self.asker)
        return node.result
