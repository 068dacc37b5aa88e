"""`Cond`, `WhileLoop` and `Scan`: control flow as data, the graphs of the bodies and how they are put together.

| record      | operands             | what it computes                                                    |
|-------------|----------------------|---------------------------------------------------------------------|
| `Cond`      | predicate, arguments | one of two graphs of the arguments                                  |
| `WhileLoop` | carry, constants     | `carry = body(carry)` as long as `condition(carry)`                 |
| `Scan`      | carry, xs, constants | `carry, y = body(carry, x)` for every slice x of xs; the ys stacked |

The transformations turn such a record into another one: `_control_pull` into that of its gradients, `_control_push`
into that of values and tangents, `_control_batch` into that of a batch. `_control_run` evaluates them, whatever the
operands are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pullback.core.records import Record, field
from pullback.errors import TraceError
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, Program, Value, array_type
from pullback.graph.rewrite import collectives_in, happens_once

if TYPE_CHECKING:
    from pullback.aot._control.body import Joint
    from pullback.aot._control.reverse import ScanPull


Limits = frozenset[str]
"""What a graph does not know of the function that it was traced from: names of custom Functions, and these two."""

NO_LIMITS: Limits = frozenset()
QUIET_WRITE = "a write while grad mode was off"  # the tensor keeps its history, and gets other tangents
ALIAS_WRITE = "a write through a detached alias"  # it keeps both


class Cond(Record, eq=False):
    """A choice between two graphs, which take and return the same."""

    true: Graph
    false: Graph
    joints: tuple[Joint, Joint] | None = None  # from the tape of the branches themselves
    limits: Limits = NO_LIMITS
    cache: dict[Any, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "cond"

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the node."""
        return {"true": self.true, "false": self.false}

    @property
    def types(self) -> list[ArrayType]:
        """What the node returns."""
        return output_types(self.true)

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The graphs that run."""
        return (self.true, self.false)


class WhileLoop(Record, eq=False):
    """A loop of as many steps as its condition allows."""

    condition: Graph
    body: Graph
    carried: int
    limits: Limits = NO_LIMITS
    cache: dict[Any, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "while_loop"

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the node."""
        return {"condition": self.condition, "body": self.body, "carried": self.carried}

    @property
    def types(self) -> list[ArrayType]:
        """What the node returns."""
        return output_types(self.body)

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The graphs that run."""
        return (self.condition, self.body)


class Scan(Record, eq=False):
    """A loop over the slices of arrays."""

    body: Graph
    carried: int
    scanned: int
    length: int
    reverse: bool
    pull: ScanPull | None = None  # from the tape of the body itself
    limits: Limits = NO_LIMITS
    cache: dict[Any, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "scan"

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the node."""
        return {
            "body": self.body, "carried": self.carried, "scanned": self.scanned, "length": self.length,
            "reverse": self.reverse,
        }  # fmt: skip

    @property
    def types(self) -> list[ArrayType]:
        """What the node returns."""
        types = output_types(self.body)
        stacked = [array_type((self.length, *each.shape), each.dtype) for each in types[self.carried :]]
        return [*types[: self.carried], *stacked]

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The graphs that run."""
        return (self.body,)

    def parts(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Carry, xs and constants among the operands, or anything else that there is one of for each of them."""
        end = self.carried + self.scanned
        return list(operands[: self.carried]), list(operands[self.carried : end]), list(operands[end:])


Flow = Cond | WhileLoop | Scan


def output_types(graph: Program) -> list[ArrayType]:
    """The types of the outputs of a body, which are all there."""
    return [value.type for value in graph.outputs if value is not None]


def input_types(graph: Program) -> list[ArrayType]:
    """The types of the inputs of a body."""
    return [value.type for value in graph.inputs]


def is_differentiable(kind: ArrayType) -> bool:
    """Do values of this type have gradients?"""
    return kind.dtype.kind in "fc"


def reached(graph: Program, active: Sequence[bool]) -> list[bool]:
    """Which outputs depend, through numbers that have derivatives, on these inputs?"""
    found: set[Value] = {value for value, flag in zip(graph.inputs, active, strict=True) if flag}
    found = {value for value in found if is_differentiable(value.type)}
    for node in graph.nodes:
        if not found.isdisjoint(node.inputs):
            found.update([value for value in node.results if is_differentiable(value.type)])
    return [value in found for value in graph.outputs]


def carried_on(body: Program, carried: int, active: Sequence[bool]) -> list[bool]:
    """The inputs of a loop's body that depend on the active ones once it has gone round a few times."""
    flags = [is_active and is_differentiable(value.type) for is_active, value in zip(active, body.inputs, strict=True)]
    while True:
        outputs = reached(body, flags)
        grown = [*(before or after for before, after in zip(flags, outputs[:carried], strict=False)), *flags[carried:]]
        if grown == flags:
            return flags
        flags = grown


def check_derivable(flow: Flow, is_reverse: bool) -> None:
    """Raise if a derivative that is taken of the graphs, and not of the functions, would not be the right one."""
    if not flow.limits:
        return
    writes = flow.limits & ({QUIET_WRITE, ALIAS_WRITE} if is_reverse else {ALIAS_WRITE})
    custom = sorted(flow.limits - {QUIET_WRITE, ALIAS_WRITE})
    if custom:
        raise TraceError(
            f"a further derivative of a {flow.kind} whose body calls a custom Function ({', '.join(custom)})",
            why="the graph of the body has what the Function computes, and not the derivative that its author states",
            fix="make it a custom operator (pb.library.custom_op), which graphs keep as it is",
        )
    if writes:
        raise TraceError(
            f"a further derivative of a {flow.kind} whose body writes in place without a history: {sorted(writes)[0]}",
            why="the tensor has other values then than its history says, and a graph knows no writes",
            fix="write where gradients are recorded, or to a .clone()",
        )


def check_repeatable(flow: Flow) -> None:
    """Raise if running the bodies a second time would give other values."""
    for body in flow.bodies:
        for node in body.nodes:
            if happens_once(node):
                raise TraceError(
                    f"the derivative of this {flow.kind} runs its body again, and {node.op} in it would then draw "
                    "other numbers",
                    why="what the body drew is not kept",
                    fix="draw the numbers outside, and pass them in as operands or xs",
                )


def check_communicate_alike(true: Program, false: Program) -> None:
    """Raise if the branches of a cond make different collectives: ranks may take different ones."""
    if collectives_in(true) != collectives_in(false):
        names = [", ".join(op for op, *_ in collectives_in(branch)) or "nothing" for branch in (true, false)]
        raise TraceError(
            f"the branches communicate differently: true_fn calls {names[0]}, and false_fn calls {names[1]}",
            why="every rank must make the same sequence of collectives, whichever branch it takes",
            fix="communicate before the cond or after it",
        )
