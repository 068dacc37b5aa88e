"""Operators that write their arguments.

The writes are counted whatever happens. Nobody knows the derivative of such an operator, so where somebody
differentiates, what was written gets a history that raises, and a leaf is not written at all. An operator with the tag
`autograd_hidden` says that its writes change nothing that a derivative depends on: they are not counted.
"""

from __future__ import annotations

from typing import Any

from pullback.core.spec import describe
from pullback.core.state import Modes, open_levels
from pullback.eager.inplace import check_writable
from pullback.eager.record import new_tensor
from pullback.errors import AutogradError
from pullback.library._call import Call
from pullback.payloads.evaluate import evaluate
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import (
    bump_version,
    check_tracked_write,
    edge_of,
    is_leaf_marker,
    rebase_history,
    requires_grad,
)
from pullback.tape.node import ErrorNode
from pullback.tape.transform.body import check_capture
from pullback.tape.transform.tokens import deps_behind
from pullback.tensors.overwrites import make_way
from pullback.tensors.tensor import Tensor, shared_counter
from pullback.tensors.views import view_of


def run_mutating(call: Call, operands: list[Tensor], modes: Modes) -> Any:
    """The results of a call that writes some of its operands, or keyword-only arguments."""
    definition = call.definition
    positions = definition.written_operands(call)
    keywords = [value for value in call.keywords.values() if isinstance(value, Tensor)]
    targets = [operands[position] for position in positions] + keywords
    is_hidden = "autograd_hidden" in definition.tags
    is_tracking = modes.grad and not modes.inference and definition.is_autograd_enabled() and not is_hidden
    needs = tuple([is_tracking and x._spec.is_differentiable and requires_grad(x) for x in operands])
    if keywords and is_tracking and (True in needs or any(map(requires_grad, keywords))):
        raise RuntimeError(
            f"{definition.qualname}: functions with out=... arguments don't support automatic differentiation, but an "
            "argument requires grad; work under pb.no_grad()"
        )
    if open_levels and live_levels((*operands, *keywords)):
        raise NotImplementedError(
            f"forward AD: {definition.qualname} writes its arguments and has no forward rule, so the tangents would "
            "silently be wrong; write a functional operator with register_jvp"
        )
    for target in targets:
        check_writable(target, modes)
        if modes.transforms:
            check_capture(target, tuple(x for x in operands if x is not target), modes)
        if True in needs:
            _check_not_a_leaf(definition, target)
    for target in targets:
        make_way(target, name=definition.qualname)
        shared_counter(target)  # the kernel is given the memory
    # Taken before the write: afterwards a view would be rebuilt from what its base was, and count as up to date.
    edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
    call.written = {position: operands[position] for position in positions}
    try:
        flat = evaluate(definition.op, [x._data for x in operands], {"call": call})
    finally:
        call.written = None
        for target in () if is_hidden else targets:
            bump_version(target)
    if True in needs:
        for target in targets:
            if target._spec.is_differentiable:
                _rebase(definition, target, operands, needs, edges)
    if "inplace" in definition.tags:
        return operands[0]
    if "out" in definition.tags:
        return tuple(keywords) if definition.schema.returns_tuple else keywords[0]
    outputs = [new_tensor(each, modes) if hasattr(each, "dtype") else each for each in flat]
    if True in needs:
        for out in outputs:
            if isinstance(out, Tensor) and out._spec.is_differentiable:
                _rebase(definition, out, operands, needs, edges)
    return call.results(outputs)


def _check_not_a_leaf(definition: Any, target: Tensor) -> None:
    base = target if view_of(target) is None else view_of(target).base  # type: ignore[union-attr]
    if is_leaf_marker(base._node) and requires_grad(target):
        raise AutogradError(
            "LEAF_INPLACE",
            f"{definition.qualname} writes in-place to {describe(target.shape, target.dtype)}, which is a leaf "
            "Variable that requires grad, or a view of one",
            where=f"schema {definition.qualname}{definition.schema}",
            why="the leaf would no longer hold the value that its gradient is taken at",
            fix="call it on a clone of the leaf, or under `pb.no_grad()` if this is an update",
        )
    check_tracked_write(target)


def _rebase(
    definition: Any, target: Tensor, operands: list[Tensor], needs: tuple[bool, ...], edges: list[Any]
) -> None:
    """Give what was written a history that raises when it is differentiated."""
    error = AutogradError(
        "NO_FORMULA",
        f"a value was written by {definition.qualname}, for which there is no autograd formula",
        where=f"schema {definition.qualname}{definition.schema}",
        why="operators that write their arguments have no derivative",
        fix="write an operator that returns its result, and give it a formula with register_autograd",
    )
    position = next((index for index, x in enumerate(operands) if x is target), 0)
    rebase_history(target, ErrorNode.behind(target._spec, edges, error), position, deps_behind(operands, needs))
