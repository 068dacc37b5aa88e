"""Tokens: which running transforms a tensor's history depends on.

Every reverse transform has a token that lives from its entry until its body has returned. A tensor with a history
knows the tokens that the history leads to (`Extra.deps`), and it requires grad while one of them lives; so what was
only recorded for a transform that is over is a constant again without anybody walking the graph. `deps` of None, the
usual case, stands for leaves of the user, which live for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pullback.core.state import VmapLevel, changed, current, next_stamp, running_pass
from pullback.payloads.batched import BatchedArray, widened
from pullback.payloads.batched.crossing import batch_sum, levels_of
from pullback.payloads.wrappers import is_wrapper, rebuilt
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import CreationMeta


class Token:
    """Stands for one reverse transform, or for all leaves of the user."""

    __slots__ = ("__weakref__", "live", "stamp")

    def __init__(self) -> None:
        self.stamp = next_stamp()
        # How many bodies of the transform are running. A checkpoint runs a part of one again after it has ended.
        self.live = 1


Deps = frozenset[Token] | None

USER = Token()


def deps_of(tensor: Tensor) -> Deps:
    """The tokens behind a tensor that requires grad."""
    extra = tensor._extra
    if extra is None:
        return None
    info = extra.view
    if info is not None and info.creation_meta is CreationMeta.DEFAULT and info.base._node is not None:
        return deps_of(info.base)
    return extra.deps


def union(parts: Iterable[Deps]) -> Deps:
    """The living tokens of all parts together."""
    known: set[Deps] = set(parts)
    if len(known) == 1:
        (only,) = known
        return only
    tokens = {token for part in known for token in (part if part is not None else (USER,)) if token.live}
    return None if tokens == {USER} else frozenset(tokens)


def is_live(deps: Deps) -> bool:
    """Does somebody still want derivatives of what depends on these?"""
    if deps is None:
        return True
    for token in deps:  # noqa: SIM110  (a generator costs more than the few tokens there are)
        if token.live:
            return True
    return False


def living(deps: Deps) -> Deps:
    """Those of the tokens that live; None if they stand for leaves of the user alone."""
    if deps is None:
        return None
    tokens = frozenset([token for token in deps if token.live])
    return deps if len(tokens) == len(deps) else None if tokens == _OF_USER else tokens


_OF_USER = frozenset((USER,))


def deps_behind(operands: Iterable[object], needs: Iterable[bool]) -> Deps:
    """The tokens behind the result of a call whose `needs` say which operands require grad."""
    deps: Deps = None
    is_first = True
    for x, needed in zip(operands, needs, strict=True):
        if needed:
            own = deps_of(x)  # type: ignore[arg-type]
            if is_first:
                deps, is_first = own, False
            elif own is not deps:
                deps = union((deps, own))
    return deps


# `Scope`: the batch dimensions that a node was recorded with, and what they mean for its gradients.

Levels = tuple[VmapLevel, ...]

_AS_IT_IS = nullcontext()


def joined(first: Levels, second: Levels) -> Levels:
    """All levels of both, oldest first."""
    if not first or first == second:
        return second
    return tuple(sorted({*first, *second}, key=lambda level: level.stamp))


def without_room(value: Any) -> Any:
    """A payload or Tensor made inside a vmap, outside of all: if it is the same for all examples, a plain array."""
    payload = value._data if isinstance(value, Tensor) else value
    if is_wrapper(payload):
        payload = rebuilt(payload, lambda _, part: without_room(part))
        if not isinstance(value, Tensor):
            return payload
        value._data = payload
        return value
    if type(payload) is not BatchedArray or payload.levels:
        return value
    if not isinstance(value, Tensor):
        return payload.data
    value._data = payload.data
    return value


class Scope:
    """Where a node was recorded: the active levels, and those of its inputs and outputs."""

    __slots__ = ("active", "input_levels", "output_levels", "place")

    def __init__(self, active: Levels, input_levels: tuple[Levels, ...]) -> None:
        self.active = active
        self.input_levels = input_levels
        self.output_levels: Levels = ()
        self.place: Any = None  # the device of the operands, if that is another library's

    def reinstated(self) -> AbstractContextManager[None]:
        """The node's levels are active in this block, beside those that are active anyway."""
        active = current().vmaps
        levels = joined(self.active, active)
        return _AS_IT_IS if levels == active else changed(vmaps=levels)

    def reduced(self, gradients: tuple[Any, ...], exempt: VmapLevel | None = None) -> tuple[Any, ...]:
        """Gradients of the inputs, summed over the examples that shared an input."""
        return tuple(
            [
                None if gradient is None else self.reduced_to(gradient, own, exempt)
                for gradient, own in zip(gradients, self.input_levels, strict=True)
            ]
        )

    def reduced_to(self, gradient: Any, own: Levels, exempt: VmapLevel | None = None) -> Any:
        """A gradient for an input with the levels `own`."""
        task = running_pass.get()
        active = current().vmaps if task is None else task.vmaps
        payload = gradient._data if isinstance(gradient, Tensor) else gradient
        if active and self.output_levels == active and levels_of(payload) == active:
            return gradient  # one example, of one pass
        for level in joined(self.output_levels, levels_of(payload)):
            if level not in own and level not in active and level is not exempt:
                gradient = batch_sum(gradient, level=level)
        return gradient if active else without_room(gradient)


def equalize_levels(outputs: list[Tensor]) -> None:
    """Give all differentiable outputs the batch dimensions that one of them has: their gradients meet in one node."""
    present = {level for out in outputs for level in levels_of(out._data)}
    for out in outputs:
        missing = tuple(level for level in present if level not in levels_of(out._data))
        if missing and out._spec.is_differentiable:
            out._data = widened(out._data, missing)
