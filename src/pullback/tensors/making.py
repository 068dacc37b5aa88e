"""Constants that the machinery itself makes, with the rights of a tensor made where it is called."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.payloads.batched import BatchedArray
from pullback.tensors.tensor import Tensor, extra_of, wrap
from pullback.tensors.versions import dated_counter


def made_here(payload: Any) -> Tensor:
    """A constant on `payload`. Inside a transform it may be written, and inside vmap widened, like the body's own."""
    tensor = wrap(payload)
    modes = current()
    if modes.transforms:
        tensor._counter = dated_counter()
    is_plain = type(payload) is np.ndarray or modes.trace is not None
    if modes.vmaps and is_plain and type(tensor._data) is not BatchedArray:
        tensor._data = BatchedArray(tensor._data, ())
        extra_of(tensor)
    return tensor
