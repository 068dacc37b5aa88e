"""Where arrays lie in memory, and one array for all of several arguments that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._metadata import Layout
from pullback.autograd._variable import requires_grad
from pullback.declare.steps import ViewStep
from pullback.errors import AliasError
from pullback.ops.strided import as_strided, as_strided_door
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of

Array = np.ndarray[Any, Any]
Steps = dict[int, tuple[ViewStep, ...]]  # by slot: the views from a common base to an argument


def memory_of(leaf: Any) -> Any:
    """The array behind a tensor; anything else is returned as it is."""
    return leaf._data if isinstance(leaf, Tensor) else leaf


def address(array: Array) -> int:
    """Where the first element of an array is."""
    return int(array.__array_interface__["data"][0])


def shadow_like(leaf: Any) -> Array:
    """An array of the shape, dtype, strides and rights of the caller's, whose contents mean nothing."""
    array = memory_of(leaf)
    if not isinstance(array, np.ndarray):  # a description, see `spec`
        return np.empty(array.shape, array.dtype)
    if array.flags.c_contiguous:
        shadow = np.empty(array.shape, array.dtype)
    else:
        low, high = _extent(array)
        memory = np.empty(high - low + array.itemsize, np.uint8)
        shadow = np.ndarray(array.shape, array.dtype, memory, -low, array.strides)
    if not array.flags.writeable:
        shadow.flags.writeable = False
    return shadow


def _extent(array: Array) -> tuple[int, int]:
    """How far the elements reach before and behind the first one, in bytes."""
    reach = [stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True) if length]
    return sum(step for step in reach if step < 0), sum(step for step in reach if step > 0)


def common_base(leaves: dict[int, Any]) -> tuple[Tensor | None, Steps]:
    """The tensor of which all these are views, and how; None if they have no such tensor and need none."""
    bases: dict[int, Tensor] = {}
    steps: dict[int, tuple[ViewStep, ...]] = {}
    plain = []
    for slot, leaf in leaves.items():
        info = view_of(leaf) if isinstance(leaf, Tensor) else None
        if info is None:
            plain.append(slot)
            steps[slot] = ()
        else:
            bases[id(info.base)] = info.base
            steps[slot] = info.steps
    if not bases:
        if len({id(leaf) for leaf in leaves.values()}) > 1 and any(
            isinstance(leaf, Tensor) and requires_grad(leaf) for leaf in leaves.values()
        ):
            raise alias_error(leaves, "one of them requires grad, and autograd does not know that they are related")
        return None, steps
    root = next(iter(bases.values()))
    if len(bases) > 1 or any(leaves[slot] is not root for slot in plain):
        raise alias_error(leaves, "they are views of different tensors")
    return root, steps


def synthetic_base(leaves: dict[int, Any]) -> tuple[Array, Steps]:
    """One array over exactly the memory that these arrays cover, and how they are views of it."""
    arrays = {slot: memory_of(leaf) for slot, leaf in leaves.items()}
    dtypes = {array.dtype for array in arrays.values()}
    if len(dtypes) > 1:
        raise alias_error(leaves, f"they read the same memory as {' and '.join(sorted(map(str, dtypes)))}")
    (dtype,) = dtypes
    low = min(address(array) + _extent(array)[0] for array in arrays.values())
    high = max(address(array) + _extent(array)[1] for array in arrays.values()) + dtype.itemsize
    if (high - low) % dtype.itemsize or any((address(array) - low) % dtype.itemsize for array in arrays.values()):
        raise alias_error(leaves, "their elements do not lie on one grid")
    base = array_at(low, ((high - low) // dtype.itemsize,), (dtype.itemsize,), dtype.str, next(iter(arrays.values())))
    steps: Steps = {}
    for slot, array in arrays.items():
        strides = tuple(stride // dtype.itemsize for stride in array.strides)
        _, params = as_strided_door(base, array.shape, strides, (address(array) - low) // dtype.itemsize)
        steps[slot] = (ViewStep(as_strided, params),)
    return base, steps


def base_of_group(leaves: dict[int, Any]) -> tuple[Any, Steps]:
    """One tensor or array for all of these, of which overlapping ones are views, and how they are."""
    root, steps = common_base(leaves)
    return (root, steps) if root is not None else synthetic_base(leaves)


def same_steps(mine: Steps, theirs: Steps) -> bool:
    """Do two groups lie in their bases in the same way?"""
    return mine.keys() == theirs.keys() and all(are_same_views(mine[slot], theirs[slot]) for slot in mine)


def are_same_views(mine: tuple[ViewStep, ...], theirs: tuple[ViewStep, ...]) -> bool:
    """Are these the same view operators with the same parameters?"""
    return len(mine) == len(theirs) and all(
        a is b or (a.op is b.op and (a.params is b.params or repr(a.params) == repr(b.params)))
        for a, b in zip(mine, theirs, strict=True)
    )


def strided_view(base: Any, layout: Layout) -> Array:
    """The array of this layout in the memory of a tensor or array."""
    array = memory_of(base)
    shape, strides, offset, dtype = layout
    return array_at(address(array) + offset, shape, strides, dtype, array)


def array_at(start: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, owner: Array) -> Array:
    """The array of this shape that begins at an address in the memory of `owner`."""
    return np.asarray(_Place(start, shape, strides, dtype, owner))


class _Place:
    """A place in memory dressed as an array; it keeps the owner of the memory alive."""

    def __init__(self, start: int, shape: Any, strides: Any, dtype: str, owner: Array) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "shape": shape, "strides": strides, "typestr": dtype,
            "data": (start, not owner.flags.writeable),
        }  # fmt: skip


def alias_error(leaves: dict[int, Any], why: str) -> AliasError:
    slots = ", ".join(f"args[{slot}]" for slot in leaves)
    return AliasError(
        f"{slots} share memory, and the function writes to one of them",
        why=why,
        fix="pass a .copy() of one of them",
    )
