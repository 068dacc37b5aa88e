"""Branches and loops where nothing is traced: Python's own, on ordinary tensors.

The tape records what the functions do, tangents go through, and `vmap` maps. The one thing that Python can not do is
decide for many examples at once: under `vmap`, a branch whose predicate differs between examples runs both ways and
chooses element by element, and a loop goes on until the last example is done, while those that are done stay as they
are.

A body owns its carry: it may write to it in place. So the loop begins with copies, and what is collected while it
shares memory with the carry is copied as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._control_leaves import Tree, check_predicate, check_same, pair_of
from pullback.core.state import changed
from pullback.declare.op import registry
from pullback.payloads.batched import BatchedArray
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor


def differs(predicate: Any) -> bool:
    """Does the predicate have a value of its own for every example of a vmap?"""
    return isinstance(predicate, Tensor) and type(predicate._data) is BatchedArray and bool(predicate._data.levels)


def _any_example(predicate: Tensor) -> bool:
    return bool(np.asarray(predicate._data.data).any())


def _chosen(predicate: Any, yes: Tree, no: Tree) -> Any:
    where = registry["where"].function
    return yes.filled([where(predicate, a, b) for a, b in zip(yes.tensors, no.tensors, strict=True)])


def cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """One branch, or both if the examples of a vmap do not agree."""
    if not differs(predicate):
        return true_fn(*operands) if predicate else false_fn(*operands)
    yes, no = Tree("result", true_fn(*operands)), Tree("result", false_fn(*operands))
    check_same("cond", yes, no, "what true_fn returns", "what false_fn returns")
    return _chosen(predicate, yes, no)


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Tree, max_steps: int | None) -> Any:
    """A loop; `max_steps` is the most that it makes."""
    carry, state = init, init.filled([leaf.clone() for leaf in init.tensors])
    steps = 0
    while max_steps is None or steps < max_steps:
        going = check_predicate("while_loop", condition(state))
        if not (_any_example(going) if differs(going) else going):
            break
        new = Tree("carry", body(state))
        check_same("while_loop", carry, new, "what the body is given", "what it returns")
        state = _chosen(going, new, Tree("carry", state)) if differs(going) else new.filled(new.tensors)
        carry = new
        steps += 1
    return state


def scan(f: Callable[[Any, Any], Any], init: Tree, xs: Tree, length: int, reverse: bool) -> tuple[Any, Any]:
    """A loop over slices; what the body returns beside the carry is stacked."""
    state = init.filled([leaf.clone() for leaf in init.tensors])
    carry = init
    rows: list[Tree] = []
    for turn in range(length - 1, -1, -1) if reverse else range(length):
        new_state, y = pair_of("scan", f(state, xs.filled([leaf[turn] for leaf in xs.tensors])))
        new, row = Tree("carry", new_state), Tree("y", y)
        check_same("scan", carry, new, "what the body is given", "what it returns")
        if rows:
            check_same("scan", rows[0], row, "the y of one step", "the y of another")
        row.leaves = [_apart(leaf, new) for leaf in row.leaves]
        rows.append(row)
        carry, state = new, new.filled(new.tensors)
    if not rows:
        return state, _nothing(f, state, xs)
    return state, _stacked(rows[::-1] if reverse else rows)


def _apart(leaf: Tensor | None, carry: Tree) -> Tensor | None:
    """What is collected must not change when the next step writes to the carry."""
    for other in carry.tensors:
        if leaf is not None and _share_memory(leaf._data, other._data):
            return leaf.clone()
    return leaf


def _share_memory(first: Any, second: Any) -> bool:
    if type(first) is np.ndarray and type(second) is np.ndarray:
        return np.may_share_memory(first, second)
    memory, other = getattr(first, "data", first), getattr(second, "data", second)
    is_known = isinstance(memory, np.ndarray) and isinstance(other, np.ndarray)
    return np.may_share_memory(memory, other) if is_known else True


def _stacked(rows: list[Tree]) -> Any:
    stack = registry["_stack"].function
    columns = zip(*[row.tensors for row in rows], strict=True)
    first = rows[0]
    return first.filled([stack(*column, axis=0) for column in columns])


def _nothing(f: Callable[[Any, Any], Any], state: Any, xs: Tree) -> Any:
    """No steps: the ys have their shapes, which only the body knows, and no slices. It is asked with zeros."""
    given = xs.filled([made_here(np.zeros(leaf.shape[1:], leaf.dtype)) for leaf in xs.tensors])
    own = Tree("carry", state)
    with changed(grad=False):
        _, y = pair_of("scan", f(own.filled([leaf.clone() for leaf in own.tensors]), given))
    row = Tree("y", y)
    return row.filled([made_here(np.empty((0, *leaf.shape), leaf.dtype)) for leaf in row.tensors])
