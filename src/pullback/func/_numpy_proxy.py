"""NumPy as adapted code sees it.

Most of NumPy finds tensors by its own protocols. What is added here: results that are arrays become tensors (`zeros`,
`linspace`, `random.rand`), lists that hold tensors become tensors before NumPy looks at them (`np.sum([a, b])`), and
the few functions that convert their arguments by force (`array`, `asarray`, `full`, `vectorize`, `r_`) are written
anew.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.func._arrays import adopt, adopting, arrays_of, holds_tensors, inside
from pullback.func._stand_ins import TYPES, Proxy, StandIn
from pullback.ops import functions
from pullback.tensors.tensor import Tensor

_Dispatcher = type(np.sum)
_CompiledFunction: type = type(np.random.default_rng)

# Lists among their arguments are sequences of arrays and must stay lists.
_TAKE_SEQUENCES = frozenset((
    "broadcast_arrays", "choose", "column_stack", "concat", "concatenate", "dstack", "hstack", "multi_dot", "piecewise",
    "row_stack", "select", "stack", "vstack",
))  # fmt: skip


def is_numpy(value: Any) -> bool:
    """Does this module, function, ufunc or type come from NumPy?"""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    if _is_method_of_generator(value):
        return True  # np.random.normal and its like
    if isinstance(value, (FunctionType, BuiltinFunctionType, _Dispatcher, _CompiledFunction, type)):
        return (value.__module__ or "").partition(".")[0] == "numpy"
    return isinstance(value, np.ufunc) or value is np.r_ or value is np.c_


def numpy_value(value: Any) -> Any:
    """What adapted code sees in place of something of NumPy."""
    return through(value) if _is_method_of_generator(value) else _numpy_value(value)


def _is_method_of_generator(value: Any) -> bool:
    owner = value.__self__ if isinstance(value, (MethodType, BuiltinFunctionType)) else None
    return isinstance(owner, (np.random.Generator, np.random.RandomState))


@functools.cache
def _numpy_value(value: Any) -> Any:
    if value in _REPLACED:
        twin = _REPLACED[value]
        return adopting(twin) if isinstance(twin, FunctionType) else twin
    if isinstance(value, ModuleType):
        return Proxy(value, _attribute)
    if isinstance(value, np.ufunc):
        return Ufunc(value)
    return value if isinstance(value, type) else through(value)


def _attribute(value: Any) -> Any:
    return numpy_value(value) if is_numpy(value) else value


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that also understands lists with tensors in them, and gives tensors."""
    own = ("__name__", "__qualname__", "__doc__", "__module__")
    return functools.update_wrapper(adopting(_reading(function)), function, assigned=own)


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__name__", "")
    read = _as_it_is if name == "block" else _readable_items if name in _TAKE_SEQUENCES else _readable

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None and holds_tensors(out):
            del kwargs["out"]
            return _store(out, call(*(_apart_from(out, arg) for arg in args), **kwargs))
        return inside(function(*map(read, args), **{name: read(value) for name, value in kwargs.items()}))

    return call


def _as_it_is(argument: Any) -> Any:
    return argument


def _readable_items(argument: Any) -> Any:
    """A sequence of arrays, each as NumPy's protocols understand it."""
    return [_readable(item) for item in argument] if isinstance(argument, (list, tuple)) else argument


def _apart_from(out: Any, argument: Any) -> Any:
    """An argument that is not overwritten when the result is stored."""
    return functions["copy"](argument) if argument is out or (type(out) is tuple and argument is out[0]) else argument


def _store(out: Any, result: Any, where: Any = True) -> Any:
    """What `out=` means for tensors: an assignment, which is differentiable as any other."""
    if isinstance(out, tuple):
        if len(out) > 1:
            return tuple(_store(target, part, where) for target, part in zip(out, result, strict=True))
        (out,) = out
    out[...] = result if where is True else functions["where"](where, result, out)
    return out


def _readable(argument: Any) -> Any:
    """An argument as NumPy's protocols understand it."""
    if isinstance(argument, (list, tuple)):
        return functions["asarray"](argument) if holds_tensors(argument) else argument
    return argument._real if type(argument) is StandIn else argument


class Ufunc:
    """A ufunc and its methods for adapted code."""

    def __init__(self, real: np.ufunc) -> None:
        self._real = real
        self._call = _reading(real)
        self.__doc__ = real.__doc__
        self.__name__ = real.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return adopt(self._compute(*args, **kwargs), arrays_of(sys._getframe(1)))

    def _compute(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == self._real.nin and "out" not in kwargs:
            return self._call(*args, **kwargs)
        inputs, out = args[: self._real.nin], args[self._real.nin :] or kwargs.get("out")
        if out is not None and holds_tensors(out):
            kwargs.pop("out", None)
            where = kwargs.pop("where", True)
            return _store(out, self._call(*(_apart_from(out, x) for x in inputs), **kwargs), where)
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        return through(value) if callable(value) else value

    def __repr__(self) -> str:
        return repr(self._real)


class Drawing:
    """A random generator whose real draws are tensors; the stream of numbers is the generator's own."""

    def __init__(self, real: np.random.Generator | np.random.RandomState) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        return through(value) if callable(value) else value

    def __repr__(self) -> str:
        return repr(self._real)


def default_rng(seed: Any = None) -> Drawing:
    """As `np.random.default_rng`."""
    return Drawing(np.random.default_rng(seed._real if isinstance(seed, Drawing) else seed))


# Functions that convert by force --------------------------------------------------------------------------------------


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    """As `np.array`, and differentiable in the tensors of nested lists."""
    dtype = _readable(dtype)
    if not holds_tensors(object):
        return inside(np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin))
    out = functions["array"](object, dtype, copy=copy)
    if out.ndim < ndmin:
        out = functions["reshape"](out, (1,) * (ndmin - out.ndim) + out.shape)
    return out


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """As `np.asarray`: a tensor is itself."""
    return array(a, dtype, copy=copy, order=order or "K")


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """As `np.ascontiguousarray`, with at least one axis."""
    return array(a, dtype, copy=None, order="C", ndmin=1)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """As `np.full`, and differentiable in the value."""
    if holds_tensors(fill_value):
        return functions["full"](shape, functions["asarray"](fill_value), dtype=_readable(dtype))
    return inside(np.full(shape, fill_value, _readable(dtype), order))


