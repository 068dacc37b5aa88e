"""Running a graph node by node: on arrays, or on tensors.

`evaluate` calls the kernels; a value is let go of after its last use. `run_on` calls the operators themselves, so what
it is given decides what happens: tensors record a tape, batched and traced ones are batched and traced. The graph knows
nothing of tensors: `update` asks its base for a `clone()` and writes to a view of that with `copy_`, and a store is a
`copy_` too. A package that has better functions for control flow on tensors puts them into `on_tensors`.

Stores happen after everything else of a run. A constant in whose memory an output lies is copied in every run, so that
nobody can write to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.errors import AutogradError, InternalError
from pullback.graph.ir import ArrayType, Node, Program, Value, find_operator, returned_roots, root_of

ndarray = np.ndarray
Run = Callable[[Node, list[Any]], Sequence[Any]]

on_tensors: dict[str, Callable[[list[Any], dict[str, Any]], Sequence[Any]]] = {}
"""Control flow on tensors by the node's kind: `cond`, `scan`, `while_loop` as functions of operands and attributes."""


class Step(NamedTuple):
    """One node of a plan: where its operands and results lie, and what nobody needs afterwards."""

    node: Node
    numbers: tuple[Any, ...]  # the operands that are no values, None in the place of those that are
    places: tuple[tuple[int, int], ...]  # (position of the operand, where the value lies)
    results: slice
    dead: tuple[int, ...]


class Plan(NamedTuple):
    """What is worked out of a program once: see `plan_of`."""

    nodes: tuple[Node, ...]
    outputs: tuple[Value | None, ...]
    steps: tuple[Step, ...]
    size: int
    taken: tuple[int | None, ...]  # where each output lies
    stores: tuple[tuple[int, int, bool], ...]  # (the input, the value, is the value read before it is overwritten?)

    def belongs_to(self, program: Program) -> bool:
        """Has the program not changed since?"""
        return list(self.nodes) == program.nodes and list(self.outputs) == program.outputs


def plan_of(program: Program) -> Plan:
    """Places for all values, and when each is let go of."""
    places: dict[Value, int] = {}
    for value in program.inputs:
        places[value] = len(places)
    for node in program.nodes:
        for value in node.results:
            places[value] = len(places)
    stores = [node for node in program.nodes if node.op == "store"]
    needed = {places[value] for value in program.outputs if value is not None}
    needed |= {places[x] for node in stores for x in node.inputs}
    steps = []
    returned = returned_roots(program)
    for node in reversed(program.nodes):
        if node.op == "store":
            continue
        used = [(position, places[x]) for position, x in enumerate(node.operands) if type(x) is Value]
        made = [places[value] for value in node.results]
        touched = dict.fromkeys([*made, *(place for _, place in used)])
        numbers = tuple([None if type(x) is Value else x for x in node.operands])
        results = slice(made[0], made[-1] + 1) if made else slice(0, 0)
        if node.op == "constant" and node.results[0] in returned:
            node = Node(None, "fresh constant", (), node.attrs)
        steps.append(Step(node, numbers, tuple(used), results, tuple([p for p in touched if p not in needed])))
        needed.update(touched)
    return Plan(
        tuple(program.nodes), tuple(program.outputs), tuple(reversed(steps)), len(places),
        tuple([None if value is None else places[value] for value in program.outputs]),
        _planned_stores(stores, places),
    )  # fmt: skip


def _planned_stores(stores: list[Node], places: dict[Value, int]) -> tuple[tuple[int, int, bool], ...]:
    """A value that lies in the memory of an input which another store writes is read before all stores."""
    targets = {node.operands[0] for node in stores}
    planned = []
    for node in stores:
        target, value = node.operands
        root = root_of(value)
        planned.append((places[target], places[value], root in targets and root is not target))
    return tuple(planned)


# On arrays ------------------------------------------------------------------------------------------------------------


def evaluate(program: Program, arrays: Sequence[Any], plan: Plan | None = None) -> list[Any]:
    """The outputs for these inputs, which are left as they are except by stores. A gradient that is not there is None.

    A list that is given is cleared, so that inputs can be let go of as soon as nobody else holds them.
    """
    if plan is None:
        plan = plan_of(program)
    values = _started(program, plan, arrays)
    _run_steps(plan, values, run_node)
    outputs = [None if place is None else values[place] for place in plan.taken]
    pending = [(values[target], values[value].copy() if early else values[value])
               for target, value, early in plan.stores]  # fmt: skip
    for target, value in pending:
        np.copyto(target, value)
    return outputs


