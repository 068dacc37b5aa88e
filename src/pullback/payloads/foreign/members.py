"""The methods and operators of `ForeignArray`: NumPy's, on another library's values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.payloads.devices import device, mix_error
from pullback.payloads.foreign.array import ForeignArray, Step, Unspelled, wrapped
from pullback.payloads.foreign.numpy_names import NamesThere, names_on
from pullback.payloads.foreign.ufuncs import UfuncThere, direct_on, elementwise

_PLAIN = (bool, int, float, complex, np.ndarray, np.generic, list, tuple)


def common_device(arrays: Any) -> device:
    """The device of foreign arrays, or KIND_MIX."""
    found = None
    for x in arrays:
        if type(x) is ForeignArray and x.device is not found:
            if found is not None:
                raise mix_error(str(found), str(x.device), "the arrays lie on different devices")
            found = x.device
    assert found is not None
    return found


def _names(*arrays: Any) -> NamesThere:
    return names_on(common_device(arrays))


def _ufunc_operator(ufunc: np.ufunc, is_reflected: bool = False) -> Callable[..., Any]:
    def method(self: ForeignArray, other: Any) -> Any:
        place = self.device
        if type(other) is ForeignArray:
            if other.device is not place:
                common_device((self, other))
        elif type(other) is not float and type(other) is not int:
            if not isinstance(other, _PLAIN):
                return NotImplemented
            if isinstance(other, (list, tuple)):
                other = np.asarray(other)
        pair = (other, self) if is_reflected else (self, other)
        return names_on(place).matmul(*pair) if ufunc is np.matmul else direct_on(ufunc, place)(pair, None)

    return method


def _ufunc_method(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda self: direct_on(ufunc, self.device)((self,), None)


_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
_COMPARED = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def _inplace(name: str) -> Callable[..., Any]:
    """`a += b`, which writes as it does in NumPy."""

    def method(self: ForeignArray, other: Any) -> Any:
        result = getattr(operator, name)(self, other)
        self[...] = result
        return self

    return method


# Methods that are functions of the same name, with the array as the first argument.
_FUNCTIONS = (
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal", "max", "mean", "min",
    "nonzero", "prod", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "var",
)  # fmt: skip

def _function_method(name: str) -> Callable[..., Any]:
    def method(self: ForeignArray, *args: Any, **options: Any) -> Any:
        return getattr(names_on(self.device), name)(self, *args, **options)

    return method


def reshape(self: ForeignArray, *shape: Any, order: str = "C") -> Any:
    """A view where NumPy would have one, otherwise a copy."""
    if order != "C":
        raise Unspelled("reshape in column-major order")
    lengths = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
    lengths = tuple([operator.index(n) for n in lengths])
    if -1 in lengths:
        rest = math.prod(n for n in lengths if n != -1)
        if lengths.count(-1) > 1 or not rest or self.size % rest:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {lengths}")
        lengths = tuple([self.size // rest if n == -1 else n for n in lengths])
    if math.prod(lengths) != self.size:
        raise ValueError(f"cannot reshape array of size {self.size} into shape {lengths}")
    if (self.link is not None and self.link.parent is not None) or self.kind.views:
        shown = self.shadow.reshape(lengths)
        if self.size and not np.may_share_memory(shown, self.shadow):
            raw = self.kind.namespace.reshape(self.kind.copied(self.array), lengths)
            return wrapped(raw, self.device, lengths, self.dtype)
    raw = lambda kind, array: kind.namespace.reshape(array, lengths)
    return self.viewed(Step(lambda shadow: shadow.reshape(lengths), raw))


def ravel(self: ForeignArray, order: str = "C") -> Any:
    """One axis."""
    return reshape(self, (-1,) if self.size else (0,), order="C" if order == "K" else order)


def transpose(self: ForeignArray, *axes: Any) -> Any:
    """A view with the axes in another order."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes or None
    return names_on(self.device).transpose(self, order)


