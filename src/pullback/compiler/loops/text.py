"""`Text`: the text of one LLVM function while it is written, and the names of types and constants.

An element kind is a NumPy code without byte order: `f8`, `f4`, `i8`, `u1`, `b1`. A truth value is one bit in registers
and one byte in memory. `lanes` says how many elements an operation works on; one lane is a scalar and no vector.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

REGISTERS = {"f8": "double", "f4": "float", "b1": "i1"}
FLOATS = ("f8", "f4")
ALIGNED = "alignstack(64)"
"""An attribute of functions with vectors. LLVM notices too late that those which do not fit the registers should be
aligned on the stack; where they cross cache lines, exponentials take a third longer."""
KINDS = frozenset({"f8", "f4", "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})


def kind_of(dtype: np.dtype[Any]) -> str | None:
    """The element kind of a dtype, None if native code does not know it."""
    kind = dtype.str[1:] if dtype.isnative else ""
    return kind if kind in KINDS else None


def width_of(kind: str) -> int:
    """Bytes of an element in memory."""
    return int(kind[1:])


def in_register(kind: str) -> str:
    """The type of one element in a register."""
    return REGISTERS.get(kind) or f"i{8 * width_of(kind)}"


def in_memory(kind: str) -> str:
    """The type of one element in memory."""
    return "i8" if kind == "b1" else in_register(kind)


def vector(element: str, lanes: int) -> str:
    """So many elements side by side."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def literal(value: Any, kind: str) -> str:
    """One constant element."""
    if kind == "b1":
        return "true" if value else "false"
    if kind in FLOATS:
        number = float(np.float32(value)) if kind == "f4" else float(value)
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    return str(int(value))


class Text:
    """Lines of a function body. `lanes` is the width of what is being written at the moment."""

    def __init__(self, flags: str = "") -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []  # lines of the entry block: memory for loop counters and accumulators
        self.lanes = 1
        self.flags = flags  # of floating-point operations: "fast " or nothing
        self.externals: dict[str, str] = {}  # declarations by name
        self._count = 0

    def name(self, word: str = "v") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{word}{self._count}"

    def value(self, expression: str) -> str:
        """A new value."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def line(self, text: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def slot(self, type_: str) -> str:
        """Memory on the stack, which passes turn into registers."""
        name = f"%{self.name('slot')}"
        self.slots.append(f"  {name} = alloca {type_}")
        return name

    # Values of the current width.

    def type(self, kind: str) -> str:
        """The type of a value of this kind."""
        return vector(in_register(kind), self.lanes)

    def constant(self, value: Any, kind: str) -> str:
        """The same constant in every lane."""
        text = literal(value, kind)
        return text if self.lanes == 1 else f"splat ({in_register(kind)} {text})"

    def splat(self, scalar: str, kind: str) -> str:
        """A scalar in every lane."""
        if self.lanes == 1:
            return scalar
        element = in_register(kind)
        first = self.value(f"insertelement <{self.lanes} x {element}> poison, {element} {scalar}, i32 0")
        return self.value(
            f"shufflevector <{self.lanes} x {element}> {first}, <{self.lanes} x {element}> poison, "
            f"<{self.lanes} x i32> zeroinitializer"
        )

    def two(self, instruction: str, kind: str, x: str, y: str) -> str:
        """An instruction of two operands of one type; those that begin with `f` take the flags."""
        flags = f" {self.flags.strip()}" if self.flags and instruction[0] == "f" else ""
        return self.value(f"{instruction}{flags} {self.type(kind)} {x}, {y}")

    def compare(self, condition: str, kind: str, x: str, y: str) -> str:
        """`fcmp` or `icmp`, as the kind has it; `condition` is complete: `fcmp oge`."""
        return self.value(f"{condition} {self.type(kind)} {x}, {y}")

    def select(self, condition: str, kind: str, x: str, y: str) -> str:
        """`x` where the condition holds, `y` elsewhere."""
        return self.value(f"select {self.type('b1')} {condition}, {self.type(kind)} {x}, {self.type(kind)} {y}")

    def intrinsic(self, name: str, kind: str, *args: str, tail: str = "") -> str:
        """`llvm.name` on values of this kind; `tail` is text behind the operands."""
        short = {"f8": "f64", "f4": "f32"}.get(kind) or f"i{8 * width_of(kind)}"
        full = f"llvm.{name}.{short}" if self.lanes == 1 else f"llvm.{name}.v{self.lanes}{short}"
        type_ = self.type(kind)
        flag_type = ", i1" if tail else ""
        self.externals[full] = f"declare {type_} @{full}({', '.join([type_] * len(args))}{flag_type})"
        return self.value(f"call {type_} @{full}({', '.join(f'{type_} {x}' for x in args)}{tail})")

    def call(self, function: str, result: str, args: list[tuple[str, str]]) -> str:
        """A pure function of numbers: (type, value) for each argument."""
        types = ", ".join(type_ for type_, _ in args)
        self.externals[function] = f"declare {result} @{function}({types}) #0"
        return self.value(f"call {result} @{function}({', '.join(f'{t} {x}' for t, x in args)}) #0")


def cast(text: Text, x: str, source: str, target: str) -> str:
    """A value of another kind, as `astype` converts it."""
    if source == target:
        return x
    if target == "b1":
        if source in FLOATS:
            return text.compare("fcmp une", source, x, text.constant(0, source))
        return text.compare("icmp ne", source, x, text.constant(0, source))
    before, after = text.type(source), text.type(target)
    if source in FLOATS and target in FLOATS:
        return text.value(f"{'fptrunc' if target == 'f4' else 'fpext'} {before} {x} to {after}")
    if target in FLOATS:
        return text.value(f"{'uitofp' if source[0] in 'ub' else 'sitofp'} {before} {x} to {after}")
    if source in FLOATS:
        return text.value(f"fptosi {before} {x} to {after}")
    if source != "b1" and width_of(source) == width_of(target):
        return x
    if source == "b1" or width_of(source) < width_of(target):
        return text.value(f"{'zext' if source[0] in 'ub' else 'sext'} {before} {x} to {after}")
    return text.value(f"trunc {before} {x} to {after}")


def can_cast(source: str, target: str) -> bool:
    """Is the conversion the same everywhere? Floats to small or unsigned integers are as the processor likes."""
    return source not in FLOATS or target in (*FLOATS, "b1", "i8", "i4")
