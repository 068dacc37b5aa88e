"""DLPack: handing memory to other libraries and taking it from them without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.operators.arrays.creation import finished
from pullback.operators.elementwise.casting import check_device
from pullback.payloads.batched import plain_array
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, from_outside, shared_counter

_CPU = (1, 0)


def _exported(self: Tensor) -> Any:
    """The array behind a tensor, refused where whoever gets it could not know of the derivative."""
    extra = self._extra
    carries_tangent = extra is not None and extra.forward
    if carries_tangent or (current().grad and requires_grad(self)):
        reason = "carries a tangent" if carries_tangent else "requires grad"
        raise BufferError(
            f"a tensor {describe(self.shape, self.dtype)} that {reason} cannot be exported: its derivative would be "
            "lost; export x.detach()"
        )
    payload = plain_array(self._data)
    if payload is None:
        raise BufferError(
            f"a tensor {describe(self.shape, self.dtype)} inside a transform cannot be exported: it stands for many "
            "values; return it from the function, and export it outside"
        )
    return payload


def export(
    self: Tensor, *, stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """A DLPack capsule of this tensor's memory.

    A tensor with negative strides is copied, since not every library reads those; with `copy=False` it is refused.
    """
    _exported(self)
    shared_counter(self)
    payload = _exported(self)
    if stream is not None:
        raise BufferError("__dlpack__: memory of the CPU has no streams; pass stream=None")
    if any(step < 0 for step in payload.strides):
        if copy is False:
            raise BufferError("__dlpack__: memory with negative strides cannot be exported without a copy")
        payload, copy = np.ascontiguousarray(payload), None
    options: dict[str, Any] = {"dl_device": dl_device, "copy": copy}
    if max_version is not None:
        options["max_version"] = max_version
    return payload.__dlpack__(**options)


def device_of_export(self: Tensor) -> tuple[int, int]:
    """Where the memory is, as DLPack counts devices: (1, 0) is the CPU."""
    return _CPU


class _Capsule:
    """One capsule that was made already, as an object that NumPy can ask for it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU


@composite(arrays=0)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A constant Tensor on the memory of another library's array, or on a copy of it."""
    check_device("from_dlpack", device)
    source = x if hasattr(x, "__dlpack__") else _Capsule(x)
    array = np.from_dlpack(source) if copy is None else np.from_dlpack(source, copy=copy)
    return from_outside(finished(array))


members = {"__dlpack__": export, "__dlpack_device__": device_of_export}
"""Members of `Tensor` that are no functions."""
