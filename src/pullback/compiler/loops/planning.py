"""Which values of a graph share memory, how long each memory is needed, and which memory can be used again.

A `Storage` is a piece of memory: an input's, a constant's, or one that a node makes. The views of a value lie in its
storage. A storage is needed until the last node that reads one of its values, and for ever if an output lies in it. A
backend says of each node what it can do about memory (`Traits`), and `make_plan` decides

    targets     the value over which a node writes its result, because nobody needs that value any more
    freed       the values that are not needed after a node, in memory that is not used again

Only memory that the backend calls its own is written over: never an input, a constant or an output. A plan holds for
one call: its buffers come and go with it, so that calls may overlap in time. A backend that prefers one arena takes
the lifetimes of the storages to `arena_offsets`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pullback.core.records import Record, field
from pullback.graph.ir import ArrayType, Node, Value

INPUT, CONSTANT, OWN, FOREIGN = "input", "constant", "own", "foreign"
FOREVER = 1 << 60
LONGEST_WAIT = 16
"""Memory that nobody used for so many nodes is given back, lest it raise the peak for the sake of a use far away."""

Operands = Callable[[Node], tuple[Any, ...]]


class Traits(NamedTuple):
    """What a backend can do for one node."""

    is_view: bool = False  # the results lie in the memory of the first operand
    is_writable: bool = True  # a view through which that memory may be written
    kind: str = FOREIGN  # of the memory of results that are no views; OWN: new, dense and writable
    takes_target: bool = False  # the result can be written into given memory
    over_operands: bool = False  # and element by element into that of an operand
    writes_base: bool = False  # `update`: the first operand is changed where its memory is free


class Storage(Record, eq=False):
    """A piece of memory with the values that lie in it; nodes from `start` to `stop` need it."""

    kind: str
    start: int
    stop: int = -1
    values: list[Value] = field(default_factory=list)
    successor: Storage | None = None  # which uses the same memory again
    predecessor: Storage | None = None

    @property
    def root(self) -> Value:
        """The value that the memory was made for."""
        return self.values[0]

    def names(self) -> list[Value]:
        """Everything that ever lay in this memory."""
        found: list[Value] = []
        storage: Storage | None = self
        while storage is not None:
            found += reversed(storage.values)
            storage = storage.predecessor
        return found[::-1]


class Plan(Record, frozen=True):
    """What was decided, and the storages it was decided from."""

    storage_of: Mapping[Value, Storage]
    targets: Mapping[Node, Value]
    freed: Mapping[Node, tuple[Value, ...]]

    def storages(self) -> list[Storage]:
        """Every storage once, in the order in which they begin."""
        return list(dict.fromkeys(self.storage_of.values()))


def make_plan(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    outputs: Iterable[Value | None],
    operands_of: Operands,
    traits_of: Callable[[Node], Traits],
) -> Plan:
    """Decide for the nodes in this order."""
    traits = {node: traits_of(node) for node in nodes}
    storage_of = find_storages(inputs, nodes, outputs, operands_of, traits)
    targets = _choose_targets(nodes, operands_of, traits, storage_of)
    return Plan(storage_of, targets, _freed(nodes, storage_of))


def find_storages(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    outputs: Iterable[Value | None],
    operands_of: Operands,
    traits: Mapping[Node, Traits],
) -> dict[Value, Storage]:
    """The storage of every value, with the nodes between which it is needed."""
    found: dict[Value, Storage] = {}

    def place(value: Value, storage: Storage) -> None:
        storage.values.append(value)
        found[value] = storage

    for value in inputs:
        place(value, Storage(INPUT, -1))
    for position, node in enumerate(nodes):
        for x in operands_of(node):
            if type(x) is Value:
                found[x].stop = position
        for value in node.results:
            if traits[node].is_view:
                place(value, found[operands_of(node)[0]])
            else:
                place(value, Storage(traits[node].kind, position, position))
    for output in outputs:
        if output is not None:
            found[output].stop = FOREVER
    return found


def is_dense(type: ArrayType) -> bool:
    """Does every byte between the first and the last element belong to exactly one of them?"""
    if type.strides is None:
        return True
    step = type.dtype.itemsize
    for stride, length in sorted(zip(type.strides, type.shape, strict=True)):
        if length == 1:
            continue
        if stride != step:
            return False
        step *= length
    return True


def _choose_targets(
    nodes: Sequence[Node], operands_of: Operands, traits: Mapping[Node, Traits], storage_of: Mapping[Value, Storage]
) -> dict[Node, Value]:
    """For nodes that can write into given memory: the value over which they write."""
    targets: dict[Node, Value] = {}
    idle: dict[ArrayType, list[Storage]] = defaultdict(list)
    dying: dict[int, list[Storage]] = defaultdict(list)
    for storage in dict.fromkeys(storage_of.values()):
        if storage.kind == OWN and is_dense(storage.root.type):
            dying[storage.stop].append(storage)
    sealed: set[Value] = set()  # views through which nobody writes
    for position, node in enumerate(nodes):
        operands, what = operands_of(node), traits[node]
        target = None
        if what.is_view and (not what.is_writable or operands[0] in sealed):
            sealed.update(node.results)
        if what.writes_base:
            target = _free_base(operands[0], storage_of, position)
        elif what.takes_target and len(node.results) == 1 and is_dense(node.result.type):
            if what.over_operands:
                target = _free_operand(node.result.type, operands, storage_of, position)
            if target is None:
                target = _idle_memory(idle[node.result.type], position)
        if target is not None and target not in sealed:
            targets[node] = target
            before, after = storage_of[target], storage_of[node.result]
            before.successor, after.predecessor = after, before
        for storage in dying[position]:
            if storage.successor is None:
                idle[storage.root.type].append(storage)
    return targets


def _free_base(base: Any, storage_of: Mapping[Value, Storage], position: int) -> Value | None:
    """The base of an `update` if nobody reads it afterwards."""
    storage = storage_of[base]
    is_free = storage.kind == OWN and storage.stop == position and storage.root.type == base.type
    return base if is_free and is_dense(base.type) else None


def _free_operand(
    type_: ArrayType, operands: tuple[Any, ...], storage_of: Mapping[Value, Storage], position: int
) -> Value | None:
    """An operand of this type whose memory nobody reads afterwards, and no other operand lies in."""
    for x in operands:
        if type(x) is Value and x.type == type_:
            storage = storage_of[x]
            if storage.kind == OWN and storage.stop == position:
                others = [y for y in operands if type(y) is Value and y is not x and storage_of[y] is storage]
                if not others:
                    return x
    return None


def _idle_memory(waiting: list[Storage], position: int) -> Value | None:
    """The memory of this type that was used last, taken from those that wait."""
    while waiting:
        storage = waiting.pop()
        if storage.successor is None and position - storage.stop <= LONGEST_WAIT:
            return storage.root
    return None


def _freed(nodes: Sequence[Node], storage_of: Mapping[Value, Storage]) -> dict[Node, tuple[Value, ...]]:
    """For each node the values whose memory is needed no more."""
    freed: dict[Node, list[Value]] = defaultdict(list)
    for storage in dict.fromkeys(storage_of.values()):
        if storage.successor is None and storage.kind != CONSTANT and 0 <= storage.stop < FOREVER:
            freed[nodes[storage.stop]].extend(storage.names())
    return {node: tuple(values) for node, values in freed.items()}


class Lifetime(NamedTuple):
    """So many bytes are needed from one node to another."""

    start: int
    stop: int
    nbytes: int


def arena_offsets(lifetimes: Sequence[Lifetime], alignment: int = 64) -> tuple[list[int], int]:
    """Where each piece begins in one arena, and how long the arena is; pieces needed at the same time are disjoint.

    The largest are placed first, each in the lowest gap between those already placed that live at the same time.
    """
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    for number in sorted(range(len(lifetimes)), key=lambda k: (-lifetimes[k].nbytes, lifetimes[k].start)):
        own = lifetimes[number]
        neighbours = [k for k in placed if lifetimes[k].start <= own.stop and own.start <= lifetimes[k].stop]
        offset = 0
        for k in sorted(neighbours, key=offsets.__getitem__):
            if offset + own.nbytes <= offsets[k]:
                break
            end = offsets[k] + lifetimes[k].nbytes
            offset = max(offset, -(-end // alignment) * alignment)
        offsets[number] = offset
        placed.append(number)
    total = max((offset + own.nbytes for offset, own in zip(offsets, lifetimes, strict=True)), default=0)
    return offsets, total
