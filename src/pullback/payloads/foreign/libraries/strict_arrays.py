"""array-api-strict: the standard and nothing else, with devices that exist to test programs."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np

from pullback.payloads.foreign.kinds import Kind


class StrictKind(Kind):
    """Arrays that cannot be written: the standard's `__setitem__` is not used on what others may have."""

    def device_text(self, raw: Any) -> str:
        name = _name(raw)
        return f"{self.name}:{'cpu' if name == 'CPU_DEVICE' else name}"

    def parsed_device(self, text: str) -> Any:
        return strict.Device("CPU_DEVICE" if text in ("", "cpu") else text)

    def is_raw_device(self, thing: Any) -> bool:
        return isinstance(thing, strict.Device)

    def is_host(self, raw: Any) -> bool:
        return _name(raw) == "CPU_DEVICE"

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array.to_device(strict.Device("CPU_DEVICE")))


def _name(raw: Any) -> str:
    return repr(raw).partition("'")[2].partition("'")[0]


def make_kind() -> Kind:
    """The kind of strict arrays."""
    return StrictKind("strict", (type(strict.zeros(1)),), strict)
