"""What arrays are in adapted code: tensors with the manners of NumPy's arrays.

A real array may have to hold a value with a gradient later, by `array[i] = x`, so it is a Tensor from the start, and
operators take it as fast as any other. For adapted code and the functions it calls, tensors have the manners of arrays:
reading one element gives a number, that is a copy which is not written in place (`old = x[0]`, `total += x[i]`), and
the methods that only NumPy has are there. For Pullback's own code and everybody else the same object is an ordinary
Tensor: the members that differ ask whose code is calling (core/frames.py). `x[i]` and `x += y` are hot and ask by
themselves (operators/arrays/indexing.py, eager/build.py); the others are given their second meaning here, when `adapt`
is first used. A class of its own for arrays was rejected: fast paths are for `Tensor`, and each would be there twice.

Whole numbers never carry gradients and stay NumPy's, since they also serve as dictionary keys and loop bounds. Only
what is computed from them may be real: `np.arange(5) / 4` is a Tensor, and for that they are a subclass of ndarray.
"""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

from pullback.core.doors import leave
from pullback.core.frames import adapted_call, adapting, passes_on
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.operators import functions
from pullback.operators.arrays.creation import finished
from pullback.operators.arrays.indexing import element
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.transform.interception import as_seen
from pullback.tensors.tensor import Tensor


class Call(set[int]):
    """An adapted call, and those that adapted code makes in it: the identities of those that run. A function that they
    returned is not adapted code any more when it is empty."""

    def begin(self, part: Any) -> None:
        """Say that a call has begun."""
        self.add(id(part))
        adapting.add(id(part))

    def end(self, part: Any) -> None:
        """Say that a call has ended."""
        self.discard(id(part))
        adapting.discard(id(part))

    def array_of(self, items: Any) -> Tensor:
        """A list that holds tensors as an operand, which is an array for NumPy."""
        return functions["asarray"](items)


def inside(value: Any) -> Any:
    """A result of NumPy with tensors and WholeArrays in the place of arrays, on the same memory."""
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


def has_history(tensor: Tensor) -> bool:
    """Does somebody differentiate this tensor, backward or forward, or what stands in its place in a callback?"""
    both = (tensor, as_seen(tensor)) if current().interceptors else (tensor,)
    return any(map(requires_grad, both)) or bool(live_levels(both))  # a view may share the tangent of its base


# Real and complex numbers ---------------------------------------------------------------------------------------------


_Tensor: Any = Tensor  # its members come from tables

# By value, the numbers with a history that adapted code has looked for in sets and dictionaries, or put there.
_keys: weakref.WeakValueDictionary[Any, Tensor] = weakref.WeakValueDictionary()


def _is_only_key(tensor: Tensor, value: Any) -> bool:
    """Note a number as a key; False if another one of the same value is one, in this call or by a cache of a former."""
    if _keys.setdefault(value, tensor) is not tensor:
        gc.collect()  # a function that calls itself keeps its dictionaries in a cycle
    return _keys.setdefault(value, tensor) is tensor


class Manners:
    """Members of NumPy's arrays, for tensors in adapted code."""

    def __iter__(self: Any) -> Iterator[Tensor]:
        if self._spec.ndim != 1:
            return iter(Tensor.__iter__(self))
        return (element(self, (i, ...)) for i in range(self.shape[0]))  # each when its turn comes, and not before

    def __hash__(self: Any) -> int:
        if self._spec.ndim:
            return object.__hash__(self)
        value = self.detach().numpy()[()]
        if has_history(self) and value == value and not _is_only_key(self, value):
            raise AutogradError(
                "ADAPT_KEYS",
                f"two numbers that are differentiated have the same value, {value}, and are keys of a set or dict",
                why="they are one key for NumPy, and the derivative would be that by the first of them alone",
                fix="let positions or whole numbers, int(x), be the keys",
            )
        return hash(value)

    def __copy__(self: Any) -> Tensor:
        return functions["copy"](self)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            memo[id(self)] = functions["copy"](self)
        return memo[id(self)]

    def fill(self: Any, value: Any) -> None:
        """Write `value` to every element."""
        self[...] = value

    def sort(self: Any, *args: Any, **kwargs: Any) -> None:
        """As `np.ndarray.sort`, in place."""
        kwargs.pop("kind", None)  # ours is stable, which all kinds may be
        self[...] = functions["sort"](self, *args, **kwargs)

    def setflags(self: Any, write: Any = None, **others: Any) -> None:
        """As `np.ndarray.setflags`. What may be written is not known of a tensor."""

    def partition(self: Any, *args: Any, **kwargs: Any) -> None:
        """As `np.ndarray.partition`, in place."""
        self[...] = functions["partition"](self, *args, **kwargs)

    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.view`, on the same memory; with a shape, as `Tensor.view`."""
        return _Tensor.view(self, *args, **kwargs) if args or kwargs else self[...]

    def searchsorted(self: Any, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.searchsorted`."""
        return np.searchsorted(self, *args, **kwargs)

    def is_integer(self: Any) -> bool:
        """As `np.float64.is_integer`: is this number whole?"""
        return bool(self == functions["floor"](self))

    def item(self: Any, *index: Any) -> Any:
        """As `np.ndarray.item`: the only element, or the one at `index`; with its history, if it has one."""
        if not _is_followed(self):
            return _Tensor.item(self, *index)
        if not index and self._spec.size != 1:
            raise ValueError(f"item() needs an array with one element, and this one has shape {list(self.shape)}")
        position = index[0] if index and isinstance(index[0], tuple) else index
        if len(position) != self._spec.ndim:
            self, position = self.reshape(-1), position or (0,)  # counted in the order of the elements
        return functions["copy"](self[position])

    def tolist(self: Any) -> Any:
        """As `np.ndarray.tolist`: the elements in nested lists; with their history, if they have one."""
        return _nested(functions["copy"](self)) if _is_followed(self) else _Tensor.tolist(self)

    @property
    def T(self: Any) -> Tensor:
        """As `np.ndarray.T`: all axes reversed, whatever their number."""
        return Tensor.T.fget(self) if self._spec.ndim == 2 else functions["transpose"](self)  # type: ignore[attr-defined]

    def tobytes(self: Any, order: Any = "C") -> bytes:
        """The values in memory order; there is no gradient in bytes."""
        return self.detach().numpy().tobytes(order)

    @property
    def flat(self: Any) -> Tensor:
        """All elements in order, to be read and written."""
        elements = self.reshape(-1)
        if elements is not self and not elements._is_view():
            raise TypeError("x.flat of an array that is not contiguous cannot be adapted: write x.reshape(-1) to read")
        return elements

    @property
    def flags(self: Any) -> Any:
        """How the elements lie in memory."""
        return self._data.flags

    @property
    def base(self: Any) -> Tensor | None:
        """The tensor that this one is a view of."""
        return self._base


def _is_followed(tensor: Tensor) -> bool:
    """Would something be lost if numbers were taken out: a history, the examples of `vmap`, or what is traced?"""
    return tensor._spec.dtype.kind in "fc" and (type(tensor._data) is not np.ndarray or has_history(tensor))


def _nested(values: Tensor) -> Any:
    return [_nested(value) for value in values] if values._spec.ndim else values


def _of_two_meanings(numpys: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is NumPy's where adapted code calls it, and otherwise the tensor's own."""

    @functools.wraps(own)
    @passes_on
    def method(*args: Any, **kwargs: Any) -> Any:
        is_adapted = adapting and adapted_call(sys._getframe(1)) is not None
        try:
            return (numpys if is_adapted else own)(*args, **kwargs)
        except Exception as error:
            leave(error, own)
            raise

    return method


