"""NumPy's ufuncs on foreign arrays: dtypes as NumPy resolves them, values by the library's function of that meaning.

Operands are cast before the call, to the dtypes that NumPy would compute with, so that no library's own promotion
counts. What a namespace lacks is written here with functions that every namespace has.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from pullback.errors import AutogradError
from pullback.payloads.devices import device
from pullback.payloads.foreign.array import ForeignArray, Unspelled, synced, uploaded, wrapped
from pullback.payloads.foreign.kinds import NAMES, Kind
from pullback.payloads.foreign.modes import no_sync_mode

_NUMBERS = (bool, int, float, complex)
_BOOL = np.dtype(np.bool_)
# On truth values NumPy's arithmetic is logic.
_LOGIC = {np.add: np.logical_or, np.multiply: np.logical_and, np.maximum: np.logical_or, np.minimum: np.logical_and}

# Arithmetic as the arrays themselves do it, also with Python's numbers.
_OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.power: operator.pow, np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne, np.negative: operator.neg,
}  # fmt: skip
_TAKE_NUMBERS = frozenset(_OPERATORS.values()) - {operator.neg}

Raw = Callable[..., Any]


# What namespaces may lack, by NumPy's ufunc: functions of the namespace and raw operands, which have one dtype.

spelled: dict[np.ufunc, Callable[..., Any]] = {}


def spelling(*ufuncs: np.ufunc) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says how ufuncs are computed with functions of the array API standard."""

    def attach(function: Callable[..., Any]) -> Callable[..., Any]:
        for ufunc in ufuncs:
            spelled[ufunc] = function
        return function

    return attach


spelled[np.fabs] = lambda xp, x: xp.abs(x)
spelled[np.float_power] = lambda xp, x, y: xp.pow(x, y)
spelled[np.exp2] = lambda xp, x: xp.exp(x * math.log(2)) if xp.is_complex(x) else xp.pow(xp.full_like(x, 2), x)
spelled[np.deg2rad] = spelled[np.radians] = lambda xp, x: x * (math.pi / 180)
spelled[np.rad2deg] = spelled[np.degrees] = lambda xp, x: x * (180 / math.pi)
spelled[np.reciprocal] = lambda xp, x: 1 / x
spelled[np.square] = lambda xp, x: x * x
spelled[np.positive] = lambda xp, x: x
spelled[np.vecdot] = lambda xp, x, y: xp.sum((xp.conj(x) if xp.is_complex(x) else x) * y, axis=-1)
spelled[np.logaddexp2] = lambda xp, x, y: xp.logaddexp(x * math.log(2), y * math.log(2)) / math.log(2)
spelled[np.fmin] = lambda xp, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.minimum(x, y)))
spelled[np.fmax] = lambda xp, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y)))
spelled[np.spacing] = lambda xp, x: xp.copysign(xp.nextafter(xp.abs(x), xp.full_like(x, math.inf)) - xp.abs(x), x)


@spelling(np.cbrt)
def _cbrt(xp: Any, x: Any) -> Any:
    root = xp.pow(xp.abs(x), xp.full_like(x, 1 / 3))
    # One step of Newton's: a power with an exponent that is rounded is not exact at cubes.
    safe = xp.where(root == 0, xp.full_like(root, 1), root)
    better = xp.where(xp.isfinite(x) & (root != 0), root - (root - xp.abs(x) / (safe * safe)) / 3, root)
    return xp.copysign(better, x)


