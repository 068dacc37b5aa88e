"""`cond`, `scan`, `while_loop` and `fori_loop`: control flow that a graph can have.

Where nothing is traced they are Python's own (`_control/run.py`). In a trace the functions that they are given run once
each, and become graphs inside of one node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from pullback import aot
from pullback.aot._control import run
from pullback.aot._control.body import (
    Given,
    TracedBody,
    Tree,
    check_predicate,
    check_same,
    length_of,
    limits_of,
    pair_of,
    tidied,
    trace_body,
)
from pullback.aot._control.flow import Cond, Scan, WhileLoop, carried_on, check_communicate_alike, reached
from pullback.aot._control.reverse import halves
from pullback.aot._control.run import run_flow
from pullback.core.doors import door
from pullback.core.state import current
from pullback.graph.descriptors import DummyAOTInput
from pullback.graph.graph import Graph
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor

__all__ = ["cond", "fori_loop", "scan", "while_loop"]


@door
def cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *args: Any) -> Any:
    """`true_fn(*args)` if the predicate holds, else `false_fn(*args)`; both return the same kind of thing.

    Eager code runs one branch, with all that it does, and knows nothing of the other. A trace runs both, and raises if
    their results differ in structure, shape or dtype: `pb.aot.trace` and `pb.compile(..., fallback="raise")` say so,
    and eager code in anomaly mode, which traces both branches for it.

    >>> pb.cond(pb.tensor(True), lambda x: x + 1, lambda x: x - 1, pb.tensor(5.0))
    tensor(6.)
    """
    predicate = check_predicate("cond", predicate)
    modes = current()
    if modes.trace is None or isinstance(predicate, bool):
        returned = run.as_results(run.cond(predicate, true_fn, false_fn, args))
        if modes.anomaly and modes.trace is None and not (modes.transforms or modes.vmaps):
            _check_other(returned, bool(predicate), true_fn, false_fn, args)
        return returned
    given = Tree("argument", args)
    results: list[Tree] = []

    def branch(function: Callable[..., Any]) -> Callable[..., Sequence[Any]]:
        def on_stand_ins(*stand_ins: Tensor) -> Sequence[Any]:
            results.append(Tree("result", function(*given.filled(stand_ins))))
            return results[-1].tensors

        return on_stand_ins

    grad = current().grad
    givens = [_given(x, is_own=False) for x in given.tensors]
    true = trace_body("branch true_fn", branch(true_fn), givens, grad)
    false = trace_body("branch false_fn", branch(false_fn), givens, grad)
    check_same("cond", results[0], results[1], "what true_fn returns", "what false_fn returns")
    check_communicate_alike(true.graph, false.graph)
    outside = _shared_inputs([true, false], len(givens))
    arguments = [*given.tensors, *outside]
    flow = Cond(_body(true), _body(false), limits=limits_of(true) | limits_of(false))
    needs = _needs(arguments)
    if any(needs):
        joints = [body.joint(needs, reached(body.graph, needs)) for body in (true, false)]
        flow.joints = (joints[0], joints[1])
    return results[0].filled(run_flow(flow, [predicate, *arguments]))


def _check_other(returned: Any, is_true: bool, true_fn: Any, false_fn: Any, args: tuple[Any, ...]) -> None:
    """Raise if the branch that was not taken would have returned something else. It is traced, so nothing of what it
    does happens; where it cannot be traced, nobody knows."""
    other: list[Tree] = []

    def look(*args: Any) -> Any:
        made = (false_fn if is_true else true_fn)(*args)
        other.append(Tree("result", made))
        return made

    try:
        aot.trace(look, *args)
    except Exception:
        return
    mine = Tree("result", returned)
    true, false = (mine, other[-1]) if is_true else (other[-1], mine)
    check_same("cond", true, false, "what true_fn returns", "what false_fn returns")


@door
def scan(
    f: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for one slice x of `xs` after the other: the last carry, and the ys stacked.

    `xs` is a tree of arrays with the same first axis, or None if `length` is given. With `reverse` the steps go from
    the last slice to the first, and every y stays beside its x.

    >>> pb.scan(lambda total, x: (total + x, total), pb.tensor(0.0), pb.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 1., 3.]))
    """
    carry, slices = Tree("carry", init), Tree("xs", xs)
    steps = length_of("scan", slices, length)
    if current().trace is None:
        return run.as_results(run.scan(f, carry, slices, steps, reverse))
    returned: list[Tree] = []

    def body(*stand_ins: Tensor) -> Sequence[Any]:
        count = len(carry.tensors)
        state, y = pair_of("scan", f(carry.filled(stand_ins[:count]), slices.filled(stand_ins[count:])))
        new = Tree("carry", state)
        check_same("scan", carry, new, "what the body is given", "what it returns")
        returned.append(Tree("y", y))
        return [*new.tensors, *returned[-1].tensors]

    grad = current().grad
    givens = [_given(x) for x in carry.tensors]
    givens += [Given(x.shape[1:], x.dtype, wants_grad=True, is_own=False) for x in slices.tensors]
    traced = trace_body("body of scan", body, givens, grad)
    operands = [*run.begun(carry), *slices.tensors, *traced.outside]
    carried, scanned = len(carry.tensors), len(slices.tensors)
    flow = Scan(_body(traced), carried, scanned, steps, reverse, limits=limits_of(traced))
    needs = _needs(operands)
    if any(needs):
        active = carried_on(traced.graph, carried, needs)
        flow.pull = halves(flow, traced.joint(active, reached(traced.graph, active)), active)
    found = run_flow(flow, operands)
    return carry.filled(found[:carried]), returned[0].filled(found[carried:])


