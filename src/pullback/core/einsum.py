"""Einstein summation on plain arrays: reading subscripts, choosing an order, lowering pairs to `matmul`.

Subscripts are *canonical* once every term is written out: `"abi,bij->abj"`, one letter per axis, no ellipsis, always an
output. Everything that depends on shapes alone is planned once and cached. A label of length 1 broadcasts against the
other operands whether it was written or came from an ellipsis, as in NumPy.

NumPy's own `einsum` is not used for pairs: without `optimize` it never calls BLAS, with it `tensordot` is used, which
knows no batches. Here a pair becomes one `matmul`, one product, or (batches of dot products) one C loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

# In the order of their codes, so that sorting letters sorts the numbers of a sublist.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_LIMIT = 2**62


def split(subscripts: str) -> tuple[tuple[str, ...], str]:
    """The operands' terms and the output's, of canonical subscripts."""
    inputs, output = subscripts.split("->")
    return tuple(inputs.split(",")), output


def join(terms: Iterable[str], output: str) -> str:
    """Canonical subscripts out of their terms."""
    return f"{','.join(terms)}->{output}"


def unused_letters(used: str) -> str:
    """The letters that do not occur in `used`."""
    return "".join(letter for letter in LETTERS if letter not in used)


def from_sublists(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """Subscripts and operands of the form `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    count = len(args) // 2
    operands = [args[2 * k] for k in range(count)]
    text = ",".join(_sublist_text(args[2 * k + 1]) for k in range(count))
    return (f"{text}->{_sublist_text(args[-1])}" if len(args) % 2 else text), operands


def _sublist_text(labels: Any) -> str:
    try:
        return "".join("..." if label is Ellipsis else LETTERS[_label_number(label)] for label in labels)
    except (TypeError, IndexError):
        raise ValueError(
            f"einsum: a sublist holds integers from 0 to {len(LETTERS) - 1} and at most one Ellipsis, got {labels!r}"
        ) from None


def _label_number(label: Any) -> int:
    number = label.__index__() if hasattr(label, "__index__") else -1
    if number < 0:
        raise IndexError
    return int(number)


@lru_cache(maxsize=1024)
def canonical(subscripts: str, ranks: tuple[int, ...]) -> str:
    """`subscripts` with the ellipsis and the implied output written out, for operands of these ranks."""
    text = "".join(subscripts.split())
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum: {subscripts!r} has {len(terms)} terms, but {len(ranks)} operands were given")
    for part in (*terms, output):
        _check_term(part, subscripts)
    fresh = unused_letters(text)
    hidden = [rank - len(term) + 3 if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    most = max(hidden, default=0)
    for term, rank, missing in zip(terms, ranks, hidden, strict=True):
        if missing < 0 or ("..." not in term and len(term) != rank):
            raise ValueError(f"einsum: the term {term!r} does not fit an operand with {rank} axes")
    if most > len(fresh):
        raise ValueError(f"einsum: {subscripts!r} needs more than {len(LETTERS)} labels")
    broadcast = fresh[:most]
    written = [term.replace("...", broadcast[most - n :]) for term, n in zip(terms, hidden, strict=True)]
    if arrow:
        _check_output(output, "".join(written), most, subscripts)
        return join(written, output.replace("...", broadcast))
    letters = inputs.replace(",", "").replace(".", "")
    once = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return join(written, broadcast + once)


def _check_term(term: str, subscripts: str) -> None:
    rest = term.replace("...", "", 1)
    for letter in rest:
        if letter not in LETTERS:
            raise ValueError(f"einsum: {letter!r} in {subscripts!r} is not a letter, and an ellipsis has three dots")


def _check_output(output: str, written: str, hidden: int, subscripts: str) -> None:
    letters = output.replace("...", "")
    for letter in letters:
        if letters.count(letter) > 1:
            raise ValueError(f"einsum: the output of {subscripts!r} has the label {letter!r} twice")
        if letter not in written:
            raise ValueError(f"einsum: the output label {letter!r} of {subscripts!r} occurs in no operand")
    if hidden and "..." not in output:
        raise ValueError(f"einsum: the output of {subscripts!r} must keep the axes of the ellipsis; write '...' there")


def label_lengths(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    """The length of every label, 1 giving way to any other length."""
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        own: dict[str, int] = {}
        for label, length in zip(term, shape, strict=True):
            if own.setdefault(label, length) != length:
                raise ValueError(f"einsum: the axes {label!r} of one operand have lengths {own[label]} and {length}")
            known = lengths.get(label, 1)
            if known != 1 and length not in (1, known):
                raise ValueError(f"einsum: label {label!r} has length {known} in one operand and {length} in another")
            lengths[label] = length if known == 1 else known
    return lengths


class Side:
    """How one operand is brought into the form its pair needs; an empty field is a step that is not needed."""

    __slots__ = ("diagonal", "order", "shape", "summed")

    def __init__(self, diagonal: str, summed: tuple[int, ...], order: tuple[int, ...], shape: Shape) -> None:
        self.diagonal = diagonal
        self.summed = summed
        self.order = order
        self.shape = shape

    def __call__(self, x: Array) -> Array:
        """`x` in that form."""
        if self.diagonal:
            x = np.einsum(self.diagonal, x)
        if self.summed:
            x = np.asarray(np.add.reduce(x, axis=self.summed, dtype=x.dtype.type))
        if self.order:
            x = x.transpose(self.order)
        return x if x.shape == self.shape else x.reshape(self.shape)


def _row_products(x: Array, y: Array) -> Array:
    """The inner products of rows. BLAS is faster, but slow to begin."""
    if x.shape[1] >= 64 and x.dtype.char in "fd" and x.dtype == y.dtype:
        return np.vecdot(x, y)
    return np.einsum("bc,bc->b", x, y)


class Pair:
    """The plan of one contraction of two operands."""

    __slots__ = ("kind", "left", "order", "right", "shape", "swapped")

    def __init__(
        self, left: Side, right: Side, swapped: bool, kind: str, shape: Shape, order: tuple[int, ...]
    ) -> None:  # fmt: skip
        self.left = left
        self.right = right
        self.swapped = swapped  # the right operand comes first, which saves transposing the result
        self.kind = kind  # "product", "matmul" or "dots"
        self.shape = shape
        self.order = order

    def __call__(self, x: Array, y: Array) -> Array:
        """The contraction of `x` and `y`."""
        if self.swapped:
            x, y = y, x
        x, y = self.left(x), self.right(y)
        if self.kind == "product":
            return np.asarray(np.multiply(x, y))
        out = np.asarray(np.matmul(x, y) if self.kind == "matmul" else _row_products(x, y))
        if out.shape != self.shape:
            out = out.reshape(self.shape)
        return out.transpose(self.order) if self.order else out


@lru_cache(maxsize=4096)
def plan_pair(left: str, right: str, output: str, left_shape: Shape, right_shape: Shape) -> Pair:
    """The plan for `left,right->output` on operands of these shapes."""
    lengths = label_lengths((left, right), (left_shape, right_shape))
    first, second = (left, left_shape), (right, right_shape)
    of_first, of_second = _present(*first, lengths), _present(*second, lengths)
    shared = of_first & of_second
    contracted = _select(dict.fromkeys(left), shared - set(output))
    alone = [label for label in output if label not in shared]
    swapped = bool(contracted and alone and alone[0] in of_second)
    if swapped:
        first, second, of_first, of_second = second, first, of_second, of_first

    def shape_of(labels: Iterable[str]) -> Shape:
        return tuple(lengths[label] for label in labels)

    def side(operand: tuple[str, Shape], order: str, *form: int) -> Side:
        return _side(*operand, lengths, order, form)

    if not contracted:
        forms = [tuple(lengths[label] if label in own else 1 for label in output) for own in (of_first, of_second)]
        first_side = side(first, _select(output, of_first), *forms[0])
        second_side = side(second, _select(output, of_second), *forms[1])
        return Pair(first_side, second_side, False, "product", shape_of(output), ())
    batch, rows, columns = (_select(output, own) for own in (shared, of_first - shared, of_second - shared))
    size, height, width = (math.prod(shape_of(labels)) for labels in (contracted, rows, columns))
    made = batch + rows + columns
    if not made:
        first_side, second_side = side(first, contracted, size), side(second, contracted, size)
        return Pair(first_side, second_side, False, "matmul", (), ())
    if made == batch:
        count = math.prod(shape_of(batch))
        first_side = side(first, batch + contracted, count, size)
        second_side = side(second, batch + contracted, count, size)
        return Pair(first_side, second_side, False, "dots", shape_of(batch), ())
    first_side = side(first, batch + rows + contracted, *shape_of(batch), height, size)
    second_side = side(second, batch + contracted + columns, *shape_of(batch), size, width)
    return Pair(first_side, second_side, swapped, "matmul", shape_of(made), _order(made, output))


def _select(labels: Iterable[str], wanted: set[str]) -> str:
    return "".join(label for label in labels if label in wanted)


def _present(term: str, shape: Shape, lengths: dict[str, int]) -> set[str]:
    """The labels of an operand that vary along it; one of length 1 that broadcasts counts as absent."""
    return {label for label, length in zip(term, shape, strict=True) if length == lengths[label]}


def _side(term: str, shape: Shape, lengths: dict[str, int], order: str, form: Shape) -> Side:
    """The steps that leave an operand with the labels `order` and give it the shape `form`; other labels are summed."""
    labels = "".join(dict.fromkeys(term))
    diagonal = f"{term}->{labels}" if len(labels) < len(term) else ""
    present = _present(term, shape, lengths)
    # A broadcast axis of length 1 is left where it is and disappears in the last reshape.
    summed = tuple(axis for axis, label in enumerate(labels) if label in present and label not in order)
    left_over = "".join(label for axis, label in enumerate(labels) if axis not in summed)
    absent = "".join(label for label in left_over if label not in order)
    return Side(diagonal, summed, _order(left_over, order + absent), form)


def _order(labels: str, wanted: str) -> tuple[int, ...]:
    """The permutation from one order of labels to another, empty if there is nothing to do."""
    return () if labels == wanted else tuple(labels.index(label) for label in wanted)


@lru_cache(maxsize=1024)
def plan_path(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> tuple[tuple[int, ...], ...]:
    """The order in which several operands are contracted, as `np.einsum_path` writes it."""
    if optimize is True:
        optimize = "optimal" if len(shapes) <= 4 else "greedy"
    if isinstance(optimize, str):
        optimize = (optimize, _NO_LIMIT)
    elif isinstance(optimize, tuple):
        optimize = list(optimize)
    stand_ins = [np.broadcast_to(np.zeros(()), shape) for shape in shapes]
    return tuple(map(tuple, np.einsum_path(subscripts, *stand_ins, optimize=optimize)[0][1:]))


class Step(NamedTuple):
    """One contraction of a path: which two values, their terms and shapes, and the term of the result."""

    first: int
    second: int
    left: str
    right: str
    output: str
    shapes: tuple[Shape, Shape]


def order_pairs(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> list[Step]:
    """All contractions of three or more operands, in order.

    Values are counted as they come, the operands first and then the result of each step.
    """
    terms, output = split(subscripts)
    label_lengths(terms, shapes)
    values = list(zip(terms, shapes, strict=True))
    pending = list(range(len(values)))
    steps = []
    for positions in plan_path(subscripts, shapes, optimize):
        # The result is appended; positions are those before the chosen values are taken out.
        chosen = [pending[position] for position in sorted(positions)]
        pending = [value for position, value in enumerate(pending) if position not in positions]
        first = chosen[0]
        for k, second in enumerate(chosen[1:], 2):
            (left, left_shape), (right, right_shape) = values[first], values[second]
            rest = "".join([output, *(values[value][0] for value in (*chosen[k:], *pending))])
            is_last = k == len(chosen) and not pending
            term = output if is_last else _kept(left, right, rest)
            own = label_lengths((left, right), (left_shape, right_shape))
            steps.append(Step(first, second, left, right, term, (left_shape, right_shape)))
            first = len(values)
            values.append((term, tuple(own[label] for label in term)))
        pending.append(first)
    if len(pending) != 1 or values[pending[0]][0] != output:
        raise ValueError(f"einsum: the path {optimize!r} does not contract all {len(terms)} operands")
    return steps


_LARGEST_SPREAD = 1 << 16
"""Elements of a product without a sum, or with several batches: how NumPy would lay out a larger one is not known."""


def is_in_rows(step: Step) -> bool:
    """Does NumPy, if it has to, give this product in row-major order?"""
    lengths = label_lengths((step.left, step.right), step.shapes)
    shared = set(step.left) & set(step.right)
    batches = [label for label in step.output if label in shared]
    return math.prod(lengths.values()) <= _LARGEST_SPREAD or (len(batches) < 2 and not shared <= set(step.output))


def lone_axes(step: Step, side: int) -> tuple[int, ...]:
    """Axes of one operand along which the other is constant, and which are summed over."""
    term, other = (step.left, step.right)[:: 1 - 2 * side]
    shape, across = step.shapes[:: 1 - 2 * side]
    varying = {label for label, length in zip(other, across, strict=True) if length != 1}
    return tuple(
        axis
        for axis, label in enumerate(term)
        if label not in varying and label not in step.output and shape[axis] != 1 and term.count(label) == 1
    )


def _kept(left: str, right: str, wanted: str) -> str:
    """The labels of a pair that are still wanted, in the order in which a product of matrices has them."""
    labels = [label for label in dict.fromkeys(left + right) if label in wanted]
    return "".join(sorted(labels, key=lambda label: (label not in left or label not in right, label not in left)))


@lru_cache(maxsize=1024)
def plan_steps(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> tuple[tuple[int, int, Pair], ...]:
    """The same with the plan of each contraction."""
    steps = order_pairs(subscripts, shapes, optimize)
    return tuple((s.first, s.second, plan_pair(s.left, s.right, s.output, *s.shapes)) for s in steps)


def contract(subscripts: str, xs: Sequence[Array], optimize: Any = True) -> Array:
    """The contraction that canonical `subscripts` describe. The result never shares memory with an operand."""
    if len(xs) == 1:
        (term,), output = split(subscripts)
        return _contract_one(term, output, xs[0])
    if len(xs) == 2:
        (left, right), output = split(subscripts)
        return plan_pair(left, right, output, xs[0].shape, xs[1].shape)(*xs)
    values = list(xs)
    for first, second, pair in plan_steps(subscripts, tuple([x.shape for x in xs]), optimize):
        values.append(pair(values[first], values[second]))
    return values[-1]


def _contract_one(term: str, output: str, x: Array) -> Array:
    lengths = label_lengths((term,), (x.shape,))
    form = tuple(lengths[label] for label in output)
    side = _side(term, x.shape, lengths, output, form)
    out = side(x)
    return out if side.summed else out.copy()
