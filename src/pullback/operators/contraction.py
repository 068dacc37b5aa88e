"""Products and contractions: `matmul` and `einsum`.

`matmul` is on the hot path of every network, so its kernel is NumPy's and its rules are a product with a view.
`einsum` is a primitive of any number of operands, whose gradient is an `einsum` again; how it is evaluated stands in
`core/einsum.py`. The products of linear algebra textbooks (`dot`, `inner`, `kron`, ...)
in `vector_products.py` choose among these two and the elementwise product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.core.einsum import (
    Step,
    canonical,
    contract,
    from_sublists,
    is_in_rows,
    join,
    label_lengths,
    lone_axes,
    order_pairs,
    split,
    unused_letters,
)  # fmt: skip
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.elementwise.comparison import isfinite, where
from pullback.operators.elementwise.complex_numbers import conjugated


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes; a view unless `x` is complex."""
    transposed = x.swapaxes(-1, -2)
    return transposed.conj() if x.dtype.kind == "c" else transposed


def rank_of(x: Any) -> int:
    """The number of axes; 0 for a Python number."""
    return x.ndim if hasattr(x, "ndim") else 0


# matmul ---------------------------------------------------------------------------------------------------------------

matmul = Op(
    "matmul",
    np.matmul,
    ("a", "b"),
    family="gufunc",
    flow="multiplies",
    price="add",
    doc="""The matrix product `a @ b`.

    Axes before the last two are batches and broadcast. A vector counts as a row on the left and as a column on the
    right, and its axis is absent from the result.
    """,
)
matmul.saved_aliases["mat2"] = "b"


@matmul.transpose_of("a")
def matmul_transpose_a(g, a, b):
    if a.ndim == 1 and b.ndim <= 2:
        return conjugated(b) @ g if b.ndim == 2 else g * conjugated(b)
    if a.ndim == 1:
        return (conjugated(b) @ g[..., None])[..., 0]
    if b.ndim == 1:
        return g[..., None] * conjugated(b)
    return g @ adjoint(b)


@matmul.transpose_of("b")
def matmul_transpose_b(g, a, b):
    if b.ndim == 1 and a.ndim <= 2:
        return g @ conjugated(a) if a.ndim == 2 else g * conjugated(a)
    if b.ndim == 1:
        return (g[..., None, :] @ conjugated(a))[..., 0, :]
    if a.ndim == 1:
        return conjugated(a)[:, None] * (g if g.ndim == 1 else g[..., None, :])
    if b.ndim == 2 and a.ndim > 2:
        # One weight for many batches: one large product, and not a stack of products that would then be summed.
        rows = math.prod(a.shape[:-1])
        a, g = a.reshape((rows, a.shape[-1])), g.reshape((rows, g.shape[-1]))
    return adjoint(a) @ g


# `dot` gives the bits of `@` in half the time for small arrays, and complains about nothing, as backward passes do.


@matmul.vjp_of_on_arrays("a")
def matmul_pulled_a(g, a, b):
    if b.ndim == 2 and a.ndim <= 2 and b.dtype.char in "fd":
        return g.dot(b.T) if a.ndim == 2 else b.dot(g)
    return matmul_transpose_a(g, a, b)


@matmul.vjp_of_on_arrays("b")
def matmul_pulled_b(g, a, b):
    if a.ndim == 2 and b.ndim <= 2 and a.dtype.char in "fd":
        return a.T.dot(g) if b.ndim == 2 else g.dot(a)
    return matmul_transpose_b(g, a, b)


@matmul.spec
def matmul_spec(a: Spec, b: Spec) -> Spec:
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(f"matmul: the shapes {list(a.shape)} and {list(b.shape)} do not fit")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return spec_for((*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())), np.result_type(a.dtype, b.dtype))


@matmul.batch
def matmul_batch(a, b):
    row, column = a.ndim == 2, b.ndim == 2
    batches = max(a.ndim, b.ndim) - 3 + (row and column)

    def spread(x, core):
        lead = x.shape[: x.ndim - (1 if core is not None else 2)]
        return x.reshape((*lead[:1], *(1,) * (batches - len(lead) + 1), *lead[1:], *(core or x.shape[-2:])))

    out = matmul(spread(a, (1, a.shape[-1]) if row else None), spread(b, (b.shape[-1], 1) if column else None))
    out = out[..., 0, :] if row else out
    return out[..., 0] if column else out


