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

from math import copysign
from typing import Any

import numpy as np

from pullback.aot._captured import CapturedTensor
from pullback.aot._draws import states_of
from pullback.aot._fast_results import ResultsWriter
from pullback.aot._guards import leaf_key
from pullback.aot._leaves import touching
from pullback.aot._plain_calls import is_plain, is_plain_entry, is_usual
from pullback.autograd._node import Node
from pullback.core.pytree import flatten
from pullback.core.state import NORMAL, Modes, current
from pullback.ops.creation import Defaults, get_default_dtype
from pullback.tensors.tensor import Leaf, Tensor

MISS: Any = object()

_FEW = 4  # up to so many arguments are compared in pairs


def has_short_ways(modes: Modes) -> bool:
    """Are there short ways for calls in these modes?"""
    return modes is NORMAL or modes is NORMAL.replace(grad=False)


def fast_call(entry: Any, args: tuple[Any, ...], leaves: list[Any], order: list[int] | None = None) -> Any:
    """A function of the arguments for calls like this one, in the modes in force; None if such calls have no short way.
    `order` has the positions of the arguments in the order of their leaves."""
    if not is_plain_entry(entry) or not all(is_plain(leaf) for leaf in leaves):
        return None
    writer = _Writer(entry, leaves)
    return writer.compiled(args, order)


