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

from pullback.core.state import current
from pullback.func._adapt.arrays import WholeArray, has_history, holds_tensors, inside
from pullback.func._adapt.scipy_callbacks import is_scipy
from pullback.func._adapt.stand_ins import TYPES, Proxy, StandIn
from pullback.interop._array_function import array_function, direct_twin
from pullback.interop._ufuncs import apart_from, assign
from pullback.interop._ufuncs import twin_of as ufunc_twin
from pullback.operators import functions
from pullback.tensors.tensor import Tensor

_Dispatcher = type(np.sum)
_CompiledFunction: type = type(np.random.default_rng)

# Lists among their arguments are sequences of arrays and must stay lists.
_TAKE_SEQUENCES = frozenset((
    "broadcast_arrays", "choose", "column_stack", "concat", "concatenate", "dstack", "histogramdd", "hstack",
    "multi_dot", "piecewise", "row_stack", "select", "stack", "vstack",
))  # fmt: skip


_LOOK = frozenset(("array2string", "array_repr", "array_str", "save", "savetxt", "savez", "savez_compressed"))


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
    return _drawing(value) if _is_method_of_generator(value) else _numpy_value(value)


def _is_method_of_generator(value: Any) -> bool:
    return _generator_of(value) is not None


def _generator_of(value: Any) -> Any:
    """The generator that this is a method of, or was one of, before NumPy made it a function."""
    if value is np.random.seed:
        return np.random.mtrand._rand
    owner = value.__self__ if isinstance(value, (MethodType, BuiltinFunctionType)) else None
    return owner if isinstance(owner, (np.random.Generator, np.random.RandomState)) else None


@functools.cache
def _numpy_value(value: Any) -> Any:
    if value in _REPLACED:
        return _REPLACED[value]
    if isinstance(value, ModuleType):
        return Proxy(value, _attribute)
    if isinstance(value, np.ufunc):
        return _ufunc(value)
    if value.__name__ in _LOOK or value.__module__.startswith("numpy.testing"):
        return _looking(value)
    return value if isinstance(value, type) else through(value)


def _looking(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that checks or shows values: it has no result that could have a gradient."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_shown, args), **{name: _shown(value) for name, value in kwargs.items()})

    return functools.wraps(function)(call)


def _shown(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_shown, value)) if type(value) in (list, tuple) else value
    return value.detach() if isinstance(value, Tensor) else value


def _attribute(value: Any) -> Any:
    return numpy_value(value) if is_numpy(value) else value


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that also understands lists with tensors in them, and gives tensors."""
    own = ("__name__", "__qualname__", "__doc__", "__module__")
    return functools.update_wrapper(_directly(function, _reading(function)), function, assigned=own)


_SIMPLE = frozenset((Tensor, WholeArray, int, float, bool, str))


def _directly(function: Callable[..., Any], read: Callable[..., Any]) -> Callable[..., Any]:
    """`read`, which leads through NumPy, with calls that Pullback's own function takes as they are going there."""
    found = direct_twin(function) if isinstance(function, _Dispatcher) else None
    if found is None:
        return read
    twin, least, most, names = found
    takes_sequences = function.__name__ in _TAKE_SEQUENCES

    def call(*args: Any, **kwargs: Any) -> Any:
        if not least <= len(args) <= most or (kwargs and not kwargs.keys() <= names):
            return read(*args, **kwargs)
        first = args[0]
        has_tensor = type(first) is Tensor
        if takes_sequences:
            if type(first) not in (list, tuple) or not first or any(type(item) is not Tensor for item in first):
                return read(*args, **kwargs)
            has_tensor = True
        elif not has_tensor and type(first) not in _SIMPLE:
            return read(*args, **kwargs)
        for each in (*args[1:], *kwargs.values()) if kwargs else args[1:]:
            if type(each) is Tensor:
                has_tensor = True
            elif type(each) not in _SIMPLE and (type(each) is not tuple or any(type(part) is not int for part in each)):
                return read(*args, **kwargs)
        out = twin(*args, **kwargs) if has_tensor else NotImplemented
        return read(*args, **kwargs) if out is NotImplemented else out

    return call


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__name__", "")
    read = _as_it_is if name == "block" else _readable_items if name in _TAKE_SEQUENCES else _readable

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None and holds_tensors(out):
            del kwargs["out"]
            return assign(f"np.{name}", out, call(*apart_from(out, args), **kwargs), casting="unsafe")
        args, kwargs = tuple(map(read, args)), {name: read(value) for name, value in kwargs.items()}
        if is_dispatched:
            # NumPy does not ask about every argument, such as the fill value of `full_like`.
            for each in (*args, *kwargs.values()):
                if type(each) is Tensor and has_history(each):
                    return inside(array_function(each, function, (Tensor,), args, kwargs))
        return inside(function(*args, **kwargs))

    is_dispatched = isinstance(function, _Dispatcher)
    return call