@matmul.samples
def matmul_samples(make: Maker) -> Iterator[Sample]:
    shapes = [
        ("matrices", (3, 4), (4, 2)), ("vectors", (3,), (3,)), ("row", (3,), (3, 2)), ("column", (2, 3), (3,)),
        ("batches", (2, 3, 4), (2, 4, 2)), ("one-weight", (2, 3, 4), (4, 2)), ("broadcast", (2, 1, 3, 4), (5, 4, 2)),
        ("row-batches", (3,), (2, 3, 2)), ("column-batches", (5, 2, 3), (3,)), ("left-matrix", (3, 4), (2, 4, 2)),
        ("nothing-summed", (3, 0), (0, 2)), ("empty", (0, 3), (3, 2)), ("empty-weight", (2, 3, 0), (0, 2)),
    ]  # fmt: skip
    for label, a, b in shapes:
        yield Sample((make(a), make(b)), label=label)
    for label, array in layouts(make((3, 4))):
        yield Sample((array, make((4, 2))), label=label)
    yield Sample((make((3, 4), np.float32), make((4, 2), np.float32)), label="float32")
    yield Sample((make((3, 4), np.complex128), make((4, 2), np.complex128)), label="complex")
    yield Sample((make((2, 3, 4)), make((4, 2), np.complex128)), label="real-and-complex")
    yield Sample((make((3,), np.complex128), make((3, 2))), label="complex-row")
    yield Sample((make((3, 4)), make.integers(-3, 4, (4, 2))), label="integers")


def _is_identity(x: Any) -> bool:
    if x.constant is None or x.ndim != 2 or x.shape[0] != x.shape[1]:
        return False
    return bool((np.diagonal(x.constant) == 1).all() and np.count_nonzero(x.constant) == len(x.constant))


@matmul.expand(when=lambda a, b: a.ndim == b.ndim == 2 and (_is_identity(a) or _is_identity(b)))
def product_with_identity(a, b):
    """The other matrix: Jacobians begin with `eye(n) @ x`. A sum with another term that is not finite is no number."""
    x, axis = (b, 0) if _is_identity(a) else (a, 1)
    own = where(isfinite(x), *[np.full((), number, x.dtype) for number in (0, 1)])
    is_alone = own.sum(axis=(axis,), keepdims=True) == own
    return where(is_alone, x + 0.0, np.nan)  # a sum of negative zeros is a positive one


@composite(arrays=2)
def matvec(x1: Any, x2: Any, /) -> Any:
    """The product of matrices and vectors over the last axes, batched: `x1[..., i, j]` times `x2[..., j]`."""
    return (x1 @ x2[..., None])[..., 0]


@composite(arrays=2)
def vecmat(x1: Any, x2: Any, /) -> Any:
    """The product of conjugated vectors and matrices, batched: `conj(x1[..., i])` times `x2[..., i, j]`."""
    return (conjugated(x1)[..., None, :] @ x2)[..., 0, :]


@composite(arrays=2)
def mm(mat1: Any, mat2: Any) -> Any:
    """`mat1 @ mat2` for two matrices."""
    check_axes("mm", (mat1, 2), (mat2, 2))
    return matmul(mat1, mat2)


@composite(arrays=2)
def mv(mat: Any, vec: Any) -> Any:
    """`mat @ vec` for a matrix and a vector."""
    check_axes("mv", (mat, 2), (vec, 1))
    return matmul(mat, vec)


@composite(arrays=2)
def bmm(batch1: Any, batch2: Any) -> Any:
    """`batch1 @ batch2` for two batches of matrices, of equal length."""
    check_axes("bmm", (batch1, 3), (batch2, 3))
    if batch1.shape[0] != batch2.shape[0]:
        raise ValueError(f"bmm: there are {batch1.shape[0]} matrices in one batch and {batch2.shape[0]} in the other")
    return matmul(batch1, batch2)


