"""Moving arrays between libraries, devices and the host: never unasked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray
from pullback.payloads.devices import CPU, device
from pullback.payloads.foreign.array import ForeignArray, uploaded, wrapped


def moved(payload: Any, target: device, copy: bool | None = None) -> Any:
    """A payload on another device. It shares memory only where `copy` is False, and is an error if that cannot be."""
    if isinstance(payload, np.generic):
        payload = np.asarray(payload)
    if type(payload) is BatchedArray:
        return BatchedArray(moved(payload.data, target, copy), payload.levels)
    if type(payload) not in (np.ndarray, ForeignArray):
        raise TypeError(f"a {type(payload).__name__} cannot be moved to {target}")
    if copy is False:
        return _shared(payload, target)
    if target == CPU:
        return np.array(payload.downloaded()) if type(payload) is ForeignArray else payload.copy()
    if type(payload) is ForeignArray and payload.kind is target.kind:
        raw = target.kind.sent(payload.array, target.raw)
        return wrapped(raw, target, payload.shape, payload.dtype)
    host = payload.downloaded() if type(payload) is ForeignArray else payload
    return uploaded(host, target)


def _shared(payload: Any, target: device) -> Any:
    """The same memory as an array of another library, by DLPack."""
    array = payload.array if type(payload) is ForeignArray else payload
    try:
        if type(payload) is ForeignArray and not payload.kind.is_host(payload.device.raw):
            raise BufferError("the memory is another device's")
        if target == CPU:
            return np.from_dlpack(array)
        if not target.kind.is_host(target.raw):
            raise BufferError("the memory is another device's")
        made = wrapped(target.kind.namespace.from_dlpack(array), target)
        if made.kind.device_of(made.array) is target:
            return made
        raise BufferError("the memory is another device's")
    except (BufferError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        source = payload.device if type(payload) is ForeignArray else CPU
        raise AutogradError(
            "FOREIGN_COPY",
            f"{describe(payload.shape, payload.dtype)} on {source} cannot become an array on {target} without a copy",
            why=str(error) or type(error).__name__,
            fix="leave out copy=False, if a copy will do",
        ) from None
