"""Sparse matrices with values that have derivatives: a pattern that stays, and a tensor of numbers on it.

Gradients by the values are as many numbers as there are values; no dense matrix is formed on the way. Products and
solutions are SciPy's, on arrays; their derivatives are products and solutions again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.core.pytree import register
from pullback.func._implicit.linear import Array
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor, made_here


class Pattern:
    """Where a sparse matrix has values: rows and columns, sorted by rows, none twice."""

    __slots__ = ("columns", "rows", "shape")

    def __init__(self, rows: Array, columns: Array, shape: tuple[int, int]) -> None:
        self.rows = rows
        self.columns = columns
        self.shape = shape

    def matrix(self, data: Array) -> Any:
        """SciPy's matrix with these values."""
        counts = np.bincount(self.rows, minlength=self.shape[0])
        starts = np.concatenate([[0], np.cumsum(counts)])
        return scipy_module("sparse").csr_array((data, self.columns, starts), shape=self.shape)

    def numbered(self) -> Any:
        """SciPy's matrix with the position of each value, from 1 on, in its place. Where it goes, the value goes."""
        return self.matrix(np.arange(1.0, len(self.rows) + 1))

    def transposed(self) -> tuple[Pattern, Array]:
        """The pattern of the transpose, and in which order the values are there."""
        order = np.lexsort((self.rows, self.columns))
        return Pattern(self.columns[order], self.rows[order], self.shape[::-1]), order


class SparseProduct(Function):
    """`A @ x` for the values of `A` on a pattern, `x` a vector or a matrix."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(pattern: Pattern, data: Tensor, x: Tensor) -> Tensor:
        return made_here(np.asarray(pattern.matrix(data.detach().numpy()) @ x.detach().numpy()))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.pattern, data, x = inputs
        ctx.save_for_backward(data, x)
        ctx.save_for_forward(data, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        data, x = ctx.saved_tensors
        by_data = by_x = None
        if ctx.needs_input_grad[1]:
            by_data = gradient[ctx.pattern.rows] * pb.conj(x[ctx.pattern.columns])
            by_data = by_data.sum(axis=-1) if x.ndim > 1 else by_data
        if ctx.needs_input_grad[2]:
            turned, order = ctx.pattern.transposed()
            by_x = SparseProduct.apply(turned, pb.conj(data)[order], gradient)
        return None, by_data, by_x

    @staticmethod
    def jvp(ctx: Any, _: Any, data_dot: Any, x_dot: Any) -> Tensor:
        data, x = ctx.saved_tensors
        moved: Any = 0.0
        if data_dot is not None:
            moved = moved + SparseProduct.apply(ctx.pattern, data_dot, x)
        if x_dot is not None:
            moved = moved + SparseProduct.apply(ctx.pattern, data, x_dot)
        return moved


class Factors:
    """The factorisation of one matrix, made once, for the matrix and its transpose."""

    def __init__(self, pattern: Pattern, data: Array) -> None:
        self._solver = scipy_module("sparse.linalg").splu(pattern.matrix(data).tocsc())

    def solve(self, b: Array, is_adjoint: bool) -> Array:
        kind = np.result_type(b.dtype, np.float64)
        return self._solver.solve(np.ascontiguousarray(b, dtype=kind), trans="H" if is_adjoint else "N")


class SparseSolve(Function):
    """`x` with `A x = b`, or with the adjoint of `A`. The factors are kept with the node."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(pattern: Pattern, factors: Held, is_adjoint: bool, data: Tensor, b: Tensor) -> Tensor:
        own = factors.of(pattern, data.detach().numpy())
        return made_here(own.solve(b.detach().numpy(), is_adjoint))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.pattern, ctx.factors, ctx.is_adjoint, data, _ = inputs
        ctx.save_for_backward(data, output)
        ctx.save_for_forward(data, output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        data, x = ctx.saved_tensors
        by_b = SparseSolve.apply(ctx.pattern, ctx.factors, not ctx.is_adjoint, data, gradient)
        by_data = None
        if ctx.needs_input_grad[3]:
            rows, columns = ctx.pattern.rows, ctx.pattern.columns
            if ctx.is_adjoint:
                by_data = -x[rows] * pb.conj(by_b[columns])
            else:
                by_data = -by_b[rows] * pb.conj(x[columns])
            by_data = by_data.sum(axis=-1) if x.ndim > 1 else by_data
        return None, None, None, by_data, by_b

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, ___: Any, data_dot: Any, b_dot: Any) -> Tensor:
        data, x = ctx.saved_tensors
        right: Any = 0.0 if b_dot is None else b_dot
        if data_dot is not None:
            pattern, moved = ctx.pattern, data_dot
            if ctx.is_adjoint:
                pattern, order = pattern.transposed()
                moved = pb.conj(moved)[order]
            right = right - SparseProduct.apply(pattern, moved, x)
        return SparseSolve.apply(ctx.pattern, ctx.factors, ctx.is_adjoint, data, right)


