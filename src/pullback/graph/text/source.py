"""`to_python`: a graph as the Python that somebody would have written, with the functions of `pb`.

    import numpy as np
    import pullback as pb


    def forward(x0, x1):
        v2 = pb.multiply(x0, 2)
        v3 = v2[1:, 0]
        return [v3]

It takes and returns Tensors. Operators that have no public function are found by name. An object
that has no text, such as a generator, is an argument that has to be given by keyword.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.graph.ir import Node, Program, Value
from pullback.graph.text.literals import PYTHON_TYPES, Writer, described, listed
from pullback.graph.text.printing import bodies_of, numbered

_INDENT = "    "


def to_python(program: Program) -> str:
    """The source of a function that computes what the graph computes."""
    writer = _PythonWriter()
    lines = _function(program, program.name, writer, "")
    header = ["import numpy as np", "import pullback as pb"]
    if writer.uses_base64:
        header.insert(0, "import base64\n")
    if writer.uses_operators:
        header.append("from pullback.graph.ir import find_operator as operator")
    if writer.given:
        lines[0] = lines[0].replace("):", f", *, {', '.join(writer.given)}):").replace("(, ", "(")
    return "\n".join([*header, "", "", *lines, ""])


class _PythonWriter(Writer):
    """Writes values as Python does."""

    def __init__(self) -> None:
        super().__init__(True)
        self.uses_operators = self.uses_base64 = False
        self.given: dict[str, Any] = {}  # objects that have no text, by the name of the argument they become
        self.prefix = "object"

    def value(self, x: Any) -> str:
        """The source of one value."""
        return self._placeholder(x) if type(x) in described else super().value(x)

    def params(self, params: dict[str, Any]) -> list[str]:
        """Keyword parameters, each as `name=value`."""
        parts = []
        for name, value in params.items():
            self.prefix = name
            parts.append(f"{name}={self.value(value)}")
        return parts

    def operator(self, op: Op) -> str:
        """The function of an operator."""
        return f"pb.{op.name}" if op.is_public else self._operator(op)

    def index(self, parts: tuple[Any, ...]) -> str:
        """What stands between the brackets of `x[...]`, where slices have a form of their own."""
        return ", ".join(Writer._slice(self, part) if isinstance(part, slice) else self.value(part) for part in parts)

    def step(self, step: ViewStep) -> str:
        """A step of a view, where it is a parameter."""
        return f"({self._operator(step.op)}, {self.value(step.params)})"

    def view(self, source: str, step: ViewStep) -> str:
        """A step of a view, taken of `source`."""
        write = _SPELLED.get(step.op.name)
        if write is not None:
            return write(self, [source], step.params)
        return f"{self.operator(step.op)}({', '.join([source, *self.params(step.params)])})"

    def constant(self, x: np.ndarray[Any, Any]) -> str:
        """An array."""
        numbers = listed(x) if x.size <= 64 else None
        if numbers is not None and x.size:
            return f"np.array({self.value(numbers)}, {self.value(x.dtype)})"
        self.uses_base64 = True
        text = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
        return f"np.frombuffer(base64.b64decode({text!r}), {self.value(x.dtype)}).reshape({x.shape})"

    def _typed_array(self, x: np.ndarray[Any, Any]) -> str:
        return self._placeholder(x) if x.dtype.hasobject else self.constant(x)

    def _number(self, x: Any) -> str:
        if isinstance(x, float) and not math.isfinite(x):
            return f'float("{x}")'
        if isinstance(x, complex) and not (math.isfinite(x.real) and math.isfinite(x.imag)):
            return f"complex({self._number(x.real)}, {self._number(x.imag)})"
        return repr(x)

    def _slice(self, x: slice) -> str:
        return f"slice({self.value(x.start)}, {self.value(x.stop)}, {self.value(x.step)})"

    def _scalar(self, x: np.generic) -> str:
        number = listed(np.asarray(x))
        return self._placeholder(x) if number is None else f"np.{x.dtype.name}({self.value(number)})"

    def _dtype(self, x: np.dtype[Any]) -> str:
        return f"np.dtype({x.name if x.isnative and x.kind in 'biufc' else x.str!r})"

    def _operator(self, x: Op) -> str:
        self.uses_operators = True
        return f"operator({x.name!r})"

    def _type(self, x: type) -> str:
        return x.__name__ if PYTHON_TYPES.get(x.__name__) is x else super()._type(x)

    def _placeholder(self, x: Any) -> str:
        for name, known in self.given.items():
            if known is x:
                return name
        name = self.prefix if self.prefix not in self.given else f"{self.prefix}{len(self.given)}"
        self.given[name] = x
        return name


def _function(program: Program, name: str, writer: _PythonWriter, indent: str) -> list[str]:
    numbers = numbered(program)
    names = {value: f"v{number}" for value, number in numbers.items()}
    names |= {value: f"x{numbers[value]}" for value in program.inputs}
    lines = [f"{indent}def {name}({', '.join(names[value] for value in program.inputs)}):"]
    inner = indent + _INDENT
    for node in program.nodes:
        if node.op != "store":
            made = _statement(node, names, writer, inner)
            lines += [line if line.startswith(inner) else inner + line for line in made]
    lines += [
        f"{inner}{names[node.operands[0]]}.copy_({names[node.operands[1]]})"
        for node in program.nodes if node.op == "store"
    ]  # fmt: skip
    outputs = ", ".join("None" if value is None else names[value] for value in program.outputs)
    return [*lines, f"{inner}return [{outputs}]"]


def _statement(node: Node, names: dict[Value, str], writer: _PythonWriter, indent: str) -> list[str]:
    made = [names[value] for value in node.results]
    operands = [names[x] if type(x) is Value else writer.value(x) for x in node.operands]
    if node.target is None:
        return _OWN_KINDS[node.op](node, made, operands, writer, indent)
    is_tuple = node.target.num_outputs is None and node.target.family != "custom"
    left = f"{', '.join(made)}{',' if len(made) == 1 and is_tuple else ''} = " if made else ""
    write = _SPELLED.get(node.op)
    if write is not None:
        return [left + write(writer, operands, node.attrs)]
    return [f"{left}{writer.operator(node.target)}({', '.join([*operands, *writer.params(node.attrs)])})"]


def _constant(node: Node, made: list[str], operands: list[str], writer: _PythonWriter, indent: str) -> list[str]:
    return [f"{made[0]} = pb.asarray({writer.constant(node.attrs['value'])})"]


def _update(node: Node, made: list[str], operands: list[str], writer: _PythonWriter, indent: str) -> list[str]:
    view = made[0]
    for step in node.attrs["steps"]:
        view = writer.view(view, step)
    return [f"{made[0]} = {operands[0]}.clone()", f"{view}.copy_({operands[1]})"]


def _cond(node: Node, made: list[str], operands: list[str], writer: _PythonWriter, indent: str) -> list[str]:
    bodies, lines = _nested(node, made, writer, indent)
    predicate, *arguments = operands
    chosen = f"({bodies['true']} if {predicate} else {bodies['false']})"
    return [*lines, f"{', '.join(made)}, = {chosen}({', '.join(arguments)})"]


def _while_loop(node: Node, made: list[str], operands: list[str], writer: _PythonWriter, indent: str) -> list[str]:
    bodies, lines = _nested(node, made, writer, indent)
    carried = node.attrs["carried"]
    arguments = ", ".join(["*carry", *operands[carried:]])
    return [
        *lines,
        f"carry = [{', '.join(operands[:carried])}]",
        f"while {bodies['condition']}({arguments})[0]:",
        f"{indent}{_INDENT}carry = {bodies['body']}({arguments})",
        f"{', '.join(made)}, = carry",
    ]


def _scan(node: Node, made: list[str], operands: list[str], writer: _PythonWriter, indent: str) -> list[str]:
    bodies, lines = _nested(node, made, writer, indent)
    attrs = node.attrs
    carried, end = attrs["carried"], attrs["carried"] + attrs["scanned"]
    arguments = ", ".join(["*carry", *(f"{x}[turn]" for x in operands[carried:end]), *operands[end:]])
    turns = f"range({attrs['length']})"
    lines += [
        f"carry, rows = [{', '.join(operands[:carried])}], []",
        f"for turn in {f'reversed({turns})' if attrs['reverse'] else turns}:",
        f"{indent}{_INDENT}outputs = {bodies['body']}({arguments})",
        f"{indent}{_INDENT}carry = outputs[:{carried}]",
        f"{indent}{_INDENT}rows.append(outputs[{carried}:])",
    ]
    lines += ["rows.reverse()"] if attrs["reverse"] else []
    lines += [f"{', '.join(made[:carried])}, = carry"] if carried else []
    for place, value in enumerate(node.results[carried:]):
        name = made[carried + place]
        empty = f"pb.zeros({value.type.shape}, dtype={writer.value(value.type.dtype)})"
        lines.append(f"{name} = pb.stack([row[{place}] for row in rows])" if attrs["length"] else f"{name} = {empty}")
    return lines


def _nested(
    node: Node, made: list[str], writer: _PythonWriter, indent: str
) -> tuple[dict[str, str], list[str]]:  # fmt: skip
    """Functions for the graphs that a node holds: their names, and their lines."""
    names = {name: f"{name}_of_{made[0] if made else 'effect'}" for name in bodies_of(node)}
    lines: list[str] = []
    for name, body in bodies_of(node).items():
        lines += ["", *_function(body, names[name], writer, indent), ""]
    return names, [line for line in lines if line]


_OWN_KINDS: dict[str, Callable[[Node, list[str], list[str], _PythonWriter, str], list[str]]] = {
    "constant": _constant, "update": _update, "cond": _cond, "while_loop": _while_loop, "scan": _scan,
}  # fmt: skip


# Operators that users know under another name, or that have a notation of their own. ---------------------------------

Spelling = Callable[[_PythonWriter, list[str], dict[str, Any]], str]


def _called(name: str, *shown: str) -> Spelling:
    """A function of `pb` that takes the operands and these parameters by keyword."""

    def write(writer: _PythonWriter, operands: list[str], attrs: dict[str, Any]) -> str:
        return f"pb.{name}({', '.join([*operands, *writer.params({key: attrs[key] for key in shown})])})"

    return write


def _of_sequence(name: str) -> Spelling:
    def write(writer: _PythonWriter, operands: list[str], attrs: dict[str, Any]) -> str:
        return f"pb.{name}([{', '.join(operands)}], axis={attrs['axis']})"

    return write


def _indexed(writer: _PythonWriter, operands: list[str], attrs: dict[str, Any]) -> str:
    return f"{operands[0]}[{writer.index(attrs['index'])}]"


def _indexed_by_arrays(writer: _PythonWriter, operands: list[str], attrs: dict[str, Any]) -> str:
    source, *arrays = operands
    rest = iter(arrays)
    parts = [next(rest) if type(part) is str else writer.index((part,)) for part in attrs["template"]]
    return f"{source}[{', '.join(parts)}]"


def _part(writer: _PythonWriter, operands: list[str], attrs: dict[str, Any]) -> str:
    return f"{writer.view(operands[0], ViewStep(attrs['whole'], attrs['params']))}[{attrs['index']}]"


_SPELLED: dict[str, Spelling] = {
    "_basic_index": _indexed,
    "_index": _indexed_by_arrays,
    "_part": _part,
    "_reshape": _called("reshape", "shape"),
    "_unbind": _called("unbind", "axis"),
    "_astype": lambda writer, operands, attrs: f"{operands[0]}.astype({writer.value(attrs['dtype'])})",
    "_concat": _of_sequence("concat"),
    "_stack": _of_sequence("stack"),
}