def arange(*bounds: Any, **options: Any) -> Any:
    """As `np.arange`. How many numbers there are has no derivative, so bounds that require grad are refused."""
    if any(map(holds_tensors, (*bounds, *options.values()))):
        return functions["arange"](*bounds, **options)
    return inside(np.arange(*bounds, **{name: _readable(value) for name, value in options.items()}))


def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """As `np.fromiter`, and differentiable in the items."""
    items = [item for item, _ in zip(iter, range(count))] if count >= 0 else list(iter)
    return array(items, dtype)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """As `np.fromfunction`."""
    indices = inside(list(np.indices(shape, dtype=_readable(dtype))))
    return function(*adopt(indices, _arrays_of_caller()), **kwargs)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As `np.apply_along_axis`: the function is called for every line along the axis."""
    lines = np.moveaxis(asarray(arr), axis, -1)
    before = lines.shape[:-1]
    made = _arrays_of_caller()
    results = [func1d(adopt(lines[index], made), *args, **kwargs) for index in np.ndindex(before)]
    out = array(results)
    out = out.reshape((*before, *out.shape[1:]))
    own = range(len(before), out.ndim)
    return np.moveaxis(out, tuple(own), tuple(range(axis % lines.ndim, axis % lines.ndim + len(own))))


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """As `np.ndenumerate`: positions and elements."""
    arr = asarray(arr)
    return zip(np.ndindex(arr.shape), adopt(_elements(arr, arr.shape), _arrays_of_caller()), strict=True)


def _arrays_of_caller() -> Any:
    """Where the Arrays of the adapted code are kept that called the function of this module two calls up."""
    return arrays_of(sys._getframe(3))


def isscalar(element: Any) -> bool:
    """As `np.isscalar`; a tensor without axes stands for a number."""
    return not element.ndim if isinstance(element, Tensor) else np.isscalar(element)


class Vectorize:
    """As `np.vectorize`: the function is called for every element, and its results are stacked differentiably."""

    def __init__(
        self, pyfunc: Any = None, otypes: Any = None, doc: Any = None, *unsupported: Any, **options: Any
    ) -> None:
        if unsupported or any(options.get(name) is not None for name in ("excluded", "signature")):
            raise TypeError("np.vectorize with `excluded` or `signature` can not be adapted: write the loop")
        self.pyfunc = pyfunc
        self.otypes = otypes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is None:
            return Vectorize(args[0], self.otypes)  # used as a decorator with arguments
        operands = [_readable(arg) if holds_tensors(arg) else np.asarray(arg) for arg in args]
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        made = arrays_of(sys._getframe(1))
        columns = [_elements(inside(x), shape) for x in operands]
        results = [self.pyfunc(*adopt(row, made), **kwargs) for row in zip(*columns, strict=True)]
        types = self.otypes or [None] * (len(results[0]) if results and isinstance(results[0], tuple) else 1)
        parts = list(zip(*results)) if results and isinstance(results[0], tuple) else [results]
        arrays = [array(list(part), dtype).reshape(shape) for part, dtype in zip(parts, types)]
        return adopt(tuple(arrays) if results and isinstance(results[0], tuple) else arrays[0], made)


def _elements(x: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of `x`, broadcast to `shape`, one after the other: numbers, which are not written in place."""
    if isinstance(x, Tensor):
        return list(functions["copy"](functions["broadcast_to"](x, shape)).reshape(-1))
    return list(np.broadcast_to(x, shape).reshape(-1))


class Joined:
    """`np.r_` and `np.c_` for tensors: pieces joined along the last axis, or vectors as columns."""

    def __init__(self, real: Any, as_columns: bool) -> None:
        self._real = real
        self._as_columns = as_columns

    def __getitem__(self, key: Any) -> Any:
        return adopt(self._join(key), arrays_of(sys._getframe(1)))

    def _join(self, key: Any) -> Any:
        pieces = key if isinstance(key, tuple) else (key,)
        if not any(map(holds_tensors, pieces)):
            return inside(self._real[key])
        if any(isinstance(piece, str) for piece in pieces):
            raise TypeError("np.r_ and np.c_ with a string can not be adapted: use np.concatenate or np.stack")
        parts = [functions["asarray"](self._real[p] if isinstance(p, slice) else p) for p in pieces]
        if self._as_columns:
            parts = [p.reshape((-1, 1)) if p.ndim < 2 else p for p in parts]
            return functions["concat"](parts, axis=-1)
        return functions["concat"]([p.reshape((1,)) if not p.ndim else p for p in parts], axis=0)


_REPLACED: dict[Any, Any] = {
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asarray,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asarray,
    np.full: full,
    np.arange: arange,
    np.fromiter: fromiter,
    np.fromfunction: fromfunction,
    np.apply_along_axis: apply_along_axis,
    np.ndenumerate: ndenumerate,
    np.isscalar: isscalar,
    np.vectorize: Vectorize,
    np.random.default_rng: default_rng,
    np.r_: Joined(np.r_, as_columns=False),
    np.c_: Joined(np.c_, as_columns=True),
    **TYPES,
}
