"""The short way through a compiled call, written out for one entry and compiled: guards, graph, result.

It exists for the usual call: plain tensors, arrays and literals as arguments, also in tuples, lists and dicts, in
normal modes, of a function that returns new arrays and writes to nothing, or only to tensors without a history. It
answers MISS for everything else, and the general way (`_function.py`, `_runtime.py`) defines what a call means. A test
compares the two.

    def call(args):
        if len(args) != 1: return MISS
        a0, = args
        if type(a0) is not Tensor or a0._spec is not spec_a0 or a0._extra is not None: return MISS
        if type(a0._node) is not Leaf: return MISS
        d_a0 = a0._data
        if not d_a0.flags.carray: return MISS
        if current() is not modes or defaults.real is not real: return MISS
        r = forward(d_a0)
        ...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._captured import CapturedTensor
from pullback.aot._draws import states_of
from pullback.aot._node import CompiledBackward
from pullback.aot._plain_calls import LITERALS, is_plain, is_plain_entry
from pullback.autograd._accumulate import new_accumulator
from pullback.autograd._node import Node
from pullback.autograd._variable import bump_version
from pullback.core.pytree import unflatten
from pullback.core.spec import spec_for
from pullback.core.state import NORMAL, current, next_stamp
from pullback.ops.creation import Defaults, get_default_dtype
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.versions import new_counter

MISS: Any = object()

_FEW = 4  # up to so many arguments are compared in pairs


def fast_call(entry: Any, args: tuple[Any, ...], leaves: list[Any]) -> Any:
    """A function of the positional arguments for calls like this one; None if such calls have no short way."""
    modes = current()
    if modes is not NORMAL and modes is not NORMAL.replace(grad=False):
        return None
    if not is_plain_entry(entry) or not all(is_plain(leaf) for leaf in leaves):
        return None
    writer = _Writer(entry, leaves)
    return writer.compiled(args)


class _Writer:
    """Writes the source of one short way. Arguments are called a0, a1, ... there, captured tensors c0, c1, ..., and
    the array behind either has the same name with d_ in front."""

    def __init__(self, entry: Any, leaves: list[Any]) -> None:
        self.entry = entry
        self.leaves = leaves
        # A native function looks at arrays by itself, in a fraction of the time, and answers MISS.
        guarded = getattr(entry.compiled_forward, "guarded", None)
        found = None if guarded is None else guarded(MISS)
        self.guarded, self.places = (None, []) if found is None else found
        self.scope: dict[str, Any] = {
            "CompiledBackward": CompiledBackward, "Leaf": Leaf, "MISS": MISS, "Node": Node, "Tensor": Tensor,
            "bump_version": bump_version, "current": current, "defaults": Defaults, "entry": entry,
            "forward": self.guarded or entry.forward, "may_share_memory": np.may_share_memory, "modes": current(),
            "ndarray": np.ndarray, "new_accumulator": new_accumulator, "new_counter": new_counter,
            "next_stamp": next_stamp, "out_tree": entry.capture.out_tree, "real": get_default_dtype(),
            "states_of": states_of, "tangent_specs": entry.tangent_specs, "unflatten": unflatten,
        }  # fmt: skip
        self.lines: list[str] = []
        self.steps: dict[Any, int] = {}  # on the ways to captured tensors, by place: several may have the same
        self.read: list[Any] = []  # the leaves that were met, in order
        self.attached: list[tuple[str, int]] = []  # results with a history, and which output of the node they are
        captured = iter(range(len(entry.fit.captured)))
        self.names = [f"a{g.slot}" if g.slot is not None else f"c{next(captured)}" for g in entry.inputs]
        self.given = [leaves[g.slot] if g.slot is not None else g.capture for g in entry.inputs]

    def compiled(self, args: tuple[Any, ...]) -> Any:
        """The function."""
        self._guards(args)
        if len(self.read) != len(self.leaves) or any(
            mine is not leaf for mine, leaf in zip(self.read, self.leaves, strict=True)
        ):
            return None  # some container is not among those that are known here
        if self.entry.draw_sources:
            self.lines.append("draws = states_of(entry.draw_sources)")
        self.lines.append(f"r = forward({', '.join(f'd_{name}' for name in self.names)})")
        if self.guarded is not None:
            self._miss(["r is MISS"])
        outputs = self._outputs()
        if self.entry.is_training:
            self._node()
        self._count_writes()
        self.lines.append(f"return {outputs}")
        body = "\n    ".join(self.lines)
        source = f"def call(args):\n    {body}\n"
        exec(compile(source, "<pull of a compiled call>", "exec"), self.scope)
        function = self.scope["call"]
        function.source = source
        return function

    # Guards.

    def _guards(self, args: tuple[Any, ...]) -> None:
        self._sequence(args, "args")
        for number, captured in enumerate(self.entry.fit.captured):
            self._captured(captured, f"c{number}")
        arrays = [f"a{k}" for k, leaf in enumerate(self.leaves) if isinstance(leaf, (Tensor, np.ndarray))]
        if len(arrays) <= _FEW:
            same = [f"{one} is {other}" for k, other in enumerate(arrays) for one in arrays[:k]]
        else:
            same = [f"len({{{', '.join(f'id({name})' for name in arrays)}}}) != {len(arrays)}"]
        self._miss([*same, "current() is not modes", "defaults.real is not real"])
        self._keep_apart([*arrays, *(f"c{k}" for k in range(len(self.entry.fit.captured)))])

    def _keep_apart(self, names: list[str]) -> None:
        """What is written may share no memory with anything else."""
        written = [name for name, given in zip(self.names, self.entry.inputs, strict=True) if given.info.mutates_data]
        pairs = {tuple(sorted((one, other))) for one in written for other in names if one != other}
        if pairs:
            self._miss([f"may_share_memory(d_{one}, d_{other})" for one, other in sorted(pairs)])

    def _sequence(self, values: Any, name: str) -> None:
        """Take a tuple or list apart, and what is in it."""
        wrong = [] if name == "args" else [f"type({name}) is not {type(values).__name__}"]
        self._miss([*wrong, f"len({name}) != {len(values)}"])
        if not values:
            return
        position = len(self.lines)
        self.lines.append("")
        parts = [self._value(value, f"{name}_{k}") for k, value in enumerate(values)]
        # The names are known only now: leaves are numbered through, in the order in which they are met.
        self.lines[position] = f"{', '.join(parts)}, = {name}"

    def _mapping(self, values: dict[Any, Any], name: str) -> None:
        self._miss([f"type({name}) is not dict", f"len({name}) != {len(values)}"])
        for k, key in enumerate(sorted(values)):
            self.lines.append("")
            position = len(self.lines) - 1
            part = self._value(values[key], f"{name}_{k}")
            self.lines[position] = f"{part} = {name}.get({key!r}, MISS)"

    def _value(self, value: Any, name: str) -> str:
        """Guards of one value; returns what it is called."""
        if type(value) in (tuple, list):
            self._sequence(value, name)
            return name
        if type(value) is dict and all(type(key) is str for key in value):
            self._mapping(value, name)
            return name
        name = f"a{len(self.read)}"
        self.read.append(value)
        if type(value) is Tensor:
            self._tensor(value, name, [f"type({name}) is not Tensor"])
        elif type(value) is np.ndarray:
            self._array(value, name)
        elif value is None:
            self._miss([f"{name} is not None"])
        elif type(value) in (*LITERALS, float):
            self._miss([f"type({name}) is not {type(value).__name__}", f"{name} != {value!r}"])
        return name

    def _tensor(self, tensor: Tensor, name: str, wrong: list[str]) -> None:
        self.scope[f"spec_{name}"] = tensor._spec
        kind = (
            f"{name}._node is not None" if tensor._node is None
            else f"type({name}._node) is not Leaf" if type(tensor._node) is Leaf
            else f"not isinstance({name}._node, Node)"
        )  # fmt: skip
        self._miss([*wrong, f"{name}._spec is not spec_{name}", f"{name}._extra is not None", kind])
        self.lines.append(f"d_{name} = {name}._data")
        if self.guarded is None:
            self._miss([f"not d_{name}.flags.carray"])

    def _array(self, array: Any, name: str) -> None:
        self.scope[f"shape_{name}"], self.scope[f"dtype_{name}"] = array.shape, array.dtype
        self.lines.append(f"d_{name} = {name}")
        if self.guarded is not None:
            return
        self._miss([
            f"type({name}) is not ndarray", f"{name}.shape != shape_{name}", f"{name}.dtype is not dtype_{name}",
            f"not {name}.flags.carray",
        ])  # fmt: skip

    def _captured(self, captured: CapturedTensor, name: str) -> None:
        self.scope[name] = captured.tensor
        moved = []
        for step in captured.way:
            place = (id(step.holder), step.kind, step.key)
            if place not in self.steps:
                number = self.steps[place] = len(self.steps)
                self.scope[f"holder{number}"], self.scope[f"value{number}"] = step.holder, step.value
                moved.append(f"{step.expression(f'holder{number}')} is not value{number}")
        if moved:
            self.lines += [
                "try:", f"    if {' or '.join(moved)}: return MISS",
                "except (ValueError, LookupError, TypeError, AttributeError): return MISS",
            ]  # fmt: skip
        self._tensor(captured.tensor, name, [])

    def _miss(self, conditions: list[str]) -> None:
        self.lines.append(f"if {' or '.join(conditions)}: return MISS")

    # Results.

    def _count_writes(self) -> None:
        for name, leaf, given in zip(self.names, self.given, self.entry.inputs, strict=True):
            if type(leaf) is Tensor:
                self.lines += [f"bump_version({name}, d_{name})"] * given.info.version_bumps

    def _outputs(self) -> str:
        """Lines that make the tensors of the results; returns the expression of the whole result."""
        names = []
        for position, info in enumerate(self.entry.meta.output_info):
            value = self.entry.capture.graph.outputs[self._first() + position]
            name = f"t{position}"
            self.scope[f"spec_{name}"] = spec_for(value.type.shape, value.type.dtype)
            self.lines += [
                f"{name} = Tensor()", f"{name}._data = {self._output(self._first() + position)}",
                f"{name}._spec = spec_{name}",
                f"{name}._node = {name}._counter = {name}._extra = {name}._meta = None",
            ]  # fmt: skip
            if info.requires_grad_for_backward:
                self.attached.append((name, len(self.attached)))
            names.append(name)
        tree = self.entry.capture.out_tree
        if tree.is_leaf():
            return names[0]
        if tree.type is tuple and all(child.is_leaf() for child in tree.children()):
            return f"({', '.join(names)}{',' if names else ''})"
        return f"unflatten(out_tree, [{', '.join(names)}])"

    def _output(self, k: int) -> str:
        """An output of the graph."""
        if self.guarded is None:
            return f"r[{k}]"
        kind, number = self.places[k]
        return f"r[{number}]" if kind == "result" else f"d_{self.names[number]}"

    def _saved(self) -> str:
        count = self.entry.capture.num_forward_outputs
        if self.guarded is None:
            return f"tuple(r[{count}:])"
        return f"({_listed([self._output(count + k) for k in range(len(self.entry.saved))])})"

    def _first(self) -> int:
        entry = self.entry
        return entry.capture.num_forward_outputs - len(entry.meta.output_info)

    def _node(self) -> None:
        entry = self.entry
        behind = [self._edge(k) for k in range(len(entry.inputs))]
        for name, leaf in zip(self.names, self.given, strict=True):
            if type(leaf) is Tensor:
                self.lines += [f"v_{name} = {name}._counter", f"v_{name} = 0 if v_{name} is None else v_{name}.value"]
            else:
                self.lines.append(f"v_{name} = 0")
        keeps = entry.options.higher_order == "retrace"
        self.lines += [
            "node = CompiledBackward()", "node.entry = entry", f"node.next = ({_listed(behind)})",
            "node.next_nr = node.rare = None", "node.output_specs = tangent_specs",
            f"node.num_outputs = {len(entry.tangent_specs)}", "node.spec = tangent_specs[0]",
            f"node.primals = {f'({_listed(self.names)})' if keeps else 'None'}",
            f"node.versions = ({_listed([f'v_{name}' for name in self.names])})",
            f"node.saved = {self._saved()}", "node.seq = next_stamp()",
            "node.quick = quick = entry.quick", "node.is_fast = quick is not None",
            f"node.goes_to_leaves = {self._goes_to_leaves()}",
        ]  # fmt: skip
        if entry.draw_sources:
            self.lines.append("node.draws = draws")
        for name, number in self.attached:
            self.lines.append(f"{name}._node = node")
            if number:
                self.lines.append(f"{name}._nr = {number}")
        self._watch()

    def _edge(self, k: int) -> str:
        """What the gradient of an input goes to."""
        entry, name, leaf = self.entry, self.names[k], self.given[k]
        if not entry.inputs[k].wants_grad or not entry.reaches[k]:
            return "None"
        if type(leaf._node) is not Leaf:
            return f"{name}._node"
        self.lines += [
            f"n{k} = {name}._node.accumulator",
            f"n{k} = None if n{k} is None else n{k}()",
            f"if n{k} is None: n{k} = new_accumulator({name})",
        ]
        return f"n{k}"

    def _goes_to_leaves(self) -> str:
        """Do the gradients go to leaves, to each one? What is captured may also be given."""
        edges = [k for k in range(len(self.names)) if self.entry.inputs[k].wants_grad and self.entry.reaches[k]]
        if not all(type(self.given[k]._node) is Leaf for k in edges):
            return "False"
        given = [k for k in edges if self.entry.inputs[k].slot is not None]
        captured = [k for k in edges if k not in given]
        return " and ".join(["quick is not None", *(f"n{k} is not n{c}" for k in given for c in captured)])

    def _watch(self) -> None:
        """What is saved and may be written by others is compared with its version when it is read."""
        watched = []
        for position, saved in enumerate(self.entry.saved):
            if not saved.is_checked:
                continue
            if saved.input_index is not None:
                if type(self.given[saved.input_index]) is Tensor:
                    name = self.names[saved.input_index]
                    watched.append(f"({position}, {name}, None, v_{name})")
            else:
                name = f"t{saved.output_index - self._first()}"
                self.lines.append(f"if {name}._counter is None: {name}._counter = new_counter()")
                watched.append(f"({position}, None, {name}._counter, 0)")
        self.lines.append(f"node.watched = ({_listed(watched)})")


def _listed(parts: list[str]) -> str:
    return "".join(f"{part}, " for part in parts)
