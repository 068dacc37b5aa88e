"""Dual tensors at a given level: made, taken apart, and given to the bodies of forward transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.autograd._bodies import argument_handle, running_dual
from pullback.autograd._captures import Transform
from pullback.autograd._input_metadata import conform
from pullback.autograd._layout import fits_layout
from pullback.autograd._levels import handle, like_layout, live_levels, store_tangent, tangent_of
from pullback.autograd._tangent_holders import Dual, DualAlias, ForwardLevel
from pullback.core.spec import describe
from pullback.core.state import Modes, current, observers
from pullback.declare.parts import same
from pullback.declare.steps import ViewStep
from pullback.errors import AutogradError
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Extra, Tensor, alias, is_inference, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo, propagated_meta, view_of


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; `tangent` is None if it is not dual."""

    primal: Tensor
    tangent: Tensor | None


def dual_at(level: ForwardLevel, tensor: Tensor, tangent: Tensor, borrowed: bool = False) -> Tensor:
    """`make_dual` at a level given as an object. A `borrowed` tangent is never written in place."""
    modes = current()
    if modes.forwards and not observers and _are_plain(tensor, tangent):
        dual = DualAlias()
        dual.born, dual.level, dual.slope = 0, level, tangent
        dual.memory = (shared_counter(tangent) or 0) if borrowed else 0
        result = _plain_alias(tensor, level, dual, modes)
        level.register(dual)
        return result
    _check_parts(tensor, tangent)
    if level in live_levels((tensor,)):
        raise AutogradError(
            "FORWARD_TWICE",
            "make_dual: the primal already has a forward gradient at the same level",
            why="a tensor has one tangent per level",
            fix="unpack it first, or open another level",
        )
    if level in live_levels((tangent,)):
        raise AutogradError(
            "FORWARD_TANGENT_DUAL",
            "make_dual: the tangent has a forward gradient at the same level",
            why="a tangent is a constant of its own level",
            fix="unpack the tangent first",
        )
    result = _alias(tensor, level)
    if tangent.dtype != tensor.dtype:
        tangent, borrowed = conform(tangent, tangent.shape, tensor.dtype), False
    _add_tangent(result, level, tangent, borrowed)
    return result


def _are_plain(tensor: Any, tangent: Any) -> bool:
    """Are both tensors of one spec without anything else to them, and alike in memory?"""
    return (
        type(tensor) is Tensor
        and type(tangent) is Tensor
        and tensor._extra is None
        and tensor._node is None
        and tangent._extra is None
        and tensor._spec is tangent._spec
        and tensor._spec.is_differentiable
        and fits_layout(tangent._data, tensor._data)
    )


def _check_parts(tensor: Any, tangent: Any) -> None:
    for name, part in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(part, Tensor):
            raise TypeError(f"make_dual: Expected {name} to be a Tensor, got {type(part).__name__}")
        if not part._spec.is_differentiable:
            raise ValueError(f"make_dual: Expected {name} to be floating point or complex, got {part.dtype}")
    if tensor.shape != tangent.shape:
        raise AutogradError(
            "FORWARD_SHAPE",
            f"make_dual: the primal {describe(tensor.shape, tensor.dtype)} and the tangent "
            f"{describe(tangent.shape, tangent.dtype)} have different size",
            why="a tangent has one entry per element of its primal; it is not broadcast",
            fix="pass a tangent of the primal's shape",
        )
    if tangent._spec.is_complex and not tensor._spec.is_complex:
        raise ValueError(
            f"make_dual: a real primal, {tensor.dtype}, can not have a complex tangent, {tangent.dtype}; differentiate "
            "the complex function of a complex variable, or pass the real part"
        )


def _alias(tensor: Tensor, level: ForwardLevel) -> Tensor:
    """The tensor again, on the same memory and history. At `level` it has no tangent, and shares none with `tensor`; at
    others it is a view like any other."""
    if is_inference(tensor):
        result = alias(tensor)
        if result._extra is not None:
            result._extra.forward = None
    else:
        result = same(tensor)
    info = view_of(result)
    if info is not None:
        info.set_apart(level)
    for other in live_levels((tensor,)):
        tangent = tangent_of(tensor, other)
        if other is not level and tangent is not None and (info is None or info.forward_record(other) is None):
            store_tangent(result, other, tangent, borrowed=True)
    return result


