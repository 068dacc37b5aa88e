"""What arrays are in adapted code: tensors with the manners of NumPy's arrays.

A real array may have to hold a value with a gradient later, by `array[i] = x`, so it is a Tensor from the start: an
`Array`, which adapted code can not tell from NumPy's. Reading one element gives a number, that is a copy which is not
written in place (`old = x[0]`, `total += x[i]`), and the methods that only NumPy has are there. These manners are for
adapted code and the functions it calls. Pullback's own code meets the same object as an ordinary Tensor, and when the
call ends it is one: `__class__` is all that was changed. So `Tensor` itself knows nothing of this module.

Whole numbers never carry gradients and stay NumPy's, since they also serve as dictionary keys and loop bounds. Only
what is computed from them may be real: `np.arange(5) / 4` is a Tensor, and for that they are a subclass of ndarray.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from threading import RLock
from types import FrameType
from typing import Any
from weakref import ref

import numpy as np

from pullback.autograd._variable import requires_grad
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.ops import functions
from pullback.ops.creation import finished
from pullback.tensors.tensor import Tensor

MARK = "__pullback_adapted__"
"""A name in the globals of adapted functions, by which their frames are known. It holds the Arrays of the call."""


class Arrays:
    """The Arrays that an adapted call made, and those that adapted calls in it made."""

    def __init__(self) -> None:
        self._made: list[ref[Tensor]] = []
        self._limit = 1000
        self._running: set[int] = set()
        self._lock = RLock()

    def __bool__(self) -> bool:
        """Is the call still running? A function that it returned is not adapted code any more."""
        return bool(self._running)

    def add(self, tensor: Tensor) -> None:
        """Remember a tensor that was made an Array, as long as it lives."""
        with self._lock:
            self._made.append(ref(tensor))
            if len(self._made) > self._limit:
                self._made = [made for made in self._made if made() is not None]
                self._limit = 2 * len(self._made) + 1000

    def begin(self, call: Any) -> None:
        """Say that a call has begun which makes Arrays."""
        self._running.add(id(call))

    def end(self, call: Any) -> None:
        """Say that a call has ended; the last one, which is the outermost, leaves ordinary tensors behind."""
        self._running.discard(id(call))
        if not self._running:
            with self._lock:
                made, self._made = self._made, []
            for each in made:
                tensor = each()
                if tensor is not None:
                    tensor.__class__ = Tensor


def arrays_of(frame: FrameType | None) -> Arrays | None:
    """Where the Arrays of the adapted call are kept that `frame` belongs to; None in Pullback's code and outside."""
    while frame is not None:
        names = frame.f_globals
        made: Arrays | None = names.get(MARK)
        if made is not None:
            return made or None
        if names.get("__name__", "").partition(".")[0] == "pullback":
            return None
        frame = frame.f_back
    return None


def adopt(value: Any, made: Arrays | None) -> Any:
    """`value` with the tensors in it as Arrays: the same objects, which now have NumPy's manners."""
    if made is None:
        return value
    if type(value) is Tensor:
        value.__class__ = Array
        made.add(value)
    elif isinstance(value, (tuple, list)):
        for part in value:
            adopt(part, made)
    return value


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


