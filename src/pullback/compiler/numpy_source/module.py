"""`Module`: the names of generated source. What the functions refer to stands above them, each under a name of its own.

Numbers, tuples and slices are written where they are used. Arrays, dtypes and kernels are bound to names that all
functions of the module see, so that a call neither builds nor looks up anything it could have at hand.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import Any, NamedTuple

import numpy as np

from pullback.graph.literals import type_text
from pullback.graph.types import type_of

_NUMBER_WORDS = {0: "zero", 1: "one", 2: "two", 3: "three", 4: "four", 0.5: "half", -1: "minus_one", 10: "ten"}
_PLAIN = (bool, int, str, bytes, type(None), type(...))


class Binding(NamedTuple):
    """An object that the source calls by name; `role` says what it is to whoever writes it as source."""

    value: Any
    role: str


class Module:
    """Names that are taken, objects bound to some of them, and the text of the functions."""

    def __init__(self) -> None:
        self.bindings: dict[str, Binding] = {}
        self.functions: list[str] = []
        self._taken = {"np", *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
        self._numbers: dict[str, int] = {}  # the last number that was put behind a word
        self._bound: dict[Any, str] = {}

    def name(self, wanted: str) -> str:
        """An unused name like this one."""
        word = re.sub(r"\W+", "_", wanted)
        word = (word.rstrip("_") if wanted.isidentifier() else word.strip("_")) or "value"
        if word[0].isdigit():
            word = f"value_{word}"
        name = word
        while name in self._taken:
            self._numbers[word] = number = self._numbers.get(word, 1) + 1
            name = f"{word}_{number}"
        self._taken.add(name)
        return name

    def bind(self, value: Any, wanted: str, role: str) -> str:
        """The name of an object; the same one for the same object."""
        key = (id(value), role)
        if key not in self._bound:
            self._bound[key] = self.name(wanted)
            self.bindings[self._bound[key]] = Binding(value, role)
        return self._bound[key]

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> str:
        """The name of an array without axes that holds a number. NumPy takes half as long to read it."""
        # The representation tells 0.0 from -0.0, and a nan from other nans is never told.
        key = ("scalar", repr(value), dtype)
        if key not in self._bound:
            array = np.array(value, dtype)
            array.flags.writeable = False
            self._bound[key] = self.name(_number_word(value))
            self.bindings[self._bound[key]] = Binding(array, "array")
        return self._bound[key]

    def text(self, value: Any, wanted: str = "constant") -> str:
        """An expression for a static value."""
        if type(value) in _PLAIN:
            return "..." if value is ... else repr(value)
        if type(value) is float:
            return _float_text(value)
        if type(value) is complex and math.isfinite(value.real) and math.isfinite(value.imag):
            return repr(value)
        if type(value) is slice:
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if type(value) in (tuple, list):
            parts = [self.text(part, wanted) for part in value]
            inside = ", ".join(parts) + ("," if type(value) is tuple and len(parts) == 1 else "")
            return f"({inside})" if type(value) is tuple else f"[{inside}]"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.text(k)}: {self.text(v, wanted)}" for k, v in value.items()) + "}"
        if isinstance(value, np.dtype):
            return self.dtype(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.bind(value, wanted, "array")
        return self.bind(value, wanted, "object")

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """The name of a dtype."""
        key = ("dtype", dtype)
        if key not in self._bound:
            self._bound[key] = self.name(dtype.name)
            self.bindings[self._bound[key]] = Binding(dtype, "dtype")
        return self._bound[key]

    def namespace(self) -> dict[str, Any]:
        """What the functions find under the names of the module."""
        return {"np": np, **{name: binding.value for name, binding in self.bindings.items()}}

    def source(self) -> str:
        """All functions, those that others call first, below a list of the names that they find in the namespace."""
        names = [f"# {name}: {_summary(binding)}" for name, binding in self.bindings.items()]
        return "\n".join(names) + "\n" * (3 if names else 0) + "\n\n\n".join(self.functions) + "\n"


def _summary(binding: Binding) -> str:
    value, role = binding
    if role == "array" and value.size == 1:
        return f"{value.dtype} {value.item()!r}{f' of shape {value.shape}' if value.shape else ''}"
    if role == "array":
        return f"a constant {type_text(type_of(value))}"
    if role.startswith("kernel "):
        return f"the kernel of `{role.removeprefix('kernel ')}`"
    return f"{role} {getattr(value, '__name__', type(value).__name__)}"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _number_word(value: Any) -> str:
    if type(value) is not complex and value in _NUMBER_WORDS and not (value == 0 and math.copysign(1, value) < 0):
        return _NUMBER_WORDS[value]
    return "number_" + repr(value).replace("-", "minus_").replace("+", "")


def subscript(module: Module, index: tuple[Any, ...], is_scalar: bool) -> str:
    """`[1:, None]` for an index of ints, slices, None and Ellipsis.

    An Ellipsis at the end is left out where the result has axes; without axes it makes the result an array.
    """
    if index and index[-1] is Ellipsis and not is_scalar and len(index) > 1:
        index = index[:-1]
    return f"[{', '.join(_index_part(module, part) for part in index)}]" if index else "[()]"


def _index_part(module: Module, part: Any) -> str:
    if type(part) is not slice:
        return module.text(part)
    start, stop, step = ("" if x is None else module.text(x) for x in (part.start, part.stop, part.step))
    return f"{start}:{stop}" + (f":{step}" if step else "")