class Held:
    """A place for factors that are made when they are first needed, and again for other values, as those of a batch."""

    def __init__(self) -> None:
        self._made: tuple[Array, Factors] | None = None

    def of(self, pattern: Pattern, data: Array) -> Factors:
        """The factors of the matrix with these values."""
        if self._made is None or not np.array_equal(self._made[0], data):
            self._made = (data.copy(), Factors(pattern, data))
        return self._made[1]


class SparseTensor:
    """A sparse matrix whose values are a tensor, `data`. It multiplies, solves, and becomes dense; it is no Tensor.

    It behaves as SciPy's sparse arrays do; `SparseMatrix` as the older matrices.
    """

    __array_priority__ = 20.0
    __array_ufunc__ = None

    def __init__(self, pattern: Pattern, data: Tensor, format: str = "csr") -> None:
        self.pattern = pattern
        self.data = data
        self.format = format

    shape = property(lambda self: self.pattern.shape)
    dtype = property(lambda self: self.data.dtype)
    nnz = property(lambda self: self.data.shape[0])
    ndim = 2
    requires_grad = property(lambda self: self.data.requires_grad)
    coords = property(lambda self: (self.pattern.rows, self.pattern.columns))

    @property
    def T(self) -> SparseTensor:
        """The transpose."""
        turned, order = self.pattern.transposed()
        return self._on(turned, self.data[order])

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseTensor:
        """The transpose."""
        return self.T

    @property
    def indptr(self) -> Array:
        """Where the rows begin among the values, the columns for CSC."""
        self._check_order("indptr")
        counts = np.bincount(self.pattern.rows, minlength=self.shape[0])
        return np.concatenate([[0], np.cumsum(counts)])

    @property
    def indices(self) -> Array:
        """The columns of the values."""
        self._check_order("indices")
        return self.pattern.columns

    def _check_order(self, name: str) -> None:
        if self.format != "csr":
            raise AttributeError(f"{name} of a SparseTensor: `data` is in the order of CSR; use tocsr() or coords")

    def detach(self) -> SparseTensor:
        """The same matrix without history."""
        return self._on(self.pattern, self.data.detach())

    def to_scipy(self) -> Any:
        """SciPy's matrix; refused for values that are differentiated."""
        return self._plain(self.data.numpy()).asformat(self.format)

    def _plain(self, data: Array) -> Any:
        """SciPy's own, with these values."""
        return self.pattern.matrix(data)

    def _on(self, pattern: Pattern, data: Tensor) -> Any:
        """A matrix of the same kind with these values."""
        return type(self)(pattern, data, self.format)

    def toarray(self) -> Tensor:
        """The dense matrix."""
        dense = pb.zeros(self.shape, dtype=self.data.dtype)
        dense[self.pattern.rows, self.pattern.columns] = self.data
        return dense

    todense = toarray

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(self, from_any(other))
        x = joined(other)
        if x.shape[0] != self.shape[1]:
            raise ValueError(f"matmul: dimension mismatch: {self.shape} @ {tuple(x.shape)}")
        return SparseProduct.apply(self.pattern, self.data, x)

    dot = __matmul__

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(from_any(other), self)
        x = joined(other)
        return (self.T @ x.T).T if x.ndim > 1 else self.T @ x

    def __mul__(self, other: Any) -> SparseTensor:
        return self.multiply(other)

    def __rmul__(self, other: Any) -> SparseTensor:
        return self.multiply(other)

    def __pow__(self, power: Any) -> Any:
        return self.power(power)

    def power(self, n: Any, dtype: Any = None) -> SparseTensor:
        """The values to a power, element by element."""
        if not n > 0:
            raise ValueError(f"a sparse matrix to the power {n}, element by element, is dense; use toarray()")
        return self._on(self.pattern, self.data**n)

    def multiply(self, other: Any) -> SparseTensor:
        """The product, element by element, with a number, a dense matrix or vector, or another sparse matrix."""
        if is_sparse(other):
            second = from_any(other)
            width = self.shape[1]
            mine = self.pattern.rows * width + self.pattern.columns
            theirs = second.pattern.rows * width + second.pattern.columns
            _, one, two = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
            pattern = Pattern(self.pattern.rows[one], self.pattern.columns[one], self.shape)
            return self._on(pattern, self.data[one] * second.data[two])
        factor = joined(other)
        if factor.ndim:
            rows, columns = self.pattern.rows, self.pattern.columns
            factor = pb.broadcast_to(factor, self.shape)[rows, columns]
        return self._on(self.pattern, self.data * factor)

    def __truediv__(self, other: Any) -> SparseTensor:
        return self.multiply(1.0 / joined(other))

    def __neg__(self) -> SparseTensor:
        return self._on(self.pattern, -self.data)

    def __abs__(self) -> SparseTensor:
        return self._on(self.pattern, abs(self.data))

    def conj(self, copy: bool = True) -> SparseTensor:
        """The complex conjugate."""
        return self._on(self.pattern, pb.conj(self.data))

    conjugate = conj

    def copy(self) -> SparseTensor:
        """The same values in memory of their own."""
        return self._on(self.pattern, self.data.clone())

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseTensor:
        """The same values as numbers of another kind."""
        return self._on(self.pattern, self.data.astype(dtype))

    def __add__(self, other: Any) -> Any:
        if not is_sparse(other):
            return self.toarray() + joined(other)
        second = from_any(other)
        rows = np.concatenate([self.pattern.rows, second.pattern.rows])
        columns = np.concatenate([self.pattern.columns, second.pattern.columns])
        return made(pb.concat([self.data, second.data]), rows, columns, self.shape, self.format, type(self))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __getitem__(self, key: Any) -> Any:
        """A part: a sparse matrix, or what SciPy gives one axis or none, as a dense tensor."""
        part = self._plain(self.pattern.numbered().data)[numbers(key)]
        if not hasattr(part, "tocoo"):
            return self.data[int(part) - 1] if part else self.data[:1].sum() * 0
        if part.ndim == 2:
            return gathered(part, self.data, self.format, type(self))
        part = part.tocoo()
        out = pb.zeros(part.shape, dtype=self.data.dtype)
        out[part.coords[0]] = self.data[_positions(part)]
        return out

    def sum(self, axis: int | None = None) -> Tensor:
        """The sum of all values, of columns or of rows."""
        if axis is None:
            return self.data.sum()
        ones = pb.ones((self.shape[axis],), dtype=self.data.dtype)
        return self @ ones if axis in (1, -1) else self.T @ ones

    def mean(self, axis: int | None = None) -> Tensor:
        """The mean of all elements, of columns or of rows."""
        return self.sum(axis) / (self.shape[0] * self.shape[1] if axis is None else self.shape[axis])

    def max(self, axis: None = None) -> Tensor:
        """The largest element; those that are not stored are 0."""
        return self._extreme(axis, pb.max, pb.maximum)

    def min(self, axis: None = None) -> Tensor:
        """The smallest element; those that are not stored are 0."""
        return self._extreme(axis, pb.min, pb.minimum)

    def _extreme(self, axis: None, of_values: Any, of_two: Any) -> Tensor:
        if axis is not None:
            raise NotImplementedError("max and min of a SparseTensor along an axis: use toarray()")
        stored = of_values(self.data)
        return stored if self.nnz == self.shape[0] * self.shape[1] else of_two(stored, 0.0)

    def trace(self, offset: int = 0) -> Tensor:
        """The sum of a diagonal."""
        return self.diagonal(offset).sum()

    def diagonal(self, k: int = 0) -> Tensor:
        """The values on a diagonal."""
        at = np.flatnonzero(self.pattern.columns - self.pattern.rows == k)
        length = max(min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)), 0)
        out = pb.zeros((length,), dtype=self.data.dtype)
        out[self.pattern.rows[at] + min(k, 0)] = self.data[at]
        return out

    def nonzero(self) -> tuple[Array, Array]:
        """Where values are stored that are not zero."""
        kept = numbers(self.data.detach()) != 0
        return self.pattern.rows[kept], self.pattern.columns[kept]

    def __repr__(self) -> str:
        return f"<SparseTensor {self.shape} with {self.nnz} values, {self.format}>"

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """The same matrix by the name of another format: values are kept in one order for all."""
        return type(self)(self.pattern, self.data, format or self.format)

    def tocsr(self, copy: bool = False) -> SparseTensor:
        """The same matrix, called CSR."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> SparseTensor:
        """The same matrix, called CSC."""
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> SparseTensor:
        """The same matrix, called COO."""
        return self.asformat("coo")


class SparseMatrix(SparseTensor):
    """The same with the meanings of SciPy's older matrices: `*` is the matrix product, and all parts have two axes."""

    def _plain(self, data: Array) -> Any:
        return scipy_module("sparse").csr_matrix(self.pattern.matrix(data))

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other) if _is_number(other) else self @ other

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other) if _is_number(other) else other @ self

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, int) or power < 1:
            raise ValueError(f"a sparse matrix of tensors to the power {power}: it has to be a whole number above 0")
        out = self
        for _ in range(power - 1):
            out = out @ self
        return out

    def sum(self, axis: int | None = None) -> Tensor:
        """The sum of all values; of columns or of rows as a matrix."""
        found = super().sum(axis)
        return found if axis is None else pb.expand_dims(found, axis)

    def getrow(self, i: int) -> SparseMatrix:
        """A row."""
        return self[i]

    def getcol(self, j: int) -> SparseMatrix:
        """A column."""
        return self[:, j]


