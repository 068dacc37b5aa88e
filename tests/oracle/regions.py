"""Which memory a tensor covers, exactly: the addresses of its elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .statements import compiled

# An index is written once, for tensors. To find the memory it selects, it is applied to an array of addresses.
_NUMPY_NAMES = SimpleNamespace(tensor=lambda values, dtype: np.array(values, dtype=dtype), bool=np.bool_)


def addresses(tensor: torch.Tensor) -> np.ndarray:
    """The address of every element, in the tensor's shape."""
    result = np.full(tuple(tensor.shape), tensor.data_ptr(), dtype=np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        offsets = np.arange(size, dtype=np.int64) * (stride * tensor.element_size())
        result += offsets.reshape((-1,) + (1,) * (tensor.dim() - axis - 1))
    return result


def region(tensor: torch.Tensor, index: str | None = None) -> frozenset[int]:
    """The addresses `tensor` covers, or the part of them that `tensor[index]` selects."""
    found: Any = addresses(tensor)
    if index is not None:
        found = compiled(f"{{0}}[{index}]", 1)(_NUMPY_NAMES, (None,) * 7, found)
    return frozenset(np.ravel(found).tolist())


def repeats(tensor: torch.Tensor) -> bool:
    """Whether several elements live at one address, as in a broadcast."""
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)) and bool(
        tensor.numel()
    )


def share_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a._is_zerotensor() or b._is_zerotensor():  # torch has zeros without memory
        return False
    return a.numel() > 0 and b.numel() > 0 and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
