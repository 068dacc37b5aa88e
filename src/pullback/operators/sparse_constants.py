"""Products and sums of tensors with constant sparse matrices of SciPy's.

`matrix @ x` arrives here because SciPy leaves operands it cannot read to their own type (`interop/_conversion.py`).
It is computed with gathering and adding up, so it has derivatives of every order, batches and can be traced.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pullback.operators.arrays.index_operators import ARRAY, index_add_to_zeros, index_arrays
from pullback.tensors.tensor import Tensor


def is_sparse(x: Any) -> bool:
    """Is this a sparse matrix or array of SciPy's?"""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def sparse_product(name: str, left: Any, right: Any) -> Any:
    """`left @ right`, one of which is sparse and the other a Tensor; NotImplemented if none is.

    The matrices of SciPy's, not its arrays, mean this product by `*` as well.
    """
    matrix, x = (right, left) if isinstance(left, Tensor) else (left, right)
    if not is_sparse(matrix):
        return NotImplemented
    is_product = name == "multiply" and x.ndim > 0 and sys.modules["scipy.sparse"].isspmatrix(matrix)
    if name != "matmul" and not is_product:
        return _elementwise(name, left, right)
    if matrix is left:
        return _times(matrix, x)
    return _times(matrix.T, x.T if x.ndim > 1 else x).T if x.ndim > 1 else _times(matrix.T, x)


def _elementwise(name: str, left: Any, right: Any) -> Any:
    """Sums are dense. Products have the pattern of the matrix: they are the sparse tensors of `pb.scipy.sparse`, which
    lies above this package and is looked up when somebody multiplies."""
    if name in ("add", "subtract"):
        dense = [each if isinstance(each, Tensor) else each.toarray() for each in (left, right)]
        return dense[0] + dense[1] if name == "add" else dense[0] - dense[1]
    matrix, x = (right, left) if isinstance(left, Tensor) else (left, right)
    if name == "divide" and matrix is right:
        return NotImplemented
    made = import_module(f"{__name__.partition('.')[0]}.scipy.sparse").from_scipy(matrix)
    return made * x if name == "multiply" else made / x


def _times(matrix: Any, x: Tensor) -> Any:
    if matrix.ndim != 2 or x.ndim not in (1, 2) or matrix.shape[1] != x.shape[0]:
        raise ValueError(f"matmul: a sparse matrix of shape {matrix.shape} and a tensor of shape {tuple(x.shape)}")
    entries = matrix.tocoo()
    rows = index_arrays(x, entries.col.astype(int), template=(ARRAY,), distinct=False)
    terms = rows * entries.data.reshape((-1,) + (1,) * (x.ndim - 1))
    shape = (matrix.shape[0], *x.shape[1:])
    return index_add_to_zeros(terms, entries.row.astype(int), template=(ARRAY,), shape=shape, distinct=False)
