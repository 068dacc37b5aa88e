"""Sums of products over any axes: `matmul` with batches, `einsum` of one and of two operands.

Every axis has a label. Small ones are loops over all labels, which share what is around them; large ones are calls of
BLAS, one for each batch, if the labels of rows, of columns and of terms lie in memory as those of matrices do. Nothing
is copied: BLAS takes a transposed matrix as it lies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pullback.compiler.items import common
from pullback.compiler.items.blas import Batch, Product, matrix_of
from pullback.compiler.items.common import LARGEST_INLINE_PRODUCT, Fold
from pullback.compiler.loops.access import Accesses
from pullback.compiler.loops.fusion import Element, Item
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import kind_of, width_of
from pullback.compiler.machine.blas_library import addresses
from pullback.graph.ir import Node, Value

_LARGEST_IN_LOOPS = 1 << 18
"""Multiplications up to which loops are used where BLAS cannot be; above, NumPy may copy into matrices."""


class _Term(NamedTuple):
    """An operand: where it lies, and how far apart the elements along each label are."""

    root: Value
    offset: int
    steps: dict[str, int]

    def element(self, labels: tuple[str, ...], kind: str) -> Element:
        """The operand read in loops over these labels."""
        return Element(self.root, kind, self.offset, tuple([self.steps.get(label, 0) for label in labels]))


class _Contraction(NamedTuple):
    """The terms, the length of every label, and the labels of the result."""

    terms: tuple[_Term, ...]
    lengths: dict[str, int]
    out: str

    @property
    def loops(self) -> tuple[str, ...]:
        """Labels of the loops: those of the result, then those that are summed over."""
        kept = [label for label in self.out if self.lengths[label] != 1]
        return (*kept, *(label for label, n in self.lengths.items() if label not in self.out and n != 1))


def _contraction(node: Node, subscripts: str, accesses: Accesses) -> _Contraction | None:
    before, _, out = subscripts.partition("->")
    made = node.result.type
    kind = kind_of(made.dtype)
    if kind in (None, "b1") or not all(type(x) is Value and x.type.dtype == made.dtype for x in node.operands):
        return None
    lengths: dict[str, int] = {}
    for labels, x in zip(before.split(","), node.operands, strict=True):
        for label, length in zip(labels, x.type.shape, strict=True):
            lengths[label] = max(length, lengths.get(label, 1))
    terms = []
    for labels, x in zip(before.split(","), node.operands, strict=True):
        access, steps = accesses[x], dict.fromkeys(labels, 0)
        for label, length, step in zip(labels, x.type.shape, access.strides, strict=True):
            if length != 1:
                steps[label] += step  # a label that comes twice runs along the diagonal
        terms.append(_Term(access.root, access.offset, steps))
    return _Contraction(tuple(terms), lengths, out)


# In loops.


def _in_loops(node: Node, found: _Contraction) -> Item:
    kind = kind_of(node.result.type.dtype)
    assert kind is not None
    # path: contraction in loops
    labels = found.loops
    shape = tuple([found.lengths[label] for label in labels])
    reads = tuple([term.element(labels, kind) for term in found.terms])
    reduced = frozenset(k for k, label in enumerate(labels) if label not in found.out)
    if reduced:
        return Item(node, node.result, shape, reads, Fold("add", kind), reduced)
    rule = Rule("mul", (kind, kind), kind) if len(reads) == 2 else Rule("identity", (kind,), kind)
    return Item(node, node.result, shape, reads, rule)


# By BLAS.


def _merged(labels: str, steps: dict[str, int], lengths: dict[str, int]) -> tuple[int, int] | None:
    """The labels as one axis: its length and its step, None if they do not lie one behind the other."""
    length, step = 1, 0
    for label in reversed(labels):
        if lengths[label] == 1:
            continue
        if length == 1:
            step = steps[label]
        elif steps[label] != step * length:
            return None
        length *= lengths[label]
    return length, step


def _by_blas(node: Node, found: _Contraction) -> Item | None:
    """Calls of BLAS: the result is a batch of matrices of which each is a product of two."""
    made = node.result.type
    kind = kind_of(made.dtype)
    if kind not in ("f8", "f4") or made.strides is not None or not addresses() or len(found.terms) != 2:
        return None
    for terms in (found.terms, found.terms[::-1]):
        product = _product(found._replace(terms=terms), kind, dict(zip(found.out, made.byte_strides, strict=True)))
        if product is not None:
            reads = tuple([Element(term.root, kind, term.offset, ()) for term in terms])
            return Item(node, node.result, None, reads, product)
    return None


def _product(found: _Contraction, kind: str, out_steps: dict[str, int]) -> Product | None:
    left, right = (set(term.steps) for term in found.terms)
    labels, lengths = [label for label in found.out if found.lengths[label] != 1], found.lengths
    rows = "".join(label for label in labels if label not in right)
    columns = "".join(label for label in labels if label not in left)
    batch = [label for label in labels if label in left and label in right]
    if "".join(labels) != "".join(batch) + rows + columns:
        return None
    terms = "".join(label for label in lengths if label not in found.out)
    if not set(terms) <= left & right:
        return None
    x, y = found.terms
    down, across = _merged(rows, x.steps, lengths), _merged(terms, x.steps, lengths)
    deep, along = _merged(terms, y.steps, lengths), _merged(columns, y.steps, lengths)
    if down is None or across is None or deep is None or along is None:
        return None
    first, second = matrix_of(down, across, width_of(kind)), matrix_of(deep, along, width_of(kind))
    if first is None or second is None:
        return None
    every = tuple([Batch(lengths[k], x.steps[k], y.steps[k], out_steps[k]) for k in batch])
    return Product("gemm", kind, down[0], along[0], across[0], first, second, every)


# Operators.


def _item(node: Node, found: _Contraction | None) -> Item | None:
    if found is None:
        return None
    whole = math.prod(found.lengths.values())
    batches = math.prod(n for label, n in found.lengths.items() if all(label in t.steps for t in found.terms)
                        and label in found.out)  # fmt: skip
    if len(found.terms) == 1 or whole <= batches * LARGEST_INLINE_PRODUCT:
        return _in_loops(node, found)
    made = _by_blas(node, found)
    return made or (_in_loops(node, found) if whole <= _LARGEST_IN_LOOPS else None)


def einsum(node: Node, accesses: Accesses) -> Item | None:
    """A sum of products of one or two operands."""
    if len(node.operands) > 2:
        return None
    return _item(node, _contraction(node, node.attrs["subscripts"], accesses))


_BATCH = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def matmul(node: Node, accesses: Accesses) -> Item | None:
    """A product of matrices, vectors or batches of matrices."""
    x, y = node.operands
    if type(x) is not Value or type(y) is not Value:
        return None
    if max(x.type.ndim, y.type.ndim) <= 2:
        return common.matmul(node, accesses)
    left = _BATCH[2 - x.type.ndim :] if x.type.ndim > 2 else ""
    right = _BATCH[2 - y.type.ndim :] if y.type.ndim > 2 else ""
    rows, columns = "i" * (x.type.ndim > 1), "k" * (y.type.ndim > 1)
    batch = max(left, right, key=len)
    return _item(node, _contraction(node, f"{left}{rows}j,{right}j{columns}->{batch}{rows}{columns}", accesses))

