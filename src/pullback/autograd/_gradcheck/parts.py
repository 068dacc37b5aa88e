"""Checks of functions of tensors whose payloads are made of parts: the same functions of the parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.operators.assembly import parts, wrap
from pullback.payloads.wrapped import Payload
from pullback.payloads.wrapped.taking import same_for_parts
from pullback.tensors.tensor import Tensor
from pullback.tensors.tensor import wrap as constant


def by_parts(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of parts, and these, in place of one of payloads; both as they are if there is no payload.

    The parts are put together before the function, and results are taken apart behind it, so that what is compared
    with differences of parts are derivatives of payloads. `perturb` of a payload says which parts vary.
    """
    if not any(_is_made_of_parts(x) for x in inputs):
        return function, inputs
    flat: list[Any] = []
    makers: list[Callable[[Any], Any]] = []
    for x in inputs:
        if _is_made_of_parts(x):
            flat_parts, maker = _taken_apart(x._data, x.requires_grad)
            flat += flat_parts
        else:
            flat.append(x)
            maker = _plain
        makers.append(maker)

    def of_parts(*values: Any) -> Any:
        remaining = iter(values)
        out = function(*[maker(remaining) for maker in makers])
        return tuple([part for each in (out if isinstance(out, (tuple, list)) else (out,)) for part in _numbers(each)])

    return of_parts, tuple(flat)


def _plain(remaining: Any) -> Any:
    x = next(remaining)
    return same_for_parts(x) if isinstance(x, Tensor) and x.dtype.kind in "fc" else x


def _is_made_of_parts(x: Any) -> bool:
    return isinstance(x, Tensor) and isinstance(x._data, Payload)


def _taken_apart(payload: Payload, varies: bool) -> tuple[list[Tensor], Callable[[Any], Any]]:
    """The parts that vary, as leaves, and what makes the tensor of them again."""
    leaves: list[Tensor] = []
    makers: list[Callable[[Any], Any]] = []
    moved = set(payload.perturb())
    for name, part in zip(payload.part_names, payload.part_values(), strict=True):
        if name not in moved or not varies:
            makers.append(functools.partial(_constant, part))
        elif isinstance(part, Payload):
            inner, maker = _taken_apart(part, varies)
            leaves += inner
            makers.append(maker)
        else:
            leaves.append(constant(part.copy()).requires_grad_())
            makers.append(next)
    return leaves, lambda remaining: wrap(payload.with_parts(*[maker(remaining) for maker in makers]))


def _constant(part: Any, remaining: Any) -> Any:
    return part


def _numbers(out: Any) -> list[Any]:
    """The parts of a result that have derivatives."""
    if not _is_made_of_parts(out):
        return [out]
    return [number for part in parts(out) for number in _numbers(part) if number.dtype.kind in "fc"]
