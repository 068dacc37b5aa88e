"""What a capture can be told, and what is known of one captured call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.aot._metadata import (
    InputAliasInfo,
    ViewAndMutationMeta,
)
from pullback.aot._numbers.program import Program
from pullback.aot._surroundings.places import Place
from pullback.aot._trace.higher import Stops
from pullback.aot._trace.leaves import (
    Steps,
    base_of_group,
    memory_of,
    same_steps,
)
from pullback.aot._tree.live import Event
from pullback.core.records import Record, field
from pullback.errors import AliasError
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, type_of
from pullback.tape.history import is_leaf
from pullback.tensors.tensor import Tensor

_ALLOWED = {
    "captures": ("lift", "error", "constant"), "higher_order": ("retrace", "error"),
    "side_effects": ("trace", "refuse"),
}  # fmt: skip


class Options(Record, frozen=True):
    """What a capture can be told."""

    keep_input_mutations: bool = True
    captures: str = "lift"
    static_inputs: tuple[int, ...] = ()
    strict: bool = False
    higher_order: str = "retrace"
    dynamic: bool = False
    joint_pass: Callable[[Graph], Graph] | None = None
    static: tuple[int | str, ...] = ()  # arguments, by position or name, of which captures are for the very numbers
    side_effects: str = "trace"  # of the function on Python objects: they happen while tracing, or are refused
    live: bool = False  # answer those who ask for values, with those of the call: aot/_tree
    reroll: bool = True  # make loops of what Python loops left in the graph: graph/reroll

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}")


class GraphInput(Record):
    """One array that the compiled graph takes: where it comes from, and what happens to it."""

    desc: Any
    slot: int | None  # the leaf slot, None for captures and merged bases
    capture: Tensor | None
    members: tuple[int, ...]  # of a merged group
    info: InputAliasInfo
    wants_grad: bool
    type: ArrayType
    steps: Steps = field(default_factory=dict)  # from the base of a merged group to its members
    number: int | None = None  # of a value that is computed of numbers: its position among those

    def has_base_of(self, leaves: list[Any]) -> bool:
        """Do the members of the group lie in their base as they did when the function was captured?"""
        try:
            root, steps = base_of_group({slot: leaves[slot] for slot in self.members})
        except AliasError:
            return False
        is_same_leaf = not isinstance(root, Tensor) or is_leaf(root) is self.info.is_leaf
        return is_same_leaf and type_of(memory_of(root)) == self.type and same_steps(steps, self.steps)


class Capture(Record):
    """What is known of one captured call."""

    graph: Graph
    meta: ViewAndMutationMeta
    inputs: list[GraphInput]
    out_tree: Any
    num_forward_outputs: int
    is_training: bool
    groups: tuple[tuple[int, ...], ...] = ()
    members: dict[int, InputAliasInfo] = field(default_factory=dict)
    # By number: inputs in whose memory eager code saves values for backward, with the size of the largest of these.
    inputs_read_later: dict[int, int] = field(default_factory=dict)
    inputs_read_live: frozenset[int] = frozenset()  # inputs whose values count that they have in the backward pass
    stops: Stops = field(default_factory=Stops)  # what has no history inside
    outputs_read_later: dict[int, int] = field(default_factory=dict)  # the same for outputs of the forward part
    in_tree: Any = None
    literals: dict[int, Any] = field(default_factory=dict)  # the leaves that are no inputs of the graph, by slot
    has_own_formulas: bool = False  # custom Functions were called
    flat: Capture | None = None  # the same for the arrays that payloads are made of: _wrapper/capture.py
    wrapping: Any = None  # and how those make up the payloads
    met: dict[Any, Any] = field(default_factory=dict)  # arguments that are captured as well, by descriptor
    at_other_sizes: Any = None  # where lengths vary, makes captures between which each of them differs
    places: list[Place] = field(default_factory=list)  # where the function has found what it was not given
    seen: list[Any] = field(default_factory=list)  # the tensors and arrays that it found there
    overwrites: list[Any] = field(default_factory=list)  # values that backward reads and the function wrote over
    unhooked: list[int] = field(default_factory=list)  # slots of arguments of which the function computes gradients
    texts: dict[int, str] = field(default_factory=dict)  # by id: what captured tensors are called
    numbers: Program = field(default_factory=Program)  # what is done with numbers before the graph runs
    unused_numbers: tuple[int, ...] = ()  # slots of numbers on which nothing depends
    taken: dict[int, bool] = field(default_factory=dict)  # results that are numbers: is this one of NumPy's?
    effects: tuple[Callable[[Any], None], ...] = ()  # if any, the result is one with their values: aot/_tree/effects.py
    looks_at_lengths: bool = False  # that masks decide, and nobody sees what for: aot/_tree/lengths.py
    joined: tuple[Event, ...] = ()  # decisions of the function that are part of the graph
    events: tuple[Event, ...] = ()  # what the function was told of values; their outcomes are the first output

    def payload_of(self, position: int, values: Sequence[Any]) -> Any:
        """The payload of a result, made of the values that the graph returns; None for plain results."""
        return None if self.wrapping is None else self.wrapping.payload_of(position, values)
