"""What arrays become in adapted code: real and complex ones tensors, whole numbers and truth values arrays as before.

A real array may have to hold a value with a gradient later, by `array[i] = x`, so it is a Tensor from the start. Whole
numbers never carry gradients and stay NumPy's, since they also serve as dictionary keys and loop bounds. Only what is
computed from them may be real: `np.arange(5) / 4` must be a Tensor, and for that they are a subclass of ndarray.

NumPy reads one element as a number that is a copy and can not be written; Pullback reads a view. Adapted code was
written with NumPy's rule in mind (`old = x[0]`, `total += x[i]`), so for it, and only for it, a tensor without axes
behaves as a number. `bind` gives `Tensor` the members that ask where they were called from.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.ops import functions
from pullback.ops.creation import finished
from pullback.tensors.tensor import Tensor

MARK = "__pullback_adapted__"
"""A name in the globals of adapted functions, by which their frames are known."""


def inside(value: Any) -> Any:
    """A result of NumPy as adapted code sees it; arrays share their memory."""
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray:
            return value
        if value.dtype.kind in "fc":
            return finished(value)
        return value.view(WholeArray) if value.dtype.kind in "biu" else value
    if isinstance(value, tuple):
        parts = [inside(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts) if type(value) is tuple else value
    return [inside(part) for part in value] if type(value) is list else value


def outside(value: Any) -> Any:
    """A value of adapted code as the rest of the program sees it."""
    return value.view(np.ndarray) if type(value) is WholeArray else value


def holds_tensors(data: Any) -> bool:
    """Is this a Tensor that may carry a gradient, or are there such among nested lists?"""
    if isinstance(data, Tensor):
        return data.dtype.kind in "fc"
    return isinstance(data, (list, tuple)) and any(map(holds_tensors, data))


class WholeArray(np.ndarray):
    """An array of whole numbers or truth values whose real results are Tensors."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        if any(isinstance(x, Tensor) for x in (*inputs, *out)):
            return NotImplemented
        if out:
            kwargs["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        if out:
            return out[0] if len(out) == 1 else out
        return inside(result)

    def dot(self, other: Any, out: Any = None) -> Any:
        """The product of arrays, as `np.dot`."""
        return inside(np.dot(_plain(self), other, out))


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, WholeArray) else x


def _method_with_real_results(name: str) -> Callable[..., Any]:
    def method(self: WholeArray, *args: Any, **kwargs: Any) -> Any:
        return inside(getattr(_plain(self), name)(*args, **kwargs))

    method.__name__ = name
    method.__doc__ = f"As `np.ndarray.{name}`; a real result is a Tensor."
    return method


for _name in ("astype", "mean", "std", "var"):
    setattr(WholeArray, _name, _method_with_real_results(_name))


# Tensors without axes as numbers --------------------------------------------------------------------------------------

_INPLACE = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul", "and", "or", "xor", "lshift", "rshift")

_binding = threading.Lock()
_bound: set[str] = set()


def bind() -> None:
    """Give `Tensor` the members that treat a tensor without axes as a number where adapted code asks.

    Done by the first use of `adapt`: until then reading an element does not pay for the question.
    """
    with _binding:
        if _bound:
            return
        _bound.add("__getitem__")
        Tensor.__getitem__ = _reading(Tensor.__getitem__)  # type: ignore[method-assign]
        Tensor.__iter__ = _iterating(Tensor.__iter__)  # type: ignore[method-assign]
        for short in _INPLACE:
            inplace = getattr(Tensor, f"__i{short}__", None)
            if inplace is not None:
                setattr(Tensor, f"__i{short}__", _updating(inplace, getattr(operator, f"__{short}__")))


def _reading(getitem: Callable[[Tensor, Any], Tensor]) -> Callable[[Tensor, Any], Tensor]:
    def __getitem__(self: Tensor, index: Any) -> Tensor:
        out = getitem(self, index)
        # x[..., 0] is a view in NumPy too.
        if not out._spec.ndim and MARK in sys._getframe(1).f_globals and not _has_ellipsis(index):
            return functions["copy"](out)
        return out

    __getitem__.__doc__ = getitem.__doc__
    return __getitem__


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and any(part is Ellipsis for part in index))


def _iterating(iterate: Callable[[Tensor], Iterator[Tensor]]) -> Callable[[Tensor], Iterator[Tensor]]:
    def __iter__(self: Tensor) -> Iterator[Tensor]:
        if self._spec.ndim == 1 and MARK in sys._getframe(1).f_globals:
            return iterate(functions["copy"](self))
        return iterate(self)

    return __iter__


def _updating(
    inplace: Callable[[Tensor, Any], Tensor], operation: Callable[[Any, Any], Any]
) -> Callable[[Tensor, Any], Tensor]:
    def update(self: Tensor, other: Any) -> Tensor:
        if not self._spec.ndim and MARK in sys._getframe(1).f_globals:
            return operation(self, other)
        return inplace(self, other)

    update.__doc__ = inplace.__doc__
    return update
