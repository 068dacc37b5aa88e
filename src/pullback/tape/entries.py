"""What a pass has of the gradients of the nodes it waits for, and gradients of parts, which are added in place.

Most nodes get one gradient and run as soon as it is there: those are `SOLE`. Any other has an entry: how many gradients
are still to come, what has arrived, and how that is held: one gradient; a buffer that is the pass's own, which may be
written (`OWN`); or a list with one gradient per output. A buffer is a sum that was made here, or what a node made for
its successor alone. An array that anybody else may hold is never one: neither a gradient that somebody has given, nor
what a hook has seen, nor what a formula returns, which may be a view of what it was given.

Two kinds of nodes use buffers. A node that reads a part of its operand (`x[3]`, `x.T`, `x[[0, 2]]`) adds its gradient
there, and a write to a part (`CopySlices`) changes that part and hands the buffer on. So many reads and writes of one
large array cost what they touch, and one buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import LARGE
from pullback.core.threads import sums
from pullback.errors import AutogradError
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.history import ASSIGNED, CopySlices, copy_in_order, memory_order
from pullback.tape.input_metadata import conform, fitted, is_plain, of_kind, validate
from pullback.tape.node import Node, kind_at, released_error, root_kind
from pullback.tape.task import current_task
from pullback.tensors.tensor import UNSET, Tensor, wrap

ndarray = np.ndarray

SOLE: Any = object()
ONE, OWN, LIST = range(3)
Entry = list[Any]  # [remaining, gradient, kind]
Entries = dict[Node | None, Any]  # SOLE or an Entry


def add_new(entry: Entry, node: Any, number: int, gradient: Any, create: bool) -> None:
    """Add a gradient to what has already arrived at a node, not in place: others may hold either of the two."""
    if entry[2] is LIST:
        if entry[1] is None:
            entry[1] = [None] * node.num_outputs
        slots = entry[1]
        slots[number] = gradient if slots[number] is None else _sum(slots[number], gradient)
        return
    entry[1] = total = _sum(entry[1], gradient)
    entry[2] = OWN if type(total) is ndarray and not create else ONE


def _sum(first: Any, second: Any) -> Any:
    """The sum of two gradients. Arrays without axes add up to a NumPy scalar, which formulas could not write to."""
    if type(first) is ndarray and type(second) is ndarray and first.size >= LARGE:
        return sums.large_add(first, second)
    total = first + second
    return np.asarray(total) if isinstance(total, np.generic) else total


def hand_on(entries: Entries, node: Any, gradient: Any, keep: bool, targets: Any, visit: Any) -> Any:
    """Visit a node that has to do with parts, in place: `(gradients, nodes they go to, output numbers there)`.

    None if that is for its formula to do. A gradient that is None is in a buffer already, and is only to be counted.
    """
    if node.writes_part:
        results = _write_part(entries, node, gradient, keep)
        return None if results is None else (results, node.next, node.next_nr)
    successor = node.next[0]
    if node.writes_places:
        results = _take_out(entries, node, gradient, keep)
        return None if results is None else (results, node.next, None)
    entry = entries.get(successor)
    if (
        entry is not None
        and entry is not SOLE
        and entry[2] is OWN
        and successor.spec is node.operand_specs[0]
        and gradient.dtype is successor.spec.dtype
        and (
            type(successor) is not AccumulateGrad
            or (meta := successor.variable._meta) is None
            or meta.grad_dtype is UNSET
        )
    ):
        whole = successor if node.add_to_part(entry[1], gradient) else None  # as in `_add_part`, with fewer questions
    else:
        whole = _add_part(entries, node, gradient, targets, visit)
    if whole is not None:
        if not keep and node.rest_epochs:  # there is nothing else that is released
            node.release()
        return _COUNTED, (whole,), None
    return node.pull(gradient, keep), node.next, None


_COUNTED = (None,)
_MOST_BETWEEN = 8  # views of views that are looked through: a long chain is not walked from each of its nodes


def _add_part(entries: Entries, node: Any, gradient: Any, targets: Any, visit: Any) -> Node | None:
    """Add the gradient of a part to the buffer of what it is a part of, and return that; None if it has no entry.

    A part of a part that nobody else uses is found in the buffer of the whole: `x.T[0, 1]` makes no array of its own.
    """
    successor = node.next[0]
    if successor is None or successor.spec is not node.operand_specs[0]:
        return None
    between: list[Any] = []
    while (entry := entries.get(successor)) is SOLE:
        if (
            not successor.shows_part
            or successor.rare is not None
            or successor in targets
            or (behind := successor.next[0]) is None
            or len(between) == _MOST_BETWEEN
            or (visit is not None and behind not in visit)
            or behind.spec is not successor.operand_specs[0]
        ):
            return None
        between.append(successor)
        successor = behind
    spec = successor.spec
    if (
        entry is None
        or entry[2] is LIST
        or gradient.dtype is not spec.dtype
        or (type(successor) is AccumulateGrad and successor.grad_dtype_of(0) is not spec.dtype)
    ):
        return None
    total = entry[1]
    if entry[2] is not OWN:
        if total is None:
            total = np.zeros(spec.shape, spec.dtype)
        elif type(total) is ndarray and total.dtype is spec.dtype:
            total = total.copy()
        else:
            return None
        entry[1], entry[2] = total, OWN
    while between:
        total = between.pop().part_of(total)
        if total is None:
            return None
    # path: gradient of a part
    return successor if node.add_to_part(total, gradient) else None


def _write_part(entries: Entries, node: CopySlices, gradient: Any, keep: bool) -> tuple[Any, ...] | None:
    """What `CopySlices` does, in a buffer that goes on to the node behind; None if that is for its formula to do.

    Returns the gradients of what was written, as far as they are not handed on here.
    """
    fn, position = node.fn, node.position
    if fn is None:
        raise released_error("CopySlices")
    if not fn.is_declared or fn._scope is not None:
        return None
    behind = node.next[position]
    entry: Any = entries.get(node)
    is_ours = entry is not SOLE and entry[2] is OWN and memory_order(gradient) == node.order
    buffer = gradient if is_ours else copy_in_order(gradient, node.order) if behind is not None else gradient
    part = node.part_in(buffer)
    if part is None:
        return None
    # path: write moved on
    given = part.copy()
    if fn is ASSIGNED:
        value = node.next[1]
        fits = value is None or (value.spec.shape == given.shape and value.spec.dtype is given.dtype)  # type: ignore[union-attr]
        results = [None, None if value is None else given if fits else fitted(given, value)]
    elif fn.is_fast and fn.rare is None:
        results = list(fn.pull(given, keep))
    else:
        wanted = tuple([each is not None for each in node.next])
        results = list(fn.evaluate((given,), False, wanted))
        new = results[position]
        results[position] = None
        results = [*validated(node, tuple(results), False, wanted)]
        results[position] = new
    new, results[position] = results[position], None
    if behind is not None:
        if new is None:
            part[...] = 0
        elif new is not given:
            part[...] = conform(new, part.shape, part.dtype)
        if not _give(entries, behind, buffer):
            results[position] = buffer
    if not keep:
        node.release()
    return tuple(results)


def _take_out(entries: Entries, node: Any, gradient: Any, keep: bool) -> tuple[Any, ...] | None:
    """What a write to places does, which arrays name, in a buffer that goes on to the node behind; None if that is for
    its formula to do."""
    behind, value, *others = node.next
    if behind is None:
        return None
    entry: Any = entries.get(node)
    buffer = gradient if entry is not SOLE and entry[2] is OWN else gradient.copy()
    # path: write moved on
    given = node.take_out(buffer)
    if value is None:
        given = None
    elif type(given) is not ndarray or value.spec.shape != given.shape or value.spec.dtype is not given.dtype:
        given = fitted(given, value)
    if not keep:
        node.release()
    return (None if _give(entries, behind, buffer) else buffer, given, *others)


def _give(entries: Entries, node: Node, buffer: Any) -> bool:
    """Let a node have a buffer that nobody else has; says whether it did. It is still to be counted."""
    entry = entries.get(node)
    if node.num_outputs != 1 or entry is None:
        return False
    if entry is SOLE:
        entry = entries[node] = [1, None, ONE]
    total = entry[1]
    if entry[2] is OWN:
        sums.add(total, buffer, total)
        return True
    if total is not None:
        if type(total) is not ndarray:
            return False
        sums.add(buffer, total, buffer)
    entry[1], entry[2] = buffer, OWN
    return True


_NOWHERE = object()


def validated(node: Node, results: tuple[Any, ...], create: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
    """The gradients that a formula has returned, checked, and fitted to what they are the gradients of."""
    if len(results) != len(node.next):
        raise AutogradError(
            "NUM_GRADS",
            f"the formula of {node.name()} returned a wrong number of gradients: expected {len(node.next)}, got "
            f"{len(results)}",
            where=node.name(),
            why="there is one gradient per input of the forward operation",
            fix="return None for inputs that have no gradient",
        )
    checked: list[Any] = []
    numbers = node.next_nr
    for index, successor in enumerate(node.next):
        gradient = results[index]
        if gradient is None or successor is None or not wanted[index]:
            checked.append(None)
            continue
        number = 0 if numbers is None else numbers[index]
        spec = successor.spec if number == 0 else successor.specs[number]
        if spec is None:
            checked.append(None)
            continue
        if (
            type(gradient) is ndarray
            and not create
            and gradient.dtype is spec.dtype
            and gradient.shape == spec.shape
            and successor.pulls is None
            and (successor.rare is None or not successor.rare.kinds)
            and (
                type(successor) is not AccumulateGrad
                or (successor.variable._meta is None and type(successor.variable._data) is ndarray)
            )
        ):
            checked.append(gradient)
            continue
        if create and isinstance(gradient, (ndarray, np.generic)):
            gradient = wrap(np.asarray(gradient))
        elif isinstance(gradient, np.generic):
            gradient = np.asarray(gradient)
        dtype = successor.grad_dtype_of(number)
        if node.is_strict:
            gradient = validate(gradient, spec.shape, spec.dtype, dtype, index, node)
            if not create and type(gradient) is Tensor:
                gradient = gradient._data
        elif gradient.shape != spec.shape or gradient.dtype != dtype:
            gradient = conform(gradient, spec.shape, dtype)
        like = kind_at(successor, number)
        if like is not None and getattr(like, "takes_from", None) is getattr(gradient, "device", _NOWHERE):
            checked.append(gradient)  # on the device of its value
            continue
        if like is not None or (node.is_strict and not is_plain(gradient)):
            task = current_task()
            root = None if task is None else root_kind(task.roots)
            gradient = of_kind(gradient, like, root, index, node.name())
        checked.append(gradient)
    return tuple(checked)
