"""`Kind`: what Pullback knows of one library of arrays, and the table of kinds.

A kind is found by the type of an array, by its module's name, without importing the library. What the array API
standard says is the default of every method here; a library's own file (`libraries/`) overrides what it does otherwise,
and is loaded when its first array arrives.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from pullback.errors import AutogradError
from pullback.payloads.devices import Registered, device

_STANDARD_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
NAMES: dict[str, str] = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "absolute": "abs", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "conjugate": "conj", "power": "pow", "rint": "round",
}  # fmt: skip
"""The standard's names of NumPy's functions, where they differ."""
# Functions whose meaning in every namespace of the standard is NumPy's: the samples of all operators verify it.
VERIFIED = frozenset({
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign", "cos",
    "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot", "imag",
    "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "multiply", "negative", "nextafter",
    "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "subtract", "tan", "tanh", "trunc",
})  # fmt: skip


class Kind:
    """A library of arrays. `namespace` has the functions of the array API standard; `types` says whose arrays they are.

    Types are classes, or texts `"module.Class"`, so that a library need not be imported to be known. `special` is a
    namespace of mathematical functions by SciPy's names, and `spellings` functions of raw arrays by the names of
    operators, which win over everything else.

    >>> import array_api_strict as xp
    >>> pb.interop.Kind("mine", ("mylibrary.Array",), xp)
    <kind mine>
    """

    def __init__(
        self, name: str, types: Iterable[Any], namespace: Any, dtypes: Mapping[Any, Any] | None = None, *,
        mutable: bool = False, views: bool = False, lazy: bool = False, streams: Any = None, special: Any = None,
        spellings: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.types = tuple(types)
        self.namespace = namespace if hasattr(namespace, "is_complex") else Standard(namespace)
        self.mutable = mutable
        self.views = views
        self.lazy = lazy
        self.streams = streams
        self.special = special
        self.spellings = dict(spellings or {})
        if dtypes is None:
            found = {each: getattr(namespace, each, None) for each in _STANDARD_DTYPES}
            dtypes = {each: raw for each, raw in found.items() if raw is not None}
        self.dtypes = {np.dtype(ours): raw for ours, raw in dtypes.items()}
        self._ours: dict[Any, np.dtype[Any]] = {raw: ours for ours, raw in self.dtypes.items()}
        self._devices: dict[Any, device] = {}

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    # Dtypes and devices.

    def dtype_of(self, array: Any) -> np.dtype[Any]:
        """NumPy's dtype of an array of the library."""
        found = self._ours.get(array.dtype)
        if found is None:
            raise self.no_dtype(array.dtype)
        return found

    def raw_dtype(self, dtype: np.dtype[Any]) -> Any:
        """The library's dtype."""
        found = self.dtypes.get(dtype)
        if found is None:
            raise self.no_dtype(dtype)
        return found

    def no_dtype(self, dtype: Any) -> AutogradError:
        """The error for a dtype that NumPy or the library lacks."""
        return AutogradError(
            "FOREIGN_DTYPE",
            f"there is no {dtype} both in {self.name} and in NumPy",
            why="results have the dtypes that NumPy would give them, and none is rounded to another without a word",
            fix="convert the array to a dtype that both have; for bfloat16 and float8 install ml_dtypes",
        )

    def device_of(self, array: Any) -> device:
        """The device of an array."""
        return self.device(self.raw_device(array))

    def raw_device(self, array: Any) -> Any:
        """The library's own object for where an array lies."""
        return array.device

    def device(self, raw: Any) -> device:
        """Our device for the library's."""
        found = self._devices.get(raw)
        if found is None:
            found = str.__new__(device, self.device_text(raw))
            found.kind, found.raw, found.functions = self, raw, {}
            found = self._devices.setdefault(raw, found)
        return found

    def device_text(self, raw: Any) -> str:
        """How our device for the library's is written."""
        return f"{self.name}:{raw}"

    def parsed_device(self, text: str) -> Any:
        """The library's object for the device that is written so behind the name of the kind; "" is its default."""
        return text or self.raw_device(self.namespace.zeros(()))

    def is_raw_device(self, thing: Any) -> bool:
        """Is this a device object of the library?"""
        return False

    def is_host(self, raw: Any) -> bool:
        """Can NumPy read the memory of this device?"""
        return True

    # Arrays.

    def shape_of(self, array: Any) -> tuple[int, ...]:
        """The shape of an array as plain numbers."""
        shape = tuple(array.shape)
        if any(type(length) is not int for length in shape):
            shape = tuple([self._length(length) for length in shape])
        return shape

    def _length(self, length: Any) -> int:
        if length is None or length != length:
            raise AutogradError(
                "FOREIGN_SHAPE",
                f"an array of {self.name} has an axis of unknown length",
                why="shapes are numbers, which every derivative rule reads",
                fix="compute the lengths first (dask: x.compute_chunk_sizes()), or use pb.where with a mask",
            )
        return int(length)

    def check(self, array: Any) -> None:
        """Raise if the array cannot be taken: another tape records it."""

    def upload(self, array: np.ndarray[Any, Any], raw: Any) -> Any:
        """A host array on a device: a copy."""
        self.raw_dtype(array.dtype)
        return self.namespace.asarray(array, dtype=self.raw_dtype(array.dtype), device=raw, copy=True)

    def sent(self, array: Any, raw: Any) -> Any:
        """A copy on another device of the same library."""
        return array.to_device(raw)

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        """The values as a host array, which may share memory."""
        return np.asarray(array)

    def copied(self, array: Any) -> Any:
        """A copy within the library."""
        return self.namespace.asarray(array, copy=True)

    def address_of(self, array: Any) -> tuple[int, tuple[int, ...]]:
        """Where the memory of an array of a library with views begins, and its strides in bytes."""
        raise NotImplementedError

    def copy_into(self, array: Any, value: Any) -> None:
        """Write a value of the same shape and dtype into the memory of an array."""
        array[...] = value

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """The array with another dtype."""
        return self.namespace.astype(array, self.raw_dtype(dtype))

    def read_item(self, array: Any, index: tuple[Any, ...]) -> Any:
        """The array at a basic index."""
        return array[index]

    def write_item(self, array: Any, index: tuple[Any, ...], value: Any) -> Any:
        """A new array with `value` at a basic index."""
        made = self.copied(array)
        made[index] = value
        return made

    def scattered(self, flat: Any, places: Any, values: Any, adds: bool) -> Any:
        """A vector with values put at places, or added there; None if the library cannot.

        `places` are an array of the library, or NumPy's; of equal places the last value counts.
        """
        return None

    def reduction(self, name: str) -> Callable[..., Any]:
        """A reduction over several axes: `sum`, `prod`, `max`, `min`, `any` or `all`; the dtype stays."""
        return self.namespace.reduction(name)

    def scan(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        """What accumulates along an axis, if the library has it; the dtype stays."""
        return self.namespace.scan(ufunc)

    def argsort(self, array: Any, axis: int) -> Any:
        """The order along an axis, NaN last; equal elements stay as they are."""
        return self.namespace.argsort(array, axis=axis, stable=True)

    def first_extreme(self, name: str) -> Callable[[Any, int], Any]:
        """`argmax` or `argmin` along an axis: the first of equal elements, a NaN before all others."""
        function = getattr(self.namespace, name)
        return lambda array, axis: function(array, axis=axis)

    def matmul(self, x: Any, y: Any) -> Any:
        """A product of matrices of one dtype."""
        return self.namespace.matmul(x, y)

    def einsum(self, subscripts: str, operands: list[Any]) -> Any:
        """A contraction with an explicit result; None if the library has none."""
        return None

    def nonzero(self, array: Any) -> tuple[Any, ...]:
        """The places of elements that are not zero, by axis. The argument is a ForeignArray."""
        if not array.ndim:
            raise ValueError("nonzero of an array without axes")
        return tuple(self.namespace.nonzero(array.array))

    def diagonal(self, offset: int, axis1: int, axis2: int) -> Callable[..., Any] | None:
        """How a view of a diagonal is read; None: element by element."""
        return None

    def ufunc(self, ufunc: np.ufunc, name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
        """The library's own function for a ufunc on this dtype, where the standard's of that name will not do."""
        return None

    def function(self, name: str) -> Callable[..., Any] | None:
        """The library's function of this name of the standard, if it is known to mean the same."""
        return getattr(self.namespace, name, None) if name in VERIFIED else None

    def special_function(self, name: str) -> Callable[..., Any] | None:
        """The library's mathematical function of SciPy's name, where it has one."""
        return None if self.special is None else getattr(self.special, name, None)

    def is_linalg_error(self, error: BaseException) -> bool:
        """Does the library say by this that a matrix has no solution or factor?"""
        return type(error).__name__ in ("LinAlgError", "_LinAlgError")

    def draws(self, generator: Any) -> Any:
        """What draws from a generator of the library (`generators.py`); None if its state cannot be kept."""
        return None

    def synchronize(self, device: device) -> None:
        """Wait for what a device computes."""

    def shown(self, array: Any) -> str | None:
        """How an array is printed that is not to be computed for that; None for its values."""
        return None

    def is_unlinked(self, array: Any) -> bool:
        """Has the array no values, as on a device for shapes alone?"""
        return False


class Standard:
    """A namespace of the array API standard, with a few things that follow from it."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        setattr(self, name, found)
        return found

    def is_complex(self, x: Any) -> bool:
        """Are the elements complex numbers?"""
        return self._module.isdtype(x.dtype, "complex floating")

    def is_floating(self, x: Any) -> bool:
        """Are the elements real floating point numbers?"""
        return self._module.isdtype(x.dtype, "real floating")

    def join_parts(self, real: Any, imag: Any) -> Any:
        """Complex numbers of their parts."""
        xp = self._module
        dtype = xp.complex64 if real.dtype == xp.float32 else xp.complex128
        real, imag = xp.astype(real, dtype), xp.astype(imag, dtype)
        # An infinite or undefined imaginary part times 1j would also be one of the real part.
        return xp.where(xp.real(imag) == 0, real, real + imag * 1j)

    def reduction(self, name: str) -> Callable[..., Any]:
        """A reduction over several axes; the dtype stays."""
        function = getattr(self._module, name)
        if name in ("sum", "prod"):
            return lambda x, axis, keepdims: function(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
        return function

    def scan(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        """What accumulates along an axis; the dtype stays."""
        name = {np.add: "cumulative_sum", np.multiply: "cumulative_prod"}.get(ufunc, "")
        function = getattr(self._module, name, None)
        return None if function is None else lambda x, axis: function(x, axis=axis, dtype=x.dtype)


# The table.

_LIBRARIES = {
    "torch": "torch", "jax": "jax", "jaxlib": "jax", "dask": "dask", "array_api_strict": "strict",
}  # fmt: skip
"""The modules of arrays, and the files of their kinds."""
_by_name: dict[str, Kind] = {}
_by_type: dict[type, Kind | None] = {np.ndarray: None}
_lock = threading.RLock()


def register_kind(kind: Kind) -> Kind:
    """Make the arrays of another library known: `pb.foreign` takes them from now on.

    >>> import array_api_strict as xp
    >>> pb.interop.register_kind(pb.interop.Kind("mine", ("mylibrary.Array",), xp))
    <kind mine>
    """
    with _lock:
        Registered.note()
        _by_name[kind.name] = kind
        for found in [each for each, known in _by_type.items() if known is None and each is not np.ndarray]:
            del _by_type[found]
        for each in kind.types:
            if isinstance(each, type):
                _by_type[each] = kind
    return kind


def kind_of(array: Any) -> Kind | None:
    """The kind of a raw array; None of everything else."""
    cls = type(array)
    try:
        return _by_type[cls]
    except KeyError:
        return _look_up(cls, array)


def _look_up(cls: type, array: Any) -> Kind | None:
    with _lock:
        found = None
        package = (cls.__module__ or "").partition(".")[0]
        if package in _LIBRARIES:
            _of_library(_LIBRARIES[package])
        for kind in _by_name.values():
            if any(_fits(cls, each) for each in kind.types):
                found = kind
        if found is None and package == "sparse":  # it follows the standard
            raise sparse_error(f"a {cls.__name__} of the library sparse", "x.todense()")
        if found is None and package not in _LIBRARIES and _is_standard(array):
            found = _of_standard(array)
        _by_type[cls] = found
        return found


def sparse_error(what: str, dense: str) -> AutogradError:
    """The error for arrays most of whose elements have no place that a rule could address."""
    return AutogradError(
        "FOREIGN_MEMORY",
        f"{what} cannot become the array behind a Pullback tensor",
        why="operators are for arrays of which every element has its place, and gradients are such arrays, too",
        fix=f"give {dense}, or the stored numbers as a vector; a constant matrix of scipy.sparse multiplies tensors",
    )


def _fits(cls: type, named: Any) -> bool:
    if isinstance(named, type):
        return issubclass(cls, named)
    return any(f"{base.__module__}.{base.__qualname__}" == named for base in cls.__mro__)


def _is_standard(array: Any) -> bool:
    return (
        hasattr(type(array), "__array_namespace__")
        and not isinstance(array, np.ndarray)
        and not type(array).__module__.startswith("pullback")
        and not isinstance(array, np.generic)
    )


def _of_standard(array: Any) -> Kind:
    namespace = array.__array_namespace__()
    name = namespace.__name__.rpartition(".")[2]
    return _by_name.get(name) or register_kind(Kind(name, (type(array),), namespace))


def _of_library(name: str) -> Kind | None:
    if name not in _by_name:
        module = importlib.import_module(f"{__package__}.libraries.{name}_arrays")
        register_kind(module.make_kind())
    return _by_name[name]


def is_kind(name: str) -> bool:
    """Is there a kind of this name?"""
    return name in _by_name


def kind_named(name: str) -> Kind:
    """The kind of this name; its library is imported if need be."""
    found = _by_name.get(name)
    if found is None and name in _LIBRARIES.values():
        try:
            found = _of_library(name)
        except ImportError as error:
            raise AutogradError(
                "FOREIGN_KIND",
                f"arrays of {name} are wanted, and the library cannot be imported ({error})",
                why="the values lie in arrays of that library",
                fix=f"install {name}, or convert to NumPy where it is installed: x.to('cpu')",
            ) from None
    if found is None:
        raise AutogradError(
            "FOREIGN_KIND",
            f"there is no kind of arrays {name!r}",
            why="the kinds are those that Pullback knows, and those of pb.interop.register_kind",
            fix="register the kind before it is used",
        )
    return found


def device_named(name: Any) -> device | None:
    """The device of a text such as `"torch:cuda:0"`, or of a library's own device object; None if there is none."""
    if isinstance(name, str):
        kind, _, rest = str(name).partition(":")
        if kind not in _by_name and kind not in _LIBRARIES.values():
            return None
        found = kind_named(kind)
        return found.device(found.parsed_device(rest))
    package = (type(name).__module__ or "").partition(".")[0]
    if package in _LIBRARIES:
        _of_library(_LIBRARIES[package])
    for each in _by_name.values():
        if each.is_raw_device(name):
            return each.device(name)
    return None
