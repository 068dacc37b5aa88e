"""Reading the text of a graph. What is written there, and how, says `graph/text/printing.py`."""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.graph.ir import BACKWARD, FORWARD, ArrayType, Node, Program, Value, find_operator
from pullback.graph.text.literals import Scanner, parse_prefix

Kind = TypeVar("Kind", bound=Program)

_OWN_KINDS = ("cond", "constant", "scan", "update", "while_loop")


def parse_program(text: str, kind: type[Kind]) -> Kind:
    """The graph with this text, of this class."""
    reader = _Reader(text)
    found = reader.graph(kind)
    if reader.kind != "end":
        raise reader.error(f"nothing may follow the graph, and {reader.token!r} does")
    return found


class _Reader(Scanner):
    """Reads graphs. `values` has those of the graph that is being read, by number."""

    values: dict[str, Value]

    def graph(self, kind: type[Kind]) -> Kind:
        self.expect("graph")
        program = kind(self.take())
        outer, self.values = getattr(self, "values", {}), {}
        self.expect("(")
        self.until(")", lambda: self._input(program))
        self.expect("{")
        while not self.take_if("return"):
            self._node(program)
        self.expect("(")
        self.until(")", lambda: self._output(program))
        self.expect("}")
        self.values = outer
        return program

    def _input(self, program: Program) -> None:
        name, type = self._declared()
        desc = self._descriptor() if self.take_if("=") else None
        self.values[name] = program.add_input(type, desc)

    def _declared(self) -> tuple[str, ArrayType]:
        if self.kind != "value" or self.token in self.values:
            raise self.error(f"a new value was expected here, not {self.token!r}")
        name = self.take()
        self.expect(":")
        return name, self.array_type()

    def _descriptor(self) -> Any:
        try:
            desc, end = parse_prefix(self.text, self.position)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.move_to(end)
        return desc

    def _output(self, program: Program) -> None:
        desc = None
        if self.kind == "name" and self.token != "None":
            desc = self._descriptor()
            self.expect("=")
        value = self._operand()
        if not (value is None or isinstance(value, Value)):
            raise self.error(f"an output is a value, not {value!r}")
        program.add_output(value, desc)

    def _node(self, program: Program) -> None:
        if self.take_if("store"):
            target = self._operand()
            self.expect("<-")
            node = program.add("store", (target, self._operand()), {}, ())
        else:
            node = self._call(program)
        if self.kind == "remark":
            self._remarks(node, self.take()[1:].split())
        while self.kind == "name" and self.text.startswith(":", self.end):
            name = self.take()
            self.expect(":")
            node.attrs[name] = self.graph(type(program))

    def _call(self, program: Program) -> Node:
        declared = []
        while self.kind == "value":
            declared.append(self._declared())
            if not self.take_if(","):
                self.expect("=")
                break
        op = self.take()
        self.expect("(")
        types = [type for _, type in declared]
        if op == "constant":
            node = program.add(op, (), {"value": self.elements(types[0], ")")}, types)
        else:
            operands, attrs = self._arguments(op)
            node = program.add(op if op in _OWN_KINDS else find_operator(op), operands, attrs, types)
        self.values.update(zip([name for name, _ in declared], node.results, strict=True))
        return node

    def _arguments(self, op: str) -> tuple[list[Any], dict[str, Any]]:
        operands: list[Any] = []
        attrs: dict[str, Any] = {}

        def read() -> None:
            if self.kind != "name" or not self.text.startswith("=", self.end):
                operands.append(self._operand())
            elif op == "update":
                self.take()
                self.expect("=")
                self.expect("(")
                attrs["steps"] = tuple(self.until(")", self.single))
            else:
                name, value = self.keyword()
                attrs[name] = value

        self.until(")", read)
        return operands, attrs

    def _operand(self) -> Any:
        if self.kind != "value":
            return self.value()
        if self.token not in self.values:
            raise self.error(f"{self.token} is not made by any line above")
        return self.values[self.take()]

    def _remarks(self, node: Node, words: list[str]) -> None:
        if not words or words[0] not in (FORWARD, BACKWARD):
            raise self.error(f"`# {FORWARD}` or `# {BACKWARD}` was expected behind the line above")
        node.tag = words[0]
        for word in words[1:]:
            name, is_pair, value = word.partition("=")
            if not is_pair:
                node.effect = word
            elif name == "recompute":
                node.recompute = value
            elif name == "region":
                node.region = int(value)
            else:
                raise self.error(f"{word!r} is no remark of a node")
