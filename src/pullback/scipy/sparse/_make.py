"""Constructors of sparse matrices: SciPy's for numbers, ours for tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten
from pullback.scipy._surface import Call, declare, declare_as, joined, scipy_module
from pullback.scipy.sparse._tensor import SparseTensor, constructed, made
from pullback.tensors.tensor import Tensor


def _has_tensors(argument: Any) -> bool:
    return isinstance(argument, SparseTensor) or any(isinstance(leaf, Tensor) for leaf in flatten(argument)[0])


def _constructor(name: str) -> Callable[..., Any]:
    def construct(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **more: Any) -> Any:
        if not _has_tensors(arg1):
            return getattr(scipy_module("sparse"), name)(arg1, shape=shape, dtype=dtype, copy=copy, **more)
        found = constructed(arg1, shape, name.partition("_")[0])
        return found if dtype is None else SparseTensor(found.pattern, found.data.astype(dtype), found.format)

    construct.__name__ = construct.__qualname__ = name
    construct.__signature__ = inspect.signature(getattr(scipy_module("sparse"), name))  # type: ignore[attr-defined]
    construct.__doc__ = f"`scipy.sparse.{name}`; a `SparseTensor` for values that are a tensor."
    return construct


for _name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix"):
    declare_as(f"sparse.{_name}", _constructor(_name), kind="C", by="values")


@declare("sparse.diags_array", kind="C", by="values")
def diags_array(call: Call) -> Any:
    diagonals, offsets, shape = call["diagonals"], call["offsets"], call["shape"]
    if not _has_tensors(diagonals):
        return call.run()
    many = np.atleast_1d(offsets)
    given = [diagonals] if np.ndim(offsets) == 0 and not isinstance(diagonals, list | tuple) else list(diagonals)
    parts = [joined(each).reshape(-1) for each in given]
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
