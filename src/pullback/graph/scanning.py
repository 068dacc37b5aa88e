"""Reading the values that `graph/literals.py` writes, from anywhere inside a longer text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.steps import ViewStep
from pullback.errors import AutogradError
from pullback.graph.literals import DTYPES, PYTHON_TYPES, decoded, described, laid_out
from pullback.graph.operators import find_operator
from pullback.graph.types import ArrayType, array_type

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
    """The text of a graph can not be read at this position."""
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