def adopting(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with Arrays for results where adapted code calls it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        caller = sys._getframe(1)
        made = caller.f_globals.get(MARK) or arrays_of(caller)
        return out if made is None else adopt(out, made)

    call.__name__, call.__doc__ = getattr(function, "__name__", "call"), function.__doc__
    return call


def outside(value: Any) -> Any:
    """A value of adapted code as the rest of the program sees it."""
    return value.view(np.ndarray) if type(value) is WholeArray else value


def holds_tensors(data: Any) -> bool:
    """Is this a Tensor that may carry a gradient, or are there such among nested lists?"""
    if isinstance(data, Tensor):
        return data.dtype.kind in "fc"
    return isinstance(data, (list, tuple)) and any(map(holds_tensors, data))


def has_history(tensor: Tensor) -> bool:
    """Does somebody differentiate this tensor, backward or forward?"""
    return requires_grad(tensor) or (tensor._extra is not None and bool(tensor._extra.forward))


# Real and complex numbers ---------------------------------------------------------------------------------------------


class Array(Tensor):
    """A tensor in adapted code. Where it differs from a Tensor, it asks whose code is calling."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Tensor:
        out = Tensor.__getitem__(self, index)
        made = arrays_of(sys._getframe(1))
        if made is None:
            return out
        # x[..., 0] is a view in NumPy too.
        return adopt(out if out._spec.ndim or _has_ellipsis(index) else functions["copy"](out), made)

    def __iter__(self) -> Iterator[Tensor]:
        made = arrays_of(sys._getframe(1))
        if made is None:
            return iter(Tensor.__iter__(self))
        return _iterate(functions["copy"](self) if self._spec.ndim == 1 else self, made)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        made = arrays_of(sys._getframe(1))
        if made is not None and any(type(target) is np.ndarray for target in kwargs.get("out", ())):
            _refuse_to_store(inputs)
        return adopt(_plainly(self, "__array_ufunc__", ufunc, method, *inputs, **kwargs), made)

    def __copy__(self) -> Tensor:
        made = arrays_of(sys._getframe(1))
        return _plainly(self, "__copy__") if made is None else adopt(functions["copy"](self), made)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        made = arrays_of(sys._getframe(1))
        if made is None:
            return _plainly(self, "__deepcopy__", memo)
        if id(self) not in memo:
            memo[id(self)] = adopt(functions["copy"](self), made)
        return memo[id(self)]

    def fill(self, value: Any) -> None:
        """Write `value` to every element."""
        self[...] = value

    def sort(self, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.sort`, in place."""
        return self._rearrange(sys._getframe(1), "sort", args, kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.partition`, in place."""
        return self._rearrange(sys._getframe(1), "partition", args, kwargs)

    def _rearrange(self, caller: FrameType, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = _plainly(self, name, *args, **kwargs)
        if arrays_of(caller) is None:
            return result
        self[...] = result
        return None

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.view`, on the same memory; with a shape, as `Tensor.view`."""
        made = arrays_of(sys._getframe(1))
        if made is None or args or kwargs:
            return _plainly(self, "view", *args, **kwargs)
        return adopt(Tensor.__getitem__(self, ...), made)

    def searchsorted(self, *args: Any, **kwargs: Any) -> Any:
        """As `np.ndarray.searchsorted`."""
        return np.searchsorted(self, *args, **kwargs)

    def tobytes(self, order: Any = "C") -> bytes:
        """The values in memory order; there is no gradient in bytes."""
        return self.detach().numpy().tobytes(order)

    @property
    def flat(self) -> Tensor:
        """All elements in order, to be read and written."""
        elements = self.reshape(-1)
        if elements is not self and not elements._is_view():
            raise TypeError("x.flat of an array that is not contiguous can not be adapted: write x.reshape(-1) to read")
        return elements

    @property
    def flags(self) -> Any:
        """How the elements lie in memory."""
        return self._data.flags

    @property
    def base(self) -> Tensor | None:
        """The tensor that this one is a view of."""
        return self._base


def _plainly(tensor: Tensor, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method as `Tensor` has it."""
    return getattr(Tensor, name)(tensor, *args, **kwargs)


def _refuse_to_store(values: tuple[Any, ...]) -> None:
    """Raise if one of the values would lose its gradient in an array of NumPy's, as in `array += x`."""
    if current().grad and any(isinstance(value, Tensor) and has_history(value) for value in values):
        raise AutogradError(
            "NUMPY_ON_GRAD",
            "the result of a function of NumPy would be stored in a NumPy array",
            why="a NumPy array carries no gradient, so the derivative would be lost without notice",
            fix="make the array where adapt sees it, or assign the result to a new name",
        )


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and any(part is Ellipsis for part in index))


def _iterate(values: Tensor, made: Arrays) -> Iterator[Tensor]:
    return (adopt(value, made) for value in Tensor.__iter__(values))


def _updating(inplace: Callable[[Tensor, Any], Tensor], operation: Callable[..., Any]) -> Callable[..., Any]:
    """An augmented assignment: of a tensor without axes, which stands for a number, it makes a new one."""

    def update(self: Tensor, other: Any) -> Tensor:
        made = None if self._spec.ndim else arrays_of(sys._getframe(1))
        return inplace(self, other) if made is None else adopt(operation(self, other), made)

    update.__doc__ = inplace.__doc__
    return update


# They give no tensors, and some look at the code that calls them.
_AS_THEY_ARE = frozenset((
    "__array__", "__array_namespace__", "__bool__", "__complex__", "__contains__", "__dlpack__", "__dlpack_device__",
    "__float__", "__format__", "__hash__", "__index__", "__int__", "__len__", "__reduce_ex__", "__repr__",
    "__setitem__", "__str__", "backward", "item", "numpy", "tolist",
))  # fmt: skip
_VIEWS = ("H", "T", "data", "imag", "mH", "mT", "real")


def _give_manners() -> None:
    """Give Array its twin of every member of Tensor that has tensors for results."""
    for name in tuple(vars(Tensor)):
        if name in vars(Array) or name in _AS_THEY_ARE:
            continue
        getattr(Tensor, name)  # a method that nobody has looked up is not made yet
        member = vars(Tensor)[name]
        if name in _VIEWS:
            setattr(Array, name, property(adopting(member.fget), member.fset, member.fdel, member.__doc__))
        elif name.startswith("__i") and hasattr(operator, name.replace("__i", "__", 1)) and name != "__invert__":
            setattr(Array, name, _updating(member, getattr(operator, name.replace("__i", "__", 1))))
        elif callable(member):
            setattr(Array, name, adopting(member))
    Array.__hash__ = Tensor.__hash__  # type: ignore[method-assign]


_give_manners()


# Whole numbers and truth values ---------------------------------------------------------------------------------------


class WholeArray(np.ndarray):
    """An array of whole numbers or truth values whose real results are Tensors."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        kwargs = {name: _plain(value) for name, value in kwargs.items()}
        if not out or any(isinstance(target, Tensor) for target in out):
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
    made = arrays_of(caller)
    return value if made is None else adopt(inside(value), made)


def _method_with_real_results(name: str) -> Callable[..., Any]:
    def method(self: WholeArray, *args: Any, **kwargs: Any) -> Any:
        return _inside_if_adapted(getattr(_plain(self), name)(*args, **kwargs), sys._getframe(1))

    method.__name__ = name
    method.__doc__ = f"As `np.ndarray.{name}`; a real result is a Tensor."
    return method


for _name in ("astype", "mean", "std", "var"):
    setattr(WholeArray, _name, _method_with_real_results(_name))
