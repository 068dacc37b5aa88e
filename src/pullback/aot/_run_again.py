"""Higher derivatives of functions whose formulas are their own.

A custom Function may have another derivative than its forward has, a straight-through estimator for example. A graph
knows what the forward computes and what the backward computes; differentiated again, it would differentiate the
forward. So where a derivative of the backward pass is wanted, such a function itself runs again, on the inputs. So does
one with payloads made of arrays: the graph knows the arrays, and the formulas are those of the payloads.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from pullback.aot._draws import States, drawing_again, is_repeatable, nodes_in
from pullback.aot._metadata import InputAliasInfo, MutationType
from pullback.autograd._api import grad
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import changed
from pullback.errors import HigherOrderError
from pullback.graph.descriptors import PlainAOTOutput
from pullback.tensors.tensor import Tensor, wrap


def check_can_run_again(entry: Any, what: str) -> None:
    """Raise unless a call is nothing but its results, so that it may be repeated: without writes, effects and merged
    arguments. What it draws, it draws again."""
    if not _can_run_again(entry):
        raise HigherOrderError(
            f"a derivative of the backward pass of a compiled function with {what} was asked for",
            why="it is computed by running the function again, which writes to its inputs or has effects",
            fix="write to a .clone() of the input, or call the function itself where such derivatives are wanted",
        )


def _can_run_again(entry: Any) -> bool:
    return (
        entry.function is not None
        and all(is_repeatable(node) for node in nodes_in(entry.graph))
        and all(_is_left_alone(given.info) for given in entry.inputs)
        and all(given.slot is not None or given.capture is not None for given in entry.inputs)
        and all(isinstance(desc.of, PlainAOTOutput) for desc in entry.meta.traced_tangents_descs)
    )


def _is_left_alone(info: InputAliasInfo) -> bool:
    """Does the function do nothing to an input? `squeeze_()` counts as a write, also where it changes nothing."""
    is_flagged = info.sets_requires_grad is not None or info.retains_grad
    return info.mutation_type is MutationType.NOT_MUTATED and not info.version_bumps and not is_flagged


def gradients_of_function(
    entry: Any, primals: Any, edges: Any, gradients: tuple[Any, ...], draws: States | None = None
) -> tuple[Any, ...]:
    """The gradients of the inputs that have an edge, recorded, from gradients of the outputs."""
    tensors = [x if isinstance(x, Tensor) else wrap(x) for x in primals]
    leaves: dict[int, Any] = dict(entry.capture.literals)
    for given, tensor in zip(entry.inputs, tensors, strict=True):
        if given.slot is not None:
            leaves[given.slot] = tensor
    for slot, info in enumerate(entry.meta.input_info):
        if info.duplicate_of is not None:
            leaves[slot] = leaves[info.duplicate_of]
    args, kwargs = unflatten(entry.capture.in_tree, [leaves[slot] for slot in range(len(leaves))])
    again = nullcontext() if draws is None else drawing_again(draws)
    with changed(grad=True, inference=False, saved_hooks=()), again:
        results, _ = flatten(entry.function(*args, **kwargs))
    given = [
        (results[desc.of.index], gradient)
        for desc, gradient in zip(entry.meta.traced_tangents_descs, gradients, strict=True) if gradient is not None
    ]  # fmt: skip
    wanted = [tensor for tensor, edge in zip(tensors, edges, strict=True) if edge is not None]
    roots, seeds = [root for root, _ in given], [seed for _, seed in given]
    found = iter(grad(roots, wanted, seeds, create_graph=True, allow_unused=True))
    return tuple([None if edge is None else next(found) for edge in edges])
