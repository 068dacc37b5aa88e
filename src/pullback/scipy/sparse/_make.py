"""Constructors of sparse matrices: SciPy's for numbers, ours for tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten
from pullback.scipy._surface import Call, constant, declare, declare_as, joined, numbers, refuse, scipy_module
from pullback.scipy.sparse._tensor import SparseTensor, constructed, from_any, gathered, is_sparse, made
from pullback.tensors.tensor import Tensor


def _has_tensors(argument: Any) -> bool:
    return isinstance(argument, SparseTensor) or any(isinstance(leaf, Tensor) for leaf in flatten(argument)[0])


def _constructor(name: str) -> Callable[..., Any]:
    def construct(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **more: Any) -> Any:
        if not _has_tensors(arg1):
            return getattr(scipy_module("sparse"), name)(arg1, shape=shape, dtype=dtype, copy=copy, **more)
        if isinstance(arg1, tuple) and name[:3] == "dia" and shape is not None:
            data, offsets = arg1
            return _from_diagonals(data, offsets, shape)
        if isinstance(arg1, tuple) and name[:3] not in ("csr", "csc", "coo"):
            raise NotImplementedError(
                f"{name}: values that are a tensor are given to csr_array, csc_array or coo_array"
            )
        found = constructed(arg1, shape, name.partition("_")[0])
        return found if dtype is None else SparseTensor(found.pattern, found.data.astype(dtype), found.format)

    construct.__name__ = construct.__qualname__ = name
    construct.__signature__ = inspect.signature(getattr(scipy_module("sparse"), name))  # type: ignore[attr-defined]
    construct.__doc__ = f"`scipy.sparse.{name}`; a `SparseTensor` for values that are a tensor."
    return construct


def _from_diagonals(data: Any, offsets: Any, shape: tuple[int, int]) -> SparseTensor:
    """Of the diagonals of a matrix, by the columns that their entries are in."""
    data = joined(data)
    values, rows, columns = [], [], []
    for k, offset in enumerate(np.atleast_1d(offsets)):
        column = np.arange(max(offset, 0), min(shape[1], shape[0] + offset, data.shape[1]))
        values.append(data[k, column])
        rows.append(column - offset)
        columns.append(column)
    return made(pb.concat(values), np.concatenate(rows), np.concatenate(columns), (shape[0], shape[1]), "csr")


for _name in (
    f"{_format}_{_kind}"
    for _format in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
    for _kind in ("array", "matrix")
):
    declare_as(f"sparse.{_name}", _constructor(_name), kind="C", by="values")


@declare("sparse.diags_array", kind="C", by="values")
def diags_array(call: Call) -> Any:
    diagonals, offsets, shape = call["diagonals"], call["offsets"], call["shape"]
    if not _has_tensors(diagonals):
        return call.run()
    many = np.atleast_1d(offsets)
    is_one = np.ndim(offsets) == 0 and (isinstance(diagonals, Tensor) or np.ndim(numbers(diagonals[0])) == 0)
    parts = [joined(each).reshape(-1) for each in ([diagonals] if is_one else diagonals)]
    if shape is None:
        size = parts[0].shape[0] + abs(int(many[0]))
        shape = (size, size)
    values, rows, columns = [], [], []
    for part, offset in zip(parts, many, strict=True):
        length = min(shape[0] + min(offset, 0), shape[1] - max(offset, 0))
        values.append(pb.broadcast_to(part, (length,)))
        rows.append(np.arange(length) - min(offset, 0))
        columns.append(np.arange(length) + max(offset, 0))
    return made(pb.concat(values), np.concatenate(rows), np.concatenate(columns), tuple(shape), call["format"] or "csr")


def _replaced(value: Any, parts: list[SparseTensor]) -> Any:
    """A structure of matrices with numbered ones in their places; they are counted through all `parts`."""
    if is_sparse(value):
        own = from_any(value)
        first = sum(part.nnz for part in parts)
        parts.append(own)
        matrix = own.pattern.numbered()
        matrix.data += first
        return matrix
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 2:
        return _replaced(from_any(value), parts)
    return type(value)(_replaced(each, parts) for each in value) if type(value) in (list, tuple) else value


_MOVED = "block_array block_diag bmat hstack tril triu vstack swapaxes permute_dims"


@declare(*(f"sparse.{name}" for name in _MOVED.split(" ")), kind="C", by="values")
def rearranged(call: Call) -> Any:
    """SciPy says where the values go."""
    if not _has_tensors(tuple(call.bound.arguments.values())):
        return call.run()
    parts: list[SparseTensor] = []
    (name, first), *_ = call.bound.arguments.items()
    found = call.run(**{name: _replaced(first, parts)})
    return gathered(found, pb.concat([part.data for part in parts]), found.format)


@declare("sparse.kron", kind="C", by="values")
def kron(call: Call) -> Any:
    if not _has_tensors((call["A"], call["B"])):
        return call.run()
    a, b = from_any(call["A"]), from_any(call["B"])
    left, right = np.repeat(np.arange(a.nnz), b.nnz), np.tile(np.arange(b.nnz), a.nnz)
    rows = a.pattern.rows[left] * b.shape[0] + b.pattern.rows[right]
    columns = a.pattern.columns[left] * b.shape[1] + b.pattern.columns[right]
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    return made(a.data[left] * b.data[right], rows, columns, shape, call["format"] or "csr")


@declare("sparse.kronsum", kind="C", by="values")
def kronsum(call: Call) -> Any:
    if not _has_tensors((call["A"], call["B"])):
        return call.run()
    a, b = from_any(call["A"]), from_any(call["B"])
    ones = [scipy_module("sparse").eye_array(each.shape[0]) for each in (a, b)]
    own = pb.scipy.sparse.kron
    return (own(ones[1], a) + own(b, ones[0]))._as(call["format"] or "csr")


constant(*(f"sparse.{name}" for name in (
    "eye", "eye_array", "identity", "issparse", "isspmatrix", "isspmatrix_bsr", "isspmatrix_coo", "isspmatrix_csc",
    "isspmatrix_csr", "isspmatrix_dia", "isspmatrix_dok", "isspmatrix_lil", "rand", "random", "random_array",
    "get_index_dtype",
)))  # fmt: skip
refuse("it makes one of SciPy's older matrices, which mean another product by `*`; use diags_array", "sparse.diags",
       "sparse.spdiags")  # fmt: skip