def _is_number(x: Any) -> bool:
    return not is_sparse(x) and np.ndim(x) == 0


def _rebuilt(kind: type[SparseTensor], rest: Any, data: Any) -> SparseTensor:
    pattern, format = rest
    return kind(pattern, data[0], format)


for _kind in (SparseTensor, SparseMatrix):
    register(_kind, lambda x: ((x.data,), (x.pattern, x.format)), functools.partial(_rebuilt, _kind))


def is_sparse(value: Any) -> bool:
    """Is this a sparse matrix, of SciPy's or ours?"""
    return isinstance(value, SparseTensor) or hasattr(value, "tocsr")


def _positions(matrix: Any) -> Array:
    """Where the values of a matrix made of numbered ones come from."""
    return np.rint(np.asarray(matrix.data)).astype(np.intp) - 1


def gathered(matrix: Any, data: Tensor, format: str, kind: type[SparseTensor]) -> SparseTensor:
    """The matrix that SciPy has made of numbered ones, with these values in the places of the numbers."""
    matrix = matrix.tocoo()
    rows, columns = (np.asarray(each, dtype=np.intp) for each in matrix.coords)
    return made(data[_positions(matrix)], rows, columns, matrix.shape, format, kind)


def _product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices: every value of `a` meets those in one row of `b`."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: dimension mismatch: {a.shape} @ {b.shape}")
    counts = np.bincount(b.pattern.rows, minlength=b.shape[0])
    starts = np.cumsum(counts) - counts
    many = counts[a.pattern.columns]
    left = np.repeat(np.arange(a.nnz), many)
    right = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + starts[a.pattern.columns][left]
    rows, columns = a.pattern.rows[left], b.pattern.columns[right]
    return made(a.data[left] * b.data[right], rows, columns, (a.shape[0], b.shape[1]), a.format, type(a))


