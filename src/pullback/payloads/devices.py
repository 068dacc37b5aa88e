"""Where data lies: `"cpu"` for NumPy's memory, `"torch:cuda:0"` for the arrays of another library.

A device is a text, so that it compares with texts and prints as one. That of another library also knows its `kind`
(`payloads/foreign/kinds.py`), the library's own object `raw`, and the functions that compute there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.errors import AutogradError

DEVICES = ("cpu", "meta")
"""The devices of Pullback's own arrays; those without values are for schemas only."""


class device(str):
    """Where data lies. `with pb.device(d):` makes it the place of new tensors.

    >>> pb.device("cpu")
    device('cpu')
    """

    kind: Any = None  # of another library: `payloads/foreign/kinds.py`
    raw: Any = None  # the library's own object
    functions: dict[Any, Callable[..., Any]]  # of another library: what computes an operator there

    def __new__(cls, name: Any = "cpu") -> device:  # noqa: D102
        if isinstance(name, device):
            return name
        if name in DEVICES:
            return _own(str(name))
        found = _foreign_device(name)
        if found is None:
            raise RuntimeError(f"unknown device {name!r}: expected one of {', '.join(map(repr, DEVICES))}")
        return found

    def __repr__(self) -> str:
        return f"device({str(self)!r})"

    def __reduce__(self) -> Any:
        return device, (str(self),)

    def __enter__(self) -> device:
        Defaults.were_set = True
        _entered.set((*_entered.get(), default.set(self)))
        return self

    def __exit__(self, *error: Any) -> None:
        *rest, token = _entered.get()
        _entered.set(tuple(rest))
        default.reset(token)


_known: dict[str, device] = {}


def _own(name: str) -> device:
    found = _known.get(name)
    if found is None:
        found = _known[name] = str.__new__(device, name)
    return found


CPU = _own("cpu")
default: ContextVar[device] = ContextVar("pullback_device", default=CPU)
"""Where new tensors lie that are made of numbers and shapes."""
_entered: ContextVar[tuple[Any, ...]] = ContextVar("pullback_devices_entered", default=())


def _foreign_device(name: Any) -> device | None:
    """The device of another library that this text or object names; None if there is none."""
    kinds = importlib.import_module(f"{__package__}.foreign.kinds")  # few programs need it
    found: device | None = kinds.device_named(name)
    return found


def device_of(payload: Any) -> device:
    """The device of a payload, looking into what it is made of."""
    if type(payload) is np.ndarray:
        return CPU
    found = getattr(payload, "device", None)
    if type(found) is device:
        return found
    inner = getattr(payload, "data", None)  # of a batch
    return CPU if inner is None or type(inner) is memoryview else device_of(inner)


def set_default_device(wanted: Any) -> None:
    """New tensors that are made of numbers and shapes lie on this device from now on; None is the CPU."""
    default.set(CPU if wanted is None else resolve("set_default_device", wanted))
    Defaults.were_set = True


class Defaults:
    """Was another device than the CPU ever made that of new tensors? As long as not, nobody looks."""

    were_set = False


def resolve(name: str, wanted: Any) -> device:
    """The device that an argument `device=` asks for: that of new tensors if it is None."""
    if wanted is None:
        return default.get() if Defaults.were_set else CPU
    if type(wanted) is device:
        return wanted
    if wanted == "cpu":
        return CPU
    found = None if wanted == "meta" else _foreign_device(wanted)
    if found is not None:
        return found
    shown = str(wanted)
    library = _ACCELERATORS.get(shown.partition(":")[0])
    raise told(
        ValueError(f"{name}: there is no device {shown!r}; NumPy's arrays are on 'cpu'"),
        why="Pullback computes on the CPU, unless it is given arrays of a library that has other devices",
        fix="leave it out; x.cpu() is x"
        + (f"; or write '{library}:{shown}', and give arrays of that library (pb.foreign)" if library else ""),
    )


_ACCELERATORS = {"cuda": "torch", "mps": "torch", "xpu": "torch", "gpu": "jax", "tpu": "jax"}
"""A library whose arrays may be on such a device."""


# Streams of other libraries on which a backward pass has computed.

pending_streams: dict[Any, Any] = {}


def settle_streams() -> None:
    """Let the caller's stream wait for all streams that a pass has used."""
    while pending_streams:
        stream, streams = pending_streams.popitem()
        present = streams.current_stream()
        if stream != present:
            streams.wait(present, stream)


# Arrays of other libraries, without loading what knows of them.

_MODULES = frozenset({"torch", "jax", "jaxlib", "dask", "array_api_strict"})
_is_foreign: dict[type, bool] = {np.ndarray: False}


def is_foreign(x: Any) -> bool:
    """May this be an array of another library that keeps its kind? No library is imported to ask."""
    cls = type(x)
    found = _is_foreign.get(cls)
    if found is None:
        package = (cls.__module__ or "").partition(".")[0]
        is_standard = hasattr(cls, "__array_namespace__") and package not in ("numpy", "pullback")
        found = package in _MODULES or is_standard or (Registered.any and foreign().kind_of(x) is not None)
        _is_foreign[cls] = found = found and hasattr(cls, "shape") and hasattr(cls, "dtype")
    return found


def names_a_kind(name: str) -> bool:
    """Is this the name of a library's arrays, or of a device of theirs?"""
    kind = name.partition(":")[0]
    return kind in {"torch", "jax", "dask", "strict"} or (Registered.any and foreign().is_kind(kind))


class Registered:
    """Were kinds registered by users? Then types that were known to be nothing special are looked at again."""

    any = False

    @classmethod
    def note(cls) -> None:
        """Somebody registers a kind."""
        cls.any = True
        _is_foreign.clear()


def foreign() -> Any:
    """What knows of arrays of other libraries, loaded when the first of them arrives."""
    return importlib.import_module(f"{__package__}.foreign")


def taken_over(array: Any) -> Any:
    """The payload on a raw array of another library; None if it is none."""
    kind = foreign().kind_of(array)
    return None if kind is None else foreign().taken_over(array, kind)


def moved(payload: Any, target: device, copy: bool | None = None) -> Any:
    """A payload on another device."""
    return foreign().moved(payload, target, copy)


def on_host(array: Any) -> Any:
    """A raw array of another library for NumPy to read, where that can: what lies elsewhere is refused."""
    payload = taken_over(array)
    return array if payload is None else payload.plain_values("a NumPy array")


def drawn_later(place: device) -> AutogradError:
    """The error for random numbers with parameters that are computed later."""
    return AutogradError(
        "FOREIGN_RNG",
        f"numbers are to be drawn for parameters on {place}, which are not computed yet",
        why="the generator is on the host, and the parameters have no values there",
        fix="draw with parameters that are numbers or NumPy arrays, and device=",
    )


def mix_error(first: str, second: str, why: str = "") -> AutogradError:
    """The error for operands of two kinds, or on two devices."""
    why = why or "the arrays are of two libraries, or on two devices"
    return AutogradError(
        "KIND_MIX",
        f"an operation has operands on {first} and on {second}",
        why=f"{why}, and nothing is copied between them without a word",
        fix="bring one to the other: y.to(x.device)",
    )