def _started(program: Program, plan: Plan, given: Sequence[Any]) -> list[Any]:
    count = len(program.inputs)
    if len(given) != count:
        raise AutogradError(
            "GRAPH_INPUTS",
            f"graph {program.name} takes {count} inputs, and {len(given)} were given",
            why="every input that its first line names has to be given, in that order",
        )
    values = [*given, *[None] * (plan.size - count)]
    if isinstance(given, list):
        given.clear()
    return values


def _run_steps(plan: Plan, values: list[Any], run: Run) -> None:
    for node, numbers, places, results, dead in plan.steps:
        operands = list(numbers)
        for position, place in places:
            operands[position] = values[place]
        made = run(node, operands)
        count = results.stop - results.start
        if len(made) != count:
            raise InternalError(f"{node.op} gave {len(made)} results where its graph has {count}")
        values[results] = made
        for place in dead:
            values[place] = None


def run_node(node: Node, operands: list[Any]) -> Sequence[Any]:
    """The results of one node, which is no store, for these arrays and numbers."""
    target = node.target
    if target is None:
        return _OWN_KINDS[node.op](node, operands)
    out = target.kernel(*operands, **node.attrs)
    if type(out) is ndarray:
        return (out,)
    if isinstance(out, (tuple, list)):
        return [part if type(part) is ndarray else np.asarray(part) for part in out]
    return () if out is None and not node.results else (np.asarray(out),)


def _constant(node: Node, operands: list[Any]) -> Sequence[Any]:
    return (node.attrs["value"],)


def _fresh_constant(node: Node, operands: list[Any]) -> Sequence[Any]:
    return (node.attrs["value"].copy(order="K"),)


def _update(node: Node, operands: list[Any]) -> Sequence[Any]:
    base, new = operands
    out = base.copy(order="C" if node.results[0].type.strides is None else "K")
    view = out
    for step in node.attrs["steps"]:
        view = step.op.kernel(view, **step.params)
    if view.size and not np.may_share_memory(view, out):
        raise InternalError("an update writes through a view that is a copy, and would have no effect")
    view[...] = new
    return (out,)


def _cond(node: Node, operands: list[Any]) -> Sequence[Any]:
    predicate, *arguments = operands
    return _with_own_memory(evaluate(node.attrs["true" if predicate else "false"], tuple(arguments)), arguments)


def _with_own_memory(results: list[Any], operands: Sequence[Any]) -> list[Any]:
    """A body may return what it was given, or one array twice; the results of a node are arrays of their own."""
    held = list(operands)
    for index, result in enumerate(results):
        if any(np.may_share_memory(result, x) for x in held):
            results[index] = result.copy()
        held.append(result)
    return results


def _while_loop(node: Node, operands: list[Any]) -> Sequence[Any]:
    attrs = node.attrs
    condition, body, carried = attrs["condition"], attrs["body"], attrs["carried"]
    plans = plan_of(condition), plan_of(body)
    carry, constants = operands[:carried], operands[carried:]
    while evaluate(condition, (*carry, *constants), plans[0])[0]:
        carry = evaluate(body, (*carry, *constants), plans[1])
    return _with_own_memory(carry, operands)


def _scan(node: Node, operands: list[Any]) -> Sequence[Any]:
    body = node.attrs["body"]
    plan = plan_of(body)
    carried, scanned, order = _turns(node.attrs)
    carry, xs, constants = operands[:carried], operands[carried : carried + scanned], operands[carried + scanned :]
    stacked = [np.empty(value.type.shape, value.type.dtype) for value in node.results[carried:]]
    for turn in order:
        slices = [x[turn, ...] for x in xs]
        outputs = evaluate(body, (*carry, *slices, *constants), plan)
        carry = outputs[:carried]
        for row, y in zip(stacked, outputs[carried:], strict=True):
            row[turn] = y
    return [*_with_own_memory(carry, operands), *stacked]


def _turns(attrs: dict[str, Any]) -> tuple[int, int, range]:
    length = attrs["length"]
    order = range(length - 1, -1, -1) if attrs["reverse"] else range(length)
    return attrs["carried"], attrs["scanned"], order


_OWN_KINDS: dict[str, Run] = {
    "constant": _constant, "fresh constant": _fresh_constant, "update": _update, "cond": _cond,
    "while_loop": _while_loop, "scan": _scan,
}  # fmt: skip


