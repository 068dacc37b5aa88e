"""Colours for the rows and columns of sparse matrices: what has one colour is computed together.

All of them are greedy and take the vertices with most entries first. They work on CSR matrices of SciPy, of which only
`indptr` and `indices` are read, with NumPy's operations over the entries of one row at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from pullback._sites import not_installed
from pullback.core.pytree import flatten, unflatten
from pullback.func._grad import Argnums, normalized_argnums
from pullback.func._jet import constant_arguments, lifted_argument, lifting
from pullback.payloads.batched.array import BatchedArray
from pullback.payloads.lifted import innermost
from pullback.payloads.lifted.pattern import PatternArray, PatternLift
from pullback.tape.transform.body import as_differentiable
from pullback.tape.transform.recording import check_outputs
from pullback.tensors.tensor import Tensor

Colors = np.ndarray[Any, np.dtype[np.int64]]


def number_of(colors: Colors) -> int:
    """How many colours there are."""
    return int(colors.max(initial=-1)) + 1


def color_rows(pattern: Any) -> Colors:
    """Colours of the rows such that rows of one colour have no column in common. A row without entries has -1."""
    colors = np.full(pattern.shape[0], -1, np.int64)
    indptr, indices = pattern.indptr, pattern.indices
    sizes = np.diff(indptr)
    taken = np.zeros((pattern.shape[1], int(_most_in_a_column(pattern)) + 1), np.bool_)
    for row in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist():
        columns = indices[indptr[row] : indptr[row + 1]]
        color = int(taken[columns].any(axis=0).argmin())
        if color == taken.shape[1] - 1:  # the last place is kept free, so that there always is one
            taken = np.concatenate([taken, np.zeros_like(taken)], axis=1)
        taken[columns, color] = True
        colors[row] = color
    return colors


def color_columns(pattern: Any) -> Colors:
    """Colours of the columns such that columns of one colour have no row in common."""
    return color_rows(pattern.T.tocsr())


def _most_in_a_column(pattern: Any) -> int:
    return int(np.bincount(pattern.indices, minlength=1).max(initial=0))


def split_for_both(pattern: Any) -> tuple[Colors, Colors]:
    """Colours of rows and of columns that together determine every entry, from as few colours as a few trials find.

    A row with a colour is computed as a row; the columns are coloured without these rows. Rows with most entries
    become rows first: a handful of dense ones would otherwise need a colour for every column.
    """
    sizes = np.diff(pattern.indptr)
    order = np.argsort(-sizes, kind="stable")
    best: tuple[int, Colors, Colors] | None = None
    count, most = 0, int(np.count_nonzero(sizes))
    while True:
        chosen = np.zeros(pattern.shape[0], np.bool_)
        chosen[order[:count]] = True
        rows, columns = color_rows(_only(pattern, chosen)), color_columns(_only(pattern, ~chosen))
        total = number_of(rows) + number_of(columns)
        if best is None or total < best[0]:
            best = (total, rows, columns)
        if count == most:
            return best[1], best[2]
        count = min(2 * count if count else 1, most)


def _only(pattern: Any, rows: Any) -> Any:
    """The pattern without the entries of other rows."""
    kept = np.repeat(rows, np.diff(pattern.indptr))
    starts = np.concatenate([[0], np.cumsum(np.where(rows, np.diff(pattern.indptr), 0))])
    return type(pattern)((pattern.data[kept], pattern.indices[kept], starts), shape=pattern.shape)


def star_coloring(pattern: Any) -> tuple[Colors, Any]:
    """Colours for a symmetric matrix with a full diagonal, and how many neighbours of a colour each vertex has.

    Neighbours differ, and no path of four vertices has two colours only. So for every entry `(i, j)`, `j` is alone of
    its colour around `i`, or `i` around `j`, and one product of the matrix per colour determines all entries.
    """
    size = pattern.shape[0]
    indptr, indices = pattern.indptr, pattern.indices
    colors = np.full(size, -1, np.int64)
    around = np.zeros((size, 8), np.int32)
    for vertex in np.argsort(-np.diff(indptr), kind="stable").tolist():
        near = indices[indptr[vertex] : indptr[vertex + 1]]
        near = near[near != vertex]
        known = near[colors[near] >= 0]
        forbidden = np.zeros(around.shape[1] + 1, np.bool_)
        forbidden[colors[known]] = True
        if len(known):
            sizes = indptr[known + 1] - indptr[known]
            between = np.repeat(known, sizes)
            offsets = np.arange(len(between)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            far = indices[np.repeat(indptr[known], sizes) + offsets]
            use = (far != vertex) & (far != between) & (colors[far] >= 0)
            far, between = far[use], between[use]
            # A path vertex - between - far - other, or other - vertex - between - far.
            closes = (around[far, colors[between]] >= 2) | (around[vertex, colors[between]] >= 2)
            forbidden[colors[far[closes]]] = True
        color = int(forbidden.argmin())
        if color >= around.shape[1]:
            around = np.concatenate([around, np.zeros_like(around)], axis=1)
        colors[vertex] = color
        around[near, color] += 1
    return colors, around


# `jacobian_sparsity`: which outputs of a function depend on which inputs, without computing a derivative.

def scipy_sparse(who: str) -> Any:
    """The module `scipy.sparse`, which is an extra."""
    try:
        return import_module("scipy.sparse")
    except ImportError as error:
        raise not_installed(f"{who}, whose result is a matrix of scipy.sparse,", "SciPy", "scipy") from error


def jacobian_sparsity(function: Callable[..., Any], *args: Any, argnums: Argnums = 0) -> Any:
    """Where the Jacobian of a function at these arguments can have entries: a `scipy.sparse.csr_array` of booleans.

    Its rows are the elements of all outputs, one after the other, and its columns the elements of the arguments that
    `argnums` names. It contains every entry that is not zero, and some that are: values do not matter, so `0 * x`
    depends on `x`. Only branches, loops and indices are followed as they are taken at these arguments. Operators that
    nothing is known of make every output depend on every input.

    >>> pb.func.jacobian_sparsity(lambda x: x[1:] - x[:-1], pb.zeros(3)).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    sparse = scipy_sparse("jacobian_sparsity")
    positions = normalized_argnums("jacobian_sparsity", argnums, len(args))
    chosen = [flatten(args[position]) for position in positions]
    tensors = [[as_differentiable(leaf, "jacobian_sparsity") for leaf in leaves] for leaves, _ in chosen]
    count = sum(leaf.size for leaves in tensors for leaf in leaves)
    lift = PatternLift(count)
    with lifting(lift):
        given = [constant_arguments(lift, arg) for arg in args]
        start = 1
        for position, leaves, (_, structure) in zip(positions, tensors, chosen, strict=True):
            arguments = []
            for leaf in leaves:
                arguments.append(lifted_argument(_argument(lift, leaf, start)))
                start += leaf.size
            given[position] = unflatten(structure, arguments)
        outputs, _ = check_outputs("jacobian_sparsity", function(*given), allow_integers=False)
        numbers = [_numbers(lift, out) for out in outputs]
    rows = np.concatenate(numbers)
    members, _ = lift.sets.members(rows)
    starts = np.concatenate([[0], np.cumsum(lift.sets.sizes(rows))])
    return sparse.csr_array((np.ones(len(members), np.bool_), members, starts), shape=(len(rows), count))


def _argument(lift: PatternLift, leaf: Tensor, start: int) -> PatternArray:
    numbers = np.arange(start, start + leaf.size, dtype=np.int64).reshape(leaf.shape)
    payload = leaf._data
    values = payload.plain_values("a NumPy array") if isinstance(payload, BatchedArray) else innermost(payload)
    return PatternArray(lift, [np.array(values), numbers])


def _numbers(lift: PatternLift, out: Tensor) -> Any:
    payload = out._data
    if isinstance(payload, PatternArray) and payload.lift is lift:
        return innermost(payload.numbers).reshape(-1)
    return np.zeros(out.size, np.int64)