def astype(self: ForeignArray, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> Any:
    """A copy of another dtype, as NumPy casts."""
    dtype = np.dtype(dtype)
    if dtype == self.dtype:
        return self if not copy else self.copy()
    array = self.array
    if self.dtype.kind == "c" and dtype.kind not in "c":
        if dtype == np.bool_:
            return self != 0
        array = self.kind.namespace.real(array)
        if self.kind.dtype_of(array) == dtype:
            return wrapped(self.kind.copied(array), self.device, self.shape, dtype)
    elif dtype == np.bool_:
        return self != 0
    return wrapped(self.kind.cast(array, dtype), self.device, self.shape, dtype)


def copy(self: ForeignArray, order: str = "C") -> Any:
    """A copy."""
    return wrapped(self.kind.copied(self.array), self.device, self.shape, self.dtype)


def conj(self: ForeignArray) -> Any:
    """The complex conjugate."""
    return elementwise(np.conjugate, (self,), self.device)


def real(self: ForeignArray) -> Any:
    """The real part: a view."""
    return _part(self, "real") if self.dtype.kind == "c" else self


def imag(self: ForeignArray) -> Any:
    """The imaginary part: a view."""
    if self.dtype.kind != "c":
        return names_on(self.device).zeros(self.shape, self.dtype)
    return _part(self, "imag")


def _part(self: ForeignArray, which: str) -> Any:
    xp, is_real = self.kind.namespace, which == "real"

    def put(before: Any, part: Any) -> Any:
        return xp.join_parts(part, xp.imag(before)) if is_real else xp.join_parts(xp.real(before), part)

    raw = lambda kind, array: getattr(kind.namespace, which)(array)
    return self.viewed(Step(lambda shadow: getattr(shadow, which), raw, put=put))


def _part_setter(which: str) -> Callable[..., None]:
    def store_part(self: ForeignArray, value: Any) -> None:
        getattr(self, which)[...] = value

    return store_part


def sort(self: ForeignArray, axis: int = -1, kind: Any = None) -> None:
    """Sort in place."""
    self[...] = names_on(self.device).sort(self, axis)


# Subscripts.


def _canonical(index: Any) -> tuple[Any, ...]:
    parts = index if type(index) is tuple else (index,)
    return tuple([int(part) if isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)) else part
                  for part in parts])  # fmt: skip


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, (slice, int))


def read(self: ForeignArray, index: Any) -> Any:
    """`x[index]`: a view for a basic index, a copy for one with arrays."""
    parts = _canonical(index)
    if all(map(_is_basic, parts)):
        return basic(self, parts)
    if _is_lone_truth(parts):
        return basic(basic(self, (None,)), (slice(0, int(bool(parts[0]))),)).copy()
    if len(parts) == 1 and getattr(parts[0], "dtype", None) == np.bool_ and parts[0].shape == self.shape:
        return ravel(self)[names_on(self.device).nonzero(ravel_any(parts[0]))[0]]
    places = positions_of(self, parts)
    flat = ravel(self)
    return names_on(self.device).take(flat, places, axis=0)


def _is_lone_truth(parts: tuple[Any, ...]) -> bool:
    """Is the index one truth value without axes, which takes everything or nothing?"""
    return len(parts) == 1 and getattr(parts[0], "dtype", None) == np.bool_ and not parts[0].ndim


def ravel_any(x: Any) -> Any:
    """One axis, of any array."""
    return ravel(x) if type(x) is ForeignArray else np.ravel(x)


def basic(self: ForeignArray, parts: tuple[Any, ...]) -> Any:
    """The view of a basic index."""
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, Ellipsis)
    shown = np.broadcast_to(np.zeros((), np.bool_), self.shape)[parts]  # raises as NumPy does
    if any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts):
        raw = None if not shown.size else _flipped(self.shape, parts)
        return self.viewed(Step(lambda shadow: shadow[parts], raw))
    plain = _plain_index(self.shape, parts)
    written = tuple([part for part in plain if part is not None])
    raw = lambda kind, array: kind.read_item(array, plain)
    return self.viewed(Step(lambda shadow: shadow[parts], raw, index=written))