def _plain_alias(tensor: Tensor, level: ForwardLevel, extra: Extra, modes: Modes) -> Tensor:
    """`_alias` written out for a constant on an array, or such an alias of one, without tangents at other levels, where
    `modes` are such that nobody is told. `extra` becomes the alias's own."""
    result = Tensor()
    result._data = tensor._data.view()
    result._spec = tensor._spec
    result._node = result._meta = None
    result._counter = counter = shared_counter(tensor)
    meta = CreationMeta.DEFAULT if modes.grad else CreationMeta.NO_GRAD
    parent = view_of(tensor)
    if parent is None:
        info = ViewInfo(tensor, _ITSELF, meta, counter.value)  # type: ignore[union-attr]
    else:
        meta = propagated_meta(meta, parent.creation_meta)
        info = ViewInfo(parent.base, parent.steps + _ITSELF, meta, counter.value)  # type: ignore[union-attr]
    info.forward = {level: None}
    extra.view = info
    result._extra = extra
    return result


_ITSELF = (ViewStep(same, {}),)


def _add_tangent(result: Tensor, level: ForwardLevel, tangent: Tensor, borrowed: bool) -> None:
    """Store a tangent in canonical form: what it has at newer levels becomes a tangent of those levels' tangents."""
    for newer in live_levels((tangent,)):
        if newer.stamp > level.stamp:
            mixed = tangent_of(tangent, newer)
            outer = tangent_of(result, newer)
            if outer is None:
                outer = made_here(np.zeros(result.shape, result.dtype))
            assert mixed is not None
            _set_tangent(result, newer, dual_at(level, outer, mixed))
    if any(newer.stamp > level.stamp for newer in live_levels((tangent,))):
        tangent = handle(tangent, [older for older in live_levels((tangent,)) if older.stamp < level.stamp])
    fitted = like_layout(tangent, result)
    store_tangent(result, level, fitted, borrowed and fitted is tangent)


def _set_tangent(result: Tensor, level: ForwardLevel, tangent: Tensor) -> None:
    """Give an alias a tangent of its own at another level too."""
    info = view_of(result)
    if info is not None:
        info.set_apart(level)
    store_tangent(result, level, tangent, borrowed=True)


def unpacked_at(level: ForwardLevel, tensor: Tensor) -> UnpackedDualTensor:
    """`unpack_dual` at a level given as an object."""
    modes = current()
    own = _only_tangent(tensor, level) if modes.forwards and not observers else None
    if own is not None:
        return UnpackedDualTensor(_plain_alias(tensor, level, Extra(), modes), own)
    levels = live_levels((tensor,))
    tangent = tangent_of(tensor, level) if level in levels else None
    newer = [each for each in levels if each.stamp > level.stamp]
    primal = _alias(tensor, level)
    for other in newer:
        part = tangent_of(tensor, other)
        if part is not None and level in live_levels((part,)):
            _set_tangent(primal, other, unpacked_at(level, part).primal)
    for other in newer:
        outer = tangent_of(tensor, other)
        mixed = None if outer is None else unpacked_at(level, outer).tangent
        if mixed is not None:
            below = made_here(np.zeros(tensor.shape, tensor.dtype)) if tangent is None else tangent
            tangent = dual_at(other, below, mixed)
    return UnpackedDualTensor(primal, tangent)


def _only_tangent(tensor: Tensor, level: ForwardLevel) -> Tensor | None:
    """The tangent at `level`, if that is the only thing that is unusual about the tensor."""
    dual = tensor._extra
    if tensor._node is not None or not isinstance(dual, Dual) or not dual.stands_alone():
        return None
    return dual.tangent_at(level, tensor._spec)


def dual_argument(leaf: Tensor, tangent: Tensor, transform: Transform) -> Tensor:
    """An argument as the body of a forward transform gets it. It may write to it; the caller's tangent stays."""
    transform.accept(leaf)
    if is_inference(leaf):
        leaf = argument_handle(leaf, transform)
    return dual_at(transform.level, leaf, tangent, borrowed=True)


def jvp_of_tuple(function: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, ...]:
    """The tangents of the outputs of `function`; None, given or returned, stands for zero."""
    with running_dual("jvp") as transform:
        level = transform.level
        duals = [
            primal if tangent is None else dual_argument(primal, tangent, transform)
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        outputs = function(*duals)
        return tuple(unpacked_at(level, out).tangent if isinstance(out, Tensor) else None for out in outputs)
