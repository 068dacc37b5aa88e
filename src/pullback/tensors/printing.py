"""How tensors are written: `tensor([1., 2.], requires_grad=True)`.

The numbers are NumPy's, under NumPy's print options, so large arrays are summarised. The dtype is written where the
numbers do not tell it. Writing a tensor never fails: a view whose history is lost says `grad_fn=<Invalid>`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.payloads.batched.array import plain_array
from pullback.tensors.tensor import Tensor

_OPENING = "tensor("
_TOLD_BY_THE_NUMBERS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))


def to_text(tensor: Tensor, history: list[str] | None = None) -> str:
    """The tensor as `repr` and `str` show it, or as they showed it when it had this history."""
    payload = _printed(tensor)
    trace = current().trace
    if trace is not None and (payload is None or trace.lifts):
        trace.looked_for = "the text of a tensor"
    if payload is None:
        return f"{_OPENING}{', '.join([repr(tensor._data), *history_of(tensor)])})"
    extras = [*_kind(tensor), *(history_of(tensor) if history is None else history)]
    numbers = np.array2string(payload, separator=", ", prefix=_OPENING, suffix="," if extras else ")")
    text = _OPENING + numbers
    for extra in extras:
        last_line = text[text.rfind("\n") + 1 :]
        fits = len(last_line) + len(extra) + 3 <= np.get_printoptions()["linewidth"]
        text += f", {extra}" if fits else f",\n{' ' * len(_OPENING)}{extra}"
    return f"{text})"


def _printed(tensor: Tensor) -> Any:
    """The numbers to be shown, if there are any."""
    shown = getattr(tensor._data, "printed", None)
    return plain_array(tensor._data) if shown is None else shown()


def _kind(tensor: Tensor) -> list[str]:
    """Shape, dtype and device, where the numbers leave them open."""
    shape, dtype = tensor.shape, tensor.dtype
    parts = [] if type(tensor._data) is np.ndarray or tensor.device == "cpu" else [f"device='{tensor.device}'"]
    if 0 in shape and shape != (0,):
        parts.append(f"shape={shape}")
    is_told = dtype in _TOLD_BY_THE_NUMBERS if tensor.size else dtype == np.float64
    if not is_told:
        parts.append(f"dtype={dtype}")
    return parts


def history_of(tensor: Tensor) -> list[str]:
    """What autograd knows of the tensor."""
    try:
        node = tensor.grad_fn
    except AutogradError:
        return ["grad_fn=<Invalid>"]
    parts = [f"tangent={_numbers(tangent)}" for tangent in _tangents(tensor)]
    if node is not None:
        return [f"grad_fn=<{node.name()}>", *parts]
    return ["requires_grad=True", *parts] if tensor.requires_grad else parts


def _tangents(tensor: Tensor) -> list[Tensor]:
    forward = None if tensor._extra is None else tensor._extra.forward
    if forward is None:
        return []
    return [forward[level] for level in sorted(forward, key=lambda level: level.stamp)]


def _numbers(tensor: Tensor) -> str:
    payload = _printed(tensor)
    return repr(tensor._data) if payload is None else np.array2string(payload, separator=", ")


def format_tensor(tensor: Tensor, specification: str) -> str:
    """`format(tensor, specification)`: a tensor without axes is formatted like its number."""
    payload = _printed(tensor)
    if tensor.ndim == 0 and payload is not None:
        number = payload[()]
        return format(number, specification) if specification else str(number)
    taken = getattr(tensor._data, "taken", None)  # of a trace that computes with numbers taken out of tensors
    if taken is not None and tensor.ndim == 0 and (specification or tensor.dtype in _TOLD_BY_THE_NUMBERS):
        number = taken()
        if number is not None:
            return format(number, specification)
    if specification and tensor.ndim == 0 and hasattr(tensor._data, "refused"):  # of a trace
        raise tensor._data.refused("a text")
    if specification and tensor.ndim == 0:
        raise TypeError(
            f"unsupported format string {specification!r}: this is not a single number, but {tensor._data!r}; inside a "
            "transform, write the tensor without a format"
        )
    if specification:
        raise TypeError(
            f"unsupported format string {specification!r} for a tensor of shape {list(tensor.shape)}: only a tensor "
            "without axes is formatted like a number"
        )
    return to_text(tensor)


def bind() -> None:
    """Give `Tensor` its textual forms."""
    members: dict[str, Any] = {"__repr__": to_text, "__str__": to_text, "__format__": format_tensor}
    for name, member in members.items():
        setattr(Tensor, name, member)
