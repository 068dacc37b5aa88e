"""Attributes as text: what stands between the parentheses of a node besides its operands.

    axes=(1, 0)   index=(1:3, None, ...)   dtype=f32   whole=@_split   scale=0.5   template=('array', :)

Everything is written as Python writes it, with these additions: a slice is `start:stop:step`, a dtype its short name,
a NumPy scalar `f32(0.5)`, an operator `@name`, one step of a view `name(params)`, an array `array(f64[2], [1.0, 2.0])`.
Objects that have no text, such as a generator, become a placeholder `<Generator>`, which cannot be read again.
`graph/text/parsing.py` reads what this module writes.
"""

from __future__ import annotations

import ast
import base64
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.errors import AutogradError
from pullback.graph.descriptors import (
    AOTInput,
    BufferAOTInput,
    CapturedAOTInput,
    Descriptor,
    DummyAOTInput,
    DummyAOTOutput,
    GradAOTOutput,
    InputMutationAOTOutput,
    IntermediateBaseAOTOutput,
    MetadataMutationAOTOutput,
    NumberAOTInput,
    ParamAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    SavedForBackwardsAOTOutput,
    SavedForBackwardsNoVcCheckAOTOutput,
    SubclassGetAttrAOTInput,
    SubclassGetAttrAOTOutput,
    SyntheticBaseAOTInput,
    TangentAOTInput,
    ViewBaseAOTInput,
)
from pullback.graph.ir import ArrayType, array_type, find_operator, type_of

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
    numbers = _nested(x, _shortest) if x.dtype.char in "efFgG" else x.tolist()
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


# Reading the values that `graph/text/literals.py` writes, from anywhere inside a longer text.

_BLANK = re.compile(r"[ \t\n]*")
_TOKEN = re.compile(
    r"""(?P<string>b?'(?:[^'\\\n]|\\.)*'|b?"(?:[^"\\\n]|\\.)*")
    |(?P<arrow><-)
    |(?P<opaque><[A-Za-z_][^<>\n]*>)
    |(?P<remark>\#[^\n]*)
    |(?P<complex>\([^()\s,:]+j\))
    |(?P<number>-?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?|(?:nan|inf)j?\b))
    |(?P<value>%\d+)
    |(?P<operator>@[\w.]+(?:::[\w.]+)?)
    |(?P<name>[A-Za-z_]\w*(?:\.\w+)*(?:::\w+(?:\.\w+)*)?)
    |(?P<mark>\.\.\.|[()\[\]{},:=])
    |(?P<end>\Z)""",
    re.VERBOSE,
)
_WORDS = {"None": None, "True": True, "False": False}


def text_error(what: str, text: str, position: int, why: str = "", fix: str = "") -> AutogradError:
    """The text of a graph cannot be read at this position."""
    line = text.count("\n", 0, position) + 1
    shown = text.splitlines()[line - 1].strip() if text else ""
    return AutogradError("GRAPH_TEXT", what, where=f"line {line}: {shown[:100]}", why=why, fix=fix)


