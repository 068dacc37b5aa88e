"""Compiled functions on arrays of other libraries.

Native code is for the host's memory. What other libraries have there is given to it as NumPy's arrays, without a copy
where the library's arrays can be written, and results become arrays of the library again; gradients go the same way
back. Arrays on other devices, and those that are computed later, have no compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.core.pytree import flatten, unflatten
from pullback.declare.op import registry
from pullback.errors import AliasError, PerformanceWarning, UnsupportedTypeError
from pullback.payloads.devices import CPU
from pullback.tensors.tensor import Leaf, Tensor, version_of


def foreign_place(leaves: list[Any]) -> Any:
    """The device of the arguments that lie in another library's arrays; None if there are none."""
    for leaf in leaves:
        if isinstance(leaf, Tensor) and type(leaf._data) is not np.ndarray and hasattr(leaf._data, "downloaded"):
            return leaf.device
    return None


def call_on_foreign(compiled: Any, leaves: list[Any], structure: Any, place: Any) -> Any:
    """The result of a compiled function on tensors of which some lie in arrays of another library."""
    if place.kind.lazy or not place.kind.is_host(place.raw):
        _without_code(compiled, place)
        args, kwargs = unflatten(structure, leaves)
        return compiled.function(*args, **kwargs)
    given = [_on_host(leaf) if _is_on(leaf, place) else leaf for leaf in leaves]
    versions = [version_of(each) if isinstance(each, Tensor) else 0 for each in given]
    args, kwargs = unflatten(structure, given)
    out = compiled(*args, **kwargs)
    for leaf, each, before in zip(leaves, given, versions, strict=True):
        if each is not leaf and version_of(each) != before:
            leaf.copy_(_moved(each, place, None))  # in the library's memory already, if that is shared
    results, shape = flatten(out)
    return unflatten(shape, [_back(each, leaves, given, place) for each in results])


def _is_on(leaf: Any, place: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.device is place


def _moved(x: Tensor, place: Any, copy: bool | None) -> Tensor:
    moved: Tensor = registry["_to_device"](x, device=place, source=x.device, copy=copy)
    return moved


def _on_host(leaf: Tensor) -> Tensor:
    # A leaf that requires grad cannot be written, which is found out when its copy was.
    shares = leaf.device.kind.mutable and type(leaf._node) is not Leaf
    return _moved(leaf, CPU, False if shares else None)


def _back(result: Any, leaves: list[Any], given: list[Any], place: Any) -> Any:
    if not isinstance(result, Tensor) or type(result._data) is not np.ndarray:
        return result
    for leaf, each in zip(leaves, given, strict=True):
        if result is each:
            return leaf
        if each is not leaf and result.size and np.may_share_memory(result._data, each._data):
            raise AliasError(
                "a compiled function returns a view of an argument that lies in an array of another library",
                why="the view would be one of NumPy's memory, which the library does not know of",
                fix="return a copy (x.clone()), or take the view outside of the function",
            )
    return _moved(result, place, False if place.kind.mutable else None)


def _without_code(compiled: Any, place: Any) -> None:
    """Raise, or say, that there is no compiled code for arrays of this device."""
    if compiled.fallback == "raise" or compiled.options.strict:
        raise UnsupportedTypeError(
            f"there is no compiled code for arrays on {place}",
            why="native code reads the host's memory, and these arrays are elsewhere, or not computed yet",
            fix='call the function itself, or allow that it runs uncompiled with fallback="eager"',
        )
    if place not in compiled.uncompiled_on:
        compiled.uncompiled_on.add(place)
        warn(f"a compiled function runs uncompiled on {place}, for which there is no code", PerformanceWarning)
