"""Guards: what of a call's arguments and modes a capture depends on.

The key of a call is looked up in a table. What cannot be part of a key, because it depends on the capture itself, is
asked of the entries found (`Entry.misfit`): captured tensors, and which arguments overlap those that are written.

Not guarded: containers in closures whose contents change, attributes, the environment, `numpy.errstate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._numbers.program import is_number
from pullback.aot._wrapper import wrapper_key
from pullback.core.state import current
from pullback.operators.arrays.creation import get_default_dtype
from pullback.payloads.wrappers import is_wrapper
from pullback.tape.history import is_leaf, requires_grad
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.views import CreationMeta

ndarray = np.ndarray


def leaf_key(leaf: Any) -> Any:
    """What of one argument a capture depends on."""
    kind = type(leaf)
    if kind is Tensor or isinstance(leaf, Tensor):
        data = leaf._data
        if type(data) is not ndarray and is_wrapper(data):
            care = None if leaf._extra is None else _care(leaf)
            return kind, leaf._spec, None, requires_grad(leaf), is_leaf(leaf), True, care, wrapper_key(data)
        flags = data.flags
        strides = None if flags.c_contiguous else _strides(data)
        if leaf._extra is None:
            node = leaf._node
            is_end = node is None or type(node) is Leaf
            return kind, leaf._spec, strides, node is not None, is_end, flags.writeable, None
        return kind, leaf._spec, strides, requires_grad(leaf), is_leaf(leaf), flags.writeable, _care(leaf)
    if isinstance(leaf, ndarray):
        flags = leaf.flags
        return kind, leaf.shape, leaf.dtype, None if flags.c_contiguous else _strides(leaf), flags.writeable
    if isinstance(leaf, (np.generic, float, complex)):
        return kind, _bits(leaf)
    if kind is slice:
        return kind, leaf_key(leaf.start), leaf_key(leaf.stop), leaf_key(leaf.step)
    return kind, leaf


def _strides(array: Any) -> tuple[int, ...]:
    """The strides, without those of axes that have one element only: they lead nowhere."""
    return tuple([0 if length == 1 else step for length, step in zip(array.shape, array.strides, strict=True)])


def _care(leaf: Tensor) -> Any:
    """What of a tensor's unusual sides matters. An ordinary view is traced like any other tensor."""
    extra: Any = leaf._extra
    view = None if extra.view is None else extra.view.creation_meta
    if view is CreationMeta.DEFAULT:
        view = None
    return (extra.inference, view) if extra.inference or view is not None else None


def _bits(number: Any) -> str:
    """A number such that nan equals nan, and 0.0 is not -0.0."""
    return repr(number)


def argument_key(leaf: Any) -> Any:
    """What of one argument is part of the key of a call: of a number its type, since its value may not matter."""
    return (type(leaf),) if is_number(leaf) else leaf_key(leaf)


def call_key(leaves: list[Any], structure: Any) -> Any:
    """What of a whole call a capture depends on."""
    modes = current()
    return (
        structure,
        tuple([argument_key(leaf) for leaf in leaves]),
        same_objects(leaves),
        modes.grad,
        modes.inference,
        get_default_dtype(),
    )


def same_objects(leaves: list[Any]) -> Any:
    """Which array arguments are one object; None if they all differ."""
    found: dict[int, int] = {}
    repeated = None
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, (Tensor, ndarray)):
            first = found.setdefault(id(leaf), position)
            if first != position:
                repeated = (*(repeated or ()), (first, position))
    return repeated


# What differs, in words.

_COMPONENTS = ("structure of the arguments", "arguments", "which arguments are one object", "grad mode",
               "inference mode", "default dtype")  # fmt: skip
_OF_A_TENSOR = ("type", "shape or dtype", "strides", "requires_grad", "is_leaf", "writeable", "kind of view", "payload")
_OF_AN_ARRAY = ("type", "shape", "dtype", "strides", "writeable")
_OF_A_SLICE = ("type", "start", "stop", "step")
_OF_A_LITERAL = ("type", "value")


def difference(new: Any, old: Any) -> str | None:
    """The first thing in which two keys differ, in words; None if it is nothing."""
    for name, mine, theirs in zip(_COMPONENTS, new, old, strict=True):
        if mine == theirs:
            continue
        if name != "arguments":
            return f"{name}: {theirs} before, {mine} now"
        for slot, (own, other) in enumerate(zip(mine, theirs, strict=True)):
            if own != other:
                return f"args[{slot}]: {leaf_difference(own, other)}"
    return None


def leaf_difference(new: Any, old: Any) -> str:
    """The first thing in which two arguments differ."""
    kind = new[0]
    names = (
        _OF_A_TENSOR if issubclass(kind, Tensor) else _OF_AN_ARRAY if issubclass(kind, ndarray)
        else _OF_A_SLICE if kind is slice else _OF_A_LITERAL
    )  # fmt: skip
    if len(new) != len(old) and kind is old[0]:
        return f"payload: {_payload(old)} before, {_payload(new)} now"
    for name, mine, theirs in zip(names, new, old, strict=False):
        if name == "type" and mine is not theirs:
            return f"type: {theirs.__name__} before, {mine.__name__} now"
        if mine != theirs:
            return f"{name}: {_word(theirs)} before, {_word(mine)} now"
    return "nothing"


def _payload(key: Any) -> str:
    return key[-1][0].__name__ if len(key) == len(_OF_A_TENSOR) else "a plain array"


def _word(part: Any) -> Any:
    return part[-1] if isinstance(part, tuple) and part and isinstance(part[0], type) else part
