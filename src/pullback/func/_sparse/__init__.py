"""`sparse_jacobian` and `sparse_hessian`: from as few products as there are colours to matrices of SciPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.doors import door, leaving
from pullback.core.progress import Progress, labelled
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.func._grad import Argnums, grad, vjp
from pullback.func._jacobian import _check_real, _with_positions
from pullback.func._jvp import jvp
from pullback.func._made import made_by
from pullback.func._pieces import blocks, check_sendable
from pullback.func._sparse.coloring import (
    color_columns,
    color_rows,
    jacobian_sparsity,
    number_of,
    scipy_sparse,
    split_for_both,
    star_coloring,
)
from pullback.func._vmap import vmap
from pullback.operators import functions
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.transform.recording import check_outputs
from pullback.tensors.tensor import Tensor, made_here

_MODES = ("auto", "fwd", "rev", "bicoloring")
_FORMATS = ("coo", "csr")


@door
def sparse_jacobian(
    function: Callable[..., Any],
    sparsity: Any = None,
    *,
    argnums: Argnums = 0,
    structure: str | None = None,
    mode: str = "auto",
    coloring: str = "greedy",
    format: str = "csr",
    check: bool | None = None,
    chunk_size: int | None = None,
    progress: Progress = None,
    differentiable: bool = False,
    executor: Any = None,
) -> Callable[..., Any]:
    """The Jacobian as a sparse matrix of SciPy, computed from few directional derivatives.

    Its rows are the elements of all outputs, its columns those of the arguments that `argnums` names. Columns (`mode`
    "fwd") or rows ("rev") without an entry in common are computed together, as one direction; "auto" takes what needs
    fewer of them, and "bicoloring" computes some rows as rows and the rest by columns, for matrices with both dense
    rows and dense columns.

    Where the entries are is found at every call by `jacobian_sparsity`, so functions may branch. It can be given: as a
    matrix in `sparsity`, or as a `structure`, "diag", "banded(k)" with k diagonals on both sides, or "block(b)" with
    square blocks of size b along the diagonal. Then `check`, on by default, compares with one random direction and
    raises ValueError if an entry is missing. `format` is "csr" or "coo"; `chunk_size` limits how many directions are
    computed at once, `progress` says how many are done, and workers of an `executor` compute them (see `jacrev`). The
    matrix is a constant: SciPy's matrices carry no gradients. With `differentiable=True` it is a `SparseTensor` of
    `pb.scipy.sparse`, whose values have derivatives; it is computed by columns, here.

    >>> pb.func.sparse_jacobian(lambda x: x[1:] * x[:-1])(pb.tensor([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    who = "sparse_jacobian"
    _check_options(who, sparsity, structure, format, coloring)
    if mode not in _MODES:
        raise ValueError(f"{who}: mode must be one of {', '.join(_MODES)}, got {mode!r}")

    @made_by(
        sparse_jacobian, function, sparsity, argnums=argnums, structure=structure, mode=mode, format=format,
        check=check, chunk_size=chunk_size, progress=progress, differentiable=differentiable, executor=executor,
    )  # fmt: skip
    @leaving
    def transformed(*args: Any, **kwargs: Any) -> Any:
        sparse = scipy_sparse(who)
        of_these, chosen = _with_positions(who, function, argnums, args, kwargs)
        products = _Products(who, of_these, chosen, chunk_size, labelled(progress, who), executor)
        given = sparsity is not None or structure is not None
        if structure is not None:
            size = products.num_inputs
            pattern = _structured(who, sparse, structure, (size, size))
        elif sparsity is not None:
            pattern = _as_pattern(sparse, sparsity)
        else:
            pattern = jacobian_sparsity(of_these, *chosen, argnums=tuple(range(len(chosen))))
        if pattern.shape[1] != products.num_inputs:
            raise ValueError(f"{who}: sparsity has {pattern.shape[1]} columns for {products.num_inputs} inputs")
        if differentiable:
            return _differentiable(products, pattern, format)
        result = _compressed(products, pattern, mode)
        if check if check is not None else given:
            _check_complete(who, products, result)
        return result.asformat(format)

    return transformed


@door
def sparse_hessian(
    function: Callable[..., Any],
    sparsity: Any = None,
    *,
    argnums: Argnums = 0,
    structure: str | None = None,
    coloring: str = "greedy",
    format: str = "csr",
    check: bool | None = None,
    chunk_size: int | None = None,
    progress: Progress = None,
    executor: Any = None,
) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar function as a sparse matrix of SciPy.

    Its products with a few directions, forward over reverse, determine all entries: symmetry is used to need fewer of
    them (a star colouring). See `sparse_jacobian` for the options.

    >>> pb.func.sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())(pb.tensor([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    who = "sparse_hessian"
    _check_options(who, sparsity, structure, format, coloring)

    @made_by(
        sparse_hessian, function, sparsity, argnums=argnums, structure=structure, format=format,
        check=check, chunk_size=chunk_size, progress=progress, executor=executor,
    )  # fmt: skip
    @leaving
    def transformed(*args: Any, **kwargs: Any) -> Any:
        sparse = scipy_sparse(who)
        of_these, chosen = _with_positions(who, function, argnums, args, kwargs)
        gradient = grad(of_these, tuple(range(len(chosen))))
        products = _Products(who, gradient, chosen, chunk_size, labelled(progress, who), executor)
        size = products.num_inputs
        given = sparsity is not None or structure is not None
        if structure is not None:
            pattern = _structured(who, sparse, structure, (size, size))
        elif sparsity is not None:
            pattern = _as_pattern(sparse, sparsity)
        else:
            pattern = jacobian_sparsity(gradient, *chosen, argnums=tuple(range(len(chosen))))
        if pattern.shape != (size, size):
            raise ValueError(f"{who}: sparsity has shape {pattern.shape} for a Hessian of shape {(size, size)}")
        result = _symmetric(products, sparse, pattern)
        if check if check is not None else given:
            _check_complete(who, products, result)
        return result.asformat(format)

    return transformed


# Products.


class _Products:
    """A function at a point, as a linear map between all elements of its inputs and all of its outputs."""

    def __init__(
        self, who: str, function: Callable[..., Any], point: tuple[Any, ...], chunk_size: int | None,
        progress: Progress, executor: Any,
    ) -> None:  # fmt: skip
        self.who, self.function, self.point, self.chunk_size = who, function, point, chunk_size
        self.progress, self.executor = progress, executor
        if executor is not None:
            check_sendable(who, point)
        self.inputs, self.structure = flatten(point)
        _check_real(who, self.inputs, "inputs")
        self.num_inputs = sum(leaf.size for leaf in self.inputs)
        self.dtype: Any = np.result_type(*[leaf.dtype for leaf in self.inputs])
        self.tolerance = float(np.finfo(self.dtype).eps) ** 0.5

    def forward(self, directions: Any) -> Any:
        """The Jacobian times each row of a matrix."""
        return self._mapped(_ForwardProducts(self.who, self.function, self.point), directions)

    def columns(self, directions: Any) -> Tensor:
        """The same as a tensor with derivatives."""
        products = _ForwardProducts(self.who, self.function, self.point)
        parts = products.mapped(directions, self.chunk_size, self.progress)
        return functions["concat"]([part.reshape(part.shape[0], -1) for part in parts], axis=1)

    def backward(self, directions: Any) -> Any:
        """Each row of a matrix times the Jacobian."""
        return self._mapped(_BackwardProducts(self.who, self.function, self.point), directions)

    def _mapped(self, products: _ForwardProducts | _BackwardProducts, directions: Any) -> Any:
        if self.executor is None or len(directions) < 2:
            return self._rows(products.mapped(directions, self.chunk_size, self.progress))
        work = _SomeProducts(products, directions)
        whole: Any = None
        for start, stop, found in blocks(
            work, len(directions), self.chunk_size, who=self.who, executor=self.executor, progress=self.progress
        ):
            rows = self._rows(found)
            whole = np.empty((len(directions), rows.shape[1]), rows.dtype) if whole is None else whole
            whole[start:stop] = rows
        return whole

    def _rows(self, results: Any) -> Any:
        return np.concatenate([_plain(self.who, part).reshape(part.shape[0], -1) for part in results], axis=1)


class _ForwardProducts:
    """Products of a Jacobian with directions of the inputs."""

    def __init__(self, who: str, function: Callable[..., Any], point: tuple[Any, ...]) -> None:
        self.who, self.function, self.point = who, function, point

    def mapped(self, directions: Any, chunk_size: int | None, progress: Progress) -> Any:
        """One product for each row, in the parts that the outputs have."""
        inputs, structure = flatten(self.point)

        def column(*tangents: Tensor) -> Any:
            outputs, slopes = jvp(self.function, self.point, unflatten(structure, tangents))
            _check_real(self.who, flatten(outputs)[0], "outputs")
            return tuple(flatten(slopes)[0])

        return vmap(column, chunk_size=chunk_size, progress=progress)(*_parts(directions, inputs))


class _BackwardProducts(_ForwardProducts):
    """Products of directions of the outputs with a Jacobian."""

    def mapped(self, directions: Any, chunk_size: int | None, progress: Progress) -> Any:
        """One product for each row, in the parts that the inputs have."""
        output, vjp_fn = vjp(self.function, *self.point)
        outputs, structure = check_outputs(self.who, output, allow_integers=False)
        _check_real(self.who, outputs, "outputs")

        def row(*cotangents: Tensor) -> Any:
            return tuple(flatten(vjp_fn(unflatten(structure, cotangents)))[0])

        return vmap(row, chunk_size=chunk_size, progress=progress)(*_parts(directions, outputs))


class _SomeProducts:
    """What a worker does."""

    def __init__(self, products: _ForwardProducts, directions: Any) -> None:
        self.products, self.directions = products, directions

    def __call__(self, start: int, stop: int) -> Any:
        return self.products.mapped(self.directions[start:stop], None, False)


def _plain(who: str, part: Tensor) -> Any:
    if live_levels((part,)) or (current().transforms and current().grad and requires_grad(part)):
        raise AutogradError(
            "SPARSE_DIFFERENTIATED",
            f"{who}: its result is itself being differentiated",
            why="a matrix of SciPy carries no derivatives, so they would be lost without notice",
            fix=f"use jacrev or jacfwd inside of transforms, or detach() what {who} depends on",
        )
    return part.detach().numpy()


def _parts(directions: Any, leaves: list[Tensor]) -> list[Tensor]:
    parts, start = [], 0
    for leaf in leaves:
        piece = np.ascontiguousarray(directions[:, start : start + leaf.size], leaf.dtype)
        parts.append(made_here(piece.reshape((len(directions), *leaf.shape))))
        start += leaf.size
    return parts


def _seeds(colors: Any) -> Any:
    """One direction per colour: ones where the colour is."""
    seeds = np.zeros((number_of(colors), len(colors)))
    colored = np.flatnonzero(colors >= 0)
    seeds[colors[colored], colored] = 1
    return seeds


# Matrices from products.


def _compressed(products: _Products, pattern: Any, mode: str) -> Any:
    columns = rows = None
    if mode == "bicoloring":
        rows, columns = split_for_both(pattern)
    else:
        columns = color_columns(pattern) if mode != "rev" else None
        # All entries of a column differ in colour, so rows need at least as many colours as a column has entries.
        fewest = 0 if columns is None else number_of(columns)
        if mode == "rev" or (mode == "auto" and np.bincount(pattern.indices, minlength=1).max() < fewest):
            rows = color_rows(pattern)
            rows, columns = (rows, None) if columns is None or number_of(rows) < fewest else (None, columns)
    at_row, at_column = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices
    data = np.zeros(len(at_column), products.dtype)
    by_row = np.zeros(len(at_column), np.bool_) if rows is None else rows[at_row] >= 0
    if rows is not None and number_of(rows):
        found = products.backward(_seeds(rows))
        _check_width(products.who, pattern, len(rows), found.shape[1], products.num_inputs)
        data[by_row] = found[rows[at_row[by_row]], at_column[by_row]]
    if columns is not None and number_of(columns):
        found = products.forward(_seeds(columns))
        if found.shape[1] != pattern.shape[0]:
            raise ValueError(f"{products.who}: sparsity has {pattern.shape[0]} rows for {found.shape[1]} outputs")
        data[~by_row] = found[columns[at_column[~by_row]], at_row[~by_row]]
    return type(pattern)((data, at_column, pattern.indptr), shape=pattern.shape)


def _differentiable(products: _Products, pattern: Any, format: str) -> Any:
    """The matrix with a tensor of values, made in a package above this one."""
    colors = color_columns(pattern)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    found = products.columns(_seeds(colors))
    values = found[colors[pattern.indices], rows]
    sparse = import_module(f"{__name__.partition('.')[0]}.scipy.sparse")
    return getattr(sparse, f"{format}_array")((values, (rows, pattern.indices)), shape=pattern.shape)


def _check_width(who: str, pattern: Any, rows: int, width: int, expected: int) -> None:
    if width != expected or rows != pattern.shape[0]:
        raise ValueError(f"{who}: sparsity of shape {pattern.shape} does not fit a Jacobian with {expected} columns")


def _symmetric(products: _Products, sparse: Any, pattern: Any) -> Any:
    size = pattern.shape[0]
    full = (pattern + pattern.T + sparse.eye_array(size, dtype=np.bool_)).tocsr()
    colors, around = star_coloring(full)
    found = products.forward(_seeds(colors)) if size else np.zeros((0, 0))
    rows, columns = np.repeat(np.arange(size), np.diff(full.indptr)), full.indices
    direct = (rows == columns) | (around[rows, colors[columns]] == 1)
    data = np.where(direct, found[colors[columns], rows], found[colors[rows], columns]) if size else np.zeros(0)
    whole = type(full)((data.astype(products.dtype), columns, full.indptr), shape=full.shape)
    return _within(whole, (pattern + pattern.T).tocsr())


def _within(matrix: Any, pattern: Any) -> Any:
    """The entries of a matrix that are in the pattern, which the diagonal had been added to."""
    matrix.sort_indices()
    pattern.sort_indices()
    size = matrix.shape[1]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    wanted = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    kept = np.isin(rows * size + matrix.indices, wanted * size + pattern.indices, assume_unique=True)
    return type(matrix)((matrix.data[kept], pattern.indices, pattern.indptr), shape=matrix.shape)


def _check_complete(who: str, products: _Products, result: Any) -> None:
    """Raise if the matrix and the function disagree in a random direction."""
    direction = np.random.default_rng(result.nnz).standard_normal((1, products.num_inputs))
    (expected,) = products.forward(direction)
    if expected.shape[0] != result.shape[0]:
        raise ValueError(f"{who}: sparsity has {result.shape[0]} rows for {expected.shape[0]} outputs")
    found = result @ direction[0]
    scale = abs(result) @ np.abs(direction[0]) + np.abs(expected)
    wrong = np.abs(found - expected) > products.tolerance * np.maximum(scale, 1e-300)
    if wrong.any():
        raise ValueError(
            f"{who}: the given sparsity is too small: it misses entries in {int(wrong.sum())} of {len(wrong)} rows, "
            f"the first of them row {int(wrong.argmax())}, and the entries it has are wrong; let it be detected"
        )


# Patterns.


def _check_options(who: str, sparsity: Any, structure: str | None, format: str, coloring: str) -> None:
    if sparsity is not None and structure is not None:
        raise ValueError(f"{who}: give sparsity or structure, not both")
    if format not in _FORMATS:
        raise ValueError(f"{who}: format must be 'coo' or 'csr', got {format!r}")
    if coloring != "greedy":
        raise ValueError(f"{who}: coloring must be 'greedy', got {coloring!r}")


def _as_pattern(sparse: Any, sparsity: Any) -> Any:
    """A user's matrix as booleans in CSR. Entries that it stores count, whatever their value."""
    if not sparse.issparse(sparsity):
        sparsity = np.asarray(sparsity) != 0
    pattern = sparse.csr_array(sparsity)
    pattern.sum_duplicates()
    return sparse.csr_array((np.ones(pattern.nnz, np.bool_), pattern.indices, pattern.indptr), shape=pattern.shape)


def _structured(who: str, sparse: Any, structure: str, shape: tuple[int, int]) -> Any:
    size = shape[0]
    match = re.fullmatch(r"(diag|banded\((\d+)\)|block\((\d+)\))", structure)
    if match is None:
        raise ValueError(f'{who}: structure must be "diag", "banded(k)" or "block(b)", got {structure!r}')
    if match[3] is not None:
        width = int(match[3])
        if not width or size % width:
            raise ValueError(f"{who}: {size} inputs are not a whole number of blocks of size {width}")
        columns = np.arange(size).reshape(-1, 1, width).repeat(width, axis=1).reshape(-1)
        rows = np.arange(size).repeat(width)
    else:
        reach = int(match[2] or 0)
        rows = np.arange(size).repeat(2 * reach + 1)
        columns = (np.arange(size)[:, None] + np.arange(-reach, reach + 1)).reshape(-1)
        inside = (columns >= 0) & (columns < size)
        rows, columns = rows[inside], columns[inside]
    return sparse.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=shape)
