"""Giving results their tangents: new results, results written in place, and views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd._input_metadata import conform
from pullback.autograd._layout import fits_layout, in_layout_of
from pullback.autograd._levels import like_layout, owned_tangent, store_tangent
from pullback.autograd._tangent_holders import ForwardLevel
from pullback.payloads.crossing import levels_of, widen
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of

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
