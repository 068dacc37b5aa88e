"""The second half of a fast path (`_call/fast_call.py`): lines that make the results of a call, and its node."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._call import accumulators
from pullback.aot._call.node import DROPPED, CompiledBackward, can_be_dropped
from pullback.aot._call.results import replayed
from pullback.aot._metadata import OWN, OutputType
from pullback.core.pytree import unflatten
from pullback.core.spec import spec_for
from pullback.core.state import next_stamp
from pullback.tape.accumulate import new_accumulator
from pullback.tape.history import bump_version
from pullback.tensors.overwrites import epoch_of, epoch_of_array, make_way
from pullback.tensors.tensor import Extra, Leaf, Tensor, wrap
from pullback.tensors.versions import counter_at


class ResultsWriter:
    """Writes what follows the graph. Inputs of the graph are called a0, a1, ... if they are arguments, and c0, c1, ...
    if they are captured, the arrays behind them the same with d_ in front, and results t0, t1, ..."""

    def __init__(self, entry: Any, leaves: list[Any]) -> None:
        self.entry = entry
        self.leaves = leaves
        # A native function looks at arrays by itself, in a fraction of the time, and answers MISS.
        self.guarded: Any = None
        self.places: list[tuple[str, int]] = []  # what `guarded` says of the outputs of the graph
        self.lines: list[str] = []
        self.made: dict[int, str] = {}  # what results are called, by position
        self.wrapped: dict[int, str] = {}  # what tensors are called that native code made, by number of its result
        self.attached: list[tuple[str, int]] = []  # results with a history, and which output of the node they are
        captured = iter(range(len(entry.fit.captured)))
        self.names = [
            f"s{g.number}" if g.number is not None else f"a{g.slot}" if g.slot is not None else f"c{next(captured)}"
            for g in entry.inputs
        ]
        self.given: list[Any] = [
            np.empty((), g.type.dtype) if g.number is not None else leaves[g.slot] if g.slot is not None else g.capture
            for g in entry.inputs
        ]
        self.scope: dict[str, Any] = {
            "CompiledBackward": CompiledBackward, "Extra": Extra, "Leaf": Leaf, "Tensor": Tensor,
            "bump_version": bump_version, "counter_at": counter_at, "entry": entry,
            "new_accumulator": new_accumulator,
            "epoch_of": epoch_of, "epoch_of_array": epoch_of_array, "make_way": make_way, "next_stamp": next_stamp,
            "replayed": replayed,
            "sinks": accumulators, "unflatten": unflatten, "wrap": wrap,
        }  # fmt: skip

    def results(self) -> None:
        """All of it: new tensors, the node, counted writes, and what is made of inputs."""
        infos = list(enumerate(self.entry.meta.output_info))
        for output, fields in self.new_tensors().items():
            position = output - self._first()
            info = infos[position][1]
            self._new(position, fields["_spec"], info.requires_grad_for_backward, info.version)
        if self.entry.is_training:
            self._node()
        for name, leaf, given in zip(self.names, self.given, self.entry.inputs, strict=True):
            if type(leaf) is Tensor:
                self.lines += [f"bump_version({name})"] * given.info.version_bumps
        made = [self._made(*each) for each in infos]
        for position, is_scalar in self.entry.capture.taken.items():
            made[position] = f"{made[position]}._data{'[()]' if is_scalar else '.item()'}"
        result = self._tree(self.entry.capture.out_tree, made)
        effects = self.entry.capture.effects
        if effects:
            self.lines.append(f"result, values = {result}")
            self.scope.update({f"do{k}": do for k, do in enumerate(effects)})
            self.lines += [f"do{k}(values[{k}])" for k in range(len(effects))]
            result = "result"
        self.lines.append(f"return {result}")

    def new_tensors(self) -> dict[int, dict[str, Any]]:
        """By output of the graph: what the slots of the tensors on new arrays hold. Native code makes such tensors."""
        nothing = dict.fromkeys(("_node", "_counter", "_extra", "_meta"))
        found = {}
        for position, info in enumerate(self.entry.meta.output_info):
            if info.raw_type is Tensor and info.output_type in OWN and info.duplicate_of is None:
                value = self.entry.capture.graph.outputs[self._first() + position]
                found[self._first() + position] = {"_spec": spec_for(value.type.shape, value.type.dtype), **nothing}
        return found

    def _new(self, position: int, spec: Any, has_history: bool, writes: int) -> None:
        """A tensor on an array that the graph returns, which the function has written so often."""
        output = self._first() + position
        name = f"t{position}"
        kind, number = self.places[output] if self.guarded is not None else ("", 0)
        if kind == "alone":
            name = self.wrapped[number] = "r"
        elif kind == "wrapped":
            self.wrapped[number] = name
            self.lines.append(f"{name} = r[{number}]")
        else:
            self.scope[f"spec_{name}"] = spec
            self.lines += [
                f"{name} = Tensor()", f"{name}._data = {self._output(output)}", f"{name}._spec = spec_{name}",
                f"{name}._node = {name}._counter = {name}._extra = {name}._meta = None",
            ]  # fmt: skip
        self.made[position] = name
        if writes:
            self.lines.append(f"{name}._counter = counter_at({writes})")
        if has_history:
            self.attached.append((name, len(self.attached)))

    def _made(self, position: int, info: Any) -> str:
        """What a result is called; those that are made of inputs are made now."""
        name = self.made.setdefault(position, f"t{position}")
        if info.duplicate_of is not None:
            name = self.made[position] = self.made[info.duplicate_of]
        elif position in self.entry.capture.numbers.outputs:
            name = self.made[position] = self.entry.capture.numbers.outputs[position]
        elif info.raw_type is not Tensor:
            self.scope[name] = info.literal
        elif info.output_type not in OWN:
            count = len(self.leaves)
            source = f"a{info.base_idx}" if info.base_idx < count else f"source{info.base_idx}"
            if info.base_idx >= count:
                self.scope[source] = self.entry.meta.captures[info.base_idx - count]
            if info.output_type is OutputType.is_input:
                self.lines.append(f"{name} = {source}")
            else:
                self.scope[f"info_{name}"], self.scope[f"steps_{name}"] = info, info.view_meta_sequence
                is_tensor = info.base_idx >= count or type(self.leaves[info.base_idx]) is Tensor
                base = source if is_tensor else f"wrap({source})"
                self.lines.append(f"{name} = replayed({base}, info_{name}, steps_{name})")
        return name

    def _tree(self, tree: Any, names: list[str]) -> str:
        """The whole result as an expression of its leaves."""
        written = tree.written(iter(names))
        if written is not None:
            return written
        self.scope["out_tree"] = tree
        return f"unflatten(out_tree, [{', '.join(names)}])"

    def _output(self, k: int) -> str:
        """An output of the graph."""
        if self.guarded is None:
            return f"r[{k}]"
        kind, number = self.places[k]
        if kind == "input":
            return f"d_{self.names[number]}"
        return f"{self.wrapped[number]}._data" if number in self.wrapped else f"r[{number}]"

    def _saved(self) -> str:
        count = self.entry.capture.num_forward_outputs
        if self.guarded is None:
            return f"tuple(r[{count}:])"
        return f"({_listed([self._output(count + k) for k in range(len(self.entry.saved))])})"

    def _first(self) -> int:
        entry = self.entry
        return entry.capture.num_forward_outputs - len(entry.meta.output_info)

    # The node.

    def _node(self) -> None:
        entry = self.entry
        edges = [k for k in range(len(self.names)) if entry.inputs[k].wants_grad and entry.reaches[k]]
        leaves = [k for k in edges if type(self.given[k]._node) is Leaf]
        behind = self._behind(edges, leaves)
        self._versions()
        keeps = entry.options.higher_order == "retrace"
        self.scope["spec_of_node"] = entry.tangent_specs[0]
        self.lines += [
            "node = CompiledBackward()", "node.entry = entry", f"node.next = {behind}",
            "node.rare = None", "node.spec = spec_of_node",
            f"node.primals = {f'({_listed(self._primals())})' if keeps else 'None'}",
            "node.payloads, node.epochs = payloads, epochs",
            f"node.saved = {self._saved()}", "node.seq = next_stamp()",
        ]  # fmt: skip
        self._numbers([k for k in edges if k not in leaves])
        self.lines.append(f"node.goes_to_leaves = {self._goes_to_leaves(edges, leaves)}")
        if entry.draw_sources:
            self.lines.append("node.draws = draws")
        for name, number in self.attached:
            self.lines.append(f"{name}._node = node")
            if number:
                self.lines += [f"x = {name}._extra = Extra()", f"x.output_nr = {number}"]
        self._watch()

    def _primals(self) -> list[str]:
        """What the node has of its inputs beside their payloads: see `CompiledBackward.drop_tensors`."""
        if self.entry.capture.has_own_formulas:
            return self.names
        self.scope["DROPPED"] = DROPPED
        return [
            "DROPPED" if given.slot is not None and can_be_dropped(leaf) else name
            for name, leaf, given in zip(self.names, self.given, self.entry.inputs, strict=True)
        ]

    def _behind(self, edges: list[int], leaves: list[int]) -> str:
        """What the gradients of inputs go to."""
        names = [self.names[k] for k in leaves]
        if leaves and self.guarded is not None:
            self.lines.append(f"behind = sinks.accumulators({', '.join(names)})")
            if len(leaves) < len(self.names) or " is not " in self._goes_to_leaves(edges, leaves):
                self.lines.append(f"{_listed([f'n{k}' for k in leaves])}= behind")
            if len(leaves) == len(self.names):
                return "behind"
        else:
            for k, name in zip(leaves, names, strict=True):
                self.lines += [
                    f"n{k} = {name}._node.accumulator", f"n{k} = None if n{k} is None else n{k}()",
                    f"if n{k} is None: n{k} = new_accumulator({name})",
                ]  # fmt: skip
        nodes = [f"n{k}" if k in leaves else f"{name}._node" if k in edges else "None"
                 for k, name in enumerate(self.names)]  # fmt: skip
        return f"({_listed(nodes)})"

    def _versions(self) -> None:
        """What the inputs hold, and the epochs of that; most memory has none."""
        tensors = [name for name, leaf in zip(self.names, self.given, strict=True) if type(leaf) is Tensor]
        keeps = self.entry.options.higher_order == "retrace"
        self.scope["nones"] = (None,) * len(self.names)
        payloads = f"({_listed([f'd_{name}' for name in self.names])})" if keeps else "()"
        self.lines += [f"payloads = {payloads}", "epochs = nones"]
        arrays = [name for name, leaf in zip(self.names, self.given, strict=True) if type(leaf) is np.ndarray]
        if tensors or (arrays and keeps):
            own = ", ".join(
                f"epoch_of({name})" if name in tensors
                else f"epoch_of_array(d_{name})" if keeps and name in arrays
                else "None"
                for name in self.names
            )  # fmt: skip
            counters = " or ".join(f"{name}._counter" for name in tensors)
            always = "" if arrays and keeps else f"if {counters}: "
            self.lines.append(f"{always}epochs = ({own},)")

    def _numbers(self, inner: list[int]) -> None:
        """Which outputs of the nodes behind the inputs are; None if they are all the first, as nearly always."""
        unusual = [k for k in inner if self.given[k]._extra is not None]
        self.lines.append("node.next_nr = None")
        if unusual:
            numbers = [f"{name}._nr" if k in unusual else "0" for k, name in enumerate(self.names)]
            counted = " or ".join(numbers[k] for k in unusual)
            self.lines.append(f"if {counted}: node.next_nr = ({_listed(numbers)})")
        and_first = " and node.next_nr is None" if unusual else ""
        self.lines.append(f"node.is_fast = is_fast = entry.quick is not None{and_first}")

    def _goes_to_leaves(self, edges: list[int], leaves: list[int]) -> str:
        """Do the gradients go to leaves, to each one? What is captured may also be given."""
        if edges != leaves:
            return "False"
        given = [k for k in edges if self.entry.inputs[k].slot is not None]
        captured = [k for k in edges if k not in given]
        return " and ".join(["is_fast", *(f"n{k} is not n{c}" for k in given for c in captured)])

    def _watch(self) -> None:
        """What is saved and may be written by others is kept with its epoch."""
        watched = []
        for position, saved in enumerate(self.entry.saved):
            if not saved.is_checked:
                continue
            if saved.input_index is not None:
                if type(self.given[saved.input_index]) is Tensor:
                    name = self.names[saved.input_index]
                    watched.append(f"({position}, d_{name}, epochs[{saved.input_index}])")
            else:
                name = self.made[saved.output_index - self._first()]
                watched.append(f"({position}, {name}._data, epoch_of({name}))")
        self.lines.append(f"node.watched = ({_listed(watched)})")


def _listed(parts: list[str]) -> str:
    return "".join(f"{part}, " for part in parts)
