"""Dual tensors at a given level: made, taken apart, and given to the bodies of forward transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import Modes, current, observers
from pullback.declare.views import ViewStep, same
from pullback.errors import AutogradError
from pullback.payloads.batched.crossing import levels_of, widen
from pullback.tape.forward.levels import (
    Dual,
    DualAlias,
    ForwardLevel,
    fits_layout,
    handle,
    in_layout_of,
    like_layout,
    live_levels,
    owned_tangent,
    store_tangent,
    tangent_of,
)
from pullback.tape.history import requires_grad
from pullback.tape.input_metadata import conform
from pullback.tape.transform.body import Transform, argument_handle, differentiating
from pullback.tape.transform.tokens import without_room
from pullback.tensors.tensor import (
    Extra,
    Tensor,
    alias,
    extra_of,
    is_inference,
    made_here,
    shared_counter,
    zero_tangent,
)
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
            f"make_dual: a real primal, {tensor.dtype}, cannot have a complex tangent, {tangent.dtype}; differentiate "
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
        extra_of(result)  # no light view any more
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
    result._counter = counter = shared_counter(tensor)
    result._data = tensor._data.view()
    result._spec = tensor._spec
    result._node = result._meta = None
    meta = CreationMeta.DEFAULT if modes.grad else CreationMeta.NO_GRAD
    parent = view_of(tensor)
    if parent is None:
        info = ViewInfo(tensor, _ITSELF, meta, counter.value)  # type: ignore[union-attr]
    else:
        meta = propagated_meta(meta, parent.creation_meta)
        info = ViewInfo(parent.base, parent.steps + _ITSELF, meta, counter.value)  # type: ignore[union-attr]
    info.records = {level: None}
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
                outer = zero_tangent(result)
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
        extra_of(result)  # no light view any more
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
            below = zero_tangent(tensor) if tangent is None else tangent
            tangent = dual_at(other, below, mixed)
    if tangent is not None and not modes.vmaps:
        tangent = without_room(tangent)  # of what left a vmap
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
    with differentiating("jvp", is_forward=True) as transform:
        level = transform.level
        duals = [
            primal if tangent is None else dual_argument(primal, tangent, transform)
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        outputs = function(*duals)
        return tuple(unpacked_at(level, out).tangent if isinstance(out, Tensor) else None for out in outputs)


# Giving results their tangents: new results, results written in place, and views.

ndarray = np.ndarray


def follows_its_base(out: Tensor) -> bool:
    """Is the tensor a view whose tangent is found through its base whenever it is asked for?"""
    info = view_of(out)
    return info is not None and info.forward_record() is not None


def attach_new(out: Tensor, level: ForwardLevel, tangent: Any, sources: Sequence[Any]) -> bool:
    """Give a new result its tangent. True if that is, or may be, a tangent of one of the operands too."""
    spec = out._spec
    if tangent is None or not spec.is_differentiable:
        return False
    if follows_its_base(out):
        return False
    tangent, is_shared = _fitted(tangent, out, sources)
    if is_shared and not current().grad and requires_grad(tangent):
        tangent = handle(tangent, live_levels((tangent,)))  # as if it had been computed while grad mode is off
        tangent._node = None
    store_tangent(out, level, tangent, borrowed=is_shared)
    return is_shared


def attach_written(target: Tensor, level: ForwardLevel, tangent: Any, sources: Sequence[Any]) -> bool:
    """Give a tensor that was written in place its new tangent, keeping the tangent object it has.

    False, as in `attach_new`: the tangent is never shared.
    """
    if not target._spec.is_differentiable:
        return False
    info = view_of(target)
    record = None if info is None else info.forward_record(level)
    # On the way from the base to a view that was taken inside a vmap, an axis becomes a batch dimension.
    entered = () if record is None else [step.params.get("level") for step in record[1]]

    def wider(existing: Tensor) -> Tensor | None:
        if tangent is None or not isinstance(tangent, Tensor):
            return None
        present = (*levels_of(existing._data), *entered)
        missing = [each for each in levels_of(tangent._data) if each not in present]
        return widen(existing, levels=tuple(missing)) if missing else None

    existing = owned_tangent(target, level, wider)
    if existing is None and tangent is None:
        return False
    if existing is None:
        if record is None:
            fitted, is_shared = _fitted(tangent, target, sources)
            store_tangent(target, level, fitted.clone() if is_shared else fitted)
            return False
        base = record[0]
        store_tangent(base, level, in_layout_of(base._data, base.dtype))
        existing = owned_tangent(target, level, wider)
    if tangent is None:
        existing.zero_()  # type: ignore[union-attr]
    else:
        existing.copy_(tangent)  # type: ignore[union-attr]
    return False


def _fitted(tangent: Any, out: Tensor, sources: Sequence[Any]) -> tuple[Tensor, bool]:
    """A tangent in shape, dtype and layout of its primal, and whether it is somebody else's too."""
    spec = out._spec
    if not isinstance(tangent, Tensor):
        is_own = not any(
            source is not None and type(source._data) is ndarray and np.may_share_memory(tangent, source._data)
            for source in sources
        )
        is_payload = type(tangent) is ndarray or hasattr(tangent, "evaluate_op")
        tangent = made_here(tangent if is_payload else np.asarray(tangent))
    else:
        is_own = view_of(tangent) is None and not any(tangent is source for source in sources)
    if tangent._spec is spec and (
        type(out._data) is not ndarray or out._data.base is None or fits_layout(tangent._data, out._data)
    ) and (type(tangent._data) is not ndarray or 0 not in tangent._data.strides):  # fmt: skip
        return tangent, not is_own
    if tangent.dtype != spec.dtype:
        tangent = conform(tangent, tangent.shape, spec.dtype)
        is_own = True
    if tangent.shape != spec.shape:
        tangent = tangent.expand(spec.shape).clone()
        is_own = True
    fitted = like_layout(tangent, out)
    return fitted, not (is_own or fitted is not tangent)
