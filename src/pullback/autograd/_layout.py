"""How a tangent must lie in memory: like its primal, so that one view, even `as_strided`, addresses the same elements
in both."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.payloads.alignment import like_in_memory, sizes
from pullback.payloads.batched import BatchedArray
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor

ndarray = np.ndarray


def _owner(array: Any) -> Any:
    while isinstance(array.base, ndarray):
        array = array.base
    return array


def _offset(array: Any, owner: Any) -> int:
    start: int = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return start // array.itemsize


def fits_layout(tangent: Any, primal: Any) -> bool:
    """Has the tangent the memory layout of the primal?"""
    if type(tangent) is not ndarray or type(primal) is not ndarray:
        return True  # batched and traced payloads address by logical index
    if tangent.base is None and primal.base is None and tangent.strides == primal.strides:
        return True
    if primal.size == 0:
        return True
    if any(
        length > 1 and own // tangent.itemsize != theirs // primal.itemsize
        for own, theirs, length in zip(tangent.strides, primal.strides, primal.shape, strict=True)
    ):
        return False
    own, theirs = _owner(tangent), _owner(primal)
    # In elements of the tensors themselves: the real part of a complex array lives in a buffer of another dtype.
    is_as_large = own.nbytes // tangent.itemsize == theirs.nbytes // primal.itemsize
    return is_as_large and _offset(tangent, own) == _offset(primal, theirs)


def in_layout_of(primal: Any, dtype: Any) -> Tensor:
    """Zeros that lie in memory like `primal`, in a buffer of the same size."""
    if type(primal) is BatchedArray:
        room = like_in_memory(primal.shape, primal.strides, sizes(primal.levels), dtype)
        room[...] = 0
        return made_here(BatchedArray(room, primal.levels))
    if type(primal) is not ndarray:
        return made_here(primal.astype(dtype) * 0)
    owner = _owner(primal)
    buffer = np.zeros(owner.nbytes // primal.itemsize, dtype)
    strides = tuple(stride // primal.itemsize * buffer.itemsize for stride in primal.strides)
    offset = _offset(primal, owner) * buffer.itemsize
    view = np.ndarray(primal.shape, dtype, buffer, offset, strides)
    if any(stride == 0 and length > 1 for stride, length in zip(strides, primal.shape, strict=True)):
        view = np.zeros(primal.shape, dtype)  # an expanded primal is written by nobody
    return made_here(view)
