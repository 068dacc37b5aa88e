"""Tensors as NumPy arrays and Python numbers.

A gradient must not be lost without notice. An *attached* tensor (it requires grad and grad mode is on, or it carries a
tangent) does not become an array: `!NUMPY_ON_GRAD`. One number of it may be taken out on purpose, with `item()`,
`tolist()`, `int()` or `bool()`; `float()` and `complex()` warn, since they are also what `math.sin(x)` calls. And
`array[i] = x`, which NumPy turns into `float(x)`, is refused like any other conversion to an array.
"""

from __future__ import annotations

import dis
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from pullback.autograd._levels import live_levels
from pullback.autograd._variable import requires_grad
from pullback.core.spec import describe
from pullback.core.state import current, open_levels
from pullback.errors import AutogradError, DetachedScalarWarning
from pullback.payloads.array_members import ArrayMembers
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]

_STORE_ITEM = dis.opmap["STORE_SUBSCR"]


def is_attached(tensor: Tensor) -> bool:
    """Would turning this tensor into an array lose a derivative?"""
    return bool(open_levels and live_levels((tensor,))) or (current().grad and requires_grad(tensor))


def payload_of(tensor: Tensor, into: str = "a NumPy array") -> Array:
    """The ndarray behind a tensor, whether or not it is attached; refused for values that only exist symbolically."""
    payload = tensor._data
    if isinstance(payload, ArrayMembers):
        return payload.plain_values(into)
    if type(payload) is not np.ndarray:
        raise TypeError(
            f"a {type(payload).__name__} {describe(tensor.shape, tensor.dtype)} can not become {into}: it stands for "
            "values that a transform has not computed one by one; use pb functions inside of it"
        )
    return payload


def detached_payload(tensor: Tensor, into: str = "a NumPy array") -> Array:
    """The ndarray behind a tensor that is not attached."""
    if is_attached(tensor) and not hasattr(tensor._data, "refused"):
        raise lost_gradient(tensor, into)
    return payload_of(tensor, into)


def lost_gradient(tensor: Tensor, into: str) -> AutogradError:
    """The error for an attached tensor that is about to become `into`."""
    if live_levels((tensor,)):
        return AutogradError(
            "NUMPY_ON_DUAL",
            f"a tensor {describe(tensor.shape, tensor.dtype)} that carries a tangent can not become {into}",
            why="a NumPy array carries no tangent, so the derivative would be lost without notice",
            fix="use x.detach().numpy() if that is intended, or pb functions to keep the tangent",
        )
    return AutogradError(
        "NUMPY_ON_GRAD",
        f"a tensor {describe(tensor.shape, tensor.dtype)} that requires grad can not become {into}",
        why="a NumPy array carries no gradient, so the derivative would be lost without notice",
        fix="use x.detach().numpy() if that is intended, or pb functions (pb.stack for a list) to stay in the graph",
    )


def numpy(tensor: Tensor, *, force: bool = False) -> Array:
    """The tensor's memory as an ndarray.

    Writes through it are not counted; say so with `pb.autograd.graph.increment_version`. With `force=True` a tensor
    that requires grad is detached first, and otherwise refused.
    """
    return _shared(tensor, payload_of(tensor) if force else detached_payload(tensor))


def _shared(tensor: Tensor, payload: Array) -> Array:
    """The memory as it is handed out: what was only lent stays read-only."""
    if tensor._extra is not None and tensor._extra.readonly:
        payload = payload.view()
        payload.flags.writeable = False
    return payload