@spelling(np.copysign)
def _copysign(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(xp.signbit(y), -xp.abs(x), xp.abs(x))


@spelling(np.heaviside)
def _heaviside(xp: Any, x: Any, y: Any) -> Any:
    steps = xp.where(x > 0, xp.full_like(x, 1), xp.full_like(x, 0))
    return xp.where(x == 0, y, xp.where(xp.isnan(x), x, steps))


@spelling(np.fmod)
def _fmod(xp: Any, x: Any, y: Any) -> Any:
    if not xp.is_floating(x):
        quotient = xp.remainder(xp.abs(x), xp.abs(y))
        return xp.where(x < 0, -quotient, quotient)
    return xp.copysign(xp.remainder(xp.abs(x), xp.abs(y)), x)


@spelling(np.ldexp)
def _ldexp(xp: Any, x: Any, y: Any) -> Any:
    # In two halves: one power alone overflows where the product does not.
    half = xp.floor_divide(y, 2)
    two = xp.full_like(x, 2)
    return x * xp.pow(two, xp.astype(half, x.dtype)) * xp.pow(two, xp.astype(y - half, x.dtype))


@spelling(np.hypot)
def _hypot(xp: Any, x: Any, y: Any) -> Any:
    x, y = xp.abs(x), xp.abs(y)
    large, small = xp.maximum(x, y), xp.minimum(x, y)
    ratio = small / xp.where(large == 0, xp.full_like(large, 1), large)
    found = large * xp.sqrt(1 + ratio * ratio)
    return xp.where(xp.isinf(x) | xp.isinf(y), xp.full_like(found, math.inf), found)


@spelling(np.logaddexp)
def _logaddexp(xp: Any, x: Any, y: Any) -> Any:
    large, small = xp.maximum(x, y), xp.minimum(x, y)
    return xp.where(xp.isinf(large), large, large + xp.log1p(xp.exp(small - large)))


@spelling(np.floor_divide)
def _floor_divide(xp: Any, x: Any, y: Any) -> Any:
    return xp.floor(x / y) if xp.is_floating(x) else xp.floor_divide(x, y)


@spelling(np.gcd)
def _gcd(xp: Any, x: Any, y: Any) -> Any:
    x, y = xp.broadcast_arrays(xp.abs(x), xp.abs(y))
    for _ in range(93):  # the steps of the longest chain of remainders in 64 bits
        is_done = y == 0
        rest = xp.remainder(x, xp.where(is_done, xp.full_like(y, 1), y))
        x, y = xp.where(is_done, x, y), xp.where(is_done, y, rest)
    return x


@spelling(np.lcm)
def _lcm(xp: Any, x: Any, y: Any) -> Any:
    common = _gcd(xp, x, y)
    return xp.abs(xp.floor_divide(x, xp.where(common == 0, xp.full_like(common, 1), common)) * y)


@spelling(np.bitwise_count)
def _bitwise_count(xp: Any, x: Any) -> Any:
    x, count = xp.abs(x), xp.full_like(x, 0)
    for place in range(64):
        count = count + xp.bitwise_and(xp.bitwise_right_shift(x, xp.full_like(x, place)), xp.full_like(x, 1))
    return count


def _is_less(xp: Any, x: Any, y: Any) -> Any:
    """NumPy's order of complex numbers: by real parts, and imaginary parts where those are equal."""
    a, b, c, d = xp.real(x), xp.imag(x), xp.real(y), xp.imag(y)
    return ((a < c) & ~xp.isnan(b) & ~xp.isnan(d)) | ((a == c) & (b < d))


def _is_at_most(xp: Any, x: Any, y: Any) -> Any:
    a, b, c, d = xp.real(x), xp.imag(x), xp.real(y), xp.imag(y)
    return ((a < c) & ~xp.isnan(b) & ~xp.isnan(d)) | ((a == c) & (b <= d))


# The order of complex numbers, which no library has.
_ORDERED: dict[np.ufunc, Callable[..., Any]] = {
    np.less: _is_less,
    np.less_equal: _is_at_most,
    np.greater: lambda xp, x, y: _is_less(xp, y, x),
    np.greater_equal: lambda xp, x, y: _is_at_most(xp, y, x),
    np.maximum: lambda xp, x, y: xp.where(_is_at_most(xp, y, x) | xp.isnan(x), x, y),
    np.minimum: lambda xp, x, y: xp.where(_is_at_most(xp, x, y) | xp.isnan(x), x, y),
    np.fmax: lambda xp, x, y: xp.where(_is_at_most(xp, y, x) | xp.isnan(y), x, y),
    np.fmin: lambda xp, x, y: xp.where(_is_at_most(xp, x, y) | xp.isnan(y), x, y),
}
_LOGICAL = frozenset({np.logical_and, np.logical_or, np.logical_xor, np.logical_not})


class Plan:
    """How one ufunc is computed on operands of certain dtypes."""

    __slots__ = ("casts", "function", "is_exact", "outputs", "takes_numbers")

    def __init__(self, function: Raw, casts: tuple[np.dtype[Any], ...], outputs: tuple[np.dtype[Any], ...]) -> None:
        self.function = function
        self.casts = casts
        self.is_exact = False  # a call has shown that the library gives the dtype by itself
        self.outputs = outputs
        self.takes_numbers = function in _TAKE_NUMBERS and casts[0] == casts[1]


def plan_of(ufunc: np.ufunc, kinds: tuple[Any, ...], place: device, dtype: Any = None) -> Plan:
    """The plan for operands of these dtypes; of Python numbers, their types."""
    key = (ufunc, kinds, dtype)
    found = place.functions.get(key)
    if found is None:
        found = place.functions[key] = _planned(ufunc, kinds, place, dtype)
    return found  # type: ignore[return-value]


def _planned(ufunc: np.ufunc, kinds: tuple[Any, ...], place: device, dtype: Any) -> Plan:
    weak = tuple([_BOOL if kind is bool else kind for kind in kinds])
    asked: dict[str, Any] = {}
    if dtype is not None:
        asked["signature"] = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    resolved = ufunc.resolve_dtypes((*weak, *(None,) * ufunc.nout), **asked)
    casts, outputs = resolved[: ufunc.nin], resolved[ufunc.nin :]
    if ufunc in _LOGIC and casts[0] == _BOOL:
        ufunc = _LOGIC[ufunc]
    return Plan(raw_function(place.kind, ufunc, casts[0]), casts, outputs)


class NumPyRefuses(ValueError):
    """Operands that NumPy has no answer for either."""


def _whole_power(kind: Kind, x: Any, y: Any) -> Any:
    """A power of whole numbers; libraries have different answers where NumPy has none."""
    if not kind.lazy and not kind.is_unlinked(y):
        if no_sync_mode.get():
            raise AutogradError(
                "FOREIGN_SYNC",
                f"a power of whole numbers on arrays of {kind.name}",
                why="whether an exponent is negative, which has no answer, is a question for values",
                fix="convert to floating point numbers, or compute it outside of pb.interop.no_sync()",
            )
        if bool((y < 0).any() if hasattr(y, "any") else kind.namespace.any(y < 0)):
            raise NumPyRefuses("Integers to negative integer powers are not allowed.")
    return x**y


def raw_function(kind: Kind, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Raw:
    """What computes a ufunc on raw arrays of one dtype."""
    name = NAMES.get(ufunc.__name__, ufunc.__name__)
    if dtype.kind == "c" and ufunc in _ORDERED:
        return functools.partial(_ORDERED[ufunc], kind.namespace)
    if ufunc is np.power and dtype.kind in "iu":
        return functools.partial(_whole_power, kind)
    own = kind.ufunc(ufunc, name, dtype)
    if own is not None:
        return own
    if ufunc in _OPERATORS:
        return _OPERATORS[ufunc]
    is_numpys = getattr(np, ufunc.__name__, None) is ufunc
    if not is_numpys:
        found = kind.special_function(ufunc.__name__)
        if found is None:
            raise Unspelled
        return found
    if ufunc in _LOGICAL and dtype != _BOOL:
        logical = getattr(kind.namespace, name)
        return lambda *operands: logical(*[x != 0 for x in operands])
    if ufunc is np.conjugate and dtype.kind != "c":
        return lambda x: x
    if name == "round" and dtype.kind in "biu":
        return lambda x: x
    if name == "round" and dtype.kind == "c":
        xp, rounded = kind.namespace, kind.namespace.round
        return lambda x: xp.join_parts(rounded(xp.real(x)), rounded(xp.imag(x)))
    found = kind.function(name)
    if found is not None:
        return found
    if ufunc in spelled:
        return functools.partial(spelled[ufunc], kind.namespace)
    raise Unspelled


def operand_kind(x: Any) -> Any:
    """What decides the dtype of an operation, of one operand: its dtype, or the type of a Python number."""
    cls = type(x)
    if cls is ForeignArray or cls is np.ndarray:
        return x.dtype
    return cls if cls in _NUMBERS else np.asarray(x).dtype


def elementwise(ufunc: np.ufunc, operands: tuple[Any, ...], place: device, dtype: Any = None) -> Any:
    """A ufunc of foreign arrays on one device, host arrays and numbers."""
    plan = plan_of(ufunc, tuple([operand_kind(x) for x in operands]), place, dtype)
    present = None if place.kind.streams is None else synced(place, operands)
    raws = []
    for x, wanted in zip(operands, plan.casts, strict=True):
        cls = type(x)
        if cls is ForeignArray:
            raws.append(x.array if x.dtype == wanted else x.astype(wanted).array)
        elif cls in _NUMBERS and plan.takes_numbers and wanted.kind in "fc" and cls is not bool:
            raws.append(x)
        else:
            raws.append(place.kind.upload(np.asarray(x, wanted), place.raw))
    out = plan.function(*raws)
    if place.kind.mutable and any(out is raw for raw in raws):
        out = place.kind.copied(out)  # a result is in memory of its own
    if type(out) is tuple:
        return tuple([_result(each, place, dtype) for each, dtype in zip(out, plan.outputs, strict=True)])
    made = _result(out, place, plan.outputs[0])
    plan.is_exact = made._array is out
    if present is not None:
        made.made_on = present
    return made


def _result(raw: Any, place: device, dtype: np.dtype[Any]) -> ForeignArray:
    made = wrapped(raw, place)
    if made.dtype != dtype:
        made = wrapped(place.kind.cast(raw, dtype), place, made.shape, dtype)
    return made


def direct(ufunc: np.ufunc, place: device) -> Callable[[Any, Any], Any]:
    """The same as the way of an operator without parameters: calls like one that was seen to need no casts go to the
    library at once. bench/foreign.py"""
    known: dict[Any, Any] = {}
    seen = known.get
    learns = place.kind.streams is None

    def way(operands: Any, params: Any) -> Any:
        x = operands[0]
        if type(x) is ForeignArray:
            if len(operands) == 1:
                found = seen(x.dtype)
                if found is not None:
                    raw = found[0](x.array)
                    if raw is not x._array:
                        return wrapped(raw, place, x.shape, found[1])
            elif len(operands) == 2:
                y = operands[1]
                if type(y) is ForeignArray:
                    found = seen(x.dtype) if x.dtype is y.dtype else None
                    if found is not None:
                        shape = x.shape if x.shape == y.shape else None
                        return wrapped(found[0](x.array, y.array), place, shape, found[1])
                else:
                    found = seen((x.dtype, type(y)))
                    if found is not None:
                        return wrapped(found[0](x.array, y), place, x.shape, found[1])
        elif len(operands) == 2 and type(operands[1]) is ForeignArray:
            y = operands[1]
            found = seen((type(x), y.dtype))
            if found is not None:
                return wrapped(found[0](x, y.array), place, y.shape, found[1])
        given = tuple([np.asarray(each) if isinstance(each, np.generic) else each for each in operands])
        made = elementwise(ufunc, given, place)
        if learns and ufunc.nout == 1:
            kinds = tuple([operand_kind(each) for each in given])
            arrays = [each.dtype for each in given if type(each) is ForeignArray]
            numbers = [kind for kind in kinds if kind is int or kind is float]
            if len(arrays) + len(numbers) == len(given) and len(set(arrays)) == 1:
                plan = plan_of(ufunc, kinds, place)
                takes = not numbers or (plan.takes_numbers and arrays[0].kind in "fc")
                if takes and plan.is_exact and all(dtype == arrays[0] for dtype in plan.casts):
                    known[kinds if numbers else arrays[0]] = plan.function, plan.outputs[0]
        return made

    return way


def direct_on(ufunc: np.ufunc, place: device) -> Callable[[Any, Any], Any]:
    """`direct`, made once."""
    found = place.functions.get(ufunc)
    if found is None:
        found = place.functions[ufunc] = direct(ufunc, place)  # type: ignore[assignment]
    return found


class UfuncThere:
    """A ufunc as kernels call it that run on foreign arrays."""

    def __init__(self, ufunc: np.ufunc, names: Any) -> None:
        self.ufunc = ufunc
        self.names = names
        self.__name__ = ufunc.__name__
        self.nin, self.nout, self.identity = ufunc.nin, ufunc.nout, ufunc.identity

    def __call__(self, *operands: Any, out: Any = None, where: Any = True, dtype: Any = None, **options: Any) -> Any:
        operands, out = _split_out(operands, self.ufunc.nin, out)
        if not any(type(x) is ForeignArray for x in (*operands, out, where)):
            extra = {} if out is None else {"out": out}
            return self.ufunc(*operands, where=where, dtype=dtype, **extra, **options)
        names = self.names
        if not any(type(x) is ForeignArray for x in operands):
            result: Any = names.asarray_there(self.ufunc(*operands, dtype=dtype))
        elif self.ufunc is np.matmul:
            result = names.matmul(*operands)
        else:
            result = elementwise(self.ufunc, tuple(map(_known, operands)), names.device, dtype)
        if out is None:
            return result
        names.copyto(out, result if where is True else names.where(where, result, out), casting="unsafe")
        return out

    def reduce(
        self, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        """`ufunc.reduce`."""
        if type(x) is not ForeignArray:
            extra = {} if initial is None else {"initial": initial}
            return self.ufunc.reduce(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where, **extra)  # type: ignore[call-overload]
        result = self.names.reduced(self.ufunc, x, axis, dtype, keepdims, initial, where)
        if out is None:
            return result
        self.names.copyto(out, result)
        return out

    def accumulate(self, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """`ufunc.accumulate`."""
        if type(x) is not ForeignArray:
            return self.ufunc.accumulate(x, axis, dtype, out)
        result = self.names.accumulated(self.ufunc, x, axis, dtype)
        if out is None:
            return result
        self.names.copyto(out, result)
        return out

    def at(self, x: Any, index: Any, values: Any = None) -> None:
        """`ufunc.at`."""
        if type(x) is not ForeignArray and type(values) is not ForeignArray:
            self.ufunc.at(x, index, values)
        elif self.ufunc is np.add:
            self.names.add_at(x, index, values)
        else:
            raise Unspelled

    def reduceat(self, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
        """`ufunc.reduceat`."""
        if type(x) is not ForeignArray:
            return self.ufunc.reduceat(x, indices, axis, dtype)
        starts = np.asarray(indices)
        if (np.diff(starts) <= 0).any():
            raise Unspelled(f"{self.ufunc.__name__}.reduceat")
        x = self.names.moveaxis(x, axis, 0)
        dtype = self.ufunc.reduceat(np.ones(1, x.dtype), [0], dtype=dtype).dtype
        if self.ufunc is np.add:
            out = self.names.zeros((len(starts), *x.shape[1:]), dtype)
            numbers = np.searchsorted(starts, np.arange(starts[0], x.shape[0]), "right") - 1
            self.names.add_at(out, numbers, x[int(starts[0]) :].astype(dtype, copy=False))
        else:
            bounds = pairwise([*starts.tolist(), x.shape[0]])
            out = self.names.stack([self.reduce(x[begin:end], axis=0, dtype=dtype) for begin, end in bounds])
        return self.names.moveaxis(out, 0, axis)

    def outer(self, x: Any, y: Any) -> Any:
        """`ufunc.outer`."""
        return self(x.reshape((*x.shape, *(1,) * y.ndim)), y)


def _split_out(operands: tuple[Any, ...], count: int, out: Any) -> tuple[tuple[Any, ...], Any]:
    if len(operands) > count:
        operands, out = operands[:count], operands[count]
    return operands, out[0] if type(out) is tuple else out


def _known(x: Any) -> Any:
    return x if type(x) in _NUMBERS or type(x) is ForeignArray else np.asarray(x)


def there(x: Any, place: device, dtype: Any = None) -> ForeignArray:
    """A foreign array as it is, anything else uploaded."""
    if type(x) is ForeignArray:
        return x
    if hasattr(type(x), "evaluate_op"):
        raise AutogradError("INTERNAL", f"a {type(x).__name__} inside of a kernel for {place}")
    return uploaded(np.asarray(x, dtype), place)