class Scanner:
    """A position in a text, and the values that begin there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.kind = self.token = ""
        self.end = 0
        self.move_to(0)

    # Tokens.

    def move_to(self, position: int) -> None:
        """Go on reading here."""
        blank = _BLANK.match(self.text, position)
        assert blank is not None
        found = _TOKEN.match(self.text, blank.end())
        self.position = blank.end()
        if found is None:
            raise text_error(f"{self.text[self.position]!r} is not expected", self.text, self.position)
        self.kind, self.token, self.end = str(found.lastgroup), found[0], found.end()

    def take(self) -> str:
        """The current token; the next one becomes current."""
        token = self.token
        self.move_to(self.end)
        return token

    def take_if(self, token: str) -> bool:
        """Was this the current token? Then it is taken."""
        is_it = self.token == token and self.kind in ("mark", "name", "arrow")
        if is_it:
            self.take()
        return is_it

    def expect(self, token: str) -> None:
        """Take this token, or say that it is missing."""
        if not self.take_if(token):
            raise self.error(f"{token!r} was expected here, not {self.token!r}")

    def error(self, what: str, why: str = "", fix: str = "") -> AutogradError:
        """An error at the current position."""
        return text_error(what, self.text, self.position, why, fix)

    def until(self, closing: str, read: Callable[[], Any]) -> list[Any]:
        """What `read` finds, again and again with commas between, until the closing mark."""
        found = []
        while not self.take_if(closing):
            found.append(read())
            if not self.take_if(","):
                self.expect(closing)
                break
        return found

    # Values.

    def value(self) -> Any:
        """A value, which may be a slice."""
        start = None if self.token == ":" else self.single()
        if self.token != ":" or self.kind != "mark":
            return start
        self.take()
        return self._slice_from(start)

    def _slice_from(self, start: Any) -> slice:
        stop = None if self.token == ":" else self._bound()
        step = self._bound() if self.take_if(":") else None
        return slice(start, stop, step)

    def _bound(self) -> Any:
        return None if self.token in ("", ",", ")", "]", "}") else self.single()

    def single(self) -> Any:
        """A value that is no slice."""
        kind = self.kind
        if kind in ("string", "complex", "number"):
            return _as_python(kind, self.take())
        if kind == "operator":
            return find_operator(self.take()[1:])
        if kind == "opaque":
            raise self.error(
                f"{self.token} stands for an object that has no text",
                why="an object such as a random generator is only in the graph that was traced",
                fix="keep the graph itself, or trace the function again",
            )
        if kind == "name":
            return self._named()
        if self.take_if("..."):
            return Ellipsis
        if self.take_if("("):
            return self._tuple()
        if self.take_if("["):
            return self.until("]", self.value)
        if self.take_if("{"):
            return dict(self.until("}", self._pair))
        raise self.error(f"a value was expected here, not {self.token!r}")

    def _tuple(self) -> Any:
        if self.take_if(")"):
            return ()
        first = self.value()
        if self.take_if(")"):
            return first  # parentheses around one value
        self.expect(",")
        return (first, *self.until(")", self.value))

    def _pair(self) -> tuple[Any, Any]:
        key = self.single()
        self.expect(":")
        return key, self.value()

    def _named(self) -> Any:
        name = self.token
        if name in _WORDS:
            self.take()
            return _WORDS[name]
        if name in DTYPES or name == "dtype":
            return self._of_dtype()
        self.take()
        if name in PYTHON_TYPES and self.token != "(":
            return PYTHON_TYPES[name]
        if name.startswith("np.") and isinstance(getattr(np, name[3:], None), type):
            return getattr(np, name[3:])
        if not self.take_if("("):
            raise self.error(f"{name!r} is not a value")
        if name == "array":
            return self._array()
        for entry in described.values():
            if entry.name == name:
                return entry.build(*self.until(")", self.value))
        return self.step_after(name)

    def step_after(self, name: str) -> ViewStep:
        """A step of a view, of which the name and the parenthesis are taken."""
        op = find_operator(name)
        return ViewStep(op, dict(self.until(")", self.keyword)))

    def keyword(self) -> tuple[str, Any]:
        """`name=value`."""
        name = self.take()
        self.expect("=")
        return name, self.value()

    def _of_dtype(self) -> Any:
        """A dtype, a scalar of it, or an array type."""
        dtype = self.dtype()
        if self.token == "[" and self.text[self.position - 1] not in " \t\n":
            return self._shape_of(dtype)
        if not self.take_if("("):
            return dtype
        scalar = dtype.type(self.value())
        self.expect(")")
        return scalar

    def dtype(self) -> np.dtype[Any]:
        """A dtype."""
        name = self.take()
        if name in DTYPES:
            return DTYPES[name]
        if name != "dtype":
            raise self.error(f"{name!r} is not a dtype")
        self.expect("(")
        dtype = np.dtype(self.value())
        self.expect(")")
        return dtype

    def array_type(self) -> ArrayType:
        """The type of a value."""
        return self._shape_of(self.dtype())

    def _shape_of(self, dtype: np.dtype[Any]) -> ArrayType:
        self.expect("[")
        shape = tuple(self.until("]", self.value))
        strides = None
        if self.take_if("{"):
            strides = tuple(self.until("}", lambda: self._stride(dtype.itemsize)))
        return array_type(shape, dtype, strides)

    def _stride(self, itemsize: int) -> int:
        stride = int(self.take())
        return stride if self.take_if("B") else stride * itemsize

    def _array(self) -> Any:
        type = self.array_type()
        self.expect(",")
        return self.elements(type, ")")

    def elements(self, type: ArrayType, closing: str) -> Any:
        """The elements of an array of this type, up to the closing mark."""
        if self.take_if("base64"):
            self.expect("=")
            values = decoded(self.value(), type)
        else:
            listed = self.value()
            if listed.__class__ is list and Ellipsis in listed:
                raise self.error(
                    "the elements of this array are abbreviated",
                    why="str() of a graph is for people", fix="read what to_text() wrote",
                )  # fmt: skip
            values = np.array(listed, type.dtype).reshape(type.shape)
        self.expect(closing)
        return laid_out(values, type)


def _as_python(kind: str, token: str) -> Any:
    if kind == "string":
        return ast.literal_eval(token)
    if kind == "complex" or token.endswith("j"):
        return complex(token)
    return float(token) if set(token) & set(".enaif") else int(token)


# Reading the expressions that descriptors are written as.

_BY_INDEX: dict[str, Any] = {
    "args": PlainAOTInput, "captured": CapturedAOTInput, "number": NumberAOTInput, "input": DummyAOTInput,
    "output": PlainAOTOutput,
    "metadata_mutated": MetadataMutationAOTOutput, "saved": SavedForBackwardsAOTOutput,
    "saved_no_vc": SavedForBackwardsNoVcCheckAOTOutput, "result": DummyAOTOutput,
}  # fmt: skip
_BY_NAME: dict[str, Any] = {"param": ParamAOTInput, "buffer": BufferAOTInput}
_OF_ANOTHER: dict[str, Any] = {
    "base_of": ViewBaseAOTInput, "synthetic_base_of": SyntheticBaseAOTInput, "tangent": TangentAOTInput,
    "mutated": InputMutationAOTOutput, "ibase": IntermediateBaseAOTOutput, "grad": GradAOTOutput,
}  # fmt: skip

_INDEXED = re.compile(r"(\w+)\[(\d+)\]")
_NAMED = re.compile(r"(param|buffer)\(('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)")
_OPENED = re.compile(r"(\w+)\(")
_ATTRIBUTE = re.compile(r"\.(\w+)")


def parse_descriptor(text: str) -> Descriptor:
    """The descriptor with this expression."""
    found, end = parse_prefix(text, 0)
    if end != len(text):
        raise ValueError(f"descriptor {text!r}: nothing may follow after column {end}")
    return found


def parse_prefix(text: str, start: int) -> tuple[Descriptor, int]:
    """The descriptor whose expression begins at `start`, and where it ends."""
    found: Descriptor
    if (match := _INDEXED.match(text, start)) and match[1] in _BY_INDEX:
        found, end = _BY_INDEX[match[1]](int(match[2])), match.end()
    elif match := _NAMED.match(text, start):
        found, end = _BY_NAME[match[1]](ast.literal_eval(match[2])), match.end()
    elif (match := _OPENED.match(text, start)) and match[1] in _OF_ANOTHER:
        inner, end = parse_prefix(text, match.end())
        if text[end : end + 1] != ")":
            raise ValueError(f"descriptor {text[start:]!r}: `)` is missing after {inner.expr()}")
        found, end = _OF_ANOTHER[match[1]](inner), end + 1
    else:
        raise ValueError(f"{text[start : start + 40]!r} is not the beginning of a descriptor")
    while match := _ATTRIBUTE.match(text, end):
        kind: Any = SubclassGetAttrAOTInput if isinstance(found, AOTInput) else SubclassGetAttrAOTOutput
        found, end = kind(found, match[1]), match.end()
    return found, end
