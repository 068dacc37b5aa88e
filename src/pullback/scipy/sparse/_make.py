"""Constructors of sparse matrices: SciPy's for numbers, ours for tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten
from pullback.scipy._surface import Call, constant, declare, declare_as, joined, numbers, scipy_module
from pullback.scipy.sparse._tensor import (
    SparseMatrix,
    SparseTensor,
    constructed,
    from_any,
    gathered,
    is_sparse,
    kind_of,
    made,
)
from pullback.tensors.tensor import Tensor


def _has_tensors(argument: Any) -> bool:
    return isinstance(argument, SparseTensor) or any(isinstance(leaf, Tensor) for leaf in flatten(argument)[0])


def _constructor(name: str) -> Callable[..., Any]:
    kind = SparseMatrix if name.endswith("_matrix") else SparseTensor

    def construct(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **more: Any) -> Any:
        if not _has_tensors(arg1):
            return getattr(scipy_module("sparse"), name)(arg1, shape=shape, dtype=dtype, copy=copy, **more)
        if isinstance(arg1, tuple) and name[:3] == "dia" and shape is not None:
            data, offsets = arg1
            return _from_diagonals(data, offsets, shape, kind)
        if isinstance(arg1, tuple) and name[:3] not in ("csr", "csc", "coo"):
            raise NotImplementedError(
                f"{name}: values that are a tensor are given to csr_array, csc_array or coo_array"
            )
        found = constructed(arg1, shape, name.partition("_")[0], kind)
        return found if dtype is None else found.astype(dtype)

    construct.__name__ = construct.__qualname__ = name
    construct.__signature__ = inspect.signature(getattr(scipy_module("sparse"), name))  # type: ignore[attr-defined]
    construct.__doc__ = f"`scipy.sparse.{name}`; a `SparseTensor` for values that are a tensor."
    return construct


def _from_diagonals(data: Any, offsets: Any, shape: tuple[int, int], kind: type[SparseTensor]) -> SparseTensor:
    """Of the diagonals of a matrix, by the columns that their entries are in."""
    data = joined(data)
    values, rows, columns = [], [], []
    for k, offset in enumerate(np.atleast_1d(offsets)):
        column = np.arange(max(offset, 0), min(shape[1], shape[0] + offset, data.shape[1]))
        values.append(data[k, column])
        rows.append(column - offset)
        columns.append(column)
    return made(pb.concat(values), np.concatenate(rows), np.concatenate(columns), (shape[0], shape[1]), "dia", kind)


for _name in (
    f"{_format}_{_kind}"
    for _format in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
    for _kind in ("array", "matrix")
):
    declare_as(f"sparse.{_name}", _constructor(_name), kind="C", by="values")


@declare("sparse.diags_array", "sparse.diags", kind="C", by="values")
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
    kind = SparseMatrix if call.name == "sparse.diags" else SparseTensor
    places = np.concatenate(rows), np.concatenate(columns)
    return made(pb.concat(values), *places, tuple(shape), call["format"] or "dia", kind)


@declare("sparse.spdiags", kind="C", by="values")
def spdiags(call: Call) -> Any:
    if not _has_tensors(call["data"]):
        return call.run()
    shape = call["m"] if call["n"] is None else (call["m"], call["n"])
    data = pb.atleast_2d(joined(call["data"]))
    if shape is None:
        shape = (data.shape[1], data.shape[1])
    return _from_diagonals(data, call["diags"], shape, SparseMatrix).asformat(call["format"])


def _replaced(value: Any, parts: list[SparseTensor]) -> Any:
    """A structure of matrices with numbered ones in their places; they are counted through all `parts`."""
    if is_sparse(value):
        own = from_any(value)
        first = sum(part.nnz for part in parts)
        parts.append(own)
        matrix = own._plain(own.pattern.numbered().data)
        matrix.data += first
        return matrix
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 2:
        dense = from_any(value)
        return _replaced(SparseMatrix(dense.pattern, dense.data), parts)  # alone it makes no array of the result
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
    return gathered(found, pb.concat([part.data for part in parts]), found.format, kind_of(found))


def _kind_of_both(*given: Any) -> type[SparseTensor]:
    """As SciPy's functions have it: an array if one of them is, and a matrix otherwise, of dense ones too."""
    return SparseTensor if any(is_sparse(each) and kind_of(each) is SparseTensor for each in given) else SparseMatrix


@declare("sparse.kron", kind="C", by="values")
def kron(call: Call) -> Any:
    if not _has_tensors((call["A"], call["B"])):
        return call.run()
    a, b = from_any(call["A"]), from_any(call["B"])
    left, right = np.repeat(np.arange(a.nnz), b.nnz), np.tile(np.arange(b.nnz), a.nnz)
    rows = a.pattern.rows[left] * b.shape[0] + b.pattern.rows[right]
    columns = a.pattern.columns[left] * b.shape[1] + b.pattern.columns[right]
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    kind = _kind_of_both(call["A"], call["B"])
    return made(a.data[left] * b.data[right], rows, columns, shape, call["format"] or "csr", kind)


@declare("sparse.kronsum", kind="C", by="values")
def kronsum(call: Call) -> Any:
    if not _has_tensors((call["A"], call["B"])):
        return call.run()
    a, b = from_any(call["A"]), from_any(call["B"])
    eye = getattr(scipy_module("sparse"), "eye" if _kind_of_both(call["A"], call["B"]) is SparseMatrix else "eye_array")
    ones = [eye(each.shape[0]) for each in (a, b)]
    own = pb.scipy.sparse.kron
    return (own(ones[1], a) + own(b, ones[0])).asformat(call["format"] or "csr")


constant(*(f"sparse.{name}" for name in (
    "eye", "eye_array", "identity", "issparse", "isspmatrix", "isspmatrix_bsr", "isspmatrix_coo", "isspmatrix_csc",
    "isspmatrix_csr", "isspmatrix_dia", "isspmatrix_dok", "isspmatrix_lil", "rand", "random", "random_array",
    "get_index_dtype",
)))  # fmt: skip