def _plain_index(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same index with bounds inside of the array, and no Ellipsis: what every library understands alike."""
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    out: list[Any] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            out += [slice(None)] * (len(shape) - taken)
            axis += len(shape) - taken
        elif part is None:
            out.append(None)
        else:
            if isinstance(part, slice):
                start, stop, step = part.indices(shape[axis])
                out.append(slice(start, max(start, stop), step) if step > 0 else part)
            else:
                out.append(part + shape[axis] if part < 0 else part)
            axis += 1
    return tuple(out)


def _flipped(shape: tuple[int, ...], parts: tuple[Any, ...]) -> Callable[..., Any]:
    """A basic index with negative steps, by reading forward and turning round."""
    index = _plain_index(shape, parts)
    forward: list[Any] = []
    turned: list[int] = []
    axis = place = 0
    for part in index:
        if isinstance(part, slice):
            positions = range(*part.indices(shape[axis]))
            if positions.step < 0:
                turned.append(place)
                part = slice(positions[-1], positions[0] + 1, -positions.step)
            forward.append(part)
        else:
            forward.append(part)
        place += part is None or isinstance(part, slice)
        axis += part is not None
    return lambda kind, array: kind.namespace.flip(kind.read_item(array, tuple(forward)), axis=tuple(turned))


def positions_of(self: ForeignArray, index: Any) -> Any:
    """The places in row-major order that an index with arrays means: on the host if the arrays are."""
    parts = _canonical(index)
    names = names_on(self.device)
    arrays: list[Any] = []
    for part in parts:
        if getattr(part, "dtype", None) == np.bool_ or isinstance(part, list):
            part = np.asarray(part) if isinstance(part, list) else part
        arrays += names.nonzero(part) if getattr(part, "dtype", None) == np.bool_ else [part]
    taken = sum(part is not None and part is not Ellipsis for part in arrays)
    if not any(part is Ellipsis for part in arrays):
        arrays.append(Ellipsis)
    if not any(type(part) is ForeignArray for part in arrays):
        return np.arange(self.size).reshape(self.shape)[tuple(arrays)]
    # Advanced indices on the device: where they stand decides where their axes go, which NumPy tells of stand-ins.
    shape, steps, axis, terms, stand_ins = self.shape, _steps(self.shape), 0, [], []
    for part in arrays:
        if part is Ellipsis:
            for _ in range(self.ndim - taken):
                terms.append((axis, slice(None)))
                stand_ins.append(slice(None))
                axis += 1
        elif part is None:
            stand_ins.append(None)
        else:
            terms.append((axis, part))
            stand_ins.append(np.zeros(part.shape, np.intp) if hasattr(part, "shape") else part)
            axis += 1
    base = np.arange(self.size).reshape(shape)
    host = base[tuple(stand_ins)]  # with 0 in the place of every array
    advanced = [(k, part) for k, part in terms if hasattr(part, "shape")]
    joint = np.broadcast_shapes(*(part.shape for _, part in advanced))
    total: Any = 0
    for k, part in advanced:
        total = total + names.positive_index(part, shape[k]) * steps[k]
    total = names.broadcast_to(total, joint)
    where = _advanced_axes(stand_ins, len(joint), host.ndim)
    lead = tuple([1] * where + list(joint) + [1] * (host.ndim - where - len(joint)))
    return names.asarray_there(host) + total.reshape(lead)


def _steps(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _advanced_axes(parts: list[Any], count: int, ndim: int) -> int:
    """Where the axes of index arrays are in the result: in front if slices stand between them."""
    places = [k for k, part in enumerate(parts) if hasattr(part, "shape") or isinstance(part, int)]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    return sum(part is None or isinstance(part, slice) for part in parts[: places[0]])


def store(self: ForeignArray, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    parts = _canonical(index)
    names = names_on(self.device)
    value = names.asarray_there(value)
    if _is_lone_truth(parts):
        if not bool(parts[0]):
            return
        parts = (Ellipsis,)
    if all(map(_is_basic, parts)):
        target = self if parts == (Ellipsis,) else basic(self, parts)
        raw = fitting(names, value, target.shape, self.dtype).array
        if self.kind.mutable and value.root is self.root:
            raw = self.kind.copied(raw)  # of two parts of one memory the library may get the order of writes wrong
        target.write(raw)
        return
    if len(parts) == 1 and getattr(parts[0], "dtype", None) == np.bool_ and not value.ndim:
        mask = names.asarray_there(parts[0])
        mask = mask.reshape(mask.shape + (1,) * (self.ndim - mask.ndim))
        self.write(names.broadcast_to(names.where(mask, value.astype(self.dtype, copy=False), self), self.shape).array)
        return
    places = positions_of(self, parts)
    value = fitting(names, value, places.shape, self.dtype)
    xp = self.kind.namespace
    flat, values = xp.reshape(self.array, (-1,)), xp.reshape(value.array, (-1,))
    self.write(xp.reshape(names.placed(flat, places.reshape(-1), values), self.shape))


def fitting(names: NamesThere, value: ForeignArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ForeignArray:
    """A value in the shape and dtype of what it is written to."""
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = value.reshape(value.shape[extra:])
    value = value.astype(dtype, copy=False)
    if value.shape != shape:
        value = names.broadcast_to(value, shape)
    return value


def assign(target: Any, value: Any) -> None:
    """Write a value, which broadcasts to the target's shape, into the target's memory."""
    if type(target) is not ForeignArray:
        raise mix_error("cpu", str(value.device), "a value of one is written into the memory of the other")
    if type(value) is ForeignArray and value.device is not target.device:
        raise mix_error(str(target.device), str(value.device), "a value of one is written into the memory of the other")
    store(target, Ellipsis, value)


# NumPy's protocols.


def apply_ufunc(self: ForeignArray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy calls for `np.sin(array)` and `ndarray + array`."""
    if any(hasattr(type(x), "evaluate_op") and type(x) is not ForeignArray for x in inputs):
        return NotImplemented
    there = UfuncThere(ufunc, _names(*(x for x in (*inputs, *options.get("out", ())) if type(x) is ForeignArray)))
    return there(*inputs, **options) if method == "__call__" else getattr(there, method)(*inputs, **options)


def apply_function(self: ForeignArray, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for `np.concatenate([array, array])`: the function of the same name."""
    names: Any = names_on(self.device)
    module = function.__module__.rpartition(".")[2]
    if module in ("linalg", "fft"):
        names = getattr(names, module)
    found = getattr(names, function.__name__)
    if found is function:
        raise Unspelled(function.__name__)
    return found(*args, **kwargs)


def no_array(self: ForeignArray, dtype: Any = None, copy: Any = None) -> Any:
    """NumPy's own code, and SciPy's, cannot read it: whoever wants host values says so."""
    raise Unspelled(f"code of NumPy's or SciPy's that reads {self!r}")


def bind() -> None:
    """Give `ForeignArray` its members."""
    cls: Any = ForeignArray
    for name, ufunc in _BINARY.items():
        setattr(cls, f"__{name}__", _ufunc_operator(ufunc))
        setattr(cls, f"__r{name}__", _ufunc_operator(ufunc, True))
        setattr(cls, f"__i{name}__", _inplace(f"{name}_" if name in ("and", "or") else name))
    for name, ufunc in _COMPARED.items():
        setattr(cls, f"__{name}__", _ufunc_operator(ufunc))
    for name, ufunc in _UNARY.items():
        setattr(cls, f"__{name}__", _ufunc_method(ufunc))
    for name in _FUNCTIONS:
        setattr(cls, name, _function_method(name))
    for function in (reshape, ravel, transpose, astype, copy, conj, sort, positions_of):
        setattr(cls, function.__name__, function)
    cls.conjugate, cls.flatten, cls.dot = conj, lambda self: self.reshape(-1).copy(), _function_method("matmul")
    cls.real, cls.imag = property(real, _part_setter("real")), property(imag, _part_setter("imag"))
    cls.T = property(transpose)
    cls.mT = property(lambda self: names_on(self.device).swapaxes(self, -1, -2))
    cls.__getitem__, cls.__setitem__ = read, store
    cls.__array_ufunc__, cls.__array_function__ = apply_ufunc, apply_function
    cls.__array__ = no_array
    cls.__hash__ = object.__hash__  # comparison is elementwise
    cls.names = staticmethod(names_on)
    cls.assign_payload = staticmethod(assign)
