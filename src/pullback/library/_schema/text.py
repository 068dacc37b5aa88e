"""Reading schemas: `(Tensor(a!) x, int[2] k=1, *, float s=0.5) -> (Tensor, int)`.

A recursive descent over tokens. Every mistake is a `SchemaError` that shows the text with a caret under the token.
"""

from __future__ import annotations

import json
import keyword
import re
from typing import Any

import numpy as np

from pullback.library._errors import SchemaError
from pullback.library._schema import BASES, NO_DEFAULT, Argument, Schema, Type, fits

_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf\b))
    |(?P<dots>\.\.\.)|(?P<name>[A-Za-z_]\w*)|(?P<mark>[()\[\],=*?!|])|(?P<other>\S))""",
    re.VERBOSE,
)
_HINTS = {
    "double": "write float",
    "int64_t": "write int or SymInt",
    "any": "write Any",
    "Dict": "dictionaries are no arguments of operators",
    "number": "write Scalar",
    "ndarray": "write Tensor",
}
_WORDS = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}


def parse_schema(text: str) -> Schema:
    """The schema that the text describes."""
    return _Reader(text).schema()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(text.rstrip()):
            found = _TOKEN.match(text, position)
            assert found is not None
            kind = found.lastgroup or "other"
            self.tokens.append((kind, found[kind], found.start(kind)))
            position = found.end()
        self.tokens.append(("end", "", len(text)))
        self.index = 0

    # Tokens.

    def peek(self) -> str:
        return self.tokens[self.index][1]

    def take(self) -> tuple[str, str]:
        kind, value, _ = self.tokens[self.index]
        self.index += 1
        return kind, value

    def accept(self, value: str) -> bool:
        if self.peek() == value and self.tokens[self.index][0] in ("mark", "arrow"):
            self.index += 1
            return True
        return False

    def expect(self, value: str, what: str) -> None:
        if not self.accept(value):
            raise self.error(f"expected {value!r} {what}")

    def error(self, message: str, back: int = 0) -> SchemaError:
        place = self.tokens[min(self.index - back, len(self.tokens) - 1)][2]
        return SchemaError(f"{message}\n  {self.text}\n  {' ' * place}^")

    # The grammar.

    def schema(self) -> Schema:
        self.expect("(", "before the arguments")
        arguments = self.arguments()
        self.expect("->", "between arguments and returns")
        returns, returns_tuple = self.returns()
        if self.tokens[self.index][0] != "end":
            raise self.error("the schema goes on after its returns")
        return Schema(tuple(arguments), tuple(returns), returns_tuple)

    def arguments(self) -> list[Argument]:
        found: list[Argument] = []
        keyword_only = False
        if self.accept(")"):
            return found
        while True:
            if self.accept("*"):
                if keyword_only:
                    raise self.error("a second '*'", 1)
                keyword_only = True
                if self.peek() != ",":
                    raise self.error("expected keyword-only arguments after '*'")
            else:
                found.append(self.argument(keyword_only, found))
            if self.accept(")"):
                return found
            self.expect(",", "or ')' after an argument")
            if self.peek() == ")":
                raise self.error("a trailing comma")

    def argument(self, keyword_only: bool, before: list[Argument]) -> Argument:
        kind = self.type()
        sort, name = self.take()
        if sort != "name" or keyword.iskeyword(name):
            raise self.error("expected the name of an argument", 1)
        if any(other.name == name for other in before):
            raise self.error(f"a second argument named {name}", 1)
        default = NO_DEFAULT
        if self.accept("="):
            default = self.literal(kind)
            if not fits(default, kind):
                raise self.error(f"the default {default!r} of {name} is no {kind}", 1)
            if kind.length is not None and not isinstance(default, (list, type(None))):
                default = [default] * kind.length
        elif not keyword_only and before and before[-1].default is not NO_DEFAULT:
            raise self.error(f"{name} has no default, but the argument before it has one", 1)
        return Argument(name, kind, default, keyword_only)

    def type(self) -> Type:
        sort, base = self.take()
        if sort == "dots":
            raise self.error("a variable number of arguments cannot be declared", 1)
        if sort != "name" or base not in BASES:
            hint = f" ({_HINTS[base]})" if base in _HINTS else f" (known are {', '.join(BASES)})"
            raise self.error(f"unknown type {base!r}{hint}", 1)
        alias: tuple[str, ...] = ()
        writes = False
        if self.accept("("):
            names = [self.take()[1]]
            while self.accept("|"):
                names.append(self.take()[1])
            writes = self.accept("!")
            self.expect(")", "after an alias")
            if base != "Tensor":
                raise self.error(f"only Tensors share memory or are written, not {base}", 1)
            alias = tuple(names)
        optional = self.accept("?")
        if not self.accept("["):
            return Type(base, is_optional=optional, alias=alias, writes=writes)
        length = None
        if self.tokens[self.index][0] == "number":
            length = int(self.take()[1])
        self.expect("]", "after a list")
        return Type(base, True, length, self.accept("?"), optional, alias, writes)

    def returns(self) -> tuple[list[Type], bool]:
        if not self.accept("("):
            return [self.returned()], False
        if self.accept(")"):
            return [], False
        if self.accept("("):
            only = self.returned()
            self.expect(")", "after a tuple of one")
            self.expect(")", "after a tuple of one")
            return [only], True
        found = [self.returned()]
        while self.accept(","):
            found.append(self.returned())
        self.expect(")", "after the returns")
        return found, len(found) > 1

    def returned(self) -> Type:
        kind = self.type()
        if self.tokens[self.index][0] == "name":
            self.take()  # a name is allowed, and means nothing
        return kind

    def literal(self, kind: Type) -> Any:
        if self.accept("["):
            values: list[Any] = []
            while not self.accept("]"):
                values.append(self.literal(kind))
                if self.peek() != "]":
                    self.expect(",", "between the elements of a list")
            return values
        sort, text = self.take()
        if sort == "string":
            return json.loads(text if text[0] == '"' else json.dumps(text[1:-1]))
        if sort == "number":
            if "inf" in text:
                return float(text)
            value = float(text) if any(mark in text for mark in ".eE") else int(text)
            return float(value) if kind.base == "float" else value
        if sort == "name" and text in _WORDS:
            return _WORDS[text]
        if sort == "name" and kind.base == "ScalarType":
            try:
                return np.dtype(text)
            except TypeError:
                raise self.error(f"unknown dtype {text!r}", 1) from None
        raise self.error("expected a default", 1)