def check_axes(name: str, *wanted: tuple[Any, int]) -> None:
    """Raise unless each array has the number of axes that is named beside it."""
    for x, ndim in wanted:
        if x.ndim != ndim:
            raise ValueError(f"{name}: expected {ndim} axes, got {x.ndim}")


# einsum ---------------------------------------------------------------------------------------------------------------


# Three operators, since rules say what is kept for backward: with one operand nothing is, with two each gradient reads
# the other operand only, and with more all of them.


@primitive(name="_einsum_one", torch="einsum", flow="contracts")
def contraction_of_one(x, *, subscripts, optimize):
    """Diagonals, sums and transposes of one operand, in canonical subscripts."""
    return contract(subscripts, (x,), optimize)


@primitive(name="_einsum_two", torch="einsum", flow="contracts")
def contraction_of_two(a, b, *, subscripts, optimize):
    """A sum of products of two operands, in canonical subscripts."""
    return contract(subscripts, (a, b), optimize)


@primitive(name="einsum", flow="contracts", group="multilinear")
def contraction_of_many(*xs, subscripts, optimize):
    """A sum of products of any number of operands, in canonical subscripts."""
    return contract(subscripts, xs, optimize)


for _op in (contraction_of_one, contraction_of_two, contraction_of_many):

    @_op.spelling("array_api")
    def contraction_spelling(np_there, *xs, subscripts, optimize):
        return np_there.einsum(subscripts, *xs)


# Users call `einsum` below, which reads their subscripts.
contraction_of_many.is_public = False


def _operator_for(count: int) -> Op:
    return (contraction_of_one, contraction_of_two)[count - 1] if count < 3 else contraction_of_many


def contraction(*xs: Any, subscripts: str, optimize: Any) -> Any:
    """A sum of products of any number of operands, in canonical subscripts."""
    return _operator_for(len(xs))(*xs, subscripts=subscripts, optimize=optimize)


@contraction_of_one.transpose
def contraction_of_one_transpose(g, x, subscripts):
    return _gradient_of(0, g, (), subscripts, x.shape)


@contraction_of_two.transpose_of("a")
def contraction_of_two_transpose_a(g, a, b, subscripts):
    return _gradient_of(0, g, (b,), subscripts, a.shape)


@contraction_of_two.transpose_of("b")
def contraction_of_two_transpose_b(g, a, b, subscripts):
    return _gradient_of(1, g, (a,), subscripts, b.shape)


@contraction_of_many.vjp
def contraction_of_many_vjp(g, xs, needs, subscripts):
    return tuple(
        _gradient_of(position, g, xs[:position] + xs[position + 1 :], subscripts, x.shape) if needed else None
        for position, (x, needed) in enumerate(zip(xs, needs, strict=True))
    )


@lru_cache(maxsize=1024)
def _plan_gradient(position: int, subscripts: str) -> tuple[str, str, str | None]:
    """The term of an operand, those of its labels that are known elsewhere, and the contraction that gives these."""
    terms, output = split(subscripts)
    own = terms[position]
    others = terms[:position] + terms[position + 1 :]
    elsewhere = output + "".join(others)
    known = "".join(label for label in dict.fromkeys(own) if label in elsewhere)
    return own, known, join((output, *others), known) if others or known != output else None


def _gradient_of(position: int, g: Any, others: tuple[Any, ...], subscripts: str, shape: tuple[int, ...]) -> Any:
    """The gradient of one operand: the others' conjugates contracted with `g`, spread over the operand's axes."""
    own, known, written = _plan_gradient(position, subscripts)
    if written is not None:
        g = contraction(g, *(conjugated(x) for x in others), subscripts=written, optimize=True)
    return g if known == own and g.shape == shape else _spread(g, known, own, shape)


def _spread(part: Any, known: str, term: str, shape: tuple[int, ...]) -> Any:
    """`part`, which has one axis per label of `known`, as an array with the axes of `term`.

    A label that is not known is constant along its axis. A repeated one is on the diagonal, and zero elsewhere.
    """
    lengths = dict(zip(known, part.shape, strict=True))
    form = [lengths.pop(label, 1) for label in term]
    part = part.reshape(tuple(form)) if len(form) != part.ndim else part
    full = tuple(
        wanted if have == 1 and term.count(label) == 1 else have
        for label, have, wanted in zip(term, form, shape, strict=True)
    )
    if full != part.shape:
        part = broadcast_to(part, full)
    mask = _diagonal_mask(term, shape)
    return part if mask is None else where(mask, part, 0)


