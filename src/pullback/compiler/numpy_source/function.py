"""`write_function`: a graph as the text of one Python function, a statement per node.

    def backward(tangent_output_0, arg_0):
        multiply_1 = tangent_output_0 * two  # f64[3]
        grad_args_0 = np.multiply(multiply_1, arg_0, multiply_1)  # f64[3], over multiply_1
        return (grad_args_0,)

The last argument of a NumPy function is the array that it writes to: memory of a value that is not needed any more, as
`compiler/loops/planning.py` decides. A function is written twice, if both are asked for: `flat` takes arrays and
returns a tuple, `boxed` takes a list, which it empties, so that inputs can go as soon as nobody needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from pullback.compiler.loops.planning import CONSTANT, FOREIGN, INPUT, OWN, Plan, Traits, make_plan
from pullback.compiler.numpy_source import arithmetic, views
from pullback.compiler.numpy_source.forms import FORMS, Lowered, Operands, Writing, of_kernel, of_ufunc
from pullback.compiler.numpy_source.module import Module
from pullback.compiler.numpy_source.runtime import copy_in_layout, in_layout, own_memory
from pullback.errors import InternalError
from pullback.graph.ir import Node, Program, Value, empty_like_type, type_of
from pullback.graph.text.literals import type_text

__all__ = ["FORM_MODULES", "Lowered", "Writing", "lower"]


# Control flow as Python's own: a branch, or a loop around a function that is written from the body's graph.
#
# The functions of bodies return arrays in memory of their own, except that a loop may hand on a carried value as it is.
# So the results of a loop are arrays of its own too, once those that it never replaced are copied.

def write_body(writer: FunctionWriter, program: Program, name: str, carried: int = 0) -> str:
    """The name of a function for the graph of a body, which is written before the function that calls it."""
    passed = {k for k in range(carried) if program.outputs[k] is program.inputs[k]}
    fresh = frozenset(range(len(program.outputs))) - passed
    own = writer.module.name(name)
    body = type(writer)(writer.module, program, fresh, writer.is_portable)
    writer.module.functions.append(body.write(own, is_boxed=False))
    return own


def _results(writer: FunctionWriter, node: Node) -> tuple[list[str], str]:
    names = [writer.name_result(value) for value in node.results]
    return names, ", ".join(type_text(value.type) for value in node.results)


def _tuple(names: list[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def write_cond(writer: FunctionWriter, node: Node) -> None:
    """`if predicate: ... else: ...`."""
    predicate, *args = [writer.argument(x) for x in writer.operands[node]]
    branches = [write_body(writer, node.attrs[key], f"when_{key}") for key in ("true", "false")]
    names, types = _results(writer, node)
    left = f"{_tuple(names)} = " if names else ""
    for word, branch in zip((f"if {predicate}:", "else:"), branches, strict=True):
        writer.add(word, types)
        writer.add(f"    {left}{branch}({', '.join(args)})")


def write_while_loop(writer: FunctionWriter, node: Node) -> None:
    """`while condition: ...`."""
    carried = node.attrs["carried"]
    args = [writer.argument(x) for x in writer.operands[node]]
    condition = write_body(writer, node.attrs["condition"], "condition")
    body = write_body(writer, node.attrs["body"], "body", carried)
    names, types = _results(writer, node)
    _begin(writer, names, args, types)
    given = ", ".join([*names, *args[carried:]])
    writer.add(f"while {condition}({given})[0]:")
    writer.add(f"    {_tuple(names)} = {body}({given})")
    _end(writer, names, args)


def write_scan(writer: FunctionWriter, node: Node) -> None:
    """`for step in range(length): ...`, with what is collected in arrays that are there from the start."""
    carried, scanned, length = (node.attrs[key] for key in ("carried", "scanned", "length"))
    args = [writer.argument(x) for x in writer.operands[node]]
    body = write_body(writer, node.attrs["body"], "body", carried)
    names, types = _results(writer, node)
    carry, collected = names[:carried], names[carried:]
    _begin(writer, carry, args, types)
    for name, value in zip(collected, node.results[carried:], strict=True):
        writer.add(f"{name} = np.empty({value.type.shape}, {writer.module.dtype(value.type.dtype)})")
    step = writer.module.name("step")
    items = [writer.module.name("item") for _ in collected]
    slices = [f"{name}[{step}, ...]" for name in args[carried : carried + scanned]]
    given = ", ".join([*carry, *slices, *args[carried + scanned :]])
    steps = f"range({length} - 1, -1, -1)" if node.attrs["reverse"] else f"range({length})"
    writer.add(f"for {step} in {steps}:")
    left = f"{_tuple([*carry, *items])} = " if carry or items else ""
    writer.add(f"    {left}{body}({given})")
    for name, item in zip(collected, items, strict=True):
        writer.add(f"    {name}[{step}] = {item}")
    _end(writer, carry, args)


def _begin(writer: FunctionWriter, carry: list[str], args: list[str], types: str) -> None:
    for name, arg in zip(carry, args, strict=False):
        writer.add(f"{name} = {arg}", types)
        types = ""


def _end(writer: FunctionWriter, carry: list[str], args: list[str]) -> None:
    for name, arg in zip(carry, args, strict=False):
        writer.add(f"{name} = {writer.module.bind(own_memory, 'own_memory', 'helper')}({name}, {arg})")


WRITERS: dict[str, Callable[[FunctionWriter, Node], None]] = {
    "cond": write_cond,
    "while_loop": write_while_loop,
    "scan": write_scan,
}


# What is read directly: an elementwise function repeats its operands by itself, so nobody has to do it before.
#
# The rule of every sum is a `broadcast_to`, and most of them go straight into a product. Such a view is not made; the
# function reads the array behind it and has the same elements, in the same order.

def forwarded(program: Program) -> tuple[list[Node], dict[Node, tuple[Any, ...]]]:
    """The nodes that are still needed, stores at the end, and for each what it reads."""
    operands = {node: _without_repeats(node) for node in program.nodes}
    needed = {value for value in program.outputs if value is not None}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        if node.is_view and not needed.intersection(node.results):
            continue
        kept.append(node)
        needed.update(x for x in operands[node] if type(x) is Value)
    kept.reverse()
    return sorted(kept, key=lambda node: node.op == "store"), operands


def _without_repeats(node: Node) -> tuple[Any, ...]:
    if not _is_elementwise(node):
        return node.operands
    sources = tuple(_source(x) for x in node.operands)
    shapes = [x.type.shape for x in sources if type(x) is Value]
    return sources if np.broadcast_shapes(*shapes) == node.result.type.shape else _some(node, sources)


def _some(node: Node, sources: tuple[Any, ...]) -> tuple[Any, ...]:
    """All but the first repeated operand read directly, if that gives the result its shape."""
    for position, (source, x) in enumerate(zip(sources, node.operands, strict=True)):
        if source is not x and x.type.shape == node.result.type.shape:
            return (*sources[:position], x, *sources[position + 1 :])
    return node.operands


def _is_elementwise(node: Node) -> bool:
    op = node.target
    if op is None or op.family != "elementwise" or len(node.results) != 1:
        return False
    return op.name in FORMS or (isinstance(op.kernel, np.ufunc) and op.kernel.signature is None)


def _source(x: Any) -> Any:
    """The array behind a `broadcast_to`."""
    while type(x) is Value and x.node is not None and x.node.op == "broadcast_to":
        x = x.node.operands[0]
    return x


# Operators as NumPy expressions: for each node the cheapest call with the same result to the last bit.
#
# `lower(node, operands)` returns what the backend can do about memory for this node (`Traits`) and how it is written.
# Operators that are one NumPy call have a form, those whose kernel or fold is a ufunc need none; the rest call their
# kernel, which is the same function that eager execution calls. A form may decline by returning None.

FORM_MODULES = (arithmetic, views)
"""The modules that enter forms."""


def lower(node: Node, operands: Operands) -> Lowered:
    """How a node of a declared operator is written."""
    op = node.target
    assert op is not None
    form = FORMS.get(op.name) if op.family != "custom" else None
    lowered = form(node, operands) if form is not None else None
    if op.family == "reduction" and op.folds is not None:
        lowered = arithmetic.reduce_with(op.folds, node, operands)
    elif lowered is None and isinstance(op.kernel, np.ufunc) and not node.attrs and len(node.results) == 1:
        lowered = of_ufunc(op.kernel, node, operands)
    return lowered or of_kernel(node, operands)


# Where an `update` writes: the views that lead there as one expression to assign to, `out.T[1:, 0]`.

def place_text(module: Module, name: str, node: Node) -> str:
    """The part of the array `name` that the views of an update lead to, as something to assign to."""
    text, value = name, node.result
    stand_in = empty_like_type(value.type)
    is_subscript = False
    for step in node.attrs["steps"]:
        stand_in = step.op.kernel(stand_in, **step.params)
        view = Node(step.op, step.op.name, (value,), step.params)
        view.results = (Value(type_of(stand_in), view),)
        text = lower(view, (value,)).write(Writing(module, [text]))
        is_subscript, value = text.endswith("]"), view.result
    return text if is_subscript else f"{text}[...]"


WORTH_FREEING = 1 << 12
"""Bytes from which on memory is given back before the function returns."""

_UPDATE = Traits(kind=OWN, writes_base=True)


class FunctionWriter:
    """Writes one graph. The plan is made first; then there is one statement, or a few, for each node."""

    def __init__(self, module: Module, program: Program, fresh: Collection[int] | None, is_portable: bool) -> None:
        self.module = module
        self.program = program
        self.is_portable = is_portable
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.fresh = fresh_outputs(program) if fresh is None else frozenset(fresh)
        self.nodes, self.operands = forwarded(program)
        self.lowered: dict[Node, Lowered] = {
            node: lower(node, self.operands[node]) for node in self.nodes if node.target is not None
        }
        self.exact = self._exact_values()
        self.plan: Plan = make_plan(
            program.inputs, self.nodes, program.outputs, self.operands.__getitem__, self.traits_of
        )

    def _exact_values(self) -> set[Value]:
        """The values that certainly lie in memory as their types say. Forms that rely on more are not used."""
        exact = set(self.program.inputs)
        for node in self.nodes:
            from_exact = all(x in exact for x in self.operands[node] if type(x) is Value)
            lowered = self.lowered.get(node)
            if lowered is not None and lowered.trusts_layout and not from_exact:
                lowered = self.lowered[node] = of_kernel(node, self.operands[node])
            is_exact = node.op in ("constant", "update") if lowered is None else lowered.is_exact
            # Native functions make what types say, and without axes there is no order.
            if node.op == "native" or (is_exact and from_exact) or all(not value.type.shape for value in node.results):
                exact.update(node.results)
        return exact

    def traits_of(self, node: Node) -> Traits:
        """What can be done about memory for one node; only memory that is known exactly is used again."""
        if node.op == "update":
            return _UPDATE
        if node.op == "constant":
            return Traits(kind=CONSTANT)
        lowered = self.lowered.get(node)
        if lowered is None:
            return Traits(kind=FOREIGN)
        if lowered.traits.kind == OWN and node.results[0] not in self.exact:
            return Traits(kind=FOREIGN)
        return lowered.traits

    # The text.

    def write(self, name: str, is_boxed: bool) -> str:
        """The function under this name."""
        self.lines = []
        for value, desc in zip(self.program.inputs, self.program.input_descs, strict=True):
            self.names[value] = self.module.name(described(desc, "x"))
        self._name_outputs()
        for node in self.nodes:
            if node.op != "store":  # these are written last, so nothing that they read is given back before
                self._statement(node)
                self._free(node, is_boxed)
        results = self._results()
        self._stores(results)
        inputs = ", ".join(self.names[value] for value in self.program.inputs)
        head = [f"def {name}({'arrays' if is_boxed else inputs}):"]
        if is_boxed:
            head += [f"    [{inputs}] = arrays", "    arrays.clear()"]
        return "\n".join([*head, *(f"    {line}" for line in self.lines), f"    return {listed(results, is_boxed)}"])

    def _name_outputs(self) -> None:
        self.wanted: dict[Value, str] = {}
        for value, desc in zip(self.program.outputs, self.program.output_descs, strict=True):
            if value is not None and value.node is not None and value.node.op != "constant":
                self.wanted.setdefault(value, described(desc, value.node.op))

    def name_result(self, value: Value) -> str:
        """Choose the name of a node's result."""
        assert value.node is not None
        wanted = self.wanted.get(value) or value.node.op.removeprefix("special.").removeprefix("_")
        self.names[value] = self.module.name(wanted)
        return self.names[value]

    def argument(self, x: Any) -> str:
        """An operand: the name of a value, or a number."""
        return self.names[x] if type(x) is Value else self.module.text(x)

    def add(self, line: str, comment: str = "") -> None:
        """One more statement."""
        self.lines.append(f"{line}  # {comment}" if comment else line)

    def _statement(self, node: Node) -> None:
        if node.target is not None:
            self._operator(node)
        elif node.op == "constant":
            self.names[node.result] = self.module.bind(node.attrs["value"], "constant", "array")
        elif node.op == "update":
            self._update(node)
        elif node.op in WRITERS:
            WRITERS[node.op](self, node)
        else:
            raise InternalError(f"the NumPy backend has no way to write a node {node.op!r}")

    def _operator(self, node: Node) -> None:
        lowered = self.lowered[node]
        target = self.plan.targets.get(node)
        args = [self.argument(x) for x in self.operands[node]]
        writing = Writing(self.module, args, None if target is None else self.names[target], self.is_portable)
        expression = lowered.write(writing)
        over = "" if target is None else f", over {self.names[target]}"
        names = [self.name_result(value) for value in node.results]
        types = ", ".join(type_text(value.type) for value in node.results)
        left = ", ".join(names) + (", = " if lowered.unpacks and len(names) == 1 else " = " if names else "")
        self.add(f"{left}{expression}", f"{types}{over}")
        if lowered.then is not None:
            self.add(lowered.then(writing, names[0]))
        if lowered.unpacks and not lowered.traits.is_view:
            for value in node.results:
                if not value.type.shape:
                    self.add(f"{self.names[value]} = np.asarray({self.names[value]})")

    def _update(self, node: Node) -> None:
        base, new = self.operands[node]
        source, value = self.argument(base), self.argument(new)
        name = self.name_result(node.result)
        is_free = node in self.plan.targets
        comment = f"{type_text(node.result.type)}{f', over {source}' if is_free else ''}"
        self.add(f"{name} = {source if is_free else self.copy_of(base, node.result)}", comment)
        self.add(f"{place_text(self.module, name, node)} = {value}")

    def copy_of(self, x: Any, result: Value) -> str:
        """A copy in new memory, laid out as the type of `result` says."""
        name, strides = self.argument(x), result.type.strides
        if strides is None:
            return f"{name}.copy()"
        return f"{self.module.bind(copy_in_layout, 'copy_in_layout', 'helper')}({name}, {strides})"

    def _free(self, node: Node, is_boxed: bool) -> None:
        freed = self.plan.freed.get(node, ())
        if not is_boxed:  # the caller has the inputs
            freed = tuple(value for value in freed if self.plan.storage_of[value].kind != INPUT)
        if freed and max(value.nbytes for value in freed) >= WORTH_FREEING:
            self.add(f"del {', '.join(self.names[value] for value in freed)}")

    # Results.

    def _results(self) -> list[str]:
        seen: set[Any] = set()
        return [self._result(number, value, seen) for number, value in enumerate(self.program.outputs)]

    def _stores(self, results: list[str]) -> None:
        """Write to inputs, after everything that reads them has happened."""
        stores = [node for node in self.nodes if node.op == "store"]
        if not stores:
            return
        for number, text in enumerate(results):
            if not text.isidentifier():
                results[number] = self.module.name("result")
                self.add(f"{results[number]} = {text}")
        written = {self.plan.storage_of[node.operands[0]] for node in stores}
        texts = []
        for node in stores:
            target, value = node.operands
            storage = self.plan.storage_of[value] if type(value) is Value else None
            texts.append(self.argument(value))
            if storage in written and storage is not self.plan.storage_of[target]:
                texts[-1] = self.module.name("stored")
                self.add(f"{texts[-1]} = {self.argument(value)}.copy()")
        for node, text in zip(stores, texts, strict=True):
            self.add(f"np.copyto({self.argument(node.operands[0])}, {text})")

    def _result(self, number: int, value: Value | None, seen: set[Any]) -> str:
        if value is None:
            return "None"
        name, storage = self.names[value], self.plan.storage_of[value]
        is_taken = storage.kind in (INPUT, CONSTANT) or storage in seen
        seen.add(storage)
        if storage.kind == CONSTANT or (number in self.fresh and is_taken):
            return self.copy_of(value, value)
        if value in self.exact or (value.node is not None and value.node.is_view):
            return name
        if value.type.strides is None:
            return f"{name} if {name}.flags.c_contiguous else {name}.copy()"
        return f"{self.module.bind(in_layout, 'in_layout', 'helper')}({name}, {value.type.strides})"


def listed(texts: list[str], is_list: bool) -> str:
    """Expressions as a list or as a tuple."""
    inside = ", ".join(texts)
    return f"[{inside}]" if is_list else f"({inside}{',' if len(texts) == 1 else ''})"


def described(desc: Any, otherwise: str) -> str:
    """A word for what a descriptor says."""
    if desc is None:
        return otherwise
    return desc.expr() if hasattr(desc, "expr") else str(desc)


def fresh_outputs(program: Program) -> frozenset[int]:
    """The outputs that need memory of their own: those that are an input, or the same value as an output before.

    What is saved for backward is handed over as it is, and so is what views say to be shared.
    """
    seen: set[Value] = set(program.inputs)
    found: set[int] = set()
    for number, (value, desc) in enumerate(zip(program.outputs, program.output_descs, strict=True)):
        if value is not None and not described(desc, "").startswith("saved"):
            if value in seen:
                found.add(number)
            seen.add(value)
    return frozenset(found)
