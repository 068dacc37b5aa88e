"""The registrations as functions of an operator or its qualified name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.library._definition import CustomOpDef, find


def _resolved(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, str):
        return find(op)
    raise ValueError(f"unexpected type for op: expected a CustomOpDef or its qualified name, got {type(op).__name__}")


def register_autograd(
    op: CustomOpDef | str, backward: Callable[..., Any] | None, /, *, setup_context: Callable[..., Any] | None = None
) -> None:
    """Give an operator a reverse formula; see `CustomOpDef.register_autograd`."""
    _resolved(op).register_autograd(backward, setup_context=setup_context)


def register_jvp(op: CustomOpDef | str, fn: Callable[..., Any] | None = None, /, *, linear: Any = None) -> Any:
    """Give an operator a forward formula; see `CustomOpDef.register_jvp`."""
    return _resolved(op).register_jvp(fn, linear=linear)


def register_fake(op: CustomOpDef | str, fn: Callable[..., Any] | None = None, /) -> Any:
    """Say what an operator's results look like; see `CustomOpDef.register_fake`."""
    return _resolved(op).register_fake(fn)


def register_kernel(
    op: CustomOpDef | str, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
) -> Any:
    """Give an operator a kernel; see `CustomOpDef.register_kernel`."""
    return _resolved(op).register_kernel(device_types, fn)


def register_vmap(op: CustomOpDef | str, rule: Any = None, /) -> Any:
    """Say how an operator is batched; see `CustomOpDef.register_vmap`."""
    return _resolved(op).register_vmap(rule)


def register_effect(op: CustomOpDef | str, effect: str | None, /) -> None:
    """Say that an operator has effects; see `CustomOpDef.register_effect`."""
    _resolved(op).register_effect(effect)


def impl_save_for_backward(op: CustomOpDef | str, /) -> Callable[..., Any]:
    """A decorator for the first half of the pair; see `CustomOpDef.impl_save_for_backward`."""
    return _resolved(op).impl_save_for_backward


def impl_backward(op: CustomOpDef | str, /, output_differentiability: list[bool] | None = None) -> Any:
    """A decorator for the second half of the pair; see `CustomOpDef.impl_backward`."""
    return _resolved(op).impl_backward(output_differentiability=output_differentiability)
