"""Higher derivatives of functions whose formulas are their own.

A custom Function may have another derivative than its forward has, a straight-through estimator for example. A graph
knows what the forward computes and what the backward computes; differentiated again, it would differentiate the
forward. So where a derivative of the backward pass is wanted, such a function itself runs again, on the inputs.
"""

from __future__ import annotations

from typing import Any

from pullback.aot._metadata import MutationType
from pullback.autograd._api import grad
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import changed
from pullback.graph.descriptors import PlainAOTOutput
from pullback.tensors.tensor import Tensor, wrap


def can_run_again(entry: Any) -> bool:
    """Is a call nothing but its results, so that it may be repeated? Without writes, draws and merged arguments."""
    return (
        entry.function is not None
        and not entry.draw_sources
        and all(given.info.mutation_type is MutationType.NOT_MUTATED for given in entry.inputs)
        and all(given.slot is not None or given.capture is not None for given in entry.inputs)
        and all(isinstance(desc.of, PlainAOTOutput) for desc in entry.meta.traced_tangents_descs)
    )


def gradients_of_function(entry: Any, primals: Any, edges: Any, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
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
    with changed(grad=True, inference=False, saved_hooks=()):
        results, _ = flatten(entry.function(*args, **kwargs))
    given = [
        (results[desc.of.index], gradient)
        for desc, gradient in zip(entry.meta.traced_tangents_descs, gradients, strict=True) if gradient is not None
    ]  # fmt: skip
    wanted = [tensor for tensor, edge in zip(tensors, edges, strict=True) if edge is not None]
    roots, seeds = [root for root, _ in given], [seed for _, seed in given]
    found = iter(grad(roots, wanted, seeds, create_graph=True, allow_unused=True))
    return tuple([None if edge is None else next(found) for edge in edges])
