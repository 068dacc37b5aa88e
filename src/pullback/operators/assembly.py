"""Tensors on payloads that users define: made of parts by `wrap`, and taken apart by `parts`. Both are differentiable.

The gradient of a payload has the same parts, so taking it apart is the derivative of putting it together.
"""

from __future__ import annotations

from typing import Any

from pullback.core.spec import spec_of
from pullback.declare.families import primitive
from pullback.payloads.wrapped import Payload
from pullback.tensors.tensor import Tensor, as_constant
from pullback.tensors.tensor import wrap as on_payload


@primitive(name="_assemble")
def assemble(*parts: Any, kind: Any, meta: Any) -> Any:
    """A payload of class `kind` on these parts."""
    return kind._made(dict(zip(kind.part_names, parts, strict=True)), meta)


@primitive(name="_disassemble", any_number_of_outputs=True)
def disassemble(x: Any) -> Any:
    """The parts of a payload; of a plain array, which stands for the same in every part, itself."""
    return tuple(x.part_values()) if isinstance(x, Payload) else (x,)


for _op in (assemble, disassemble):
    _op.takes_payloads = True


@assemble.transpose
def assemble_transpose(g, parts):
    found = tuple(disassemble(g))
    return found if len(found) == len(parts) else found * len(parts)


@assemble.jvp
def assemble_jvp(t_parts, parts, kind, meta):
    return assemble(*[_zeros(x) if t is None else t for t, x in zip(t_parts, parts, strict=True)], kind=kind, meta=meta)


@disassemble.vjp
def disassemble_vjp(gs, x):
    payload = x._data if isinstance(x, Tensor) else x
    like = payload.as_gradient(None)
    parts = [_zeros(part) if g is None else g for g, part in zip(gs, payload.part_values(), strict=True)]
    return assemble(*parts, kind=type(like), meta=like.meta)


@disassemble.jvp
def disassemble_jvp(t_x):
    return disassemble(t_x)


def _zeros(part: Any) -> Any:
    return part * 0 if _is_number(part) else part


def _is_number(part: Any) -> bool:
    return bool(part.dtype.kind in "fc")


def wrap(payload: Payload) -> Tensor:
    """A tensor on a payload of your own class, which is derived from `Payload`.

    Parts that are tensors are differentiable: gradients of the tensor arrive in them, part by part.

    >>> class Pair(pb.Payload, parts=("a", "b")):
    ...     default = "each"
    >>> a = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> x = pb.wrap(Pair(a, np.ones(2)))
    >>> (x * x).sum().backward()
    >>> a.grad
    tensor([2., 4.])
    """
    if not isinstance(payload, Payload):
        raise TypeError(
            f"wrap: expected a payload, of a class that is derived from pb.Payload, got {type(payload).__name__}"
        )
    values = payload.part_values()
    if not any(isinstance(part, Tensor) for part in values):
        spec_of(payload)  # a shape that is no tuple, or a dtype that is none, is found here
        return on_payload(payload)
    return assemble(*map(as_constant, values), kind=type(payload), meta=payload.meta)


def parts(x: Tensor) -> tuple[Tensor, ...]:
    """The parts of a tensor on a payload, as tensors: differentiable.

    >>> class Pair(pb.Payload, parts=("a", "b")):
    ...     default = "each"
    >>> pb.parts(pb.wrap(Pair([1.0], [2.0])) * 3)
    (tensor([3.]), tensor([6.]))
    """
    payload = x._data if isinstance(x, Tensor) else None
    if not isinstance(payload, Payload):
        found = type(x if payload is None else payload).__name__
        raise TypeError(f"parts: expected a tensor that pb.wrap has made, got {found}")
    return tuple(disassemble(x))
