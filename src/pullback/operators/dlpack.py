"""DLPack: handing memory to other libraries and taking it from them without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.operators.arrays.creation import finished
from pullback.payloads.batched import plain_array
from pullback.payloads.devices import CPU, moved, resolve
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, from_outside, to_outside

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
    if payload is None and self.device.kind is not None and hasattr(self._data, "array"):
        return self._data.array
    if payload is None and hasattr(self._data, "refused"):  # of a trace
        raise self._data.refused("a NumPy array")
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
    to_outside(self)
    payload = _exported(self)
    if self.device.kind is not None:
        return _exported_there(self.device.kind, payload, stream, max_version, dl_device, copy)
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


def _exported_there(kind: Any, array: Any, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
    """The capsule of another library's array, made by it."""
    if stream is not None and kind.streams is None:
        raise BufferError(f"__dlpack__: arrays of {kind.name} have no streams here; pass stream=None")
    options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return array.__dlpack__(**{name: value for name, value in options.items() if value is not None})


def device_of_export(self: Tensor) -> tuple[int, int]:
    """Where the memory is, as DLPack counts devices: (1, 0) is the CPU."""
    return _CPU if self.device.kind is None else self._data.array.__dlpack_device__()


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
    place = resolve("from_dlpack", device)
    if place != CPU:
        return from_outside(finished(moved(np.from_dlpack(x), place, copy)))
    source = x if hasattr(x, "__dlpack__") else _Capsule(x)
    array = np.from_dlpack(source) if copy is None else np.from_dlpack(source, copy=copy)
    return from_outside(finished(array))


members = {"__dlpack__": export, "__dlpack_device__": device_of_export}
"""Members of `Tensor` that are no functions."""