@door
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, *, max_steps: int | None = None
) -> Any:
    """`carry = body_fun(carry)`, from `init` on, as long as `cond_fun(carry)`; at most `max_steps` times, if given.

    A compiled loop has a gradient if `max_steps` is given: that many steps have room for what is kept.

    >>> pb.while_loop(lambda x: x < 100, lambda x: x * 3, pb.tensor(1.0))
    tensor(243.)
    """
    carry = Tree("carry", init)
    if current().trace is None:
        return run.as_results(run.while_loop(cond_fun, body_fun, carry, max_steps))
    if max_steps is None:
        flow, operands = _traced_loop(cond_fun, body_fun, carry)
        return carry.filled(run_flow(flow, operands))
    return _bounded(cond_fun, body_fun, carry, max_steps)


@door
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any) -> Any:
    """`carry = body_fun(i, carry)` for i from `lower` up to, and without, `upper`.

    Compiled, it is a `scan` if the bounds are Python integers, and a `while_loop` if one of them is a tensor.

    >>> pb.fori_loop(0, 4, lambda i, total: total + i, 0)
    tensor(6)
    """
    if isinstance(lower, int) and isinstance(upper, int):
        steps = np.arange(index(lower), index(max(lower, upper)))
        return scan(lambda carry, i: (body_fun(i, carry), None), init, steps)[0]

    def step(state: Any) -> Any:
        i, carry = state
        return i + 1, body_fun(i, carry)

    start = lower if isinstance(lower, Tensor) else np.asarray(lower)
    return while_loop(lambda state: state[0] < upper, step, (start, init))[1]


# Loops in a trace -----------------------------------------------------------------------------------------------------


def _traced_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Tree
) -> tuple[WhileLoop, list[Tensor]]:
    def condition(*stand_ins: Tensor) -> Sequence[Any]:
        return [check_predicate("while_loop", cond_fun(carry.filled(stand_ins)))]

    def body(*stand_ins: Tensor) -> Sequence[Any]:
        new = Tree("carry", body_fun(carry.filled(stand_ins)))
        check_same("while_loop", carry, new, "what the body is given", "what it returns")
        return new.tensors

    grad = current().grad
    carried = len(carry.tensors)
    givens = [_given(x) for x in carry.tensors]
    looked_at = [_given(x, wants_grad=False, is_own=False) for x in carry.tensors]
    deciding = trace_body("condition of while_loop", condition, looked_at, False)
    traced = trace_body("body of while_loop", body, givens, grad)
    outside = _shared_inputs([deciding, traced], carried)
    flow = WhileLoop(_body(deciding), _body(traced), carried, limits=limits_of(traced))
    return flow, [*run.begun(carry), *outside]


def _bounded(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Tree, max_steps: int) -> Any:
    """A loop that counts its steps; where a gradient is wanted, a scan."""
    counted = Tree("counted", (0, carry.filled(carry.tensors)))

    def condition(state: Any) -> Any:
        return (state[0] < max_steps) & check_predicate("while_loop", cond_fun(state[1]))

    def step(state: Any) -> Any:
        new = Tree("carry", body_fun(state[1]))
        check_same("while_loop", carry, new, "what the body is given", "what it returns")
        return state[0] + 1, new.filled(new.tensors)

    flow, operands = _traced_loop(condition, step, counted)
    if any(_needs(operands)):
        return _with_room(cond_fun, body_fun, carry, max_steps)
    return counted.filled(run_flow(flow, operands))[1]


def _with_room(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Tree, max_steps: int) -> Any:
    """A scan of as many steps as there can be, so that there is room for what the gradient needs of each. Once the
    condition fails, the remaining steps do nothing."""

    def step(state: Any, _: Any) -> Any:
        return cond(cond_fun(state), body_fun, lambda same: same, state), None

    return scan(step, carry.filled(carry.tensors), None, max_steps)[0]


def _given(x: Tensor, wants_grad: bool = True, is_own: bool = True) -> Given:
    return Given(x.shape, x.dtype, wants_grad, is_own)


def _needs(operands: list[Tensor]) -> list[bool]:
    modes = current()
    return [modes.grad and not modes.inference and x._spec.is_differentiable and requires_grad(x) for x in operands]


def _body(traced: TracedBody) -> Graph:
    return tidied(traced.graph)


def _shared_inputs(bodies: list[TracedBody], count: int) -> list[Tensor]:
    """Let two bodies take the same tensors from outside, each those of both; and these tensors."""
    union: dict[int, Tensor] = {id(x): x for body in bodies for x in body.outside}
    for body in bodies:
        trace, graph = body.trace, body.graph
        places = {key: count + place for place, key in enumerate(trace.outside)}
        values, edges = list(graph.inputs), list(trace.edges)
        own = {key: (values[place], edges[place]) for key, place in places.items()}
        graph.inputs, trace.edges = values[:count], edges[:count]
        graph.input_descs = graph.input_descs[:count]
        for key, tensor in union.items():
            if key in own:
                value, edge = own[key]
                graph.inputs.append(value)
                graph.input_descs.append(DummyAOTInput(len(graph.input_descs)))
                trace.edges.append(edge)
            else:
                with trace.running():
                    trace.stand_in(_given(tensor, wants_grad=False))
    return list(union.values())
