"""Ufuncs of NumPy whose loops are native code.

`formula_ufunc` makes one of a formula. `twin` makes one that does what a ufunc of NumPy does: it has the same loops for
every dtype, and native ones before those that are given, for operands that are many and lie side by side. NumPy does
everything else for both: promotion, broadcasting, `out=`, overlapping memory, new arrays, warnings, and letting go of
the interpreter's lock.

A loop is a C function (`c/ufunc.c`), and a ufunc is made of such by a function of NumPy's C interface. Where a ufunc of
NumPy keeps its own loops is checked against what NumPy says of it; if anything is not as it should be, there are no
twins.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.loops.mathematics import FUNCTIONS, has_wide_registers
from pullback.compiler.loops.scalars import EXPENSIVE, emit, rule_of
from pullback.compiler.loops.text import ALIGNED, Text, cast, in_memory, kind_of, vector, width_of
from pullback.compiler.machine import jit
from pullback.compiler.machine import threads as pool
from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import DIVIDE, INVALID, OVERFLOW, UNDERFLOW, loops_of
from pullback.graph.ir import Program, Value

BLOCK = 1024
"""Elements that are computed between two looks at what is next."""
FIELDS = ("block", "count", "least", "alone", "grain", "reports", "flags", "other", "its", "parallel")
"""`struct ufunc`."""
HARDWARE, LOOKED_AT = range(2)

# The text of the block of a formula: what a native ufunc computes, for so many elements that lie side by side.
#
#     int64_t block(char **pointers, int64_t *units, int64_t count)
#
# It works in vectors; a last one that is not full is computed beside the arrays. The unit of an operand is 1, or 0 if
# it is the same vector every time. The result is the floating point exceptions as bits, for functions of which they
# have to be found by looking at operands and results: vector functions raise some that mean nothing. Results may lie
# where an operand does.

_REGISTER = 32  # bytes
# What the processor complains about is what NumPy does. Comparisons are not among these: NumPy is silent about NaN.
_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "sqrt", "square", "cube", "reciprocal", "rsqrt"})
# Where an infinite result of finite operands is a pole, and where a tiny one has lost digits.
_POLES = frozenset({"log", "log2", "log10", "log1p", "atanh"})
_BLAMES_NAN = frozenset({"logaddexp", "softplus", "log_sigmoid"})  # NumPy compares where there may be NaN
_VANISHES = frozenset({"exp", "exp2"})


class Step(NamedTuple):
    """One operation on earlier values or constants, each converted to a kind first."""

    name: str
    takes: tuple[str, ...]
    operands: tuple[Any, ...]  # ("value", its number) or ("constant", the number)
    gives: str


class Formula(NamedTuple):
    """A result computed element by element from operands of these kinds. `reports` says how exceptions are found."""

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    output: int  # the number of the value
    reports: int = LOOKED_AT

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the operands and the result."""
        return (*self.inputs, self.kind_of(self.output))

    def kind_of(self, number: int) -> str:
        """Of a value: operands have the first numbers."""
        return self.inputs[number] if number < len(self.inputs) else self.steps[number - len(self.inputs)].gives

    @property
    def is_heavy(self) -> bool:
        """Are there mathematical functions?"""
        return any(step.name in EXPENSIVE for step in self.steps)

    @property
    def nanoseconds(self) -> float:
        """Estimated time for an element, on one thread: a single step of arithmetic takes what memory takes."""
        time = 0.11 * sum(width_of(kind) / 8 for kind in self.kinds)
        for step in self.steps:
            time += 1.5 if step.name in EXPENSIVE else 0.4 if step.name == "sqrt" else 0.02
        return time

    @property
    def lanes(self) -> int:
        """How many elements are computed at once: one register for functions, more where little is computed."""
        widest = max(width_of(kind) for kind in (*self.kinds, *(step.gives for step in self.steps)))
        if self.is_heavy:
            return _REGISTER // widest * (4 if has_wide_registers() else 1)
        return _REGISTER // widest * (4 if len(self.steps) <= 3 else 2)