def to_array(tensor: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    """What `np.asarray(tensor)` calls. Memory is shared unless `dtype` or `copy` ask for a copy."""
    payload = _shared(tensor, detached_payload(tensor))
    if dtype is not None and np.dtype(dtype) != payload.dtype:
        if copy is False:
            raise ValueError(f"a tensor of dtype {payload.dtype} can not become {np.dtype(dtype)} without a copy")
        return payload.astype(dtype)
    return payload.copy() if copy else payload


def item(tensor: Tensor, *index: Any) -> Any:
    """The only element as a Python number, or the element at `index`."""
    payload = payload_of(tensor, "a Python number")
    return payload.item(*index) if index else _only_element(tensor, payload, "item()").item()


def tolist(tensor: Tensor) -> Any:
    """The elements as Python numbers in nested lists."""
    return payload_of(tensor, "a list").tolist()


def to_float(tensor: Tensor) -> float:
    """`float(tensor)`."""
    value = _only_element(tensor, payload_of(tensor, "a float"), "float()")
    _leave_the_graph(tensor, sys._getframe(1))
    if value.dtype.kind == "c":
        raise TypeError("a complex tensor can not become a float; take x.real or abs(x)")
    return float(value)


def to_complex(tensor: Tensor) -> complex:
    """`complex(tensor)`."""
    value = _only_element(tensor, payload_of(tensor, "a complex number"), "complex()")
    _leave_the_graph(tensor, sys._getframe(1))
    return complex(value)


def to_int(tensor: Tensor) -> int:
    """`int(tensor)`."""
    if is_attached(tensor) and _stores_an_item(sys._getframe(1)):
        raise lost_gradient(tensor, "an element of a NumPy array")
    value = _only_element(tensor, payload_of(tensor, "an int"), "int()")
    if value.dtype.kind == "c":
        raise TypeError("a complex tensor can not become an int; take x.real or abs(x)")
    return int(value)


def to_bool(tensor: Tensor) -> bool:
    """`bool(tensor)`."""
    payload = payload_of(tensor, "a truth value")
    if payload.size != 1:
        raise ValueError(
            f"the truth value of a tensor of shape {list(tensor.shape)} is ambiguous: use x.any() or x.all()"
        )
    return bool(payload)


def to_index(tensor: Tensor) -> int:
    """What `sequence[tensor]` and `range(tensor)` call."""
    if tensor.dtype.kind not in "iu" or tensor.size != 1:
        raise TypeError(
            f"only a tensor with one integer is an index, and this one is {describe(tensor.shape, tensor.dtype)}"
        )
    return int(payload_of(tensor, "an index").item())


def length(tensor: Tensor) -> int:
    """The length of the first axis."""
    if not tensor.ndim:
        raise TypeError("len() of a tensor without axes")
    return tensor.shape[0]


def contains(tensor: Tensor, value: Any) -> bool:
    """Is some element equal to `value`?"""
    payload = payload_of(tensor, "a truth value")
    return bool(np.any(payload == (payload_of(value) if isinstance(value, Tensor) else value)))


def _only_element(tensor: Tensor, payload: Array, what: str) -> Any:
    if payload.size != 1:
        raise ValueError(f"{what} needs a tensor with one element, and this one has shape {list(tensor.shape)}")
    return payload.reshape(())[()]


def _leave_the_graph(tensor: Tensor, caller: FrameType) -> None:
    if not is_attached(tensor):
        return
    if _stores_an_item(caller):
        raise lost_gradient(tensor, "an element of a NumPy array")
    warnings.warn(
        "a number was taken out of a tensor that requires grad or carries a tangent, and no derivative flows through "
        "it; write x.item() if that is intended, or use pb functions (pb.sin(x), not math.sin(x))",
        DetachedScalarWarning,
        stacklevel=3,
    )


def _stores_an_item(caller: FrameType) -> bool:
    """Is the caller at `array[i] = tensor`? NumPy then asks for a number, and nothing else tells what it is for."""
    return caller.f_code.co_code[caller.f_lasti] == _STORE_ITEM


MEMBERS: dict[str, Any] = {
    "numpy": numpy,
    "item": item,
    "tolist": tolist,
    "__array__": to_array,
    "__float__": to_float,
    "__complex__": to_complex,
    "__int__": to_int,
    "__bool__": to_bool,
    "__index__": to_index,
    "__len__": length,
    "__contains__": contains,
    # For legacy ndarray subclasses; others are led here by __array_ufunc__.
    "__array_priority__": 1000,
}
