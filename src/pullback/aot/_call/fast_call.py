"""The fast path through a compiled call, written out for one entry and compiled: guards, graph, result.

It exists for the usual call: plain tensors, arrays and literals as arguments, also in tuples, lists and dicts, in
normal modes, of a function that returns new arrays and writes to nothing, or only to tensors without a history. It
answers MISS for everything else, and the general way (`_function.py`, `runtime.py`) defines what a call means. A test
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

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._call.fast_results import ResultsWriter
from pullback.aot._call.runtime import KERNEL_ERRORS
from pullback.aot._guards import leaf_key
from pullback.aot._metadata import OWN, MutationType, OutputType
from pullback.aot._numbers.program import is_number
from pullback.aot._trace.captured import CapturedTensor
from pullback.aot._trace.higher import put_back, states_of
from pullback.aot._trace.leaves import touching
from pullback.core.pytree import flatten
from pullback.core.state import NORMAL, Modes, current, open_levels
from pullback.operators.arrays.creation import Defaults, get_default_dtype
from pullback.tape.history import refresh_view
from pullback.tape.hooks import has_hooks
from pullback.tape.node import Node
from pullback.tensors.tensor import Extra, Leaf, Tensor
from pullback.tensors.views import CreationMeta, ViewInfo

# Which calls have a fast path: what arguments may be, and what a function may do.

_PLAIN_KINDS = (OutputType.non_alias, OutputType.unsafe_view_alias)


def is_plain(leaf: Any) -> bool:
    """Is an argument or a captured tensor one that a fast path knows?"""
    if isinstance(leaf, Tensor):
        is_known = type(leaf) is Tensor and (leaf._extra is None or is_usual(leaf))
        return is_known and type(leaf._data) is np.ndarray and leaf._data.flags.aligned
    return not isinstance(leaf, np.ndarray) or (type(leaf) is np.ndarray and leaf.flags.aligned)


def is_usual(tensor: Tensor) -> bool:
    """Is a tensor that needs care only an ordinary view, or not the first output of its node? The history of a view is
    brought up to date."""
    extra: Any = tensor._extra
    if (type(extra) is not Extra and type(extra) is not ViewInfo) or extra.inference or extra.readonly or open_levels:
        return False
    if extra.forward is not None or extra.deps is not None:
        return False
    if extra.view is not None:
        if extra.view.creation_meta is not CreationMeta.DEFAULT:
            return False
        refresh_view(tensor)
    return True


def is_plain_entry(entry: Any) -> bool:
    """Does an entry do nothing that only the general way can do?"""
    meta = entry.meta
    return (
        entry.deferred_error is None
        and meta.grad_enabled_mutation is None
        and not meta.backward_writes
        and not meta.num_intermediate_bases
        and not entry.fit.met
        and bool(entry.tangent_specs) is entry.is_training
        and all(is_plain(captured.tensor) for captured in entry.fit.captured)
        and all(not given.members and _is_plain_input(given) for given in entry.inputs)
        and not any(_is_overwritten(saved, entry.inputs) for saved in entry.saved)
        and all(_is_plain_output(info) for info in meta.output_info)
        and not _count_together(meta.output_info)
    )


def _count_together(infos: list[Any]) -> bool:
    """Do results that were written count their writes with others?"""
    counters = [info.counter for info in infos if info.raw_type is Tensor and info.duplicate_of is None]
    return any(info.version and (info.counter_of is not None or counters.count(info.counter) > 1) for info in infos)


def _is_plain_input(given: Any) -> bool:
    info = given.info
    if info.sets_requires_grad is not None or info.retains_grad:
        return False
    if info.mutation_type is MutationType.NOT_MUTATED:
        return not info.version_bumps
    return info.mutation_type is MutationType.MUTATED_IN_GRAPH and not given.wants_grad


def _is_overwritten(saved: Any, inputs: list[Any]) -> bool:
    return saved.is_checked and saved.input_index is not None and inputs[saved.input_index].info.mutates_data


def _is_plain_output(info: Any) -> bool:
    if info.raw_type is not Tensor or info.duplicate_of is not None or info.output_type is OutputType.is_input:
        return True
    if info.output_type not in OWN:  # a view of an argument, which `replayed` makes
        return info.output_type is OutputType.alias_of_input and info.view_of_output is None and not info.detached
    return (
        info.output_type in _PLAIN_KINDS
        and info.alias_group is None
        and info.view_of_output is None
        and not info.retains_grad
        and not info.inference
        and info.creation == "DEFAULT"
        and info.requires_grad is info.requires_grad_for_backward
    )


MISS: Any = object()

_FEW = 4  # up to so many arguments are compared in pairs


def has_fast_paths(modes: Modes) -> bool:
    """Are there fast paths for calls in these modes?"""
    return modes is NORMAL or modes is NORMAL.replace(grad=False)


def fast_call(entry: Any, args: tuple[Any, ...], leaves: list[Any], order: list[int] | None = None) -> Any:
    """A function of the arguments for calls like this one, in the modes in force; None if such calls have no fast path.
    `order` has the positions of the arguments in the order of their leaves."""
    if not is_plain_entry(entry) or not all(is_plain(leaf) for leaf in leaves):
        return None
    writer = _Writer(entry, leaves)
    return writer.compiled(args, order)


class _Writer(ResultsWriter):
    """Writes the source of one fast path."""

    def __init__(self, entry: Any, leaves: list[Any]) -> None:
        super().__init__(entry, leaves)
        guarded = getattr(entry.compiled_forward, "guarded", None)
        if guarded is not None and all(_array_of(leaf).flags.writeable for leaf in self.given):
            found = guarded(MISS, (Tensor, "_data", self.new_tensors()))
            if found is not None:
                self.guarded, self.places = found
        self.read: list[Any] = []  # the leaves that were met, in order
        self.scope.update({
            "MISS": MISS, "Node": Node, "current": current, "defaults": Defaults,
            "flatten": flatten, "has_hooks": has_hooks,
            "forward": self.guarded or entry.forward, "is_usual": is_usual, "leaf_key": leaf_key,
            "may_share_memory": np.may_share_memory, "modes": current(), "ndarray": np.ndarray,
            "kernel_errors": KERNEL_ERRORS,
            "put_back": put_back, "real": get_default_dtype(), "states_of": states_of, "touching": touching,
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
        for name, given, leaf in zip(self.names, self.entry.inputs, self.given, strict=True):
            if given.info.mutates_data and type(leaf) is Tensor:
                self.lines += [f"d_{name} = None", f"make_way({name}, None, 'store')", f"d_{name} = {name}._data"]
        call = f"forward({', '.join(f'd_{name}' for name in self.names)})"
        if self.entry.labels is not None:
            self._path(call)
        elif self.guarded is None:
            self._graph(f"r = {call}")
        else:
            self._graph(f"r = {call}")
            self.lines.append("if r is MISS: return MISS")
        begin = len(self.lines)
        self.results()
        if self.entry.labels is None and self.guarded is not None and self.lines[begin:] == ["return r"]:
            at = max(k for k, line in enumerate(self.lines) if line.strip() == f"r = {call}")
            self.lines[at] = self.lines[at].replace("r = ", "return ", 1)
            del self.lines[begin - 1 :]
        body = "\n    ".join(self.lines)
        source = f"def call(args):\n    {body}\n"
        exec(compile(source, "<pull of a compiled call>", "exec"), self.scope)
        function = self.scope["call"]
        function.source = source
        return function

    def _graph(self, call: str) -> None:
        """Run the graph. If a kernel raises, so may the function, or catch it: the general way asks it."""
        if self.entry.stores_in_graph:
            self.lines.append(call)
            return
        put_back = ["    put_back(draws)"] if self.entry.draw_sources else []
        self.lines += ["try:", f"    {call}", "except kernel_errors:", *put_back, "    return MISS"]

    def _path(self, call: str) -> None:
        """Run the graph of a path, and see if it is the path of this call. If not, nothing has happened."""
        self.scope["outcomes"] = self.entry.outcomes
        put_back = ["put_back(draws)"] if self.entry.draw_sources else []
        self.lines += ["try:", f"    r = {call}", "except Exception:", *(f"    {each}" for each in put_back)]
        self.lines += ["    return MISS", *(["if r is MISS: return MISS"] if self.guarded is not None else [])]
        self.lines += [f"if {self._output(0)}.tobytes() != outcomes:", *(f"    {each}" for each in put_back)]
        self.lines.append("    return MISS")

    # Guards.

    def _guards(self, args: tuple[Any, ...], order: list[int] | None) -> None:
        self._sequence(args, "args", order)
        self._numbers_of_call()
        if self.entry.fit.moved is not None:
            self.scope["moved"] = self.entry.fit.moved
            self._miss(["moved()"])
        for number, captured in enumerate(self.entry.fit.captured):
            self._captured(captured, f"c{number}")
        twins = {f"a{k}": f"a{_first_of(leaf, self.leaves)}" for k, leaf in enumerate(self.leaves)}
        arrays = [f"a{k}" for k, leaf in enumerate(self.leaves) if isinstance(leaf, (Tensor, np.ndarray))]
        others = [f"{name} is not {twins[name]}" for name in arrays if twins[name] != name]
        if others:
            self._miss(others)
            arrays = [name for name in arrays if twins[name] == name]
        if len(arrays) <= _FEW:
            same = [f"{one} is {other}" for k, other in enumerate(arrays) for one in arrays[:k]]
        else:
            same = [f"len({{{', '.join(f'id({name})' for name in arrays)}}}) != {len(arrays)}"]
        hooked = [f"has_hooks(a{slot})" for slot in self.entry.fit.unhooked if isinstance(self.leaves[slot], Tensor)]
        if hooked:
            self._miss(hooked)
        if self.entry.fit.seen and arrays:
            self.scope["seen"] = frozenset(map(id, self.entry.fit.seen))
            same += [f"id({name}) in seen" for name in arrays]
        self._miss([*same, "current() is not modes", "defaults.real is not real"])
        self._keep_apart([*arrays, *(f"c{k}" for k in range(len(self.entry.fit.captured)))])

    def _numbers_of_call(self) -> None:
        """What is done with numbers before the graph runs. If that raises, so does the function."""
        program = self.entry.capture.numbers
        lines = [f"if {step.source}: return MISS" if step.words else step.source for step in program.steps]
        lines += [f"s{k} = d_s{k} = {program.array_source(k)}" for k in range(len(program.inputs))]
        if lines:
            self.scope.update(program.names())
            self.lines += ["try:", *(f"    {line}" for line in lines), "except Exception: return MISS"]

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
        is_twin = type(value) in (Tensor, np.ndarray) and any(value is x for x in self.read[:-1])
        if is_twin:
            pass  # it is the object that was looked at already: see `_guards`
        elif type(value) is Tensor:
            self._tensor(value, name, [f"type({name}) is not Tensor"])
        elif type(value) is np.ndarray:
            self._array(value, name)
        elif value is None:
            self._miss([f"{name} is not None"])
        elif is_number(value):
            kind = type(value)
            self.scope[f"type_{name}"] = kind
            self._miss([f"type({name}) is not {kind.__name__ if kind in (int, float) else f'type_{name}'}"])
        else:
            self._literal(value, name)
        return name

    def _literal(self, value: Any, name: str) -> None:
        kind = self.scope[f"type_{name}"] = type(value)
        if kind in (bool, str):
            self.scope[f"value_{name}"] = value
            self._miss([f"type({name}) is not type_{name}", f"{name} != value_{name}"])
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
        self._tensor(captured.tensor, name, [])

    def _miss(self, conditions: list[str]) -> None:
        self.lines.append(f"if {' or '.join(conditions)}: return MISS")


def _first_of(leaf: Any, leaves: list[Any]) -> int:
    """The first position of this very object."""
    return next(k for k, each in enumerate(leaves) if each is leaf)


def _array_of(leaf: Any) -> Any:
    return leaf._data if type(leaf) is Tensor else leaf


# `FastPaths`: the fast paths of a function, and which of them a call tries.

FEW = 3
"""Up to so many are tried in turn, which takes a tenth of a microsecond each."""
MOST = 64
_MOST_ALIKE = 8


class FastPaths:
    """Functions of the arguments that answer MISS to calls that are not theirs. `calls` are those to be tried."""

    def __init__(self) -> None:
        self.calls: tuple[Callable[..., Any], ...] = ()
        self._known: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = ()  # with their marks, the newest first

    def add(self, call: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Try this one first, for calls like the one with these arguments."""
        self._known = ((call, tuple(map(_mark, args))), *self._known[: MOST - 1])
        if len(self._known) <= FEW:
            self.calls = tuple([known for known, _ in self._known])
        else:
            self.calls = (self._by_mark(),)

    def _by_mark(self) -> Callable[..., Any]:
        """One for all, which looks at the argument in which they differ most."""
        count = min(len(marks) for _, marks in self._known)
        place = max(range(count), key=lambda k: len({marks[k] for _, marks in self._known}), default=0)
        table: dict[Any, tuple[Any, ...]] = {}
        for call, marks in self._known:
            mark = marks[place] if marks else None
            table[mark] = (*table.get(mark, ()), call)[:_MOST_ALIKE]
        find = table.get

        def chosen(args: tuple[Any, ...]) -> Any:
            for known in find(_mark(args[place]) if place < len(args) else None, ()):
                result = known(args)
                if result is not MISS:
                    # path: short call by mark
                    return result
            return MISS

        return chosen


def _mark(argument: Any) -> Any:
    """What tells one kind of argument from another with little effort. Different kinds may have the same."""
    kind = type(argument)
    if kind is Tensor:
        return argument._spec.shape
    if kind is np.ndarray:
        return argument.shape
    return argument if kind in (int, bool, str) else kind