class _Writer(ResultsWriter):
    """Writes the source of one short way."""

    def __init__(self, entry: Any, leaves: list[Any]) -> None:
        super().__init__(entry, leaves)
        guarded = getattr(entry.compiled_forward, "guarded", None)
        if guarded is not None and all(_array_of(leaf).flags.writeable for leaf in self.given):
            found = guarded(MISS, (Tensor, "_data", self.new_tensors()))
            if found is not None:
                self.guarded, self.places = found
        self.steps: dict[Any, int] = {}  # on the ways to captured tensors, by place: several may have the same
        self.read: list[Any] = []  # the leaves that were met, in order
        self.scope.update({
            "MISS": MISS, "Node": Node, "copysign": copysign, "current": current, "defaults": Defaults,
            "flatten": flatten, "forward": self.guarded or entry.forward, "is_usual": is_usual, "leaf_key": leaf_key,
            "may_share_memory": np.may_share_memory, "modes": current(), "ndarray": np.ndarray,
            "real": get_default_dtype(), "states_of": states_of, "touching": touching,
        })  # fmt: skip

    def compiled(self, args: tuple[Any, ...], order: list[int] | None) -> Any:
        """The function."""
        self._guards(args, order)
        if len(self.read) != len(self.leaves) or any(
            mine is not leaf for mine, leaf in zip(self.read, self.leaves, strict=True)
        ):
            return None  # these are not the leaves of these arguments
        if self.entry.draw_sources:
            self.lines.append("draws = states_of(entry.draw_sources)")
        call = f"forward({', '.join(f'd_{name}' for name in self.names)})"
        if self.guarded is None:
            self.lines.append(f"r = {call}")
        else:
            self.lines += [f"r = {call}", "if r is MISS: return MISS"]
        self.results()
        if self.lines[-3:] == [f"r = {call}", "if r is MISS: return MISS", "return r"]:
            self.lines[-3:] = [f"return {call}"]
        body = "\n    ".join(self.lines)
        source = f"def call(args):\n    {body}\n"
        exec(compile(source, "<pull of a compiled call>", "exec"), self.scope)
        function = self.scope["call"]
        function.source = source
        return function

    # Guards.

    def _guards(self, args: tuple[Any, ...], order: list[int] | None) -> None:
        self._sequence(args, "args", order)
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
        if not written or len(names) < 2:
            return
        if len(written) <= _FEW:
            pairs = {tuple(sorted((one, other))) for one in written for other in names if one != other}
            self._miss([f"may_share_memory(d_{one}, d_{other})" for one, other in sorted(pairs)])
        else:
            self.scope["written"] = {place for place, name in enumerate(names) if name in set(written)}
            self._miss([f"next(touching(({', '.join(f'd_{name}' for name in names)}), written), None) is not None"])

    def _sequence(self, values: Any, name: str, order: list[int] | None = None) -> None:
        """Take a tuple or list apart, and what is in it, in this order."""
        wrong = [] if name == "args" else [f"type({name}) is not {type(values).__name__}"]
        self._miss([*wrong, f"len({name}) != {len(values)}"])
        if not values:
            return
        position = len(self.lines)
        self.lines.append("")
        made = {k: self._value(values[k], f"{name}_{k}") for k in order or range(len(values))}
        parts = [made[k] for k in range(len(values))]
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
        elif type(value) is dict and all(type(key) is str for key in value):
            self._mapping(value, name)
        elif flatten(value)[1].is_leaf():
            return self._leaf(value)
        else:
            self._tree_of(value, name)
        return name

    def _tree_of(self, value: Any, name: str) -> None:
        """Take a container of another kind apart."""
        leaves, self.scope[f"tree_{name}"] = flatten(value)
        self.lines.append(f"parts_{name}, its_tree = flatten({name})")
        self._miss([f"its_tree != tree_{name}"])
        if leaves:
            position = len(self.lines)
            self.lines.append("")
            self.lines[position] = f"{', '.join([self._leaf(leaf) for leaf in leaves])}, = parts_{name}"

    def _leaf(self, value: Any) -> str:
        name = f"a{len(self.read)}"
        self.read.append(value)
        if type(value) is Tensor:
            self._tensor(value, name, [f"type({name}) is not Tensor"])
        elif type(value) is np.ndarray:
            self._array(value, name)
        elif value is None:
            self._miss([f"{name} is not None"])
        else:
            self._literal(value, name)
        return name

    def _literal(self, value: Any, name: str) -> None:
        kind = self.scope[f"type_{name}"] = type(value)
        if isinstance(value, (np.number, np.bool_)):
            self.scope[f"value_{name}"] = value.tobytes()  # tells zeros apart, and two NaN are equal
            self._miss([f"type({name}) is not type_{name}", f"{name}.tobytes() != value_{name}"])
        elif kind in (int, bool, str) or (kind is float and value == value):
            sign = [f"copysign(1, {name}) != {copysign(1, value)}"] if kind is float and value == 0 else []
            self.scope[f"value_{name}"] = value
            self._miss([f"type({name}) is not type_{name}", f"{name} != value_{name}", *sign])
        else:
            self.scope[f"key_{name}"] = leaf_key(value)
            self._miss([f"leaf_key({name}) != key_{name}"])

    def _tensor(self, tensor: Tensor, name: str, wrong: list[str]) -> None:
        self.scope[f"spec_{name}"] = tensor._spec
        kind = (
            f"{name}._node is not None" if tensor._node is None
            else f"type({name}._node) is not Leaf" if type(tensor._node) is Leaf
            else f"not isinstance({name}._node, Node)"
        )  # fmt: skip
        extra = f"{name}._extra is not None"
        if tensor._extra is not None:
            extra = f"({extra} and not is_usual({name}))"
        self._miss([*wrong, f"{name}._spec is not spec_{name}", extra, kind])
        self.lines.append(f"d_{name} = {name}._data")
        self._layout(tensor._data, name, [])

    def _array(self, array: Any, name: str) -> None:
        self.scope[f"shape_{name}"], self.scope[f"dtype_{name}"] = array.shape, array.dtype
        self.lines.append(f"d_{name} = {name}")
        self._layout(array, name, [
            f"type({name}) is not ndarray", f"{name}.shape != shape_{name}", f"{name}.dtype is not dtype_{name}"
        ])  # fmt: skip

    def _layout(self, array: Any, name: str, wrong: list[str]) -> None:
        """What a native function looks at by itself."""
        if self.guarded is not None and name in self.names:
            return
        if array.flags.carray:
            self._miss([*wrong, f"not d_{name}.flags.carray"])
        else:
            self.scope[f"strides_{name}"] = array.strides
            is_writeable = f"d_{name}.flags.behaved is not {array.flags.behaved}"
            self._miss([*wrong, f"d_{name}.strides != strides_{name}", is_writeable])

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


def _array_of(leaf: Any) -> Any:
    return leaf._data if type(leaf) is Tensor else leaf
