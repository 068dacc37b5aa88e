"""Pullback as a namespace of the array API standard.

`x.__array_namespace__()` is the module `pullback` itself, so libraries written for the standard compute on tensors,
and stay in the graph. The standard's inspection functions are in `NamespaceInfo`.

Version 2025.12 turned three lists into tuples: the results of `broadcast_arrays` and `meshgrid`, and the devices. A
caller that asks for an earlier version gets a view of the module, `EarlierNamespace`, in which they are lists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.doors import door
from pullback.operators import functions
from pullback.operators.elementwise.casting import check_device
from pullback.payloads.devices import resolve
from pullback.tensors.tensor import Tensor

ARRAY_API_VERSION = "2025.12"
"""The version of the standard that the namespace follows."""

EARLIER_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

# NumPy's own limit, which payloads inherit.
_MOST_AXES = 64


class NamespaceInfo:
    """What the namespace can do: the answers of `pb.__array_namespace_info__()`."""

    def __init__(self, version: str = ARRAY_API_VERSION) -> None:
        self._version = version

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts of the standard there are. All, with up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _MOST_AXES}

    def default_device(self) -> str:
        """The device of new tensors: "cpu"."""
        return "cpu"

    def devices(self) -> tuple[str, ...] | list[str]:
        """The devices there are: "cpu" only. Versions of the standard before 2025.12 get a list."""
        return ("cpu",) if self._version == ARRAY_API_VERSION else ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of new tensors that are given none, by kind."""
        check_device("default_dtypes", device)
        real = functions["get_default_dtype"]()
        return {
            "real floating": real,
            "complex floating": np.result_type(real, np.complex64),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard by name; only those of one `kind`, or of several given as a tuple."""
        check_device("dtypes", device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in _KINDS]
        if unknown:
            raise ValueError(f"dtypes: there is no kind {unknown[0]!r}; the kinds are {', '.join(_KINDS)}")
        return {name: np.dtype(name) for each in kinds for name in _KINDS[each]}


def array_namespace_info() -> NamespaceInfo:
    """What this namespace can do, in the form that the array API standard prescribes.

    >>> pb.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """
    return NamespaceInfo()


class EarlierNamespace:
    """The module `pullback` as a version of the standard before 2025.12 describes it."""

    def __init__(self, version: str) -> None:
        self.__array_api_version__ = version

    def __array_namespace_info__(self) -> NamespaceInfo:
        """What this namespace can do."""
        return NamespaceInfo(self.__array_api_version__)

    def broadcast_arrays(self, *arrays: Any) -> list[Tensor]:
        """The arrays broadcast against each other, as a list."""
        return list(functions["broadcast_arrays"](*arrays))

    def meshgrid(self, *arrays: Any, indexing: str = "xy") -> list[Tensor]:
        """Coordinate matrices of coordinate vectors, as a list."""
        return list(functions["meshgrid"](*arrays, indexing=indexing))

    def __getattr__(self, name: str) -> Any:
        return getattr(_pullback(), name)

    def __repr__(self) -> str:
        return f"<pullback, array API {self.__array_api_version__}>"


# One object per version: libraries compare namespaces to see whether arrays belong together.
_EARLIER = {version: EarlierNamespace(version) for version in EARLIER_VERSIONS}


def _pullback() -> Any:
    """The package. It is looked up and not imported, because it imports this module."""
    return sys.modules["pullback"]


def array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The module `pullback`, as `api_version` of the array API standard describes it."""
    if api_version is None or api_version == ARRAY_API_VERSION:
        return _pullback()
    if api_version not in _EARLIER:
        known = ", ".join((*EARLIER_VERSIONS, ARRAY_API_VERSION))
        raise ValueError(f"__array_namespace__: there is no version {api_version!r}; the versions are {known}")
    return _EARLIER[api_version]


@door
def to_device(self: Tensor, device: Any, /, *, stream: None = None) -> Tensor:
    """This tensor on another device, or itself. Streams are chosen with the library's own functions."""
    if stream is not None:
        raise ValueError(f"to_device: there are no streams on the device {str(self.device)!r}, got {stream!r}")
    return self.to(resolve("to_device", device))


MEMBERS: dict[str, Callable[..., Any]] = {"__array_namespace__": array_namespace, "to_device": to_device}