def made(
    data: Tensor, rows: Array, columns: Array, shape: tuple[int, int], format: str,
    kind: type[SparseTensor] = SparseTensor,
) -> SparseTensor:  # fmt: skip
    """A matrix of values at these places. Values at one place are added."""
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    data = data[order]
    if not is_new.all():
        place = np.cumsum(is_new) - 1
        total = pb.zeros((int(is_new.sum()),), dtype=data.dtype)
        data = pb.index_add(total, 0, place, data)
    return kind(Pattern(rows[is_new], columns[is_new], shape), data, format)


def kind_of(matrix: Any) -> type[SparseTensor]:
    """What a matrix becomes with values that have derivatives."""
    if isinstance(matrix, SparseTensor):
        return type(matrix)
    return SparseMatrix if scipy_module("sparse").isspmatrix(matrix) else SparseTensor


def from_any(matrix: Any) -> SparseTensor:
    """A matrix of SciPy's, one of ours, or a dense one."""
    if isinstance(matrix, SparseTensor):
        return matrix
    if isinstance(matrix, Tensor):
        rows, columns = np.indices(matrix.shape).reshape(2, -1)
        return made(matrix.reshape(-1), rows, columns, (matrix.shape[0], matrix.shape[1]), "csr")
    plain = scipy_module("sparse").coo_array(matrix)
    rows, columns = (np.asarray(each, dtype=np.intp) for each in plain.coords)
    values = np.asarray(plain.data)
    values = values.astype(np.result_type(values.dtype, np.float64))
    return made(made_here(values), rows, columns, plain.shape, getattr(matrix, "format", "csr"), kind_of(matrix))


def constructed(argument: Any, shape: Any, format: str, kind: type[SparseTensor]) -> SparseTensor:
    """The constructor of SciPy's classes, for values that are a tensor."""
    if not isinstance(argument, tuple):
        given = from_any(argument)
        return kind(given.pattern, given.data, format)
    if len(argument) == 3:
        data, indices, starts = argument
        starts, indices = np.asarray(numbers(starts)), np.asarray(numbers(indices))
        major = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        rows, columns = (major, indices) if format == "csr" else (indices, major)
    else:
        data, (rows, columns) = argument
        rows, columns = np.asarray(numbers(rows)), np.asarray(numbers(columns))
    if shape is None:
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    return made(joined(data), rows.astype(np.intp), columns.astype(np.intp), tuple(shape), format, kind)
