"""The leaves of arguments and results: which types a captured function may have, and how arguments share memory."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.aot._metadata import Layout
from pullback.core.pytree import flatten, how_to_register, paths
from pullback.declare.views import ViewStep
from pullback.errors import AliasError, UnsupportedTypeError
from pullback.operators.arrays.strided import as_strided, as_strided_door
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor
from pullback.tensors.versions import overlap
from pullback.tensors.views import view_of

Array = np.ndarray[Any, Any]

_STATIC = (
    int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, type(Ellipsis), enum.Enum, type,
)  # fmt: skip


class ArraySpec:
    """A description of an array argument, where there is no array: see `spec`."""

    is_array_spec = True
    of_numpys = False  # is it for an array of NumPy's, and not for a tensor?

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], requires_grad: bool, leaf: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.is_leaf = leaf

    def __call__(self) -> Any:  # what is callable passes as a leaf
        return np.empty(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"spec({self.shape}, {self.dtype.str!r}, requires_grad={self.requires_grad}, leaf={self.is_leaf})"


def is_array(leaf: Any) -> bool:
    """Is this leaf an input or output of the graph, and not a literal?"""
    return isinstance(leaf, (Tensor, np.ndarray))


def is_leaf_type(x: Any) -> bool:
    """Is this an array or a literal?"""
    return isinstance(x, (Tensor, np.ndarray, *_STATIC))


def check_leaves(tree: Any, leaves: Sequence[Any], what: str) -> None:
    """Raise if a leaf is of a type that is neither an array nor a literal, or an array that computes in its own way."""
    for position, leaf in enumerate(leaves):
        has_own_way = isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray and _computes_alone(type(leaf))
        is_literal = is_leaf_type(leaf) or callable(leaf) or getattr(type(leaf), "is_literal_argument", False)
        if has_own_way or not is_literal:
            found = paths(tree)
            path = "".join(f"[{key!r}]" for key in found[position]) if position < len(found) else f"[{position}]"
            if has_own_way:
                raise UnsupportedTypeError(
                    f"{what}{path} is a {type(leaf).__name__}, whose class says how it computes",
                    why="a graph computes with plain arrays: masks would be lost, and products be others",
                    fix="pass plain arrays: np.asarray(x), and the mask as an argument of its own",
                )
            raise UnsupportedTypeError(
                f"{what}{path} is of type {type(leaf).__name__}, which a captured function cannot have",
                why="a graph has arrays, and literals that are part of it",
                fix=how_to_register(type(leaf))
                or "register the type as a container with pb.utils.pytree.register, or pass what is in it",
            )


def _computes_alone(kind: type) -> bool:
    """Does a class of arrays have arithmetic of its own, as masked arrays and matrices do?"""
    own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    return any(name in vars(each) for each in own for name in ("__mul__", "__array_ufunc__", "__array_function__"))


def flatten_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of a call's arguments and their structure."""
    return flatten((args, kwargs)) if kwargs else flatten((args, {}))


def array_of(leaf: Any) -> Array:
    """The memory behind an array leaf."""
    return leaf._data if isinstance(leaf, Tensor) else leaf


def overlapping(arrays: dict[int, Array]) -> list[tuple[int, ...]]:
    """Groups of slots whose arrays share memory, directly or through each other."""
    slots = list(arrays)
    group_of: dict[int, set[int]] = {}
    for first, second in touching([arrays[slot] for slot in slots]):
        merged = group_of.get(slots[first], {slots[first]}) | group_of.get(slots[second], {slots[second]})
        group_of.update(dict.fromkeys(merged, merged))
    return sorted({tuple(sorted(group)) for group in group_of.values()})


def touching(arrays: Sequence[Array], asked: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
    """The pairs of positions whose arrays have an element in common, where one of the two is `asked` about if that is
    given. There may be thousands: they are compared with their neighbours in memory, and owners of theirs with none."""
    if all(array.flags.owndata for array in arrays) and len(set(map(id, arrays))) == len(arrays):
        return
    spans = sorted((*byte_bounds(array), position) for position, array in enumerate(arrays) if array.size)
    for place, (_, high, first) in enumerate(spans):
        for low, _, second in islice(spans, place + 1, None):
            if low >= high:
                break
            if (asked is None or first in asked or second in asked) and overlap(arrays[first], arrays[second]):
                yield first, second


# Where arrays lie in memory, and one array for all of several arguments that overlap.

Steps = dict[int, tuple[ViewStep, ...]]  # by slot: the views from a common base to an argument


def memory_of(leaf: Any) -> Any:
    """The array behind a tensor, and a plain one behind an array of another class; what is no array as it is."""
    if isinstance(leaf, Tensor):
        return leaf._data
    return leaf.view(np.ndarray) if isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray else leaf


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