def _as_it_is(argument: Any) -> Any:
    return argument


def _readable_items(argument: Any) -> Any:
    """A sequence of arrays, each as NumPy's protocols understand it."""
    return [_readable(item) for item in argument] if isinstance(argument, (list, tuple)) else argument


def _readable(argument: Any) -> Any:
    """An argument as NumPy's protocols understand it."""
    if isinstance(argument, (list, tuple)):
        return functions["asarray"](argument) if holds_tensors(argument) else argument
    return argument._real if type(argument) is StandIn else argument


class Ufunc:
    """A ufunc and its methods for adapted code."""

    def __init__(self, real: np.ufunc) -> None:
        self._real = real
        self._read = _reading(real)
        self.__doc__ = real.__doc__
        self.__name__ = real.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == self._real.nin and "out" not in kwargs:
            return self._read(*args, **kwargs)
        inputs, out = args[: self._real.nin], args[self._real.nin :] or kwargs.get("out")
        if out is not None and holds_tensors(out):
            kwargs.pop("out", None)
            result = self._read(*apart_from(out, inputs), **kwargs)
            casting = kwargs.get("casting", "same_kind")
            return assign(f"np.{self.__name__}", out, result, kwargs.get("where", True), casting)
        return self._read(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        return through(value) if callable(value) else value

    def __repr__(self) -> str:
        return repr(self._real)


# Calls on tensors and numbers go to Pullback's function straight away. All of NumPy's keywords are written out, because
# a function that takes any takes twice as long to call.


def _ufunc(real: np.ufunc) -> Any:
    twin, through_numpy = ufunc_twin(real), Ufunc(real)
    if twin is None or real.nin > 2 or real.nout > 1:
        return through_numpy
    call = (_unary if real.nin == 1 else _binary if real.signature is None else _product)(twin, through_numpy)
    for name in dir(real):
        if not name.startswith("_"):
            setattr(call, name, getattr(through_numpy, name))
    return functools.update_wrapper(call, real, assigned=("__name__", "__doc__"), updated=())


def _unary(twin: Callable[..., Any], through_numpy: Ufunc) -> Callable[..., Any]:
    def call(
        x: Any, /, out: Any = None, *, where: Any = True, casting: Any = None, order: Any = None, dtype: Any = None,
        subok: Any = None, signature: Any = None,
    ) -> Any:  # fmt: skip
        if type(x) is Tensor and out is None and where is True and dtype is None and signature is None:
            return twin(x)
        return through_numpy(x, **_given(out, where, casting, order, dtype, subok, signature))

    return call


def _binary(twin: Callable[..., Any], through_numpy: Ufunc) -> Callable[..., Any]:
    def call(
        x: Any, y: Any, /, out: Any = None, *, where: Any = True, casting: Any = None, order: Any = None,
        dtype: Any = None, subok: Any = None, signature: Any = None,
    ) -> Any:  # fmt: skip
        if type(x) is Tensor:
            is_plain = type(y) is Tensor or type(y) is float or type(y) is int
        else:
            is_plain = type(y) is Tensor and (type(x) is float or type(x) is int)
        if is_plain and out is None and where is True and dtype is None and signature is None:
            return twin(x, y)
        return through_numpy(x, y, **_given(out, where, casting, order, dtype, subok, signature))

    return call


def _product(twin: Callable[..., Any], through_numpy: Ufunc) -> Callable[..., Any]:
    def call(x: Any, y: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(x) is Tensor and type(y) is Tensor and not args and not kwargs:
            return twin(x, y)
        return through_numpy(x, y, *args, **kwargs)

    return call


def _given(out: Any, where: Any, *others: Any) -> dict[str, Any]:
    """The keywords of a call that are not what they are if nothing is said."""
    names = ("casting", "order", "dtype", "subok", "signature")
    given = {name: value for name, value in zip(names, others, strict=True) if value is not None}
    return given | ({} if out is None else {"out": out}) | ({} if where is True else {"where": where})


class Drawing(np.random.Generator):
    """A random generator whose real draws are tensors; the stream of numbers is the generator's own.

    It is a generator for compiled code too. What draws there, as SciPy does, gets arrays.
    """

    def __init__(self, real: np.random.Generator) -> None:
        super().__init__(real.bit_generator)
        self._real = real

    def __getattribute__(self, name: str) -> Any:
        real = object.__getattribute__(self, "_real")
        if name == "_real":
            return real
        value = getattr(real, name)
        if name.startswith("_") or not callable(value) or is_scipy(sys._getframe(1).f_globals.get("__name__")):
            return value
        return _drawing(value)

    def __repr__(self) -> str:
        return repr(self._real)


class OldDrawing:
    """The same of a `RandomState`, which keeps half of some draws for the next one and cannot be doubled."""

    def __init__(self, real: np.random.RandomState) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        return _drawing(value) if callable(value) else value

    def __repr__(self) -> str:
        return repr(self._real)


# Draws that are a number of the standard distribution, shifted and stretched: so they have derivatives by both.
_SHIFTED: dict[str, tuple[tuple[str, ...], tuple[float, ...], Callable[..., Any]]] = {
    "normal": (("loc", "scale"), (0.0, 1.0), lambda z, loc, scale: loc + scale * z),
    "uniform": (("low", "high"), (0.0, 1.0), lambda z, low, high: low + (high - low) * z),
    "exponential": (("scale",), (1.0,), lambda z, scale: scale * z),
    "lognormal": (("mean", "sigma"), (0.0, 1.0), lambda z, mean, sigma: functions["exp"](mean + sigma * z)),
}


def _drawing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a generator: draws by parameters that are tensors are differentiable in them, where that is easy."""
    plain = through(method)

    def draw(*args: Any, **kwargs: Any) -> Any:
        trace = current().trace
        found = None if trace is None else trace.stand_in_for(_generator_of(method))
        return (plain if found is None else through(getattr(found, method.__name__)))(*args, **kwargs)

    if method.__name__ not in _SHIFTED:
        return draw
    names, defaults, formula = _SHIFTED[method.__name__]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip((*names, "size"), args, strict=False)), **kwargs}
        parameters = [given.pop(name, default) for name, default in zip(names, defaults, strict=True)]
        if not any(map(holds_tensors, parameters)):
            return draw(*args, **kwargs)
        parameters = [functions["asarray"](each) for each in parameters]
        size = given.pop("size", None)
        if size is None:
            size = np.broadcast_shapes(*(each.shape for each in parameters))
        standard = "normal" if method.__name__ == "lognormal" else method.__name__
        return formula(inside(np.asarray(getattr(method.__self__, standard)(size=size))), *parameters)  # type: ignore[attr-defined]

    return functools.update_wrapper(call, method, assigned=("__name__", "__doc__"))


def default_rng(seed: Any = None) -> Drawing:
    """As `np.random.default_rng`."""
    return Drawing(np.random.default_rng(seed._real if isinstance(seed, Drawing | OldDrawing) else seed))


class _MakesDrawing(type):
    """The type of what stands for `np.random.RandomState`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> OldDrawing:
        return OldDrawing(np.random.RandomState(*args, **kwargs))

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, OldDrawing | np.random.RandomState)


class RandomState(metaclass=_MakesDrawing):
    """As `np.random.RandomState`."""


# Functions that convert by force --------------------------------------------------------------------------------------


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    """As `np.array`, and differentiable in the tensors of nested lists."""
    dtype = _readable(dtype)
    copy = {2: None, 1: True, 0: False}[copy.value] if isinstance(copy, np._CopyMode) else copy
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


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """As `np.asarray_chkfinite`: a tensor that is traced or has examples is not looked at."""
    out = asarray(a, dtype, order)
    if not isinstance(out, Tensor) or type(out._data) is np.ndarray:
        np.asarray_chkfinite(out.detach() if isinstance(out, Tensor) else out)
    return out


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


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """As `np.require`. Tensors are aligned and may be written to; an order in memory is that of a copy."""
    wanted = {str(each).upper()[0] for each in requirements or ()}
    out = asarray(a, dtype)
    return array(out, order="F" if "F" in wanted else "C") if wanted & {"C", "F", "O"} else out


def bmat(*args: Any, **kwargs: Any) -> Any:
    """As `np.bmat` of arrays; there are no matrices of tensors."""
    if any(map(holds_tensors, (*args, *kwargs.values()))):
        raise TypeError("np.bmat makes a numpy.matrix, which holds no tensors: use np.block")
    return np.bmat(*args, **kwargs)


def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """As `np.fromiter`, and differentiable in the items."""
    items = [item for item, _ in zip(iter, range(count))] if count >= 0 else list(iter)
    return array(items, dtype)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """As `np.fromfunction`."""
    indices = inside(list(np.indices(shape, dtype=_readable(dtype))))
    return function(*indices, **kwargs)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As `np.apply_along_axis`: the function is called for every line along the axis."""
    lines = np.moveaxis(asarray(arr), axis, -1)
    before = lines.shape[:-1]
    results = [func1d(lines[index], *args, **kwargs) for index in np.ndindex(before)]
    out = array(results)
    out = out.reshape((*before, *out.shape[1:]))
    own = range(len(before), out.ndim)
    return np.moveaxis(out, tuple(own), tuple(range(axis % lines.ndim, axis % lines.ndim + len(own))))


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """As `np.ndenumerate`: positions and elements."""
    arr = asarray(arr)
    return zip(np.ndindex(arr.shape), _elements(arr, arr.shape), strict=True)


def as_strided(x: Any, shape: Any = None, strides: Any = None, *options: Any, **keywords: Any) -> Any:
    """As `np.lib.stride_tricks.as_strided`, with strides in bytes."""
    if not isinstance(x, Tensor):
        return inside(np.lib.stride_tricks.as_strided(x, shape, strides, *options, **keywords))
    shape, strides = x.shape if shape is None else shape, x.strides if strides is None else strides
    return functions["as_strided"](x, tuple(shape), tuple(each // x.itemsize for each in strides))


class Nditer:
    """As `np.nditer` of one array: its elements one after the other in C order, as views that may be written."""

    def __init__(self, op: Any, flags: Any = (), op_flags: Any = None, **options: Any) -> None:
        op = op[0] if isinstance(op, (list, tuple)) and len(op) == 1 and isinstance(op[0], Tensor) else op
        if not isinstance(op, Tensor) or options or set(flags) - {"multi_index"} or not op.is_contiguous():
            raise TypeError("np.nditer can be adapted for one contiguous array in C order: write the loop otherwise")
        self._operand = op
        self._positions = list(np.ndindex(op.shape))
        self._at = 0

    @property
    def finished(self) -> bool:
        """Are there no more elements?"""
        return self._at >= len(self._positions)

    @property
    def multi_index(self) -> tuple[int, ...]:
        """Where the present element is."""
        return self._positions[self._at]

    @property
    def value(self) -> Any:
        """The present element."""
        return functions["getitem"](self._operand, (*self.multi_index, ...))

    def iternext(self) -> bool:
        """Go on to the next element; False if there is none."""
        self._at += 1
        return not self.finished

    def __getitem__(self, operand: int) -> Any:
        return (self.value,)[operand]

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iternext()

    def __enter__(self) -> Nditer:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing is kept."""


def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """As `np.nditer`, which is what arrays without tensors are given to."""
    if not holds_tensors(op):
        return np.nditer(op, *args, **kwargs)
    return Nditer(op, *args, **kwargs)


def isscalar(element: Any) -> bool:
    """As `np.isscalar`; a tensor without axes stands for a number."""
    return not element.ndim if isinstance(element, Tensor) else np.isscalar(element)


class Vectorize:
    """As `np.vectorize`: the function is called for every element, and its results are stacked differentiably."""

    def __init__(
        self, pyfunc: Any = None, otypes: Any = None, doc: Any = None, *unsupported: Any, **options: Any
    ) -> None:
        if unsupported or any(options.get(name) is not None for name in ("excluded", "signature")):
            raise TypeError("np.vectorize with `excluded` or `signature` cannot be adapted: write the loop")
        self.pyfunc = pyfunc
        self.otypes = otypes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is None:
            return Vectorize(args[0], self.otypes)  # used as a decorator with arguments
        operands = [_readable(arg) if holds_tensors(arg) else np.asarray(arg) for arg in args]
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        columns = [_elements(inside(x), shape) for x in operands]
        results = [self.pyfunc(*row, **kwargs) for row in zip(*columns, strict=True)]
        types = self.otypes or [None] * (len(results[0]) if results and isinstance(results[0], tuple) else 1)
        parts = list(zip(*results)) if results and isinstance(results[0], tuple) else [results]
        arrays = [array(list(part), dtype).reshape(shape) for part, dtype in zip(parts, types)]
        return tuple(arrays) if results and isinstance(results[0], tuple) else arrays[0]


def _elements(x: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of `x`, broadcast to `shape`, one after the other: numbers, which are not written in place."""
    if isinstance(x, Tensor):
        return list(functions["copy"](functions["broadcast_to"](x, shape)).reshape(-1))
    return list(np.broadcast_to(x, shape).reshape(-1))


class Joined:
    """`np.r_` and `np.c_`: Pullback's own where there are tensors among the pieces."""

    def __init__(self, real: Any, name: str) -> None:
        self._real = real
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        pieces = key if isinstance(key, tuple) else (key,)
        if not any(map(holds_tensors, pieces)):
            return inside(self._real[key])
        return functions[self._name][tuple(map(_readable, pieces))]  # type: ignore[index]


_REPLACED: dict[Any, Any] = {
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asarray,
    np.asarray_chkfinite: asarray_chkfinite,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asarray,
    np.full: full,
    np.arange: arange,
    np.require: require,
    np.bmat: bmat,
    np.fromiter: fromiter,
    np.fromfunction: fromfunction,
    np.apply_along_axis: apply_along_axis,
    np.ndenumerate: ndenumerate,
    np.nditer: nditer,
    np.lib.stride_tricks.as_strided: as_strided,
    np.isscalar: isscalar,
    np.vectorize: Vectorize,
    np.random.default_rng: default_rng,
    np.random.RandomState: RandomState,
    np.r_: Joined(np.r_, "r_"),
    np.c_: Joined(np.c_, "c_"),
    **TYPES,
}