# On tensors -----------------------------------------------------------------------------------------------------------


def run_on(program: Program, tensors: Sequence[Any], plan: Plan | None = None) -> list[Any]:
    """The outputs for these tensors, made by calling the operators."""
    if plan is None:
        plan = plan_of(program)
    values = _started(program, plan, tuple(tensors))
    _run_steps(plan, values, run_node_on)
    outputs = [None if place is None else values[place] for place in plan.taken]
    pending = [(values[target], values[value].clone() if early else values[value])
               for target, value, early in plan.stores]  # fmt: skip
    for target, value in pending:
        target.copy_(value)
    return outputs


def run_node_on(node: Node, operands: list[Any]) -> Sequence[Any]:
    """The results of one node, which is no store, for these tensors and numbers."""
    target = node.target
    if target is None:
        kind = node.op
        if kind in on_tensors:
            return on_tensors[kind](operands, node.attrs)
        return _TENSOR_KINDS[kind](node, operands)
    if all(type(x) is ndarray or not hasattr(x, "shape") for x in operands):
        # Constants alone, or nothing: what users call makes a tensor of them, and a draw has to see vmap and traces.
        call = target.call if target.family == "custom" else target.function
    else:
        call = target.call
    out = call(*operands, **node.attrs)
    if isinstance(out, (tuple, list)):
        return _flat(out)
    return () if out is None and not node.results else (out,)


def _flat(nested: Sequence[Any]) -> list[Any]:
    """What a custom operator returns may have lists in it."""
    flat: list[Any] = []
    for part in nested:
        flat += _flat(part) if isinstance(part, (tuple, list)) else [part]
    return flat


def _tensor_constant(node: Node, operands: list[Any]) -> Sequence[Any]:
    return (find_operator("copy").function(node.attrs["value"], order="K"),)


def _tensor_update(node: Node, operands: list[Any]) -> Sequence[Any]:
    base, new = operands
    out = _laid_out(base, node.results[0].type)
    view = out
    for step in node.attrs["steps"]:
        view = step(view)
    view.copy_(new)
    return (out,)


def _laid_out(x: Any, type: ArrayType) -> Any:
    """A copy that lies in memory as the graph says, wherever `x` comes from: views are views of that only."""
    copy = find_operator("copy").call
    if type.strides is None:
        return copy(x, order="C")
    permute = find_operator("permute_dims").call
    axes = sorted(range(len(type.shape)), key=lambda axis: -abs(type.strides[axis]))  # type: ignore[index]
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return permute(copy(permute(x, axes=tuple(axes)), order="C"), axes=back)


def _tensor_cond(node: Node, operands: list[Any]) -> Sequence[Any]:
    predicate, *arguments = operands
    return run_on(node.attrs["true" if predicate else "false"], arguments)


def _tensor_while(node: Node, operands: list[Any]) -> Sequence[Any]:
    carried = node.attrs["carried"]
    carry, constants = operands[:carried], operands[carried:]
    while run_on(node.attrs["condition"], (*carry, *constants))[0]:
        carry = run_on(node.attrs["body"], (*carry, *constants))
    return carry


def _tensor_scan(node: Node, operands: list[Any]) -> Sequence[Any]:
    carried, scanned, order = _turns(node.attrs)
    carry, xs, constants = operands[:carried], operands[carried : carried + scanned], operands[carried + scanned :]
    rows: list[list[Any]] = [[None] * len(order) for _ in node.results[carried:]]
    for turn in order:
        outputs = run_on(node.attrs["body"], (*carry, *(x[turn] for x in xs), *constants))
        carry = outputs[:carried]
        for row, y in zip(rows, outputs[carried:], strict=True):
            row[turn] = y
    types = [value.type for value in node.results[carried:]]
    return [*carry, *(_stacked(row, type) for row, type in zip(rows, types, strict=True))]


def _stacked(row: list[Any], type: ArrayType) -> Any:
    if not row:
        return find_operator("copy").function(np.empty(type.shape, type.dtype), order="C")
    return find_operator("_stack").function(*row, axis=0)


_TENSOR_KINDS: dict[str, Run] = {
    "constant": _tensor_constant, "fresh constant": _tensor_constant, "update": _tensor_update, "cond": _tensor_cond,
    "while_loop": _tensor_while, "scan": _tensor_scan,
}  # fmt: skip