def _property_of_two_meanings(name: str, numpys: Any, own: Any) -> property:
    """The same for a property, and for methods that only NumPy's arrays have."""
    get: Any = numpys.fget if isinstance(numpys, property) else functools.partial(MethodType, numpys)

    def read(self: Tensor) -> Any:
        if adapting and adapted_call(sys._getframe(1)) is not None:
            return get(self)
        if own is None:
            raise AttributeError(f"a Tensor has no attribute {name!r} outside of adapted code")
        return own.__get__(self)

    return property(read, own and own.fset, own and own.fdel, own.__doc__ if own else numpys.__doc__)


def _give_manners() -> None:
    """Give `Tensor` the manners of arrays, where adapted code asks."""
    members: dict[str, Any] = dict(vars(Manners))
    for name, numpys in members.items():
        if not isinstance(numpys, (FunctionType, property)):
            continue
        getattr(Tensor, name, None)  # a method that nobody has looked up is not made yet
        own = vars(Tensor).get(name)
        if own is None or isinstance(own, property):
            setattr(Tensor, name, _property_of_two_meanings(name, numpys, own))
        else:
            setattr(Tensor, name, _of_two_meanings(numpys, own))


_give_manners()


# Whole numbers and truth values ---------------------------------------------------------------------------------------


class WholeArray(np.ndarray):
    """An array of whole numbers or truth values whose real results are Tensors."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        kwargs = {name: _plain(value) for name, value in kwargs.items()}
        if not out or any(isinstance(target, Tensor) for target in out):
            if "where" in kwargs:
                kwargs.setdefault("out", None)  # in words: NumPy warns of a `where` without `out`
            result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
            return _inside_if_adapted(result, sys._getframe(1))
        # `mask &= x > 0`: what fits into whole numbers has no gradient, and NumPy refuses the rest.
        kwargs["out"] = tuple(map(_plain, out))
        getattr(ufunc, method)(*map(_number, inputs), **kwargs)
        return out[0] if len(out) == 1 else out

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Tensor) and value.dtype.kind in "fc" and current().grad and has_history(value):
            raise AutogradError(
                "ADAPT_WHOLE",
                f"a value with a gradient is written to an array {describe(self.shape, self.dtype)}, which cuts it to "
                "a whole number",
                why="whole numbers have no derivative, so the gradient would be lost",
                fix="make the array of real numbers, as in np.zeros(n) or np.array([0.0, 0.0]), or write int(x)",
            )
        super().__setitem__(index, value)

    def dot(self, other: Any, out: Any = None) -> Any:
        """The product of arrays, as `np.dot`."""
        return _inside_if_adapted(np.dot(_plain(self), other, out), sys._getframe(1))


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, WholeArray) else x


def _number(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, Tensor) else _plain(x)


def _inside_if_adapted(value: Any, caller: FrameType) -> Any:
    return value if adapted_call(caller) is None else inside(value)


def _method_with_real_results(name: str) -> Callable[..., Any]:
    def method(self: WholeArray, *args: Any, **kwargs: Any) -> Any:
        return _inside_if_adapted(getattr(_plain(self), name)(*args, **kwargs), sys._getframe(1))

    method.__name__ = name
    method.__doc__ = f"As `np.ndarray.{name}`; a real result is a Tensor."
    return method


for _name in ("astype", "mean", "std", "var"):
    setattr(WholeArray, _name, _method_with_real_results(_name))