def _diagonal_mask(term: str, shape: tuple[int, ...]) -> Any:
    """True where the indices of repeated labels agree; None if no label is repeated."""
    mask: Any = None
    for axis, label in enumerate(term):
        first = term.index(label)
        if first != axis:
            form = [1] * len(term)
            form[first] = form[axis] = shape[axis]
            agree = np.eye(shape[axis], dtype=bool).reshape(form)
            mask = agree if mask is None else mask & agree
    return mask


# Written out: of many operands as pairs, and of two without what one of them alone has. That is summed before it is
# multiplied, as the kernel does: it is less work, and an infinity becomes NaN in the same cases.


def _steps(subscripts: str, xs: Sequence[Any], optimize: Any = True) -> list[Step]:
    shapes = tuple([x.shape for x in xs])
    if len(shapes) > 2:
        return order_pairs(subscripts, shapes, optimize)
    (left, right), output = split(subscripts)
    return [Step(0, 1, left, right, output, (shapes[0], shapes[1]))]


def _are_pairs(xs: Sequence[Any], subscripts: str, optimize: Any) -> bool:
    return len(xs) > 1 and all(map(is_in_rows, _steps(subscripts, xs, optimize)[:-1]))


def _has_lone_axes(a: Any, b: Any, subscripts: str) -> bool:
    (step,) = _steps(subscripts, (a, b))
    return bool(lone_axes(step, 0) or lone_axes(step, 1))


@contraction_of_two.expand(when=_has_lone_axes)
@contraction_of_many.expand(when=_are_pairs)
def contraction_parts(*xs, subscripts, optimize):
    values = list(xs)
    for step in _steps(subscripts, xs, optimize):
        pair, terms = [values[step.first], values[step.second]], [step.left, step.right]
        for side, axes in enumerate([lone_axes(step, side) for side in range(2)]):
            if axes:
                pair[side] = pair[side].sum(axis=axes)
                terms[side] = "".join(label for axis, label in enumerate(terms[side]) if axis not in axes)
        values.append(contraction_of_two(*pair, subscripts=join(terms, step.output), optimize=True))
    return values[-1]


@contraction_of_many.jvp
def contraction_of_many_jvp(t_xs, xs, subscripts, optimize):
    total = None
    for position, tangent in enumerate(t_xs):
        if tangent is not None:
            operands = (*xs[:position], tangent, *xs[position + 1 :])
            term = contraction(*operands, subscripts=subscripts, optimize=optimize)
            total = term if total is None else total + term
    return total


def contraction_batch(*xs: Any, subscripts: str, optimize: Any) -> Any:
    """The contraction of operands that all have one more axis in front."""
    terms, output = split(subscripts)
    batch = unused_letters(subscripts)[0]
    return contraction(*xs, subscripts=join((batch + term for term in terms), batch + output), optimize=optimize)


def contraction_spec(*xs: Spec, subscripts: str, optimize: Any) -> Spec:
    """Shape and dtype of a contraction."""
    terms, output = split(subscripts)
    lengths = label_lengths(terms, [x.shape for x in xs])
    return spec_for(tuple(lengths[label] for label in output), np.result_type(*(x.dtype for x in xs)))


