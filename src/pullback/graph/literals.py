"""Attributes as text: what stands between the parentheses of a node besides its operands.

    axes=(1, 0)   index=(1:3, None, ...)   dtype=f32   whole=@_split   scale=0.5   template=('array', :)

Everything is written as Python writes it, with these additions: a slice is `start:stop:step`, a dtype its short name,
a NumPy scalar `f32(0.5)`, an operator `@name`, one step of a view `name(params)`, an array `array(f64[2], [1.0, 2.0])`.
Objects that have no text, such as a generator, become a placeholder `<Generator>`, which can not be read again.
`graph/parsing.py` reads what this module writes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.declare.op import Op
from pullback.declare.steps import ViewStep
from pullback.graph.types import ArrayType, type_of

_LETTERS = {"f": "f", "c": "c", "i": "i", "u": "u"}
_FEW, _MANY = 8, 64  # how many elements a person wants to see, and how many are written one by one

DTYPES: dict[str, np.dtype[Any]] = {"b1": np.dtype(bool)}
"""Dtypes by short name: `f64` is float64."""
for _char in "efdgFDGbhilBHIL":
    _dtype = np.dtype(_char)
    DTYPES[f"{_LETTERS[_dtype.kind]}{8 * _dtype.itemsize}"] = _dtype
_SHORT = {dtype: name for name, dtype in DTYPES.items()}
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}


class Described(NamedTuple):
    """How objects of a class are written: a name, and the values that they are made of again."""

    name: str
    values_of: Callable[[Any], tuple[Any, ...]]
    build: Callable[..., Any]
    # For people: the arguments of a node with this attribute, of the object, the operands' texts and the writer.
    arguments: Callable[[Any, list[str], Writer], list[str]] | None = None


described: dict[type, Described] = {}
"""Classes of attributes that belong to other packages. They add themselves."""


def dtype_text(dtype: np.dtype[Any]) -> str:
    """The short name of a dtype, or what makes it again."""
    return _SHORT.get(dtype) or f"dtype({dtype.str!r})"


def type_text(type: ArrayType) -> str:
    """A type as graphs print it: `f64[2,3]`, with strides in elements where they are not those of row-major order."""
    text = f"{dtype_text(type.dtype)}[{','.join(map(str, type.shape))}]"
    if type.strides is None:
        return text
    size = type.dtype.itemsize
    if all(stride % size == 0 for stride in type.strides):
        return f"{text}{{{','.join(str(stride // size) for stride in type.strides)}}}"
    return f"{text}{{{','.join(f'{stride}B' for stride in type.strides)}}}"


class Writer:
    """Writes values. `is_complete` says whether large arrays are written in full.

    `opaque` collects the objects that have no text, so that graphs with different ones can be told apart.
    """

    def __init__(self, is_complete: bool) -> None:
        self.is_complete = is_complete
        self.opaque: list[Any] = []

    def value(self, x: Any) -> str:
        """The text of one value."""
        kind = type(x)
        method = _WRITERS.get(kind)
        if method is not None:
            return str(getattr(self, method)(x))
        if isinstance(x, np.dtype):
            return self._dtype(x)
        if isinstance(x, np.generic):
            return self._scalar(x)
        if isinstance(x, Op):
            return self._operator(x)
        if isinstance(x, type):
            return self._type(x)
        entry = described.get(kind)
        if entry is not None:
            return f"{entry.name}({', '.join(map(self.value, entry.values_of(x)))})"
        return self._placeholder(x)

    def params(self, params: dict[str, Any]) -> list[str]:
        """Keyword parameters, each as `name=value`."""
        return [f"{name}={self.value(value)}" for name, value in params.items()]

    def step(self, step: ViewStep) -> str:
        """One step of a view."""
        return f"{step.op.name}({', '.join(self.params(step.params))})"

    def array(self, x: np.ndarray[Any, Any]) -> str:
        """The elements of an array; its type is written beside them."""
        if not self.is_complete and x.size > _FEW:
            head, last = ", ".join(map(_brief, x.flat[:3])), _brief(x.flat[-1])
            return f"[{head}, ..., {last}]"
        numbers = listed(x) if x.size <= (_MANY if self.is_complete else _FEW) else None
        if numbers is not None:
            return self.value(numbers)
        return f"base64='{base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()}'"

    def _typed_array(self, x: np.ndarray[Any, Any]) -> str:
        if x.dtype.hasobject:
            return self._placeholder(x)
        return f"array({type_text(type_of(x))}, {self.array(x)})"

    def _number(self, x: Any) -> str:
        return repr(x)

    def _tuple(self, x: tuple[Any, ...]) -> str:
        return f"({', '.join(map(self.value, x))}{',' if len(x) == 1 else ''})"

    def _list(self, x: list[Any]) -> str:
        return f"[{', '.join(map(self.value, x))}]"

    def _dict(self, x: dict[Any, Any]) -> str:
        return f"{{{', '.join(f'{self.value(key)}: {self.value(value)}' for key, value in x.items())}}}"

    def _slice(self, x: slice) -> str:
        start, stop, step = ("" if part is None else self.value(part) for part in (x.start, x.stop, x.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")

    def _ellipsis(self, x: Any) -> str:
        return "..."

    def _scalar(self, x: np.generic) -> str:
        number = listed(np.asarray(x))
        return self._placeholder(x) if number is None else f"{dtype_text(x.dtype)}({self.value(number)})"

    def _type(self, x: type) -> str:
        if PYTHON_TYPES.get(x.__name__) is x:
            return x.__name__
        if issubclass(x, np.generic) and getattr(np, x.__name__, None) is x:
            return f"np.{x.__name__}"
        return self._placeholder(x)

    def _dtype(self, x: np.dtype[Any]) -> str:
        return dtype_text(x)

    def _operator(self, x: Op) -> str:
        return f"@{x.name}"

    def _array_type(self, x: ArrayType) -> str:
        return type_text(x)

    def _placeholder(self, x: Any) -> str:
        self.opaque.append(x)
        return f"<{type(x).__name__}>"


_WRITERS: dict[type, str] = {
    **dict.fromkeys((type(None), bool, int, float, complex, str, bytes), "_number"),
    tuple: "_tuple",
    list: "_list",
    dict: "_dict",
    slice: "_slice",
    type(Ellipsis): "_ellipsis",
    ViewStep: "step",
    ArrayType: "_array_type",
    np.ndarray: "_typed_array",
}
"""Methods of `Writer` by the type of what they write."""


def _brief(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, (np.floating, np.complexfloating)) else repr(x.item())


def listed(x: np.ndarray[Any, Any]) -> Any:
    """The elements as nested lists of Python numbers, with the fewest digits; None if they would not come back."""
    if x.dtype not in _SHORT:
        return None
    numbers = _nested(x, _shortest) if x.dtype.char in "efF" else x.tolist()
    with np.errstate(all="ignore"):
        again = np.array(numbers, x.dtype).reshape(x.shape)
    if x.dtype.kind in "fc":
        parts = again.reshape(-1).view(again.real.dtype)
        parts[np.isnan(parts)] = np.nan  # `nan` says nothing of the sign and the other bits of this one
    return numbers if again.tobytes() == np.ascontiguousarray(x).tobytes() else None


def _shortest(x: Any) -> float | complex:
    if isinstance(x, np.complexfloating):
        return complex(float(str(x.real)), float(str(x.imag)))
    return float(str(x))


def _nested(x: np.ndarray[Any, Any], write: Callable[[Any], Any]) -> Any:
    return write(x[()]) if not x.ndim else [_nested(row, write) for row in x]


def laid_out(values: np.ndarray[Any, Any], type: ArrayType) -> np.ndarray[Any, Any]:
    """A read-only array of these values that lies in memory as the type says."""
    strides = type.byte_strides
    reach = [stride * (length - 1) for stride, length in zip(strides, type.shape, strict=True)]
    if type.strides is None or not math.prod(type.shape):
        out = np.empty(type.shape, type.dtype)
        out[...] = values
    else:
        first = -sum(step for step in reach if step < 0)
        memory = np.zeros(first + sum(step for step in reach if step > 0) + type.dtype.itemsize, np.uint8)
        out = np.ndarray(type.shape, type.dtype, memory.data, first, strides)
        out[...] = values
    out.flags.writeable = False
    return out


def decoded(text: str, type: ArrayType) -> np.ndarray[Any, Any]:
    """The array that `Writer.array` wrote in base64."""
    return np.frombuffer(base64.b64decode(text), type.dtype).reshape(type.shape)