def formula_of(program: Program) -> Formula | None:
    """The formula that a graph of elementwise operators with one output is; None if some node is nothing of the kind.

    Exceptions are reported of a single operator only.
    """
    numbers = {value: number for number, value in enumerate(program.inputs)}
    steps: list[Step] = []
    for node in program.nodes:
        rule = rule_of(node)
        if rule is None:
            return None
        operands = node.operands[: len(rule.takes)]
        sources = [("value", numbers[x]) if type(x) is Value else ("constant", x) for x in operands]
        numbers[node.result] = len(program.inputs) + len(steps)
        steps.append(Step(rule.name, rule.takes, tuple(sources), rule.gives))
    kinds = [kind_of(value.type.dtype) for value in program.inputs]
    (output,) = program.outputs
    if output is None or None in kinds:
        return None
    how = HARDWARE if len(steps) == 1 and steps[0].name in _ARITHMETIC else LOOKED_AT
    return Formula(tuple(str(kind) for kind in kinds), tuple(steps), numbers[output], how)


def block_text(formula: Formula, name: str, has_libmvec: bool) -> tuple[str, dict[str, str]]:
    """The function `block` under this name, and what it calls."""
    writer = _Writer(formula, has_libmvec)
    writer.write()
    text = writer.text
    text.externals["llvm.memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    head = f"define i64 @{name}(ptr %pointers, ptr %units, i64 %count) nounwind {ALIGNED} {{\nentry:"
    return "\n".join([head, *text.slots, *text.lines, "}"]), text.externals


class _Writer:
    def __init__(self, formula: Formula, has_libmvec: bool) -> None:
        self.formula = formula
        self.has_libmvec = has_libmvec
        self.text = Text()
        self.lanes = formula.lanes
        self.kinds = formula.kinds
        self.pads = [self.text.slot(vector(in_memory(kind), self.lanes)) for kind in self.kinds]
        self.found = {bit: self.text.slot("i64") for bit in _bits_looked_for(formula)}

    def write(self) -> None:
        """The loop over vectors, whose last turn may be with the vectors beside the arrays."""
        text = self.text
        place = text.slot("i64")
        for slot in (place, *self.found.values()):
            text.line(f"store i64 0, ptr {slot}")
        bases = [self._pointer(k) for k in range(len(self.kinds))]
        units = [self._unit(k) for k in range(len(self.kinds) - 1)]
        text.line("br label %next")
        text.label("next")
        at = text.value(f"load i64, ptr {place}")
        rest = text.value(f"sub i64 %count, {at}")
        is_full = text.value(f"icmp sge i64 {rest}, {self.lanes}")
        places = [*(text.value(f"mul i64 {at}, {unit}") for unit in units), at]
        here = [self._moved(*each) for each in zip(self.kinds, bases, places, strict=True)]
        text.line(f"br i1 {is_full}, label %compute, label %last")
        text.label("last")
        text.line(f"br i1 {text.value(f'icmp sgt i64 {rest}, 0')}, label %fill, label %done")
        text.label("fill")
        for k in range(len(self.kinds) - 1):
            self._fill(k, here[k], rest)
        text.line("br label %compute")
        text.label("compute")
        where = [
            text.value(f"phi ptr [ {own}, %next ], [ {pad}, %fill ]")
            for own, pad in zip(here, self.pads, strict=True)
        ]  # fmt: skip
        self._vectors(where)
        text.line(f"store i64 {text.value(f'add i64 {at}, {self.lanes}')}, ptr {place}")
        text.line(f"br i1 {is_full}, label %next, label %finish")
        text.label("finish")
        self._copy(self.kinds[-1], here[-1], self.pads[-1], rest)
        text.line("br label %done")
        text.label("done")
        text.line(f"ret i64 {self._exceptions()}")

    def _pointer(self, number: int) -> str:
        where = self.text.value(f"getelementptr ptr, ptr %pointers, i64 {number}")
        return self.text.value(f"load ptr, ptr {where}")

    def _unit(self, number: int) -> str:
        where = self.text.value(f"getelementptr i64, ptr %units, i64 {number}")
        return self.text.value(f"load i64, ptr {where}")

    def _moved(self, kind: str, base: str, at: str) -> str:
        return self.text.value(f"getelementptr {in_memory(kind)}, ptr {base}, i64 {at}")

    def _copy(self, kind: str, target: str, source: str, count: str) -> None:
        size = self.text.value(f"mul i64 {count}, {width_of(kind)}")
        self.text.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def _fill(self, number: int, source: str, count: str) -> None:
        """Put the last elements into a vector, whose other lanes get the first of them: they raise nothing new."""
        text, element = self.text, in_memory(self.kinds[number])
        type_ = vector(element, self.lanes)
        first = text.value(f"load {element}, ptr {source}")
        start = text.value(f"insertelement {type_} poison, {element} {first}, i32 0")
        full = text.value(f"shufflevector {type_} {start}, {type_} poison, <{self.lanes} x i32> zeroinitializer")
        text.line(f"store {type_} {full}, ptr {self.pads[number]}")
        self._copy(self.kinds[number], self.pads[number], source, count)

    def _vectors(self, where: list[str]) -> None:
        """Compute one vector of results."""
        text, formula = self.text, self.formula
        text.lanes = self.lanes
        values = [self._load(kind, place) for kind, place in zip(self.kinds[:-1], where[:-1], strict=True)]
        for step in formula.steps:
            args = [
                text.constant(what, kind) if source == "constant" else
                cast(text, values[what], formula.kind_of(what), kind)
                for (source, what), kind in zip(step.operands, step.takes, strict=True)
            ]  # fmt: skip
            values.append(emit(text, step.name, step.takes[-1], args, self.has_libmvec))
        self._store(self.kinds[-1], values[formula.output], where[-1])
        for bit, slot in self.found.items():
            self._look(bit, values, slot)
        text.lanes = 1

    def _load(self, kind: str, where: str) -> str:
        type_ = vector(in_memory(kind), self.lanes)
        value = self.text.value(f"load {type_}, ptr {where}, align {width_of(kind)}")
        return self.text.value(f"icmp ne {type_} {value}, zeroinitializer") if kind == "b1" else value

    def _store(self, kind: str, value: str, where: str) -> None:
        type_ = vector(in_memory(kind), self.lanes)
        if kind == "b1":
            value = self.text.value(f"zext {self.text.type(kind)} {value} to {type_}")
        self.text.line(f"store {type_} {value}, ptr {where}, align {width_of(kind)}")

    def _look(self, bit: int, values: list[str], slot: str) -> None:
        """Note the lanes in which a function of usual operands has an unusual result."""
        text, kind = self.text, self.kinds[-1]
        *operands, result = values
        infinity = text.constant(math.inf, kind)
        size = text.intrinsic("fabs", kind, result)
        if bit == INVALID:
            noted = text.compare("fcmp uno", kind, result, result)
        elif bit == UNDERFLOW:
            noted = text.compare("fcmp olt", kind, size, text.constant(float(np.finfo(kind).tiny), kind))
        else:
            noted = text.compare("fcmp oeq", kind, size, infinity)
        for x in operands if self.formula.steps[0].name not in _BLAMES_NAN else ():
            if bit == INVALID:
                is_usual = text.compare("fcmp ord", kind, x, x)
            else:
                is_usual = text.compare("fcmp olt", kind, text.intrinsic("fabs", kind, x), infinity)
            noted = text.two("and", "b1", noted, is_usual)
        lanes = text.value(f"bitcast {text.type('b1')} {noted} to i{self.lanes}")
        before = text.value(f"load i64, ptr {slot}")
        wide = text.value(f"zext i{self.lanes} {lanes} to i64")
        text.line(f"store i64 {text.value(f'or i64 {before}, {wide}')}, ptr {slot}")

    def _exceptions(self) -> str:
        text, total = self.text, "0"
        for bit, slot in self.found.items():
            lanes = text.value(f"load i64, ptr {slot}")
            is_found = text.value(f"icmp ne i64 {lanes}, 0")
            mark = text.value(f"select i1 {is_found}, i64 {bit}, i64 0")
            total = text.value(f"or i64 {total}, {mark}")
        return total


def _bits_looked_for(formula: Formula) -> list[int]:
    name = formula.steps[0].name
    if len(formula.steps) != 1 or name not in (*FUNCTIONS, *_BLAMES_NAN):
        return []
    if name in _BLAMES_NAN:
        return [INVALID]
    return [INVALID, DIVIDE if name in _POLES else OVERFLOW, *([UNDERFLOW] if name in _VANISHES else [])]


PARALLEL_FROM = 30_000
"""Estimated nanoseconds of work from which on threads share a loop."""
_MAKE = 1  # the place of `PyUFunc_FromFuncAndData` in the table of functions
_NO_IDENTITY = -1
_RESOLVER = 144  # where `type_resolver` is
_kept: list[Any] = []  # NumPy copies none of what a ufunc is made of, and ufuncs may outlive everything


def formula_ufunc(name: str, formulas: Sequence[Formula]) -> np.ufunc:
    """A ufunc of formulas with equally many operands, one for each dtype."""
    records = _records(formulas, 0, [(0, 0)] * len(formulas))
    return _made(name, [_loop()] * len(records), records, [numbers_of(formula) for formula in formulas])


def twin(ufunc: np.ufunc, formulas: Sequence[Formula], least: int) -> np.ufunc:
    """A ufunc like this one, with these native loops for at least so many elements side by side.

    One thread does arithmetic no faster than NumPy does, so that is native only where threads share it.
    """
    functions, data, types = loops_of(ufunc)
    places = [types.index(numbers_of(formula)) for formula in formulas]
    records = _records(formulas, least, [(functions[place], data[place]) for place in places])
    for place, record in zip(places, records, strict=True):
        functions[place], data[place] = _loop(), record
    made = _made(ufunc.__name__, functions, data, types, ufunc.nin)
    # What NumPy asks for loops of dtypes that are not in the list; some refuse truth values.
    ctypes.c_void_p.from_address(id(made) + _RESOLVER).value = ctypes.c_void_p.from_address(id(ufunc) + _RESOLVER).value
    return made


def numbers_of(formula: Formula) -> list[int]:
    """The dtypes of the operands and of the result as NumPy's numbers."""
    return [np.dtype(kind).num for kind in formula.kinds]


@functools.cache
def _loop() -> int:
    """The address of the loop that all of them have."""
    return load_c("ufunc", ("loop",))[0]


def _records(formulas: Sequence[Formula], least: int, others: list[tuple[int, int]]) -> list[int]:
    """The addresses of what the loop is given for each formula; `others` are NumPy's own loops."""
    parallel = pool.prepare() if pool.is_possible() else 0
    texts, externals = [], {}
    for number, formula in enumerate(formulas):
        text, declared = block_text(formula, f"NAME_{number}", jit.has_libmvec())
        texts.append(text)
        externals.update(declared)
    blocks = jit.load(texts, externals, tuple(map(str, range(len(formulas)))))[1]
    addresses = []
    for formula, block, (function, its) in zip(formulas, blocks, others, strict=True):
        time = formula.nanoseconds
        alone = math.ceil(PARALLEL_FROM / time)
        from_size = least if formula.is_heavy or not function else max(least, alone)
        fields = {
            "block": block, "count": len(formula.kinds), "least": from_size, "alone": alone,
            "grain": max(1, round(PARALLEL_FROM / 3 / time / BLOCK)), "reports": formula.reports, "other": function,
            "its": its, "parallel": parallel, "flags": INVALID | DIVIDE | OVERFLOW | UNDERFLOW,
        }  # fmt: skip
        words = [*(fields[name] for name in FIELDS), *map(width_of, formula.kinds)]
        record = (ctypes.c_int64 * len(words))(*words)
        _kept.append(record)
        addresses.append(ctypes.addressof(record))
    return addresses


def _made(name: str, functions: list[int], data: list[int], types: list[list[int]], nin: int = -1) -> np.ufunc:
    nargs = len(types[0])
    nin = nargs - 1 if nin < 0 else nin
    pointers = (ctypes.c_void_p * len(functions))(*functions)
    others = (ctypes.c_void_p * len(data))(*(each or None for each in data))
    codes = ctypes.create_string_buffer(bytes(code for row in types for code in row))
    label, doc = ctypes.create_string_buffer(name.encode()), ctypes.create_string_buffer(b"As NumPy's.")
    _kept.append((pointers, others, codes, label, doc))
    places = [ctypes.addressof(each) for each in (pointers, others, codes)]
    made: np.ufunc = _maker()(
        *places, len(functions), nin, nargs - nin, _NO_IDENTITY, ctypes.addressof(label), ctypes.addressof(doc), 0
    )
    return made


@functools.cache
def _maker() -> Any:
    capsule = np._core._multiarray_umath._UFUNC_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, number, number, number, number, pointer, pointer, number
    )
    return kind(table[_MAKE])
