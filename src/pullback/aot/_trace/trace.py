"""`Trace`: run a function once on tensors without data, under the ordinary tape.

Nothing above the payload knows that it is traced. The tape records nodes, in-place writes rebase histories, views know
their bases, versions are counted; and `run_pass` over these nodes is the backward graph (`_trace/joint.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.aot import _later
from pullback.aot._numbers.program import Host
from pullback.aot._numbers.stand_in import without_stand_ins
from pullback.aot._trace.again import elementwise_again, part_again
from pullback.aot._trace.captured import mirror, tied
from pullback.aot._trace.kinds import in_eager_code
from pullback.aot._trace.leaves import common_base, memory_of, shadow_like, synthetic_base
from pullback.aot._wrapper import check_plain, is_outside
from pullback.core.state import changed, current
from pullback.declare.op import Op, registry
from pullback.declare.views import ViewStep
from pullback.eager.record import _proceed as make_new
from pullback.errors import AliasError, CaptureError, ConstantMutationError, TraceError
from pullback.graph import reroll
from pullback.graph.descriptors import (
    CapturedAOTInput,
    NumberAOTInput,
    PlainAOTInput,
    SyntheticBaseAOTInput,
    ViewBaseAOTInput,
)
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, ArrayType, Value, type_of
from pullback.graph.ir import Node as GraphNode
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced import Recorder, Storage, TracedArray, recorded, traced_constant, user_location
from pullback.payloads.traced.picks import picked_error
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.hooks import has_hooks
from pullback.tape.node import Node
from pullback.tape.task import task_variable
from pullback.tensors.tensor import Tensor, extra_of, shared_counter, version_of, wrap
from pullback.tensors.versions import new_counter, overlap
from pullback.tensors.views import CreationMeta, ViewInfo, view_of

Array = np.ndarray[Any, Any]


def note_history(target: Tensor) -> None:
    """Let the memory of a tensor that is about to be written know if it has no history to lose."""
    payload: Any = target._data
    memory = payload.data if type(payload) is BatchedArray else payload
    if type(memory) is TracedArray and memory.storage.trace.tag is not BACKWARD and not requires_grad(target):
        info = view_of(target)
        if info is None or not requires_grad(info.base):
            memory.stopped = True


class WrittenAlias(BaseException):
    """A member of a group of overlapping inputs was written: the trace begins again, with the group merged.

    Not an Exception, so that the traced function does not catch it by accident.
    """

    def __init__(self, group: tuple[int, ...]) -> None:
        super().__init__(group)
        self.group = group


class Primal:
    """A traced tensor that stands for an input: what it was at the start, and where its gradient is taken."""

    __slots__ = ("desc", "edge", "former_edge", "original", "payload", "slots", "storage", "tensor", "value")

    def __init__(self, tensor: Tensor, original: Any, desc: Any, slots: list[int]) -> None:
        self.tensor = tensor
        self.original = original  # the caller's tensor or array
        self.desc = desc
        self.slots = slots  # the leaf slots that hold it; none for captures and bases
        self.payload: TracedArray = tensor._data
        self.storage = self.payload.storage
        self.value = self.payload.value
        self.edge: tuple[Node | None, int] = edge_of(tensor)
        self.former_edge: Any = None  # of a leaf, before its shape was changed


class Trace(Recorder):
    """A running trace, with the tensors that stand for its inputs."""

    def __init__(self, captures: str = "lift", merged: tuple[tuple[int, ...], ...] = ()) -> None:
        super().__init__("forward")
        self.captures_mode = captures
        self.seer: Any = getattr(current().trace, "seer", None)  # what it shows to the function
        self.lifts = captures != "constant"
        self.merged = merged
        self.host: Host | None = None  # what becomes of numbers among the arguments
        self.candidates: list[tuple[int, ...]] = []  # groups of inputs that overlap, and are not merged
        self.primals: list[Primal] = []  # in the order of the graph's inputs
        self.members: dict[int, Primal] = {}  # by slot: what the function is given
        self.known: dict[int, Primal] = {}  # by id of the caller's object: arguments, bases of groups, captures
        self.captured: list[Primal] = []
        self.met: dict[Any, Tensor] = {}  # inputs that the function also reaches by itself, by descriptor
        self.constants: dict[int, tuple[Tensor, Tensor]] = {}  # captures that became constants, by id
        self.entangled: list[Storage] = []  # captures that overlap other inputs, and those
        self.written: list[tuple[Storage, int]] = []  # for each write: where, and in which formula of a backward pass
        self.num_slots = 0
        self.looked_at: list[Array] = []  # arrays that the function uses as they are
        self.inner: list[Primal] = []  # inputs by which the function itself computes gradients
        self._tensors: dict[int, Tensor] = {}
        self.has_arrays = False  # of NumPy's, among the inputs
        self.met_arrays: dict[Value, frozenset[int]] = {}  # made of NumPy arrays and numbers, with the slots of these
        self.live: Any = None  # answers those who ask for values (aot/_tree/live.py), if this is allowed
        self.growing: set[int] = set()  # lists that the function appends to, by id
        self.rolls = False  # are gradients taken of loops (_trace/rolled.py)?
        # By value: leaves of transforms, with the number of nodes and of writes to them before.
        self.leaves: dict[Value, tuple[int, int]] = {}
        self.has_repetitions = False  # in whose place there are loops now
        self.is_replaced = False  # by another graph, which has nothing of this one
        self.unused: list[Tensor] = []  # tensors that the function has seen, and that are no inputs of the graph
        self.plain_modes: Any = None  # under which nothing but this trace watches (_trace/again.py)
        self.places: dict[tuple[int, int], tuple[Any, Any]] = {}  # by instruction of the user's code: that, its place
        self.parts: dict[Any, Value] = {}  # elements and rows of values that were read, by value and index
        self.reuses_parts = True  # until a value is asked for

    elementwise_again = elementwise_again
    part_again = part_again

    def numbered(self) -> Iterator[tuple[int, Primal]]:
        """The inputs that the caller can see, with their slots; captures are numbered behind the arguments."""
        for slot, primal in self.members.items():
            if primal.slots[0] == slot:
                yield slot, primal
        for position, primal in enumerate(self.captured):
            yield self.num_slots + position, primal

    def given(self, slot: int) -> Tensor:
        """What the function is given for the argument in this slot."""
        return self.members[slot].tensor

    @property
    def targets(self) -> list[Any]:
        """The inputs that gradients are computed for."""
        return self.primals

    @property
    def memories(self) -> list[tuple[Any, Storage, Any]]:
        """For each input of the graph: what it belongs to, its memory, and its value at the start."""
        return [(primal, primal.storage, primal.value) for primal in self.primals]

    def tangent_of(self, meta: Any, tensor: Tensor, desc: Any) -> Any:
        """The gradient of a root that is no plain tensor, as new inputs of the graph; None for plain ones."""
        return None

    def taken_apart(self, gradient: Any, desc: Any) -> list[tuple[Any, Any]]:
        """The arrays that a gradient is made of, with their descriptors."""
        check_plain((gradient,))
        return [(gradient, desc)]

    def home(self, array: Array) -> TracedArray:
        return traced_constant(self, array)

    def add(self, target: Op | str, operands: list[Any], attrs: dict[str, Any], types: list[ArrayType]) -> GraphNode:
        # What is part of a graph is no stand-in, whatever way it came here.
        if "generator" in attrs:
            attrs = {**attrs, "generator": getattr(attrs["generator"], "drawn_from", attrs["generator"])}
        return super().add(target, operands, without_stand_ins(attrs) if attrs else attrs, types)

    def answered(self, array: Any, into: str) -> Any:
        if self.live is None or not self.is_open or current().trace is not self:
            return None
        self.reuses_parts = False  # what was read in one arm of a decision belongs to that arm
        return self.live.answered(array, into)

    def stand_in_for(self, generator: Any) -> Any:
        seer = self.seer
        if generator is None or seer is None or seer.effects is None or not seer.is_found(generator):
            return None
        return seer.see(generator, "the generator of numpy.random")

    def formatted(self, number: Any, specification: str) -> str | None:
        """What stands for the text of a number that is told and nothing else (`_tree/texts.py`), or None."""
        if self.live is None or current().trace is not self:
            return None
        return self.live.effects.formatted(number, specification)

    def taken(self, array: Any) -> Any:
        if self.live is None or not self.is_open or current().trace is not self or self.live.taker is None:
            return None
        self.reuses_parts = False
        return self.live.taken(array)

    def with_lengths(self, op: Op, operands: Any, params: dict[str, Any]) -> tuple[Op, dict[str, Any]]:
        if self.live is None or not self.is_open or current().trace is not self:
            return op, params
        found = self.live.with_lengths(op, operands, params)
        return (op, params) if found is None else found

    def shown_shape(self, array: Any) -> tuple[Any, ...]:
        if self.live is None or self.live.taker is None or not self.is_open or current().trace is not self:
            return super().shown_shape(array)
        shape: tuple[Any, ...] = self.live.lengths.shown(array)
        return shape

    def stands_for(self, tensor: Any) -> bool:
        """Does this tensor stand for one from outside?"""
        return isinstance(tensor, Tensor) and self._stands_for(tensor) is not None

    def tensor_of(self, array: Any) -> Tensor:
        """A tensor on an array of this trace that no tensor has; always the same."""
        if id(array) not in self._tensors:
            self._tensors[id(array)] = wrap(array)
        return self._tensors[id(array)]

    def real_inputs(self) -> Iterator[tuple[Any, Any]]:
        """The inputs of the graph so far, with the arrays that the caller gave."""
        for primal in self.primals:
            yield primal.value, memory_of(primal.original)
        if self.host is not None:
            yield from zip(self.host.inputs, self.host.arrays, strict=True)

    def draw(self, name: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return recorded(self, registry[name], operands, params)

    def bound(self, gradients: tuple[Any, ...], arrived: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.dependent is None:
            return gradients
        given = [g for g in arrived if type(g) is TracedArray and g.size and g.value in self.dependent]
        if not given:
            return gradients
        return tuple([
            tied(self, x, given) if type(x) is TracedArray and x.value not in self.dependent else x for x in gradients
        ])  # fmt: skip

    def running_node(self) -> Any:
        task = task_variable.get(None)
        return None if task is None else task.current_node

    def stands_for_array(self, tensor: Tensor) -> bool:
        return self.has_arrays and in_eager_code(self, tensor) is not None

    def before_write(self, storage: Storage) -> None:
        running = self.running_node()
        self.written.append((storage, 0 if running is None else running.seq))
        if any(storage is constant._data.storage for _, constant in self.constants.values()):
            raise ConstantMutationError(
                "the function writes to a tensor that it was not given, and which is a constant of the graph",
                location=user_location(),
                why='captures="constant" was asked for, so the graph has a copy of it',
                fix='pass it as an argument, or allow captures="lift"',
            )
        for group in self.candidates:
            if storage.slot in group:
                raise WrittenAlias(group)
        if any(storage is each for each in self.entangled):
            raise AliasError(
                "the function writes to memory that it reaches in two ways: through an argument and through a tensor "
                "that it was not given, or through two of those",
                location=user_location(),
                why="a write to one of them would have to be seen through the other",
                fix="pass both as arguments, or use a .copy() of one",
            )

    def is_input(self, tensor: Tensor) -> bool:
        """Does this tensor stand for one from outside, or is it one?"""
        return is_outside(tensor._data) or self._stands_for(tensor) is not None

    def _stands_for(self, tensor: Tensor) -> Any:
        return next((p for p in (*self.members.values(), *self.targets) if p.tensor is tensor), None)

    def differentiated(self, inputs: list[Any]) -> list[Any]:
        found = [self.lifted(x) if isinstance(x, Tensor) else x for x in inputs]
        for tensor in found:
            primal = self._stands_for(tensor) if isinstance(tensor, Tensor) else None
            if primal is None or primal in self.inner:
                continue
            if isinstance(primal.original, Tensor) and has_hooks(primal.original):
                raise TraceError(
                    "the function computes the gradient of a tensor that has hooks, and that is not its own",
                    location=user_location(),
                    why="hooks are no part of what a capture depends on, and would run while tracing only",
                    fix="remove the hook, or compute the gradient outside of the function",
                )
            self.inner.append(primal)
        return found

    def as_leaf(self, array: Any) -> Any:
        if not self.rolls or type(self) is not Trace or type(array) is not TracedArray:
            return array
        leaf = registry["_basic_index"].call(array, index=(Ellipsis,))
        self.leaves[leaf.value] = len(self.graph.nodes) - 1, leaf.storage.generation
        return leaf

    def gradients_of_loops(self, root: Any, edge: Any, seed: Any, leaves: Any) -> Any:
        return _later.gradients_of_loops(self, root, edge, seed, leaves) if reroll.is_long(self.graph) else None

    def outward(self, function: Any) -> Any:
        return function if self.seer is None else self.seer.outward(function)

    def before_grad(self, tensor: Tensor) -> None:
        if self.is_input(tensor):
            raise TraceError(
                "the function reads or assigns the .grad of a tensor that is not its own",
                location=user_location(),
                why="whether the tensor has a gradient, and which, is no part of what a capture depends on",
                fix="pass the gradient as an argument, and return a new one",
            )

    # Inputs.

    def add_inputs(self, arrays: dict[int, Any], groups: list[tuple[int, ...]], num_slots: int) -> None:
        """Make tensors for the array leaves, by slot. `groups` are the slots that overlap in memory."""
        self.num_slots = num_slots
        self.candidates = [group for group in groups if group not in self.merged]
        for group in sorted(self.merged):
            self._add_group(group, {slot: arrays[slot] for slot in group})
        for slot, leaf in arrays.items():
            if slot not in self.members and not self._is_duplicate(leaf, slot):
                self.members[slot] = self._add_input(leaf, PlainAOTInput(slot), slot, [slot])
        for primal in self.members.values():
            self._relate_to_base(primal)

    def _relate_to_base(self, primal: Primal) -> None:
        """A view that may not be written while its base requires grad asks its base, if that is an argument too."""
        view = view_of(primal.tensor)
        if view is not None and view.creation_meta is not CreationMeta.DEFAULT and isinstance(primal.original, Tensor):
            info = view_of(primal.original)
            known = None if info is None else self.known.get(id(info.base))
            if known is not None and primal.payload.size:  # a write to what is no view any more begins anew
                view.base = known.tensor

    def _is_duplicate(self, leaf: Any, slot: int) -> bool:
        """Is this argument the same object as an earlier one? Then it has the same stand-in."""
        known = self.known.get(id(leaf))
        if known is None:
            return False
        known.slots.append(slot)
        self.members[slot] = known
        return True

    def _add_input(self, leaf: Any, desc: Any, owner: Any, slots: list[int]) -> Primal:
        shadow = shadow_like(leaf)
        value = self.graph.add_input(type_of(shadow), desc)
        tensor = wrap(TracedArray(Storage(self, value, shadow, owner), shadow, value))
        mirror(tensor, leaf)
        primal = self.known[id(leaf)] = Primal(tensor, leaf, desc, slots)
        self.primals.append(primal)
        self.has_arrays = self.has_arrays or isinstance(leaf, np.ndarray)
        return primal

    # Overlapping inputs of which one is written.

    def _add_group(self, group: tuple[int, ...], leaves: dict[int, Any]) -> None:
        root: Any
        root, steps = common_base(leaves)
        if root is not None:
            viewing = min((slot for slot in group if steps[slot]), default=group[0])
            desc: Any = ViewBaseAOTInput(PlainAOTInput(viewing))
        else:
            root, steps = synthetic_base(leaves)
            desc = SyntheticBaseAOTInput(PlainAOTInput(group[0]))
        base = self._add_input(root, desc, ("base", group[0]), [])
        for slot in group:
            if not self._is_duplicate(leaves[slot], slot):
                self.members[slot] = self._member(base, leaves[slot], steps[slot], slot)

    def _member(self, base: Primal, leaf: Any, steps: tuple[ViewStep, ...], slot: int) -> Primal:
        value, shadow = base.value, base.storage.shadow
        for step in steps:
            shadow = step.op.kernel(shadow, **step.params)
            value = self.add(step.op, [value], step.params, [type_of(shadow)]).result
        tensor = wrap(TracedArray(base.storage, shadow, value, steps))
        info = view_of(leaf) if isinstance(leaf, Tensor) else None
        meta = CreationMeta.DEFAULT if info is None else info.creation_meta
        # Tensors of which autograd does not know that they share memory count their writes each for itself.
        tensor._counter = new_counter() if info is None else shared_counter(base.tensor)
        if isinstance(base.original, Tensor):
            extra_of(tensor).view = ViewInfo(base.tensor, steps, meta, -1)
        primal = self.known[id(leaf)] = Primal(tensor, leaf, PlainAOTInput(slot), [slot])
        return primal

    # Captures.

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Callable[..., Any]) -> Any:
        """Stand in for every operator: tensors from outside become inputs first."""
        if proceed is not make_new:
            note_history(operands[0])
        if params and (self.host is not None or self.live is not None):
            params = without_stand_ins(params)
        for x in operands:
            if isinstance(x, Tensor) and type(x._data) is not TracedArray and is_outside(x._data):
                return proceed(op, tuple([self.lifted(x) if isinstance(x, Tensor) else x for x in operands]), params)
        return proceed(op, operands, params)

    def lifted(self, tensor: Tensor) -> Tensor:
        """The stand-in of a tensor that the function uses, and was not given."""
        if not is_outside(tensor._data):
            return tensor
        known = self.known.get(id(tensor))
        if known is not None:
            if known.desc not in self.met:
                self.met[known.desc] = tensor
            return known.tensor
        self.check_liftable(tensor)
        if self.captures_mode == "constant":
            return self._constant_capture(tensor)
        if self.captures_mode == "error":
            raise not_given(
                tensor, 'captures="error" was asked for', 'pass it as an argument, or allow captures="lift"'
            )
        position = len(self.captured)
        primal = self._add_input(tensor, CapturedAOTInput(position), ("captured", position), [])
        self.captured.append(primal)
        self._note_overlap(primal)
        return primal.tensor

    def seen(self, value: Any) -> Any:
        """What the function sees in place of a tensor or an array that it finds by itself."""
        known = self.known.get(id(value))
        if known is not None:
            self.met.setdefault(known.desc, value)
            return known.tensor
        if isinstance(value, Tensor) and type(value._data) is np.ndarray and self.captures_mode == "lift":
            return self.lifted(value)
        return value

    def look_at(self, array: Array) -> None:
        """The function sees an array as it is now: what it shares memory with may not be written."""
        self.looked_at.append(array)
        for other in self.primals:
            self._keep_apart(array, other)

    def settle(self, outs: list[Any]) -> None:
        """The function has returned: tensors that it has seen, and not used, are no inputs of the graph. The others are
        in the order in which they were used."""
        first: dict[Any, int] = {}
        for number, node in enumerate(self.graph.nodes):
            for value in node.inputs:
                first.setdefault(value, number)
        count = len(self.graph.nodes)
        used = {id(out._data.storage) for out in outs if isinstance(out, Tensor) and type(out._data) is TracedArray}
        moved = [primal.tensor._data for primal in self.primals if primal.tensor._data is not primal.payload]
        used |= {id(payload.storage) for payload in moved}
        found = [
            primal for primal in self.captured
            if primal.value in first or id(primal.storage) in used or _is_changed(primal)
        ]  # fmt: skip
        found.sort(key=lambda primal: first.get(primal.value, count))
        self.unused = [primal.original for primal in self.captured if primal not in found]
        self.primals = [*(primal for primal in self.primals if primal not in self.captured), *found]
        self.captured = found
        for position, primal in enumerate(found):
            primal.desc, primal.storage.slot = CapturedAOTInput(position), ("captured", position)
        self.put_inputs([])

    def put_inputs(self, others: list[tuple[Any, Any]]) -> None:
        """Put the inputs of the graph in order: arrays, numbers, and then these with their descriptors."""
        numbers = [] if self.host is None else self.host.inputs
        known = [(primal.value, primal.desc) for primal in self.primals]
        known += [(value, NumberAOTInput(position)) for position, value in enumerate(numbers)]
        known += others
        self.graph.inputs, self.graph.input_descs = [value for value, _ in known], [desc for _, desc in known]

    def check_liftable(self, tensor: Tensor) -> None:
        """Raise if a tensor that the function was not given cannot become an input."""
        check_plain((tensor,))

    def _constant_capture(self, tensor: Tensor) -> Tensor:
        known = self.constants.get(id(tensor))
        if known is not None:
            return known[1]
        constant = wrap(self.home(tensor._data))
        constant._data.shadow.flags.writeable = False
        self.constants[id(tensor)] = (tensor, constant)  # the tensor is held, so that its id stays its own
        return constant

    def _note_overlap(self, primal: Primal) -> None:
        """If a captured tensor shares memory with another input, neither may be written."""
        mine = primal.original._data
        for other in self.primals:
            if other is not primal and self._keep_apart(mine, other):
                self.entangled.append(primal.storage)
        for array in self.looked_at:
            self._keep_apart(array, primal)

    def _keep_apart(self, array: Array, primal: Primal) -> bool:
        """If memory is also that of an input, the input may not be written."""
        memory = memory_of(primal.original)
        if not isinstance(memory, np.ndarray) or not np.may_share_memory(array, memory) or not overlap(array, memory):
            return False
        self.entangled.append(primal.storage)
        if primal.storage.generation:
            self.before_write(primal.storage)
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """The block is traced. Hooks on saved values apply when the compiled function runs, and not here."""
        with changed(trace=self, interceptors=(self.intercept,), saved_hooks=()):
            yield
            if self.unsettled:
                raise picked_error("was written, and the array that it belongs to was not")

    def check_refusals(self) -> None:
        """Raise what the function was refused, if it has caught that (`except Exception`, or in its own thread) and has
        gone on: called without being compiled, it would not have been refused."""
        if self.refusals:
            raise self.refusals[0]

    def close(self) -> None:
        """End the trace: its tensors cannot be used any more, and what it knows of the caller's is let go of.

        Traced tensors and their trace refer to each other, and live until the garbage collector finds them.
        """
        self.is_open = False
        self.refusals.clear()
        for primal in (*self.primals, *self.members.values()):
            primal.original = None
        self.known.clear()
        self._frames.clear()
        self.places.clear()
        self.parts.clear()
        self.plain_modes = None
        self.homes.clear()
        self.read_later.clear()
        self.written.clear()
        self.retaining.clear()
        self.constants.clear()
        self._constants.clear()
        self.met = {}
        self.looked_at.clear()
        self.inner.clear()
        self.unused = []
        self.seer = None
        if self.is_replaced:  # hundreds of thousands of nodes go without a search for cycles
            for node in self.graph.nodes:
                node.results = ()
            self.graph = Graph(self.graph.name)
        if self.live is not None:
            self.live.close()
        if self.host is not None:
            self.host.closed()


def _is_changed(primal: Primal) -> bool:
    """Has something happened to an input that no operator reads?"""
    tensor, meta = primal.tensor, primal.tensor._meta
    return (
        primal.storage.generation > 0 or tensor._data is not primal.payload or edge_of(tensor) != primal.edge
        or version_of(tensor) > 0 or (meta is not None and (meta.grad is not None or meta.retains_grad))
    )  # fmt: skip


def not_given(tensor: Tensor, why: str, fix: str) -> CaptureError:
    """The error for a tensor that the function may not use without being given it."""
    name = f" {tensor.name!r}" if tensor.name else ""
    what = f"the function uses a tensor{name} {tensor._spec!r} that is not among its arguments"
    return CaptureError(what, location=user_location(), why=why, fix=fix)