def contraction_samples(make: Maker) -> Iterator[Sample]:
    """Contractions of one, two and more operands."""

    def sample(label: str, subscripts: str, *shapes: tuple[int, ...], dtype: Any = np.float64) -> Sample:
        written = canonical(subscripts, tuple(map(len, shapes)))
        operands = tuple(make(shape, dtype) for shape in shapes)
        return Sample(operands, {"subscripts": written, "optimize": True}, label)

    yield sample("transpose", "ij->ji", (2, 3))
    yield sample("trace", "ii", (3, 3))
    yield sample("diagonal", "iij->ij", (2, 2, 3))
    yield sample("diagonal-of-three", "iiij->j", (2, 2, 2, 3))
    yield sample("sum", "ij->j", (2, 3))
    yield sample("sum-of-nothing", "ij->j", (0, 3))
    yield sample("matmul", "ij,jk->ik", (2, 3), (3, 4))
    yield sample("matmul-transposed", "ij,jk->ki", (2, 3), (3, 4))
    yield sample("batches", "bij,bjk->bik", (2, 3, 4), (2, 4, 2))
    yield sample("dots", "bi,bi->b", (2, 3), (2, 3))
    yield sample("outer", "i,jk->kij", (2,), (3, 2))
    yield sample("two-contracted", "aijb,jic->cab", (2, 3, 2, 2), (2, 3, 2))
    yield sample("summed-in-one", "ij,jk->k", (2, 3), (3, 4))
    yield sample("repeated", "ii,ij->j", (3, 3), (3, 2))
    yield sample("repeated-in-both", "iij,jii->i", (2, 2, 3), (3, 2, 2))
    yield sample("ellipsis", "...ij,...jk->...ik", (5, 1, 2, 3), (4, 3, 2))
    yield sample("broadcast-label", "ij,ij->j", (1, 3), (2, 3))
    yield sample("broadcast-diagonal", "ii,i->i", (1, 1), (3,))
    yield sample("three", "ij,jk,kl->il", (2, 3), (3, 2), (2, 4))
    yield sample("bilinear", "bi,oij,bj->bo", (2, 3), (4, 3, 2), (2, 2))
    yield sample("scalars", ",i,->i", (), (3,), ())
    yield sample("empty", "ij,jk->ik", (2, 0), (0, 3))
    yield sample("complex", "ij,jk,k->i", (2, 3), (3, 2), (2,), dtype=np.complex128)
    yield sample("float32", "ij,jk->ik", (2, 3), (3, 4), dtype=np.float32)


def _declare_contraction(op: Op, counts: range) -> None:
    """What the three operators have in common; each has the samples with as many operands as it takes."""
    op.batch(contraction_batch)
    op.spec(contraction_spec)
    op.samples(lambda make: (sample for sample in contraction_samples(make) if len(sample.operands) in counts))


_declare_contraction(contraction_of_one, range(1, 2))
_declare_contraction(contraction_of_two, range(2, 3))
_declare_contraction(contraction_of_many, range(1, 10))


def sum_of_products(subscripts: str, *operands: Any) -> Any:
    """`einsum` for rules and composites: arrays stay arrays."""
    written = canonical(subscripts, tuple(x.ndim for x in operands))
    return contraction(*operands, subscripts=written, optimize=True)


@composite(arrays=0)
def einsum(*args: Any, optimize: Any = True) -> Any:
    """A sum of products in Einstein's notation.

    `einsum("ij,jk->ik", a, b)` is the matrix product. A label that the output lacks is summed over; a label that one
    operand repeats takes its diagonal; `...` stands for axes that broadcast. Without `->` the output has the labels
    that occur once, in alphabetical order. Labels may be integers: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    `optimize` chooses the order for three or more operands: True, False (from the left), "greedy", "optimal", or a
    path of `einsum_path`. Paths are kept, so a repeated call does not search again.
    """
    subscripts, operands = _read_arguments(args)
    ranks = tuple(rank_of(x) for x in operands)
    if isinstance(optimize, list):
        optimize = tuple(optimize)
    return _operator_for(len(operands)).function(*operands, subscripts=canonical(subscripts, ranks), optimize=optimize)


@composite(arrays=0)
def einsum_path(*args: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which `einsum` would contract, and a printed account of it; see `numpy.einsum_path`."""
    subscripts, operands = _read_arguments(args)
    stand_ins = [np.broadcast_to(np.zeros(()), x.shape) for x in operands]
    return np.einsum_path(subscripts, *stand_ins, optimize=optimize)


def _read_arguments(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts and the operands, as things that have a shape."""
    if not args:
        raise TypeError("einsum: subscripts and at least one operand are needed")
    subscripts, operands = (args[0], list(args[1:])) if isinstance(args[0], str) else from_sublists(args)
    if not operands:
        raise TypeError("einsum: at least one operand is needed")
    return subscripts, [x if hasattr(x, "shape") else np.asarray(x) for x in operands]
